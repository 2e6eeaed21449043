//! Completions found by trying tokens.
//!
//! When: no completion is known whose tokens would be accepted. A part of the text has a limit of its own on
//! tokens, so where tokens begin matters; not every byte is a token (stop tokens that are text, small
//! vocabularies), so that what completes a text may have no spelling; or a lexer reads no short text as it
//! was meant.
//!
//! An example: `\n` is a stop token, and no other token but `\n\n` has that byte. Behind `a` in the grammar
//! `a(\n\n|\nb)`, `\n\n` is the only way, which is found by trying tokens.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::ground::{MAX_SEARCHED, MaskForm};
use crate::parser::ConfigId;

/// The most tokens that one search tries, over the masks of all configurations.
const MAX_TRIED: usize = 1_000_000;
/// A thread of the parser takes as long as so many tokens. Where rules go ever deeper, threads grow with the
/// text.
const TOKENS_PER_THREAD: usize = 32;

/// What a search for a completion has found.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// Tokens, without one for the end of the text.
    Way(Arc<[TokenId]>),
    /// The vocabulary's tokens spell no completion.
    Nothing,
    /// None was found before a limit was reached.
    GivenUp,
}

/// The tokens of a configuration's mask by the configuration after them, in order of their first tokens.
pub(super) type TokenGroups = Arc<[(ConfigId, MaskForm)]>;

/// What a search asks of a reader.
pub(super) trait Walk {
    /// The words of a mask.
    fn n_words(&self) -> usize;

    /// The threads of the parser.
    fn n_threads(&self, config: ConfigId) -> usize;

    /// Whether the text may end.
    fn is_complete(&self, config: ConfigId) -> bool;

    /// The tokens of a configuration's mask by the configuration after them, in order of their first tokens;
    /// and whether these are all.
    fn groups(&mut self, config: ConfigId) -> Result<(TokenGroups, bool), EngineError>;

    /// About how much is left to be read of the text.
    fn n_left(&mut self, config: ConfigId) -> Result<usize, EngineError>;
}

/// A completion, of the tokens first that leave the least to be read.
///
/// # Errors
/// If a limit of the reader is reached.
pub(super) fn search(walk: &mut dyn Walk, config: ConfigId) -> Result<Found, EngineError> {
    let n_tokens_each = walk.n_words() * 32;
    // The configuration before each, and the token between.
    let mut before: FxHashMap<ConfigId, (ConfigId, TokenId)> = FxHashMap::default();
    before.insert(config, (config, TokenId(0)));
    let mut queue = BinaryHeap::from([Reverse((0, 0, 0, config))]);
    let (mut n_places, mut n_tried, mut are_all) = (0, 0, true);
    while let Some(Reverse((_, n_tokens, _, place))) = queue.pop() {
        if walk.is_complete(place) {
            let (mut way, mut at) = (Vec::new(), place);
            while at != config {
                let (from, token) = before[&at];
                way.push(token);
                at = from;
            }
            way.reverse();
            return Ok(Found::Way(way.into()));
        }
        n_places += 1;
        n_tried += n_tokens_each + TOKENS_PER_THREAD * walk.n_threads(place);
        if n_places > 1 && (n_places > MAX_SEARCHED || n_tried > MAX_TRIED) {
            return Ok(Found::GivenUp);
        }
        let (groups, are_exact) = walk.groups(place)?;
        are_all &= are_exact;
        for (next, tokens) in groups.iter() {
            let Some(first) = tokens.first().filter(|_| !before.contains_key(next)) else {
                continue;
            };
            // Numbers of configurations depend on what was asked before, the order in which they are met does
            // not.
            let number = before.len();
            before.insert(*next, (place, first));
            let left = walk.n_left(*next)?;
            queue.push(Reverse((left.saturating_add(n_tokens + 1), n_tokens + 1, number, *next)));
        }
    }
    Ok(if are_all { Found::Nothing } else { Found::GivenUp })
}
