//! Limits on tokens of grammars with a [watch](maskwright_grammar::Watch).
//!
//! An example: items must differ, and the text is `[1,1` with three tokens left. The grammar alone could end with `]` and EOS, but
//! the second item must become another one first. So `]` is refused, and `0` is allowed, since `]` and EOS fit after it.
//!
//! What the watch remembers could make a difference to every completion, so it cannot be part of tables that texts share. Two
//! bounds that know nothing of it can: d(c), over all completions from configuration c, is at most what the text needs;
//! s(c), over the *safe* ones, which enter no terminal that [begins](maskwright_grammar::Mark::begins) something to watch, is
//! at least that much where the text is not at risk, for those satisfy the condition whatever was there. Mostly both are one
//! number: nobody needs another undeclared key to close an object.
//!
//! **Invariant.** A token is allowed iff some completion within the limit that the watch lets pass comes after it. If the
//! text after a token is not at risk, the token is allowed if s ≤ limit and refused if d > limit. For all others a completion is
//! looked for: those found before are tried on this text, then tokens that d admits, depth first. So answers are
//! exact except where a search is given up ([`MAX_TRIED`]), and what is allowed always has its completion.
//!
//! Which tokens lead to a text at risk is known without reading them all: from a text at risk by a walk along what is risky,
//! else they are listed (`mask`). Where d and s differ (an array must have more items that differ), each token
//! between the two is read by itself.

use std::sync::Arc;

use maskwright_automata::meter;
use maskwright_grammar::Watching;
use maskwright_vocabulary::TokenId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::search::{Memory, Numbered, Search};
use super::{FoundWay, Place, Watcher};
use crate::EngineError;
use crate::budget::{Profile, Ways};
use crate::ground::{MaskBuilder, MaskForm, MaskStatus, MaskWithin, NEVER, TokenCountStatus};
use crate::parser::ConfigId;

/// How many tokens one search for a completion may try.
const MAX_TRIED: usize = 2_000;
/// How many all searches of one mask may.
const MAX_TRIED_BY_MASK: usize = 100_000;
/// How many the search may that is made when no token is left otherwise.
const MAX_TRIED_AT_LENGTH: usize = 2_000_000;
/// How many the search for the least number of tokens may.
const MAX_TRIED_FOR_LEAST: usize = 20_000;
/// How many the search for a completion may for each of its tokens.
const TRIED_PER_TOKEN: usize = 32;
/// How many tokens are tried after one place.
const MAX_CANDIDATES: usize = 2_048;
/// How many tokens a search follows one after the other.
const MAX_PATH: usize = 4_096;
/// How many completions are kept by configuration.
const MAX_KEPT: usize = 8;

/// What searches may still try.
struct Patience {
    by_search: usize,
    left: usize,
    /// The same of searches by upper bounds.
    quick: usize,
    /// Whether some search was given up.
    is_given_up: bool,
}

impl Patience {
    fn new(by_search: usize, left: usize) -> Patience {
        Patience { by_search, left, quick: left, is_given_up: false }
    }
}

