//! The lazy stack automaton of one grammar: a deterministic automaton over bytes whose states are
//! configurations, built byte by byte as texts need it.
//!
//! **Invariant (correct prefix).** For a configuration c reached by bytes s: c has a thread or accepts iff
//! some word of the language begins with s. Each thread alone has a completion: its residue is live (automata
//! never step to a dead state), every state of the network has a word (the grammar is reduced), and every
//! stack node stands for stacks that a derivation from the start made. So a mask needs no look beyond the
//! token.
//!
//! Everything here is a cache: forgetting it changes time, never answers.

use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId};
use maskwright_grammar::Network;
use maskwright_scan::LexerTables;
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::budget::{Budgets, Far, LexedBudget};
use crate::bytes::FoundBehind;
use crate::ground::{Counted, DoubtfulTokens, MaskForm, Search, hooks};
use crate::lexed::Lexed;
use crate::parser::{ConfigId, Parser, Seed, Thread, loaded};
use crate::shared::Shared;
use crate::watch::{FoundWays, PartingTokens, WaysOut};

/// The lazily built tables of one grammar.
pub(crate) struct Machine {
    pub(crate) parser: Parser,
    /// `(config << 8 | byte)` to the configuration after the byte; `None` where no reading goes on.
    transitions: FxHashMap<u64, Option<ConfigId>>,
    /// What [`begin_token`](Machine::begin_token) gave.
    begun: FxHashMap<ConfigId, ConfigId>,
    pub(crate) masks: FxHashMap<ConfigId, Arc<MaskForm>>,
    /// By the address of a trie of exits, and place.
    pub(crate) found_behind: FxHashMap<(usize, Seed), FoundBehind>,
    pub(crate) memo_bytes: usize,
    /// Of all completions, and of those that no watch refuses.
    pub(crate) budgets: [Budgets; 2],
    /// Of a lexed grammar; made when a first budget is asked for.
    pub(crate) lexed_budget: Option<Box<LexedBudget>>,
    pub(crate) far: Far,
    /// Of a lexed grammar: what reads bytes, and gives the parser terminals.
    lexed: Option<Box<Lexed>>,
    /// Of a grammar with a watch.
    pub(crate) parting: PartingTokens,
    pub(crate) ways_out: WaysOut,
    pub(crate) doubtful: Option<Arc<DoubtfulTokens>>,
    pub(crate) found_ways: FoundWays,
    scratch: Scratch,
    counted: Counted,
}

/// Buffers that are reused from step to step.
#[derive(Default)]
struct Scratch {
    threads: Vec<Thread>,
    seeds: Vec<Seed>,
}

impl Machine {
    /// The machine of `network` before any text.
    pub(crate) fn new(shared: Arc<Shared>, network: Network) -> Result<Machine, EngineError> {
        Ok(Machine {
            counted: Counted::new(shared.memory.clone()),
            parser: Parser::new(shared, network)?,
            transitions: FxHashMap::default(),
            begun: FxHashMap::default(),
            masks: FxHashMap::default(),
            found_behind: FxHashMap::default(),
            memo_bytes: 0,
            budgets: Default::default(),
            lexed_budget: None,
            far: Far::default(),
            lexed: None,
            parting: PartingTokens::default(),
            ways_out: WaysOut::default(),
            doubtful: None,
            found_ways: FoundWays::default(),
            scratch: Scratch::default(),
        })
    }

    /// The machine of a lexed grammar, whose rules are `network`, before any text.
    pub(crate) fn new_lexed(
        shared: Arc<Shared>,
        network: Network,
        tables: Arc<LexerTables>,
    ) -> Result<Machine, EngineError> {
        let mut machine = Machine::new(shared, network)?;
        machine.lexed = Some(Box::new(Lexed::new(tables, &mut machine.parser)?));
        Ok(machine)
    }

    /// The configuration before any text.
    pub(crate) fn start(&self) -> ConfigId {
        self.lexed.as_ref().map_or(self.parser.start(), |lexed| lexed.start())
    }

    /// What reads bytes, if the grammar is lexed.
    pub(crate) fn lexed(&self) -> Option<&Lexed> {
        self.lexed.as_deref()
    }

    /// What reads bytes, if the grammar is lexed, and the parser that it reads for.
    pub(crate) fn lexed_mut(&mut self) -> Option<(&mut Lexed, &mut Parser)> {
        Some((self.lexed.as_deref_mut()?, &mut self.parser))
    }

    /// The same, with the budgets of lexed grammars.
    pub(crate) fn lexed_budget_mut(
        &mut self,
    ) -> Option<(&mut Lexed, &mut Option<Box<LexedBudget>>, &mut Parser)> {
        Some((self.lexed.as_deref_mut()?, &mut self.lexed_budget, &mut self.parser))
    }

    /// Whether the text may end here.
    pub(crate) fn is_accepting(&self, config: ConfigId) -> bool {
        match &self.lexed {
            Some(lexed) => lexed.configs.is_accepting(config),
            None => self.parser.configs.is_accepting(config),
        }
    }

