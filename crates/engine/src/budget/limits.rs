//! Budgets of sessions.

use std::sync::Arc;

use maskwright_vocabulary::TokenId;

use super::completions::{Budget, MAX_UPPER_ITEMS};
use super::lexed::LexedBudget;
use super::profile::Profile;
use super::summaries::Extent;
use crate::ground::{
    MANY, MaskBuilder, MaskForm, MaskStatus, MaskWithin, NEVER, TokenCountStatus, TokensToFinish, hooks,
};
use crate::lexed::Lexed;
use crate::parser::{ConfigId, Parser};
use crate::session::{Machine, State};
use crate::{EngineError, EngineGrammar, Error, Matcher};

/// How many times as many items a search may take when no token is left otherwise.
const MAX_ESCALATION: u64 = 256;
/// At least so many items are then taken, however few the limit allows.
const MIN_ESCALATED: u64 = 1_000_000;

impl Matcher {
    /// A session whose text is complete, end-of-sequence token included, after at most `max_tokens` tokens:
    /// a token is allowed iff the text can still be completed within what is left.
    ///
    /// # Errors
    /// If no text of the language has so few tokens (the message says how many the shortest takes), or a
    /// limit is reached.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_engine::*; pub use maskwright_vocabulary::*; }
    /// # use maskwright_automata::{Fuel, Regex};
    /// # use maskwright_grammar::Grammar;
    /// # let tokens = ["a", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// # let vocabulary = maskwright::Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(1)], None).unwrap().shared();
    /// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
    /// # let grammar = compiler.compile(Grammar::from_regex(Regex::literal("a").plus()), &Fuel::new(1_000)).unwrap();
    /// use maskwright::{Matcher, TokenId};
    /// // The grammar is that of the regular expression `a+`; the tokens are `a` and one that ends texts.
    /// let mut matcher = Matcher::with_max_tokens(&grammar, Some(2)).unwrap();
    /// assert!(matcher.accept_token(TokenId(0)).unwrap());
    /// assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [TokenId(1)]);
    /// assert!(Matcher::with_max_tokens(&grammar, Some(1)).unwrap_err().to_string().contains("takes 2"));
    /// ```
    pub fn with_max_tokens(
        grammar: &Arc<EngineGrammar>,
        max_tokens: Option<usize>,
    ) -> Result<Matcher, Error> {
        let mut matcher = Matcher::new(grammar);
        if let Some(limit) = max_tokens {
            let n_left = u32::try_from(limit).unwrap_or(u32::MAX - 1);
            if matcher.ask(|machine| machine.fits(&matcher.state, n_left))? != Some(true) {
                let (least, _) = matcher.ask(|machine| machine.least_at(&matcher.state))?;
                if least >= MANY || least as usize > limit {
                    return Err(EngineError::budget_too_small(limit, least).into());
                }
            }
            matcher.set_max_tokens(limit);
        }
        Ok(matcher)
    }

    /// The least number of tokens, an end-of-sequence token included, that complete the text; 0 if it has ended. Tokens that
    /// span terminals count as what they are. Where the vocabulary has no end-of-sequence token, the end costs nothing.
    ///
    /// # Errors
    /// If no tokens of the vocabulary spell the rest of any text, or a limit is reached.
    pub fn tokens_to_finish(&self) -> Result<TokensToFinish, Error> {
        if self.is_terminated() {
            return Ok(TokensToFinish { n_tokens: 0, status: TokenCountStatus::Exact });
        }
        let (n_tokens, status) = self.ask(|machine| machine.least_at(&self.state))?;
        if n_tokens >= MANY {
            return Err(EngineError::no_tokens(n_tokens).into());
        }
        Ok(TokensToFinish { n_tokens: n_tokens as usize, status })
    }

