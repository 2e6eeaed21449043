//! Grammars with a [watch](maskwright_grammar::Watch): sessions that remember what was there.
//!
//! A session stands at a configuration and a [`Watching`]. Where the watch refuses, threads at terminals that
//! [can be refused](Mark::can_be_refused) are not followed; all else is the machine's. A token is allowed iff its bytes lead on and the
//! text then has a completion that the watch lets pass: it has where the text is not at risk (what the front end
//! owes), else a search finds one.
//!
//! The mask is the machine's mask without the tokens that fail, and few can: those that read into a terminal that parts
//! (listed once a configuration), those that the watch doubts (listed once a vocabulary), and those behind which the text is at risk as it was before them (found by a
//! walk of the token trie that ends where risk does). The naive twin is `accept_token`, token by token.
//!
//! Rejected: configurations that carry what was there (each text would have its own, and masks and transitions
//! would never be met again).

mod budget;
mod search;

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::{Mark, Marks, Watched, Watching};
use maskwright_vocabulary::{TokenId, Trie};
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::ground::{DoubtfulTokens, MaskBuilder, MaskForm, MaskStatus};
use crate::parser::{ConfigId, Thread};
use crate::session::Machine;
pub(crate) use budget::FoundWays;
use search::{Completion, Numbered, Search};

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

/// The tokens that read into a marked terminal, by configuration.
pub(crate) type PartingTokens = FxHashMap<ConfigId, Arc<[TokenId]>>;

/// Tokens along which a text stays at risk.
#[derive(Default)]
pub(crate) struct RiskyTokens {
    /// Those that the watch refuses on the way, by id.
    pub(crate) refused: Vec<u32>,
    /// Those of which it refuses some readings.
    pub(crate) unclear: Vec<TokenId>,
    /// Those that end at risk, and where.
    pub(crate) at_risk: Vec<(TokenId, Numbered)>,
}

/// Bytes that led out of risk before, by the configuration where they began.
pub(crate) type WaysOut = FxHashMap<ConfigId, Arc<[u8]>>;

impl Machine {
    /// The place before any text; `None` if the grammar has no watch.
    pub(crate) fn watch_start(&self) -> Option<Arc<dyn Watching>> {
        self.parser.network.watched().map(|watched| watched.watch.start())
    }

    pub(crate) fn marks(&mut self, config: ConfigId) -> Marks {
        if let Some(known) = self.parser.configs.marks(config) {
            return known;
        }
        let watched = self.parser.network.watched();
        let of = |thread: &Thread| watched.and_then(|watched| watched.mark(thread.terminal));
        let marks: Marks = self.parser.configs.threads(config).iter().filter_map(of).collect();
        self.parser.configs.set_marks(config, marks);
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
        let watched = self.parser.network.watched();
        let mut threads: Vec<Thread> = self
            .parser
            .configs
            .threads(place.config)
            .iter()
            .filter(|thread| !may_be_refused(watched, thread))
            .copied()
            .collect();
        let is_accepting = self.parser.configs.is_accepting(place.config);
        self.parser.intern(&mut threads, is_accepting)
    }

