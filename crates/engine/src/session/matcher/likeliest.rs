//! The likeliest text of a session, given scores for each of its next tokens.

mod paths;

use std::sync::Arc;

use maskwright_vocabulary::TokenId;

use super::Matcher;
use crate::ground::MANY;
use crate::likeliest::{
    Closure, Finite, Found, IMPOSSIBLE, Paths, PositionScores, Scores, Task, TokenAutomaton, search,
};
use crate::{EngineError, Error, ErrorKind};
use paths::{Reached, Sessions};

/// The most positions.
const MAX_POSITIONS: usize = 65_536;

/// The states of a layer in the first, quick search.
const NARROW: usize = 4;

/// How the likeliest text is searched for.
///
/// # Example: fewer states
///
/// ```
/// # mod maskwright { pub use maskwright_engine::*; }
/// use maskwright::LikeliestConfig;
/// let mut config = LikeliestConfig::default();
/// config.beam = 8;
/// assert_eq!(config.max_tokens, None);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LikeliestConfig {
    /// The most states of the grammar that are followed at each position, if there are too many to follow
    /// all. 32 by default.
    pub beam: usize,
    /// How many tokens may still come, the end-of-sequence token included. If these are more than there are
    /// positions, the answer may be a text that can be completed with the others. By default the text is
    /// complete within the positions.
    pub max_tokens: Option<usize>,
    /// The token that fills the positions after the end of the text. By default the end-of-sequence token
    /// with the least id.
    pub padding: Option<TokenId>,
}

impl Default for LikeliestConfig {
    fn default() -> LikeliestConfig {
        LikeliestConfig { beam: 32, max_tokens: None, padding: None }
    }
}

/// Whether a text is the likeliest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LikeliestStatus {
    /// No text is likelier.
    Exact,
    /// There may be a likelier one: the beam left states out that could have led to it, or a token is not
    /// among the candidates.
    Bound,
}

/// The likeliest text that a search has found.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Likeliest {
    /// A token for each position, padding included.
    pub token_ids: Vec<TokenId>,
    /// How many of them are the text, the end-of-sequence token included.
    pub n_tokens: usize,
    /// Whether the text ends within the positions.
    pub is_complete: bool,
    /// The sum of the logarithms of their probabilities, padding included; minus infinity if the model
    /// forbids one of them. A token that is not among the candidates counts as much as it may have at most.
    pub log_probability: f64,
    /// Whether no text is likelier.
    pub status: LikeliestStatus,
}

/// What a canvas adds to the question.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct OfCanvas<'a> {
    /// A text that fills the positions, with what follows its end.
    pub witness: Option<&'a [TokenId]>,
    /// Tokens that are no part of a text, even where the grammar names them.
    pub blanks: &'a [TokenId],
}

