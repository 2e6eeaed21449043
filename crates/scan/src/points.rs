//! Where a text stands among tokens, and what a byte does there.
//!
//! [`Points`] is a lexer with all that was found out about it. A parser that follows tokens byte by byte
//! steps [`hypotheses`](Points::hypotheses) itself. Searches over the vocabulary's tokens use
//! [`Points::read`], which also counts the blanks of the line in progress.

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::TerminalId;

use crate::blanks::Blanks;
use crate::error::ScanError;
use crate::hypotheses::{Hypotheses, HypothesisId, Outcome};
use crate::tables::LexerTables;

/// Where the lexer stands after some bytes: a hypothesis, and the blanks since the last newline character of
/// the token in progress, if that may become a token that ends a line. Widths count from before the bytes, so
/// points of lines that differ in their widths alone are one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point {
    /// The lexer's part.
    pub hypothesis: HypothesisId,
    /// The line's.
    pub line: Blanks,
}

impl Point {
    /// The point before any bytes, in the same hypothesis.
    #[inline]
    pub fn begun(self) -> Point {
        let line = if self.line == Blanks::None { Blanks::None } else { Blanks::More(0) };
        Point { line, ..self }
    }

    /// The same point, seen from further back: `before` is what the bytes from there to here made.
    #[inline]
    pub fn after_bytes(self, before: Blanks) -> Point {
        Point { line: self.line.after_bytes(before), ..self }
    }
}

/// What one byte does to a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The terminal whose token ends with the byte, if one does.
    pub terminal: Option<TerminalId>,
    /// The hypothesis after it. Its line is that of the token in progress, or of the token that has ended.
    pub next: Point,
}

/// A lexer, and all hypotheses of it that were met.
pub struct Points {
    /// The lexer.
    pub tables: Arc<LexerTables>,
    /// What it may be in the middle of.
    pub hypotheses: Hypotheses,
}

impl Points {
    /// A lexer of which nothing is known yet.
    pub fn new(tables: Arc<LexerTables>) -> Points {
        let hypotheses = Hypotheses::new(tables.clone(), true);
        Points { tables, hypotheses }
    }

    /// Whether the token in progress may become one that ends a line.
    ///
    /// # Errors
    /// If a limit is reached.
    #[inline]
    pub fn may_be_newline(&self, hypothesis: HypothesisId) -> Result<bool, ScanError> {
        let Some(layout) = &self.tables.layout else { return Ok(false) };
        let state = self.hypotheses.get(hypothesis).state;
        Ok(self.tables.lexer.reachable(state)?.contains(layout.newline.index() as u32))
    }

    /// All that `byte` can do at `point`, inside of brackets or outside, added to `reads`. Under the
    /// contextual discipline tokens ahead are read strictly, so there may be more.
    ///
    /// # Errors
    /// If a limit is reached.
    #[inline]
    pub fn read(
        &mut self,
        point: Point,
        byte: u8,
        is_nested: bool,
        reads: &mut Vec<Read>,
    ) -> Result<(), ScanError> {
        for index in self.hypotheses.step(point.hypothesis, byte)? {
            let outcome = self.hypotheses.outcome(index);
            if !self.hypotheses.is_for(&outcome, is_nested) {
                continue;
            }
            let Outcome { terminal, next, .. } = outcome;
            let mut line = Blanks::None;
            if let Some(layout) = &self.tables.layout {
                let is_newline = match terminal {
                    Some(terminal) => terminal == layout.newline,
                    None => self.may_be_newline(next)?,
                };
                if is_newline {
                    line = point.line.after(byte, layout.tabs);
                }
            }
            reads.push(Read { terminal, next: Point { hypothesis: next, line } });
        }
        Ok(())
    }

    /// All that a byte of a class can do to a hypothesis: the terminal whose token ends, if one does, and the
    /// hypothesis after it; added to `outcomes`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn read_class(
        &mut self,
        hypothesis: HypothesisId,
        class: usize,
        outcomes: &mut Vec<(Option<TerminalId>, HypothesisId)>,
    ) -> Result<(), ScanError> {
        for index in self.hypotheses.step_class(hypothesis, class)? {
            let Outcome { terminal, next, .. } = self.hypotheses.outcome(index);
            outcomes.push((terminal, next));
        }
        Ok(())
    }

    /// The bytes that a hypothesis can read.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn readable_bytes(&mut self, hypothesis: HypothesisId) -> Result<ByteSet, ScanError> {
        let mut bytes = ByteSet::EMPTY;
        for byte in 0..=255 {
            if !self.hypotheses.step(hypothesis, byte)?.is_empty() {
                bytes.insert(byte);
            }
        }
        Ok(bytes)
    }
}
