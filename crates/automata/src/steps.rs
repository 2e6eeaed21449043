//! All transitions of one state, for walks that take many of them.

use crate::counted::Counted;
use crate::lazy::Lazy;
use crate::store::Row;
use crate::{AutomatonError, ByteSet, StateId};

/// The transitions of one state, with its place found once: see
/// [`Automaton::steps`](crate::Automaton::steps).
///
/// ```
/// use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex};
/// let regex = Regex::words([&b"ab"[..], b"b"]);
/// let automaton = Automaton::new(&regex, &AutomatonLimits::default(), &Fuel::unlimited())?;
/// let steps = automaton.steps(automaton.start().unwrap());
/// let (_, is_accepting) = steps.next(b'a')?.unwrap();
/// assert!(!is_accepting);
/// let (_, is_accepting) = steps.next(b'b')?.unwrap();
/// assert!(is_accepting);
/// assert_eq!(steps.next(b'c')?, None);
/// // All other bytes lead nowhere, so most share a number.
/// assert_eq!(steps.class_of()[usize::from(b'x')], steps.class_of()[usize::from(b'y')]);
/// assert!(steps.classes().any(|bytes| bytes.contains(b'x') && bytes.contains(b'y')));
/// # Ok::<(), maskwright_automata::AutomatonError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Steps<'a>(Kind<'a>);

/// Every byte by itself.
static SINGLES: [u8; 256] = {
    let mut singles = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        singles[byte] = byte as u8;
        byte += 1;
    }
    singles
};

#[derive(Clone, Copy)]
enum Kind<'a> {
    Lazy(&'a Lazy, &'a Row),
    /// The state's offset in the word.
    Word(&'a [u8], StateId),
    /// The state before one byte of the set.
    Set(&'a ByteSet),
    Counted(&'a Counted, StateId),
    Nowhere,
}

impl<'a> Steps<'a> {
    pub(crate) fn lazy(lazy: &'a Lazy, state: StateId) -> Steps<'a> {
        Steps(lazy.row(state.0).map_or(Kind::Nowhere, |row| Kind::Lazy(lazy, row)))
    }

    pub(crate) fn counted(counted: &'a Counted, state: StateId) -> Steps<'a> {
        Steps(Kind::Counted(counted, state))
    }

    pub(crate) fn word(word: &'a [u8], state: StateId) -> Steps<'a> {
        Steps(Kind::Word(word, state))
    }

    pub(crate) fn set(set: &'a ByteSet, state: StateId) -> Steps<'a> {
        Steps(if state.0 == 0 { Kind::Set(set) } else { Kind::Nowhere })
    }

    /// By byte, a number that bytes share only if they lead to the same state.
    #[inline]
    pub fn class_of(&self) -> &'a [u8; 256] {
        match self.0 {
            Kind::Lazy(_, row) => row.classes().class_of(),
            Kind::Word(..) | Kind::Set(_) | Kind::Counted(..) | Kind::Nowhere => &SINGLES,
        }
    }

    /// How many numbers there are.
    pub fn n_classes(&self) -> usize {
        match self.0 {
            Kind::Lazy(_, row) => row.classes().sets().len(),
            Kind::Word(..) | Kind::Set(_) | Kind::Counted(..) | Kind::Nowhere => SINGLES.len(),
        }
    }

    /// The sets of bytes that share a number: disjoint, no byte left out.
    pub fn classes(&self) -> impl Iterator<Item = ByteSet> + use<'a> {
        let sets = match self.0 {
            Kind::Lazy(_, row) => Some(row.classes().sets()),
            Kind::Word(..) | Kind::Set(_) | Kind::Counted(..) | Kind::Nowhere => None,
        };
        let singles = sets.is_none().then(|| (0..=u8::MAX).map(ByteSet::singleton));
        sets.into_iter().flatten().copied().chain(singles.into_iter().flatten())
    }

    /// The state after `byte`, and whether it accepts; `None` if no word goes on that way. Three dependent
    /// table reads if the transition is known.
    ///
    /// # Errors
    /// If the transition is new and a limit is reached; then the automaton is as it was.
    #[inline]
    pub fn next(&self, byte: u8) -> Result<Option<(StateId, bool)>, AutomatonError> {
        match self.0 {
            Kind::Lazy(lazy, row) => {
                Ok(lazy.step(row, byte)?.map(|(next, is_accepting)| (StateId(next), is_accepting)))
            }
            Kind::Word(word, StateId(at)) if word.get(at as usize) == Some(&byte) => {
                Ok(Some((StateId(at + 1), at as usize + 1 == word.len())))
            }
            Kind::Set(set) if set.contains(byte) => Ok(Some((StateId(1), true))),
            Kind::Counted(counted, state) => {
                Ok(counted.step(state.0, byte).map(|next| (StateId(next), counted.is_accepting(next))))
            }
            Kind::Word(..) | Kind::Set(_) | Kind::Nowhere => Ok(None),
        }
    }
}

impl Steps<'_> {
    /// [`next`](Steps::next) if that takes no work; `None` if the transition is not known.
    #[inline]
    pub fn known(&self, byte: u8) -> Option<Option<(StateId, bool)>> {
        match self.0 {
            Kind::Lazy(_, row) => {
                let step = row.known(byte)?;
                Some(step.next().map(|(next, is_accepting)| (StateId(next), is_accepting)))
            }
            Kind::Word(..) | Kind::Set(_) | Kind::Counted(..) | Kind::Nowhere => self.next(byte).ok(),
        }
    }
}

impl std::fmt::Debug for Steps<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps").finish_non_exhaustive()
    }
}
