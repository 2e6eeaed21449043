//! Witnesses, and questions near them: most places are as in the witness, and a few are open.
//!
//! A chart of such a question is small, because nearly all of its text is known. [`Witness::near`] opens
//! places around what has changed; [`Witness::window`] opens places around a position whose mask is wanted.

use maskwright_engine::{MatcherStep, TextPart, text_parts};
use maskwright_vocabulary::{TokenId, Vocabulary};

use crate::answer::question::{Place, Question};
use crate::answer::reader::Reader;
use crate::lattice::{Filling, Lattice, Piece};

/// A text that fills a question, as a reader has found it and the judge has accepted it.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    /// The number of the reader, whose symbols it has.
    pub(crate) reader: usize,
    /// The boundary that the text ends at.
    pub(crate) end: usize,
    /// What is at each place before that: [`Place::Read`] for tokens, or [`Place::Token`] where it is not
    /// known how the reader reads it; [`Place::Text`] for texts, `None` for places that are left out.
    pub(crate) places: Vec<Option<Place>>,
}

impl Witness {
    /// The text that `fillings` make of a lattice of the question, up to boundary `end`.
    pub(crate) fn new(
        (reader, vocabulary): (usize, &Vocabulary),
        question: &Question,
        lattice: &Lattice,
        end: usize,
        fillings: Vec<Filling>,
    ) -> Witness {
        let known = |((place, _), (piece, _)): (&(Place, _), &(Piece, _))| match (place, piece) {
            (&Place::Token(token), Piece::Bytes(text)) => {
                let by_text = vocabulary.text(token) == Some(text);
                Some(Place::Read(if by_text { token } else { vocabulary.symbol(*text.last()?) }))
            }
            (Place::Masked | Place::Free, _) => None,
            (place, _) => Some(place.clone()),
        };
        let mut places: Vec<Option<Place>> =
            question.places.iter().zip(&lattice.steps).take(end).map(known).collect();
        for filling in fillings {
            match filling {
                Filling::Token { position, token } => places[position] = Some(Place::Read(token)),
                Filling::Text { position, bytes } => match &mut places[position] {
                    Some(Place::Text(text)) => *text = [text, &bytes[..]].concat().into(),
                    place => *place = Some(Place::Text(bytes.into())),
                },
            }
        }
        Witness { reader, end, places }
    }

    /// The same with what the question says where it is known, as a session reads it; `None` if a text cannot
    /// end there, or a place has nothing.
    pub(crate) fn parts(
        &self,
        question: &Question,
        (reader, blanks, vocabulary): (&Reader, &[TokenId], &Vocabulary),
    ) -> Option<Vec<MatcherStep>> {
        if !question.ends.contains(&self.end) {
            return None;
        }
        let mut parts = Vec::with_capacity(self.end);
        for ((place, way_round), here) in question.places.iter().zip(&self.places) {
            parts.push(match (place, here) {
                (Place::Text(text), _) => MatcherStep::Bytes(text.clone()),
                (Place::Free, Some(Place::Text(text))) => {
                    parts.extend(text_parts(text).map(|part| match part {
                        TextPart::Text(text) => MatcherStep::Bytes(text.into()),
                        TextPart::Symbol(symbol) => {
                            MatcherStep::Token(reader.token_of(vocabulary.symbol(symbol), blanks, vocabulary))
                        }
                    }));
                    continue;
                }
                (&Place::Token(token), _) => MatcherStep::Token(token),
                (&Place::Read(id), _) | (Place::Masked, &Some(Place::Read(id))) => {
                    MatcherStep::Token(reader.token_of(id, blanks, vocabulary))
                }
                (Place::Masked, &Some(Place::Token(token))) => MatcherStep::Token(token),
                (Place::Masked | Place::Free, None) if way_round.is_some() => continue,
                _ => return None,
            });
        }
        Some(parts)
    }

