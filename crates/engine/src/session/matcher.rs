//! Sessions: the state of one sequence.
//!
//! All sessions of a grammar share its machine, behind a lock, and have it only while they read and fill its
//! tables ([`Matcher::ask`]). What takes long is done between two such turns: rows are made before a mask is
//! ([`Matcher::make_rows`]), and a search for a word before the step that needs it. So sessions of one
//! grammar work at the same time. ARCHITECTURE.md ("Locks") says at what they still take turns.

mod bounded;
mod explain;
mod forced;
mod inspect;
mod labels;
mod likeliest;
mod masks;
mod shown;
mod state;
mod within;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use maskwright_error::counted;
use maskwright_vocabulary::TokenId;
use parking_lot::Mutex;

pub use labels::PassedLabels;
pub use likeliest::{Likeliest, LikeliestConfig, LikeliestStatus, OfCanvas};
pub use within::MatcherConfig;

use shown::{Shown, all, unless_out_of_work};

use super::engine_grammar::{EngineGrammar, WordsSpeaker};
use super::machine::Machine;
use super::shared_machine::SharedMachine;
use super::state::{State, Witness};
use crate::ground::{Readings, text_prefix, written};
use crate::parser::ConfigId;
use crate::{EngineError, Error, ErrorKind, MaskStatus};

/// The state of one sequence under a grammar: which tokens may come next, and what was accepted.
///
/// Holds a configuration id and a shared history, so cloning ([`fork`](Matcher::fork)) and rolling back cost
/// nothing that depends on the length of the text. A refused or failed call leaves the state unchanged. A
/// call that panics leaves the session [broken](Matcher::is_broken): every later call fails, but for
/// [`reset`](Matcher::reset), which begins anew. Other sessions go on.
///
/// Sessions of one grammar may be used from several threads at once, each session from one at a time.
pub struct Matcher {
    grammar: Arc<EngineGrammar>,
    machine: Arc<SharedMachine>,
    pub(crate) state: State,
    last_mask: LastMask,
    /// Whether a call has panicked.
    is_broken: AtomicBool,
    /// The most tokens of the whole text, EOS included.
    max_tokens: Option<usize>,
    /// Whether a token is allowed only if tokens can complete the text, however many.
    must_spell: bool,
    /// What one call may do.
    mask_work: Option<u64>,
    /// The last mask, if work is limited.
    shown: Option<Arc<Shown>>,
    history: Option<Arc<Step>>,
    /// What says where the text is, once that was asked.
    speaker: Mutex<Option<Box<dyn WordsSpeaker>>>,
}

/// What is known of the last mask.
#[derive(Clone, Copy, Debug)]
struct LastMask {
    status: MaskStatus,
    is_full: bool,
}

/// An accepted token (or run of bytes), and what was before it. A persistent list, so that forks share it.
struct Step {
    taken: MatcherStep,
    before: State,
    previous: Option<Arc<Step>>,
}

/// What one step of a session has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatcherStep {
    /// A token, which may be an end-of-sequence token.
    Token(TokenId),
    /// A run of bytes.
    Bytes(Box<[u8]>),
}

impl Clone for Matcher {
    fn clone(&self) -> Matcher {
        Matcher {
            grammar: self.grammar.clone(),
            machine: self.machine.clone(),
            state: self.state.clone(),
            last_mask: self.last_mask,
            is_broken: AtomicBool::new(self.is_broken()),
            max_tokens: self.max_tokens,
            must_spell: self.must_spell,
            mask_work: self.mask_work,
            shown: self.shown.clone(),
            history: self.history.clone(),
            speaker: Mutex::default(),
        }
    }
}

/// Marks a session broken where the call that holds this panics.
struct BreaksOnPanic<'a> {
    is_broken: &'a AtomicBool,
    was_panicking: bool,
}

