//! Limits on tokens over bytes.
//!
//! A token is allowed if a completion after it is known that fits ([`Rests`]). Whether one does is asked in
//! this order:
//!
//! * of the limit alone: is it so far that every token fits (`far`)?
//! * of all tokens of the mask together, without telling them apart (`highest`);
//! * of groups of tokens that go on alike (`profiles`).
//!
//! Where not every completion that is chosen can be used, since a part has a limit of its own on tokens, or
//! not every byte is a token, the last two are replaced by a walk over tokens, each stepped through
//! (`by_tokens`).
//!
//! A mask that lacks tokens by this is a bound: they could fit by completions that are not looked for. A
//! session adds the next token of the completion that fits, so no mask is empty (`session::matcher::masks`).

mod by_tokens;
mod highest;
mod profiles;

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::TerminalId;
use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use super::Ways;
use super::by_tokens::{Found, TokenGroups};
use super::far::Far;
use super::grouping::Groupings;
use super::rests::{Completion, Rests};
use super::spelled::spelled;
use crate::EngineError;
use crate::bytes::BytesReader;
use crate::ground::{MaskBuilder, MaskStatus, MaskWithin, NEVER, TokenCountStatus, hooks, plus};
use crate::parser::{ConfigId, Parser};
use profiles::Profiles;

/// How much of a text is looked at to see whether it is the only one.
const MAX_FORCED: usize = 4_096;

/// What is known about limits on tokens of one grammar over bytes.
#[derive(Default)]
pub(crate) struct ByteLimits {
    /// Of all completions, and of those that no watch refuses.
    rests: [Option<Box<Rests>>; 2],
    profiles: [Profiles; 2],
    pub(crate) far: Far,
    /// By configuration, the most tokens that a text takes after a token (see `highest`).
    highest: [FxHashMap<ConfigId, u32>; 2],
    /// By terminal, the most tokens that complete it.
    longest_rests: FxHashMap<TerminalId, u32>,
    /// Whether whatever completes a text can be used.
    is_plain: Option<bool>,
    found: FxHashMap<ConfigId, Found>,
    groups: FxHashMap<ConfigId, TokenGroups>,
    unfinished: Groupings,
    n_bytes: usize,
}

impl ByteLimits {
    /// Builds the tables that no text changes.
    pub(crate) fn prepare(&mut self, reader: &mut BytesReader) {
        let start = reader.parser.start();
        // Whether the limit is far does not matter.
        self.far.is_far(&mut reader.parser, start, None, 0);
    }

    /// So many tokens complete the text, EOS included; [`NEVER`] if none are known to.
    ///
    /// # Errors
    /// If the call is out of work, or must be made again.
    pub(crate) fn least(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        hooks::reach("budget");
        let least = match self.is_plain(reader) {
            true => self.upper_least(reader, Ways::All, config)?,
            false => match self.found(reader, config)? {
                Found::Way(way) => plus(way.len() as u32, end_cost(reader)),
                Found::Nothing => return Ok((NEVER, TokenCountStatus::Exact)),
                Found::GivenUp => NEVER,
            },
        };
        let is_least = least == floor(reader, config);
        let status = if is_least { TokenCountStatus::Exact } else { TokenCountStatus::Upper };
        Ok((least, status))
    }

