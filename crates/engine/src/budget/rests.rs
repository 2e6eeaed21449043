//! What is left of a text: one completion of it, and the fewest tokens that spell that.
//!
//! An example: within `{"a":[1` the terminal in progress may end, then `]` and `}` come: a chain of words
//! ([`Chains`]), whose end is shared by the texts that go on alike.
//!
//! Which words end the rule on top is decided by its state ([`Choices`]), and what comes after it by the
//! stack: of several frames, the one whose rest takes the fewest tokens, and of those the one with the least
//! [`Print`].
//!
//! Over bytes, whatever tokens spell a completion are accepted one after the other. So the number of tokens
//! is an upper bound on what completes the text, and the tokens themselves are a way.

use maskwright_automata::meter;
use maskwright_grammar::{ExprId, ExprPool};
use maskwright_vocabulary::Vocabulary;
use rustc_hash::FxHashMap;

use super::Ways;
use super::chains::{Chains, Print, RestId};
use super::choices::{Choices, Step, Written};
use super::words::Word;
use crate::EngineError;
use crate::ground::{NEVER, plus};
use crate::parser::{ConfigId, Frame, NodeId, Parser, Thread};

/// Units of work that a place takes.
const UNITS_PER_PLACE: u64 = 16;
/// The numbers of so many bytes of a word are kept at once.
const LONG: usize = 8;

/// A completion, as far as it is known without what was there.
pub(crate) struct Completion {
    /// The bytes that it begins with.
    pub(crate) text: Vec<u8>,
    /// Whether that is all of it.
    pub(crate) is_whole: bool,
}

/// The completions of one grammar's texts.
pub(crate) struct Rests {
    choices: Choices,
    chains: Chains,
    /// The way from a state to the end of its rule, with something behind it.
    of_states: FxHashMap<(ExprId, RestId), Option<RestId>>,
    of_nodes: FxHashMap<NodeId, Option<RestId>>,
    of_configs: FxHashMap<ConfigId, u32>,
    /// The fewest tokens from a residue on, with something behind its terminal.
    of_threads: FxHashMap<Thread, u32>,
    n_bytes: usize,
}

impl Rests {
    pub(crate) fn new(ways: Ways, vocabulary: &Vocabulary) -> Rests {
        Rests {
            choices: Choices::new(ways, vocabulary),
            chains: Chains::new(),
            of_states: FxHashMap::default(),
            of_nodes: FxHashMap::default(),
            of_configs: FxHashMap::default(),
            of_threads: FxHashMap::default(),
            n_bytes: 0,
        }
    }

    /// How many tokens complete the text, without one for its end; [`NEVER`] if no completion is known. A
    /// text that may end takes none.
    ///
    /// # Errors
    /// If the call is out of work, or must be made again.
    pub(crate) fn least(&mut self, parser: &mut Parser, config: ConfigId) -> Result<u32, EngineError> {
        if parser.configs.is_accepting(config) {
            return Ok(0);
        }
        if let Some(&known) = self.of_configs.get(&config) {
            return Ok(known);
        }
        let mut least = NEVER;
        for at in 0..parser.configs.threads(config).len() {
            let thread = parser.configs.threads(config)[at];
            least = least.min(self.thread(parser, thread)?);
        }
        self.n_bytes += 12;
        self.of_configs.insert(config, least);
        Ok(least)
    }

