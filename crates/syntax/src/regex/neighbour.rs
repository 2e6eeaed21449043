//! What stands beside a place: an end of the text, or a character of one of finitely many kinds.
//!
//! The sets that a pattern's conditions name cut all characters into *cells*; characters of one cell are
//! alike for every condition. Index 0 is the edge of the text, index `i + 1` is cell `i`.

use maskwright_automata::{ByteSet, Node, Regex};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::pattern::{Beside, SetId, Sets, class_regex};

/// A set of neighbours: bit 0 for the edge, bit `i + 1` for cell `i`.
pub(crate) type Mask = u32;
/// The edge of the text, as a [`Mask`].
pub(crate) const EDGE: Mask = 1;
/// The most cells; each condition can double them.
const MAX_CELLS: usize = 16;
/// How many nodes of an expression are looked at for its first or last bytes before all are assumed.
const MAX_VISITS: usize = 2_000;

/// The cells of a pattern.
#[derive(Debug)]
pub(crate) struct Neighbours {
    cells: Vec<Cell>,
}

#[derive(Debug)]
struct Cell {
    /// One character of the cell.
    regex: Regex,
    /// Bit `i`: the cell is inside set `i`.
    sets: u32,
    /// The first and the last bytes of its characters.
    first: ByteSet,
    last: ByteSet,
}

impl Neighbours {
    /// The cells of `sets`; `None` if there are too many.
    pub(crate) fn new(sets: &Sets) -> Option<Neighbours> {
        let all = ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]);
        let mut cells: Vec<(ClassUnicode, u32)> = vec![(all, 0)];
        for (idx, set) in sets.iter().enumerate() {
            let mut split = Vec::with_capacity(cells.len() * 2);
            for (class, members) in cells {
                let (mut inside, mut outside) = (class.clone(), class);
                inside.intersect(set);
                outside.difference(set);
                split.extend([(inside, members | 1 << idx), (outside, members)]);
            }
            split.retain(|(class, _)| !class.ranges().is_empty());
            cells = split;
            if cells.len() > MAX_CELLS {
                return None;
            }
        }
        let cells = cells
            .into_iter()
            .map(|(class, sets)| {
                let (first, last) = outer_bytes(&class);
                Cell { regex: class_regex(&class), sets, first, last }
            })
            .collect();
        Some(Neighbours { cells })
    }

    /// How many neighbours there are, the edge included.
    pub(crate) fn len(&self) -> usize {
        self.cells.len() + 1
    }

    /// All cells, without the edge.
    pub(crate) fn all_cells(&self) -> Mask {
        (1 << self.len()) - 2
    }

    /// The right neighbours with which `condition` holds if `left` is on the left.
    pub(crate) fn rights(&self, condition: Beside, left: usize) -> Mask {
        let right = (0..self.len()).filter(|&right| self.holds(condition, left, right));
        right.fold(0, |mask, right| mask | 1 << right)
    }

    /// Whether `condition` holds between two neighbours.
    pub(crate) fn holds(&self, condition: Beside, left: usize, right: usize) -> bool {
        let has = |side: usize, set: SetId| side > 0 && self.cells[side - 1].sets >> set.0 & 1 != 0;
        match condition {
            Beside::Start => left == 0,
            Beside::End => right == 0,
            Beside::StartOrAfter(set) => left == 0 || has(left, set),
            Beside::EndOrBefore(set) => right == 0 || has(right, set),
            Beside::Boundary(set) => has(left, set) != has(right, set),
            Beside::NotBoundary(set) => has(left, set) == has(right, set),
            Beside::After(set) => has(left, set),
            Beside::NotAfter(set) => !has(left, set),
            Beside::Before(set) => has(right, set),
            Beside::NotBefore(set) => !has(right, set),
            Beside::Opening(set) => !has(left, set) && has(right, set),
            Beside::Closing(set) => has(left, set) && !has(right, set),
        }
    }

    /// One character of the cells of `mask`.
    fn char_of(&self, mask: Mask) -> Regex {
        if mask & self.all_cells() == self.all_cells() {
            return Regex::any_char();
        }
        let cells = self.cells.iter().enumerate().filter(|(idx, _)| mask >> (idx + 1) & 1 != 0);
        Regex::union(cells.map(|(_, cell)| cell.regex.clone()))
    }

    /// The words of `regex` that have a neighbour of `allowed` at their left inner side: that start with a
    /// character of one of its cells, or, for the edge, are empty.
    pub(crate) fn starting(&self, regex: &Regex, allowed: Mask) -> Regex {
        let first = first_bytes(regex);
        let possible = self.possible(regex, |cell| cell.first.intersects(&first));
        self.restrict(regex, possible, allowed, |chars| Regex::concat([chars, Regex::any_text()]))
    }

    /// The words of `regex` that end in a character of a cell of `allowed` or, for the edge, are empty.
    pub(crate) fn ending(&self, regex: &Regex, allowed: Mask) -> Regex {
        let last = last_bytes(regex);
        let possible = self.possible(regex, |cell| cell.last.intersects(&last));
        self.restrict(regex, possible, allowed, |chars| Regex::concat([Regex::any_text(), chars]))
    }

    /// The neighbours at an end of the words of `regex`; perhaps more.
    fn possible(&self, regex: &Regex, can_be: impl Fn(&Cell) -> bool) -> Mask {
        let edge = if regex.is_nullable() { EDGE } else { 0 };
        let cells = self.cells.iter().enumerate().filter(|(_, cell)| can_be(cell));
        cells.fold(edge, |mask, (idx, _)| mask | 1 << (idx + 1))
    }

    fn restrict(
        &self,
        regex: &Regex,
        possible: Mask,
        allowed: Mask,
        texts: impl Fn(Regex) -> Regex,
    ) -> Regex {
        let kept = possible & allowed;
        if kept == possible {
            return regex.clone();
        }
        if kept & !EDGE == 0 {
            // `possible` has the edge just if the empty word is in the language.
            return if kept == 0 { Regex::empty() } else { Regex::epsilon() };
        }
        if possible & !EDGE == kept {
            return nonempty(regex);
        }
        let edge = if kept & EDGE != 0 { Regex::epsilon() } else { Regex::empty() };
        let texts = Regex::union([edge, texts(self.char_of(allowed))]);
        if *regex == Regex::any_text() { texts } else { Regex::intersection([regex.clone(), texts]) }
    }
}

