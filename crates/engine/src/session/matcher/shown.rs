//! What a session remembers of its last mask, and what a call makes of work that ran out.

use std::sync::Arc;

use maskwright_automata::meter;
use maskwright_vocabulary::{TokenId, Vocabulary};

use crate::EngineError;
use crate::ground::MaskForm;
use crate::session::state::{State, Witness};

/// A state, with the tokens left there if they are limited.
#[derive(Clone)]
pub(super) struct At {
    pub(super) state: State,
    pub(super) n_left: Option<u32>,
}

impl At {
    pub(super) fn is(&self, state: &State, n_left: Option<u32>) -> bool {
        let is_bound_alike = match (&self.state.witness, &state.witness) {
            (None, None) => true,
            (Some(own), Some(other)) => own.tokens() == other.tokens(),
            _ => false,
        };
        self.n_left == n_left && is_bound_alike && self.state.is_alike(state)
    }
}

/// The last mask, and the state it was made for.
pub(super) struct Shown {
    pub(super) at: At,
    pub(super) mask: Arc<MaskForm>,
    /// The completion whose first token the mask has because of it.
    pub(super) witness: Option<Witness>,
}

impl Shown {
    /// What the text is bound to after a token of the mask.
    pub(super) fn witness_after(
        &self,
        token: TokenId,
        symbol: Option<u8>,
        vocabulary: &Vocabulary,
    ) -> Option<Witness> {
        self.witness.as_ref()?.after(token, symbol, vocabulary)
    }
}

/// What a call has found with the work that it may do; `None` if that did not suffice. That a caller's own
/// limit did not is an error.
pub(super) fn unless_out_of_work<T>(found: Result<T, EngineError>) -> Result<Option<T>, EngineError> {
    match found {
        Err(error) if error.is_out_of_work() && meter::left() > 0 => Ok(None),
        found => found.map(Some),
    }
}

/// Whether `ask` says yes of all; asked until it does not.
pub(super) fn all<T>(
    items: &[T],
    mut ask: impl FnMut(&T) -> Result<bool, EngineError>,
) -> Result<(), EngineError> {
    for item in items {
        if !ask(item)? {
            break;
        }
    }
    Ok(())
}
