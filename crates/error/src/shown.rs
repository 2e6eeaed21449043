//! Text of users and models within messages, and numbers of things.

use std::fmt;

/// The most characters of a text in a message.
const MAX_CHARACTERS: usize = 200;

/// The most characters of an expression in a message.
const MAX_BEGINNING: usize = 60;

/// A count with its noun: `1 token`, `2 tokens`. `one` is the singular.
///
/// ```
/// use maskwright_error::counted;
/// assert_eq!((counted(1, "token"), counted(2, "token")), ("1 token".to_owned(), "2 tokens".to_owned()));
/// ```
pub fn counted(n: usize, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// `text` on one line: characters that are not seen, or that turn the direction of the text around them, are
/// escaped. The middle of a long one is left out.
///
/// ```
/// use maskwright_error::shown;
/// assert_eq!(shown("/a\u{2028}b\n"), "/a\\u{2028}b\\n");
/// assert!(shown(&"/key".repeat(100)).len() < 250);
/// ```
pub fn shown(text: &str) -> String {
    let n_characters = text.chars().count();
    let escaped = |text: &mut dyn Iterator<Item = char>| {
        text.flat_map(|character| {
            let is_unseen = character.is_control()
                || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
            let escape = is_unseen.then(|| character.escape_default());
            let itself = (!is_unseen).then_some(character);
            escape.into_iter().flatten().chain(itself)
        })
        .collect::<String>()
    };
    if n_characters <= MAX_CHARACTERS {
        return escaped(&mut text.chars());
    }
    let half = MAX_CHARACTERS / 2;
    let begin = escaped(&mut text.chars().take(half));
    let end = escaped(&mut text.chars().skip(n_characters - half));
    format!("{begin}…{end}")
}

/// The first characters of what is written, which is not written any further: a long expression would take
/// more time than the search whose error it is for.
///
/// ```
/// use maskwright_error::beginning;
/// assert_eq!(beginning(format_args!("{:?}", [7, 7])), "[7, 7]");
/// assert_eq!(beginning(format_args!("{:?}", [7; 1_000_000])), format!("[{}7,…", "7, ".repeat(19)));
/// ```
pub fn beginning(text: fmt::Arguments<'_>) -> String {
    let mut beginning = Beginning { text: String::new(), n_left: MAX_BEGINNING };
    if fmt::write(&mut beginning, text).is_err() {
        beginning.text.push('…');
    }
    beginning.text
}

struct Beginning {
    text: String,
    n_left: usize,
}

impl fmt::Write for Beginning {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let end = part.char_indices().nth(self.n_left).map(|(end, _)| end);
        let part = &part[..end.unwrap_or(part.len())];
        self.n_left -= part.chars().count();
        self.text.push_str(part);
        if end.is_some() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: a search that reached a limit wrote all of its expression out, of which 60
    /// characters are shown, for each place where it was made.
    #[test]
    fn what_is_not_shown_is_not_written() {
        struct Endless;
        impl fmt::Display for Endless {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("aé")?;
                }
            }
        }
        assert_eq!(beginning(format_args!("{Endless}")), "aé".repeat(30) + "…");
        assert_eq!(beginning(format_args!("{}", "a".repeat(60))), "a".repeat(60));
    }
}
