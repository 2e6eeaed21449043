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

/// So many bytes are read between two searches for completions, so that dead ways do not pile up.
const JUDGED_EVERY: usize = 64;

/// So many tokens are gone over in the time of a unit of work.
const TOKENS_PER_UNIT: u64 = 8;

/// The tokens of a text, by thread.
pub(crate) struct Lexemes {
    ways: Vec<Way>,
    /// Each token, with the one before it and how many are before it.
    all: Vec<(Lexeme, Option<usize>, usize)>,
}

/// The ways to some threads, of one text.
#[derive(Clone)]
pub(crate) struct Ways(Vec<Way>);

impl Lexemes {
    /// Those of no text.
    pub(crate) fn new(lexed: &Lexed) -> Lexemes {
        let threads = lexed.states.configs.threads(lexed.states.start());
        let ways = threads.iter().map(|&thread| Way { thread, start: 0, last: None }).collect();
        Lexemes { ways, all: Vec::new() }
    }

    /// The ways so far, to go [back to](Lexemes::go_to) or to [join](Lexemes::join) others.
    pub(crate) fn ways(&self) -> Ways {
        Ways(self.ways.clone())
    }

    /// Takes other ways of the same session.
    pub(crate) fn go_to(&mut self, ways: Ways) {
        self.ways = ways.0;
    }

    /// Adds other ways, of the same text.
    ///
    /// # Errors
    /// If the work is out.
    pub(crate) fn join(&mut self, ways: Ways) -> Result<(), EngineError> {
        let all = self.ways.drain(..).chain(ways.0).collect();
        self.ways = self.best(all)?;
        Ok(())
    }

    /// Reads one more byte, after which the text has `at` bytes. If it fails no way is changed.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn read(
        &mut self,
        lexed: &mut Lexed,
        parser: &mut Parser,
        byte: u8,
        at: usize,
    ) -> Result<(), EngineError> {
        let n_before = self.all.len();
        let ways = self.ways_after(lexed, parser, byte, at);
        self.ways = ways.inspect_err(|_| self.all.truncate(n_before))?;
        Ok(())
    }

    fn ways_after(
        &mut self,
        Lexed { states, .. }: &mut Lexed,
        parser: &mut Parser,
        byte: u8,
        at: usize,
    ) -> Result<Vec<Way>, EngineError> {
        parser.begin_work()?;
        meter::spend(1 + self.ways.len() as u64)?;
        let mut ways = Vec::new();
        for way in self.ways.clone() {
            let outlook = &mut states.completions.outlook;
            let is_nested = outlook.places.is_nested(way.thread.layout);
            for (outcome, thread) in outlook.after_byte(parser, way.thread, byte)? {
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
        if at.is_multiple_of(JUDGED_EVERY) {
            let mut left = Vec::with_capacity(ways.len());
            for way in ways {
                let is_dead = states.completions.is_viable(parser, way.thread)? == Some(false);
                left.extend((!is_dead).then_some(way));
            }
            ways = left;
        }
        parser.check_threads(ways.len())?;
        self.best(ways)
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
            meter::spend(self.n_up_to(way.last) as u64)?;
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

    fn add(&mut self, lexeme: Lexeme, before: Option<usize>) -> Option<usize> {
        self.all.push((lexeme, before, self.n_up_to(before)));
        Some(self.all.len() - 1)
    }

    /// How many tokens a list has.
    fn n_up_to(&self, last: Option<usize>) -> usize {
        last.map_or(0, |last| self.all[last].2 + 1)
    }

    fn list(&self, last: Option<usize>) -> Vec<Lexeme> {
        let mut list: Vec<Lexeme> =
            std::iter::successors(last, |&at| self.all[at].1).map(|at| self.all[at].0).collect();
        list.reverse();
        list
    }

    /// One way to each thread.
    fn best(&self, mut ways: Vec<Way>) -> Result<Vec<Way>, EngineError> {
        let mut n_walked = 0;
        ways.sort_by(|one, other| {
            one.thread.cmp(&other.thread).then_with(|| self.compare(one, other, &mut n_walked))
        });
        ways.dedup_by_key(|way| way.thread);
        meter::spend(n_walked / TOKENS_PER_UNIT)?;
        Ok(ways)
    }

    fn compare(&self, one: &Way, other: &Way, n_walked: &mut u64) -> Ordering {
        let (mut left, mut right) = (one.last, other.last);
        // The first token of each list that the other does not have.
        let (mut first_left, mut first_right) = (None, None);
        while left != right {
            *n_walked += 1;
            match (left, right) {
                (Some(last), _) if self.n_up_to(left) >= self.n_up_to(right) => {
                    (first_left, left) = (Some(last), self.all[last].1);
                }
                (_, Some(last)) => (first_right, right) = (Some(last), self.all[last].1),
                (_, None) => break,
            }
        }
        let rank = |at: usize| (Reverse(self.all[at].0.end), self.all[at].0.terminal);
        let (left, right) = (first_left.map(rank), first_right.map(rank));
        left.cmp(&right).then(one.start.cmp(&other.start))
    }
}
