//! Languages like JSON: how a style writes a value that is not an element.
//!
//! Most styles write JSON. Models that call tools in Python write its literals, and Gemma 4 has marks of its
//! own around strings. A [`Notation`] says what differs: the words for `null`, `true` and `false`, the quotes
//! and what stands between them, and the names in objects. Numbers are JSON's in all of them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use maskwright_automata::Regex;
use maskwright_grammar::{SpecialNames, SpelledPiece};

use crate::config::Style;
use crate::strings::escape::{self, Spelling};
use crate::strings::names::{Names, without};
use crate::strings::terminals::{self, CANONICAL_STRING, STRING};

/// How values are written.
#[derive(Clone)]
pub(crate) struct Notation {
    pub(crate) null: Regex,
    pub(crate) true_: Regex,
    pub(crate) false_: Regex,
    pub(crate) boolean: Regex,
    /// Any string, in any spelling that readers know.
    pub(crate) any_string: Regex,
    /// Any string, its characters in the spellings of [`Quotes`].
    pub(crate) canonical_string: Regex,
    /// The ways to write a string.
    pub(crate) quotes: Vec<Quotes>,
    /// How names in objects are written; as strings if nothing is said.
    pub(crate) names: Option<&'static Names>,
    /// How the names of the arguments of a call are written, where those are not an object: `name=value`.
    pub(crate) arguments: Option<&'static Names>,
}

/// Marks around a string, and how its characters are written between them.
#[derive(Clone)]
pub(crate) struct Quotes {
    left: Mark,
    right: Mark,
    spelling: &'static Spelling,
    /// Any character between them.
    pub(crate) any_char: Regex,
    /// What does not contain the right mark, where no character has an escape.
    safe: Option<Regex>,
}

impl Quotes {
    fn new(left: &'static str, right: &'static str, spelling: &'static Spelling) -> Quotes {
        let safe = spelling.escaped.is_empty().then(|| without(right));
        let (left, right) = (Mark::new(left), Mark::new(right));
        let any_char = match std::ptr::eq(spelling, &*escape::JSON) {
            true => escape::SPELLED_CHAR.clone(),
            false => spelling.regex(&Regex::any_char()),
        };
        Quotes { left, right, spelling, any_char, safe }
    }

    /// Quotes around a body that is spelled already.
    pub(crate) fn around(&self, body: Regex) -> Regex {
        let body = match &self.safe {
            None => body,
            Some(safe) => Regex::intersection([body, safe.clone()]),
        };
        Regex::concat([self.left.regex(), body, self.right.regex()])
    }

    /// The spellings of the texts of `regex`, without the quotes.
    pub(crate) fn spell(&self, regex: &Regex) -> Regex {
        self.spelling.regex(regex)
    }

    /// A text with the quotes as text; `None` if it cannot stand between them.
    pub(crate) fn word(&self, text: &str) -> Option<Vec<u8>> {
        let (left, right) = (self.left.text, self.right.text);
        if self.safe.is_some() && text.contains(right) {
            return None;
        }
        let mut word = Vec::with_capacity(left.len() + text.len() + right.len());
        word.extend_from_slice(left.as_bytes());
        self.spelling.append(text.as_bytes(), &mut word);
        word.extend_from_slice(right.as_bytes());
        Some(word)
    }

    /// Where a [`word`](Quotes::word) is between its quotes.
    pub(crate) fn inside(&self, word: &[u8]) -> Range<usize> {
        self.left.text.len()..word.len() - self.right.text.len()
    }

    /// What stands between the quotes, with each reading of these but that as text.
    pub(crate) fn other_words(&self, inside: &[u8]) -> Vec<Vec<u8>> {
        if self.left.readings.len() == 1 && self.right.readings.len() == 1 {
            return Vec::new();
        }
        let of_left = |left: &Vec<u8>| {
            self.right.readings.iter().map(|right| [left, inside, right].concat()).collect::<Vec<_>>()
        };
        self.left.readings.iter().flat_map(of_left).skip(1).collect()
    }

    /// Whether strings are written as in JSON.
    pub(crate) fn is_of_json(&self) -> bool {
        std::ptr::eq(self.spelling, &*escape::JSON)
    }
}

/// A mark of a style, and how it may be read: as its text, and with special tokens that it names.
#[derive(Clone)]
struct Mark {
    text: &'static str,
    /// The first is the text.
    readings: Vec<Vec<u8>>,
}

impl Mark {
    /// A mark that is text.
    fn new(text: &'static str) -> Mark {
        Mark { text, readings: vec![text.into()] }
    }

    fn regex(&self) -> Regex {
        Regex::words(self.readings.iter().map(Vec::as_slice))
    }
}

/// The readings of a mark of a few characters; `None` if it is text alone.
fn readings(special: &SpecialNames, mark: &str) -> Option<Vec<Vec<u8>>> {
    let parts = special.parts(mark).ok().filter(|_| !special.found_in(mark).is_empty())?;
    Some(parts.iter().fold(vec![Vec::new()], |before, readings| {
        let words =
            readings.iter().map(|pieces| pieces.iter().flat_map(SpelledPiece::word).collect::<Vec<u8>>());
        words
            .flat_map(|word| before.iter().map(move |start| [&start[..], &word].concat()).collect::<Vec<_>>())
            .collect()
    }))
}