impl Matcher {
    /// The likeliest text that can come next, one token for each of `positions`, given what a model says of
    /// the tokens of each: the one with the highest sum of scores.
    ///
    /// After the end of the text come padding tokens, whose scores count. Of several equally likely texts the
    /// same one is found whatever was asked before. If all logits are given and the texts of the grammar pass
    /// through at most 1,024 states, the answer is exact; for others it often is. Its status says so. With a
    /// lexer it is meant of the texts that a session accepts. [`Limits::mask_work`](crate::Limits::mask_work)
    /// is not heeded.
    ///
    /// # Errors
    /// If no text fits, there is no position, a score is not a number or plus infinity, or a limit is
    /// reached.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_engine::*; pub use maskwright_vocabulary::*; }
    /// # use maskwright_automata::{Fuel, Regex};
    /// # use maskwright_grammar::Grammar;
    /// # let tokens = ["a", "b", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// # let vocabulary = maskwright::Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(2)], None).unwrap().shared();
    /// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
    /// # let regex = Regex::concat([Regex::literal("a").plus(), Regex::literal("b")]);
    /// # let grammar = compiler.compile(Grammar::from_regex(regex), &Fuel::new(1_000)).unwrap();
    /// use maskwright::{LikeliestConfig, LikeliestStatus, Matcher, PositionScores, TokenId};
    /// // The grammar is that of the regular expression `a+b`; the tokens are `a`, `b` and one that ends texts.
    /// let logits = [[0.0, 3.0, 0.0], [0.0, 3.0, 0.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]];
    /// let positions = logits.each_ref().map(|logits| PositionScores::Logits(logits));
    /// let found = Matcher::new(&grammar).likeliest(&positions, &LikeliestConfig::default()).unwrap();
    /// assert_eq!(found.token_ids, [0, 1, 2, 2].map(TokenId));
    /// assert_eq!((found.n_tokens, found.status), (3, LikeliestStatus::Exact));
    /// ```
    pub fn likeliest(
        &self,
        positions: &[PositionScores<'_>],
        config: &LikeliestConfig,
    ) -> Result<Likeliest, Error> {
        self.likeliest_of(positions, config, None)
    }

    /// The same for the positions of a canvas, whose text may end with the last position without an
    /// end-of-sequence token.
    ///
    /// # Errors
    /// As [`likeliest`](Matcher::likeliest).
    #[doc(hidden)]
    pub fn likeliest_of<'a>(
        &self,
        positions: &[PositionScores<'a>],
        config: &LikeliestConfig,
        canvas: Option<OfCanvas<'a>>,
    ) -> Result<Likeliest, Error> {
        self.check()?;
        if positions.is_empty() {
            return Err(Error::message(ErrorKind::Argument, "there are no positions to fill"));
        }
        if positions.len() > MAX_POSITIONS {
            return Err(EngineError::limit(format!(
                "there are {} positions, more than the limit of {MAX_POSITIONS}",
                positions.len()
            ))
            .into());
        }
        let task = self.task(positions, config, canvas)?;
        // Limits on tokens are part of the task, and a block of a diffusion model is worth the work that it
        // takes.
        let session = Matcher { max_tokens: None, ..self.fork().unbounded() };
        let witness = canvas.and_then(|canvas| canvas.witness);
        let witness = witness.map(|witness| (witness.to_vec(), task.scores.of(witness)));
        let least = witness.as_ref().map_or(f64::NEG_INFINITY, |&(_, score)| score);
        let automaton = if self.state.is_terminated { None } else { session.automaton()? };
        let found = match automaton.as_ref().and_then(|known| Some((known, known.state(self.state.config)?)))
        {
            Some((automaton, start)) => {
                best_path(&mut Finite::new(automaton, &task)?, start, &task, usize::MAX, least)?
            }
            None => {
                let start = match self.state.is_terminated {
                    true => Reached::AfterEnd,
                    false => Reached::Text(self.state.clone()),
                };
                best_path(&mut Sessions::new(&session, &task), start, &task, config.beam.max(1), least)?
            }
        };
        let mut best = found.best.into_iter().chain(witness).reduce(|a, b| if b.1 > a.1 { b } else { a });
        if best.is_none() {
            best = self.known_text(&task).map(|ids| (ids.clone(), task.scores.of(&ids)));
        }
        let Some((ids, score)) = best else { return Err(self.nothing_fits(&task, found.left_out).into()) };
        let (n_tokens, is_complete) = session.read(&ids, &task)?;
        // Some texts may be left out of the grammar itself.
        let may_be_better = self.grammar.is_bound() || found.left_out > score + 1e-9 * score.abs();
        let is_known = ids.iter().zip(&task.scores.rows).all(|(&token, row)| row.knows(token));
        Ok(Likeliest {
            token_ids: ids,
            n_tokens,
            is_complete,
            log_probability: if score < IMPOSSIBLE / 2.0 { f64::NEG_INFINITY } else { score },
            status: match may_be_better || !is_known {
                true => LikeliestStatus::Bound,
                false => LikeliestStatus::Exact,
            },
        })
    }

    fn task<'a>(
        &self,
        positions: &[PositionScores<'a>],
        config: &LikeliestConfig,
        canvas: Option<OfCanvas<'a>>,
    ) -> Result<Task<'a>, EngineError> {
        let is_canvas = canvas.is_some();
        let scores = Scores::new(positions)?;
        let eos = self.grammar.vocabulary().eos_token_ids();
        let padding: Vec<TokenId> = config.padding.into_iter().collect();
        let after_end = match (is_canvas, eos.first()) {
            (true, _) => padding.iter().chain(eos).copied().collect(),
            (false, Some(&first)) if padding.is_empty() => vec![first],
            (false, _) => padding.clone(),
        };
        let n_positions = positions.len();
        let left = self.max_tokens.map(|limit| limit.saturating_sub(self.state.n_tokens));
        let end_cost = u32::from(!eos.is_empty());
        let asked = config.max_tokens.unwrap_or(n_positions + if is_canvas { end_cost as usize } else { 0 });
        let max_tokens = left.map_or(asked, |left| left.min(asked));
        let n_more = match config.max_tokens {
            Some(_) if max_tokens > n_positions => Some((max_tokens - n_positions).min(MANY as usize) as u32),
            _ => None,
        };
        Ok(Task {
            scores,
            ends: if eos.is_empty() { padding } else { eos.to_vec() },
            after_end,
            max_tokens,
            n_more,
            end_cost,
            needs_end: !is_canvas && !eos.is_empty(),
            blanks: canvas.map_or(&[], |canvas| canvas.blanks),
        })
    }

