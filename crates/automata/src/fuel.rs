//! Work limits and cancellation, counted alike on every machine.
//!
//! Untrusted input (a pattern, a schema, a grammar) can ask for unbounded work. Everything that may loop on
//! it spends [`Fuel`]: a count of work units (roughly: one visited node or one made state each), never
//! seconds, so that an input refused on one machine is refused on all. A [`CancelToken`] rides along, so
//! that another thread can end the work.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a compilation from another thread.
///
/// ```
/// use maskwright_automata::{CancelToken, Fuel, FuelError};
/// let token = CancelToken::new();
/// let fuel = Fuel::new(1_000).with_cancel(token.clone());
/// token.cancel();
/// assert_eq!(fuel.spend(1), Err(FuelError::Cancelled));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Ends every work that carries this token, soon.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](CancelToken::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why work stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FuelError {
    /// The limit on work was reached.
    #[error("more work than the limit of {limit} units allows")]
    Exhausted {
        /// The limit, in work units.
        limit: u64,
    },
    /// The caller's [`CancelToken`] was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// A supply of work units.
#[derive(Debug)]
pub struct Fuel {
    limit: u64,
    left: Cell<u64>,
    cancel: Option<CancelToken>,
}

impl Fuel {
    /// A supply of `limit` work units.
    pub fn new(limit: u64) -> Fuel {
        Fuel { limit, left: Cell::new(limit), cancel: None }
    }

    /// A supply that never runs out; for input that the program itself made.
    pub fn unlimited() -> Fuel {
        Fuel::new(u64::MAX)
    }

    /// The same supply, which also ends when `token` is cancelled.
    #[must_use]
    pub fn with_cancel(mut self, token: CancelToken) -> Fuel {
        self.cancel = Some(token);
        self
    }

    /// Takes `units` from the supply.
    ///
    /// # Errors
    /// [`FuelError::Exhausted`] if fewer are left (then none are left), [`FuelError::Cancelled`] if the
    /// token was cancelled.
    #[inline]
    pub fn spend(&self, units: u64) -> Result<(), FuelError> {
        if self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(FuelError::Cancelled);
        }
        match self.left.get().checked_sub(units) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.left.set(0);
                Err(FuelError::Exhausted { limit: self.limit })
            }
        }
    }

    /// Work units left.
    pub fn left(&self) -> u64 {
        self.left.get()
    }
}
