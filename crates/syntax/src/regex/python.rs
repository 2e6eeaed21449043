//! The dialect of Python's `re`: from an ordered pattern, as Python reads the text, to [`Pattern`].
//!
//! `re.fullmatch` tries every way to match, so it does not matter here which alternative an ordered pattern
//! tries first. Ordered patterns have no places: an assertion that cannot be resolved is an error about the
//! whole pattern.

use std::ops::Range;

use maskwright_automata::{Fuel, Regex};
use maskwright_lexing::{Flags, Pattern as Ordered, PatternError, PatternNode, parse_python};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::pattern::{Beside, Classes, Pattern, Sets};
use crate::error::Fault;

/// Parses `pattern` as Python's `re.compile` does by default.
pub(crate) fn parse(pattern: &str, sets: &mut Sets, fuel: &Fuel) -> Result<Pattern, Fault> {
    let whole = 0..pattern.len();
    let ordered =
        parse_python(pattern, Flags::default(), fuel).map_err(|error| fault(&error, whole.clone()))?;
    Translation { classes: Classes::default(), sets, fuel, whole, n_behinds: 0 }.translate(&ordered)
}

fn fault(error: &PatternError, whole: Range<usize>) -> Fault {
    match (error.fuel_error(), error.offset()) {
        (Some(error), _) => Fault::fuel(whole, error),
        (None, Some(at)) => Fault::new(at..at + 1, error.message()),
        (None, None) => Fault::new(whole, error.message()),
    }
}

struct Translation<'a> {
    classes: Classes,
    sets: &'a mut Sets,
    fuel: &'a Fuel,
    whole: Range<usize>,
    /// How many look-behinds enclose the current node.
    n_behinds: usize,
}

impl Translation<'_> {
    /// Recurses on the nesting of the pattern, which its parser limits.
    fn translate(&mut self, ordered: &Ordered) -> Result<Pattern, Fault> {
        self.fuel.spend(1).map_err(|error| Fault::fuel(self.whole.clone(), error))?;
        Ok(match ordered.node() {
            PatternNode::Empty => Pattern::epsilon(),
            PatternNode::Bytes(set) => Pattern::Plain(Regex::bytes(*set)),
            PatternNode::Class(ranges) => self.class(ranges)?,
            PatternNode::Literal(word) => match single(word) {
                Some(char) => self.class(&[(char, char)])?,
                None if self.n_behinds > 0 => {
                    let chars = std::str::from_utf8(word).unwrap_or_default().chars();
                    let chars = chars.map(|char| self.class(&[(char, char)]));
                    Pattern::kept_concat(chars.collect::<Result<_, _>>()?)
                }
                None => Pattern::Plain(Regex::literal(word)),
            },
            PatternNode::Concat(parts) if self.n_behinds > 0 => Pattern::kept_concat(self.all(parts)?),
            PatternNode::Concat(parts) => Pattern::concat(self.all(parts)?),
            PatternNode::Alternation(parts) if self.n_behinds > 0 => {
                Pattern::kept_alternation(self.all(parts)?)
            }
            PatternNode::Alternation(parts) => Pattern::alternation(self.all(parts)?),
            PatternNode::Repeat { inner, min, max, .. } => {
                let (inner, whole) = (self.translate(inner)?, self.whole.clone());
                if self.n_behinds > 0 {
                    return Ok(inner.kept_repeat(*min, *max, whole));
                }
                inner.repeat(*min, *max, whole)
            }
            PatternNode::Look { ahead, negated, inner } => {
                self.n_behinds += usize::from(!ahead);
                let inner = self.translate(inner)?;
                self.n_behinds -= usize::from(!ahead);
                self.look(inner, *ahead, *negated)?
            }
        })
    }

    fn all(&mut self, parts: &[Ordered]) -> Result<Vec<Pattern>, Fault> {
        parts.iter().map(|part| self.translate(part)).collect()
    }

    /// One character of the given ranges.
    fn class(&mut self, ranges: &[(char, char)]) -> Result<Pattern, Fault> {
        let ranges = ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high));
        self.classes.pattern(ClassUnicode::new(ranges)).ok_or_else(|| {
            let message =
                format!("the pattern's classes have more ranges than the limit of {}", Classes::MAX_RANGES);
            Fault::limit(self.whole.clone(), message)
        })
    }

    /// An assertion. Anchors and word boundaries are made of assertions about one character.
    fn look(&mut self, inner: Pattern, ahead: bool, negated: bool) -> Result<Pattern, Fault> {
        let Pattern::Char(_, class) = &inner else {
            if ahead {
                return Ok(Pattern::Ahead { inner: Box::new(inner), is_negative: negated });
            }
            return Ok(self.sets.behind(inner, negated, self.whole.clone()));
        };
        let is_any = class.ranges() == [ClassUnicodeRange::new('\0', char::MAX)];
        let set = self.sets.id(ClassUnicode::clone(class));
        Ok(Pattern::Beside(match (ahead, negated) {
            (true, true) if is_any => Beside::End,
            (false, true) if is_any => Beside::Start,
            (true, true) => Beside::NotBefore(set),
            (true, false) => Beside::Before(set),
            (false, true) => Beside::NotAfter(set),
            (false, false) => Beside::After(set),
        }))
    }
}

/// The character that `word` is, if it is one.
fn single(word: &[u8]) -> Option<char> {
    let mut chars = std::str::from_utf8(word).ok()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}
