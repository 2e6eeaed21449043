//! Where a sequence stands.

use std::sync::Arc;

use maskwright_grammar::Watching;

use crate::parser::ConfigId;
use crate::watch::Place;

/// Where a sequence stands.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// What the next token is read from.
    pub(crate) config: ConfigId,
    /// What the next byte is read from, if no token begins there.
    pub(crate) within: ConfigId,
    /// What the grammar's watch remembers, if it has one.
    pub(crate) watching: Option<Arc<dyn Watching>>,
    /// How many steps led here.
    pub(crate) n_steps: usize,
    /// How many of them were tokens.
    pub(crate) n_tokens: usize,
    pub(crate) is_terminated: bool,
}

impl State {
    /// The state before any text. The first token begins at `config`, the first byte at `within`.
    pub(crate) fn start(config: ConfigId, within: ConfigId, watching: Option<Arc<dyn Watching>>) -> State {
        State { config, within, watching, n_steps: 0, n_tokens: 0, is_terminated: false }
    }

    /// The same state, one more token counted.
    pub(crate) fn with_token(self) -> State {
        State { n_tokens: self.n_tokens + 1, ..self }
    }

    /// The state after an end-of-sequence token.
    pub(crate) fn ended(&self) -> State {
        State { is_terminated: true, n_tokens: self.n_tokens + 1, ..self.clone() }
    }

    /// Whether the same texts can follow.
    pub(crate) fn is_alike(&self, other: &State) -> bool {
        self.key() == other.key()
    }

    /// What decides which texts can follow; good while the state lives.
    pub(crate) fn key(&self) -> (ConfigId, ConfigId, Option<usize>) {
        let watching = self.watching.as_ref().map(|watching| Arc::as_ptr(watching).addr());
        (self.config, self.within, watching)
    }

    /// Where the sequence stands, if the grammar has a watch.
    pub(crate) fn place(&self) -> Option<Place> {
        let watching = self.watching.clone()?;
        Some(Place { config: self.config, watching })
    }
}
