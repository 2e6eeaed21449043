//! What stands beside a place: an end of the text, or a character of one of finitely many kinds.
//!
//! The sets that a pattern's conditions name cut all characters into *cells*; characters of one cell are
//! alike for every condition. Index 0 is the edge of the text, index `i + 1` is cell `i`.

use maskwright_automata::{ByteSet, Node, Regex};
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::pattern::{Beside, SetId, Sets, class_regex};

/// A set of neighbours: bit 0 for the edge, bit `i + 1` for cell `i`.
pub(crate) type Mask = maskwright_lexing::Sides;
/// The edge of the text, as a [`Mask`].
pub(crate) const EDGE: Mask = maskwright_lexing::EDGE;
/// The most cells of a pattern without look-behinds of more than one character. Each condition can double
/// them.
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
    class: ClassUnicode,
    /// One character of the cell.
    regex: Regex,
    /// By set, whether the cell is inside it.
    sets: Vec<bool>,
    /// The first and the last bytes of its characters.
    first: ByteSet,
    last: ByteSet,
}

impl Neighbours {
    /// The cells of `sets`; `None` if there are too many.
    pub(crate) fn new(sets: &Sets) -> Option<Neighbours> {
        let all = ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]);
        let max_cells = if sets.behinds().is_empty() { MAX_CELLS } else { maskwright_lexing::MAX_CELLS };
        let mut cells: Vec<(ClassUnicode, Vec<bool>)> = vec![(all, Vec::new())];
        for set in sets.iter() {
            let mut split = Vec::with_capacity(cells.len() * 2);
            for (class, members) in cells {
                let (mut inside, mut outside) = (class.clone(), class);
                inside.intersect(set);
                outside.difference(set);
                let with = |is_inside| members.iter().copied().chain([is_inside]).collect();
                split.extend([(inside, with(true)), (outside, with(false))]);
            }
            split.retain(|(class, _)| !class.ranges().is_empty());
            cells = split;
            if cells.len() > max_cells {
                return None;
            }
        }
        let cells = cells
            .into_iter()
            .map(|(class, sets)| {
                let (first, last) = outer_bytes(&class);
                Cell { regex: class_regex(&class), class, sets, first, last }
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
        let has = |side: usize, set: SetId| side > 0 && self.cells[side - 1].sets[set.0];
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

    /// All neighbours.
    pub(crate) fn all(&self) -> Mask {
        self.all_cells() | EDGE
    }

    /// The cells that have characters of `class`.
    pub(crate) fn cells_of(&self, class: &ClassUnicode) -> Mask {
        let cells =
            self.cells.iter().enumerate().filter(|(_, cell)| !common(&cell.class, class).ranges().is_empty());
        cells.fold(0, |mask, (idx, _)| mask | 1 << (idx + 1))
    }

    /// The characters of `class` that are in cells of `mask`.
    pub(crate) fn part_of(&self, class: &ClassUnicode, mask: Mask) -> Regex {
        let mut chars = ClassUnicode::empty();
        for (_, cell) in self.cells.iter().enumerate().filter(|(idx, _)| mask >> (idx + 1) & 1 != 0) {
            chars.union(&common(&cell.class, class));
        }
        class_regex(&chars)
    }

    /// The neighbour that contains `char`.
    pub(crate) fn of_char(&self, char: char) -> usize {
        let has = |cell: &Cell| {
            let ranges = cell.class.ranges();
            let next = ranges.partition_point(|range| range.end() < char);
            ranges.get(next).is_some_and(|range| range.start() <= char)
        };
        self.cells.iter().position(has).map_or(0, |idx| idx + 1)
    }

    /// One character of the cells of `mask`.
    pub(crate) fn char_of(&self, mask: Mask) -> Regex {
        if mask & self.all_cells() == self.all_cells() {
            return Regex::any_char();
        }
        let cells = self.cells.iter().enumerate().filter(|(idx, _)| mask >> (idx + 1) & 1 != 0);
        Regex::union(cells.map(|(_, cell)| cell.regex.clone()))
    }

    /// The texts whose first neighbours are in these sets, the nearest first.
    pub(crate) fn beginning(&self, sides: &[Mask]) -> Regex {
        let (mut texts, mut may_end) = (Regex::any_text(), true);
        for &mask in sides.iter().rev() {
            may_end &= mask & EDGE != 0;
            let more = Regex::concat([self.char_of(mask), texts]);
            texts = if may_end { Regex::union([Regex::epsilon(), more]) } else { more };
        }
        texts
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

fn common(first: &ClassUnicode, second: &ClassUnicode) -> ClassUnicode {
    let mut common = first.clone();
    common.intersect(second);
    common
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
