//! Texts of the engine: bytes of tokens, and symbols for the tokens that are read by their ids.

use std::borrow::Cow;

use maskwright_vocabulary::{TokenId, Vocabulary, symbol_text};

/// A part of a text of the engine.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextPart<'t> {
    /// Bytes of tokens that are read as text; at least one.
    Text(&'t [u8]),
    /// A token that is read by its id.
    Symbol(u8),
}

/// The parts of a text of the engine, in order. A mark at the end, without its symbol, is left out.
#[doc(hidden)]
pub fn text_parts(text: &[u8]) -> impl Iterator<Item = TextPart<'_>> {
    let [mark, _] = symbol_text(0);
    let mut rest = text;
    std::iter::from_fn(move || match rest {
        [] => None,
        [first, symbol, after @ ..] if *first == mark => {
            rest = after;
            Some(TextPart::Symbol(*symbol))
        }
        _ => {
            let n_text = rest.iter().position(|&byte| byte == mark).unwrap_or(rest.len());
            let (text, after) = rest.split_at(n_text);
            rest = after;
            (!text.is_empty()).then_some(TextPart::Text(text))
        }
    })
}

/// How a token is shown in a text: its bytes, its name, or its id as Lark grammars write it.
#[doc(hidden)]
pub fn written(vocabulary: &Vocabulary, token: TokenId) -> Cow<'_, [u8]> {
    let bytes = vocabulary.token_bytes(token).or_else(|| vocabulary.name(token).map(str::as_bytes));
    bytes.map_or_else(|| Cow::Owned(format!("<[{}]>", token.0).into_bytes()), Cow::Borrowed)
}

/// The length of the longest prefix of `bytes` that can be text: what spells a symbol can't.
pub(crate) fn text_prefix(bytes: &[u8]) -> usize {
    let [mark, _] = symbol_text(0);
    bytes.iter().position(|&byte| byte == mark).unwrap_or(bytes.len())
}

/// The bytes of the first character, or the first byte where that begins none.
pub fn first_character(bytes: &[u8]) -> &[u8] {
    let character = bytes.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    &bytes[..character.map_or(1, char::len_utf8).min(bytes.len())]
}
