//! Samples that come ever closer to the model's own distribution, given the language (ASAp: Park et al. 2024,
//! "Grammar-Aligned Decoding").
//!
//! The wanted distribution weighs a token by the model's probability times the *expected future* of the text with
//! it: the probability that the model, left alone, would go on to a text of the language. That is unknown, and 1
//! is an upper bound for every allowed token. Each sample shows the masses along its way, and improves the bounds
//! there:
//!
//! future(w) = Σ p(x | w) · future(w·x) over the allowed x, and 1 for a whole text.
//!
//! Bounds only fall and approach the truth where samples go. They are kept in a tree of the sampled texts, in
//! logarithms (they are products over all positions). Unlike [`particles`](super::particles()) this gives one
//! exact-in-the-limit sample at a time, at the price of learning first.
//!
//! The tree keeps the mass of unvisited tokens as a sum of its own, since total minus visited would lose all its
//! digits once the bounds are small.

use std::collections::BTreeMap;

use super::row::{Row, log_sum_exp};
use super::{Hypothesis, SearchConfig, driver::Driver, driver::Step};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    mask::apply_mask,
    model::{LanguageModel, Logits},
    sampler::{Sampler, SamplerConfig},
};

/// How an [`AdaptiveSampler`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::AdaptiveConfig;
/// assert_eq!(AdaptiveConfig { seed: 3, ..AdaptiveConfig::default() }.temperature, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveConfig {
    /// The temperature of the model's distribution; above 0.
    pub temperature: f32,
    /// The start of the random draws.
    pub seed: u64,
}

impl Default for AdaptiveConfig {
    /// Temperature 1, seed 0.
    fn default() -> Self {
        AdaptiveConfig { temperature: 1.0, seed: 0 }
    }
}

/// What samples have taught about the texts of one prompt and one constraint.
///
/// # Examples
/// ```
/// use maskwright_decode::{AdaptiveConfig, AdaptiveSampler, RandomModel, SearchConfig, Unconstrained};
/// let mut model = RandomModel::new(10, 64, 1);
/// let search = SearchConfig { max_tokens: 20, eos_ids: vec![0] };
/// let mut sampler = AdaptiveSampler::new(AdaptiveConfig::default()).unwrap();
/// let anything = Unconstrained::new(vec![0]);
/// let text = sampler.sample(&mut model, &anything, &[1], &search).unwrap();
/// assert!(text.n_tokens <= 20 && sampler.expected_future() <= 1.0);
/// ```
#[derive(Debug)]
pub struct AdaptiveSampler {
    config: AdaptiveConfig,
    sampler: Sampler,
    nodes: Vec<Node>,
}

/// A sampled prefix.
#[derive(Debug, Default)]
struct Node {
    /// The tokens sampled after it.
    children: BTreeMap<u32, Child>,
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

impl AdaptiveSampler {
    /// A sampler that knows nothing: its first text is a plain masked sample.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn new(config: AdaptiveConfig) -> Result<Self, DecodeError> {
        if config.temperature == 0.0 {
            return Err(Kind::BadSetting { name: "temperature", given: 0.0, allowed: "above 0" }.into());
        }
        let AdaptiveConfig { temperature, seed } = config;
        let sampler = Sampler::new(SamplerConfig { temperature, seed, ..SamplerConfig::default() })?;
        Ok(AdaptiveSampler { config, sampler, nodes: vec![Node::default()] })
    }

    /// The next sample, from which the sampler learns. All calls are to have the same model, constraint, prompt
    /// and limits: what was learnt holds for those.
    ///
    /// # Errors
    /// If the prompt is empty or too long, the constraint allows no token, or the model or the constraint fails.
    pub fn sample<C: Constraint + Clone>(
        &mut self,
        model: &mut dyn LanguageModel,
        constraint: &C,
        prompt_ids: &[u32],
        search: &SearchConfig,
    ) -> Result<Hypothesis, DecodeError> {
        let mut driver = Driver::new(model, prompt_ids, search)?;
        let mut constraint = constraint.clone();
        let sequence = driver.create()?;
        let mut pending = prompt_ids.to_vec();
        let (mut tokens, mut log_likelihood) = (Vec::new(), 0.0);
        let mut path = vec![0];
        let reason = loop {
            let logits = driver.forward(&[(sequence, &pending)])?.remove(0);
            let node = path[path.len() - 1];
            let (id, child) = self.pick(&mut driver, &mut constraint, &logits, node, tokens.len())?;
            log_likelihood += Row::new(logits.row(0), &[], 1.0).log_probability(id);
            path.push(child);
            tokens.push(id);
            pending = vec![id];
            if let Step::Ended(reason) = driver.accept(&mut constraint, id, tokens.len())? {
                break reason;
            }
        };
        self.learn(&path);
        Ok(driver.hypothesis(tokens, reason, log_likelihood))
    }

    /// An upper bound on the probability that the model alone would write a text of the language: 1 before the
    /// first sample, and never rising.
    #[must_use]
    pub fn expected_future(&self) -> f64 {
        self.nodes[0].log_future.exp()
    }

    /// Picks a token after `node` by probability times expected future, and makes its node.
    fn pick(
        &mut self,
        driver: &mut Driver<'_>,
        constraint: &mut impl Constraint,
        logits: &Logits,
        node: usize,
        n_tokens: usize,
    ) -> Result<(u32, usize), DecodeError> {
        let temperature = f64::from(self.config.temperature);
        driver.row(constraint, logits, n_tokens, temperature)?;
        let mut weighed = logits.row(0).to_vec();
        let n_allowed = apply_mask(&mut weighed, driver.mask());
        for (&id, child) in &self.nodes[node].children {
            if let Some(logit) = weighed.get_mut(id as usize) {
                *logit += (temperature * self.nodes[child.node].log_future) as f32;
            }
        }
        let id = self.sampler.sample(&weighed).ok_or(Kind::NoFiniteLogit { n_tokens, n_allowed })?;
        let row = Row::new(logits.row(0), driver.mask(), temperature);
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

    /// Makes the bounds along a path follow from those below, the last node first. The end itself keeps its 1: it
    /// is a whole text, or one that was cut off, of which nothing better is known.
    fn learn(&mut self, path: &[usize]) {
        for &node in path.iter().rev().skip(1) {
            let Node { children, log_unvisited, .. } = &self.nodes[node];
            let below =
                children.values().map(|child| child.log_probability + self.nodes[child.node].log_future);
            // Rounding may lift a sum of all probabilities above 1.
            let log_future = log_sum_exp(below.chain([*log_unvisited])).min(0.0);
            self.nodes[node].log_future = log_future;
        }
    }
}
