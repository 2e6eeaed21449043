//! The least number of tokens from a configuration to the end of the text.
//!
//! The stack is walked from the top down: the rest of the rule on top is a summary, and what is left of the
//! text below a node, for each future of the token in progress, is a number that is kept with the node. Nodes are
//! shared by the configurations of a text (and of others), so as a text goes on only its newest nodes are
//! looked at.
//!
//! An example: within `{"a":[1` the stack has a list in an object. The rest of the list takes `]`, what is below takes `}`, and a
//! token `]}` does both. When the text goes on to `{"a":[1,2`, the number below the list is known.

mod profiles;
mod proven;

use std::sync::Arc;

use parking_lot::Mutex;

use maskwright_automata::{ByteSet, StateId, meter};
use maskwright_grammar::{ExprId, ExprPool};
use maskwright_vocabulary::{Trie, Vocabulary};
use rustc_hash::FxHashMap;

use super::profile::Profile;
use super::summaries::{Extent, Summaries, Work};
use crate::EngineError;
use crate::ground::{NEVER, plus};
use crate::parser::Parser;
use crate::parser::{ConfigId, Frame, NodeId, Thread};
use crate::spelling::FutureId;
use crate::spelling::{Effort, Spelling};

/// Bytes that the memoised answers may take before they are dropped.
const MAX_BYTES: usize = 64 << 20;

/// Units of work that a place takes.
const UNITS_PER_PLACE: u64 = 16;

/// A place between terminals: a state, the stack that it returns to, the token in progress.
type Place = (ExprId, NodeId, FutureId);

/// What is known about the budgets of one grammar's texts.
pub(crate) struct Budget {
    pub(crate) spelling: Arc<Mutex<Spelling>>,
    summaries: Summaries,
    /// The least number of tokens from a place to the end.
    places: FxHashMap<Place, u32>,
    follows: FxHashMap<NodeId, ByteSet>,
    configs: FxHashMap<ConfigId, u32>,
    pub(crate) threads: FxHashMap<Thread, u32>,
    pub(crate) profiles: FxHashMap<ConfigId, Arc<Profile>>,
    /// What tokens read after residues, by the bytes that may follow there.
    pub(crate) partition_exits: FxHashMap<((u64, StateId), ByteSet), Arc<Trie>>,
    pub(crate) profile_bytes: usize,
    eos_cost: u32,
}

