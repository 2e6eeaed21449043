//! Masks of grammars with a watch.
//!
//! The mask is the reader's mask without the tokens that fail. Few can fail, and only those are read one by
//! one:
//!
//! * tokens that read into a terminal where something watched ends, as a comma after an item (listed once a
//!   configuration);
//! * tokens that the watch doubts (listed once a vocabulary);
//! * tokens after which the text is at risk as it was before them (found by a walk of the token trie that
//!   ends where risk does).
//!
//! The naive twin is `accept_token`, token by token.

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::Mark;
use maskwright_vocabulary::{TokenId, Trie};

use super::search::{Completion, Numbered, Search};
use super::{Place, Stepped, Watcher};
use crate::EngineError;
use crate::ground::{DoubtfulTokens, MaskBuilder, MaskForm, MaskStatus, MaskWithin};
use crate::parser::ConfigId;

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

impl Watcher<'_> {
    /// How many of `bytes` can be read with a completion after them, and the place there.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn advance(&mut self, start: &Place, bytes: &[u8]) -> Result<(usize, Place), EngineError> {
        if let Some(place) = self.run(start, bytes)?
            && self.has_completion(&place)?
        {
            return Ok((bytes.len(), place));
        }
        let mut places = vec![start.clone()];
        for &byte in bytes {
            let mut place = places[places.len() - 1].clone();
            if self.step(&mut place, byte)? == Stepped::Refused {
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

    /// The mask of a place. Where the machine's mask is memoised, takes time linear in the tokens that are
    /// doubtful or read into a marked terminal, and in the beginnings of tokens that keep the text at risk;
    /// next to none where nothing is kept. Tokens that the searches of this call could not decide are left
    /// out, and then the mask is a bound; but it is not empty where the text has a completion.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn watched_mask(&mut self, place: &Place) -> Result<MaskWithin, EngineError> {
        let (config, watching) = (place.config, &place.watching);
        let doubtful = self.doubtful_tokens()?;
        let is_plain = doubtful.doubted(watching.is_idle()).next().is_none() && !watching.keeps_parts();
        let may_refuse = self.marks(config).can_refuse() && watching.refuses();
        if is_plain && !may_refuse && !watching.is_at_risk() {
            return Ok((self.reader.mask_of_config(config)?, MaskStatus::Exact));
        }
        self.reader.parser.begin_work()?;
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
        let n_words = vocabulary.n_words();
        let Some(config) = self.admitted(place)? else {
            return Ok((Arc::new(MaskBuilder::new(n_words).finish()), MaskStatus::Exact));
        };
        let form = self.reader.mask_of_config(config)?;
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
        for (token, after) in asked {
            let after = match after {
                Some(after) => Some(after),
                None => {
                    let bytes = vocabulary.text(token).unwrap_or_default();
                    self.numbered_run(&mut search, &root, bytes)?
                }
            };
            let found = match &after {
                Some(after) => self.completion(&mut search, after)?,
                None => Completion::None,
            };
            if found.is_found() != Some(true) {
                refused.push(token.0);
            }
            if found == Completion::Unknown {
                status = MaskStatus::Bound;
            }
        }
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
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
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
            let bytes = self.reader.next_bytes(place.config)?.intersection(&place.watching.risky_bytes());
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
        if let Some(known) = &self.memo.doubtful {
            return Ok(known.clone());
        }
        let Some(watched) = self.reader.parser.network.watched() else { return Ok(Arc::default()) };
        self.reader.parser.begin_work()?;
        let doubtful = self.reader.parser.shared.doubtful_tokens(&*watched.watch);
        Ok(self.memo.doubtful.insert(doubtful).clone())
    }

    /// The tokens with a byte that some thread at a terminal that [parts](Mark::parts) reads.
    pub(crate) fn parting_tokens(&mut self, config: ConfigId) -> Result<Arc<[TokenId]>, EngineError> {
        if let Some(known) = self.memo.parting.get(&config) {
            return Ok(known.clone());
        }
        let Some(parting_bytes) =
            self.reader.parser.network.watched().map(|watched| watched.watch.parting_bytes())
        else {
            return Ok(Arc::default());
        };
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
        let trie = vocabulary.trie();
        let mut tokens = Vec::new();
        let mut stack = vec![(Trie::ROOT, config, false)];
        while let Some((node, config, has_parted)) = stack.pop() {
            let bytes = self.reader.next_bytes(config)?;
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
                    && let Some(next) = self.reader.step(config, byte)?
                {
                    stack.push((child, next, has_parted));
                }
            }
        }
        let tokens: Arc<[TokenId]> = tokens.into();
        self.memo.n_bytes += tokens.len() * 4 + 64;
        self.memo.parting.insert(config, tokens.clone());
        Ok(tokens)
    }

    /// Bytes with which a configuration stays inside its only terminal, at the same place of it; texts of
    /// other configurations, and of terminals that [part](Mark::parts), have none.
    fn loops_inside(&self, config: ConfigId) -> Result<ByteSet, EngineError> {
        let [thread] = self.reader.parser.configs.threads(config) else { return Ok(ByteSet::EMPTY) };
        let automaton = self.reader.parser.automaton(thread.terminal);
        let is_marked = self
            .reader
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
        let Some(watched) = self.reader.parser.network.watched() else { return Ok(false) };
        for thread in self.reader.parser.configs.threads(config) {
            if !watched.mark(thread.terminal).is_some_and(Mark::parts) {
                continue;
            }
            let automaton = self.reader.parser.automaton(thread.terminal);
            let bytes = automaton.next_bytes(thread.residue).map_err(EngineError::in_terminal(automaton))?;
            if bytes.contains(byte) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
