//! The texts that a grammar is made of, and places in them.

use maskwright_syntax::MAX_SOURCE;

/// What an expression takes before the grammar is whole, in bytes.
pub(crate) const BY_EXPRESSION: usize = 64;

/// A place: bytes `start..end` of one source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// Which of the [`Sources`].
    pub(crate) source: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// From the start of `self` to the end of `last`, both of one source.
    pub(crate) fn to(self, last: Span) -> Span {
        Span { end: last.end.max(self.start), ..self }
    }
}

/// The place of what is wrong with the grammar as a whole: the start of the first file.
pub(crate) const TOP: Span = Span { source: 0, start: 0, end: 0 };

/// The grammar file and what it imports, with their names.
#[derive(Default, Debug)]
pub(crate) struct Sources(Vec<(String, String)>);

impl Sources {
    /// Adds a text of at most [`MAX_SOURCE`] bytes (a longer one is cut there, and refused by the parser)
    /// and gives its number.
    pub(crate) fn add(&mut self, name: &str, text: &str) -> u32 {
        let mut end = text.len().min(MAX_SOURCE + 4);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.0.push((name.to_owned(), text[..end].to_owned()));
        u32::try_from(self.0.len() - 1).expect("the number of imports is limited")
    }

    /// The name and the text of source number `source`.
    pub(crate) fn get(&self, source: u32) -> (&str, &str) {
        let (name, text) = &self.0[source as usize];
        (name, text)
    }
}
