//! The searches for numbers of tokens, and what they share.
//!
//! [`Searches`] owns two searches over the same runs. The *exact* one is over all tokenizations. The *upper* one is over those in which
//! tokens end where the lexer's do: much smaller, and its numbers are those of completions too, so upper bounds.
//!
//! An example: whether 5 tokens are enough is asked of the upper search first ([`upper_within`](Searches::upper_within)). If it has a
//! completion of 4, that is all. Otherwise the exact search looks for one of at most 5
//! ([`exact_within`](Searches::exact_within)), within a number of items.
//!
//! **The same question has the same answer**, whatever was asked before: `budget::over_bytes` says how. Here, too, an answer is that of
//! searches that start with empty tables ([`Tables`]) and may do a fixed amount of work ([`Searches::question`]).

use std::sync::Arc;

use super::ends::{Ends, Explored};
use super::floors::Floors;
use super::runs::Runs;
use super::search::{Search, floor};
use super::summaries::Parts;
use crate::EngineError;
use crate::lexed::States;
use crate::parser::{ConfigId, Parser};
use crate::shared::Shared;
use crate::spelling::{Futures, Spelling};

/// Items that the searches for the upper bounds of one question may take.
const MAX_UPPER_ITEMS: u64 = 400_000;
/// How many times as many items a search may take when no token is left otherwise.
const AT_LENGTH: u64 = 256;
/// At least so many items are then taken, however few the limit allows.
const MIN_AT_LENGTH: u64 = 1_000_000;
/// Bytes that tables, and memoised answers, may take before they are dropped.
pub(super) const MAX_BYTES: usize = 128 << 20;
/// Items and walks between two looks at what searches take.
const LOOK_EVERY: u64 = 50_000;
/// No completion of more tokens is looked for.
pub(super) const MAX_BOUND: u32 = 1 << 20;

/// How much work a question may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effort {
    Usual,
    /// More, where no token is left otherwise.
    AtLength,
}

/// Whether so many tokens complete a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// So many do by the upper search.
    Upper(u32),
    Yes,
    No,
    Unknown,
}

impl Fit {
    /// `None` if that is not known.
    pub(super) fn is_within(self) -> Option<bool> {
        match self {
            Fit::Upper(_) | Fit::Yes => Some(true),
            Fit::No => Some(false),
            Fit::Unknown => None,
        }
    }
}

/// Runs, and the two searches over them; dropped together.
struct Tables {
    runs: Runs,
    exact: Search,
    upper: Search,
}

impl Tables {
    /// Nothing is known yet.
    fn new() -> Tables {
        Tables { runs: Runs::default(), exact: Search::new(false), upper: Search::new(true) }
    }

    /// Drops everything but the walks, on whose making no search has a limit.
    fn clear(&mut self) {
        self.runs.clear();
        self.exact = Search::new(false);
        self.upper = Search::new(true);
    }

    /// How much all questions together may have done.
    fn allow(&mut self, (exact, upper): (u64, u64)) {
        self.exact.allow(exact);
        self.upper.allow(upper);
    }

    /// Whether nothing has been asked of the searches and runs.
    fn are_empty(&self) -> bool {
        self.exact.work() + self.upper.work() + self.runs.n_looks() == 0
    }

    fn work(&self) -> u64 {
        self.exact.work() + self.upper.work() + self.runs.n_walks()
    }

    fn memory_usage(&self) -> usize {
        self.exact.memory_usage() + self.upper.memory_usage() + self.runs.memory_usage()
    }
}

/// The searches of one lexed grammar.
pub(super) struct Searches {
    spelling: Arc<parking_lot::Mutex<Spelling>>,
    floors: Floors,
    /// Those of the upper search.
    aligned_floors: Floors,
    /// Whether the floors have been made.
    has_floors: bool,
    /// Which ways lead to which ends; all may lead to any if that is not known.
    ends: Option<Ends>,
    tables: Tables,
    /// The tables of questions that may do more.
    at_length: Option<Box<Tables>>,
    /// Whether the tables are those of the present question alone, so that a search that is given up has had all the work it may do.
    is_fresh: bool,
    /// The work of searches at which their memory is looked at next.
    next_look: u64,
    pub(super) eos_cost: u32,
}

impl Searches {
    /// Nothing is known yet; the spelling is what grammars share.
    pub(super) fn new(parser: &Parser) -> Searches {
        Searches {
            spelling: parser.shared.spelling(),
            floors: Floors::default(),
            aligned_floors: Floors::default(),
            has_floors: false,
            ends: None,
            tables: Tables::new(),
            at_length: None,
            is_fresh: true,
            next_look: LOOK_EVERY,
            eos_cost: u32::from(!parser.shared.vocabulary.eos_token_ids().is_empty()),
        }
    }

    /// Drops the tables if they have grown beyond the limit.
    pub(super) fn trim(&mut self) {
        let work = self.work();
        if work >= self.next_look {
            self.next_look = work + LOOK_EVERY;
            if self.memory_usage() > MAX_BYTES {
                self.clear();
            }
        }
    }

    fn work(&self) -> u64 {
        self.tables.work() + self.at_length.as_ref().map_or(0, |tables| tables.work())
    }

    /// Drops the tables.
    pub(super) fn clear(&mut self) {
        self.tables = Tables::new();
        self.at_length = None;
        self.next_look = LOOK_EVERY;
        self.floors.clear_places();
        self.aligned_floors.clear_places();
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.tables.memory_usage()
            + self.at_length.as_ref().map_or(0, |tables| tables.memory_usage())
            + self.ends.as_ref().map_or(0, Ends::memory_usage)
            + self.floors.memory_usage()
            + self.aligned_floors.memory_usage()
    }

