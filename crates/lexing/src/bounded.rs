//! Words of bounded length with conditions on the text around them: the words that a lookbehind can look for.
//!
//! A *neighbour* of a place is a character of one of finitely many cells, or the edge of the text. Beyond an
//! edge there are only edges. A set of neighbours is a [`Sides`], and a list of such sets, the nearest first,
//! is a condition on the text on one side of a place. A pattern without unbounded repetition, even with
//! assertions inside, is a finite union of sequences of such sets ([`BoundedWords`]): `\bab` is "no word
//! character or the edge, then `a`, then `b`". So assertions inside lookbehinds need no automata of their
//! own.
//!
//! [`without_look_ahead`] rewrites a lookbehind as a [`Pattern`] without lookaheads inside lookbehinds, as
//! the lexer requires.

use maskwright_automata::Fuel;
use regex_syntax::hir::ClassUnicode;

use crate::characters::{any, of_ranges, ranges_of};
use crate::{Pattern, PatternNode};

/// A set of neighbours: bit 0 for the edge of the text, bit `i + 1` for the characters of cell `i`.
pub type Sides = u64;

/// The edge of the text.
pub const EDGE: Sides = 1;

/// The most cells of characters.
pub const MAX_CELLS: usize = 62;

/// The most sequences of one pattern.
const MAX_SEQUENCES: usize = 512;

/// The most pairs of sequences that one operation joins.
const MAX_PAIRS: usize = 8_192;

/// The most characters of one sequence, the text around the word included.
const MAX_LENGTH: usize = 512;

/// A word, and the conditions on the text around it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BoundedWord {
    /// The text before, the nearest neighbour first.
    pub before: Vec<Sides>,
    /// The characters of the word, in order; none is the edge.
    word: Vec<Sides>,
    /// The text after, the nearest neighbour first.
    pub after: Vec<Sides>,
}

/// A finite union of sequences of sets of neighbours. Operations return `None` if the result has too many
/// sequences.
///
/// ```
/// use maskwright_lexing::{BoundedWords, EDGE};
/// // Cell 0 has the character `a`, cell 1 all others: (?<=^a|[^a]) looks at two characters at most.
/// let (a, other) = (BoundedWords::one(0b111, 0b010), BoundedWords::one(0b111, 0b100));
/// let start = BoundedWords::beside(0b111, EDGE, 0b111);
/// let found = start.then(&a).and_then(|first| first.or(&other)).and_then(|both| both.look(false, false)).unwrap();
/// let before: Vec<&[u64]> = found.words().iter().map(|word| &word.before[..]).collect();
/// assert_eq!(before, [&[0b010, EDGE][..], &[0b100]]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoundedWords {
    /// All neighbours.
    all: Sides,
    words: Vec<BoundedWord>,
}

impl BoundedWords {
    /// No word. `all` is the set of all neighbours.
    pub fn never(all: Sides) -> BoundedWords {
        BoundedWords { all, words: Vec::new() }
    }

    /// The empty word, anywhere.
    pub fn empty(all: Sides) -> BoundedWords {
        BoundedWords::beside(all, all, all)
    }

    /// One character of `cells`.
    pub fn one(all: Sides, cells: Sides) -> BoundedWords {
        let word = BoundedWord { before: Vec::new(), word: vec![cells & !EDGE], after: Vec::new() };
        BoundedWords { all, words: Vec::from_iter(word.tidied(all)) }
    }

    /// The empty word, with one of `before` on its left and one of `after` on its right.
    pub fn beside(all: Sides, before: Sides, after: Sides) -> BoundedWords {
        let word = BoundedWord { before: vec![before], word: Vec::new(), after: vec![after] };
        BoundedWords { all, words: Vec::from_iter(word.tidied(all)) }
    }

    /// The sequences, one of which must hold.
    pub fn words(&self) -> &[BoundedWord] {
        &self.words
    }

    /// These words or those of `other`.
    pub fn or(&self, other: &BoundedWords) -> Option<BoundedWords> {
        self.made(self.words.iter().chain(&other.words).cloned())
    }