    /// A completion of the text of as many tokens as [`tokens_to_finish`](Matcher::tokens_to_finish) says, or of fewer if
    /// that is an upper bound. The last token is the end-of-sequence token with the least id that may end this text, if the
    /// vocabulary has one.
    ///
    /// # Errors
    /// As [`tokens_to_finish`](Matcher::tokens_to_finish).
    pub fn finish(&self) -> Result<Vec<TokenId>, Error> {
        let mut tokens = Vec::new();
        if self.is_terminated() {
            return Ok(tokens);
        }
        let vocabulary = self.grammar().vocabulary().clone();
        let mut matcher = self.fork();
        let mut left = self.tokens_to_finish()?.n_tokens;
        let end = usize::from(!vocabulary.eos_token_ids().is_empty());
        // An upper bound may leave tokens over at the end of the text.
        while left > end && !matcher.is_accepting() {
            let steps = matcher.ask(|machine| machine.next_steps(&matcher.state, left as u32))?;
            if steps.is_empty() {
                return Err(EngineError::cannot_be_spelled().into());
            }
            for id in steps {
                let token = match vocabulary.as_symbol(id) {
                    Some(symbol) => self.grammar().named().and_then(|named| named.first(symbol)),
                    None => Some(id),
                };
                let token = token.ok_or_else(EngineError::cannot_be_spelled)?;
                tokens.push(token);
                matcher.accept_unbudgeted(token)?;
                left -= 1;
            }
        }
        tokens.extend(matcher.end_tokens(matcher.state.config)?.first());
        Ok(tokens)
    }
}

/// Which completions count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ways {
    /// All of the grammar.
    All,
    /// Those that no watch refuses ([`watched`](super::watched)).
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

impl Machine {
    /// The least number of tokens that complete a session's text, EOS included.
    ///
    /// # Errors
    /// If a limit is reached before any completion is found.
    pub(crate) fn least_at(&mut self, state: &State) -> Result<(u32, TokenCountStatus), EngineError> {
        match state.place() {
            Some(place) => self.watched_least(&place),
            None => self.tokens_to_finish(state.config),
        }
    }

    /// The same for a configuration, whatever a watch may say.
    ///
    /// # Errors
    /// If a limit is reached before any completion is found.
    pub(crate) fn tokens_to_finish(
        &mut self,
        config: ConfigId,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        if let Some(lexed) = self.lexed() {
            // Tokens ahead are read strictly there, so there may be shorter texts.
            let is_contextual = lexed.points.tables.is_contextual;
            let (least, status) =
                self.with_lexed_budget(|budget, lexed, parser| budget.least(lexed, parser, config))?;
            return Ok((least, if is_contextual { TokenCountStatus::Upper } else { status }));
        }
        self.least(Ways::All, config)
    }

    /// The least number of tokens of some of the completions.
    pub(crate) fn least(
        &mut self,
        ways: Ways,
        config: ConfigId,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        self.with_budget(ways, |budget, machine| budget.least(machine, config))
    }

    /// The profile of a configuration by some of the completions.
    pub(crate) fn profile(
        &mut self,
        ways: Ways,
        config: ConfigId,
    ) -> Result<(Arc<Profile>, TokenCountStatus), EngineError> {
        self.with_budget(ways, |budget, machine| budget.profile(machine, config))
    }

    /// Whether at most `n_left` tokens complete the text, EOS included; `None` if a limit on work left that open.
    ///
    /// # Errors
    /// As [`tokens_to_finish`](Machine::tokens_to_finish).
    pub(crate) fn fits(&mut self, state: &State, n_left: u32) -> Result<Option<bool>, EngineError> {
        let config = state.config;
        if let Some(place) = state.place() {
            if self.is_far(config, Some(&*place.watching), n_left) {
                return self.has_completion(&place).map(Some);
            }
            return self.watched_fits(&place, n_left);
        }
        if self.lexed().is_some() {
            return self
                .with_lexed_budget(|budget, lexed, parser| budget.fits(lexed, parser, config, n_left))
                // A mask takes for no what is not known, but for the one token that it has to find.
                .map(|fits| Some(fits.unwrap_or(false)));
        }
        if self.is_far(config, None, n_left) {
            return Ok(Some(true));
        }
        let (least, status) = self.least_within(Ways::All, config, n_left)?;
        Ok(match least <= n_left && least != NEVER {
            true => Some(true),
            false => (status == TokenCountStatus::Exact).then_some(false),
        })
    }

    /// The least number of tokens of some of the completions, or an upper bound on it that is at most `n_left`: those are found
    /// faster.
    pub(crate) fn least_within(
        &mut self,
        ways: Ways,
        config: ConfigId,
        n_left: u32,
    ) -> Result<(u32, TokenCountStatus), EngineError> {
        let exact = self.budgets[ways as usize].exact.as_deref();
        if exact.is_none_or(|budget| budget.known_least(config).is_none()) {
            let least = self.upper_least(ways, config)?;
            if least <= n_left {
                return Ok((least, TokenCountStatus::Upper));
            }
        }
        self.least(ways, config)
    }

