//! Regular expressions: dialects, one exact translation.
//!
//! A pattern is parsed to a small tree of plain languages and assertions (`Pattern`; the Rust dialect through
//! `regex-syntax`, Python's through
//! `maskwright-lexing`, ECMA-262's by a parser of its own), and the assertions are then resolved (`lower`), so that
//! the result is a `Regex` without any. The value stands for a *set of texts*: greediness and the order of
//! alternatives, which only decide which match is reported, have no bearing on it. Nothing is approximated:
//! what cannot be turned into an expression exactly is an error that says where.
//!
//! Backreferences are not regular and never supported.

mod ascii;
mod behind;
mod ecma;
mod ecma_class;
mod lower;
mod neighbour;
mod pattern;
mod python;
mod repeat;
mod rust;

use maskwright_automata::{Fuel, Regex};
use serde::{Deserialize, Serialize};

use self::pattern::{Pattern, Sets};
use crate::SyntaxError;
use crate::error::Fault;

/// The longest pattern, in bytes: three bytes of it, `\pL`, can name a class of hundreds of ranges.
const MAX_PATTERN: usize = 1 << 16;

/// The syntax and meaning of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Dialect {
    /// The crate `regex`'s: Unicode classes, flags such as `(?i)`, no look-around.
    Rust,
    /// ECMA-262 with the `u` flag, as JSON Schema's `pattern` uses it; lenient where published schemas are
    /// (needless escapes, `{` and `]` as literals, `(?i)` in front, `\A` and `\z`).
    Ecma,
    /// Python's `re` for `str` patterns, flags such as `(?i)` in front included. Its `$` also holds before a line feed
    /// that ends the text, and a text that is matched whole has no such place.
    Python,
    /// [`Rust`](Dialect::Rust)'s syntax, but `\d`, `\w`, `\s`, `\b` and their negations are ASCII-only unless the flag `u` is
    /// set: `(?u)\w+`. The default dialect.
    RustAscii,
}

/// The language of the texts that the whole pattern matches, as if anchored at both ends.
///
/// Takes time in the length of the pattern, `fuel` one unit per node.
///
/// # Errors
/// If the pattern is malformed, uses something without an exact translation (backreferences, look-behind of unbounded width,
/// look-ahead inside an unbounded repetition but for the usual forms), or reaches a limit.
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_syntax::regex::{self, Dialect};
/// let fuel = Fuel::unlimited();
/// let year = regex::parse("^[0-9]{4}$", Dialect::Ecma, &fuel).unwrap();
/// assert_eq!(year, Regex::char_class(&[('0', '9')]).repeat(4, Some(4)));
/// ```
pub fn parse(pattern: &str, dialect: Dialect, fuel: &Fuel) -> Result<Regex, SyntaxError> {
    build(pattern, dialect, false, fuel).map_err(|fault| fault.place(pattern, "pattern"))
}

/// The language of the texts in which the pattern is found somewhere, as JSON Schema's `pattern` asks.
///
/// Takes time in the length of the pattern, `fuel` one unit per node.
///
/// # Errors
/// As [`parse`].
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_syntax::regex::{self, Dialect};
/// let found = regex::parse_search("^ab", Dialect::Ecma, &Fuel::unlimited()).unwrap();
/// assert_eq!(found, Regex::concat([Regex::literal("ab"), Regex::any_text()]));
/// ```
pub fn parse_search(pattern: &str, dialect: Dialect, fuel: &Fuel) -> Result<Regex, SyntaxError> {
    build(pattern, dialect, true, fuel).map_err(|fault| fault.place(pattern, "pattern"))
}

fn build(pattern: &str, dialect: Dialect, is_search: bool, fuel: &Fuel) -> Result<Regex, Fault> {
    let whole = 0..pattern.len();
    if pattern.len() > MAX_PATTERN {
        let message =
            format!("the pattern has {} bytes, more than the limit of {MAX_PATTERN}", pattern.len());
        return Err(Fault::limit(0..0, message));
    }
    fuel.spend(pattern.len() as u64).map_err(|error| Fault::fuel(whole.clone(), error))?;
    let mut sets = Sets::default();
    let mut parsed = match dialect {
        Dialect::Rust => rust::parse(pattern, false, &mut sets, fuel)?,
        Dialect::RustAscii => rust::parse(pattern, true, &mut sets, fuel)?,
        Dialect::Ecma => ecma::parse(pattern, &mut sets, fuel)?,
        Dialect::Python => python::parse(pattern, &mut sets, fuel)?,
    };
    if is_search {
        let any = || Pattern::Plain(Regex::any_text());
        parsed = Pattern::concat([any(), parsed, any()]);
    }
    lower::lower(&parsed, &sets, whole, fuel)
}
