//! A canvas of tokens and masked positions, filled in any order.
//!
//! A canvas states questions about its positions and keeps what the solver finds: the witness that fills it
//! now, and witnesses of the canvas with one token more. So `set` after `allows` costs nothing, and a
//! possible canvas always has an answer for `complete`.

use std::sync::Arc;

use maskwright_automata::meter::Meter;
use maskwright_engine::{
    Likeliest, LikeliestConfig, MaskStatus, Matcher, MatcherStep, OfCanvas, PositionScores,
};
use maskwright_error::{Error, ErrorKind};
use maskwright_vocabulary::{TokenId, mask_insert, mask_remove, mask_words};

use crate::answer::{Answer, Infiller, Place, Question, Solver, Witness};
use crate::canvas::why;
use crate::ground::InfillError;

/// The most witnesses that are kept of tokens that were asked about, and of canvases before a change.
const MAX_FOUND: usize = 64;

/// What may follow the end of a canvas's text.
///
/// # Example: padding
///
/// ```
/// # mod maskwright { pub use maskwright_infill as infill; pub use maskwright_vocabulary::TokenId; }
/// use maskwright::TokenId;
/// use maskwright::infill::CanvasConfig;
/// let config = CanvasConfig::with_padding(Some(TokenId(50_257)));
/// assert_ne!(config, CanvasConfig::default());
/// ```
///
/// # Example: the token of masked positions
///
/// ```
/// # mod maskwright { pub use maskwright_infill as infill; pub use maskwright_vocabulary::TokenId; }
/// use maskwright::TokenId;
/// use maskwright::infill::CanvasConfig;
/// let config = CanvasConfig::default().and_mask(Some(TokenId(126_336)));
/// assert_eq!((config.mask, config.padding), (Some(TokenId(126_336)), None));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CanvasConfig {
    /// The token that a model fills up with after EOS, if that is not EOS itself. It must be one that never
    /// matches as text.
    pub padding: Option<TokenId>,
    /// The token that stands for a masked position in the model's input. It is never a part of the text, even
    /// where the grammar allows any token, and must be one that never matches as text.
    pub mask: Option<TokenId>,
}

impl CanvasConfig {
    /// The default, with this padding.
    pub fn with_padding(padding: Option<TokenId>) -> CanvasConfig {
        CanvasConfig { padding, mask: None }
    }

    /// The same with this token for masked positions.
    #[must_use]
    pub fn and_mask(self, mask: Option<TokenId>) -> CanvasConfig {
        CanvasConfig { mask, ..self }
    }

    /// The tokens that are no part of a text.
    fn blanks(&self) -> Vec<TokenId> {
        self.padding.into_iter().chain(self.mask).collect()
    }
}

/// What is known of a canvas or template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CanvasStatus {
    /// It can be filled: a text is known that fills it.
    Possible,
    /// It cannot be filled.
    Impossible,
    /// Neither was found out within the limit on work.
    Open,
}

/// The answer to whether a token can stand at a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It can: a text is known that has it there.
    Yes,
    /// It cannot.
    No,
    /// Neither was found out within the limit on work.
    Open,
}

/// A sequence of positions, each a known token or a masked one (exactly one token).
///
/// The canvas as a whole is one word of the grammar's language, which takes whole positions from the first
/// one on. After its end come an EOS and then EOS or padding tokens, or nothing; where the vocabulary has no
/// EOS, padding alone.
///
/// A canvas that can be filled keeps a *witness*: a text that fills it, which a session of the grammar has
/// accepted. [`set`](Canvas::set) keeps a token only with a new witness that has it, so a possible canvas
/// always stays possible, and [`complete`](Canvas::complete) always has an answer.
#[derive(Debug)]
pub struct Canvas {
    solver: Solver,
    config: CanvasConfig,
    positions: Vec<Option<TokenId>>,
    /// What is known of `positions`.
    known: Option<Known>,
    /// A witness of the positions as they were before the last change, or are now.
    witness: Option<Arc<Witness>>,
    /// Witnesses of the canvas with one token more, or another one, since its last change.
    found: Vec<(usize, TokenId, Arc<Witness>)>,
    undo: Vec<Change>,
}

