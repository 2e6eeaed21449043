//! Completions that were stepped through token by token, by configuration.
//!
//! When: a part of the text has a limit of its own on tokens, so where tokens begin matters; or not every byte is a token (stop tokens
//! that are text, small vocabularies), so that what completes a text need not be spelled at all.
//!
//! An example: `\n` is a stop token, and no other token but `\n\n` has that byte. Behind `a` in the grammar `a(\n\n|\nb)`, `\n\n` is the only way, which
//! is found by trying tokens.
//!
//! First the short completion (`rests`) is tried, as it is spelled with the fewest tokens. Else tokens are tried one by one, those first that leave
//! the fewest bytes to that completion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use super::{ByteLimits, end_cost, spelled};
use crate::EngineError;
use crate::budget::Ways;
use crate::bytes::BytesReader;
use crate::ground::{MANY, MaskBuilder, MaskForm, MaskStatus, MaskWithin};
use crate::parser::ConfigId;

/// The most tokens that one search tries, over the masks of all configurations.
const MAX_TRIED: usize = 1_000_000;
/// The most configurations that a search visits.
const MAX_PLACES: usize = 5_000;

/// What a search for a completion has found.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// Tokens, without one for the end of the text.
    Way(Arc<[TokenId]>),
    /// The vocabulary's tokens spell no completion.
    Nothing,
    /// None was found before a limit was reached.
    GivenUp,
}

/// The tokens of a configuration's mask by the configuration after them.
pub(super) type Groups = Arc<[(ConfigId, MaskForm)]>;

impl ByteLimits {
    /// A completion by tokens that were stepped through.
    ///
    /// # Errors
    /// If the call is out of work, or must be made again.
    pub(super) fn found(&mut self, reader: &mut BytesReader, config: ConfigId) -> Result<Found, EngineError> {
        if let Some(known) = self.found.get(&config) {
            return Ok(known.clone());
        }
        let found = match self.spelled_completion(reader, config)? {
            Some(way) => Found::Way(way.into()),
            None => self.search(reader, config)?,
        };
        self.n_bytes += 64;
        self.found.insert(config, found.clone());
        Ok(found)
    }

    /// The short completion, if its tokens are accepted.
    fn spelled_completion(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
    ) -> Result<Option<Vec<TokenId>>, EngineError> {
        let Some(completion) = self.completion(reader, Ways::All, config)? else { return Ok(None) };
        let vocabulary = reader.parser.shared.vocabulary.clone();
        let Some(tokens) = spelled(vocabulary.trie(), &completion.text)? else { return Ok(None) };
        let mut at = config;
        for &token in &tokens {
            let Some(next) = reader.step_all(at, vocabulary.text(token).unwrap_or_default())? else {
                return Ok(None);
            };
            at = reader.begin_token(next)?;
        }
        Ok(reader.parser.configs.is_accepting(at).then_some(tokens))
    }

    /// A completion found by trying tokens.
    fn search(&mut self, reader: &mut BytesReader, config: ConfigId) -> Result<Found, EngineError> {
        let per_place = reader.parser.shared.vocabulary.n_words() * 32;
        let max_places = (MAX_TRIED / per_place.max(1)).clamp(1, MAX_PLACES);
        // The configuration before each, and the token between.
        let mut before: FxHashMap<ConfigId, (ConfigId, TokenId)> = FxHashMap::default();
        before.insert(config, (config, TokenId(0)));
        let mut queue = BinaryHeap::from([Reverse((0, 0, 0, config))]);
        let mut n_places = 0;
        while let Some(Reverse((_, n_tokens, _, place))) = queue.pop() {
            if reader.parser.configs.is_accepting(place) {
                let (mut way, mut at) = (Vec::new(), place);
                while at != config {
                    let (from, token) = before[&at];
                    way.push(token);
                    at = from;
                }
                way.reverse();
                return Ok(Found::Way(way.into()));
            }
            n_places += 1;
            if n_places > max_places {
                return Ok(Found::GivenUp);
            }
            for (next, tokens) in self.groups(reader, place)?.iter() {
                let n_words = reader.parser.shared.vocabulary.n_words();
                let Some(first) = tokens.first(n_words).filter(|_| !before.contains_key(next)) else { continue };
                // Numbers of configurations depend on what was asked before, the order in which they are met does not.
                let number = before.len();
                before.insert(*next, (place, first));
                let left = self.completion(reader, Ways::All, *next)?.map_or(usize::MAX / 2, |rest| rest.text.len());
                queue.push(Reverse((n_tokens + 1 + left, n_tokens + 1, number, *next)));
            }
        }
        Ok(Found::Nothing)
    }

    /// The tokens of a configuration's mask by the configuration after them, in order of their first tokens.
    fn groups(&mut self, reader: &mut BytesReader, config: ConfigId) -> Result<Groups, EngineError> {
        if let Some(known) = self.groups.get(&config) {
            return Ok(known.clone());
        }
        let vocabulary = reader.parser.shared.vocabulary.clone();
        let n_words = vocabulary.n_words();
        let mut groups: FxHashMap<ConfigId, MaskBuilder> = FxHashMap::default();
        reader.visit_ends(vocabulary.trie(), config, |reader, tokens, next| {
            let next = reader.begin_token(next)?;
            groups.entry(next).or_insert_with(|| MaskBuilder::new(n_words)).insert_all(tokens);
            Ok(true)
        })?;
        let mut groups: Vec<(ConfigId, MaskForm)> =
            groups.into_iter().map(|(next, tokens)| (next, tokens.finish())).collect();
        groups.sort_unstable_by_key(|(_, tokens)| tokens.first(n_words));
        let groups: Groups = groups.into();
        self.n_bytes += groups.iter().map(|(_, tokens)| tokens.memory_usage() + 32).sum::<usize>() + 64;
        self.groups.insert(config, groups.clone());
        Ok(groups)
    }

    /// [`mask`](ByteLimits::mask) by configurations. Without a limit ([`MANY`]) it is exact unless a search was given up.
    pub(super) fn mask_by_groups(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
    ) -> Result<MaskWithin, EngineError> {
        let vocabulary = reader.parser.shared.vocabulary.clone();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        let mut status = MaskStatus::Exact;
        if reader.parser.configs.is_accepting(config) && n_left >= end_cost(reader) {
            mask.insert_all(vocabulary.eos_token_ids());
        }
        for (next, tokens) in self.groups(reader, config)?.iter() {
            let room = if n_left == MANY { MANY } else { n_left.saturating_sub(1) };
            match self.fits(reader, *next, room)? {
                Some(true) => mask.union(tokens),
                Some(false) => {}
                None => status = MaskStatus::Bound,
            }
        }
        Ok((Arc::new(mask.finish()), status))
    }
}
