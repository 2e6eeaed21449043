//! What holds a canvas to a language while it is filled.

use maskwright_infill::{Canvas, Error, MaskStatus, Verdict};
use maskwright_vocabulary::TokenId;

use crate::constraint::ConstraintError;

/// A canvas that must become a text of a language. Positions are counted from the first one after the prompt.
///
/// Masks are packed as [`Constraint`](crate::Constraint)'s: the caller chooses the length of the slice, bits
/// for ids that the constraint's vocabulary does not have are cleared.
///
/// # Contract
/// * `allows` says yes of an id iff `set` would return true now.
/// * `fill_mask(i)` sets the bit of `id` only if `set(i, id)` would return true now.
/// * While the canvas is possible, `witness` has a token for every position, and a masked one can be set to
///   it.
/// * A call that refuses (false) or fails leaves the state as it was.
pub trait CanvasConstraint {
    /// Whether the masked positions can be filled at all.
    ///
    /// # Errors
    /// If it is not found out within limits.
    fn is_possible(&mut self) -> Result<bool, ConstraintError>;

    /// For each id, whether it can stand at a masked position so that the rest can be filled.
    ///
    /// # Errors
    /// If there is no such position, or the session of the grammar fails.
    fn allows(&mut self, position: usize, ids: &[TokenId]) -> Result<Vec<Verdict>, ConstraintError>;

    /// Writes tokens that a masked position can take so that the rest can still be filled, and says whether
    /// these are all. `exact` asks for more work to find them all.
    ///
    /// # Errors
    /// If there is no such position, or the mask is shorter than the vocabulary.
    fn fill_mask(
        &mut self,
        position: usize,
        mask: &mut [u32],
        exact: bool,
    ) -> Result<MaskStatus, ConstraintError>;

    /// Puts a token at a position; false if no text is found then that fills the rest.
    ///
    /// # Errors
    /// If there is no such position, or the session of the grammar fails.
    fn set(&mut self, position: usize, id: TokenId) -> Result<bool, ConstraintError>;

    /// Masks a position again.
    ///
    /// # Errors
    /// If there is no such position.
    fn unset(&mut self, position: usize) -> Result<(), ConstraintError>;

    /// The whole canvas filled in some way; `None` if it is impossible.
    ///
    /// # Errors
    /// If it is not found out within limits whether there is one.
    fn witness(&mut self) -> Result<Option<Vec<TokenId>>, ConstraintError>;
}

/// Exact infilling as a constraint: a finished canvas is in the language.
///
/// # Examples
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_decode::{CanvasConstraint, GrammarCanvas};
/// use maskwright_grammar::Grammar;
/// use maskwright_infill::{Canvas, CanvasConfig, Infiller};
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["a", "ab", "b"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap().shared();
/// let grammar = Grammar::from_regex(Regex::literal("abab"));
/// let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited()).unwrap();
/// let mut canvas = GrammarCanvas::new(Canvas::new(&infiller, &[None; 2], CanvasConfig::default()).unwrap());
/// assert!(!canvas.set(1, TokenId(2)).unwrap(), "ab ab is the one way");
/// assert!(canvas.set(1, TokenId(1)).unwrap());
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

    fn allows(&mut self, position: usize, ids: &[TokenId]) -> Result<Vec<Verdict>, ConstraintError> {
        self.0.allows(position, ids).map_err(failed)
    }

    fn fill_mask(
        &mut self,
        position: usize,
        mask: &mut [u32],
        exact: bool,
    ) -> Result<MaskStatus, ConstraintError> {
        self.0.fill_mask(position, mask, exact).map_err(failed)
    }

    fn witness(&mut self) -> Result<Option<Vec<TokenId>>, ConstraintError> {
        self.0.complete().map_err(failed)
    }

    fn set(&mut self, position: usize, id: TokenId) -> Result<bool, ConstraintError> {
        self.0.set(position, id).map_err(failed)
    }

    fn unset(&mut self, position: usize) -> Result<(), ConstraintError> {
        self.0.unset(position).map_err(failed)
    }
}