/// What is known of a canvas. With a witness, that fills it.
#[derive(Clone, Debug)]
enum Known {
    Possible(Arc<Witness>),
    Impossible,
    Open,
}

/// What a position was before a change, and what was known then.
#[derive(Debug)]
struct Change {
    position: usize,
    before: Option<TokenId>,
    known: Option<Known>,
}

impl Canvas {
    /// A canvas; `None` is a masked position. Nothing is computed yet.
    ///
    /// # Errors
    /// If a token is not in the vocabulary, padding or the mask token matches as text or is named by the
    /// grammar, or there are more positions than the limit.
    pub fn new(
        infiller: &Infiller,
        positions: &[Option<TokenId>],
        config: CanvasConfig,
    ) -> Result<Canvas, Error> {
        let limit = infiller.limits().max_positions;
        if positions.len() > limit {
            return Err(InfillError::too_long(positions.len(), limit).into());
        }
        let blanks = config.blanks();
        for &token in positions.iter().flatten().chain(&blanks) {
            infiller.check_token(token)?;
        }
        if let Some(blank) = blanks.iter().find(|&&id| infiller.vocabulary().token_bytes(id).is_some()) {
            return Err(InfillError::argument(format!(
                "token {} cannot be padding or stand for masked positions: it matches as text",
                blank.0
            ))
            .into());
        }
        if infiller.readers().iter().any(|reader| reader.names_only(&blanks)) {
            return Err(InfillError::argument(
                "the grammar names the token of padding or of masked positions, which is no part of a text",
            )
            .into());
        }
        Ok(Canvas {
            solver: Solver::new(infiller, blanks),
            config,
            positions: positions.to_vec(),
            known: None,
            witness: None,
            found: Vec::new(),
            undo: Vec::new(),
        })
    }

    /// The positions as they are now.
    pub fn positions(&self) -> &[Option<TokenId>] {
        &self.positions
    }

    /// How many positions are masked.
    pub fn n_masked(&self) -> usize {
        self.positions.iter().filter(|position| position.is_none()).count()
    }

    /// Whether the masked positions can be filled, as far as that is found out within the limit on work.
    ///
    /// # Errors
    /// If a session of the grammar fails, other than by a limit.
    pub fn status(&mut self) -> Result<CanvasStatus, Error> {
        Ok(match self.known()? {
            Known::Possible(_) => CanvasStatus::Possible,
            Known::Impossible => CanvasStatus::Impossible,
            Known::Open => CanvasStatus::Open,
        })
    }

    /// Whether the masked positions can be filled.
    ///
    /// # Errors
    /// If that is not found out within the limit on work ([`CanvasStatus::Open`]).
    pub fn is_possible(&mut self) -> Result<bool, Error> {
        match self.status()? {
            CanvasStatus::Possible => Ok(true),
            CanvasStatus::Impossible => Ok(false),
            CanvasStatus::Open => Err(InfillError::open(self.solver.infiller.limits().work).into()),
        }
    }

