//! Escapes and groups.

use regex_syntax::hir::ClassUnicode;

use super::{Kind, MAX_DEPTH, Parser, literal, of_class};
use crate::bounded::without_look_ahead;
use crate::characters;
use crate::{Pattern, PatternError, PatternNode};

/// What an escape stands for, inside a set and outside.
pub(super) enum Escaped {
    /// A code point, perhaps a surrogate.
    Code(u32),
    /// A class such as `\w`.
    Class(ClassUnicode),
}

impl<'a> Parser<'a> {
    /// An escape outside of sets; its backslash, at `start`, is read.
    pub(super) fn escape(&mut self, start: usize) -> Result<(Pattern, Kind), PatternError> {
        let letter =
            self.next().ok_or_else(|| PatternError::at(start, "the pattern ends after a backslash"))?;
        match letter {
            'A' => return Ok((of_class(&characters::any()).look_behind(true), Kind::Anchor)),
            'Z' => return Ok((of_class(&characters::any()).look_ahead(true), Kind::Anchor)),
            'b' | 'B' => return Ok((self.boundary(letter == 'B'), Kind::Anchor)),
            '0' => {
                let code = self.octal_digits(2);
                return Ok((self.literal_code(code), Kind::Other));
            }
            '1'..='9' => {
                let rest = &self.source.as_bytes()[self.at - 1..];
                let is_octal = rest.len() >= 3 && rest[..3].iter().all(|digit| (b'0'..=b'7').contains(digit));
                if !is_octal {
                    return Err(PatternError::at(
                        start,
                        "back-references are not supported: what they match is not regular",
                    ));
                }
                self.at -= 1;
                let code = self.octal(start)?;
                return Ok((self.literal_code(code), Kind::Other));
            }
            _ => {}
        }
        let pattern = match self.escaped(letter, start)? {
            Escaped::Code(code) => self.literal_code(code),
            Escaped::Class(class) => {
                self.fuel.spend(class.ranges().len() as u64)?;
                of_class(&class)
            }
        };
        Ok((pattern, Kind::Other))
    }

    fn literal_code(&self, code: u32) -> Pattern {
        // A surrogate occurs in no text.
        char::from_u32(code).map_or_else(Pattern::never, |c| literal(c, self.flags))
    }

    /// The escapes that mean the same in a set and outside, `letter` being read.
    pub(super) fn escaped(&mut self, letter: char, start: usize) -> Result<Escaped, PatternError> {
        let ascii = self.flags.ascii;
        let class = match letter {
            'd' | 'D' => characters::digit(ascii),
            's' | 'S' => characters::space(ascii),
            'w' | 'W' => characters::word(ascii),
            _ => {
                return Ok(Escaped::Code(match letter {
                    'a' => 7,
                    'f' => 12,
                    'n' => 10,
                    'r' => 13,
                    't' => 9,
                    'v' => 11,
                    'x' => self.hexadecimal(2, start)?,
                    'u' => self.hexadecimal(4, start)?,
                    'U' => self.hexadecimal(8, start)?,
                    'N' => return Err(PatternError::at(start, "characters cannot be given by name")),
                    c if c.is_ascii_alphanumeric() => {
                        return Err(PatternError::at(start, format!("\\{c} is not an escape")));
                    }
                    c => u32::from(c),
                }));
            }
        };
        let mut class = class;
        if letter.is_ascii_uppercase() {
            class.negate();
        }
        Ok(Escaped::Class(class))
    }

    fn hexadecimal(&mut self, n_digits: usize, start: usize) -> Result<u32, PatternError> {
        let digits = self.source.as_bytes()[self.at..].iter().take(n_digits);
        let n_found = digits.take_while(|digit| digit.is_ascii_hexdigit()).count();
        let code = u32::from_str_radix(&self.source[self.at..self.at + n_found], 16).ok();
        self.at += n_found;
        match code {
            Some(code) if n_found == n_digits && code <= u32::from(char::MAX) => Ok(code),
            _ => Err(PatternError::at(
                start,
                format!("this escape needs {n_digits} hexadecimal digits of a code point"),
            )),
        }
    }

    /// The number of the octal digits that come next, `n` at most.
    fn octal_digits(&mut self, n: usize) -> u32 {
        let mut code = 0;
        for _ in 0..n {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            code = code * 8 + digit;
            self.at += 1;
        }
        code
    }

    /// An octal escape of up to three digits.
    pub(super) fn octal(&mut self, start: usize) -> Result<u32, PatternError> {
        let code = self.octal_digits(3);
        if code > 0o377 {
            return Err(PatternError::at(start, "an octal escape is at most \\377"));
        }
        Ok(code)
    }

    fn boundary(&self, negated: bool) -> Pattern {
        let word = of_class(&characters::word(self.flags.ascii));
        let sides =
            |before: bool, after: bool| Pattern::concat([word.look_behind(!before), word.look_ahead(!after)]);
        if negated {
            Pattern::alternation([sides(true, true), sides(false, false)])
        } else {
            Pattern::alternation([sides(true, false), sides(false, true)])
        }
    }