    /// The completion that is known, with what fills the positions behind it, if they are enough.
    fn known_text(&self, task: &Task<'_>) -> Option<Vec<TokenId>> {
        let mut ids = self.finish().ok()?;
        let n_positions = task.scores.rows.len();
        let fits = ids.len() <= n_positions.min(task.max_tokens);
        if ids.len() < n_positions {
            ids.resize(n_positions, *task.after_end.first()?);
        }
        fits.then_some(ids)
    }

    /// Reads the ids of an answer: how many of them are the text, with a token that ends it, and whether it
    /// has ended.
    fn read(&self, ids: &[TokenId], task: &Task<'_>) -> Result<(usize, bool), EngineError> {
        let mut state = self.state.clone();
        for (n_tokens, &id) in ids.iter().enumerate() {
            if state.is_terminated {
                return Ok((n_tokens, true));
            }
            match self.after_token(&state, id)? {
                Some(next) => state = next,
                // Padding, without a token that ends the text.
                None if !task.needs_end && self.accepts(&state)? => return Ok((n_tokens, true)),
                None => return Err(EngineError::undecided_positions()),
            }
        }
        Ok((ids.len(), state.is_terminated || !task.needs_end && self.accepts(&state)?))
    }

    /// Why no text was found; `left_out` bounds what others may score.
    fn nothing_fits(&self, task: &Task<'_>, left_out: f64) -> EngineError {
        match self.ask(|machine| machine.least_at(&self.state)) {
            Ok((least, status)) if !self.state.is_terminated && least as usize > task.max_tokens => {
                EngineError::max_tokens_too_small(task.max_tokens, least, status)
            }
            _ if left_out > f64::NEG_INFINITY => EngineError::undecided_positions(),
            _ => EngineError::without_text("no text of the grammar fits the positions"),
        }
    }

    /// The grammar as a table of states, if it passes through few from here on.
    fn automaton(&self) -> Result<Option<Arc<TokenAutomaton>>, EngineError> {
        let start = self.state.config;
        if self.state.watching.is_some() || self.grammar.named().is_some() || self.must_spell {
            return Ok(None);
        }
        if let Some(known) = self.ask(|machine| Ok(machine.known_automaton(start)))? {
            return Ok(known);
        }
        let mut closure = Closure::new(start);
        let automaton = loop {
            let explored = self.ask(|machine| match closure.next() {
                // From a configuration that leads to too many, there are too many.
                Some(next) if matches!(machine.known_automaton(next), Some(None)) => Ok(None),
                _ => closure.explore(&mut machine.reader),
            });
            match explored {
                Ok(Some(true)) => {}
                Ok(Some(false)) => {
                    let _breaks = self.breaks_on_panic();
                    break TokenAutomaton::new(&closure, self.grammar.vocabulary())?.map(Arc::new);
                }
                Ok(None) => break None,
                // A limit may lie where no text goes on.
                Err(error) if error.is_final_limit() => break None,
                Err(error) => return Err(error),
            }
        };
        self.ask(|machine| {
            machine.keep_automaton(start, automaton.clone());
            Ok(())
        })?;
        Ok(automaton)
    }
}

/// The best path, its score, and the most that others may have. First a search of few states, which shows
/// what need not be followed, then one of at most `width` states at a position.
fn best_path<P: Paths>(
    paths: &mut P,
    start: P::State,
    task: &Task<'_>,
    width: usize,
    least: f64,
) -> Result<Found, EngineError> {
    let ahead = &task.scores.ahead;
    let quick = search(paths, start.clone(), ahead, NARROW.min(width), least)?;
    let score = quick.best.as_ref().map_or(least, |&(_, score)| score);
    if quick.left_out <= score {
        return Ok(quick);
    }
    let Found { best, left_out } = search(paths, start, ahead, width, score)?;
    Ok(Found { best: best.or(quick.best), left_out })
}
