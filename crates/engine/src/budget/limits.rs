//! Limits on tokens, whatever reads the text.
//!
//! Over bytes and over the tokens of a lexer, completions are found in two ways ([`ByteLimits`],
//! [`LexedBudget`]). Both answer the same questions.

use maskwright_vocabulary::TokenId;

use super::lexed::LexedBudget;
use super::over_bytes::ByteLimits;
use crate::EngineError;
use crate::ground::{MaskWithin, TokenCountStatus, hooks};
use crate::lexed::{Lexed, States};
use crate::parser::{ConfigId, Parser};
use crate::reader::Reader;

/// What is known about limits on tokens of one grammar.
#[derive(Default)]
pub(crate) struct LimitsMemo {
    pub(crate) bytes: ByteLimits,
    /// Made when a first limit is asked for.
    lexed: Option<Box<LexedBudget>>,
}

impl LimitsMemo {
    /// Builds the tables that no text changes.
    pub(crate) fn prepare(&mut self, reader: &mut Reader) {
        if let Reader::Bytes(reader) = reader {
            self.bytes.prepare(reader);
        }
    }

    /// So many tokens complete the text, EOS included, whatever a watch may say.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn least(
        &mut self,
        reader: &mut Reader,
        config: ConfigId,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        match reader {
            Reader::Bytes(reader) => self.bytes.least(reader, config),
            Reader::Lexed { lexed, parser } => {
                self.ask_lexed(lexed, parser, |budget, states, parser| budget.least(states, parser, config))
            }
        }
    }

    /// Whether at most `n_left` tokens complete the text, EOS included; `None` if no such completion is
    /// known, although there may be one.
    ///
    /// # Errors
    /// As [`least`](LimitsMemo::least).
    pub(crate) fn fits(
        &mut self,
        reader: &mut Reader,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<bool>, EngineError> {
        match reader {
            Reader::Bytes(reader) => self.bytes.fits(reader, config, n_left),
            Reader::Lexed { lexed, parser } => self.ask_lexed(lexed, parser, |budget, states, parser| {
                budget.fits(states, parser, config, n_left)
            }),
        }
    }

    /// Tokens that complete the text, without one for its end, as many as [`least`](LimitsMemo::least) says.
    ///
    /// # Errors
    /// As [`least`](LimitsMemo::least).
    pub(crate) fn way(
        &mut self,
        reader: &mut Reader,
        config: ConfigId,
    ) -> Result<Option<Vec<TokenId>>, EngineError> {
        match reader {
            Reader::Bytes(reader) => self.bytes.way(reader, config),
            Reader::Lexed { lexed, parser } => {
                self.ask_lexed(lexed, parser, |budget, states, parser| budget.way(states, parser, config))
            }
        }
    }

    /// The mask with `n_left` tokens left, EOS included; `None` if it is that without a limit. A bound may be
    /// empty.
    ///
    /// # Errors
    /// As [`least`](LimitsMemo::least).
    pub(crate) fn limited_mask(
        &mut self,
        reader: &mut Reader,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<MaskWithin>, EngineError> {
        match reader {
            Reader::Bytes(reader) => self.bytes.limited_mask(reader, config, n_left),
            Reader::Lexed { lexed, parser } => self.ask_lexed(lexed, parser, |budget, states, parser| {
                budget.limited_mask(states, parser, config, n_left)
            }),
        }
    }

    /// Runs `ask` for a lexed grammar.
    fn ask_lexed<T>(
        &mut self,
        lexed: &mut Lexed,
        parser: &mut Parser,
        ask: impl FnOnce(&mut LexedBudget, &mut States, &mut Parser) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let budget = self.lexed.get_or_insert_with(|| Box::new(LexedBudget::new(parser)));
        hooks::reach("lexed budget");
        let answer = ask(budget, &mut lexed.states, parser);
        budget.trim();
        answer
    }

    /// Drops what is memoised.
    pub(crate) fn clear(&mut self) {
        self.lexed.iter_mut().for_each(|budget| budget.clear());
        self.bytes.clear();
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.bytes.memory_usage() + self.lexed.as_ref().map_or(0, |budget| budget.memory_usage())
    }
}
