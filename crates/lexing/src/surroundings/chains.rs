//! Ignored texts: chains of one or more words, each the whole match at its place.
//!
//! A word must be the whole match of its pattern, so it puts a condition on the text after it: `;[^\n]*` is
//! followed by a line feed or the end of the text. Within a chain, a finite automaton follows these
//! conditions (subset construction over pairs of a run, or a place between words, and the open conditions).
//! The text after the chain decides the conditions that are open at its end. Often its first byte decides
//! them, in the same way for every word that can follow. Then the ignored texts are regular languages: one
//! before another word, and one at the end of the text.

use std::collections::VecDeque;
use std::ops::Range;

use maskwright_automata::{Automaton, AutomatonLimits, ByteSet, Fuel, Regex, StateId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{ANYTHING, DEAD, NOTHING, Run, Surroundings};
use crate::LexError;
use crate::elimination::{Edges, Graph, add_edge};

/// The most states of an automaton of ignored texts.
const MAX_STATES: usize = 1_000;
/// The most pairs of a run and open conditions in one state.
const MAX_ITEMS: usize = 64;
/// The most pairs of states that are compared to see whether two languages are equal.
const MAX_PAIRS: usize = 10_000;
/// Stands for a place between words, in place of a run.
const BETWEEN: u32 = u32::MAX;

/// Ignored texts. Each consists of one or more words, and each word is the match at its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chains {
    /// The texts that may precede another word.
    pub inside: Regex,
    /// Words that are possible only at the end of the text, alone or after an `inside` text.
    pub last: Regex,
}

/// Whether a word may end at a place if another word follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Always,
    Never,
    /// More than the first byte after it decides.
    Depends,
}

/// A run or [`BETWEEN`], and the conditions that the rest of the text must meet, sorted.
type Item = (u32, Vec<u32>);

/// The automaton of all chains. State 0 is the start.
#[derive(Default)]
struct Machine {
    /// By state and class of bytes, the next state.
    next: Vec<Vec<Option<usize>>>,
    /// By state, the alternatives for ending a chain there: each is a list of conditions that must all be
    /// met.
    ends: Vec<Vec<Vec<u32>>>,
}

impl Surroundings {
    /// The chains of words of all the patterns, if they are regular languages. The text after a chain is
    /// empty or begins with a byte of `next`. `None` if the words depend on the text before them, if more
    /// than that byte decides where a chain may end, or if a language is beyond the limits. If `plain` has
    /// the same words as the chains at every place, it is returned as it is.
    ///
    /// # Errors
    /// `fuel` is exceeded, or the caller cancelled.
    ///
    /// ```
    /// use maskwright_automata::{ByteSet, Fuel, Regex};
    /// use maskwright_lexing::{Counting, Flags, Surroundings, parse_python};
    /// let fuel = Fuel::unlimited();
    /// let chains = |pattern: &str, next: &[u8]| {
    ///     let pattern = parse_python(pattern, Flags::default(), &fuel).unwrap();
    ///     let plain = pattern.words(0, &fuel)?.plus();
    ///     let surroundings = Surroundings::new(&[(&pattern, Counting::Match)], &fuel)?;
    ///     let next: ByteSet = next.iter().copied().collect();
    ///     Ok::<_, maskwright_lexing::LexError>((surroundings.chains(&next, Some(&plain), &fuel)?, plain))
    /// };
    /// let (blanks, plain) = chains(" +", b"ab")?;
    /// assert_eq!(blanks.map(|chains| (chains.inside, chains.last)), Some((plain, Regex::empty())));
    /// let (comments, plain) = chains("#[^\n]*", b"ab")?;
    /// assert_eq!(comments.map(|chains| chains.inside), Some(Regex::empty()), "a comment ends with the text");
    /// assert!(chains(" +", b" a")?.0.is_none(), "whether ` ` may be ignored depends on what follows it");
    /// # Ok::<(), maskwright_lexing::LexError>(())
    /// ```
    pub fn chains(
        &self,
        next: &ByteSet,
        plain: Option<&Regex>,
        fuel: &Fuel,
    ) -> Result<Option<Chains>, LexError> {
        let mut starts = self.starts.iter().flatten();
        let first = starts.next().cloned().unwrap_or_default();
        if starts.any(|other| *other != first) {
            return Ok(None);
        }
        let Some(machine) = self.machine(&first, fuel)? else { return Ok(None) };
        let Some(inside) = self.inside(&machine, next) else { return Ok(None) };
        let holds_at_end = |&condition: &u32| self.conditions[condition as usize].holds_at_end;
        let at_end: Vec<bool> =
            machine.ends.iter().map(|ends| ends.iter().any(|its| its.iter().all(holds_at_end))).collect();
        if let Some(plain) = plain
            && self.is_same(&machine, &inside, plain, fuel)?
            && self.is_same(&machine, &at_end, plain, fuel)?
        {
            return Ok(Some(Chains { inside: plain.clone(), last: Regex::empty() }));
        }
        let last = (first.as_slice(), next);
        let made = self.chains_of(&machine, &inside, &at_end, last, fuel);
        match made {
            Err(error) if error.is_limit() => {
                // The expression is too large. If instead the fuel has run out, this fails.
                fuel.spend(1)?;
                Ok(None)
            }
            made => made,
        }
    }

