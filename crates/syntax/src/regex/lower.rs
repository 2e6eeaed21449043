//! Resolves a pattern's assertions: from [`Pattern`] to [`Regex`], exactly.
//!
//! A node is lowered together with *what follows it*: given, for each left neighbour (the edge of the text or
//! a kind of character), the language of texts that may follow the node, `lower` gives, again for each left
//! neighbour, the language of texts that start with a match of the node and go on so. An assertion then only
//! restricts what follows: `$` keeps the empty text, `(?=y)` keeps what is in `y·any`, `\b` keeps what starts
//! with the right kind of character, and `^` keeps all or nothing by the left neighbour. Text in front of an
//! assertion is told apart by its last character. The result for the left edge is the pattern's language.
//!
//! If a look-behind needs more than one character, left neighbours are not enough. `Contexts` (`behind.rs`)
//! then take their place: everything said here about left neighbours holds for contexts.
//!
//! A bounded repetition around assertions is unrolled; an unbounded one is a fixed point, solved in
//! [`repeat`](super::repeat). Where an expression would grow too large, an error says so.
//!
//! Rejected: marker bytes at both ends of the text. Erasing them again is not an operation of the algebra.

use std::ops::Range;

use maskwright_automata::{Fuel, Node, Regex};
use regex_syntax::hir::ClassUnicode;

use super::behind::Contexts;
use super::neighbour::{Mask, Neighbours, nonempty};
use super::pattern::{BehindId, Pattern, Sets};
use crate::error::Fault;

/// The texts that may follow a place, by its left neighbour (index 0: the edge of the text), or by its
/// context.
pub(crate) type Rest = Vec<Regex>;

/// The largest expressions that one step of resolving assertions may make, together, in nodes; parts that
/// are shared count as often as they occur.
const MAX_SIZE: u64 = 1 << 24;

/// How many nodes of shared expressions are made for a work unit; most are pointers to known parts.
const NODES_PER_UNIT: u64 = 256;

/// How often a repetition with an assertion inside is unrolled.
const MAX_COPIES: u32 = 256;

/// The texts that `pattern` matches from their start, followed by any of `rest`.
pub(crate) fn lower(
    pattern: &Pattern,
    sets: &Sets,
    whole: Range<usize>,
    fuel: &Fuel,
) -> Result<Regex, Fault> {
    if let Some(regex) = pattern.as_plain() {
        return Ok(regex.clone());
    }
    let Some(neighbours) = Neighbours::new(sets) else {
        let message = "the pattern's assertions tell too many kinds of characters apart, more than the limit";
        return Err(Fault::limit(whole, message));
    };
    let contexts = Contexts::new(pattern, sets, &neighbours, fuel)?;
    let end = vec![Regex::epsilon(); contexts.len()];
    let lowering = Lowering { neighbours, contexts, fuel, whole };
    Ok(lowering.lower(pattern, &end)?.swap_remove(0))
}

/// What lowering one pattern needs.
pub(crate) struct Lowering<'a> {
    /// The kinds of characters that its conditions tell apart.
    pub(crate) neighbours: Neighbours,
    /// The classes of texts before a place that the pattern's conditions distinguish.
    pub(crate) contexts: Contexts,
    pub(crate) fuel: &'a Fuel,
    /// Where the pattern is (bytes), for errors that concern all of it.
    pub(crate) whole: Range<usize>,
}

