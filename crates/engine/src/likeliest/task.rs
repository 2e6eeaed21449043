//! What is asked for.

use maskwright_vocabulary::TokenId;

use super::scores::{Row, Scores};

/// Positions to fill, and how the text may end.
pub(crate) struct Task<'a> {
    pub(crate) scores: Scores<'a>,
    /// The tokens that end a text.
    pub(crate) ends: Vec<TokenId>,
    /// Those that follow its end.
    pub(crate) after_end: Vec<TokenId>,
    /// The most tokens of the text, its end included.
    pub(crate) max_tokens: usize,
    /// If the text may go on after the last position: how many tokens may come there, its end included.
    pub(crate) n_more: Option<u32>,
    /// How many tokens the end of a text takes: none where the vocabulary has no end-of-sequence token.
    pub(crate) end_cost: u32,
    /// Whether a text that ends with the last position needs a token for that.
    pub(crate) needs_end: bool,
    /// Tokens that are no part of a text.
    pub(crate) blanks: &'a [TokenId],
}

impl Task<'_> {
    /// The best of `tokens` at a position, and its score; of equal ones, the least id.
    pub(crate) fn best_of(&self, row: &Row<'_>, tokens: &[TokenId]) -> Option<(TokenId, f64)> {
        let scores = tokens.iter().map(|&token| (token, row.score(token)));
        let possible = scores.filter(|&(_, score)| score > f64::NEG_INFINITY);
        possible.reduce(
            |best, other| {
                if other.1 > best.1 || other.1 == best.1 && other.0 < best.0 { other } else { best }
            },
        )
    }
}