    /// Why the masked positions cannot be filled: the known tokens that nothing can read, how far they can be
    /// read, and why not further. `None` if they can be filled.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn why_impossible(&mut self) -> Result<Option<String>, Error> {
        if self.is_possible()? {
            return Ok(None);
        }
        let question = self.question(None);
        Ok(Some(why::impossible(&mut self.solver, &question)))
    }

    /// For each of `tokens`, whether it can stand at `position` so that the rest can be filled; at a known
    /// position, instead of what is there. Costs one question each, and no mask; all together cost no more
    /// than the first question of a canvas. A token that is not in the vocabulary cannot stand anywhere.
    ///
    /// # Errors
    /// If there is no such position, or a session of the grammar fails, other than by a limit.
    pub fn allows(&mut self, position: usize, tokens: &[TokenId]) -> Result<Vec<Verdict>, Error> {
        self.check_position(position)?;
        let limit = self.solver.infiller.limits().work;
        Meter { limit }.run(|| tokens.iter().map(|&token| Ok(self.ask(position, token)?)).collect())
    }

    /// Writes to `mask` tokens that position `position` can take so that the rest can still be filled. At a
    /// position that is known, those that it could have instead. Each of them is proven; if the status is
    /// [`Exact`](MaskStatus::Exact), there are no others. A mask that need not be `exact` takes less time.
    ///
    /// # Errors
    /// If there is no such position, the mask is too short, or a session of the grammar fails, other than by
    /// a limit.
    pub fn fill_mask(&mut self, position: usize, mask: &mut [u32], exact: bool) -> Result<MaskStatus, Error> {
        let limit = self.solver.infiller.limits().work;
        Meter { limit }.run(|| self.fill_metered(position, mask, exact))
    }

    fn fill_metered(&mut self, position: usize, mask: &mut [u32], exact: bool) -> Result<MaskStatus, Error> {
        self.check_position(position)?;
        let vocabulary = self.solver.infiller.vocabulary().clone();
        let needed = mask_words(vocabulary.n_vocab());
        if mask.len() < needed {
            return Err(InfillError::mask_too_short(mask.len(), needed).into());
        }
        mask.fill(0);
        let known = self.known()?;
        let is_masked = self.positions[position].is_none();
        if is_masked && matches!(known, Known::Impossible) {
            return Ok(MaskStatus::Exact);
        }
        let mut question = self.question(Some((position, None)));
        question.focus = Some(position);
        let witness = match &known {
            Known::Possible(witness) => Some(&**witness),
            Known::Impossible | Known::Open => None,
        };
        let work = if exact { self.solver.infiller.limits().work } else { self.solver.near_work() };
        let longer = match witness.filter(|witness| witness.end <= position) {
            // It says nothing of texts that reach the position.
            Some(witness) => {
                let mut longer = question.clone();
                longer.ends.retain(|&end| end > position);
                Some(self.solver.answer_within(&longer, Some(witness), work)?)
            }
            None => None,
        };
        let near = match &longer {
            Some(Answer::Yes(longer)) => Some(longer),
            _ => witness,
        };
        let (proven, mut is_exact) = match longer {
            Some(Answer::No) => (vec![0; needed], true),
            _ => self.solver.mask(&question, position, near, exact)?,
        };
        mask[..needed].copy_from_slice(&proven);
        self.config.blanks().into_iter().for_each(|blank| mask_remove(mask, blank));
        for witness in witness.into_iter().chain(near).filter(|_| is_masked) {
            self.filled(witness)[position].iter().for_each(|&token| mask_insert(mask, token));
        }
        for (asked, tokens) in self.tails() {
            match self.ask_within(position, asked, work)? {
                Verdict::Yes => tokens.iter().for_each(|&token| mask_insert(mask, token)),
                Verdict::No => {}
                Verdict::Open => is_exact = false,
            }
        }
        Ok(if is_exact { MaskStatus::Exact } else { MaskStatus::Bound })
    }

    /// Puts `token` at `position`, masked or known before, if a text is found that has it there. False, and
    /// nothing changes, if there is none or none is found within the limit on work.
    ///
    /// # Errors
    /// If there is no such position, or a session of the grammar fails, other than by a limit; then nothing
    /// changes.
    pub fn set(&mut self, position: usize, token: TokenId) -> Result<bool, Error> {
        self.check_position(position)?;
        if self.ask(position, token)? != Verdict::Yes {
            return Ok(false);
        }
        let Some(witness) = self.found_with(position, token) else { return Ok(false) };
        self.put(position, Some(token), Some(Known::Possible(witness)));
        Ok(true)
    }

    /// Masks `position` again.
    ///
    /// # Errors
    /// If there is no such position.
    pub fn unset(&mut self, position: usize) -> Result<(), Error> {
        self.check_position(position)?;
        // What could be filled still can.
        let known = self.known.clone().filter(|known| matches!(known, Known::Possible(_)));
        self.put(position, None, known);
        Ok(())
    }

    /// Takes the last [`set`](Canvas::set) or [`unset`](Canvas::unset) back; false if there is none.
    pub fn undo(&mut self) -> bool {
        let Some(Change { position, before, known }) = self.undo.pop() else { return false };
        self.positions[position] = before;
        self.known = known;
        self.found.clear();
        self.remember();
        true
    }

    /// The whole canvas filled in some way, as the witness has it; `None` if it is impossible.
    ///
    /// # Errors
    /// If it is not found out within the limit on work whether there is a text.
    pub fn complete(&mut self) -> Result<Option<Vec<TokenId>>, Error> {
        match self.known()? {
            Known::Possible(witness) => Ok(self.filled(&witness).into_iter().collect()),
            Known::Impossible => Ok(None),
            Known::Open => Err(InfillError::open(self.solver.infiller.limits().work).into()),
        }
    }

    /// The likeliest text that fills the canvas, given what a model says of the tokens of each position: the
    /// one with the greatest sum of scores at the masked ones. Known positions keep their tokens and add
    /// nothing to the score. `beam` is as in [`LikeliestConfig`]. Never less likely than
    /// [`complete`](Canvas::complete).
    ///
    /// # Errors
    /// If there is not one [`PositionScores`] for each position, nothing fills the canvas, or that is not
    /// found out within the limit on work.
    pub fn likeliest(&mut self, positions: &[PositionScores<'_>], beam: usize) -> Result<Likeliest, Error> {
        if positions.len() != self.positions.len() {
            return Err(InfillError::argument(format!(
                "there are scores for {} positions, the canvas has {}",
                positions.len(),
                self.positions.len()
            ))
            .into());
        }
        let witness: Option<Vec<TokenId>> = match self.known()? {
            Known::Possible(witness) => self.filled(&witness).into_iter().collect(),
            Known::Impossible => {
                let question = self.question(None);
                let why = why::impossible(&mut self.solver, &question);
                return Err(Error::message(
                    ErrorKind::NoText,
                    format!("the canvas cannot be completed: {why}"),
                ));
            }
            Known::Open => None,
        };
        let known = self.positions.iter().zip(positions);
        let positions: Vec<PositionScores<'_>> =
            known.map(|(known, &position)| known.map_or(position, PositionScores::Known)).collect();
        let mut config = LikeliestConfig::default();
        config.beam = beam;
        config.padding = self.config.padding;
        let canvas = OfCanvas { witness: witness.as_deref(), blanks: &self.solver.blanks };
        Matcher::new(self.solver.infiller.sessions()).likeliest_of(&positions, &config, Some(canvas))
    }

    /// What is known of the positions. If nothing is, a question finds it out.
    fn known(&mut self) -> Result<Known, InfillError> {
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let question = self.question(None);
        let known = match self.solver.answer(&question, self.witness.as_deref())? {
            Answer::Yes(witness) => Known::Possible(Arc::new(witness)),
            Answer::No => Known::Impossible,
            Answer::Open => Known::Open,
        };
        self.known = Some(known.clone());
        self.remember();
        Ok(known)
    }

    /// Whether the canvas can be filled with `token` at `position`; if so, how is kept until the next change.
    fn ask(&mut self, position: usize, token: TokenId) -> Result<Verdict, InfillError> {
        self.ask_within(position, token, u64::MAX)
    }

    /// The same with at most so much work.
    fn ask_within(&mut self, position: usize, token: TokenId, work: u64) -> Result<Verdict, InfillError> {
        if self.solver.infiller.check_token(token).is_err() {
            return Ok(Verdict::No);
        }
        if self.found_with(position, token).is_some() {
            return Ok(Verdict::Yes);
        }
        if self.positions[position].is_none() && matches!(self.known()?, Known::Impossible) {
            return Ok(Verdict::No);
        }
        let mut question = self.question(Some((position, Some(token))));
        question.focus = Some(position);
        let before = self.witness.as_deref();
        let work = work.min(self.solver.work_of_question(before.is_some()));
        Ok(match self.solver.answer_within(&question, before, work)? {
            Answer::Yes(witness) => {
                if self.found.len() == MAX_FOUND {
                    self.found.remove(0);
                }
                self.found.push((position, token, Arc::new(witness)));
                Verdict::Yes
            }
            Answer::No => Verdict::No,
            Answer::Open => Verdict::Open,
        })
    }

    fn found_with(&self, position: usize, token: TokenId) -> Option<Arc<Witness>> {
        let found = self.found.iter().find(|&&(at, with, _)| (at, with) == (position, token));
        found.map(|(_, _, witness)| witness.clone())
    }

    fn put(&mut self, position: usize, to: Option<TokenId>, known: Option<Known>) {
        let before = std::mem::replace(&mut self.positions[position], to);
        let known = std::mem::replace(&mut self.known, known);
        self.undo.push(Change { position, before, known });
        // What is known of a canvas long ago can be found out again.
        if let Some(long_ago) = self.undo.len().checked_sub(MAX_FOUND + 1) {
            self.undo[long_ago].known = None;
        }
        self.found.clear();
        self.remember();
    }

    /// Keeps the witness for when the positions have changed.
    fn remember(&mut self) {
        if let Some(Known::Possible(witness)) = &self.known {
            self.witness = Some(witness.clone());
        }
    }

    /// The positions with what the witness puts into those that are masked; `None` only where there is
    /// neither EOS nor padding.
    fn filled(&self, witness: &Witness) -> Vec<Option<TokenId>> {
        let vocabulary = self.solver.infiller.vocabulary();
        let eos = vocabulary.eos_token_ids().first().copied();
        let mut filled = self.positions.clone();
        for (index, part) in self.parts(witness).into_iter().enumerate() {
            if let MatcherStep::Token(token) = part {
                filled[index] = Some(token);
            }
        }
        for (index, position) in filled.iter_mut().enumerate().skip(witness.end) {
            let tail = if index == witness.end { eos } else { self.config.padding.or(eos) };
            *position = position.or(tail).or(self.config.padding);
        }
        filled
    }

    fn parts(&self, witness: &Witness) -> Vec<MatcherStep> {
        let reader = &self.solver.infiller.readers()[witness.reader];
        let known = (reader, &self.solver.blanks[..], &**self.solver.infiller.vocabulary());
        witness.parts(&self.question(None), known).unwrap_or_default()
    }

    /// The tokens that end a text or follow its end, in groups that can stand in the same places.
    fn tails(&self) -> Vec<(TokenId, Vec<TokenId>)> {
        let infiller = &self.solver.infiller;
        let eos = infiller.vocabulary().eos_token_ids().iter().copied();
        // One that the grammar names can stand within a text as well.
        let (named, eos): (Vec<TokenId>, Vec<TokenId>) = eos.partition(|&token| infiller.names(token));
        let padding =
            self.config.padding.filter(|padding| !eos.contains(padding) && !named.contains(padding));
        let alone = named.into_iter().chain(padding).map(|token| vec![token]);
        alone.chain([eos]).filter_map(|group| Some((*group.first()?, group))).collect()
    }

    /// The positions as a question, with one of them replaced.
    fn question(&self, replaced: Option<(usize, Option<TokenId>)>) -> Question {
        let mut positions = self.positions.clone();
        if let Some((position, token)) = replaced {
            positions[position] = token;
        }
        let place = |position: &Option<TokenId>| match *position {
            None => Place::Masked,
            Some(token) if self.solver.blanks.contains(&token) => Place::Nothing,
            Some(token) => Place::Token(token),
        };
        Question {
            places: positions.iter().map(|position| (place(position), None)).collect(),
            ends: self.ends(&positions),
            focus: None,
            keeps_text: false,
        }
    }

    /// The boundaries where the text may end as far as the positions after them go, ascending.
    fn ends(&self, positions: &[Option<TokenId>]) -> Vec<usize> {
        let vocabulary = self.solver.infiller.vocabulary();
        let has_eos = !vocabulary.eos_token_ids().is_empty();
        let is_padding = |token| Some(token) == self.config.padding;
        let mut ends = vec![positions.len()];
        if !has_eos && self.config.padding.is_none() {
            return ends;
        }
        for (end, position) in positions.iter().enumerate().rev() {
            if position.is_none_or(|token| vocabulary.is_eos(token) || !has_eos && is_padding(token)) {
                ends.push(end);
            }
            if !position.is_none_or(|token| vocabulary.is_eos(token) || is_padding(token)) {
                break;
            }
        }
        ends.reverse();
        ends
    }

    fn check_position(&self, position: usize) -> Result<(), InfillError> {
        if position < self.positions.len() {
            return Ok(());
        }
        let n_positions = self.positions.len();
        Err(InfillError::argument(format!("position {position} is not on the canvas: it has {n_positions}")))
    }
}
