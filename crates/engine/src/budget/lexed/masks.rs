//! Masks under a limit on tokens.
//!
//! [`LexedBudget::mask`] asks of each [group](super::groups) of tokens whether the text can be completed within the limit after them. The
//! upper bound is asked first: with a limit that is far from tight that is all. The searches for the groups of one mask
//! share one limit on work; what they leave open makes the mask a bound.
//!
//! An example: with 3 tokens left after `f(` in C, EOS included, the group of `)` fits, since `)`, `;` and EOS complete the text; a group
//! after which an argument is begun may not.
//!
//! Once all groups fit some limit by their upper bounds, masks under higher limits are those without a limit.

use std::sync::Arc;

use super::LexedBudget;
use super::groups::Grouped;
use super::search::bounds;
use super::searches::{Effort, Fit, MAX_BOUND};
use super::witness::Witness;
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm, MaskStatus, MaskWithin};
use crate::lexed::States;
use crate::parser::{ConfigId, Parser};

impl LexedBudget {
    /// The mask of `config` with `n_left` tokens left, EOS included; `None` for that without a limit.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(in super::super) fn mask(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<MaskWithin>, EngineError> {
        let LexedBudget { searches, groups, .. } = self;
        let (is_exact, list) = match groups.of(states, parser, config)? {
            grouped if n_left > grouped.highest => return Ok(None),
            Grouped { last: Some((made_for, mask)), .. } if *made_for == n_left => {
                return Ok(Some(mask.clone()));
            }
            grouped => (grouped.is_exact, grouped.list.clone()),
        };
        let limit = n_left.saturating_sub(1);
        let vocabulary = parser.shared.vocabulary.clone();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        let mut is_empty = true;
        let mut status = if is_exact { MaskStatus::Exact } else { MaskStatus::Bound };
        if states.configs.is_accepting(config) && n_left >= searches.eos_cost {
            let eos = vocabulary.eos_token_ids();
            mask.insert_all(eos);
            is_empty = eos.is_empty();
        }
        let fits = searches.question(&parser.shared.clone(), Effort::Usual, |searches| {
            let fits = list.iter().map(|&(next, _)| searches.fit(states, parser, next, limit));
            fits.collect::<Result<Vec<Fit>, EngineError>>()
        })?;
        // As long as all groups fit by their upper bounds: the highest of these.
        let mut highest = Some(searches.eos_cost);
        for (fit, (_, tokens)) in fits.into_iter().zip(list.iter()) {
            match fit {
                Fit::Upper(upper) => highest = highest.map(|highest| highest.max(upper)),
                _ => highest = None,
            }
            match fit.is_within() {
                Some(true) => {
                    mask.union(tokens);
                    is_empty = false;
                }
                Some(false) => {}
                None => status = MaskStatus::Bound,
            }
        }
        if is_empty && !states.configs.is_accepting(config) {
            mask.union(self.find_any(states, parser, &list, limit)?);
            status = MaskStatus::Bound;
        }
        let mask = (Arc::new(mask.finish()), status);
        if !parser.shared.options.use_memo {
            self.groups.remove(config);
        } else if let Some(grouped) = self.groups.get_mut(config) {
            match highest {
                Some(highest) => grouped.highest = highest,
                None => grouped.last = Some((n_left, mask.clone())),
            }
        }
        Ok(highest.is_none().then_some(mask))
    }

    /// A group that fits, looked for with more work: the first in order of the tokens that it takes. A text that could be completed in
    /// time still can be after some token, but searches that were given up may have hidden after which.
    fn find_any<'a>(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        list: &'a [(ConfigId, MaskForm)],
        limit: u32,
    ) -> Result<&'a MaskForm, EngineError> {
        let LexedBudget { searches, groups, witnesses, .. } = self;
        let mut order = Vec::with_capacity(list.len());
        for (index, &(config, _)) in list.iter().enumerate() {
            order.push((searches.floor(states, parser, config)?, index));
        }
        order.retain(|&(floor, _)| floor <= limit);
        order.sort_unstable();
        let found = searches.question(&parser.shared.clone(), Effort::AtLength, |searches| {
            let first = order.first().map_or(u32::MAX, |&(floor, _)| floor);
            for bound in bounds(first, limit.min(MAX_BOUND)) {
                for &(_, index) in order.iter().take_while(|&&(floor, _)| floor <= bound) {
                    let found = searches.exact_within(states, parser, list[index].0, bound);
                    match searches.unless_given_up(found)? {
                        Some(Some(_)) => return Ok(Some(index)),
                        Some(None) => {}
                        None => return Ok(None),
                    }
                }
            }
            Ok(None)
        })?;
        if let Some(index) = found {
            return Ok(&list[index].1);
        }
        if states.places().points.tables.is_contextual {
            for &(_, index) in &order {
                let (config, tokens) = &list[index];
                if let Witness::Of(found) = witnesses.of(groups, states, parser, *config)?
                    && found.saturating_add(searches.eos_cost) <= limit
                {
                    return Ok(tokens);
                }
            }
        }
        Err(EngineError::budget_search(parser.shared.limits.budget_items))
    }
}
