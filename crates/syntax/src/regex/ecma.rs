//! The ECMA-262 dialect: a recursive-descent parser from text to [`Pattern`].
//!
//! The grammar is that of ECMA-262, 22.2.1 (Patterns) with the `u` flag; where published schemas deviate and
//! the meaning is plain, it is lenient as Annex B.1.2 is (a brace or a bracket that can start nothing is
//! literal, a needless backslash before punctuation is ignored, a class next to a hyphen). Further, since
//! schemas are written for other engines too: `\A`, `\z`, `\Z` are the ends of the text, `(?P<n>…)` is a
//! group, `(?i)` in front and `(?i:…)` set flags. What would mean something else there than here is refused.
//!
//! Rejected: rewriting the pattern to `regex-syntax`'s notation, which goes from text to text and loses the
//! places of errors and look-around.

use std::ops::Range;

use maskwright_automata::{Fuel, Regex};
use regex_syntax::hir::ClassUnicode;

use super::ecma_class::{char_class, class, dot, fold, line_terminators, word};
use super::pattern::{Beside, Classes, Pattern, SetId, Sets};
use crate::MAX_DEPTH;
use crate::error::Fault;

/// Parses `pattern`.
pub(crate) fn parse(pattern: &str, sets: &mut Sets, fuel: &Fuel) -> Result<Pattern, Fault> {
    let mut parser = Parser {
        text: pattern,
        at: 0,
        depth: 0,
        n_behinds: 0,
        flags: Flags::default(),
        sets,
        classes: Classes::default(),
        fuel,
    };
    parser.leading_flags()?;
    let parsed = parser.alternation()?;
    match parser.peek() {
        None => Ok(parsed),
        Some(_) => Err(Fault::new(parser.at..parser.at + 1, "unmatched `)`, no group is open here")),
    }
}

/// The flags that a pattern can set itself.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Flags {
    /// `i`: letters match whatever their case.
    pub(super) ignore_case: bool,
    /// `m`: `^` and `$` match at line ends too.
    pub(super) multiline: bool,
    /// `s`: `.` matches line terminators too.
    pub(super) dot_all: bool,
}

/// The place in the pattern and what is set there.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) flags: Flags,
    depth: usize,
    /// How many look-behinds enclose the current position.
    n_behinds: usize,
    sets: &'a mut Sets,
    classes: Classes,
    fuel: &'a Fuel,
}