impl Budget {
    /// Nothing is known yet; `spelling` is what grammars share. Only completions in the extent count that enter none of the
    /// terminals that are `avoided`.
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        spelling: Arc<Mutex<Spelling>>,
        avoided: Arc<[bool]>,
        extent: Extent,
    ) -> Budget {
        Budget {
            spelling,
            summaries: Summaries::new(avoided, extent),
            places: FxHashMap::default(),
            follows: FxHashMap::default(),
            configs: FxHashMap::default(),
            threads: FxHashMap::default(),
            profiles: FxHashMap::default(),
            partition_exits: FxHashMap::default(),
            profile_bytes: 0,
            eos_cost: u32::from(!vocabulary.eos_token_ids().is_empty()),
        }
    }

    /// Drops the search itself, which an error may have left in the middle of something.
    pub(crate) fn forget_search(&mut self) {
        self.summaries = self.summaries.forgotten();
    }

    /// How runs are found.
    fn effort(&self) -> Effort {
        if self.summaries.extent == Extent::Aligned { Effort::Upper } else { Effort::Exact }
    }

    /// Sets what all questions together may do from now on, in items.
    pub(crate) fn allow(&mut self, work: Work) {
        self.summaries.allow(work);
    }

    /// Whether no search has done any work yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.summaries.work() == 0
    }

    /// The least number of tokens, EOS included, that complete the text; [`NEVER`] if no tokens spell the
    /// rest of any.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn least(&mut self, parser: &mut Parser, config: ConfigId) -> Result<u32, EngineError> {
        if let Some(&known) = self.configs.get(&config) {
            return Ok(known);
        }
        let mut least = if parser.configs.is_accepting(config) { self.eos_cost } else { NEVER };
        for thread in parser.configs.threads(config).to_vec() {
            least = least.min(self.thread(parser, thread)?);
        }
        if parser.shared.options.use_memo {
            self.configs.insert(config, least);
        }
        Ok(least)
    }

    /// The same for one reading.
    pub(crate) fn thread(&mut self, parser: &mut Parser, thread: Thread) -> Result<u32, EngineError> {
        if let Some(&known) = self.threads.get(&thread) {
            return Ok(known);
        }
        if self.summaries.avoids(thread.terminal)
            && parser.terminal_start(thread.terminal)? == Some(thread.residue)
        {
            self.threads.insert(thread, NEVER);
            return Ok(NEVER);
        }
        meter::spend(UNITS_PER_PLACE)?;
        let below = self.follow(parser, thread.node)?;
        let follow = self.summaries.follow_of(parser, thread.next, below)?;
        let exits = {
            let automaton = parser.automaton(thread.terminal);
            let mut spelling = self.spelling.lock();
            let root = spelling.futures.root();
            spelling.exits(automaton, thread.residue, root, follow, self.effort())?
        };
        let mut least = NEVER;
        for &(future, cost) in exits.iter() {
            if cost < least {
                least = least.min(plus(cost, self.place(parser, (thread.next, thread.node, future))?));
            }
        }
        self.threads.insert(thread, least);
        Ok(least)
    }

    /// The least number of tokens from the end of the terminal that `thread` reads, where a token ends.
    pub(crate) fn after_terminal(&mut self, parser: &mut Parser, thread: Thread) -> Result<u32, EngineError> {
        let root = self.spelling.lock().futures.root();
        self.place(parser, (thread.next, thread.node, root))
    }

    /// The bytes that may come next below a node.
    fn follow(&mut self, parser: &mut Parser, node: NodeId) -> Result<ByteSet, EngineError> {
        let mut stack = vec![node];
        while let Some(&top) = stack.last() {
            if self.follows.contains_key(&top) {
                stack.pop();
                continue;
            }
            let n_open = stack.len();
            let mut bytes = ByteSet::EMPTY;
            for frame in parser.stacks.frames(top).to_vec() {
                if frame == Frame::BOTTOM {
                    continue;
                }
                let below = if parser.network.is_nullable(frame.ret) {
                    match self.follows.get(&frame.parent) {
                        Some(&known) => known,
                        None => {
                            stack.push(frame.parent);
                            continue;
                        }
                    }
                } else {
                    ByteSet::EMPTY
                };
                bytes = bytes.union(&self.summaries.follow_of(parser, frame.ret, below)?);
            }
            if stack.len() == n_open {
                self.follows.insert(top, bytes);
                stack.pop();
            }
        }
        Ok(self.follows.get(&node).copied().unwrap_or(ByteSet::EMPTY))
    }

    /// The least number of tokens from a place.
    pub(crate) fn place(&mut self, parser: &mut Parser, place: Place) -> Result<u32, EngineError> {
        let mut stack = vec![place];
        while let Some(&top) = stack.last() {
            if self.places.contains_key(&top) {
                stack.pop();
                continue;
            }
            meter::spend(UNITS_PER_PLACE)?;
            let (state, node, future) = top;
            let exits = self.exits(parser, state, node, future)?;
            let root = self.spelling.lock().futures.root();
            let n_open = stack.len();
            let mut least = NEVER;
            for &(left, cost) in &exits {
                if cost >= least {
                    break;
                }
                for frame in parser.stacks.frames(node) {
                    if *frame == Frame::BOTTOM {
                        if left == root {
                            least = least.min(plus(cost, self.eos_cost));
                        }
                        continue;
                    }
                    let below = (frame.ret, frame.parent, left);
                    match self.places.get(&below) {
                        Some(&known) => least = least.min(plus(cost, known)),
                        None => stack.push(below),
                    }
                }
            }
            if stack.len() == n_open {
                self.places.insert(top, least);
                stack.pop();
            }
        }
        Ok(self.places.get(&place).copied().unwrap_or(NEVER))
    }

    /// The exits of the rest of a rule.
    fn exits(
        &mut self,
        parser: &mut Parser,
        state: ExprId,
        node: NodeId,
        future: FutureId,
    ) -> Result<Vec<(FutureId, u32)>, EngineError> {
        if state == ExprPool::EPSILON {
            return Ok(vec![(future, 0)]);
        }
        let follow = self.follow(parser, node)?;
        let spelling = self.spelling.clone();
        let mut spelling = spelling.lock();
        let follow = self.summaries.follow(&mut spelling, follow);
        let summary = self.summaries.summary(state, future, follow);
        let effort = self.effort();
        Ok(self.summaries.exits(parser, &mut spelling, summary, effort)?.to_vec())
    }

    /// Whether it has grown beyond the limit, so that another is to take its place.
    pub(crate) fn is_full(&self) -> bool {
        self.memory_usage() > MAX_BYTES
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.summaries.memory_usage()
            + self.places.len() * 32
            + self.follows.len() * 48
            + self.configs.len() * 16
            + self.threads.len() * 40
            + self.profile_bytes
    }
}
