//! A place in a text, shown: line and column, and the line with a mark under it.

use std::fmt;

/// The widest part of a line that is shown, in characters.
const WIDTH: usize = 100;

/// A place in a text.
pub struct Place<'t> {
    text: &'t [u8],
    offset: usize,
}

impl<'t> Place<'t> {
    /// The place before byte `offset` of `text`, or at its end.
    pub fn new(text: &'t [u8], offset: usize) -> Place<'t> {
        Place { text, offset: offset.min(text.len()) }
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.text[..self.offset].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// The column in characters, from 1.
    pub fn column(&self) -> usize {
        characters(&self.text[self.line_start()..self.offset]).count() + 1
    }

    fn line_start(&self) -> usize {
        self.text[..self.offset].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
    }
}

/// The characters of a line; bytes that are none, and control characters, are shown as one `·` each.
fn characters(bytes: &[u8]) -> impl Iterator<Item = char> {
    let shown = |c: char| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { '·' } else { c };
    bytes.utf8_chunks().flat_map(move |chunk| {
        let invalid = std::iter::repeat_n('·', usize::from(!chunk.invalid().is_empty()));
        chunk.valid().chars().map(shown).chain(invalid)
    })
}

impl fmt::Display for Place<'_> {
    /// Two lines of text with the mark on the second, no line end after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.line_start();
        let length = self.text[start..].iter().position(|&byte| byte == b'\n');
        let line = &self.text[start..length.map_or(self.text.len(), |length| start + length)];
        let column = self.column() - 1;
        // Of a long line, the part around the place.
        let skipped = if line.len() > WIDTH { column.saturating_sub(WIDTH * 2 / 3) } else { 0 };
        let mut rest = characters(line).skip(skipped);
        let shown: String = rest.by_ref().take(WIDTH).collect();
        let (before, after) =
            (if skipped > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
        let number = self.line().to_string();
        let indent = " ".repeat(number.len());
        let mark = " ".repeat(column - skipped + before.chars().count());
        writeln!(f, " {number} | {before}{shown}{after}")?;
        write!(f, " {indent} | {mark}^")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_bytes() {
        let text = "one\ntwö three\n".as_bytes();
        let place = Place::new(text, "one\ntwö ".len());
        assert_eq!((place.line(), place.column()), (2, 5));
        assert_eq!(place.to_string(), " 2 | twö three\n   |     ^");
        let end = Place::new(text, text.len());
        assert_eq!((end.line(), end.column(), end.to_string().as_str()), (3, 1, " 3 | \n   | ^"));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = "x".repeat(500) + "!" + &"y".repeat(500);
        let shown = Place::new(text.as_bytes(), 500).to_string();
        let (line, mark) = shown.split_once('\n').unwrap();
        let column = mark.chars().position(|c| c == '^').unwrap();
        assert_eq!(line.chars().nth(column), Some('!'));
        assert!(line.contains('…') && line.ends_with('…') && line.chars().count() < 120);
    }

    #[test]
    fn bytes_that_are_no_text_take_a_column_each_run() {
        let place = Place::new(b"a\xFFb", 2);
        assert_eq!((place.column(), place.to_string().as_str()), (3, " 1 | a·b\n   |   ^"));
        assert_eq!(Place::new(b"", 7).to_string(), " 1 | \n   | ^");
    }
}
