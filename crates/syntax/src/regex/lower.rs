//! Resolves a pattern's assertions: from [`Pattern`] to [`Regex`], exactly.
//!
//! A node is lowered together with *what follows it*: given, for each left neighbour (the edge of the text or
//! a kind of character), the language of texts that may follow the node, `lower` gives, again for each left
//! neighbour, the language of texts that start with a match of the node and go on so. An assertion then only
//! restricts what follows: `$` keeps the empty text, `(?=y)` keeps what is in `y·any`, `\b` keeps what starts
//! with the right kind of character, and `^` keeps all or nothing by the left neighbour. Text in front of an
//! assertion is told apart by its last character. The result for the left edge is the pattern's language.
//!
//! A bounded repetition around assertions is unrolled; an unbounded one is a fixed point, solved in
//! [`repeat`](super::repeat). Where an expression would grow too large, an error says so.
//!
//! Rejected: marker bytes at both ends of the text. Erasing them again is not an operation of the algebra.

use std::ops::Range;

use maskwright_automata::{Fuel, Node, Regex};

use super::neighbour::{Mask, Neighbours, nonempty};
use super::pattern::{Pattern, Sets};
use crate::error::Fault;

/// The texts that may follow a place, by its left neighbour (index 0: the edge of the text).
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
    let lowering = Lowering { neighbours, fuel, whole };
    let end = vec![Regex::epsilon(); lowering.neighbours.len()];
    Ok(lowering.lower(pattern, &end)?.swap_remove(0))
}

/// What lowering one pattern needs.
pub(crate) struct Lowering<'a> {
    /// The kinds of characters that its conditions tell apart.
    pub(crate) neighbours: Neighbours,
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
            Pattern::Char(regex, _) | Pattern::Plain(regex) => self.then(regex, rest),
            Pattern::Beside(condition) => {
                let keep =
                    |(left, regex)| self.neighbours.starting(regex, self.neighbours.rights(*condition, left));
                rest.iter().enumerate().map(keep).collect()
            }
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
