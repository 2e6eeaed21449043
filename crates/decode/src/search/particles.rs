//! Sequential Monte Carlo: many samples side by side that stand together for the model's own distribution,
//! given the language.
//!
//! Masking each token alone samples from q(text) = Π p(token | before) / mass(before), where the mass is what
//! the model gave to all allowed tokens. The distribution wanted is p(text | text in the language), which is
//! proportional to q(text) · Π mass(before). So each text (a *particle*) carries the product of its masses as
//! a weight, and where the weights have become uneven (the effective sample size (Σ w)² / Σ w² is small), the
//! particles are drawn anew by their weights: hopeless ones vanish, promising ones are continued twice.
//! (Gordon, Salmond, Smith 1993; for constrained language models Lew et al. 2023, Loula et al. 2025.)
//!
//! Exact as the number of particles grows. Rejected: multinomial resampling, whose noise is larger than that
//! of the systematic one used here.

use maskwright_vocabulary::TokenId;
use rand::{Rng, SeedableRng, distr::Distribution, distr::weighted::WeightedIndex};
use rand_chacha::ChaCha8Rng;

use super::population::Population;
use super::row::log_sum_exp;
use super::{Hypothesis, OnProgress, SearchConfig, SearchOutcome, driver::Driver};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    model::LanguageModel,
    sampler::{Sampler, SamplerConfig},
};

/// How [`particles`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::ParticlesConfig;
/// assert_eq!(ParticlesConfig { n_particles: 64, ..ParticlesConfig::default() }.temperature, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParticlesConfig {
    /// How many texts are in progress.
    pub n_particles: usize,
    /// The temperature of the model's distribution; above 0.
    pub temperature: f32,
    /// Particles are drawn anew where the effective sample size is below this share of their number: 0 never,
    /// 1 whenever weights differ.
    pub resample_below: f64,
    /// The start of the random draws.
    pub seed: u64,
}

impl Default for ParticlesConfig {
    /// 16 particles at temperature 1, drawn anew below half of the effective size; seed 0.
    fn default() -> Self {
        ParticlesConfig { n_particles: 16, temperature: 1.0, resample_below: 0.5, seed: 0 }
    }
}

/// Samples with weights, which add up to 1.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
/// use maskwright_decode::{ParticlesConfig, RandomModel, SearchConfig, Unconstrained, particles};
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomModel::new(10, 64, 1);
/// let search = SearchConfig { max_tokens: 20, eos_ids: vec![TokenId(0)] };
/// let anything = Unconstrained::new(vec![TokenId(0)]);
/// let config = ParticlesConfig::default();
/// let found = particles(&mut model, &anything, &[TokenId(1)], &search, &config, &mut |_| ControlFlow::Continue(()));
/// let found = found.unwrap();
/// assert_eq!(found.weights.len(), found.outcome.texts.len());
/// assert!((found.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Particles {
    /// The texts, whole ones before others. The first is drawn by weight; the others are in no order of
    /// likelihood.
    pub outcome: SearchOutcome,
    /// How much each text counts.
    pub weights: Vec<f64>,
}

