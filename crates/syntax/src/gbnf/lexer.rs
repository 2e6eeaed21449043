//! GBNF's tokens.

use std::ops::Range;

use maskwright_automata::Regex;
use maskwright_grammar::{SpecialNames, TokenSet};

use crate::error::Fault;

/// One token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// A rule's name.
    Name(&'a str),
    /// `::=`.
    Define,
    /// A literal, a class or `.`.
    Language(Regex),
    /// `<name>`, `<[id]>`, `<"name">`, or one of these after `!`.
    Tokens(TokenSet),
    /// `|`.
    Bar,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// `*`, `+`, `?` or `{…}`: how many copies of the item before it.
    Repeat(u32, Option<u32>),
    /// An end of line.
    Newline,
    /// The end of the source.
    End,
}

impl Token<'_> {
    /// How messages call it.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Name(name) => format!("the name `{name}`"),
            Token::Define => "`::=`".to_owned(),
            Token::Language(_) => "a literal or class".to_owned(),
            Token::Tokens(set) => format!("the token {set}"),
            Token::Bar => "`|`".to_owned(),
            Token::Open => "`(`".to_owned(),
            Token::Close => "`)`".to_owned(),
            Token::Repeat(..) => "a repetition".to_owned(),
            Token::Newline => "the end of the line".to_owned(),
            Token::End => "the end of the grammar".to_owned(),
        }
    }
}