impl Lowering<'_> {
    /// The texts that start with a match of `pattern` and go on with `rest`, by left neighbour.
    ///
    /// Recurses on the nesting of the pattern, which its parser limits.
    pub(crate) fn lower(&self, pattern: &Pattern, rest: &Rest) -> Result<Rest, Fault> {
        self.fuel.spend(rest.len() as u64).map_err(|error| Fault::fuel(self.whole.clone(), error))?;
        let lowered = match pattern {
            Pattern::Char(regex, class) if self.contexts.look_back() => {
                self.char_in_context(class, regex, rest)
            }
            Pattern::Plain(regex) if self.contexts.look_back() => self.words_in_context(regex, rest)?,
            Pattern::Char(regex, _) | Pattern::Plain(regex) => self.then(regex, rest),
            Pattern::Beside(condition) => {
                let rights = |context| self.neighbours.rights(*condition, self.contexts.neighbour(context));
                let keep = |(context, regex)| self.neighbours.starting(regex, rights(context));
                rest.iter().enumerate().map(keep).collect()
            }
            Pattern::Behind { id, is_negative } => self.behind(*id, *is_negative, rest),
            Pattern::Ahead { inner, is_negative } => {
                let ahead = self.lower(inner, &vec![Regex::any_text(); rest.len()])?;
                rest.iter().zip(&ahead).map(|(rest, ahead)| look(rest, ahead, *is_negative)).collect()
            }
            Pattern::Concat(parts) => {
                let mut rest = rest.clone();
                for part in parts.iter().rev() {
                    rest = self.lower(part, &rest)?;
                }
                rest
            }
            Pattern::Alternation(parts) => {
                let parts: Vec<Rest> =
                    parts.iter().map(|part| self.lower(part, rest)).collect::<Result<_, _>>()?;
                (0..rest.len())
                    .map(|left| Regex::union(parts.iter().map(|part| part[left].clone())))
                    .collect()
            }
            Pattern::Repeat { inner, min, max, span } => {
                if min.max(&max.unwrap_or(0)) > &MAX_COPIES {
                    let message = format!(
                        "a repetition with an assertion inside is limited to {MAX_COPIES} copies, here {} are asked for",
                        min.max(&max.unwrap_or(0))
                    );
                    return Err(Fault::limit(span.clone(), message));
                }
                let mut after = match max {
                    None => self.star(inner, rest, span)?,
                    Some(max) => {
                        let mut after = rest.clone();
                        for _ in *min..*max {
                            after = union(rest, &self.lower(inner, &after)?);
                        }
                        after
                    }
                };
                for _ in 0..*min {
                    after = self.lower(inner, &after)?;
                }
                after
            }
        };
        self.check_size(&lowered)?;
        Ok(lowered)
    }

    /// The texts of `rest` at places where a look-behind holds, or doesn't.
    fn behind(&self, id: BehindId, is_negative: bool, rest: &Rest) -> Rest {
        let keep = |(context, rest): (usize, &Regex)| {
            if let Some(mask) = self.contexts.rights(id, context) {
                let all = self.neighbours.all();
                return self.neighbours.starting(rest, if is_negative { all & !mask } else { mask });
            }
            let ahead = self.contexts.afters(id, context).map(|after| self.neighbours.beginning(after));
            look(rest, &Regex::union(ahead), is_negative)
        };
        rest.iter().enumerate().map(keep).collect()
    }

    /// By context, a character of `class` (`regex` is the same class), then `rest`.
    fn char_in_context(&self, class: &ClassUnicode, regex: &Regex, rest: &Rest) -> Rest {
        let cells = self.neighbours.cells_of(class);
        let at = |context| {
            let groups = groups(rest.iter().enumerate()).into_iter().filter_map(|(group, inner)| {
                let mask = cells & self.contexts.cells_into(context, &group);
                let part = match mask {
                    0 => return None,
                    _ if mask == cells => regex.clone(),
                    _ => self.neighbours.part_of(class, mask),
                };
                Some(follow(&part, inner))
            });
            Regex::union(groups)
        };
        (0..rest.len()).map(at).collect()
    }

    /// By context, a word of `language`, then `rest`.
    fn words_in_context(&self, language: &Regex, rest: &Rest) -> Result<Rest, Fault> {
        let groups = groups(rest.iter().enumerate());
        if let [(_, inner)] = &groups[..] {
            return Ok(vec![follow(language, inner); rest.len()]);
        }
        let words: Option<Vec<&[u8]>> = match language.node() {
            Node::Literal(word) => Some(vec![word]),
            Node::Words(words) => Some(words.iter().map(|word| &word[..]).collect()),
            _ => None,
        };
        let mut lowered = Vec::with_capacity(rest.len());
        for context in 0..rest.len() {
            let mut parts = Vec::new();
            for (group, inner) in &groups {
                let words = match &words {
                    Some(words) => {
                        let ends_there = |word: &&&[u8]| self.contexts.after(context, word, &self.neighbours);
                        let words =
                            words.iter().filter(|word| ends_there(word).is_some_and(|end| group[end]));
                        Regex::words(words.map(|&word| Box::<[u8]>::from(word)))
                    }
                    None => self.leading(language, context, group)?,
                };
                if *words.node() != Node::Empty {
                    parts.push(follow(&words, inner));
                }
            }
            lowered.push(Regex::union(parts));
        }
        Ok(lowered)
    }

    /// The words of `language` that lead from `context` into `group`.
    pub(crate) fn leading(&self, language: &Regex, context: usize, group: &[bool]) -> Result<Regex, Fault> {
        let any = Regex::any_text();
        let texts = self.contexts.leading(context, group, &self.neighbours, self.fuel);
        let texts = texts.map_err(|error| Fault::fuel(self.whole.clone(), error))?;
        self.check_size(std::slice::from_ref(&texts))?;
        Ok(match () {
            () if texts == any || *language.node() == Node::Empty => language.clone(),
            () if *texts.node() == Node::Empty => texts,
            () if *language == any => texts,
            () if *language == Regex::epsilon() => {
                if group[context] {
                    Regex::epsilon()
                } else {
                    Regex::empty()
                }
            }
            () => Regex::intersection([language.clone(), texts]),
        })
    }

    /// Pays for expressions that were just made; an error if they have grown too large.
    pub(crate) fn check_size(&self, made: &[Regex]) -> Result<(), Fault> {
        let size = made.iter().fold(0u64, |sum, regex| sum.saturating_add(regex.size()));
        if size > MAX_SIZE {
            let message = format!(
                "the pattern's assertions expand it to {size} nodes, more than the limit of {MAX_SIZE}"
            );
            return Err(Fault::limit(self.whole.clone(), message));
        }
        self.fuel.spend(size / NODES_PER_UNIT).map_err(|error| Fault::fuel(self.whole.clone(), error))
    }

    /// A word of `language`, then `rest`.
    pub(crate) fn then(&self, language: &Regex, rest: &Rest) -> Rest {
        // Cells after which the same may follow need not be told apart.
        let mut groups: Vec<(Mask, &Regex)> = Vec::new();
        for (left, regex) in rest.iter().enumerate().skip(1) {
            match groups.iter_mut().find(|(_, known)| *known == regex) {
                Some((mask, _)) => *mask |= 1 << left,
                None => groups.push((1 << left, regex)),
            }
        }
        if let [(_, inner)] = groups[..] {
            let whole = follow(language, inner);
            if !language.is_nullable() || rest[0] == *inner {
                return vec![whole; rest.len()];
            }
            let mut lowered = vec![whole.clone(); rest.len()];
            let (at_edge, inside) = (members(&rest[0]), members(inner));
            lowered[0] = if inside.iter().all(|part| at_edge.contains(part)) {
                // What may follow inside may follow at the edge too, so the empty word needs no care.
                let is_any = *language == Regex::any_text();
                let more = at_edge.iter().filter(|part| !is_any || !inside.contains(part));
                Regex::union(more.cloned().chain([whole]))
            } else {
                Regex::union([rest[0].clone(), follow(&nonempty(language), inner)])
            };
            return lowered;
        }
        let words = nonempty(language);
        let after = Regex::union(
            groups.iter().map(|(mask, inner)| follow(&self.neighbours.ending(&words, *mask), inner)),
        );
        let is_nullable = language.is_nullable();
        let at = |rest: &Regex| {
            if is_nullable { Regex::union([rest.clone(), after.clone()]) } else { after.clone() }
        };
        rest.iter().map(at).collect()
    }
}

