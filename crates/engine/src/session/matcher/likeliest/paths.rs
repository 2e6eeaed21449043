//! Paths through the states of sessions, for grammars that pass through many.

use maskwright_vocabulary::{Mask, TokenId, mask_remove};

use crate::ground::MANY;
use crate::likeliest::{Edge, Paths, Ranked, Row, Task, Wanted};
use crate::parser::ConfigId;
use crate::session::Matcher;
use crate::session::state::State;
use crate::{EngineError, MaskStatus};

/// If fewer of the best tokens of a position are allowed, so many of all allowed ones are tried.
const MIN_EDGES: usize = 8;

/// Where a path stands.
#[derive(Clone)]
pub(super) enum Reached {
    Text(State),
    /// After the end of the text.
    AfterEnd,
}

/// The paths of a grammar with many states.
pub(super) struct Sessions<'a> {
    session: &'a Matcher,
    task: &'a Task<'a>,
    mask: Mask,
}

impl<'a> Sessions<'a> {
    pub(super) fn new(session: &'a Matcher, task: &'a Task<'a>) -> Sessions<'a> {
        Sessions { session, task, mask: Mask::new(session.grammar.vocabulary().n_vocab()) }
    }

    /// Adds the states after `tokens`, the best `most` of those that are allowed; `left` tokens may follow.
    /// Returns the score of the best token that is left out because of `most`.
    fn after(
        &self,
        state: &State,
        tokens: &[(TokenId, f64)],
        left: u32,
        Wanted { most, is_checked, .. }: Wanted,
        edges: &mut Vec<Edge<Reached>>,
    ) -> Result<f64, EngineError> {
        let readings: Vec<_> =
            tokens.iter().map(|&(token, _)| self.session.grammar.readings(token)).collect();
        let n_before = edges.len();
        self.session.ask(|machine| {
            edges.truncate(n_before);
            for (&(token, score), readings) in tokens.iter().zip(&readings) {
                if edges.len() - n_before >= most {
                    return Ok(score);
                }
                let Some(next) = machine.after_readings(state, readings)? else { continue };
                let next = next.with_token();
                // It may be completed in a way that is not known.
                if !is_checked || machine.fits(&next, left)? != Some(false) {
                    edges.push(Edge { token, score, to: Reached::Text(next) });
                }
            }
            Ok(f64::NEG_INFINITY)
        })
    }

    /// The tokens of the mask that are not among `tried`: the best ones with their scores, and a bound on the
    /// others.
    fn others(
        &mut self,
        state: &State,
        left: u32,
        row: &Row<'_>,
        tried: &[(TokenId, f64)],
    ) -> Result<(Vec<(TokenId, f64)>, f64), EngineError> {
        let mut session = self.session.fork();
        session.state = state.clone();
        session.max_tokens = Some(state.n_tokens + left as usize + 1);
        session.fill(self.mask.words_mut(), None)?;
        let remove_tried =
            |mask: &mut Mask| tried.iter().for_each(|&(token, _)| mask_remove(mask.words_mut(), token));
        remove_tried(&mut self.mask);
        let mut best: Vec<(TokenId, f64)> = Vec::new();
        let mut beyond = f64::NEG_INFINITY;
        for token in self.mask.iter() {
            let score = row.score(token);
            if best.len() == MIN_EDGES && score <= best[MIN_EDGES - 1].1 {
                beyond = beyond.max(score);
                continue;
            }
            let at = best.partition_point(|&(_, other)| other >= score);
            best.insert(at, (token, score));
            if best.len() > MIN_EDGES {
                beyond = best.pop().map_or(beyond, |(_, score)| beyond.max(score));
            }
        }
        let status = session.mask_status();
        if beyond > f64::NEG_INFINITY && row.logits().is_none() {
            // All of them are as likely, for all that is known: one that leads to the end of the text soon.
            let (least, _) = self.session.ask(|machine| machine.least_at(state))?;
            session.max_tokens = Some(state.n_tokens + least as usize);
            session.fill(self.mask.words_mut(), None)?;
            remove_tried(&mut self.mask);
            let first = self.mask.iter().next();
            best = first.map(|token| (token, row.score(token))).into_iter().collect();
        }
        if status == MaskStatus::Bound {
            beyond = beyond.max(row.ranked().beyond);
        }
        Ok((best, beyond))
    }
}

impl Paths for Sessions<'_> {
    type State = Reached;
    type Key = Option<(ConfigId, ConfigId, Option<usize>)>;

    fn key(&self, reached: &Reached) -> Self::Key {
        if let Reached::Text(state) = reached { Some(state.key()) } else { None }
    }

    fn edges(
        &mut self,
        reached: &Reached,
        position: usize,
        wanted: Wanted,
        edges: &mut Vec<Edge<Reached>>,
    ) -> Result<f64, EngineError> {
        let task = self.task;
        let row = &task.scores.rows[position];
        let ended = |(token, score)| Edge { token, score, to: Reached::AfterEnd };
        let Reached::Text(state) = reached else {
            edges.extend(task.best_of(row, &task.after_end).map(ended));
            return Ok(f64::NEG_INFINITY);
        };
        let may_end = position + task.end_cost as usize <= task.max_tokens;
        // What ends the text here is no part of it.
        let ends = match may_end && self.session.accepts(state)? {
            false => Vec::new(),
            true if self.session.grammar.has_named_ends() => self.session.end_tokens(state.config)?,
            true => task.ends.clone(),
        };
        edges.extend(task.best_of(row, &ends).map(ended));
        let Some(left) = task.max_tokens.checked_sub(position + 1) else { return Ok(f64::NEG_INFINITY) };
        let left = u32::try_from(left).unwrap_or(MANY);
        let Ranked { tokens, beyond } = row.ranked();
        let n_ranked = tokens.partition_point(|&(_, score)| score >= wanted.floor);
        let mut tried = tokens[..n_ranked].to_vec();
        tried.retain(|(token, _)| !ends.contains(token) && !task.blanks.contains(token));
        let mut left_out = tokens.get(n_ranked).map_or(*beyond, |&(_, score)| score);
        let mut open = self.after(state, &tried, left, wanted, edges)?;
        if edges.len() < MIN_EDGES.min(wanted.most) && *beyond > f64::NEG_INFINITY && *beyond >= wanted.floor
        {
            tried.extend(ends.iter().chain(task.blanks).map(|&other| (other, row.score(other))));
            let (others, beyond) = self.others(state, left, row, &tried)?;
            left_out = beyond;
            open = open.max(self.after(state, &others, left, wanted, edges)?);
        }
        Ok(left_out.max(open))
    }

    fn can_be_filled(&mut self, reached: &Reached, position: usize) -> Result<Option<bool>, EngineError> {
        let Reached::Text(state) = reached else { return Ok(Some(true)) };
        let left = u32::try_from(self.task.max_tokens - position).unwrap_or(MANY);
        self.session.ask(|machine| machine.fits(state, left))
    }
}
