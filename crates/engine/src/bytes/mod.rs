//! The reader of grammars over bytes: a deterministic automaton over bytes whose states are configurations,
//! built byte by byte as texts need it.
//!
//! **Invariant (correct prefix).** For a configuration c reached by bytes s: c has a thread or accepts iff
//! some word of the language begins with s. Each thread alone has a completion: its residue is live (automata
//! never step to a dead state), every state of the network has a word (the grammar is reduced), and every
//! stack node stands for stacks that a derivation from the start made. So a mask needs no look beyond the
//! token.
//!
//! All but the parser's configurations and stacks is a cache: forgetting it changes time, never answers.

mod mask;
mod proven;

use std::sync::{Arc, Weak};

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId, meter};
use maskwright_vocabulary::{TokenId, Trie, symbol_text};
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::ground::{MaskForm, NamedTokens, Search, Signal, hooks};
use crate::parser::{ConfigId, Parser, Seed, Thread, loaded};
pub(crate) use mask::{After, WantedRows};

/// Units of work that a step takes besides those of its threads.
const UNITS_PER_STEP: u64 = 8;

/// What the bytes of texts have led to.
pub(crate) struct BytesReader {
    pub(crate) parser: Parser,
    memo: Memo,
    scratch: Scratch,
}

/// What can be forgotten.
#[derive(Default)]
struct Memo {
    /// `(config << 8 | byte)` to the configuration after the byte; `None` where no reading goes on.
    transitions: FxHashMap<u64, Option<ConfigId>>,
    /// What [`begin_token`](BytesReader::begin_token) gave.
    begun: FxHashMap<ConfigId, ConfigId>,
    masks: FxHashMap<ConfigId, Arc<MaskForm>>,
    /// By the address of a trie of exits, and place.
    found_after: FxHashMap<(usize, Seed), FoundAfter>,
    n_bytes: usize,
}

/// The tokens of a trie of exits that can be read at some place.
pub(crate) struct FoundAfter {
    tokens: Box<[TokenId]>,
    /// Keeps the address, by which this is found, from being another trie's.
    _exits: Weak<Trie>,
}

/// Buffers that are reused from step to step.
#[derive(Default)]
struct Scratch {
    threads: Vec<Thread>,
    seeds: Vec<Seed>,
}

impl BytesReader {
    /// The reader before any text.
    pub(crate) fn new(parser: Parser) -> BytesReader {
        BytesReader { parser, memo: Memo::default(), scratch: Scratch::default() }
    }

    /// The configuration after one more byte; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached; then nothing has changed.
    pub(crate) fn step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError> {
        if self.parser.configs.next_bytes(config).is_some_and(|bytes| !bytes.contains(byte)) {
            return Ok(None);
        }
        let key = transition_key(config, byte);
        if let Some(&known) = self.memo.transitions.get(&key) {
            return Ok(known);
        }
        self.parser.begin_work()?;
        let next = self.compute_step(config, byte)?;
        if self.parser.shared.options.use_memo {
            self.memo.transitions.insert(key, next);
            self.memo.n_bytes += 24;
        }
        Ok(next)
    }

    /// The configuration after `bytes`; `None` if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached; then nothing has changed.
    pub(crate) fn step_all(
        &mut self,
        mut config: ConfigId,
        bytes: &[u8],
    ) -> Result<Option<ConfigId>, EngineError> {
        for &byte in bytes {
            match self.step(config, byte)? {
                Some(next) => config = next,
                None => return Ok(None),
            }
        }
        Ok(Some(config))
    }

    /// The configuration from which the next token is read. The token is counted in every terminal with a
    /// limit on tokens, and readings of terminals whose limit is used up are dropped. See
    /// [`maskwright_grammar::at_most_tokens`].
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn begin_token(&mut self, config: ConfigId) -> Result<ConfigId, EngineError> {
        if !self.parser.network.has_token_limits() {
            return Ok(config);
        }
        if let Some(&known) = self.memo.begun.get(&config) {
            return Ok(known);
        }
        self.parser.begin_work()?;
        let mut threads = self.parser.configs.threads(config).to_vec();
        threads.retain_mut(|thread| {
            if self.parser.network.token_limit(thread.terminal).is_none() {
                return true;
            }
            // What was begun, such as a character, is completed.
            let is_over =
                thread.n_left == 0 && self.parser.automaton(thread.terminal).is_accepting(thread.residue);
            thread.n_left = thread.n_left.saturating_sub(1);
            !is_over
        });
        let is_accepting = self.parser.configs.is_accepting(config);
        let begun = self.parser.intern(&mut threads, is_accepting)?.unwrap_or(config);
        if self.parser.shared.options.use_memo {
            self.memo.begun.insert(config, begun);
            self.memo.n_bytes += 16;
        }
        Ok(begun)
    }