    /// Reads one more byte.
    pub(crate) fn watched_step(&mut self, place: &mut Place, byte: u8) -> Result<Stepped, EngineError> {
        let Some(config) = self.admitted(place)? else { return Ok(Stepped::Refused) };
        let Some(next) = self.step(config, byte)? else { return Ok(Stepped::Refused) };
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

    /// How many of `bytes` can be read with a completion behind them, and the place there.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn watched_advance(
        &mut self,
        start: &Place,
        bytes: &[u8],
    ) -> Result<(usize, Place), EngineError> {
        if let Some(place) = self.watched_run(start, bytes)?
            && self.has_completion(&place)?
        {
            return Ok((bytes.len(), place));
        }
        let mut places = vec![start.clone()];
        for &byte in bytes {
            let mut place = places[places.len() - 1].clone();
            if self.watched_step(&mut place, byte)? == Stepped::Refused {
                break;
            }
            places.push(place);
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
    pub(crate) fn watched_run(&mut self, start: &Place, bytes: &[u8]) -> Result<Option<Place>, EngineError> {
        let mut place = start.clone();
        for &byte in bytes {
            if self.watched_step(&mut place, byte)? == Stepped::Refused {
                return Ok(None);
            }
        }
        Ok(Some(place))
    }

    /// The mask of a place. Where the machine's mask is memoised, takes time linear in the tokens that are doubtful or read
    /// into a marked terminal, and in the beginnings of tokens that keep the text at risk; next to none where nothing is kept.
    /// Tokens that the searches of this call could not decide are left out, and then the mask is a bound; but it is not
    /// empty where the text has a completion.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn watched_mask(
        &mut self,
        config: ConfigId,
        watching: &Arc<dyn Watching>,
    ) -> Result<(Arc<MaskForm>, MaskStatus), EngineError> {
        let doubtful = self.doubtful_tokens()?;
        let is_plain = doubtful.doubted(watching.is_idle()).next().is_none() && !watching.keeps_parts();
        let may_refuse = self.marks(config).can_refuse() && watching.refuses();
        if is_plain && !may_refuse && !watching.is_at_risk() {
            return Ok((self.mask(config)?, MaskStatus::Exact));
        }
        self.parser.begin_work()?;
        let place = &Place { config, watching: watching.clone() };
        let vocabulary = self.parser.shared.vocabulary.clone();
        let n_words = vocabulary.n_words();
        let Some(config) = self.admitted(place)? else {
            return Ok((Arc::new(MaskBuilder::new(n_words).finish()), MaskStatus::Exact));
        };
        let form = self.mask(config)?;
        let mut search = Search::new();
        let root = search.root(place);
        let mut refused: Vec<u32> = Vec::new();
        let mut asked: Vec<(TokenId, Option<Numbered>)> = Vec::new();
        if watching.keeps_parts() {
            asked.extend(self.parting_tokens(config)?.iter().map(|&token| (token, None)));
        }
        let doubted = doubtful.doubted(watching.is_idle()).filter(|&&token| form.contains(token));
        asked.extend(doubted.map(|&token| (token, None)));
        if watching.is_at_risk() {
            let risky = self.risky_tokens(&mut search, &root, vocabulary.trie())?;
            refused.extend(risky.refused);
            asked.extend(risky.unclear.into_iter().map(|token| (token, None)));
            asked.extend(risky.at_risk.into_iter().map(|(token, place)| (token, Some(place))));
        }
        let mut status = MaskStatus::Exact;
        for (token, behind) in asked {
            let behind = match behind {
                Some(behind) => Some(behind),
                None => {
                    let bytes = vocabulary.text(token).unwrap_or_default();
                    self.numbered_run(&mut search, &root, bytes)?
                }
            };
            let found = match &behind {
                Some(behind) => self.completion(&mut search, behind)?,
                None => Completion::None,
            };
            if found.is_found() != Some(true) {
                refused.push(token.0);
            }
            if found == Completion::Unknown {
                status = MaskStatus::Bound;
            }
        }
        self.trim();
        if refused.is_empty() {
            return Ok((form, status));
        }
        refused.sort_unstable();
        refused.dedup();
        let mut mask = MaskBuilder::new(n_words);
        mask.union_without(&form, &refused);
        let mut mask = mask.finish();
        if status == MaskStatus::Bound && mask.len() == 0 {
            mask = self.mask_along_completion(place)?;
        }
        Ok((Arc::new(mask), status))
    }

    /// The tokens that spell the beginning of a completion.
    fn mask_along_completion(&mut self, place: &Place) -> Result<MaskForm, EngineError> {
        let bytes = self.find_completion(place)?.unwrap_or_default();
        let vocabulary = self.parser.shared.vocabulary.clone();
        let trie = vocabulary.trie();
        let (mut node, mut tokens) = (Trie::ROOT, Vec::new());
        for byte in bytes {
            let Some(child) = trie.child(node, byte) else { break };
            node = child;
            tokens.extend(trie.tokens(node).iter().map(|token| token.0));
        }
        tokens.sort_unstable();
        Ok(MaskForm::Sparse(tokens.into()))
    }

    /// What becomes of tokens along which the text stays at risk. Takes time in their beginnings.
    pub(crate) fn risky_tokens(
        &mut self,
        search: &mut Search,
        root: &Numbered,
        trie: &Trie,
    ) -> Result<RiskyTokens, EngineError> {
        let mut risky = RiskyTokens::default();
        let mut stack = vec![(Trie::ROOT, root.clone())];
        while let Some((node, at)) = stack.pop() {
            let place = &at.place;
            let bytes = self.next_bytes(place.config)?.intersection(&place.watching.risky_bytes());
            let are_all_admitted = self.admitted(place)? == Some(place.config);
            for (byte, child) in trie.children(node).filter(|(byte, _)| bytes.contains(*byte)) {
                let mut next = at.clone();
                if !self.numbered_step(search, &mut next, byte)? {
                    risky.refused.extend(trie.subtree_tokens(child).iter().map(|token| token.0));
                } else if !are_all_admitted {
                    risky.unclear.extend(trie.subtree_tokens(child));
                } else if next.place.watching.is_at_risk() {
                    let tokens = trie.tokens(child).iter().map(|&token| (token, next.clone()));
                    risky.at_risk.extend(tokens);
                    if trie.n_children(child) > 0 {
                        stack.push((child, next));
                    }
                }
            }
        }
        Ok(risky)
    }

    /// The tokens that the watch doubts, found once a vocabulary.
    ///
    /// # Errors
    /// If the present call may not look for them.
    pub(crate) fn doubtful_tokens(&mut self) -> Result<Arc<DoubtfulTokens>, EngineError> {
        if let Some(known) = &self.doubtful {
            return Ok(known.clone());
        }
        let Some(watched) = self.parser.network.watched() else { return Ok(Arc::default()) };
        self.parser.begin_work()?;
        let doubtful = self.parser.shared.doubtful_tokens(&*watched.watch);
        Ok(self.doubtful.insert(doubtful).clone())
    }

    /// The tokens with a byte that some thread at a terminal that [parts](Mark::parts) reads.
    pub(crate) fn parting_tokens(&mut self, config: ConfigId) -> Result<Arc<[TokenId]>, EngineError> {
        if let Some(known) = self.parting.get(&config) {
            return Ok(known.clone());
        }
        let Some(parting_bytes) = self.parser.network.watched().map(|watched| watched.watch.parting_bytes())
        else {
            return Ok(Arc::default());
        };
        let vocabulary = self.parser.shared.vocabulary.clone();
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
    /// configurations, and of terminals that [part](Mark::parts), have none.
    fn loops_inside(&self, config: ConfigId) -> Result<ByteSet, EngineError> {
        let [thread] = self.parser.configs.threads(config) else { return Ok(ByteSet::EMPTY) };
        let automaton = self.parser.automaton(thread.terminal);
        let is_marked = self
            .parser
            .network
            .watched()
            .and_then(|watched| watched.mark(thread.terminal))
            .is_some_and(Mark::parts);
        if is_marked || automaton.is_accepting(thread.residue) {
            return Ok(ByteSet::EMPTY);
        }
        automaton.loop_bytes(thread.residue).map_err(EngineError::in_terminal(automaton))
    }

    /// Whether a thread at a terminal that [parts](Mark::parts) reads `byte`.
    fn parts_at(&self, config: ConfigId, byte: u8) -> Result<bool, EngineError> {
        let Some(watched) = self.parser.network.watched() else { return Ok(false) };
        for thread in self.parser.configs.threads(config) {
            if !watched.mark(thread.terminal).is_some_and(Mark::parts) {
                continue;
            }
            let automaton = self.parser.automaton(thread.terminal);
            let bytes = automaton.next_bytes(thread.residue).map_err(EngineError::in_terminal(automaton))?;
            if bytes.contains(byte) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
