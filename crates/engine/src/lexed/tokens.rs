//! The lexer's side of a lexed grammar by itself: where a text stands among tokens, and what a byte does there,
//! whatever the parser has read. Budgets put it together with the rules in their own way.

use maskwright_automata::ByteSet;
use maskwright_grammar::{Layout, TerminalId};

use super::Lexed;
use super::hypotheses::{HypothesisId, Outcome};
use super::readings::Blanks;
use crate::EngineError;
use crate::parser::{ConfigId, Parser};

/// Where the lexer stands after some bytes: a hypothesis, and the blanks since the last newline character of the
/// token in progress, if that may become a token that ends a line. Widths count from before the bytes, so points of lines that
/// differ in their widths alone are one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Point {
    pub(crate) hypothesis: HypothesisId,
    pub(crate) line: Blanks,
}

impl Point {
    /// The point before any bytes, in the same hypothesis.
    pub(crate) fn begun(self) -> Point {
        let line = if self.line == Blanks::None { Blanks::None } else { Blanks::More(0) };
        Point { line, ..self }
    }

    /// The same point, seen from further back: `before` is what the bytes from there to here made.
    pub(crate) fn behind(self, before: Blanks) -> Point {
        Point { line: self.line.behind(before), ..self }
    }
}

/// What one byte does to a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    /// The terminal whose token ends with the byte, if one does.
    pub(crate) terminal: Option<TerminalId>,
    /// The hypothesis after it. Its line is that of the token in progress, or of the token that has ended.
    pub(crate) next: Point,
}

/// One reading of a text: the lexer's point, the parser's configuration, the blocks around.
pub(crate) struct Reading {
    /// Before any bytes; `line` is the width there.
    pub(crate) point: Point,
    pub(crate) line: Option<u32>,
    pub(crate) parser: ConfigId,
    pub(crate) widths: Box<[u32]>,
    pub(crate) depth: u32,
    /// Whether the parser can end here, all blocks closed.
    pub(crate) can_end: bool,
}

impl Lexed {
    /// The readings of a configuration.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn readings(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Vec<Reading>, EngineError> {
        let threads = self.configs.threads(config).to_vec();
        let mut readings = Vec::with_capacity(threads.len());
        for thread in threads {
            let can_end = self.can_end(parser, thread.parser, thread.layout)?;
            let layout = self.layouts.get(thread.layout);
            readings.push(Reading {
                point: Point {
                    hypothesis: thread.hypothesis,
                    line: if layout.line.is_some() { Blanks::More(0) } else { Blanks::None },
                },
                line: layout.line,
                parser: thread.parser,
                widths: self.layouts.widths(layout.blocks),
                depth: layout.depth,
                can_end,
            });
        }
        Ok(readings)
    }

    /// What makes indentation, if something does.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.tables.layout.as_ref()
    }

    /// Whether the parser gets no token of `terminal`, inside of brackets or outside.
    pub(crate) fn is_ignored(&self, terminal: TerminalId, is_nested: bool) -> bool {
        self.tables.ignored.contains(&terminal)
            || (is_nested && self.layout().is_some_and(|layout| layout.newline == terminal))
    }

    /// Whether the text may end here as far as the lexer goes.
    pub(crate) fn ends_here(&self, hypothesis: HypothesisId) -> bool {
        self.hypotheses.ends_here(hypothesis)
    }

    /// All that `byte` can do at `point`, inside of brackets or outside, added to `reads`. Under the contextual
    /// discipline tokens ahead are read strictly, so there may be more.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(crate) fn read(
        &mut self,
        point: Point,
        byte: u8,
        is_nested: bool,
        reads: &mut Vec<Read>,
    ) -> Result<(), EngineError> {
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
                    None => {
                        let state = self.hypotheses.get(next).state;
                        self.tables.lexer.reachable(state)?.contains(layout.newline.index() as u32)
                    }
                };
                if is_newline {
                    line = point.line.after(byte, layout.tabs);
                }
            }
            reads.push(Read { terminal, next: Point { hypothesis: next, line } });
        }
        Ok(())
    }

    /// The hypothesis before any text.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(crate) fn first_hypothesis(&mut self) -> Result<HypothesisId, EngineError> {
        self.hypotheses.start()
    }

    /// How many terminals there are, declared ones included.
    pub(crate) fn n_terminals(&self) -> usize {
        self.tables.n_terminals
    }

    /// By byte, the number of its class: bytes of one class are alike to the lexer.
    pub(crate) fn byte_classes(&self) -> &[u8; 256] {
        self.tables.lexer.byte_classes()
    }

    /// How many classes of bytes there are.
    pub(crate) fn n_classes(&self) -> usize {
        self.hypotheses.n_classes()
    }

    /// All that a byte of a class can do to a hypothesis: the terminal whose token ends, if one does, and the
    /// hypothesis after it; added to `outcomes`.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(crate) fn read_class(
        &mut self,
        hypothesis: HypothesisId,
        class: usize,
        outcomes: &mut Vec<(Option<TerminalId>, HypothesisId)>,
    ) -> Result<(), EngineError> {
        for index in self.hypotheses.step_class(hypothesis, class)? {
            let Outcome { terminal, next, .. } = self.hypotheses.outcome(index);
            outcomes.push((terminal, next));
        }
        Ok(())
    }

    /// The bytes that a hypothesis can read.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(crate) fn readable_bytes(&mut self, hypothesis: HypothesisId) -> Result<ByteSet, EngineError> {
        let mut bytes = ByteSet::EMPTY;
        for byte in 0..=255 {
            if !self.hypotheses.step(hypothesis, byte)?.is_empty() {
                bytes.insert(byte);
            }
        }
        Ok(bytes)
    }
}
