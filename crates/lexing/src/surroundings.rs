//! Patterns with lookahead and lookbehind, in texts that are split into words in every way.
//!
//! A lexer knows where each token ends. Lark's Earley parser with `lexer="dynamic_complete"` does not: at a
//! place `i` of a text, a terminal has the word that Python's `pattern.match(text, i)` finds there, which
//! sees the whole text, and of every shorter prefix `u` of that word the match of `pattern.match(u)`, which
//! sees `u` alone (Lark 1.3.1, `parsers/xearley.py`). For ignored terminals, only the match in the text
//! counts ([`Counting`]). So whether a word counts may depend on the text before and after it.
//!
//! Both dependencies are regular, so finite automata hold them. [`Surroundings`] has three: what the patterns
//! can tell apart of the text *before* a place; the *conditions* that words put on the text after them; and
//! the *runs* of the patterns over their words, each of which says where a word ends and under which
//! condition. All three are minimal, so a condition that every text meets is known to be none, and a pattern
//! whose assertions never reach over the ends of its words is known to have one language
//! ([`own_words`](Surroundings::own_words)).
//!
//! For the others, a [`Context`] is the state at the end of a word: what stands before it, and the conditions
//! that the rest of the text must meet. From one context to others, the words of any terminal are a regular
//! language ([`between`](Surroundings::between)). A grammar over such terminals gives each rule a context at
//! both its ends, as in the intersection with a finite automaton (Bar-Hillel, Perles and Shamir 1961).
//!
//! Rejected: conditions as lookahead of the expressions themselves. What follows a word is a matter of the
//! rules.

mod chains;
mod explore;

pub use chains::Chains;

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonLimits, ByteSet, Fuel, Regex, StateId};
use rustc_hash::FxHashMap;

use crate::elimination::{Edges, Graph, add_edge};
use crate::{LexError, Pattern};

/// The most contexts that are told apart: rules are copied for each, and sets of contexts are kept for each
/// expression and context.
const MAX_CONTEXTS: usize = 1_024;

/// No text has this byte. A word that begins with it stands for tokens by name.
const MARK: u8 = 0xFF;

/// The number of the condition that every text meets.
const ANYTHING: u32 = 0;
/// The number of the condition that no text meets.
const NOTHING: u32 = 1;
/// The number of the run that has no words.
const DEAD: u32 = 0;

/// Which words of a pattern count at a place of a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counting {
    /// The match there and, for each shorter prefix of that match, the match in the prefix alone: words that
    /// rules read.
    Prefixes,
    /// The match there only: ignored words.
    Match,
}

/// A place between words: what the patterns see of the text before it, and the conditions on the text after
/// it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Context(u32);

/// What a terminal reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Words {
    /// These words, of whole characters, whatever stands around them.
    Plain(Regex),
    /// The words of a pattern of [`Surroundings`], by its place.
    Looking(u32),
}

/// What the words of some patterns demand of the texts around them.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Counting, Flags, Surroundings, Words, parse_python};
/// let fuel = Fuel::unlimited();
/// let keyword = parse_python(r"if\b", Flags::default(), &fuel)?;
/// let mut surroundings = Surroundings::new(&[(&keyword, Counting::Prefixes)], &fuel)?;
/// assert!(surroundings.own_words(0, &fuel)?.is_none(), "a letter may follow, or not");
/// let start = surroundings.start();
/// let keyword = Words::Looking(0);
/// let [after] = surroundings.ends(start, &keyword, &fuel)?[..] else { panic!("one condition") };
/// assert!(after != start && surroundings.may_end(after));
/// assert_eq!(surroundings.ends(after, &keyword, &fuel)?, [], "`ifif` is no text");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Surroundings {
    /// By byte, its class: no automaton tells bytes of one class apart.
    classes: [u8; 256],
    /// By state of what stands before, where each class leads.
    before: Vec<Vec<u32>>,
    /// By state of what stands before and pattern, its run; `None` inside of a character.
    starts: Vec<Option<Vec<u32>>>,
    /// By state of what stands before, whether whole characters always lead back to it.
    is_last: Vec<bool>,
    runs: Vec<Run>,
    conditions: Vec<Condition>,
    contexts: Vec<Place>,
    ids: FxHashMap<Place, Context>,
    readings: FxHashMap<(Context, Words), Arc<Reading>>,
}

