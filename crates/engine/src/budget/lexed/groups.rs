//! The tokens of a configuration's mask by the configuration after them, and the masks under limits that come of it.
//!
//! Texts that come to the same configuration are one, so a mask of some thousand tokens takes some hundred questions. Whether
//! the tokens of a group are allowed is asked of the upper bound first: with a limit that is far from tight that is
//! all. Exact searches for the groups of one mask share one limit on work; what it leaves open makes the mask a
//! bound. Once all groups fit some limit by their upper bounds, masks under higher ones are those without a limit.

use std::sync::Arc;

use maskwright_vocabulary::Trie;
use rustc_hash::FxHashMap;

use super::LexedBudget;
use super::search::Least;
use super::witness::Witness;
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm, MaskStatus, MaskWithin};
use crate::lexed::{Settled, States};
use crate::parser::{ConfigId, Parser};

/// How many times as many items a search may take when no token is left otherwise.
const MAX_ESCALATION: u64 = 256;

/// The tokens of a mask.
pub(super) struct Groups {
    list: Arc<[(ConfigId, MaskForm)]>,
    /// Whether the list has every token that some text continues with: no search for one was given up.
    pub(super) is_exact: bool,
    /// With more tokens left than this all are allowed.
    highest: u32,
    /// The mask that was made last, and the number of tokens left that it was made for.
    last: Option<(u32, MaskWithin)>,
}

impl Groups {
    fn new(states: &mut States, parser: &mut Parser, config: ConfigId) -> Result<Groups, EngineError> {
        let vocabulary = parser.shared.vocabulary.clone();
        let n_words = vocabulary.n_words();
        let mut groups: FxHashMap<ConfigId, MaskBuilder> = FxHashMap::default();
        let trie = vocabulary.trie();
        let mut is_exact = true;
        let mut stack = vec![(Trie::ROOT, config)];
        while let Some((node, config)) = stack.pop() {
            for (byte, child) in trie.children(node) {
                let Some(next) = states.step_loosely(parser, config, byte)? else { continue };
                if !trie.tokens(child).is_empty() {
                    match states.settle(parser, next)? {
                        Settled::Viable(next) => {
                            let group = groups.entry(next).or_insert_with(|| MaskBuilder::new(n_words));
                            group.insert_all(trie.tokens(child));
                        }
                        Settled::Dead => continue,
                        Settled::Undecided => is_exact = false,
                    }
                }
                if trie.n_children(child) > 0 {
                    stack.push((child, next));
                }
            }
        }
        let mut list: Vec<(ConfigId, MaskForm)> =
            groups.into_iter().map(|(config, tokens)| (config, tokens.finish())).collect();
        list.sort_unstable_by_key(|&(config, _)| config);
        Ok(Groups { list: list.into(), is_exact, highest: u32::MAX, last: None })
    }

