//! Regular expressions: dialects, one exact translation.
//!
//! A pattern is parsed to a small tree of plain languages and assertions (`Pattern`; the Rust dialect through
//! `regex-syntax`, Python's through `maskwright-lexing`, ECMA-262's by a parser of its own), and the
//! assertions are then resolved (`lower`), so that the result is a `Regex` without any. The value stands for
//! a *set of texts*: greediness and the order of alternatives, which only decide which match is reported,
//! have no bearing on it. Nothing is approximated: what cannot be turned into an expression exactly is an
//! error that says where.
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

use maskwright_automata::{Automaton, AutomatonLimits, Fuel, FuelError, Regex};
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
    /// Python's `re` for `str` patterns, flags such as `(?i)` in front included. Its `$` also holds before a
    /// line feed that ends the text, and a text that is matched whole has no such place.
    Python,
    /// [`Rust`](Dialect::Rust)'s syntax, but `\d`, `\w`, `\s`, `\b` and their negations are ASCII-only unless
    /// the flag `u` is set: `(?u)\w+`. A pattern with look-around is taken if [`Ecma`](Dialect::Ecma) and
    /// [`Python`](Dialect::Python) (with its flag `a`) agree on its language. The default dialect.
    RustAscii,
}

/// The language of the texts that the whole pattern matches, as if anchored at both ends.
///
/// Takes time in the length of the pattern, `fuel` one unit per node.
///
/// # Errors
/// If the pattern is malformed, uses something without an exact translation (backreferences, look-behind of
/// unbounded width, look-ahead inside an unbounded repetition but for the usual forms), or reaches a limit.
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
        Dialect::Rust | Dialect::RustAscii => {
            match rust::parse(pattern, dialect == Dialect::RustAscii, &mut sets, fuel) {
                Ok(parsed) => parsed,
                Err(fault) if fault.is_out_of_work() => return Err(fault),
                Err(fault) => return elsewhere(pattern, dialect, is_search, fault, fuel),
            }
        }
        Dialect::Ecma => ecma::parse(pattern, &mut sets, fuel)?,
        Dialect::Python => python::parse(pattern, &mut sets, fuel)?,
    };
    if is_search {
        let any = || Pattern::Plain(Regex::any_text());
        parsed = Pattern::concat([any(), parsed, any()]);
    }
    lower::lower(&parsed, &sets, whole, fuel)
}

/// The language of a pattern that Rust's syntax does not have, if this is the default dialect and Python's
/// and JavaScript's agree on it. Otherwise `fault`, with a hint at the dialects that read the pattern; or
/// what JavaScript's says, where the fault is look-around, which the default dialect takes.
fn elsewhere(
    pattern: &str,
    dialect: Dialect,
    is_search: bool,
    fault: Fault,
    fuel: &Fuel,
) -> Result<Regex, Fault> {
    let in_dialect = |pattern: &str, dialect| match build(pattern, dialect, is_search, fuel) {
        Err(fault) if fault.is_cancelled() => Err(fault),
        language => Ok(language),
    };
    let ecma = in_dialect(pattern, Dialect::Ecma)?;
    let python = in_dialect(pattern, Dialect::Python)?;
    if dialect == Dialect::RustAscii
        && pattern.contains("(?")
        && let (Ok(ecma), Ok(python)) = (&ecma, in_dialect(&format!("(?a){pattern}"), Dialect::Python)?)
        && is_same(ecma, &python, fuel).map_err(|error| Fault::fuel(0..pattern.len(), error))?
    {
        return Ok(python);
    }
    const HOW: &str = "in Python by `dialect=`, on the command line by `--dialect`";
    Err(match (python, ecma) {
        (Ok(_), Ok(_)) => fault.with_hint(format!(
            "the dialects \"python\" and \"ecma\" read this pattern, each in its own way: name the one that is meant, {HOW}"
        )),
        (Ok(_), Err(_)) => fault.with_hint(format!("the dialect \"python\" reads this pattern: name it, {HOW}")),
        (Err(_), Ok(_)) => fault.with_hint(format!("the dialect \"ecma\" reads this pattern: name it, {HOW}")),
        (Err(_), Err(in_ecma)) if dialect == Dialect::RustAscii && fault.is_unsupported() => in_ecma,
        (Err(_), Err(_)) => fault,
    })
}

/// Whether two languages are seen to be the same.
fn is_same(one: &Regex, other: &Regex, fuel: &Fuel) -> Result<bool, FuelError> {
    if one == other {
        return Ok(true);
    }
    let apart = Regex::union([one.difference(other), other.difference(one)]);
    match Automaton::new(&apart, &AutomatonLimits::default(), fuel) {
        Ok(apart) => Ok(apart.start().is_none()),
        Err(error) if error.is_cancelled() => Err(FuelError::Cancelled),
        Err(_) => Ok(false),
    }
}
