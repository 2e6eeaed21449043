//! Texts that must not occur in any string or name, compared with the text as written.

use maskwright_automata::{ByteSet, Node, Regex};
use maskwright_grammar::SpecialNames;

use crate::strings::escape::SPELLED_CHAR;
use crate::strings::names::{may_contain, without};
use crate::strings::notation::Notation;

/// What the text around a value asks of it.
#[derive(Clone, Default)]
pub(crate) struct Surroundings<'a> {
    /// What no string and no name contains.
    pub(crate) excluded: Excluded,
    /// Marks at which readers end the value. They do not occur raw in strings of JSON, which have escapes for
    /// them.
    pub(crate) ends: Excluded,
    /// The special tokens that the marks of a style are read as, besides their text.
    pub(crate) special: Option<&'a SpecialNames>,
    /// Whether the parts of elements are labelled.
    pub(crate) is_labelled: bool,
}

impl Surroundings<'_> {
    /// A mark of a style as it may be read. (Names that overlap in too many ways are read as text.)
    pub(crate) fn mark(&self, text: &str) -> Regex {
        self.special.and_then(|special| special.regex(text).ok()).unwrap_or_else(|| Regex::literal(text))
    }
}

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

    /// A string of JSON between its quotes, with each of them hidden by an escape. `None` if that is not
    /// enough.
    pub(crate) fn hidden(&self, inside: &[u8]) -> Option<Vec<u8>> {
        let mut is_hidden = vec![false; inside.len()];
        for needle in &self.needles {
            let at = hiding_place(needle);
            let starts =
                inside.windows(needle.len()).enumerate().filter(|(_, part)| *part == needle.as_bytes());
            starts.for_each(|(start, _)| is_hidden[start + at] = true);
        }
        let bytes = inside.iter().zip(is_hidden);
        let hidden: Vec<u8> =
            bytes.flat_map(|(&byte, is_hidden)| if is_hidden { escape(byte) } else { vec![byte] }).collect();
        self.allows(&hidden).then_some(hidden)
    }

    /// The strings of JSON between their quotes of `spelled`, canonical ones, and those with escapes that
    /// hide the needles, without any needle.
    pub(crate) fn all_hidden(&self, spelled: Regex) -> Regex {
        let needles = self.needles.iter().filter(|needle| may_contain(&spelled, needle));
        let bytes: ByteSet = needles.map(|needle| needle.as_bytes()[hiding_place(needle)]).collect();
        if bytes.is_empty() { spelled } else { self.kept(with_escapes(&spelled, &bytes)) }
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

/// Which byte of a needle to write as an escape: `<\/b>` for `</b>`, else `\u003c` for the first.
fn hiding_place(needle: &str) -> usize {
    needle.find('/').unwrap_or(0)
}

/// A character of one byte by an escape of JSON.
fn escape(byte: u8) -> Vec<u8> {
    match byte {
        b'/' => b"\\/".to_vec(),
        _ => format!("\\u{byte:04x}").into_bytes(),
    }
}

/// The canonical spellings of `spelled`, and those with some of these bytes as escapes. (The spellings of
/// characters stay a prefix code, so that intersections and complements go through.)
fn with_escapes(spelled: &Regex, bytes: &ByteSet) -> Regex {
    let all = |parts: &[Regex]| parts.iter().map(|part| with_escapes(part, bytes)).collect::<Vec<_>>();
    let of_byte = |byte: u8| match bytes.contains(byte) {
        true => Regex::words([vec![byte], escape(byte)]),
        false => Regex::byte(byte),
    };
    let of_word = |word: &[u8]| match word.iter().any(|&byte| bytes.contains(byte)) {
        true => Regex::concat(word.iter().map(|&byte| of_byte(byte))),
        false => Regex::literal(word),
    };
    match spelled.node() {
        Node::Empty | Node::Epsilon => spelled.clone(),
        Node::Bytes(set) => {
            let escapes = set.intersection(bytes);
            Regex::union([spelled.clone(), Regex::words(escapes.iter().map(escape))])
        }
        Node::Literal(word) => of_word(word),
        Node::Words(words) => Regex::union(words.iter().map(|word| of_word(word))),
        Node::Concat(parts) => Regex::concat(all(parts)),
        Node::Union(parts) => Regex::union(all(parts)),
        Node::Intersection(parts) => Regex::intersection(all(parts)),
        Node::Complement(inner) => {
            with_escapes(&SPELLED_CHAR, bytes).star().difference(&with_escapes(inner, bytes))
        }
        Node::Repeat { inner, min, max } => with_escapes(inner, bytes).repeat(*min, *max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_strings_read_back() {
        let ends = Excluded::new(&["</a>", "<|b|>", "</a></a>"]);
        for text in ["", "</a>", "x</a></a>y<|b|>", "<<|b|>|b|>", "\\</a>\n", "<\\/a>é</a>"] {
            let inside = serde_json::to_string(text).unwrap();
            let hidden = ends.hidden(&inside.as_bytes()[1..inside.len() - 1]).unwrap();
            let hidden = String::from_utf8(hidden).unwrap();
            assert!(!hidden.contains("</a>") && !hidden.contains("<|b|>"), "{hidden}");
            assert_eq!(serde_json::from_str::<String>(&format!("\"{hidden}\"")).unwrap(), text);
        }
    }
}
