//! How many bytes complete a word at most, read off the expression.
//!
//! The *rest* of a residue is its shortest word. Over all residues that some prefix of a word leads to, the
//! longest rest has a bound that follows from the expression alone, with no automaton made. With some words
//! forbidden, no matter which, there still is a rest where the language *grows*: where a repetition without
//! bound has two units of one byte that can be told apart, n units more are 2ⁿ rests.

use crate::{ByteSet, Node, Regex};

/// Deeper or larger expressions, written as trees, are not looked into.
const MAX_DEPTH: u32 = 200;
const MAX_SIZE: u64 = 1 << 20;

/// Bounds in bytes on what completes words, and where they begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rests {
    /// Of the shortest word.
    pub shortest: u64,
    /// Of the longest rest of any residue.
    pub longest: u64,
    /// The bytes that words may begin with, and maybe others where intersection or complement is involved.
    pub first: ByteSet,
}

#[derive(Clone, Copy)]
struct Bounds {
    shortest: u64,
    longest: u64,
}

impl Bounds {
    fn one(length: u64) -> Bounds {
        Bounds { shortest: length, longest: length }
    }

    fn of(self, regex: &Regex) -> Rests {
        Rests { shortest: self.shortest, longest: self.longest, first: first_bytes(regex) }
    }
}

/// What words are made of, and which are forbidden.
#[derive(Clone, Copy)]
struct Terms<'a> {
    /// The bytes that rests are made of.
    bytes: &'a ByteSet,
    /// Bytes that tell words apart.
    apart: &'a ByteSet,
}

impl Regex {
    /// Bounds on the rests of residues, of the given bytes alone; `None` if some residue might have none, or
    /// the expression does not say. Takes time in the size of the expression.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_automata as grammar; }
    /// use maskwright::grammar::{ByteSet, Regex};
    /// let regex = Regex::concat([Regex::literal("ab"), Regex::byte(b'c').star(), Regex::literal("de")]);
    /// let rests = regex.rests(&ByteSet::FULL).expect("bounds are known");
    /// assert_eq!((rests.shortest, rests.longest, rests.first), (4, 4, ByteSet::singleton(b'a')));
    /// assert_eq!(regex.rests(&ByteSet::range(b'a', b'd')), None);
    /// ```
    pub fn rests(&self, bytes: &ByteSet) -> Option<Rests> {
        let terms = Terms { bytes, apart: &ByteSet::EMPTY };
        let bounds = is_small(self).then(|| terms.rests(self)).flatten()?;
        Some(bounds.of(self))
    }

    /// The same where at each residue up to 2 to the power of `bits` of the rests may be forbidden, but not
    /// all of a residue that has no more, and rests that differ in the bytes `apart` are not one rest.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_automata as grammar; }
    /// use maskwright::grammar::{ByteSet, Regex};
    /// let letter = Regex::bytes(ByteSet::range(b'a', b'z'));
    /// let regex = Regex::concat([letter.star(), Regex::byte(b'"')]);
    /// let rests = regex.rests_but(10, &ByteSet::FULL, &ByteSet::range(b'a', b'z'));
    /// assert_eq!(rests.map(|rests| rests.longest), Some(5), "with three letters more there are more than 1,024 rests");
    /// ```
    pub fn rests_but(&self, bits: u32, bytes: &ByteSet, apart: &ByteSet) -> Option<Rests> {
        let terms = Terms { bytes, apart };
        Some(is_small(self).then(|| terms.grown(self, bits)).flatten()?.of(self))
    }
}