impl<'a> Parser<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Takes `expected` if it comes next.
    pub(super) fn eat(&mut self, expected: &str) -> bool {
        let is_next = self.rest().starts_with(expected);
        if is_next {
            self.at += expected.len();
        }
        is_next
    }

    /// From `start` to here.
    pub(super) fn span(&self, start: usize) -> Range<usize> {
        start..self.at
    }

    pub(super) fn spend(&self, units: usize) -> Result<(), Fault> {
        self.fuel.spend(units as u64).map_err(|error| Fault::fuel(self.at..self.at, error))
    }

    /// `(?i)` and the like at the very start.
    fn leading_flags(&mut self) -> Result<(), Fault> {
        let Some(end) = self.rest().find(')') else { return Ok(()) };
        let is_flags = self.text.starts_with("(?")
            && end > 2
            && self.text[2..end].chars().all(|c| c.is_ascii_alphabetic());
        if is_flags {
            self.at = 2;
            self.set_flags(true)?;
            self.at += 1;
        }
        Ok(())
    }

    /// Sets or clears flags for the letters that come next.
    fn set_flags(&mut self, value: bool) -> Result<(), Fault> {
        while let Some(letter) = self.peek().filter(char::is_ascii_alphabetic) {
            match letter {
                'i' => self.flags.ignore_case = value,
                'm' => self.flags.multiline = value,
                's' => self.flags.dot_all = value,
                // Unicode mode is always on.
                'u' if value => {}
                _ => {
                    let message = format!("flag `{letter}` is not supported, only `i`, `m` and `s` are");
                    return Err(Fault::unsupported(self.at..self.at + 1, message));
                }
            }
            self.at += 1;
        }
        Ok(())
    }

    fn alternation(&mut self) -> Result<Pattern, Fault> {
        let mut branches = Vec::new();
        loop {
            let mut parts = Vec::new();
            while self.peek().is_some_and(|next| next != '|' && next != ')') {
                self.spend(1)?;
                parts.push(self.term()?);
            }
            let is_kept = self.n_behinds > 0;
            branches.push(if is_kept { Pattern::kept_concat(parts) } else { Pattern::concat(parts) });
            if !self.eat("|") {
                return Ok(match is_kept {
                    true => Pattern::kept_alternation(branches),
                    false => Pattern::alternation(branches),
                });
            }
        }
    }

    /// An atom or assertion with its quantifiers.
    fn term(&mut self) -> Result<Pattern, Fault> {
        let start = self.at;
        let atom = self.atom()?;
        let Some((min, max)) = self.quantifier()? else { return Ok(atom) };
        self.eat("?");
        let span = self.span(start);
        let after = self.at;
        if self.eat("+") {
            let message = "a possessive quantifier is not supported: it is no part of ECMA-262";
            return Err(Fault::unsupported(self.span(after), message));
        }
        if self.quantifier()?.is_some() {
            return Err(Fault::new(self.span(after), "nothing to repeat: a quantifier follows a quantifier"));
        }
        Ok(if self.n_behinds > 0 { atom.kept_repeat(min, max, span) } else { atom.repeat(min, max, span) })
    }

    /// A quantifier, if one comes next. A `{` that starts none is literal.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, Fault> {
        let bounds = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.counted(),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(bounds))
    }

    /// `{n}`, `{n,}` or `{n,m}`.
    fn counted(&mut self) -> Result<Option<(u32, Option<u32>)>, Fault> {
        let start = self.at;
        let Some((inside, _)) = self.rest()[1..].split_once('}') else { return Ok(None) };
        let (min, max) = inside.split_once(',').map_or((inside, None), |(min, max)| (min, Some(max)));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(min) || !max.is_none_or(is_number) {
            return Ok(None);
        }
        let span = start..start + inside.len() + 2;
        if min.is_empty() {
            let Some(max) = max.filter(|max| !max.is_empty()) else { return Ok(None) };
            let message = format!(
                "`{{,{max}}}` is literal text in ECMA-262 and a repetition elsewhere; write `{{0,{max}}}`"
            );
            return Err(Fault::new(span, message));
        }
        let number = |digits: &str| {
            digits.parse::<u32>().map_err(|_| {
                let message = format!("repetition count {digits} is more than the limit of {}", u32::MAX);
                Fault::limit(span.clone(), message)
            })
        };
        let min = number(min)?;
        let max = match max {
            None => Some(min),
            Some("") => None,
            Some(max) => Some(number(max)?),
        };
        if let Some(max) = max.filter(|max| *max < min) {
            let message = format!("a repetition of at least {min} and at most {max} is out of order");
            return Err(Fault::new(span, message));
        }
        self.at = span.end;
        Ok(Some((min, max)))
    }

    fn atom(&mut self) -> Result<Pattern, Fault> {
        let start = self.at;
        let Some(next) = self.next() else { return Ok(Pattern::epsilon()) };
        Ok(match next {
            '^' if self.flags.multiline => {
                Pattern::Beside(Beside::StartOrAfter(self.sets.id(line_terminators())))
            }
            '$' if self.flags.multiline => {
                Pattern::Beside(Beside::EndOrBefore(self.sets.id(line_terminators())))
            }
            '^' => Pattern::Beside(Beside::Start),
            '$' => Pattern::Beside(Beside::End),
            '.' => self.class(dot(self.flags))?,
            '(' => self.group(start)?,
            '[' => {
                let class = char_class(self, start)?;
                self.class(class)?
            }
            '\\' => self.escape(start)?,
            '*' | '+' | '?' => {
                return Err(Fault::new(self.span(start), format!("nothing to repeat before `{next}`")));
            }
            _ => self.literal(next)?,
        })
    }

    /// One given character.
    fn literal(&mut self, char: char) -> Result<Pattern, Fault> {
        self.class(if self.flags.ignore_case { fold(char) } else { class(&[(char, char)]) })
    }

    /// One character of `class`.
    fn class(&mut self, class: ClassUnicode) -> Result<Pattern, Fault> {
        self.spend(class.ranges().len())?;
        self.classes.pattern(class).ok_or_else(|| {
            let message =
                format!("the pattern's classes have more ranges than the limit of {}", Classes::MAX_RANGES);
            Fault::limit(self.at..self.at, message)
        })
    }

    /// What `(` at `start` opens.
    fn group(&mut self, start: usize) -> Result<Pattern, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("groups are nested more than {MAX_DEPTH} deep, which is the limit");
            return Err(Fault::limit(self.span(start), message));
        }
        let flags = self.flags;
        let kind = self.group_kind(start)?;
        let is_behind = matches!(kind, Group::Behind { .. });
        self.n_behinds += usize::from(is_behind);
        let inner = self.alternation()?;
        self.n_behinds -= usize::from(is_behind);
        if !self.eat(")") {
            return Err(Fault::new(start..start + 1, "unclosed group, `)` is missing"));
        }
        self.flags = flags;
        self.depth -= 1;
        Ok(match kind {
            Group::Plain => inner,
            Group::Ahead { is_negative } => Pattern::Ahead { inner: Box::new(inner), is_negative },
            Group::Behind { is_negative } => self.behind(inner, is_negative, self.span(start)),
        })
    }

    /// What stands between `(` and the inner pattern.
    fn group_kind(&mut self, start: usize) -> Result<Group, Fault> {
        if !self.eat("?") {
            return Ok(Group::Plain);
        }
        let refuse = |parser: &Parser<'_>, what: &str| {
            Err(Fault::unsupported(
                parser.span(start),
                format!("{what} not supported: not a part of ECMA-262"),
            ))
        };
        if self.eat(":") {
            Ok(Group::Plain)
        } else if self.eat("=") {
            Ok(Group::Ahead { is_negative: false })
        } else if self.eat("!") {
            Ok(Group::Ahead { is_negative: true })
        } else if self.eat("<=") {
            Ok(Group::Behind { is_negative: false })
        } else if self.eat("<!") {
            Ok(Group::Behind { is_negative: true })
        } else if self.eat("<") || self.eat("P<") {
            let name_start = self.at;
            while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '$') {
                self.next();
            }
            if self.at == name_start || !self.eat(">") {
                let message = "a group's name is letters, digits, `_` and `$`, and ends with `>`";
                return Err(Fault::new(name_start..self.at + 1, message));
            }
            Ok(Group::Plain)
        } else if self.eat("P=") {
            Err(Fault::unsupported(
                self.span(start),
                "a backreference cannot be enforced: it asks for an earlier part of the text again",
            ))
        } else if self.eat(">") {
            refuse(self, "an atomic group `(?>` is")
        } else if self.eat("#") {
            refuse(self, "a comment `(?#` is")
        } else if self.eat("(") {
            refuse(self, "a conditional `(?(` is")
        } else if self.peek().is_some_and(|c| c.is_ascii_alphabetic() || c == '-') {
            self.set_flags(true)?;
            if self.eat("-") {
                self.set_flags(false)?;
            }
            if self.eat(":") {
                Ok(Group::Plain)
            } else if self.eat(")") {
                refuse(self, "a change of flags that is not at the start of the pattern is")
            } else {
                Err(Fault::new(self.span(start), "flags of a group end with `:`"))
            }
        } else {
            self.next();
            Err(Fault::new(
                self.span(start),
                "unknown group, after `(?` stands one of `:`, `=`, `!`, `<=`, `<!`, `<name>`",
            ))
        }
    }

    /// Look-behind. A look-behind of one character is a condition on the left neighbour.
    fn behind(&mut self, inner: Pattern, is_negative: bool, span: Range<usize>) -> Pattern {
        let Pattern::Char(_, set) = &inner else { return self.sets.behind(inner, is_negative, span) };
        let set = self.sets.id(ClassUnicode::clone(set));
        Pattern::Beside(if is_negative { Beside::NotAfter(set) } else { Beside::After(set) })
    }

    /// What `\` at `start` begins, outside of a class.
    fn escape(&mut self, start: usize) -> Result<Pattern, Fault> {
        let assertion = match self.peek() {
            Some('b') => Beside::Boundary(self.word_set()),
            Some('B') => Beside::NotBoundary(self.word_set()),
            Some('A') => Beside::Start,
            Some('z' | 'Z') => Beside::End,
            Some('1'..='9' | 'k') => {
                self.at += 1;
                let message =
                    "a backreference cannot be enforced: it asks for an earlier part of the text again";
                return Err(Fault::unsupported(self.span(start), message));
            }
            _ => {
                return Ok(match self.class_escape(start)? {
                    Escape::Class(mut class) => {
                        if self.flags.ignore_case {
                            self.spend(class.ranges().len())?;
                            class.case_fold_simple();
                        }
                        self.class(class)?
                    }
                    Escape::Char(char) => self.literal(char)?,
                    // A lone surrogate does not occur in UTF-8.
                    Escape::Surrogate(_) => Pattern::Plain(Regex::empty()),
                });
            }
        };
        self.at += 1;
        Ok(Pattern::Beside(assertion))
    }

    fn word_set(&mut self) -> SetId {
        self.sets.id(word(self.flags))
    }
}

/// What a group does with its inner pattern.
enum Group {
    Plain,
    Ahead { is_negative: bool },
    Behind { is_negative: bool },
}

/// What an escape stands for.
pub(super) enum Escape {
    /// One character of a set.
    Class(ClassUnicode),
    /// One given character.
    Char(char),
    /// One half of a surrogate pair, alone.
    Surrogate(u32),
}