    /// The bytes that can come after one more byte, as [`next_bytes`](BytesReader::next_bytes) of the
    /// configuration there, which is not made; none if no word of the language goes on so.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn bytes_after(&mut self, config: ConfigId, byte: u8) -> Result<ByteSet, EngineError> {
        if let Some(&known) = self.memo.transitions.get(&transition_key(config, byte)) {
            return known.map_or(Ok(ByteSet::EMPTY), |next| self.next_bytes(next));
        }
        self.after(config, byte, |parser, threads, _| bytes_of(parser, threads))
    }

    fn compute_step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError> {
        hooks::reach("step");
        self.after(config, byte, |parser, threads, is_accepting| parser.intern(threads, is_accepting))
    }

    /// What `say` says of the threads after one more byte, and of whether the text may end there.
    fn after<T>(
        &mut self,
        config: ConfigId,
        byte: u8,
        say: impl FnOnce(&mut Parser, &mut Vec<Thread>, bool) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        meter::spend(UNITS_PER_STEP + self.parser.configs.threads(config).len() as u64)?;
        let mut threads = std::mem::take(&mut self.scratch.threads);
        let mut seeds = std::mem::take(&mut self.scratch.seeds);
        threads.clear();
        seeds.clear();
        let result = step_threads(&self.parser, config, byte, &mut threads, &mut seeds).and_then(|()| {
            let closed = self.parser.close(&mut seeds, &mut threads)?;
            say(&mut self.parser, &mut threads, closed.is_accepting)
        });
        self.scratch.threads = threads;
        self.scratch.seeds = seeds;
        result
    }

    /// The bytes that can come next.
    pub(crate) fn next_bytes(&mut self, config: ConfigId) -> Result<ByteSet, EngineError> {
        if let Some(known) = self.parser.configs.next_bytes(config) {
            return Ok(known);
        }
        self.parser.begin_work()?;
        let bytes = bytes_of(&self.parser, self.parser.configs.threads(config))?;
        self.parser.configs.set_next_bytes(config, bytes);
        Ok(bytes)
    }

    /// The names of the tokens that may come next by their ids.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn expected(
        &mut self,
        config: ConfigId,
        named: Option<&NamedTokens>,
    ) -> Result<Vec<String>, EngineError> {
        let [mark, _] = symbol_text(0);
        let Some(named) = named else { return Ok(Vec::new()) };
        let Some(after) = self.step(config, mark)? else { return Ok(Vec::new()) };
        let symbols = self.next_bytes(after)?;
        Ok(symbols.iter().filter_map(|symbol| named.name(symbol)).map(str::to_owned).collect())
    }

    /// Bytes that [`clear_memo`](BytesReader::clear_memo) frees.
    pub(crate) fn memo_bytes(&self) -> usize {
        self.memo.n_bytes + self.parser.memo_bytes()
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.memo.n_bytes + self.parser.memory_usage()
    }

    /// Drops what is memoised. Configurations and stack nodes stay: sessions hold their ids.
    pub(crate) fn clear_memo(&mut self) {
        self.memo = Memo::default();
        self.parser.clear_memo();
    }

    /// Makes what a panic left in the middle of a call usable again.
    pub(crate) fn recover(&mut self) {
        self.memo = Memo::default();
        self.scratch = Scratch::default();
        self.parser.recover();
    }
}

/// The threads that read `byte`, and where the parser goes on after those terminals that end with it.
fn step_threads(
    parser: &Parser,
    config: ConfigId,
    byte: u8,
    threads: &mut Vec<Thread>,
    seeds: &mut Vec<Seed>,
) -> Result<(), EngineError> {
    for &thread in parser.configs.threads(config) {
        let automaton = loaded(&parser.terminals, thread.terminal);
        let next = automaton.try_step(thread.residue, byte);
        let next = next.map_err(|error| unless_searched(automaton, thread.residue, Some(byte), error))?;
        let Some(residue) = next else { continue };
        if automaton.is_accepting(residue) {
            seeds.push((thread.next, thread.node));
        }
        // A residue that does not accept has words, and they are not empty.
        let goes_on = !automaton.is_accepting(residue)
            || !automaton
                .try_next_bytes(residue)
                .map_err(|error| unless_searched(automaton, residue, None, error))?
                .is_empty();
        if goes_on {
            threads.push(Thread { residue, ..thread });
        }
    }
    Ok(())
}

/// The bytes that some of `threads` can read.
pub(crate) fn bytes_of(parser: &Parser, threads: &[Thread]) -> Result<ByteSet, EngineError> {
    let mut bytes = ByteSet::EMPTY;
    for thread in threads {
        let automaton = loaded(&parser.terminals, thread.terminal);
        let next = automaton.try_next_bytes(thread.residue);
        let next = next.map_err(|error| unless_searched(automaton, thread.residue, None, error))?;
        bytes = bytes.union(&next);
    }
    Ok(bytes)
}

/// The error of a step by `byte`, or of a question for the next bytes. If the search was postponed, an error
/// that asks the caller to make it.
fn unless_searched(
    automaton: &Arc<Automaton>,
    residue: StateId,
    byte: Option<u8>,
    error: AutomatonError,
) -> EngineError {
    match error.is_unsearched() {
        true => EngineError::Signal(Signal::Search(Box::new(Search {
            automaton: automaton.clone(),
            residue,
            byte,
        }))),
        false => EngineError::in_terminal(automaton)(error),
    }
}

fn transition_key(config: ConfigId, byte: u8) -> u64 {
    u64::from(config.0) << 8 | u64::from(byte)
}
