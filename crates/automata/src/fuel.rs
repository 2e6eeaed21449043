//! Work limits and cancellation, counted alike on every machine.
//!
//! Untrusted input (a pattern, a schema, a grammar) can ask for unbounded work. Everything that may loop on
//! it spends [`Fuel`]: a count of work units (roughly: one visited node or one made state each), never
//! seconds, so that an input refused on one machine is refused on all. What is kept until the work ends is
//! counted in bytes, where it is made. A [`CancelToken`] rides along, so that another thread can end the
//! work.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::meter::{self, Meter};

/// Ends a compilation from another thread.
///
/// # Example: cancelling
///
/// ```
/// # mod maskwright { pub use maskwright_automata::{self as grammar, CancelToken}; }
/// use maskwright::CancelToken;
/// use maskwright::grammar::{Fuel, FuelError};
/// let token = CancelToken::new();
/// let fuel = Fuel::new(1_000).with_cancel(token.clone());
/// token.cancel();
/// assert_eq!(fuel.spend(1), Err(FuelError::Cancelled));
/// ```
///
/// # Example: on some condition
///
/// ```
/// # mod maskwright { pub use maskwright_automata::{self as grammar, CancelToken}; }
/// use std::time::{Duration, Instant};
/// use maskwright::CancelToken;
/// use maskwright::grammar::Fuel;
/// let begin = Instant::now();
/// let token = CancelToken::new().watching(move || begin.elapsed() > Duration::from_millis(5));
/// let fuel = Fuel::unlimited().with_cancel(token.clone());
/// while fuel.spend(1_000).is_ok() {}
/// assert!(token.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    /// Asked now and then by the work itself, whether it is to end.
    watch: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Units until it cancels itself.
    work_left: Option<Arc<AtomicU64>>,
}

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// A token that cancels itself once the work that carries it has spent about so many units, in one
    /// compilation or in several.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_automata::{self as grammar, CancelToken}; }
    /// use maskwright::CancelToken;
    /// use maskwright::grammar::{Fuel, FuelError};
    /// let fuel = Fuel::unlimited().with_cancel(CancelToken::after(100_000));
    /// assert_eq!(fuel.spend(90_000), Ok(()));
    /// assert_eq!(fuel.spend(90_000), Err(FuelError::Cancelled));
    /// ```
    pub fn after(work: u64) -> CancelToken {
        CancelToken { work_left: Some(Arc::new(AtomicU64::new(work))), ..CancelToken::default() }
    }

    /// The same token, which is also cancelled once `watch` says so. The work that carries it asks on its own
    /// thread, every [`WATCH_INTERVAL`] units.
    #[must_use]
    pub fn watching(&self, watch: impl Fn() -> bool + Send + Sync + 'static) -> CancelToken {
        CancelToken { watch: Some(Arc::new(watch)), ..self.clone() }
    }

    /// Ends every work that carries this token, soon.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether it is cancelled: [`cancel`](CancelToken::cancel) was called, or the work is spent.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Takes what was spent.
    fn take(&self, spent: u64) {
        if let Some(work_left) = &self.work_left {
            let left = work_left.load(Ordering::Relaxed).saturating_sub(spent);
            work_left.store(left, Ordering::Relaxed);
            if left == 0 {
                self.cancel();
            }
        }
    }

    /// Asks who watches, and remembers a yes.
    #[cold]
    fn look(&self) {
        if self.watch.as_ref().is_some_and(|watch| watch()) {
            self.cancel();
        }
    }
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CancelToken").field("is_cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// How many units are spent between two looks of a [`CancelToken::watching`]: some milliseconds of work.
pub const WATCH_INTERVAL: u64 = 1 << 14;

/// How many units of a [meter] are one here.
const METERED: u64 = 4;

