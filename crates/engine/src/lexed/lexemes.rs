//! The tokens that the lexer has made of a text, for those who ask what the text says.
//!
//! A configuration says where the readings of a text are, and forgets how they came there. [`Lexemes`] reads
//! the text again, with the tokens on the way of each thread. Of two ways to one thread that counts whose
//! first other token is longer, or else has the smaller terminal.

use std::cmp::{Ordering, Reverse};

use maskwright_automata::meter;
use maskwright_grammar::TerminalId;

use super::Lexed;
use super::places::LexedThread;
use crate::EngineError;
use crate::parser::Parser;

/// A token of the lexer that the parser gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lexeme {
    pub(crate) terminal: TerminalId,
    /// The byte of the text where it begins.
    pub(crate) start: usize,
    /// The byte after its last.
    pub(crate) end: usize,
}

/// How a thread was reached.
#[derive(Clone, Copy, Debug)]
struct Way {
    thread: LexedThread,
    /// Where the token in progress begins.
    start: usize,
    /// The last token, by its place among all.
    last: Option<usize>,
}

/// The tokens of a text, by thread.
#[derive(Clone)]
pub(crate) struct Lexemes {
    ways: Vec<Way>,
    /// Each token, and the one before it.
    all: Vec<(Lexeme, Option<usize>)>,
}

impl Lexemes {
    /// Those of no text.
    pub(crate) fn new(lexed: &Lexed) -> Lexemes {
        let threads = lexed.states.configs.threads(lexed.states.start());
        let ways = threads.iter().map(|&thread| Way { thread, start: 0, last: None }).collect();
        Lexemes { ways, all: Vec::new() }
    }

    /// Reads one more byte, after which the text has `at` bytes. If it fails nothing is read.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn read(
        &mut self,
        Lexed { states, .. }: &mut Lexed,
        parser: &mut Parser,
        byte: u8,
        at: usize,
    ) -> Result<(), EngineError> {
        parser.begin_work()?;
        meter::spend(1 + self.ways.len() as u64)?;
        let outlook = &mut states.completions.outlook;
        let (mut ways, n_before) = (Vec::new(), self.all.len());
        for way in self.ways.clone() {
            let is_nested = outlook.places.is_nested(way.thread.layout);
            for outcome in outlook.places.points.hypotheses.step(way.thread.hypothesis, byte)? {
                let hypotheses = &outlook.places.points.hypotheses;
                let outcome = hypotheses.outcome(outcome);
                if !hypotheses.is_for(&outcome, is_nested) {
                    continue;
                }
                let Some(thread) = outlook.after(parser, way.thread, outcome, byte)? else { continue };
                if outlook.is_viable_at_once(parser, thread)? == Some(false) {
                    continue;
                }
                let Some(terminal) = outcome.terminal else {
                    ways.push(Way { thread, ..way });
                    continue;
                };
                let mut last = way.last;
                let tables = outlook.places.tables();
                if !tables.is_ignored(terminal, is_nested) {
                    last = self.add(Lexeme { terminal, start: way.start, end: at }, last);
                }
                if let Some(rules) = &tables.layout {
                    let layouts = &outlook.places.layouts;
                    let n_blocks = |thread: LexedThread| layouts.n_blocks(layouts.get(thread.layout).blocks);
                    let (n_old, n_new) = (n_blocks(way.thread), n_blocks(thread));
                    let made = if n_new > n_old { rules.indent } else { rules.dedent };
                    for _ in 0..n_new.abs_diff(n_old) {
                        last = self.add(Lexeme { terminal: made, start: at, end: at }, last);
                    }
                }
                ways.push(Way { thread, start: at, last });
            }
        }
        if let Err(error) = parser.check_threads(ways.len()) {
            self.all.truncate(n_before);
            return Err(error);
        }
        self.ways = ways;
        self.keep_best();
        Ok(())
    }

    /// The tokens of each reading that has a completion, or with `is_whole` of each in which the text may
    /// end.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn lists(
        &self,
        Lexed { states, .. }: &mut Lexed,
        parser: &mut Parser,
        is_whole: bool,
    ) -> Result<Vec<Vec<Lexeme>>, EngineError> {
        let mut lists = Vec::new();
        for way in &self.ways {
            let thread = way.thread;
            let mut list = self.list(way.last);
            if is_whole {
                let places = states.places_mut();
                if !places.points.hypotheses.ends_here(thread.hypothesis)
                    || !places.can_end(parser, (thread.parser, thread.layout))?.value
                {
                    continue;
                }
                if let Some(rules) = &places.tables().layout {
                    let blocks = places.layouts.get(thread.layout).blocks;
                    let dedent = Lexeme { terminal: rules.dedent, start: way.start, end: way.start };
                    list.extend((0..places.layouts.n_blocks(blocks)).map(|_| dedent));
                }
            } else if states.completions.is_viable(parser, thread)? == Some(false) {
                continue;
            }
            lists.push(list);
        }
        Ok(lists)
    }

    /// How many tokens were made in all readings.
    pub(crate) fn n_tokens(&self) -> usize {
        self.all.len()
    }

    /// Adds other readings of the same text. The first `n_same` tokens of both are the same.
    pub(crate) fn join(&mut self, other: Lexemes, n_same: usize) {
        let n_own = self.all.len();
        let moved = |at: usize| if at < n_same { at } else { at - n_same + n_own };
        let new = other.all.into_iter().skip(n_same);
        self.all.extend(new.map(|(lexeme, before)| (lexeme, before.map(moved))));
        self.ways.extend(other.ways.into_iter().map(|way| Way { last: way.last.map(moved), ..way }));
        self.keep_best();
    }

    /// Keeps one way to each thread.
    fn keep_best(&mut self) {
        let mut ways = std::mem::take(&mut self.ways);
        ways.sort_by(|one, other| one.thread.cmp(&other.thread).then_with(|| self.compare(one, other)));
        ways.dedup_by_key(|way| way.thread);
        self.ways = ways;
    }

    fn add(&mut self, lexeme: Lexeme, before: Option<usize>) -> Option<usize> {
        self.all.push((lexeme, before));
        Some(self.all.len() - 1)
    }

    fn list(&self, last: Option<usize>) -> Vec<Lexeme> {
        let mut list: Vec<Lexeme> =
            std::iter::successors(last, |&at| self.all[at].1).map(|at| self.all[at].0).collect();
        list.reverse();
        list
    }

    fn compare(&self, one: &Way, other: &Way) -> Ordering {
        let (left, right) = (self.list(one.last), self.list(other.last));
        let rank = |lexeme: &Lexeme| (lexeme.start, Reverse(lexeme.end), lexeme.terminal);
        left.iter().map(rank).cmp(right.iter().map(rank)).then(one.start.cmp(&other.start))
    }
}
