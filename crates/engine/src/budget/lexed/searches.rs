//! The searches for numbers of tokens, and what they share.
//!
//! [`Searches`] owns two searches over the same runs. The *exact* one is over all tokenizations. The *upper* one is over those in which
//! tokens end where the lexer's do: much smaller, and its numbers are those of completions too, so upper bounds.
//!
//! An example: whether 5 tokens are enough is asked of the upper search first ([`upper_within`](Searches::upper_within)). If it has a
//! completion of 4, that is all. Otherwise the exact search looks for one of at most 5
//! ([`exact_within`](Searches::exact_within)), within a number of items.
//!
//! Tables are dropped between calls when they take too much memory; answers are kept longer than the searches that found them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::ends::{Ends, Explored};
use super::floors::Floors;
use super::runs::Runs;
use super::search::{Search, floor};
use super::summaries::Parts;
use crate::EngineError;
use crate::lexed::States;
use crate::parser::{ConfigId, Parser};
use crate::spelling::{Futures, Spelling};

/// Items that the search for one upper bound may take.
const MAX_UPPER_ITEMS: u64 = 400_000;
/// After searches that were given up, the next may take at least so many items.
const MIN_ITEMS: u64 = 1_000;
/// Items that the next search may take more after one that was not given up.
const REGAINED: u64 = 100;
/// Bytes that the memoised answers may take before they are dropped.
pub(super) const MAX_BYTES: usize = 128 << 20;
/// Items and walks between two looks at what searches take.
const LOOK_EVERY: u64 = 50_000;
/// No completion of more tokens is looked for.
pub(super) const MAX_BOUND: u32 = 1 << 20;

/// The searches of one lexed grammar.
pub(super) struct Searches {
    spelling: Arc<parking_lot::Mutex<Spelling>>,
    pub(super) runs: Runs,
    floors: Floors,
    /// Those of the upper search.
    aligned_floors: Floors,
    /// Whether the floors have been made.
    has_floors: bool,
    pub(super) exact: Search,
    pub(super) upper: Search,
    /// Items that the next exact search may take: fewer after searches that were given up, more after others.
    pub(super) patience: u64,
    /// Items that exact searches may take in the present call, together.
    left: u64,
    /// The work of searches at which their memory is looked at next.
    next_look: u64,
    pub(super) eos_cost: u32,
}

impl Searches {
    /// Nothing is known yet; the spelling is what grammars share.
    pub(super) fn new(parser: &Parser) -> Searches {
        Searches {
            spelling: parser.shared.spelling(),
            runs: Runs::default(),
            floors: Floors::default(),
            aligned_floors: Floors::default(),
            has_floors: false,
            exact: Search::new(false),
            upper: Search::new(true),
            patience: parser.shared.limits.budget_items,
            left: 0,
            next_look: LOOK_EVERY,
            eos_cost: u32::from(!parser.shared.vocabulary.eos_token_ids().is_empty()),
        }
    }

    /// Gives the exact searches of a call their work.
    pub(super) fn begin_call(&mut self, parser: &Parser) {
        self.left = parser.shared.limits.budget_items;
    }

    /// Drops the searches, without their answers, if they have grown beyond the limit.
    pub(super) fn trim(&mut self) {
        let work = self.exact.work() + self.upper.work() + self.runs.work();
        if work >= self.next_look {
            self.next_look = work + LOOK_EVERY;
            if self.memory_usage() > MAX_BYTES {
                self.clear();
            }
        }
    }

    /// Drops the searches, without their answers.
    pub(super) fn clear(&mut self) {
        self.exact.clear();
        self.upper.clear();
        self.next_look = LOOK_EVERY;
        self.runs.clear();
        self.floors.clear_places();
        self.aligned_floors.clear_places();
    }

    /// Drops the answers.
    pub(super) fn clear_answers(&mut self) {
        self.exact.configs = FxHashMap::default();
        self.upper.configs = FxHashMap::default();
    }

    /// How many answers are kept.
    pub(super) fn n_answers(&self) -> usize {
        self.exact.configs.len() + self.upper.configs.len()
    }

