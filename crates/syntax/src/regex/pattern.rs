//! What every dialect is parsed to: plain languages joined by what looks at the text around a place.
//!
//! The constructors merge whatever has no assertion into one [`Regex`] at once, so that the tree has as many
//! nodes as the pattern has assertions, about; [`lower`](super::lower) then resolves these.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use maskwright_automata::Regex;
use regex_syntax::hir::ClassUnicode;

/// A pattern whose assertions are not yet resolved.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// One character of a set, and the set.
    Char(Regex, Arc<ClassUnicode>),
    /// A language without assertions.
    Plain(Regex),
    /// A condition on the characters beside a place.
    Beside(Beside),
    /// A condition on more than one character before a place.
    Behind {
        /// The look-behind that the text before must match at its end.
        id: BehindId,
        /// Whether it must not match.
        is_negative: bool,
    },
    /// A condition on the text that follows a place.
    Ahead {
        /// What the following text begins with.
        inner: Box<Pattern>,
        /// Whether it must not.
        is_negative: bool,
    },
    /// One after the other.
    Concat(Vec<Pattern>),
    /// Any of them.
    Alternation(Vec<Pattern>),
    /// At least `min` and at most `max` copies; assertions are inside.
    Repeat {
        /// What is repeated.
        inner: Box<Pattern>,
        /// The least number of copies.
        min: u32,
        /// The greatest number of copies; `None`: any number.
        max: Option<u32>,
        /// Where it is written (bytes), for messages.
        span: Range<usize>,
    },
}

/// Names a set of characters in [`Sets`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SetId(pub(crate) usize);

/// A condition on the characters on the two sides of a place. Beyond an end of the text no character stands,
/// so none is in any set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beside {
    /// The text starts here.
    Start,
    /// The text ends here.
    End,
    /// The text starts here, or a character of the set (the line feed) is on the left.
    StartOrAfter(SetId),
    /// The text ends here, or a character of the set (the line feed) is on the right.
    EndOrBefore(SetId),
    /// On exactly one side a character of the set.
    Boundary(SetId),
    /// On both sides, or on none, a character of the set.
    NotBoundary(SetId),
    /// A character of the set on the left.
    After(SetId),
    /// No character of the set on the left.
    NotAfter(SetId),
    /// A character of the set on the right.
    Before(SetId),
    /// No character of the set on the right.
    NotBefore(SetId),
    /// None on the left and one on the right.
    Opening(SetId),
    /// One on the left and none on the right.
    Closing(SetId),
}

/// Names a look-behind in [`Sets`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BehindId(pub(crate) usize);

/// The pattern of a look-behind.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    /// Each of its characters is a separate [`Pattern::Char`].
    pub(crate) inner: Pattern,
    /// Its byte range in the pattern, for messages.
    pub(crate) span: Range<usize>,
}

/// The sets of characters that a pattern's conditions name, and its look-behinds.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sets {
    sets: Vec<ClassUnicode>,
    /// Inner look-behinds come before those that contain them.
    behinds: Vec<Behind>,
}

impl Sets {
    /// The id of `set`.
    pub(crate) fn id(&mut self, set: ClassUnicode) -> SetId {
        let idx = self.sets.iter().position(|known| *known == set).unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        SetId(idx)
    }

    /// The sets, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ClassUnicode> {
        self.sets.iter()
    }

    /// The condition that the text before ends with `inner`, or doesn't, written at `span`.
    pub(crate) fn behind(&mut self, inner: Pattern, is_negative: bool, span: Range<usize>) -> Pattern {
        self.add_classes(&inner);
        self.behinds.push(Behind { inner, span });
        Pattern::Behind { id: BehindId(self.behinds.len() - 1), is_negative }
    }

    /// The look-behinds, by id.
    pub(crate) fn behinds(&self) -> &[Behind] {
        &self.behinds
    }

    /// Adds the classes of the pattern. Recurses on its nesting, which the parser limits.
    fn add_classes(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Char(_, class) => {
                self.id(ClassUnicode::clone(class));
            }
            Pattern::Concat(parts) | Pattern::Alternation(parts) => {
                parts.iter().for_each(|part| self.add_classes(part));
            }
            Pattern::Repeat { inner, .. } | Pattern::Ahead { inner, .. } => self.add_classes(inner),
            Pattern::Plain(_) | Pattern::Beside(_) | Pattern::Behind { .. } => {}
        }
    }
}

/// A class that was met before.
type Known = (Regex, Arc<ClassUnicode>);

/// The classes of a pattern, each kept once: `\p{L}` written a thousand times is one expression.
#[derive(Default, Debug)]
pub(crate) struct Classes {
    known: HashMap<Vec<(char, char)>, Known>,
    n_ranges: usize,
}

impl Classes {
    /// The most ranges of characters in all distinct classes of a pattern.
    pub(crate) const MAX_RANGES: usize = 1 << 17;

    /// One character of `class`; `None` if the classes have become too large.
    pub(crate) fn pattern(&mut self, class: ClassUnicode) -> Option<Pattern> {
        let ranges: Vec<(char, char)> = class.iter().map(|range| (range.start(), range.end())).collect();
        if let Some((regex, class)) = self.known.get(&ranges) {
            return Some(Pattern::Char(regex.clone(), Arc::clone(class)));
        }
        self.n_ranges += ranges.len();
        if self.n_ranges > Self::MAX_RANGES {
            return None;
        }
        let entry = (Regex::char_class(&ranges), Arc::new(class));
        self.known.insert(ranges, entry.clone());
        Some(Pattern::Char(entry.0, entry.1))
    }
}

