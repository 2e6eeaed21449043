//! The contexts of a pattern: the classes of texts before a place that its look-behinds distinguish.
//!
//! A look-behind of bounded width is a finite union of conditions on the neighbours before and after a place
//! ([`BoundedWords`]). The last characters of the text before the place decide which conditions it meets, so
//! a finite automaton over the cells of characters ([`Neighbours`]) keeps track of them. Its states, with
//! equivalent states merged, are the *contexts*. The texts that lead from one context to others are a plain
//! expression: any text, then the last characters, which decide.
//!
//! If a pattern has no look-behind of more than one character, the contexts are the neighbours themselves.

use std::collections::HashMap;

use maskwright_automata::{Fuel, FuelError, Regex};
use maskwright_lexing::BoundedWords;

use super::neighbour::{EDGE, Mask, Neighbours};
use super::pattern::{BehindId, Beside, Pattern, Sets};
use crate::error::Fault;

/// The most states before they are merged.
const MAX_STATES: usize = 2_048;

/// The contexts of a pattern. Context 0 is that of the start of the text.
#[derive(Debug)]
pub(crate) struct Contexts {
    /// By context, a left neighbour there. All left neighbours of a context are equivalent.
    neighbours: Vec<usize>,
    /// By context, whether each of the conditions on the text before holds; empty if there is none.
    met: Vec<Vec<bool>>,
    /// By context and cell, the context after a character of the cell; empty if there is no look-behind.
    next: Vec<Vec<usize>>,
    /// By look-behind, its alternatives, one of which must hold: a condition on the text before, and the
    /// neighbours after it.
    behinds: Vec<Vec<(usize, Vec<Mask>)>>,
}

impl Contexts {
    /// The contexts that the conditions of `pattern` distinguish.
    pub(crate) fn new(
        pattern: &Pattern,
        sets: &Sets,
        neighbours: &Neighbours,
        fuel: &Fuel,
    ) -> Result<Contexts, Fault> {
        if sets.behinds().is_empty() {
            return Ok(Contexts {
                neighbours: (0..neighbours.len()).collect(),
                met: Vec::new(),
                next: Vec::new(),
                behinds: Vec::new(),
            });
        }
        let mut found: Vec<BoundedWords> = Vec::new();
        for behind in sets.behinds() {
            if !is_bounded(&behind.inner) {
                let message = "look-behind without a greatest length is not supported: give `*` and `+` in it a bound, \
                               such as `{0,9}`";
                return Err(Fault::unsupported(behind.span.clone(), message));
            }
            let words = bounded(&behind.inner, &found, neighbours, fuel);
            let words = words.map_err(|error| Fault::fuel(behind.span.clone(), error))?;
            let looked = words.and_then(|words| words.look(false, false)).ok_or_else(|| {
                let message = "the look-behind has too many variants, more than the limit";
                Fault::limit(behind.span.clone(), message)
            })?;
            found.push(looked);
        }
        let mut befores: Vec<Vec<Mask>> = Vec::new();
        let mut behinds = Vec::new();
        for words in &found {
            let mut conditions = Vec::new();
            for word in words.words() {
                let at = befores.iter().position(|known| *known == word.before).unwrap_or_else(|| {
                    befores.push(word.before.clone());
                    befores.len() - 1
                });
                conditions.push((at, word.after.clone()));
            }
            behinds.push(conditions);
        }
        let mut besides = Vec::new();
        collect(pattern, &mut besides);
        let last = sets.behinds().last().map_or(0..0, |behind| behind.span.clone());
        let states = states(&befores, &besides, neighbours, fuel).map_err(|error| match error {
            Some(error) => Fault::fuel(last.clone(), error),
            None => {
                let message =
                    format!("the look-behinds tell more than {MAX_STATES} texts before a place apart");
                Fault::limit(last.clone(), message)
            }
        })?;
        Ok(merged(states, &besides, neighbours, behinds))
    }

    /// How many contexts there are.
    pub(crate) fn len(&self) -> usize {
        self.neighbours.len()
    }

    /// Whether contexts depend on more than the left neighbour.
    pub(crate) fn look_back(&self) -> bool {
        !self.next.is_empty()
    }

    /// A left neighbour in the context.
    pub(crate) fn neighbour(&self, context: usize) -> usize {
        self.neighbours[context]
    }

