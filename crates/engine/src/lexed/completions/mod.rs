//! Whether a thread has a completion, by search where need be.
//!
//! [`Completions::is_viable`] is the question that keeps a session's promise: every thread kept can still
//! become a text of the language. Mostly the [outlook](super::outlook) answers at once. Where tokens cannot
//! stand side by side, or only a doubtful terminal can continue, the answer depends on the stack, and a
//! search decides: first along the rules straight to an end ([`ways`]), then over the summaries of the rules
//! ([`pushdown`]), then token by token ([`best_first`]). With indentation only the last is asked: it stops at
//! the next place that is known, while the way to an end steps through a line for each block.
//!
//! An example: for `start: A A B` with `A: "x"` and `B: "xx"`, no scope can say whether the text `x` has a
//! completion, because the lexer would read `xx` as a `B`. The search reads tokens as the lexer does and
//! finds out.
//!
//! A search can be given up at its limit. Its answer is `None` then, and a text whose threads have no other
//! answer is refused.

mod best_first;
mod distance;
mod pushdown;
mod ways;

use rustc_hash::FxHashMap;

use super::next_tokens::text_to;
use super::outlook::Outlook;
use super::places::LexedThread;
use crate::EngineError;
use crate::parser::{ConfigId, Parser};
pub(super) use best_first::limit;
use best_first::{BestFirst, Found, Goal};
use pushdown::Pushdown;
pub(crate) use ways::Step;
use ways::Ways;

/// With more answers of searches than this, all are dropped when caches are cleared; with fewer, the proven
/// ones are kept.
const MAX_PROVEN: usize = 1 << 20;

/// The outlook, and searches.
pub(crate) struct Completions {
    pub(super) outlook: Outlook,
    /// The answers of searches; `None` for those that were given up.
    searched: FxHashMap<LexedThread, Option<bool>>,
    /// Over strict readings.
    strict: Pushdown,
    /// Over free readings.
    free: Pushdown,
    best_first: BestFirst,
    ways: Ways,
    memo_bytes: usize,
}

impl Completions {
    /// Nothing was searched yet.
    pub(super) fn new(outlook: Outlook) -> Completions {
        Completions {
            best_first: BestFirst::new(outlook.places.tables()),
            outlook,
            searched: FxHashMap::default(),
            strict: Pushdown::new(false),
            free: Pushdown::new(true),
            ways: Ways::default(),
            memo_bytes: 0,
        }
    }

    /// Whether some completion of the text continues from `thread`; `None` if a search for one was given up.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn is_viable(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<bool>, EngineError> {
        match self.outlook.is_viable_at_once(parser, thread)? {
            Some(is_viable) => Ok(Some(is_viable)),
            None => self.search(parser, thread),
        }
    }

    /// The answer of a search, memoised.
    fn search(&mut self, parser: &mut Parser, thread: LexedThread) -> Result<Option<bool>, EngineError> {
        if let Some(&known) = self.searched.get(&thread) {
            return Ok(known);
        }
        let found = self.look_for_completion(parser, thread)?;
        self.searched.insert(thread, found);
        self.memo_bytes += 24;
        Ok(found)
    }

    /// Runs the cheaper searches first. Only the last one makes configurations, which are not freed.
    fn look_for_completion(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<bool>, EngineError> {
        let tables = self.outlook.places.tables();
        let (has_layout, is_contextual) = (tables.layout.is_some(), tables.is_contextual);
        if !has_layout {
            if self.step_to_end(parser, thread)?.is_some() {
                return Ok(Some(true));
            }
            match self.strict.decide(&mut self.outlook, parser, thread)? {
                Some(true) => return Ok(Some(true)),
                Some(false) if !is_contextual => return Ok(Some(false)),
                _ => {}
            }
            if is_contextual && self.free.decide(&mut self.outlook, parser, thread)? == Some(false) {
                return Ok(Some(false));
            }
        }
        match self.best_first.search(&mut self.outlook, parser, &[thread], Goal::Known)? {
            Found::Path(path) => {
                for visit in path {
                    self.searched.insert(visit.thread, Some(true));
                    self.memo_bytes += 24;
                }
                Ok(Some(true))
            }
            Found::Nothing => Ok(Some(false)),
            Found::GivenUp => Ok(None),
        }
    }

    /// The fewest terminals with which the rules can finish the text from a configuration of the parser;
    /// [`u32::MAX`] if they cannot.
    pub(super) fn fewest_terminals(&mut self, parser: &mut Parser, config: ConfigId) -> u32 {
        self.best_first.fewest_terminals(parser, config)
    }

    /// The first step of the way from a thread to the end of the text; see [`ways`].
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn step_to_end(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<Step>, EngineError> {
        let Completions { outlook, best_first, ways, .. } = self;
        ways.first(outlook, best_first.distances(), parser, thread)
    }

    /// Some text that completes one of `threads`, found with the lexer's actual steps. Of the bytes in one
    /// class, it has one that `prefers` accepts, if there is one. `None` if no text is found, and for
    /// grammars with indentation.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn completing_text(
        &mut self,
        parser: &mut Parser,
        threads: &[LexedThread],
        prefers: &dyn Fn(u8) -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let Completions { outlook, best_first, .. } = self;
        if outlook.places.tables().layout.is_some() {
            return Ok(None);
        }
        let Found::Path(path) = best_first.search(outlook, parser, threads, Goal::End)? else {
            return Ok(None);
        };
        let points = &mut outlook.places.points;
        let mut text = Vec::new();
        let mut hypothesis = None;
        for visit in path {
            if let (Some(before), Some((_, terminal, next))) = (hypothesis, visit.from) {
                let Some(more) = text_to(points, before, Some((terminal, next)), false, prefers)? else {
                    return Ok(None);
                };
                text.extend(more);
            }
            hypothesis = Some(visit.thread.hypothesis);
        }
        let Some(last) = hypothesis else { return Ok(None) };
        let Some(more) = text_to(points, last, None, false, prefers)? else { return Ok(None) };
        text.extend(more);
        Ok(Some(text))
    }

    /// Drops what is memoised. Proven answers stay, unless they are too many: a mask may have allowed tokens
    /// because of them.
    pub(super) fn clear_memo(&mut self) {
        self.outlook.clear_memo();
        let keeps_proven = self.searched.len() <= MAX_PROVEN;
        self.searched.retain(|_, found| keeps_proven && *found == Some(true));
        self.strict = Pushdown::new(false);
        self.free = Pushdown::new(true);
        self.best_first.clear_memo();
        self.ways = Ways::default();
        self.memo_bytes = 0;
    }

    pub(super) fn memo_bytes(&self) -> usize {
        self.memo_bytes + self.ways.n_bytes() + self.best_first.memory_usage() + self.outlook.memo_bytes()
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.memo_bytes
            + self.ways.n_bytes()
            + self.outlook.memory_usage()
            + self.strict.memory_usage()
            + self.free.memory_usage()
            + self.best_first.memory_usage()
    }
}
