//! Strings that contain the names of special tokens, read as text and as tokens.
//!
//! Servers describe a model's format by strings such as `<|channel|>analysis<|message|>`, and the model
//! writes the special tokens with these names. With the [`SpecialNames`] of a vocabulary, a front end reads
//! such a string both ways: as text, and with any of the names in it as tokens ([`TokenSet::spelled`]).
//!
//! A string is cut into parts so that no name crosses a cut, and each part has its readings. A name has two,
//! as text and as the token. Only names that overlap in the string have more, and their number is limited.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use maskwright_automata::Regex;
use rustc_hash::FxHashSet;

use crate::TokenSet;

/// How many ways there may be to read names that overlap.
const MAX_READINGS: u64 = 64;

/// The names of a vocabulary's special tokens, to be found in strings.
///
/// ```
/// use maskwright_grammar::{SpecialNames, SpelledPiece::{Text, Token}};
/// let names = SpecialNames::new(["<a>", "<b>"]);
/// let parts = names.parts("x<a>y").unwrap();
/// assert_eq!(parts, [vec![vec![Text("x")]], vec![vec![Text("<a>")], vec![Token("<a>")]], vec![vec![Text("y")]]]);
/// assert!(SpecialNames::default().is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct SpecialNames {
    names: FxHashSet<String>,
    /// The lengths of the names, in bytes, ascending.
    lengths: Vec<usize>,
}

/// A piece of a string, as one reading has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpelledPiece<'t> {
    /// Text; at least one byte.
    Text(&'t str),
    /// The token of this name.
    Token(&'t str),
}

impl SpelledPiece<'_> {
    /// The text, or the [word](TokenSet::word) of the token.
    pub fn word(&self) -> Vec<u8> {
        match self {
            SpelledPiece::Text(text) => text.as_bytes().to_vec(),
            SpelledPiece::Token(name) => TokenSet::spelled(*name).word(),
        }
    }
}

/// The readings of a part of a string. The first is its text.
pub type SpelledPart<'t> = Vec<Vec<SpelledPiece<'t>>>;

/// Names of special tokens overlap in a string in too many ways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpellingError {
    part: String,
}

impl fmt::Display for SpellingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.part.chars().take(60).collect();
        write!(
            f,
            "names of special tokens overlap in {shown:?} in more than {MAX_READINGS} ways, which is the limit"
        )
    }
}

impl Error for SpellingError {}

impl SpecialNames {
    /// Those of `names` that are not empty.
    pub fn new(names: impl IntoIterator<Item = impl Into<String>>) -> SpecialNames {
        let names: FxHashSet<String> =
            names.into_iter().map(Into::into).filter(|name| !name.is_empty()).collect();
        let mut lengths: Vec<usize> = names.iter().map(String::len).collect();
        lengths.sort_unstable();
        lengths.dedup();
        SpecialNames { names, lengths }
    }

    /// Whether there are none, so that every string is text alone.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether `text` is one of the names.
    pub fn contains(&self, text: &str) -> bool {
        self.names.contains(text)
    }

    /// The occurrences of names in `text`, by start and then by length. Takes time proportional to the length
    /// of the text times the number of different lengths of names.
    pub fn found_in(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for start in 0..text.len() {
            let ranges = self.lengths.iter().map(|length| start..start + length);
            found.extend(
                ranges
                    .take_while(|range| range.end <= text.len())
                    .filter(|range| text.get(range.clone()).is_some_and(|name| self.names.contains(name))),
            );
        }
        found
    }

    /// The parts of `text` in order, each with its readings.
    ///
    /// # Errors
    /// If names overlap in too many ways.
    pub fn parts<'t>(&self, text: &'t str) -> Result<Vec<SpelledPart<'t>>, SpellingError> {
        let found = self.found_in(text);
        let mut parts = Vec::new();
        let mut end = 0;
        let mut rest = &found[..];
        while let Some(first) = rest.first() {
            let mut reach = first.end;
            let mut n_names = 1;
            while let Some(next) = rest.get(n_names).filter(|next| next.start < reach) {
                reach = reach.max(next.end);
                n_names += 1;
            }
            if end < first.start {
                parts.push(vec![vec![SpelledPiece::Text(&text[end..first.start])]]);
            }
            parts.push(readings(text, first.start..reach, &rest[..n_names])?);
            (end, rest) = (reach, &rest[n_names..]);
        }
        if end < text.len() {
            parts.push(vec![vec![SpelledPiece::Text(&text[end..])]]);
        }
        Ok(parts)
    }

    /// All readings of `text` as an expression.
    ///
    /// # Errors
    /// As [`parts`](SpecialNames::parts).
    pub fn regex(&self, text: &str) -> Result<Regex, SpellingError> {
        if self.is_empty() {
            return Ok(Regex::literal(text));
        }
        let piece = |piece: &SpelledPiece<'_>| Regex::literal(piece.word());
        let parts = self.parts(text)?;
        let parts = parts.iter().map(|readings| {
            Regex::union(readings.iter().map(|reading| Regex::concat(reading.iter().map(piece))))
        });
        Ok(Regex::concat(parts))
    }
}