    /// The same for one reading, which goes on with its terminal; [`NEVER`] where that may end, since other
    /// readings begin there.
    ///
    /// # Errors
    /// As [`least`](Rests::least).
    pub(crate) fn thread(&mut self, parser: &mut Parser, thread: Thread) -> Result<u32, EngineError> {
        let thread = Thread { n_left: 0, ..thread };
        if let Some(&known) = self.of_threads.get(&thread) {
            return Ok(known);
        }
        meter::spend(UNITS_PER_PLACE)?;
        let (word, fewest) = match self.in_progress(parser, thread)? {
            Some((Written::Word(word), behind)) => {
                let trie = parser.shared.vocabulary.trie();
                let fewest = self.chains.fewest(trie, word.bytes(), behind)?;
                (Some(word), fewest)
            }
            Some((Written::Some(most), behind)) => (None, [plus(most, self.chains.number(behind))].into()),
            None => (None, [NEVER].into()),
        };
        self.n_bytes += 40;
        self.of_threads.insert(thread, fewest[0]);
        if let Some(word) = word.filter(|word| word.bytes().len() >= LONG) {
            // Mostly the residues along the word have the rest of it.
            let mut at = thread;
            for (n_bytes, (&byte, &n_tokens)) in word.bytes().iter().zip(&fewest[1..]).enumerate() {
                let automaton = parser.automaton(thread.terminal);
                let next = automaton.step(at.residue, byte).map_err(EngineError::in_terminal(automaton))?;
                let Some(residue) = next else { break };
                at.residue = residue;
                let own = self.choices.words.of(parser, thread.terminal, residue)?;
                if own.is_some_and(|own| own.is_rest_of(&word, n_bytes + 1)) {
                    self.n_bytes += 40;
                    self.of_threads.insert(at, n_tokens);
                }
            }
        }
        Ok(fewest[0])
    }

    /// How many tokens complete the text from the end of the terminal that a thread reads, where a token
    /// ends.
    ///
    /// # Errors
    /// As [`least`](Rests::least).
    pub(crate) fn behind_terminal(
        &mut self,
        parser: &mut Parser,
        thread: Thread,
    ) -> Result<u32, EngineError> {
        let behind = self.behind(parser, thread)?;
        Ok(behind.map_or(NEVER, |behind| self.chains.number(behind)))
    }

