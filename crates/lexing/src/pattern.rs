//! Ordered regular expressions as immutable shared values.
//!
//! A [`Pattern`] says not only which words match but which of them a backtracking matcher finds first:
//! alternatives are tried in order, a greedy repetition prefers one more copy, a lazy one prefers to stop.
//! It is the value that front ends build ([`parse_python`](crate::parse_python) is one) and that
//! [`Lexer`](crate::Lexer) compiles; it is never text.
//!
//! Constructors keep patterns flat (a `Concat` has no `Concat` inside, an `Alternation` no `Alternation`), so
//! the depth of a value is the nesting that its source wrote. Order is never changed and nothing is merged
//! that a backtracking matcher could tell apart.
//!
//! Rejected: an ordered variant of [`Regex`](maskwright_automata::Regex). Its constructors sort and merge,
//! which is right for languages and wrong here, and it has no assertions.

use std::fmt;
use std::sync::Arc;

use maskwright_automata::ByteSet;

/// One level of a [`Pattern`]; read it to interpret the pattern, build it only through [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PatternNode {
    /// The empty word.
    Empty,
    /// One byte of a set. Counts as one character.
    Bytes(ByteSet),
    /// One character, as UTF-8, of inclusive ranges that are sorted, disjoint and not adjacent; without
    /// ranges nothing matches.
    Class(Box<[(char, char)]>),
    /// One given non-empty word.
    Literal(Box<[u8]>),
    /// One after the other; at least two, none itself a `Concat`.
    Concat(Box<[Pattern]>),
    /// The first that leads to a match; at least two, none itself an `Alternation`.
    Alternation(Box<[Pattern]>),
    /// At least `min` and at most `max` (`None`: any number of) copies in a row.
    Repeat {
        /// What is repeated.
        inner: Pattern,
        /// The least number of copies.
        min: u32,
        /// The greatest number of copies, not less than `min`.
        max: Option<u32>,
        /// Whether one more copy is tried before stopping.
        greedy: bool,
    },
    /// Matches the empty word where `inner` matches at this place (or does not, if `negated`).
    Look {
        /// Whether the text after this place is looked at, or the text that ends here.
        ahead: bool,
        /// Whether `inner` must not match.
        negated: bool,
        /// What is looked for.
        inner: Pattern,
    },
}

/// An ordered regular expression over bytes.
///
/// ```
/// use maskwright_lexing::Pattern;
/// // (?:a|ab)c?  takes the first alternative that leads on, not the longest.
/// let pattern = Pattern::concat([
///     Pattern::alternation([Pattern::literal(b"a"), Pattern::literal(b"ab")]),
///     Pattern::literal(b"c").repeat(0, Some(1), true),
/// ]);
/// assert_eq!((pattern.min_width(), pattern.max_width()), (1, Some(3)));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Pattern(Arc<Inner>);

#[derive(PartialEq, Eq, Hash)]
struct Inner {
    node: PatternNode,
    min_width: u64,
    max_width: Option<u64>,
    size: u64,
    depth: u32,
}

impl Pattern {
    fn new(node: PatternNode) -> Pattern {
        let (min_width, max_width) = widths(&node);
        let (size, depth) = match &node {
            PatternNode::Empty | PatternNode::Bytes(_) => (1, 1),
            PatternNode::Class(ranges) => (ranges.len() as u64 + 1, 1),
            PatternNode::Literal(bytes) => (bytes.len() as u64, 1),
            PatternNode::Concat(parts) | PatternNode::Alternation(parts) => (
                parts.iter().fold(1u64, |sum, part| sum.saturating_add(part.size())),
                parts.iter().map(Pattern::depth).max().unwrap_or(0).saturating_add(1),
            ),
            PatternNode::Repeat { inner, .. } | PatternNode::Look { inner, .. } => {
                (inner.size().saturating_add(1), inner.depth().saturating_add(1))
            }
        };
        Pattern(Arc::new(Inner { node, min_width, max_width, size, depth }))
    }

    /// The empty word.
    pub fn empty() -> Pattern {
        Pattern::new(PatternNode::Empty)
    }

    /// Nothing at all: the class without characters.
    pub fn never() -> Pattern {
        Pattern::new(PatternNode::Class(Box::default()))
    }

    /// One byte of `set`.
    pub fn bytes(set: ByteSet) -> Pattern {
        Pattern::new(PatternNode::Bytes(set))
    }