/// The readings of `part` of a text; `found` are the names in it, none of which reaches beyond it.
fn readings<'t>(
    text: &'t str,
    part: Range<usize>,
    found: &[Range<usize>],
) -> Result<SpelledPart<'t>, SpellingError> {
    // For each position of the part, the number of ways to read the rest of the part.
    let mut n_ways = vec![0u64; part.len() + 1];
    n_ways[part.len()] = 1;
    let mut names = found.iter().rev().peekable();
    for start in part.clone().rev() {
        let mut ways = n_ways[start - part.start + 1];
        while let Some(name) = names.next_if(|name| name.start == start) {
            ways = ways.saturating_add(n_ways[name.end - part.start]);
        }
        n_ways[start - part.start] = ways;
    }
    if n_ways[0] > MAX_READINGS {
        return Err(SpellingError { part: text[part].to_owned() });
    }
    let mut readings = Vec::new();
    // The pieces read so far, their end, and the index of the first name that may come next.
    let mut open: Vec<(Vec<SpelledPiece<'t>>, usize, usize)> = vec![(Vec::new(), part.start, 0)];
    while let Some((pieces, end, next)) = open.pop() {
        let mut whole = pieces.clone();
        if end < part.end {
            whole.push(SpelledPiece::Text(&text[end..part.end]));
        }
        for (at, name) in found.iter().enumerate().skip(next).filter(|(_, name)| name.start >= end) {
            let mut longer = pieces.clone();
            if end < name.start {
                longer.push(SpelledPiece::Text(&text[end..name.start]));
            }
            longer.push(SpelledPiece::Token(&text[name.clone()]));
            open.push((longer, name.end, at + 1));
        }
        readings.push(whole);
    }
    Ok(readings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The readings of `text`, with tokens as `[name]`.
    fn shown(names: &[&str], text: &str) -> Vec<String> {
        let names = SpecialNames::new(names.iter().copied());
        let mut all = vec![String::new()];
        for part in names.parts(text).unwrap() {
            let part = part.iter().map(|reading| {
                reading.iter().fold(String::new(), |shown, piece| match piece {
                    SpelledPiece::Text(text) => shown + text,
                    SpelledPiece::Token(name) => shown + "[" + name + "]",
                })
            });
            let part: Vec<String> = part.collect();
            all = all
                .iter()
                .flat_map(|before| part.iter().map(move |after| format!("{before}{after}")))
                .collect();
        }
        all.sort();
        all
    }

    /// The same, one byte or name at a time.
    fn naive(names: &[&str], text: &str) -> Vec<String> {
        let Some(first) = text.chars().next() else { return vec![String::new()] };
        let mut all: Vec<String> = naive(names, &text[first.len_utf8()..])
            .into_iter()
            .map(|rest| format!("{first}{rest}"))
            .collect();
        for name in names.iter().filter(|name| text.starts_with(**name)) {
            all.extend(naive(names, &text[name.len()..]).into_iter().map(|rest| format!("[{name}]{rest}")));
        }
        all.sort();
        all
    }

    #[test]
    fn every_reading_is_found() {
        let names = ["<a>", "<a><b>", "<b>", "><", "é", "aa", "a"];
        let mut n_readings = 0;
        for text in ["", "x", "<a>", "x<a><b>y", "<a><b><a>", "éa<a>é", "aaaa", "<<a>>", "<a"] {
            let expected = naive(&names, text);
            n_readings += expected.len();
            assert_eq!(shown(&names, text), expected, "{text}");
        }
        assert!(n_readings > 60, "only {n_readings}");
    }

    #[test]
    fn the_first_reading_of_a_part_is_its_text() {
        let names = SpecialNames::new(["<a>", "a>b"]);
        for part in names.parts("<a>b<a>").unwrap() {
            assert!(matches!(part[0][..], [SpelledPiece::Text(_)]), "{part:?}");
        }
    }

    #[test]
    fn overlaps_are_limited() {
        let names = SpecialNames::new(["a", "aa", "aaa"]);
        let error = names.parts(&"a".repeat(1000)).unwrap_err();
        assert!(error.to_string().contains("more than 64 ways"), "{error}");
        assert_eq!(SpecialNames::new(["a"]).parts(&"a".repeat(1000)).unwrap().len(), 1000);
    }
}
