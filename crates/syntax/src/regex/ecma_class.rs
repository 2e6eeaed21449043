//! The ECMA-262 dialect's character classes and escapes.
//!
//! With flag `i`, a class stands for every character whose simple case folding some member shares, before it
//! is negated (ECMA-262, 22.2.2.9.1 to .3); `regex-syntax` has the tables.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::ecma::{Escape, Flags, Parser};
use super::rust::named_class;
use crate::error::Fault;

/// The class of the given inclusive ranges.
pub(super) fn class(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)))
}

/// `char` and what differs from it only by case.
pub(super) fn fold(char: char) -> ClassUnicode {
    let mut class = class(&[(char, char)]);
    class.case_fold_simple();
    class
}

/// ECMA-262, 12.3.
pub(super) fn line_terminators() -> ClassUnicode {
    class(&[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')])
}

/// What `.` matches.
pub(super) fn dot(flags: Flags) -> ClassUnicode {
    let mut dot = if flags.dot_all { ClassUnicode::empty() } else { line_terminators() };
    dot.negate();
    dot
}

/// What `\w` matches; with flag `i`, ſ and the Kelvin sign too.
pub(super) fn word(flags: Flags) -> ClassUnicode {
    let mut word = class(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
    if flags.ignore_case {
        word.case_fold_simple();
    }
    word
}

/// What `\s` matches: ECMA-262's WhiteSpace (12.2) and LineTerminator (12.3).
fn space() -> ClassUnicode {
    class(&[
        ('\t', '\r'),
        (' ', ' '),
        ('\u{A0}', '\u{A0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200A}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202F}', '\u{202F}'),
        ('\u{205F}', '\u{205F}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{FEFF}', '\u{FEFF}'),
    ])
}

/// The class whose `[` is at `start`; the parser stands behind it.
pub(super) fn char_class(parser: &mut Parser<'_>, start: usize) -> Result<ClassUnicode, Fault> {
    let is_negated = parser.eat("^");
    let mut members = ClassUnicode::empty();
    let unclosed = || Fault::new(start..start + 1, "unclosed character class, `]` is missing");
    loop {
        parser.spend(1)?;
        if parser.eat("]") {
            break;
        }
        let item_start = parser.at;
        let low = class_atom(parser)?.ok_or_else(unclosed)?;
        let is_range = parser.rest().starts_with('-')
            && !parser.rest().starts_with("-]")
            && parser.rest().len() > 1
            && !matches!(low, Escape::Class(_));
        if !is_range {
            add(&mut members, low);
            continue;
        }
        parser.at += 1;
        let high = class_atom(parser)?.ok_or_else(unclosed)?;
        match (code_point(&low), code_point(&high)) {
            (Some(low), Some(high)) if low <= high => {
                if let Some(range) = scalars(low, high) {
                    members.push(range);
                }
            }
            (Some(_), Some(_)) => {
                let message = format!("range `{}` is out of order", &parser.text[item_start..parser.at]);
                return Err(Fault::new(parser.span(item_start), message));
            }
            // `[a-\d]`: a class cannot end a range, so the hyphen is literal.
            _ => {
                add(&mut members, low);
                add(&mut members, high);
                members.push(ClassUnicodeRange::new('-', '-'));
            }
        }
    }
    if parser.flags.ignore_case {
        parser.spend(members.ranges().len())?;
        members.case_fold_simple();
    }
    if is_negated {
        members.negate();
    }
    Ok(members)
}

/// One member of a class; `None` at the end of the pattern.
fn class_atom(parser: &mut Parser<'_>) -> Result<Option<Escape>, Fault> {
    let start = parser.at;
    match parser.next() {
        Some('\\') => {
            // Inside a class, `\b` is the backspace and `\-` a hyphen.
            if parser.eat("b") {
                return Ok(Some(Escape::Char('\x08')));
            }
            parser.class_escape(start).map(Some)
        }
        next => Ok(next.map(Escape::Char)),
    }
}

fn add(members: &mut ClassUnicode, item: Escape) {
    match item {
        Escape::Class(class) => members.union(&class),
        Escape::Char(char) => members.push(ClassUnicodeRange::new(char, char)),
        Escape::Surrogate(_) => {}
    }
}

fn code_point(item: &Escape) -> Option<u32> {
    match item {
        Escape::Class(_) => None,
        Escape::Char(char) => Some(u32::from(*char)),
        Escape::Surrogate(code_point) => Some(*code_point),
    }
}

/// The scalar values from `low` to `high`; surrogates do not occur in UTF-8.
fn scalars(low: u32, high: u32) -> Option<ClassUnicodeRange> {
    let low = char::from_u32(low).unwrap_or('\u{E000}');
    let high = char::from_u32(high).unwrap_or('\u{D7FF}');
    (low <= high).then(|| ClassUnicodeRange::new(low, high))
}

impl Parser<'_> {
    /// What `\` at `start` begins, inside a class or out; the parser stands behind it.
    pub(super) fn class_escape(&mut self, start: usize) -> Result<Escape, Fault> {
        let Some(letter) = self.next() else {
            return Err(Fault::new(self.span(start), "the pattern ends in a backslash"));
        };
        let named = |positive: ClassUnicode, is_negated: bool| {
            let mut class = positive;
            if is_negated {
                class.negate();
            }
            Ok(Escape::Class(class))
        };
        let char = match letter {
            'd' | 'D' => return named(class(&[('0', '9')]), letter == 'D'),
            'w' | 'W' => return named(word(self.flags), letter == 'W'),
            's' | 'S' => return named(space(), letter == 'S'),
            'p' | 'P' => return named(self.property(start)?, letter == 'P'),
            't' => '\t',
            'n' => '\n',
            'v' => '\x0B',
            'f' => '\x0C',
            'r' => '\r',
            'c' => match self.next() {
                Some(control) if control.is_ascii_alphabetic() => char::from(control as u8 & 0x1F),
                _ => return Err(Fault::new(self.span(start), "after `\\c` stands a letter, as in `\\cJ`")),
            },
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => '\0',
            '0'..='9' => {
                self.eat_digits();
                let message = "a number after a backslash is a backreference or an octal code, neither is \
                               supported; `\\0`, `\\xHH` and `\\uHHHH` are";
                return Err(Fault::unsupported(self.span(start), message));
            }
            'x' => match self.hex(2).and_then(char::from_u32) {
                Some(char) => char,
                None => return Err(Fault::new(self.span(start), "after `\\x` stand two hexadecimal digits")),
            },
            'u' => return self.unicode_escape(start),
            _ if letter.is_ascii_alphabetic() => {
                return Err(Fault::unsupported(self.span(start), format!("unknown escape `\\{letter}`")));
            }
            // Punctuation escapes itself, needed or not.
            other => other,
        };
        Ok(Escape::Char(char))
    }

    fn eat_digits(&mut self) {
        while self.peek().is_some_and(|next| next.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// Exactly `n` hexadecimal digits.
    fn hex(&mut self, n: usize) -> Option<u32> {
        let digits = self.rest().get(..n)?;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = if is_hex { u32::from_str_radix(digits, 16).ok()? } else { return None };
        self.at += n;
        Some(value)
    }

    /// `\uHHHH`, a surrogate pair of two of them, or `\u{H…}`.
    fn unicode_escape(&mut self, start: usize) -> Result<Escape, Fault> {
        let code_point = if self.eat("{") {
            let n_digits = self.rest().bytes().take_while(u8::is_ascii_hexdigit).count();
            let digits = &self.rest()[..n_digits];
            let value = u32::from_str_radix(digits.trim_start_matches('0'), 16);
            let value = if n_digits > 0 && digits.bytes().all(|digit| digit == b'0') { Ok(0) } else { value };
            self.at += n_digits;
            value.ok().filter(|value| *value <= 0x10_FFFF && self.eat("}"))
        } else {
            self.hex(4)
        };
        let Some(first) = code_point else {
            let message = "after `\\u` stand four hexadecimal digits, or a code point up to 10FFFF in braces";
            return Err(Fault::new(self.span(start), message));
        };
        if let Some(char) = char::from_u32(first) {
            return Ok(Escape::Char(char));
        }
        let after = self.at;
        if first < 0xDC00
            && self.eat("\\u")
            && let Some(second @ 0xDC00..=0xDFFF) = self.hex(4)
            && let Some(char) = char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        {
            return Ok(Escape::Char(char));
        }
        self.at = after;
        Ok(Escape::Surrogate(first))
    }

    /// `{Name}` or `{Name=Value}` after `\p`.
    fn property(&mut self, start: usize) -> Result<ClassUnicode, Fault> {
        let name = if self.eat("{") {
            let end = self.rest().find('}').unwrap_or(self.rest().len());
            let name = &self.rest()[..end];
            self.at += end;
            self.eat("}").then_some(name)
        } else {
            // `\pL` is not ECMA-262's, but what it means is plain.
            let name = self.rest().chars().next().filter(char::is_ascii_uppercase).map(|_| &self.rest()[..1]);
            self.at += name.map_or(0, str::len);
            name
        };
        let is_name =
            |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_=".contains(&byte));
        let found = name.filter(is_name).and_then(|name| named_class(&format!("\\p{{{name}}}")));
        let Some(class) = found else {
            let message = "unknown Unicode property; `\\p{…}` takes a general category, `Script=…` or a \
                           binary property";
            return Err(Fault::unsupported(self.span(start), message));
        };
        // Looking a table up, and perhaps folding its case, takes longer than most work units.
        self.spend(class.ranges().len() * 4)?;
        Ok(class)
    }
}
