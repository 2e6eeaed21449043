//! Bytes as characters that can be shown.
//!
//! A token can be a part of a character, so a text is decoded as a whole, and a token gets the characters
//! that begin in it. Characters that cannot be seen, or that change how others are seen, become visible
//! symbols.

use std::fmt::Write;

use super::Step;

/// Which characters a token shows, and where they begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The characters that begin in each token.
    pub(crate) texts: Vec<String>,
    /// For each offset that was asked for, the token and the UTF-16 offset in its text: the first character
    /// that begins at the offset or after it.
    pub(crate) places: Vec<(usize, usize)>,
}

impl Shown {
    /// Decodes tokens as one text; no character crosses a named token. `offsets` count bytes and are
    /// ascending.
    pub(crate) fn of<'a>(tokens: impl Iterator<Item = Piece<'a>>, offsets: &[usize]) -> Shown {
        let mut joiner = Joiner { offsets, ..Joiner::default() };
        for token in tokens {
            match token {
                Piece::Bytes(bytes) => joiner.push_bytes(bytes),
                Piece::Named { name, n_bytes } => joiner.push_name(name, n_bytes),
            }
        }
        joiner.flush();
        let end = (joiner.shown.texts.len(), 0);
        joiner.shown.places.resize(offsets.len(), end);
        joiner.shown
    }
}

/// What a token adds to a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece<'a> {
    /// Bytes of characters.
    Bytes(&'a [u8]),
    /// A name that is shown instead of the token's bytes.
    Named { name: &'a str, n_bytes: usize },
}

impl<'a> Piece<'a> {
    /// What a step adds.
    pub(crate) fn of(step: &'a Step) -> Piece<'a> {
        match &step.name {
            Some(name) => Piece::Named { name, n_bytes: step.text.len() },
            None => Piece::Bytes(&step.text),
        }
    }
}

/// The tokens since the last named one, not yet decoded.
#[derive(Default)]
struct Joiner<'a> {
    shown: Shown,
    offsets: &'a [usize],
    pending: Vec<u8>,
    /// Where each pending token begins in `pending`; the first of them is token `n_tokens - starts.len()`.
    starts: Vec<usize>,
    /// The offset of `pending` in the whole text.
    base: usize,
}

impl Joiner<'_> {
    fn push_bytes(&mut self, bytes: &[u8]) {
        self.shown.texts.push(String::new());
        self.starts.push(self.pending.len());
        self.pending.extend_from_slice(bytes);
    }

    fn push_name(&mut self, name: &str, n_bytes: usize) {
        self.flush();
        self.pass(self.base, (self.shown.texts.len(), 0));
        self.shown.texts.push(visible(name));
        self.base += n_bytes;
    }

    /// The places of all offsets up to `offset` that have none yet.
    fn pass(&mut self, offset: usize, place: (usize, usize)) {
        while self.offsets.get(self.shown.places.len()).is_some_and(|&asked| asked <= offset) {
            self.shown.places.push(place);
        }
    }

    fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let starts = std::mem::take(&mut self.starts);
        let first = self.shown.texts.len() - starts.len();
        let (mut at, mut token) = (0, 0);
        for (character, n_bytes) in characters(&pending) {
            while starts.get(token + 1).is_some_and(|&start| start <= at) {
                token += 1;
            }
            let text = &self.shown.texts[first + token];
            let place = (first + token, if self.is_asked(at) { utf16_length(text) } else { 0 });
            self.pass(self.base + at, place);
            push_visible(&mut self.shown.texts[first + token], character);
            at += n_bytes;
        }
        self.base += pending.len();
    }

    /// Whether an offset up to the one of pending byte `at` has no place yet.
    fn is_asked(&self, at: usize) -> bool {
        self.offsets.get(self.shown.places.len()).is_some_and(|&asked| asked <= self.base + at)
    }
}

/// The characters of a text with their lengths in bytes; a part that is no UTF-8 is a replacement character.
fn characters(bytes: &[u8]) -> impl Iterator<Item = (char, usize)> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|character| (character, character.len_utf8()));
        let n_invalid = chunk.invalid().len();
        valid.chain((n_invalid > 0).then_some((char::REPLACEMENT_CHARACTER, n_invalid)))
    })
}

fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Bytes as visible text, on their own.
pub(crate) fn visible_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    characters(bytes).for_each(|(character, _)| push_visible(&mut shown, character));
    shown
}