    /// Adds a pattern for the chains of words of `patterns`, which count only as matches
    /// ([`Counting::Match`]), and returns its number. The text after a chain is empty or begins with a byte
    /// of `next`. `None` if the pattern is beyond the limits, depends on the text before it, or ends under
    /// more than one condition at a time.
    ///
    /// # Errors
    /// `fuel` is exceeded, or the caller cancelled.
    ///
    /// [`Counting::Match`]: crate::Counting::Match
    pub fn add_chain(
        &mut self,
        patterns: Range<usize>,
        next: &ByteSet,
        fuel: &Fuel,
    ) -> Result<Option<u32>, LexError> {
        let mut starts = self.starts.iter().flatten().map(|starts| &starts[patterns.clone()]);
        let first = starts.next().unwrap_or_default().to_vec();
        if starts.any(|other| *other != first) {
            return Ok(None);
        }
        let Some(machine) = self.machine(&first, fuel)? else { return Ok(None) };
        let Some(ends) =
            machine.ends.iter().map(|ends| self.one_end(ends, next)).collect::<Option<Vec<u32>>>()
        else {
            return Ok(None);
        };
        let start = self.runs.len() as u32;
        let row = |row: &[Option<usize>]| {
            row.iter().map(|to| to.map_or(DEAD, |to| start + 1 + to as u32)).collect()
        };
        // The start is a run of its own, so that the empty text is not a chain.
        self.runs.push(Run { ends: NOTHING, next: row(&machine.next[0]) });
        self.runs.extend(machine.next.iter().zip(ends).map(|(its, ends)| Run { ends, next: row(its) }));
        let mut pattern = 0;
        for starts in self.starts.iter_mut().flatten() {
            pattern = starts.len() as u32;
            starts.push(start);
        }
        Ok(Some(pattern))
    }

    /// The one condition under which a chain ends. Leaves out conditions that every possible next text meets.
    fn one_end(&self, ends: &[Vec<u32>], next: &ByteSet) -> Option<u32> {
        let is_open = |&condition: &u32| {
            !self.conditions[condition as usize].holds_at_end
                || self.verdict(condition, next) != Verdict::Always
        };
        let mut ends: Vec<Vec<u32>> =
            ends.iter().map(|its| its.iter().copied().filter(is_open).collect()).collect();
        ends.sort_unstable();
        ends.dedup();
        match &ends[..] {
            [] => Some(NOTHING),
            [first, ..] if first.is_empty() => Some(ANYTHING),
            [first] if first.len() == 1 => Some(first[0]),
            _ => None,
        }
    }

    /// By state, whether a chain may end there before a byte of `next`; `None` if that depends on more than
    /// the byte.
    fn inside(&self, machine: &Machine, next: &ByteSet) -> Option<Vec<bool>> {
        let verdict = |conditions: &Vec<u32>| {
            let its = || conditions.iter().map(|&condition| self.verdict(condition, next));
            if its().any(|verdict| verdict == Verdict::Never) {
                Verdict::Never
            } else if its().all(|verdict| verdict == Verdict::Always) {
                Verdict::Always
            } else {
                Verdict::Depends
            }
        };
        let is_inside = |ends: &Vec<Vec<u32>>| {
            let verdicts: Vec<Verdict> = ends.iter().map(verdict).collect();
            let is_inside = verdicts.contains(&Verdict::Always);
            (is_inside || !verdicts.contains(&Verdict::Depends)).then_some(is_inside)
        };
        machine.ends.iter().map(is_inside).collect()
    }

