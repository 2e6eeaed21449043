//! Limits on tokens of grammars with a [watch](maskwright_grammar::Watch).
//!
//! An example: items must differ, and the text is `[1,1` with three tokens left. The grammar alone could end
//! with `]` and EOS, but the second item must become another one first. So `]` is refused, and `0` is
//! allowed, since `]` and EOS fit after it.
//!
//! What the watch remembers could make a difference to every completion, so it cannot be part of tables that
//! texts share. A bound that knows nothing of it can: that of the *safe* completions, which enter no terminal
//! that [begins](maskwright_grammar::Mark::begins) something to watch, or count as many bytes for it as leave
//! one word that is not refused. A text is *at risk* where what is in progress, such as a key, may turn out
//! to be refused. Where it is not at risk, some safe completion is accepted whatever was there. Mostly that
//! is the bound of the grammar alone: nobody needs another undeclared key to close an object.
//!
//! **Invariant.** A token is allowed if the text after it is not at risk and the bound of the safe
//! completions fits, or if a completion after it was read by the watch to its end and fits
//! ([`completing_text`](Watcher::completing_text)).
//!
//! Which tokens lead to a text at risk is known without reading them all: from a text at risk by a walk along
//! what is risky, else they are listed (`mask`). Where the bounds of safe completions exclude tokens that
//! those of the grammar alone do not (an array must have more items that differ), each of them is read by
//! itself, up to [`MAX_READ`].

use std::sync::Arc;

use maskwright_vocabulary::TokenId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::search::{Completion as WayOut, Memory, Numbered, Search};
use super::{Place, Stepped, Watcher};
use crate::EngineError;
use crate::budget::{KEPT_BITS, Ways, spelled};
use crate::ground::{MaskBuilder, MaskForm, MaskStatus, MaskWithin, NEVER, TokenCountStatus, plus};
use crate::parser::ConfigId;

/// How many tokens of one mask are read to find a completion after each.
const MAX_READ: usize = 1_000;
/// Completions of more bytes are not looked for.
const MAX_BYTES: usize = 1 << 16;
/// How many bytes one search for a way out of risk may try.
const MAX_TRIED: usize = 20_000;

