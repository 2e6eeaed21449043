//! What reads lattices.

use std::ops::Range;

use maskwright_automata::Fuel;

use crate::ground::InfillError;
use crate::lattice::filling::Filling;
use crate::lattice::lattice::Lattice;
use crate::lattice::wide::wide;

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

/// What reads lattices. Each call takes what it needs from `fuel`, and reaching that limit is an error that
/// changes nothing.
///
/// In masks, `asked` are the tokens of masked position `position` of which nothing is known, and `allowed`
/// those that some text of the lattice has there; packed, with symbols.
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

    /// A lattice of more texts that is smaller to read: it forgets how many masked positions follow each
    /// other.
    fn widened(&self, lattice: &Lattice) -> Lattice {
        wide(lattice)
    }

    /// Takes out of `asked`, if that is few tokens, those that the text near the position refuses, masked
    /// positions there included.
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
