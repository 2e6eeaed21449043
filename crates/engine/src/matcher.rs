//! Sessions: the state of one sequence.

use std::fmt;
use std::sync::{Arc, Mutex};

use maskwright_grammar::Watching;
use maskwright_vocabulary::{Mask, TokenId, mask_words};

use crate::compiler::lock;
use crate::configuration::ConfigId;
use crate::machine::Machine;
use crate::watched::Place;
use crate::{CompiledGrammar, EngineError};

/// The state of one sequence under a grammar: which tokens may come next, and what was accepted.
///
/// Holds a configuration id and a shared history, so cloning ([`fork`](Matcher::fork)) and rolling back cost
/// nothing that depends on the length of the text. A refused or failed call leaves the state unchanged.
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_engine::{Compiler, Matcher};
/// use maskwright_grammar::Grammar;
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["a", "b", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[2], None).unwrap().shared();
/// let compiler = Compiler::new(vocabulary, Default::default());
/// let compiled = compiler.compile(Grammar::from_regex(Regex::literal("ab")), &Fuel::new(1_000)).unwrap();
/// let mut matcher = Matcher::new(&compiled);
/// assert!(matcher.accept_token(TokenId(0)).unwrap());
/// assert!(!matcher.accept_token(TokenId(0)).unwrap(), "refused, and nothing changed");
/// assert!(matcher.accept_token(TokenId(1)).unwrap() && matcher.is_accepting());
/// assert!(matcher.accept_token(TokenId(2)).unwrap() && matcher.is_terminated());
/// matcher.rollback(2).unwrap();
/// assert!(!matcher.is_accepting());
/// ```
#[derive(Clone)]
pub struct Matcher {
    grammar: Arc<CompiledGrammar>,
    pub(crate) machine: Arc<Mutex<Machine>>,
    pub(crate) state: State,
    /// The most tokens of the whole text, EOS included.
    max_tokens: Option<usize>,
    history: Option<Arc<Step>>,
}

/// Where a sequence stands.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) config: ConfigId,
    /// What the grammar's watch remembers, if it has one.
    pub(crate) watching: Option<Arc<dyn Watching>>,
    /// How many steps led here.
    n_steps: usize,
    /// How many of them were tokens.
    n_tokens: usize,
    is_terminated: bool,
}

impl State {
    /// Where the sequence stands, if the grammar has a watch.
    pub(crate) fn place(&self) -> Option<Place> {
        let watching = self.watching.clone()?;
        Some(Place { config: self.config, watching })
    }
}

/// An accepted token (or run of bytes): what was before it. A persistent list, so that forks share it.
struct Step {
    before: State,
    previous: Option<Arc<Step>>,
}

impl fmt::Debug for Matcher {
    /// Where the sequence stands, not the grammar.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matcher")
            .field("state", &self.state)
            .field("max_tokens", &self.max_tokens)
            .finish_non_exhaustive()
    }
}

impl Drop for Step {
    /// Unlinks a long list step by step instead of recursing.
    fn drop(&mut self) {
        let mut previous = self.previous.take();
        while let Some(step) = previous {
            match Arc::try_unwrap(step) {
                Ok(mut step) => previous = step.previous.take(),
                Err(_) => break,
            }
        }
    }
}

impl Matcher {
    /// A session at the beginning of a text.
    pub fn new(grammar: &Arc<CompiledGrammar>) -> Matcher {
        let machine = grammar.machine();
        let (config, watching) = {
            let machine = lock(&machine);
            (machine.start(), machine.watch_start())
        };
        let state = State { config, watching, n_steps: 0, n_tokens: 0, is_terminated: false };
        Matcher { grammar: grammar.clone(), machine, state, max_tokens: None, history: None }
    }

    /// The grammar.
    pub fn grammar(&self) -> &Arc<CompiledGrammar> {
        &self.grammar
    }