/// A state of a pattern that reads one of its words.
#[derive(Debug)]
struct Run {
    /// The condition under which a word ends here.
    ends: u32,
    next: Vec<u32>,
}

/// A condition on a text.
#[derive(Debug)]
struct Condition {
    /// Whether the empty text meets it.
    holds_at_end: bool,
    /// The condition on the rest, by the class of the first byte.
    next: Vec<u32>,
}

/// The content of a context. The start of the text is state 0 of what stands before.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Place {
    before: u32,
    /// Sorted and distinct; neither [`ANYTHING`] nor [`NOTHING`].
    after: Vec<u32>,
}

/// Words from one context on.
#[derive(Debug)]
struct Reading {
    /// By state, the context in which a word ends there, and its edges.
    states: Vec<(Option<Context>, Edges)>,
    /// The contexts in which words end, sorted.
    ends: Vec<Context>,
    /// Whether a condition of the context refuses some of the words.
    refuses: bool,
}

impl Surroundings {
    /// The automata of `patterns`. The other methods name a pattern by its index.
    ///
    /// # Errors
    /// A pattern matches the empty text, or looks ahead inside of a lookbehind; a limit or `fuel` is
    /// exceeded.
    pub fn new(patterns: &[(&Pattern, Counting)], fuel: &Fuel) -> Result<Surroundings, LexError> {
        explore::surroundings(patterns, fuel)
    }

    /// The context at the beginning of a text.
    pub fn start(&self) -> Context {
        Context(0)
    }

    /// Whether the text may end in the context.
    pub fn may_end(&self, context: Context) -> bool {
        let after = &self.contexts[context.0 as usize].after;
        after.iter().all(|&condition| self.conditions[condition as usize].holds_at_end)
    }

    /// The words of a pattern, if they are the same wherever it stands and whatever follows.
    ///
    /// # Errors
    /// A limit or `fuel` is exceeded.
    pub fn own_words(&self, pattern: u32, fuel: &Fuel) -> Result<Option<Regex>, LexError> {
        let mut starts = self.starts.iter().flatten().map(|starts| starts[pattern as usize]);
        let start = starts.next().unwrap_or(DEAD);
        if starts.any(|other| other != start) {
            return Ok(None);
        }
        let mut ids: FxHashMap<u32, usize> = FxHashMap::from_iter([(start, 0)]);
        let mut work = VecDeque::from([start]);
        let mut graph = Graph::default();
        while let Some(run) = work.pop_front() {
            let ends = self.runs[run as usize].ends;
            if ends != ANYTHING && ends != NOTHING {
                return Ok(None);
            }
            fuel.spend(256)?;
            let mut edges = Edges::new();
            for byte in 0..=255 {
                let Some(next) = Runs.step(self, run, byte)? else { continue };
                let n_states = ids.len();
                let to = *ids.entry(next).or_insert_with(|| {
                    work.push_back(next);
                    n_states
                });
                add_edge(&mut edges, to, byte);
            }
            graph.add(ends == ANYTHING, edges);
        }
        graph.into_regex(fuel).map(Some)
    }

    /// Whether every text of whole characters may follow in `context`, and ends in it again.
    pub fn is_calm(&self, context: Context) -> bool {
        let place = &self.contexts[context.0 as usize];
        place.after.is_empty() && self.is_last[place.before as usize]
    }

    /// The contexts in which `words` can end if they begin in `from`, sorted.
    ///
    /// # Errors
    /// A limit or `fuel` is exceeded.
    pub fn ends(&mut self, from: Context, words: &Words, fuel: &Fuel) -> Result<Vec<Context>, LexError> {
        Ok(self.reading(from, words, fuel)?.ends.clone())
    }