/// Reads tokens; a clone reads ahead. The next token is read once and kept.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    source: &'a str,
    /// The names of special tokens, which literals match too.
    special: &'a SpecialNames,
    at: usize,
    ahead: Option<(Token<'a>, Range<usize>)>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str, special: &'a SpecialNames) -> Lexer<'a> {
        Lexer { source, special, at: 0, ahead: None }
    }

    /// The next token, which stays the next.
    pub(super) fn peek(&mut self) -> Result<Token<'a>, Fault> {
        if self.ahead.is_none() {
            self.ahead = Some(self.read()?);
        }
        Ok(self.ahead.as_ref().map_or(Token::End, |(token, _)| token.clone()))
    }

    /// Takes the next token, with its place.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, Range<usize>), Fault> {
        match self.ahead.take() {
            Some(ahead) => Ok(ahead),
            None => self.read(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn read(&mut self) -> Result<(Token<'a>, Range<usize>), Fault> {
        loop {
            let rest = self.rest().trim_start_matches([' ', '\t']);
            self.at = self.source.len() - rest.len();
            if !rest.starts_with('#') {
                break;
            }
            self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
        }
        let start = self.at;
        let Some(next) = self.rest().chars().next() else { return Ok((Token::End, start..start)) };
        self.at += next.len_utf8();
        let token = match next {
            '\n' => Token::Newline,
            '\r' => {
                if self.rest().starts_with('\n') {
                    self.at += 1;
                }
                Token::Newline
            }
            '|' => Token::Bar,
            '(' if self.rest().starts_with('=') => {
                let message = "look-ahead `(= ...)` is of xgrammar's notation and not supported: a rule knows what follows it";
                return Err(Fault::unsupported(start..self.at + 1, message).with_hint(
                    "leave it away where the text that follows is in the grammar; what ends free text is said by a \
                     structural tag (\"any_text\", \"triggered_tags\")",
                ));
            }
            '(' => Token::Open,
            ')' => Token::Close,
            '*' => Token::Repeat(0, None),
            '+' => Token::Repeat(1, None),
            '?' => Token::Repeat(0, Some(1)),
            '{' => self.counts(start)?,
            '"' => Token::Language(self.literal(start)?),
            '[' => Token::Language(self.class(start)?),
            '.' => Token::Language(Regex::any_char()),
            ':' if self.rest().starts_with(":=") => {
                self.at += 2;
                Token::Define
            }
            '<' => Token::Tokens(self.tokens(start)?),
            '!' if self.rest().starts_with('<') => {
                self.at += 1;
                let set = self.tokens(start)?;
                if set.is_negated() {
                    let message = "`!` before a set that says already which tokens it has not";
                    return Err(Fault::new(start..self.at, message)
                        .with_hint("write <[5]> for what is not in <[^5]>; nothing is not in <[*]>"));
                }
                Token::Tokens(set.all_others())
            }
            _ if is_name(next) => {
                let length = self.rest().find(|c| !is_name(c)).unwrap_or(self.rest().len());
                self.at += length;
                Token::Name(&self.source[start..self.at])
            }
            _ => {
                let shown = if next == '\'' { "'".to_owned() } else { next.escape_debug().to_string() };
                let message = format!(
                    "unexpected `{shown}`; a rule is made of names, \"literals\", [classes], `.`, <tokens>, `|`, groups and \
                     repetitions"
                );
                let fault = Fault::new(start..self.at, message);
                return Err(match next {
                    '\'' => fault.with_hint("literals stand in double quotes: \"...\""),
                    _ => fault,
                });
            }
        };
        Ok((token, start..self.at))
    }

    /// A set of tokens, after its `<`.
    fn tokens(&mut self, start: usize) -> Result<TokenSet, Fault> {
        let open = self.at - 1;
        let Some(length) = TokenSet::end_of_written(&self.source[open..]) else {
            let message = "a token is `<name>` or `<[id]>`, without spaces, or `<\"any name\">`";
            return Err(Fault::new(start..self.at, message));
        };
        self.at = open + length;
        TokenSet::of_written(&self.source[open..self.at])
            .map_err(|(message, hint)| Fault::new(start..self.at, message).with_hint(hint))
    }

    /// `{m}`, `{m,}` or `{m,n}`, behind its `{`.
    fn counts(&mut self, start: usize) -> Result<Token<'a>, Fault> {
        let end = self.rest().find(['}', '\n', '\r']).unwrap_or(self.rest().len());
        let inside = &self.rest()[..end];
        self.at += end;
        let span = start..self.at;
        let malformed = || Fault::new(span.clone(), "a repetition in braces is `{m}`, `{m,}` or `{m,n}`");
        if !self.rest().starts_with('}') {
            return Err(malformed());
        }
        self.at += 1;
        let number = |digits: &str| {
            let digits = digits.trim();
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(malformed());
            }
            digits.parse::<u32>().map_err(|_| {
                Fault::limit(
                    span.clone(),
                    format!("repetition count {digits} is more than the limit of {}", u32::MAX),
                )
            })
        };
        let (min, max) = match inside.split_once(',') {
            None => {
                let count = number(inside)?;
                (count, Some(count))
            }
            Some((min, max)) if max.trim().is_empty() => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        match max {
            Some(max) if max < min => {
                let message = format!("a repetition of at least {min} and at most {max} is out of order");
                Err(Fault::new(span, message))
            }
            _ => Ok(Token::Repeat(min, max)),
        }
    }

    /// A literal, behind its opening quote.
    fn literal(&mut self, start: usize) -> Result<Regex, Fault> {
        let mut text = String::new();
        loop {
            match self.char(start, false, "unclosed literal, `\"` is missing")? {
                Char::Bare('"') => {
                    let regex = self.special.regex(&text);
                    return regex.map_err(|error| Fault::limit(start..self.at, error.to_string()));
                }
                Char::Bare(char) | Char::Escaped(char) => text.push(char),
            }
        }
    }

    /// A class, behind its `[`.
    fn class(&mut self, start: usize) -> Result<Regex, Fault> {
        const UNCLOSED: &str = "unclosed character class, `]` is missing";
        let is_negated = self.rest().starts_with('^');
        self.at += usize::from(is_negated);
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let item_start = self.at;
            let low = match self.char(start, true, UNCLOSED)? {
                Char::Bare(']') => break,
                Char::Bare(low) | Char::Escaped(low) => low,
            };
            let mut high = low;
            if self.rest().starts_with('-') && !self.rest().starts_with("-]") {
                self.at += 1;
                let (Char::Bare(end) | Char::Escaped(end)) = self.char(start, true, UNCLOSED)?;
                high = end;
            }
            if high < low {
                let range = &self.source[item_start..self.at];
                return Err(Fault::new(item_start..self.at, format!("range `{range}` is out of order")));
            }
            ranges.push((low, high));
        }
        Ok(Regex::char_class(&if is_negated { negated(ranges) } else { ranges }))
    }

    /// One character of a literal or class that began at `start`.
    fn char(&mut self, start: usize, is_class: bool, unclosed: &str) -> Result<Char, Fault> {
        let at = self.at;
        let rest = self.rest();
        let next = rest.chars().next().filter(|next| !matches!(next, '\n' | '\r'));
        let Some(next) = next else { return Err(Fault::new(start..start + 1, unclosed)) };
        self.at += next.len_utf8();
        if next != '\\' {
            return Ok(Char::Bare(next));
        }
        let Some(letter) = self.rest().chars().next() else {
            return Err(Fault::new(start..start + 1, unclosed));
        };
        self.at += letter.len_utf8();
        let n_digits = match letter {
            'n' => return Ok(Char::Escaped('\n')),
            't' => return Ok(Char::Escaped('\t')),
            'r' => return Ok(Char::Escaped('\r')),
            // What llama.cpp allows, and `-` and `^`, which grammars escape in classes.
            '\\' | '"' | '[' | ']' | '-' | '^' => return Ok(Char::Escaped(letter)),
            // The further escapes of xgrammar's notation.
            'f' => return Ok(Char::Escaped('\x0C')),
            'v' => return Ok(Char::Escaped('\x0B')),
            '0' => return Ok(Char::Escaped('\0')),
            'a' => return Ok(Char::Escaped('\x07')),
            'e' => return Ok(Char::Escaped('\x1B')),
            'b' => return Ok(Char::Escaped('\x08')),
            '\'' | '?' => return Ok(Char::Escaped(letter)),
            '$' | '.' | '*' | '+' | '(' | ')' | '{' | '}' | '|' | '/' if is_class => {
                return Ok(Char::Escaped(letter));
            }
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => {
                let message = format!(
                    "unknown escape `\\{}`; allowed are \\n \\t \\r \\f \\v \\a \\b \\e \\0 \\\\ \\\" \\' \\? \\[ \\] \\- \\^ \\xHH \\uHHHH \
                     and \\UHHHHHHHH",
                    letter.escape_debug()
                );
                return Err(Fault::new(at..self.at, message));
            }
        };
        let digits =
            self.rest().get(..n_digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            let message = format!("after `\\{letter}` stand {n_digits} hexadecimal digits");
            return Err(Fault::new(at..self.at, message));
        };
        self.at += n_digits;
        match u32::from_str_radix(digits, 16).ok().and_then(char::from_u32) {
            Some(char) => Ok(Char::Escaped(char)),
            None => {
                let message = format!(
                    "`\\{letter}{digits}` is no Unicode scalar value, which go up to 10FFFF without surrogates"
                );
                Err(Fault::new(at..self.at, message))
            }
        }
    }
}

/// A character as it stands, or by an escape, so that it closes nothing.
enum Char {
    Bare(char),
    Escaped(char),
}

fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '-' || char == '_'
}

/// All scalar values outside of `ranges`.
fn negated(mut ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    ranges.sort_unstable();
    let mut outside = Vec::new();
    // The next scalar value that no range has covered yet; `None` behind the last.
    let mut next = Some('\0');
    for (low, high) in ranges {
        let Some(from) = next else { break };
        if let Some(before) = (from..low).next_back() {
            outside.push((from, before));
        }
        next = if high < from { next } else { (high..=char::MAX).nth(1) };
    }
    outside.extend(next.map(|from| (from, char::MAX)));
    outside
}