/// A text in which every character can be seen. Line ends and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    visible_bytes(text.as_bytes())
}

/// The bytes of the longest prefix that is no beginning of a character still to come.
pub(crate) fn complete_length(bytes: &[u8]) -> usize {
    let Some(last) = bytes.utf8_chunks().last() else { return 0 };
    let is_unfinished = std::str::from_utf8(last.invalid()).is_err_and(|error| error.error_len().is_none());
    bytes.len() - if is_unfinished { last.invalid().len() } else { 0 }
}

fn push_visible(shown: &mut String, character: char) {
    match character {
        '\n' | '\t' => shown.push(character),
        // The symbols of the control characters stand in their order.
        '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(character))),
        '\x7f' => shown.push('␡'),
        _ if is_invisible(character) => {
            // Writing to a string cannot fail.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(character));
        }
        _ => shown.push(character),
    }
}

/// Whether a character is shown as nothing or changes the order of others. The joiners of emoji and of
/// Persian, and the selectors of variants, belong to visible characters.
fn is_invisible(character: char) -> bool {
    matches!(u32::from(character),
        0x80..=0x9f | 0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b
        | 0x200e | 0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
        | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tokens: &[&[u8]]) -> Vec<String> {
        Shown::of(tokens.iter().map(|&token| Piece::Bytes(token)), &[]).texts
    }

    #[test]
    fn a_token_has_the_characters_that_begin_in_it() {
        assert_eq!(shown(&[b"Z\xc3", b"\xbcri", b"ch"]), ["Zü", "ri", "ch"]);
        assert_eq!(shown(&[b"\xf0", b"\x9f", b"\x8f\x94", b"!"]), ["🏔", "", "", "!"]);
        assert_eq!(shown(&[b"a", b"", b"b"]), ["a", "", "b"]);
        assert_eq!(shown(&[]), [""; 0]);
    }

    #[test]
    fn bytes_that_are_no_characters_are_replaced() {
        assert_eq!(shown(&[b"\xff", b"\xc3", b"a", b"\xf0\x9f"]), ["\u{fffd}", "\u{fffd}", "a", "\u{fffd}"]);
    }

    #[test]
    fn no_character_crosses_a_name() {
        let tokens =
            [Piece::Bytes(b"\xc3"), Piece::Named { name: "<\u{1b}>", n_bytes: 3 }, Piece::Bytes(b"\xbc")];
        assert_eq!(Shown::of(tokens.into_iter(), &[]).texts, ["\u{fffd}", "<␛>", "\u{fffd}"]);
    }

    #[test]
    fn offsets_have_places() {
        // Bytes: 0 a, 1..3 ü in two tokens, 3..6 a name, 6 b, 7 c.
        let tokens = [
            Piece::Bytes(b"a\xc3"),
            Piece::Bytes(b"\xbc"),
            Piece::Named { name: "<x>", n_bytes: 3 },
            Piece::Bytes(b"bc"),
        ];
        let places = Shown::of(tokens.into_iter(), &[0, 1, 2, 3, 4, 6, 7, 8, 99]).places;
        // An offset inside a character or a name is where the next one begins; one after the end is the end.
        assert_eq!(places, [(0, 0), (0, 1), (2, 0), (2, 0), (3, 0), (3, 0), (3, 1), (4, 0), (4, 0)]);
    }

    #[test]
    fn offsets_count_utf16_as_the_page_does() {
        let places = Shown::of([Piece::Bytes("🏔\0é.".as_bytes())].into_iter(), &[4, 5, 7]).places;
        assert_eq!(places, [(0, 2), (0, 3), (0, 4)]);
    }

    #[test]
    fn unfinished_characters_are_told_from_wrong_ones() {
        assert_eq!(complete_length(b"a\xe2\x82"), 1);
        assert_eq!(complete_length("a€".as_bytes()), 4);
        assert_eq!(complete_length(b"a\xff"), 2);
        assert_eq!(complete_length(b"\xff\xe2\x82"), 1);
        assert_eq!(complete_length(b""), 0);
    }

    #[test]
    fn every_character_can_be_seen() {
        assert_eq!(visible("\0\t\n\r\x1b\x7f\u{85}\u{202e}\u{feff}"), "␀\t\n␍␛␡⟨U+0085⟩⟨U+202E⟩⟨U+FEFF⟩");
        assert_eq!(visible("👩\u{200d}👧 \u{e9}"), "👩\u{200d}👧 é");
    }
}
