//! A session: all splits of the text into terminals and a remainder, and equation 5 for each.

use std::sync::Arc;

use maskwright_automata::StateId;
use maskwright_decode::{Constraint, ConstraintError};
use maskwright_grammar::TerminalId;
use maskwright_vocabulary::{TokenId, mask_contains, mask_words};

use crate::TruncProof;
use crate::error::{Kind, TruncProofError};
use crate::ll1::{self, Stack};

/// The most splits of one text.
const MAX_READINGS: usize = 1_000;

/// One split of the text: what the parser expects after the terminals τ, and the remainder r.
#[derive(Clone, Debug)]
struct Reading {
    stack: Stack,
    remainder: Vec<u8>,
    /// The terminals that may come next and have words that begin with the remainder, and their states after
    /// it.
    alive: Vec<(TerminalId, StateId)>,
}

/// The state of a session.
#[derive(Clone, Debug)]
struct State {
    readings: Arc<Vec<Reading>>,
    n_tokens: usize,
    is_terminated: bool,
}

/// A text held to an LL(1) grammar, and to a limit on its tokens by the paper's estimate.
///
/// # Examples
/// See [`TruncProof`].
#[derive(Clone, Debug)]
pub struct TruncProofConstraint {
    method: Arc<TruncProof>,
    max_tokens: Option<usize>,
    state: State,
    history: Vec<State>,
    /// The mask of the present state, if it was asked for.
    mask: Option<Vec<u32>>,
}

impl From<TruncProofError> for ConstraintError {
    fn from(error: TruncProofError) -> Self {
        ConstraintError::new(error)
    }
}

impl TruncProofConstraint {
    /// The empty text. `max_tokens` counts the end-of-text token; without a limit every token of at most two
    /// terminals is allowed.
    ///
    /// # Errors
    /// If the limit is below the estimate for the shortest text, or an automaton is too large.
    pub fn new(method: &Arc<TruncProof>, max_tokens: Option<usize>) -> Result<Self, TruncProofError> {
        if let Some(given) = max_tokens
            && (given as u64) < u64::from(method.least())
        {
            return Err(Kind::LimitTooSmall { given, least: method.least() }.into());
        }
        let readings = reading(method, method.parser().start(), &[])?.into_iter().collect();
        let state = State { readings: Arc::new(readings), n_tokens: 0, is_terminated: false };
        Ok(TruncProofConstraint {
            method: method.clone(),
            max_tokens,
            state,
            history: Vec::new(),
            mask: None,
        })
    }

    /// How many tokens may come after `n_taken` more and before the end of the text.
    fn left(&self, n_taken: usize) -> Option<u32> {
        let Some(limit) = self.max_tokens else { return Some(ll1::NEVER - 1) };
        let taken = self.state.n_tokens + n_taken + self.method.end() as usize;
        u32::try_from(limit.checked_sub(taken)?).ok()
    }

    /// The mask by equation 5.
    fn compute_mask(&self) -> Result<Vec<u32>, TruncProofError> {
        let method = &*self.method;
        let mut mask = vec![0; mask_words(method.vocabulary().n_vocab())];
        if self.state.is_terminated {
            return Ok(mask);
        }
        if let Some(left) = self.left(1) {
            for reading in self.state.readings.iter() {
                for &(first, state) in &reading.alive {
                    let Some(stack) = method.parser().advance(&reading.stack, first) else { continue };
                    if let Some(most) = left.checked_sub(ll1::least(&stack)) {
                        method.terminal(first).allow(state, most, &mut mask);
                    }
                    for second in method.parser().next(&stack) {
                        let Some(stack) = method.parser().advance(&stack, second) else { continue };
                        let Some(most) = left.checked_sub(ll1::least(&stack)) else { continue };
                        let pair = method.pair(first, second)?;
                        if let Some(state) = pair.run(&reading.remainder)? {
                            pair.allow(state, most, &mut mask);
                        }
                    }
                }
            }
        }
        if self.is_whole() && self.left(0).is_some() {
            for &id in method.vocabulary().eos_token_ids() {
                maskwright_vocabulary::mask_insert(&mut mask, id);
            }
        }
        Ok(mask)
    }

    fn mask(&mut self) -> Result<&[u32], TruncProofError> {
        let mask = match self.mask.take() {
            Some(mask) => mask,
            None => self.compute_mask()?,
        };
        Ok(self.mask.insert(mask))
    }

    /// Whether the text so far is in the language.
    fn is_whole(&self) -> bool {
        self.state.readings.iter().any(|reading| {
            let is_between = reading.remainder.is_empty() && ll1::is_nullable(&reading.stack);
            is_between
                || reading.alive.iter().any(|&(terminal, state)| {
                    let after = self.method.parser().advance(&reading.stack, terminal);
                    self.method.terminal(terminal).is_accepting(state)
                        && after.is_some_and(|stack| ll1::is_nullable(&stack))
                })
        })
    }