impl Notation {
    /// How a style writes values, where its marks are also the special tokens that they name.
    pub(crate) fn of(style: Style, special: Option<&SpecialNames>) -> Cow<'static, Notation> {
        Cow::Borrowed(match style {
            Style::Python => &PYTHON,
            Style::PythonJson => &PYTHON_JSON,
            Style::Gemma => {
                let mut quotes = Quotes::new(GEMMA_QUOTE, GEMMA_QUOTE, &escape::AS_IT_IS);
                let Some(readings) = special.and_then(|special| readings(special, GEMMA_QUOTE)) else {
                    return Cow::Borrowed(&*GEMMA);
                };
                quotes.left.readings.clone_from(&readings);
                quotes.right.readings = readings;
                return Cow::Owned(gemma(quotes));
            }
            _ => &JSON,
        })
    }

    fn new(words: [&'static [&'static str]; 3], quotes: Vec<Quotes>) -> Notation {
        let [null, true_, false_] = words.map(|words| Regex::words(words.iter().map(|word| word.as_bytes())));
        let strings = quotes.iter().map(|quotes| quotes.around(quotes.any_char.clone().star()));
        let canonical_string = Regex::union(strings);
        Notation {
            boolean: Regex::union([true_.clone(), false_.clone()]),
            null,
            true_,
            false_,
            any_string: canonical_string.clone(),
            canonical_string,
            quotes,
            names: None,
            arguments: None,
        }
    }

    /// The strings of a language, with their quotes.
    pub(crate) fn strings(&self, texts: &Regex) -> Regex {
        Regex::union(self.quotes.iter().map(|quotes| quotes.around(quotes.spell(texts))))
    }
}

static JSON: LazyLock<Notation> = LazyLock::new(|| Notation {
    null: terminals::NULL.clone(),
    true_: terminals::TRUE.clone(),
    false_: terminals::FALSE.clone(),
    boolean: terminals::BOOLEAN.clone(),
    any_string: STRING.clone(),
    canonical_string: CANONICAL_STRING.clone(),
    ..Notation::new([&[]; 3], vec![Quotes::new("\"", "\"", &escape::JSON)])
});

/// Python's literals.
static PYTHON: LazyLock<Notation> = LazyLock::new(|| python([&["None"], &["True"], &["False"]]));

/// Python's literals, with JSON's words for the three constants as well: some models write them, and some
/// parsers know them.
static PYTHON_JSON: LazyLock<Notation> =
    LazyLock::new(|| python([&["None", "null"], &["True", "true"], &["False", "false"]]));

fn python(words: [&'static [&'static str]; 3]) -> Notation {
    let quotes = vec![Quotes::new("\"", "\"", &escape::JSON), Quotes::new("'", "'", &escape::SINGLE)];
    Notation {
        any_string: Regex::union([python_string('"'), python_string('\'')]),
        arguments: Some(&PYTHON_NAMES),
        ..Notation::new(words, quotes)
    }
}

/// Any string of Python between these quotes, on one line.
fn python_string(quote: char) -> Regex {
    let hex = Regex::char_class(&[('0', '9'), ('A', 'F'), ('a', 'f')]);
    let one_of = |chars: &[u8]| Regex::bytes(chars.iter().copied().collect());
    let escape = Regex::union([
        one_of(b"\"'\\abfnrtv"),
        Regex::concat([Regex::byte(b'x'), hex.clone().repeat(2, Some(2))]),
        // No surrogates.
        Regex::concat([Regex::byte(b'u'), one_of(b"0123456789abcefABCEF"), hex.clone().repeat(3, Some(3))]),
        Regex::concat([Regex::literal("u"), one_of(b"dD"), one_of(b"01234567"), hex.repeat(2, Some(2))]),
    ]);
    let escape = Regex::concat([Regex::byte(b'\\'), escape]);
    let plain = Regex::char_class(&[(' ', '!'), ('#', '&'), ('(', '['), (']', char::MAX)]);
    let other = Regex::byte(if quote == '"' { b'\'' } else { b'"' });
    let quote = Regex::literal(quote.to_string());
    Regex::concat([quote.clone(), Regex::union([plain, other, escape]).star(), quote])
}

/// Gemma 4's: strings as they are, between tokens, and names without quotes.
static GEMMA: LazyLock<Notation> =
    LazyLock::new(|| gemma(Quotes::new(GEMMA_QUOTE, GEMMA_QUOTE, &escape::AS_IT_IS)));

const GEMMA_QUOTE: &str = "<|\"|>";

fn gemma(quotes: Quotes) -> Notation {
    Notation { names: Some(&GEMMA_NAMES), ..Notation::new([&["null"], &["true"], &["false"]], vec![quotes]) }
}

static PYTHON_NAMES: LazyLock<Names> = LazyLock::new(Names::of_python);
static GEMMA_NAMES: LazyLock<Names> = LazyLock::new(Names::of_gemma);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_quotes_as_its_writers_do() {
        for text in ["", "a/b", "\"\\\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}", "é😀\u{2028}"] {
            assert_eq!(JSON.quotes[0].word(text), Some(serde_json::to_string(text).unwrap().into_bytes()));
        }
    }
}
