//! What a search looked at, as a tree of tokens.

use std::collections::HashMap;

use maskwright_vocabulary::TokenId;

use crate::generate::FinishReason;

/// A token that a search tried, after those of its parents.
///
/// # Examples
/// ```
/// use maskwright_decode::ExploredToken;
/// use maskwright_vocabulary::TokenId;
/// let first = ExploredToken { parent: None, id: TokenId(7), log_likelihood: -0.5, ended: None };
/// let second = ExploredToken { parent: Some(0), id: TokenId(0), log_likelihood: -0.75, ended: None };
/// assert_eq!(second.parent, Some(0));
/// assert!(second.log_likelihood <= first.log_likelihood);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExploredToken {
    /// The index of the token before it; `None` after the prompt.
    pub parent: Option<usize>,
    /// The token.
    pub id: TokenId,
    /// The logarithm of the model's probability of the text up to here.
    pub log_likelihood: f64,
    /// Why the text ended with it, if it did.
    pub ended: Option<FinishReason>,
}

/// Collects tokens. No two are the same token after the same parent.
#[derive(Debug, Default)]
pub(super) struct Explored {
    tokens: Vec<ExploredToken>,
    children: HashMap<(Option<usize>, TokenId), usize>,
}

impl Explored {
    /// Notes a token, and returns its index.
    pub(super) fn note(&mut self, token: ExploredToken) -> usize {
        let tokens = &mut self.tokens;
        *self.children.entry((token.parent, token.id)).or_insert_with(|| {
            tokens.push(token);
            tokens.len() - 1
        })
    }

    /// All of them; each comes after its parent.
    pub(super) fn into_tokens(self) -> Vec<ExploredToken> {
        self.tokens
    }
}
