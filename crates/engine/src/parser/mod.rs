//! The parser: a grammar's rules over terminals, with a graph-structured stack.
//!
//! It reads terminals and returns values. What bytes are, its two readers know: one steps the automata of
//! terminals byte by byte (`bytes`), the other reads the tokens of a lexer (`lexed`). A configuration is a
//! set of threads: the terminals that can be read next, each with the place of the rules after it.
//!
//! All tables only grow, but for what is memoised, which can be dropped at any time. So a panic in the middle
//! of a call leaves at most entries that nobody refers to, and [`Parser::recover`] makes the rest anew.

mod configuration;
mod stack;
mod word;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use maskwright_automata::{Automaton, Fuel, StateId, meter};
use maskwright_grammar::{ExprId, ExprPool, Network, RuleId, Symbol, TerminalId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::EngineError;
use crate::ground::{Signal, hooks};
use crate::shared::Shared;
pub(crate) use configuration::{ConfigId, Configurations, Thread};
pub(crate) use stack::{Frame, NodeId, Stacks};
pub(crate) use word::{WordPath, follow};

/// A state of the network with the stack it returns to: where a reading stands between terminals.
pub(crate) type Seed = (ExprId, NodeId);

/// Units of work that a call of a rule takes.
const UNITS_PER_CALL: u64 = 4;

/// How much a call of the machine may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// What the limits allow.
    Full,
    /// Look up known answers only.
    Known,
}

/// The rules of one grammar, and what was built of them.
pub(crate) struct Parser {
    pub(crate) shared: Arc<Shared>,
    pub(crate) network: Network,
    pub(crate) terminals: Vec<Option<Terminal>>,
    pub(crate) stacks: Stacks,
    pub(crate) configs: Configurations,
    start: ConfigId,
    closures: FxHashMap<Seed, Closure>,
    closure_threads: Vec<Thread>,
    /// By the seeds after a terminal.
    shifts: FxHashMap<Box<[Seed]>, Shift>,
    memo_bytes: usize,
    /// Of terminals that no other grammar shares.
    terminal_bytes: usize,
    scratch: Scratch,
    /// What the present call may do. Set by whoever locks the machine.
    pub(crate) effort: Effort,
}

/// A terminal that has been reached.
pub(crate) struct Terminal {
    pub(crate) automaton: Arc<Automaton>,
    pub(crate) start: Option<StateId>,
    /// Of a single word, made when a first mask asks for it.
    pub(crate) word: Option<Box<WordPath>>,
}

/// What a terminal leads to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shift {
    /// The configuration after it; `None` if it cannot come.
    pub(crate) next: Option<ConfigId>,
    /// Whether there are readings that return into frames which were cut off ([`Frame::HOLE`]). They are left
    /// out of `next`.
    pub(crate) meets_hole: bool,
}

/// Facts about some seeds, beside the terminals that can come next.
#[derive(Clone, Copy, Default)]
pub(crate) struct Closed {
    /// Whether the text may end at one of them.
    pub(crate) is_accepting: bool,
    /// Whether some reading returned into frames that were cut off ([`Frame::HOLE`]).
    pub(crate) meets_hole: bool,
}

/// The threads of a seed, as a range of `closure_threads`.
#[derive(Clone, Copy)]
struct Closure {
    start: u32,
    end: u32,
    closed: Closed,
}

/// Buffers that are reused from step to step.
#[derive(Default)]
struct Scratch {
    calls: BinaryHeap<Reverse<(u32, RuleId, Frame)>>,
    /// How many calls the present byte has made, the same ones again included.
    n_calls: usize,
    frames: Vec<Frame>,
    seen: FxHashSet<Seed>,
}

impl Parser {
    /// The parser of `network` before any text.
    pub(crate) fn new(shared: Arc<Shared>, network: Network) -> Result<Parser, EngineError> {
        let mut terminals = Vec::new();
        terminals.resize_with(network.terminals().len(), || None);
        let mut parser = Parser {
            shared,
            network,
            terminals,
            stacks: Stacks::new(),
            configs: Configurations::new(),
            start: ConfigId(0),
            closures: FxHashMap::default(),
            closure_threads: Vec::new(),
            shifts: FxHashMap::default(),
            memo_bytes: 0,
            terminal_bytes: 0,
            scratch: Scratch::default(),
            effort: Effort::Full,
        };
        let start_rule = parser.network.start();
        let is_nullable = parser.network.is_rule_nullable(start_rule);
        let mut threads = Vec::new();
        let mut calls = BinaryHeap::new();
        calls.push(Reverse((parser.network.rank(start_rule), start_rule, Frame::BOTTOM)));
        parser.enter_rules(&mut calls, &mut threads)?;
        parser.start = parser.intern(&mut threads, is_nullable)?.unwrap_or(ConfigId(0));
        Ok(parser)
    }

    /// To be called where an answer is not known and must be worked out.
    ///
    /// # Errors
    /// If the present call may not work.
    pub(crate) fn begin_work(&self) -> Result<(), EngineError> {
        match self.effort {
            Effort::Full => Ok(()),
            Effort::Known => Err(EngineError::Signal(Signal::Unknown)),
        }
    }

