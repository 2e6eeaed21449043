//! What a decoding loop needs of a language model: logits for a batch of sequences, and a cache that follows
//! the loop back (truncate) and sideways (fork).
//!
//! Beam search, tree search and speculative decoding need logits at several positions of one call and must
//! undo tokens cheaply; both are in the trait rather than in an extension, so that every model has them.
//!
//! Rejected: one model object per sequence, each with its own cache (candle's and mistral.rs's shape). A
//! batch then cannot share the matrix products, and a fork has to copy the model handle.

use std::{error::Error, fmt};

use maskwright_vocabulary::TokenId;

/// One sequence held by a [`LanguageModel`]: a text and its cached keys and values.
///
/// An id is given out by [`LanguageModel::create_sequence`] and means something to that model alone.
///
/// # Examples
/// ```
/// use maskwright_decode::SequenceId;
/// assert_eq!(SequenceId::new(3).index(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceId(u32);

impl SequenceId {
    /// The id with this index; for implementations of [`LanguageModel`].
    #[must_use]
    pub fn new(index: u32) -> Self {
        SequenceId(index)
    }

    /// The index given to [`SequenceId::new`].
    #[must_use]
    pub fn index(self) -> u32 {
        self.0
    }
}

/// What one sequence reads in a forward pass.
///
/// # Examples
/// ```
/// use maskwright_decode::{LanguageModel, RandomModel, SequenceInput};
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomModel::new(100, 64, 7);
/// let sequence = model.create_sequence().unwrap();
/// let rows = model.forward(&[SequenceInput::all(sequence, &[1, 2, 3].map(TokenId))]).unwrap();
/// assert_eq!((rows[0].n_rows(), rows[0].row(2).len()), (3, 100));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SequenceInput<'a> {
    /// The sequence to extend.
    pub sequence: SequenceId,
    /// The tokens to append to it, at least one.
    pub tokens: &'a [TokenId],
    /// For how many of the last tokens logits are returned: at most `tokens.len()`, and 0 for none.
    pub n_logits: usize,
}

impl<'a> SequenceInput<'a> {
    /// Logits after the last token only.
    #[must_use]
    pub fn last(sequence: SequenceId, tokens: &'a [TokenId]) -> Self {
        SequenceInput { sequence, tokens, n_logits: tokens.len().min(1) }
    }

    /// Logits after every token.
    #[must_use]
    pub fn all(sequence: SequenceId, tokens: &'a [TokenId]) -> Self {
        SequenceInput { sequence, tokens, n_logits: tokens.len() }
    }
}

/// How many of its tokens a sequence that has read `read` keeps when it reads `whole` instead: those that
/// both begin with, but not the last of `whole`, which is read again for its logits.
pub(crate) fn n_kept(read: &[TokenId], whole: &[TokenId]) -> usize {
    let n_common = read.iter().zip(whole).take_while(|(old, new)| old == new).count();
    n_common.min(whole.len().saturating_sub(1))
}

/// The logits of one sequence: a row of `n_vocab` values for each position asked for, oldest first.
///
/// # Examples
/// ```
/// use maskwright_decode::Logits;
/// let logits = Logits::new(vec![0.0, 1.0, 2.0, 3.0], 2);
/// assert_eq!(logits.row(1), [2.0, 3.0]);
/// assert_eq!(logits.last(), Some(&[2.0, 3.0][..]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Logits {
    values: Vec<f32>,
    n_vocab: usize,
}

impl Logits {
    /// Rows of `n_vocab` values, one after the other.
    ///
    /// # Panics
    /// If `values` is not a whole number of rows, or `n_vocab` is 0: a bug of the model that calls this.
    #[must_use]
    pub fn new(values: Vec<f32>, n_vocab: usize) -> Self {
        assert!(n_vocab > 0 && values.len().is_multiple_of(n_vocab), "rows of logits must be whole");
        Logits { values, n_vocab }
    }

    /// The number of positions.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.values.len() / self.n_vocab
    }

    /// The logits that follow the `index`-th position asked for.
    ///
    /// # Panics
    /// If `index >= n_rows()`.
    #[must_use]
    pub fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.n_vocab..(index + 1) * self.n_vocab]
    }

    /// The last row, if there is one.
    #[must_use]
    pub fn last(&self) -> Option<&[f32]> {
        self.values.rchunks(self.n_vocab).next()
    }

    /// The last row, to be changed in place (masked, scaled).
    #[must_use]
    pub fn last_mut(&mut self) -> Option<&mut [f32]> {
        self.values.rchunks_mut(self.n_vocab).next()
    }
}

