//! Regular expressions over bytes as immutable shared values.
//!
//! A [`Regex`] is a typed value, never text: front ends build it through smart constructors that keep it
//! canonical (nested sequences and unions flat, units and zeros gone, union members sorted and distinct), so
//! that equal things written in different ways are often one value, and the automaton cache finds them.
//! Values are `Arc`s with their hash computed once: cloning is cheap, comparing different values is too.
//!
//! Sequences and unions are n-ary, so the depth of a value is the nesting that its source wrote, and
//! dropping or comparing one never recurses along a long pattern.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashSet, FxHasher};

use crate::ByteSet;

/// One level of a [`Regex`]; read it to interpret the expression, build it only through [`Regex`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// No word at all.
    Empty,
    /// The empty word only.
    Epsilon,
    /// One byte of a set; never the empty set.
    Bytes(ByteSet),
    /// One word of at least two bytes.
    Literal(Box<[u8]>),
    /// One of at least two words, sorted and distinct; may contain the empty word.
    Words(Box<[Box<[u8]>]>),
    /// One after the other; at least two, none itself a `Concat`, adjacent literals joined.
    Concat(Box<[Regex]>),
    /// Any of them; at least two, none itself a `Union`.
    Union(Box<[Regex]>),
    /// All of them at once; at least two, none itself an `Intersection`.
    Intersection(Box<[Regex]>),
    /// Every valid UTF-8 text that is not in the inner language.
    Complement(Regex),
    /// At least `min` and at most `max` (`None`: any number of) copies in a row; `max` is at least 1, and
    /// `{1,1}` does not occur.
    Repeat {
        /// What is repeated.
        inner: Regex,
        /// The least number of copies.
        min: u32,
        /// The greatest number of copies.
        max: Option<u32>,
    },
}

/// A regular language over bytes, as an expression.
///
/// # Example: digits
///
/// ```
/// # mod maskwright { pub use maskwright_automata as grammar; }
/// use maskwright::grammar::{ByteSet, Regex};
/// let digit = Regex::bytes(ByteSet::range(b'0', b'9'));
/// let year = Regex::concat([Regex::literal(b"19"), digit.repeat(2, Some(2))]);
/// assert!(!year.is_nullable());
/// ```
///
/// # Example: choices
///
/// ```
/// # mod maskwright { pub use maskwright_automata as grammar; }
/// use maskwright::grammar::Regex;
/// let answer = Regex::union([Regex::literal("yes"), Regex::literal("no")]);
/// let answers = Regex::concat([answer.clone(), Regex::concat([Regex::literal(", "), answer]).star()]);
/// assert!(!answers.is_nullable(), "it has at least one answer");
/// ```
#[derive(Clone)]
pub struct Regex(Arc<Inner>);

struct Inner {
    node: Node,
    hash: u64,
    nullable: bool,
    extended: bool,
    marked: bool,
    size: u64,
    depth: u32,
}

impl Regex {
    fn new(node: Node) -> Regex {
        let mut hasher = FxHasher::default();
        node.hash(&mut hasher);
        let all = |parts: &[Regex]| parts.iter().fold(1u64, |sum, part| sum.saturating_add(part.size()));
        let (nullable, extended, size) = match &node {
            Node::Empty | Node::Bytes(_) => (false, false, 1),
            Node::Epsilon => (true, false, 1),
            Node::Literal(bytes) => (false, false, bytes.len() as u64),
            Node::Words(words) => {
                (words[0].is_empty(), false, words.iter().map(|word| word.len() as u64 + 1).sum())
            }
            Node::Concat(parts) => {
                (parts.iter().all(Regex::is_nullable), parts.iter().any(Regex::is_extended), all(parts))
            }
            Node::Union(parts) => {
                (parts.iter().any(Regex::is_nullable), parts.iter().any(Regex::is_extended), all(parts))
            }
            Node::Intersection(parts) => (parts.iter().all(Regex::is_nullable), true, all(parts)),
            Node::Complement(inner) => (!inner.is_nullable(), true, inner.size().saturating_add(1)),
            Node::Repeat { inner, min, .. } => {
                (*min == 0 || inner.is_nullable(), inner.is_extended(), inner.size().saturating_add(1))
            }
        };
        let is_marked = |word: &[u8]| word.contains(&0xFF);
        let marked = match &node {
            Node::Empty | Node::Epsilon | Node::Bytes(_) => false,
            Node::Literal(word) => is_marked(word),
            Node::Words(words) => words.iter().any(|word| is_marked(word)),
            Node::Concat(parts) | Node::Union(parts) | Node::Intersection(parts) => {
                parts.iter().any(Regex::is_marked)
            }
            Node::Complement(inner) | Node::Repeat { inner, .. } => inner.is_marked(),
        };
        let deepest = |parts: &[Regex]| parts.iter().map(Regex::depth).max().unwrap_or(0);
        let depth = 1 + match &node {
            Node::Concat(parts) | Node::Union(parts) | Node::Intersection(parts) => deepest(parts),
            Node::Complement(inner) | Node::Repeat { inner, .. } => inner.depth(),
            Node::Empty | Node::Epsilon | Node::Bytes(_) | Node::Literal(_) | Node::Words(_) => 0,
        };
        Regex(Arc::new(Inner { node, hash: hasher.finish(), nullable, extended, marked, size, depth }))
    }