impl Terms<'_> {
    fn rests(&self, regex: &Regex) -> Option<Bounds> {
        Some(match regex.node() {
            Node::Empty => return None,
            Node::Epsilon => Bounds::one(0),
            Node::Bytes(set) => Bounds::one(self.bytes.intersects(set).then_some(1)?),
            Node::Literal(word) => Bounds::one(self.spelled(word)?),
            Node::Words(words) => {
                let lengths = words.iter().map(|word| self.spelled(word)).collect::<Option<Vec<_>>>()?;
                Bounds { shortest: *lengths.iter().min()?, longest: *lengths.iter().max()? }
            }
            Node::Concat(parts) => {
                let parts = parts.iter().map(|part| self.rests(part)).collect::<Option<Vec<_>>>()?;
                let (mut behind, mut longest) = (0, 0);
                for part in parts.into_iter().rev() {
                    longest = longest.max(part.longest.saturating_add(behind));
                    behind = part.shortest.saturating_add(behind);
                }
                Bounds { shortest: behind, longest }
            }
            Node::Union(parts) => {
                let parts = parts.iter().map(|part| self.rests(part)).collect::<Option<Vec<_>>>()?;
                Bounds {
                    shortest: parts.iter().map(|part| part.shortest).min()?,
                    longest: parts.iter().map(|part| part.longest).max()?,
                }
            }
            Node::Repeat { inner, min, .. } => {
                let inner = self.rests(inner)?;
                let more = inner.shortest.saturating_mul(u64::from(min.saturating_sub(1)));
                Bounds {
                    shortest: inner.shortest.saturating_mul(u64::from(*min)),
                    longest: inner.longest.saturating_add(more),
                }
            }
            Node::Intersection(parts) => match &parts[..] {
                [one, other] if !is_complement(one) && !is_complement(other) => {
                    let (regex, bytes, begun) = self.with_units(one, other)?;
                    let Bounds { shortest, longest } = Terms { bytes: &bytes, ..*self }.rests(regex)?;
                    Bounds { shortest, longest: longest.saturating_add(begun) }
                }
                // What is left of "all but some words" is a rest of all, but for as many as those.
                _ => self.grown(regex, 0)?,
            },
            Node::Complement(_) => return None,
        })
    }

    /// Of two expressions one of which is any number of units: the other one, the bytes that are units by
    /// themselves, of which rests of words of both can be made, and how many bytes complete a unit that was
    /// begun.
    fn with_units<'r>(&self, one: &'r Regex, other: &'r Regex) -> Option<(&'r Regex, ByteSet, u64)> {
        let (regex, inner) = match any_of(other) {
            Some(inner) => (one, inner),
            None => (other, any_of(one)?),
        };
        let longest = most_bytes(inner)?;
        // In units of several bytes there may be bytes that rests are not made of.
        let is_spelled = longest == 1 || all_bytes(inner).is_subset(self.bytes);
        is_spelled.then(|| (regex, single_bytes(inner).intersection(self.bytes), longest))
    }

    fn spelled(&self, word: &[u8]) -> Option<u64> {
        word.iter().all(|&byte| self.bytes.contains(byte)).then_some(word.len() as u64)
    }

    /// A rest of each residue, and one from the start, with up to 2 to the power of `bits` forbidden.
    fn grown(&self, regex: &Regex, bits: u32) -> Option<Bounds> {
        match regex.node() {
            Node::Union(parts) => {
                let parts = parts.iter().map(|part| self.grown(part, bits)).collect::<Option<Vec<_>>>()?;
                Some(Bounds {
                    shortest: parts.iter().map(|part| part.shortest).min()?,
                    longest: parts.iter().map(|part| part.longest).max()?,
                })
            }
            Node::Concat(parts) => {
                // Behind the last part that grows there are only so many rests, and of those that are
                // forbidden not all.
                let grows =
                    parts.iter().rposition(|part| matches!(part.node(), Node::Repeat { max: None, .. }))?;
                let [before, behind] = [&parts[..grows], &parts[grows + 1..]];
                // The one that is left must be one of the given bytes, whichever it is.
                if !behind.iter().all(|part| all_bytes(part).is_subset(self.bytes)) {
                    return None;
                }
                let most = behind
                    .iter()
                    .map(most_bytes)
                    .try_fold(0, |all: u64, part| Some(all.saturating_add(part?)))?;
                let behind = self.rests(&Regex::concat(behind.iter().cloned()))?.shortest;
                let grown = self.grown(&parts[grows], bits)?;
                let before = self.rests(&Regex::concat(before.iter().cloned()))?;
                let of = |before: u64, grown: u64| before.saturating_add(grown).saturating_add(behind);
                Some(Bounds {
                    shortest: of(before.shortest, grown.shortest),
                    longest: of(before.longest, grown.longest).max(most),
                })
            }
            Node::Repeat { inner, min, max: None } => {
                let units = single_bytes(inner).intersection(self.bytes).intersection(self.apart_or_all());
                let rests = self.rests(inner)?;
                let of = |n: u32| rests.shortest.saturating_mul(u64::from(n));
                // So many bits tell words of one more unit apart.
                let bits_of_unit = units.len().checked_ilog2().filter(|&bits| bits > 0)?;
                let n_units = u64::from((bits + 1).div_ceil(bits_of_unit));
                let begun = rests.longest.saturating_add(of(min.saturating_sub(1)));
                Some(Bounds {
                    shortest: of(*min).saturating_add(n_units),
                    longest: begun.saturating_add(n_units),
                })
            }
            Node::Intersection(parts) => {
                let (mut all, mut words) = (Vec::new(), bits);
                for part in parts.iter() {
                    match part.node() {
                        // One bit more for each set of as many words.
                        Node::Complement(inner) => words = words.max(n_words(inner)?).saturating_add(1),
                        _ => all.push(part),
                    }
                }
                // What a complement leaves is text.
                match all[..] {
                    [one] if is_text(one) => self.grown(one, words),
                    [one, other] if is_text(one) || is_text(other) => {
                        let (regex, bytes, begun) = self.with_units(one, other)?;
                        let Bounds { shortest, longest } =
                            Terms { bytes: &bytes, ..*self }.grown(regex, words)?;
                        Some(Bounds { shortest, longest: longest.saturating_add(begun) })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn apart_or_all(&self) -> &ByteSet {
        const ALL: ByteSet = ByteSet::FULL;
        if self.apart.is_empty() { &ALL } else { self.apart }
    }
}

fn is_small(regex: &Regex) -> bool {
    regex.depth() <= MAX_DEPTH && regex.size() <= MAX_SIZE
}

/// What is repeated, if any number of times will do.
fn any_of(regex: &Regex) -> Option<&Regex> {
    match regex.node() {
        Node::Repeat { inner, min: 0, max: None } => Some(inner),
        _ => None,
    }
}

fn is_complement(regex: &Regex) -> bool {
    matches!(regex.node(), Node::Complement(_))
}

/// The bytes that occur in words, and maybe others.
fn all_bytes(regex: &Regex) -> ByteSet {
    let all = |parts: &[Regex]| parts.iter().fold(ByteSet::EMPTY, |all, part| all.union(&all_bytes(part)));
    match regex.node() {
        Node::Empty | Node::Epsilon => ByteSet::EMPTY,
        Node::Bytes(set) => *set,
        Node::Literal(word) => word.iter().copied().collect(),
        Node::Words(words) => words.iter().flat_map(|word| word.iter().copied()).collect(),
        Node::Concat(parts) | Node::Union(parts) | Node::Intersection(parts) => all(parts),
        Node::Repeat { inner, .. } => all_bytes(inner),
        Node::Complement(_) => ByteSet::FULL,
    }
}

/// Whether all words are seen to have the shape of UTF-8.
fn is_text(regex: &Regex) -> bool {
    let is_within = |set: &ByteSet, low: u8, high: u8| set.is_subset(&ByteSet::range(low, high));
    match regex.node() {
        Node::Empty | Node::Epsilon => true,
        Node::Bytes(set) => is_within(set, 0, 0x7F),
        Node::Literal(word) => std::str::from_utf8(word).is_ok(),
        Node::Words(words) => words.iter().all(|word| std::str::from_utf8(word).is_ok()),
        Node::Concat(parts) => {
            let mut parts = parts.iter();
            while let Some(part) = parts.next() {
                let n_more = match part.node() {
                    Node::Bytes(set) if is_within(set, 0xC2, 0xDF) => 1,
                    Node::Bytes(set) if is_within(set, 0xE0, 0xEF) => 2,
                    Node::Bytes(set) if is_within(set, 0xF0, 0xF4) => 3,
                    _ if is_text(part) => 0,
                    _ => return false,
                };
                let goes_on = |part: Option<&Regex>| match part.map(Regex::node) {
                    Some(Node::Bytes(set)) => is_within(set, 0x80, 0xBF),
                    _ => false,
                };
                if !(0..n_more).all(|_| goes_on(parts.next())) {
                    return false;
                }
            }
            true
        }
        Node::Union(parts) | Node::Intersection(parts) => parts.iter().all(is_text),
        Node::Repeat { inner, .. } => is_text(inner),
        Node::Complement(_) => true,
    }
}

/// The words of one byte, or some of them.
fn single_bytes(regex: &Regex) -> ByteSet {
    match regex.node() {
        Node::Bytes(set) => *set,
        Node::Words(words) => {
            words.iter().filter_map(|word| <[u8; 1]>::try_from(&word[..]).ok()).map(|[byte]| byte).collect()
        }
        Node::Union(parts) => parts.iter().fold(ByteSet::EMPTY, |all, part| all.union(&single_bytes(part))),
        _ => ByteSet::EMPTY,
    }
}

/// The length of the longest word, if there is one.
fn most_bytes(regex: &Regex) -> Option<u64> {
    Some(match regex.node() {
        Node::Empty | Node::Epsilon => 0,
        Node::Bytes(_) => 1,
        Node::Literal(word) => word.len() as u64,
        Node::Words(words) => words.iter().map(|word| word.len() as u64).max()?,
        Node::Concat(parts) => {
            parts.iter().map(most_bytes).try_fold(0, |all: u64, part| Some(all.saturating_add(part?)))?
        }
        Node::Union(parts) => parts.iter().map(most_bytes).collect::<Option<Vec<_>>>()?.into_iter().max()?,
        Node::Repeat { inner, max, .. } => most_bytes(inner)?.saturating_mul(u64::from((*max)?)),
        Node::Intersection(parts) => parts.iter().filter_map(most_bytes).min()?,
        Node::Complement(_) => return None,
    })
}

/// So many bits count the words, rounded up; `None` if there is no end of them.
fn n_words(regex: &Regex) -> Option<u32> {
    let bits = |n: usize| usize::BITS - n.saturating_sub(1).leading_zeros();
    Some(match regex.node() {
        Node::Empty | Node::Epsilon | Node::Literal(_) => 0,
        Node::Bytes(set) => bits(set.len()),
        Node::Words(words) => bits(words.len()),
        Node::Concat(parts) => {
            parts.iter().map(n_words).try_fold(0, |all: u32, part| Some(all.saturating_add(part?)))?
        }
        Node::Union(parts) => {
            let most = parts.iter().map(n_words).collect::<Option<Vec<_>>>()?.into_iter().max()?;
            most.saturating_add(bits(parts.len()))
        }
        Node::Repeat { inner, max, .. } => {
            // Each copy may also be missing.
            n_words(inner)?.saturating_add(1).saturating_mul((*max)?)
        }
        Node::Intersection(parts) => parts.iter().filter_map(n_words).min()?,
        Node::Complement(_) => return None,
    })
}

/// The bytes that words may begin with, and maybe others where intersection or complement is involved.
fn first_bytes(regex: &Regex) -> ByteSet {
    let all = |parts: &[Regex]| parts.iter().map(first_bytes).collect::<Vec<_>>();
    match regex.node() {
        Node::Empty | Node::Epsilon => ByteSet::EMPTY,
        Node::Bytes(bytes) => *bytes,
        Node::Literal(word) => word.iter().take(1).copied().collect(),
        Node::Words(words) => words.iter().filter_map(|word| word.first().copied()).collect(),
        Node::Concat(parts) => {
            let n_nullable = parts.iter().take_while(|part| part.is_nullable()).count();
            let first = all(&parts[..parts.len().min(n_nullable + 1)]);
            first.iter().fold(ByteSet::EMPTY, |all, part| all.union(part))
        }
        Node::Union(parts) => all(parts).iter().fold(ByteSet::EMPTY, |all, part| all.union(part)),
        Node::Intersection(parts) => {
            all(parts).iter().fold(ByteSet::FULL, |all, part| all.intersection(part))
        }
        Node::Complement(_) => ByteSet::FULL,
        Node::Repeat { inner, .. } => first_bytes(inner),
    }
}
