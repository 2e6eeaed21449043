//! The search for the least number of tokens from a configuration of a lexed grammar to the end of its text.
//!
//! [`Search::within`] finds the number if it is at most some bound. An example: after `(1` in a language of sums, with the token
//! `)`, it tries the bound 1, and finds the completion `)`.
//!
//! Works like `completions` of scannerless grammars, but by increasing bounds: a place is kept with its number, or with a
//! bound that the number exceeds ([`Least`]). There are two searches ([`searches`](super::searches)): one over all tokenizations, and a
//! smaller one over those in which tokens end where the lexer's do.

use maskwright_automata::meter;
use maskwright_grammar::{ExprId, ExprPool};
use rustc_hash::FxHashMap;

use super::controls::{Control, ControlId};
use super::summaries::{Parts, Summaries};
use super::walks::RunStart;
use crate::EngineError;
use crate::parser::{ConfigId, Frame, NodeId, Thread};

/// Units of work that a place takes.
const UNITS_PER_PLACE: u64 = 16;

/// Bounds are raised by one so many times, then doubled: where nothing is left to be found, higher bounds take no time.
const MAX_STEPS: u32 = 64;

/// The bounds to try, from the first one to the last.
pub(super) fn bounds(first: u32, last: u32) -> impl Iterator<Item = u32> {
    let step = move |&(n_tried, bound): &(u32, u32)| {
        let step = if n_tried < MAX_STEPS { 1 } else { bound };
        (bound < last).then(|| (n_tried + 1, bound.saturating_add(step).min(last)))
    };
    std::iter::successors((first <= last).then_some((0, first)), step).map(|(_, bound)| bound)
}

/// A place between tokens of the lexer: a state, the stack that it returns to, the control.
type Place = (ExprId, NodeId, ControlId);

/// What is known of a least number of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Least {
    Exactly(u32),
    MoreThan(u32),
}

impl Least {
    /// The number if it is at most `bound`, or that it is not; `None` if that is not known.
    pub(super) fn within(self, bound: u32) -> Option<Option<u32>> {
        match self {
            Least::Exactly(least) => Some((least <= bound).then_some(least)),
            Least::MoreThan(known) => (known >= bound).then_some(None),
        }
    }
}

/// What a search has found so far.
pub(super) struct Search {
    summaries: Summaries,
    places: FxHashMap<Place, Least>,
    /// By configuration of a text that is not complete, EOS not included.
    configs: FxHashMap<ConfigId, Least>,
}

impl Search {
    /// Nothing is known yet; `is_upper` says whether a token of the vocabulary must end where one of the lexer does.
    pub(super) fn new(is_upper: bool) -> Search {
        Search {
            summaries: Summaries::new(is_upper),
            places: FxHashMap::default(),
            configs: FxHashMap::default(),
        }
    }

    /// So many items may be taken in all.
    pub(super) fn allow(&mut self, n_items: u64) {
        self.summaries.allow(n_items);
    }

    /// Whether a search was given up. Its tables are incomplete then.
    pub(super) fn is_spent(&self) -> bool {
        self.summaries.is_spent()
    }

    /// The least number of tokens, EOS not included, of a text that is not complete, if it is at most `limit`. Takes
    /// the time that an answer of at most `limit` takes.
    ///
    /// # Errors
    /// If more items would be taken than are allowed, or another limit is reached.
    pub(super) fn within(
        &mut self,
        parts: &mut Parts<'_>,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<u32>, EngineError> {
        // Known answers hold only within the limit: since they were found, others may have looked at so many levels that a search which
        // starts anew would not find them.
        self.summaries.check(parts)?;
        let known = self.configs.get(&config).copied();
        if let Some(answer) = known.and_then(|known| known.within(limit)) {
            return Ok(answer);
        }
        let floor = floor(parts, config)?;
        let mut tried = floor.saturating_sub(1);
        if let Some(Least::MoreThan(known)) = known {
            tried = tried.max(known);
        }
        let mut least = None;
        for bound in bounds(tried + 1, limit) {
            least = self.config_within(parts, config, bound)?;
            if least.is_some() {
                break;
            }
        }
        let known = least.map_or(Least::MoreThan(tried.max(limit)), Least::Exactly);
        self.configs.insert(config, known);
        Ok(least)
    }

