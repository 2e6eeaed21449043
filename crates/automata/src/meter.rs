//! The work of one call, metered.
//!
//! A mask, or a token to be accepted, may need a row, a search for a word, a closure of rules: work in many
//! layers, each with limits of its own. What the *call* may do in all of them together is metered here:
//! [`Meter::run`] sets a limit for the present thread, and code that makes something new calls [`spend`].
//! Looking up what is known costs nothing. Like [`Fuel`](crate::Fuel), a meter counts units (about one
//! visited node each, some 20 ns), never seconds.
//!
//! The limit belongs to the thread, as a runtime's budget for a task does. Code that gets no argument for it,
//! such as an automaton's step, needs it too. Without a meter, nothing is counted.
//!
//! An error of a meter says nothing about the question: the same call with more work may succeed. A caller
//! that gets this error must not keep an answer.
//!
//! ```
//! use maskwright_automata::meter::{Meter, OutOfWork, spend};
//! let meter = Meter { limit: 10 };
//! assert_eq!(meter.run(|| spend(4).and_then(|()| spend(7))), Err(OutOfWork));
//! assert_eq!(spend(7), Ok(()), "outside, nothing is counted");
//! ```
//!
//! **Ctrl-C.** [`watched`] runs a call that somebody may want to stop. Now and then, as work is spent, the
//! call asks whether it is to stop. From then on all work fails, whatever limits inner calls have, so that
//! the call ends soon. Whoever started it drops its answer.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Work between two looks whether a watched call is to stop: about 2 ms.
const LOOK_EVERY: u64 = 100_000;

thread_local! {
    /// Units left until the next look, or of all where nobody looks; `u64::MAX` where nothing is counted.
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Units left after the next look.
    static LATER: Cell<u64> = const { Cell::new(0) };
    /// Units from the last look to the next, and how many of them were left when `LEFT` was set.
    static UNTIL_LOOK: Cell<(u64, u64)> = const { Cell::new((LOOK_EVERY, 0)) };
    /// Says whether the watched call of this thread is to stop.
    static WATCH: RefCell<Option<Rc<dyn Fn() -> bool>>> = const { RefCell::new(None) };
    /// Whether it was said.
    static IS_STOPPED: Cell<bool> = const { Cell::new(false) };
}

/// What a call may do.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    /// Work units; [`u64::MAX`] for no limit.
    pub limit: u64,
}

/// The limit of a metered call was reached, or a watched call is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the call needs more work than its limit allows")]
pub struct OutOfWork;

impl Meter {
    /// Runs `call` metered. Inside of another metered call, what this one spends counts there too, and its
    /// limit is at most what is left there.
    pub fn run<T>(self, call: impl FnOnce() -> T) -> T {
        /// Goes back to the call outside, also after a panic.
        struct Scope {
            outside: u64,
            limit: u64,
        }
        impl Drop for Scope {
            fn drop(&mut self) {
                let spent = self.limit - left();
                set_left(if self.outside == u64::MAX { u64::MAX } else { self.outside - spent });
            }
        }
        let outside = left();
        let limit = self.limit.min(outside);
        set_left(limit);
        let _scope = Scope { outside, limit };
        call()
    }
}

/// Runs `call`, and says whether it was stopped. Now and then `watch` is asked whether the call is to stop;
/// then its work fails until it ends. A call within another watched call has no watch of its own.
///
/// ```
/// # mod maskwright { pub mod stop { pub use maskwright_automata::meter::watched; } }
/// use maskwright::stop::watched;
/// assert_eq!(watched(|| true, || 2 + 2), (4, false), "it has ended before any look");
/// ```
pub fn watched<T>(watch: impl Fn() -> bool + 'static, call: impl FnOnce() -> T) -> (T, bool) {
    /// Ends the watch, also after a panic.
    struct Watched;
    impl Drop for Watched {
        fn drop(&mut self) {
            WATCH.set(None);
            IS_STOPPED.set(false);
        }
    }
    if WATCH.with_borrow(Option::is_some) {
        let answer = call();
        return (answer, IS_STOPPED.get());
    }
    Meter { limit: UNLIMITED }.run(|| {
        WATCH.set(Some(Rc::new(watch)));
        UNTIL_LOOK.set((LOOK_EVERY, 0));
        // The watch ends before the meter reckons what was spent.
        let _watched = Watched;
        set_left(left());
        let answer = call();
        (answer, IS_STOPPED.get())
    })
}

/// Asks now whether the [watched] call of this thread is to stop: for one that waits.
pub fn look() -> bool {
    is_to_stop()
}

/// Runs `call`, within a watched or metered one, as if it were in neither: for foreign code, which has calls
/// of its own.
pub fn unwatched<T>(call: impl FnOnce() -> T) -> T {
    /// Goes back, also after a panic.
    struct Scope {
        watch: Option<Rc<dyn Fn() -> bool>>,
        is_stopped: bool,
        left: (u64, u64),
    }
    impl Drop for Scope {
        fn drop(&mut self) {
            WATCH.set(self.watch.take());
            IS_STOPPED.set(self.is_stopped);
            LEFT.set(self.left.0);
            LATER.set(self.left.1);
        }
    }
    let _scope = Scope {
        watch: WATCH.take(),
        is_stopped: IS_STOPPED.take(),
        left: (LEFT.replace(u64::MAX), LATER.take()),
    };
    call()
}

/// Whether the [watched] call of this thread is to stop, so that its answer is worthless.
pub fn is_stopped() -> bool {
    IS_STOPPED.get()
}

/// More than any call spends; counted, so that there are looks.
const UNLIMITED: u64 = u64::MAX - 1;