    fn chains_of(
        &self,
        machine: &Machine,
        inside: &[bool],
        at_end: &[bool],
        (starts, next): (&[u32], &ByteSet),
        fuel: &Fuel,
    ) -> Result<Option<Chains>, LexError> {
        // The start is a state of its own, so that the empty text is not a chain.
        let mut graph = Graph::default();
        graph.add(false, self.edges(&machine.next[0], 1));
        for (its, &is_inside) in machine.next.iter().zip(inside) {
            graph.add(is_inside, self.edges(its, 1));
        }
        let inside = graph.into_regex(fuel)?;
        let last = self.last(starts, next, fuel)?;
        let all = Regex::union([inside.clone(), Regex::concat([inside.optional(), last.clone()])]);
        let is_all = self.is_same(machine, at_end, &all, fuel)?;
        Ok(is_all.then_some(Chains { inside, last }))
    }

    /// The edges of a row of states, numbered from `first`.
    fn edges(&self, row: &[Option<usize>], first: usize) -> Edges {
        let mut edges = Edges::new();
        for byte in 0..=255u8 {
            if let Some(to) = row[self.class(byte)] {
                add_edge(&mut edges, first + to, byte);
            }
        }
        edges
    }

    fn class(&self, byte: u8) -> usize {
        usize::from(self.classes[usize::from(byte)])
    }

    /// A byte of each class.
    fn representatives(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        for byte in 0..=255u8 {
            let class = self.class(byte);
            if bytes.len() <= class {
                bytes.resize(class + 1, byte);
            }
            bytes[class] = byte;
        }
        bytes
    }

    /// Whether the texts that begin with a byte of `next` meet `condition`.
    fn verdict(&self, condition: u32, next: &ByteSet) -> Verdict {
        let after = |byte| self.conditions[condition as usize].next[self.class(byte)];
        match condition {
            ANYTHING => Verdict::Always,
            NOTHING => Verdict::Never,
            _ if next.iter().all(|byte| after(byte) == ANYTHING) => Verdict::Always,
            _ if next.iter().all(|byte| after(byte) == NOTHING) => Verdict::Never,
            _ => Verdict::Depends,
        }
    }

    /// The automaton of all chains; `None` if it is too large.
    fn machine(&self, starts: &[u32], fuel: &Fuel) -> Result<Option<Machine>, LexError> {
        let mut states: Vec<Vec<Item>> = vec![vec![(BETWEEN, Vec::new())]];
        let mut ids: FxHashMap<Vec<Item>, usize> = FxHashMap::from_iter([(states[0].clone(), 0)]);
        let bytes = self.representatives();
        let mut machine = Machine::default();
        while let Some(items) = states.get(machine.next.len()).cloned() {
            let ends = items.iter().filter(|item| item.0 == BETWEEN).map(|item| item.1.clone());
            machine.ends.push(ends.collect());
            let mut row = Vec::with_capacity(bytes.len());
            for &byte in &bytes {
                fuel.spend(1 + items.len() as u64)?;
                let after = self.items_after(&items, starts, byte);
                if after.len() > MAX_ITEMS {
                    return Ok(None);
                }
                row.push((!after.is_empty()).then(|| {
                    *ids.entry(after).or_insert_with_key(|key| {
                        states.push(key.clone());
                        states.len() - 1
                    })
                }));
            }
            machine.next.push(row);
            if states.len() > MAX_STATES {
                return Ok(None);
            }
        }
        Ok(Some(machine))
    }

    fn items_after(&self, items: &[Item], starts: &[u32], byte: u8) -> Vec<Item> {
        let class = self.class(byte);
        let mut after: Vec<Item> = Vec::new();
        for (run, conditions) in items {
            let Some(conditions) = self.conditions_after(conditions, byte) else { continue };
            let runs = if *run == BETWEEN { starts } else { std::slice::from_ref(run) };
            for &run in runs {
                let run = self.runs[run as usize].next[class];
                if run == DEAD {
                    continue;
                }
                let ends = self.runs[run as usize].ends;
                if ends != NOTHING {
                    let mut conditions = conditions.clone();
                    conditions.extend((ends != ANYTHING).then_some(ends));
                    conditions.sort_unstable();
                    conditions.dedup();
                    after.push((BETWEEN, conditions));
                }
                after.push((run, conditions.clone()));
            }
        }
        after.sort_unstable();
        after.dedup();
        // An item is redundant if another one for the same run has fewer conditions.
        let is_needless = |(run, conditions): &Item| {
            let fewer = |(other, its): &Item| {
                other == run && its.len() < conditions.len() && its.iter().all(|its| conditions.contains(its))
            };
            after.iter().any(fewer)
        };
        after.iter().filter(|item| !is_needless(item)).cloned().collect()
    }

