//! A best-first search for a completion, token by token, with the lexer's actual steps.
//!
//! [`BestFirst`] is asked last, where neither the scopes nor the [summaries](super::pushdown) say whether a
//! thread has a completion. It visits threads at ends of tokens. A thread's rank is the number of tokens read
//! so far plus twice the fewest that the rules still need ([`distance`](super::distance)): weighted A*. So a
//! short completion is found after few visits, however many other ways there are and however deep they nest.
//!
//! An example: after `f(` in C, the thread after `)` has the lowest rank, and the search looks there before
//! it looks at any argument.
//!
//! A completion found from one thread also serves every thread along the way. A search without end stops at
//! its limit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use maskwright_automata::meter;
use maskwright_grammar::TerminalId;
use maskwright_scan::{HypothesisId, LexerTables};
use rustc_hash::FxHashSet;

use super::super::outlook::Outlook;
use super::super::places::LexedThread;
use super::distance::{Distances, NEVER};
use crate::EngineError;
use crate::ground::MAX_SEARCHED;
use crate::parser::{ConfigId, Parser};

/// The most threads of the parser, and frames on top of their stacks, that a search for the end of the text
/// visits. With a rule that can always continue, they grow with the distance.
const MAX_THREADS: usize = 200_000;
/// The same for a search for a place that is known to have a completion: many of those may be made for one
/// mask.
const MAX_THREADS_TO_KNOWN: usize = 50_000;
/// Units of work that a thread of the parser takes.
const UNITS_PER_THREAD: u64 = 8;
/// The weight of a terminal that the rules still need. One that was read counts 1.
const WEIGHT: u32 = 2;

/// The error if no search has decided whether the language has a text.
pub(in super::super) fn limit() -> EngineError {
    let what = "places to look for a text in, where tokens cannot stand side by side";
    EngineError::lexed_limit(what, MAX_SEARCHED)
}

/// How far a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    /// To a place that is known to have a completion.
    Known,
    /// To the end of the text.
    End,
}

/// A place of a search, and how it was reached: from which place, by which end of a token.
#[derive(Clone, Copy)]
pub(super) struct Visit {
    pub(super) thread: LexedThread,
    pub(super) from: Option<(usize, TerminalId, HypothesisId)>,
    n_tokens: u32,
}

/// What a search has found.
pub(super) enum Found {
    /// The places on the way to a completion, from the root on.
    Path(Vec<Visit>),
    /// There is none.
    Nothing,
    /// A limit was reached.
    GivenUp,
}

/// The search, and what it has learnt.
pub(super) struct BestFirst {
    distances: Distances,
}

impl BestFirst {
    pub(super) fn new(tables: &LexerTables) -> BestFirst {
        BestFirst { distances: Distances::new(tables) }
    }

    /// Looks for a completion from one of `roots`. Skips good ends of tokens if that loses no completion.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn search(
        &mut self,
        outlook: &mut Outlook,
        parser: &mut Parser,
        roots: &[LexedThread],
        goal: Goal,
    ) -> Result<Found, EngineError> {
        let max_threads = match goal {
            Goal::Known => MAX_THREADS_TO_KNOWN,
            Goal::End => MAX_THREADS,
        };
        let mut visits: Vec<Visit> = Vec::new();
        let mut seen: FxHashSet<LexedThread> = FxHashSet::default();
        let mut heap: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
        let mut n_threads = 0;
        for &thread in roots {
            if seen.insert(thread) {
                heap.push(Reverse((0, visits.len())));
                visits.push(Visit { thread, from: None, n_tokens: 0 });
            }
        }
        // Good ends are followed too if the rules cannot be finished after them without doubtful terminals.
        let takes_good = goal == Goal::End || !outlook.scopes.is_main_complete();
        while let Some(Reverse((_, at))) = heap.pop() {
            let Visit { thread, n_tokens, .. } = visits[at];
            let is_nested = outlook.places.is_nested(thread.layout);
            if goal == Goal::End
                && outlook.may_end(thread.hypothesis, is_nested)?
                && outlook.places.can_end(parser, (thread.parser, thread.layout))?.value
            {
                return Ok(Found::Path(path(&visits, at)));
            }
            for &end in outlook.next_tokens(thread.hypothesis, is_nested)?.iter() {
                if end.is_good && !takes_good {
                    continue;
                }
                for place in outlook.after_any_token(parser, thread, end.terminal)? {
                    let next = outlook.thread_at(parser, end.next, place)?;
                    let threads = parser.configs.threads(next.parser).iter();
                    let n_own = threads.map(|own| 1 + parser.stacks.frames(own.node).len()).sum::<usize>();
                    meter::spend(UNITS_PER_THREAD * (1 + n_own as u64))?;
                    n_threads += n_own;
                    if n_threads > max_threads || seen.len() > MAX_SEARCHED {
                        return Ok(Found::GivenUp);
                    }
                    if !seen.insert(next) {
                        continue;
                    }
                    let verdict = outlook.is_viable_at_once(parser, next)?;
                    if verdict == Some(false) {
                        continue;
                    }
                    let distance = self.distances.of_config(parser, next.parser);
                    if distance == NEVER {
                        continue;
                    }
                    let n_tokens = n_tokens + 1;
                    let from = Some((at, end.terminal, end.next));
                    visits.push(Visit { thread: next, from, n_tokens });
                    if verdict == Some(true) && goal == Goal::Known {
                        return Ok(Found::Path(path(&visits, visits.len() - 1)));
                    }
                    let rank = n_tokens.saturating_add(distance.saturating_mul(WEIGHT));
                    heap.push(Reverse((rank, visits.len() - 1)));
                }
            }
        }
        Ok(Found::Nothing)
    }

    /// The fewest terminals with which the rules can finish the text from a configuration of the parser;
    /// [`u32::MAX`] if they cannot.
    pub(super) fn fewest_terminals(&mut self, parser: &mut Parser, config: ConfigId) -> u32 {
        self.distances.of_config(parser, config)
    }

    /// How far it is to the end by the rules alone.
    pub(super) fn distances(&mut self) -> &mut Distances {
        &mut self.distances
    }

    /// Forgets the distances of stacks and configurations.
    pub(super) fn clear_memo(&mut self) {
        self.distances.clear();
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.distances.memory_usage()
    }
}

/// The places from a root to the one at `at`.
fn path(visits: &[Visit], mut at: usize) -> Vec<Visit> {
    let mut path = vec![visits[at]];
    while let Some((before, ..)) = visits[at].from {
        path.push(visits[before]);
        at = before;
    }
    path.reverse();
    path
}
