//! A choice between given texts.

use maskwright_automata::Regex;
use maskwright_grammar::Grammar;

use crate::SyntaxError;
use crate::error::Fault;

/// The grammar of exactly the given texts. Takes O(n log n) for n texts; equal ones count once.
///
/// # Errors
/// If there are none: nothing could ever be generated.
///
/// ```
/// let grammar = maskwright_syntax::choice(&["yes", "no"]).unwrap();
/// assert_eq!(grammar.terminals().len(), 1);
/// assert!(maskwright_syntax::choice::<&str>(&[]).is_err());
/// ```
pub fn choice<S: AsRef<str>>(choices: &[S]) -> Result<Grammar, SyntaxError> {
    if choices.is_empty() {
        let message = "no choices are given, at least one is needed";
        return Err(Fault::new(0..0, message).place("", "choices"));
    }
    let words = choices.iter().map(|choice| Box::<[u8]>::from(choice.as_ref().as_bytes()));
    Ok(Grammar::from_regex(Regex::words(words)))
}