    /// The conditions on the text after the place, one of which must hold for the look-behind to hold in
    /// `context`.
    pub(crate) fn afters(&self, id: BehindId, context: usize) -> impl Iterator<Item = &[Mask]> {
        let met = &self.met[context];
        self.behinds[id.0].iter().filter(|(before, _)| met[*before]).map(|(_, after)| &after[..])
    }

    /// The right neighbours with which the look-behind holds in `context`; `None` if it depends on more of
    /// the following text.
    pub(crate) fn rights(&self, id: BehindId, context: usize) -> Option<Mask> {
        let mut mask = 0;
        for after in self.afters(id, context) {
            mask |= match after {
                [] => Mask::MAX,
                [only] => *only,
                _ => return None,
            };
        }
        Some(mask)
    }

    /// The cells whose characters lead from `context` into `group`.
    pub(crate) fn cells_into(&self, context: usize, group: &[bool]) -> Mask {
        let cells = self.next[context].iter().enumerate().filter(|&(_, &next)| group[next]);
        cells.fold(0, |mask, (cell, _)| mask | 1 << (cell + 1))
    }

    /// Partitions the right neighbours into classes that no condition of the pattern distinguishes. `None` if
    /// a look-behind depends on more of the following text. Without look-behind, each neighbour is a class.
    pub(crate) fn right_classes(&self, pattern: &Pattern, neighbours: &Neighbours) -> Option<Vec<Mask>> {
        if !self.look_back() {
            return Some((0..neighbours.len()).map(|neighbour| 1 << neighbour).collect());
        }
        let mut asked: Vec<Mask> = Vec::new();
        for (_, after) in self.behinds.iter().flatten() {
            match &after[..] {
                [] => {}
                [only] => asked.push(*only),
                _ => return None,
            }
        }
        let mut besides = Vec::new();
        collect(pattern, &mut besides);
        let lefts = || 0..neighbours.len();
        asked.extend(
            besides.iter().flat_map(|&condition| lefts().map(move |left| neighbours.rights(condition, left))),
        );
        asked.sort_unstable();
        asked.dedup();
        let answers =
            |neighbour: usize| -> Vec<bool> { asked.iter().map(|mask| mask >> neighbour & 1 != 0).collect() };
        let classes = numbered(lefts().map(answers));
        let mut masks = vec![0; classes.iter().max().map_or(0, |last| last + 1)];
        classes.iter().enumerate().for_each(|(neighbour, &class)| masks[class] |= 1 << neighbour);
        Some(masks)
    }

    /// The context after `word`, which is UTF-8.
    pub(crate) fn after(&self, context: usize, word: &[u8], neighbours: &Neighbours) -> Option<usize> {
        let chars = std::str::from_utf8(word).ok()?.chars();
        Some(chars.fold(context, |context, char| self.next[context][neighbours.of_char(char) - 1]))
    }

    /// The texts that lead from `context` into one of `group`.
    pub(crate) fn leading(
        &self,
        context: usize,
        group: &[bool],
        neighbours: &Neighbours,
        fuel: &Fuel,
    ) -> Result<Regex, FuelError> {
        self.texts(context, group, neighbours, &mut HashMap::new(), fuel)
    }

    /// The recursion is as deep as the longest look-behind, which [`BoundedWords`] limits, because the last
    /// characters decide.
    fn texts(
        &self,
        context: usize,
        group: &[bool],
        neighbours: &Neighbours,
        known: &mut HashMap<Vec<bool>, Regex>,
        fuel: &Fuel,
    ) -> Result<Regex, FuelError> {
        if group.iter().all(|&is_in| is_in) {
            return Ok(Regex::any_text());
        }
        if !group.contains(&true) {
            return Ok(Regex::empty());
        }
        if let Some(known) = known.get(group) {
            return Ok(known.clone());
        }
        // The cells of the last character, grouped by the contexts that must precede it.
        let mut last: Vec<(Vec<bool>, Mask)> = Vec::new();
        for cell in 0..neighbours.len() - 1 {
            fuel.spend(1 + self.len() as u64 / 16)?;
            let before: Vec<bool> = self.next.iter().map(|next| group[next[cell]]).collect();
            match last.iter_mut().find(|(known, _)| *known == before) {
                Some((_, mask)) => *mask |= 1 << (cell + 1),
                None => last.push((before, 1 << (cell + 1))),
            }
        }
        let mut parts = Vec::new();
        if group[context] {
            parts.push(Regex::epsilon());
        }
        for (before, mask) in last {
            let before = self.texts(context, &before, neighbours, known, fuel)?;
            parts.push(Regex::concat([before, neighbours.char_of(mask)]));
        }
        let texts = Regex::union(parts);
        known.insert(group.to_vec(), texts.clone());
        Ok(texts)
    }
}