    /// These words, each followed by one of `other`.
    pub fn then(&self, other: &BoundedWords) -> Option<BoundedWords> {
        let all = self.all;
        if self.words.len() * other.words.len() > MAX_PAIRS {
            return None;
        }
        let pairs = self.words.iter().flat_map(|first| other.words.iter().map(move |second| (first, second)));
        self.made(pairs.filter_map(|(first, second)| first.then(second, all)))
    }

    /// At least `min` and at most `max` copies in a row; also `None` if there is no bound on the length.
    pub fn repeat(&self, min: u32, max: Option<u32>) -> Option<BoundedWords> {
        let is_condition = self.words.iter().all(|word| word.word.is_empty());
        // A condition that holds once holds again at the same place.
        let max = if is_condition { max.unwrap_or(1).min(1) } else { max? };
        let min = if is_condition { min.min(1) } else { min };
        let mut words = BoundedWords::empty(self.all);
        for _ in min..max {
            words = BoundedWords::empty(self.all).or(&self.then(&words)?)?;
        }
        for _ in 0..min {
            words = self.then(&words)?;
        }
        Some(words)
    }

    /// An assertion, as empty words with conditions around them: the text after the place begins with one of
    /// these words (`ahead`), or the text before it ends with one, or it does not (`negated`).
    pub fn look(&self, ahead: bool, negated: bool) -> Option<BoundedWords> {
        let found = self.words.iter().map(|word| word.looked_for(ahead));
        let found = self.made(found.filter_map(|word| word.tidied(self.all)))?;
        if !negated {
            return Some(found);
        }
        // None of them holds if each fails at one of its neighbours.
        let mut none = BoundedWords::empty(self.all);
        for word in &found.words {
            none = none.then(&BoundedWords { all: self.all, words: word.failures(self.all) })?;
        }
        Some(none)
    }

    /// The union of `words`, without words that another one covers.
    fn made(&self, words: impl Iterator<Item = BoundedWord>) -> Option<BoundedWords> {
        let mut kept: Vec<BoundedWord> = Vec::new();
        for word in words {
            if word.before.len() + word.word.len() + word.after.len() > MAX_LENGTH {
                return None;
            }
            if kept.iter().any(|known| known.covers(&word)) {
                continue;
            }
            kept.retain(|known| !word.covers(known));
            kept.push(word);
            if kept.len() > MAX_SEQUENCES {
                return None;
            }
        }
        kept.sort_unstable();
        Some(BoundedWords { all: self.all, words: kept })
    }
}

impl BoundedWord {
    /// The word followed by `next`, if they can be adjacent.
    fn then(&self, next: &BoundedWord, all: Sides) -> Option<BoundedWord> {
        let mut left: Vec<Sides> = self.word.iter().rev().chain(&self.before).copied().collect();
        let mut right: Vec<Sides> = next.word.iter().chain(&next.after).copied().collect();
        overlay(&mut left, &next.before, all);
        overlay(&mut right, &self.after, all);
        let before = left.split_off(self.word.len());
        let after = right.split_off(next.word.len());
        left.reverse();
        left.append(&mut right);
        BoundedWord { before, word: left, after }.tidied(all)
    }

    /// The condition that this word is found before or after a place.
    fn looked_for(&self, ahead: bool) -> BoundedWord {
        let BoundedWord { before, word, after } = self.clone();
        if ahead {
            return BoundedWord { before, word: Vec::new(), after: [word, after].concat() };
        }
        BoundedWord { before: word.into_iter().rev().chain(before).collect(), word: Vec::new(), after }
    }

    /// Conditions, at least one of which holds wherever this condition doesn't.
    fn failures(&self, all: Sides) -> Vec<BoundedWord> {
        let at = |index: usize, sides: Sides| {
            let mut list = vec![all; index];
            list.push(all & !sides);
            list
        };
        let before = self.before.iter().enumerate().map(|(index, &sides)| (at(index, sides), Vec::new()));
        let after = self.after.iter().enumerate().map(|(index, &sides)| (Vec::new(), at(index, sides)));
        let fails = |(before, after)| BoundedWord { before, word: Vec::new(), after }.tidied(all);
        before.chain(after).filter_map(fails).collect()
    }