    /// The language without words, ∅.
    pub fn empty() -> Regex {
        Regex::new(Node::Empty)
    }

    /// The language of the empty word alone, ε.
    pub fn epsilon() -> Regex {
        Regex::new(Node::Epsilon)
    }

    /// One byte of `set`.
    pub fn bytes(set: ByteSet) -> Regex {
        if set.is_empty() { Regex::empty() } else { Regex::new(Node::Bytes(set)) }
    }

    /// One given byte.
    pub fn byte(byte: u8) -> Regex {
        Regex::bytes(ByteSet::singleton(byte))
    }

    /// One given word.
    pub fn literal(word: impl AsRef<[u8]>) -> Regex {
        match word.as_ref() {
            [] => Regex::epsilon(),
            [byte] => Regex::byte(*byte),
            word => Regex::new(Node::Literal(word.into())),
        }
    }

    /// One of the given words. Takes O(n log n) for n words, and keeps 100,000 of them cheap: automata walk
    /// the sorted list as a trie.
    pub fn words<W: Into<Box<[u8]>>>(words: impl IntoIterator<Item = W>) -> Regex {
        let mut words: Vec<Box<[u8]>> = words.into_iter().map(Into::into).collect();
        words.sort_unstable();
        words.dedup();
        match words.as_slice() {
            [] => Regex::empty(),
            [word] => Regex::literal(word),
            _ if words.iter().all(|word| word.len() == 1) => {
                Regex::bytes(words.iter().map(|word| word[0]).collect())
            }
            _ => Regex::new(Node::Words(words.into())),
        }
    }

    /// One Unicode scalar value, as UTF-8, of the given inclusive ranges.
    pub fn char_class(ranges: &[(char, char)]) -> Regex {
        crate::utf8::char_class(ranges)
    }

    /// Any one Unicode scalar value, as UTF-8.
    pub fn any_char() -> Regex {
        Regex::char_class(&[('\0', char::MAX)])
    }

    /// Any valid UTF-8 text, the empty one included.
    pub fn any_text() -> Regex {
        Regex::any_char().star()
    }

    /// One part after the other.
    pub fn concat(parts: impl IntoIterator<Item = Regex>) -> Regex {
        let mut flat: Vec<Regex> = Vec::new();
        let mut literal: Vec<u8> = Vec::new();
        let flush = |literal: &mut Vec<u8>, flat: &mut Vec<Regex>| {
            if !literal.is_empty() {
                flat.push(Regex::literal(std::mem::take(literal)));
            }
        };
        let mut is_empty = false;
        let mut add = |part: &Regex, flat: &mut Vec<Regex>, literal: &mut Vec<u8>| match part.node() {
            Node::Empty => is_empty = true,
            Node::Epsilon => {}
            Node::Literal(bytes) => literal.extend_from_slice(bytes),
            Node::Bytes(set) if set.as_singleton().is_some() => literal.extend(set.first()),
            _ => {
                flush(literal, flat);
                flat.push(part.clone());
            }
        };
        for part in parts {
            if let Node::Concat(inner) = part.node() {
                for part in inner {
                    add(part, &mut flat, &mut literal);
                }
            } else {
                add(&part, &mut flat, &mut literal);
            }
        }
        if is_empty {
            return Regex::empty();
        }
        flush(&mut literal, &mut flat);
        match flat.len() {
            0 => Regex::epsilon(),
            1 => flat.swap_remove(0),
            _ => Regex::new(Node::Concat(flat.into())),
        }
    }