    /// The least number of tokens, EOS not included, if it is at most `bound`.
    pub(super) fn config_within(
        &mut self,
        parts: &mut Parts<'_>,
        config: ConfigId,
        bound: u32,
    ) -> Result<Option<u32>, EngineError> {
        let mut found: Option<u32> = None;
        for start in parts.states.starts(parts.parser, config)? {
            let begin =
                RunStart { point: start.point, future: parts.futures.root(), is_nested: start.depth > 0 };
            let run = parts.run(begin)?;
            let blocks = self.summaries.blocks.of(&start.widths, start.depth);
            let threads = parts.parser.configs.threads(start.parser).to_vec();
            let mut ways = Vec::with_capacity(threads.len());
            for Thread { terminal, next, node, .. } in threads {
                let floors = &mut *parts.floors;
                let context = floors.after(terminal);
                let floor = floors.of_place(parts.parser, (next, node), context)?;
                ways.push((terminal, (next, node), floor));
            }
            let mut can_end = start.can_end;
            for cost in 0..=bound {
                let room = found.map_or(bound, |found| found - 1);
                ways.retain(|&(_, _, floor)| floor.saturating_add(cost) <= room);
                if cost > room || (ways.is_empty() && !can_end) {
                    break;
                }
                if can_end {
                    match self.summaries.level(parts, run, None, cost)? {
                        Some(level) if !level.is_empty() => {
                            found = Some(cost);
                            break;
                        }
                        level => can_end = level.is_some(),
                    }
                }
                let mut goes_on = Vec::with_capacity(ways.len());
                for &(terminal, (next, node), _) in &ways {
                    let level = self.summaries.level(parts, run, Some(terminal), cost)?;
                    goes_on.push(level.is_some());
                    for exit in level.iter().flat_map(|level| level.iter()) {
                        if self.summaries.is_upper && exit.future != parts.futures.root() {
                            continue;
                        }
                        for control in self.summaries.after_exit(parts, blocks, start.line, exit) {
                            let Some(room) = found.map_or(bound, |found| found - 1).checked_sub(cost) else {
                                break;
                            };
                            let least = self.place_within(parts, (next, node, control), room)?;
                            found = least.map(|least| least + cost).or(found);
                        }
                    }
                }
                let mut goes_on = goes_on.into_iter();
                ways.retain(|_| goes_on.next().unwrap_or(true));
            }
        }
        Ok(found)
    }

    /// The same from a place.
    fn place_within(
        &mut self,
        parts: &mut Parts<'_>,
        place: Place,
        bound: u32,
    ) -> Result<Option<u32>, EngineError> {
        let mut stack = vec![(place, bound)];
        while let Some(&(top, bound)) = stack.last() {
            meter::spend(UNITS_PER_PLACE)?;
            if self.places.get(&top).is_some_and(|known| known.within(bound).is_some()) {
                stack.pop();
                continue;
            }
            let (state, node, control) = top;
            let context = self.summaries.context(parts, control)?;
            let floor = parts.floors.of_place(parts.parser, (state, node), context)?;
            if floor > bound {
                self.places.insert(top, Least::MoreThan(bound));
                stack.pop();
                continue;
            }
            let exits = if state == ExprPool::EPSILON {
                vec![(control, 0)]
            } else {
                let below = parts.floors.below(parts.parser, (state, node), context)?;
                self.summaries.exits(parts, state, control, bound.saturating_sub(below))?
            };
            let n_open = stack.len();
            let mut least: Option<u32> = None;
            for (left, cost) in exits {
                for frame in parts.parser.stacks.frames(node).to_vec() {
                    let room = least.map_or(bound, |least| least.min(bound));
                    if cost > room {
                        break;
                    }
                    if frame == Frame::BOTTOM {
                        let end = self.end_within(parts, left, room - cost)?;
                        least = end.map(|end| cost + end).or(least);
                        continue;
                    }
                    let below = (frame.ret, frame.parent, left);
                    match self.places.get(&below).and_then(|known| known.within(bound - cost)) {
                        Some(Some(rest)) if least.is_none_or(|least| cost + rest < least) => {
                            least = Some(cost + rest);
                        }
                        Some(_) => {}
                        None => stack.push((below, bound - cost)),
                    }
                }
            }
            if stack.len() == n_open {
                let known = least.map_or(Least::MoreThan(bound), Least::Exactly);
                self.places.insert(top, known);
                stack.pop();
            }
        }
        let known = self.places.get(&place).copied().unwrap_or(Least::MoreThan(bound));
        Ok(known.within(bound).flatten())
    }

    /// The least cost, if it is at most `bound`, at which the text can end in a control when the stack is empty.
    fn end_within(
        &mut self,
        parts: &mut Parts<'_>,
        control: ControlId,
        bound: u32,
    ) -> Result<Option<u32>, EngineError> {
        match self.summaries.controls.get(control) {
            Control::Text(text) if self.summaries.blocks.n_open(text.blocks) == 0 => {
                self.summaries.end(parts, text, bound)
            }
            Control::End(0) => Ok(Some(0)),
            _ => Ok(None),
        }
    }

    /// Items taken so far.
    pub(super) fn work(&self) -> u64 {
        self.summaries.work()
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.summaries.memory_usage() + self.places.len() * 32 + self.configs.len() * 16
    }
}

/// A lower bound on the number of tokens, EOS not included, of a text that is not complete.
pub(super) fn floor(parts: &mut Parts<'_>, config: ConfigId) -> Result<u32, EngineError> {
    let floors = &mut *parts.floors;
    let mut least = u32::MAX;

    for start in parts.states.starts(parts.parser, config)? {
        if start.can_end {
            return Ok(1);
        }
        for Thread { terminal, next, node, .. } in parts.parser.configs.threads(start.parser).to_vec() {
            let context = floors.after(terminal);
            least = least.min(floors.of_place(parts.parser, (next, node), context)?);
        }
    }
    Ok(least.saturating_add(1))
}
