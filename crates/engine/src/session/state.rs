//! Where a sequence stands.

use std::sync::Arc;

use maskwright_grammar::Watching;
use maskwright_vocabulary::{TokenId, Vocabulary};

use crate::parser::ConfigId;
use crate::watch::Place;

/// Tokens that complete a text, without one for its end.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    whole: Arc<[TokenId]>,
    start: usize,
}

impl Witness {
    pub(crate) fn new(tokens: Vec<TokenId>) -> Witness {
        Witness { whole: tokens.into(), start: 0 }
    }

    pub(crate) fn tokens(&self) -> &[TokenId] {
        &self.whole[self.start..]
    }

    /// The token to take next.
    pub(crate) fn first(&self) -> Option<TokenId> {
        self.tokens().first().copied()
    }

    /// What is left of it after a token, which may be read as a symbol; `None` if it goes on with another.
    pub(crate) fn after(
        &self,
        token: TokenId,
        symbol: Option<u8>,
        vocabulary: &Vocabulary,
    ) -> Option<Witness> {
        let first = self.first()?;
        let is_first = first == token || symbol.is_some_and(|symbol| vocabulary.symbol(symbol) == first);
        is_first.then(|| Witness { whole: self.whole.clone(), start: self.start + 1 })
    }
}

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
    /// What completes the text within the limit on tokens, where that is not what one would look for here
    /// (see `session::matcher::masks`).
    pub(crate) witness: Option<Witness>,
}

impl State {
    /// The state before any text. The first token begins at `config`, the first byte at `within`.
    pub(crate) fn start(config: ConfigId, within: ConfigId, watching: Option<Arc<dyn Watching>>) -> State {
        State { config, within, watching, n_steps: 0, n_tokens: 0, is_terminated: false, witness: None }
    }

    /// The same state, one more token counted.
    pub(crate) fn with_token(self) -> State {
        State { n_tokens: self.n_tokens + 1, ..self }
    }

    /// The state after an end-of-sequence token.
    pub(crate) fn ended(&self) -> State {
        State { is_terminated: true, n_tokens: self.n_tokens + 1, witness: None, ..self.clone() }
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

    /// Where the sequence stands, of a grammar with a watch.
    pub(crate) fn place(&self) -> Place {
        let watching = self.watching.clone().expect("a session of a watched grammar begins with its watch");
        Place { config: self.config, watching }
    }
}