    /// The `words` that begin in `from` and end in one of `to`.
    ///
    /// # Errors
    /// A limit or `fuel` is exceeded.
    pub fn between(
        &mut self,
        from: Context,
        to: &[Context],
        words: &Words,
        fuel: &Fuel,
    ) -> Result<Regex, LexError> {
        let reading = self.reading(from, words, fuel)?;
        match words {
            // As they are: equal terminals share what they say of a vocabulary.
            Words::Plain(words) if !reading.refuses && reading.ends.iter().all(|end| to.contains(end)) => {
                Ok(words.clone())
            }
            _ => {
                let mut graph = Graph::default();
                for (context, edges) in &reading.states {
                    graph.add(context.is_some_and(|context| to.contains(&context)), edges.clone());
                }
                graph.into_regex(fuel)
            }
        }
    }

    fn reading(&mut self, from: Context, words: &Words, fuel: &Fuel) -> Result<Arc<Reading>, LexError> {
        if let Some(known) = self.readings.get(&(from, words.clone())) {
            return Ok(known.clone());
        }
        let place = self.contexts[from.0 as usize].clone();
        let reading = match words {
            Words::Plain(regex)
                if let Some(word) = regex.as_literal().filter(|word| word.first() == Some(&MARK)) =>
            {
                self.read_token(&word, &place)?
            }
            Words::Plain(regex) => {
                let automaton = Automaton::new(regex, &AutomatonLimits::default(), fuel)?;
                match automaton.start() {
                    Some(start) => self.read(&automaton, start, place, fuel)?,
                    None => Reading { states: Vec::new(), ends: Vec::new(), refuses: false },
                }
            }
            Words::Looking(pattern) => {
                let starts = self.starts[place.before as usize].as_ref();
                let run = starts.map_or(DEAD, |starts| starts[*pattern as usize]);
                self.read(&Runs, run, place, fuel)?
            }
        };
        let reading = Arc::new(reading);
        self.readings.insert((from, words.clone()), reading.clone());
        Ok(reading)
    }

    /// The word of named tokens. Patterns in the text after it do not see it; those before it see no
    /// character there.
    fn read_token(&mut self, word: &[u8], place: &Place) -> Result<Reading, LexError> {
        let Some(after) = self.conditions_after(&place.after, MARK) else {
            return Ok(Reading { states: Vec::new(), ends: Vec::new(), refuses: true });
        };
        let end = self.intern(Place { before: place.before, after })?;
        let mut states: Vec<(Option<Context>, Edges)> = (1..=word.len())
            .zip(word)
            .map(|(next, &byte)| (None, vec![(next, ByteSet::singleton(byte))]))
            .collect();
        states.push((Some(end), Edges::new()));
        Ok(Reading { states, ends: vec![end], refuses: false })
    }

    /// What `reader` reads from `start` on, where `place` is the context.
    fn read<R: Reader>(
        &mut self,
        reader: &R,
        start: R::State,
        place: Place,
        fuel: &Fuel,
    ) -> Result<Reading, LexError> {
        let mut ids: FxHashMap<(R::State, Place), usize> =
            FxHashMap::from_iter([((start, place.clone()), 0)]);
        let mut work = VecDeque::from([(start, place)]);
        let mut reading = Reading { states: Vec::new(), ends: Vec::new(), refuses: false };
        while let Some((state, place)) = work.pop_front() {
            fuel.spend(256)?;
            let is_whole = self.starts[place.before as usize].is_some();
            let ends = if is_whole { reader.ends(self, state) } else { NOTHING };
            let context = (ends != NOTHING).then(|| self.intern(place.and(ends))).transpose()?;
            reading.ends.extend(context);
            let mut edges = Edges::new();
            for byte in 0..=255 {
                let Some(next) = reader.step(self, state, byte)? else { continue };
                let Some(place) = self.after(&place, byte) else {
                    reading.refuses = true;
                    continue;
                };
                let n_states = ids.len();
                let to = *ids.entry((next, place)).or_insert_with_key(|key| {
                    work.push_back(key.clone());
                    n_states
                });
                add_edge(&mut edges, to, byte);
            }
            reading.states.push((context, edges));
        }
        reading.ends.sort_unstable();
        reading.ends.dedup();
        Ok(reading)
    }