/// Groups the contexts by the texts that may follow.
fn groups<'r>(rest: impl ExactSizeIterator<Item = (usize, &'r Regex)>) -> Vec<(Vec<bool>, &'r Regex)> {
    let n_contexts = rest.len();
    let mut groups: Vec<(Vec<bool>, &Regex)> = Vec::new();
    for (context, regex) in rest {
        let known = groups.iter().position(|(_, known)| *known == regex).unwrap_or_else(|| {
            groups.push((vec![false; n_contexts], regex));
            groups.len() - 1
        });
        groups[known].0[context] = true;
    }
    groups
}

/// `first`, then `second`.
pub(crate) fn follow(first: &Regex, second: &Regex) -> Regex {
    let any = Regex::any_text();
    let starts_so = match second.node() {
        Node::Concat(parts) => parts[0] == any,
        _ => *second == any,
    };
    if *first == any && starts_so { second.clone() } else { Regex::concat([first.clone(), second.clone()]) }
}

/// The union, neighbour by neighbour.
pub(crate) fn union(first: &Rest, second: &Rest) -> Rest {
    first.iter().zip(second).map(|(a, b)| Regex::union([a.clone(), b.clone()])).collect()
}

/// The texts of `rest` that are in `ahead`, or are not.
fn look(rest: &Regex, ahead: &Regex, is_negative: bool) -> Regex {
    let (any, empty) = (Regex::any_text(), Regex::empty());
    let ahead = match (is_negative, *ahead == any, *ahead == empty) {
        (false, _, true) | (true, true, _) => return empty,
        (false, true, _) | (true, _, true) => return rest.clone(),
        (false, ..) => ahead.clone(),
        (true, ..) => ahead.complement(),
    };
    if *rest == any { ahead } else { Regex::intersection([rest.clone(), ahead]) }
}

/// The members of a union, or the language itself.
fn members(regex: &Regex) -> &[Regex] {
    match regex.node() {
        Node::Empty => &[],
        Node::Union(parts) => parts,
        _ => std::slice::from_ref(regex),
    }
}
