//! Text of users and models within messages, and numbers of things.

/// The most characters of a text in a message.
const MAX_CHARACTERS: usize = 200;

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
