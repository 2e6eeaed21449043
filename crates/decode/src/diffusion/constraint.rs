//! What holds a canvas to a language while it is filled.

use maskwright_infill::{Canvas, Error};
use maskwright_vocabulary::TokenId;

use crate::constraint::ConstraintError;

/// A canvas that must become a text of a language. Positions are counted from the first one after the prompt.
///
/// Masks are packed as [`Constraint`](crate::Constraint)'s: the caller chooses the length of the slice, bits for ids
/// that the constraint's vocabulary does not have are cleared.
///
/// # Contract
/// * `fill_mask(i)` sets the bit of `id` iff `set(i, id)` would return true now.
/// * While the canvas is possible, no mask of a masked position is empty.
/// * A call that refuses (false) or fails leaves the state as it was.
pub trait CanvasConstraint {
    /// Whether the masked positions can be filled at all.
    ///
    /// # Errors
    /// If it cannot be decided within limits.
    fn is_possible(&mut self) -> Result<bool, ConstraintError>;

    /// Writes the tokens that a masked position can take so that the rest can still be filled.
    ///
    /// # Errors
    /// If there is no such position, the mask is shorter than the vocabulary, or it cannot be decided within limits.
    fn fill_mask(&mut self, position: usize, mask: &mut [u32]) -> Result<(), ConstraintError>;

    /// Puts a token at a position; false if the rest can then not be filled.
    ///
    /// # Errors
    /// If there is no such position, or it cannot be decided within limits.
    fn set(&mut self, position: usize, id: u32) -> Result<bool, ConstraintError>;

    /// Masks a position again.
    ///
    /// # Errors
    /// If there is no such position.
    fn unset(&mut self, position: usize) -> Result<(), ConstraintError>;
}

/// Exact infilling as a constraint: a finished canvas is in the language.
///
/// # Examples
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_decode::{CanvasConstraint, GrammarCanvas};
/// use maskwright_grammar::Grammar;
/// use maskwright_infill::{Canvas, CanvasConfig, Infiller};
/// use maskwright_vocabulary::Vocabulary;
/// let tokens = ["a", "ab", "b"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap().shared();
/// let grammar = Grammar::from_regex(Regex::literal("abab"));
/// let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited()).unwrap();
/// let mut canvas = GrammarCanvas::new(Canvas::new(&infiller, &[None; 2], CanvasConfig::default()).unwrap());
/// assert!(!canvas.set(1, 2).unwrap(), "ab ab is the one way");
/// assert!(canvas.set(1, 1).unwrap());
/// ```
#[derive(Debug)]
pub struct GrammarCanvas(Canvas);

impl GrammarCanvas {
    /// Wraps a canvas; its known positions stay.
    #[must_use]
    pub fn new(canvas: Canvas) -> Self {
        GrammarCanvas(canvas)
    }

    /// The canvas as it is now.
    #[must_use]
    pub fn into_inner(self) -> Canvas {
        self.0
    }
}

fn failed(error: Error) -> ConstraintError {
    ConstraintError::new(error)
}

impl CanvasConstraint for GrammarCanvas {
    fn is_possible(&mut self) -> Result<bool, ConstraintError> {
        self.0.is_possible().map_err(failed)
    }

    fn fill_mask(&mut self, position: usize, mask: &mut [u32]) -> Result<(), ConstraintError> {
        mask.fill(0);
        self.0.fill_bitmask(position, mask).map_err(failed)
    }

    fn set(&mut self, position: usize, id: u32) -> Result<bool, ConstraintError> {
        self.0.set(position, TokenId(id)).map_err(failed)
    }

    fn unset(&mut self, position: usize) -> Result<(), ConstraintError> {
        self.0.unset(position).map_err(failed)
    }
}
