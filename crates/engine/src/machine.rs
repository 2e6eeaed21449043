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

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use maskwright_automata::{Automaton, ByteSet, Fuel, StateId};
use maskwright_grammar::{ExprId, ExprPool, Network, RuleId, Symbol, TerminalId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::EngineError;
use crate::budget::{Budgets, Far, FoundWays};
use crate::compiler::Shared;
use crate::configuration::{ConfigId, Configurations, Thread};
use crate::lexed::{Lexed, LexedTables};
use crate::mask::{FoundBehind, WordPath};
use crate::mask_form::MaskForm;
use crate::stack::{Frame, NodeId, Stacks};
use crate::watched::{DoubtfulTokens, PartingTokens, WaysOut};

/// A state of the network with the stack it returns to: where a reading stands between terminals.
pub(crate) type Seed = (ExprId, NodeId);

/// The lazily built tables of one grammar.
pub(crate) struct Machine {
    pub(crate) shared: Arc<Shared>,
    pub(crate) network: Network,
    pub(crate) terminals: Vec<Option<Terminal>>,
    pub(crate) stacks: Stacks,
    pub(crate) configs: Configurations,
    start: ConfigId,
    /// `(config << 8 | byte)` to the configuration after the byte; `None` where no reading goes on.
    transitions: FxHashMap<u64, Option<ConfigId>>,
    closures: FxHashMap<Seed, Closure>,
    closure_threads: Vec<Thread>,
    /// Of a lexed grammar, by the seeds behind a terminal: where they lead, and whether some reading returned into a hole.
    shifts: FxHashMap<Box<[Seed]>, (Option<ConfigId>, bool)>,
    pub(crate) masks: FxHashMap<ConfigId, Arc<MaskForm>>,
    /// By the address of a trie of exits, and place.
    pub(crate) found_behind: FxHashMap<(usize, Seed), FoundBehind>,
    pub(crate) memo_bytes: usize,
    /// Of all completions, and of those that no watch refuses.
    pub(crate) budgets: [Budgets; 2],
    pub(crate) far: Far,
    /// Of a lexed grammar: what reads bytes. The rest of the machine then reads terminals, not bytes.
    lexed: Option<Box<Lexed>>,
    /// Whether some reading has returned into a frame that was cut off.
    has_met_hole: bool,
    /// Of a grammar with a watch.
    pub(crate) parting: PartingTokens,
    pub(crate) ways_out: WaysOut,
    pub(crate) doubtful: Option<Arc<DoubtfulTokens>>,
    pub(crate) found_ways: FoundWays,
    scratch: Scratch,
}

/// A terminal that some text has come to.
pub(crate) struct Terminal {
    pub(crate) automaton: Arc<Automaton>,
    pub(crate) start: Option<StateId>,
    /// Of a single word, made when a first mask asks for it.
    pub(crate) word: Option<Box<WordPath>>,
}

#[derive(Clone, Copy)]
struct Closure {
    start: u32,
    end: u32,
    is_accepting: bool,
    meets_hole: bool,
}

/// Buffers that are reused from step to step.
#[derive(Default)]
struct Scratch {
    threads: Vec<Thread>,
    seeds: Vec<Seed>,
    calls: BinaryHeap<Reverse<(u32, RuleId, Frame)>>,
    /// How many calls the present byte has made, the same ones again included.
    n_calls: usize,
    frames: Vec<Frame>,
    seen: FxHashSet<Seed>,
}

impl Machine {
    /// The machine of `network` before any text.
    pub(crate) fn new(shared: Arc<Shared>, network: Network) -> Result<Machine, EngineError> {
        let mut terminals = Vec::new();
        terminals.resize_with(network.terminals().len(), || None);
        let mut machine = Machine {
            shared,
            network,
            terminals,
            stacks: Stacks::new(),
            configs: Configurations::new(),
            start: ConfigId(0),
            transitions: FxHashMap::default(),
            closures: FxHashMap::default(),
            closure_threads: Vec::new(),
            shifts: FxHashMap::default(),
            masks: FxHashMap::default(),
            found_behind: FxHashMap::default(),
            memo_bytes: 0,
            budgets: Default::default(),
            far: Far::default(),
            lexed: None,
            has_met_hole: false,
            parting: PartingTokens::default(),
            ways_out: WaysOut::default(),
            doubtful: None,
            found_ways: FoundWays::default(),
            scratch: Scratch::default(),
        };
        let start_rule = machine.network.start();
        let is_nullable = machine.network.is_rule_nullable(start_rule);
        let mut threads = Vec::new();
        let mut calls = BinaryHeap::new();
        calls.push(Reverse((machine.network.rank(start_rule), start_rule, Frame::BOTTOM)));
        machine.enter_rules(&mut calls, &mut threads)?;
        machine.start = machine.intern(&mut threads, is_nullable)?.unwrap_or(ConfigId(0));
        Ok(machine)
    }

    /// The machine of a lexed grammar, whose rules are `network`, before any text.
    pub(crate) fn new_lexed(
        shared: Arc<Shared>,
        network: Network,
        tables: Arc<LexedTables>,
    ) -> Result<Machine, EngineError> {
        let mut machine = Machine::new(shared, network)?;
        machine.lexed = Some(Box::new(Lexed::new(tables, &mut machine)?));
        Ok(machine)
    }

    /// The configuration before any text.
    pub(crate) fn start(&self) -> ConfigId {
        self.lexed.as_ref().map_or(self.start, |lexed| lexed.start())
    }

    /// The configuration before any text of the machine itself, over terminals if the grammar is lexed.
    pub(crate) fn own_start(&self) -> ConfigId {
        self.start
    }

    /// What reads bytes, if the grammar is lexed.
    pub(crate) fn lexed(&self) -> Option<&Lexed> {
        self.lexed.as_deref()
    }

    /// Runs `ask` with what reads bytes, if the grammar is lexed.
    pub(crate) fn with_lexed<T>(&mut self, ask: impl FnOnce(&mut Lexed, &mut Machine) -> T) -> Option<T> {
        let mut lexed = self.lexed.take()?;
        let answer = ask(&mut lexed, self);
        self.lexed = Some(lexed);
        Some(answer)
    }

    /// Whether the text may end here.
    pub(crate) fn is_accepting(&self, config: ConfigId) -> bool {
        match &self.lexed {
            Some(lexed) => lexed.configs.is_accepting(config),
            None => self.configs.is_accepting(config),
        }
    }

    /// The configuration after one more terminal, of the machine as one over terminals; and whether there
    /// are readings that return into a hole ([`Frame::HOLE`]), which it has not.
    pub(crate) fn shift(
        &mut self,
        config: ConfigId,
        terminal: TerminalId,
    ) -> Result<(Option<ConfigId>, bool), EngineError> {
        self.has_met_hole = false;
        let threads = self.configs.threads(config).iter();
        let mut seeds: Vec<Seed> = threads
            .filter(|thread| thread.terminal == terminal)
            .map(|thread| (thread.next, thread.node))
            .collect();
        if seeds.is_empty() {
            return Ok((None, false));
        }
        // Configurations differ in other terminals more often than in this one.
        if let Some(&known) = self.shifts.get(seeds.as_slice()) {
            return Ok(known);
        }
        let key: Box<[Seed]> = seeds.as_slice().into();
        let mut behind = Vec::new();
        let is_accepting = self.close(&mut seeds, &mut behind)?;
        let after = (self.intern(&mut behind, is_accepting)?, self.has_met_hole);
        if self.shared.options.use_memo {
            self.memo_bytes += 48 + size_of_val(&*key);
            self.shifts.insert(key, after);
        }
        Ok(after)
    }

    /// The configuration after one more byte; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached; then nothing has changed.
    pub(crate) fn step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError> {
        if let Some(next) = self.with_lexed(|lexed, machine| lexed.step(machine, config, byte)) {
            return next;
        }
        if self.configs.next_bytes(config).is_some_and(|bytes| !bytes.contains(byte)) {
            return Ok(None);
        }
        let key = transition_key(config, byte);
        if let Some(&known) = self.transitions.get(&key) {
            return Ok(known);
        }
        let next = self.compute_step(config, byte)?;
        if self.shared.options.use_memo {
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
        if let Some(next) = self.with_lexed(|lexed, machine| lexed.step_all(machine, config, bytes)) {
            return next;
        }
        for &byte in bytes {
            match self.step(config, byte)? {
                Some(next) => config = next,
                None => return Ok(None),
            }
        }
        Ok(Some(config))
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
        self.after(config, byte, Machine::intern)
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
            let is_accepting = self.close(&mut seeds, &mut threads)?;
            say(self, &mut threads, is_accepting)
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
        for &thread in self.configs.threads(config) {
            let automaton = loaded(&self.terminals, thread.terminal);
            let located = |error| EngineError::automaton(format!("{:?}", automaton.regex()), error);
            let Some(residue) = automaton.step(thread.residue, byte).map_err(located)? else { continue };
            if automaton.is_accepting(residue) {
                seeds.push((thread.next, thread.node));
            }
            if !automaton.next_bytes(residue).map_err(located)?.is_empty() {
                threads.push(Thread { residue, ..thread });
            }
        }
        Ok(())
    }

    /// Adds to `threads` the beginnings of all terminals that can come next at `seeds`; whether the text may
    /// end at one of them.
    pub(crate) fn close(
        &mut self,
        seeds: &mut Vec<Seed>,
        threads: &mut Vec<Thread>,
    ) -> Result<bool, EngineError> {
        let single = match seeds.as_slice() {
            [] => return Ok(false),
            &[seed] => Some(seed),
            _ => None,
        };
        if let Some(closure) = single.and_then(|seed| self.closures.get(&seed)) {
            threads.extend_from_slice(&self.closure_threads[closure.start as usize..closure.end as usize]);
            self.has_met_hole |= closure.meets_hole;
            return Ok(closure.is_accepting);
        }
        let first = threads.len();
        let had_met_hole = std::mem::take(&mut self.has_met_hole);
        let is_accepting = self.return_from_rules(seeds)?;
        let meets_hole = self.has_met_hole;
        self.has_met_hole |= had_met_hole;
        let mut calls = std::mem::take(&mut self.scratch.calls);
        calls.clear();
        self.scratch.n_calls = 0;
        let result = seeds
            .iter()
            .try_for_each(|&(state, node)| self.expand(state, node, &mut calls, threads))
            .and_then(|()| self.enter_rules(&mut calls, threads));
        self.scratch.calls = calls;
        result?;
        if let Some(seed) = single.filter(|_| self.shared.options.use_memo) {
            let start = self.closure_threads.len() as u32;
            self.closure_threads.extend_from_slice(&threads[first..]);
            let end = self.closure_threads.len() as u32;
            self.closures.insert(seed, Closure { start, end, is_accepting, meets_hole });
            self.memo_bytes += 40 + (end - start) as usize * size_of::<Thread>();
        }
        Ok(is_accepting)
    }

    /// Adds to `seeds` all places returned to from rules that may end there; whether the bottom is one.
    fn return_from_rules(&mut self, seeds: &mut Vec<Seed>) -> Result<bool, EngineError> {
        let mut seen = std::mem::take(&mut self.scratch.seen);
        seen.clear();
        seeds.retain(|&seed| seen.insert(seed));
        let mut is_accepting = false;
        let mut position = 0;
        while let Some(&(state, node)) = seeds.get(position) {
            position += 1;
            if self.network.is_nullable(state) {
                for &frame in self.stacks.frames(node) {
                    if frame == Frame::BOTTOM {
                        is_accepting = true;
                    } else if frame == Frame::HOLE {
                        self.has_met_hole = true;
                    } else if seen.insert((frame.ret, frame.parent)) {
                        seeds.push((frame.ret, frame.parent));
                    }
                }
            }
            self.check_threads(seeds.len())?;
        }
        self.scratch.seen = seen;
        Ok(is_accepting)
    }

    /// The moves of `state`: terminals become threads, rules become calls.
    fn expand(
        &mut self,
        state: ExprId,
        node: NodeId,
        calls: &mut BinaryHeap<Reverse<(u32, RuleId, Frame)>>,
        threads: &mut Vec<Thread>,
    ) -> Result<(), EngineError> {
        let n_before = calls.len();
        for index in self.network.moves(state) {
            let step = self.network.move_at(index);
            match step.symbol {
                Symbol::Terminal(terminal) => {
                    if let Some(residue) = self.terminal_start(terminal)? {
                        threads.push(Thread { terminal, residue, next: step.next, node });
                    }
                }
                Symbol::Rule(rule) => {
                    let rank = self.network.rank(rule);
                    if step.next == ExprPool::EPSILON {
                        // Last position: the callee returns where its caller would, so nothing is pushed.
                        calls.extend(
                            self.stacks.frames(node).iter().map(|&frame| Reverse((rank, rule, frame))),
                        );
                    } else {
                        calls.push(Reverse((rank, rule, Frame { ret: step.next, parent: node })));
                    }
                }
            }
        }
        self.scratch.n_calls += calls.len() - n_before;
        let (n_calls, limit) = (self.scratch.n_calls, self.shared.limits.max_calls);
        if n_calls > limit {
            return Err(EngineError::too_many_calls(limit));
        }
        if calls.len() > self.shared.limits.max_threads {
            // Ambiguous grammars call one rule from one place by many ways: only different calls count.
            let mut distinct = std::mem::take(calls).into_vec();
            distinct.sort_unstable();
            distinct.dedup();
            *calls = BinaryHeap::from(distinct);
            // Half, so that the next compaction is as many calls away as this one leaves.
            self.check_threads(calls.len() * 2)?;
        }
        self.check_threads(threads.len())
    }

    /// Enters the called rules by ascending rank: a rule is called only from rules of lower rank, so all of
    /// its callers at this place are known when its node is made.
    fn enter_rules(
        &mut self,
        calls: &mut BinaryHeap<Reverse<(u32, RuleId, Frame)>>,
        threads: &mut Vec<Thread>,
    ) -> Result<(), EngineError> {
        let mut frames = std::mem::take(&mut self.scratch.frames);
        while let Some(Reverse((_, rule, frame))) = calls.pop() {
            frames.clear();
            frames.push(frame);
            while let Some(&Reverse((_, next_rule, next_frame))) = calls.peek() {
                if next_rule != rule {
                    break;
                }
                calls.pop();
                if frames.last() != Some(&next_frame) {
                    frames.push(next_frame);
                }
            }
            let node = self.stacks.intern(&frames);
            let body = self.network.body(rule);
            self.expand(body, node, calls, threads)?;
        }
        self.scratch.frames = frames;
        Ok(())
    }

    /// The configuration of `threads`; `None` if there are none and the text may not end.
    pub(crate) fn intern(
        &mut self,
        threads: &mut Vec<Thread>,
        is_accepting: bool,
    ) -> Result<Option<ConfigId>, EngineError> {
        if threads.is_empty() && !is_accepting {
            return Ok(None);
        }
        threads.sort_unstable();
        threads.dedup();
        self.check_threads(threads.len())?;
        Ok(Some(self.configs.intern(threads, is_accepting)))
    }

    pub(crate) fn check_threads(&self, n_threads: usize) -> Result<(), EngineError> {
        let limit = self.shared.limits.max_threads;
        if n_threads > limit { Err(EngineError::too_many_threads(n_threads, limit)) } else { Ok(()) }
    }

    /// The start of a terminal, whose automaton is made when a text first comes to it; `None` if its language
    /// is empty.
    pub(crate) fn terminal_start(&mut self, terminal: TerminalId) -> Result<Option<StateId>, EngineError> {
        if let Some(known) = &self.terminals[terminal.index()] {
            return Ok(known.start);
        }
        let regex = &self.network.terminals()[terminal.index()];
        let fuel = Fuel::new(self.shared.limits.compile_fuel);
        let automaton = self.shared.automaton(regex, &fuel)?;
        let start = automaton.start();
        self.terminals[terminal.index()] = Some(Terminal { automaton, start, word: None });
        Ok(start)
    }

    /// The automaton of a terminal that some thread reads.
    pub(crate) fn automaton(&self, terminal: TerminalId) -> &Arc<Automaton> {
        loaded(&self.terminals, terminal)
    }

    /// The bytes that can come next.
    pub(crate) fn next_bytes(&mut self, config: ConfigId) -> Result<ByteSet, EngineError> {
        if let Some(bytes) = self.with_lexed(|lexed, machine| lexed.next_bytes(machine, config)) {
            return bytes;
        }
        if let Some(known) = self.configs.next_bytes(config) {
            return Ok(known);
        }
        let bytes = self.bytes_of(self.configs.threads(config))?;
        self.configs.set_next_bytes(config, bytes);
        Ok(bytes)
    }

    /// The bytes that some of `threads` can read.
    pub(crate) fn bytes_of(&self, threads: &[Thread]) -> Result<ByteSet, EngineError> {
        let mut bytes = ByteSet::EMPTY;
        for thread in threads {
            let automaton = loaded(&self.terminals, thread.terminal);
            let next = automaton
                .next_bytes(thread.residue)
                .map_err(|error| EngineError::automaton(format!("{:?}", automaton.regex()), error))?;
            bytes = bytes.union(&next);
        }
        Ok(bytes)
    }

    /// Drops what is memoised if it has grown beyond the limit.
    pub(crate) fn trim(&mut self) {
        let lexed = self.lexed.as_ref().map_or(0, |lexed| lexed.memo_bytes());
        if self.memo_bytes + lexed > self.shared.limits.machine_bytes {
            self.clear_memo();
        }
    }

    /// Drops what is memoised. Configurations and stack nodes stay: sessions hold their ids.
    pub(crate) fn clear_memo(&mut self) {
        self.transitions = FxHashMap::default();
        self.closures = FxHashMap::default();
        self.closure_threads = Vec::new();
        self.shifts = FxHashMap::default();
        self.masks = FxHashMap::default();
        self.found_behind = FxHashMap::default();
        self.parting = PartingTokens::default();
        self.ways_out = WaysOut::default();
        self.memo_bytes = 0;
        if let Some(lexed) = &mut self.lexed {
            lexed.clear_memo();
        }
        self.found_ways = FoundWays::default();
        self.budgets.iter_mut().for_each(Budgets::clear);
        self.far.clear();
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let budget: usize =
            self.budgets.iter().map(Budgets::memory_usage).sum::<usize>() + self.far.memory_usage();
        let lexed = self.lexed.as_ref().map_or(0, |lexed| lexed.memory_usage());
        self.stacks.memory_usage() + self.configs.memory_usage() + self.memo_bytes + budget + lexed
    }
}

fn transition_key(config: ConfigId, byte: u8) -> u64 {
    u64::from(config.0) << 8 | u64::from(byte)
}

fn loaded(terminals: &[Option<Terminal>], terminal: TerminalId) -> &Arc<Automaton> {
    &terminals[terminal.index()]
        .as_ref()
        .expect("a thread's terminal was loaded when the thread was made")
        .automaton
}
