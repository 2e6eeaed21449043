//! The numbers of states and of automata, and what an automaton may cost.

use std::sync::atomic::{AtomicU64, Ordering};

/// A state of an [`Automaton`](crate::Automaton): a residue with at least one word. Only good for automata of
/// the store that made it; [`residue_key`](crate::Automaton::residue_key) tells states of different stores
/// apart.
///
/// ```
/// use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex};
/// let automaton = Automaton::new(&Regex::literal("ab"), &AutomatonLimits::default(), &Fuel::unlimited())?;
/// let start = automaton.start().unwrap();
/// assert_eq!(start.index(), 0);
/// # Ok::<(), maskwright_automata::AutomatonError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId(pub(crate) u32);

impl StateId {
    /// The state's number: states are numbered from 0 as they are made.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// How much one [`Automaton`](crate::Automaton) may cost, be its store shared or not.
///
/// ```
/// use maskwright_automata::AutomatonLimits;
/// let limits = AutomatonLimits { max_states: 1_000, ..AutomatonLimits::default() };
/// assert_eq!(limits.max_residue_size, 100_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomatonLimits {
    /// States that it makes, and 512 bytes of memory for each on average (beside 16 MiB for the expression
    /// itself).
    pub max_states: u32,
    /// Node visits of one derivative: the size of the part of a residue that the next byte can touch.
    pub max_residue_size: u64,
    /// Node visits of one search for a word of an intersection or complement.
    pub liveness_fuel: u64,
}

impl Default for AutomatonLimits {
    /// A million states (at most 512 MiB), 100,000 nodes a residue, four million visits a search: tenths of a
    /// second for the worst single step.
    fn default() -> AutomatonLimits {
        AutomatonLimits { max_states: 1_000_000, max_residue_size: 100_000, liveness_fuel: 4_000_000 }
    }
}

/// The next of the numbers that tell stores and automata apart.
pub(crate) fn next_id() -> u64 {
    static NEXT_ID: AtomicU64 = AtomicU64::new(0);
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}
