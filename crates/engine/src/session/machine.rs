//! The machine of one grammar: its parser, its reader, and what is known of limits and of watches.
//!
//! Here it is decided who answers a session's question: the reader alone, the limits on tokens, or the watch.
//! All tables only grow, or can be dropped at any time: forgetting changes time, never answers.

use std::sync::Arc;

use maskwright_grammar::{Network, Watch, Watching};
use maskwright_vocabulary::{TokenId, symbol_text};
use rustc_hash::FxHashSet;

use super::answerer::{Answerer, Unwatched};
use super::state::State;
use crate::EngineError;
use crate::budget::LimitsMemo;
use crate::bytes::WantedRows;
use crate::ground::{Counted, MaskBuilder, MaskWithin, Readings, TokenCountStatus};
use crate::likeliest::TokenAutomaton;
use crate::parser::{ConfigId, Parser, Thread};
use crate::reader::{Reader, Terminals};
use crate::shared::Shared;
use crate::watch::{WatchMemo, Watcher};

/// So many tables of configurations are kept.
const MAX_AUTOMATA: usize = 4;

/// The lazily built tables of one grammar.
pub(crate) struct Machine {
    pub(crate) reader: Reader,
    pub(crate) limits: LimitsMemo,
    watch: WatchMemo,
    /// The configurations as tables, where there are few, the last one made first; and from which there are
    /// many.
    automata: Vec<Arc<TokenAutomaton>>,
    without_automaton: FxHashSet<ConfigId>,
    counted: Counted,
}

/// What a mask lacks and can be made without the machine.
pub(crate) struct Wanted {
    rows: WantedRows,
    watch: Option<Arc<dyn Watch>>,
}

impl Wanted {
    /// Makes it; waits if another thread is doing so.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn make(&self, shared: &Shared) -> Result<(), EngineError> {
        if let Some(watch) = &self.watch {
            shared.doubtful_tokens(&**watch);
        }
        self.rows.make(shared)
    }
}

impl Machine {
    /// The machine of `network` over `terminals` before any text.
    ///
    /// # Errors
    /// If no text is in the language, or a limit is reached.
    pub(crate) fn new(
        shared: Arc<Shared>,
        network: Network,
        terminals: &Terminals,
    ) -> Result<Machine, EngineError> {
        let counted = Counted::new(shared.memory.clone());
        let is_bounded = shared.limits.mask_work.is_some();
        let mut reader = terminals.reader(Parser::new(shared, network)?)?;
        let (mut limits, watch) = (LimitsMemo::default(), WatchMemo::default());
        if is_bounded {
            // No mask has enough work for it.
            limits.prepare(&mut reader);
        }
        Ok(Machine {
            reader,
            limits,
            watch,
            automata: Vec::new(),
            without_automaton: FxHashSet::default(),
            counted,
        })
    }