/// Takes `units` from what the present call may do.
///
/// # Errors
/// If fewer are left; then none are left. If the call is to stop.
#[inline]
pub fn spend(units: u64) -> Result<(), OutOfWork> {
    let left = LEFT.get();
    if left == u64::MAX {
        return Ok(());
    }
    if units <= left {
        LEFT.set(left - units);
        return Ok(());
    }
    spend_later(units - left)
}

/// Whether the present call is to stop: asks whoever watches it.
pub(crate) fn is_to_stop() -> bool {
    if IS_STOPPED.get() {
        return true;
    }
    let watch = WATCH.with_borrow(Clone::clone);
    let is_stopped = watch.is_some_and(|watch| watch());
    if is_stopped {
        IS_STOPPED.set(true);
        LEFT.set(0);
        LATER.set(0);
    }
    is_stopped
}

/// Takes `units` more than are left until the next look: looks, and goes on with the rest.
#[cold]
fn spend_later(units: u64) -> Result<(), OutOfWork> {
    LEFT.set(0);
    if is_to_stop() {
        return Err(OutOfWork);
    }
    let later = LATER.get();
    UNTIL_LOOK.set((LOOK_EVERY, 0));
    set_left(later.saturating_sub(units));
    if units <= later { Ok(()) } else { Err(OutOfWork) }
}

/// The same for work that is done already, where an error cannot be returned: if it was too much, the next
/// [`spend`] fails.
#[inline]
pub fn charge(units: u64) {
    // What was charged counts as spent either way.
    let _ = spend(units);
}

/// Units that the present call may still spend; [`u64::MAX`] if it is not metered.
pub fn left() -> u64 {
    match LEFT.get() {
        u64::MAX => u64::MAX,
        left => left + LATER.get(),
    }
}

fn set_left(left: u64) {
    let is_watched = WATCH.with_borrow(Option::is_some);
    let at_once = if IS_STOPPED.get() {
        0
    } else if left != u64::MAX && is_watched {
        // Calls within the watched one do not put off its looks.
        let (until, at_once) = UNTIL_LOOK.get();
        let until = until.saturating_sub(at_once.saturating_sub(LEFT.get()));
        UNTIL_LOOK.set((until, left.min(until)));
        left.min(until)
    } else {
        left
    };
    LEFT.set(at_once);
    LATER.set(if IS_STOPPED.get() { 0 } else { left - at_once });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_calls_spend_what_outer_ones_have() {
        let metered = || {
            Meter { limit: 300_000 }.run(|| {
                assert_eq!(spend(10_000), Ok(()));
                Meter { limit: 250_000 }.run(|| {
                    assert_eq!(spend(245_000), Ok(()));
                    assert_eq!(spend(10_000), Err(OutOfWork));
                    assert_eq!(spend(1), Err(OutOfWork), "nothing is left");
                });
                assert_eq!(left(), 40_000);
                Meter { limit: u64::MAX }.run(|| assert_eq!(spend(50_000), Err(OutOfWork)));
                assert_eq!(spend(1), Err(OutOfWork));
            });
        };
        metered();
        assert_eq!(left(), u64::MAX);
        assert_eq!(watched(|| false, metered), ((), false));
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
    fn a_watched_call_that_is_to_stop_does_no_more_work() {
        let n_looks = Rc::new(Cell::new(0));
        let looks = n_looks.clone();
        let watch = move || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        let ((), is_stopped) = watched(watch, || {
            let spent = (0..10_000).take_while(|_| spend(1_000).is_ok()).count() as u64;
            assert!(spent * 1_000 <= 4 * LOOK_EVERY, "{spent}");
            // Nor in calls with limits of their own.
            assert_eq!(Meter { limit: 10 }.run(|| spend(5)), Err(OutOfWork));
            assert_eq!(spend(1), Err(OutOfWork));
        });
        assert!(is_stopped);
        assert_eq!(n_looks.get(), 3);
        assert_eq!(left(), u64::MAX);
        assert_eq!(
            watched(|| true, || (spend(LOOK_EVERY * 2), unwatched(|| spend(1)), spend(1))),
            ((Err(OutOfWork), Ok(()), Err(OutOfWork)), true)
        );
        // In a metered call, and with a watched call within another.
        let outer = Meter { limit: 1_000_000 };
        outer.run(|| {
            let call = || watched(|| true, || (0..500).try_for_each(|_| spend(1_000)));
            assert_eq!(watched(|| false, call), ((Ok(()), false), false));
            assert_eq!(left(), 500_000);
        });
    }

    /// Each call within it began a new interval.
    #[test]
    fn many_small_calls_do_not_put_off_looks() {
        let small = || Meter { limit: 50 }.run(|| spend(10));
        let (n_done, is_stopped) =
            watched(|| true, || (0..1_000_000).take_while(|_| small().is_ok()).count());
        assert!(is_stopped && n_done as u64 * 10 <= 2 * LOOK_EVERY, "{n_done}");
        let large = || Meter { limit: u64::MAX }.run(|| spend(10));
        let (n_done, is_stopped) =
            watched(|| true, || (0..1_000_000).take_while(|_| large().is_ok()).count());
        assert!(is_stopped && n_done as u64 * 10 <= 2 * LOOK_EVERY, "{n_done}");
    }

    #[test]
    fn a_panic_ends_the_metered_call() {
        let panicked = std::panic::catch_unwind(|| Meter { limit: 10 }.run(|| panic!("on purpose")));
        assert!(panicked.is_err());
        let panicked = std::panic::catch_unwind(|| watched(|| true, || panic!("on purpose")));
        assert!(panicked.is_err());
        assert_eq!(left(), u64::MAX);
    }
}