    /// The configuration after one more byte; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached; then nothing has changed.
    pub(crate) fn step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError> {
        if let Some((lexed, parser)) = self.lexed_mut() {
            return lexed.step(parser, config, byte);
        }
        if self.parser.configs.next_bytes(config).is_some_and(|bytes| !bytes.contains(byte)) {
            return Ok(None);
        }
        let key = transition_key(config, byte);
        if let Some(&known) = self.transitions.get(&key) {
            return Ok(known);
        }
        self.parser.begin_work()?;
        let next = self.compute_step(config, byte)?;
        if self.parser.shared.options.use_memo {
            self.transitions.insert(key, next);
            self.memo_bytes += 24;
        }
        Ok(next)
    }

    /// The configuration after `bytes`, read at once; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached; then nothing has changed. Limits on searches for a completion are met at the end of the
    /// bytes only.
    pub(crate) fn step_all(
        &mut self,
        mut config: ConfigId,
        bytes: &[u8],
    ) -> Result<Option<ConfigId>, EngineError> {
        if let Some((lexed, parser)) = self.lexed_mut() {
            return lexed.step_all(parser, config, bytes);
        }
        for &byte in bytes {
            match self.step(config, byte)? {
                Some(next) => config = next,
                None => return Ok(None),
            }
        }
        Ok(Some(config))
    }

    /// The configuration from which the next token is read. The token is counted in every terminal with a limit on tokens, and
    /// readings of terminals whose limit is used up are dropped. See [`maskwright_grammar::at_most_tokens`].
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn begin_token(&mut self, config: ConfigId) -> Result<ConfigId, EngineError> {
        if !self.parser.network.has_token_limits() {
            return Ok(config);
        }
        if let Some(&known) = self.begun.get(&config) {
            return Ok(known);
        }
        self.parser.begin_work()?;
        let mut threads = self.parser.configs.threads(config).to_vec();
        threads.retain_mut(|thread| {
            if self.parser.network.token_limit(thread.terminal).is_none() {
                return true;
            }
            // What was begun, such as a character, is completed.
            let is_over =
                thread.n_left == 0 && self.parser.automaton(thread.terminal).is_accepting(thread.residue);
            thread.n_left = thread.n_left.saturating_sub(1);
            !is_over
        });
        let is_accepting = self.parser.configs.is_accepting(config);
        let begun = self.parser.intern(&mut threads, is_accepting)?.unwrap_or(config);
        if self.parser.shared.options.use_memo {
            self.begun.insert(config, begun);
            self.memo_bytes += 16;
        }
        Ok(begun)
    }

