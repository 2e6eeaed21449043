//! Sessions with a limit on tokens, and how many tokens complete a text.
//!
//! Which tokens a limit leaves in a mask is `masks`; how a session follows a *witness*, the tokens of a
//! completion that fits, is in `super`.

use std::sync::Arc;

use maskwright_vocabulary::TokenId;

use super::Matcher;
use crate::ground::{MANY, TokenCountStatus, TokensToFinish};
use crate::session::engine_grammar::EngineGrammar;
use crate::session::state::{State, Witness};
use crate::{EngineError, Error};

/// What a session is asked to keep to.
///
/// # Example: limits on tokens and on work
///
/// ```
/// # mod maskwright { pub use maskwright_engine::*; }
/// use maskwright::MatcherConfig;
/// let mut config = MatcherConfig::with_max_tokens(100);
/// config.mask_work = Some(400_000);
/// assert!(config.max_tokens == Some(100) && config.stop_tokens.is_empty());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct MatcherConfig {
    /// The text is complete, end-of-sequence token included, after at most so many tokens. Each token of a
    /// mask leaves enough for the rest of the text. Close to the limit a mask may lack tokens that would too;
    /// then it is a bound.
    pub max_tokens: Option<usize>,
    /// Tokens that end the text, beside the vocabulary's own. They are refused until the text may end, and
    /// end it then.
    pub stop_tokens: Vec<TokenId>,
    /// The work units of one mask, and of one call that accepts or checks tokens, instead of the compiler's
    /// [`Limits::mask_work`](crate::Limits::mask_work).
    pub mask_work: Option<u64>,
}

impl MatcherConfig {
    /// A limit on tokens alone.
    pub fn with_max_tokens(max_tokens: impl Into<Option<usize>>) -> MatcherConfig {
        MatcherConfig { max_tokens: max_tokens.into(), ..MatcherConfig::default() }
    }
}

impl Matcher {
    /// A session as `config` asks for.
    ///
    /// # Errors
    /// If a stop token is out of range or the stop tokens leave no text; if `max_tokens` is too small
    /// ([`Error::needed`] says which is not: from there on each is large enough); if a limit on work is
    /// reached.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_engine::*; pub use maskwright_vocabulary::*; }
    /// # use maskwright_automata::{Fuel, Regex};
    /// # use maskwright_grammar::Grammar;
    /// # let tokens = ["a", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// # let vocabulary = maskwright::Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(1)], None).unwrap().shared();
    /// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
    /// # let grammar = compiler.compile(Grammar::from_regex(Regex::literal("a").plus()), &Fuel::new(1_000)).unwrap();
    /// use maskwright::{Matcher, MatcherConfig, TokenId};
    /// // The grammar is that of the regular expression `a+`; the tokens are `a` and one that ends texts.
    /// let mut matcher = Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(2)).unwrap();
    /// assert!(matcher.accept_token(TokenId(0)).unwrap());
    /// assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [TokenId(1)]);
    /// let too_small = MatcherConfig::with_max_tokens(1);
    /// assert_eq!(Matcher::with_config(&grammar, &too_small).unwrap_err().needed(), Some(2));
    /// ```
    #[doc(hidden)]
    pub fn with_config(grammar: &Arc<EngineGrammar>, config: &MatcherConfig) -> Result<Matcher, Error> {
        let mut matcher = Matcher::new(&grammar.with_stop_tokens(&config.stop_tokens)?);
        if let Some(work) = config.mask_work {
            matcher.mask_work = Some(work);
        }
        if let Some(limit) = config.max_tokens {
            let n_left = u32::try_from(limit).unwrap_or(MANY);
            if matcher.ask(|machine| machine.fits(&matcher.state, n_left))? != Some(true) {
                let (least, status) = matcher.ask(|machine| machine.least_at(&matcher.state))?;
                if least >= MANY || least as usize > limit {
                    return Err(EngineError::max_tokens_too_small(limit, least, status).into());
                }
            }
            matcher.set_max_tokens(limit);
        }
        Ok(matcher)
    }