/// Weighted samples: the weights of equal texts, added up, approach the probability of the text under the
/// model, given that the text is in the language (and within its budget). So does the probability that a text
/// comes first. If the caller breaks off, texts may be unfinished.
///
/// # Errors
/// If the prompt is empty or too long, a setting is out of range, the constraint allows no token of some
/// text, or the model or the constraint fails.
pub fn particles<C: Constraint + Clone>(
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
    config: &ParticlesConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<Particles, DecodeError> {
    config.check()?;
    let mut sampler = Sampler::new(SamplerConfig {
        temperature: config.temperature,
        seed: config.seed,
        ..SamplerConfig::default()
    })?;
    // Another run of draws than the sampler's.
    let mut rng = ChaCha8Rng::seed_from_u64(config.seed);
    rng.set_stream(1);
    let mut driver = Driver::new(model, prompt_ids, search)?;
    let mut population = Population::new(&mut driver, constraint, prompt_ids, config.n_particles)?;
    let mut is_cancelled = false;
    while population.is_open() && !is_cancelled {
        population.step(&mut driver, &mut sampler, f64::from(config.temperature))?;
        let weights = weights(&population);
        let effective = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        if population.is_open() && effective < config.resample_below * weights.len() as f64 {
            population.replace(&mut driver, &systematic(&weights, rng.random()))?;
            population.members.iter_mut().for_each(|member| member.log_weight = 0.0);
        }
        let best = population.best(&driver);
        is_cancelled = driver.report(on_progress, population.n_tokens(), best.as_ref());
    }
    let weights = weights(&population);
    let weighed = population.into_texts(&driver).into_iter().zip(weights).collect();
    let (texts, weights) = drawn_first(weighed, &mut rng).into_iter().unzip();
    Ok(Particles { outcome: driver.into_outcome(texts, is_cancelled), weights })
}

/// Puts whole texts before others, and first of all one that is drawn by weight, from the whole texts if
/// there are any.
fn drawn_first(mut weighed: Vec<(Hypothesis, f64)>, rng: &mut ChaCha8Rng) -> Vec<(Hypothesis, f64)> {
    weighed.sort_by_key(|(text, _)| !text.is_complete());
    let n_whole = weighed.iter().filter(|(text, _)| text.is_complete()).count();
    let n_drawn_from = if n_whole == 0 { weighed.len() } else { n_whole };
    let counted = weighed[..n_drawn_from].iter().map(|&(_, weight)| weight);
    // Weights that have become 0 by rounding cannot be drawn by; then any of these texts is as good.
    let drawn = WeightedIndex::new(counted).map_or(0, |index| index.sample(rng));
    weighed.swap(0, drawn);
    weighed
}

impl ParticlesConfig {
    fn check(&self) -> Result<(), DecodeError> {
        if self.n_particles == 0 {
            return Err(Kind::BadCount { name: "n_particles", given: 0, allowed: "at least 1" }.into());
        }
        if self.temperature == 0.0 {
            return Err(Kind::BadSetting { name: "temperature", given: 0.0, allowed: "above 0" }.into());
        }
        if !(0.0..=1.0).contains(&self.resample_below) {
            let given = self.resample_below as f32;
            return Err(Kind::BadSetting { name: "resample_below", given, allowed: "from 0 to 1" }.into());
        }
        Ok(())
    }
}

/// The weights, adding up to 1.
fn weights<C>(population: &Population<C>) -> Vec<f64> {
    let log_weights = population.members.iter().map(|member| member.log_weight);
    let total = log_sum_exp(log_weights.clone());
    log_weights.map(|log_weight| (log_weight - total).exp()).collect()
}

/// As many indices as there are weights; index i occurs floor or ceil of n · weight times. The points
/// (k + `offset`) / n, `offset` from [0, 1), are looked up among the sums of the weights.
fn systematic(weights: &[f64], offset: f64) -> Vec<usize> {
    let n = weights.len();
    let mut sources = Vec::with_capacity(n);
    let (mut index, mut sum) = (0, weights[0]);
    for k in 0..n {
        let point = (k as f64 + offset) / n as f64;
        while point >= sum && index + 1 < n {
            index += 1;
            sum += weights[index];
        }
        sources.push(index);
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::FinishReason;

    /// An unfinished text came first where the whole ones had lost their weight by rounding.
    #[test]
    fn a_whole_text_comes_first_whatever_the_weights_are() {
        let text = |finish_reason, id| Hypothesis {
            tokens: vec![id],
            eos_id: None,
            finish_reason,
            log_likelihood: -1.0,
            n_tokens: 1,
        };
        let (cut, whole) = (FinishReason::Cancelled, FinishReason::Terminated);
        let first = |weighed: &[(FinishReason, f64)]| {
            let texts =
                (0..).map(TokenId).zip(weighed).map(|(id, &(reason, weight))| (text(reason, id), weight));
            let drawn = drawn_first(texts.collect(), &mut ChaCha8Rng::seed_from_u64(1));
            assert!(drawn.is_sorted_by_key(|(text, _)| !text.is_complete()));
            let (text, weight) = &drawn[0];
            (text.tokens[0].0, *weight)
        };
        assert_eq!(first(&[(cut, 1.0), (whole, 0.0)]), (1, 0.0));
        assert_eq!(first(&[(cut, f64::NAN), (whole, f64::NAN)]).0, 1);
        assert_eq!(first(&[(whole, 0.0), (cut, 0.7), (whole, 0.3)]), (2, 0.3));
        assert_eq!(first(&[(cut, 0.0), (cut, 1.0)]), (1, 1.0));
    }

    #[test]
    fn systematic_draws_keep_to_the_weights() {
        let weights = [0.5, 0.0, 0.3, 0.2];
        assert_eq!(systematic(&weights, 0.5), [0, 0, 2, 3]);
        assert_eq!(systematic(&weights, 0.0), [0, 0, 2, 2]);
        let mut counts = [0.0; 4];
        for step in 0..1000 {
            for source in systematic(&weights, f64::from(step) / 1000.0) {
                counts[source] += 1.0 / 4000.0;
            }
        }
        for (count, weight) in counts.iter().zip(weights) {
            assert!((count - weight).abs() < 1e-3, "{counts:?}");
        }
    }
}