    /// One Unicode scalar value, as UTF-8, of the given inclusive ranges, in any order, overlaps allowed.
    pub fn char_class(ranges: &[(char, char)]) -> Pattern {
        let mut ranges = ranges.to_vec();
        ranges.retain(|&(low, high)| low <= high);
        ranges.sort_unstable();
        let mut merged: Vec<(char, char)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match merged.last_mut() {
                Some(last) if low <= last.1 || follows(last.1, low) => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        Pattern::new(PatternNode::Class(merged.into()))
    }

    /// The word `bytes`.
    pub fn literal(bytes: &[u8]) -> Pattern {
        if bytes.is_empty() {
            return Pattern::empty();
        }
        Pattern::new(PatternNode::Literal(bytes.into()))
    }

    /// `parts` one after the other.
    pub fn concat(parts: impl IntoIterator<Item = Pattern>) -> Pattern {
        let mut flat: Vec<Pattern> = Vec::new();
        for part in parts {
            match part.node() {
                PatternNode::Empty => {}
                PatternNode::Concat(inner) => flat.extend(inner.iter().cloned()),
                _ => flat.push(part),
            }
        }
        match flat.len() {
            0 => Pattern::empty(),
            1 => flat.swap_remove(0),
            _ => Pattern::new(PatternNode::Concat(flat.into())),
        }
    }

    /// The first of `parts` that leads to a match; nothing at all if there is none.
    pub fn alternation(parts: impl IntoIterator<Item = Pattern>) -> Pattern {
        let mut flat: Vec<Pattern> = Vec::new();
        for part in parts {
            match part.node() {
                PatternNode::Alternation(inner) => flat.extend(inner.iter().cloned()),
                _ => flat.push(part),
            }
        }
        match flat.len() {
            0 => Pattern::never(),
            1 => flat.swap_remove(0),
            _ => Pattern::new(PatternNode::Alternation(flat.into())),
        }
    }

    /// At least `min` and at most `max` (`None`: any number of) copies of this pattern; as many as possible
    /// if `greedy`, else as few as possible.
    ///
    /// If `max` is less than `min`, it is taken to be `min`.
    #[must_use]
    pub fn repeat(&self, min: u32, max: Option<u32>, greedy: bool) -> Pattern {
        let max = max.map(|max| max.max(min));
        if min == 1 && max == Some(1) {
            return self.clone();
        }
        Pattern::new(PatternNode::Repeat { inner: self.clone(), min, max, greedy })
    }

    /// The empty word, where the text that follows begins with this pattern (or does not, if `negated`).
    #[must_use]
    pub fn look_ahead(&self, negated: bool) -> Pattern {
        Pattern::new(PatternNode::Look { ahead: true, negated, inner: self.clone() })
    }

    /// The empty word, where the text so far ends with this pattern (or does not, if `negated`).
    ///
    /// The text so far is all of the text, not only this match.
    #[must_use]
    pub fn look_behind(&self, negated: bool) -> Pattern {
        Pattern::new(PatternNode::Look { ahead: false, negated, inner: self.clone() })
    }

    /// Whether there is an assertion in the pattern. O(pattern).
    pub fn has_look(&self) -> bool {
        self.any_node(|node| matches!(node, PatternNode::Look { .. }))
    }

    /// Whether `test` holds for a node of the pattern, those inside of assertions included. O(pattern).
    pub(crate) fn any_node(&self, test: fn(&PatternNode) -> bool) -> bool {
        test(self.node())
            || match self.node() {
                PatternNode::Concat(parts) | PatternNode::Alternation(parts) => {
                    parts.iter().any(|part| part.any_node(test))
                }
                PatternNode::Repeat { inner, .. } | PatternNode::Look { inner, .. } => inner.any_node(test),
                _ => false,
            }
    }

    /// The bytes that a match can begin with, and maybe more: assertions are assumed to hold. O(pattern).
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_lexing::{Flags, parse_python};
    /// let pattern = parse_python(r"(?!a)a?(b|\$)", Flags::default(), &Fuel::unlimited()).unwrap();
    /// assert_eq!(pattern.first_bytes(), b"ab$".iter().copied().collect());
    /// ```
    pub fn first_bytes(&self) -> ByteSet {
        match self.node() {
            PatternNode::Empty | PatternNode::Look { .. } => ByteSet::EMPTY,
            PatternNode::Bytes(set) => *set,
            PatternNode::Class(ranges) => {
                let first = |c: char| c.encode_utf8(&mut [0; 4]).as_bytes()[0];
                ranges.iter().fold(ByteSet::EMPTY, |set, &(low, high)| {
                    set.union(&ByteSet::range(first(low), first(high)))
                })
            }
            PatternNode::Literal(bytes) => ByteSet::singleton(bytes[0]),
            PatternNode::Concat(parts) => {
                let n_first = parts.iter().take_while(|part| part.min_width() == 0).count() + 1;
                parts.iter().take(n_first).fold(ByteSet::EMPTY, |set, part| set.union(&part.first_bytes()))
            }
            PatternNode::Alternation(parts) => {
                parts.iter().fold(ByteSet::EMPTY, |set, part| set.union(&part.first_bytes()))
            }
            PatternNode::Repeat { max: Some(0), .. } => ByteSet::EMPTY,
            PatternNode::Repeat { inner, .. } => inner.first_bytes(),
        }
    }

    /// The outermost level of the pattern.
    pub fn node(&self) -> &PatternNode {
        &self.0.node
    }

    /// The least number of characters of a match, as Python's `re` estimates it: assertions are taken to
    /// hold, and repetitions are multiplied out. It saturates.
    pub fn min_width(&self) -> u64 {
        self.0.min_width
    }

    /// The greatest number of characters of a match, estimated likewise; `None` if there is no bound. It
    /// saturates.
    pub fn max_width(&self) -> Option<u64> {
        self.0.max_width
    }

    /// Roughly how many nodes the pattern has; bounds the work of reading it. It saturates.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// How many levels are nested.
    pub fn depth(&self) -> u32 {
        self.0.depth
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node().fmt(f)
    }
}

/// Whether no scalar value lies between `low` and `high`, where `low < high`.
fn follows(low: char, high: char) -> bool {
    low as u32 + 1 == high as u32 || (low == '\u{D7FF}' && high == '\u{E000}')
}

/// The widths in characters, as `getwidth` of Python's `re` computes them.
fn widths(node: &PatternNode) -> (u64, Option<u64>) {
    match node {
        PatternNode::Empty | PatternNode::Look { .. } => (0, Some(0)),
        PatternNode::Bytes(_) | PatternNode::Class(_) => (1, Some(1)),
        PatternNode::Literal(bytes) => {
            // Every byte but the continuations of UTF-8 begins a character.
            let n_chars = bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count().max(1) as u64;
            (n_chars, Some(n_chars))
        }
        PatternNode::Concat(parts) => parts.iter().fold((0, Some(0)), |(min, max), part| {
            (
                u64::saturating_add(min, part.min_width()),
                max.zip(part.max_width()).map(|(max, part)| u64::saturating_add(max, part)),
            )
        }),
        PatternNode::Alternation(parts) => (
            parts.iter().map(Pattern::min_width).min().unwrap_or(0),
            parts.iter().map(Pattern::max_width).reduce(|a, b| Some(a?.max(b?))).unwrap_or(Some(0)),
        ),
        PatternNode::Repeat { inner, min, max, .. } => (
            inner.min_width().saturating_mul(u64::from(*min)),
            match (inner.max_width(), max) {
                (Some(0), _) | (_, Some(0)) => Some(0),
                (Some(width), Some(max)) => Some(width.saturating_mul(u64::from(*max))),
                (None, _) | (_, None) => None,
            },
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_sorted_and_merged() {
        let class =
            Pattern::char_class(&[('x', 'z'), ('b', 'c'), ('a', 'a'), ('\u{E000}', '\u{E001}'), ('q', 'p')]);
        let expected = [('a', 'c'), ('x', 'z'), ('\u{E000}', '\u{E001}')];
        assert_eq!(class.node(), &PatternNode::Class(expected.into()));
        let around_surrogates = Pattern::char_class(&[('\u{E000}', '\u{FFFF}'), ('\0', '\u{D7FF}')]);
        assert_eq!(around_surrogates.node(), &PatternNode::Class([('\0', '\u{FFFF}')].into()));
    }

    #[test]
    fn widths_count_characters() {
        assert_eq!(Pattern::literal("äb".as_bytes()).min_width(), 2);
        let unbounded = Pattern::literal(b"a").repeat(0, None, true);
        assert_eq!(Pattern::concat([Pattern::literal(b"b"), unbounded.clone()]).max_width(), None);
        assert_eq!(unbounded.repeat(0, Some(0), true).max_width(), Some(0));
        assert_eq!(Pattern::empty().repeat(0, None, true).max_width(), Some(0));
        assert_eq!(Pattern::literal(b"ab").look_ahead(true).max_width(), Some(0));
    }

    #[test]
    fn order_is_kept() {
        let (a, b) = (Pattern::literal(b"a"), Pattern::literal(b"b"));
        let nested = Pattern::alternation([b.clone(), Pattern::alternation([a.clone(), b.clone()])]);
        assert_eq!(nested.node(), &PatternNode::Alternation([b.clone(), a, b].into()));
    }
}
