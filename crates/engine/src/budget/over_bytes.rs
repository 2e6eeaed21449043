//! Limits on tokens over bytes: which of the searches is asked, and what is done where a limit on work stops it.
//!
//! Upper bounds are asked first, since they are found faster; then the exact search, within a limit on its work; and where
//! that would leave no token, the exact search again with more patience.

use std::sync::Arc;

use super::completions::{Budget, MAX_UPPER_ITEMS};
use super::far::Far;
use super::profile::Profile;
use super::summaries::Extent;
use crate::EngineError;
use crate::bytes::BytesReader;
use crate::ground::{MaskBuilder, MaskForm, MaskStatus, MaskWithin, NEVER, TokenCountStatus, hooks};
use crate::parser::{ConfigId, Parser};

/// How many times as many items a search may take when no token is left otherwise.
const MAX_ESCALATION: u64 = 256;
/// At least so many items are then taken, however few the limit allows.
const MIN_ESCALATED: u64 = 1_000_000;

/// Which completions count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ways {
    /// All of the grammar.
    All,
    /// Those that no watch refuses (see `watch`).
    Safe,
}

/// The budgets of one kind of completions.
#[derive(Default)]
pub(crate) struct Budgets {
    /// Made when first asked for.
    exact: Option<Box<Budget>>,
    /// For upper bounds where lists in any order are long.
    in_order: Option<Box<Budget>>,
    /// For upper bounds that are found fast.
    upper: Option<Box<Budget>>,
}

impl Budgets {
    fn of(&mut self, extent: Extent) -> &mut Option<Box<Budget>> {
        match extent {
            Extent::All => &mut self.exact,
            Extent::InOrder => &mut self.in_order,
            Extent::Aligned => &mut self.upper,
        }
    }

    /// Drops what is memoised.
    pub(crate) fn clear(&mut self) {
        for budget in [&mut self.exact, &mut self.in_order, &mut self.upper].into_iter().flatten() {
            budget.clear();
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let budgets = [&self.exact, &self.in_order, &self.upper];
        budgets.into_iter().flatten().map(|budget| budget.memory_usage()).sum()
    }
}

/// What is known about limits on tokens of one grammar over bytes.
#[derive(Default)]
pub(crate) struct ByteLimits {
    /// Of all completions, and of those that no watch refuses.
    budgets: [Budgets; 2],
    pub(crate) far: Far,
}

impl ByteLimits {
    /// The least number of tokens of some of the completions.
    pub(crate) fn least(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        self.with_budget(reader, ways, |budget, reader| budget.least(&mut reader.parser, config))
    }

    /// The profile of a configuration by some of the completions.
    pub(crate) fn profile(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<(Arc<Profile>, TokenCountStatus), EngineError> {
        self.with_budget(reader, ways, |budget, reader| budget.profile(reader, config))
    }

    /// Whether at most `n_left` tokens complete the text, EOS included; `None` if a limit on work left that open.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn fits(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<bool>, EngineError> {
        if self.far.is_far(&mut reader.parser, config, None, n_left) {
            return Ok(Some(true));
        }
        let (least, status) = self.least_within(reader, Ways::All, config, n_left)?;
        Ok(match least <= n_left && least != NEVER {
            true => Some(true),
            false => (status == TokenCountStatus::Exact).then_some(false),
        })
    }

    /// The mask with `n_left` tokens left, EOS included; `None` if the limit is far, so that it excludes nothing. Not empty if
    /// that many can complete a text that is not complete.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn mask(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Option<MaskWithin>, EngineError> {
        if self.far.is_far(&mut reader.parser, config, None, n_left) {
            return Ok(None);
        }
        let (mask, status) = self.mask_by_profile(reader, config, n_left)?;
        Ok(Some(match reader.parser.without_last_tokens(config)? {
            // After one more token, the text fits even if the limited terminal is over then.
            Some(others) if self.least(reader, Ways::All, others)?.0 >= n_left => {
                self.tokens_that_fit(reader, config, &mask, n_left)?
            }
            _ => (mask, status),
        }))
    }

