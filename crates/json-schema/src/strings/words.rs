//! Whether a given string is in the language of a pattern, and how many are.

use std::collections::HashMap;

use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex, StateId};

use crate::error::Kind;

/// A pattern, and its automaton once a word was asked for.
pub(crate) struct Matcher {
    pattern: Regex,
    automaton: Option<Automaton>,
}

impl Matcher {
    pub(crate) fn new(pattern: &Regex) -> Matcher {
        Matcher { pattern: pattern.clone(), automaton: None }
    }

    /// Whether `word` is in the language. Linear in its length, but for states that are made on the way.
    pub(crate) fn matches(&mut self, word: &str, fuel: &Fuel) -> Result<bool, Kind> {
        Ok(self.read(word, fuel)? == Some(true))
    }

    /// The same; `None` if no word of the language begins with `word`.
    pub(crate) fn read(&mut self, word: &str, fuel: &Fuel) -> Result<Option<bool>, Kind> {
        fuel.spend(word.len() as u64 + 1).map_err(Kind::Fuel)?;
        let automaton = match &mut self.automaton {
            Some(automaton) => automaton,
            slot => slot.insert(
                Automaton::new(&self.pattern, &AutomatonLimits::default(), fuel)
                    .map_err(|error| Kind::of_automaton(&error))?,
            ),
        };
        let Some(mut state) = automaton.start() else { return Ok(None) };
        for &byte in word.as_bytes() {
            match automaton.step(state, byte).map_err(|error| Kind::of_automaton(&error))? {
                Some(next) => state = next,
                None => return Ok(None),
            }
        }
        Ok(Some(automaton.is_accepting(state)))
    }
}

/// Whether no word is in the language.
pub(crate) fn is_empty(regex: &Regex, fuel: &Fuel) -> Result<bool, Kind> {
    if !regex.is_extended() {
        return Ok(*regex == Regex::empty());
    }
    Ok(Automaton::new(regex, &AutomatonLimits::default(), fuel)
        .map_err(|error| Kind::of_automaton(&error))?
        .start()
        .is_none())
}

/// So many words are more than any text holds.
const MANY_WORDS: u64 = 1 << 20;

/// How many states are looked at to count words.
const MAX_COUNTED: usize = 10_000;

/// How large a language is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// So many words, fewer than any text holds.
    Words(u64),
    /// More than any text holds.
    Many,
    /// Its automaton is too large to be seen.
    Unknown,
}

/// How many words are in the language. Takes time in the states up to the first circle.
pub(crate) fn size(regex: &Regex, fuel: &Fuel) -> Result<Size, Kind> {
    let Ok(automaton) = Automaton::new(regex, &AutomatonLimits::default(), fuel) else {
        return Ok(Size::Unknown);
    };
    let Some(start) = automaton.start() else { return Ok(Size::Words(0)) };
    // States on the way are open: one met again is on a circle, which words go round.
    let mut counts: HashMap<StateId, Option<u64>> = HashMap::from([(start, None)]);
    let Ok(bytes) = automaton.next_bytes(start) else { return Ok(Size::Unknown) };
    let mut path: Vec<(StateId, u64, Vec<u8>)> =
        vec![(start, u64::from(automaton.is_accepting(start)), bytes.iter().collect())];
    while let Some((state, n_words, bytes)) = path.last_mut() {
        let Some(byte) = bytes.pop() else {
            let (state, n_words) = (*state, *n_words);
            path.pop();
            counts.insert(state, Some(n_words));
            match path.last_mut() {
                Some(before) => before.1 = before.1.saturating_add(n_words),
                None if n_words < MANY_WORDS => return Ok(Size::Words(n_words)),
                None => return Ok(Size::Many),
            }
            continue;
        };
        fuel.spend(1).map_err(Kind::Fuel)?;
        let Ok(next) = automaton.step(*state, byte) else { return Ok(Size::Unknown) };
        let Some(next) = next else { continue };
        match counts.get(&next) {
            Some(None) => return Ok(Size::Many),
            Some(&Some(known)) => *n_words = n_words.saturating_add(known),
            None if counts.len() >= MAX_COUNTED => return Ok(Size::Unknown),
            None => {
                let Ok(bytes) = automaton.next_bytes(next) else { return Ok(Size::Unknown) };
                counts.insert(next, None);
                path.push((next, u64::from(automaton.is_accepting(next)), bytes.iter().collect()));
            }
        }
    }
    Ok(Size::Unknown)
}

/// The words of a language that has few.
pub(crate) fn words(regex: &Regex, fuel: &Fuel) -> Result<Vec<Vec<u8>>, Kind> {
    let automaton = Automaton::new(regex, &AutomatonLimits::default(), fuel)
        .map_err(|error| Kind::of_automaton(&error))?;
    let mut words = Vec::new();
    let mut open: Vec<(StateId, Vec<u8>)> =
        automaton.start().into_iter().map(|start| (start, Vec::new())).collect();
    while let Some((state, word)) = open.pop() {
        fuel.spend(word.len() as u64 + 1).map_err(Kind::Fuel)?;
        let bytes = automaton.next_bytes(state).map_err(|error| Kind::of_automaton(&error))?;
        for byte in bytes.iter() {
            let next = automaton.step(state, byte).map_err(|error| Kind::of_automaton(&error))?;
            open.extend(next.map(|next| (next, word.iter().copied().chain([byte]).collect())));
        }
        if automaton.is_accepting(state) {
            words.push(word);
        }
    }
    words.sort_unstable();
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted() {
        let count = |regex: &Regex| size(regex, &Fuel::unlimited()).unwrap();
        let letter = Regex::bytes((b'a'..=b'c').collect());
        assert_eq!(count(&Regex::empty()), Size::Words(0));
        assert_eq!(count(&Regex::epsilon()), Size::Words(1));
        assert_eq!(count(&letter.repeat(1, Some(3))), Size::Words(3 + 9 + 27));
        let three = Regex::words([*b"ab", *b"cb", *b"ac"]);
        assert_eq!(count(&three), Size::Words(3));
        assert_eq!(words(&three, &Fuel::unlimited()).unwrap(), [*b"ab", *b"ac", *b"cb"]);
        assert_eq!(count(&letter.repeat(20, Some(20))), Size::Many);
        assert_eq!(count(&Regex::concat([letter.clone(), letter.star()])), Size::Many);
        assert_eq!(count(&letter.star().difference(&Regex::words([*b"ab"]))), Size::Many);
    }
}
