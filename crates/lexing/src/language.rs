//! The words of a pattern, as a language without an order.
//!
//! A word of a pattern is a text that the pattern, matched from its beginning, matches whole: after `a|ab`
//! the text `ab` is none, since `a` is found first, and a comment that ends lazily ends at its first end.
//! Where the pattern's order makes no difference, its words are those of the same expression read as a
//! [`Regex`], and that is what it becomes, so that equal languages stay equal expressions. Whether it makes
//! one is decided by the two automata, side by side. Where it does, and where there are assertions, the
//! lexer's automaton is made an expression again ([`crate::elimination`]).

use std::collections::VecDeque;

use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex, StateId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::elimination::{Edges, Graph, add_edge};
use crate::{Discipline, LexError, LexState, Lexer, LexerLimits, LexerTerminal, Pattern, PatternNode};

/// The greatest number of states that are made an expression again, before equal ones are merged.
const MAX_STATES: usize = 2_000;

impl Pattern {
    /// The pattern's words: what it matches whole, as Python's `re.match` finds it in that word alone.
    ///
    /// # Errors
    /// The pattern matches the empty word or looks ahead inside of a lookbehind; a limit or `fuel` is
    /// exceeded. `terminal` is what the error calls it.
    ///
    /// ```
    /// use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex};
    /// use maskwright_lexing::{Flags, parse_python};
    /// let fuel = Fuel::unlimited();
    /// let words = |pattern| parse_python(pattern, Flags::default(), &fuel)?.words(0, &fuel).map_err(Box::<dyn std::error::Error>::from);
    /// assert_eq!(words("(?:b|a)a*")?, Regex::concat([Regex::bytes(b"ab".iter().copied().collect()), Regex::byte(b'a').star()]));
    /// assert_eq!(words("a|ab")?, Regex::byte(b'a'));
    /// let lazy = Automaton::new(&words("<[<>]*?>")?, &AutomatonLimits::default(), &fuel)?;
    /// let after = |text: &[u8]| text.iter().try_fold(lazy.start()?, |state, &byte| lazy.step(state, byte).ok()?);
    /// assert!(after(b"<<>").is_some_and(|state| lazy.is_accepting(state)) && after(b"<>>").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn words(&self, terminal: u32, fuel: &Fuel) -> Result<Regex, LexError> {
        let terminals = [LexerTerminal::new(terminal, self.clone())];
        let lexer = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), fuel)?;
        if let Some(regex) = self.language()
            && is_language(&lexer, &regex, fuel)?
        {
            return Ok(regex);
        }
        graph(&lexer, fuel)?.into_regex(fuel)
    }

    /// What the pattern matches if its alternatives and repetitions are tried in any order; `None` if it has
    /// assertions.
    pub fn language(&self) -> Option<Regex> {
        let all = |parts: &[Pattern]| parts.iter().map(Pattern::language).collect::<Option<Vec<_>>>();
        Some(match self.node() {
            PatternNode::Empty => Regex::epsilon(),
            PatternNode::Bytes(set) => Regex::bytes(*set),
            PatternNode::Class(ranges) => Regex::char_class(ranges),
            PatternNode::Literal(bytes) => Regex::literal(bytes),
            PatternNode::Concat(parts) => Regex::concat(all(parts)?),
            PatternNode::Alternation(parts) => Regex::union(all(parts)?),
            PatternNode::Repeat { inner, min, max, .. } => inner.language()?.repeat(*min, *max),
            PatternNode::Look { .. } => return None,
        })
    }
}

/// Whether a word ends at `state`.
fn ends(lexer: &Lexer, state: LexState) -> bool {
    lexer.accepts(state).iter().any(|accept| !lexer.refutes_at_end(accept.guard))
}

/// Whether `regex` has the words of the lexer's one terminal, and no others.
fn is_language(lexer: &Lexer, regex: &Regex, fuel: &Fuel) -> Result<bool, LexError> {
    // What is beyond the limits of automata is beyond those of the lexer too, or is found out there.
    let Ok(automaton) = Automaton::new(regex, &AutomatonLimits::default(), fuel) else { return Ok(false) };
    let Some(start) = automaton.start() else { return Ok(false) };
    let mut seen: FxHashSet<(LexState, StateId)> = FxHashSet::from_iter([(lexer.start(), start)]);
    let mut work = vec![(lexer.start(), start)];
    while let Some((read, residue)) = work.pop() {
        fuel.spend(256)?;
        if ends(lexer, read) != automaton.is_accepting(residue) {
            return Ok(false);
        }
        for byte in 0..=255 {
            let next = (lexer.step(read, byte)?, automaton.step(residue, byte));
            match next {
                (Some(read), Ok(Some(residue))) => {
                    if seen.insert((read, residue)) {
                        work.push((read, residue));
                    }
                }
                (None, Ok(None)) => {}
                _ => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// The states of the lexer's automaton.
fn graph(lexer: &Lexer, fuel: &Fuel) -> Result<Graph, LexError> {
    let mut ids: FxHashMap<LexState, usize> = FxHashMap::from_iter([(lexer.start(), 0)]);
    let mut work = VecDeque::from([lexer.start()]);
    let mut graph = Graph::default();
    while let Some(state) = work.pop_front() {
        fuel.spend(256)?;
        let mut edges = Edges::new();
        for byte in 0..=255 {
            let Some(next) = lexer.step(state, byte)? else { continue };
            let n_states = ids.len();
            let to = *ids.entry(next).or_insert(n_states);
            if to == n_states {
                work.push_back(next);
            }
            add_edge(&mut edges, to, byte);
        }
        if ids.len() > MAX_STATES {
            return Err(LexError::limit(
                "states of one terminal whose order of matching matters",
                MAX_STATES as u64,
            ));
        }
        graph.add(ends(lexer, state), edges);
    }
    Ok(graph)
}
