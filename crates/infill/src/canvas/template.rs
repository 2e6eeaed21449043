//! A template: fixed pieces of text and holes between them.
//!
//! Like a canvas, a template states questions and keeps the last witness. The masks of a hole's next token
//! are exact unless the limit on work is reached.

use maskwright_automata::meter::Meter;
use maskwright_engine::{MaskStatus, MatcherStep, written};
use maskwright_error::{Error, ErrorKind};
use maskwright_vocabulary::{TokenId, mask_insert, mask_words};

use crate::answer::{Answer, Infiller, Place, Question, Solver, Witness};
use crate::canvas::canvas::CanvasStatus;
use crate::canvas::why;
use crate::ground::InfillError;

/// What a hole of a [`Template`] may be filled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hole {
    /// Any text, the empty one included.
    Any,
    /// At most so many tokens of the vocabulary.
    AtMost(usize),
    /// Exactly so many tokens of the vocabulary.
    Exactly(usize),
}

/// A part of a [`Template`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// This text. It may begin or end in the middle of a terminal or of a character.
    Text(Vec<u8>),
    /// These tokens. One that the grammar names by its id can be read so.
    Tokens(Vec<TokenId>),
    /// A hole.
    Hole(Hole),
}

/// Fixed pieces of text and holes, which together are one word of the grammar's language.
///
/// A hole is written token by token ([`fill_mask`](Template::fill_mask)) and then [fixed](Template::fix), in
/// any order of the holes; what stands after a hole counts from its first token on.
pub struct Template {
    solver: Solver,
    parts: Vec<Filled>,
    /// A text that fills the template, or has filled it before a hole was fixed.
    witness: Option<Witness>,
}

/// A part and what it is fixed to.
#[derive(Clone, Debug)]
enum Filled {
    Text(Box<[u8]>),
    Tokens(Vec<TokenId>),
    Open(Hole),
    Fixed(Vec<TokenId>),
}