    /// Builds the tables that no text changes.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn prepare(&mut self, states: &mut States) -> Result<(), EngineError> {
        let spelling = self.spelling.clone();
        self.make_floors(states, spelling.lock().futures())
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
                self.ends = Some(Ends::new(points, &explored));
            }
            self.has_floors = true;
        }
        Ok(())
    }

    /// Answers a question by `ask`: with the tables that there are, or with empty ones if others have done too much work in those. A search that `ask` lets be given up ([`unless_given_up`](Searches::unless_given_up)) has then had all of it.
    ///
    /// # Errors
    /// Those of `ask`.
    pub(super) fn question<T>(
        &mut self,
        shared: &Shared,
        effort: Effort,
        mut ask: impl FnMut(&mut Searches) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let items = shared.limits.budget_items;
        let (exact, upper) = match effort {
            Effort::Usual => (items, MAX_UPPER_ITEMS),
            Effort::AtLength => {
                self.exchange();
                (items.saturating_mul(AT_LENGTH).max(MIN_AT_LENGTH), MAX_UPPER_ITEMS)
            }
        };
        self.is_fresh = self.tables.are_empty();
        let mut answer = None;
        if !self.is_fresh {
            self.tables.allow((exact / 2, upper / 2));
            answer =
                Some(ask(self)).filter(|found| !found.as_ref().is_err_and(EngineError::is_budget_search));
        }
        let answer = answer.unwrap_or_else(|| {
            self.is_fresh = true;
            self.tables.clear();
            self.tables.allow((exact, upper));
            ask(self)
        });
        let is_broken_off = answer.as_ref().is_err_and(|error| !error.is_out_of_work());
        if is_broken_off || self.tables.exact.is_spent() || self.tables.upper.is_spent() {
            // Something was left in the middle.
            self.tables.clear();
        }
        self.next_look = self.next_look.min(self.work() + LOOK_EVERY);
        if effort == Effort::AtLength {
            self.exchange();
        }
        answer
    }

    /// Exchanges the tables with those of questions that may do more.
    fn exchange(&mut self) {
        let at_length = self.at_length.get_or_insert_with(|| Box::new(Tables::new()));
        std::mem::swap(&mut self.tables, &mut **at_length);
    }

    /// What a search has found; `None` if it was given up although nothing had been asked before.
    ///
    /// # Errors
    /// All others.
    pub(super) fn unless_given_up<T>(&self, found: Result<T, EngineError>) -> Result<Option<T>, EngineError> {
        match found {
            Err(error) if error.is_budget_search() && self.is_fresh => Ok(None),
            found => found.map(Some),
        }
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
        self.make_floors(states, spelling.futures())?;
        let Searches { floors, aligned_floors, ends, tables, .. } = self;
        let Tables { runs, exact, upper } = tables;
        let (search, floors) = if is_upper { (upper, aligned_floors) } else { (exact, floors) };
        let futures = spelling.futures();
        let answer = ask(search, &mut Parts { parser, states, futures, runs, ends: ends.as_ref(), floors });
        if answer.as_ref().is_err_and(EngineError::is_out_of_work) {
            // It was left in the middle of something; runs go on from there.
            *search = Search::new(is_upper);
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
    /// If the question has no work left for it, or another limit is reached.
    pub(super) fn upper_within(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<u32>, EngineError> {
        self.within(states, parser, true, (config, limit))
    }

    /// The least number of tokens of all completions of a text that is not complete, if it is at most `limit`.
    ///
    /// # Errors
    /// As [`upper_within`](Searches::upper_within).
    pub(super) fn exact_within(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<u32>, EngineError> {
        self.within(states, parser, false, (config, limit))
    }

    /// Whether at most `limit` tokens complete the text.
    ///
    /// # Errors
    /// As [`unless_given_up`](Searches::unless_given_up).
    pub(super) fn fit(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        limit: u32,
    ) -> Result<Fit, EngineError> {
        if states.configs.is_accepting(config) {
            return Ok(if self.eos_cost <= limit { Fit::Upper(self.eos_cost) } else { Fit::No });
        }
        let upper = self.upper_within(states, parser, config, limit);
        if let Some(Some(upper)) = self.unless_given_up(upper)? {
            return Ok(Fit::Upper(upper));
        }
        let exact = self.exact_within(states, parser, config, limit);
        Ok(match self.unless_given_up(exact)? {
            Some(Some(_)) => Fit::Yes,
            // Tokens ahead are read strictly there, so there may be more texts.
            Some(None) if !states.places().points.tables.is_contextual => Fit::No,
            Some(None) | None => Fit::Unknown,
        })
    }

    fn within(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        is_upper: bool,
        (config, limit): (ConfigId, u32),
    ) -> Result<Option<u32>, EngineError> {
        let Some(room) = limit.min(MAX_BOUND).checked_sub(self.eos_cost) else { return Ok(None) };
        let found = self.ask(states, parser, is_upper, |search, parts| search.within(parts, config, room))?;
        Ok(found.map(|found| found + self.eos_cost))
    }

    /// Walks of the lexer made so far, by the tables that there are.
    #[cfg(test)]
    pub(super) fn n_walks(&self) -> u64 {
        self.tables.runs.n_walks()
    }
}
