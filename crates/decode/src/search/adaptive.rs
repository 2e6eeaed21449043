//! Samples that come ever closer to the model's own distribution, given the language (ASAp: Park et al. 2024,
//! "Grammar-Aligned Decoding").
//!
//! The wanted distribution weighs a token by the model's probability times the *expected future* of the text
//! with it: the probability that the model, left alone, would go on to a text of the language. That is
//! unknown, and 1 is an upper bound for every allowed token. Each sample shows the masses along its way, and
//! improves the bounds there:
//!
//! future(w) = Σ p(x | w) · future(w·x) over the allowed x, and 1 for a whole text.
//!
//! Bounds only fall and approach the truth where samples go. They are kept in a tree of the sampled texts, in
//! logarithms (they are products over all positions). Unlike [`particles`](super::particles()) this gives one
//! exact-in-the-limit sample at a time, at the price of learning first.
//!
//! The tree keeps the mass of unvisited tokens as a sum of its own, since total minus visited would lose all
//! its digits once the bounds are small.

use std::collections::BTreeMap;

use maskwright_vocabulary::TokenId;

use super::row::{Row, log_sum_exp};
use super::{Hypothesis, OnProgress, SearchConfig, SearchOutcome, driver::Driver, driver::Step};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    generate::FinishReason,
    mask::apply_mask,
    model::{LanguageModel, Logits},
    sampler::{Sampler, SamplerConfig},
};

/// How [`adaptive_samples`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::AdaptiveConfig;
/// assert_eq!(AdaptiveConfig { seed: 3, ..AdaptiveConfig::default() }.temperature, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveConfig {
    /// How many texts are sampled.
    pub n_texts: usize,
    /// The temperature of the model's distribution; above 0.
    pub temperature: f32,
    /// The start of the random draws.
    pub seed: u64,
}

impl Default for AdaptiveConfig {
    /// Ten texts at temperature 1, seed 0.
    fn default() -> Self {
        AdaptiveConfig { n_texts: 10, temperature: 1.0, seed: 0 }
    }
}

