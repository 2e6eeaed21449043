//! Whether a given string is in the language of a pattern.

use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex};

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

    /// Linear in the length of `word`, but for states that are made on the way.
    pub(crate) fn matches(&mut self, word: &str, fuel: &Fuel) -> Result<bool, Kind> {
        fuel.spend(word.len() as u64 + 1).map_err(Kind::Fuel)?;
        let automaton = match &mut self.automaton {
            Some(automaton) => automaton,
            slot => slot.insert(
                Automaton::new(&self.pattern, &AutomatonLimits::default(), fuel)
                    .map_err(|error| Kind::of_automaton(&error))?,
            ),
        };
        let Some(mut state) = automaton.start() else { return Ok(false) };
        for &byte in word.as_bytes() {
            match automaton.step(state, byte).map_err(|error| Kind::of_automaton(&error))? {
                Some(next) => state = next,
                None => return Ok(false),
            }
        }
        Ok(automaton.is_accepting(state))
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
