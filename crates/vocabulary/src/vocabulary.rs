//! A model's tokens and their bytes.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, TokenizerOptions, Trie, VocabularyError, loaders, mask_insert, mask_words};

/// A token of a vocabulary: its index in the model's logits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TokenId(pub u32);

impl TokenId {
    /// The id as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A model's tokens: their bytes, which of them end a text, and the trie of all of them. Immutable.
///
/// An id without bytes (a special token, a hole in the ids, a row of padded logits, a token of empty text)
/// never matches as text.
///
/// ```
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["a", "ab", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[2], None).unwrap();
/// assert_eq!(vocabulary.token_bytes(TokenId(1)), Some(&b"ab"[..]));
/// assert_eq!(vocabulary.token_bytes(TokenId(2)), None, "EOS never matches as text");
/// ```
#[derive(Debug)]
pub struct Vocabulary {
    id: u64,
    bytes: Vec<u8>,
    /// Token `t` has the bytes `bytes[ends[t - 1]..ends[t]]`.
    ends: Vec<u32>,
    eos: Vec<u32>,
    max_token_bytes: usize,
    trie: Trie,
    /// The trie's tokens, packed.
    text_tokens: Box<[u32]>,
}

/// The most ids a vocabulary may have; the widest models have some 260,000.
pub const MAX_VOCABULARY: usize = 1 << 22;

impl Vocabulary {
    /// A vocabulary from the bytes of each id (`None`: never matches as text). Ids in `eos` lose their bytes.
    /// `n_vocab`, where given, is the width of the model's logits, at least the number of tokens.
    ///
    /// # Errors
    /// If an EOS id is not in range, if there are more than [`MAX_VOCABULARY`] ids or 1 GiB of bytes, or if
    /// `n_vocab` is less than the number of tokens.
    pub fn from_tokens(
        tokens: Vec<Option<Vec<u8>>>,
        eos: &[u32],
        n_vocab: Option<usize>,
    ) -> Result<Vocabulary, Error> {
        Ok(Vocabulary::of_tokens(tokens, eos, n_vocab)?)
    }

    /// As [`from_tokens`](Vocabulary::from_tokens), for the loaders, which add the file to the error.
    pub(crate) fn of_tokens(
        mut tokens: Vec<Option<Vec<u8>>>,
        eos: &[u32],
        n_vocab: Option<usize>,
    ) -> Result<Vocabulary, VocabularyError> {
        let width = n_vocab.unwrap_or(tokens.len());
        if width < tokens.len() {
            return Err(VocabularyError::too_narrow(width, tokens.len()));
        }
        if width > MAX_VOCABULARY {
            return Err(VocabularyError::too_large("ids", width, MAX_VOCABULARY));
        }
        tokens.resize(width, None);
        for &id in eos {
            match tokens.get_mut(id as usize) {
                Some(token) => *token = None,
                None => return Err(VocabularyError::eos_out_of_range(id, width)),
            }
        }
        let n_bytes: usize = tokens.iter().flatten().map(Vec::len).sum();
        if n_bytes > 1 << 30 {
            return Err(VocabularyError::too_large("bytes", n_bytes, 1 << 30));
        }
        let mut bytes = Vec::with_capacity(n_bytes);
        let mut ends = Vec::with_capacity(width);
        let mut max_token_bytes = 0;
        for token in &tokens {
            let token = token.as_deref().unwrap_or_default();
            bytes.extend_from_slice(token);
            ends.push(bytes.len() as u32);
            max_token_bytes = max_token_bytes.max(token.len());
        }
        let mut eos = eos.to_vec();
        eos.sort_unstable();
        eos.dedup();
        let trie = Trie::new(tokens.iter().enumerate().filter_map(|(id, token)| {
            token.as_deref().filter(|token| !token.is_empty()).map(|token| (token, TokenId(id as u32)))
        }));
        let mut text_tokens = vec![0; mask_words(width)].into_boxed_slice();
        trie.subtree_tokens(Trie::ROOT).iter().for_each(|&token| mask_insert(&mut text_tokens, token));
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Ok(Vocabulary { id, bytes, ends, eos, max_token_bytes, trie, text_tokens })
    }

    /// The same vocabulary to share.
    pub fn shared(self) -> Arc<Vocabulary> {
        Arc::new(self)
    }

