//! Lattices with more texts and smaller graphs: if such a lattice has no text, the original has none.
//!
//! [`wide`] puts any text in the place of masked positions, so it forgets how many tokens there are, and how
//! wide lines are in any text. [`rough`] forgets only the widths. [`around`] keeps only the text near a
//! position. Known text is read as it is.

use crate::lattice::{Lattice, Piece, Step};

/// For how many lattices around a position it is kept what they let stand there.
pub(crate) const MAX_AROUNDS: usize = 256;

/// How many known pieces on each side of a position are looked at first.
const N_AROUND: usize = 16;

/// How many besides masked ones.
const N_AROUND_MASKED: usize = 2;

/// The lattice with any text instead of each run of two masked positions or more. Boundaries have the numbers
/// that they had, and within a run any text can lead to any of them.
pub(crate) fn wide(lattice: &Lattice) -> Lattice {
    let Lattice { steps, ends, .. } = lattice;
    let is_token = |index: usize| matches!(steps[index].0, Piece::Token);
    let mut wide = steps.clone();
    let mut run = 0;
    for (index, step) in wide.iter_mut().enumerate() {
        let is_single = run == 0 && (index + 1 == steps.len() || !is_token(index + 1));
        if !is_token(index) || is_single {
            run = 0;
            continue;
        }
        let behind = Some(index as u32 + 1);
        *step = (if run == 0 { Piece::Rough } else { Piece::Stop }, behind);
        run += 1;
    }
    Lattice { steps: wide, ends: ends.clone(), ..*lattice }
}

/// The lattice with lines of whatever widths in any text.
pub(crate) fn rough(lattice: &Lattice) -> Lattice {
    let roughen = |(piece, way_round): &Step| match piece {
        Piece::Free => (Piece::Rough, *way_round),
        piece => (piece.clone(), *way_round),
    };
    Lattice { steps: lattice.steps.iter().map(roughen).collect(), ..lattice.clone() }
}

/// The known text next to masked position `position`, with up to `n_masked` masked positions before and after
/// it, and any text around that.
pub(crate) fn around(lattice: &Lattice, position: usize, n_masked: [usize; 2]) -> Lattice {
    let Lattice { steps, ends, .. } = lattice;
    let count = |side: &mut dyn Iterator<Item = &Step>, n_masked: usize| {
        let mut n_left = n_masked;
        let n_around = if n_masked == 0 { N_AROUND } else { n_masked + N_AROUND_MASKED };
        let is_taken = |step: &&Step| match step {
            (Piece::Bytes(_), None) => true,
            (Piece::Token, None) if n_left > 0 => {
                n_left -= 1;
                true
            }
            _ => false,
        };
        side.take(n_around).take_while(is_taken).count()
    };
    let before = count(&mut steps[..position].iter().rev(), n_masked[0]);
    let behind = count(&mut steps[position + 1..].iter(), n_masked[1]);
    let (first, last) = (position - before, position + 1 + behind);
    let free = |at: usize| (Piece::Rough, Some(at as u32 + 1));
    let mut around = Vec::with_capacity(before + behind + 3);
    around.extend((first > 0).then(|| free(0)));
    let n_skipped = first - around.len();
    around.extend_from_slice(&steps[first..last]);
    let end = around.len();
    around.extend((last < steps.len()).then(|| free(end)));
    // A text that ends at the position or before says nothing about it.
    let end_around = |&end: &usize| if end > last { around.len() } else { end - n_skipped };
    let mut ends_around: Vec<usize> = ends.iter().filter(|&&end| end > position).map(end_around).collect();
    ends_around.dedup();
    Lattice { steps: around, ends: ends_around, focus: Some(position - n_skipped), keeps_text: false }
}