    /// The same in its shortest form; `None` if nothing fits it.
    fn tidied(mut self, all: Sides) -> Option<BoundedWord> {
        let is_possible = tidy(&mut self.before, all) && tidy(&mut self.after, all);
        (is_possible && self.word.iter().all(|&sides| sides & !EDGE != 0)).then_some(self)
    }

    /// Whether whatever fits `other` fits this word too.
    fn covers(&self, other: &BoundedWord) -> bool {
        let lists = [(&self.before, &other.before), (&self.after, &other.after)];
        self.word.len() == other.word.len()
            && self.word.iter().zip(&other.word).all(|(ours, theirs)| theirs & !ours == 0)
            && lists.iter().all(|(ours, theirs)| {
                // There is no condition beyond the end of a list.
                ours.len() <= theirs.len()
                    && ours.iter().zip(*theirs).all(|(ours, theirs)| theirs & !ours == 0)
            })
    }
}

/// Adds the condition `more`.
fn overlay(list: &mut Vec<Sides>, more: &[Sides], all: Sides) {
    list.resize(list.len().max(more.len()), all);
    for (sides, more) in list.iter_mut().zip(more) {
        *sides &= more;
    }
}

/// Brings a condition on one side into its shortest form; false if nothing meets it.
fn tidy(list: &mut Vec<Sides>, all: Sides) -> bool {
    // Between a place and a required character there is no edge.
    let n_chars = list.iter().rposition(|sides| sides & EDGE == 0).map_or(0, |last| last + 1);
    list.iter_mut().take(n_chars).for_each(|sides| *sides &= !EDGE);
    if list.contains(&0) {
        return false;
    }
    // Beyond an edge there are only edges.
    if let Some(edge) = list.iter().position(|&sides| sides == EDGE) {
        list.truncate(edge + 1);
    }
    while list.last() == Some(&all) {
        list.pop();
    }
    true
}

/// The lookbehind for `inner`, which looks ahead, without lookaheads inside lookbehinds.
///
/// # Errors
/// A message, if it has no bounded width or takes too many sequences.
pub(crate) fn without_look_ahead(
    inner: &Pattern,
    negated: bool,
    fuel: &Fuel,
) -> Result<Pattern, &'static str> {
    const TOO_MANY: &str = "this lookbehind has a lookahead inside and too many variants, or no greatest length; write it as \
                            several shorter ones";
    let mut cells = vec![any()];
    split(inner, &mut cells)
        .ok_or("this lookbehind has a lookahead inside and tells too many characters apart")?;
    let all = (1 << (cells.len() + 1)) - 1;
    let words =
        bounded(inner, &cells, all, fuel).and_then(|words| words.look(false, false)).ok_or(TOO_MANY)?;
    let class = |sides: Sides| {
        let mut class = ClassUnicode::empty();
        for (_, cell) in cells.iter().enumerate().filter(|(index, _)| sides >> (index + 1) & 1 != 0) {
            class.union(cell);
        }
        Pattern::char_class(&ranges_of(&class))
    };
    // The conditions on the text before, grouped by the condition on the text after.
    let mut conditions: Vec<(&[Sides], Vec<Pattern>)> = Vec::new();
    for word in words.words() {
        let before = alternatives(&word.before, true, &class);
        match conditions.iter_mut().find(|(after, _)| *after == word.after) {
            Some((_, befores)) => befores.extend(before),
            None => conditions.push((&word.after, before)),
        }
    }
    let condition = |(after, before): (&[Sides], Vec<Pattern>)| {
        let before = Pattern::alternation(before).look_behind(negated);
        if after.is_empty() {
            return before;
        }
        let after = Pattern::alternation(alternatives(after, false, &class)).look_ahead(negated);
        if negated { Pattern::alternation([before, after]) } else { Pattern::concat([before, after]) }
    };
    if conditions.is_empty() && !negated {
        // The assertion never holds. It stays a lookbehind because it has no width.
        return Ok(Pattern::never().look_behind(false));
    }
    let conditions = conditions.into_iter().map(condition);
    Ok(if negated { Pattern::concat(conditions) } else { Pattern::alternation(conditions) })
}

