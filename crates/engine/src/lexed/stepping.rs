//! From byte to byte, and over several bytes at once.
//!
//! Whether a thread has a completion is mostly known at once, but some take a search, which may be given up
//! ([`completion`](super::completion)). So bytes that are read at once, those of a token, are read *loosely*: threads are
//! followed that only a search could tell to be dead, and the search is made for what is left at the end. A mask asks of
//! the ends of tokens too, so that what it allows is accepted, however hard it is to say what may follow a part of it.
//!
//! Where a search is given up, its thread is kept if another one has a completion: the text has one then, and masks judge
//! the ends of tokens anew. If no thread is known to have one, the text is *undecided*: it is refused, and a mask that leaves
//! it out says that it is a bound. If a longer text is read in one call, only its end is judged, so a whole text of the
//! language is always accepted.
//!
//! Rejected: a search for each thread at each byte. A mask then allowed tokens (`"ab"`, which has a short completion) that
//! could not be accepted for a byte within (`"a"`, a reading of which has none as far as one looks).

use super::{Lexed, LexedThread};
use crate::EngineError;
use crate::ground::hooks;
use crate::parser::{ConfigId, Parser};

/// Of bytes read at once, searches are made after so many, so that dead threads do not pile up.
const MAX_LOOSE: usize = 64;

/// A configuration after its threads were judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Settled {
    /// The threads that have a completion, at least one, and those for which this is not known.
    Viable(ConfigId),
    /// No thread has a completion.
    Dead,
    /// No thread is known to have a completion, but searches were given up.
    Undecided,
}

impl Settled {
    /// The configuration, if the text is known to have a completion.
    pub(crate) fn viable(self) -> Option<ConfigId> {
        match self {
            Settled::Viable(config) => Some(config),
            Settled::Dead | Settled::Undecided => None,
        }
    }
}

impl Lexed {
    /// The configuration after one more byte; `None` if no word of the language is known to continue with it.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn step(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        byte: u8,
    ) -> Result<Option<ConfigId>, EngineError> {
        match self.step_loosely(parser, config, byte)? {
            Some(next) => Ok(self.settle(parser, next)?.viable()),
            None => Ok(None),
        }
    }

    /// The configuration after `bytes`; `None` if no word of the language is known to continue with them.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn step_all(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        bytes: &[u8],
    ) -> Result<Option<ConfigId>, EngineError> {
        Ok(self.settle_all(parser, config, bytes)?.viable())
    }

    /// The judged configuration after `bytes`.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn settle_all(
        &mut self,
        parser: &mut Parser,
        mut config: ConfigId,
        bytes: &[u8],
    ) -> Result<Settled, EngineError> {
        for (index, &byte) in bytes.iter().enumerate() {
            match self.step_loosely(parser, config, byte)? {
                Some(next) => config = next,
                None => return Ok(Settled::Dead),
            }
            if (index + 1) % MAX_LOOSE == 0 {
                match self.settle(parser, config)? {
                    Settled::Viable(settled) => config = settled,
                    Settled::Dead => return Ok(Settled::Dead),
                    // A thread may prove to have one after more bytes.
                    Settled::Undecided => {}
                }
            }
        }
        self.settle(parser, config)
    }

    /// The threads after one more byte, except those that are known to have no completion.
    pub(crate) fn step_loosely(
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
            for outcome in self.points.hypotheses.step(thread.hypothesis, byte)? {
                let outcome = self.points.hypotheses.outcome(outcome);
                if !self.points.hypotheses.is_for(&outcome, is_nested) {
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

    /// Judges a configuration: removes the threads that have no completion.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn settle(&mut self, parser: &mut Parser, config: ConfigId) -> Result<Settled, EngineError> {
        match self.unsettled.get(&config) {
            None => return Ok(Settled::Viable(config)),
            Some(&Some(known)) => return Ok(known),
            Some(None) => {}
        }
        parser.begin_work()?;
        let mut left: Vec<LexedThread> = Vec::new();
        let (mut has_completion, mut is_open) = (false, false);
        for index in 0..self.configs.threads(config).len() {
            let thread = self.configs.threads(config)[index];
            let is_viable = self.is_viable(parser, thread)?;
            has_completion |= is_viable == Some(true);
            is_open |= is_viable.is_none();
            if is_viable != Some(false) {
                left.push(thread);
            }
        }
        let settled = if has_completion {
            self.intern(parser, &mut left)?.map_or(Settled::Dead, Settled::Viable)
        } else if is_open {
            Settled::Undecided
        } else {
            Settled::Dead
        };
        self.unsettled.insert(config, Some(settled));
        Ok(settled)
    }
}
