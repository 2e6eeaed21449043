//! What filling a canvas cost, and what is told of on the way.

use std::time::Duration;

use maskwright_vocabulary::TokenId;

/// A position that has just been filled or masked again.
///
/// # Examples
/// ```
/// use maskwright_decode::FillEvent;
/// use maskwright_vocabulary::TokenId;
/// let event = FillEvent { canvas: 0, position: 3, id: Some(TokenId(7)), confidence: 0.9 };
/// assert!(event.id.is_some());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FillEvent {
    /// The place of the canvas in the batch.
    pub canvas: usize,
    /// The position, counted behind the prompt.
    pub position: usize,
    /// The token; `None` if the position is masked again.
    pub id: Option<TokenId>,
    /// The probability that the model gave to the token among all tokens.
    pub confidence: f64,
}

/// Totals over one canvas.
///
/// # Examples
/// ```
/// assert_eq!(maskwright_decode::CanvasStatistics::default().n_steps, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanvasStatistics {
    /// Forward passes.
    pub n_steps: usize,
    /// Tokens put, those of revisions included.
    pub n_filled: usize,
    /// Tokens masked again by revisions.
    pub n_revised: usize,
    /// Questions about one token at one position.
    pub n_questions: usize,
    /// Questions whose answer was not found within limits; the token is not taken then.
    pub n_open: usize,
    /// The sum of the probabilities that the model gave to tokens that it drew and whose question was left
    /// open.
    pub open_probability: f64,
    /// Masks computed: where neither the token that the model drew nor its most likely ones were possible, or
    /// if all masks are wanted.
    pub n_masks: usize,
    /// Positions that got the token of a text that is known to fill the canvas, since the mask had none that
    /// the model could draw.
    pub n_given: usize,
    /// Tokens drawn by the model that were refused, or left open.
    pub n_refused: usize,
    /// This canvas's share of the forward passes.
    pub forward: Duration,
    /// Masks, checks, and tokens set: what the constraint cost.
    pub constraint: Duration,
    /// The slowest mask or question.
    pub slowest_mask: Duration,
    /// Picking tokens.
    pub sample: Duration,
}