/// One character of `class`.
pub(crate) fn class_regex(class: &ClassUnicode) -> Regex {
    let ranges: Vec<(char, char)> = class.iter().map(|range| (range.start(), range.end())).collect();
    Regex::char_class(&ranges)
}

impl Pattern {
    /// The empty text.
    pub(crate) fn epsilon() -> Pattern {
        Pattern::Plain(Regex::epsilon())
    }

    /// The language, if there is no assertion.
    pub(crate) fn as_plain(&self) -> Option<&Regex> {
        match self {
            Pattern::Char(regex, _) | Pattern::Plain(regex) => Some(regex),
            _ => None,
        }
    }

    /// One after the other.
    pub(crate) fn concat(parts: impl IntoIterator<Item = Pattern>) -> Pattern {
        let mut flat: Vec<Pattern> = Vec::new();
        // A run of parts without assertions becomes one language when it ends; joining them one by one
        // would take quadratic time.
        let mut run: Vec<Pattern> = Vec::new();
        let flush = |run: &mut Vec<Pattern>, flat: &mut Vec<Pattern>| match run.len() {
            0 => {}
            1 => flat.extend(run.pop()),
            _ => flat.push(Pattern::Plain(Regex::concat(
                run.drain(..).filter_map(|part| part.as_plain().cloned()),
            ))),
        };
        let mut stack: Vec<std::vec::IntoIter<Pattern>> =
            vec![parts.into_iter().collect::<Vec<_>>().into_iter()];
        while let Some(top) = stack.last_mut() {
            match top.next() {
                None => drop(stack.pop()),
                Some(Pattern::Concat(inner)) => stack.push(inner.into_iter()),
                Some(Pattern::Plain(regex)) if regex == Regex::epsilon() => {}
                Some(part) if part.as_plain().is_some() => run.push(part),
                Some(part) => {
                    flush(&mut run, &mut flat);
                    flat.push(part);
                }
            }
        }
        flush(&mut run, &mut flat);
        match flat.len() {
            0 => Pattern::epsilon(),
            1 => flat.swap_remove(0),
            _ => Pattern::Concat(flat),
        }
    }

    /// Any of them.
    pub(crate) fn alternation(mut parts: Vec<Pattern>) -> Pattern {
        if parts.len() == 1 {
            return parts.swap_remove(0);
        }
        let classes = parts.iter().map(|part| match part {
            Pattern::Char(_, class) => Some(class.ranges()),
            _ => None,
        });
        if let Some(classes) = classes.collect::<Option<Vec<_>>>() {
            let class = ClassUnicode::new(classes.concat());
            return Pattern::Char(class_regex(&class), Arc::new(class));
        }
        let (plain, mut other): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.as_plain().is_some());
        if !plain.is_empty() {
            other
                .push(Pattern::Plain(Regex::union(plain.iter().filter_map(|part| part.as_plain().cloned()))));
        }
        match other.len() {
            0 => Pattern::Plain(Regex::empty()),
            1 => other.swap_remove(0),
            _ => Pattern::Alternation(other),
        }
    }

    /// A concatenation that keeps its parts separate, as look-behinds require.
    pub(crate) fn kept_concat(mut parts: Vec<Pattern>) -> Pattern {
        match parts.len() {
            0 => Pattern::epsilon(),
            1 => parts.swap_remove(0),
            _ => Pattern::Concat(parts),
        }
    }

    /// An alternation that keeps its parts separate unless all are single characters, as look-behinds
    /// require.
    pub(crate) fn kept_alternation(parts: Vec<Pattern>) -> Pattern {
        if parts.len() == 1 || parts.iter().all(|part| matches!(part, Pattern::Char(..))) {
            return Pattern::alternation(parts);
        }
        Pattern::Alternation(parts)
    }

    /// A repetition that keeps its content separate.
    pub(crate) fn kept_repeat(self, min: u32, max: Option<u32>, span: Range<usize>) -> Pattern {
        if (min, max) == (1, Some(1)) {
            return self;
        }
        Pattern::Repeat { inner: Box::new(self), min, max, span }
    }

    /// At least `min` and at most `max` copies, `min <= max`, written at `span`.
    pub(crate) fn repeat(self, min: u32, max: Option<u32>, span: Range<usize>) -> Pattern {
        if let Some(regex) = self.as_plain() {
            return Pattern::Plain(regex.repeat(min, max));
        }
        if max == Some(0) {
            return Pattern::epsilon();
        }
        if (min, max) == (1, Some(1)) {
            return self;
        }
        if !self.can_consume() {
            // A condition that holds once holds again at the same place.
            return if min == 0 { Pattern::epsilon() } else { self };
        }
        Pattern::Repeat { inner: Box::new(self), min, max, span }
    }

    /// Whether any character can be consumed (may say yes where none can).
    pub(crate) fn can_consume(&self) -> bool {
        match self {
            Pattern::Char(..) => true,
            Pattern::Plain(regex) => *regex != Regex::epsilon(),
            Pattern::Beside(_) | Pattern::Behind { .. } | Pattern::Ahead { .. } => false,
            Pattern::Concat(parts) | Pattern::Alternation(parts) => parts.iter().any(Pattern::can_consume),
            Pattern::Repeat { inner, .. } => inner.can_consume(),
        }
    }

    /// Whether a condition on the following text occurs.
    pub(crate) fn has_ahead(&self) -> bool {
        match self {
            Pattern::Char(..) | Pattern::Plain(_) | Pattern::Beside(_) | Pattern::Behind { .. } => false,
            Pattern::Ahead { .. } => true,
            Pattern::Concat(parts) | Pattern::Alternation(parts) => parts.iter().any(Pattern::has_ahead),
            Pattern::Repeat { inner, .. } => inner.has_ahead(),
        }
    }
}
