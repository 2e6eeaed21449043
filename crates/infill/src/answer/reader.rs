//! A form of the grammar in which texts of a lattice are searched for, or shown not to exist.
//!
//! An [`Infiller`](crate::Infiller) has one reader or several. A session judges what they find
//! ([judge](crate::answer)), so a reader's language may differ from that of the sessions: the JSON Schema
//! with any white space, the Lark grammar with another lexer. [`Relation`] says what its answers prove.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use maskwright_automata::Fuel;
use maskwright_engine::NamedTokens;
use maskwright_vocabulary::{TokenId, Vocabulary};
use rustc_hash::FxHashMap;

use crate::ground::InfillError;
use crate::lattice::{Lattice, MAX_AROUNDS, Read, around};

/// How the language of a reader relates to that of the sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// They are the same.
    Same,
    /// The reader has all texts of the sessions, and others.
    Wider,
    /// Neither need have all texts of the other.
    Near,
}

/// See the module.
pub(crate) struct Reader {
    /// The tokens that the grammar names by id.
    pub(crate) named: Option<NamedTokens>,
    pub(crate) relation: Relation,
    tables: Mutex<Box<dyn Read>>,
    /// By the known text around a masked position, the tokens that it lets stand there; packed. Never locked
    /// together with `tables`.
    near: Mutex<FxHashMap<Lattice, Arc<[u32]>>>,
}

impl Reader {
    pub(crate) fn new(named: Option<NamedTokens>, relation: Relation, tables: Box<dyn Read>) -> Reader {
        Reader { named, relation, tables: Mutex::new(tables), near: Mutex::default() }
    }

    /// Whether what has no text here has none at all.
    pub(crate) fn has_all(&self) -> bool {
        self.relation != Relation::Near
    }

    /// What reads. A thread that panicked has left a cache in a consistent state.
    pub(crate) fn tables(&self) -> MutexGuard<'_, Box<dyn Read>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out of `asked` the tokens that the known text next to a masked position refuses.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn refuse_near(
        &self,
        lattice: &Lattice,
        position: usize,
        asked: &mut [u32],
        (vocabulary, fuel): (&Vocabulary, &Fuel),
    ) -> Result<(), InfillError> {
        let near = around(lattice, position, [0; 2]);
        let kept = || self.near.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().get(&near).cloned();
        let allowed: Arc<[u32]> = match known {
            Some(known) => known,
            None => {
                let (mut all, mut allowed) = (vocabulary.in_trie().to_vec(), vec![0; asked.len()]);
                let position = near.focus.unwrap_or(position);
                self.tables().settle(&near, position, [&mut all, &mut allowed], fuel)?;
                let allowed: Arc<[u32]> = allowed.into();
                let mut kept = kept();
                if kept.len() >= MAX_AROUNDS {
                    kept.clear();
                }
                kept.insert(near, allowed.clone());
                allowed
            }
        };
        asked.iter_mut().zip(&*allowed).for_each(|(asked, allowed)| *asked &= allowed);
        self.tables().refuse_few(lattice, position, asked, fuel)
    }

    /// Whether `id`, a token or symbol of this reader, is a way to read `token`.
    pub(super) fn is_read_as(&self, token: TokenId, id: TokenId, vocabulary: &Vocabulary) -> bool {
        let symbol = || self.named.as_ref().and_then(|named| named.symbol(token));
        id == token || vocabulary.as_symbol(id).is_some_and(|read| symbol() == Some(read))
    }

    /// The token that an id of the reader stands for: if it is a symbol of several, one that is none of
    /// `others`.
    pub(crate) fn token_of(&self, id: TokenId, others: &[TokenId], vocabulary: &Vocabulary) -> TokenId {
        let symbol = vocabulary.as_symbol(id);
        let token = symbol.and_then(|symbol| self.named.as_ref()?.first_but(symbol, others));
        token.unwrap_or(id)
    }

    /// Whether the grammar names a token by its id where none but `tokens` may stand.
    pub(crate) fn names_only(&self, tokens: &[TokenId]) -> bool {
        tokens.iter().any(|&token| {
            let named = self.named.as_ref().and_then(|named| Some((named, named.symbol(token)?)));
            named.is_some_and(|(named, symbol)| named.first_but(symbol, tokens).is_none())
        })
    }
}
