//! A constraint with required bytes in front of it: what a healed prompt owes before its grammar begins.

use maskwright_vocabulary::{TokenId, mask_insert};

use crate::{
    constraint::{Constraint, ConstraintError},
    healing::TokenText,
};

/// The language of `inner` with `prefix` put in front of every text.
///
/// Exact: while the prefix is owed, a token is allowed iff it is a prefix of what is owed, or what is owed is
/// a prefix of it and the inner constraint accepts the rest of its bytes. Tokens without text are not allowed
/// there. Afterwards every call goes to the inner constraint.
///
/// While the prefix is owed a mask costs O(vocabulary) and a question to the inner constraint for each token
/// that reaches past it; that is a handful of masks in a generation, so no index is kept.
///
/// # Examples
/// ```
/// use maskwright_decode::{Constraint, PrefixConstraint, Unconstrained};
/// use maskwright_vocabulary::TokenId;
/// let tokens: Vec<_> = ["h", "http", "https://", "x", ""].map(|t| Some(t.as_bytes().to_vec())).into();
/// let anything = Unconstrained::new(vec![TokenId(4)]);
/// let mut constraint = PrefixConstraint::new(anything, b"http".to_vec(), &tokens);
/// let mut mask = [0; 1];
/// assert!(constraint.fill_mask(&mut mask).unwrap());
/// assert_eq!(mask, [0b00111]);
/// assert!(constraint.accept_token(TokenId(2)).unwrap() && constraint.is_accepting());
/// ```
#[derive(Clone, Debug)]
pub struct PrefixConstraint<C, T> {
    inner: C,
    tokens: T,
    prefix: Vec<u8>,
    /// How many bytes of the prefix have been read.
    n_read: usize,
    /// The steps that read some of the prefix, and what to undo for each.
    steps: Vec<PrefixStep>,
    /// Steps taken since, all by the inner constraint.
    n_inner_steps: usize,
}

#[derive(Clone, Copy, Debug)]
struct PrefixStep {
    n_read_before: usize,
    /// Whether bytes past the prefix went to the inner constraint, as one step of its own.
    reached_inner: bool,
}

impl<C: Constraint, T: TokenText> PrefixConstraint<C, T> {
    /// `inner` is at its start; `tokens` gives the bytes of its vocabulary.
    #[must_use]
    pub fn new(inner: C, prefix: Vec<u8>, tokens: T) -> Self {
        PrefixConstraint { inner, tokens, prefix, n_read: 0, steps: Vec::new(), n_inner_steps: 0 }
    }

    /// The bytes still owed.
    #[must_use]
    pub fn owed(&self) -> &[u8] {
        &self.prefix[self.n_read..]
    }

    /// The constraint behind the prefix.
    #[must_use]
    pub fn inner(&self) -> &C {
        &self.inner
    }

    fn is_pending(&self) -> bool {
        self.n_read < self.prefix.len()
    }

    /// What is left of `bytes` after the owed prefix: empty if they end in it, `None` if they differ.
    fn past_prefix<'b>(owed: &[u8], bytes: &'b [u8]) -> Option<&'b [u8]> {
        if bytes.is_empty() {
            None
        } else if let Some(rest) = bytes.strip_prefix(owed) {
            Some(rest)
        } else {
            owed.starts_with(bytes).then_some(&[])
        }
    }

    /// Reads bytes that begin in the prefix.
    fn read(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        let Some(rest) = Self::past_prefix(&self.prefix[self.n_read..], bytes) else { return Ok(false) };
        let reached_inner = !rest.is_empty();
        if reached_inner && !self.inner.accept_bytes(rest)? {
            return Ok(false);
        }
        self.steps.push(PrefixStep { n_read_before: self.n_read, reached_inner });
        self.n_read += bytes.len() - rest.len();
        Ok(true)
    }
}

impl<C: Constraint, T: TokenText> Constraint for PrefixConstraint<C, T> {
    fn fill_mask(&mut self, mask: &mut [u32]) -> Result<bool, ConstraintError> {
        if !self.is_pending() {
            return self.inner.fill_mask(mask);
        }
        if mask.len() < self.tokens.n_tokens().div_ceil(32) {
            let (given, wanted) = (mask.len(), self.tokens.n_tokens().div_ceil(32));
            return Err(ConstraintError::new(format!("the mask has {given} words, {wanted} are needed")));
        }
        mask.fill(0);
        let owed = &self.prefix[self.n_read..];
        for id in (0..u32::try_from(self.tokens.n_tokens()).unwrap_or(u32::MAX)).map(TokenId) {
            let Some(rest) = self.tokens.text(id).and_then(|bytes| Self::past_prefix(owed, bytes)) else {
                continue;
            };
            if rest.is_empty() || self.inner.accepts_bytes(rest)? {
                mask_insert(mask, id);
            }
        }
        Ok(true)
    }

    fn accept_token(&mut self, id: TokenId) -> Result<bool, ConstraintError> {
        if !self.is_pending() {
            let accepted = self.inner.accept_token(id)?;
            self.n_inner_steps += usize::from(accepted);
            return Ok(accepted);
        }
        let Some(bytes) = self.tokens.text(id).map(<[u8]>::to_vec) else { return Ok(false) };
        self.read(&bytes)
    }

    fn rollback(&mut self, n_steps: usize) -> Result<(), ConstraintError> {
        let n_taken = self.n_inner_steps + self.steps.len();
        if n_steps > n_taken {
            return Err(ConstraintError::new(format!("{n_steps} steps to undo, {n_taken} were taken")));
        }
        let n_inner = n_steps.min(self.n_inner_steps);
        let undone = self.steps.len() - (n_steps - n_inner)..;
        let n_reached = self.steps[undone.clone()].iter().filter(|step| step.reached_inner).count();
        self.inner.rollback(n_inner + n_reached)?;
        self.n_inner_steps -= n_inner;
        if let Some(first) = self.steps.drain(undone).next() {
            self.n_read = first.n_read_before;
        }
        Ok(())
    }

    fn forced_tokens(&mut self) -> Result<Vec<TokenId>, ConstraintError> {
        // Healing asks the model for the segmentation of the prefix; so nothing is forced there.
        if self.is_pending() { Ok(Vec::new()) } else { self.inner.forced_tokens() }
    }

    fn accepts_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        if !self.is_pending() {
            return self.inner.accepts_bytes(bytes);
        }
        match Self::past_prefix(&self.prefix[self.n_read..], bytes) {
            None => Ok(bytes.is_empty()),
            Some([]) => Ok(true),
            Some(rest) => self.inner.accepts_bytes(rest),
        }
    }

    fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        if self.is_pending() && !bytes.is_empty() {
            return self.read(bytes);
        }
        let accepted = self.inner.accept_bytes(bytes)?;
        self.n_inner_steps += usize::from(accepted);
        Ok(accepted)
    }

    fn is_terminated(&self) -> bool {
        !self.is_pending() && self.inner.is_terminated()
    }

    fn is_accepting(&self) -> bool {
        !self.is_pending() && self.inner.is_accepting()
    }
}
