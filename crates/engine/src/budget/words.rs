//! Words that complete terminals.
//!
//! Mostly that is the shortest word: `"` for a string in progress. Of a terminal whose shortest word takes
//! many tokens, such as a UUID, it is one of those with the fewest tokens, if the terminal has few residues
//! ([`Search`]): `ffffffff` is one token, where `00000000` takes three.

use std::collections::VecDeque;
use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId, meter};
use maskwright_grammar::TerminalId;
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, Vocabulary};
use rustc_hash::FxHashMap;

use super::spelled::fewest_alone;
use crate::EngineError;
use crate::parser::Parser;

/// Units of work that a byte takes.
const UNITS_PER_BYTE: u64 = 4;
/// So many residues are looked at for a word whose bytes are tokens.
const MAX_RESIDUES: usize = 1_024;
/// A terminal whose shortest word takes fewer tokens is completed by that.
const MANY_TOKENS: u32 = 4;
/// Words of few tokens are looked for in terminals that have at most so many residues where tokens end, in so
/// many steps.
const MAX_ENDS: usize = 2_048;
const MAX_STEPS: u64 = 200_000;
/// Where more bytes than this may come, only these are looked at, of which vocabularies have long runs, and
/// those of the shortest word.
const MANY_BYTES: usize = 24;
const FILLERS: &[u8] = b" -=*_./#0aefhnorst";

/// The rest of a word, whose beginning other residues share.
#[derive(Clone, Debug)]
pub(super) struct Word {
    whole: Arc<[u8]>,
    start: usize,
}

impl Word {
    pub(super) fn whole(text: Arc<[u8]>) -> Word {
        Word { whole: text, start: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.whole[self.start..]
    }

    /// Whether it is known as the rest of another word, behind so many bytes.
    pub(super) fn is_rest_of(&self, other: &Word, n_bytes: usize) -> bool {
        Arc::ptr_eq(&self.whole, &other.whole) && self.start == other.start + n_bytes
    }

    /// Approximate memory, in bytes, if no other residue has it.
    pub(super) fn memory_usage(&self) -> usize {
        self.whole.len()
    }
}

/// The words that are known, by residue.
pub(super) struct Words {
    known: FxHashMap<(u64, StateId), Option<Word>>,
    /// By terminal, the words of the fewest tokens, if they are used.
    by_tokens: FxHashMap<TerminalId, FxHashMap<StateId, Word>>,
    /// A search for these that work has ended.
    unfinished: Option<(TerminalId, Box<Search>)>,
    /// Bytes that are tokens; words of these come first, since they can be spelled wherever they stand.
    tokens: ByteSet,
    n_bytes: usize,
}

impl Words {
    pub(super) fn new(vocabulary: &Vocabulary) -> Words {
        // A token that is named by its id is read as this byte and another.
        let tokens = vocabulary.single_bytes().union(&ByteSet::singleton(0xFF));
        Words {
            known: FxHashMap::default(),
            by_tokens: FxHashMap::default(),
            unfinished: None,
            tokens,
            n_bytes: 0,
        }
    }

    /// A word from a residue of a terminal; `None` where a limit keeps it from being found.
    ///
    /// # Errors
    /// If the call is out of work, or must be made again.
    pub(super) fn of(
        &mut self,
        parser: &mut Parser,
        terminal: TerminalId,
        residue: StateId,
    ) -> Result<Option<Word>, EngineError> {
        let Some(start) = parser.terminal_start(terminal)? else { return Ok(None) };
        let automaton = parser.automaton(terminal);
        if automaton.is_literal_like() {
            return self.shortest(automaton, residue);
        }
        if !self.by_tokens.contains_key(&terminal) {
            let words = match self.of_few_tokens(parser, terminal, start) {
                Err(error) if error.is_final_limit() => FxHashMap::default(),
                words => words?,
            };
            self.n_bytes += words.values().map(|word| word.memory_usage() + 40).sum::<usize>() + 40;
            self.by_tokens.insert(terminal, words);
        }
        match self.by_tokens[&terminal].get(&residue) {
            Some(word) => Ok(Some(word.clone())),
            None => self.shortest(automaton, residue),
        }
    }

