//! What may come next, and where a text is, in words.

use std::fmt;

use maskwright_automata::ByteSet;

/// Where a text is, and what may come next: [`Matcher::state`](crate::Matcher::state).
///
/// # Example: a pattern
///
/// ```
/// # use maskwright_engine as maskwright;
/// # use maskwright_automata::{ByteSet, Fuel, Regex};
/// # use maskwright_grammar::Grammar;
/// # use maskwright_vocabulary::Vocabulary;
/// # let tokens = ["1", "23", "x"].map(|token| Some(token.as_bytes().to_vec())).to_vec();
/// # let vocabulary = Vocabulary::from_tokens(tokens, &[], None).unwrap().shared();
/// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
/// # let digits = Regex::bytes(ByteSet::range(b'0', b'9')).plus();
/// # let grammar = compiler.compile(Grammar::from_regex(digits), &Fuel::new(100)).unwrap();
/// use maskwright::Matcher;
/// // The grammar is that of the regular expression `[0-9]+`.
/// let mut matcher = Matcher::new(&grammar);
/// assert!(matcher.accept_bytes(b"12").unwrap());
/// let state = matcher.state().unwrap();
/// assert!(state.is_complete && state.next[0].words == "a digit");
/// assert_eq!(state.to_string(), "expected a digit or the end of the text");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatcherState {
    /// What the JSON value around the place is of, the name of a tool or tag, if it is not the whole text.
    pub within: Option<String>,
    /// The way to the value in progress, or that is next, as a JSON pointer; `None` if the text is not that
    /// of a JSON Schema.
    pub path: Option<String>,
    /// The rules that are being read, the outermost first, as far as that is certain. Those of a JSON Schema
    /// have no names.
    pub rules: Vec<String>,
    /// The keywords that limit the value in progress, or that is next.
    pub keywords: Vec<StateKeyword>,
    /// What may come next, the most useful first, without the end of the text.
    pub next: Vec<StateNext>,
    /// Whether the text may end here.
    pub is_complete: bool,
}

/// A keyword of a schema.
///
/// # Example: as text
///
/// ```
/// # mod maskwright { pub use maskwright_engine::*; }
/// use maskwright::StateKeyword;
/// let keyword = StateKeyword::new("maximum", "120", "/properties/age");
/// assert_eq!(keyword.to_string(), "\"maximum\": 120");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateKeyword {
    /// Its name.
    pub name: String,
    /// Its value, as JSON.
    pub value: String,
    /// The JSON pointer to the schema that has it.
    pub pointer: String,
}

impl StateKeyword {
    /// For our own crates.
    #[doc(hidden)]
    pub fn new(
        name: impl Into<String>,
        value: impl Into<String>,
        pointer: impl Into<String>,
    ) -> StateKeyword {
        StateKeyword { name: name.into(), value: value.into(), pointer: pointer.into() }
    }
}

/// One thing that may come next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateNext {
    /// It, in words: a text between backticks, or what kind of characters.
    pub words: String,
    /// Some texts that it can begin with.
    pub examples: Vec<String>,
}

/// A part of a text that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRegion {
    /// What it is: `tag`, `tool` or `argument` (its value).
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The byte of the text where it begins.
    pub start: usize,
    /// The byte after its end, or `None` if the text ends before it does.
    pub end: Option<usize>,
}

/// The place after a text, in the words of its source.
#[derive(Clone, Debug, Default)]
pub struct WordsPlace {
    /// What the value is of: the name of a tool.
    pub within: Option<String>,
    /// The way to the value in progress, or that is next, as a JSON pointer.
    pub path: String,
    /// The keywords that limit it.
    pub keywords: Vec<StateKeyword>,
    /// What must still come before it can end.
    pub hint: Option<String>,
}

/// The most things that are listed.
const MAX_LISTED: usize = 12;

/// The end of the text, as something that is expected.
const END: &str = "the end of the text";

/// What the terminals of a layout mean.
pub(crate) const END_OF_LINE: &str = "the end of the line";
pub(crate) const BLOCK: &str = "an indented block";
pub(crate) const END_OF_BLOCK: &str = "the end of the block";

impl MatcherState {
    /// Where the text is, in words; `None` if there are none.
    pub fn place(&self) -> Option<String> {
        let within = self.within.as_ref().map(|within| format!("in {within}"));
        match (within, &self.path, &self.rules[..]) {
            (within, Some(path), _) if path.is_empty() => within,
            (Some(within), Some(path), _) => Some(format!("{within}, at {}", maskwright_error::shown(path))),
            (None, Some(path), _) => Some(format!("at {}", maskwright_error::shown(path))),
            (_, None, [_, ..]) => Some(format!("in {}", self.rules.join(" > "))),
            (within, None, []) => within,
        }
    }

    /// What may come next, in words, with the end of the text if it may end; not too many.
    pub fn expected(&self) -> Vec<String> {
        let mut expected: Vec<String> = self.next.iter().map(|next| next.words.clone()).collect();
        if expected.len() > MAX_LISTED {
            let n_more = expected.len() - MAX_LISTED;
            expected.truncate(MAX_LISTED);
            expected.push(format!("{n_more} more"));
        }
        if self.is_complete {
            expected.push(END.to_owned());
        }
        expected
    }
}

