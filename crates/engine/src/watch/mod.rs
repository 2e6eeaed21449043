//! Grammars with a [watch](maskwright_grammar::Watch): sessions that remember what was there.
//!
//! When: a schema says `uniqueItems`, or an object may have any keys, of which none may come twice. No
//! grammar of reasonable size says so.
//!
//! An example: the text is `[1,2,1`, and items must differ. The watch remembers 1 and 2, and refuses the
//! comma and the bracket after the third item; but `0` is allowed, since 10 is a new item.
//!
//! A session stands at a configuration and a [`Watching`]. Where the watch refuses, threads at terminals that
//! [can be refused](Mark::can_be_refused) are not followed; all else is the reader's. A token is allowed if
//! the grammar reads it and the watch accepts some completion. The front end guarantees one unless the text
//! is at risk; there, a search looks for one.
//!
//! Rejected: configurations that carry what was there (each text would have its own, and masks and
//! transitions would never be met again).

mod budget;
mod mask;
mod search;

use std::sync::Arc;

use maskwright_automata::meter;
use maskwright_grammar::{Mark, Marks, Watch, Watched, Watching};
use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::budget::ByteLimits;
use crate::bytes::BytesReader;
use crate::ground::DoubtfulTokens;
use crate::parser::{ConfigId, Parser, Thread};

/// Units of work that a byte takes.
const UNITS_PER_STEP: u64 = 16;

/// Where a session of a watched grammar stands: a configuration, and what the watch remembers.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) config: ConfigId,
    pub(crate) watching: Arc<dyn Watching>,
}

/// What one byte did to a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stepped {
    /// No text continues so; the place is as it was.
    Refused,
    /// What the watch remembers is as it was.
    Unwatched,
    /// What the watch remembers has changed, at these marks.
    Watched(Marks),
}

/// What is known of the texts of a grammar with a watch, whatever was there.
#[derive(Default)]
pub(crate) struct WatchMemo {
    /// The tokens that read into a marked terminal, by configuration.
    parting: FxHashMap<ConfigId, Arc<[TokenId]>>,
    /// Bytes that led out of risk before, by the configuration where they began.
    ways_out: FxHashMap<ConfigId, Arc<[u8]>>,
    doubtful: Option<Arc<DoubtfulTokens>>,
    n_bytes: usize,
}

impl WatchMemo {
    /// The watch of the grammar, if its [`DoubtfulTokens`] are not known.
    pub(crate) fn wanted(&self, parser: &Parser) -> Option<Arc<dyn Watch>> {
        let watched = parser.network.watched().filter(|_| self.doubtful.is_none());
        watched.map(|watched| watched.watch.clone())
    }

    /// Bytes that [`clear`](WatchMemo::clear) frees.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Drops what depends on configurations.
    pub(crate) fn clear(&mut self) {
        *self = WatchMemo { doubtful: self.doubtful.take(), ..WatchMemo::default() };
    }
}

/// A grammar with a watch at work: what reads its texts, and what is known of them.
pub(crate) struct Watcher<'a> {
    pub(crate) reader: &'a mut BytesReader,
    pub(crate) limits: &'a mut ByteLimits,
    pub(crate) memo: &'a mut WatchMemo,
}

impl Watcher<'_> {
    pub(crate) fn marks(&mut self, config: ConfigId) -> Marks {
        if let Some(known) = self.reader.parser.configs.marks(config) {
            return known;
        }
        let watched = self.reader.parser.network.watched();
        let of = |thread: &Thread| watched.and_then(|watched| watched.mark(thread.terminal));
        let marks: Marks = self.reader.parser.configs.threads(config).iter().filter_map(of).collect();
        self.reader.parser.configs.set_marks(config, marks);
        marks
    }

    /// The configuration at a place without what the watch refuses; `None` if nothing is left.
    pub(crate) fn admitted(&mut self, place: &Place) -> Result<Option<ConfigId>, EngineError> {
        if !self.marks(place.config).can_refuse() || !place.watching.refuses() {
            return Ok(Some(place.config));
        }
        let may_be_refused = |watched: Option<&Watched>, thread: &Thread| {
            let mark = watched.and_then(|watched| watched.mark(thread.terminal));
            mark.is_some_and(Mark::can_be_refused)
        };
        let watched = self.reader.parser.network.watched();
        let mut threads: Vec<Thread> = self
            .reader
            .parser
            .configs
            .threads(place.config)
            .iter()
            .filter(|thread| !may_be_refused(watched, thread))
            .copied()
            .collect();
        let is_accepting = self.reader.parser.configs.is_accepting(place.config);
        self.reader.parser.intern(&mut threads, is_accepting)
    }

    /// Reads one more byte.
    pub(crate) fn step(&mut self, place: &mut Place, byte: u8) -> Result<Stepped, EngineError> {
        meter::spend(UNITS_PER_STEP)?;
        let Some(config) = self.admitted(place)? else { return Ok(Stepped::Refused) };
        let Some(next) = self.reader.step(config, byte)? else { return Ok(Stepped::Refused) };
        place.config = next;
        if place.watching.ignores(byte) {
            return Ok(Stepped::Unwatched);
        }
        let marks = self.marks(config);
        match <dyn Watching>::make_mut(&mut place.watching).read(byte, marks) {
            true => Ok(Stepped::Watched(marks)),
            false => Ok(Stepped::Unwatched),
        }
    }

    /// The place after `bytes`; `None` if no reading goes on so far.
    pub(crate) fn run(&mut self, start: &Place, bytes: &[u8]) -> Result<Option<Place>, EngineError> {
        let mut place = start.clone();
        for &byte in bytes {
            if self.step(&mut place, byte)? == Stepped::Refused {
                return Ok(None);
            }
        }
        Ok(Some(place))
    }
}
