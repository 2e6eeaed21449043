//! A template: fixed pieces of text and holes between them.

use maskwright_vocabulary::{TokenId, mask_insert, mask_words, symbol_text};

use crate::choices::{self, Choice, Choices};
use crate::derivation::Filling;
use crate::lattice::Piece;
use crate::{Error, InfillError, Infiller};

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
/// A hole is written token by token ([`fill_next_token_bitmask`](Template::fill_next_token_bitmask)) and then
/// [fixed](Template::fix), in any order of the holes; what stands behind a hole counts from its first token on.
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_grammar::Grammar;
/// use maskwright_infill::{Hole, Infiller, Part, Template};
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["a", "b", "ab"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap().shared();
/// let grammar = Grammar::from_regex(Regex::literal("ab").plus());
/// let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited())?;
/// let parts = vec![Part::Text(b"a".to_vec()), Part::Hole(Hole::Exactly(2)), Part::Text(b"b".to_vec())];
/// let mut template = Template::new(&infiller, parts)?;
/// assert_eq!(template.complete()?, Some(b"abab".to_vec()));
/// let mut mask = [0];
/// template.fill_next_token_bitmask(0, &[], &mut mask)?;
/// assert_eq!(mask, [0b010], "`b` and then `a`: nothing else is two tokens here");
/// # Ok::<(), maskwright_infill::Error>(())
/// ```
pub struct Template {
    infiller: Infiller,
    parts: Vec<Filled>,
    parse: Choices,
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
    /// If a token is not in the vocabulary, or there are more positions (fixed pieces and tokens) than the limit.
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
        Ok(Template { infiller: infiller.clone(), parts, parse: Choices::new(infiller) })
    }

    /// Whether the open holes can be filled.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn is_possible(&mut self) -> Result<bool, Error> {
        Ok(self.is_possible_with(None)?)
    }

    /// Why the template is impossible: the fixed text that nothing can read, and how far it can be read. `None` if it
    /// is possible.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn why_impossible(&mut self) -> Result<Option<String>, Error> {
        if self.is_possible()? {
            return Ok(None);
        }
        let (steps, _) = self.steps(None);
        let (blocked, steps) = self.parse.blocked(&steps)?;
        Ok(Some(match steps.get(blocked.position) {
            Some((Piece::Bytes(bytes), _)) => {
                let n_read = blocked.n_bytes;
                let text =
                    shown(&self.infiller.shown(&bytes[..n_read]), &self.infiller.shown(&bytes[n_read..]));
                if n_read < bytes.len() {
                    format!("no text of the language goes on like this at `⟂`: {text}")
                } else {
                    format!("nothing that can follow completes the text up to `⟂`: {text}")
                }
            }
            Some((Piece::Token, _)) => {
                "the holes have too few tokens, or too many, for what stands around them".to_owned()
            }
            Some((Piece::Free | Piece::Rough, _)) => {
                "no text of the language has what stands after the last hole".to_owned()
            }
            Some((Piece::Stop, _)) => {
                "the template holds a special token that the grammar does not name, or a byte 0xFF".to_owned()
            }
            None => "the empty text is not in the language".to_owned(),
        }))
    }

    /// Writes to `mask` the tokens that hole `hole` can go on with after `prefix`, such that the rest of the hole and
    /// all other holes can be filled. The EOS tokens are in it iff the hole can end after `prefix`.
    ///
    /// # Errors
    /// If there is no such open hole or token, the mask is too short, or a limit is reached.
    pub fn fill_next_token_bitmask(
        &mut self,
        hole: usize,
        prefix: &[TokenId],
        mask: &mut [u32],
    ) -> Result<(), Error> {
        let vocabulary = self.infiller.vocabulary().clone();
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
                None => return Ok(()),
            },
        };
        let may_end = if n_left == 0 {
            self.is_possible_with(Some((index, Writing::Whole(prefix))))?
        } else {
            let (steps, next) = self.steps(Some((index, Writing::Next(prefix))));
            self.parse.update(&steps, &[steps.len()])?;
            self.parse.add_tokens(next, mask)?;
            self.parse.is_skipped(next)?
        };
        if may_end {
            vocabulary.eos_token_ids().iter().for_each(|&id| mask_insert(mask, TokenId(id)));
        }
        Ok(())
    }

    /// Fills hole `hole` with `tokens` for good; false, and nothing changes, if they are too many or too few for it,
    /// one is no text, or the other holes can then not be filled.
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
        if !fits || !self.is_possible_with(Some((index, Writing::Whole(tokens))))? {
            return Ok(false);
        }
        self.parts[index] = Filled::Fixed(tokens.to_vec());
        Ok(true)
    }

    /// The whole text with the open holes filled in some way; `None` if that is impossible. A token that the grammar names by its
    /// id is in it as the tokenizer writes it, which is then no text of the language.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn complete(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let (steps, _) = self.steps(None);
        self.parse.update(&steps, &[steps.len()])?;
        let Some(found) = self.parse.fillings(&steps)? else { return Ok(None) };
        let choices::Filled { fillings, steps, .. } = found;
        let mut texts: Vec<Vec<u8>> = steps
            .iter()
            .map(|(piece, _)| match piece {
                Piece::Bytes(bytes) => bytes.to_vec(),
                Piece::Token | Piece::Free | Piece::Rough | Piece::Stop => Vec::new(),
            })
            .collect();
        for filling in fillings {
            match filling {
                Filling::Token { position, token } => texts[position]
                    .extend_from_slice(self.infiller.vocabulary().text(token).unwrap_or_default()),
                Filling::Text { position, bytes } => texts[position].extend(bytes),
            }
        }
        Ok(Some(self.infiller.shown(&texts.concat())))
    }

    fn is_possible_with(&mut self, writing: Option<(usize, Writing<'_>)>) -> Result<bool, InfillError> {
        let (steps, _) = self.steps(writing);
        self.parse.update(&steps, &[steps.len()])?;
        self.parse.ends_by(steps.len())
    }

    /// The lattice with one part as it is being written, and the position of its next token.
    fn steps(&self, writing: Option<(usize, Writing<'_>)>) -> (Vec<Choice>, usize) {
        let mut steps: Vec<Choice> = Vec::new();
        let mut next = 0;
        for (index, part) in self.parts.iter().enumerate() {
            match (part, writing) {
                (Filled::Text(text), _) if text.is_empty() => {}
                // What spells a symbol is no text.
                (Filled::Text(text), _) if text.contains(&symbol_text(0)[0]) => {
                    steps.push((vec![Piece::Stop], None));
                }
                (Filled::Text(text), _) => steps.push((vec![Piece::Bytes(text.clone())], None)),
                (Filled::Fixed(tokens) | Filled::Tokens(tokens), _) => self.push_tokens(&mut steps, tokens),
                (&Filled::Open(hole), Some((written, writing))) if written == index => match writing {
                    Writing::Whole(tokens) => self.push_tokens(&mut steps, tokens),
                    Writing::Next(prefix) => {
                        self.push_tokens(&mut steps, prefix);
                        next = steps.len();
                        push_next(&mut steps, hole, prefix.len());
                    }
                },
                (&Filled::Open(hole), _) => push_hole(&mut steps, hole),
            }
        }
        (steps, next)
    }

    fn push_tokens(&self, steps: &mut Vec<Choice>, tokens: &[TokenId]) {
        steps.extend(tokens.iter().map(|&token| (self.infiller.pieces(token), None)));
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
            Some(_) => Err(InfillError::hole_fixed(hole)),
            None => Err(InfillError::no_hole(hole, holes().count())),
        }
    }

    fn check_tokens(&self, tokens: &[TokenId]) -> Result<(), InfillError> {
        tokens.iter().try_for_each(|&token| self.infiller.check_token(token))
    }
}

