//! What is left of a text: one completion of it, and the fewest tokens that spell that.
//!
//! An example: within `{"a":[1` the terminal in progress may end, then `]` and `}` come. These two are a chain of words, each with a link to what
//! comes behind it: [`RestId`]s, shared by the texts that go on alike. Beside each byte stands the fewest tokens that spell the rest from there, so a token
//! `]}` makes the whole rest one token long.
//!
//! Which words come is decided by state ([`Choices`]), and below the rule on top by the stack: of several frames, the one whose rest
//! takes the fewest tokens, and of those the one with the least [`Print`].
//!
//! Over bytes, whatever tokens spell a completion are accepted one after the other. So the number of tokens is an upper bound on what
//! completes the text, and the tokens themselves are a way.

use maskwright_automata::meter;
use maskwright_grammar::{ExprId, ExprPool};
use maskwright_vocabulary::{TokenId, Trie, Vocabulary};
use rustc_hash::FxHashMap;

use super::Ways;
use super::choices::{Choices, Print, Step, Written};
use super::words::Word;
use crate::EngineError;
use crate::ground::{NEVER, plus};
use crate::parser::{ConfigId, Frame, NodeId, Parser, Thread};

/// Units of work that a node of the token trie takes, and a place.
const UNITS_PER_NODE: u64 = 1;
const UNITS_PER_PLACE: u64 = 16;
/// Completions of more bytes are not looked for.
const MAX_BYTES: u32 = 1 << 18;
/// Bytes that rests may take before they are dropped.
const MAX_MEMORY: usize = 64 << 20;
/// The numbers of so many bytes of a word are kept at once.
const LONG: usize = 8;

/// What is left of a text behind some place, by one completion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct RestId(u32);

impl RestId {
    /// Nothing.
    const END: RestId = RestId(0);
}

/// A word, and what comes behind it.
struct Rest {
    /// Without bytes where the word depends on what was there ([`Written::Some`]).
    word: Option<Word>,
    /// The fewest tokens that spell the rest, by the place in the word; for such a word one number.
    fewest: Box<[u32]>,
    behind: RestId,
    /// All of it.
    n_bytes: u32,
    print: Print,
}

impl Rest {
    fn bytes(&self) -> &[u8] {
        self.word.as_ref().map_or(&[], Word::bytes)
    }
}

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
    /// By number; the first one is [`RestId::END`].
    all: Vec<Rest>,
    /// The way from a state to the end of its rule, with something behind it.
    of_states: FxHashMap<(ExprId, RestId), Option<RestId>>,
    of_nodes: FxHashMap<NodeId, Option<RestId>>,
    /// The fewest tokens from a residue on, with something behind its terminal.
    of_threads: FxHashMap<Thread, u32>,
    n_bytes: usize,
}

impl Rests {
    pub(crate) fn new(ways: Ways, vocabulary: &Vocabulary) -> Rests {
        let end =
            Rest { word: None, fewest: [0].into(), behind: RestId::END, n_bytes: 0, print: Print::EMPTY };
        Rests {
            choices: Choices::new(ways, vocabulary),
            all: vec![end],
            of_states: FxHashMap::default(),
            of_nodes: FxHashMap::default(),
            of_threads: FxHashMap::default(),
            n_bytes: 0,
        }
    }

    /// How many tokens complete the text, without one for its end; [`NEVER`] if no completion is known. A text that may end takes none.
    ///
    /// # Errors
    /// If the call is out of work, or must be made again.
    pub(crate) fn least(&mut self, parser: &mut Parser, config: ConfigId) -> Result<u32, EngineError> {
        if parser.configs.is_accepting(config) {
            return Ok(0);
        }
        let mut least = NEVER;
        for at in 0..parser.configs.threads(config).len() {
            let thread = parser.configs.threads(config)[at];
            least = least.min(self.thread(parser, thread)?);
        }
        Ok(least)
    }

