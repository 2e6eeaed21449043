//! Decoding that looks at more than one text: beams, tree search, populations, exact search.
//!
//! Every strategy takes a model, a constraint that it clones for each text in progress, a prompt and a
//! [`SearchConfig`], and returns a [`SearchOutcome`]: texts, the best first. Likelihoods are the model's own,
//! of the whole text and its end, whatever was forbidden meanwhile. Under a constraint with a token budget
//! (the engine's `Matcher::with_max_tokens`) every prefix can be finished within the limit, so every text
//! returned is whole unless the caller broke off.
//!
//! * [`beam_search`]: the likeliest of the texts that it keeps side by side.
//! * [`tree_search`]: Monte Carlo tree search with greedy rollouts.
//! * [`most_likely()`]: the likeliest text of all, with a proof where the search comes to its end.
//! * [`best_of()`]: samples, the likeliest first.
//! * [`particles()`]: samples and weights, by sequential Monte Carlo. They approach the model's own
//!   distribution, given the language, which masking each token alone does not.
//!
//! Costs are counted in tokens that the model reads; masks and searching are small beside it.
//!
//! Forced tokens are not jumped over: a likelihood needs the model's word on them too, and one token that the
//! mask allows may be another than the forced spelling. Programs that offer them by name take a [`Strategy`].

mod beam;
mod best_of;
mod driver;
mod explored;
mod most_likely;
mod particles;
mod population;
mod row;
mod strategy;
mod tree;

use std::ops::ControlFlow;

pub use beam::{BeamConfig, beam_search};
pub use best_of::{BestOfConfig, best_of};
pub use explored::ExploredToken;
pub use most_likely::{MostLikely, MostLikelyConfig, most_likely};
pub use particles::{Particles, ParticlesConfig, particles};
pub use strategy::{Proof, Strategy};
pub use tree::{TreeSearchConfig, tree_search};

use maskwright_vocabulary::TokenId;

use crate::generate::FinishReason;

/// What all strategies need to know.
///
/// # Examples
/// ```
/// use maskwright_decode::SearchConfig;
/// use maskwright_vocabulary::TokenId;
/// let config = SearchConfig { max_tokens: 40, eos_ids: vec![TokenId(2)] };
/// assert_eq!(config.max_tokens, 40);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchConfig {
    /// The most tokens of a text, end of text included. A constraint with a budget knows of it too; one
    /// without is cut off here.
    pub max_tokens: usize,
    /// The ids that end a text.
    pub eos_ids: Vec<TokenId>,
}

impl Default for SearchConfig {
    /// Up to 256 tokens; no end-of-text id.
    fn default() -> Self {
        SearchConfig { max_tokens: 256, eos_ids: Vec::new() }
    }
}

/// A text that a strategy found.
///
/// # Examples
/// ```
/// use maskwright_decode::{FinishReason, Hypothesis};
/// use maskwright_vocabulary::TokenId;
/// let text = Hypothesis {
///     tokens: vec![TokenId(7)],
///     eos_id: Some(TokenId(0)),
///     finish_reason: FinishReason::Eos,
///     log_likelihood: -2.0,
///     n_tokens: 2,
/// };
/// assert!((text.perplexity() - 1_f64.exp()).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The tokens after the prompt, without the end-of-text token.
    pub tokens: Vec<TokenId>,
    /// The end-of-text token, if there is one.
    pub eos_id: Option<TokenId>,
    /// Why it ended; [`FinishReason::Cancelled`] if it was broken off.
    pub finish_reason: FinishReason,
    /// The sum over all its tokens, end of text included, of the logarithm of the model's probability for
    /// them.
    pub log_likelihood: f64,
    /// How many tokens that sum is over.
    pub n_tokens: usize,
}

