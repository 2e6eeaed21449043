//! A value while it is written, in JSON or in a notation like it: the same value as JSON text.
//!
//! The JSON text is compact and in the order of writing; numbers and strings of JSON stay as they are
//! written. It only grows: an escape is written when it is whole, the first half of a surrogate pair with the
//! second half, and a word of Python (`True`) at its end.

use maskwright_json_schema::Style;

use super::{MAX_PATH, PathPart, Pieces};

/// What stands around Gemma's strings.
const GEMMA_QUOTE: &str = "<|\"|>";

/// Reads a value character by character.
#[derive(Clone, Debug)]
pub(super) struct ValueReader {
    style: Style,
    /// The path of the whole value.
    base: Vec<PathPart>,
    levels: Vec<Level>,
    state: State,
}

/// An object or array that is open.
#[derive(Clone, Debug)]
enum Level {
    /// The key of the member that is being written, once it is known.
    Object(Option<String>),
    /// The number of the item that is being written.
    Array(usize),
}

#[derive(Clone, Debug)]
enum State {
    /// Between words, strings and punctuation.
    Free,
    /// In a string, or in its first mark.
    String(Text),
    /// In a key without quotes.
    Key(String),
    /// After a key in quotes, before its colon.
    AfterKey(String),
    /// In a number or another word of a value.
    Word(String),
}

/// A string that is open.
#[derive(Clone, Debug)]
struct Text {
    is_key: bool,
    /// The text so far, if it is a key: as JSON writes it.
    key: String,
    /// The quote that ends it; `None` of Gemma's marks.
    quote: Option<char>,
    /// What is written of an escape or of a mark.
    held: String,
    /// Whether Gemma's first mark is whole.
    has_begun: bool,
}

impl ValueReader {
    /// The reader of a value at a path. The arguments of a call in Python are an object without braces.
    pub(super) fn new(style: Style, base: Vec<PathPart>, out: &mut Pieces) -> ValueReader {
        let mut reader = ValueReader { style, base, levels: Vec::new(), state: State::Free };
        if reader.is_python() {
            reader.levels.push(Level::Object(None));
            reader.put(out, "", "{");
        }
        reader
    }

    fn is_python(&self) -> bool {
        matches!(self.style, Style::Python | Style::PythonJson)
    }

    /// Whether a word is JSON as it is written, which its first character says: a number, or any of JSON.
    fn is_as_json(&self, word: &str) -> bool {
        self.style == Style::Json || word.starts_with(|c: char| !c.is_alphabetic())
    }

    /// Where a character that is written now belongs.
    fn path(&self) -> Vec<PathPart> {
        let parts = self.levels.iter().filter_map(|level| match level {
            Level::Object(key) => key.clone().map(PathPart::Key),
            Level::Array(index) => Some(PathPart::Index(*index)),
        });
        self.base.iter().cloned().chain(parts).take(MAX_PATH).collect()
    }

    fn put(&self, out: &mut Pieces, raw: &str, json: &str) {
        out.put(|| self.path(), raw, json);
    }

    /// Whether a character ends a key without quotes.
    fn ends_key(&self, c: char) -> bool {
        c == if self.is_python() { '=' } else { ':' }
    }

    /// Whether a key comes next.
    fn wants_key(&self) -> bool {
        matches!(self.levels.last(), Some(Level::Object(None)))
    }

    /// Reads one more character.
    pub(super) fn push(&mut self, c: char, out: &mut Pieces) {
        let raw = c.to_string();
        match std::mem::replace(&mut self.state, State::Free) {
            State::Free => self.begin(c, &raw, out),
            State::String(text) => {
                out.put(|| self.path(), &raw, "");
                self.in_string(text, c, out);
            }
            State::Key(mut key) => match c {
                _ if self.ends_key(c) => {
                    let key = key.trim_end().to_owned();
                    self.put(out, &raw, &format!("{}:", quoted(&key)));
                    self.set_key(key, out);
                }
                _ => {
                    self.put(out, &raw, "");
                    key.push(c);
                    self.state = State::Key(key);
                }
            },
            State::AfterKey(key) => {
                self.put(out, &raw, if c == ':' { ":" } else { "" });
                match c {
                    ':' => self.set_key(key, out),
                    _ => self.state = State::AfterKey(key),
                }
            }
            State::Word(mut word) => {
                if c.is_alphanumeric() || "+-._".contains(c) {
                    self.put(out, &raw, if self.is_as_json(&word) { &raw } else { "" });
                    word.push(c);
                    self.state = State::Word(word);
                } else {
                    self.end_word(&word, out);
                    self.begin(c, &raw, out);
                }
            }
        }
    }

    /// The value ends.
    pub(super) fn end(mut self, out: &mut Pieces) {
        if let State::Word(word) = std::mem::replace(&mut self.state, State::Free) {
            self.end_word(&word, out);
        }
        if self.is_python() {
            self.levels.clear();
            out.changed();
            self.put(out, "", "}");
        }
    }

    fn set_key(&mut self, key: String, out: &mut Pieces) {
        if let Some(Level::Object(known)) = self.levels.last_mut() {
            *known = Some(key);
            out.changed();
        }
    }

    fn end_word(&mut self, word: &str, out: &mut Pieces) {
        let json = match word {
            _ if self.is_as_json(word) => return,
            "True" => "true",
            "False" => "false",
            "None" => "null",
            word => word,
        };
        self.put(out, "", json);
    }

