//! Texts that must not occur in any string or name, compared with the text as written.

use maskwright_automata::Regex;

use crate::names::without;
use crate::notation::Notation;

/// Texts that must not occur in a string or name, between its quotes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Excluded {
    needles: Vec<String>,
    /// All texts without the needles; `None` if there are none.
    texts: Option<Regex>,
}

impl Excluded {
    /// Needles must not be empty.
    pub(crate) fn new(needles: &[&str]) -> Excluded {
        let texts =
            (!needles.is_empty()).then(|| Regex::intersection(needles.iter().map(|needle| without(needle))));
        Excluded { needles: needles.iter().map(|&needle| needle.to_owned()).collect(), texts }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Whether a text has none of them.
    pub(crate) fn allows(&self, text: &[u8]) -> bool {
        let has = |needle: &String| text.windows(needle.len()).any(|part| part == needle.as_bytes());
        !self.needles.iter().any(has)
    }

    /// The texts of `regex` that have none of them.
    pub(crate) fn kept(&self, regex: Regex) -> Regex {
        match &self.texts {
            None => regex,
            Some(texts) => Regex::intersection([regex, texts.clone()]),
        }
    }

    /// The strings of `regex`, with their quotes, that have none of them between those.
    pub(crate) fn kept_strings(&self, notation: &Notation, regex: Regex) -> Regex {
        match &self.texts {
            None => regex,
            Some(texts) => {
                let quoted = notation.quotes.iter().map(|quotes| quotes.around(texts.clone()));
                Regex::intersection([regex, Regex::union(quoted)])
            }
        }
    }
}
