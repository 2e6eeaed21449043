//! Who answers a session's questions about what may come next: the grammar alone, or its watch.

use maskwright_vocabulary::TokenId;

use super::state::State;
use crate::EngineError;
use crate::budget::LimitsMemo;
use crate::ground::{MaskWithin, TokenCountStatus};
use crate::reader::Reader;
use crate::watch::{Place, Watcher};

/// What answers the questions of sessions.
///
/// All of them fail if a limit is reached.
pub(super) trait Answerer {
    /// How far `bytes` can be read after `state`, and the state there.
    fn advance(&mut self, state: &State, bytes: &[u8]) -> Result<(usize, State), EngineError>;

    /// The mask of `state` without a limit on tokens.
    fn unlimited_mask(&mut self, state: &State) -> Result<MaskWithin, EngineError>;

    /// The mask of `state` with `n_left` tokens left, EOS included. A bound may be empty.
    fn limited_mask(&mut self, state: &State, n_left: u32) -> Result<MaskWithin, EngineError>;

    /// How many tokens complete the text, EOS included: an upper bound, unless its status says otherwise.
    fn least(&mut self, state: &State) -> Result<(u32, TokenCountStatus), EngineError>;

    /// Whether at most `n_left` tokens complete the text, EOS included; `None` if no such completion is
    /// known, although there may be one.
    fn fits(&mut self, state: &State, n_left: u32) -> Result<Option<bool>, EngineError>;

    /// Tokens that complete the text, without one for its end, as many as [`least`](Answerer::least) says;
    /// `None` if none are known.
    fn way(&mut self, state: &State) -> Result<Option<Vec<TokenId>>, EngineError>;
}

/// A grammar without a watch.
pub(super) struct Unwatched<'m> {
    pub(super) reader: &'m mut Reader,
    pub(super) limits: &'m mut LimitsMemo,
}

impl Answerer for Unwatched<'_> {
    fn advance(&mut self, state: &State, bytes: &[u8]) -> Result<(usize, State), EngineError> {
        let (n_viable, config) = self.reader.advance(state.config, bytes)?;
        Ok((n_viable, State { config, ..state.clone() }))
    }

    fn unlimited_mask(&mut self, state: &State) -> Result<MaskWithin, EngineError> {
        self.reader.mask_of_config(state.config)
    }

    fn limited_mask(&mut self, state: &State, n_left: u32) -> Result<MaskWithin, EngineError> {
        match self.limits.limited_mask(self.reader, state.config, n_left)? {
            Some(mask) => Ok(mask),
            None => self.unlimited_mask(state),
        }
    }

    fn least(&mut self, state: &State) -> Result<(u32, TokenCountStatus), EngineError> {
        self.limits.least(self.reader, state.config)
    }

    fn fits(&mut self, state: &State, n_left: u32) -> Result<Option<bool>, EngineError> {
        self.limits.fits(self.reader, state.config, n_left)
    }

    fn way(&mut self, state: &State) -> Result<Option<Vec<TokenId>>, EngineError> {
        self.limits.way(self.reader, state.config)
    }
}

impl Answerer for Watcher<'_> {
    fn advance(&mut self, state: &State, bytes: &[u8]) -> Result<(usize, State), EngineError> {
        let (n_viable, Place { config, watching }) = Watcher::advance(self, &state.place(), bytes)?;
        Ok((n_viable, State { config, watching: Some(watching), ..state.clone() }))
    }

    fn unlimited_mask(&mut self, state: &State) -> Result<MaskWithin, EngineError> {
        self.watched_mask(&state.place())
    }

    fn limited_mask(&mut self, state: &State, n_left: u32) -> Result<MaskWithin, EngineError> {
        self.limited_watched_mask(&state.place(), n_left)
    }

    fn least(&mut self, state: &State) -> Result<(u32, TokenCountStatus), EngineError> {
        Watcher::least(self, &state.place())
    }

    fn fits(&mut self, state: &State, n_left: u32) -> Result<Option<bool>, EngineError> {
        Watcher::fits(self, &state.place(), n_left)
    }

    fn way(&mut self, state: &State) -> Result<Option<Vec<TokenId>>, EngineError> {
        Watcher::way(self, &state.place())
    }
}
