//! Short names for building expressions from grammars.

use maskwright_automata::{ByteSet, Regex};

/// One word.
pub(super) fn lit(word: &str) -> Regex {
    Regex::literal(word)
}

/// One ASCII character of a class, written as in a bracket: `A-Za-z_`. A `-` stands for itself at the end.
pub(super) fn one(class: &str) -> Regex {
    let bytes = class.as_bytes();
    let mut set = ByteSet::EMPTY;
    let mut i = 0;
    while i < bytes.len() {
        if i + 2 < bytes.len() && bytes[i + 1] == b'-' {
            set = set.union(&ByteSet::range(bytes[i], bytes[i + 2]));
            i += 3;
        } else {
            set.insert(bytes[i]);
            i += 1;
        }
    }
    Regex::bytes(set)
}

/// One after the other.
pub(super) fn seq<const N: usize>(parts: [Regex; N]) -> Regex {
    Regex::concat(parts)
}

/// Any of them.
pub(super) fn any<const N: usize>(parts: [Regex; N]) -> Regex {
    Regex::union(parts)
}

/// `n` copies.
pub(super) fn times(n: u32, part: Regex) -> Regex {
    part.repeat(n, Some(n))
}

/// At least one, with separators between.
pub(super) fn list(item: Regex, separator: &str) -> Regex {
    let next = Regex::concat([lit(separator), item.clone()]);
    Regex::concat([item, next.star()])
}

/// Of `part`, what has at least one and at most `n` characters.
pub(super) fn at_most(n: u32, part: Regex) -> Regex {
    Regex::intersection([part, Regex::any_char().repeat(1, Some(n))])
}

pub(super) fn digit() -> Regex {
    one("0-9")
}

pub(super) fn hex() -> Regex {
    one("0-9A-Fa-f")
}

/// Two digits, from `first` to `last`.
pub(super) fn two_digits(first: u32, last: u32) -> Regex {
    Regex::words((first..=last).map(|n| format!("{n:02}").into_bytes()))
}
