//! Tokens that a tokenizer file adds to its model's: found in the text before anything else looks at it.
//!
//! Matching is leftmost and then longest, by a trie of the contents. The trie is walked from each position,
//! O(n · longest content); an Aho-Corasick automaton would be O(n), but contents are short and begin with
//! rare bytes.

use serde::{Deserialize, Serialize};

use crate::{TokenId, Trie};

/// An added token, as a tokenizer file declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AddedToken {
    pub(crate) id: u32,
    pub(crate) content: String,
    /// Never text: parsed from prompts only.
    pub(crate) special: bool,
    /// Matches only where no word character touches it.
    pub(crate) single_word: bool,
    /// In prompts, swallows the white space to its left.
    pub(crate) lstrip: bool,
    /// In prompts, swallows the white space to its right.
    pub(crate) rstrip: bool,
}

impl AddedToken {
    /// A special token as it is read in any prompt.
    pub(crate) fn special(id: u32, content: String) -> AddedToken {
        AddedToken { id, content, special: true, single_word: false, lstrip: false, rstrip: false }
    }

    /// The token with its name, for [`Vocabulary::of_tokens`](crate::Vocabulary::of_tokens).
    pub(crate) fn named(&self) -> (TokenId, String) {
        (TokenId(self.id), self.content.clone())
    }
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// Text between added tokens, never empty; `start` is its position in the whole text, in bytes.
    Text {
        /// The text.
        text: &'t str,
        /// Its position.
        start: usize,
    },
    /// An added token.
    Token(TokenId),
}

/// A set of added tokens to look for.
#[derive(Debug)]
pub(crate) struct AddedTokenMatcher {
    tokens: Vec<AddedToken>,
    /// The contents; a trie's "token" is an index into `tokens`.
    trie: Trie,
}

impl AddedTokenMatcher {
    /// Looks for the given tokens; empty contents never match.
    pub(crate) fn new(tokens: Vec<AddedToken>) -> AddedTokenMatcher {
        let trie = Trie::new(
            tokens
                .iter()
                .enumerate()
                .filter(|(_, token)| !token.content.is_empty())
                .map(|(index, token)| (token.content.as_bytes(), TokenId(index as u32))),
        );
        AddedTokenMatcher { tokens, trie }
    }

    /// The tokens looked for.
    pub(crate) fn tokens(&self) -> &[AddedToken] {
        &self.tokens
    }

    /// Cuts `text` at its added tokens. With `strip`, tokens swallow white space as their flags say; without
    /// it, the pieces' bytes are exactly the text's.
    pub(crate) fn split<'t>(&self, text: &'t str, strip: bool) -> Vec<Piece<'t>> {
        let mut pieces = Vec::new();
        let mut text_start = 0;
        let mut position = 0;
        while position < text.len() {
            let Some((token, end)) = self.longest_at(text, position) else {
                position += 1;
                continue;
            };
            let (mut start, mut end) = (position, end);
            if strip && token.lstrip {
                start = text_start + text[text_start..start].trim_end().len();
            }
            if strip && token.rstrip {
                end = text.len() - text[end..].trim_start().len();
            }
            if text_start < start {
                pieces.push(Piece::Text { text: &text[text_start..start], start: text_start });
            }
            pieces.push(Piece::Token(TokenId(token.id)));
            text_start = end;
            position = end;
        }
        if text_start < text.len() {
            pieces.push(Piece::Text { text: &text[text_start..], start: text_start });
        }
        pieces
    }

    /// The longest token that begins at byte `start` of `text`, with its end. Contents are valid UTF-8, so a
    /// match lies on character boundaries.
    fn longest_at(&self, text: &str, start: usize) -> Option<(&AddedToken, usize)> {
        let mut node = Trie::ROOT;
        let mut longest = None;
        for (offset, &byte) in text.as_bytes()[start..].iter().enumerate() {
            let Some(child) = self.trie.child(node, byte) else { break };
            node = child;
            if let Some(&index) = self.trie.tokens(node).first() {
                let token = &self.tokens[index.index()];
                let end = start + offset + 1;
                if !token.single_word || stands_alone(text, start, end) {
                    longest = Some((token, end));
                }
            }
        }
        longest
    }
}

/// Whether no word character touches `text[start..end]`.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    !text[..start].ends_with(is_word) && !text[end..].starts_with(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(id: u32, content: &str) -> AddedToken {
        let content = content.to_owned();
        AddedToken { id, content, special: true, single_word: false, lstrip: false, rstrip: false }
    }

    #[test]
    fn leftmost_then_longest() {
        let matcher = AddedTokenMatcher::new(vec![token(1, "<a>"), token(2, "<a><b>"), token(3, "é")]);
        let text = "x<a><b><a>éy";
        let expected = [
            Piece::Text { text: "x", start: 0 },
            Piece::Token(TokenId(2)),
            Piece::Token(TokenId(1)),
            Piece::Token(TokenId(3)),
            Piece::Text { text: "y", start: 12 },
        ];
        assert_eq!(matcher.split(text, true), expected);
        assert_eq!(matcher.split("", true), []);
    }

    #[test]
    fn flags() {
        let strips = AddedToken { lstrip: true, rstrip: true, ..token(1, "<a>") };
        let matcher =
            AddedTokenMatcher::new(vec![strips, AddedToken { single_word: true, ..token(2, "if") }]);
        assert_eq!(
            matcher.split("b \n<a>  c", true),
            [
                Piece::Text { text: "b", start: 0 },
                Piece::Token(TokenId(1)),
                Piece::Text { text: "c", start: 8 }
            ]
        );
        assert_eq!(matcher.split(" <a> ", false).len(), 3);
        assert_eq!(matcher.split("elif if", true).len(), 2);
    }
}