impl Watcher<'_> {
    /// So many tokens complete the text at `place`, EOS included; [`NEVER`] if none do.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn least(&mut self, place: &Place) -> Result<(u32, TokenCountStatus), EngineError> {
        if let Some(way) = self.way(place)? {
            return Ok((plus(way.len() as u32, self.end_cost()), TokenCountStatus::Upper));
        }
        match self.has_completion(place) {
            Ok(false) => Ok((NEVER, TokenCountStatus::Exact)),
            Ok(true) => Ok((self.safe_least(place)?, TokenCountStatus::Upper)),
            Err(error) => Err(error),
        }
    }

    /// Tokens that complete the text at `place`, without one for its end: the fewer of those along a safe
    /// completion and of those along one of the grammar alone.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn way(&mut self, place: &Place) -> Result<Option<Vec<TokenId>>, EngineError> {
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
        let least = self.limits.upper_least(self.reader, Ways::All, place.config)?;
        let mut best: Option<Vec<TokenId>> = None;
        for ways in [Ways::Safe, Ways::All] {
            if best.as_ref().is_some_and(|best| plus(best.len() as u32, self.end_cost()) <= least) {
                break;
            }
            if ways == Ways::Safe && !self.has_safe_text(place)? {
                continue;
            }
            let text = self.completing_text(place, ways)?;
            let Some(way) = text.map_or(Ok(None), |text| spelled(vocabulary.trie(), &text))? else {
                continue;
            };
            if best.as_ref().is_none_or(|best| way.len() < best.len()) {
                best = Some(way);
            }
        }
        Ok(best)
    }

    /// Whether at most `n_left` tokens complete the text at `place`; `None` if no such completion is known,
    /// although there may be one.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn fits(&mut self, place: &Place, n_left: u32) -> Result<Option<bool>, EngineError> {
        if self.limits.far.is_far(&mut self.reader.parser, place.config, Some(&*place.watching), n_left) {
            return self.has_completion(place).map(Some);
        }
        let may_end = self.reader.parser.configs.is_accepting(place.config);
        if n_left < self.end_cost() + u32::from(!may_end) {
            return Ok(Some(false));
        }
        if self.safe_least(place)? <= n_left {
            return Ok(Some(true));
        }
        // The grammar alone mostly has a completion that is as short.
        if self.limits.upper_least(self.reader, Ways::All, place.config)? > n_left {
            return Ok(None);
        }
        let way = self.way(place)?;
        let fits = way.is_some_and(|way| plus(way.len() as u32, self.end_cost()) <= n_left);
        Ok(fits.then_some(true))
    }

    /// The mask at `place` with `n_left` tokens left, EOS included. A bound may be empty.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn limited_watched_mask(
        &mut self,
        place: &Place,
        n_left: u32,
    ) -> Result<MaskWithin, EngineError> {
        if self.limits.far.is_far(&mut self.reader.parser, place.config, Some(&*place.watching), n_left) {
            return self.watched_mask(place);
        }
        self.reader.parser.begin_work()?;
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
        let n_words = vocabulary.n_words();
        let Some(admitted) = self.admitted(place)? else {
            return Ok((Arc::new(MaskBuilder::new(n_words).finish()), MaskStatus::Exact));
        };
        let (possible, do_all_fit) = self.bounded_mask(Ways::All, admitted, n_left)?;
        // What the safe completions leave open is asked token by token.
        let (safe, _) = match keeps_few(place) {
            true => self.bounded_mask(Ways::Safe, admitted, n_left)?,
            false => (Arc::new(MaskBuilder::new(n_words).finish()), false),
        };
        let mut is_bound = !do_all_fit;
        let mut search = Search::new();
        let root = search.root(place);
        // What is known of single tokens, and what must be found out.
        let mut refused: FxHashSet<u32> = FxHashSet::default();
        let mut allowed: Vec<u32> = Vec::new();
        let mut asked: Vec<(TokenId, Option<Numbered>)> = Vec::new();
        let listed = self.listed_tokens(place, admitted)?;
        asked.extend(listed.into_iter().filter(|&token| possible.contains(token)).map(|token| (token, None)));
        if place.watching.is_at_risk() {
            let risky = self.risky_tokens(&mut search, &root, vocabulary.trie())?;
            refused.extend(risky.refused);
            asked.extend(risky.unclear.into_iter().map(|token| (token, None)));
            asked.extend(risky.at_risk.into_iter().map(|(token, place)| (token, Some(place))));
        }
        if !Arc::ptr_eq(&possible, &safe) {
            // Mostly they are equal, and long: packed, they are compared 32 tokens at a time.
            let (mut words, mut safe_words) = (vec![0; n_words], vec![0; n_words]);
            possible.write(&mut words);
            safe.write(&mut safe_words);
            for (at, (word, safe)) in words.into_iter().zip(safe_words).enumerate() {
                let mut between = word & !safe;
                while between != 0 {
                    asked.push((TokenId((at * 32) as u32 + between.trailing_zeros()), None));
                    between &= between - 1;
                }
            }
        }
        // What can come depends on the configuration, and on what is remembered there.
        let mut alike: FxHashMap<(ConfigId, Memory), bool> = FxHashMap::default();
        let mut n_left_to_read = MAX_READ;
        let eos = vocabulary.eos_token_ids();
        for (token, after) in asked {
            if eos.contains(&token) || !refused.insert(token.0) || !possible.contains(token) {
                continue;
            }
            if n_left_to_read == 0 {
                is_bound = true;
                continue;
            }
            let bytes = vocabulary.text(token).unwrap_or_default();
            let after = match after {
                Some(after) => Some(after),
                None => self.numbered_run(&mut search, &root, bytes)?,
            };
            let Some(after) = after else { continue };
            let key = (after.place.config, after.memory());
            let fits = match alike.get(&key) {
                Some(&known) => known,
                None => {
                    n_left_to_read -= 1;
                    self.fits(&after.place, n_left - 1)? == Some(true)
                }
            };
            alike.insert(key, fits);
            if fits {
                allowed.push(token.0);
            } else {
                is_bound = is_bound || self.has_completion(&after.place).unwrap_or(true);
            }
        }
        let status = if is_bound { MaskStatus::Bound } else { MaskStatus::Exact };
        if refused.is_empty() {
            return Ok((safe, status));
        }
        let mut refused: Vec<u32> = refused.into_iter().collect();
        refused.sort_unstable();
        let mut mask = MaskBuilder::new(n_words);
        mask.union_without(&safe, &refused);
        allowed.sort_unstable();
        mask.insert_all(&allowed.into_iter().map(TokenId).collect::<Vec<_>>());
        Ok((Arc::new(mask.finish()), status))
    }

    /// Whether a safe completion is known to its end.
    fn has_safe_text(&mut self, place: &Place) -> Result<bool, EngineError> {
        if place.watching.is_at_risk() {
            return Ok(false);
        }
        let Some(admitted) = self.admitted(place)? else { return Ok(false) };
        let safe = self.limits.completion(self.reader, Ways::Safe, admitted)?;
        Ok(safe.is_some_and(|safe| safe.is_whole))
    }

    /// A text that completes the one at `place`, as the watch has read it: along a completion by `ways`,
    /// which is left where the text is at risk for the shortest way out of risk.
    fn completing_text(&mut self, place: &Place, ways: Ways) -> Result<Option<Vec<u8>>, EngineError> {
        let (mut text, mut at) = (Vec::new(), place.clone());
        let bytes = self.reader.parser.shared.vocabulary.single_bytes();
        while text.len() < MAX_BYTES {
            let Some(admitted) = self.admitted(&at)? else { return Ok(None) };
            if self.reader.parser.configs.is_accepting(admitted) {
                return Ok(Some(text));
            }
            let before = text.len();
            if at.watching.is_at_risk() {
                let mut search = Search::within(MAX_TRIED, bytes);
                let root = search.root(&at);
                let WayOut::Begins(bytes) = self.new_completion(&mut search, &root)? else { return Ok(None) };
                let Some(next) = self.run(&at, &bytes)? else { return Ok(None) };
                at = next;
                text.extend(bytes);
            } else {
                let Some(rest) = self.limits.completion(self.reader, ways, admitted)? else {
                    return Ok(None);
                };
                for byte in rest.text {
                    if self.step(&mut at, byte)? == Stepped::Refused {
                        break;
                    }
                    text.push(byte);
                    if ways == Ways::All && at.watching.is_at_risk() {
                        break;
                    }
                }
            }
            if text.len() == before {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The bound of the safe completions, EOS included; [`NEVER`] where none is known, or the text is at
    /// risk.
    fn safe_least(&mut self, place: &Place) -> Result<u32, EngineError> {
        if place.watching.is_at_risk() || !keeps_few(place) {
            return Ok(NEVER);
        }
        let least = self.limits.upper_least(self.reader, Ways::Safe, place.config)?;
        Ok(if is_few(least) { least } else { NEVER })
    }

    /// The tokens that `ways` within the limit come after, and whether these are all.
    fn bounded_mask(
        &mut self,
        ways: Ways,
        config: ConfigId,
        n_left: u32,
    ) -> Result<(Arc<MaskForm>, bool), EngineError> {
        let n_left = if ways == Ways::Safe { n_left.min(MAX_SAFE) } else { n_left };
        if self.limits.do_all_fit(self.reader, ways, config, n_left)? {
            return Ok((self.reader.mask_of_config(config)?, true));
        }
        let profile = self.limits.profile(self.reader, ways, config)?;
        if profile.most().is_some_and(|most| most < n_left) {
            return Ok((self.reader.mask_of_config(config)?, true));
        }
        let mask = profile.tokens_within(n_left, self.reader.parser.shared.vocabulary.n_words());
        Ok((Arc::new(mask), false))
    }

    /// The tokens that are known to fit or not only one by one.
    fn listed_tokens(&mut self, place: &Place, admitted: ConfigId) -> Result<Vec<TokenId>, EngineError> {
        let watching = &place.watching;
        let mut tokens = Vec::new();
        if watching.keeps_parts() {
            tokens.extend(self.parting_tokens(admitted)?.iter());
        }
        let doubtful = self.doubtful_tokens()?;
        tokens.extend(doubtful.doubted(watching.is_idle()));
        tokens.extend(doubtful.beginning(watching.is_idle()));
        Ok(tokens)
    }

    /// The tokens that the end of a text takes.
    fn end_cost(&self) -> u32 {
        u32::from(!self.reader.parser.shared.vocabulary.eos_token_ids().is_empty())
    }
}

/// A completion of at most so many tokens adds few enough to what the watch keeps.
const MAX_SAFE: u32 = 1 << (KEPT_BITS - 2);

fn is_few(n_tokens: u32) -> bool {
    n_tokens < MAX_SAFE
}

/// Whether the watch keeps so few that one of the words that safe completions count for a terminal is not
/// refused.
fn keeps_few(place: &Place) -> bool {
    place.watching.n_kept() < 1 << (KEPT_BITS - 1)
}