    /// Any of the parts.
    pub fn union(parts: impl IntoIterator<Item = Regex>) -> Regex {
        let mut members: Vec<Regex> = Vec::new();
        let mut bytes = ByteSet::EMPTY;
        for part in parts {
            match part.node() {
                Node::Empty => {}
                Node::Bytes(set) => bytes = bytes.union(set),
                Node::Union(inner) => {
                    for part in inner {
                        match part.node() {
                            Node::Bytes(set) => bytes = bytes.union(set),
                            _ => members.push(part.clone()),
                        }
                    }
                }
                _ => members.push(part),
            }
        }
        if !bytes.is_empty() {
            members.push(Regex::bytes(bytes));
        }
        members.sort_unstable();
        members.dedup();
        if members.iter().filter(|part| part.is_nullable()).count() > 1 {
            members.retain(|part| !matches!(part.node(), Node::Epsilon));
        }
        match members.len() {
            0 => Regex::empty(),
            1 => members.swap_remove(0),
            _ => Regex::new(Node::Union(members.into())),
        }
    }

    /// What is in all of the parts at once.
    ///
    /// # Panics
    /// If there are no parts.
    pub fn intersection(parts: impl IntoIterator<Item = Regex>) -> Regex {
        let mut members: Vec<Regex> = Vec::new();
        for part in parts {
            match part.node() {
                Node::Empty => return part,
                Node::Intersection(inner) => members.extend(inner.iter().cloned()),
                _ => members.push(part),
            }
        }
        members.sort_unstable();
        members.dedup();
        match members.len() {
            0 => panic!("the intersection of no languages has no meaning here"),
            1 => members.swap_remove(0),
            _ => Regex::new(Node::Intersection(members.into())),
        }
    }

    /// Every valid UTF-8 text that is not in this language.
    #[must_use]
    pub fn complement(&self) -> Regex {
        match self.node() {
            Node::Empty => Regex::any_text(),
            _ => Regex::new(Node::Complement(self.clone())),
        }
    }

    /// What is in this language and not in `other`. This language must be of valid UTF-8 text.
    #[must_use]
    pub fn difference(&self, other: &Regex) -> Regex {
        match other.node() {
            Node::Empty => self.clone(),
            _ => Regex::intersection([self.clone(), other.complement()]),
        }
    }

    /// At least `min` and at most `max` (`None`: any number of) copies in a row; ∅ if `max < min`.
    #[must_use]
    pub fn repeat(&self, min: u32, max: Option<u32>) -> Regex {
        if max.is_some_and(|max| max < min) {
            return Regex::empty();
        }
        match (self.node(), min, max) {
            (_, _, Some(0)) | (Node::Epsilon, _, _) | (Node::Empty, 0, _) => Regex::epsilon(),
            (Node::Empty, _, _) => self.clone(),
            (_, 1, Some(1)) => self.clone(),
            // (r*)* and (r*)+ and (r+)* are r*; (r+)+ is r+.
            (Node::Repeat { inner, min: inner_min @ (0 | 1), max: None }, 0 | 1, None) => {
                inner.repeat(min.min(*inner_min), None)
            }
            _ => Regex::new(Node::Repeat { inner: self.clone(), min, max }),
        }
    }

    /// Any number of copies.
    #[must_use]
    pub fn star(&self) -> Regex {
        self.repeat(0, None)
    }

    /// At least one copy.
    #[must_use]
    pub fn plus(&self) -> Regex {
        self.repeat(1, None)
    }

    /// One copy or none.
    #[must_use]
    pub fn optional(&self) -> Regex {
        self.repeat(0, Some(1))
    }

    /// The outermost operation.
    #[doc(hidden)]
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// Whether the empty word is in the language.
    pub fn is_nullable(&self) -> bool {
        self.0.nullable
    }