    /// Writes the mask over `words`, packed 32 tokens to a word; extra words are cleared. Returns whether
    /// some token is *not* allowed.
    ///
    /// # Errors
    /// If `words` is too short, the text has ended, or a limit is reached; then `words` is unchanged.
    pub fn fill_mask(&mut self, words: &mut [u32]) -> Result<bool, EngineError> {
        let n_vocab = self.grammar.vocabulary().n_vocab();
        if words.len() < mask_words(n_vocab) {
            return Err(EngineError::mask_too_short(words.len(), mask_words(n_vocab)));
        }
        if self.state.is_terminated {
            return Err(EngineError::terminated());
        }
        let form = match (self.tokens_left(&self.state), &self.state.watching) {
            (Some(left), _) => lock(&self.machine).mask_within(&self.state, left)?,
            (None, Some(watching)) => lock(&self.machine).watched_mask(self.state.config, watching)?,
            (None, None) => lock(&self.machine).mask(self.state.config)?,
        };
        form.write(words);
        Ok(!form.is_full(n_vocab))
    }

    /// The mask.
    ///
    /// # Errors
    /// As [`fill_mask`](Matcher::fill_mask).
    pub fn mask(&mut self) -> Result<Mask, EngineError> {
        let mut mask = Mask::new(self.grammar.vocabulary().n_vocab());
        self.fill_mask(mask.words_mut())?;
        Ok(mask)
    }