/// Why work stopped before its end.
///
/// # Example: no work left
///
/// ```
/// # mod maskwright { pub use maskwright_automata as grammar; }
/// use maskwright::grammar::{Fuel, FuelError};
/// let fuel = Fuel::new(10);
/// assert_eq!(fuel.spend(10), Ok(()));
/// let error = fuel.spend(1).unwrap_err();
/// assert_eq!(error, FuelError::Exhausted { limit: 10 });
/// assert!(error.is_limit(), "with more work it may succeed");
/// ```
///
/// # Example: cancelled
///
/// ```
/// # mod maskwright { pub use maskwright_automata::{self as grammar, CancelToken}; }
/// use maskwright::CancelToken;
/// use maskwright::grammar::{Fuel, FuelError};
/// let token = CancelToken::new();
/// token.cancel();
/// let error = Fuel::unlimited().with_cancel(token).spend(1).unwrap_err();
/// assert!(error == FuelError::Cancelled && !error.is_limit());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FuelError {
    /// The limit on work was reached.
    #[error("compiling it takes more work than the limit of {limit} units allows")]
    Exhausted {
        /// The limit, in work units.
        limit: u64,
    },
    /// The limit on memory was reached.
    #[error("compiling it takes more memory than the limit of {limit} bytes allows")]
    Memory {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The caller's [`CancelToken`] was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl FuelError {
    /// Whether a limit was reached: the same work may succeed with higher ones.
    pub fn is_limit(self) -> bool {
        self != FuelError::Cancelled
    }
}

/// A supply of work units, and of bytes.
///
/// # Example: a limit on work
///
/// ```
/// # mod maskwright { pub use maskwright_automata as grammar; }
/// use maskwright::grammar::Fuel;
/// let fuel = Fuel::new(100);
/// assert!(fuel.spend(60).is_ok() && fuel.spend(60).is_err());
/// ```
///
/// # Example: and on memory
///
/// ```
/// # mod maskwright { pub use maskwright_automata as grammar; }
/// use maskwright::grammar::{Fuel, FuelError};
/// let fuel = Fuel::new(1_000).with_bytes(1 << 20);
/// fuel.hold(2 << 20);
/// assert_eq!(fuel.spend(1), Err(FuelError::Memory { limit: 1 << 20 }));
/// ```
#[derive(Debug)]
pub struct Fuel {
    limit: u64,
    left: Cell<u64>,
    max_bytes: u64,
    /// `None` once more were taken than there are; then no units are left either.
    bytes_left: Cell<Option<u64>>,
    cancel: Option<CancelToken>,
    /// Units since the last look.
    unwatched: Cell<u64>,
}

impl Fuel {
    /// A supply of `limit` work units, and of any number of bytes.
    pub fn new(limit: u64) -> Fuel {
        Fuel {
            limit,
            left: Cell::new(limit),
            max_bytes: u64::MAX,
            bytes_left: Cell::new(Some(u64::MAX)),
            cancel: None,
            unwatched: Cell::new(0),
        }
    }

