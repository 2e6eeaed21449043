//! Completions whose tokens were stepped through, by configuration.
//!
//! When: a part of the text has a limit of its own on tokens, or not every byte is a token. First the short
//! completion (`rests`) is tried, as it is spelled with the fewest tokens; then others are searched for
//! (`budget::by_tokens`).

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_vocabulary::TokenId;

use super::{ByteLimits, end_cost, spelled};
use crate::EngineError;
use crate::budget::Ways;
use crate::budget::by_tokens::{Found, TokenGroups, Walk, search};
use crate::budget::grouping::Steps;
use crate::bytes::BytesReader;
use crate::ground::{MANY, MaskBuilder, MaskStatus, MaskWithin};
use crate::parser::ConfigId;

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
            None => search(&mut Tokens { limits: self, reader }, config)?,
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

    /// The tokens of a configuration's mask by the configuration after them, in order of their first tokens.
    pub(super) fn groups(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
    ) -> Result<TokenGroups, EngineError> {
        if let Some(known) = self.groups.get(&config) {
            return Ok(known.clone());
        }
        let vocabulary = reader.parser.shared.vocabulary.clone();
        let (groups, _) = self.unfinished.of(vocabulary.trie(), vocabulary.n_words(), config, reader)?;
        self.n_bytes += memory_of(&groups);
        self.groups.insert(config, groups.clone());
        Ok(groups)
    }

    /// Forgets the groups of a configuration.
    pub(super) fn drop_groups(&mut self, config: ConfigId) {
        if let Some(groups) = self.groups.remove(&config) {
            self.n_bytes -= memory_of(&groups);
        }
    }

    /// [`limited_mask`](ByteLimits::limited_mask) by configurations. Without a limit ([`MANY`]) it is exact
    /// unless a search was given up.
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

/// Approximate memory, in bytes.
fn memory_of(groups: &TokenGroups) -> usize {
    groups.iter().map(|(_, tokens)| tokens.memory_usage() + 32).sum::<usize>() + 64
}

impl Steps for BytesReader {
    fn next_bytes(&mut self, config: ConfigId) -> Result<ByteSet, EngineError> {
        BytesReader::next_bytes(self, config)
    }

    fn step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError> {
        BytesReader::step(self, config, byte)
    }

    fn end(&mut self, config: ConfigId, _is_exact: &mut bool) -> Result<Option<ConfigId>, EngineError> {
        self.begin_token(config).map(Some)
    }
}

/// The tokens of a grammar's masks.
struct Tokens<'a> {
    limits: &'a mut ByteLimits,
    reader: &'a mut BytesReader,
}

impl Walk for Tokens<'_> {
    fn n_words(&self) -> usize {
        self.reader.parser.shared.vocabulary.n_words()
    }

    fn n_threads(&self, config: ConfigId) -> usize {
        self.reader.parser.configs.threads(config).len()
    }

    fn is_complete(&self, config: ConfigId) -> bool {
        self.reader.parser.configs.is_accepting(config)
    }

    fn groups(&mut self, config: ConfigId) -> Result<(TokenGroups, bool), EngineError> {
        Ok((self.limits.groups(self.reader, config)?, true))
    }

    fn n_left(&mut self, config: ConfigId) -> Result<usize, EngineError> {
        let completion = self.limits.completion(self.reader, Ways::All, config)?;
        Ok(completion.map_or(usize::MAX / 2, |completion| completion.text.len()))
    }
}
