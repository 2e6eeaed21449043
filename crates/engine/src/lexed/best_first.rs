//! A best-first search for a completion, token by token, with the lexer's actual steps.
//!
//! Places are ranked by the tokens read so far plus twice the fewest that the rules still need ([`distance`](super::distance)):
//! weighted A*. So a short completion is found after few places, however many other ways there are and however deep they
//! nest. A completion found from one place also serves every place along it. A search without end stops at its limit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use maskwright_grammar::TerminalId;
use maskwright_scan::{HypothesisId, LayoutId};
use rustc_hash::FxHashSet;

use super::distance::NEVER;
use super::{Lexed, LexedThread};
use crate::EngineError;
use crate::parser::{ConfigId, Parser};

/// The most places that one search for a completion visits.
const MAX_PLACES: usize = 5_000;
/// The most threads of the parser, and frames on top of their stacks, that one search visits. With a rule that can always
/// continue, they grow with the distance.
const MAX_THREADS: usize = 200_000;
/// The limit on threads never falls below this, even after searches that were given up.
const MIN_THREADS: usize = 5_000;
/// How much the limit on threads grows after a search that was not given up.
const REGAINED: usize = 1_000;
/// The weight of a terminal that the rules still need. One that was read counts 1.
const WEIGHT: u32 = 2;

/// The error if no search has decided whether the language has a text.
pub(super) fn limit() -> EngineError {
    let what = "places to look for a text in, where tokens cannot stand side by side";
    EngineError::lexed_limit(what, MAX_PLACES)
}

/// How many threads the next search may visit: fewer after searches that were given up, more after others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience(usize);

impl Default for Patience {
    fn default() -> Patience {
        Patience(MAX_THREADS)
    }
}

impl Patience {
    /// Learns how a search has ended.
    fn learn(&mut self, found: &Found) {
        self.0 = match found {
            Found::GivenUp => (self.0 / 2).max(MIN_THREADS),
            Found::Path(_) | Found::Nothing => (self.0 + REGAINED).min(MAX_THREADS),
        };
    }
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

impl Lexed {
    /// Looks for a completion from one of `roots`. Skips good ends of tokens if that loses no completion.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn search_best_first(
        &mut self,
        parser: &mut Parser,
        roots: &[LexedThread],
        goal: Goal,
    ) -> Result<Found, EngineError> {
        if goal == Goal::End {
            return self.search_within(parser, roots, goal, MAX_THREADS);
        }
        let found = self.search_within(parser, roots, goal, self.patience.0)?;
        self.patience.learn(&found);
        Ok(found)
    }

    fn search_within(
        &mut self,
        parser: &mut Parser,
        roots: &[LexedThread],
        goal: Goal,
        max_threads: usize,
    ) -> Result<Found, EngineError> {
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
        let takes_good = goal == Goal::End || !self.is_main_complete();
        while let Some(Reverse((_, at))) = heap.pop() {
            let Visit { thread, n_tokens, .. } = visits[at];
            let is_nested = self.layouts.get(thread.layout).depth > 0;
            if goal == Goal::End
                && self.may_end(thread.hypothesis, is_nested)?
                && self.can_end(parser, thread.parser, thread.layout)?
            {
                return Ok(Found::Path(path(&visits, at)));
            }
            for &end in self.next_tokens(thread.hypothesis, is_nested)?.iter() {
                if end.is_good && !takes_good {
                    continue;
                }
                for (config, layout) in self.after_any_token(parser, thread, end.terminal)? {
                    let hypothesis = self.exact(parser, end.next, config, layout)?;
                    let next = LexedThread { hypothesis, parser: config, layout };
                    let threads = parser.configs.threads(config).iter();
                    n_threads += threads.map(|own| 1 + parser.stacks.frames(own.node).len()).sum::<usize>();
                    if n_threads > max_threads || seen.len() > MAX_PLACES {
                        return Ok(Found::GivenUp);
                    }
                    if !seen.insert(next) {
                        continue;
                    }
                    let verdict = self.is_viable_at_once(parser, next)?;
                    if verdict == Some(false) {
                        continue;
                    }
                    let distance = self.distances.of_config(parser, config);
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

    fn after_any_token(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        terminal: TerminalId,
    ) -> Result<Vec<(ConfigId, LayoutId)>, EngineError> {
        let is_newline = self.points.tables.layout.as_ref().is_some_and(|layout| layout.newline == terminal);
        if is_newline {
            return Ok(self.after_any_newline(parser, thread.parser, thread.layout, terminal)?.to_vec());
        }
        let layout = self.layouts.with_line(thread.layout, None);
        let after = self.after_token(parser, thread.parser, layout, terminal, None)?;
        Ok(after.into_iter().collect())
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