    /// The bytes that non-empty words may end with, and maybe others: where intersection or complement is
    /// involved, no closer look is taken.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_automata as grammar; }
    /// use maskwright::grammar::{ByteSet, Regex};
    /// let regex = Regex::concat([Regex::literal("ab").plus(), Regex::byte(b'c').repeat(0, Some(1))]);
    /// assert_eq!(regex.last_bytes(), ByteSet::range(b'b', b'c'));
    /// ```
    pub fn last_bytes(&self) -> ByteSet {
        let mut last = ByteSet::EMPTY;
        let mut seen = FxHashSet::default();
        let mut stack = vec![self];
        while let Some(regex) = stack.pop() {
            if !seen.insert(regex.address()) {
                continue;
            }
            match regex.node() {
                Node::Empty | Node::Epsilon => {}
                Node::Bytes(bytes) => last = last.union(bytes),
                Node::Literal(word) => word.last().into_iter().for_each(|&byte| last.insert(byte)),
                Node::Words(words) => {
                    words.iter().filter_map(|word| word.last()).for_each(|&byte| last.insert(byte));
                }
                Node::Concat(parts) => {
                    let n_nullable = parts.iter().rev().take_while(|part| part.is_nullable()).count();
                    stack.extend(parts.iter().rev().take(n_nullable + 1));
                }
                Node::Union(parts) => stack.extend(parts.iter()),
                Node::Repeat { inner, .. } => stack.push(inner),
                Node::Intersection(_) | Node::Complement(_) => return ByteSet::FULL,
            }
        }
        last
    }

    /// Whether intersection or complement occurs, so that the language may be empty without being written so.
    pub fn is_extended(&self) -> bool {
        self.0.extended
    }

    /// Whether a literal of two or more bytes has the byte 0xFF, which no UTF-8 text contains: grammars mark
    /// with it what is no text.
    #[doc(hidden)]
    pub fn is_marked(&self) -> bool {
        self.0.marked
    }

    /// How large the expression is when written as a tree, in nodes and literal bytes (saturating).
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// How deep operations are nested; 1 for a leaf.
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Where the shared value lies: a key for memos that live no longer than the value.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The word, if the expression is a single one.
    pub fn as_literal(&self) -> Option<Vec<u8>> {
        match self.node() {
            Node::Epsilon => Some(Vec::new()),
            Node::Bytes(set) => set.as_singleton().map(|byte| vec![byte]),
            Node::Literal(bytes) => Some(bytes.to_vec()),
            _ => None,
        }
    }

    /// Whether both are the same shared value; a fast sufficient test for equality.
    pub fn ptr_eq(&self, other: &Regex) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl PartialEq for Regex {
    fn eq(&self, other: &Regex) -> bool {
        self.ptr_eq(other) || (self.0.hash == other.0.hash && self.0.node == other.0.node)
    }
}

impl Eq for Regex {}

impl Hash for Regex {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl PartialOrd for Regex {
    fn partial_cmp(&self, other: &Regex) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// An arbitrary fixed order (by hash, then by structure), for canonical unions.
impl Ord for Regex {
    fn cmp(&self, other: &Regex) -> std::cmp::Ordering {
        if self.ptr_eq(other) {
            return std::cmp::Ordering::Equal;
        }
        self.0.hash.cmp(&other.0.hash).then_with(|| self.0.node.cmp(&other.0.node))
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, parts: &[Regex], separator: &str| {
            write!(f, "(")?;
            for (i, part) in parts.iter().enumerate() {
                write!(f, "{}{part:?}", if i > 0 { separator } else { "" })?;
            }
            write!(f, ")")
        };
        match self.node() {
            Node::Empty => write!(f, "∅"),
            Node::Epsilon => write!(f, "ε"),
            Node::Bytes(set) => write!(f, "{set:?}"),
            Node::Literal(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Node::Words(words) if words.len() > 8 => write!(f, "<{} words>", words.len()),
            Node::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| word.escape_ascii().to_string()).collect();
                write!(f, "<{}>", words.join("|"))
            }
            Node::Concat(parts) => list(f, parts, " "),
            Node::Union(parts) => list(f, parts, " | "),
            Node::Intersection(parts) => list(f, parts, " & "),
            Node::Complement(inner) => write!(f, "¬{inner:?}"),
            Node::Repeat { inner, min: 0, max: None } => write!(f, "{inner:?}*"),
            Node::Repeat { inner, min, max: None } => write!(f, "{inner:?}{{{min},}}"),
            Node::Repeat { inner, min, max: Some(max) } => write!(f, "{inner:?}{{{min},{max}}}"),
        }
    }
}