    /// The same by some of the completions, whatever tokens parts may have.
    ///
    /// # Errors
    /// As [`least`](ByteLimits::least).
    pub(crate) fn upper_least(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<u32, EngineError> {
        let least = self.rests(&reader.parser, ways).least(&mut reader.parser, config)?;
        Ok(plus(least, end_cost(reader)))
    }

    /// Whether at most `n_left` tokens complete the text, EOS included: `None` if no such completion is
    /// known, although there may be one.
    ///
    /// # Errors
    /// As [`least`](ByteLimits::least).
    pub(crate) fn fits(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<bool>, EngineError> {
        if self.far.is_far(&mut reader.parser, config, None, n_left) {
            return Ok(Some(true));
        }
        if n_left < floor(reader, config) {
            return Ok(Some(false));
        }
        let (least, status) = self.least(reader, config)?;
        Ok(match least <= n_left && least != NEVER {
            true => Some(true),
            false => (status == TokenCountStatus::Exact).then_some(false),
        })
    }

    /// Tokens that complete the text, without one for its end, as many as [`least`](ByteLimits::least) says.
    ///
    /// # Errors
    /// As [`least`](ByteLimits::least).
    pub(crate) fn way(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
    ) -> Result<Option<Vec<TokenId>>, EngineError> {
        if !self.is_plain(reader) {
            return Ok(match self.found(reader, config)? {
                Found::Way(way) => Some(way.to_vec()),
                Found::Nothing | Found::GivenUp => None,
            });
        }
        match self.completion(reader, Ways::All, config)? {
            Some(Completion { text, is_whole: true }) => {
                spelled(reader.parser.shared.vocabulary.trie(), &text)
            }
            _ => Ok(None),
        }
    }

    /// The completion that [`upper_least`](ByteLimits::upper_least) counts the tokens of.
    ///
    /// # Errors
    /// As [`least`](ByteLimits::least).
    pub(crate) fn completion(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<Option<Completion>, EngineError> {
        self.rests(&reader.parser, ways).completion(&mut reader.parser, config)
    }

    /// The mask with `n_left` tokens left, EOS included; `None` if it is that without a limit. A bound may be
    /// empty.
    ///
    /// # Errors
    /// As [`least`](ByteLimits::least).
    pub(crate) fn limited_mask(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<MaskWithin>, EngineError> {
        if self.far.is_far(&mut reader.parser, config, None, n_left) {
            return Ok(None);
        }
        if !self.is_plain(reader) {
            return self.mask_by_groups(reader, config, n_left).map(Some);
        }
        if self.do_all_fit(reader, Ways::All, config, n_left)? {
            return Ok(None);
        }
        let profile = self.profile(reader, Ways::All, config)?;
        if profile.most().is_some_and(|most| most < n_left) {
            return Ok(None);
        }
        let mask = profile.tokens_within(n_left, reader.parser.shared.vocabulary.n_words());
        let status = match is_only_text(reader, config)? {
            true => MaskStatus::Exact,
            false => MaskStatus::Bound,
        };
        Ok(Some((Arc::new(mask), status)))
    }

    /// Adds tokens to `mask` that leave enough room for a completion within `n_left` tokens, of those that
    /// are known to be allowed.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_proven(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        match self.far.is_far(&mut reader.parser, config, None, n_left) {
            true => reader.add_known(config, mask),
            false => self.add_known(reader, config, n_left, mask),
        }
    }

    /// The completions of some kind. They start anew when they have grown beyond their limit, which changes
    /// no answer.
    fn rests(&mut self, parser: &Parser, ways: Ways) -> &mut Rests {
        let rests = &mut self.rests[ways as usize];
        let max_bytes = parser.shared.limits.table_bytes();
        if rests.as_ref().is_some_and(|rests| rests.memory_usage() > max_bytes) {
            *rests = None;
        }
        rests.get_or_insert_with(|| Box::new(Rests::new(ways, &parser.shared.vocabulary)))
    }

    /// Whether whatever completes a text can be used: each byte that texts can have is a token, and no part
    /// limits its tokens. Then masks are read from profiles, else from groups of tokens.
    pub(crate) fn is_plain(&mut self, reader: &BytesReader) -> bool {
        *self.is_plain.get_or_insert_with(|| {
            let parser = &reader.parser;
            // The byte 0xFF is in no text.
            let spelled = parser.shared.vocabulary.single_bytes().union(&ByteSet::singleton(0xFF));
            let others = spelled.complement();
            let is_spelled = || !parser.network.terminals().iter().any(|terminal| terminal.may_read(&others));
            !parser.network.has_token_limits() && is_spelled()
        })
    }

    /// Drops what is memoised.
    pub(crate) fn clear(&mut self) {
        self.far.clear();
        *self = ByteLimits { far: std::mem::take(&mut self.far), ..ByteLimits::default() };
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let n_highest: usize = self.highest.iter().map(|highest| highest.len()).sum();
        self.rests.iter().flatten().map(|rests| rests.memory_usage()).sum::<usize>()
            + self.profiles.iter().map(Profiles::memory_usage).sum::<usize>()
            + self.far.memory_usage()
            + self.n_bytes
            + self.unfinished.memory_usage()
            + 16 * n_highest
    }
}

/// The tokens that the end of a text takes.
fn end_cost(reader: &BytesReader) -> u32 {
    u32::from(!reader.parser.shared.vocabulary.eos_token_ids().is_empty())
}

/// No fewer tokens complete the text: one that may not end takes one more than its end.
fn floor(reader: &BytesReader, config: ConfigId) -> u32 {
    end_cost(reader) + u32::from(!reader.parser.configs.is_accepting(config))
}

/// Whether only one text goes on from `config`, so that its least number of tokens is known.
fn is_only_text(reader: &mut BytesReader, mut config: ConfigId) -> Result<bool, EngineError> {
    for _ in 0..MAX_FORCED {
        let bytes = reader.next_bytes(config)?;
        if reader.parser.configs.is_accepting(config) {
            return Ok(bytes.is_empty());
        }
        let Some(byte) = bytes.as_singleton() else { return Ok(false) };
        let Some(next) = reader.step(config, byte)? else { return Ok(false) };
        config = next;
    }
    Ok(false)
}
