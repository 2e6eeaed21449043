//! Python's regular expressions (`re`, `str` patterns) read into a [`Pattern`].
//!
//! What is read is the syntax of Python 3.11 as its reference documents it, errors included where Python
//! raises one. Groups capture nothing here, so their names are checked and forgotten. Anchors and word
//! boundaries become assertions: `^` is "no character before", `$` is "no character after, but for one line
//! feed at the end", `\b` is "a word character on one side alone".
//!
//! Unlike in Python, the alternatives of a lookbehind may have different lengths, if all are bounded: it
//! holds where one of them ends. Lookaheads inside lookbehinds are resolved here (`bounded.rs`).
//!
//! Refused, each with an error of its own: back-references and conditionals (not regular), atomic groups and
//! possessive repetition, named characters. One pass, O(length of the source) plus the size of its classes;
//! recursion is limited to 200 levels of groups.

mod atoms;
mod sets;

use std::collections::BTreeSet;

use maskwright_automata::Fuel;
use regex_syntax::hir::ClassUnicode;

use crate::characters::{self, ranges_of};
use crate::{Pattern, PatternError};

/// How deep groups may be nested.
const MAX_DEPTH: u32 = 200;

/// The flags of a regular expression that change its meaning.
///
/// ```
/// use maskwright_lexing::Flags;
/// let flags = Flags::from_letters("is").unwrap();
/// assert!(flags.ignore_case && flags.dot_all && !flags.multi_line);
/// assert!(Flags::from_letters("q").is_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `i`: upper and lower case are one.
    pub ignore_case: bool,
    /// `m`: `^` and `$` hold at every line.
    pub multi_line: bool,
    /// `s`: `.` matches a line feed too.
    pub dot_all: bool,
    /// `x`: white space and comments in the source mean nothing.
    pub verbose: bool,
    /// `a`: `\w`, `\d`, `\s`, `\b` and cases of ASCII alone (Unicode's are the rule).
    pub ascii: bool,
}

impl Flags {
    /// The flags of the given letters, of `imsxau`; `None` if one is not a flag. `u` is the rule anyway.
    pub fn from_letters(letters: &str) -> Option<Flags> {
        let mut flags = Flags::default();
        letters.chars().all(|letter| flags.set(letter, true)).then_some(flags)
    }

    /// Turns the flag of `letter` on or off; false if there is none.
    fn set(&mut self, letter: char, on: bool) -> bool {
        match letter {
            'i' => self.ignore_case = on,
            'm' => self.multi_line = on,
            's' => self.dot_all = on,
            'x' => self.verbose = on,
            'a' => self.ascii = on,
            'u' => self.ascii = !on,
            _ => return false,
        }
        true
    }

    /// Whether every flag of this value is one of `other` too.
    pub fn is_subset(self, other: Flags) -> bool {
        let letters =
            |flags: Flags| [flags.ignore_case, flags.multi_line, flags.dot_all, flags.verbose, flags.ascii];
        letters(self).into_iter().zip(letters(other)).all(|(ours, theirs)| !ours || theirs)
    }
}

/// The pattern that `source` is as a regular expression of Python's `re` under `flags`.
///
/// # Errors
/// The source is not a regular expression, uses what is not supported, or needs more than `fuel`.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Flags, find_prefix, parse_python};
/// let fuel = Fuel::new(10_000);
/// let string = parse_python(r#""(?!"").*?(?<!\\)""#, Flags::default(), &fuel)?;
/// assert_eq!(find_prefix(&string, br#""a\"b" + "c""#, 0, &fuel)?, Some(6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse_python(source: &str, flags: Flags, fuel: &Fuel) -> Result<Pattern, PatternError> {
    let mut parser = Parser { source, at: 0, flags, names: BTreeSet::new(), depth: 0, fuel };
    let pattern = parser.alternatives(true)?;
    match parser.peek() {
        None => Ok(pattern),
        Some(_) => Err(PatternError::at(parser.at, "this closing parenthesis has no opening one")),
    }
}

/// The word `text`, ignoring case as Python's `re` does.
///
/// # Errors
/// More than `fuel` is needed.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{find_prefix, literal_ignoring_case};
/// let fuel = Fuel::new(10_000);
/// let select = literal_ignoring_case("select", &fuel)?;
/// assert_eq!(find_prefix(&select, b"SELECT *", 0, &fuel)?, Some(6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn literal_ignoring_case(text: &str, fuel: &Fuel) -> Result<Pattern, PatternError> {
    let flags = Flags { ignore_case: true, ..Flags::default() };
    let mut parts = Vec::new();
    for c in text.chars() {
        fuel.spend(1)?;
        parts.push(literal(c, flags));
    }
    Ok(Pattern::concat(parts))
}

/// What stands before a repetition sign decides whether it may.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Anchor,
    Repetition,
    Other,
}

