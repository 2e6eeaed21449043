//! A store of states that many automata share, as users have it.

use std::sync::Arc;

use crate::store::Store;
use crate::{Automaton, AutomatonError, AutomatonLimits, Fuel, Regex, StateId};

/// A place where many automata keep their states, so that equal residues are one state.
///
/// Clones are the same store. All methods may be called from many threads at once; automata keep the store
/// alive. A store only grows: who makes automata without end starts a new store when
/// [`memory_usage`](AutomatonStore::memory_usage) is too much, and lets the old one go.
///
/// ```
/// use maskwright_automata::{AutomatonLimits, AutomatonStore, ByteSet, Fuel, Regex};
/// let store = AutomatonStore::new(AutomatonLimits::default());
/// let letters = |n| Regex::bytes(ByteSet::range(b'a', b'z')).repeat(0, Some(n));
/// let fifty = store.automaton(&letters(50), &Fuel::unlimited())?;
/// let seven = store.automaton(&letters(7), &Fuel::unlimited())?;
/// let mut state = fifty.start().unwrap();
/// for _ in 0..43 {
///     state = fifty.step(state, b'x')?.unwrap();
/// }
/// assert_eq!(Some(state), seven.start());
/// # Ok::<(), maskwright_automata::AutomatonError>(())
/// ```
#[derive(Clone)]
pub struct AutomatonStore(Arc<Store>);

impl AutomatonStore {
    /// A store without states. The limits hold for each automaton by itself: `max_states` counts the states
    /// that it was the first to reach, and so does the memory for them.
    pub fn new(limits: AutomatonLimits) -> AutomatonStore {
        AutomatonStore(Arc::new(Store::new(&limits)))
    }

    /// The automaton of `regex`, with its states in this store. What the store knows already is found and
    /// not made again.
    ///
    /// # Errors
    /// As for [`Automaton::new`]. Other automata of the store are not affected.
    pub fn automaton(&self, regex: &Regex, fuel: &Fuel) -> Result<Automaton, AutomatonError> {
        Automaton::in_store(regex, || self.0.clone(), fuel)
    }

    /// The residue of a state as an expression. An automaton of it in this store mostly starts in the state,
    /// since the parts are in their canonical form, but simplifying may find another form. `None` if there is
    /// no such state, a complement is inside, or the expression is larger than `max_size`, in operations and
    /// bytes of words.
    ///
    /// ```
    /// use maskwright_automata::{AutomatonLimits, AutomatonStore, Fuel, Regex};
    /// let store = AutomatonStore::new(AutomatonLimits::default());
    /// let digits = store.automaton(&Regex::bytes((b'0'..=b'9').collect()).repeat(2, Some(9)), &Fuel::unlimited())?;
    /// let state = digits.step(digits.start().unwrap(), b'7')?.unwrap();
    /// let rest = store.residue(state, 100).unwrap();
    /// assert_eq!(store.automaton(&rest, &Fuel::unlimited())?.start(), Some(state));
    /// # Ok::<(), maskwright_automata::AutomatonError>(())
    /// ```
    pub fn residue(&self, state: StateId, max_size: usize) -> Option<Regex> {
        self.0.residue(state.0, max_size)
    }

    /// A number that no other store and no automaton of this process has.
    pub fn id(&self) -> u64 {
        self.0.id()
    }

    /// How many states there are; single words and byte sets have theirs elsewhere.
    pub fn n_states(&self) -> usize {
        self.0.n_states()
    }

    /// About how many bytes the states and expressions take.
    pub fn memory_usage(&self) -> usize {
        self.0.memory_usage()
    }
}

impl std::fmt::Debug for AutomatonStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AutomatonStore").field("id", &self.id()).finish_non_exhaustive()
    }
}