    /// The same supply, with so many bytes.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_automata as grammar; }
    /// use maskwright::grammar::{Fuel, FuelError};
    /// let fuel = Fuel::new(1_000).with_bytes(100);
    /// fuel.hold(60);
    /// assert_eq!(fuel.spend(1), Ok(()));
    /// fuel.hold(60);
    /// assert_eq!(fuel.spend(1), Err(FuelError::Memory { limit: 100 }));
    /// ```
    #[must_use]
    pub fn with_bytes(mut self, max_bytes: u64) -> Fuel {
        self.max_bytes = max_bytes;
        self.bytes_left = Cell::new(Some(max_bytes));
        self
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

    /// A new supply with 1/`n` of this one's limits and the same cancel token.
    #[must_use]
    pub fn renewed(&self, n: u64) -> Fuel {
        let n = n.max(1);
        let mut fuel = Fuel::new(self.limit / n).with_bytes(self.max_bytes / n);
        fuel.cancel.clone_from(&self.cancel);
        fuel
    }

    /// The limit that ended the supply, if one did.
    pub fn ended_by(&self) -> Option<FuelError> {
        (self.left.get() == 0).then(|| self.exhausted())
    }

    fn exhausted(&self) -> FuelError {
        match self.bytes_left.get() {
            Some(_) => FuelError::Exhausted { limit: self.limit },
            None => FuelError::Memory { limit: self.max_bytes },
        }
    }

    /// Takes bytes that something keeps until the work ends. If fewer are left, the next unit cannot be
    /// spent.
    #[inline]
    pub fn hold(&self, n_bytes: usize) {
        let left = self.bytes_left.get().and_then(|left| left.checked_sub(n_bytes as u64));
        self.bytes_left.set(left);
        if left.is_none() {
            self.left.set(0);
        }
    }

    /// Takes `units` from the supply. The watch of a [`CancelToken::watching`] may be called, so no lock may
    /// be held that it could need; so may that of a [watched](crate::meter::watched) call, which needs none.
    ///
    /// # Errors
    /// [`FuelError::Exhausted`] if fewer are left (then none are left), [`FuelError::Memory`] if too many
    /// bytes were taken, [`FuelError::Cancelled`] if the token was cancelled.
    #[inline]
    pub fn spend(&self, units: u64) -> Result<(), FuelError> {
        self.spend_unwatched(units)?;
        self.look()
    }

    /// Takes `units` from the supply and calls nothing: for work under a lock, which lets
    /// [`look`](Fuel::look) be called once the lock is free.
    ///
    /// # Errors
    /// As [`spend`](Fuel::spend).
    #[inline]
    pub fn spend_unwatched(&self, units: u64) -> Result<(), FuelError> {
        self.unwatched.set(self.unwatched.get().saturating_add(units));
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
                Err(self.exhausted())
            }
        }
    }

    /// Runs a call that [spends from a meter](meter::spend), which has as much as is left here, and takes
    /// what it spent.
    ///
    /// # Errors
    /// That of the call; as [`spend`](Fuel::spend), if the call spent all.
    pub fn metered<T, E: From<FuelError>>(&self, call: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let work_left = self.cancel.as_ref().and_then(|token| token.work_left.as_ref());
        let work_left = work_left.map_or(u64::MAX, |left| left.load(Ordering::Relaxed));
        let limit = self.left().min(work_left.max(WATCH_INTERVAL)).saturating_mul(METERED);
        Meter { limit }.run(|| {
            let before = meter::left();
            let made = call();
            // One more, so that a call that ran out of work has more than all.
            self.spend((before - meter::left()) / METERED + 1)?;
            made
        })
    }

    /// Calls the watch of a [`CancelToken::watching`], and that of a [watched](crate::meter::watched) call,
    /// if so much was spent since the last time that it is due.
    ///
    /// # Errors
    /// [`FuelError::Cancelled`] if the token was cancelled, or the call is to stop.
    #[inline]
    pub fn look(&self) -> Result<(), FuelError> {
        if self.is_look_due() { self.look_now() } else { Ok(()) }
    }

    /// Whether [`look`](Fuel::look) would call the watch.
    #[inline]
    pub(crate) fn is_look_due(&self) -> bool {
        self.unwatched.get() >= WATCH_INTERVAL
    }

    /// Calls the watch, however little was spent: for a caller that has waited.
    ///
    /// # Errors
    /// [`FuelError::Cancelled`] if the token was cancelled.
    #[cold]
    pub fn look_now(&self) -> Result<(), FuelError> {
        self.take_spent();
        self.cancel.iter().for_each(CancelToken::look);
        let is_cancelled = self.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
        if is_cancelled || meter::is_to_stop() { Err(FuelError::Cancelled) } else { Ok(()) }
    }

    /// Tells the token what was spent since it was last told.
    fn take_spent(&self) {
        let spent = self.unwatched.replace(0);
        self.cancel.iter().for_each(|token| token.take(spent));
    }

    /// Work units left.
    pub fn left(&self) -> u64 {
        self.left.get()
    }
}

impl Drop for Fuel {
    fn drop(&mut self) {
        self.take_spent();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_looks_at_whoever_watches() {
        let looks = Arc::new(AtomicBool::new(false));
        let asked = looks.clone();
        let token = CancelToken::new();
        let fuel = Fuel::unlimited().with_cancel(token.watching(move || asked.load(Ordering::Relaxed)));
        assert_eq!(fuel.spend(3 * WATCH_INTERVAL), Ok(()));
        looks.store(true, Ordering::Relaxed);
        assert_eq!(fuel.spend(WATCH_INTERVAL - 1), Ok(()), "not due yet");
        assert_eq!(fuel.spend(1), Err(FuelError::Cancelled));
        looks.store(false, Ordering::Relaxed);
        assert_eq!(fuel.spend(1), Err(FuelError::Cancelled), "a yes is remembered");
        assert!(token.is_cancelled(), "they are one token");
    }
}