    /// The completion of a text that takes the fewest tokens of those that are known; `None` if none is.
    ///
    /// # Errors
    /// As [`least`](Rests::least).
    pub(crate) fn completion(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Option<Completion>, EngineError> {
        if parser.configs.is_accepting(config) {
            return Ok(Some(Completion { text: Vec::new(), is_whole: true }));
        }
        let mut least: Option<(u32, Print)> = None;
        let mut best: Option<(Option<Word>, RestId)> = None;
        for thread in parser.configs.threads(config).to_vec() {
            let n_tokens = self.thread(parser, thread)?;
            if n_tokens == NEVER || least.is_some_and(|known| known.0 < n_tokens) {
                continue;
            }
            let Some((written, behind)) = self.in_progress(parser, thread)? else { continue };
            let (word, print) = match written {
                Written::Word(word) => (Some(word.clone()), Print::of(word.bytes())),
                Written::Some(most) => (None, Print::of(&most.to_le_bytes())),
            };
            let key = (n_tokens, print.then(self.chains.print(behind)));
            if least.is_none_or(|known| key < known) {
                (least, best) = (Some(key), Some((word, behind)));
            }
        }
        let Some((word, behind)) = best else { return Ok(None) };
        let Some(word) = word else { return Ok(Some(Completion { text: Vec::new(), is_whole: false })) };
        let mut text = word.bytes().to_vec();
        let is_whole = self.chains.write(behind, &mut text);
        meter::spend(text.len() as u64)?;
        Ok(Some(Completion { text, is_whole }))
    }

    /// What is written for the rest of the terminal that a thread reads, and what comes behind it.
    fn in_progress(
        &mut self,
        parser: &mut Parser,
        thread: Thread,
    ) -> Result<Option<(Written, RestId)>, EngineError> {
        if parser.automaton(thread.terminal).is_accepting(thread.residue) {
            return Ok(None);
        }
        let Some(behind) = self.behind(parser, thread)? else { return Ok(None) };
        let written = if parser.terminal_start(thread.terminal)? == Some(thread.residue) {
            self.choices.written(parser, thread.terminal)?.map(|(written, ..)| written)
        } else {
            self.choices.words.of(parser, thread.terminal, thread.residue)?.map(Written::Word)
        };
        Ok(written.map(|written| (written, behind)))
    }

    /// What is left behind the terminal that a thread reads.
    fn behind(&mut self, parser: &mut Parser, thread: Thread) -> Result<Option<RestId>, EngineError> {
        match self.below(parser, thread.node)? {
            Some(below) => self.of_state(parser, (thread.next, below)),
            None => Ok(None),
        }
    }

    /// What is left below a node of the stack.
    fn below(&mut self, parser: &mut Parser, node: NodeId) -> Result<Option<RestId>, EngineError> {
        let mut work = vec![node];
        while let Some(&top) = work.last() {
            if self.of_nodes.contains_key(&top) {
                work.pop();
                continue;
            }
            meter::spend(UNITS_PER_PLACE)?;
            let n_open = work.len();
            let mut best: Option<(u32, Print, RestId)> = None;
            for frame in parser.stacks.frames(top).to_vec() {
                let rest = if frame == Frame::BOTTOM {
                    Some(RestId::END)
                } else {
                    match self.of_nodes.get(&frame.parent) {
                        Some(&Some(below)) => self.of_state(parser, (frame.ret, below))?,
                        Some(None) => None,
                        None => {
                            work.push(frame.parent);
                            continue;
                        }
                    }
                };
                if let Some(rest) = rest {
                    let (n_tokens, print) = (self.chains.number(rest), self.chains.print(rest));
                    if best.is_none_or(|(least, known, _)| (n_tokens, print) < (least, known)) {
                        best = Some((n_tokens, print, rest));
                    }
                }
            }
            if work.len() == n_open {
                self.n_bytes += 16;
                self.of_nodes.insert(top, best.map(|(.., rest)| rest));
                work.pop();
            }
        }
        Ok(self.of_nodes.get(&node).copied().flatten())
    }

    /// The way from a state to the end of its rule, with something behind it.
    fn of_state(
        &mut self,
        parser: &mut Parser,
        wanted: (ExprId, RestId),
    ) -> Result<Option<RestId>, EngineError> {
        let mut work = vec![wanted];
        while let Some(&(state, behind)) = work.last() {
            if self.known(state, behind).is_some() {
                work.pop();
                continue;
            }
            meter::spend(UNITS_PER_PLACE)?;
            let choice = self.choices.of(parser, state)?;
            // What is needed before; what the rest is then.
            let found = match choice.map(|choice| choice.step) {
                None => Ok(None),
                Some(Step::End) => Ok(Some(behind)),
                Some(Step::Branch(branch)) => self.known(branch, behind).ok_or((branch, behind)),
                Some(Step::Part(body, next)) => match self.known(next, behind) {
                    None => Err((next, behind)),
                    Some(None) => Ok(None),
                    Some(Some(behind)) => self.known(body, behind).ok_or((body, behind)),
                },
                Some(Step::Terminal(terminal, next)) => match self.known(next, behind) {
                    None => Err((next, behind)),
                    Some(None) => Ok(None),
                    Some(Some(behind)) => match self.choices.written(parser, terminal)? {
                        Some((Written::Word(word), ..)) if word.bytes().is_empty() => Ok(Some(behind)),
                        Some((Written::Word(word), _, print)) => {
                            Ok(self.chains.put(parser.shared.vocabulary.trie(), word, print, behind)?)
                        }
                        Some((Written::Some(most), _, print)) => {
                            Ok(self.chains.put_some(most, print, behind))
                        }
                        None => Ok(None),
                    },
                },
            };
            match found {
                Ok(rest) => {
                    self.n_bytes += 24;
                    self.of_states.insert((state, behind), rest);
                    work.pop();
                }
                Err(needed) => work.push(needed),
            }
        }
        Ok(self.known(wanted.0, wanted.1).flatten())
    }

    /// What is known of a state, with something behind it.
    #[allow(clippy::option_option, reason = "whether it is known, and whether there is a way")]
    fn known(&self, state: ExprId, behind: RestId) -> Option<Option<RestId>> {
        if state == ExprPool::EPSILON {
            return Some(Some(behind));
        }
        self.of_states.get(&(state, behind)).copied()
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.choices.memory_usage() + self.chains.memory_usage() + self.n_bytes
    }
}
