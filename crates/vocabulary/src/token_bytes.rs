//! From the text of a token in a tokenizer file to the bytes it stands for.
//!
//! Two families cover the models in use. *Byte-level* BPE (GPT-2 and after) writes each byte as one printable
//! character. *SentencePiece* writes a space as `▁` (U+2581), text as it is, and single bytes as `<0x0A>`.
//! Added tokens belong to neither: their content is literal text.

use serde::{Deserialize, Serialize};

/// The character that stands for a space in SentencePiece vocabularies.
pub(crate) const SPACE_MARK: char = '\u{2581}';

/// How the text of a model's token stands for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TokenStyle {
    /// Each byte is one character, by GPT-2's table.
    ByteLevel,
    /// `▁` is a space; `<0xNN>` is a byte where `byte_fallback`.
    SentencePiece {
        /// Whether `<0xNN>` tokens are bytes.
        byte_fallback: bool,
    },
    /// The text itself.
    Literal,
}

impl TokenStyle {
    /// The bytes of a token of the model (not of an added token).
    ///
    /// A byte-level token with a character outside the table is taken as literal text, as the reference
    /// decoder does.
    pub(crate) fn bytes(self, token: &str) -> Vec<u8> {
        match self {
            TokenStyle::ByteLevel => {
                let bytes: Option<Vec<u8>> = token.chars().map(byte_of_char).collect();
                bytes.unwrap_or_else(|| token.as_bytes().to_vec())
            }
            TokenStyle::SentencePiece { byte_fallback } => match fallback_byte(token) {
                Some(byte) if byte_fallback => vec![byte],
                _ => token.replace(SPACE_MARK, " ").into_bytes(),
            },
            TokenStyle::Literal => token.as_bytes().to_vec(),
        }
    }
}

/// The byte that `character` stands for in byte-level vocabularies.
///
/// GPT-2's table (`bytes_to_unicode`): printable Latin-1 characters stand for themselves; the 68 other bytes,
/// in ascending order, are U+0100 and on.
fn byte_of_char(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => Some(code as u8),
        code @ 0x100..=0x120 => Some((code - 0x100) as u8),
        code @ 0x121..=0x142 => Some((code - 0x121 + 0x7F) as u8),
        0x143 => Some(0xAD),
        _ => None,
    }
}

/// The byte of a token such as `<0x0A>`.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_byte = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_byte.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table is a bijection between 256 characters and the bytes, with the published entries.
    #[test]
    fn byte_level_table() {
        let mut seen = [false; 256];
        for character in (0..0x400).filter_map(char::from_u32) {
            if let Some(byte) = byte_of_char(character) {
                assert!(!std::mem::replace(&mut seen[usize::from(byte)], true), "{character:?} twice");
            }
        }
        assert!(seen.iter().all(|&seen| seen));
        assert_eq!(byte_of_char('Ġ'), Some(b' '));
        assert_eq!(byte_of_char('Ċ'), Some(b'\n'));
        assert_eq!(byte_of_char('ü'), Some(0xFC));
        assert_eq!(byte_of_char('\u{143}'), Some(0xAD));
        assert_eq!(byte_of_char(' '), None);
    }

    #[test]
    fn styles() {
        let spm = TokenStyle::SentencePiece { byte_fallback: true };
        assert_eq!(spm.bytes("▁a▁"), b" a ");
        assert_eq!(spm.bytes("<0x0A>"), b"\n");
        assert_eq!(spm.bytes("<0x+A>"), b"<0x+A>");
        assert_eq!(TokenStyle::SentencePiece { byte_fallback: false }.bytes("<0x0A>"), b"<0x0A>");
        assert_eq!(TokenStyle::ByteLevel.bytes("Ġü"), [0x20, 0xFC]);
        assert_eq!(TokenStyle::ByteLevel.bytes("<｜x｜>"), "<｜x｜>".as_bytes());
        assert_eq!(TokenStyle::Literal.bytes("▁"), "▁".as_bytes());
    }
}