impl Hypothesis {
    /// Whether the text is whole.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.finish_reason.is_complete()
    }

    /// The geometric mean of the probabilities of its tokens, from 0 to 1: the value of a text in paper 4,
    /// section 4.2. 1 for the empty text.
    #[must_use]
    pub fn mean_likelihood(&self) -> f64 {
        self.normalized(1.0).exp()
    }

    /// One over [`mean_likelihood`](Hypothesis::mean_likelihood).
    #[must_use]
    pub fn perplexity(&self) -> f64 {
        (-self.normalized(1.0)).exp()
    }

    /// The log-likelihood divided by the number of tokens to the power of `exponent`.
    pub(crate) fn normalized(&self, exponent: f64) -> f64 {
        normalized(self.log_likelihood, self.n_tokens, exponent)
    }

    /// Whole texts first, then by `value`, larger first.
    pub(crate) fn sort_key(&self, value: f64) -> (bool, f64) {
        (self.is_complete(), value)
    }
}

/// A log-likelihood by length: what beams compare.
pub(crate) fn normalized(log_likelihood: f64, n_tokens: usize, exponent: f64) -> f64 {
    log_likelihood / (n_tokens.max(1) as f64).powf(exponent)
}

/// Orders by [`Hypothesis::sort_key`], the better first.
pub(crate) fn by_key(left: (bool, f64), right: (bool, f64)) -> std::cmp::Ordering {
    right.0.cmp(&left.0).then(right.1.total_cmp(&left.1))
}

/// How far a search is.
///
/// # Examples
/// ```
/// use maskwright_decode::Progress;
/// let progress = Progress { n_done: 3, n_total: 10, n_model_tokens: 700, best: None };
/// assert!(progress.best.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// How much is done, in the unit of the strategy: tokens of the texts in progress ([`beam_search`],
    /// [`best_of()`], [`particles()`]), tokens that are decided ([`tree_search`]), prefixes
    /// ([`most_likely()`]).
    pub n_done: usize,
    /// The most it can become. Most searches end earlier.
    pub n_total: usize,
    /// How many tokens the model has read.
    pub n_model_tokens: usize,
    /// The best finished text so far.
    pub best: Option<&'a Hypothesis>,
}

/// Called now and then; `Break` ends the search with the best so far.
pub type OnProgress<'a> = dyn FnMut(&Progress<'_>) -> ControlFlow<()> + 'a;

/// What a search found.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
/// use maskwright_decode::{BeamConfig, RandomModel, SearchConfig, Unconstrained, beam_search};
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomModel::new(10, 64, 1);
/// let search = SearchConfig { max_tokens: 20, eos_ids: vec![TokenId(0)] };
/// let anything = Unconstrained::new(vec![TokenId(0)]);
/// let outcome = beam_search(&mut model, &anything, &[TokenId(1)], &search, &BeamConfig::default(), &mut |_| {
///     ControlFlow::Continue(())
/// })
/// .unwrap();
/// assert!(outcome.best().is_some_and(|text| text.is_complete()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SearchOutcome {
    /// The texts, the best first: whole ones before others.
    pub texts: Vec<Hypothesis>,
    /// The tokens that the search followed (not those that it only weighed), as a tree: each comes after its
    /// parent. Those of all texts are in it.
    pub explored: Vec<ExploredToken>,
    /// How many tokens the model has read, the prompt included.
    pub n_model_tokens: usize,
    /// Whether the caller broke off.
    pub is_cancelled: bool,
}

impl SearchOutcome {
    /// The best text.
    #[must_use]
    pub fn best(&self) -> Option<&Hypothesis> {
        self.texts.first()
    }

    /// Where the tokens of a text of this outcome are in [`explored`](SearchOutcome::explored), the end of
    /// the text included.
    #[must_use]
    pub fn path(&self, text: &Hypothesis) -> Vec<usize> {
        let mut path = Vec::with_capacity(text.n_tokens);
        let mut left = text.tokens.iter().chain(&text.eos_id).peekable();
        for (index, token) in self.explored.iter().enumerate() {
            if left.peek() == Some(&&token.id) && token.parent == path.last().copied() {
                path.push(index);
                left.next();
            }
        }
        path
    }
}