    /// How many tokens complete the text at most, an end-of-sequence token included; 0 if it has ended. It is
    /// the length of a completion that is as short as is easily found; its status says whether no other is
    /// shorter. Where the vocabulary has no end-of-sequence token, the end costs nothing.
    ///
    /// # Errors
    /// If no tokens of the vocabulary spell the rest of any text, or no completion is found within the limits
    /// on work.
    pub fn tokens_to_finish(&self) -> Result<TokensToFinish, Error> {
        if self.is_terminated() {
            return Ok(TokensToFinish { n_tokens: 0, status: TokenCountStatus::Exact });
        }
        let (n_tokens, status) = self.ask(|machine| machine.least_at(&self.state))?;
        let held = self.state.witness.as_ref().map(|held| held.tokens().len() + self.end_cost());
        if let Some(n_held) = held.filter(|&n_held| n_held < n_tokens as usize) {
            return Ok(TokensToFinish { n_tokens: n_held, status: TokenCountStatus::Upper });
        }
        if n_tokens >= MANY {
            return Err(EngineError::no_tokens(n_tokens, status).into());
        }
        Ok(TokensToFinish { n_tokens: n_tokens as usize, status })
    }

    /// A completion of the text of as many tokens as [`tokens_to_finish`](Matcher::tokens_to_finish) says.
    /// The last token is the end-of-sequence token with the least id that may end this text, if the
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
        let mut matcher = self.fork().unbounded();
        let least = self.tokens_to_finish()?.n_tokens;
        let way =
            match self.state.witness.as_ref().filter(|held| held.tokens().len() + self.end_cost() <= least) {
                Some(held) => Some(held.tokens().to_vec()),
                None => self.ask(|machine| machine.way(&self.state))?,
            };
        for id in way.ok_or_else(EngineError::no_completion_known)? {
            let token = match vocabulary.as_symbol(id) {
                Some(symbol) => self.grammar().named().and_then(|named| named.first(symbol)),
                None => Some(id),
            };
            let token = token.ok_or_else(EngineError::undecided)?;
            if !matcher.accept_unbudgeted(token)? {
                return Err(EngineError::undecided().into());
            }
            tokens.push(token);
        }
        tokens.extend(matcher.end_tokens(matcher.state.config)?.first());
        Ok(tokens)
    }

    /// A completion within the limit: the one that the text at `state` is bound to, or the one that is found
    /// there. `None` if there is no limit, or none fits.
    pub(super) fn witness(&self, state: &State) -> Result<Option<Witness>, EngineError> {
        let Some(left) = self.tokens_left(state) else { return Ok(None) };
        if state.witness.is_some() {
            return Ok(state.witness.clone());
        }
        let way = self.ask(|machine| machine.way(state))?;
        Ok(way.filter(|way| way.len() + self.end_cost() <= left as usize).map(Witness::new))
    }

    /// The tokens that the end of a text takes.
    fn end_cost(&self) -> usize {
        usize::from(!self.grammar().vocabulary().eos_token_ids().is_empty())
    }

    /// The most tokens of the whole text, end-of-sequence token included, if there is a limit.
    pub fn max_tokens(&self) -> Option<usize> {
        self.max_tokens
    }

    pub(crate) fn set_max_tokens(&mut self, limit: usize) {
        self.max_tokens = Some(limit);
    }

    /// Whether each token must be checked for a completion of the text.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.max_tokens.is_some() || self.must_spell
    }

    /// How many tokens may still come after `state`, EOS included; [`MANY`] if there is no limit.
    pub(super) fn tokens_left(&self, state: &State) -> Option<u32> {
        let Some(limit) = self.max_tokens else { return self.must_spell.then_some(MANY) };
        Some(u32::try_from(limit.saturating_sub(state.n_tokens)).unwrap_or(MANY))
    }

    /// Whether the text can be completed within the limit from `state`; `None` if that is not known.
    pub(super) fn fits(&self, state: &State) -> Result<Option<bool>, EngineError> {
        if self.max_tokens.is_some_and(|limit| limit < state.n_tokens) {
            return Ok(Some(false));
        }
        match self.tokens_left(state) {
            Some(left) => self.ask(|machine| machine.fits(state, left)),
            None => Ok(Some(true)),
        }
    }

    /// Accepts a token without checking that the text can be completed.
    pub(crate) fn accept_unbudgeted(&mut self, token: TokenId) -> Result<bool, Error> {
        self.max_tokens = None;
        self.must_spell = false;
        self.accept_token(token)
    }
}
