//! What is kept ready for sessions with stop tokens, by these. Few sets of stop tokens are in use at a time.

use maskwright_vocabulary::TokenId;
use parking_lot::Mutex;

/// For how many sets of stop tokens something is kept.
const MAX_SETS: usize = 4;

/// Values by a set of tokens, sorted. The one used last is kept longest.
pub(crate) struct ByStops<T> {
    /// The one used last is the last.
    known: Mutex<Vec<Entry<T>>>,
}

struct Entry<T> {
    stops: Box<[TokenId]>,
    value: T,
}

impl<T> Default for ByStops<T> {
    fn default() -> ByStops<T> {
        ByStops { known: Mutex::default() }
    }
}

impl<T: Clone> ByStops<T> {
    /// The value of `stops`, if it is kept.
    pub(crate) fn get(&self, stops: &[TokenId]) -> Option<T> {
        found(&mut self.known.lock(), stops)
    }

    /// Inserts a value unless there is one, and returns the one stored.
    pub(crate) fn keep(&self, stops: &[TokenId], value: T) -> T {
        let mut known = self.known.lock();
        if let Some(known) = found(&mut known, stops) {
            return known;
        }
        // What is dropped is dropped without the lock.
        let _oldest = (known.len() >= MAX_SETS).then(|| known.remove(0));
        known.push(Entry { stops: stops.into(), value: value.clone() });
        drop(known);
        value
    }

    /// Keeps nothing any more. What is in use stays with those that use it.
    pub(crate) fn clear(&self) {
        let known = std::mem::take(&mut *self.known.lock());
        // Without the lock.
        drop(known);
    }
}

/// The value of `stops`, which becomes the last.
fn found<T: Clone>(known: &mut Vec<Entry<T>>, stops: &[TokenId]) -> Option<T> {
    let at = known.iter().position(|entry| *entry.stops == *stops)?;
    let entry = known.remove(at);
    let value = entry.value.clone();
    known.push(entry);
    Some(value)
}