    /// The configuration before any text.
    pub(crate) fn start(&self) -> ConfigId {
        self.start
    }

    /// What one more terminal leads to.
    pub(crate) fn shift(&mut self, config: ConfigId, terminal: TerminalId) -> Result<Shift, EngineError> {
        let threads = self.configs.threads(config).iter();
        let mut seeds: Vec<Seed> = threads
            .filter(|thread| thread.terminal == terminal)
            .map(|thread| (thread.next, thread.node))
            .collect();
        if seeds.is_empty() {
            return Ok(Shift::default());
        }
        // Configurations differ in other terminals more often than in this one.
        if let Some(&known) = self.shifts.get(seeds.as_slice()) {
            return Ok(known);
        }
        let key: Box<[Seed]> = seeds.as_slice().into();
        let mut threads = Vec::new();
        let closed = self.close(&mut seeds, &mut threads)?;
        let next = self.intern(&mut threads, closed.is_accepting)?;
        let after = Shift { next, meets_hole: closed.meets_hole };
        if self.shared.options.use_memo {
            self.memo_bytes += 48 + size_of_val(&*key);
            self.shifts.insert(key, after);
        }
        Ok(after)
    }

    /// Adds to `threads` the beginnings of all terminals that can come next at `seeds`.
    pub(crate) fn close(
        &mut self,
        seeds: &mut Vec<Seed>,
        threads: &mut Vec<Thread>,
    ) -> Result<Closed, EngineError> {
        hooks::reach("close");
        let single = match seeds.as_slice() {
            [] => return Ok(Closed::default()),
            &[seed] => Some(seed),
            _ => None,
        };
        if let Some(closure) = single.and_then(|seed| self.closures.get(&seed)) {
            threads.extend_from_slice(&self.closure_threads[closure.start as usize..closure.end as usize]);
            return Ok(closure.closed);
        }
        let first = threads.len();
        let closed = self.return_from_rules(seeds)?;
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
            self.closures.insert(seed, Closure { start, end, closed });
            self.memo_bytes += 40 + (end - start) as usize * size_of::<Thread>();
        }
        Ok(closed)
    }

    /// Adds to `seeds` all places returned to from rules that may end there.
    fn return_from_rules(&mut self, seeds: &mut Vec<Seed>) -> Result<Closed, EngineError> {
        let mut seen = std::mem::take(&mut self.scratch.seen);
        seen.clear();
        seeds.retain(|&seed| seen.insert(seed));
        let mut closed = Closed::default();
        let mut position = 0;
        while let Some(&(state, node)) = seeds.get(position) {
            position += 1;
            if self.network.is_nullable(state) {
                for &frame in self.stacks.frames(node) {
                    if frame == Frame::BOTTOM {
                        closed.is_accepting = true;
                    } else if frame == Frame::HOLE {
                        closed.meets_hole = true;
                    } else if seen.insert((frame.ret, frame.parent)) {
                        seeds.push((frame.ret, frame.parent));
                    }
                }
            }
            self.check_threads(seeds.len())?;
        }
        self.scratch.seen = seen;
        Ok(closed)
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
                        let n_left = self.network.token_limit(terminal).unwrap_or(0);
                        threads.push(Thread { terminal, residue, next: step.next, node, n_left });
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
                        self.push(Frame { ret: step.next, parent: node }, |frame| {
                            calls.push(Reverse((rank, rule, frame)));
                        });
                    }
                }
            }
        }
        meter::spend((calls.len() - n_before) as u64 * UNITS_PER_CALL)?;
        self.scratch.n_calls += calls.len() - n_before;
        let (n_calls, limit) = (self.scratch.n_calls, self.shared.limits.max_calls);
        if n_calls > limit {
            let message = format!(
                "the grammar is so ambiguous here that one byte leads to more calls of rules than the limit of {limit}"
            );
            return Err(EngineError::at_limit(message, "max_calls", limit));
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

    /// Gives `call` frames that stand for `frame`: it alone, unless its state absorbs others right below it
    /// ([`Network::absorbed`]). Those need not be returned into.
    fn push(&mut self, frame: Frame, mut call: impl FnMut(Frame)) {
        let absorbed = self.network.absorbed(frame.ret);
        let Some(absorbed) = absorbed.filter(|&absorbed| self.stacks.returns_to(frame.parent, absorbed))
        else {
            return call(frame);
        };
        let below = self.stacks.frames(frame.parent);
        let (same, others): (Vec<Frame>, Vec<Frame>) = below.iter().partition(|below| below.ret == absorbed);
        for below in same {
            call(Frame { ret: frame.ret, parent: below.parent });
        }
        if !others.is_empty() {
            call(Frame { ret: frame.ret, parent: self.stacks.intern(&others) });
        }
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
            if frames.len() > 1 {
                self.drop_dominated(&mut frames);
            }
            let node = self.stacks.intern(&frames);
            let body = self.network.body(rule);
            self.expand(body, node, calls, threads)?;
        }
        self.scratch.frames = frames;
        Ok(())
    }

    /// Drops each frame that stands directly below another one whose state may end at once: with the other
    /// one all that it allows is allowed.
    fn drop_dominated(&mut self, frames: &mut Vec<Frame>) {
        let mut is_dominated = Vec::new();
        for &frame in frames.iter() {
            if frame.ret == ExprPool::EPSILON || !self.network.is_nullable(frame.ret) {
                continue;
            }
            for below in self.stacks.frames(frame.parent) {
                if let Ok(position) = frames.binary_search(below) {
                    is_dominated.resize(frames.len(), false);
                    is_dominated[position] = true;
                }
            }
        }
        if !is_dominated.is_empty() {
            let mut is_dominated = is_dominated.into_iter();
            frames.retain(|_| !is_dominated.next().unwrap_or(false));
        }
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

    /// The configuration of the readings of both.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn union(&mut self, first: ConfigId, second: ConfigId) -> Result<ConfigId, EngineError> {
        if first == second {
            return Ok(first);
        }
        let configs = &self.configs;
        let is_accepting = configs.is_accepting(first) || configs.is_accepting(second);
        let mut threads = [configs.threads(first), configs.threads(second)].concat();
        Ok(self.intern(&mut threads, is_accepting)?.unwrap_or(first))
    }

    /// The threads after the terminal that the threads of `group` read, sorted.
    pub(crate) fn threads_after(&mut self, group: &[Thread]) -> Result<Vec<Thread>, EngineError> {
        let mut seeds: Vec<Seed> = group.iter().map(|thread| (thread.next, thread.node)).collect();
        let mut after = Vec::new();
        self.close(&mut seeds, &mut after)?;
        after.sort_unstable();
        after.dedup();
        self.check_threads(after.len())?;
        Ok(after)
    }

    /// Where the word lies that `thread` is at the start of, if it is.
    pub(crate) fn word_at_start(&mut self, thread: Thread) -> Option<&WordPath> {
        let terminal = self.terminals[thread.terminal.index()].as_mut()?;
        if terminal.start != Some(thread.residue) {
            return None;
        }
        if terminal.word.is_none() {
            let word = terminal.automaton.rest_of_word(thread.residue)?;
            terminal.word = Some(Box::new(WordPath::new(self.shared.vocabulary.trie(), word)));
        }
        terminal.word.as_deref()
    }

    pub(crate) fn check_threads(&self, n_threads: usize) -> Result<(), EngineError> {
        let limit = self.shared.limits.max_threads;
        if n_threads > limit {
            let message = format!(
                "the grammar is so ambiguous here that {n_threads} readings would have to be followed, more than the limit \
                 of {limit}"
            );
            return Err(EngineError::at_limit(message, "max_threads", limit));
        }
        Ok(())
    }

    /// The start of a terminal, whose automaton is made when a text first comes to it; `None` if its language
    /// is empty.
    pub(crate) fn terminal_start(&mut self, terminal: TerminalId) -> Result<Option<StateId>, EngineError> {
        if let Some(known) = &self.terminals[terminal.index()] {
            return Ok(known.start);
        }
        let regex = &self.network.terminals()[terminal.index()];
        let fuel = Fuel::new(self.shared.limits.compile_work);
        let automaton = self.shared.automaton(regex, &fuel)?;
        let start = automaton.start();
        // Those of words are this grammar's own; the compiler counts the others.
        if automaton.is_literal_like() {
            self.terminal_bytes += automaton.memory_usage();
        }
        self.terminals[terminal.index()] = Some(Terminal { automaton, start, word: None });
        Ok(start)
    }

    /// The automaton of a terminal that some thread reads.
    pub(crate) fn automaton(&self, terminal: TerminalId) -> &Arc<Automaton> {
        loaded(&self.terminals, terminal)
    }

    /// Drops what is memoised. Configurations and stack nodes stay: sessions hold their ids.
    pub(crate) fn clear_memo(&mut self) {
        self.closures = FxHashMap::default();
        self.closure_threads = Vec::new();
        self.shifts = FxHashMap::default();
        self.memo_bytes = 0;
    }

    /// Makes a parser that a panic left in the middle of a call usable again.
    pub(crate) fn recover(&mut self) {
        self.clear_memo();
        self.scratch = Scratch::default();
    }

    /// Bytes that [`clear_memo`](Parser::clear_memo) would free.
    pub(crate) fn memo_bytes(&self) -> usize {
        self.memo_bytes
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.network.memory_usage()
            + self.terminals.capacity() * size_of::<Option<Terminal>>()
            + self.terminal_bytes
            + self.stacks.memory_usage()
            + self.configs.memory_usage()
            + self.memo_bytes
    }
}

pub(crate) fn loaded(terminals: &[Option<Terminal>], terminal: TerminalId) -> &Arc<Automaton> {
    &terminals[terminal.index()]
        .as_ref()
        .expect("a thread's terminal was loaded when the thread was made")
        .automaton
}
