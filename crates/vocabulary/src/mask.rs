//! Packed sets of token ids: 32 to a word, least significant bit first.

use std::fmt;

use crate::TokenId;

/// How many 32-bit words a mask over `n_vocab` tokens takes.
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::mask_words;
/// assert_eq!(mask_words(33), 2);
/// ```
pub const fn mask_words(n_vocab: usize) -> usize {
    n_vocab.div_ceil(32)
}

/// Whether bit `token` of packed `words` is set; false past the end.
#[inline]
pub fn mask_contains(words: &[u32], token: TokenId) -> bool {
    words.get(token.index() / 32).is_some_and(|word| word >> (token.0 % 32) & 1 != 0)
}

/// Sets bit `token` of packed `words`.
///
/// # Panics
/// If `token` is past the end.
#[inline]
pub fn mask_insert(words: &mut [u32], token: TokenId) {
    words[token.index() / 32] |= 1 << (token.0 % 32);
}

/// Clears bit `token` of packed `words`; past the end there is none.
#[inline]
pub fn mask_remove(words: &mut [u32], token: TokenId) {
    if let Some(word) = words.get_mut(token.index() / 32) {
        *word &= !(1 << (token.0 % 32));
    }
}

/// A set of tokens, packed: bit `i % 32` of word `i / 32`.
///
/// # Example: a set of tokens
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::{Mask, TokenId};
/// let mut mask = Mask::new(100);
/// mask.insert(TokenId(33));
/// assert!(mask.contains(TokenId(33)));
/// assert_eq!(mask.words(), &[0, 2, 0, 0]);
/// assert_eq!(format!("{mask:?}"), "Mask(1 of 100 tokens: 33)");
/// ```
///
/// # Example: on logits
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::{Mask, TokenId};
/// let mut mask = Mask::new(3);
/// mask.insert(TokenId(1));
/// let mut logits = [2.5, 0.5, 1.0];
/// for (id, logit) in (0..).map(TokenId).zip(&mut logits) {
///     if !mask.contains(id) {
///         *logit = f32::NEG_INFINITY;
///     }
/// }
/// assert_eq!(logits, [f32::NEG_INFINITY, 0.5, f32::NEG_INFINITY]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Mask {
    words: Vec<u32>,
    n_vocab: usize,
}

/// How many tokens the debug form of a mask lists.
const MAX_SHOWN: usize = 8;

impl fmt::Debug for Mask {
    /// How many tokens there are, and the first few.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_tokens = self.len();
        write!(f, "Mask({n_tokens} of {} tokens", self.n_vocab)?;
        for (index, token) in self.iter().take(MAX_SHOWN).enumerate() {
            write!(f, "{} {}", if index == 0 { ":" } else { "," }, token.0)?;
        }
        f.write_str(if n_tokens > MAX_SHOWN { ", …)" } else { ")" })
    }
}

impl Mask {
    /// The empty set over `n_vocab` tokens.
    pub fn new(n_vocab: usize) -> Mask {
        Mask { words: vec![0; mask_words(n_vocab)], n_vocab }
    }

    /// The width, in tokens.
    pub fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    /// The packed words.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The packed words, to be written. Bits past [`n_vocab`](Mask::n_vocab) must stay zero.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Adds a token.
    ///
    /// # Panics
    /// If `token` is past the end.
    #[inline]
    pub fn insert(&mut self, token: TokenId) {
        assert!(token.index() < self.n_vocab, "token {} in a mask of {} tokens", token.0, self.n_vocab);
        mask_insert(&mut self.words, token);
    }

    /// Whether a token is in the set; false past the end.
    #[inline]
    pub fn contains(&self, token: TokenId) -> bool {
        mask_contains(&self.words, token)
    }

    /// How many tokens are in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no token is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The tokens, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = TokenId> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = word.trailing_zeros();
                word &= word - 1;
                Some(TokenId(i as u32 * 32 + bit))
            })
        })
    }
}