    /// A number that no other vocabulary of this process has.
    #[doc(hidden)]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The width of the logits, in tokens.
    pub fn n_vocab(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of a token that matches as text, else `None`.
    #[inline]
    pub fn token_bytes(&self, token: TokenId) -> Option<&[u8]> {
        let index = token.index();
        let end = *self.ends.get(index)? as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        (start < end).then(|| &self.bytes[start..end])
    }

    /// The ids that end a text, in ascending order.
    pub fn eos_token_ids(&self) -> &[u32] {
        &self.eos
    }

    /// Whether `token` ends a text.
    #[inline]
    pub fn is_eos(&self, token: TokenId) -> bool {
        self.eos.contains(&token.0)
    }

    /// The length of the longest token, in bytes.
    pub fn max_token_bytes(&self) -> usize {
        self.max_token_bytes
    }

    /// By place in `text`, its end included: the least number of tokens that spell the rest from there; `None` if none do.
    /// Takes time in the text times the longest token.
    ///
    /// ```
    /// use maskwright_vocabulary::Vocabulary;
    /// let tokens = ["a", "ab", "abc", "ca"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap();
    /// assert_eq!(vocabulary.fewest_tokens(b"abca"), [Some(2), None, Some(1), Some(1), Some(0)]);
    /// assert_eq!(vocabulary.fewest_tokens(b"abcb")[0], None);
    /// ```
    pub fn fewest_tokens(&self, text: &[u8]) -> Vec<Option<u32>> {
        let mut fewest = vec![None; text.len() + 1];
        fewest[text.len()] = Some(0);
        for start in (0..text.len()).rev() {
            let mut node = Trie::ROOT;
            for (at, &byte) in text.iter().enumerate().skip(start) {
                let Some(child) = self.trie.child(node, byte) else { break };
                node = child;
                if !self.trie.tokens(node).is_empty()
                    && let Some(after) = fewest[at + 1]
                {
                    let known = fewest[start].unwrap_or(u32::MAX);
                    fewest[start] = Some(known.min(after + 1));
                }
            }
        }
        fewest
    }

    /// The tokens that match as text, as a packed mask of [`mask_words`]`(n_vocab)` words.
    #[doc(hidden)]
    pub fn text_tokens(&self) -> &[u32] {
        &self.text_tokens
    }

    /// The trie of all tokens that match as text.
    #[inline]
    #[doc(hidden)]
    pub fn trie(&self) -> &Trie {
        &self.trie
    }
}

/// Loading. A vocabulary that has been read says nothing about how the model cuts text; see `Tokenizer` for that.
impl Vocabulary {
    /// Reads the tokens of a Hugging Face `tokenizer.json`.
    ///
    /// The ids that end a text are `options.eos_token_ids`, else `eos_token_id` of a `generation_config.json`
    /// beside the file, else `eos_token` of a `tokenizer_config.json` there, else every well-known name
    /// (`<|endoftext|>`, `</s>`, `<|im_end|>` and the like) among the added tokens.
    ///
    /// # Errors
    /// If a file cannot be read or is not what it should be, if the tokenizer's model is not BPE, if its tokens
    /// cannot be told to be byte-level or SentencePiece, if no id ends a text, or if a limit on size is reached.
    pub fn from_file(path: &Path, options: &TokenizerOptions) -> Result<Vocabulary, Error> {
        let file = loaders::hugging_face::read_file(path, options)?;
        Ok(file.vocabulary().map_err(|error| error.at(path))?)
    }

    /// Reads the tokens in the text of a `tokenizer.json`; as [`Vocabulary::from_file`] with no files beside it.
    ///
    /// # Errors
    /// As for [`Vocabulary::from_file`].
    pub fn from_json(json: &[u8], options: &TokenizerOptions) -> Result<Vocabulary, Error> {
        Ok(loaders::hugging_face::read_json(json, options)?.vocabulary()?)
    }

    /// Reads the tokens inside a GGUF file (`tokenizer.ggml.model` is `llama` or `gpt2`).
    ///
    /// The ids that end a text are `options.eos_token_ids`, else the file's `eos_token_id`, `eot_token_id` and
    /// `eom_token_id`, else well-known names among the control tokens.
    ///
    /// # Errors
    /// If the file cannot be read or is not what it should be, if no id ends a text, or if a limit on size is
    /// reached.
    pub fn from_gguf(path: &Path, options: &TokenizerOptions) -> Result<Vocabulary, Error> {
        let vocabulary = loaders::gguf::read(path, options).and_then(|file| file.vocabulary());
        Ok(vocabulary.map_err(|error| error.at(path))?)
    }
}