    /// The least number of tokens of some of the completions, or an upper bound on it that is at most `n_left`: those are found
    /// faster.
    pub(crate) fn least_within(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
        n_left: u32,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        let exact = self.budgets[ways as usize].exact.as_deref();
        if exact.is_none_or(|budget| budget.known_least(config).is_none()) {
            let least = self.upper_least(reader, ways, config)?;
            if least <= n_left {
                return Ok((least, TokenCountStatus::Upper));
            }
        }
        self.least(reader, ways, config)
    }

    /// An upper bound on the least number of tokens of some of the completions; [`NEVER`] if none is known.
    ///
    /// # Errors
    /// If the call is to be made again.
    pub(crate) fn upper_least(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<u32, EngineError> {
        // Whatever stops this search need not stop the exact one.
        match self.ask_budget(reader, ways, Extent::Aligned, |budget, reader| {
            budget.least(&mut reader.parser, config)
        }) {
            Err(error) if !error.is_postponed() => Ok(NEVER),
            least => least,
        }
    }

    /// The profile by upper bounds; empty if none are known.
    ///
    /// # Errors
    /// If the call is to be made again.
    pub(crate) fn upper_profile(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<Arc<Profile>, EngineError> {
        match self.ask_budget(reader, ways, Extent::Aligned, |budget, reader| budget.profile(reader, config))
        {
            Err(error) if !error.is_postponed() => Ok(Arc::default()),
            profile => profile,
        }
    }

    /// The profile of a configuration, or upper bounds on it that tell of each token whether some of the completions fit: those are
    /// found faster.
    pub(crate) fn profile_within(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
        n_left: u32,
    ) -> Result<(Arc<Profile>, TokenCountStatus), EngineError> {
        let is_known = |budget: &Budget| budget.profiles.contains_key(&config);
        if !self.budgets[ways as usize].exact.as_deref().is_some_and(is_known) {
            let seen = self.ask_budget(reader, ways, Extent::Aligned, |budget, reader| {
                let profile = budget.profile(reader, config)?;
                // What no words complete other tokens do not either, if there is a token for each byte.
                let tells = match budget.spells_all {
                    true => profile.most_of_completed() < n_left,
                    false => profile.most().is_some_and(|most| most < n_left),
                };
                Ok(tells.then_some(profile))
            });
            match seen {
                Ok(Some(profile)) => return Ok((profile, TokenCountStatus::Exact)),
                Err(error) if error.is_postponed() => return Err(error),
                _ => {}
            }
        }
        self.profile(reader, ways, config)
    }

    /// The tokens of `mask` after which at most `n_left - 1` more complete the text, each tried. That takes long, and is asked
    /// once for a text at most: where one more token may be used of a terminal and few are left altogether.
    fn tokens_that_fit(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        mask: &MaskForm,
        n_left: u32,
    ) -> Result<MaskWithin, EngineError> {
        let vocabulary = reader.parser.shared.vocabulary.clone();
        let mut fitting = MaskBuilder::new(vocabulary.n_words());
        let mut status = MaskStatus::Exact;
        for token in mask.tokens() {
            let fits = match vocabulary.text(token) {
                // The text ends.
                None => Some(true),
                Some(bytes) => match reader.step_all(config, bytes)? {
                    Some(next) => {
                        let next = reader.begin_token(next)?;
                        self.fits(reader, next, n_left - 1)?
                    }
                    None => Some(false),
                },
            };
            match fits {
                Some(true) => fitting.insert_all(&[token]),
                Some(false) => {}
                None => status = MaskStatus::Bound,
            }
        }
        Ok((Arc::new(fitting.finish()), status))
    }

    /// [`mask`](ByteLimits::mask) without a look at how many tokens a terminal may use.
    fn mask_by_profile(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
    ) -> Result<MaskWithin, EngineError> {
        let exact = |mask| (mask, MaskStatus::Exact);
        let (mut profile, mut status) = self.profile_within(reader, Ways::All, config, n_left)?;
        let is_empty = |profile: &Profile| profile.least().is_none_or(|least| least >= n_left);
        if status == TokenCountStatus::Upper
            && is_empty(&profile)
            && !reader.parser.configs.is_accepting(config)
        {
            profile = self.profile_at_length(reader, Ways::All, config)?;
            status = TokenCountStatus::Exact;
        }
        if profile.most().is_some_and(|most| most < n_left) {
            return reader.mask(config).map(exact);
        }
        let mask = profile.mask(n_left, reader.parser.shared.vocabulary.n_words());
        Ok((Arc::new(mask), status.into()))
    }

    /// The exact profile of a configuration, with more patience than usual: no token is left otherwise, and a text that could be
    /// completed in time can be after some token too.
    pub(crate) fn profile_at_length(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<Arc<Profile>, EngineError> {
        let mut items = reader.parser.shared.limits.budget_items.max(1);
        let most = items.saturating_mul(MAX_ESCALATION).max(MIN_ESCALATED);
        loop {
            if let Some(budget) = &mut self.budgets[ways as usize].exact {
                budget.set_patience(items);
            }
            let (profile, status) = self.profile(reader, ways, config)?;
            if status == TokenCountStatus::Exact {
                return Ok(profile);
            }
            if items >= most {
                return Err(EngineError::budget_search(items));
            }
            items = items.saturating_mul(4);
        }
    }

    /// Runs `ask`; where a limit on work stops it, for upper bounds.
    fn with_budget<T>(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        mut ask: impl FnMut(&mut Budget, &mut BytesReader) -> Result<T, EngineError>,
    ) -> Result<(T, TokenCountStatus), EngineError> {
        hooks::reach("budget");
        let mut status = TokenCountStatus::Exact;
        let mut answer = self.ask_budget(reader, ways, Extent::All, &mut ask);
        if answer.as_ref().is_err_and(EngineError::is_budget_orders) {
            status = TokenCountStatus::Upper;
            answer = self.ask_budget(reader, ways, Extent::InOrder, &mut ask);
        }
        if answer.as_ref().is_err_and(EngineError::is_budget_search) {
            status = TokenCountStatus::Upper;
            answer = self.ask_budget(reader, ways, Extent::Aligned, &mut ask);
        }
        Ok((answer?, status))
    }

    /// Runs `ask` for the completions of an extent.
    fn ask_budget<T>(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        extent: Extent,
        ask: impl FnOnce(&mut Budget, &mut BytesReader) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let shared = reader.parser.shared.clone();
        let mut budget = match self.budgets[ways as usize].of(extent).take() {
            Some(budget) => budget,
            None => {
                let max_items = match extent {
                    Extent::Aligned => MAX_UPPER_ITEMS,
                    Extent::All | Extent::InOrder => shared.limits.budget_items,
                };
                let avoided = avoided(&reader.parser, ways);
                Box::new(Budget::new(&shared.vocabulary, shared.spelling(), avoided, extent, max_items))
            }
        };
        budget.begin();
        let answer = ask(&mut budget, reader);
        match &answer {
            Err(error) if error.is_budget_search() && extent != Extent::Aligned => budget.give_up(),
            Err(_) => budget.forget_search(),
            Ok(_) => {}
        }
        budget.trim();
        *self.budgets[ways as usize].of(extent) = Some(budget);
        answer
    }

    /// Drops what is memoised.
    pub(crate) fn clear(&mut self) {
        self.budgets.iter_mut().for_each(Budgets::clear);
        self.far.clear();
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.budgets.iter().map(Budgets::memory_usage).sum::<usize>() + self.far.memory_usage()
    }
}

/// By terminal, whether completions must not enter it.
fn avoided(parser: &Parser, ways: Ways) -> Arc<[bool]> {
    let watched = parser.network.watched().filter(|_| ways == Ways::Safe);
    watched.map_or_else(Arc::default, |watched| watched.beginning().into())
}
