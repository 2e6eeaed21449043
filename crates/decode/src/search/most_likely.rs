//! The likeliest text of all: best-first search over prefixes.
//!
//! The likelihood of a text never rises with its length, so the first whole text to come out of a queue that is
//! ordered by likelihood is the likeliest (uniform-cost search). Prefixes that come out before it are asked of the
//! model, each once. The queue holds, for each prefix asked about, only its likeliest token that is still to come,
//! so it grows by one entry a pop.
//!
//! Exponential at worst: a flat distribution over long texts cannot be searched. So the number of prefixes is
//! limited, and if the limit comes first the answer is the
//! greedy completion of the likeliest prefix left. With a budget of tokens this is the most likely completion within it.
//!
//! Rejected: pruning by a beam's result. It saves memory for entries that would never come out, but no question to
//! the model.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Hypothesis, OnProgress, SearchConfig, driver::Driver, driver::Step};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    model::{LanguageModel, SequenceId},
};

/// How [`most_likely`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::MostLikelyConfig;
/// assert_eq!(MostLikelyConfig { n_children: 100, ..MostLikelyConfig::default() }.max_prefixes, 1_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostLikelyConfig {
    /// How many prefixes are asked about before the search gives up on a proof.
    pub max_prefixes: usize,
    /// How many tokens are remembered after each; there is no proof against likelier texts with others.
    pub n_children: usize,
}

impl Default for MostLikelyConfig {
    /// A thousand prefixes, a thousand tokens each.
    fn default() -> Self {
        MostLikelyConfig { max_prefixes: 1_000, n_children: 1_000 }
    }
}

/// What [`most_likely`] found.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
/// use maskwright_decode::{MostLikelyConfig, RandomModel, SearchConfig, Unconstrained, most_likely};
/// let mut model = RandomModel::new(10, 64, 1);
/// let search = SearchConfig { max_tokens: 2, eos_ids: vec![0] };
/// let anything = Unconstrained::new(vec![0]);
/// let config = MostLikelyConfig::default();
/// let found = most_likely(&mut model, &anything, &[1], &search, &config, &mut |_| ControlFlow::Continue(()));
/// assert!(found.unwrap().is_proven);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MostLikely {
    /// The text.
    pub text: Hypothesis,
    /// Whether no whole text is likelier.
    pub is_proven: bool,
    /// How many prefixes the model was asked about.
    pub n_prefixes: usize,
}

/// A prefix whose next tokens are known.
struct Prefix {
    tokens: Vec<u32>,
    log_likelihood: f64,
    /// The likeliest allowed tokens and their log-probabilities, likelier first.
    likeliest: Vec<(u32, f64)>,
}

/// The text of a prefix with its token of a rank.
struct Entry {
    log_likelihood: f64,
    prefix: usize,
    rank: usize,
}

