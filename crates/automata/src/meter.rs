//! The work of one call, metered.
//!
//! A mask, or a token to be accepted, may need a row, a search for a word, a closure of rules: work in many layers, each with
//! limits of its own. What the *call* may do in all of them together is metered here: [`Meter::run`] sets a limit for the present thread,
//! and code that makes something new calls [`spend`]. Looking up what is known costs nothing. Like [`Fuel`](crate::Fuel),
//! a meter counts units (about one visited node each, some 20 ns), never seconds.
//!
//! The limit belongs to the thread, as a runtime's budget for a task does. Code that gets no argument for it, such as an automaton's
//! step, needs it too. Without a meter, nothing is counted.
//!
//! An error of a meter says nothing about the question: the same call with more work may succeed. A caller that gets this error must not
//! keep an answer.
//!
//! ```
//! use maskwright_automata::meter::{Meter, OutOfWork, spend};
//! let meter = Meter { limit: 10 };
//! assert_eq!(meter.run(|| spend(4).and_then(|()| spend(7))), Err(OutOfWork));
//! assert_eq!(spend(7), Ok(()), "outside, nothing is counted");
//! ```

use std::cell::Cell;

thread_local! {
    /// Units left; `u64::MAX` where nothing is counted.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// What a call may do.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// Work units; [`u64::MAX`] for no limit.
    pub limit: u64,
}

/// The limit of a metered call was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call needs more work than its limit allows")]
pub struct OutOfWork;

impl Meter {
    /// Runs `call` metered. Inside of another metered call, what this one spends counts there too, and its limit is at most
    /// what is left there.
    pub fn run<T>(self, call: impl FnOnce() -> T) -> T {
        /// Goes back to the call outside, also after a panic.
        struct Scope {
            outside: u64,
            limit: u64,
        }
        impl Drop for Scope {
            fn drop(&mut self) {
                let spent = self.limit - LEFT.get();
                LEFT.set(if self.outside == u64::MAX { u64::MAX } else { self.outside - spent });
            }
        }
        let outside = LEFT.get();
        let limit = self.limit.min(outside);
        LEFT.set(limit);
        let _scope = Scope { outside, limit };
        call()
    }
}

/// Takes `units` from what the present call may do.
///
/// # Errors
/// If fewer are left; then none are left.
#[inline]
pub fn spend(units: u64) -> Result<(), OutOfWork> {
    let left = LEFT.get();
    if left == u64::MAX {
        return Ok(());
    }
    LEFT.set(left.saturating_sub(units));
    if units <= left { Ok(()) } else { Err(OutOfWork) }
}

/// The same for work that is done already, where an error cannot be returned: if it was too much, the next [`spend`] fails.
#[inline]
pub fn charge(units: u64) {
    // What was charged counts as spent either way.
    let _ = spend(units);
}

/// Units that the present call may still spend; [`u64::MAX`] if it is not metered.
pub fn left() -> u64 {
    LEFT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_calls_spend_what_outer_ones_have() {
        Meter { limit: 100_000 }.run(|| {
            assert_eq!(spend(10_000), Ok(()));
            Meter { limit: 50_000 }.run(|| {
                assert_eq!(spend(45_000), Ok(()));
                assert_eq!(spend(10_000), Err(OutOfWork));
                assert_eq!(spend(1), Err(OutOfWork), "nothing is left");
            });
            assert_eq!(left(), 40_000);
            Meter { limit: u64::MAX }.run(|| assert_eq!(spend(50_000), Err(OutOfWork)));
            assert_eq!(spend(1), Err(OutOfWork));
        });
        assert_eq!(left(), u64::MAX);
    }

    #[test]
    fn nothing_is_counted_without_a_limit() {
        for units in [7, u64::MAX - 1, u64::MAX] {
            assert_eq!(spend(units), Ok(()));
            assert_eq!(left(), u64::MAX);
        }
        Meter { limit: u64::MAX }.run(|| assert_eq!(spend(u64::MAX), Ok(())));
        assert_eq!(left(), u64::MAX);
    }

    #[test]
    fn a_panic_ends_the_metered_call() {
        let panicked = std::panic::catch_unwind(|| Meter { limit: 10 }.run(|| panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(left(), u64::MAX);
    }
}