fn push_hole(steps: &mut Vec<Choice>, hole: Hole) {
    let first = steps.len();
    match hole {
        Hole::Any => steps.push((vec![Piece::Free], Some(first as u32 + 1))),
        Hole::AtMost(n) => steps.extend((0..n).map(|_| (vec![Piece::Token], Some((first + n) as u32)))),
        Hole::Exactly(n) => steps.extend((0..n).map(|_| (vec![Piece::Token], None))),
    }
}

/// A hole of which `n_written` tokens are written: another token, and what may follow it. The way round the token is
/// there iff the hole may end.
fn push_next(steps: &mut Vec<Choice>, hole: Hole, n_written: usize) {
    match hole {
        Hole::Any => {
            let first = steps.len() as u32;
            steps.push((vec![Piece::Token], Some(first + 2)));
            steps.push((vec![Piece::Free], Some(first + 2)));
        }
        Hole::AtMost(n) => push_hole(steps, Hole::AtMost(n - n_written)),
        Hole::Exactly(n) => push_hole(steps, Hole::Exactly(n - n_written)),
    }
}

/// The neighbourhood of a place in a text, with a mark in between.
fn shown(before: &[u8], after: &[u8]) -> String {
    let before = &before[before.len().saturating_sub(40)..];
    let after = &after[..after.len().min(20)];
    format!("{}⟂{}", before.escape_ascii(), after.escape_ascii())
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Template").field("parts", &self.parts).finish_non_exhaustive()
    }
}