    /// All splits of the text with some bytes more; none if it leaves the language.
    fn after(&self, bytes: &[u8]) -> Result<Vec<Reading>, TruncProofError> {
        let method = &*self.method;
        let mut readings: Vec<Reading> = self.state.readings.to_vec();
        for &byte in bytes {
            let mut next: Vec<Reading> = Vec::new();
            for reading in &readings {
                for &(terminal, state) in &reading.alive {
                    if method.terminal(terminal).is_accepting(state)
                        && let Some(stack) = method.parser().advance(&reading.stack, terminal)
                    {
                        next.extend(self::reading(method, stack, &[byte])?);
                    }
                }
                next.extend(longer(method, reading, byte)?);
            }
            // Equal stacks and remainders are one; the remainders are all ends of the same text.
            let mut distinct: Vec<Reading> = Vec::with_capacity(next.len());
            for reading in next {
                let is_known = |other: &Reading| {
                    other.remainder.len() == reading.remainder.len() && other.stack == reading.stack
                };
                if !distinct.iter().any(is_known) {
                    distinct.push(reading);
                }
            }
            if distinct.len() > MAX_READINGS {
                return Err(Kind::TooManyReadings { limit: MAX_READINGS }.into());
            }
            readings = distinct;
        }
        Ok(readings)
    }

    /// Whether a text of these splits can be completed, by the estimate.
    fn fits(&self, readings: &[Reading]) -> bool {
        let Some(left) = self.left(0) else { return false };
        let rest = |reading: &Reading| {
            let within = reading.alive.iter().filter_map(|&(terminal, state)| {
                let after = self.method.parser().advance(&reading.stack, terminal)?;
                Some(self.method.terminal(terminal).least(state).saturating_add(ll1::least(&after)))
            });
            let between = reading.remainder.is_empty().then(|| ll1::least(&reading.stack));
            within.chain(between).min().unwrap_or(ll1::NEVER)
        };
        readings.iter().any(|reading| rest(reading) <= left)
    }

    fn push(&mut self, state: State) {
        self.history.push(std::mem::replace(&mut self.state, state));
        self.mask = None;
    }
}

/// The split with this stack and remainder, if some terminal has words that begin so; the end of a whole text
/// has none, and is a split too.
fn reading(method: &TruncProof, stack: Stack, remainder: &[u8]) -> Result<Option<Reading>, TruncProofError> {
    let mut alive = Vec::new();
    for terminal in method.parser().next(&stack) {
        alive.extend(method.terminal(terminal).run(remainder)?.map(|state| (terminal, state)));
    }
    let is_dead = alive.is_empty() && !remainder.is_empty();
    Ok((!is_dead).then(|| Reading { stack, remainder: remainder.to_vec(), alive }))
}

/// The same split with a byte more in the remainder.
fn longer(method: &TruncProof, reading: &Reading, byte: u8) -> Result<Option<Reading>, TruncProofError> {
    let mut alive = Vec::new();
    for &(terminal, state) in &reading.alive {
        alive.extend(method.terminal(terminal).step(state, byte)?.map(|state| (terminal, state)));
    }
    let remainder = reading.remainder.iter().copied().chain([byte]).collect();
    Ok((!alive.is_empty()).then(|| Reading { stack: reading.stack.clone(), remainder, alive }))
}

impl Constraint for TruncProofConstraint {
    fn fill_mask(&mut self, mask: &mut [u32]) -> Result<bool, ConstraintError> {
        let n_vocab = self.method.vocabulary().n_vocab();
        let own = self.mask()?;
        if mask.len() < own.len() {
            let (given, wanted) = (mask.len(), own.len());
            let message = format!("the mask has {given} words, the vocabulary needs {wanted}");
            return Err(ConstraintError::new(message));
        }
        mask.fill(0);
        mask[..own.len()].copy_from_slice(own);
        let n_allowed: usize = own.iter().map(|word| word.count_ones() as usize).sum();
        Ok(n_allowed < n_vocab || mask.len() > own.len() || !n_vocab.is_multiple_of(32))
    }

    fn accept_token(&mut self, id: TokenId) -> Result<bool, ConstraintError> {
        let is_known = id.index() < self.method.vocabulary().n_vocab();
        if !is_known || !mask_contains(self.mask()?, id) {
            return Ok(false);
        }
        let n_tokens = self.state.n_tokens + 1;
        let vocabulary = self.method.vocabulary().clone();
        let state = match vocabulary.token_bytes(id) {
            Some(bytes) if !vocabulary.is_eos(id) => {
                State { readings: Arc::new(self.after(bytes)?), n_tokens, is_terminated: false }
            }
            _ => State { n_tokens, is_terminated: true, ..self.state.clone() },
        };
        self.push(state);
        Ok(true)
    }

    fn rollback(&mut self, n_steps: usize) -> Result<(), ConstraintError> {
        let n_taken = self.history.len();
        let Some(n_left) = n_taken.checked_sub(n_steps) else {
            return Err(ConstraintError::new(format!("{n_steps} steps to undo, {n_taken} were taken")));
        };
        if let Some(state) = self.history.drain(n_left..).next() {
            self.state = state;
            self.mask = None;
        }
        Ok(())
    }

    /// None: the method forces nothing.
    fn forced_tokens(&mut self) -> Result<Vec<TokenId>, ConstraintError> {
        Ok(Vec::new())
    }

    fn accepts_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        Ok(!self.state.is_terminated && self.fits(&self.after(bytes)?))
    }

    fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, ConstraintError> {
        let readings = self.after(bytes)?;
        if self.state.is_terminated || !self.fits(&readings) {
            return Ok(false);
        }
        self.push(State { readings: Arc::new(readings), ..self.state.clone() });
        Ok(true)
    }

    fn is_terminated(&self) -> bool {
        self.state.is_terminated
    }

    fn is_accepting(&self) -> bool {
        self.state.is_terminated || self.is_whole()
    }
}
