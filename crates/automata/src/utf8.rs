//! Classes of Unicode scalar values as expressions over UTF-8 bytes.

use regex_syntax::utf8::Utf8Sequences;

use crate::{ByteSet, Regex};

/// One Unicode scalar value, as UTF-8, of the given inclusive ranges (in any order, overlaps allowed).
///
/// Byte sequences are grouped from the first byte on, and lead bytes whose continuations are equal are
/// joined, so that the class of all characters has a handful of nodes instead of one per sequence.
pub(crate) fn char_class(ranges: &[(char, char)]) -> Regex {
    let mut ranges = ranges.to_vec();
    ranges.sort_unstable();
    let mut merged: Vec<(char, char)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match merged.last_mut() {
            Some(last) if low as u32 <= last.1 as u32 + 1 => last.1 = last.1.max(high),
            _ if low <= high => merged.push((low, high)),
            _ => {}
        }
    }
    let mut sequences: Vec<Vec<(u8, u8)>> = merged
        .iter()
        .flat_map(|&(low, high)| Utf8Sequences::new(low, high))
        .map(|sequence| sequence.as_slice().iter().map(|range| (range.start, range.end)).collect())
        .collect();
    sequences.sort_unstable();
    group(&sequences, 0)
}

/// The union of `sequences`, which agree up to `depth`, from `depth` on.
///
/// Within one call the lead ranges are equal or disjoint: `Utf8Sequences` splits a range where the
/// continuation changes, and the ranges that it is given do not overlap.
fn group(sequences: &[Vec<(u8, u8)>], depth: usize) -> Regex {
    let mut by_tail: Vec<(Regex, ByteSet)> = Vec::new();
    let mut rest = sequences;
    while let Some(first) = rest.first() {
        let Some(&lead) = first.get(depth) else { return Regex::epsilon() };
        let n_same = rest.iter().take_while(|sequence| sequence[depth] == lead).count();
        let (same, other) = rest.split_at(n_same);
        let tail = group(same, depth + 1);
        let leads = ByteSet::range(lead.0, lead.1);
        match by_tail.iter_mut().find(|(known, _)| *known == tail) {
            Some((_, known)) => *known = known.union(&leads),
            None => by_tail.push((tail, leads)),
        }
        rest = other;
    }
    Regex::union(by_tail.into_iter().map(|(tail, leads)| Regex::concat([Regex::bytes(leads), tail])))
}
