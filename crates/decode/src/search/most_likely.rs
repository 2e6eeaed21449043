//! The likeliest text of all: best-first search over prefixes.
//!
//! The likelihood of a text never rises with its length, so the first whole text to come out of a queue that
//! is ordered by likelihood is the likeliest (uniform-cost search). Prefixes that come out before it are
//! asked of the model, each once. The queue holds, for each prefix asked about, only its likeliest token that
//! is still to come, so it grows by one entry a pop.
//!
//! The greedy text is written first, so that there is an answer when the caller breaks off. It costs at most
//! as many questions as it has tokens, and most of them would be asked anyway.
//!
//! Exponential at worst: a flat distribution over long texts cannot be searched. So the number of prefixes is
//! limited. If the limit comes first, the answer is the likelier of two: the greedy text, and the greedy
//! completion of the likeliest prefix left. With a budget of tokens all of this is within the budget.
//!
//! Rejected: pruning by a beam's result. It saves memory for entries that would never come out, but no
//! question to the model.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use maskwright_vocabulary::TokenId;

use super::{Hypothesis, OnProgress, SearchConfig, SearchOutcome, by_key, driver::Driver, driver::Step};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    generate::FinishReason,
    model::{LanguageModel, SequenceId, n_kept},
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
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomModel::new(10, 64, 1);
/// let search = SearchConfig { max_tokens: 2, eos_ids: vec![TokenId(0)] };
/// let anything = Unconstrained::new(vec![TokenId(0)]);
/// let config = MostLikelyConfig::default();
/// let found = most_likely(&mut model, &anything, &[TokenId(1)], &search, &config, &mut |_| ControlFlow::Continue(()));
/// assert!(found.unwrap().is_proven);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MostLikely {
    /// One text.
    pub outcome: SearchOutcome,
    /// Whether no whole text is likelier.
    pub is_proven: bool,
    /// Whether the search came to its end, rather than to the limit on prefixes or to a `Break`. If it did
    /// and there is no proof, a likelier text may have a token that [`MostLikelyConfig::n_children`] left
    /// out.
    pub is_searched: bool,
}

/// A prefix whose next tokens are known.
struct Prefix {
    tokens: Vec<TokenId>,
    log_likelihood: f64,
    /// Its last token among those that were tried.
    explored: Option<usize>,
    /// The likeliest allowed tokens and their log-probabilities, likelier first.
    likeliest: Vec<(TokenId, f64)>,
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
/// [`SearchConfig::max_tokens`] has room for. Texts that are cut off do not count, unless the caller or the
/// limit on prefixes ends the search before a whole one is found.
///
/// # Errors
/// If the prompt is empty or too long, a setting is out of range, no text can be finished, or the model or
/// the constraint fails.
pub fn most_likely<C: Constraint + Clone>(
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
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
    let mut run = Run {
        driver,
        sequence,
        read: Vec::new(),
        prompt_ids,
        constraint,
        config,
        on_progress,
        forgotten: f64::NEG_INFINITY,
        prefixes: Vec::new(),
        queue: BinaryHeap::new(),
        best: None,
        is_cancelled: false,
    };
    run.complete(Vec::new(), 0.0, None)?;
    let is_searched = run.search()?;
    let Run { driver, best, forgotten, is_cancelled, .. } = run;
    let Some(text) = best else { return Err(Kind::DeadEnd { n_tokens: driver.max_tokens() }.into()) };
    let is_proven = is_searched && forgotten <= text.log_likelihood;
    let outcome = driver.into_outcome(vec![text], is_cancelled);
    Ok(MostLikely { outcome, is_proven, is_searched })
}

/// The state of one call of [`most_likely`].
struct Run<'a, 'm, C> {
    driver: Driver<'m>,
    sequence: SequenceId,
    /// What the sequence has read: the prompt and some text.
    read: Vec<TokenId>,
    prompt_ids: &'a [TokenId],
    constraint: &'a C,
    config: &'a MostLikelyConfig,
    on_progress: &'a mut OnProgress<'a>,
    /// The largest log-likelihood of a text that is not remembered.
    forgotten: f64,
    prefixes: Vec<Prefix>,
    queue: BinaryHeap<Entry>,
    /// The best text so far.
    best: Option<Hypothesis>,
    is_cancelled: bool,
}

impl<C: Constraint + Clone> Run<'_, '_, C> {
    /// Asks about prefixes, the likeliest first, until no text in the queue can be likelier than the best;
    /// false if the caller or the limit on prefixes ends it before.
    fn search(&mut self) -> Result<bool, DecodeError> {
        while !self.is_cancelled
            && let Some(entry) = self.queue.pop()
        {
            let Entry { log_likelihood, prefix, rank } = entry;
            if self.whole().is_some_and(|best| best.log_likelihood >= log_likelihood) {
                return Ok(true);
            }
            self.queue.extend(self.entry(prefix, rank + 1));
            let (tokens, step, explored) = self.text(&entry)?;
            match step {
                Step::Ended(reason) if reason.is_complete() => self.keep(tokens, reason, log_likelihood),
                Step::Ended(_) => {}
                Step::Open if self.prefixes.len() >= self.config.max_prefixes => {
                    self.complete(tokens, log_likelihood, explored)?;
                    return Ok(false);
                }
                Step::Open if self.is_stopped() => {
                    self.keep(tokens, FinishReason::Cancelled, log_likelihood);
                }
                Step::Open => {
                    let prefix = self.ask(tokens, log_likelihood, explored)?;
                    self.queue.extend(self.entry(prefix, 0));
                }
            }
        }
        // Texts that are cut off do not count: where all texts are, there is none.
        if !self.is_cancelled && self.whole().is_none() {
            self.best = None;
        }
        Ok(!self.is_cancelled)
    }

