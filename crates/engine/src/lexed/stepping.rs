//! From byte to byte, and over several bytes at once.
//!
//! Whether a thread has a completion is mostly known at once, but some take a search, which may be given up
//! ([`completion`](super::completion)). So bytes that are read at once, those of a token, are read *loosely*: threads are
//! followed that only a search could tell to be dead, and the search is made for what is left at the end. A mask asks of
//! the ends of tokens too, so that what it allows is accepted, however hard it is to say what may follow a part of it.
//!
//! Where a search is given up, its thread is kept if another one has a completion: the text has one then, and masks judge
//! the ends of tokens anew.
//!
//! Rejected: a search for each thread at each byte. A mask then allowed tokens (`"ab"`, which has a short completion) that
//! could not be accepted for a byte within (`"a"`, a reading of which has none as far as one looks).

use super::{Lexed, LexedThread};
use crate::EngineError;
use crate::configuration::ConfigId;
use crate::hooks;
use crate::parser::Parser;

/// Of bytes read at once, searches are made after so many, so that dead threads do not pile up.
const MAX_LOOSE: usize = 64;

impl Lexed {
    /// The configuration after one more byte; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached: of searches, if none of the threads is known to have a completion.
    pub(crate) fn step(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        byte: u8,
    ) -> Result<Option<ConfigId>, EngineError> {
        match self.step_loosely(parser, config, byte)? {
            Some(next) => self.settle(parser, next),
            None => Ok(None),
        }
    }

    /// The configuration after `bytes`; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// As those of [`step`](Lexed::step) with the last byte.
    pub(crate) fn step_all(
        &mut self,
        parser: &mut Parser,
        mut config: ConfigId,
        bytes: &[u8],
    ) -> Result<Option<ConfigId>, EngineError> {
        for (index, &byte) in bytes.iter().enumerate() {
            match self.step_loosely(parser, config, byte)? {
                Some(next) => config = next,
                None => return Ok(None),
            }
            if (index + 1) % MAX_LOOSE == 0 {
                match self.settle(parser, config) {
                    Ok(Some(settled)) => config = settled,
                    Ok(None) => return Ok(None),
                    // There may be one further on.
                    Err(error) if error.is_limit() => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.settle(parser, config)
    }

    /// The threads after one more byte but those that are known to have no completion.
    pub(super) fn step_loosely(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        byte: u8,
    ) -> Result<Option<ConfigId>, EngineError> {
        let key = u64::from(config.0) << 8 | u64::from(byte);
        if let Some(&known) = self.transitions.get(&key) {
            return Ok(known);
        }
        parser.begin_work()?;
        hooks::reach("lexed step");
        let mut after = Vec::new();
        let mut is_settled = true;
        for index in 0..self.configs.threads(config).len() {
            let thread = self.configs.threads(config)[index];
            let is_nested = self.layouts.get(thread.layout).depth > 0;
            for outcome in self.hypotheses.step(thread.hypothesis, byte)? {
                let outcome = self.hypotheses.outcome(outcome);
                if !self.hypotheses.is_for(&outcome, is_nested) {
                    continue;
                }
                let Some(next) = self.after(parser, thread, outcome, byte)? else { continue };
                let is_viable = self.is_viable_at_once(parser, next)?;
                if is_viable != Some(false) {
                    after.push(next);
                    is_settled &= is_viable.is_some();
                }
            }
        }
        let next = self.intern(parser, &mut after)?;
        if let Some(next) = next.filter(|_| !is_settled) {
            self.unsettled.entry(next).or_insert(None);
        }
        if parser.shared.options.use_memo {
            self.transitions.insert(key, next);
            self.memo_bytes += 24;
        }
        Ok(next)
    }

    /// The threads of a configuration but those that have no completion; `None` if none is left.
    ///
    /// # Errors
    /// If a search is given up, and no thread is known to have a completion.
    pub(super) fn settle(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Option<ConfigId>, EngineError> {
        match self.unsettled.get(&config) {
            None => return Ok(Some(config)),
            Some(&Some(known)) => return Ok(known),
            Some(None) => {}
        }
        parser.begin_work()?;
        let mut left: Vec<LexedThread> = Vec::new();
        let (mut has_completion, mut failure) = (false, None);
        for index in 0..self.configs.threads(config).len() {
            let thread = self.configs.threads(config)[index];
            match self.is_viable(parser, thread) {
                Ok(true) => {
                    has_completion = true;
                    left.push(thread);
                }
                Ok(false) => {}
                Err(error) if error.is_limit() => {
                    failure = Some(error);
                    left.push(thread);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(failure) = failure.filter(|_| !has_completion) {
            return Err(failure);
        }
        let settled = self.intern(parser, &mut left)?;
        self.unsettled.insert(config, Some(settled));
        Ok(settled)
    }
}
