//! Grammars with a [watch](maskwright_grammar::Watch): sessions that remember what was there.
//!
//! A session stands at a configuration and a [`Watching`]. Where the watch refuses, threads at terminals marked
//! [`Mark::Parts`] are not followed; all else is the machine's. A token is allowed iff its bytes lead on and the
//! text then has a completion that the watch lets pass: it has where the text is not at risk (what the front end
//! owes), else a search finds one.
//!
//! The mask is the machine's mask without the tokens that fail, and few can: those that read into a marked terminal
//! (listed once a configuration), and those behind which the text is at risk as it was before them (found by a
//! walk of the token trie that ends where risk does). The naive twin is `accept_token`, token by token.
//!
//! Rejected: configurations that carry what was there (each text would have its own, and masks and transitions
//! would never be met again).

use std::collections::VecDeque;
use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::{Mark, Watched, Watching};
use maskwright_vocabulary::{TokenId, Trie, mask_words};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::EngineError;
use crate::configuration::{ConfigId, Thread};
use crate::machine::Machine;
use crate::mask_form::{MaskBuilder, MaskForm};

/// How many places one search for a completion may try.
const MAX_SEARCH: usize = 20_000;

/// Where a session of a watched grammar stands: a configuration, and what the watch remembers.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) config: ConfigId,
    pub(crate) watching: Box<dyn Watching>,
}

/// The tokens that read into a marked terminal, by configuration.
pub(crate) type PartingTokens = FxHashMap<ConfigId, Arc<[TokenId]>>;

/// Bytes that led out of risk before, by the configuration where they began.
pub(crate) type WaysOut = FxHashMap<ConfigId, Arc<[u8]>>;

impl Machine {
    /// The place before any text; `None` if the grammar has no watch.
    pub(crate) fn watch_start(&self) -> Option<Box<dyn Watching>> {
        self.network.watched().map(|watched| watched.watch.start())
    }

    fn has_mark(&self, config: ConfigId, mark: Mark) -> bool {
        self.network.watched().is_some_and(|watched| {
            self.configs.threads(config).iter().any(|thread| watched.mark(thread.terminal) == Some(mark))
        })
    }

    /// The configuration at a place without what the watch refuses; `None` if nothing is left.
    fn admitted(&mut self, place: &Place) -> Result<Option<ConfigId>, EngineError> {
        if !self.has_mark(place.config, Mark::Parts) || !place.watching.refuses() {
            return Ok(Some(place.config));
        }
        let parts = |watched: Option<&Watched>, thread: &Thread| {
            watched.is_some_and(|watched| watched.mark(thread.terminal) == Some(Mark::Parts))
        };
        let watched = self.network.watched();
        let mut threads: Vec<Thread> = self
            .configs
            .threads(place.config)
            .iter()
            .filter(|thread| !parts(watched, thread))
            .copied()
            .collect();
        let is_accepting = self.configs.is_accepting(place.config);
        self.intern(&mut threads, is_accepting)
    }

    /// The place after one more byte, and whether the watch has changed; `None` if no reading goes on.
    fn watched_step(&mut self, place: &Place, byte: u8) -> Result<Option<(Place, bool)>, EngineError> {
        let Some(config) = self.admitted(place)? else { return Ok(None) };
        let Some(next) = self.step(config, byte)? else { return Ok(None) };
        let mut watching = place.watching.clone();
        let has_changed = watching.read(byte, self.has_mark(config, Mark::Opens));
        Ok(Some((Place { config: next, watching }, has_changed)))
    }

