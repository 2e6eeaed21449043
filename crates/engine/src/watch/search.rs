//! The search for a completion that the watch accepts, from a text that is at risk.
//!
//! Breadth first over pairs of a configuration and what the watch remembers. What it remembers depends only
//! on the bytes that it did not ignore and the marks before them, so those number it ([`Memory`]): white
//! space leads to new configurations, but to no new memory, and two ways around it meet again. One [`Search`]
//! serves one call. All places from which nothing was found are kept for the rest of the call, so the tokens
//! of a mask share the work, and the call as a whole does a bounded amount of it.
//!
//! Bytes that led out of risk before are tried first when their configuration is met again
//! (`ways_out` of [`WatchMemo`](super::WatchMemo)): they mostly do so whatever was there before.

use std::collections::VecDeque;

use maskwright_automata::{ByteSet, meter};
use maskwright_grammar::Marks;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Place, Stepped, Watcher};
use crate::EngineError;
use crate::parser::ConfigId;

/// Units of work that a byte takes.
const UNITS_PER_BYTE: u64 = 32;
/// How many bytes the searches of one call may try.
const MAX_TRIED: usize = 400_000;

/// What the watch remembers, numbered within a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Memory(u32);

/// A place, and the number of what its watch remembers.
#[derive(Clone, Debug)]
pub(crate) struct Numbered {
    pub(crate) place: Place,
    memory: Memory,
}

impl Numbered {
    /// The number of what the watch remembers here.
    pub(crate) fn memory(&self) -> Memory {
        self.memory
    }
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Completion {
    /// Some text that the watch accepts begins so: after these bytes it is complete, or no longer at risk.
    Begins(Vec<u8>),
    /// There is none.
    None,
    /// The call has tried as much as it may.
    Unknown,
}

impl Completion {
    /// Whether there is one; `None` if that is unknown.
    pub(crate) fn is_found(&self) -> Option<bool> {
        match self {
            Completion::Begins(_) => Some(true),
            Completion::None => Some(false),
            Completion::Unknown => None,
        }
    }
}

/// The searches of one call, all from texts that begin with the same one.
pub(crate) struct Search {
    memories: FxHashMap<(Memory, u8, Marks), Memory>,
    /// Places without a completion.
    dead: FxHashSet<(ConfigId, Memory)>,
    n_left: usize,
    /// The bytes of completions.
    bytes: ByteSet,
}

impl Search {
    /// Searches from texts that begin with the one at a place.
    pub(crate) fn new() -> Search {
        Search::within(MAX_TRIED, ByteSet::FULL)
    }

    /// The same for completions of some bytes, of which so many may be tried.
    pub(super) fn within(n_left: usize, bytes: ByteSet) -> Search {
        Search { memories: FxHashMap::default(), dead: FxHashSet::default(), n_left, bytes }
    }

    /// The place of all of the call's texts before any of their bytes.
    pub(crate) fn root(&self, place: &Place) -> Numbered {
        Numbered { place: place.clone(), memory: Memory(0) }
    }
}

impl Watcher<'_> {
    /// Reads one more byte; whether some text continues so.
    pub(crate) fn numbered_step(
        &mut self,
        search: &mut Search,
        at: &mut Numbered,
        byte: u8,
    ) -> Result<bool, EngineError> {
        let stepped = self.step(&mut at.place, byte)?;
        if let Stepped::Watched(marks) = stepped {
            let n_known = search.memories.len() as u32;
            at.memory = *search.memories.entry((at.memory, byte, marks)).or_insert(Memory(n_known + 1));
        }
        Ok(stepped != Stepped::Refused)
    }

    /// The place after `bytes`; `None` if no text continues so.
    pub(crate) fn numbered_run(
        &mut self,
        search: &mut Search,
        start: &Numbered,
        bytes: &[u8],
    ) -> Result<Option<Numbered>, EngineError> {
        let mut at = start.clone();
        for &byte in bytes {
            if !self.numbered_step(search, &mut at, byte)? {
                return Ok(None);
            }
        }
        Ok(Some(at))
    }

    /// Whether the watch accepts some completion of the text at a place.
    ///
    /// # Errors
    /// If that takes too long to find out, or a limit is reached.
    pub(crate) fn has_completion(&mut self, place: &Place) -> Result<bool, EngineError> {
        Ok(!place.watching.is_at_risk() || self.find_completion(place)?.is_some())
    }