    fn intern(&mut self, place: Place) -> Result<Context, LexError> {
        let next = Context(self.contexts.len() as u32);
        if let Some(&known) = self.ids.get(&place) {
            return Ok(known);
        }
        if self.contexts.len() >= MAX_CONTEXTS {
            return Err(LexError::limit("contexts around patterns with assertions", MAX_CONTEXTS as u64));
        }
        self.contexts.push(place.clone());
        self.ids.insert(place, next);
        Ok(next)
    }

    /// The place after a byte; `None` if a condition is not met.
    fn after(&self, place: &Place, byte: u8) -> Option<Place> {
        let class = usize::from(self.classes[usize::from(byte)]);
        let after = self.conditions_after(&place.after, byte)?;
        Some(Place { before: self.before[place.before as usize][class], after })
    }
}

impl Place {
    /// The place with a condition more.
    fn and(&self, condition: u32) -> Place {
        let mut place = self.clone();
        if condition != ANYTHING
            && let Err(at) = place.after.binary_search(&condition)
        {
            place.after.insert(at, condition);
        }
        place
    }
}

/// An automaton whose words put conditions on what follows them.
trait Reader {
    type State: Copy + Eq + Hash;

    fn step(
        &self,
        surroundings: &Surroundings,
        state: Self::State,
        byte: u8,
    ) -> Result<Option<Self::State>, LexError>;

    /// The condition under which a word ends at the state.
    fn ends(&self, surroundings: &Surroundings, state: Self::State) -> u32;
}

/// The runs of the patterns.
struct Runs;

impl Reader for Runs {
    type State = u32;

    fn step(&self, surroundings: &Surroundings, run: u32, byte: u8) -> Result<Option<u32>, LexError> {
        let class = usize::from(surroundings.classes[usize::from(byte)]);
        Ok(Some(surroundings.runs[run as usize].next[class]).filter(|&run| run != DEAD))
    }

    fn ends(&self, surroundings: &Surroundings, run: u32) -> u32 {
        surroundings.runs[run as usize].ends
    }
}

impl Reader for Automaton {
    type State = StateId;

    fn step(&self, _: &Surroundings, state: StateId, byte: u8) -> Result<Option<StateId>, LexError> {
        Ok(Automaton::step(self, state, byte)?)
    }

    fn ends(&self, _: &Surroundings, state: StateId) -> u32 {
        if self.is_accepting(state) { ANYTHING } else { NOTHING }
    }
}

#[cfg(test)]
mod tests {
    use maskwright_automata::CancelToken;

    use super::*;

    /// Every limit of an automaton used to be reported as the one on pairs.
    #[test]
    fn errors_of_automata_keep_their_reasons() {
        let mut surroundings = Surroundings::new(&[], &Fuel::unlimited()).unwrap();
        let start = surroundings.start();
        let mut nested = Regex::literal("ab");
        for _ in 0..1_000 {
            nested = Regex::concat([nested.repeat(2, Some(3)), Regex::literal("x")]);
        }
        let error = surroundings.ends(start, &Words::Plain(nested), &Fuel::unlimited()).unwrap_err();
        assert!(error.is_limit() && !error.is_cancelled());
        assert_eq!(error.to_string(), "the expression needs more than the 400 levels of nesting allowed");

        let words = Words::Plain(Regex::literal("ab"));
        let error = surroundings.ends(start, &words, &Fuel::new(1)).unwrap_err();
        assert!(error.is_limit() && !error.is_cancelled());
        assert_eq!(error.to_string(), "compiling it takes more work than the limit of 1 units allows");
        let cancel = CancelToken::new();
        cancel.cancel();
        let error = surroundings.ends(start, &words, &Fuel::unlimited().with_cancel(cancel)).unwrap_err();
        assert!(error.is_cancelled() && !error.is_limit());
    }
}