    /// Accepts a token, if it is allowed.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn accept_token(&mut self, token: TokenId) -> Result<bool, EngineError> {
        match self.after_token(&self.state, token)? {
            Some(state) => {
                self.push(state);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Accepts tokens until one is refused; how many were accepted.
    ///
    /// # Errors
    /// If a limit is reached; the tokens before are accepted then.
    pub fn accept_tokens(&mut self, tokens: &[TokenId]) -> Result<usize, EngineError> {
        for (n_accepted, &token) in tokens.iter().enumerate() {
            if !self.accept_token(token)? {
                return Ok(n_accepted);
            }
        }
        Ok(tokens.len())
    }

    /// How many of `tokens` would be accepted, one after the other.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn validate_tokens(&self, tokens: &[TokenId]) -> Result<usize, EngineError> {
        let mut state = self.state.clone();
        for (n_valid, &token) in tokens.iter().enumerate() {
            match self.after_token(&state, token)? {
                Some(next) => state = next,
                None => return Ok(n_valid),
            }
        }
        Ok(tokens.len())
    }

    /// Accepts a run of bytes, if some text goes on so; it counts as one step for
    /// [`rollback`](Matcher::rollback).
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, EngineError> {
        if self.state.is_terminated {
            return Ok(false);
        }
        match self.after_bytes(&self.state, bytes)? {
            Some(next) if self.fits(&next)?.unwrap_or(false) => {
                self.push(next);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// How many of `bytes`, from the first on, some text goes on with.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn validate_bytes(&self, bytes: &[u8]) -> Result<usize, EngineError> {
        if self.state.is_terminated {
            return Ok(0);
        }
        Ok(self.advance(&self.state, bytes)?.0)
    }

    /// Undoes the last `n_steps` accepted tokens (or runs of bytes), past an end-of-sequence token too.
    ///
    /// # Errors
    /// If fewer were accepted.
    pub fn rollback(&mut self, n_steps: usize) -> Result<(), EngineError> {
        if n_steps > self.state.n_steps {
            return Err(EngineError::not_that_long(n_steps, self.state.n_steps));
        }
        for _ in 0..n_steps {
            if let Some(step) = self.history.take() {
                self.state = step.before.clone();
                self.history.clone_from(&step.previous);
            }
        }
        Ok(())
    }

    /// An independent session in the same state.
    #[must_use]
    pub fn fork(&self) -> Matcher {
        self.clone()
    }

    /// Goes back to the beginning of the text.
    pub fn reset(&mut self) {
        *self = Matcher { max_tokens: self.max_tokens, ..Matcher::new(&self.grammar) };
    }

    /// Whether the text may end here.
    pub fn is_accepting(&self) -> bool {
        self.state.is_terminated || lock(&self.machine).is_accepting(self.state.config)
    }

    /// Whether an end-of-sequence token was accepted.
    pub fn is_terminated(&self) -> bool {
        self.state.is_terminated
    }

    /// How many tokens (or runs of bytes) were accepted and not rolled back.
    pub fn n_steps(&self) -> usize {
        self.state.n_steps
    }

    /// The most tokens of the whole text, end-of-sequence token included, if there is a limit.
    pub fn max_tokens(&self) -> Option<usize> {
        self.max_tokens
    }

    pub(crate) fn set_max_tokens(&mut self, limit: usize) {
        self.max_tokens = Some(limit);
    }

    /// How many tokens may still come after `state`, EOS included.
    fn tokens_left(&self, state: &State) -> Option<u32> {
        let left = self.max_tokens?.saturating_sub(state.n_tokens);
        Some(u32::try_from(left).unwrap_or(u32::MAX - 1))
    }

    /// Whether the text can be completed within the limit from `state`; `None` if that is not known.
    fn fits(&self, state: &State) -> Result<Option<bool>, EngineError> {
        let Some(limit) = self.max_tokens else { return Ok(Some(true)) };
        let Some(left) = limit.checked_sub(state.n_tokens) else { return Ok(Some(false)) };
        lock(&self.machine).fits(state, u32::try_from(left).unwrap_or(u32::MAX - 1))
    }

    /// Accepts a token without a look at the limit.
    pub(crate) fn accept_unbudgeted(&mut self, token: TokenId) -> Result<bool, EngineError> {
        self.max_tokens = None;
        self.accept_token(token)
    }

    fn push(&mut self, state: State) {
        let state = State { n_steps: self.state.n_steps + 1, ..state };
        let before = std::mem::replace(&mut self.state, state);
        self.history = Some(Arc::new(Step { before, previous: self.history.take() }));
    }

    fn after_token(&self, state: &State, token: TokenId) -> Result<Option<State>, EngineError> {
        let vocabulary = self.grammar.vocabulary();
        if state.is_terminated {
            return Ok(None);
        }
        if vocabulary.is_eos(token) {
            let is_accepting = lock(&self.machine).is_accepting(state.config);
            let has_room = self.max_tokens.is_none_or(|limit| state.n_tokens < limit);
            let n_tokens = state.n_tokens + 1;
            return Ok((is_accepting && has_room).then_some(State {
                is_terminated: true,
                n_tokens,
                ..state.clone()
            }));
        }
        let Some(bytes) = vocabulary.token_bytes(token) else { return Ok(None) };
        let Some(mut next) = self.after_bytes(state, bytes)? else { return Ok(None) };
        next.n_tokens += 1;
        let fits = match self.fits(&next)? {
            Some(fits) => fits,
            // The mask was searched for with more patience if no token was left otherwise.
            None => {
                let left = self.tokens_left(state).unwrap_or(0);
                lock(&self.machine).mask_within(state, left)?.contains(token)
            }
        };
        Ok(fits.then_some(next))
    }

    /// The state after `bytes`, read at once; `None` if no text goes on so.
    fn after_bytes(&self, state: &State, bytes: &[u8]) -> Result<Option<State>, EngineError> {
        if state.watching.is_some() {
            let (n_viable, next) = self.advance(state, bytes)?;
            return Ok((n_viable == bytes.len()).then_some(next));
        }
        let mut machine = lock(&self.machine);
        let next = machine.step_all(state.config, bytes)?;
        machine.trim();
        Ok(next.map(|config| State { config, ..state.clone() }))
    }

    /// How far `bytes` can be read behind `state`, and the state there.
    fn advance(&self, state: &State, bytes: &[u8]) -> Result<(usize, State), EngineError> {
        let mut machine = lock(&self.machine);
        if let Some(place) = state.place() {
            let (n_viable, place) = machine.watched_advance(&place, bytes)?;
            machine.trim();
            let watching = Some(place.watching);
            return Ok((n_viable, State { config: place.config, watching, ..state.clone() }));
        }
        let mut config = state.config;
        for (position, &byte) in bytes.iter().enumerate() {
            match machine.step(config, byte)? {
                Some(next) => config = next,
                None => return Ok((position, State { config, ..state.clone() })),
            }
        }
        machine.trim();
        Ok((bytes.len(), State { config, ..state.clone() }))
    }
}
