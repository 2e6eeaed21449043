//! Gives real widths to lines whose width is free.
//!
//! Lines of any text may have any width. Those that are wider than all lines of the other pieces can be
//! ([`Graph::counted`](crate::lexed::graph::Graph)) are all [`WIDE`] in the graph: of two, either may be the
//! wider one, or they may be equal.
//!
//! Theorem. A path whose contexts fit has a text with real widths.
//!
//! Proof. Each wide line has some any text in which a blank can be repeated (free scans require that), since
//! the other pieces have no line that wide. So each can have any width that is great enough: blocks get
//! greater widths the deeper they are, and other lines get the width of the block that the path has them in.
//! ∎
//!
//! This module does that to a text that a path was made to.

use maskwright_grammar::{Tabs, TerminalId, blanks_after};
use maskwright_lexing::tokenize;
use maskwright_scan::{Indent, MAX_WIDTH, WIDE};
use maskwright_vocabulary::TokenId;

use crate::ground::InfillError;
use crate::lattice::{Filling, Piece, Step};
use crate::lexed::graph::{Crossing, Edge, Graph};
use crate::lexed::tables::LexedTables;

/// The least number of widths that are counted beside any text, and the greatest width that lines can have
/// there.
const MIN_COUNTED: u32 = 4;
const MAX_COUNTED: u32 = 4_096;

/// What the end of a line outside of brackets does.
#[derive(Debug, Default)]
pub(crate) struct LineEnd {
    is_wide: bool,
    begins_block: bool,
    n_ended: usize,
    /// The fillings with any text that the line's blanks are in.
    fillings: Vec<usize>,
}

/// The ends of lines along a path.
#[derive(Debug, Default)]
pub(crate) struct LineEnds {
    all: Vec<LineEnd>,
    /// The fillings of the line in progress.
    fillings: Vec<usize>,
}

impl LineEnds {
    /// Takes in the next edge, what it reads, if that is known, and the number of the filling that this is,
    /// if it is any text.
    pub(crate) fn pass(
        &mut self,
        edge: Edge,
        bytes: &[u8],
        filling: Option<usize>,
        graph: &Graph,
        tables: &LexedTables,
    ) {
        let Some(layout) = tables.hypotheses.tables().layout.as_ref() else { return };
        let indent = |node: u32| tables.hypotheses.indent(graph.nodes[node as usize].1);
        let Edge { from, to, label, crossing } = edge;
        if crossing != Crossing::Indent {
            if indent(to).width().is_none() || bytes.contains(&b'\n') {
                self.fillings.clear();
            }
            self.fillings.extend(filling);
            return;
        }
        if matches!(indent(from), Indent::Ended(_)) {
            let is_wide = graph.widths[from as usize] == WIDE;
            let fillings = std::mem::take(&mut self.fillings);
            self.all.push(LineEnd { is_wide, fillings, ..LineEnd::default() });
        }
        if let Some(line) = self.all.last_mut()
            && matches!(indent(from), Indent::Ended(_) | Indent::Fell(_))
        {
            line.begins_block |= label == Some(layout.indent);
            line.n_ended += usize::from(label == Some(layout.dedent));
        }
    }

    /// Puts blanks into the fillings so that wide lines have widths that fit each other.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn widen(
        self,
        steps: &[Step],
        fillings: &mut [Filling],
        tables: &LexedTables,
    ) -> Result<(), InfillError> {
        if !self.all.iter().any(|line| line.is_wide) {
            return Ok(());
        }
        let known = tables.widths_of_lines(&text_of(steps, fillings, tables))?;
        let widest = known.iter().copied().max().unwrap_or(0);
        let mut blocks = vec![0];
        for (line, known) in self.all.into_iter().zip(known) {
            blocks.truncate(blocks.len().saturating_sub(line.n_ended).max(1));
            let around = blocks.last().copied().unwrap_or(0);
            if line.begins_block {
                blocks.push(if line.is_wide { around.max(widest) + 1 } else { known });
            }
            let width = blocks.last().copied().unwrap_or(0);
            if line.is_wide {
                put_blanks(fillings, &line.fillings, width.saturating_sub(known) as usize);
            }
        }
        Ok(())
    }
}

