//! Paths through a [`TokenAutomaton`].

use maskwright_automata::meter;
use maskwright_vocabulary::TokenId;

use super::automaton::TokenAutomaton;
use super::scores::{IMPOSSIBLE, Row, score_of};
use super::search::{Edge, Paths, Wanted};
use super::task::Task;
use crate::EngineError;

/// The best scores of classes are kept for all positions, if that takes at most so many entries.
const MAX_KEPT: usize = 16_000_000;

/// The state after the end of a text.
const ENDED: u32 = u32::MAX;

/// The best token of each class, with its score.
type BestOfClasses = Box<[(f64, TokenId)]>;

/// The paths of a grammar with few states.
pub(crate) struct Finite<'a> {
    automaton: &'a TokenAutomaton,
    task: &'a Task<'a>,
    /// By boundary between positions and state: whether the positions from there on can be filled. The last
    /// state is the end.
    can_be_filled: Vec<Vec<bool>>,
    /// By position: the best token of each class, once asked for.
    best: Vec<Option<BestOfClasses>>,
    n_kept: usize,
}

impl<'a> Finite<'a> {
    /// # Errors
    /// If the call is to stop.
    pub(crate) fn new(automaton: &'a TokenAutomaton, task: &'a Task<'a>) -> Result<Finite<'a>, EngineError> {
        let can_be_filled = can_be_filled(automaton, task)?;
        let best = (0..task.scores.n_positions()).map(|_| None).collect();
        Ok(Finite { automaton, task, can_be_filled, best, n_kept: 0 })
    }

    fn can_follow(&self, boundary: usize, state: u32) -> bool {
        let states = &self.can_be_filled[boundary];
        states[(state as usize).min(states.len() - 1)]
    }

    /// Makes the best token of each class at a position.
    fn prepare(&mut self, position: usize) {
        if self.best[position].is_some() {
            return;
        }
        let n_classes = self.automaton.n_classes();
        if self.n_kept + n_classes > MAX_KEPT {
            self.best.fill_with(|| None);
            self.n_kept = 0;
        }
        self.n_kept += n_classes;
        self.best[position] = Some(best_of_classes(self.automaton, &self.task.scores.rows[position]));
    }
}

impl Paths for Finite<'_> {
    type State = u32;
    type Key = u32;

    fn key(&self, &state: &u32) -> u32 {
        state
    }

    fn edges(
        &mut self,
        &state: &u32,
        position: usize,
        wanted: Wanted,
        edges: &mut Vec<Edge<u32>>,
    ) -> Result<f64, EngineError> {
        let mut left_out = f64::NEG_INFINITY;
        let mut add = |token: Option<(TokenId, f64)>, to: u32| match token {
            Some((token, score)) if score >= wanted.floor => edges.push(Edge { token, score, to }),
            Some((_, score)) => left_out = left_out.max(score),
            None => {}
        };
        let task = self.task;
        let row = &task.scores.rows[position];
        if state == ENDED {
            add(task.best_of(row, &task.after_end), ENDED);
            return Ok(left_out);
        }
        if self.automaton.is_accepting[state as usize]
            && position + task.end_cost as usize <= task.max_tokens
            && self.can_follow(position + 1, ENDED)
        {
            add(task.best_of(row, &task.ends), ENDED);
        }
        if position >= task.max_tokens {
            return Ok(left_out);
        }
        self.prepare(position);
        let Some(best) = &self.best[position] else { return Ok(left_out) };
        let known = row.known().map(|token| self.automaton.class(token));
        for (to, classes) in self.automaton.edges(state) {
            if !self.can_follow(position + 1, to) {
                continue;
            }
            let mut found = (f64::NEG_INFINITY, TokenId(u32::MAX));
            match known {
                Some(Some(class)) if classes.binary_search(&(class as u32)).is_ok() => found = best[class],
                Some(_) => {}
                None => {
                    for &class in classes {
                        let (score, token) = best[class as usize];
                        if score > found.0 || score == found.0 && token < found.1 {
                            found = (score, token);
                        }
                    }
                }
            }
            if found.0 > f64::NEG_INFINITY {
                add(Some((found.1, found.0)), to);
            }
        }
        Ok(left_out)
    }

    fn can_be_filled(&mut self, &state: &u32, position: usize) -> Result<Option<bool>, EngineError> {
        Ok(Some(self.can_follow(position, state)))
    }
}

/// The best token of each class, with its score.
fn best_of_classes(automaton: &TokenAutomaton, row: &Row<'_>) -> BestOfClasses {
    const NONE: u32 = u32::MAX;
    let mut best = vec![(f32::NEG_INFINITY, NONE); automaton.n_classes()];
    if let Some((logits, normalizer)) = row.logits() {
        // Ids ascend, so of equal tokens the first is kept.
        for &(token, class) in automaton.tokens() {
            let best = &mut best[class as usize];
            if let Some(&logit) = logits.get(token.index())
                && logit > best.0
            {
                *best = (logit, token.0);
            }
        }
        let score = |(first, (logit, id)): (TokenId, (f32, u32))| match id {
            NONE => (IMPOSSIBLE, first),
            id => (score_of(logit, normalizer), TokenId(id)),
        };
        return automaton.first_tokens().zip(best).map(score).collect();
    }
    let beyond = row.ranked().beyond;
    let mut best: BestOfClasses = automaton.first_tokens().map(|token| (beyond, token)).collect();
    let mut is_found = vec![false; best.len()];
    // The best first; a class without a candidate has the bound on all others.
    for &(token, score) in &row.ranked().tokens {
        if let Some(class) = automaton.class(token)
            && !std::mem::replace(&mut is_found[class], true)
        {
            best[class] = (score, token);
        }
    }
    best
}

/// By boundary between positions and state, the end after all others: whether the positions from there on can
/// be filled.
///
/// # Errors
/// If the call is to stop.
fn can_be_filled(automaton: &TokenAutomaton, task: &Task<'_>) -> Result<Vec<Vec<bool>>, EngineError> {
    let n_states = automaton.n_states();
    let n_positions = task.scores.n_positions();
    let mut last: Vec<bool> = match task.n_more {
        Some(n_more) => {
            let least = automaton.tokens_to_end().into_iter();
            least.map(|least| least.saturating_add(task.end_cost) <= n_more).collect()
        }
        None => automaton.is_accepting.iter().map(|is_accepting| !task.needs_end && *is_accepting).collect(),
    };
    last.push(true);
    let mut layers = vec![last];
    for position in (0..n_positions).rev() {
        let after = &layers[layers.len() - 1];
        let row = &task.scores.rows[position];
        let known = row.known();
        let mut layer = vec![false; n_states + 1];
        layer[n_states] = after[n_states] && known.is_none_or(|token| task.after_end.contains(&token));
        let may_end = after[n_states]
            && position + task.end_cost as usize <= task.max_tokens
            && known.is_none_or(|token| task.ends.contains(&token));
        let may_go_on = position < task.max_tokens;
        let class = known.map(|token| automaton.class(token));
        let can_lead = |classes: &[u32]| match class {
            None => true,
            Some(class) => class.is_some_and(|class| classes.binary_search(&(class as u32)).is_ok()),
        };
        for (state, can_be_filled) in layer[..n_states].iter_mut().enumerate() {
            let mut edges = automaton.edges(state as u32);
            *can_be_filled = may_end && automaton.is_accepting[state]
                || may_go_on && edges.any(|(to, classes)| after[to as usize] && can_lead(classes));
        }
        meter::spend(n_states as u64)?;
        layers.push(layer);
    }
    layers.reverse();
    Ok(layers)
}