    /// The same text with what the question knows.
    pub(crate) fn with_known(
        &self,
        question: &Question,
        reader: &Reader,
        vocabulary: &Vocabulary,
    ) -> Witness {
        let mut witness = self.clone();
        for (here, (place, _)) in witness.places.iter_mut().zip(&question.places) {
            let is_same = match (place, &here) {
                (&Place::Token(token), Some(Place::Read(id) | Place::Token(id))) => {
                    reader.is_read_as(token, *id, vocabulary)
                }
                (place, _) => matches!(place, Place::Masked | Place::Free),
            };
            if !is_same {
                *here = Some(place.clone());
            }
        }
        witness
    }

    /// The same text for another reader.
    pub(crate) fn for_reader(
        &self,
        number: usize,
        readers: &[Reader],
        blanks: &[TokenId],
        vocabulary: &Vocabulary,
    ) -> Witness {
        let token = |id| readers[self.reader].token_of(id, blanks, vocabulary);
        let places = self.places.iter().map(|place| match place {
            &Some(Place::Read(id)) if self.reader != number => Some(Place::Token(token(id))),
            place => place.clone(),
        });
        Witness { reader: number, end: self.end, places: places.collect() }
    }

    /// The question with what the witness has wherever `is_open` does not say otherwise. Both are of the same
    /// places.
    fn fill(&self, question: &Question, is_open: impl Fn(usize) -> bool) -> Question {
        let mut filled = question.clone();
        let is_unknown = |place: &Place| matches!(place, Place::Masked | Place::Free);
        for (index, ((place, way_round), here)) in filled.places.iter_mut().zip(&self.places).enumerate() {
            if let Some(here) = here
                && is_unknown(place)
                && !is_open(index)
            {
                (*place, *way_round) = (here.clone(), None);
            }
        }
        filled
    }

    /// The question of the texts that have a window of `n_near` masked positions on each side of `position`
    /// open, and that itself, and are like the witness elsewhere; `None` if the witness ends before.
    pub(crate) fn window(&self, question: &Question, position: usize, n_near: usize) -> Option<Question> {
        if self.end <= position {
            return None;
        }
        let is_masked = |&at: &usize| matches!(question.places[at].0, Place::Masked);
        let first = (0..position).rev().filter(is_masked).take(n_near).last().unwrap_or(position);
        let last = (position + 1..self.end).filter(is_masked).take(n_near).last().unwrap_or(position);
        let mut window = self.fill(question, |at| (first..=last).contains(&at));
        window.places.truncate(self.end);
        (window.ends, window.focus) = (vec![self.end], Some(position));
        Some(window)
    }

    /// The question of the texts that differ from the witness only in `n_near` masked positions on each side
    /// of known tokens that it does not have, and of its end if a text cannot end there; `None` if it is a
    /// witness of other places.
    pub(crate) fn near(
        &self,
        question: &Question,
        n_near: usize,
        (reader, vocabulary): (&Reader, &Vocabulary),
    ) -> Option<Question> {
        if self.end > question.places.len() {
            return None;
        }
        let is_masked = |&at: &usize| matches!(question.places[at].0, Place::Masked);
        let mut is_open = vec![false; question.places.len()];
        for (at, here) in self.places.iter().enumerate() {
            let is_same = match (&question.places[at].0, here) {
                (&Place::Token(token), &Some(Place::Read(id) | Place::Token(id))) => {
                    reader.is_read_as(token, id, vocabulary)
                }
                (Place::Masked | Place::Free, _) => true,
                (place, here) => here.as_ref() == Some(place),
            };
            if !is_same {
                let before = (0..at).rev().filter(is_masked).take(n_near);
                let after = (at..self.end).filter(is_masked).take(n_near);
                before.chain(after).for_each(|near| is_open[near] = true);
            }
        }
        let may_end = question.ends.contains(&self.end);
        if !may_end {
            (0..self.end).rev().filter(is_masked).take(n_near).for_each(|near| is_open[near] = true);
        }
        let mut near = self.fill(question, |at| is_open[at]);
        if may_end {
            near.places.truncate(self.end);
            near.ends = vec![self.end];
        }
        Some(near)
    }
}
