//! Limits on tokens over bytes: which of the searches is asked, and what is done where a limit on work stops it.
//!
//! Upper bounds are asked first, since they are found faster; then the exact search, within a limit on its work; and where
//! that would leave no token, the exact search again, with more work.
//!
//! **The same question has the same answer**, whatever was asked before. The work of a question depends on what is known, so limiting that
//! work is not enough. By definition, an answer is that of a search that starts with an empty table and may do `of_question` work.
//! Questions still share a table. While the whole work in it is at most half of that limit, a search with an empty table would not have
//! reached its limit either. Otherwise the question gets a fresh table, which takes the place of the shared one.
//!
//! Half, because the two searches are not the same item by item: items of equal cost come in another order, and futures are merged in other
//! places. That a factor of two is enough is not proven; `same_answer` (in the tests of `maskwright`) tries limits of a few items, where it
//! would show first.

mod highest;

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::TerminalId;
use maskwright_vocabulary::Vocabulary;
use rustc_hash::{FxHashMap, FxHashSet};

use super::completions::Budget;
use super::far::{Far, single_bytes};
use super::profile::Profile;
use super::summaries::{Extent, Work};
use crate::EngineError;
use crate::bytes::BytesReader;
use crate::ground::{MaskBuilder, MaskForm, MaskStatus, MaskWithin, NEVER, TokenCountStatus, hooks};
use crate::parser::{ConfigId, Parser};

/// Items that the search for one upper bound may take.
const MAX_UPPER_ITEMS: u64 = 1_600_000;
/// How many times [`Limits::budget_items`](crate::Limits::budget_items) all searches of one question may take together.
const SEARCHES_PER_QUESTION: u64 = 4;
/// How many times as many items a search may take when no token is left otherwise.
const AT_LENGTH: u64 = 256;
/// At least so many items are then taken, however few the limit allows.
const MIN_AT_LENGTH: u64 = 4_000_000;
/// Bytes that answers may take before they are dropped.
const MAX_ANSWER_BYTES: usize = 32 << 20;

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
    /// Answers of the exact search, or bounds where it was given up.
    least: FxHashMap<ConfigId, (u32, TokenCountStatus)>,
    profiles: FxHashMap<ConfigId, (Arc<Profile>, TokenCountStatus)>,
    /// Where no upper bound is found: for the least number, and for the profile.
    unbounded: [FxHashSet<ConfigId>; 2],
    /// Whether each byte is a token.
    spells_all: Option<bool>,
    /// Profiles that took more work than usual.
    at_length: FxHashMap<ConfigId, (Arc<Profile>, TokenCountStatus)>,
    profile_bytes: usize,
}

impl Budgets {
    fn of(&mut self, extent: Extent) -> &mut Option<Box<Budget>> {
        match extent {
            Extent::All => &mut self.exact,
            Extent::LongInOrder | Extent::InOrder => &mut self.in_order,
            Extent::Aligned => &mut self.upper,
        }
    }

    /// Counts a profile that is kept; drops the answers if they have grown beyond the limit.
    fn count(&mut self, profile: &Profile) {
        self.profile_bytes += profile.memory_usage() + 32;
        if self.profile_bytes + self.least.len() * 24 > MAX_ANSWER_BYTES {
            self.profile_bytes = 0;
            self.least = FxHashMap::default();
            self.profiles = FxHashMap::default();
            self.at_length = FxHashMap::default();
            self.unbounded = Default::default();
        }
    }

    /// Whether an error says that there is no upper bound, which is noted then.
    fn is_unbounded<T>(&mut self, at: usize, config: ConfigId, answer: &Result<T, EngineError>) -> bool {
        let is_limit = |error: &EngineError| error.is_limit() && !error.is_out_of_work();
        let is_unbounded = answer.as_ref().is_err_and(is_limit);
        if is_unbounded {
            self.unbounded[at].insert(config);
        }
        is_unbounded
    }

    /// Drops what is memoised.
    pub(crate) fn clear(&mut self) {
        *self = Budgets::default();
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let budgets = [&self.exact, &self.in_order, &self.upper].into_iter().flatten();
        let tables: usize = budgets.map(|budget| budget.memory_usage()).sum();
        tables + self.profile_bytes + self.least.len() * 24
    }
}

/// What is known about limits on tokens of one grammar over bytes.
#[derive(Default)]
pub(crate) struct ByteLimits {
    /// Of all completions, and of those that no watch refuses.
    budgets: [Budgets; 2],
    pub(crate) far: Far,
    /// By configuration, the most tokens that a text takes after a token (see `highest`).
    highest: [FxHashMap<ConfigId, u32>; 2],
    /// By terminal, the most tokens that complete it.
    longest_rests: FxHashMap<TerminalId, u32>,
}

impl ByteLimits {
    /// Builds the tables that no text changes.
    pub(crate) fn prepare(&mut self, reader: &mut BytesReader) {
        let start = reader.parser.start();
        // Whether the limit is far does not matter.
        self.far.is_far(&mut reader.parser, start, None, 0);
    }

