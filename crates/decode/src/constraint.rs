//! What a sampler needs of the session that holds a text to a language, so that decoding does not depend on
//! how masks are made.

use std::{error::Error, fmt};

use maskwright_vocabulary::TokenId;

/// A text in the making that must stay inside a language.
///
/// Masks are packed 32 token ids to a word, least significant bit first: id `i` is bit `i % 32` of word
/// `i / 32`. The caller chooses the length of the slice (from the width of the model's logits); bits for ids
/// that the constraint's vocabulary does not have are cleared.
///
/// # Contract
/// * `fill_mask` sets the bit of `id` iff `accept_token(id)` would return true now.
/// * Each `accept_token` or `accept_bytes` that returns true is one *step*, and `rollback` counts steps.
/// * A call that refuses (false) or fails leaves the state as it was.
pub trait Constraint {
    /// Writes the tokens allowed now; returns false if every token is allowed (then all bits are set).
    ///
    /// # Errors
    /// If the mask cannot be decided within limits, or `mask` is shorter than the vocabulary.
    fn fill_mask(&mut self, mask: &mut [u32]) -> Result<bool, ConstraintError>;

    /// Appends a token; false if it is not allowed. An end-of-text id ends the text.
    ///
    /// # Errors
    /// If it cannot be decided within limits.
    fn accept_token(&mut self, id: TokenId) -> Result<bool, ConstraintError>;

    /// Undoes the last `n_steps` steps.
    ///
    /// # Errors
    /// If there were fewer, or they are no longer known.
    fn rollback(&mut self, n_steps: usize) -> Result<(), ConstraintError>;

    /// Tokens that must come next, in order; the state does not change. May be empty at any time: forcing
    /// is an optimisation. If it is not empty then accepting its tokens one by one succeeds.
    ///
    /// # Errors
    /// If it cannot be decided within limits.
    fn forced_tokens(&mut self) -> Result<Vec<TokenId>, ConstraintError>;

    /// Whether these bytes may come next: some completion of text + bytes is in the language. The state does
    /// not change.
    ///
    /// # Errors
    /// If it cannot be decided within limits.
    fn accepts_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError>;

    /// Appends bytes that need not end at a token's boundary, as one step; false if they are not allowed.
    ///
    /// # Errors
    /// If it cannot be decided within limits.
    fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError>;

    /// Whether the text has ended: nothing more can be accepted.
    fn is_terminated(&self) -> bool;

    /// Whether the text so far is in the language.
    fn is_accepting(&self) -> bool;
}

/// Why a constraint could not answer; wraps the engine's error.
///
/// # Examples
/// ```
/// use maskwright_decode::ConstraintError;
/// assert_eq!(ConstraintError::new("out of fuel").to_string(), "out of fuel");
/// ```
#[derive(Debug)]
pub struct ConstraintError(Box<dyn Error + Send + Sync>);

impl ConstraintError {
    /// Wraps an error, or a message.
    #[must_use]
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        ConstraintError(error.into())
    }

    /// What it wraps.
    #[must_use]
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl fmt::Display for ConstraintError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Error for ConstraintError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// The constraint that allows every text, ended by any of its end-of-text ids.
///
/// Its use is to stand under [`PrefixConstraint`](crate::PrefixConstraint) when a prompt is healed and no
/// grammar is given.
///
/// # Examples
/// ```
/// use maskwright_decode::{Constraint, Unconstrained};
/// use maskwright_vocabulary::TokenId;
/// let mut anything = Unconstrained::new(vec![TokenId(2)]);
/// let mut mask = [0; 2];
/// assert!(!anything.fill_mask(&mut mask).unwrap());
/// assert!(anything.accept_token(TokenId(5)).unwrap() && anything.accept_token(TokenId(2)).unwrap());
/// assert!(anything.is_terminated());
/// ```
#[derive(Clone, Debug)]
pub struct Unconstrained {
    eos_ids: Vec<TokenId>,
    n_steps: usize,
    terminated: bool,
}

impl Unconstrained {
    /// Any text over any vocabulary; one of `eos_ids` ends it.
    #[must_use]
    pub fn new(eos_ids: Vec<TokenId>) -> Self {
        Unconstrained { eos_ids, n_steps: 0, terminated: false }
    }
}

impl Constraint for Unconstrained {
    fn fill_mask(&mut self, mask: &mut [u32]) -> Result<bool, ConstraintError> {
        mask.fill(if self.terminated { 0 } else { u32::MAX });
        Ok(self.terminated)
    }

    fn accept_token(&mut self, id: TokenId) -> Result<bool, ConstraintError> {
        if self.terminated {
            return Ok(false);
        }
        self.terminated = self.eos_ids.contains(&id);
        self.n_steps += 1;
        Ok(true)
    }

    fn rollback(&mut self, n_steps: usize) -> Result<(), ConstraintError> {
        if n_steps > self.n_steps {
            let n_taken = self.n_steps;
            return Err(ConstraintError::new(format!("{n_steps} steps to undo, {n_taken} were taken")));
        }
        self.n_steps -= n_steps;
        self.terminated &= n_steps == 0;
        Ok(())
    }

    fn forced_tokens(&mut self) -> Result<Vec<TokenId>, ConstraintError> {
        Ok(Vec::new())
    }

    fn accepts_bytes(&mut self, _bytes: &[u8]) -> Result<bool, ConstraintError> {
        Ok(!self.terminated)
    }

    fn accept_bytes(&mut self, _bytes: &[u8]) -> Result<bool, ConstraintError> {
        self.n_steps += usize::from(!self.terminated);
        Ok(!self.terminated)
    }

    fn is_terminated(&self) -> bool {
        self.terminated
    }

    fn is_accepting(&self) -> bool {
        true
    }
}
