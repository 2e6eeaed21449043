//! Monte Carlo tree search, as paper 4 uses it (section 4.2 (3), equation 6; Silver et al. 2017).
//!
//! A trial goes down the tree by
//!
//! F(w, t) = Q(w, t) + c · P(t | w) · √(Σ N(w, u)) / (1 + N(w, t))
//!
//! to a leaf, expands it, completes its text greedily, and values the text by the geometric mean of the
//! model's own probabilities. Q is the largest value seen among the texts that begin with w·t, N counts
//! trials, P is the distribution under the mask at a temperature. After a number of trials the child of
//! largest Q is decided, the tree below it is kept, and the others are forgotten.
//!
//! Theorem. The returned text is the best one that any trial met; the first trial is the greedy text. For
//! Q(root) is the largest value met below the root, some child has it, the decision takes such a child, and Q
//! never falls.
//!
//! Choices that the paper leaves open: Q of a token that no text has is 0. A completion counts for every
//! prefix it goes through, in the tree or not. A text that is cut off has value 0, so it is taken only if
//! nothing else is met (with a budget there is none; the paper gives such texts their likelihood, and finds
//! that they win).
//!
//! What is shared: a *position* (the likeliest tokens after a prefix) is asked of the model once and kept, so
//! a completion through known positions costs nothing; new ones are read by a fork of the root's sequence,
//! and the completions of [`TreeSearchConfig::n_leaves`] leaves run in one batch. Leaves of a batch are
//! chosen one after the other, each with the visits of those before it but not with their values.
//!
//! Rejected: a sequence of the model for every node of the tree. Thousands of nodes with megabytes of keys
//! and values each save only the second reading of a path, which is one pass.

mod node;
mod trial;

use node::{NodeId, Tree};

use maskwright_vocabulary::TokenId;

use super::{Hypothesis, OnProgress, SearchConfig, SearchOutcome, driver::Driver};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    generate::FinishReason,
    model::{LanguageModel, SequenceId},
};

/// How [`tree_search`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::TreeSearchConfig;
/// let config = TreeSearchConfig { n_trials: 50, ..TreeSearchConfig::default() };
/// assert_eq!((config.exploration, config.prior_temperature), (5.0, 2.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeSearchConfig {
    /// Trials before each decision.
    pub n_trials: usize,
    /// The factor c of the prior's term; 0 or above.
    pub exploration: f64,
    /// The temperature of the prior; above 0.
    pub prior_temperature: f64,
    /// How many trials at most run in one batch; 1 is the paper's search.
    pub n_leaves: usize,
    /// How many of the likeliest tokens after a prefix can be tried. No limit in effect if it is at least the
    /// number of trials that can visit one prefix.
    pub n_children: usize,
}

impl Default for TreeSearchConfig {
    /// The paper's: 20 trials, c = 5, temperature 2; four leaves a batch, 64 children.
    fn default() -> Self {
        TreeSearchConfig {
            n_trials: 20,
            exploration: 5.0,
            prior_temperature: 2.0,
            n_leaves: 4,
            n_children: 64,
        }
    }
}

/// The text of the largest [`Hypothesis::mean_likelihood`] that the search meets; at least that of the greedy
/// text. If the caller breaks off, it is the best met so far.
///
/// About trials × length² / 2 tokens read by the model at worst, in passes of [`TreeSearchConfig::n_leaves`].
/// `on_progress` is called after each batch and each of its passes.
///
/// # Errors
/// If the prompt is empty or too long, a setting is out of range, the constraint allows no token of some
/// text, or the model or the constraint fails.
pub fn tree_search<C: Constraint + Clone>(
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
    config: &TreeSearchConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<SearchOutcome, DecodeError> {
    config.check()?;
    let mut driver = Driver::new(model, prompt_ids, search)?;
    let (&last_token, before) = prompt_ids.split_last().ok_or(Kind::EmptyPrompt)?;
    let sequence = driver.create()?;
    driver.feed(sequence, before)?;
    let mut run = Run {
        tree: Tree::new(),
        root: Root { node: Tree::ROOT, constraint: constraint.clone(), sequence, last_token },
        driver,
        config,
        best: None,
        on_progress,
    };
    let is_cancelled = run.run()?.is_break();
    let texts = match run.best.take() {
        Some(best) => vec![best],
        None => vec![run.driver.hypothesis(Vec::new(), FinishReason::Cancelled, 0.0)],
    };
    let outcome = run.driver.into_outcome(texts, is_cancelled);
    Ok(SearchOutcome { explored: run.tree.explored(), ..outcome })
}

impl TreeSearchConfig {
    fn check(&self) -> Result<(), DecodeError> {
        for (name, given) in
            [("n_trials", self.n_trials), ("n_leaves", self.n_leaves), ("n_children", self.n_children)]
        {
            if given == 0 {
                return Err(Kind::BadCount { name, given, allowed: "at least 1" }.into());
            }
        }
        if !(self.exploration >= 0.0 && self.exploration.is_finite()) {
            let given = self.exploration as f32;
            return Err(Kind::BadSetting { name: "exploration", given, allowed: "0 or above" }.into());
        }
        if !(self.prior_temperature > 0.0 && self.prior_temperature.is_finite()) {
            let given = self.prior_temperature as f32;
            return Err(Kind::BadSetting { name: "prior_temperature", given, allowed: "above 0" }.into());
        }
        Ok(())
    }
}

/// What is decided. `sequence` has read the prompt and all decided tokens but the last of both together.
struct Root<C> {
    node: NodeId,
    constraint: C,
    sequence: SequenceId,
    last_token: TokenId,
}

/// The state of one call of [`tree_search`].
struct Run<'a, 'm, C> {
    tree: Tree,
    root: Root<C>,
    driver: Driver<'m>,
    config: &'a TreeSearchConfig,
    /// The best text met so far.
    best: Option<Hypothesis>,
    on_progress: &'a mut OnProgress<'a>,
}