    /// Follows the likeliest token from a prefix to the end, and queues what it passes by.
    fn complete(
        &mut self,
        mut tokens: Vec<TokenId>,
        mut log_likelihood: f64,
        mut explored: Option<usize>,
    ) -> Result<(), DecodeError> {
        loop {
            if self.is_stopped() {
                self.keep(tokens, FinishReason::Cancelled, log_likelihood);
                return Ok(());
            }
            let prefix = self.ask(tokens, log_likelihood, explored)?;
            self.queue.extend(self.entry(prefix, 1));
            let Some(entry) = self.entry(prefix, 0) else { return Ok(()) };
            let step;
            (tokens, step, explored) = self.text(&entry)?;
            log_likelihood = entry.log_likelihood;
            if let Step::Ended(reason) = step {
                self.keep(tokens, reason, log_likelihood);
                return Ok(());
            }
        }
    }

    /// Reports progress; true from when the caller breaks off.
    fn is_stopped(&mut self) -> bool {
        let n_total = self.config.max_prefixes;
        let n_done = self.prefixes.len().min(n_total);
        let best = self.best.as_ref();
        self.is_cancelled =
            self.is_cancelled || self.driver.report_of(self.on_progress, n_done, n_total, best);
        self.is_cancelled
    }

    /// The best text, if it is whole.
    fn whole(&self) -> Option<&Hypothesis> {
        self.best.as_ref().filter(|best| best.is_complete())
    }

    /// Keeps a text if it is the best: a whole one before others, then the likelier. Of two that are cut off,
    /// the longer.
    fn keep(&mut self, tokens: Vec<TokenId>, reason: FinishReason, log_likelihood: f64) {
        let text = self.driver.hypothesis(tokens, reason, log_likelihood);
        let key = |text: &Hypothesis| text.sort_key(text.log_likelihood);
        let is_better = |best: &Hypothesis| match text.is_complete() || best.is_complete() {
            true => by_key(key(&text), key(best)).is_lt(),
            false => (text.n_tokens, text.log_likelihood) > (best.n_tokens, best.log_likelihood),
        };
        if self.best.as_ref().is_none_or(is_better) {
            self.best = Some(text);
        }
    }

    /// Asks the model about a prefix.
    fn ask(
        &mut self,
        tokens: Vec<TokenId>,
        log_likelihood: f64,
        explored: Option<usize>,
    ) -> Result<usize, DecodeError> {
        let mut constraint = self.constraint.clone();
        for (index, &id) in tokens.iter().enumerate() {
            self.driver.accept(&mut constraint, id, index + 1)?;
        }
        let whole: Vec<TokenId> = self.prompt_ids.iter().chain(&tokens).copied().collect();
        let n_kept = n_kept(&self.read, &whole);
        self.driver.truncate(self.sequence, n_kept)?;
        let logits = self.driver.forward(&[(self.sequence, &whole[n_kept..])])?.remove(0);
        self.read = whole;
        let n_children = self.config.n_children;
        let mut likeliest = match self.driver.row(&mut constraint, &logits, tokens.len(), 1.0) {
            Ok(row) => row.likeliest(n_children.saturating_add(1)),
            // Other prefixes may have a way on.
            Err(error) if error.is_dead_end() => Vec::new(),
            Err(error) => return Err(error),
        };
        if let Some((_, log_probability)) = likeliest.get(n_children) {
            self.forgotten = self.forgotten.max(log_likelihood + log_probability);
            likeliest.truncate(n_children);
        }
        self.prefixes.push(Prefix { tokens, log_likelihood, explored, likeliest });
        Ok(self.prefixes.len() - 1)
    }

    /// The text of a prefix with its token of a rank, if it has so many.
    fn entry(&self, prefix: usize, rank: usize) -> Option<Entry> {
        let Prefix { log_likelihood, likeliest, .. } = &self.prefixes[prefix];
        let (_, log_probability) = likeliest.get(rank)?;
        Some(Entry { log_likelihood: log_likelihood + log_probability, prefix, rank })
    }

    /// The text of an entry, whether it has ended, and the index of its last token among those that were
    /// tried.
    fn text(&mut self, entry: &Entry) -> Result<(Vec<TokenId>, Step, Option<usize>), DecodeError> {
        let &Prefix { ref tokens, ref likeliest, explored: parent, .. } = &self.prefixes[entry.prefix];
        let mut constraint = self.constraint.clone();
        let mut step = Step::Open;
        let id = likeliest[entry.rank].0;
        let tokens: Vec<TokenId> = tokens.iter().copied().chain([id]).collect();
        for (index, &id) in tokens.iter().enumerate() {
            step = self.driver.accept(&mut constraint, id, index + 1)?;
        }
        let explored = self.driver.explore(parent, id, entry.log_likelihood, step);
        Ok((tokens, step, explored))
    }
}