    /// How many of `bytes` can be read with a completion behind them, and the place there.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn watched_advance(
        &mut self,
        start: &Place,
        bytes: &[u8],
    ) -> Result<(usize, Place), EngineError> {
        let mut places = vec![start.clone()];
        for &byte in bytes {
            let last = places.len() - 1;
            match self.watched_step(&places[last], byte)? {
                Some((next, _)) => places.push(next),
                None => break,
            }
        }
        // What completes a text completes all beginnings of it.
        while places.len() > 1 {
            if let Some(place) = places.pop()
                && self.has_completion(&place)?
            {
                return Ok((places.len(), place));
            }
        }
        Ok((0, start.clone()))
    }

    /// The place after `bytes`; `None` if no reading goes on so far.
    fn watched_run(&mut self, start: &Place, bytes: &[u8]) -> Result<Option<Place>, EngineError> {
        let mut place = start.clone();
        for &byte in bytes {
            match self.watched_step(&place, byte)? {
                Some((next, _)) => place = next,
                None => return Ok(None),
            }
        }
        Ok(Some(place))
    }

    /// Whether the watch lets pass some completion of the text: breadth first, through what is at risk. What led out of
    /// risk at a configuration is tried first when it is met again: it mostly does so whatever was there before.
    fn has_completion(&mut self, place: &Place) -> Result<bool, EngineError> {
        if !place.watching.is_at_risk() {
            return Ok(true);
        }
        if let Some(way_out) = self.ways_out.get(&place.config).cloned()
            && let Some(end) = self.watched_run(place, &way_out)?
            && !end.watching.is_at_risk()
        {
            return Ok(true);
        }
        // Bytes that change nothing for the watch (white space) lead round in circles: a configuration is
        // met once with each thing that the watch remembers, which `group` numbers.
        let start = place.config;
        let mut queue = VecDeque::from([(place.clone(), 0usize, Vec::new())]);
        let mut met = FxHashSet::from_iter([(start, 0usize)]);
        let mut n_tried = 0;
        while let Some((place, group, path)) = queue.pop_front() {
            let Some(config) = self.admitted(&place)? else { continue };
            if self.configs.is_accepting(config) {
                return Ok(true);
            }
            for byte in self.next_bytes(config)?.iter() {
                n_tried += 1;
                if n_tried > MAX_SEARCH {
                    return Err(EngineError::watch_search(MAX_SEARCH));
                }
                let Some((next, has_changed)) = self.watched_step(&place, byte)? else { continue };
                let next_path = || path.iter().copied().chain([byte]);
                if !next.watching.is_at_risk() {
                    self.memo_bytes += path.len() + 64;
                    self.ways_out.insert(start, next_path().collect());
                    return Ok(true);
                }
                let group = if has_changed { n_tried } else { group };
                if met.insert((next.config, group)) {
                    let path = next_path().collect();
                    queue.push_back((next, group, path));
                }
            }
        }
        Ok(false)
    }

    /// The mask of a place. Where the machine's mask is memoised, takes time linear in the tokens that read into
    /// a marked terminal, and in the beginnings of tokens that keep the text at risk.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn watched_mask(&mut self, place: &Place) -> Result<Arc<MaskForm>, EngineError> {
        let vocabulary = self.shared.vocabulary.clone();
        let n_words = mask_words(vocabulary.n_vocab());
        let Some(config) = self.admitted(place)? else {
            return Ok(Arc::new(MaskBuilder::new(n_words).finish()));
        };
        let form = self.mask(config)?;
        let mut refused: Vec<u32> = Vec::new();
        for &token in self.parting_tokens(config)?.iter() {
            let bytes = vocabulary.token_bytes(token).unwrap_or_default();
            if self.watched_advance(place, bytes)?.0 < bytes.len() {
                refused.push(token.0);
            }
        }
        if place.watching.is_at_risk() {
            self.risky_tokens(place, vocabulary.trie(), &mut refused)?;
        }
        self.trim();
        if refused.is_empty() {
            return Ok(form);
        }
        refused.sort_unstable();
        refused.dedup();
        let mut mask = MaskBuilder::new(n_words);
        mask.union_without(&form, &refused);
        Ok(Arc::new(mask.finish()))
    }

    /// Adds the tokens that end where the text is still at risk and has no completion.
    fn risky_tokens(
        &mut self,
        place: &Place,
        trie: &Trie,
        refused: &mut Vec<u32>,
    ) -> Result<(), EngineError> {
        let mut stack = vec![(Trie::ROOT, place.clone())];
        while let Some((node, place)) = stack.pop() {
            let Some(config) = self.admitted(&place)? else { continue };
            let bytes = self.next_bytes(config)?;
            for (byte, child) in trie.children(node).filter(|(byte, _)| bytes.contains(*byte)) {
                let Some((next, _)) = self.watched_step(&place, byte)? else { continue };
                if !next.watching.is_at_risk() {
                    continue;
                }
                let tokens = trie.tokens(child);
                if !tokens.is_empty() && !self.has_completion(&next)? {
                    refused.extend(tokens.iter().map(|token| token.0));
                }
                if trie.n_children(child) > 0 {
                    stack.push((child, next));
                }
            }
        }
        Ok(())
    }

    /// The tokens with a byte that some thread at a terminal marked [`Mark::Parts`] reads.
    fn parting_tokens(&mut self, config: ConfigId) -> Result<Arc<[TokenId]>, EngineError> {
        if let Some(known) = self.parting.get(&config) {
            return Ok(known.clone());
        }
        let Some(parting_bytes) = self.network.watched().map(|watched| watched.watch.parting_bytes()) else {
            return Ok(Arc::default());
        };
        let vocabulary = self.shared.vocabulary.clone();
        let trie = vocabulary.trie();
        let mut tokens = Vec::new();
        let mut stack = vec![(Trie::ROOT, config, false)];
        while let Some((node, config, has_parted)) = stack.pop() {
            let bytes = self.next_bytes(config)?;
            let loops = self.loops_inside(config)?;
            for (byte, child) in trie.children(node).filter(|(byte, _)| bytes.contains(*byte)) {
                if !has_parted && loops.contains(byte) && trie.bytes_below(child).is_subset(&loops) {
                    continue;
                }
                let has_parted = has_parted || self.parts_at(config, byte)?;
                if has_parted {
                    tokens.extend_from_slice(trie.tokens(child));
                }
                let leads_on = has_parted || trie.bytes_below(child).intersects(&parting_bytes);
                if leads_on
                    && trie.n_children(child) > 0
                    && let Some(next) = self.step(config, byte)?
                {
                    stack.push((child, next, has_parted));
                }
            }
        }
        let tokens: Arc<[TokenId]> = tokens.into();
        self.memo_bytes += tokens.len() * 4 + 64;
        self.parting.insert(config, tokens.clone());
        Ok(tokens)
    }

    /// Bytes with which a configuration stays inside its only terminal, at the same place of it; texts of other
    /// configurations, and of terminals marked [`Mark::Parts`], have none.
    fn loops_inside(&self, config: ConfigId) -> Result<ByteSet, EngineError> {
        let [thread] = self.configs.threads(config) else { return Ok(ByteSet::EMPTY) };
        let automaton = self.automaton(thread.terminal);
        let is_marked =
            self.network.watched().is_some_and(|watched| watched.mark(thread.terminal) == Some(Mark::Parts));
        if is_marked || automaton.is_accepting(thread.residue) {
            return Ok(ByteSet::EMPTY);
        }
        automaton
            .loop_bytes(thread.residue)
            .map_err(|error| EngineError::automaton(format!("{:?}", automaton.regex()), error))
    }

    /// Whether a thread at a terminal marked [`Mark::Parts`] reads `byte`.
    fn parts_at(&self, config: ConfigId, byte: u8) -> Result<bool, EngineError> {
        let Some(watched) = self.network.watched() else { return Ok(false) };
        for thread in self.configs.threads(config) {
            if watched.mark(thread.terminal) != Some(Mark::Parts) {
                continue;
            }
            let automaton = self.automaton(thread.terminal);
            let bytes = automaton
                .next_bytes(thread.residue)
                .map_err(|error| EngineError::automaton(format!("{:?}", automaton.regex()), error))?;
            if bytes.contains(byte) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
