//! The narrow graph: a part of a lattice's graph with few nodes between masked positions.
//!
//! Inside a run of masked positions the lexer can be in the middle of nearly anything. That makes the whole
//! graph large, and is hardly ever needed to fill the run. The *narrow* graph reads masked positions by walks
//! (`walks`): inside a run it has the clear boundary, and hypotheses that can continue without limit (a name,
//! a comment). Of a long run only the positions next to its ends give the parser anything.
//!
//! All its paths stand for paths of the whole graph, by the theorem of [`crate::lexed::tables::clear`]. So a
//! text that it has is a text of the lattice. A text that it lacks may still exist.

use maskwright_grammar::{Tabs, blanks_after};
use rustc_hash::FxHashMap;

use crate::lattice::{Piece, Step};

/// How many positions at each end of a long run give the parser something.
const N_OPEN: usize = 8;

/// How far from the position of the question tokens may end inside a character.
const N_CLOSE: usize = 3;

/// The most widths that a narrow graph takes from its text, and some that nearly all texts have.
const MAX_USUAL_WIDTHS: usize = 12;
const USUAL_WIDTHS: [u32; 3] = [0, 4, 8];

/// Which of its edges a masked position has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// All.
    Whole,
    /// Walks to where another masked position can continue; of any text, lines that are as wide as usual.
    Inner,
    /// The same, and into the middle of characters, and into tokens that a guard watches while they continue.
    Open,
    /// The same, each boundary apart.
    Near,
    /// Walks to anything, as known text may need it.
    Last,
    /// The same, but lines that end there are as wide as usual.
    LastOfLine,
    /// Nothing that the parser gets.
    Silent,
}

/// How the narrow graph reads each position; `None` if the lattice has other pieces than texts and tokens.
/// Position `focus` is read as a whole, from boundaries that are apart to any, or is known.
pub(crate) fn narrow(steps: &[Step], focus: Option<usize>) -> Option<Vec<Reading>> {
    let is_token = |step: &Step| matches!(step.0, Piece::Token);
    let mut readings: Vec<Reading> = Vec::with_capacity(steps.len());
    for run in steps.chunk_by(|left, right| is_token(left) && is_token(right)) {
        if run
            .iter()
            .any(|(piece, way_round)| way_round.is_some() || matches!(piece, Piece::Free | Piece::Rough))
        {
            return None;
        }
        let first = readings.len();
        // What follows may make a line wider, or leave it empty.
        let may_be_wider = match steps.get(first + run.len()) {
            Some((Piece::Bytes(bytes), _)) => {
                bytes.first().is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
            }
            _ => true,
        };
        readings.extend(run.iter().enumerate().map(|(index, step)| {
            let n_behind = run.len() - 1 - index;
            let is_open = |n_between: usize| n_between < N_OPEN;
            let is_near_focus = focus.is_some_and(|focus| is_open(focus.abs_diff(first + index)));
            match n_behind {
                _ if !is_token(step) || focus == Some(first + index) => Reading::Whole,
                0 if may_be_wider => Reading::Last,
                0 => Reading::LastOfLine,
                _ if focus == Some(first + index + 1) => Reading::Near,
                _ if focus.is_some_and(|focus| focus.abs_diff(first + index) <= N_CLOSE) => Reading::Open,
                _ if is_open(index) || is_open(n_behind) || is_near_focus => Reading::Inner,
                _ => Reading::Silent,
            }
        }));
    }
    Some(readings)
}

/// The readings of a lattice with any text under indentation, in which lines of that are as wide as usual;
/// `None` if there is no such text.
pub(crate) fn usual(steps: &[Step]) -> Option<Vec<Reading>> {
    let read = |(piece, _): &Step| if matches!(piece, Piece::Free) { Reading::Inner } else { Reading::Whole };
    let readings: Vec<Reading> = steps.iter().map(read).collect();
    readings.contains(&Reading::Inner).then_some(readings)
}

/// The widths of the lines whose beginnings are known, or known up to a masked position, and some more;
/// sorted.
pub(crate) fn usual_widths(steps: &[Step], tabs: Tabs) -> Vec<u32> {
    let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
    let mut width = None;
    for (piece, _) in steps {
        let Piece::Bytes(bytes) = piece else {
            if let Some(known) = width.filter(|_| matches!(piece, Piece::Token)) {
                // The token may begin with the line's first character, or with its last blank.
                counts.entry(known).or_default();
                counts.entry(known.saturating_add(1)).or_default();
            }
            // Any text may have begun a line that is blank up to its end.
            width = matches!(piece, Piece::Free).then_some(0);
            continue;
        };
        for &byte in &**bytes {
            match (byte, width) {
                (b'\n', _) => width = Some(0),
                (b' ' | b'\t', _) => width = blanks_after(width, byte, tabs),
                (_, Some(known)) => {
                    *counts.entry(known).or_default() += 1;
                    width = None;
                }
                (_, None) => {}
            }
        }
    }
    if let Some(known) = width {
        counts.entry(known).or_default();
    }
    let mut widths: Vec<(usize, u32)> = counts.into_iter().map(|(width, count)| (count, width)).collect();
    widths.sort_unstable_by(|left, right| right.cmp(left));
    let mut widths: Vec<u32> = widths.into_iter().map(|(_, width)| width).take(MAX_USUAL_WIDTHS).collect();
    widths.extend(USUAL_WIDTHS);
    widths.sort_unstable();
    widths.dedup();
    widths
}
