//! A finite language over a small vocabulary, decided by looking at every word: the naive twin of a session.

use maskwright_decode::{
    Constraint, ConstraintError, LanguageModel, Logits, ModelError, RandomModel, SequenceId, SequenceInput,
    TokenText,
};
use maskwright_vocabulary::{TokenId, mask_insert};

pub(crate) type Tokens = Vec<Option<Vec<u8>>>;

pub(crate) fn tokens(texts: &[&str]) -> Tokens {
    // Token 0 ends the text and has none.
    std::iter::once(None).chain(texts.iter().map(|text| Some(text.as_bytes().to_vec()))).collect()
}

pub(crate) const EOS: TokenId = TokenId(0);

/// Texts that are one of `words`, ended by [`EOS`].
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) tokens: Tokens,
    pub(crate) text: Vec<u8>,
    lengths: Vec<usize>,
    terminated: bool,
}

impl Words {
    pub(crate) fn new(words: &[&str], tokens: &Tokens) -> Self {
        Words {
            words: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
            tokens: tokens.clone(),
            text: Vec::new(),
            lengths: Vec::new(),
            terminated: false,
        }
    }

    fn continues(&self, bytes: &[u8]) -> bool {
        let text = [&self.text, bytes].concat();
        !self.terminated && self.words.iter().any(|word| word.starts_with(&text))
    }

    fn allows(&self, id: TokenId) -> bool {
        match self.tokens.text(id) {
            Some(bytes) => !bytes.is_empty() && self.continues(bytes),
            None => id == EOS && !self.terminated && self.words.contains(&self.text),
        }
    }

    pub(crate) fn allowed(&self) -> Vec<TokenId> {
        (0..self.tokens.len() as u32).map(TokenId).filter(|&id| self.allows(id)).collect()
    }
}

impl Constraint for Words {
    fn fill_mask(&mut self, mask: &mut [u32]) -> Result<bool, ConstraintError> {
        mask.fill(0);
        for id in self.allowed() {
            mask_insert(mask, id);
        }
        Ok(true)
    }

    fn accept_token(&mut self, id: TokenId) -> Result<bool, ConstraintError> {
        if !self.allows(id) {
            return Ok(false);
        }
        self.lengths.push(self.text.len());
        match self.tokens.text(id) {
            Some(bytes) => self.text.extend(bytes.to_vec()),
            None => self.terminated = true,
        }
        Ok(true)
    }

    fn rollback(&mut self, n_steps: usize) -> Result<(), ConstraintError> {
        for _ in 0..n_steps {
            let length = self.lengths.pop().ok_or_else(|| ConstraintError::new("too few steps"))?;
            self.text.truncate(length);
            self.terminated = false;
        }
        Ok(())
    }

    fn forced_tokens(&mut self) -> Result<Vec<TokenId>, ConstraintError> {
        let mut ahead = self.clone();
        let mut forced = Vec::new();
        while let [only] = ahead.allowed()[..] {
            ahead.accept_token(only)?;
            forced.push(only);
        }
        Ok(forced)
    }

    fn accepts_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        Ok(self.continues(bytes))
    }

    fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        if self.continues(bytes) {
            self.lengths.push(self.text.len());
            self.text.extend(bytes);
            return Ok(true);
        }
        Ok(false)
    }

    fn is_terminated(&self) -> bool {
        self.terminated
    }

    fn is_accepting(&self) -> bool {
        self.words.contains(&self.text)
    }
}

/// A random model that notes what it reads, and can be made to fail or to answer with NaN.
pub(crate) struct Spy {
    pub(crate) model: RandomModel,
    pub(crate) n_fed: Vec<usize>,
    /// Every token that it has read.
    pub(crate) read: Vec<TokenId>,
    /// The token that it likes best, whatever it has read.
    pub(crate) likes: Option<TokenId>,
    pub(crate) fails_at: Option<usize>,
    pub(crate) answers_nan: bool,
    pub(crate) n_sequences: usize,
}

impl Spy {
    pub(crate) fn new(n_vocab: usize, context_length: usize, seed: u64) -> Self {
        let model = RandomModel::new(n_vocab, context_length, seed);
        Spy {
            model,
            n_fed: Vec::new(),
            read: Vec::new(),
            likes: None,
            fails_at: None,
            answers_nan: false,
            n_sequences: 0,
        }
    }
}

impl LanguageModel for Spy {
    fn n_vocab(&self) -> usize {
        self.model.n_vocab()
    }
    fn context_length(&self) -> usize {
        self.model.context_length()
    }
    fn create_sequence(&mut self) -> Result<SequenceId, ModelError> {
        self.n_sequences += 1;
        self.model.create_sequence()
    }
    fn fork_sequence(&mut self, sequence: SequenceId) -> Result<SequenceId, ModelError> {
        self.n_sequences += 1;
        self.model.fork_sequence(sequence)
    }
    fn release_sequence(&mut self, sequence: SequenceId) {
        self.n_sequences -= 1;
        self.model.release_sequence(sequence);
    }
    fn n_cached(&self, sequence: SequenceId) -> usize {
        self.model.n_cached(sequence)
    }
    fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) -> Result<(), ModelError> {
        self.model.truncate(sequence, n_tokens)
    }
    fn forward(&mut self, batch: &[SequenceInput<'_>]) -> Result<Vec<Logits>, ModelError> {
        if self.fails_at == Some(self.n_fed.len()) {
            return Err(ModelError::new("unplugged"));
        }
        self.n_fed.extend(batch.iter().map(|input| input.tokens.len()));
        self.read.extend(batch.iter().flat_map(|input| input.tokens));
        let mut logits = self.model.forward(batch)?;
        for row in logits.iter_mut().filter_map(Logits::last_mut) {
            if let Some(id) = self.likes {
                row[id.index()] = 9.0;
            }
        }
        if self.answers_nan {
            logits.iter_mut().filter_map(Logits::last_mut).for_each(|row| row.fill(f32::NAN));
        }
        Ok(logits)
    }
}
