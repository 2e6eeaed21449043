//! A form of the grammar in which texts of a lattice are searched for, or shown not to exist.
//!
//! An [`Infiller`](crate::Infiller) has one reader or several. A session judges what they find ([`crate::judge`]), so
//! a reader's language may differ from that of the sessions: the JSON Schema with any white space, the Lark grammar
//! with another lexer. [`Relation`] says what its answers prove.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use maskwright_automata::Fuel;
use maskwright_engine::NamedTokens;
use maskwright_vocabulary::{TokenId, Vocabulary, symbol_text};
use rustc_hash::FxHashMap;

use crate::InfillError;
use crate::filling::Filling;
use crate::lattice::{Lattice, Piece};
use crate::question::Place;
use crate::wide::{around, wide};

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

/// What a search has found.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// A text that ends at a boundary, and what it puts into the unknown places before.
    Text { end: usize, fillings: Vec<Filling> },
    /// There is no text.
    Nothing,
    /// The search has ended before that was known.
    Unknown,
}

/// How a lattice is searched, with about how many facts of a chart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// Where a text is likely.
    Likely(usize),
    /// Everywhere.
    Whole(usize),
}

/// How far an impossible lattice can be read.
pub(crate) struct Blocked {
    /// The first piece that nothing reads to its end.
    pub(crate) position: usize,
    /// How many bytes of it something reads, if it is a text.
    pub(crate) n_bytes: usize,
}

/// A token of a lexer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LexerToken {
    /// `None` if it is ignored.
    pub(crate) terminal: Option<u32>,
    /// The bytes it takes.
    pub(crate) range: Range<usize>,
}

/// What reads lattices. Each call takes what it needs from `fuel`, and reaching that limit is an error that changes nothing.
///
/// In masks, `asked` are the tokens of masked position `position` of which nothing is known, and `allowed` those that some text of the
/// lattice has there; packed, with symbols.
///
/// What a reader does not define it does not know.
#[allow(unused_variables, reason = "a reader that knows nothing")]
pub(crate) trait Read: Send {
    /// Looks for a text.
    fn search(&mut self, lattice: &Lattice, effort: Effort, fuel: &Fuel) -> Result<Outcome, InfillError> {
        Ok(Outcome::Unknown)
    }

    /// Whether there is a text, if about `n_facts` facts say.
    fn has_text(
        &mut self,
        lattice: &Lattice,
        n_facts: usize,
        fuel: &Fuel,
    ) -> Result<Option<bool>, InfillError> {
        Ok(None)
    }

    /// A lattice of more texts that is smaller to read: it forgets how many masked positions follow each other.
    fn widened(&self, lattice: &Lattice) -> Lattice {
        wide(lattice)
    }

    /// Takes out of `asked`, if that is few tokens, those that the text near the position refuses, masked positions there included.
    fn refuse_few(
        &mut self,
        lattice: &Lattice,
        position: usize,
        asked: &mut [u32],
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        Ok(())
    }

    /// Moves tokens from `asked` to `allowed`, those that about `n_facts` facts show to be possible.
    fn prove(
        &mut self,
        lattice: &Lattice,
        position: usize,
        masks: [&mut [u32]; 2],
        n_facts: usize,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        Ok(())
    }

    /// Moves all tokens that are possible from `asked` to `allowed`, and clears `asked`.
    fn settle(
        &mut self,
        lattice: &Lattice,
        position: usize,
        masks: [&mut [u32]; 2],
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        Ok(())
    }

    /// The tokens of a whole text, if there is a lexer and it reads all of it.
    fn tokens(&mut self, text: &[u8]) -> Result<Option<Vec<LexerToken>>, InfillError> {
        Ok(None)
    }

    /// How far a lattice without a text can be read.
    fn blocked(&mut self, lattice: &Lattice, fuel: &Fuel) -> Result<Blocked, InfillError> {
        Ok(Blocked { position: 0, n_bytes: 0 })
    }
}

/// A form that cannot be read: it finds nothing and refutes nothing, so only sessions say anything.
pub(crate) struct Unread;

impl Read for Unread {}

/// For how many neighbourhoods of known text a reader keeps what they let stand between them.
const MAX_NEAR: usize = 256;

/// See the module.
pub(crate) struct Reader {
    /// The tokens that the grammar names by id.
    pub(crate) named: Option<NamedTokens>,
    pub(crate) relation: Relation,
    tables: Mutex<Box<dyn Read>>,
    /// By the known text around a masked position, the tokens that it lets stand there; packed. Never locked together with `tables`.
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
                if kept.len() >= MAX_NEAR {
                    kept.clear();
                }
                kept.insert(near, allowed.clone());
                allowed
            }
        };
        asked.iter_mut().zip(&*allowed).for_each(|(asked, allowed)| *asked &= allowed);
        self.tables().refuse_few(lattice, position, asked, fuel)
    }

    /// The pieces that a place can be read as; at least one.
    pub(crate) fn pieces(&self, place: &Place, vocabulary: &Vocabulary) -> Vec<Piece> {
        match place {
            Place::Text(text) => vec![Piece::Bytes(text.clone())],
            &Place::Token(token) => {
                let text = vocabulary.text(token).map(|bytes| Piece::Bytes(bytes.into()));
                let symbol = self.named.as_ref().and_then(|named| named.symbol(token));
                let by_id = symbol.map(|symbol| Piece::Bytes(symbol_text(symbol).into()));
                let pieces: Vec<Piece> = text.into_iter().chain(by_id).collect();
                if pieces.is_empty() { vec![Piece::Stop] } else { pieces }
            }
            &Place::Read(id) => {
                vec![vocabulary.text(id).map_or(Piece::Stop, |text| Piece::Bytes(text.into()))]
            }
            Place::Masked => vec![Piece::Token],
            Place::Free => vec![Piece::Free],
            Place::Nothing => vec![Piece::Stop],
        }
    }

    /// The token that an id of the reader stands for: if it is a symbol of several, one that is none of `others`.
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