struct Parser<'a> {
    source: &'a str,
    /// The byte that is read next.
    at: usize,
    flags: Flags,
    names: BTreeSet<&'a str>,
    depth: u32,
    fuel: &'a Fuel,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        if found {
            self.at += expected.len_utf8();
        }
        found
    }

    /// Alternatives up to a closing parenthesis or the end, which is left.
    fn alternatives(&mut self, outermost: bool) -> Result<Pattern, PatternError> {
        let mut alternatives = vec![self.sequence(outermost)?];
        while self.eat('|') {
            alternatives.push(self.sequence(false)?);
        }
        // The pieces of a sequence stay together: an alternation in an alternation is flattened only where
        // that does not change the order, which it never does.
        Ok(Pattern::alternation(alternatives))
    }

    /// One alternative. Flags for all of the source may stand at the beginning of the first.
    fn sequence(&mut self, outermost: bool) -> Result<Pattern, PatternError> {
        let mut parts: Vec<(Pattern, Kind)> = Vec::new();
        while let Some(c) = self.peek().filter(|&c| c != '|' && c != ')') {
            self.fuel.spend(1)?;
            let start = self.at;
            self.at += c.len_utf8();
            if self.flags.verbose && matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C') {
                continue;
            }
            let part = match c {
                '#' if self.flags.verbose => {
                    while self.next().is_some_and(|c| c != '\n') {}
                    continue;
                }
                '\\' => self.escape(start)?,
                '[' => (self.set(start)?, Kind::Other),
                '.' if self.flags.dot_all => (of_class(&characters::any()), Kind::Other),
                '.' => (no_line_feed(), Kind::Other),
                '^' => (self.line_start(), Kind::Anchor),
                '$' => (self.line_end(), Kind::Anchor),
                '(' => match self.group(start, outermost && parts.is_empty())? {
                    Some(group) => (group, Kind::Other),
                    None => continue,
                },
                '?' | '*' | '+' | '{' => match self.bounds(c, start)? {
                    Some((min, max)) => {
                        let repeated = self.repetition(parts.pop(), start, min, max)?;
                        (repeated, Kind::Repetition)
                    }
                    None => (literal('{', self.flags), Kind::Other),
                },
                _ => (literal(c, self.flags), Kind::Other),
            };
            parts.push(part);
        }
        Ok(Pattern::concat(join_literals(parts.into_iter().map(|(part, _)| part))))
    }

    /// The bounds that a repetition sign gives; `None` if a brace is just a brace.
    fn bounds(&mut self, sign: char, start: usize) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        match sign {
            '?' => return Ok(Some((0, Some(1)))),
            '*' => return Ok(Some((0, None))),
            '+' => return Ok(Some((1, None))),
            _ => {}
        }
        let after_brace = self.at;
        if self.peek() == Some('}') {
            return Ok(None);
        }
        let low = self.digits();
        let high = if self.eat(',') { self.digits() } else { low };
        if !self.eat('}') {
            self.at = after_brace;
            return Ok(None);
        }
        let number = |digits: &str| -> Result<Option<u32>, PatternError> {
            match digits {
                "" => Ok(None),
                _ => match digits.parse() {
                    Ok(number) if number < u32::MAX => Ok(Some(number)),
                    _ => {
                        Err(PatternError::at(start, "the bound of a repetition must be less than 4294967295"))
                    }
                },
            }
        };
        let (min, max) = (number(low)?.unwrap_or(0), number(high)?);
        if max.is_some_and(|max| max < min) {
            return Err(PatternError::at(start, "the least number of copies is more than the greatest"));
        }
        Ok(Some((min, max)))
    }

    fn digits(&mut self) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        &self.source[start..self.at]
    }

    fn repetition(
        &mut self,
        repeated: Option<(Pattern, Kind)>,
        start: usize,
        min: u32,
        max: Option<u32>,
    ) -> Result<Pattern, PatternError> {
        let repeated = match repeated {
            None | Some((_, Kind::Anchor)) => {
                return Err(PatternError::at(start, "there is nothing to repeat before this sign"));
            }
            Some((_, Kind::Repetition)) => {
                return Err(PatternError::at(
                    start,
                    "a repetition cannot be repeated without a group around it",
                ));
            }
            Some((pattern, Kind::Other)) => pattern,
        };
        if self.peek() == Some('+') {
            return Err(PatternError::at(self.at, "possessive repetition is not supported"));
        }
        let greedy = !self.eat('?');
        Ok(repeated.repeat(min, max, greedy))
    }

    fn line_start(&self) -> Pattern {
        let before = if self.flags.multi_line { no_line_feed() } else { of_class(&characters::any()) };
        before.look_behind(true)
    }

    fn line_end(&self) -> Pattern {
        if self.flags.multi_line {
            return no_line_feed().look_ahead(true);
        }
        let more = Pattern::concat([Pattern::literal(b"\n"), of_class(&characters::any())]);
        Pattern::alternation([no_line_feed(), more]).look_ahead(true)
    }
}

/// One character, in both cases if the flags say so.
fn literal(c: char, flags: Flags) -> Pattern {
    let class = characters::of_ranges([(c, c)]);
    if flags.ignore_case {
        let both = characters::ignoring_case(&class, flags.ascii);
        if both != class {
            return of_class(&both);
        }
    }
    Pattern::literal(c.encode_utf8(&mut [0; 4]).as_bytes())
}

fn of_class(class: &ClassUnicode) -> Pattern {
    Pattern::char_class(&ranges_of(class))
}

fn no_line_feed() -> Pattern {
    Pattern::char_class(&[('\0', '\x09'), ('\x0B', char::MAX)])
}

/// Adjacent literals as one.
fn join_literals(parts: impl Iterator<Item = Pattern>) -> Vec<Pattern> {
    let mut joined: Vec<Pattern> = Vec::new();
    let mut word: Vec<u8> = Vec::new();
    for part in parts {
        if let crate::PatternNode::Literal(bytes) = part.node() {
            word.extend_from_slice(bytes);
            continue;
        }
        if !word.is_empty() {
            joined.push(Pattern::literal(&std::mem::take(&mut word)));
        }
        joined.push(part);
    }
    joined.push(Pattern::literal(&word));
    joined
}

#[cfg(test)]
mod tests;