impl Drop for BreaksOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }
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
    #[doc(hidden)]
    pub fn new(grammar: &Arc<EngineGrammar>) -> Matcher {
        Matcher::on(grammar, grammar.machine())
    }

    /// The same, or `None` if that would have to wait for another thread, or to work.
    #[doc(hidden)]
    pub fn try_new(grammar: &Arc<EngineGrammar>) -> Option<Matcher> {
        Some(Matcher::on(grammar, grammar.try_machine()?))
    }

    fn on(grammar: &Arc<EngineGrammar>, machine: Arc<SharedMachine>) -> Matcher {
        Matcher {
            grammar: grammar.clone(),
            state: machine.start().clone(),
            machine,
            last_mask: LastMask { status: MaskStatus::Exact, is_full: false },
            is_broken: AtomicBool::new(false),
            max_tokens: None,
            must_spell: grammar.must_spell(),
            mask_work: grammar.shared().limits.mask_work,
            shown: None,
            history: None,
            speaker: Mutex::default(),
        }
    }

    /// The grammar.
    pub fn grammar(&self) -> &Arc<EngineGrammar> {
        &self.grammar
    }

    /// Accepts a token, if it is allowed.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn accept_token(&mut self, token: TokenId) -> Result<bool, Error> {
        Ok(self.take(token)?)
    }

    fn take(&mut self, token: TokenId) -> Result<bool, EngineError> {
        let Some(state) = self.after_token(&self.state, token)? else { return Ok(false) };
        self.push(MatcherStep::Token(token), state);
        Ok(true)
    }

    /// [`accept_token`](Matcher::accept_token) without waiting or working: `None`, with the session as it
    /// was, if what comes after the token is not known yet, another thread is using the grammar's tables, or
    /// there is a limit on tokens.
    ///
    /// # Errors
    /// As [`accept_token`](Matcher::accept_token).
    #[doc(hidden)]
    pub fn try_accept_token(&mut self, token: TokenId) -> Option<Result<bool, Error>> {
        if self.counts_tokens() {
            return None;
        }
        let readings = self.grammar.readings(token);
        let is_eos = self.grammar.vocabulary().is_eos(token);
        if is_eos && self.grammar.has_named_ends() {
            return None;
        }
        let state = &self.state;
        let next = self.ask_known(|machine| {
            if state.is_terminated {
                return Ok(None);
            }
            if is_eos && machine.reader.is_accepting(state.config) {
                return Ok(Some(state.ended()));
            }
            let next = machine.after_readings(state, &readings)?;
            Ok(next.map(State::with_token))
        })?;
        Some(next.map_err(Error::from).map(|next| match next {
            Some(state) => {
                self.push(MatcherStep::Token(token), state);
                true
            }
            None => false,
        }))
    }

    /// Accepts tokens until one is refused; how many were accepted.
    ///
    /// # Errors
    /// If a limit is reached; the tokens before are accepted then.
    pub fn accept_tokens(&mut self, tokens: &[TokenId]) -> Result<usize, Error> {
        // The first may be one of the last mask, which is accepted however much work that takes.
        let Some((&first, others)) = tokens.split_first() else { return Ok(0) };
        if !self.take(first)? {
            return Ok(0);
        }
        let meter = self.call_meter();
        let mut n_accepted = 1;
        let is_taken = |&token: &TokenId| {
            let is_taken = self.take(token);
            n_accepted += usize::from(matches!(is_taken, Ok(true)));
            is_taken
        };
        unless_out_of_work(meter.run(|| all(others, is_taken)))?;
        Ok(n_accepted)
    }

    /// How many of `tokens` would be accepted, one after the other.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn validate_tokens(&self, tokens: &[TokenId]) -> Result<usize, Error> {
        let Some((&first, others)) = tokens.split_first() else { return Ok(0) };
        let Some(mut state) = self.after_token(&self.state, first)? else { return Ok(0) };
        let mut n_valid = 1;
        let is_valid = |&token: &TokenId| {
            let Some(next) = self.after_token(&state, token)? else { return Ok(false) };
            state = next;
            n_valid += 1;
            Ok(true)
        };
        unless_out_of_work(self.call_meter().run(|| all(others, is_valid)))?;
        Ok(n_valid)
    }

    /// Accepts a run of bytes, if they continue some text of the grammar. It counts as one step for
    /// [`rollback`](Matcher::rollback), and for [`n_tokens`](Matcher::n_tokens) as the fewest tokens that
    /// [spell](maskwright_vocabulary::Vocabulary::n_fewest_tokens) it (as its bytes, if none do).
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        if self.state.is_terminated || text_prefix(bytes) < bytes.len() {
            return Ok(false);
        }
        let within = State { config: self.state.within, ..self.state.clone() };
        let next = self.ask(|machine| machine.after_text(&within, bytes))?;
        let Some(mut next) = next else { return Ok(false) };
        let fewest = self.grammar.vocabulary().n_fewest_tokens(bytes).map_err(EngineError::from)?;
        next.n_tokens += fewest.unwrap_or(bytes.len());
        let fits = self.fits(&next)?.unwrap_or(false);
        if fits {
            self.push(MatcherStep::Bytes(bytes.into()), next);
        }
        Ok(fits)
    }

    /// How many of `bytes`, from the first on, can follow the text so far.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn validate_bytes(&self, bytes: &[u8]) -> Result<usize, Error> {
        if self.state.is_terminated {
            return Ok(0);
        }
        let within = State { config: self.state.within, ..self.state.clone() };
        Ok(self.advance(&within, &bytes[..text_prefix(bytes)])?.0)
    }

    /// Undoes the last `n_steps` accepted tokens (or runs of bytes), past an end-of-sequence token too.
    ///
    /// # Errors
    /// If fewer were accepted.
    pub fn rollback(&mut self, n_steps: usize) -> Result<(), Error> {
        self.check()?;
        if n_steps > self.state.n_steps {
            return Err(Error::message(
                ErrorKind::State,
                format!(
                    "cannot roll back {}: only {} were accepted",
                    counted(n_steps, "token"),
                    self.state.n_steps
                ),
            ));
        }
        for _ in 0..n_steps {
            if let Some(step) = self.history.take() {
                self.state = step.before.clone();
                self.history.clone_from(&step.previous);
            }
        }
        Ok(())
    }

    /// The same session without [`Limits::mask_work`](crate::Limits::mask_work): each call takes the work
    /// that it needs.
    #[doc(hidden)]
    #[must_use]
    pub fn unbounded(self) -> Matcher {
        Matcher { mask_work: None, ..self }
    }

    /// An independent session in the same state.
    #[must_use]
    pub fn fork(&self) -> Matcher {
        self.clone()
    }

    /// Goes back to the beginning of the text, also from a broken session.
    pub fn reset(&mut self) {
        let Matcher { max_tokens, mask_work, .. } = *self;
        *self = Matcher { max_tokens, mask_work, ..Matcher::new(&self.grammar) };
    }

    /// Whether the text may end here. A broken session's may not.
    pub fn is_accepting(&self) -> bool {
        let is_accepting = |machine: &mut Machine| Ok(machine.reader.is_accepting(self.state.config));
        self.state.is_terminated || self.ask(is_accepting).unwrap_or(false)
    }

    /// The same at once or not at all: `None` if another thread is using the grammar's tables.
    #[doc(hidden)]
    pub fn try_is_accepting(&self) -> Option<bool> {
        if self.state.is_terminated {
            return Some(true);
        }
        let is_accepting = |machine: &mut Machine| Ok(machine.reader.is_accepting(self.state.config));
        self.ask_known(is_accepting).map(|is_accepting| is_accepting.unwrap_or(false))
    }

    /// Whether a call has panicked, so that nothing can be said of the session's state.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    /// Whether an end-of-sequence token was accepted.
    pub fn is_terminated(&self) -> bool {
        self.state.is_terminated
    }

    /// How many tokens (or runs of bytes) were accepted and not rolled back.
    pub fn n_steps(&self) -> usize {
        self.state.n_steps
    }

    /// How many tokens the text has, an end-of-sequence token included; a run of bytes counts as the fewest
    /// tokens that spell it (as its bytes, if none do).
    pub fn n_tokens(&self) -> usize {
        self.state.n_tokens
    }

    /// The bytes accepted so far, with the names of special tokens that the grammar names. An end-of-sequence
    /// token that has ended the text has none.
    pub fn text(&self) -> Vec<u8> {
        let vocabulary = self.grammar.vocabulary();
        let mut text = Vec::new();
        let taken = self.taken();
        let n_within = taken.len() - usize::from(self.state.is_terminated);
        for taken in &taken[..n_within] {
            match taken {
                MatcherStep::Token(token) => text.extend_from_slice(&written(vocabulary, *token)),
                MatcherStep::Bytes(bytes) => text.extend_from_slice(bytes),
            }
        }
        text
    }

    /// What was accepted so far, step by step.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_engine::*; pub use maskwright_vocabulary::*; }
    /// # use maskwright_automata::{Fuel, Regex};
    /// # use maskwright_grammar::Grammar;
    /// # let tokens = ["a", "b", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// # let vocabulary = maskwright::Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(2)], None).unwrap().shared();
    /// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
    /// # let grammar = compiler.compile(Grammar::from_regex(Regex::literal("aba")), &Fuel::new(1_000)).unwrap();
    /// use maskwright::{Matcher, MatcherStep, TokenId};
    /// // The grammar has the text `aba`; the tokens are `a`, `b` and one that ends texts.
    /// let mut matcher = Matcher::new(&grammar);
    /// assert!(matcher.accept_bytes(b"ab").unwrap() && matcher.accept_token(TokenId(0)).unwrap());
    /// assert_eq!(matcher.steps(), [MatcherStep::Bytes(b"ab".as_slice().into()), MatcherStep::Token(TokenId(0))]);
    /// assert_eq!((matcher.text(), matcher.n_tokens()), (b"aba".to_vec(), 3));
    /// ```
    pub fn steps(&self) -> Vec<MatcherStep> {
        self.taken().into_iter().cloned().collect()
    }

    fn taken(&self) -> Vec<&MatcherStep> {
        let last = self.history.as_deref();
        let mut taken: Vec<&MatcherStep> =
            std::iter::successors(last, |step| step.previous.as_deref()).map(|step| &step.taken).collect();
        taken.reverse();
        taken
    }

    fn push(&mut self, taken: MatcherStep, state: State) {
        let state = State { n_steps: self.state.n_steps + 1, ..state };
        let before = std::mem::replace(&mut self.state, state);
        self.history = Some(Arc::new(Step { taken, before, previous: self.history.take() }));
    }

    fn after_token(&self, state: &State, token: TokenId) -> Result<Option<State>, EngineError> {
        if state.is_terminated {
            return Ok(None);
        }
        let readings = self.grammar.readings(token);
        if !self.grammar.vocabulary().is_eos(token)
            && let Some(shown) = self.shown_at(state, token)
        {
            let after = self.ask(|machine| machine.after_readings(state, &readings))?;
            let Some(next) = after.map(State::with_token) else { return Ok(None) };
            let witness = match shown.witness_after(token, readings.symbol, self.grammar.vocabulary()) {
                None if self.max_tokens.is_some() => {
                    let found = self.call_meter().run(|| self.witness_of_one(state, &next, &readings));
                    // The mask has shown the token: it is accepted all the same.
                    found.or_else(|error| if error.is_limit() { Ok(None) } else { Err(error) })?
                }
                known => known,
            };
            return Ok(Some(State { witness, ..next }));
        }
        let after = self.call_meter().run(|| self.after_checked(state, token, &readings));
        unless_out_of_work(after).map(Option::flatten)
    }

    /// The state after a token, if that is allowed.
    fn after_checked(
        &self,
        state: &State,
        token: TokenId,
        readings: &Readings<'_>,
    ) -> Result<Option<State>, EngineError> {
        // Where a token can be part of the text and can end it, it ends it.
        let is_end = self.grammar.vocabulary().is_eos(token)
            && self.accepts(state)?
            && self.end_tokens(state.config)?.contains(&token);
        if is_end {
            let has_room = self.max_tokens.is_none_or(|limit| state.n_tokens < limit);
            return Ok(has_room.then(|| state.ended()));
        }
        let next = self.ask(|machine| machine.after_readings(state, readings))?;
        let Some(next) = next.map(State::with_token) else { return Ok(None) };
        if self.fits(&next)? == Some(true) {
            return Ok(Some(next));
        }
        let vocabulary = self.grammar.vocabulary();
        let witness =
            match self.witness(state)?.and_then(|known| known.after(token, readings.symbol, vocabulary)) {
                None => self.witness_of_one(state, &next, readings)?,
                rest => rest,
            };
        Ok(witness.is_some().then_some(State { witness, ..next }))
    }

    /// What completes the text at `next`, which `readings` lead to, by one of them alone, if it is not known
    /// to fit by all of them.
    fn witness_of_one(
        &self,
        state: &State,
        next: &State,
        readings: &Readings<'_>,
    ) -> Result<Option<Witness>, EngineError> {
        if self.fits(next)?.is_some() {
            return Ok(None);
        }
        let left = self.tokens_left(state).unwrap_or(0);
        let way = self.ask(|machine| machine.way_of_one(state, readings, left.saturating_sub(1)))?;
        Ok(way.map(Witness::new))
    }

    /// Whether the text may end at `state`.
    fn accepts(&self, state: &State) -> Result<bool, EngineError> {
        self.ask(|machine| Ok(machine.reader.is_accepting(state.config)))
    }

    /// How far `bytes` can be read after `state`, and the state there.
    fn advance(&self, state: &State, bytes: &[u8]) -> Result<(usize, State), EngineError> {
        self.ask(|machine| machine.advance(state, bytes))
    }

    /// Asks the machine, as [`SharedMachine::ask`].
    ///
    /// # Errors
    /// What `ask` gives, or if the session is broken.
    pub(crate) fn ask<T>(
        &self,
        ask: impl FnMut(&mut Machine) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.check_unbroken()?;
        let _breaks = self.breaks_on_panic();
        self.machine.ask(ask)
    }

    /// Asks the machine for what it knows; `None` if it does not, or if another thread has it.
    fn ask_known<T>(
        &self,
        ask: impl FnOnce(&mut Machine) -> Result<T, EngineError>,
    ) -> Option<Result<T, EngineError>> {
        if let Err(error) = self.check_unbroken() {
            return Some(Err(error));
        }
        let _breaks = self.breaks_on_panic();
        let answer = ask(&mut *self.machine.try_lock_known()?);
        if answer.as_ref().is_err_and(EngineError::is_postponed) { None } else { Some(answer) }
    }

    /// Makes the rows that the mask of `config` lacks, without the machine.
    fn make_rows(&self, config: ConfigId) -> Result<(), EngineError> {
        let wanted = self.ask(|machine| machine.wanted(config))?;
        let _breaks = self.breaks_on_panic();
        wanted.make(self.grammar.shared())?;
        self.grammar.shared().keep_within_limit();
        Ok(())
    }

    /// Fails if the session is [broken](Matcher::is_broken).
    ///
    /// # Errors
    /// That it is.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), Error> {
        Ok(self.check_unbroken()?)
    }

    fn check_unbroken(&self) -> Result<(), EngineError> {
        match self.is_broken() {
            true => Err(EngineError::Told(Error::message(
                ErrorKind::Internal,
                "an earlier call of this session ended in an internal error, so its state is lost; start a new session",
            ))),
            false => Ok(()),
        }
    }

    fn breaks_on_panic(&self) -> BreaksOnPanic<'_> {
        BreaksOnPanic { is_broken: &self.is_broken, was_panicking: std::thread::panicking() }
    }
}