impl fmt::Display for MatcherState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place() {
            write!(f, "{place}: ")?;
        }
        write!(f, "expected {}", self.expected().join(" or "))?;
        if !self.keywords.is_empty() {
            let keywords: Vec<String> = self.keywords.iter().map(StateKeyword::to_string).collect();
            write!(f, " ({})", keywords.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for StateKeyword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\": {}", self.name, self.value)
    }
}

/// A text as it is shown: between backticks, blanks by name, control characters escaped.
pub(crate) fn shown(text: &[u8]) -> String {
    match text {
        b" " => return "a blank".to_owned(),
        b"\n" => return "a line break".to_owned(),
        b"\t" => return "a tab".to_owned(),
        _ => {}
    }
    let mut shown = String::from("`");
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\n' => shown.push_str("\\n"),
                '\t' => shown.push_str("\\t"),
                '\r' => shown.push_str("\\r"),
                _ => shown.push_str(&maskwright_error::shown(character.encode_utf8(&mut [0; 4]))),
            }
        }
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown.push('`');
    shown
}

/// Characters that lead to the same: those of ASCII, and whether others do too.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Characters {
    pub(crate) ascii: ByteSet,
    pub(crate) has_others: bool,
}

impl Characters {
    /// Whether all of them are white space.
    pub(crate) fn are_blank(&self) -> bool {
        !self.has_others && self.ascii.iter().all(|byte| byte.is_ascii_whitespace())
    }

    /// Some of them, the plainest first.
    pub(crate) fn examples(&self) -> Vec<String> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric();
        let plain = self.ascii.iter().filter(is_plain);
        let others = self.ascii.iter().filter(|byte| !is_plain(byte) && byte.is_ascii_graphic());
        plain.chain(others).take(3).map(|byte| char::from(byte).to_string()).collect()
    }

    /// One of them, in words.
    pub(crate) fn in_words(&self) -> String {
        let all = |range: &[u8]| ByteSet::from_iter(range.iter().copied());
        let digits = ByteSet::range(b'0', b'9');
        let (lower, upper) = (ByteSet::range(b'a', b'z'), ByteSet::range(b'A', b'Z'));
        let letters = lower.union(&upper);
        let hexadecimal = digits.union(&ByteSet::range(b'a', b'f')).union(&ByteSet::range(b'A', b'F'));
        let known = [
            (digits, "a digit"),
            (ByteSet::range(b'1', b'9'), "a digit other than 0"),
            (letters, "a letter"),
            (lower, "a lowercase letter"),
            (upper, "an uppercase letter"),
            (letters.union(&digits), "a letter or digit"),
            (lower.union(&digits), "a lowercase letter or digit"),
            (upper.union(&digits), "an uppercase letter or digit"),
            (letters.union(&all(b"_")), "a letter or `_`"),
            (letters.union(&digits).union(&all(b"_")), "a letter, digit or `_`"),
            (letters.union(&digits).union(&all(b"-_")), "a letter, digit, `-` or `_`"),
            (hexadecimal, "a hexadecimal digit"),
            (digits.union(&ByteSet::range(b'a', b'f')), "a hexadecimal digit"),
            (all(b" \t\n\r"), "white space"),
            (all(b" \t\n"), "white space"),
            (all(b" \n"), "a blank or line break"),
            (all(b" \t"), "a blank or tab"),
        ];
        let known = known.into_iter().find(|(set, _)| *set == self.ascii).map(|(_, words)| words.to_owned());
        // What is left out is named. If all control characters are, they are named together.
        let controls = ByteSet::range(0, 0x1f);
        let mut lacking = ByteSet::range(0, 0x7f).intersection(&self.ascii.complement());
        let lacks_controls = controls.is_subset(&lacking);
        if lacks_controls {
            lacking = lacking.intersection(&controls.complement());
        }
        let but = |lacking: &ByteSet| match (lacks_controls, lacking.is_empty()) {
            (true, true) => "control characters".to_owned(),
            (true, false) => format!("{} and control characters", listed(lacking, ",")),
            (false, _) => listed(lacking, "and"),
        };
        let lacks_none = lacking.is_empty() && !lacks_controls;
        let words = match known {
            Some(words) => words,
            None if self.ascii.is_empty() => return "a character that is not of ASCII".to_owned(),
            None if lacks_none && self.has_others => return "any character".to_owned(),
            None if lacks_none => return "any character of ASCII".to_owned(),
            None if lacking.is_empty() && !self.has_others => {
                return "any character of ASCII but control characters".to_owned();
            }
            // Most characters, but for some.
            None if self.has_others && lacking.len() <= 16 => {
                return format!("any character but {}", but(&lacking));
            }
            None => listed(&self.ascii, "or"),
        };
        if self.has_others { format!("{words}, or a character that is not of ASCII") } else { words }
    }
}

/// Characters one by one, those that follow each other as ranges.
fn listed(set: &ByteSet, last: &str) -> String {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for byte in set.iter() {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == byte => *end = byte,
            _ => ranges.push((byte, byte)),
        }
    }
    let one = |byte: u8| shown(&[byte]);
    let mut words = Vec::new();
    for (first, end) in ranges {
        match end - first {
            0 => words.push(one(first)),
            1 => words.extend([one(first), one(end)]),
            _ => words.push(format!("{} to {}", one(first), one(end))),
        }
    }
    match words.pop() {
        Some(only) if words.is_empty() => only,
        Some(end) => format!("{}{}{last} {end}", words.join(", "), if last == "," { "" } else { " " }),
        None => String::new(),
    }
}