    /// Approximate memory without answers, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.exact.memory_usage()
            + self.upper.memory_usage()
            + self.runs.memory_usage()
            + self.floors.memory_usage()
            + self.aligned_floors.memory_usage()
    }

    /// Builds the tables that no text changes.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn prepare(&mut self, states: &mut States) -> Result<(), EngineError> {
        let spelling = self.spelling.clone();
        self.make_floors(states, &spelling.lock().futures)
    }

    /// Makes the floors if they are not made.
    fn make_floors(&mut self, states: &mut States, futures: &Futures) -> Result<(), EngineError> {
        if !self.has_floors {
            let points = &mut states.places_mut().points;
            self.aligned_floors = Floors::aligned(points);
            // Under the contextual discipline neighbours depend on the place.
            if !points.tables.is_contextual
                && let Some(explored) = Explored::new(points)?
            {
                self.floors = Floors::new(points, futures, &explored)?;
                self.runs.ends = Some(Ends::new(points, &explored));
            }
            self.has_floors = true;
        }
        Ok(())
    }

    /// Asks one of the searches.
    fn ask<T>(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        is_upper: bool,
        ask: impl FnOnce(&mut Search, &mut Parts<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let spelling = self.spelling.clone();
        let mut spelling = spelling.lock();
        self.make_floors(states, &spelling.futures)?;
        let Searches { runs, floors, aligned_floors, exact, upper, .. } = self;
        let (search, floors) = if is_upper { (upper, aligned_floors) } else { (exact, floors) };
        let answer = ask(search, &mut Parts { parser, states, futures: &mut spelling.futures, runs, floors });
        if answer.as_ref().is_err_and(EngineError::is_out_of_work) {
            // A run may have been left in the middle of a level.
            self.clear();
        }
        answer
    }

    /// A lower bound on the number of tokens of a text that is not complete.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn floor(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<u32, EngineError> {
        Ok(self.ask(states, parser, false, |_, parts| floor(parts, config))? + self.eos_cost)
    }

    /// The number of tokens of some completion of a text that is not complete, if one of at most `limit` is found in
    /// which tokens end where the lexer's do.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn upper_within(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<u32>, EngineError> {
        let Some(room) = limit.checked_sub(self.eos_cost) else { return Ok(None) };
        let found = self
            .ask(states, parser, true, |search, parts| search.within(parts, config, room, MAX_UPPER_ITEMS));
        if found.is_err() {
            self.upper.clear();
        }
        Ok(found?.map(|found| found + self.eos_cost))
    }

    /// The least number of tokens of all completions of a text that is not complete, if it is at most `limit`; that the
    /// search was given up, if it was.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn exact_within(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
        max_items: u64,
    ) -> Result<Result<Option<u32>, EngineError>, EngineError> {
        let Some(room) = limit.checked_sub(self.eos_cost) else { return Ok(Ok(None)) };
        let before = self.exact.work();
        let found =
            self.ask(states, parser, false, |search, parts| search.within(parts, config, room, max_items));
        if found.as_ref().is_err_and(EngineError::is_out_of_work) {
            return found.map(|_| Ok(None));
        }
        self.left = self.left.saturating_sub(self.exact.work().saturating_sub(before));
        match found {
            Err(error) if error.is_budget_search() => {
                self.exact.clear();
                // Not where it was the call that had no more work to give.
                if max_items >= self.patience {
                    let least = MIN_ITEMS.min(self.patience);
                    self.patience = (self.patience / 4).max(least);
                }
                Ok(Err(error))
            }
            found => {
                if self.exact.work() > before {
                    self.patience = (self.patience + REGAINED).min(parser.shared.limits.budget_items);
                }
                Ok(Ok(found?.map(|found| found + self.eos_cost)))
            }
        }
    }

    /// Whether at most `limit` tokens complete the text; `None` if the remaining work of the present call does not suffice.
    ///
    /// # Errors
    /// If a limit is reached before any completion is found.
    pub(super) fn fits_in_what_is_left(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<bool>, EngineError> {
        let limit = limit.min(MAX_BOUND);
        if states.configs.is_accepting(config) {
            return Ok(Some(self.eos_cost <= limit));
        }
        let room = limit.saturating_sub(self.eos_cost);
        let known = self.upper.configs.get(&config).and_then(|known| known.known());
        if known.is_some_and(|known| known <= room)
            || self.upper_within(states, parser, config, limit)?.is_some()
        {
            return Ok(Some(true));
        }
        if let Some(known) = self.exact.configs.get(&config).and_then(|known| known.within(room)) {
            return Ok(Some(known.is_some()));
        }
        if self.left == 0 && parser.shared.limits.budget_items > 0 {
            return Ok(None);
        }
        let exact = self.exact_within(states, parser, config, limit, self.patience.min(self.left))?;
        Ok(exact.ok().map(|least| least.is_some()))
    }

    /// What is known of the upper bound of a configuration.
    pub(super) fn known_upper(&self, states: &States, config: ConfigId) -> Option<u32> {
        if states.configs.is_accepting(config) {
            return Some(self.eos_cost);
        }
        Some(self.upper.configs.get(&config)?.known()? + self.eos_cost)
    }
}