    /// The same for one reading, which goes on with its terminal; [`NEVER`] where that may end, since other readings begin there.
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
                let fewest = self.fewest(parser, word.bytes(), behind)?;
                (Some(word), fewest)
            }
            Some((Written::Some(most), behind)) => (None, [plus(most, self.number(behind))].into()),
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

    /// How many tokens complete the text from the end of the terminal that a thread reads, where a token ends.
    ///
    /// # Errors
    /// As [`least`](Rests::least).
    pub(crate) fn behind_terminal(
        &mut self,
        parser: &mut Parser,
        thread: Thread,
    ) -> Result<u32, EngineError> {
        let behind = self.behind(parser, thread)?;
        Ok(behind.map_or(NEVER, |behind| self.number(behind)))
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
        let mut best: Option<((u32, Print), (Option<Word>, RestId))> = None;
        for thread in parser.configs.threads(config).to_vec() {
            let n_tokens = self.thread(parser, thread)?;
            if n_tokens == NEVER || best.as_ref().is_some_and(|(known, _)| known.0 < n_tokens) {
                continue;
            }
            let Some((written, behind)) = self.in_progress(parser, thread)? else { continue };
            let (word, print) = match written {
                Written::Word(word) => (Some(word.clone()), Print::of(word.bytes())),
                Written::Some(most) => (None, Print::of(&most.to_le_bytes())),
            };
            let key = (n_tokens, print.then(self.all[behind.0 as usize].print));
            if best.as_ref().is_none_or(|(known, _)| key < *known) {
                best = Some((key, (word, behind)));
            }
        }
        let Some((_, (word, mut at))) = best else { return Ok(None) };
        let Some(word) = word else { return Ok(Some(Completion { text: Vec::new(), is_whole: false })) };
        let mut text = word.bytes().to_vec();
        while at != RestId::END {
            let rest = &self.all[at.0 as usize];
            if rest.word.is_none() {
                return Ok(Some(Completion { text, is_whole: false }));
            }
            text.extend_from_slice(rest.bytes());
            at = rest.behind;
        }
        meter::spend(text.len() as u64)?;
        Ok(Some(Completion { text, is_whole: true }))
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

    fn number(&self, rest: RestId) -> u32 {
        self.all[rest.0 as usize].fewest[0]
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
                    let Rest { print, fewest, .. } = &self.all[rest.0 as usize];
                    if best.is_none_or(|(least, known, _)| (fewest[0], *print) < (least, known)) {
                        best = Some((fewest[0], *print, rest));
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
                        Some((written, _, print)) => Ok(self.put(parser, &written, print, behind)?),
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

    /// Puts a word before a rest; `None` if that is too long.
    fn put(
        &mut self,
        parser: &mut Parser,
        written: &Written,
        print: Print,
        behind: RestId,
    ) -> Result<Option<RestId>, EngineError> {
        let (word, fewest, n_bytes) = match written {
            Written::Word(word) if word.bytes().is_empty() => return Ok(Some(behind)),
            Written::Word(word) => {
                (Some(word.clone()), self.fewest(parser, word.bytes(), behind)?, word.bytes().len() as u32)
            }
            Written::Some(most) => (None, [plus(*most, self.number(behind))].into(), *most),
        };
        let after = &self.all[behind.0 as usize];
        let n_bytes = n_bytes.saturating_add(after.n_bytes);
        if n_bytes > MAX_BYTES {
            return Ok(None);
        }
        let print = print.then(after.print);
        self.n_bytes += fewest.len() * 4 + size_of::<Rest>();
        self.all.push(Rest { word, fewest, behind, n_bytes, print });
        Ok(Some(RestId(self.all.len() as u32 - 1)))
    }

    /// The fewest tokens that spell a word with something behind it, from each place in the word.
    fn fewest(&self, parser: &Parser, word: &[u8], behind: RestId) -> Result<Box<[u32]>, EngineError> {
        let trie = parser.shared.vocabulary.trie();
        let mut fewest = vec![NEVER; word.len()];
        for start in (0..word.len()).rev() {
            let (mut node, mut n_nodes) = (Trie::ROOT, 0);
            let (mut bytes, mut at, mut numbers) = (word, start, None);
            let mut behind = behind;
            loop {
                let Some(&byte) = bytes.get(at) else {
                    let rest = &self.all[behind.0 as usize];
                    if behind == RestId::END || rest.word.is_none() {
                        break;
                    }
                    (bytes, at, numbers, behind) = (rest.bytes(), 0, Some(&rest.fewest), rest.behind);
                    continue;
                };
                let Some(child) = trie.child(node, byte) else { break };
                (node, at, n_nodes) = (child, at + 1, n_nodes + 1);
                if !trie.tokens(node).is_empty() {
                    let own: &[u32] = numbers.map_or(&fewest, |numbers| numbers);
                    let after = own.get(at).copied().unwrap_or_else(|| self.number(behind));
                    fewest[start] = fewest[start].min(plus(after, 1));
                }
            }
            meter::spend(UNITS_PER_NODE * (n_nodes + 1))?;
        }
        Ok(fewest.into())
    }

    /// Whether it has grown beyond the limit, so that another is to take its place.
    pub(crate) fn is_full(&self) -> bool {
        self.memory_usage() > MAX_MEMORY
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.choices.memory_usage() + self.n_bytes
    }
}

/// From each place of a text, the fewest tokens that spell the rest of it, and where the longest one that begins them ends. Symbols are tokens here.
fn numbers(trie: &Trie, text: &[u8]) -> Result<Vec<(u32, usize)>, EngineError> {
    let mut numbers = vec![(NEVER, 0); text.len() + 1];
    numbers[text.len()].0 = 0;
    for start in (0..text.len()).rev() {
        let mut node = Trie::ROOT;
        for (at, &byte) in text.iter().enumerate().skip(start) {
            let Some(child) = trie.child(node, byte) else { break };
            node = child;
            meter::spend(UNITS_PER_NODE)?;
            let n_tokens = plus(numbers[at + 1].0, 1);
            if !trie.tokens(node).is_empty() && n_tokens <= numbers[start].0 {
                numbers[start] = (n_tokens, at + 1);
            }
        }
    }
    Ok(numbers)
}

/// The fewest tokens that spell a word by itself; [`NEVER`] if none do.
///
/// # Errors
/// If the call is out of work.
pub(super) fn fewest_alone(trie: &Trie, word: &[u8]) -> Result<u32, EngineError> {
    Ok(numbers(trie, word)?[0].0)
}

/// The fewest tokens that spell a text, the longest first where there are several ways; `None` if none do.
///
/// # Errors
/// If the call is out of work.
pub(crate) fn spelled(trie: &Trie, text: &[u8]) -> Result<Option<Vec<TokenId>>, EngineError> {
    let numbers = numbers(trie, text)?;
    if numbers[0].0 == NEVER {
        return Ok(None);
    }
    let (mut tokens, mut start) = (Vec::with_capacity(numbers[0].0 as usize), 0);
    while start < text.len() {
        let end = numbers[start].1;
        let node = text[start..end].iter().try_fold(Trie::ROOT, |node, &byte| trie.child(node, byte));
        let Some(&token) = node.and_then(|node| trie.tokens(node).first()) else { return Ok(None) };
        tokens.push(token);
        start = end;
    }
    Ok(Some(tokens))
}
