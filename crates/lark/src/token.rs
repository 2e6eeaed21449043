//! The tokens of the grammar language.
//!
//! A newline ends a statement, unless the next line that is not blank starts with `|`: then both are one
//! [`Token::Or`]. Comments (`//` and `#`) and a backslash before a newline are blanks. Linear time.

use maskwright_grammar::TokenSet;
use maskwright_syntax::MAX_SOURCE;

use crate::error::Fault;
use crate::source::Span;

/// The most tokens of one file.
const MAX_TOKENS: usize = 1 << 20;

/// What a statement can start with after `%`.
const DIRECTIVES: [&str; 5] = ["ignore", "import", "declare", "override", "extend"];

/// The flags of a regular expression.
const FLAGS: &str = "imslux";

/// A token of the grammar language; its text is a part of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token<'s> {
    /// `name`: lower case.
    Rule(&'s str),
    /// `NAME`: upper case.
    Terminal(&'s str),
    /// A string between quotes, and whether `i` follows.
    String { body: &'s str, is_caseless: bool },
    /// A regular expression between slashes, and its flags as written.
    Regexp { body: &'s str, flags: &'s str },
    /// A whole number.
    Number(i64),
    /// `%name`, one of [`DIRECTIVES`].
    Directive(&'s str),
    /// `%json` and the JSON value behind it, as written: an object, or a string.
    Json(&'s str),
    /// `%llguidance` and the JSON object behind it, as written.
    Options(&'s str),
    /// `@name`: a grammar that the caller gave.
    Grammar(&'s str),
    /// `<name>` or `<[ids]>`: a token of the vocabulary, as written.
    Special(&'s str),
    /// `|`, on the same or on a following line.
    Or,
    /// The end of a statement.
    Newline,
    /// `->`.
    Arrow,
    /// `..`.
    DotDot,
    /// One of `( ) [ ] { } ? ! * + ~ : , .`.
    Sign(char),
}

impl Token<'_> {
    /// What the token is, for messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Token::Rule(name) | Token::Terminal(name) => format!("`{name}`"),
            Token::String { body, .. } => format!("the string \"{body}\""),
            Token::Regexp { body, .. } => format!("the pattern /{body}/"),
            Token::Number(number) => format!("the number {number}"),
            Token::Directive(name) => format!("`%{name}`"),
            Token::Json(_) => "`%json`".to_owned(),
            Token::Options(_) => "`%llguidance`".to_owned(),
            Token::Grammar(name) => format!("`@{name}`"),
            Token::Special(name) => format!("the token {name}"),
            Token::Or => "`|`".to_owned(),
            Token::Newline => "the end of the line".to_owned(),
            Token::Arrow => "`->`".to_owned(),
            Token::DotDot => "`..`".to_owned(),
            Token::Sign(sign) => format!("`{sign}`"),
        }
    }
}

/// All tokens of `text`, which is source number `source`; the last one is a newline.
///
/// # Errors
/// At a character that starts no token, at a string or pattern without end, beyond [`MAX_TOKENS`].
pub(crate) fn tokens(text: &str, source: u32) -> Result<Vec<(Token<'_>, Span)>, Fault> {
    let mut scanner = Scanner { text, source, at: 0 };
    if text.len() > MAX_SOURCE {
        let message = format!("a grammar of {} bytes or more, at most {MAX_SOURCE} are allowed", text.len());
        return Err(Fault::limit(scanner.span(0), message));
    }
    let mut tokens = Vec::new();
    while let Some(first) = scanner.skip_blanks() {
        let start = scanner.at;
        let token = scanner.token(first)?;
        if tokens.len() == MAX_TOKENS {
            let message = format!("a grammar of more than {MAX_TOKENS} tokens");
            return Err(Fault::limit(scanner.span(start), message));
        }
        tokens.push((token, scanner.span(start)));
    }
    let end = scanner.span(scanner.at);
    tokens.push((Token::Newline, end));
    Ok(tokens)
}

struct Scanner<'s> {
    text: &'s str,
    source: u32,
    at: usize,
}

impl<'s> Scanner<'s> {
    fn rest(&self) -> &'s str {
        &self.text[self.at..]
    }

    /// From byte `start` to here.
    fn span(&self, start: usize) -> Span {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { source: self.source, start: offset(start), end: offset(self.at) }
    }

    fn fault(&self, start: usize, message: impl Into<String>) -> Fault {
        Fault::new(self.span(start), message)
    }

    /// How many bytes from here on `belongs` holds for.
    fn run(&self, belongs: impl Fn(char) -> bool) -> usize {
        self.rest().find(|c| !belongs(c)).unwrap_or(self.rest().len())
    }

    /// Passes spaces, tabs, comments and continued lines; the character after them, if there is one.
    fn skip_blanks(&mut self) -> Option<char> {
        loop {
            self.at += self.run(|c| c == ' ' || c == '\t');
            let rest = self.rest();
            if rest.starts_with("//") || rest.starts_with('#') {
                self.at += self.run(|c| c != '\n');
                continue;
            }
            let after_backslash = rest.strip_prefix('\\').map(|rest| rest.trim_start_matches(' '));
            match after_backslash.and_then(|rest| rest.strip_prefix("\r\n").or(rest.strip_prefix('\n'))) {
                Some(next_line) => self.at = self.text.len() - next_line.len(),
                None => return rest.chars().next(),
            }
        }
    }

    fn token(&mut self, first: char) -> Result<Token<'s>, Fault> {
        let start = self.at;
        match first {
            '\n' | '\r' => return self.newline(),
            '"' => return self.string(),
            '/' => return self.regexp(),
            '%' => return self.directive(),
            '<' => return self.special(),
            '@' => {
                let name = &self.rest()[1..];
                let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                let name = &name[..name.find(|c| !is_of_name(c)).unwrap_or(name.len())];
                if !name.is_empty() {
                    self.at += 1 + name.len();
                    return Ok(Token::Grammar(name));
                }
            }
            'a'..='z' | 'A'..='Z' | '_' => return self.name(),
            '0'..='9' | '+' | '-' => {
                let digits = self.rest()[1..].bytes().take_while(u8::is_ascii_digit).count();
                if first.is_ascii_digit() || digits > 0 {
                    self.at += 1 + digits;
                    let number = self.text[start..self.at].parse();
                    return number
                        .map(Token::Number)
                        .map_err(|_| self.fault(start, "a number beyond 64 bits"));
                }
            }
            _ => {}
        }
        for (text, token) in [("->", Token::Arrow), ("..", Token::DotDot), ("|", Token::Or)] {
            if self.rest().starts_with(text) {
                self.at += text.len();
                return Ok(token);
            }
        }
        self.at += first.len_utf8();
        if "()[]{}?!*+~:,.".contains(first) {
            return Ok(Token::Sign(first));
        }
        let fault = self.fault(start, format!("`{first}` starts nothing in a grammar"));
        Err(match first {
            '\'' => fault.with_hint("strings stand in double quotes: \"...\""),
            '=' => fault.with_hint("a definition is written `name: ...`"),
            ';' => fault.with_hint("a definition ends with its line"),
            _ => fault,
        })
    }

    /// A newline with the blank lines and comments after it, and the `|` after them if there is one.
    fn newline(&mut self) -> Result<Token<'s>, Fault> {
        let start = self.at;
        loop {
            let blank = self.run(char::is_whitespace);
            self.at += blank;
            match self.skip_blanks() {
                Some('|') => {
                    self.at += 1;
                    return Ok(Token::Or);
                }
                Some(c) if c.is_whitespace() => {}
                _ if blank == 0 => return Err(self.fault(start, "a carriage return without a newline")),
                _ => return Ok(Token::Newline),
            }
        }
    }

    /// The part between two `quote`s; a backslash takes the character after it along.
    fn quoted(&mut self, quote: char, what: &str, is_one_line: bool) -> Result<&'s str, Fault> {
        let start = self.at;
        let mut is_escaped = false;
        for (offset, c) in self.text[start + 1..].char_indices() {
            if c == '\n' && is_one_line {
                break;
            }
            if c == quote && !is_escaped {
                self.at = start + 1 + offset + 1;
                return Ok(&self.text[start + 1..start + 1 + offset]);
            }
            is_escaped = c == '\\' && !is_escaped;
        }
        self.at += self.run(|c| c != '\n');
        Err(self.fault(start, format!("{what} without its closing `{quote}`")))
    }

    fn string(&mut self) -> Result<Token<'s>, Fault> {
        let body = self.quoted('"', "a string", true)?;
        let is_caseless = self.rest().starts_with('i');
        self.at += usize::from(is_caseless);
        Ok(Token::String { body, is_caseless })
    }

    fn regexp(&mut self) -> Result<Token<'s>, Fault> {
        let start = self.at;
        let body = self.quoted('/', "a pattern", false)?;
        let flags = &self.rest()[..self.run(|c| FLAGS.contains(c))];
        self.at += flags.len();
        if body.contains('\n') && !flags.contains('x') {
            return Err(self
                .fault(start, "a pattern over several lines")
                .with_hint("only with the flag `x` may a pattern have newlines: /.../x"));
        }
        Ok(Token::Regexp { body, flags })
    }

    fn directive(&mut self) -> Result<Token<'s>, Fault> {
        let start = self.at;
        self.at += 1;
        let name = &self.rest()[..self.run(|c| c.is_ascii_alphanumeric() || c == '_')];
        self.at += name.len();
        if DIRECTIVES.contains(&name) {
            return Ok(Token::Directive(name));
        }
        if name == "json" {
            return self.json(start).map(Token::Json);
        }
        if name == "llguidance" {
            return self.json(start).map(Token::Options);
        }
        let all = DIRECTIVES.map(|name| format!("%{name}")).join(", ");
        let message = format!("`%{name}` is no directive, there are {all}, and in rules %json");
        Err(self.fault(start, message))
    }

    fn special(&mut self) -> Result<Token<'s>, Fault> {
        let start = self.at;
        if let Some(length) = TokenSet::end_of_written(self.rest()) {
            self.at += length;
            return Ok(Token::Special(&self.text[start..self.at]));
        }
        self.at +=
            1 + self.rest()[1..].find(|c: char| matches!(c, '<' | '>') || c.is_whitespace()).unwrap_or(0);
        Err(self.fault(start, "`<` without a token of the vocabulary").with_hint(
            "a token is written <name> or <[128010]> by its id, without spaces, or <\"any name\">",
        ))
    }

    /// The JSON behind `%json` or `%llguidance`, which begins at `start`.
    fn json(&mut self, start: usize) -> Result<&'s str, Fault> {
        let is_schema = self.text[start..].starts_with("%json");
        self.skip_blanks();
        let value_start = self.at;
        let rest = self.rest();
        if !is_schema && !rest.starts_with('{') {
            return Err(self
                .fault(start, "`%llguidance` without options after it")
                .with_hint("write `%llguidance {}`, the JSON object of options"));
        }
        if !rest.starts_with(['{', '"']) {
            return Err(self.fault(start, "`%json` without a JSON Schema behind it").with_hint(
                "write the schema, `%json {\"type\": \"object\"}`, or its file, `%json \"schema.json\"`",
            ));
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde::de::IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {
                self.at += values.byte_offset();
                Ok(&self.text[value_start..self.at])
            }
            error => {
                let message = match error {
                    Some(Err(error)) => error.to_string(),
                    _ => "it has no end".to_owned(),
                };
                let what = if is_schema { "the schema behind `%json` is" } else { "the options are" };
                Err(self.fault(start, format!("{what} not JSON: {message} of it")))
            }
        }
    }

    fn name(&mut self) -> Result<Token<'s>, Fault> {
        let start = self.at;
        let name = &self.rest()[..self.run(|c| c.is_ascii_alphanumeric() || c == '_')];
        self.at += name.len();
        let letters = name.strip_prefix('_').unwrap_or(name);
        match letters.bytes().next() {
            Some(b'a'..=b'z') if !letters.bytes().any(|byte| byte.is_ascii_uppercase()) => {
                Ok(Token::Rule(name))
            }
            Some(b'A'..=b'Z') if !letters.bytes().any(|byte| byte.is_ascii_lowercase()) => {
                Ok(Token::Terminal(name))
            }
            Some(b'_') => Err(self
                .fault(start, format!("the name `{name}` starts with two underscores, which is reserved"))),
            _ => Err(self
                .fault(start, format!("`{name}` is no name"))
                .with_hint("rules are written in lower case, terminals in upper case")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<String> {
        tokens(text, 0).unwrap().into_iter().map(|(token, _)| token.describe()).collect()
    }

    #[test]
    fn a_line_goes_on_with_a_bar() {
        let text = "a: b // one\n\n  // two\n  | c\nd: e";
        let end = "the end of the line";
        assert_eq!(kinds(text), ["`a`", "`:`", "`b`", "`|`", "`c`", end, "`d`", "`:`", "`e`", end]);
    }

    #[test]
    fn a_backslash_joins_lines() {
        assert_eq!(kinds("a \\  \n b"), ["`a`", "`b`", "the end of the line"]);
    }

    #[test]
    fn quotes_and_slashes_can_be_escaped() {
        assert_eq!(
            kinds(r#""a\"b\\"i /\/[^"]\\/is"#),
            [r#"the string "a\"b\\""#, r#"the pattern /\/[^"]\\/"#, "the end of the line"]
        );
    }

    #[test]
    fn signs_and_numbers() {
        assert_eq!(
            kinds("a~1..20 -> b.-3"),
            [
                "`a`",
                "`~`",
                "the number 1",
                "`..`",
                "the number 20",
                "`->`",
                "`b`",
                "`.`",
                "the number -3",
                "the end of the line"
            ]
        );
    }
}
