//! Makes the free text of a witness plain: nothing where nothing is needed, one space instead of other blanks
//! and comments.
//!
//! Searches put any ignored text between tokens, such as `/**/`. A change is kept only if the lexer reads all
//! known text as the same tokens as before, and the judge accepts the result.

use std::ops::Range;

use crate::answer::near::Witness;
use crate::answer::question::{Place, Question};
use crate::answer::solver::{Solver, within_limits};
use crate::ground::InfillError;
use crate::lattice::LexerToken;

/// The most changes that are tried on one text.
const MAX_TRIED: usize = 256;

/// The text of a witness, and where the text of free places is in it.
struct Whole {
    text: Vec<u8>,
    free: Vec<(usize, Range<usize>)>,
}

impl Solver {
    /// The witness with less in its free places.
    ///
    /// # Errors
    /// If the judge fails other than by a limit.
    pub(crate) fn tidied(
        &mut self,
        question: &Question,
        mut witness: Witness,
    ) -> Result<Witness, InfillError> {
        let mut n_tried = 0;
        let n_free = witness.places.len();
        for index in 0..n_free {
            if !matches!(question.places[index].0, Place::Free) || witness.places[index].is_none() {
                continue;
            }
            if let Some(shorter) = self.exchanged(question, &witness, index, b"")? {
                witness = shorter;
                continue;
            }
            if let Some(Place::Text(text)) = &witness.places[index] {
                // Blanks next to known ones are part of the same token.
                let text = text.clone();
                for trimmed in [text.trim_ascii(), text.trim_ascii_start(), text.trim_ascii_end()] {
                    if let Some(shorter) = self.exchanged(question, &witness, index, trimmed)? {
                        witness = shorter;
                        break;
                    }
                }
            }
            // From the last to the first, so that those before keep their places.
            let mut end = usize::MAX;
            while let Some(Place::Text(text)) = &witness.places[index]
                && let Some(run) = self.ignored_before(question, &witness, index, end)?
                && n_tried < MAX_TRIED
            {
                let text = text.clone();
                for blank in [&b""[..], b" "] {
                    n_tried += 1;
                    let changed = [&text[..run.start], blank, &text[run.end..]].concat();
                    if changed[..] == text[..] {
                        break;
                    }
                    if let Some(shorter) = self.exchanged(question, &witness, index, &changed)? {
                        witness = shorter;
                        break;
                    }
                }
                end = run.start;
            }
        }
        Ok(witness)
    }

    /// The witness with `text` in a free place, if all that is known stays as it was read and the judge
    /// accepts it.
    fn exchanged(
        &mut self,
        question: &Question,
        witness: &Witness,
        index: usize,
        text: &[u8],
    ) -> Result<Option<Witness>, InfillError> {
        let mut other = witness.clone();
        other.places[index] = Place::text(text);
        let is_same = self.known_tokens(question, witness)? == self.known_tokens(question, &other)?;
        Ok(if is_same && self.is_accepted(question, &other)? == Some(true) { Some(other) } else { None })
    }

    /// The last tokens in a row in a free place that end at byte `end` of its text or before and are ignored.
    fn ignored_before(
        &self,
        question: &Question,
        witness: &Witness,
        index: usize,
        end: usize,
    ) -> Result<Option<Range<usize>>, InfillError> {
        let whole = self.whole(question, witness);
        let Some((_, free)) = whole.free.iter().find(|(at, _)| *at == index) else { return Ok(None) };
        let Some(tokens) = self.tokens(witness, &whole.text)? else { return Ok(None) };
        let mut run: Option<Range<usize>> = None;
        for token in tokens.iter().rev().filter(|token| token.terminal.is_none()) {
            let is_inside = token.range.start >= free.start
                && token.range.end <= free.end
                && token.range.end - free.start <= end;
            match &mut run {
                None if is_inside => run = Some(token.range.clone()),
                Some(run) if is_inside && run.start == token.range.end => run.start = token.range.start,
                Some(_) => break,
                None => {}
            }
        }
        Ok(run.map(|run| run.start - free.start..run.end - free.start))
    }

    /// The tokens that the parser gets of which some byte is known, with their texts; none where there is no
    /// lexer.
    fn known_tokens(
        &self,
        question: &Question,
        witness: &Witness,
    ) -> Result<Vec<(u32, Vec<u8>)>, InfillError> {
        let whole = self.whole(question, witness);
        let tokens = self.tokens(witness, &whole.text)?.unwrap_or_default();
        let is_free = |range: &Range<usize>| {
            whole.free.iter().any(|(_, free)| free.start <= range.start && range.end <= free.end)
        };
        let known = tokens.into_iter().filter(|token| !is_free(&token.range));
        Ok(known.filter_map(|token| Some((token.terminal?, whole.text[token.range].to_vec()))).collect())
    }

    fn tokens(&self, witness: &Witness, text: &[u8]) -> Result<Option<Vec<LexerToken>>, InfillError> {
        let tokens = within_limits(self.infiller.readers()[witness.reader].tables().tokens(text))?;
        Ok(tokens.flatten())
    }

    fn whole(&self, question: &Question, witness: &Witness) -> Whole {
        let vocabulary = self.infiller.vocabulary();
        let mut whole = Whole { text: Vec::new(), free: Vec::new() };
        for (index, place) in witness.places.iter().enumerate() {
            let start = whole.text.len();
            match place {
                Some(Place::Text(text)) => whole.text.extend_from_slice(text),
                &Some(Place::Read(id) | Place::Token(id)) => {
                    whole.text.extend_from_slice(vocabulary.text(id).unwrap_or_default());
                }
                _ => {}
            }
            if matches!(question.places[index].0, Place::Free) {
                whole.free.push((index, start..whole.text.len()));
            }
        }
        whole
    }
}