/// A state of the automaton before merging: each condition that the text has partly met, with the number of
/// neighbours met, and the last neighbour.
type State = (Vec<(usize, usize)>, usize);

/// The states, and the transition of each on each cell.
struct States {
    states: Vec<State>,
    next: Vec<Vec<usize>>,
    /// By state, whether each condition holds.
    met: Vec<Vec<bool>>,
}

/// Builds the automaton; the error is `None` if it has too many states.
fn states(
    befores: &[Vec<Mask>],
    besides: &[Beside],
    neighbours: &Neighbours,
    fuel: &Fuel,
) -> Result<States, Option<FuelError>> {
    // The farthest neighbour of a condition is read first.
    let element = |condition: usize, n_met: usize| {
        let before = &befores[condition];
        before.len().checked_sub(n_met + 1).map(|at| before[at])
    };
    // There are only edges before the start.
    let element = &element;
    let at_start = |condition: usize| {
        let n_edges = (0..befores[condition].len())
            .take_while(move |&n_met| element(condition, n_met).is_some_and(|mask| mask & EDGE != 0));
        n_edges.map(move |n_met| (condition, n_met + 1))
    };
    let start: Vec<(usize, usize)> = (0..befores.len()).flat_map(at_start).collect();
    let mut states: Vec<State> = vec![(start.clone(), 0)];
    let mut ids: HashMap<State, usize> = HashMap::from([((start, 0), 0)]);
    let mut next = Vec::new();
    while let Some((begun, _)) = states.get(next.len()).cloned() {
        let mut row = Vec::new();
        for neighbour in 1..neighbours.len() {
            fuel.spend(1 + (begun.len() + befores.len()) as u64 / 16)?;
            let candidates = begun.iter().copied().chain((0..befores.len()).map(|condition| (condition, 0)));
            let goes_on = |&(condition, n_met): &(usize, usize)| {
                element(condition, n_met).is_some_and(|mask| mask >> neighbour & 1 != 0)
            };
            let mut after: Vec<_> =
                candidates.filter(goes_on).map(|(condition, n_met)| (condition, n_met + 1)).collect();
            after.sort_unstable();
            after.dedup();
            let key = (after, if besides.is_empty() { 0 } else { neighbour });
            let new = states.len();
            row.push(*ids.entry(key).or_insert_with_key(|key| {
                states.push(key.clone());
                new
            }));
        }
        next.push(row);
        if states.len() > MAX_STATES {
            return Err(None);
        }
    }
    let holds = |(begun, _): &State| {
        let is_met = |condition: usize| begun.contains(&(condition, befores[condition].len()));
        (0..befores.len()).map(|condition| befores[condition].is_empty() || is_met(condition)).collect()
    };
    Ok(States { met: states.iter().map(holds).collect(), states, next })
}

/// The contexts: merges states that no condition distinguishes, whatever follows, by Moore's partition
/// refinement.
fn merged(
    states: States,
    besides: &[Beside],
    neighbours: &Neighbours,
    behinds: Vec<Vec<(usize, Vec<Mask>)>>,
) -> Contexts {
    let States { states, next, met } = states;
    let rights = |left: usize| -> Vec<Mask> {
        besides.iter().map(|&condition| neighbours.rights(condition, left)).collect()
    };
    let rights: Vec<Vec<Mask>> = (0..neighbours.len()).map(rights).collect();
    let mut classes = numbered((0..states.len()).map(|state| (&met[state], &rights[states[state].1])));
    loop {
        let refined = numbered((0..states.len()).map(|state| {
            let after: Vec<usize> = next[state].iter().map(|&next| classes[next]).collect();
            (classes[state], after)
        }));
        let n_classes = |classes: &[usize]| classes.iter().max().copied();
        let is_stable = n_classes(&refined) == n_classes(&classes);
        classes = refined;
        if is_stable {
            break;
        }
    }
    let n_contexts = classes.iter().max().map_or(0, |last| last + 1);
    // Classes are numbered in the order of their first states.
    let firsts = (0..n_contexts).filter_map(|class| classes.iter().position(|&other| other == class));
    let firsts: Vec<usize> = firsts.collect();
    Contexts {
        neighbours: firsts.iter().map(|&state| states[state].1).collect(),
        met: firsts.iter().map(|&state| met[state].clone()).collect(),
        next: firsts.iter().map(|&state| next[state].iter().map(|&next| classes[next]).collect()).collect(),
        behinds,
    }
}