/// Samples [`AdaptiveConfig::n_texts`] texts, each with what those before it have taught. The last is the
/// first of the outcome's, since it is closest to the model's distribution; the first that was sampled is a
/// plain masked sample.
///
/// The prompt is read once, and each text token by token.
///
/// # Errors
/// If the prompt is empty or too long, a setting is out of range, the constraint allows no token, or the
/// model or the constraint fails.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
/// use maskwright_decode::{AdaptiveConfig, RandomModel, SearchConfig, Unconstrained, adaptive_samples};
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomModel::new(10, 64, 1);
/// let search = SearchConfig { max_tokens: 20, eos_ids: vec![TokenId(0)] };
/// let (anything, config) = (Unconstrained::new(vec![TokenId(0)]), AdaptiveConfig::default());
/// let outcome =
///     adaptive_samples(&mut model, &anything, &[TokenId(1)], &search, &config, &mut |_| ControlFlow::Continue(()));
/// assert_eq!(outcome.unwrap().texts.len(), 10);
/// ```
pub fn adaptive_samples<C: Constraint + Clone>(
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
    config: &AdaptiveConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<SearchOutcome, DecodeError> {
    learn_from_samples(model, constraint, prompt_ids, search, config, on_progress).map(|(outcome, _)| outcome)
}

/// The samples, and what they have taught.
fn learn_from_samples<C: Constraint + Clone>(
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
    config: &AdaptiveConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<(SearchOutcome, Learnt), DecodeError> {
    let &AdaptiveConfig { n_texts, temperature, seed } = config;
    if n_texts == 0 {
        return Err(Kind::BadCount { name: "n_texts", given: 0, allowed: "at least 1" }.into());
    }
    if temperature == 0.0 {
        return Err(Kind::BadSetting { name: "temperature", given: 0.0, allowed: "above 0" }.into());
    }
    let sampler = Sampler::new(SamplerConfig { temperature, seed, ..SamplerConfig::default() })?;
    let mut learnt = Learnt { temperature: temperature.into(), sampler, nodes: vec![Node::default()] };
    let mut driver = Driver::new(model, prompt_ids, search)?;
    let (&last_of_prompt, before) = prompt_ids.split_last().ok_or(Kind::EmptyPrompt)?;
    let sequence = driver.create()?;
    driver.feed(sequence, before)?;
    let mut texts: Vec<Hypothesis> = Vec::new();
    let mut is_cancelled = false;
    while texts.len() < n_texts && !is_cancelled {
        driver.truncate(sequence, before.len())?;
        let mut constraint = constraint.clone();
        let (mut tokens, mut log_likelihood, mut path, mut explored) = (Vec::new(), 0.0, vec![0], None);
        let reason = loop {
            let last = tokens.last().copied().unwrap_or(last_of_prompt);
            let logits = driver.forward(&[(sequence, &[last])])?.remove(0);
            let node = path[path.len() - 1];
            let (id, child) = learnt.pick(&mut driver, &mut constraint, &logits, node, tokens.len())?;
            log_likelihood += Row::new(logits.row(0), &[], 1.0).log_probability(id);
            path.push(child);
            tokens.push(id);
            let step = driver.accept(&mut constraint, id, tokens.len())?;
            explored = driver.explore(explored, id, log_likelihood, step);
            let best = texts.iter().rev().find(|text| text.is_complete());
            // With its last token nothing is left to break off.
            let is_last = texts.len() + 1 == n_texts && step != Step::Open;
            is_cancelled = driver.report_of(on_progress, texts.len(), n_texts, best) && !is_last;
            match step {
                Step::Ended(reason) => break reason,
                Step::Open if is_cancelled => break FinishReason::Cancelled,
                Step::Open => {}
            }
        };
        learnt.learn(&path);
        texts.push(driver.hypothesis(tokens, reason, log_likelihood));
    }
    texts.reverse();
    texts.sort_by_key(|text| !text.is_complete());
    Ok((driver.into_outcome(texts, is_cancelled), learnt))
}

/// What samples have taught about the texts of one prompt and one constraint.
struct Learnt {
    temperature: f64,
    sampler: Sampler,
    nodes: Vec<Node>,
}

/// A sampled prefix.
#[derive(Debug, Default)]
struct Node {
    /// The tokens sampled after it.
    children: BTreeMap<TokenId, Child>,
    /// The model's probability of the allowed tokens that are no children.
    log_unvisited: f64,
    /// The bound on what lies ahead.
    log_future: f64,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    node: usize,
    /// The model's probability of its token.
    log_probability: f64,
}

impl Learnt {
    /// Picks a token after `node` by probability times expected future, and makes its node.
    fn pick(
        &mut self,
        driver: &mut Driver<'_>,
        constraint: &mut impl Constraint,
        logits: &Logits,
        node: usize,
        n_tokens: usize,
    ) -> Result<(TokenId, usize), DecodeError> {
        driver.row(constraint, logits, n_tokens, self.temperature)?;
        let mut weighed = logits.row(0).to_vec();
        let n_allowed = apply_mask(&mut weighed, driver.mask());
        for (&id, child) in &self.nodes[node].children {
            if let Some(logit) = weighed.get_mut(id.index()) {
                *logit += (self.temperature * self.nodes[child.node].log_future) as f32;
            }
        }
        let id = self.sampler.sample(&weighed).ok_or(Kind::NoFiniteLogit { n_tokens, n_allowed })?;
        let row = Row::new(logits.row(0), driver.mask(), self.temperature);
        let child = match self.nodes[node].children.get(&id) {
            Some(child) => child.node,
            None => {
                let child = Child { node: self.nodes.len(), log_probability: row.log_probability(id) };
                self.nodes.push(Node::default());
                self.nodes[node].children.insert(id, child);
                child.node
            }
        };
        let children = &self.nodes[node].children;
        let unvisited = row.allowed().filter(|(id, _)| !children.contains_key(id));
        self.nodes[node].log_unvisited = log_sum_exp(unvisited.map(|(_, log_probability)| log_probability));
        Ok((id, child))
    }

    /// Makes the bounds along a path follow from those below, the last node first. The end itself keeps its
    /// 1: it is a whole text, or one that was cut off, of which nothing better is known.
    fn learn(&mut self, path: &[usize]) {
        for &node in path.iter().rev().skip(1) {
            let Node { children, log_unvisited, .. } = &self.nodes[node];
            let below =
                children.values().map(|child| child.log_probability + self.nodes[child.node].log_future);
            // Rounding may lift a sum of all probabilities above 1.
            let log_future = log_sum_exp(below.chain([*log_unvisited])).min(0.0);
            debug_assert!(log_future <= self.nodes[node].log_future + 1e-9, "bounds only fall");
            self.nodes[node].log_future = log_future;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::{
        constraint::Unconstrained, healing::TokenText, model::SequenceInput, prefix::PrefixConstraint,
        random_model::RandomModel,
    };

    type Tokens = Vec<Option<Vec<u8>>>;

    fn model(seed: u64) -> RandomModel {
        RandomModel::new(6, 64, seed).with_scale(3.0)
    }

    /// The probability that the model's text begins with `owed` after `read`.
    fn total(model: &mut RandomModel, tokens: &Tokens, read: &[TokenId], owed: &[u8]) -> f64 {
        if owed.is_empty() {
            return 1.0;
        }
        let sequence = model.create_sequence().unwrap();
        let logits = model.forward(&[SequenceInput::last(sequence, read)]).unwrap().remove(0);
        model.release_sequence(sequence);
        let row = Row::new(logits.row(0), &[], 1.0);
        let next = (0..6).map(TokenId).filter_map(|id| Some((id, owed.strip_prefix(tokens.text(id)?)?)));
        next.map(|(id, rest)| {
            row.log_probability(id).exp() * total(model, tokens, &[read, &[id]].concat(), rest)
        })
        .sum()
    }

    /// Texts that begin with `abcabc`, cut into tokens in any way.
    #[test]
    fn the_bound_is_never_too_low_and_comes_close() {
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let tokens: Tokens = vec![None, text("a"), text("b"), text("c"), text("ab"), text("bc")];
        let constraint =
            PrefixConstraint::new(Unconstrained::new(vec![TokenId(0)]), b"abcabc".to_vec(), &tokens);
        let search = SearchConfig { max_tokens: 7, eos_ids: vec![TokenId(0)] };
        for seed in 0..6 {
            let total = total(&mut model(seed), &tokens, &[TokenId(1)], b"abcabc");
            let future = |n_texts| {
                let config = AdaptiveConfig { n_texts, seed, ..AdaptiveConfig::default() };
                let on_progress = &mut |_: &super::super::Progress<'_>| ControlFlow::Continue(());
                let model = &mut model(seed);
                let (_, learnt) =
                    learn_from_samples(model, &constraint, &[TokenId(1)], &search, &config, on_progress)
                        .unwrap();
                learnt.nodes[0].log_future.exp()
            };
            for n_texts in [1, 10, 300] {
                assert!(future(n_texts) >= total * (1.0 - 1e-6), "seed {seed}, {n_texts}: {total}");
            }
            assert!(future(1) > total * 1.05, "seed {seed}: the test could not fail");
            assert!(future(300) < total * 1.05, "seed {seed}: {} {total}", future(300));
        }
    }

    /// Ctrl-C at the very last token counted as a search that was broken off.
    #[test]
    fn nothing_is_left_to_break_off_at_the_last_token() {
        let search = SearchConfig { max_tokens: 7, eos_ids: vec![TokenId(0)] };
        let anything = Unconstrained::new(vec![TokenId(0)]);
        let config = AdaptiveConfig { n_texts: 2, ..AdaptiveConfig::default() };
        let run = |n_calls: usize| {
            let mut n_seen = 0;
            let outcome =
                adaptive_samples(&mut model(3), &anything, &[TokenId(1)], &search, &config, &mut |_| {
                    n_seen += 1;
                    if n_seen == n_calls { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            (outcome.unwrap(), n_seen)
        };
        let (whole, n_calls) = run(usize::MAX);
        assert_eq!(run(n_calls).0, whole);
        assert!(!whole.is_cancelled && run(n_calls - 1).0.is_cancelled);
    }
}