    /// An upper bound on the least number of tokens of some of the completions; [`NEVER`] if none is known.
    ///
    /// # Errors
    /// If the call is to be made again.
    pub(crate) fn upper_least(&mut self, ways: Ways, config: ConfigId) -> Result<u32, EngineError> {
        // Whatever stops this search need not stop the exact one.
        match self.ask_budget(ways, Extent::Aligned, |budget, machine| budget.least(machine, config)) {
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
        ways: Ways,
        config: ConfigId,
    ) -> Result<Arc<Profile>, EngineError> {
        match self.ask_budget(ways, Extent::Aligned, |budget, machine| budget.profile(machine, config)) {
            Err(error) if !error.is_postponed() => Ok(Arc::default()),
            profile => profile,
        }
    }

    /// The profile of a configuration, or upper bounds on it that tell of each token whether some of the completions fit: those are
    /// found faster.
    pub(crate) fn profile_within(
        &mut self,
        ways: Ways,
        config: ConfigId,
        n_left: u32,
    ) -> Result<(Arc<Profile>, TokenCountStatus), EngineError> {
        let is_known = |budget: &Budget| budget.profiles.contains_key(&config);
        if !self.budgets[ways as usize].exact.as_deref().is_some_and(is_known) {
            let seen = self.ask_budget(ways, Extent::Aligned, |budget, machine| {
                let profile = budget.profile(machine, config)?;
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
        self.profile(ways, config)
    }

    /// The mask with `n_left` tokens left, EOS included; not empty if they can complete a text that is not complete.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn mask_within(&mut self, state: &State, n_left: u32) -> Result<MaskWithin, EngineError> {
        let exact = |mask| (mask, MaskStatus::Exact);
        let config = state.config;
        if let Some(watching) = &state.watching {
            if self.is_far(config, Some(&**watching), n_left) {
                return self.watched_mask(config, watching);
            }
            return self.watched_mask_within(config, watching, n_left);
        }
        if self.lexed().is_some() {
            let mask =
                self.with_lexed_budget(|budget, lexed, parser| budget.mask(lexed, parser, config, n_left))?;
            return mask.map_or_else(|| self.mask_with_status(config), Ok);
        }
        if self.is_far(config, None, n_left) {
            return self.mask(config).map(exact);
        }
        let (mask, status) = self.mask_by_profile(config, n_left)?;
        match self.without_last_tokens(config)? {
            // After one more token, the text fits even if the limited terminal is over then.
            Some(others) if self.tokens_to_finish(others)?.0 >= n_left => {
                self.tokens_that_fit(state, &mask, n_left)
            }
            _ => Ok((mask, status)),
        }
    }

    /// One token or more to take next so that at most `n_left` complete the text, EOS included; none if there are none.
    fn next_steps(&mut self, state: &State, n_left: u32) -> Result<Vec<TokenId>, EngineError> {
        if let Some(place) = state.place() {
            return self.watched_steps(&place, n_left);
        }
        let (form, _) = self.mask_within(state, n_left)?;
        Ok(form.first(self.parser.shared.vocabulary.n_words()).into_iter().collect())
    }

    /// The tokens of `mask` after which at most `n_left - 1` more complete the text, each tried. That takes long, and is asked
    /// once for a text at most: where one more token may be used of a terminal and few are left altogether.
    fn tokens_that_fit(
        &mut self,
        state: &State,
        mask: &MaskForm,
        n_left: u32,
    ) -> Result<MaskWithin, EngineError> {
        let vocabulary = self.parser.shared.vocabulary.clone();
        let mut fitting = MaskBuilder::new(vocabulary.n_words());
        let mut status = MaskStatus::Exact;
        for token in mask.tokens() {
            let fits = match vocabulary.text(token) {
                // The text ends.
                None => Some(true),
                Some(bytes) => match self.after_text(state, bytes)? {
                    Some(next) => self.fits(&next, n_left - 1)?,
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

    /// [`mask_within`](Machine::mask_within) without a look at how many tokens a terminal may use.
    fn mask_by_profile(&mut self, config: ConfigId, n_left: u32) -> Result<MaskWithin, EngineError> {
        let exact = |mask| (mask, MaskStatus::Exact);
        let (mut profile, mut status) = self.profile_within(Ways::All, config, n_left)?;
        let is_empty = |profile: &Profile| profile.least().is_none_or(|least| least >= n_left);
        if status == TokenCountStatus::Upper
            && is_empty(&profile)
            && !self.parser.configs.is_accepting(config)
        {
            profile = self.profile_at_length(Ways::All, config)?;
            status = TokenCountStatus::Exact;
        }
        if profile.most().is_some_and(|most| most < n_left) {
            return self.mask(config).map(exact);
        }
        let mask = profile.mask(n_left, self.parser.shared.vocabulary.n_words());
        Ok((Arc::new(mask), status.into()))
    }

    /// The exact profile of a configuration, with more patience than usual: no token is left otherwise, and a text that could be
    /// completed in time can be after some token too.
    pub(crate) fn profile_at_length(
        &mut self,
        ways: Ways,
        config: ConfigId,
    ) -> Result<Arc<Profile>, EngineError> {
        let mut items = self.parser.shared.limits.budget_items.max(1);
        let most = items.saturating_mul(MAX_ESCALATION).max(MIN_ESCALATED);
        loop {
            if let Some(budget) = &mut self.budgets[ways as usize].exact {
                budget.set_patience(items);
            }
            let (profile, status) = self.profile(ways, config)?;
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
        ways: Ways,
        mut ask: impl FnMut(&mut Budget, &mut Machine) -> Result<T, EngineError>,
    ) -> Result<(T, TokenCountStatus), EngineError> {
        hooks::reach("budget");
        let mut status = TokenCountStatus::Exact;
        let mut answer = self.ask_budget(ways, Extent::All, &mut ask);
        if answer.as_ref().is_err_and(EngineError::is_budget_orders) {
            status = TokenCountStatus::Upper;
            answer = self.ask_budget(ways, Extent::InOrder, &mut ask);
        }
        if answer.as_ref().is_err_and(EngineError::is_budget_search) {
            status = TokenCountStatus::Upper;
            answer = self.ask_budget(ways, Extent::Aligned, &mut ask);
        }
        Ok((answer?, status))
    }

    /// Runs `ask` for the completions of an extent.
    fn ask_budget<T>(
        &mut self,
        ways: Ways,
        extent: Extent,
        ask: impl FnOnce(&mut Budget, &mut Machine) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let shared = self.parser.shared.clone();
        let mut budget = match self.budgets[ways as usize].of(extent).take() {
            Some(budget) => budget,
            None => {
                let max_items = match extent {
                    Extent::Aligned => MAX_UPPER_ITEMS,
                    Extent::All | Extent::InOrder => shared.limits.budget_items,
                };
                let avoided = self.avoided(ways);
                Box::new(Budget::new(&shared.vocabulary, shared.spelling(), avoided, extent, max_items))
            }
        };
        budget.begin();
        let answer = ask(&mut budget, self);
        match &answer {
            Err(error) if error.is_budget_search() && extent != Extent::Aligned => budget.give_up(),
            Err(_) => budget.forget_search(),
            Ok(_) => {}
        }
        budget.trim();
        *self.budgets[ways as usize].of(extent) = Some(budget);
        answer
    }

    /// By terminal, whether completions must not enter it.
    fn avoided(&self, ways: Ways) -> Arc<[bool]> {
        let watched = self.parser.network.watched().filter(|_| ways == Ways::Safe);
        watched.map_or_else(Arc::default, |watched| watched.beginning().into())
    }

    /// Runs `ask` for a lexed grammar.
    fn with_lexed_budget<T>(
        &mut self,
        ask: impl FnOnce(&mut LexedBudget, &mut Lexed, &mut Parser) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Some((lexed, budget, parser)) = self.lexed_budget_mut() else {
            return Err(EngineError::cannot_be_spelled());
        };
        let budget = budget.get_or_insert_with(|| Box::new(LexedBudget::new(parser)));
        hooks::reach("lexed budget");
        let answer = ask(budget, lexed, parser);
        budget.trim();
        answer
    }
}
