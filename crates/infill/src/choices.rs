//! Lattices in which a known token can be read in two ways: as its bytes, and by its id, if the grammar names it.
//!
//! A lattice has one text for each piece. So a canvas with such tokens is several lattices, one for each combination of
//! readings, and every question is asked of each. Usually there is one.

use maskwright_engine::{TextPart, text_parts, written};
use maskwright_vocabulary::{TokenId, mask_contains, mask_words, symbol_text};

use crate::derivation::Filling;
use crate::lattice::{Piece, Step};
use crate::parse::{Blocked, Parse};
use crate::{InfillError, Infiller};

/// The most lattices that are asked.
const MAX_LATTICES: usize = 64;

/// A step of a lattice whose piece may be any of some.
pub(crate) type Choice = (Vec<Piece>, Option<u32>);

/// A lattice, what some text puts into its unknown places, and the boundary that the text ends at.
pub(crate) struct Filled {
    pub(crate) end: usize,
    pub(crate) fillings: Vec<Filling>,
    pub(crate) steps: Vec<Step>,
}

/// The parses of all lattices.
#[derive(Debug)]
pub(crate) struct Choices {
    infiller: Infiller,
    parses: Vec<Parse>,
}

impl Choices {
    /// The parses of nothing yet.
    pub(crate) fn new(infiller: &Infiller) -> Choices {
        Choices { infiller: infiller.clone(), parses: vec![Parse::new(infiller)] }
    }

    /// As [`Parse::update`].
    pub(crate) fn update(&mut self, choices: &[Choice], ends: &[usize]) -> Result<(), InfillError> {
        let lattices = lattices(choices)?;
        self.parses.truncate(lattices.len());
        while self.parses.len() < lattices.len() {
            self.parses.push(Parse::new(&self.infiller));
        }
        self.parses.iter_mut().zip(&lattices).try_for_each(|(parse, steps)| parse.update(steps, ends))
    }

    /// As [`Parse::ends_by`].
    pub(crate) fn ends_by(&mut self, boundary: usize) -> Result<bool, InfillError> {
        self.any(|parse| parse.ends_by(boundary))
    }

    /// As [`Parse::is_skipped`].
    pub(crate) fn is_skipped(&mut self, position: usize) -> Result<bool, InfillError> {
        self.any(|parse| parse.is_skipped(position))
    }

    fn any(
        &mut self,
        mut ask: impl FnMut(&mut Parse) -> Result<bool, InfillError>,
    ) -> Result<bool, InfillError> {
        for parse in &mut self.parses {
            if ask(parse)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// As [`Parse::add_tokens`]; `mask` is as wide as the model's logits, and has tokens in place of symbols.
    pub(crate) fn add_tokens(&mut self, position: usize, mask: &mut [u32]) -> Result<(), InfillError> {
        let vocabulary = self.infiller.vocabulary().clone();
        let mut all = vec![0; vocabulary.n_words()];
        for parse in &mut self.parses {
            parse.add_tokens(position, &mut all)?;
        }
        let n_words = mask_words(vocabulary.n_vocab());
        mask.iter_mut().zip(&all[..n_words]).for_each(|(word, more)| *word |= more);
        if let Some(named) = self.infiller.named() {
            named.add_tokens(&vocabulary, mask, |symbol| mask_contains(&all, symbol));
        }
        Ok(())
    }

    /// As [`Parse::fillings`], and the lattice.
    pub(crate) fn fillings(&mut self, choices: &[Choice]) -> Result<Option<Filled>, InfillError> {
        for (parse, steps) in self.parses.iter_mut().zip(lattices(choices)?) {
            if let Some((end, fillings)) = parse.fillings()? {
                return Ok(Some(Filled { end, fillings, steps }));
            }
        }
        Ok(None)
    }

    /// As [`Parse::blocked`], of the first lattice, and that lattice.
    pub(crate) fn blocked(&mut self, choices: &[Choice]) -> Result<(Blocked, Vec<Step>), InfillError> {
        let steps = lattices(choices)?.swap_remove(0);
        Ok((self.parses[0].blocked(&steps)?, steps))
    }
}

/// Every way to choose a piece for each step; at least one.
fn lattices(choices: &[Choice]) -> Result<Vec<Vec<Step>>, InfillError> {
    let n_lattices = choices.iter().fold(1usize, |product, (pieces, _)| product.saturating_mul(pieces.len()));
    if n_lattices > MAX_LATTICES {
        return Err(InfillError::too_many_readings(MAX_LATTICES));
    }
    let mut lattices = vec![Vec::with_capacity(choices.len())];
    for (pieces, way_round) in choices {
        let before = std::mem::take(&mut lattices);
        for piece in pieces {
            lattices.extend(before.iter().map(|steps| {
                let mut steps: Vec<Step> = steps.clone();
                steps.push((piece.clone(), *way_round));
                steps
            }));
        }
    }
    Ok(lattices)
}

/// What known tokens can be.
impl Infiller {
    /// The pieces that `token` can be read as.
    pub(crate) fn pieces(&self, token: TokenId) -> Vec<Piece> {
        let text = self.vocabulary().text(token).map(|bytes| Piece::Bytes(bytes.into()));
        let symbol = self.named().and_then(|named| named.symbol(token));
        let by_id = symbol.map(|symbol| Piece::Bytes(symbol_text(symbol).into()));
        let mut pieces: Vec<Piece> = text.into_iter().chain(by_id).collect();
        if pieces.is_empty() {
            pieces.push(Piece::Stop);
        }
        pieces
    }

    /// The token that an id of the engine stands for: if it is a symbol of several, one that is none of `others`.
    pub(crate) fn token_of(&self, id: TokenId, others: &[TokenId]) -> TokenId {
        let symbol = self.vocabulary().as_symbol(id);
        let token = symbol.and_then(|symbol| self.named()?.first_but(symbol, others));
        token.unwrap_or(id)
    }

    /// Whether the grammar names a token by its id where none but `tokens` may stand.
    pub(crate) fn names_only(&self, tokens: &[TokenId]) -> bool {
        tokens.iter().any(|&token| {
            let named = self.named().and_then(|named| Some((named, named.symbol(token)?)));
            named.is_some_and(|(named, symbol)| named.first_but(symbol, tokens).is_none())
        })
    }

    /// A text of the engine as a person reads it: with the names of tokens in place of their symbols.
    pub(crate) fn shown(&self, text: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(text.len());
        for part in text_parts(text) {
            match part {
                TextPart::Text(text) => shown.extend_from_slice(text),
                TextPart::Symbol(symbol) => {
                    let token = self.named().and_then(|named| named.first(symbol));
                    shown.extend(
                        token.iter().flat_map(|&token| written(self.vocabulary(), token).into_owned()),
                    );
                }
            }
        }
        shown
    }
}