/// Numbers the keys from 0, in the order of first occurrence. Equal keys get equal numbers.
fn numbered<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let mut ids = HashMap::new();
    keys.map(|key| {
        let new = ids.len();
        *ids.entry(key).or_insert(new)
    })
    .collect()
}

/// The conditions of `pattern` on neighbours, outside of look-behinds.
fn collect(pattern: &Pattern, found: &mut Vec<Beside>) {
    match pattern {
        Pattern::Beside(condition) if !found.contains(condition) => found.push(*condition),
        Pattern::Char(..) | Pattern::Plain(_) | Pattern::Beside(_) | Pattern::Behind { .. } => {}
        Pattern::Concat(parts) | Pattern::Alternation(parts) => {
            parts.iter().for_each(|part| collect(part, found))
        }
        Pattern::Repeat { inner, .. } | Pattern::Ahead { inner, .. } => collect(inner, found),
    }
}

/// Whether every repetition of characters has a greatest number of copies.
fn is_bounded(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Char(..) | Pattern::Plain(_) | Pattern::Beside(_) | Pattern::Behind { .. } => true,
        Pattern::Concat(parts) | Pattern::Alternation(parts) => parts.iter().all(is_bounded),
        Pattern::Ahead { inner, .. } => is_bounded(inner),
        Pattern::Repeat { inner, max, .. } => is_bounded(inner) && (max.is_some() || !inner.can_consume()),
    }
}

/// The words of `pattern`; `None` if it takes too many sequences. `behinds` are the look-behinds that it
/// refers to.
fn bounded(
    pattern: &Pattern,
    behinds: &[BoundedWords],
    neighbours: &Neighbours,
    fuel: &Fuel,
) -> Result<Option<BoundedWords>, FuelError> {
    let all = neighbours.all();
    let inside = |pattern: &Pattern| bounded(pattern, behinds, neighbours, fuel);
    let words = match pattern {
        Pattern::Char(_, class) => Some(BoundedWords::one(all, neighbours.cells_of(class))),
        Pattern::Plain(regex) if *regex == Regex::epsilon() => Some(BoundedWords::empty(all)),
        Pattern::Plain(regex) if *regex == Regex::empty() => Some(BoundedWords::never(all)),
        Pattern::Plain(_) => None,
        Pattern::Beside(condition) => {
            // The left neighbours, grouped by the right ones with which the condition holds.
            let mut sides: Vec<(Mask, Mask)> = Vec::new();
            for left in 0..neighbours.len() {
                let rights = neighbours.rights(*condition, left);
                match sides.iter_mut().find(|(_, known)| *known == rights) {
                    Some((lefts, _)) => *lefts |= 1 << left,
                    None => sides.push((1 << left, rights)),
                }
            }
            sides.into_iter().try_fold(BoundedWords::never(all), |words, (lefts, rights)| {
                words.or(&BoundedWords::beside(all, lefts, rights))
            })
        }
        Pattern::Behind { id, is_negative } => behinds[id.0].look(false, *is_negative),
        Pattern::Ahead { inner, is_negative } => {
            inside(inner)?.and_then(|words| words.look(true, *is_negative))
        }
        Pattern::Concat(parts) => {
            let mut words = Some(BoundedWords::empty(all));
            for part in parts {
                let Some(before) = words else { return Ok(None) };
                words = inside(part)?.and_then(|part| before.then(&part));
            }
            words
        }
        Pattern::Alternation(parts) => {
            let mut words = Some(BoundedWords::never(all));
            for part in parts {
                let Some(others) = words else { return Ok(None) };
                words = inside(part)?.and_then(|part| others.or(&part));
            }
            words
        }
        Pattern::Repeat { inner, min, max, .. } => inside(inner)?.and_then(|words| words.repeat(*min, *max)),
    };
    let cost = words.as_ref().map_or(0, |words| words.words().len() as u64);
    fuel.spend(1 + cost * cost / 16)?;
    Ok(words)
}