    /// What a character begins between words, strings and punctuation.
    fn begin(&mut self, c: char, raw: &str, out: &mut Pieces) {
        let is_key = self.wants_key();
        let string =
            |quote, held| State::String(Text { is_key, key: String::new(), quote, held, has_begun: false });
        match c {
            ' ' | '\t' | '\n' | '\r' => self.put(out, raw, ""),
            '"' => {
                self.put(out, raw, "\"");
                self.state = string(Some('"'), String::new());
            }
            '\'' if self.is_python() => {
                self.put(out, raw, "\"");
                self.state = string(Some('\''), String::new());
            }
            '<' if self.style == Style::Gemma => {
                self.put(out, raw, "");
                self.state = string(None, raw.to_owned());
            }
            '{' | '[' => {
                self.put(out, raw, raw);
                self.levels.push(if c == '{' { Level::Object(None) } else { Level::Array(0) });
                out.changed();
            }
            '}' | ']' => {
                self.levels.pop();
                out.changed();
                self.put(out, raw, raw);
            }
            ',' => {
                match self.levels.last_mut() {
                    Some(Level::Object(key)) => *key = None,
                    Some(Level::Array(index)) => *index += 1,
                    None => {}
                }
                out.changed();
                self.put(out, raw, raw);
            }
            _ if is_key => {
                self.put(out, raw, "");
                self.state = State::Key(raw.to_owned());
            }
            _ => {
                self.put(out, raw, if self.is_as_json(raw) { raw } else { "" });
                self.state = State::Word(raw.to_owned());
            }
        }
    }

    fn in_string(&mut self, mut text: Text, c: char, out: &mut Pieces) {
        if text.is_first_half() && c != '\\' {
            // It has no second half.
            self.put(out, "", &std::mem::take(&mut text.held));
        }
        let written = match text.quote {
            None => text.in_marks(c),
            Some(quote) if text.held.is_empty() && c == quote => Some("\"".to_owned()),
            Some(_) if self.style == Style::Json => text.in_json(c),
            Some(_) => text.in_python(c),
        };
        let Some(written) = written else {
            self.state = State::String(text);
            return;
        };
        // Only the end is a quote without an escape.
        let is_end = written == "\"" && (text.quote.is_some() || text.has_begun);
        self.put(out, "", &written);
        if !is_end {
            text.has_begun = true;
            text.key.push_str(if text.is_key && written != "\"" { &written } else { "" });
            self.state = State::String(text);
        } else if text.is_key {
            let key = serde_json::from_str(&format!("\"{}\"", text.key)).unwrap_or(text.key);
            self.state = State::AfterKey(key);
        }
    }
}

impl Text {
    /// What one more character adds to the JSON text of a string between Gemma's marks.
    fn in_marks(&mut self, c: char) -> Option<String> {
        self.held.push(c);
        if self.held == GEMMA_QUOTE {
            self.held.clear();
            return Some("\"".to_owned());
        }
        if GEMMA_QUOTE.starts_with(self.held.as_str()) {
            return None;
        }
        // What looked like a mark is text, but its end may begin one.
        let held = std::mem::take(&mut self.held);
        let kept =
            (1..=held.len()).find(|&at| held.is_char_boundary(at) && GEMMA_QUOTE.starts_with(&held[at..]));
        let kept = kept.unwrap_or(held.len());
        self.held = held[kept..].to_owned();
        Some(escaped(&held[..kept]))
    }

    /// What one more character adds to the text of a string of JSON. The first half of a surrogate pair waits
    /// for the second.
    fn in_json(&mut self, c: char) -> Option<String> {
        if self.held.is_empty() && c != '\\' {
            return Some(c.to_string());
        }
        self.held.push(c);
        // The first half of a pair may stand before it.
        let last = if self.held.len() > 6 { 6 } else { 0 };
        let is_whole = match &self.held.as_bytes()[last..] {
            [_] => false,
            [_, b'u', digits @ ..] => digits.len() == 4,
            _ => true,
        };
        let is_first = is_whole && last == 0 && self.is_first_half();
        (is_whole && !is_first).then(|| std::mem::take(&mut self.held))
    }

    /// Whether the first half of a surrogate pair is held, and nothing after it.
    fn is_first_half(&self) -> bool {
        let digits = self.held.strip_prefix("\\u").filter(|digits| digits.len() == 4);
        let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        unit.is_some_and(|unit| (0xD800..0xDC00).contains(&unit))
    }

    /// The same of a string of Python, whose escapes JSON may lack.
    fn in_python(&mut self, c: char) -> Option<String> {
        if self.held.is_empty() && c != '\\' {
            return Some(escaped(c.encode_utf8(&mut [0; 4])));
        }
        self.held.push(c);
        let digits =
            |n: usize| (self.held.len() == 2 + n).then(|| u32::from_str_radix(&self.held[2..], 16).ok());
        let code = match self.held.as_bytes().get(1)? {
            b'n' => Some(10),
            b'r' => Some(13),
            b't' => Some(9),
            b'b' => Some(8),
            b'f' => Some(12),
            b'a' => Some(7),
            b'v' => Some(11),
            b'x' => digits(2)?,
            b'u' => digits(4)?,
            _ => Some(u32::from(c)),
        };
        self.held.clear();
        let c = code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        Some(escaped(c.encode_utf8(&mut [0; 4])))
    }
}

/// A text as it stands in a string of JSON.
pub(super) fn escaped(text: &str) -> String {
    let quoted = quoted(text);
    quoted[1..quoted.len() - 1].to_owned()
}

/// A text as a string of JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