    /// The configuration without readings that can use one more token of their terminal and can leave it now; `None` if there are
    /// no such readings.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn without_last_tokens(&mut self, config: ConfigId) -> Result<Option<ConfigId>, EngineError> {
        if !self.parser.network.has_token_limits() {
            return Ok(None);
        }
        let is_last = |thread: &Thread| {
            thread.n_left == 0
                && self.parser.network.token_limit(thread.terminal).is_some()
                && self.parser.automaton(thread.terminal).is_accepting(thread.residue)
        };
        let threads = self.parser.configs.threads(config);
        let mut others: Vec<Thread> = threads.iter().filter(|thread| !is_last(thread)).copied().collect();
        if others.len() == threads.len() {
            return Ok(None);
        }
        let is_accepting = self.parser.configs.is_accepting(config);
        self.parser.intern(&mut others, is_accepting)
    }

    /// The configuration of the readings of both.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn union(&mut self, first: ConfigId, second: ConfigId) -> Result<ConfigId, EngineError> {
        if first == second {
            return Ok(first);
        }
        if let Some((lexed, parser)) = self.lexed_mut() {
            return lexed.union(parser, first, second);
        }
        let configs = &self.parser.configs;
        let is_accepting = configs.is_accepting(first) || configs.is_accepting(second);
        let mut threads = [configs.threads(first), configs.threads(second)].concat();
        Ok(self.parser.intern(&mut threads, is_accepting)?.unwrap_or(first))
    }

    /// The bytes that can come after one more byte, as [`next_bytes`](Machine::next_bytes) of the configuration there, which is not
    /// made; none if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn bytes_after(&mut self, config: ConfigId, byte: u8) -> Result<ByteSet, EngineError> {
        if let Some(&known) = self.transitions.get(&transition_key(config, byte)) {
            return known.map_or(Ok(ByteSet::EMPTY), |next| self.next_bytes(next));
        }
        self.after(config, byte, |machine, threads, _| machine.bytes_of(threads))
    }

    fn compute_step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError> {
        hooks::reach("step");
        self.after(config, byte, |machine, threads, is_accepting| {
            machine.parser.intern(threads, is_accepting)
        })
    }

    /// What `say` says of the threads after one more byte, and of whether the text may end there.
    fn after<T>(
        &mut self,
        config: ConfigId,
        byte: u8,
        say: impl FnOnce(&mut Machine, &mut Vec<Thread>, bool) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut threads = std::mem::take(&mut self.scratch.threads);
        let mut seeds = std::mem::take(&mut self.scratch.seeds);
        threads.clear();
        seeds.clear();
        let result = self.step_threads(config, byte, &mut threads, &mut seeds).and_then(|()| {
            let closed = self.parser.close(&mut seeds, &mut threads)?;
            say(self, &mut threads, closed.is_accepting)
        });
        self.scratch.threads = threads;
        self.scratch.seeds = seeds;
        result
    }

    fn step_threads(
        &mut self,
        config: ConfigId,
        byte: u8,
        threads: &mut Vec<Thread>,
        seeds: &mut Vec<Seed>,
    ) -> Result<(), EngineError> {
        for &thread in self.parser.configs.threads(config) {
            let automaton = loaded(&self.parser.terminals, thread.terminal);
            let next = automaton.try_step(thread.residue, byte);
            let next = next.map_err(|error| unless_searched(automaton, thread.residue, Some(byte), error))?;
            let Some(residue) = next else { continue };
            if automaton.is_accepting(residue) {
                seeds.push((thread.next, thread.node));
            }
            let bytes = automaton.try_next_bytes(residue);
            if !bytes.map_err(|error| unless_searched(automaton, residue, None, error))?.is_empty() {
                threads.push(Thread { residue, ..thread });
            }
        }
        Ok(())
    }

    /// The bytes that can come next.
    pub(crate) fn next_bytes(&mut self, config: ConfigId) -> Result<ByteSet, EngineError> {
        if let Some((lexed, parser)) = self.lexed_mut() {
            return lexed.next_bytes(parser, config);
        }
        if let Some(known) = self.parser.configs.next_bytes(config) {
            return Ok(known);
        }
        self.parser.begin_work()?;
        let bytes = self.bytes_of(self.parser.configs.threads(config))?;
        self.parser.configs.set_next_bytes(config, bytes);
        Ok(bytes)
    }

    /// The bytes that some of `threads` can read.
    pub(crate) fn bytes_of(&self, threads: &[Thread]) -> Result<ByteSet, EngineError> {
        let mut bytes = ByteSet::EMPTY;
        for thread in threads {
            let automaton = loaded(&self.parser.terminals, thread.terminal);
            let next = automaton.try_next_bytes(thread.residue);
            let next = next.map_err(|error| unless_searched(automaton, thread.residue, None, error))?;
            bytes = bytes.union(&next);
        }
        Ok(bytes)
    }

    /// Drops what is memoised if it has grown beyond the limit.
    pub(crate) fn trim(&mut self) {
        let lexed = self.lexed.as_ref().map_or(0, |lexed| lexed.memo_bytes());
        if self.memo_bytes + self.parser.memo_bytes() + lexed > self.parser.shared.limits.machine_bytes {
            self.clear_memo();
        }
    }

    /// Drops what is memoised. Configurations and stack nodes stay: sessions hold their ids.
    pub(crate) fn clear_memo(&mut self) {
        self.transitions = FxHashMap::default();
        self.parser.clear_memo();
        self.begun = FxHashMap::default();
        self.masks = FxHashMap::default();
        self.found_behind = FxHashMap::default();
        self.parting = PartingTokens::default();
        self.ways_out = WaysOut::default();
        self.memo_bytes = 0;
        if let Some(lexed) = &mut self.lexed {
            lexed.clear_memo();
        }
        self.found_ways = FoundWays::default();
        self.lexed_budget = None;
        self.budgets.iter_mut().for_each(Budgets::clear);
        self.far.clear();
    }

    /// Makes a machine that a panic left in the middle of a call usable again. What only grows (configurations, stacks,
    /// a lexer's hypotheses) is whole up to its last entry; all else is dropped.
    pub(crate) fn recover(&mut self) {
        self.clear_memo();
        self.parser.recover();
        self.budgets = Default::default();
        self.far = Far::default();
        self.doubtful = None;
        self.scratch = Scratch::default();
        if let Some(lexed) = &mut self.lexed {
            lexed.recover();
        }
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
        let budget: usize = self.budgets.iter().map(Budgets::memory_usage).sum::<usize>()
            + self.far.memory_usage()
            + self.lexed_budget.as_ref().map_or(0, |budget| budget.memory_usage());
        let lexed = self.lexed.as_ref().map_or(0, |lexed| lexed.memory_usage());
        self.parser.memory_usage() + self.memo_bytes + budget + lexed
    }
}

/// The error of a step by `byte`, or of a question for the next bytes. If the search was postponed, an error that asks the
/// caller to make it.
fn unless_searched(
    automaton: &Arc<Automaton>,
    residue: StateId,
    byte: Option<u8>,
    error: AutomatonError,
) -> EngineError {
    match error.is_unsearched() {
        true => EngineError::search(Search { automaton: automaton.clone(), residue, byte }),
        false => EngineError::in_terminal(automaton)(error),
    }
}

fn transition_key(config: ConfigId, byte: u8) -> u64 {
    u64::from(config.0) << 8 | u64::from(byte)
}
