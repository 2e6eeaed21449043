//! A question: known and unknown places, and where the text may end.
//!
//! A known token can often be read in two ways: as its text, and by its id where the grammar names it. A
//! lattice has one reading of each. So a question is one lattice for each combination of readings; usually
//! there is one.

use maskwright_engine::MatcherStep;
use maskwright_vocabulary::{TokenId, Vocabulary, symbol_text};

use crate::answer::reader::Reader;
use crate::lattice::{Lattice, Piece};

/// The most lattices of a question that are read.
const MAX_LATTICES: usize = 64;

/// One place of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// This text, which is not empty.
    Text(Box<[u8]>),
    /// This token.
    Token(TokenId),
    /// This token or symbol of one reader's grammar, read in just this way.
    Read(TokenId),
    /// Exactly one token.
    Masked,
    /// Any text, the empty one included.
    Free,
    /// Something that is no part of any text.
    Nothing,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Question {
    /// Each place; if it can be left out, with the place after the gap.
    pub(crate) places: Vec<(Place, Option<u32>)>,
    /// The boundaries where the text may end, ascending.
    pub(crate) ends: Vec<usize>,
    /// The place that the question is about, if it is about one: [`Lattice::focus`].
    pub(crate) focus: Option<usize>,
    /// [`Lattice::keeps_text`].
    pub(crate) keeps_text: bool,
}

impl Place {
    /// The pieces that a reader can read it as; at least one.
    fn pieces(&self, reader: &Reader, vocabulary: &Vocabulary) -> Vec<Piece> {
        match self {
            Place::Text(text) => vec![Piece::Bytes(text.clone())],
            &Place::Token(token) => {
                let text = vocabulary.text(token).map(|bytes| Piece::Bytes(bytes.into()));
                let symbol = reader.named.as_ref().and_then(|named| named.symbol(token));
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

    /// A fixed text; `None` if it is empty.
    pub(crate) fn text(text: &[u8]) -> Option<Place> {
        match text {
            [] => None,
            // What spells a symbol is no text.
            text if text.contains(&symbol_text(0)[0]) => Some(Place::Nothing),
            text => Some(Place::Text(text.into())),
        }
    }
}

impl Question {
    /// The lattices for `reader`, at least one, and whether these are all.
    pub(crate) fn lattices(&self, reader: &Reader, vocabulary: &Vocabulary) -> (Vec<Lattice>, bool) {
        let choices: Vec<Vec<Piece>> =
            self.places.iter().map(|(place, _)| place.pieces(reader, vocabulary)).collect();
        let n_lattices = choices.iter().fold(1usize, |product, pieces| product.saturating_mul(pieces.len()));
        let lattice = |mut number: usize| {
            let mut choose = |pieces: &[Piece]| {
                let piece = pieces[number % pieces.len()].clone();
                number /= pieces.len();
                piece
            };
            let steps = choices.iter().zip(&self.places).map(|(pieces, &(_, way))| (choose(pieces), way));
            Lattice {
                steps: steps.collect(),
                ends: self.ends.clone(),
                focus: self.focus,
                keeps_text: self.keeps_text,
            }
        };
        let lattices = (0..n_lattices.min(MAX_LATTICES)).map(lattice).collect();
        (lattices, n_lattices <= MAX_LATTICES)
    }

    /// Whether no text passes a place that every text must pass.
    pub(crate) fn is_stopped(&self, reader: &Reader, vocabulary: &Vocabulary) -> bool {
        let first_end = self.ends.first().copied().unwrap_or(0);
        let mut passed = self.places.iter().take(first_end);
        passed.any(|(place, way_round)| {
            let is_known = matches!(place, Place::Token(_) | Place::Read(_) | Place::Nothing);
            is_known && way_round.is_none() && place.pieces(reader, vocabulary) == [Piece::Stop]
        })
    }

    /// How many places are not known.
    pub(crate) fn n_unknown(&self) -> usize {
        self.places.iter().filter(|(place, _)| matches!(place, Place::Masked | Place::Free)).count()
    }

    /// The known places before the first unknown one, as a session reads them.
    pub(crate) fn known_prefix(&self) -> Vec<MatcherStep> {
        let known = self.places.iter().map_while(|(place, _)| match place {
            Place::Text(text) => Some(MatcherStep::Bytes(text.clone())),
            &Place::Token(token) => Some(MatcherStep::Token(token)),
            Place::Read(_) | Place::Masked | Place::Free | Place::Nothing => None,
        });
        let first_end = self.ends.first().copied().unwrap_or(0);
        known.take(first_end).collect()
    }
}