    /// A group; its opening parenthesis, at `start`, is read. `None` if it stands for nothing: a comment, or
    /// flags for all that follows (`may_set_flags`).
    pub(super) fn group(
        &mut self,
        start: usize,
        may_set_flags: bool,
    ) -> Result<Option<Pattern>, PatternError> {
        if self.depth == MAX_DEPTH {
            return Err(PatternError::at(start, format!("groups are nested deeper than {MAX_DEPTH} levels")));
        }
        let outer = self.flags;
        let mut look = None;
        if self.eat('?') {
            let what = self.at;
            match self.next() {
                Some(':') => {}
                Some('P') => self.named(what)?,
                Some('#') => loop {
                    match self.next() {
                        Some(')') => return Ok(None),
                        Some(_) => {}
                        None => return Err(PatternError::at(start, "this comment is not closed")),
                    }
                },
                Some('=') => look = Some((true, false)),
                Some('!') => look = Some((true, true)),
                Some('<') => match self.next() {
                    Some('=') => look = Some((false, false)),
                    Some('!') => look = Some((false, true)),
                    _ => {
                        return Err(PatternError::at(
                            what,
                            "expected (?<= or (?<!; a named group is (?P<name>",
                        ));
                    }
                },
                Some('(') => {
                    return Err(PatternError::at(
                        what,
                        "conditionals are not supported: what they match is not regular",
                    ));
                }
                Some('>') => return Err(PatternError::at(what, "atomic groups are not supported")),
                Some(c) if c == '-' || c.is_ascii_alphabetic() => {
                    if self.flag_group(c, what, may_set_flags)? {
                        return Ok(None);
                    }
                }
                _ => return Err(PatternError::at(what, "expected one of : = ! < # P and flags after (?")),
            }
        }
        self.depth += 1;
        let inner = self.alternatives(false)?;
        self.depth -= 1;
        if !self.eat(')') {
            return Err(PatternError::at(start, "this group is not closed"));
        }
        self.flags = outer;
        let Some((ahead, negated)) = look else { return Ok(Some(inner)) };
        if ahead {
            return Ok(Some(inner.look_ahead(negated)));
        }
        if inner.max_width().is_none() {
            return Err(PatternError::at(
                start,
                "what a lookbehind looks for must have a greatest length: write {0,9} or so in place of * or +",
            ));
        }
        if inner.any_node(|node| matches!(node, PatternNode::Look { ahead: true, .. })) {
            let same = without_look_ahead(&inner, negated, self.fuel);
            return same.map(Some).map_err(|message| PatternError::at(start, message));
        }
        Ok(Some(inner.look_behind(negated)))
    }

    fn named(&mut self, what: usize) -> Result<(), PatternError> {
        match self.next() {
            Some('<') => {}
            Some('=') => {
                return Err(PatternError::at(
                    what,
                    "back-references are not supported: what they match is not regular",
                ));
            }
            _ => return Err(PatternError::at(what, "expected (?P<name>")),
        }
        let source: &'a str = self.source;
        let name_at = self.at;
        let Some(length) = source[name_at..].find('>') else {
            return Err(PatternError::at(name_at, "the name of this group has no closing >"));
        };
        let name = &source[name_at..name_at + length];
        self.at = name_at + length + 1;
        let mut chars = name.chars();
        let begins_well = chars.next().is_some_and(|c| c == '_' || c.is_alphabetic());
        if !begins_well || !chars.all(|c| c == '_' || c.is_alphanumeric()) {
            return Err(PatternError::at(name_at, format!("{name:?} is not a name of a group")));
        }
        if !self.names.insert(name) {
            return Err(PatternError::at(name_at, format!("two groups have the name {name:?}")));
        }
        Ok(())
    }

    /// `(?flags)`, which is true, or the beginning of `(?flags-flags:...)`; the first letter is read.
    fn flag_group(&mut self, first: char, at: usize, may_set_flags: bool) -> Result<bool, PatternError> {
        let mut flags = self.flags;
        let (mut added, mut removed, mut current) = (String::new(), String::new(), Some(first));
        let mut removing = false;
        loop {
            match current {
                Some('-') if !removing => removing = true,
                Some(':') => break,
                Some(')') if !removing => {
                    if !may_set_flags {
                        return Err(PatternError::at(at, "flags for the whole pattern must be at its start"));
                    }
                    self.flags = flags;
                    return Ok(true);
                }
                Some(letter) if letter.is_ascii_alphabetic() => {
                    if removing && matches!(letter, 'a' | 'u') {
                        return Err(PatternError::at(at, "the flags a and u cannot be turned off"));
                    }
                    if !flags.set(letter, !removing) {
                        return Err(PatternError::at(
                            at,
                            format!("{letter} is not a flag; flags are imsxau"),
                        ));
                    }
                    if removing { &mut removed } else { &mut added }.push(letter);
                }
                _ => return Err(PatternError::at(at, "expected flags, then : or )")),
            }
            current = self.next();
        }
        let clash = added.contains('a') && added.contains('u');
        if clash || (removing && removed.is_empty()) || added.chars().any(|letter| removed.contains(letter)) {
            return Err(PatternError::at(at, "these flags contradict each other"));
        }
        self.flags = flags;
        Ok(false)
    }
}