/// A causal language model with a cache for several sequences.
///
/// # Contract
/// * The logits after a token depend on the tokens of its sequence up to it and on nothing else: not on the
///   other sequences of the batch, nor on how the tokens were split into calls (up to rounding).
/// * A call that fails leaves every sequence as it was.
/// * [`truncate`](LanguageModel::truncate) and then feeding the same tokens again gives the same logits.
pub trait LanguageModel {
    /// The width of a row of logits; token ids are below it. May exceed the tokenizer's vocabulary.
    fn n_vocab(&self) -> usize;

    /// The most tokens a sequence can hold.
    fn context_length(&self) -> usize;

    /// A new, empty sequence.
    ///
    /// # Errors
    /// If no further sequence can be held.
    fn create_sequence(&mut self) -> Result<SequenceId, ModelError>;

    /// A new sequence with the same tokens as `sequence`; O(cache of the sequence) at worst.
    ///
    /// # Errors
    /// If `sequence` does not exist, or no further one can be held.
    fn fork_sequence(&mut self, sequence: SequenceId) -> Result<SequenceId, ModelError>;

    /// Forgets a sequence and frees its cache; unknown ids are ignored.
    fn release_sequence(&mut self, sequence: SequenceId);

    /// The number of tokens of `sequence`; 0 if it does not exist.
    fn n_cached(&self, sequence: SequenceId) -> usize;

    /// Keeps the first `n_tokens` tokens of `sequence` and forgets the others. Cheap: no recomputation.
    ///
    /// # Errors
    /// If the sequence does not exist or has fewer tokens.
    fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) -> Result<(), ModelError>;

    /// Appends tokens to sequences; one [`Logits`] for each input, in order.
    ///
    /// # Errors
    /// If an input is empty, names an unknown sequence or one that another input names too, asks for more
    /// rows than it has tokens, holds an id at or above `n_vocab`, or does not fit into the context.
    fn forward(&mut self, batch: &[SequenceInput<'_>]) -> Result<Vec<Logits>, ModelError>;
}

/// Why a model could not do what it was asked.
///
/// # Examples
/// ```
/// use maskwright_decode::{LanguageModel, RandomModel, SequenceInput};
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomModel::new(100, 64, 7);
/// let sequence = model.create_sequence().unwrap();
/// let error = model.forward(&[SequenceInput::last(sequence, &[TokenId(100)])]).unwrap_err();
/// assert_eq!(error.to_string(), "token id 100 is outside the model's vocabulary of 100");
/// ```
#[derive(Debug)]
pub struct ModelError {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ModelError {
    /// An error with this message: lowercase, saying what was given and what was allowed.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        ModelError { message: message.into(), source: None }
    }

    /// The same, with the error that caused it.
    #[must_use]
    pub fn with_source(message: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        ModelError { message: message.into(), source: Some(source.into()) }
    }

    /// The sequence does not exist (any more).
    #[must_use]
    pub fn unknown_sequence(sequence: SequenceId) -> Self {
        Self::new(format!("the model has no sequence {}", sequence.index()))
    }

    /// Checks what [`LanguageModel::forward`] demands of a batch, so that every model reports it alike.
    ///
    /// # Errors
    /// As [`LanguageModel::forward`] says.
    pub fn check_batch(model: &dyn LanguageModel, batch: &[SequenceInput<'_>]) -> Result<(), ModelError> {
        let (n_vocab, context_length) = (model.n_vocab(), model.context_length());
        for (position, input) in batch.iter().enumerate() {
            let index = input.sequence.index();
            if batch[..position].iter().any(|other| other.sequence == input.sequence) {
                return Err(Self::new(format!("sequence {index} occurs twice in one batch")));
            }
            if input.tokens.is_empty() {
                return Err(Self::new(format!("sequence {index} is given no token, at least one is needed")));
            }
            if input.n_logits > input.tokens.len() {
                let (wanted, given) = (input.n_logits, input.tokens.len());
                return Err(Self::new(format!("{wanted} rows of logits are asked for {given} tokens")));
            }
            if let Some(id) = input.tokens.iter().find(|id| id.index() >= n_vocab) {
                let id = id.0;
                return Err(Self::new(format!(
                    "token id {id} is outside the model's vocabulary of {n_vocab}"
                )));
            }
            let n_cached = model.n_cached(input.sequence);
            if n_cached + input.tokens.len() > context_length {
                let n_new = input.tokens.len();
                return Err(Self::new(format!(
                    "sequence {index} has {n_cached} tokens and {n_new} more do not fit into the context of \
                     {context_length}"
                )));
            }
        }
        Ok(())
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}