    /// The words of the fewest tokens, by residue, of a terminal whose shortest word takes many; none if it
    /// has many residues.
    ///
    /// # Errors
    /// If the call is out of work (the next one goes on from there), or the automaton reaches a limit.
    fn of_few_tokens(
        &mut self,
        parser: &Parser,
        terminal: TerminalId,
        start: StateId,
    ) -> Result<FxHashMap<StateId, Word>, EngineError> {
        let (vocabulary, automaton) = (&parser.shared.vocabulary, parser.automaton(terminal));
        let unfinished = self.unfinished.take().filter(|(of, _)| *of == terminal);
        let mut search = match unfinished {
            Some((_, search)) => search,
            None => match self.shortest(automaton, start)? {
                Some(word) if fewest_alone(vocabulary.trie(), word.bytes())? >= MANY_TOKENS => {
                    Box::new(Search::new(start, word.bytes().iter().chain(FILLERS).copied().collect()))
                }
                _ => return Ok(FxHashMap::default()),
            },
        };
        match search.run(vocabulary, automaton) {
            Ok(true) => Ok(search.words(vocabulary, automaton)),
            Ok(false) => Ok(FxHashMap::default()),
            Err(error) => {
                self.unfinished = Some((terminal, search));
                Err(EngineError::in_terminal(automaton)(error))
            }
        }
    }