/// The words of `regex` but the empty one.
pub(crate) fn nonempty(regex: &Regex) -> Regex {
    if !regex.is_nullable() {
        return regex.clone();
    }
    match regex.node() {
        Node::Epsilon => Regex::empty(),
        Node::Words(words) => Regex::words(words.iter().filter(|word| !word.is_empty()).cloned()),
        Node::Repeat { inner, max, .. } => nonempty(inner).repeat(1, *max),
        Node::Union(parts) => Regex::union(parts.iter().map(nonempty)),
        _ => Regex::intersection([regex.clone(), Regex::any_char().plus()]),
    }
}

/// The first and the last bytes of the UTF-8 of a class's characters.
fn outer_bytes(class: &ClassUnicode) -> (ByteSet, ByteSet) {
    let (mut first, mut last) = (ByteSet::EMPTY, ByteSet::EMPTY);
    for range in class.iter() {
        let lead = |c: char| c.encode_utf8(&mut [0; 4]).as_bytes()[0];
        // Lead bytes grow with the code points.
        first = first.union(&ByteSet::range(lead(range.start()), lead(range.end())));
        if range.start().is_ascii() {
            last = last.union(&ByteSet::range(range.start() as u8, range.end().min('\x7F') as u8));
        }
        if !range.end().is_ascii() {
            last = last.union(&ByteSet::range(0x80, 0xBF));
        }
    }
    (first, last)
}

/// The bytes that words of `regex` start with; perhaps more.
pub(crate) fn first_bytes(regex: &Regex) -> ByteSet {
    outer(regex, &|word| word.first().copied(), false, &mut 0)
}

/// The bytes that words of `regex` end with; perhaps more.
fn last_bytes(regex: &Regex) -> ByteSet {
    outer(regex, &|word| word.last().copied(), true, &mut 0)
}

/// The bytes at one end. Recurses on the nesting of the expression, which the pattern's bounds, and gives up
/// (all bytes) after [`MAX_VISITS`] nodes: shared parts can make the tree exponentially larger than it is.
fn outer(
    regex: &Regex,
    of_word: &dyn Fn(&[u8]) -> Option<u8>,
    is_reversed: bool,
    n_visits: &mut usize,
) -> ByteSet {
    *n_visits += 1;
    if *n_visits > MAX_VISITS {
        return ByteSet::FULL;
    }
    match regex.node() {
        Node::Empty | Node::Epsilon => ByteSet::EMPTY,
        Node::Bytes(set) => *set,
        Node::Literal(word) => of_word(word).into_iter().collect(),
        Node::Words(words) => words.iter().filter_map(|word| of_word(word)).collect(),
        Node::Concat(parts) => {
            let mut bytes = ByteSet::EMPTY;
            for idx in 0..parts.len() {
                let part = &parts[if is_reversed { parts.len() - 1 - idx } else { idx }];
                bytes = bytes.union(&outer(part, of_word, is_reversed, n_visits));
                if !part.is_nullable() {
                    break;
                }
            }
            bytes
        }
        Node::Union(parts) => parts
            .iter()
            .fold(ByteSet::EMPTY, |bytes, part| bytes.union(&outer(part, of_word, is_reversed, n_visits))),
        Node::Intersection(parts) => parts.iter().fold(ByteSet::FULL, |bytes, part| {
            bytes.intersection(&outer(part, of_word, is_reversed, n_visits))
        }),
        Node::Complement(_) => ByteSet::FULL,
        Node::Repeat { inner, .. } => outer(inner, of_word, is_reversed, n_visits),
    }
}
