//! Sets of tokens of the vocabulary.

use maskwright_vocabulary::{TokenId, mask_contains, mask_insert, mask_remove, mask_words};

/// A set of tokens, a list while that is short.
#[derive(Debug)]
pub(crate) enum TokenSet {
    List(Box<[TokenId]>),
    Words(Box<[u32]>),
}

impl TokenSet {
    pub(crate) fn new(tokens: Vec<TokenId>, n_vocab: usize) -> TokenSet {
        if tokens.len() <= mask_words(n_vocab) {
            return TokenSet::List(tokens.into());
        }
        let mut words = vec![0; mask_words(n_vocab)];
        tokens.iter().for_each(|&token| mask_insert(&mut words, token));
        TokenSet::Words(words.into())
    }

    /// Work units of looking at all of it.
    pub(crate) fn cost(&self) -> u64 {
        let n = match self {
            TokenSet::List(tokens) => tokens.len(),
            TokenSet::Words(words) => words.len(),
        };
        1 + n as u64 / 16
    }

    /// Adds the set to a packed mask of the vocabulary's width.
    pub(crate) fn add_to(&self, mask: &mut [u32]) {
        match self {
            TokenSet::List(tokens) => tokens.iter().for_each(|&token| mask_insert(mask, token)),
            TokenSet::Words(words) => mask.iter_mut().zip(words).for_each(|(to, from)| *to |= from),
        }
    }

    /// Whether one of the tokens is in a packed mask.
    pub(crate) fn intersects(&self, mask: &[u32]) -> bool {
        self.common(mask).is_some()
    }

    /// One of the tokens that is in a packed mask.
    pub(crate) fn common(&self, mask: &[u32]) -> Option<TokenId> {
        match self {
            TokenSet::List(tokens) => tokens.iter().copied().find(|&token| mask_contains(mask, token)),
            TokenSet::Words(words) => {
                let mut both = mask.iter().zip(words).map(|(left, right)| left & right).enumerate();
                let (index, word) = both.find(|&(_, word)| word != 0)?;
                Some(TokenId(index as u32 * 32 + word.trailing_zeros()))
            }
        }
    }

    /// Moves the tokens from one packed mask to another, those that it has.
    pub(crate) fn move_to(&self, from: &mut [u32], to: &mut [u32]) {
        match self {
            TokenSet::List(tokens) => {
                for &token in tokens.iter().filter(|&&token| mask_contains(from, token)).collect::<Vec<_>>() {
                    mask_remove(from, token);
                    mask_insert(to, token);
                }
            }
            TokenSet::Words(words) => {
                for ((from, to), word) in from.iter_mut().zip(to).zip(words) {
                    *to |= *from & word;
                    *from &= !word;
                }
            }
        }
    }

    /// Some token, the first in the list or the least.
    pub(crate) fn any(&self) -> Option<TokenId> {
        match self {
            TokenSet::List(tokens) => tokens.first().copied(),
            TokenSet::Words(words) => {
                let index = words.iter().position(|&word| word != 0)?;
                Some(TokenId(index as u32 * 32 + words[index].trailing_zeros()))
            }
        }
    }
}