    fn memory_usage(&self) -> usize {
        self.list.iter().map(|(_, tokens)| tokens.memory_usage() + 32).sum::<usize>() + 128
    }
}

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
        self.tokens_of(states, parser, config)?;
        let is_exact = self.groups.get(&config).is_none_or(|groups| groups.is_exact);
        let list = match self.groups.get(&config) {
            Some(groups) if n_left > groups.highest => return Ok(None),
            Some(Groups { last: Some((made_for, mask)), .. }) if *made_for == n_left => {
                return Ok(Some(mask.clone()));
            }
            Some(groups) => groups.list.clone(),
            None => return Ok(None),
        };
        let limit = n_left.saturating_sub(1);
        let vocabulary = parser.shared.vocabulary.clone();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        let mut is_empty = true;
        let mut status = if is_exact { MaskStatus::Exact } else { MaskStatus::Bound };
        if states.configs.is_accepting(config) && n_left >= self.eos_cost {
            let eos = vocabulary.eos_token_ids();
            mask.insert_all(eos);
            is_empty = eos.is_empty();
        }
        self.left = parser.shared.limits.budget_items;
        // As long as all groups fit by their upper bounds: the highest of these.
        let mut highest = Some(self.eos_cost);
        let mut is_given_up = false;
        for (next, tokens) in list.iter() {
            let fits = match is_given_up {
                // Another search would take as long and be given up too.
                true => self.known_upper(states, *next).filter(|upper| *upper <= limit).map(|_| true),
                false => match self.fits_in_what_is_left(states, parser, *next, limit) {
                    Err(error) if error.is_budget_search() => {
                        is_given_up = true;
                        None
                    }
                    fits => fits?,
                },
            };
            if fits.is_none() || states.places().points.tables.is_contextual && fits == Some(false) {
                status = MaskStatus::Bound;
            }
            if fits == Some(true) {
                mask.union(tokens);
                is_empty = false;
                let upper = self.known_upper(states, *next);
                highest = highest.and_then(|highest| Some(highest.max(upper?)));
            } else {
                highest = None;
            }
        }
        if is_empty && !states.configs.is_accepting(config) {
            mask.union(self.find_any(states, parser, &list, limit)?);
            status = MaskStatus::Bound;
        }
        let mask = (Arc::new(mask.finish()), status);
        if !parser.shared.options.use_memo {
            self.groups.remove(&config);
        } else if let Some(groups) = self.groups.get_mut(&config) {
            match highest {
                Some(highest) => groups.highest = highest,
                None => groups.last = Some((n_left, mask.clone())),
            }
        }
        Ok(highest.is_none().then_some(mask))
    }

    /// The tokens of a configuration's mask, grouped by the configuration after them.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn tokens_of(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<Arc<[(ConfigId, MaskForm)]>, EngineError> {
        if let Some(known) = self.groups.get(&config) {
            return Ok(known.list.clone());
        }
        let groups = Groups::new(states, parser, config)?;
        let list = groups.list.clone();
        self.group_bytes += groups.memory_usage();
        self.groups.insert(config, groups);
        Ok(list)
    }

    /// What is known of the upper bound of a configuration.
    fn known_upper(&self, states: &States, config: ConfigId) -> Option<u32> {
        if states.configs.is_accepting(config) {
            return Some(self.eos_cost);
        }
        Some(self.upper.configs.get(&config)?.known()? + self.eos_cost)
    }

    /// A group that fits, looked for with more patience. A text that could be completed in time can be after some
    /// token too, but searches that were given up may have hidden which.
    fn find_any<'a>(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        list: &'a [(ConfigId, MaskForm)],
        limit: u32,
    ) -> Result<&'a MaskForm, EngineError> {
        let mut order = Vec::with_capacity(list.len());
        for (index, &(config, _)) in list.iter().enumerate() {
            order.push((self.floor(states, parser, config)?, index));
        }
        order.retain(|&(floor, _)| floor <= limit);
        order.sort_unstable();
        let items = parser.shared.limits.budget_items.max(1);
        let mut factor = 1;
        let mut given_up = EngineError::budget_search(items);
        while factor <= MAX_ESCALATION {
            for &(_, index) in &order {
                let (config, tokens) = &list[index];
                match self.exact_within(states, parser, *config, limit, items.saturating_mul(factor))? {
                    Ok(Some(least)) => {
                        // What a token was allowed for is known when it comes.
                        let least = Least::Exactly(least - self.eos_cost);
                        self.exact.configs.insert(*config, least);
                        return Ok(tokens);
                    }
                    Ok(None) => {}
                    Err(error) => given_up = error,
                }
            }
            factor *= 4;
        }
        if states.places().points.tables.is_contextual {
            for &(_, index) in &order {
                let (config, tokens) = &list[index];
                if let Witness::Of(found) = self.witness(states, parser, *config)?
                    && found.saturating_add(self.eos_cost) <= limit
                {
                    return Ok(tokens);
                }
            }
        }
        Err(given_up)
    }
}