impl Ord for Entry {
    /// Likelier is greater; of equal ones the older.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_age = (other.prefix, other.rank).cmp(&(self.prefix, self.rank));
        self.log_likelihood.total_cmp(&other.log_likelihood).then(by_age)
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

/// The text of the largest log-likelihood, its end included, among those that `constraint` allows and
/// [`SearchConfig::max_tokens`] has room for. Texts that are cut off do not count.
///
/// # Errors
/// If the prompt is empty or too long, a setting is out of range, no text can be finished, or the model or the
/// constraint fails.
pub fn most_likely<C: Constraint + Clone>(
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[u32],
    search: &SearchConfig,
    config: &MostLikelyConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<MostLikely, DecodeError> {
    for (name, given) in [("max_prefixes", config.max_prefixes), ("n_children", config.n_children)] {
        if given == 0 {
            return Err(Kind::BadCount { name, given, allowed: "at least 1" }.into());
        }
    }
    let mut driver = Driver::new(model, prompt_ids, search)?;
    let sequence = driver.create()?;
    let n_children = config.n_children;
    let prefixes = Vec::new();
    let queue = BinaryHeap::new();
    let (read, forgotten) = (Vec::new(), f64::NEG_INFINITY);
    let mut run =
        Run { driver, sequence, read, prompt_ids, constraint, n_children, forgotten, prefixes, queue };
    run.ask(Vec::new(), 0.0)?;
    while let Some(entry) = run.queue.pop() {
        run.queue_rank(entry.prefix, entry.rank + 1);
        let (tokens, step) = run.text(&entry)?;
        match step {
            Step::Ended(reason) if reason.is_complete() => {
                let text = run.driver.hypothesis(tokens, reason, entry.log_likelihood);
                let is_proven = run.forgotten <= entry.log_likelihood;
                let n_prefixes = run.prefixes.len();
                return Ok(MostLikely { text, is_proven, n_prefixes });
            }
            Step::Ended(_) => {}
            Step::Open => {
                let n_tokens = tokens.len();
                let is_over = run.prefixes.len() >= config.max_prefixes;
                if is_over || run.driver.report(on_progress, n_tokens, None) {
                    let text = run.finish_greedily(tokens, entry.log_likelihood)?;
                    return Ok(MostLikely { text, is_proven: false, n_prefixes: run.prefixes.len() });
                }
                run.ask(tokens, entry.log_likelihood)?;
            }
        }
    }
    Err(Kind::DeadEnd { n_tokens: run.driver.max_tokens() }.into())
}

/// The state of one call of [`most_likely`].
struct Run<'a, 'm, C> {
    driver: Driver<'m>,
    sequence: SequenceId,
    /// What the sequence has read: the prompt and some text.
    read: Vec<u32>,
    prompt_ids: &'a [u32],
    constraint: &'a C,
    n_children: usize,
    /// The largest log-likelihood of a text that is not remembered.
    forgotten: f64,
    prefixes: Vec<Prefix>,
    queue: BinaryHeap<Entry>,
}

impl<C: Constraint + Clone> Run<'_, '_, C> {
    /// Asks the model about a prefix and queues its likeliest continuation, if it has any.
    fn ask(&mut self, tokens: Vec<u32>, log_likelihood: f64) -> Result<(), DecodeError> {
        let mut constraint = self.constraint.clone();
        for (index, &id) in tokens.iter().enumerate() {
            self.driver.accept(&mut constraint, id, index + 1)?;
        }
        let whole: Vec<u32> = self.prompt_ids.iter().chain(&tokens).copied().collect();
        // All but at least one token of what the sequence has in common with the new text is kept.
        let n_common = self.read.iter().zip(&whole).take_while(|(old, new)| old == new).count();
        let n_kept = n_common.min(whole.len() - 1);
        self.driver.truncate(self.sequence, n_kept)?;
        let logits = self.driver.forward(&[(self.sequence, &whole[n_kept..])])?.remove(0);
        self.read = whole;
        let mut likeliest = match self.driver.row(&mut constraint, &logits, tokens.len(), 1.0) {
            Ok(row) => row.likeliest(self.n_children.saturating_add(1)),
            // Other prefixes may have a way on.
            Err(error) if error.is_dead_end() => Vec::new(),
            Err(error) => return Err(error),
        };
        if let Some((_, log_probability)) = likeliest.get(self.n_children) {
            self.forgotten = self.forgotten.max(log_likelihood + log_probability);
            likeliest.truncate(self.n_children);
        }
        let prefix = self.prefixes.len();
        self.prefixes.push(Prefix { tokens, log_likelihood, likeliest });
        self.queue_rank(prefix, 0);
        Ok(())
    }

    fn queue_rank(&mut self, prefix: usize, rank: usize) {
        let Prefix { log_likelihood, likeliest, .. } = &self.prefixes[prefix];
        if let Some((_, log_probability)) = likeliest.get(rank) {
            let log_likelihood = log_likelihood + log_probability;
            self.queue.push(Entry { log_likelihood, prefix, rank });
        }
    }

    /// The text of an entry, and whether it has ended.
    fn text(&self, entry: &Entry) -> Result<(Vec<u32>, Step), DecodeError> {
        let Prefix { tokens, likeliest, .. } = &self.prefixes[entry.prefix];
        let mut constraint = self.constraint.clone();
        let mut step = Step::Open;
        let tokens: Vec<u32> = tokens.iter().copied().chain([likeliest[entry.rank].0]).collect();
        for (index, &id) in tokens.iter().enumerate() {
            step = self.driver.accept(&mut constraint, id, index + 1)?;
        }
        Ok((tokens, step))
    }

    /// Follows the likeliest token from here to the end.
    fn finish_greedily(
        &mut self,
        mut tokens: Vec<u32>,
        mut log_likelihood: f64,
    ) -> Result<Hypothesis, DecodeError> {
        loop {
            self.ask(tokens, log_likelihood)?;
            let prefix = self.prefixes.len() - 1;
            let Some(&(_, log_probability)) = self.prefixes[prefix].likeliest.first() else {
                let n_tokens = self.prefixes[prefix].tokens.len();
                return Err(Kind::DeadEnd { n_tokens }.into());
            };
            log_likelihood += log_probability;
            let step;
            (tokens, step) = self.text(&Entry { log_likelihood, prefix, rank: 0 })?;
            if let Step::Ended(reason) = step {
                return Ok(self.driver.hypothesis(tokens, reason, log_likelihood));
            }
        }
    }
}