/// The patterns of a condition on one side, one for each number of characters before the edge.
fn alternatives(list: &[Sides], is_before: bool, class: &impl Fn(Sides) -> Pattern) -> Vec<Pattern> {
    let mut found = Vec::new();
    for n_chars in (0..=list.len()).rev() {
        if list[n_chars..].iter().any(|sides| sides & EDGE == 0) {
            break;
        }
        if list[..n_chars].contains(&EDGE) {
            continue;
        }
        let mut parts: Vec<Pattern> = list[..n_chars].iter().map(|&sides| class(sides)).collect();
        if n_chars < list.len() {
            let any = Pattern::char_class(&[('\0', char::MAX)]);
            parts.push(if is_before { any.look_behind(true) } else { any.look_ahead(true) });
        }
        if is_before {
            parts.reverse();
        }
        found.push(Pattern::concat(parts));
    }
    found
}

/// Splits `cells` so that no class of `pattern` separates two characters of one cell; `None` if that makes
/// too many cells.
fn split(pattern: &Pattern, cells: &mut Vec<ClassUnicode>) -> Option<()> {
    match pattern.node() {
        PatternNode::Empty => Some(()),
        PatternNode::Bytes(_) => None,
        PatternNode::Class(ranges) => split_by(&of_ranges(ranges.iter().copied()), cells),
        PatternNode::Literal(word) => {
            std::str::from_utf8(word).ok()?.chars().try_for_each(|c| split_by(&of_ranges([(c, c)]), cells))
        }
        PatternNode::Concat(parts) | PatternNode::Alternation(parts) => {
            parts.iter().try_for_each(|part| split(part, cells))
        }
        PatternNode::Repeat { inner, .. } | PatternNode::Look { inner, .. } => split(inner, cells),
    }
}

fn split_by(class: &ClassUnicode, cells: &mut Vec<ClassUnicode>) -> Option<()> {
    let halves = cells.iter().flat_map(|cell| {
        let (mut inside, mut outside) = (cell.clone(), cell.clone());
        inside.intersect(class);
        outside.difference(class);
        [inside, outside]
    });
    *cells = halves.filter(|cell| !cell.ranges().is_empty()).collect();
    (cells.len() <= MAX_CELLS).then_some(())
}

/// The words of `pattern` over `cells`, none of which it splits.
fn bounded(pattern: &Pattern, cells: &[ClassUnicode], all: Sides, fuel: &Fuel) -> Option<BoundedWords> {
    let one = |class: &ClassUnicode| {
        let is_inside = |cell: &ClassUnicode| {
            let mut common = cell.clone();
            common.intersect(class);
            !common.ranges().is_empty()
        };
        let inside = cells.iter().enumerate().filter(|(_, cell)| is_inside(cell));
        BoundedWords::one(all, inside.fold(0, |sides, (index, _)| sides | 1 << (index + 1)))
    };
    let words = match pattern.node() {
        PatternNode::Empty => BoundedWords::empty(all),
        PatternNode::Bytes(_) => return None,
        PatternNode::Class(ranges) => one(&of_ranges(ranges.iter().copied())),
        PatternNode::Literal(word) => {
            let chars = std::str::from_utf8(word).ok()?.chars();
            let mut words = BoundedWords::empty(all);
            for c in chars {
                words = words.then(&one(&of_ranges([(c, c)])))?;
            }
            words
        }
        PatternNode::Concat(parts) => {
            let mut words = BoundedWords::empty(all);
            for part in parts {
                words = words.then(&bounded(part, cells, all, fuel)?)?;
            }
            words
        }
        PatternNode::Alternation(parts) => {
            let mut words = BoundedWords::never(all);
            for part in parts {
                words = words.or(&bounded(part, cells, all, fuel)?)?;
            }
            words
        }
        PatternNode::Repeat { inner, min, max, .. } => {
            bounded(inner, cells, all, fuel)?.repeat(*min, *max)?
        }
        PatternNode::Look { ahead, negated, inner } => {
            bounded(inner, cells, all, fuel)?.look(*ahead, *negated)?
        }
    };
    let cost = words.words().len() as u64;
    fuel.spend(1 + cost * cost).ok()?;
    Some(words)
}