    /// The single words that are possible at the end of the text, but not before every other word.
    fn last(&self, starts: &[u32], next: &ByteSet, fuel: &Fuel) -> Result<Regex, LexError> {
        let mut sets: VecDeque<Vec<u32>> = VecDeque::from([starts.to_vec()]);
        let mut ids: FxHashMap<Vec<u32>, usize> = FxHashMap::from_iter([(starts.to_vec(), 0)]);
        let bytes = self.representatives();
        let mut graph = Graph::default();
        while let Some(runs) = sets.pop_front() {
            let mut row = Vec::with_capacity(bytes.len());
            for &byte in &bytes {
                fuel.spend(1 + runs.len() as u64)?;
                let class = self.class(byte);
                let mut after: Vec<u32> =
                    runs.iter().map(|&run| self.runs[run as usize].next[class]).collect();
                after.retain(|&run| run != DEAD);
                after.sort_unstable();
                after.dedup();
                let new = ids.len();
                row.push((!after.is_empty()).then(|| {
                    *ids.entry(after).or_insert_with_key(|key| {
                        sets.push_back(key.clone());
                        new
                    })
                }));
            }
            if ids.len() > MAX_STATES {
                return Err(LexError::limit("states of ignored words", MAX_STATES as u64));
            }
            let is_last = runs.iter().any(|&run| {
                let ends = self.runs[run as usize].ends;
                self.conditions[ends as usize].holds_at_end && self.verdict(ends, next) != Verdict::Always
            });
            graph.add(is_last, self.edges(&row, 0));
        }
        graph.into_regex(fuel)
    }

    /// Whether the chains that end at a state of `ends` are the words of `regex`; also `false` if a limit is
    /// reached first.
    fn is_same(
        &self,
        machine: &Machine,
        ends: &[bool],
        regex: &Regex,
        fuel: &Fuel,
    ) -> Result<bool, LexError> {
        let Ok(automaton) = Automaton::new(regex, &AutomatonLimits::default(), fuel) else {
            // Of what can go wrong, only a cancelled call or a lack of fuel is an error.
            fuel.spend(1)?;
            return Ok(false);
        };
        let bytes = self.representatives();
        let mut seen: FxHashSet<(Option<usize>, Option<StateId>)> = FxHashSet::default();
        let mut work = vec![(Some(0), automaton.start())];
        let mut is_start = true;
        while let Some((state, residue)) = work.pop() {
            let is_chain = !is_start && state.is_some_and(|state| ends[state]);
            if is_chain != residue.is_some_and(|residue| automaton.is_accepting(residue)) {
                return Ok(false);
            }
            is_start = false;
            if seen.len() > MAX_PAIRS {
                return Ok(false);
            }
            for (class, &byte) in bytes.iter().enumerate() {
                fuel.spend(1)?;
                let state = state.and_then(|state| machine.next[state][class]);
                let residue = match residue.map(|residue| automaton.step(residue, byte)) {
                    Some(Err(error)) if error.is_limit() => return Ok(false),
                    Some(next) => next?,
                    None => None,
                };
                if (state.is_some() || residue.is_some()) && seen.insert((state, residue)) {
                    work.push((state, residue));
                }
            }
        }
        Ok(true)
    }

    /// The conditions that are open after a byte; `None` if one is not met.
    pub(super) fn conditions_after(&self, conditions: &[u32], byte: u8) -> Option<Vec<u32>> {
        let class = self.class(byte);
        let mut after = Vec::with_capacity(conditions.len());
        for &condition in conditions {
            match self.conditions[condition as usize].next[class] {
                ANYTHING => {}
                NOTHING => return None,
                condition => after.push(condition),
            }
        }
        after.sort_unstable();
        after.dedup();
        Some(after)
    }
}
