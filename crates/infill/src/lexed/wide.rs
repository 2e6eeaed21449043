//! A lattice with more texts and a small graph: where it has none, the lattice has none.
//!
//! A run of masked positions becomes any text. That forgets how many tokens there are, and nothing else: known text is
//! read as it is.

use crate::lattice::{Piece, Step};

/// The lattice with any text instead of each run of two masked positions or more, but for position `kept`. Boundaries have
/// the numbers that they had, and within a run any text can lead to any of them.
pub(crate) fn wide(steps: &[Step], kept: Option<usize>) -> Vec<Step> {
    let is_token = |index: usize| matches!(steps[index].0, Piece::Token);
    let mut wide = steps.to_vec();
    let mut run = 0;
    for index in 0..steps.len() {
        if !is_token(index) || kept == Some(index) {
            run = 0;
            continue;
        }
        let is_single =
            run == 0 && kept != Some(index + 1) && (index + 1 == steps.len() || !is_token(index + 1));
        let follows_kept = run == 0 && index > 0 && kept == Some(index - 1);
        if is_single && !follows_kept {
            continue;
        }
        let behind = Some(index as u32 + 1);
        wide[index] = (if run == 0 { Piece::Free } else { Piece::Stop }, behind);
        run += 1;
    }
    wide
}