    /// The least of the shortest words from a residue, of those whose bytes are tokens if there are any;
    /// `None` where a limit keeps it from being found.
    ///
    /// All residues along the word learn theirs. **Lemma.** If t·v is the least of the shortest words from a
    /// residue, v is that of the residue after t, because t·u is a word from the first for each word u from
    /// the second. ∎
    ///
    /// # Errors
    /// If the call is out of work.
    fn shortest(&mut self, automaton: &Automaton, mut residue: StateId) -> Result<Option<Word>, EngineError> {
        let key = automaton.residue_key(residue);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let found = automaton.shortest_word(residue).and_then(|word| {
            let is_spelled = word.iter().all(|&byte| self.tokens.contains(byte));
            let spelled = if is_spelled { None } else { spelled_word(automaton, residue, self.tokens)? };
            Ok(spelled.unwrap_or(word))
        });
        let word = match found.map_err(EngineError::in_terminal(automaton)) {
            Ok(word) => Word { whole: word.into(), start: 0 },
            Err(error) if error.is_final_limit() => {
                self.known.insert(key, None);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.n_bytes += word.memory_usage();
        meter::spend(UNITS_PER_BYTE * word.whole.len() as u64)?;
        self.known.insert(key, Some(word.clone()));
        if !automaton.is_literal_like() {
            for start in 1..word.whole.len() {
                let next = automaton.step(residue, word.whole[start - 1]);
                let Some(next) = next.map_err(EngineError::in_terminal(automaton))? else { break };
                residue = next;
                let rest = Word { whole: word.whole.clone(), start };
                self.known.insert(automaton.residue_key(residue), Some(rest));
            }
        }
        Ok(Some(word))
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.n_bytes + self.known.len() * 56
    }
}

/// The least of the shortest words from a residue whose bytes are `tokens`; `None` if there is none, or it
/// lies behind too many residues.
fn spelled_word(
    automaton: &Automaton,
    residue: StateId,
    tokens: ByteSet,
) -> Result<Option<Vec<u8>>, AutomatonError> {
    // By residue, the one before it and the byte between.
    let mut before: FxHashMap<StateId, (StateId, u8)> = FxHashMap::default();
    let mut queue = VecDeque::from([residue]);
    while let Some(mut at) = queue.pop_front() {
        if automaton.is_accepting(at) {
            let mut word = Vec::new();
            while at != residue {
                let (from, byte) = before[&at];
                word.push(byte);
                at = from;
            }
            word.reverse();
            return Ok(Some(word));
        }
        for byte in automaton.next_bytes(at)?.intersection(&tokens).iter() {
            meter::spend(UNITS_PER_BYTE).map_err(AutomatonError::from)?;
            let Some(next) = automaton.step(at, byte)? else { continue };
            if next != residue && !before.contains_key(&next) {
                before.insert(next, (at, byte));
                queue.push_back(next);
            }
        }
        if before.len() > MAX_RESIDUES {
            break;
        }
    }
    Ok(None)
}

/// A search for the words of the fewest tokens from the residues of a terminal. It goes on where work has
/// ended.
struct Search {
    /// Which bytes are looked at where many may come.
    fillers: ByteSet,
    ids: FxHashMap<StateId, usize>,
    residues: Vec<StateId>,
    /// By residue, where tokens from there end, each with the token of the least bytes.
    edges: Vec<Vec<(usize, TokenId)>>,
    /// The same of the residue that is walked from, and what is left of the walk; nothing before it begins.
    ends: FxHashMap<usize, TokenId>,
    stack: Vec<(TrieNodeId, StateId)>,
    n_steps: u64,
}

impl Search {
    fn new(start: StateId, fillers: ByteSet) -> Search {
        Search {
            fillers,
            ids: FxHashMap::from_iter([(start, 0)]),
            residues: vec![start],
            edges: Vec::new(),
            ends: FxHashMap::default(),
            stack: Vec::new(),
            n_steps: 0,
        }
    }

    /// Walks with all tokens from all residues. Returns whether that could be done: whether there were few.
    ///
    /// # Errors
    /// If the call is out of work, or the automaton reaches a limit.
    fn run(&mut self, vocabulary: &Vocabulary, automaton: &Automaton) -> Result<bool, AutomatonError> {
        let trie = vocabulary.trie();
        while let Some(&residue) = self.residues.get(self.edges.len()) {
            if self.residues.len() > MAX_ENDS || self.n_steps > MAX_STEPS {
                return Ok(false);
            }
            if self.stack.is_empty() {
                self.stack.push((Trie::ROOT, residue));
            }
            while let Some(&(node, residue)) = self.stack.last() {
                meter::spend(trie.n_children(node) as u64).map_err(AutomatonError::from)?;
                let mut bytes = automaton.next_bytes(residue)?;
                if bytes.len() > MANY_BYTES {
                    bytes = bytes.intersection(&self.fillers);
                }
                let n_open = self.stack.len();
                for (byte, child) in trie.children(node).filter(|(byte, _)| bytes.contains(*byte)) {
                    self.n_steps += 1;
                    match automaton.step(residue, byte) {
                        Ok(next) => self.stack.extend(next.map(|next| (child, next))),
                        Err(error) => {
                            self.stack.truncate(n_open);
                            return Err(error);
                        }
                    }
                }
                // In the order of their bytes, the node itself last.
                self.stack[n_open - 1..].reverse();
                self.stack.pop();
                if let Some(&token) = trie.tokens(node).first() {
                    let next = self.residues.len();
                    let id = *self.ids.entry(residue).or_insert(next);
                    if id == next {
                        self.residues.push(residue);
                    }
                    self.ends.entry(id).or_insert(token);
                }
            }
            self.edges.push(self.ends.drain().collect());
        }
        Ok(true)
    }

    /// The words, by residue. Of several, the one whose first token has the least bytes, and so on.
    fn words(self, vocabulary: &Vocabulary, automaton: &Automaton) -> FxHashMap<StateId, Word> {
        let Search { residues, edges, .. } = self;
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); residues.len()];
        for (from, ends) in edges.iter().enumerate() {
            ends.iter().for_each(|&(to, _)| before[to].push(from));
        }
        let mut words: Vec<Option<(u32, Vec<u8>)>> = residues
            .iter()
            .map(|&residue| automaton.is_accepting(residue).then(|| (0, Vec::new())))
            .collect();
        let mut level: Vec<usize> = (0..residues.len()).filter(|&at| words[at].is_some()).collect();
        for n_tokens in 1.. {
            let mut next: Vec<usize> = level.iter().flat_map(|&at| &before[at]).copied().collect();
            next.retain(|&at| words[at].is_none());
            next.sort_unstable();
            next.dedup();
            if next.is_empty() {
                break;
            }
            for &at in &next {
                let goes_on = |&(to, token): &(usize, TokenId)| {
                    let (n_more, rest) = words[to].as_ref()?;
                    let bytes = vocabulary.text(token).unwrap_or_default();
                    (*n_more + 1 == n_tokens).then_some((bytes, rest))
                };
                let best = edges[at].iter().filter_map(goes_on).min();
                words[at] = best.map(|(bytes, rest)| (n_tokens, [bytes, rest].concat()));
            }
            level = next;
        }
        let spelled = residues.into_iter().zip(words);
        spelled
            .filter_map(|(residue, word)| Some((residue, Word { whole: word?.1.into(), start: 0 })))
            .collect()
    }
}