    /// The same machine before any text.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn anew(&self) -> Result<Machine, EngineError> {
        let parser = self.reader.parser();
        Machine::new(parser.shared.clone(), parser.network.clone(), &self.reader.terminals())
    }

    /// What the grammar's watch knows before any text, if it has one.
    pub(crate) fn watch_start(&self) -> Option<Arc<dyn Watching>> {
        self.reader.parser().network.watched().map(|watched| watched.watch.start())
    }

    /// Asks the grammar's watch, if it has one, and else the grammar alone.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut dyn Answerer) -> T) -> T {
        let Machine { reader, limits, watch: memo, .. } = self;
        let is_watched = reader.parser().network.watched().is_some();
        match reader {
            // Watches work over bytes only.
            Reader::Bytes(reader) if is_watched => {
                ask(&mut Watcher { reader, limits: &mut limits.bytes, memo })
            }
            reader => ask(&mut Unwatched { reader, limits }),
        }
    }

    /// The state after a token, read in each of its ways; `None` if no text goes on so.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn after_readings(
        &mut self,
        state: &State,
        readings: &Readings<'_>,
    ) -> Result<Option<State>, EngineError> {
        let as_text = match readings.text {
            Some(bytes) => self.after_bytes(state, bytes)?,
            None => None,
        };
        let by_id = match readings.symbol {
            Some(symbol) => self.after_bytes(state, &symbol_text(symbol))?,
            None => None,
        };
        let after = match (as_text, by_id) {
            // No token is read by its id where a watch reads the text: watches read only the JSON of schemas.
            (Some(as_text), Some(by_id)) => {
                let config = self.reader.union(as_text.config, by_id.config)?;
                Some(State { config, ..as_text })
            }
            (as_text, by_id) => as_text.or(by_id),
        };
        after.map(|after| self.between_tokens(after)).transpose()
    }

    /// The state after a run of bytes, where a token may begin.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn after_text(&mut self, state: &State, bytes: &[u8]) -> Result<Option<State>, EngineError> {
        let after = self.after_bytes(state, bytes)?;
        after.map(|after| self.between_tokens(after)).transpose()
    }

    /// The state at the end of a token or run of bytes.
    fn between_tokens(&mut self, state: State) -> Result<State, EngineError> {
        let config = self.reader.begin_token(state.config)?;
        Ok(State { config, within: state.config, witness: None, ..state })
    }

    /// The state after `bytes`, read at once; `None` if no text goes on so.
    fn after_bytes(&mut self, state: &State, bytes: &[u8]) -> Result<Option<State>, EngineError> {
        if state.watching.is_some() {
            let (n_viable, next) = self.advance(state, bytes)?;
            return Ok((n_viable == bytes.len()).then_some(next));
        }
        let next = self.reader.step_all(state.config, bytes)?;
        self.trim();
        Ok(next.map(|config| State { config, ..state.clone() }))
    }

    /// How far `bytes` can be read after `state`, and the state there.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn advance(&mut self, state: &State, bytes: &[u8]) -> Result<(usize, State), EngineError> {
        let read = self.ask(|answerer| answerer.advance(state, bytes));
        self.trim();
        read
    }

    /// The mask of a state without a limit on tokens.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn unlimited_mask(&mut self, state: &State) -> Result<MaskWithin, EngineError> {
        let mask = self.ask(|answerer| answerer.unlimited_mask(state));
        self.trim();
        mask
    }

    /// What the mask of `config` lacks. It is to be [made](Wanted::make) beforehand, without the lock of the
    /// machine, so that other sessions need not wait; a mask that misses something makes it itself.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn wanted(&mut self, config: ConfigId) -> Result<Wanted, EngineError> {
        let rows = self.reader.wanted(config)?;
        Ok(Wanted { rows, watch: self.watch.wanted(self.reader.parser()) })
    }

    /// The mask with `n_left` tokens left, EOS included; not empty if they can complete a text that is not
    /// complete.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn limited_mask(&mut self, state: &State, n_left: u32) -> Result<MaskWithin, EngineError> {
        let mask = self.ask(|answerer| answerer.limited_mask(state, n_left));
        self.trim();
        mask
    }

    /// The mask with `n_left` tokens left, if the limit is far and the mask without it is known.
    ///
    /// # Errors
    /// As [`unlimited_mask`](Machine::unlimited_mask).
    pub(crate) fn mask_if_far(
        &mut self,
        state: &State,
        n_left: u32,
    ) -> Result<Option<MaskWithin>, EngineError> {
        let Machine { reader, limits, .. } = self;
        let far = &mut limits.bytes.far;
        let Some(reader) = reader.bytes().filter(|_| far.is_known()) else { return Ok(None) };
        match far.is_far(&mut reader.parser, state.config, state.watching.as_deref(), n_left) {
            true => self.unlimited_mask(state).map(Some),
            false => Ok(None),
        }
    }

    /// Adds tokens to `mask` that are proven to be allowed after a state, with `n_left` tokens left if they
    /// are limited, as far as that takes little work.
    ///
    /// # Errors
    /// If the call is out of work, or another limit is reached; what was added is right.
    pub(crate) fn add_proven(
        &mut self,
        state: &State,
        n_left: Option<u32>,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        let Machine { reader, limits, .. } = self;
        // Tokens of the others are tried one by one.
        match reader.bytes().filter(|reader| !reader.parser.network.has_token_limits()) {
            Some(reader) if state.watching.is_none() => match n_left {
                Some(n_left) => limits.bytes.add_proven(reader, state.config, n_left, mask),
                None => reader.add_known(state.config, mask),
            },
            _ => Ok(()),
        }
    }

    /// Whether a token of these bytes is certainly allowed after a state, with `n_left` tokens left if they
    /// are limited.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn allows(
        &mut self,
        state: &State,
        bytes: &[u8],
        n_left: Option<u32>,
    ) -> Result<bool, EngineError> {
        let Some(next) = self.after_text(state, bytes)? else { return Ok(false) };
        match n_left {
            Some(0) => Ok(false),
            Some(n_left) => Ok(self.fits(&next, n_left - 1)? == Some(true)),
            None => Ok(true),
        }
    }

    /// How many tokens complete the text, EOS included: an upper bound, unless its status says otherwise.
    ///
    /// # Errors
    /// If a limit is reached before any completion is found.
    pub(crate) fn least_at(&mut self, state: &State) -> Result<(u32, TokenCountStatus), EngineError> {
        self.ask(|answerer| answerer.least(state))
    }

    /// Whether at most `n_left` tokens complete the text, EOS included; `None` if no such completion is
    /// known.
    ///
    /// # Errors
    /// As [`least_at`](Machine::least_at).
    pub(crate) fn fits(&mut self, state: &State, n_left: u32) -> Result<Option<bool>, EngineError> {
        self.ask(|answerer| answerer.fits(state, n_left))
    }

    /// Tokens that complete the text, without one for its end, as many as [`least_at`](Machine::least_at)
    /// says; `None` if none are known.
    ///
    /// # Errors
    /// As [`least_at`](Machine::least_at).
    pub(crate) fn way(&mut self, state: &State) -> Result<Option<Vec<TokenId>>, EngineError> {
        self.ask(|answerer| answerer.way(state))
    }

    /// A completion within `n_left` tokens, EOS included, after a token that is read in one way alone: as
    /// text or by its name, and where masks come from profiles, by one of the state's terminals. So masks ask
    /// for it. Together the ways share stacks, and may be known to take more.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn way_of_one(
        &mut self,
        state: &State,
        readings: &Readings<'_>,
        n_left: u32,
    ) -> Result<Option<Vec<TokenId>>, EngineError> {
        let Some(reader) = self.reader.bytes() else { return Ok(None) };
        let threads = reader.parser.configs.threads(state.config).to_vec();
        let is_by_terminal = state.watching.is_some() || self.limits.bytes.is_plain(reader);
        let mut groups: Vec<Vec<Thread>> = match is_by_terminal {
            true => threads.chunk_by(Thread::reads_alike).map(<[Thread]>::to_vec).collect(),
            false => vec![threads],
        };
        let single = match readings {
            Readings { text: Some(_), symbol: Some(_) } => {
                vec![Readings { symbol: None, ..*readings }, Readings { text: None, ..*readings }]
            }
            _ => vec![*readings],
        };
        if groups.len() * single.len() < 2 {
            return Ok(None);
        }
        let mut best: Option<Vec<TokenId>> = None;
        for group in &mut groups {
            let parser = self.reader.parser_mut();
            let Some(config) = parser.intern(group, false)? else { continue };
            let alone = State { config, ..state.clone() };
            for reading in &single {
                let Some(next) = self.after_readings(&alone, reading)? else { continue };
                if self.fits(&next, n_left)? == Some(true)
                    && let Some(way) = self.way(&next)?
                    && best.as_ref().is_none_or(|best| (way.len(), &way) < (best.len(), best))
                {
                    best = Some(way);
                }
            }
        }
        Ok(best)
    }

    /// The table of the configurations after `config`, if it is known whether there is one.
    #[allow(clippy::option_option, reason = "whether it is known, and whether there is one")]
    pub(crate) fn known_automaton(&self, config: ConfigId) -> Option<Option<Arc<TokenAutomaton>>> {
        if self.without_automaton.contains(&config) {
            return Some(None);
        }
        let known = self.automata.iter().find(|automaton| automaton.state(config).is_some());
        known.map(|automaton| Some(automaton.clone()))
    }

    /// Keeps the table of the configurations after `config`, or that there are too many.
    pub(crate) fn keep_automaton(&mut self, config: ConfigId, automaton: Option<Arc<TokenAutomaton>>) {
        match automaton {
            Some(automaton) => {
                self.automata.insert(0, automaton);
                self.automata.truncate(MAX_AUTOMATA);
            }
            None => _ = self.without_automaton.insert(config),
        }
    }

    /// Drops what is memoised if it has grown beyond the limit.
    fn trim(&mut self) {
        let n_bytes = self.reader.memo_bytes() + self.watch.n_bytes();
        if n_bytes > self.reader.parser().shared.limits.machine_bytes {
            self.clear_memo();
        }
    }

    /// Drops what is memoised. Configurations and stack nodes stay: sessions hold their ids.
    pub(crate) fn clear_memo(&mut self) {
        self.reader.clear_memo();
        self.limits.clear();
        self.watch.clear();
        self.automata.clear();
        self.without_automaton.clear();
    }

    /// Makes a machine that a panic left in the middle of a call usable again.
    pub(crate) fn recover(&mut self) {
        self.reader.recover();
        self.limits = LimitsMemo::default();
        self.watch = WatchMemo::default();
    }

    /// Counts what the machine takes now for the whole compiler, and says it.
    pub(crate) fn count(&mut self) -> usize {
        let n_bytes = self.memory_usage();
        self.counted.set(n_bytes);
        n_bytes
    }

    /// Counts now and then, and often while the machine is new; called after each call that may do work.
    pub(crate) fn count_at_times(&mut self) {
        if self.counted.is_due() {
            self.count();
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let automata: usize = self.automata.iter().map(|automaton| automaton.memory_usage()).sum();
        let without = self.without_automaton.capacity() * size_of::<ConfigId>();
        self.reader.memory_usage() + self.limits.memory_usage() + self.watch.n_bytes() + automata + without
    }
}
