//! From the characters of a string to how JSON writes them.
//!
//! JSON Schema speaks of a string's characters, a grammar of the text between its quotes. The two are
//! related by the *canonical spelling* e: `"` and `\` are written `\"` and `\\`; backspace, form feed, line
//! feed, carriage return and tab `\b \f \n \r \t`; the other characters below U+0020 `\u00xx` with lowercase
//! digits; every other character (U+007F and `/` included) as itself. It is what Python's
//! `json.dumps(…, ensure_ascii=False)` and most other writers produce.
//!
//! [`spell`] maps a language of texts to the language of their spellings. It works on the expression: e is
//! a homomorphism of byte strings, since the characters that need an escape are single bytes in UTF-8 and
//! no part of a longer sequence. So it goes through concatenation, union and repetition. It is injective
//! too: the images of single characters are a prefix code (those of two bytes or more begin with `\`, which
//! no other image begins with, and `\u00xx` all have one length). Hence e(A ∩ B) = e(A) ∩ e(B), and
//! e(T ∖ A) = e(T) ∖ e(A) for the set T of all valid UTF-8 texts; this is how a complement is mapped.
//!
//! Rejected: all spellings (`\u0061` for `a`). The exclusion of property names would have to list six
//! spellings of each of their characters, and lengths would no longer be counted by single characters.

use std::sync::LazyLock;

use maskwright_automata::{ByteSet, Node, Regex};

/// The spelling of one character, any.
pub(crate) static SPELLED_CHAR: LazyLock<Regex> = LazyLock::new(|| spell(&Regex::any_char()));

/// JSON's.
pub(crate) static JSON: LazyLock<Spelling> = LazyLock::new(|| Spelling {
    escaped: ByteSet::range(0, 0x1f).union(&[b'"', b'\\'].into_iter().collect()),
    write: spell_byte,
});

/// Python's between single quotes: as JSON's, but that the other quote has the escape.
pub(crate) static SINGLE: LazyLock<Spelling> = LazyLock::new(|| Spelling {
    escaped: ByteSet::range(0, 0x1f).union(&[b'\'', b'\\'].into_iter().collect()),
    write: |byte, word| match byte {
        b'\'' => word.extend(*b"\\'"),
        b'"' => word.push(b'"'),
        _ => spell_byte(byte, word),
    },
});

/// Every character as it is.
pub(crate) static AS_IT_IS: LazyLock<Spelling> =
    LazyLock::new(|| Spelling { escaped: ByteSet::EMPTY, write: |byte, word| word.push(byte) });

/// A way to write texts in which some characters, which are single bytes in UTF-8, have an escape.
///
/// Invariant: the images of the characters are a prefix code, as above.
pub(crate) struct Spelling {
    /// The bytes that are not written as themselves.
    pub(crate) escaped: ByteSet,
    /// Writes a byte.
    pub(crate) write: fn(u8, &mut Vec<u8>),
}

impl Spelling {
    /// The spellings of the texts of `regex`. Linear in its size as a tree; as deep as it is nested.
    pub(crate) fn regex(&self, regex: &Regex) -> Regex {
        let all = |parts: &[Regex]| parts.iter().map(|part| self.regex(part)).collect::<Vec<_>>();
        match regex.node() {
            Node::Empty | Node::Epsilon => regex.clone(),
            Node::Bytes(set) if !set.intersects(&self.escaped) => regex.clone(),
            Node::Bytes(set) => {
                let escapes = set.intersection(&self.escaped);
                let plain = Regex::bytes(set.intersection(&self.escaped.complement()));
                Regex::union([plain, Regex::words(escapes.iter().map(|byte| self.bytes(&[byte])))])
            }
            Node::Literal(bytes) => Regex::literal(self.bytes(bytes)),
            Node::Words(words) => Regex::words(words.iter().map(|word| self.bytes(word))),
            Node::Concat(parts) => Regex::concat(all(parts)),
            Node::Union(parts) => Regex::union(all(parts)),
            Node::Intersection(parts) => Regex::intersection(all(parts)),
            Node::Complement(inner) => self.regex(&Regex::any_char()).star().difference(&self.regex(inner)),
            Node::Repeat { inner, min, max } => self.regex(inner).repeat(*min, *max),
        }
    }