    /// The least number of tokens of some of the completions.
    pub(crate) fn least(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        if let Some(&known) = self.budgets[ways as usize].least.get(&config) {
            return Ok(known);
        }
        let least =
            self.with_budget(reader, ways, |budget, reader| budget.least(&mut reader.parser, config))?;
        if reader.parser.shared.options.use_memo {
            self.budgets[ways as usize].least.insert(config, least);
        }
        Ok(least)
    }

    /// The profile of a configuration by some of the completions.
    pub(crate) fn profile(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<(Arc<Profile>, TokenCountStatus), EngineError> {
        if let Some(known) = self.budgets[ways as usize].profiles.get(&config) {
            return Ok(known.clone());
        }
        let profile = self.with_budget(reader, ways, |budget, reader| budget.profile(reader, config))?;
        if reader.parser.shared.options.use_memo {
            let budgets = &mut self.budgets[ways as usize];
            budgets.count(&profile.0);
            budgets.profiles.insert(config, profile.clone());
        }
        Ok(profile)
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
        let least = self.upper_least(reader, ways, config)?;
        if least <= n_left {
            return Ok((least, TokenCountStatus::Upper));
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
        if self.budgets[ways as usize].unbounded[0].contains(&config) {
            return Ok(NEVER);
        }
        let least = self.ask_budget(reader, ways, Extent::Aligned, |budget, reader| {
            budget.least(&mut reader.parser, config)
        });
        // Whatever stops this search need not stop the exact one.
        if self.budgets[ways as usize].is_unbounded(0, config, &least) { Ok(NEVER) } else { least }
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
        if self.budgets[ways as usize].unbounded[1].contains(&config) {
            return Ok(Arc::default());
        }
        let profile =
            self.ask_budget(reader, ways, Extent::Aligned, |budget, reader| budget.profile(reader, config));
        if self.budgets[ways as usize].is_unbounded(1, config, &profile) {
            return Ok(Arc::default());
        }
        profile
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
        let upper = self.upper_profile(reader, ways, config)?;
        // What no words complete other tokens do not either, if there is a token for each byte.
        let budgets = &mut self.budgets[ways as usize];
        let spells_all = || spells_all(&reader.parser.shared.vocabulary);
        let tells = match *budgets.spells_all.get_or_insert_with(spells_all) {
            true => upper.most_of_completed() < n_left,
            false => upper.most().is_some_and(|most| most < n_left),
        };
        if tells && !budgets.unbounded[1].contains(&config) {
            return Ok((upper, TokenCountStatus::Exact));
        }
        self.profile(reader, ways, config)
    }

    /// Adds tokens to `mask` that begin shortest ones of some of the completions, if they fit `n_left` tokens by their upper bounds.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_first(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        self.ask_budget(reader, ways, Extent::Aligned, |budget, reader| {
            budget.add_first(reader, config, n_left, mask)
        })
    }

    /// Adds tokens to `mask` that finish the terminals in progress as searches have found before.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_on_known_ways(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        self.ask_budget(reader, Ways::All, Extent::Aligned, |budget, reader| {
            budget.add_on_known_ways(&mut reader.parser, config, n_left, mask)
        })
    }

    /// The rest of a text from `config`, of some of the completions: short by the upper bounds, at most `max_bytes` long. `None` if none is
    /// known.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn short_completion(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
        max_bytes: usize,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let (mut text, mut at) = (Vec::new(), config);
        while !reader.parser.configs.is_accepting(at) {
            let word = self.ask_budget(reader, ways, Extent::Aligned, |budget, reader| {
                budget.first_word(&mut reader.parser, at)
            })?;
            let Some(word) = word.filter(|word| !word.is_empty()) else { return Ok(None) };
            let Some(next) = reader.step_all(at, &word)? else { return Ok(None) };
            text.extend(word);
            if text.len() > max_bytes {
                return Ok(None);
            }
            at = next;
        }
        Ok(Some(text))
    }

    /// Adds tokens to `mask` that leave enough room for a completion within `n_left` tokens, without searches.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_proven(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        match self.far.is_far(&mut reader.parser, config, None, n_left) {
            true => reader.add_known(config, mask),
            false => self.ask_budget(reader, Ways::All, Extent::Aligned, |budget, reader| {
                budget.add_proven(reader, config, n_left, mask)
            }),
        }
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
        if self.do_all_fit(reader, Ways::All, config, n_left)? {
            return reader.mask(config).map(exact);
        }
        let (mut profile, mut status) = self.profile_within(reader, Ways::All, config, n_left)?;
        let is_empty = |profile: &Profile| profile.least().is_none_or(|least| least >= n_left);
        if status == TokenCountStatus::Upper
            && is_empty(&profile)
            && !reader.parser.configs.is_accepting(config)
        {
            (profile, status) = self.profile_at_length(reader, Ways::All, config)?;
            if status == TokenCountStatus::Upper && is_empty(&profile) {
                return Err(EngineError::budget_orders());
            }
        }
        if profile.most().is_some_and(|most| most < n_left) {
            return reader.mask(config).map(exact);
        }
        let mask = profile.mask(n_left, reader.parser.shared.vocabulary.n_words());
        Ok((Arc::new(mask), status.into()))
    }

    /// The profile of a configuration, with more work than usual: no token is left otherwise, and a text that could be
    /// completed in time can be after some token too. Exact but for lists in too many orders.
    pub(crate) fn profile_at_length(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<(Arc<Profile>, TokenCountStatus), EngineError> {
        if let Some(known) = self.budgets[ways as usize].at_length.get(&config) {
            return Ok(known.clone());
        }
        let items =
            reader.parser.shared.limits.budget_items.saturating_mul(SEARCHES_PER_QUESTION * AT_LENGTH);
        let mut search =
            |extent| fresh(&reader.parser, ways, extent, items.max(MIN_AT_LENGTH)).profile(reader, config);
        let profile = match search(Extent::All) {
            Err(error) if error.is_budget_orders() => (search(Extent::LongInOrder)?, TokenCountStatus::Upper),
            profile => (profile?, TokenCountStatus::Exact),
        };
        if reader.parser.shared.options.use_memo {
            let budgets = &mut self.budgets[ways as usize];
            budgets.count(&profile.0);
            budgets.at_length.insert(config, profile.clone());
        }
        Ok(profile)
    }

    /// Runs `ask`; where a limit on work stops it, for upper bounds.
    fn with_budget<T>(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        mut ask: impl FnMut(&mut Budget, &mut BytesReader) -> Result<T, EngineError>,
    ) -> Result<(T, TokenCountStatus), EngineError> {
        hooks::reach("budget");
        let is_given_up = |error: &EngineError| error.is_budget_limit() || error.is_terminal_limit();
        let mut status = TokenCountStatus::Exact;
        let mut answer = self.ask_budget(reader, ways, Extent::All, &mut ask);
        for extent in [Extent::InOrder, Extent::Aligned] {
            let is_other = extent == Extent::Aligned || reader.parser.network.has_lists();
            if is_other && answer.as_ref().is_err_and(is_given_up) {
                status = TokenCountStatus::Upper;
                answer = self.ask_budget(reader, ways, extent, &mut ask);
            }
        }
        Ok((answer?, status))
    }

    /// Runs `ask` for the completions of an extent; again, with nothing known, where what others did leaves open whether the work suffices.
    fn ask_budget<T>(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        extent: Extent,
        mut ask: impl FnMut(&mut Budget, &mut BytesReader) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let of_question = match extent {
            Extent::Aligned => MAX_UPPER_ITEMS,
            Extent::All | Extent::LongInOrder | Extent::InOrder => {
                reader.parser.shared.limits.budget_items.saturating_mul(SEARCHES_PER_QUESTION)
            }
        };
        let shared = self.budgets[ways as usize].of(extent).take().filter(|budget| !budget.is_fresh());
        let mut answer = None;
        if let Some(mut budget) = shared {
            budget.allow(Work { of_table: of_question / 2, of_question });
            let found = ask(&mut budget, reader);
            if !found.as_ref().is_err_and(EngineError::is_budget_limit) {
                answer = Some((budget, found));
            }
        }
        let (mut budget, answer) = answer.unwrap_or_else(|| {
            let mut budget = fresh(&reader.parser, ways, extent, of_question);
            let found = ask(&mut budget, reader);
            (budget, found)
        });
        match &answer {
            Err(error) if error.is_budget_limit() => return answer,
            Err(error) if !error.is_out_of_work() => budget.forget_search(),
            Err(_) | Ok(_) => {}
        }
        if !budget.is_full() {
            *self.budgets[ways as usize].of(extent) = Some(budget);
        }
        answer
    }

    /// Drops what is memoised.
    pub(crate) fn clear(&mut self) {
        self.budgets.iter_mut().for_each(Budgets::clear);
        self.far.clear();
        self.highest = Default::default();
        self.longest_rests = FxHashMap::default();
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let n_highest: usize = self.highest.iter().map(|highest| highest.len()).sum();
        self.budgets.iter().map(Budgets::memory_usage).sum::<usize>()
            + self.far.memory_usage()
            + 16 * n_highest
    }
}

/// A budget with nothing known, for one question that may do `work`.
fn fresh(parser: &Parser, ways: Ways, extent: Extent, work: u64) -> Box<Budget> {
    let shared = &parser.shared;
    let mut budget = Budget::new(&shared.vocabulary, shared.spelling(), avoided(parser, ways), extent);
    budget.allow(Work { of_table: work, of_question: work });
    Box::new(budget)
}

/// Whether each byte is a token; the byte 0xFF is in no text.
fn spells_all(vocabulary: &Vocabulary) -> bool {
    single_bytes(vocabulary).union(&ByteSet::singleton(0xFF)) == ByteSet::FULL
}

/// By terminal, whether completions must not enter it.
fn avoided(parser: &Parser, ways: Ways) -> Arc<[bool]> {
    let watched = parser.network.watched().filter(|_| ways == Ways::Safe);
    watched.map_or_else(Arc::default, |watched| watched.beginning().into())
}