/// Puts `n` blanks into one of the texts of `candidates`: after a blank if there is one, else after a newline
/// character.
fn put_blanks(fillings: &mut [Filling], candidates: &[usize], n: usize) {
    let place = |bytes: &[u8]| {
        let line = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let blank = bytes[line..].iter().rposition(|byte| matches!(byte, b' ' | b'\t'));
        (blank.is_some(), line > 0, blank.map_or(line, |at| line + at + 1))
    };
    let places = candidates.iter().filter_map(|&index| match &fillings[index] {
        Filling::Text { bytes, .. } => Some((place(bytes), index)),
        Filling::Token { .. } => None,
    });
    if let Some(((_, _, at), index)) = places.max()
        && let Filling::Text { bytes, .. } = &mut fillings[index]
    {
        bytes.splice(at..at, std::iter::repeat_n(b' ', n));
    }
}

/// The text of a lattice that is filled.
fn text_of(steps: &[Step], fillings: &[Filling], tables: &LexedTables) -> Vec<u8> {
    let mut fillings = fillings.iter().peekable();
    let mut text = Vec::new();
    for (index, (piece, _)) in steps.iter().enumerate() {
        if let Piece::Bytes(bytes) = piece {
            text.extend_from_slice(bytes);
        }
        while let Some(filling) = fillings.next_if(|filling| match filling {
            Filling::Token { position, .. } | Filling::Text { position, .. } => *position == index,
        }) {
            match filling {
                Filling::Token { token, .. } => {
                    text.extend_from_slice(tables.vocabulary.text(*token).unwrap_or_default());
                }
                Filling::Text { bytes, .. } => text.extend_from_slice(bytes),
            }
        }
    }
    text
}

impl LexedTables {
    /// A number that is at least as great as lines without any text of a free piece are wide; [`MAX_WIDTH`]
    /// if there is no such piece.
    ///
    /// # Errors
    /// If that is more than can be counted.
    pub(crate) fn counted(&mut self, steps: &[Step]) -> Result<u32, InfillError> {
        let Some(tabs) = self.hypotheses.tables().layout.as_ref().map(|layout| layout.tabs) else {
            return Ok(MAX_WIDTH);
        };
        if !steps.iter().any(|(piece, _)| matches!(piece, Piece::Free)) {
            return Ok(MAX_WIDTH);
        }
        let width = |byte| match (byte, tabs) {
            // None is counted.
            (b'\t', Tabs::Apart) => 0,
            _ => blanks_after(Some(0), byte, tabs).unwrap_or(0),
        };
        let vocabulary = &self.vocabulary;
        let of_token = *self.memo.most_blanks.get_or_insert_with(|| {
            let tokens = (0..vocabulary.n_vocab() as u32).filter_map(|id| vocabulary.text(TokenId(id)));
            let most = tokens.map(|bytes| bytes.iter().map(|&byte| width(byte)).fold(0, u32::saturating_add));
            most.max().unwrap_or(0)
        });
        let (mut line, mut widest) = (0u32, 0);
        for (piece, _) in steps {
            match piece {
                Piece::Bytes(bytes) => {
                    for &byte in &**bytes {
                        // Blanks count in comments too, if those are part of a line's end.
                        line = if byte == b'\n' { 0 } else { line.saturating_add(width(byte)) };
                        widest = line.max(widest);
                    }
                }
                Piece::Token => line = line.saturating_add(of_token),
                Piece::Free | Piece::Rough | Piece::Stop => {}
            }
            widest = line.max(widest);
        }
        if widest > MAX_COUNTED {
            return Err(InfillError::argument(format!(
                "beside any text, lines of {MAX_COUNTED} columns are counted at most, and here one may have {widest}"
            )));
        }
        // What is known of any text is known for one number, so few of them are best.
        Ok(widest.max(MIN_COUNTED).next_power_of_two())
    }

    /// The widths of the ends of lines outside of brackets, in a text of the language.
    fn widths_of_lines(&self, text: &[u8]) -> Result<Vec<u32>, InfillError> {
        let Some(layout) = self.hypotheses.tables().layout.as_ref() else { return Ok(Vec::new()) };
        let (tokens, _) = tokenize(&self.hypotheses.tables().lexer, text)?;
        let (mut widths, mut depth) = (Vec::new(), 0);
        for token in tokens {
            let terminal = TerminalId::from_index(token.terminal as usize);
            if self.is_ignored(terminal) {
                continue;
            }
            if layout.open.contains(&terminal) {
                depth += 1;
            } else if layout.close.contains(&terminal) {
                depth -= 1;
            }
            if terminal == layout.newline && depth == 0 {
                let count = |blanks, &byte: &u8| blanks_after(blanks, byte, layout.tabs);
                widths.extend(text[token.range].iter().fold(None, count));
            }
        }
        Ok(widths)
    }
}
