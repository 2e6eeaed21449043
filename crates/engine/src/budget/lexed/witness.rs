//! Completions found by stepping the lexer, for configurations where the budget searches find none.
//!
//! With the contextual lexer, the budget searches read the tokens ahead strictly: among more terminals than compete there
//! ([`crate::lexed`]). A completion they find is valid, but they may miss some. An example: in `start: A A B` with `A: "x"` and
//! `B: "xx"`, no `A` wins before another. So before a text is said to have no completion, [`Witnesses`] looks for one with the lexer's
//! actual steps: first a short text, whatever tokens spell it; if the vocabulary cannot spell that, token by token.
//!
//! A completion is kept as an upper bound for each configuration along it, so a session that was promised it can follow it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::groups::Groups;
use crate::EngineError;
use crate::lexed::States;
use crate::parser::{ConfigId, Parser};

/// The most tokens that one search token by token tries, over the masks of all configurations.
const MAX_TRIED: usize = 1_000_000;
/// The most configurations that such a search visits.
const MAX_PLACES: usize = 5_000;
/// The most threads of the parser that they have together. They grow with the distance where rules can always go on.
const MAX_THREADS: usize = 50_000;

/// What a search for a completion has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Witness {
    /// A completion of so many tokens, EOS not included.
    Of(u32),
    /// The vocabulary's tokens spell none.
    Nothing,
    /// None was found before a limit was reached.
    GivenUp,
}

/// What searches have found.
#[derive(Default)]
pub(super) struct Witnesses {
    known: FxHashMap<ConfigId, Witness>,
}

impl Witnesses {
    /// A completion found by stepping the lexer.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn of(
        &mut self,
        groups: &mut Groups,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Witness, EngineError> {
        if let Some(&known) = self.known.get(&config) {
            return Ok(known);
        }
        let found = match way_of_text(states, parser, config)? {
            Some(way) => Ok(way),
            None => way_of_tokens(groups, states, parser, config)?,
        };
        let way = match found {
            Ok(way) => way,
            Err(nothing) => {
                self.known.insert(config, nothing);
                return Ok(nothing);
            }
        };
        let n_tokens = way.len() as u32 - 1;
        for (position, config) in way.into_iter().enumerate() {
            let rest = n_tokens - position as u32;
            match self.known.entry(config).or_insert(Witness::Of(rest)) {
                Witness::Of(known) => *known = rest.min(*known),
                nothing => *nothing = Witness::Of(rest),
            }
        }
        Ok(Witness::Of(n_tokens))
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

/// The configurations before and after each token of a text that completes one of `config`.
fn way_of_text(
    states: &mut States,
    parser: &mut Parser,
    config: ConfigId,
) -> Result<Option<Vec<ConfigId>>, EngineError> {
    let vocabulary = parser.shared.vocabulary.clone();
    let spells = |byte: u8| vocabulary.fewest_tokens(&[byte])[0].is_some();
    let Some(text) = states.completing_text(parser, config, &spells)? else { return Ok(None) };
    let Some(tokens) = vocabulary.spelled_by_fewest(&text) else { return Ok(None) };
    let (mut way, mut last) = (vec![config], config);
    for token in tokens {
        match states.step_all(parser, last, vocabulary.text(token).unwrap_or_default())? {
            Some(next) => last = next,
            None => return Ok(None),
        }
        way.push(last);
    }
    Ok(states.configs.is_accepting(last).then_some(way))
}

/// The same found token by token, those that leave the fewest terminals to read first; or why none was found.
fn way_of_tokens(
    groups: &mut Groups,
    states: &mut States,
    parser: &mut Parser,
    config: ConfigId,
) -> Result<Result<Vec<ConfigId>, Witness>, EngineError> {
    let per_place = parser.shared.vocabulary.n_words() * 32;
    let max_places = (MAX_TRIED / per_place.max(1)).clamp(1, MAX_PLACES);
    // The predecessor of each configuration.
    let mut before: FxHashMap<ConfigId, ConfigId> = FxHashMap::from_iter([(config, config)]);
    let mut heap = BinaryHeap::from([Reverse((0u32, 0u32, config))]);
    let (mut n_places, mut n_threads) = (0, 0);
    let mut is_exact = true;
    while let Some(Reverse((_, n_tokens, place))) = heap.pop() {
        if states.configs.is_accepting(place) {
            let mut way = vec![place];
            let mut at = place;
            while at != config {
                at = before[&at];
                way.push(at);
            }
            way.reverse();
            return Ok(Ok(way));
        }
        n_places += 1;
        let threads = states.configs.threads(place).iter();
        n_threads += threads.map(|thread| 1 + parser.configs.threads(thread.parser).len()).sum::<usize>();
        if n_places > max_places || n_threads > MAX_THREADS {
            return Ok(Err(Witness::GivenUp));
        }
        let grouped = groups.of(states, parser, place)?;
        is_exact &= grouped.is_exact;
        for &(next, _) in grouped.list.iter() {
            if before.contains_key(&next) {
                continue;
            }
            before.insert(next, place);
            let least = states.fewest_terminals(parser, next);
            heap.push(Reverse(((n_tokens + 1).saturating_add(least), n_tokens + 1, next)));
        }
    }
    Ok(Err(if is_exact { Witness::Nothing } else { Witness::GivenUp }))
}