impl Watcher<'_> {
    /// The least number of tokens that complete the text at `place`, EOS included; [`NEVER`] if none do.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn least(&mut self, place: &Place) -> Result<(u32, TokenCountStatus), EngineError> {
        let (least, mut status) = self.limits.least(self.reader, Ways::All, place.config)?;
        if least == NEVER || self.is_safe_within(place, least, TokenCountStatus::Exact)? {
            return Ok((least, status));
        }
        let mut patience = Patience::new(MAX_TRIED_FOR_LEAST, MAX_TRIED_FOR_LEAST);
        for n_left in least..least.saturating_add(MAX_BEYOND) {
            if self.way(place, n_left, TokenCountStatus::Exact, &mut patience)?.is_some() {
                return Ok((n_left, status));
            }
            if patience.is_given_up {
                status = TokenCountStatus::Upper;
                break;
            }
        }
        let mut beyond = 0;
        loop {
            let is_last = beyond > 2 * MAX_PATH as u32;
            let n_left = if is_last { MAX_LEAST.max(least) } else { least.saturating_add(beyond) };
            let n_tried =
                (n_left as usize).saturating_mul(TRIED_PER_TOKEN).clamp(MAX_TRIED, MAX_TRIED_BY_MASK);
            let mut quick = Patience::new(n_tried, n_tried);
            let mut patience = Patience::new(MAX_TRIED, MAX_TRIED);
            if self.way(place, n_left, TokenCountStatus::Upper, &mut quick)?.is_some()
                || self.way(place, n_left, TokenCountStatus::Exact, &mut patience)?.is_some()
            {
                return Ok((n_left, TokenCountStatus::Upper));
            }
            if is_last {
                return match patience.is_given_up {
                    true => Err(EngineError::watch_search(MAX_TRIED_BY_MASK)),
                    false => Ok((NEVER, status)),
                };
            }
            beyond = beyond * 2 + 1;
        }
    }

    /// Tokens to take next so that at most `n_left` complete the text, EOS included: all of a way to where a safe completion
    /// fits, or the next one of that. None if no way is found.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn next_steps(&mut self, place: &Place, n_left: u32) -> Result<Vec<TokenId>, EngineError> {
        if let Some(way) = self.short_way(place, n_left)? {
            return Ok(way);
        }
        if self.is_safe_within(place, n_left, TokenCountStatus::Exact)? {
            let Some(admitted) = self.admitted(place)? else { return Ok(Vec::new()) };
            // Along a shortest completion: with tokens to spare, another item could begin, which must differ from all others.
            let (least, _) = self.least_by(TokenCountStatus::Exact, Ways::Safe, place.config, n_left)?;
            let (safe, _) = self.bounded_mask(Ways::Safe, admitted, (least.min(n_left), false))?;
            // Empty if the search for this mask was given up.
            if let Some(first) = safe.first(self.reader.parser.shared.vocabulary.n_words()) {
                return Ok(vec![first]);
            }
        }
        if let Some(way) = self.found_way(place, n_left, TokenCountStatus::Upper)? {
            return Ok(way);
        }
        // In the order in which the number of tokens was found.
        for bounds in [TokenCountStatus::Upper, TokenCountStatus::Exact] {
            let mut patience = Patience::new(MAX_TRIED_BY_MASK, MAX_TRIED_BY_MASK);
            match self.way(place, n_left, bounds, &mut patience)? {
                Some(way) if way.is_empty() => {
                    // A safe completion fits by an upper bound, which the exact search has not reached.
                    let Some(admitted) = self.admitted(place)? else { return Ok(Vec::new()) };
                    let safe = self.limits.upper_profile(self.reader, Ways::Safe, admitted)?;
                    if let Some(first) = safe.tokens_within(n_left, MAX_CANDIDATES).into_iter().next() {
                        return Ok(vec![first]);
                    }
                }
                Some(way) => return Ok(way),
                None => {}
            }
        }
        let (mask, _) = self.mask_of_watched(place, n_left, false)?;
        Ok(mask.first(self.reader.parser.shared.vocabulary.n_words()).into_iter().collect())
    }

    /// The tokens of a short safe completion, if they fit.
    fn short_way(&mut self, place: &Place, n_left: u32) -> Result<Option<Vec<TokenId>>, EngineError> {
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
        let max_bytes = (n_left as usize).saturating_mul(vocabulary.max_token_bytes());
        let text = match self.limits.short_completion(self.reader, Ways::Safe, place.config, max_bytes) {
            // Another search may find one.
            Err(error) if error.is_limit() => return Ok(None),
            text => text?,
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
        let end_cost = u32::from(!vocabulary.eos_token_ids().is_empty());
        let tokens = vocabulary.spelled_by_fewest(&text);
        let fits = |tokens: &Vec<TokenId>| tokens.len() as u64 + u64::from(end_cost) <= u64::from(n_left);
        let Some(tokens) = tokens.filter(fits) else { return Ok(None) };
        // The bounds know nothing of what the watch remembers.
        let Some(end) = self.run(place, &text)? else { return Ok(None) };
        let Some(admitted) = self.admitted(&end)? else { return Ok(None) };
        Ok(self.reader.parser.configs.is_accepting(admitted).then_some(tokens))
    }

    /// Tokens to take so that a safe completion fits then, as an earlier search found them.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn known_way(
        &mut self,
        place: &Place,
        n_left: u32,
    ) -> Result<Option<Vec<TokenId>>, EngineError> {
        match self.found_way(place, n_left, TokenCountStatus::Upper)? {
            Some(way) => Ok(Some(way)),
            None => self.found_way(place, n_left, TokenCountStatus::Exact),
        }
    }

    /// A completion that an earlier search found, if it fits here too; the one that gave the number of tokens is among those
    /// tried. A new search could be given up, because with more known it takes another course.
    fn found_way(
        &mut self,
        place: &Place,
        n_left: u32,
        bounds: TokenCountStatus,
    ) -> Result<Option<Vec<TokenId>>, EngineError> {
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
        for FoundWay { tokens, start } in self.memo.found_ways.get(&place.config).cloned().unwrap_or_default()
        {
            let way = &tokens[start..];
            let Some(left) = n_left.checked_sub(way.len() as u32) else { continue };
            let bytes = way.iter().flat_map(|&token| vocabulary.text(token).unwrap_or_default());
            let bytes: Vec<u8> = bytes.copied().collect();
            if let Some(end) = self.run(place, &bytes)?
                && self.is_safe_within(&end, left, bounds)?
            {
                return Ok(Some(way.to_vec()));
            }
        }
        Ok(None)
    }

    /// Whether at most `n_left` tokens complete the text at `place`; `None` if the search was given up.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn fits(&mut self, place: &Place, n_left: u32) -> Result<Option<bool>, EngineError> {
        if self.limits.far.is_far(&mut self.reader.parser, place.config, Some(&*place.watching), n_left) {
            return self.has_completion(place).map(Some);
        }
        let mut patience = Patience::new(MAX_TRIED, MAX_TRIED);
        let mut search = Search::new();
        let root = search.root(place);
        let fits = self.fits_watched(&mut search, &root, n_left, &mut patience)?;
        Ok((fits || !patience.is_given_up).then_some(fits))
    }

    /// The mask at `place` with `n_left` tokens left, EOS included; not empty if they complete a text that is not complete.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn mask_within(
        &mut self,
        config: ConfigId,
        watching: &Arc<dyn Watching>,
        n_left: u32,
    ) -> Result<MaskWithin, EngineError> {
        if self.limits.far.is_far(&mut self.reader.parser, config, Some(&**watching), n_left) {
            return self.mask(config, watching);
        }
        self.mask_of_watched(&Place { config, watching: watching.clone() }, n_left, false)
    }

    /// Adds tokens to `mask` that begin completions already known to fit.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_proven(
        &mut self,
        place: &Place,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        match self.known_way(place, n_left)?.as_deref() {
            Some([first, ..]) => {
                mask.insert_all(&[*first]);
                Ok(())
            }
            _ if place.watching.is_at_risk() => Ok(()),
            _ => match self.admitted(place)? {
                Some(config) => self.limits.add_first(self.reader, Ways::Safe, config, n_left, mask),
                None => Ok(()),
            },
        }
    }

    fn mask_of_watched(
        &mut self,
        place: &Place,
        n_left: u32,
        is_last: bool,
    ) -> Result<MaskWithin, EngineError> {
        let watching = &place.watching;
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
        let n_words = vocabulary.n_words();
        let Some(admitted) = self.admitted(place)? else {
            return Ok((Arc::new(MaskBuilder::new(n_words).finish()), MaskStatus::Exact));
        };
        let (possible, mut status) = self.bounded_mask(Ways::All, admitted, (n_left, is_last))?;
        // What the safe completions leave open is asked token by token.
        let (safe, _) = self.bounded_mask(Ways::Safe, admitted, (n_left, is_last))?;
        let is_at_risk = watching.is_at_risk();
        let mut patience = Patience::new(MAX_TRIED, MAX_TRIED_BY_MASK);
        let mut search = Search::new();
        let root = search.root(place);
        // What is known of single tokens, and what must be found out.
        let mut refused: FxHashSet<u32> = FxHashSet::default();
        let mut allowed: Vec<u32> = Vec::new();
        let mut asked: Vec<(TokenId, Option<Numbered>)> = Vec::new();
        let listed = self.listed_tokens(place, admitted)?;
        asked.extend(listed.into_iter().filter(|&token| possible.contains(token)).map(|token| (token, None)));
        // What can come depends on the configuration, and on what is remembered there.
        let mut alike: FxHashMap<(ConfigId, Memory), bool> = FxHashMap::default();
        if is_at_risk {
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
        let eos = vocabulary.eos_token_ids();
        for (token, after) in asked {
            if eos.contains(&token) || !refused.insert(token.0) || !possible.contains(token) {
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
                // A safe completion fits, as was found of all readings together.
                None if safe.contains(token)
                    && !after.place.watching.is_at_risk()
                    && self.reader.step_all(admitted, bytes)? == Some(after.place.config) =>
                {
                    true
                }
                None => self.fits_watched(&mut search, &after, n_left - 1, &mut patience)?,
            };
            alike.insert(key, fits);
            if fits {
                allowed.push(token.0);
            }
        }
        if patience.is_given_up {
            status = MaskStatus::Bound;
        }
        if refused.is_empty() && (safe.len() > 0 || self.reader.parser.configs.is_accepting(admitted)) {
            return Ok((safe, status));
        }
        let mut refused: Vec<u32> = refused.into_iter().collect();
        refused.sort_unstable();
        let mut mask = MaskBuilder::new(n_words);
        mask.union_without(&safe, &refused);
        allowed.sort_unstable();
        mask.insert_all(&allowed.into_iter().map(TokenId).collect::<Vec<_>>());
        let form = mask.finish();
        if form.len() > 0 || self.reader.parser.configs.is_accepting(admitted) {
            return Ok((Arc::new(form), status));
        }
        // It was found before that there is a way: with more work, first for the bounds, then for the search.
        if !is_last {
            return self.mask_of_watched(place, n_left, true);
        }
        let mut patience = Patience::new(MAX_TRIED_AT_LENGTH, MAX_TRIED_AT_LENGTH);
        let way = self.way(place, n_left, TokenCountStatus::Exact, &mut patience)?;
        let first = way.as_deref().and_then(<[TokenId]>::first).copied();
        if first.is_none() && patience.is_given_up {
            return Err(EngineError::watch_search(MAX_TRIED_AT_LENGTH));
        }
        let form = MaskForm::Sparse(first.iter().map(|token| token.0).collect());
        Ok((Arc::new(form), MaskStatus::Bound))
    }

    /// The tokens that `ways` within the limit come after, with more work than usual `at_length`.
    fn bounded_mask(
        &mut self,
        ways: Ways,
        config: ConfigId,
        (n_left, at_length): (u32, bool),
    ) -> Result<MaskWithin, EngineError> {
        if self.limits.do_all_fit(self.reader, ways, config, n_left)? {
            return Ok((self.reader.mask(config)?, MaskStatus::Exact));
        }
        let (profile, status): (Arc<Profile>, _) = match at_length {
            true => self.limits.profile_at_length(self.reader, ways, config)?,
            false => self.limits.profile_within(self.reader, ways, config, n_left)?,
        };
        if profile.most().is_some_and(|most| most < n_left) {
            return Ok((self.reader.mask(config)?, MaskStatus::Exact));
        }
        let mask = profile.mask(n_left, self.reader.parser.shared.vocabulary.n_words());
        Ok((Arc::new(mask), status.into()))
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

    /// The least number of tokens of some of the completions, or an upper bound if that is asked for or is at most `n_left`.
    fn least_by(
        &mut self,
        bounds: TokenCountStatus,
        ways: Ways,
        config: ConfigId,
        n_left: u32,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        match bounds {
            TokenCountStatus::Upper => Ok((self.limits.upper_least(self.reader, ways, config)?, bounds)),
            TokenCountStatus::Exact => self.limits.least_within(self.reader, ways, config, n_left),
        }
    }

    /// Whether a safe completion fits; no, where the text is at risk. With upper bounds, whether these say so.
    fn is_safe_within(
        &mut self,
        place: &Place,
        n_left: u32,
        bounds: TokenCountStatus,
    ) -> Result<bool, EngineError> {
        if place.watching.is_at_risk() {
            return Ok(false);
        }
        Ok(self.least_by(bounds, Ways::Safe, place.config, n_left)?.0 <= n_left)
    }

    fn fits_watched(
        &mut self,
        search: &mut Search,
        at: &Numbered,
        n_left: u32,
        patience: &mut Patience,
    ) -> Result<bool, EngineError> {
        let place = &at.place;
        let (least, status) = self.limits.least_within(self.reader, Ways::All, place.config, n_left)?;
        if least > n_left {
            patience.is_given_up |= status == TokenCountStatus::Upper;
            return Ok(false);
        }
        if self.is_safe_within(place, n_left, TokenCountStatus::Exact)? {
            return Ok(true);
        }
        match self.completion(search, at)?.is_found() {
            Some(true) => {}
            found => {
                patience.is_given_up |= found.is_none();
                return Ok(false);
            }
        }
        if self.found_way(place, n_left, TokenCountStatus::Exact)?.is_some() {
            return Ok(true);
        }
        // Few completions are looked at where the limit is near, and mostly one is among them. Those that upper bounds tell
        // of are found faster.
        let is_given_up = std::mem::take(&mut patience.is_given_up);
        let is_bounded = status == TokenCountStatus::Upper;
        let fits = is_bounded && self.quick_way_near(place, least, n_left, patience)?
            || self.way_near(place, least, n_left, TokenCountStatus::Exact, patience)?;
        let mut fits = fits || !is_bounded && self.quick_way_near(place, least, n_left, patience)?;
        if !fits {
            patience.is_given_up = false;
            fits = self.way(place, n_left, TokenCountStatus::Exact, patience)?.is_some();
        }
        patience.is_given_up = is_given_up || patience.is_given_up && !fits;
        Ok(fits)
    }

    /// Whether there is a way within a limit that is below `n_left` and near to `least`.
    fn way_near(
        &mut self,
        place: &Place,
        least: u32,
        n_left: u32,
        bounds: TokenCountStatus,
        patience: &mut Patience,
    ) -> Result<bool, EngineError> {
        let mut beyond = 0;
        while least.saturating_add(beyond) < n_left {
            if self.way(place, least + beyond, bounds, patience)?.is_some() {
                return Ok(true);
            }
            beyond = beyond * 2 + 1;
        }
        Ok(false)
    }

    /// The same by upper bounds.
    fn quick_way_near(
        &mut self,
        place: &Place,
        least: u32,
        n_left: u32,
        patience: &mut Patience,
    ) -> Result<bool, EngineError> {
        // What stops this search does not say that there is nothing.
        let most = patience.by_search.min(patience.quick);
        let mut quick = Patience::new(most, most);
        let is_found = self.way_near(place, least, n_left, TokenCountStatus::Upper, &mut quick)?;
        patience.quick -= most - quick.left;
        Ok(is_found)
    }

    /// Tokens that lead to a text from which a safe completion fits, all within `n_left` tokens; kept by configuration. With upper
    /// bounds only of those that these admit.
    fn way(
        &mut self,
        start: &Place,
        n_left: u32,
        bounds: TokenCountStatus,
        patience: &mut Patience,
    ) -> Result<Option<Vec<TokenId>>, EngineError> {
        struct Step {
            place: Place,
            n_left: u32,
            tokens: Candidates,
            are_cut: bool,
        }
        let vocabulary = self.reader.parser.shared.vocabulary.clone();
        if self.is_safe_within(start, n_left, bounds)? {
            return Ok(Some(Vec::new()));
        }
        let last = patience.left.saturating_sub(patience.by_search);
        let (tokens, are_cut) = self.candidates(start, n_left, bounds)?;
        let mut steps = vec![Step { place: start.clone(), n_left, tokens, are_cut }];
        let mut path: Vec<TokenId> = Vec::new();
        while let Some(step) = steps.last_mut() {
            let Some(token) = step.tokens.next() else {
                patience.is_given_up |= step.are_cut;
                steps.pop();
                path.pop();
                continue;
            };
            if patience.left <= last || patience.left == 0 {
                patience.is_given_up = true;
                return Ok(None);
            }
            patience.left -= 1;
            let Some(left) = step.n_left.checked_sub(1) else { continue };
            let bytes = vocabulary.text(token).unwrap_or_default();
            let Some(next) = self.run(&step.place, bytes)? else { continue };
            path.push(token);
            if self.is_safe_within(&next, left, bounds)? {
                let found: Arc<[TokenId]> = path.as_slice().into();
                for (at, step) in steps.iter().enumerate() {
                    let known = self.memo.found_ways.entry(step.place.config).or_default();
                    known.truncate(MAX_KEPT - 1);
                    known.insert(0, FoundWay { tokens: found.clone(), start: at });
                }
                self.memo.n_bytes += path.len() * 64;
                return Ok(Some(path));
            }
            if path.len() >= MAX_PATH {
                patience.is_given_up = true;
                path.pop();
                continue;
            }
            let (least, status) = self.least_by(bounds, Ways::All, next.config, left)?;
            if least <= left {
                let (tokens, are_cut) = self.candidates(&next, left, bounds)?;
                steps.push(Step { place: next, n_left: left, tokens, are_cut });
            } else {
                // An upper bound does not say that no completion is that short.
                patience.is_given_up |= status == TokenCountStatus::Upper;
                path.pop();
            }
        }
        Ok(None)
    }

    /// Tokens that a completion within `n_left` may begin with, those with the shortest safe completions first, then
    /// those with the shortest; and whether there are more.
    fn candidates(
        &mut self,
        place: &Place,
        n_left: u32,
        bounds: TokenCountStatus,
    ) -> Result<(Candidates, bool), EngineError> {
        let Some(config) = self.admitted(place)? else { return Ok((Candidates::default(), false)) };
        let mut tokens = Vec::new();
        let mut are_cut = false;
        for ways in [Ways::Safe, Ways::All] {
            let (profile, status) = match bounds {
                TokenCountStatus::Upper => (self.limits.upper_profile(self.reader, ways, config)?, bounds),
                TokenCountStatus::Exact => self.limits.profile_within(self.reader, ways, config, n_left)?,
            };
            are_cut |= ways == Ways::All && status == TokenCountStatus::Upper;
            let offered = profile.tokens_within(n_left, MAX_CANDIDATES);
            are_cut |= offered.len() >= MAX_CANDIDATES;
            tokens.extend(offered);
        }
        meter::spend(tokens.len() as u64)?;
        let eos = self.reader.parser.shared.vocabulary.eos_token_ids();
        let met = eos.iter().copied().collect();
        Ok((Candidates { tokens: tokens.into_iter(), met }, are_cut))
    }
}

/// Tokens to try. Each comes once, and none of them ends the text.
#[derive(Default)]
struct Candidates {
    tokens: std::vec::IntoIter<TokenId>,
    met: FxHashSet<TokenId>,
}

impl Iterator for Candidates {
    type Item = TokenId;

    fn next(&mut self) -> Option<TokenId> {
        let met = &mut self.met;
        self.tokens.find(|&token| met.insert(token))
    }
}

/// How many tokens more than the least of the grammar alone are tried one by one.
const MAX_BEYOND: u32 = 16;
/// Completions of more tokens are not looked for where none of fewer is found.
const MAX_LEAST: u32 = 1 << 20;
