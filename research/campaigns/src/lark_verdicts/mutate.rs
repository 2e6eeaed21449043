//! Texts with one thing changed.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// What is put in where nothing of the text is.
const ALPHABET: &str = "\"'`\\/*#\n\r\t ()[]{}<>=+-!%&|^~,.;:?@$09_aeFxé²λ\u{a0}\u{2028}";

/// How texts are changed; the kinds take turns.
pub(super) const KINDS: [&str; 8] = [
    "a character deleted",
    "a character inserted",
    "a character replaced",
    "characters swapped",
    "a token deleted",
    "a token inserted",
    "a token replaced",
    "tokens swapped",
];

/// `text`, which is that of `tokens`, changed in the way of `KINDS[kind]`. It differs from `text`, and is
/// UTF-8.
///
/// # Panics
/// If `text` has fewer than two characters or tokens, or all are the same.
pub(super) fn mutant(rng: &mut ChaCha8Rng, text: &str, tokens: &[&[u8]], kind: usize) -> String {
    let characters: Vec<String> = text.chars().map(String::from).collect();
    let characters: Vec<&[u8]> = characters.iter().map(String::as_bytes).collect();
    loop {
        let (parts, is_token) = if kind < 4 { (&characters[..], false) } else { (tokens, true) };
        let changed = changed(rng, parts, kind % 4, is_token);
        // A token may be a part of a character.
        if let Ok(changed) = String::from_utf8(changed)
            && changed != text
        {
            return changed;
        }
    }
}

fn changed(rng: &mut ChaCha8Rng, parts: &[&[u8]], operation: usize, is_token: bool) -> Vec<u8> {
    let letters: Vec<String> = ALPHABET.chars().map(String::from).collect();
    let place = rng.random_range(0..parts.len());
    let other = rng.random_range(0..parts.len());
    // Half of the characters that come in are those of the text.
    let letter = letters[rng.random_range(0..letters.len())].as_bytes();
    let new = if is_token || rng.random_bool(0.5) { parts[other] } else { letter };
    let mut parts = parts.to_vec();
    match operation {
        0 => drop(parts.remove(place)),
        1 => parts.insert(place, new),
        2 => parts[place] = new,
        _ => {
            // Neighbours as often as any two.
            let other = if rng.random_bool(0.5) { (place + 1) % parts.len() } else { other };
            parts.swap(place, other);
        }
    }
    parts.concat()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn one_thing_changes() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (text, tokens) = ("def é():", ["def".as_bytes(), b" \xc3", b"\xa9()", b":"]);
        for (kind, name) in KINDS.iter().enumerate() {
            for _ in 0..20 {
                let changed = mutant(&mut rng, text, &tokens, kind);
                assert_ne!(changed, text);
                let grows = changed.len() > text.len();
                assert!(!grows || name.contains("inserted") || name.contains("replaced"), "{name}");
            }
        }
    }
}