/// What a hole is while it is written.
#[derive(Clone, Copy)]
enum Writing<'a> {
    /// These tokens, another one, and more as the hole allows; or, where `may_end`, these alone.
    Next(&'a [TokenId]),
    /// These tokens alone.
    Whole(&'a [TokenId]),
}

impl Template {
    /// A template. Nothing is computed yet.
    ///
    /// # Errors
    /// If a token is not in the vocabulary, or there are more positions (fixed pieces and tokens) than the
    /// limit.
    pub fn new(infiller: &Infiller, parts: Vec<Part>) -> Result<Template, Error> {
        let limit = infiller.limits().max_positions;
        let n_positions = parts.iter().fold(0usize, |sum, part| {
            sum.saturating_add(match part {
                Part::Text(_) | Part::Hole(Hole::Any) => 1,
                Part::Tokens(tokens) => tokens.len(),
                Part::Hole(Hole::AtMost(n) | Hole::Exactly(n)) => *n,
            })
        });
        if n_positions > limit {
            return Err(InfillError::too_long(n_positions, limit).into());
        }
        for part in &parts {
            if let Part::Tokens(tokens) = part {
                tokens.iter().try_for_each(|&token| infiller.check_token(token))?;
            }
        }
        let fill = |part| match part {
            Part::Text(text) => Filled::Text(text.into()),
            Part::Tokens(tokens) => Filled::Tokens(tokens),
            Part::Hole(hole) => Filled::Open(hole),
        };
        let parts = parts.into_iter().map(fill).collect();
        Ok(Template { solver: Solver::new(infiller, Vec::new()), parts, witness: None })
    }

    /// Whether the open holes can be filled.
    ///
    /// # Errors
    /// If that is not found out within the limit on work.
    pub fn is_possible(&mut self) -> Result<bool, Error> {
        Ok(self.witness()?.is_some())
    }

    /// Why the template is impossible: the fixed text that nothing can read, and how far it can be read.
    /// `None` if it is possible.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn why_impossible(&mut self) -> Result<Option<String>, Error> {
        if self.is_possible()? {
            return Ok(None);
        }
        let (question, _) = self.question(None);
        Ok(Some(why::impossible(&mut self.solver, &question)))
    }

    /// Writes to `mask` the tokens that can follow `prefix` in hole `hole`, such that the rest of the hole
    /// and all other holes can be filled. The EOS tokens are in it if the hole can end after `prefix`. Each
    /// of the tokens is proven; if the status is [`Exact`](MaskStatus::Exact), there are no others.
    ///
    /// # Errors
    /// If there is no such open hole or token, the mask is too short, or a session of the grammar fails,
    /// other than by a limit.
    pub fn fill_mask(
        &mut self,
        hole: usize,
        prefix: &[TokenId],
        mask: &mut [u32],
    ) -> Result<MaskStatus, Error> {
        let limit = self.solver.infiller.limits().work;
        Meter { limit }.run(|| self.fill_metered(hole, prefix, mask))
    }

    fn fill_metered(
        &mut self,
        hole: usize,
        prefix: &[TokenId],
        mask: &mut [u32],
    ) -> Result<MaskStatus, Error> {
        let vocabulary = self.solver.infiller.vocabulary().clone();
        let needed = mask_words(vocabulary.n_vocab());
        if mask.len() < needed {
            return Err(InfillError::mask_too_short(mask.len(), needed).into());
        }
        let (index, kind) = self.open_hole(hole)?;
        self.check_tokens(prefix)?;
        mask.fill(0);
        let n_left = match kind {
            Hole::Any => usize::MAX,
            Hole::AtMost(n) | Hole::Exactly(n) => match n.checked_sub(prefix.len()) {
                Some(n_left) => n_left,
                None => return Ok(MaskStatus::Exact),
            },
        };
        let mut is_exact = true;
        if n_left > 0 {
            // Where the hole may end here, some text has no token next.
            let (mut question, next) = self.question(Some((index, Writing::Next(prefix))));
            question.places[next].1 = None;
            match self.solver.answer(&question, self.witness.as_ref())? {
                Answer::No => {}
                Answer::Open => is_exact = false,
                Answer::Yes(witness) => {
                    let (proven, is_all) = self.solver.mask(&question, next, Some(&witness), true)?;
                    mask[..needed].copy_from_slice(&proven);
                    if let Some(&Some(Place::Read(id))) = witness.places.get(next) {
                        let reader = &self.solver.infiller.readers()[witness.reader];
                        mask_insert(mask, reader.token_of(id, &self.solver.blanks, &vocabulary));
                    }
                    is_exact = is_all;
                    self.witness = Some(witness);
                }
            }
        }
        let may_end = matches!(kind, Hole::Any | Hole::AtMost(_)) || n_left == 0;
        if may_end {
            let (question, _) = self.question(Some((index, Writing::Whole(prefix))));
            match self.solver.answer(&question, None)? {
                Answer::Yes(_) => {
                    vocabulary.eos_token_ids().iter().for_each(|&id| mask_insert(mask, id));
                }
                Answer::No => {}
                Answer::Open => is_exact = false,
            }
        }
        Ok(if is_exact { MaskStatus::Exact } else { MaskStatus::Bound })
    }

    /// Fills hole `hole` with `tokens` for good; false, and nothing changes, if they are too many or too few
    /// for it, one is no text, or the other holes can then not be filled.
    ///
    /// # Errors
    /// If there is no such open hole or token, or a limit is reached; then nothing changes.
    pub fn fix(&mut self, hole: usize, tokens: &[TokenId]) -> Result<bool, Error> {
        let (index, kind) = self.open_hole(hole)?;
        self.check_tokens(tokens)?;
        let fits = match kind {
            Hole::Any => true,
            Hole::AtMost(n) => tokens.len() <= n,
            Hole::Exactly(n) => tokens.len() == n,
        };
        if !fits {
            return Ok(false);
        }
        let (question, _) = self.question(Some((index, Writing::Whole(tokens))));
        let Answer::Yes(witness) = self.solver.answer(&question, self.witness.as_ref())? else {
            return Ok(false);
        };
        self.witness = Some(witness);
        self.parts[index] = Filled::Fixed(tokens.to_vec());
        Ok(true)
    }

    /// Whether the open holes can be filled; [`Open`](CanvasStatus::Open) if the limit on work is reached
    /// first.
    ///
    /// # Errors
    /// If a session of the grammar fails, other than by a limit.
    pub fn status(&mut self) -> Result<CanvasStatus, Error> {
        let (question, _) = self.question(None);
        Ok(match self.solver.answer(&question, self.witness.as_ref())? {
            Answer::Yes(witness) => {
                self.witness = Some(witness);
                CanvasStatus::Possible
            }
            Answer::No => CanvasStatus::Impossible,
            Answer::Open => CanvasStatus::Open,
        })
    }

    /// The whole text with the open holes filled in some way; `None` if that is impossible. A token that the
    /// grammar names by its id is in it as the tokenizer writes it, which is then no text of the language.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn complete(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let Some(witness) = self.witness()? else { return Ok(None) };
        let (question, _) = self.question(None);
        let infiller = &self.solver.infiller;
        let known = (&infiller.readers()[witness.reader], &self.solver.blanks[..], &**infiller.vocabulary());
        let mut text = Vec::new();
        for part in witness.parts(&question, known).unwrap_or_default() {
            match part {
                MatcherStep::Token(token) => text.extend_from_slice(&written(infiller.vocabulary(), token)),
                MatcherStep::Bytes(bytes) => text.extend_from_slice(&bytes),
            }
        }
        Ok(Some(text))
    }

    /// A text that fills the template; `None` if there is none.
    fn witness(&mut self) -> Result<Option<Witness>, InfillError> {
        let (question, _) = self.question(None);
        match self.solver.answer(&question, self.witness.as_ref())? {
            Answer::Yes(witness) => {
                let witness = self.solver.tidied(&question, witness)?;
                self.witness = Some(witness.clone());
                Ok(Some(witness))
            }
            Answer::No => Ok(None),
            Answer::Open => Err(InfillError::open(self.solver.infiller.limits().work)),
        }
    }

    /// The parts as a question, with one of them as it is being written, and the place of its next token.
    fn question(&self, writing: Option<(usize, Writing<'_>)>) -> (Question, usize) {
        let mut places: Vec<(Place, Option<u32>)> = Vec::new();
        let mut next = 0;
        let tokens = |tokens: &[TokenId]| -> Vec<(Place, Option<u32>)> {
            tokens.iter().map(|&token| (Place::Token(token), None)).collect()
        };
        for (index, part) in self.parts.iter().enumerate() {
            match (part, writing) {
                (Filled::Text(text), _) => places.extend(Place::text(text).map(|place| (place, None))),
                (Filled::Fixed(fixed) | Filled::Tokens(fixed), _) => places.extend(tokens(fixed)),
                (&Filled::Open(hole), Some((written, writing))) if written == index => match writing {
                    Writing::Whole(whole) => places.extend(tokens(whole)),
                    Writing::Next(prefix) => {
                        places.extend(tokens(prefix));
                        next = places.len();
                        push_next(&mut places, hole, prefix.len());
                    }
                },
                (&Filled::Open(hole), _) => push_hole(&mut places, hole),
            }
        }
        let ends = vec![places.len()];
        let focus = matches!(writing, Some((_, Writing::Next(_)))).then_some(next);
        (Question { places, ends, focus, keeps_text: false }, next)
    }

    /// The part and the kind of an open hole; holes are counted from 0, fixed ones included.
    fn open_hole(&self, hole: usize) -> Result<(usize, Hole), InfillError> {
        let holes = || {
            self.parts
                .iter()
                .enumerate()
                .filter(|(_, part)| !matches!(part, Filled::Text(_) | Filled::Tokens(_)))
        };
        match holes().nth(hole) {
            Some((index, &Filled::Open(kind))) => Ok((index, kind)),
            Some(_) => Err(Error::message(ErrorKind::State, format!("hole {hole} is fixed already")).into()),
            None => {
                let n_holes = holes().count();
                Err(InfillError::argument(format!("hole {hole} is not in the template: it has {n_holes}")))
            }
        }
    }

    fn check_tokens(&self, tokens: &[TokenId]) -> Result<(), InfillError> {
        tokens.iter().try_for_each(|&token| self.solver.infiller.check_token(token))
    }
}

fn push_hole(steps: &mut Vec<(Place, Option<u32>)>, hole: Hole) {
    let first = steps.len();
    match hole {
        Hole::Any => steps.push((Place::Free, Some(first as u32 + 1))),
        Hole::AtMost(n) => steps.extend((0..n).map(|_| (Place::Masked, Some((first + n) as u32)))),
        Hole::Exactly(n) => steps.extend((0..n).map(|_| (Place::Masked, None))),
    }
}

/// A hole of which `n_written` tokens are written: another token, and what may follow it. The way round the
/// token is there iff the hole may end.
fn push_next(steps: &mut Vec<(Place, Option<u32>)>, hole: Hole, n_written: usize) {
    match hole {
        Hole::Any => {
            let first = steps.len() as u32;
            steps.push((Place::Masked, Some(first + 2)));
            steps.push((Place::Free, Some(first + 2)));
        }
        Hole::AtMost(n) => push_hole(steps, Hole::AtMost(n - n_written)),
        Hole::Exactly(n) => push_hole(steps, Hole::Exactly(n - n_written)),
    }
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Template").field("parts", &self.parts).finish_non_exhaustive()
    }
}