    /// The bytes that a completion which the watch accepts begins with ([`Completion::Begins`]), if there is
    /// one.
    ///
    /// # Errors
    /// As [`has_completion`](Watcher::has_completion).
    pub(crate) fn find_completion(&mut self, place: &Place) -> Result<Option<Vec<u8>>, EngineError> {
        let mut search = Search::new();
        let root = search.root(place);
        match self.completion(&mut search, &root)? {
            Completion::Begins(bytes) => Ok(Some(bytes)),
            Completion::None => Ok(None),
            Completion::Unknown => Err(EngineError::limit(format!(
                "gave up after {MAX_TRIED} steps: no completion with distinct items and keys was found"
            ))),
        }
    }

    /// A completion of the text at `start` that the watch accepts.
    ///
    /// # Errors
    /// If a limit of the grammar is reached.
    pub(crate) fn completion(
        &mut self,
        search: &mut Search,
        start: &Numbered,
    ) -> Result<Completion, EngineError> {
        let place = &start.place;
        if !place.watching.is_at_risk() {
            return Ok(Completion::Begins(Vec::new()));
        }
        if let Some(byte) = self.safe_byte(place)? {
            return Ok(Completion::Begins(vec![byte]));
        }
        if let Some(way_out) = self.memo.ways_out.get(&place.config).cloned()
            && let Some(end) = self.run(place, &way_out)?
            && !end.watching.is_at_risk()
        {
            return Ok(Completion::Begins(way_out.to_vec()));
        }
        self.new_completion(search, start)
    }

    /// The same by a new search, which does not depend on what was found before; the first of the shortest
    /// ways.
    ///
    /// # Errors
    /// As [`completion`](Watcher::completion).
    pub(super) fn new_completion(
        &mut self,
        search: &mut Search,
        start: &Numbered,
    ) -> Result<Completion, EngineError> {
        let place = &start.place;
        self.reader.parser.begin_work()?;
        // Each place with the index of the one before it, and the byte between.
        let mut steps: Vec<(usize, u8)> = vec![(0, 0)];
        let mut queue = VecDeque::from([(start.clone(), 0)]);
        let mut met = FxHashSet::from_iter([(place.config, start.memory)]);
        while let Some((at, index)) = queue.pop_front() {
            if search.dead.contains(&(at.place.config, at.memory)) {
                continue;
            }
            let Some(config) = self.admitted(&at.place)? else { continue };
            if self.reader.parser.configs.is_accepting(config) {
                return Ok(Completion::Begins(path_to(&steps, index, None)));
            }
            if let Some(byte) = self.safe_byte(&at.place)?.filter(|&byte| search.bytes.contains(byte)) {
                return Ok(self.way_out(place.config, path_to(&steps, index, Some(byte))));
            }
            for byte in self.reader.next_bytes(config)?.intersection(&search.bytes).iter() {
                if search.n_left == 0 {
                    return Ok(Completion::Unknown);
                }
                search.n_left -= 1;
                meter::spend(UNITS_PER_BYTE)?;
                let mut next = at.clone();
                if !self.numbered_step(search, &mut next, byte)? {
                    continue;
                }
                if !next.place.watching.is_at_risk() {
                    return Ok(self.way_out(place.config, path_to(&steps, index, Some(byte))));
                }
                if met.insert((next.place.config, next.memory)) {
                    steps.push((index, byte));
                    queue.push_back((next, steps.len() - 1));
                }
            }
        }
        search.dead.extend(met);
        Ok(Completion::None)
    }

    /// Keeps a way out of risk for the next search from its configuration.
    fn way_out(&mut self, start: ConfigId, path: Vec<u8>) -> Completion {
        self.memo.n_bytes += path.len() + 64;
        self.memo.ways_out.insert(start, path.as_slice().into());
        Completion::Begins(path)
    }

    /// A byte that leads out of risk.
    fn safe_byte(&mut self, place: &Place) -> Result<Option<u8>, EngineError> {
        let risky = place.watching.risky_bytes();
        if risky == ByteSet::FULL {
            return Ok(None);
        }
        let Some(config) = self.admitted(place)? else { return Ok(None) };
        Ok(self.reader.next_bytes(config)?.intersection(&risky.complement()).first())
    }
}

/// The bytes from the start of a search to one of its places, and one more.
fn path_to(steps: &[(usize, u8)], mut index: usize, last: Option<u8>) -> Vec<u8> {
    let mut path: Vec<u8> = last.into_iter().collect();
    while index > 0 {
        let (before, byte) = steps[index];
        path.push(byte);
        index = before;
    }
    path.reverse();
    path
}