    /// The spelling of a text.
    pub(crate) fn bytes(&self, text: &[u8]) -> Vec<u8> {
        let mut word = Vec::with_capacity(text.len());
        self.append(text, &mut word);
        word
    }

    /// Appends the spelling of a text.
    pub(crate) fn append(&self, text: &[u8], word: &mut Vec<u8>) {
        if text.iter().any(|&byte| self.escaped.contains(byte)) {
            text.iter().for_each(|&byte| (self.write)(byte, word));
        } else {
            word.extend_from_slice(text);
        }
    }
}

/// The spellings of the texts of `regex` in JSON. Linear in its size as a tree; as deep as it is nested.
pub(crate) fn spell(regex: &Regex) -> Regex {
    JSON.regex(regex)
}

/// Whether every text of `regex` is seen to be spelled as it is. Linear in its size as a tree.
pub(crate) fn is_spelled_plainly(regex: &Regex) -> bool {
    let is_plain = |bytes: &[u8]| !bytes.iter().any(|&byte| JSON.escaped.contains(byte));
    match regex.node() {
        Node::Empty | Node::Epsilon => true,
        Node::Bytes(set) => !set.intersects(&JSON.escaped),
        Node::Literal(bytes) => is_plain(bytes),
        Node::Words(words) => words.iter().all(|word| is_plain(word)),
        Node::Concat(parts) | Node::Union(parts) | Node::Intersection(parts) => {
            parts.iter().all(is_spelled_plainly)
        }
        Node::Complement(_) => false,
        Node::Repeat { inner, .. } => is_spelled_plainly(inner),
    }
}

fn spell_byte(byte: u8, word: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x0c => b'f',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0..0x20 => {
            const HEX: [u8; 16] = *b"0123456789abcdef";
            word.extend(*b"\\u00");
            word.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            return;
        }
        _ => {
            word.push(byte);
            return;
        }
    };
    word.extend([b'\\', short]);
}

#[cfg(test)]
mod tests {
    use maskwright_automata::Fuel;
    use proptest::prelude::*;

    use super::*;
    use crate::strings::words::Matcher;

    /// Texts with everything that is spelled in another way than it is, and neighbours.
    const TEXT: &str = "[ab\"\\\\nu0\\n\\t\u{1}\u{1f}\u{7f}é😀]{0,4}";

    fn regexes() -> impl Strategy<Value = Regex> {
        let leaf = prop_oneof![
            TEXT.prop_map(|text| Regex::literal(text.as_bytes())),
            Just(Regex::any_char()),
            Just(Regex::char_class(&[('\0', '"'), ('[', 'b')])),
            Just(Regex::char_class(&[('\n', '\r'), ('é', '😀')])),
            prop::collection::vec(TEXT, 0..4)
                .prop_map(|texts| Regex::words(texts.into_iter().map(String::into_bytes))),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..3).prop_map(Regex::concat),
                prop::collection::vec(inner.clone(), 1..3).prop_map(Regex::union),
                prop::collection::vec(inner.clone(), 1..3).prop_map(Regex::intersection),
                inner.clone().prop_map(|regex| regex.complement()),
                (inner, 0..2u32, 0..3u32).prop_map(|(regex, min, more)| regex.repeat(min, Some(min + more))),
            ]
        })
    }

    fn is_word(regex: &Regex, text: &[u8]) -> bool {
        let text = std::str::from_utf8(text).unwrap();
        Matcher::new(regex).matches(text, &Fuel::unlimited()).unwrap()
    }

    proptest! {
        #[test]
        fn a_text_is_a_word_iff_its_spelling_is(regex in regexes(), text in TEXT) {
            prop_assert_eq!(is_word(&regex, text.as_bytes()), is_word(&spell(&regex), &JSON.bytes(text.as_bytes())));
        }

        #[test]
        fn no_other_text_is_a_spelling(regex in regexes(), text in TEXT) {
            // What is accepted reads back, as JSON, to a word that is spelled so.
            if is_word(&spell(&regex), text.as_bytes()) {
                let read: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
                prop_assert!(is_word(&regex, read.as_bytes()));
                prop_assert_eq!(JSON.bytes(read.as_bytes()), text.as_bytes());
            }
        }
    }
}
