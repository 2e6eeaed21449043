//! Picks a token from a row of logits: greedily, or at random after the usual filters.
//!
//! The order is temperature, top-k, top-p, min-p, each over what the one before left (Hugging Face
//! transformers' order; llama.cpp applies the temperature last, so the same settings keep more tokens here
//! when the temperature is above 1). Masks come before all of it: a filter never sees a token that is not
//! allowed.
//!
//! Ties are broken by the lower id, so a result never depends on the order of a partial sort. Cost: one pass
//! over the vocabulary for greedy and plain sampling; top-k and top-p sort only the tokens they look at.
//!
//! Rejected: sampling through candle's `LogitsProcessor` (this crate has no candle, and it cannot be told
//! which tokens are allowed), and a softmax over the vocabulary in `f32` (sums over 100,000 tokens drift;
//! `f64` is free).

use std::cmp::Ordering;

use maskwright_vocabulary::TokenId;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::{DecodeError, Kind};

/// How a [`Sampler`] picks.
///
/// # Examples
/// ```
/// use maskwright_decode::SamplerConfig;
/// let config = SamplerConfig { temperature: 0.7, top_p: 0.9, seed: 42, ..SamplerConfig::default() };
/// assert_eq!(config.top_k, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplerConfig {
    /// Logits are divided by it; 0 is greedy (the largest logit, the lowest id among equals).
    pub temperature: f32,
    /// Keeps the `top_k` likeliest tokens; 0 keeps all.
    pub top_k: usize,
    /// Keeps the fewest likeliest tokens whose probabilities add up to at least this; 1 keeps all.
    pub top_p: f32,
    /// Keeps the tokens at least this many times as likely as the likeliest; 0 keeps all.
    pub min_p: f32,
    /// The start of the random draws (ChaCha8): the same seed and logits give the same tokens.
    pub seed: u64,
}

impl Default for SamplerConfig {
    /// Plain sampling: temperature 1, no filter, seed 0.
    fn default() -> Self {
        SamplerConfig { temperature: 1.0, top_k: 0, top_p: 1.0, min_p: 0.0, seed: 0 }
    }
}

impl SamplerConfig {
    /// Always the likeliest token.
    #[must_use]
    pub fn greedy() -> Self {
        SamplerConfig { temperature: 0.0, ..SamplerConfig::default() }
    }

    fn check(&self) -> Result<(), DecodeError> {
        let bad = |name, given, allowed| Err(DecodeError::from(Kind::BadSetting { name, given, allowed }));
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return bad("temperature", self.temperature, "0 (greedy) or above, and finite");
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return bad("top_p", self.top_p, "above 0 and at most 1");
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return bad("min_p", self.min_p, "from 0 to 1");
        }
        Ok(())
    }
}

/// Picks tokens by a [`SamplerConfig`]; holds the random state and scratch space.
///
/// # Examples
/// ```
/// use maskwright_decode::{Sampler, SamplerConfig};
/// use maskwright_vocabulary::TokenId;
/// let mut greedy = Sampler::new(SamplerConfig::greedy()).unwrap();
/// assert_eq!(greedy.sample(&[0.5, 2.0, f32::NEG_INFINITY, 2.0]), Some(TokenId(1)));
/// assert_eq!(greedy.sample(&[f32::NEG_INFINITY]), None);
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    config: SamplerConfig,
    rng: ChaCha8Rng,
    candidates: Vec<Candidate>,
}

/// A token that may be picked; `weight` is its probability times a common factor, at most 1.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    id: TokenId,
    weight: f64,
}

/// Likelier first, then the lower id: a total order, since weights are never NaN.
fn by_likelihood(left: &Candidate, right: &Candidate) -> Ordering {
    right.weight.total_cmp(&left.weight).then(left.id.cmp(&right.id))
}

impl Sampler {
    /// A sampler at the start of its random draws.
    ///
    /// # Errors
    /// If a setting is outside its range.
    pub fn new(config: SamplerConfig) -> Result<Self, DecodeError> {
        config.check()?;
        Ok(Sampler { config, rng: ChaCha8Rng::seed_from_u64(config.seed), candidates: Vec::new() })
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &SamplerConfig {
        &self.config
    }

    /// The id of a token with a finite logit; `None` if there is none (NaN and minus infinity don't count,
    /// and plus infinity counts as the largest finite number).
    pub fn sample(&mut self, logits: &[f32]) -> Option<TokenId> {
        let (best_id, largest) = largest(logits)?;
        if self.config.temperature == 0.0 {
            return Some(best_id);
        }
        self.weigh(logits, largest);
        if self.config.top_k > 0 {
            self.keep_top_k();
        }
        if self.config.top_p < 1.0 {
            self.keep_top_p();
        }
        if self.config.min_p > 0.0 {
            self.keep_min_p();
        }
        Some(self.draw())
    }

    /// Fills `candidates`, by id; the likeliest has weight 1.
    fn weigh(&mut self, logits: &[f32], largest: f32) {
        let temperature = f64::from(self.config.temperature);
        self.candidates.clear();
        self.candidates.extend(
            (0..).map(TokenId).zip(logits).filter(|(_, logit)| is_candidate(**logit)).map(|(id, &logit)| {
                let weight = (f64::from(logit.min(f32::MAX) - largest) / temperature).exp();
                Candidate { id, weight }
            }),
        );
    }

    fn keep_top_k(&mut self) {
        let top_k = self.config.top_k;
        if top_k < self.candidates.len() {
            self.candidates.select_nth_unstable_by(top_k - 1, by_likelihood);
            self.candidates.truncate(top_k);
            // Back to one order whatever the selection did, so that a draw depends on the set alone.
            self.candidates.sort_unstable_by_key(|candidate| candidate.id);
        }
    }

    /// Sorts growing pieces of the front until they hold enough of the mass: few tokens, as a rule.
    fn keep_top_p(&mut self) {
        let total: f64 = self.candidates.iter().map(|candidate| candidate.weight).sum();
        let wanted = total * f64::from(self.config.top_p);
        let (mut n_sorted, mut mass) = (0, 0.0);
        while n_sorted < self.candidates.len() {
            let n_next = (n_sorted * 8).max(256).min(self.candidates.len());
            let rest = &mut self.candidates[n_sorted..];
            if n_next - n_sorted < rest.len() {
                rest.select_nth_unstable_by(n_next - n_sorted - 1, by_likelihood);
            }
            rest[..n_next - n_sorted].sort_unstable_by(by_likelihood);
            for position in n_sorted..n_next {
                mass += self.candidates[position].weight;
                if mass >= wanted {
                    self.candidates.truncate(position + 1);
                    return;
                }
            }
            n_sorted = n_next;
        }
    }

    fn keep_min_p(&mut self) {
        // The likeliest token survives every filter before this one and has weight 1.
        let least = f64::from(self.config.min_p);
        self.candidates.retain(|candidate| candidate.weight >= least);
    }

    fn draw(&mut self) -> TokenId {
        let total: f64 = self.candidates.iter().map(|candidate| candidate.weight).sum();
        let mut left = self.rng.random::<f64>() * total;
        for candidate in &self.candidates {
            left -= candidate.weight;
            if left < 0.0 {
                return candidate.id;
            }
        }
        // Rounding left a remainder: the draw was at the very end of the interval.
        let last = self.candidates.iter().rfind(|candidate| candidate.weight > 0.0);
        last.expect("the likeliest token passes every filter and has weight 1").id
    }
}

fn is_candidate(logit: f32) -> bool {
    logit > f32::NEG_INFINITY
}

/// The id and value of the largest logit, the lowest id among equals.
fn largest(logits: &[f32]) -> Option<(TokenId, f32)> {
    let mut best: Option<(TokenId, f32)> = None;
    for (id, &logit) in (0..).map(TokenId).zip(logits) {
        if is_candidate(logit) && best.is_none_or(|(_, value)| logit > value) {
            best = Some((id, logit));
        }
    }
    best.map(|(id, value)| (id, value.min(f32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same filters written plainly: sort everything, then cut.
    fn naive_kept(logits: &[f32], config: &SamplerConfig) -> Vec<TokenId> {
        let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut kept: Vec<Candidate> = (0..)
            .map(TokenId)
            .zip(logits)
            .filter(|(_, l)| is_candidate(**l))
            .map(|(id, &l)| Candidate {
                id,
                weight: (f64::from(l - largest) / f64::from(config.temperature)).exp(),
            })
            .collect();
        kept.sort_by(by_likelihood);
        if config.top_k > 0 {
            kept.truncate(config.top_k);
        }
        let wanted = kept.iter().map(|c| c.weight).sum::<f64>() * f64::from(config.top_p);
        let mut mass = 0.0;
        let mut n_kept = 0;
        while n_kept < kept.len() && (config.top_p == 1.0 || mass < wanted * (1.0 - 1e-12)) {
            mass += kept[n_kept].weight;
            n_kept += 1;
        }
        kept.truncate(n_kept);
        let most = kept[0].weight;
        kept.retain(|c| c.weight >= most * f64::from(config.min_p));
        let mut ids: Vec<TokenId> = kept.iter().map(|c| c.id).collect();
        ids.sort_unstable();
        ids
    }

    fn kept(logits: &[f32], config: SamplerConfig) -> Vec<TokenId> {
        let mut sampler = Sampler::new(config).unwrap();
        sampler.sample(logits).unwrap();
        let mut ids: Vec<TokenId> = sampler.candidates.iter().map(|c| c.id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn filters_agree_with_sorting_everything() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for round in 0..300 {
            let n_vocab = rng.random_range(1..2_000);
            let spread: f32 = rng.random_range(0.1..8.0);
            let mut logits: Vec<f32> = (0..n_vocab).map(|_| rng.random::<f32>() * spread).collect();
            if round % 3 == 0 {
                logits.iter_mut().for_each(|l| *l = l.round());
            }
            if n_vocab > 1 {
                logits[rng.random_range(0..n_vocab)] = f32::NEG_INFINITY;
            }
            let config = SamplerConfig {
                temperature: rng.random_range(0.1..2.0),
                top_k: if rng.random() { 0 } else { rng.random_range(1..50) },
                top_p: if rng.random() { 1.0 } else { rng.random_range(0.05..1.0) },
                min_p: if rng.random() { 0.0 } else { rng.random_range(0.0..0.5) },
                seed: round,
            };
            assert_eq!(kept(&logits, config), naive_kept(&logits, &config), "{config:?}");
        }
    }

    #[test]
    fn frequencies_follow_the_probabilities() {
        let probabilities: [f32; 4] = [0.5, 0.3, 0.15, 0.05];
        let logits = probabilities.map(f32::ln);
        let mut sampler = Sampler::new(SamplerConfig { seed: 9, ..SamplerConfig::default() }).unwrap();
        let mut counts = [0_u32; 4];
        for _ in 0..20_000 {
            counts[sampler.sample(&logits).unwrap().index()] += 1;
        }
        for (count, probability) in counts.iter().zip(probabilities) {
            let expected = 20_000.0 * probability;
            assert!((*count as f32 - expected).abs() < 5.0 * expected.sqrt(), "{counts:?}");
        }
    }

    #[test]
    fn a_seed_decides_the_draws() {
        let logits: Vec<f32> = (0..100).map(|i| (i % 7) as f32).collect();
        let draws = |seed| -> Vec<TokenId> {
            let mut sampler = Sampler::new(SamplerConfig { seed, ..SamplerConfig::default() }).unwrap();
            (0..20).map(|_| sampler.sample(&logits).unwrap()).collect()
        };
        assert_eq!(draws(3), draws(3));
        assert_ne!(draws(3), draws(4));
    }

    #[test]
    fn only_finite_logits_are_picked() {
        let mut sampler = Sampler::new(SamplerConfig::default()).unwrap();
        for _ in 0..50 {
            assert_eq!(sampler.sample(&[f32::NAN, f32::NEG_INFINITY, -1e30, f32::NAN]), Some(TokenId(2)));
            assert_eq!(sampler.sample(&[1.0, f32::INFINITY]), Some(TokenId(1)));
        }
        assert_eq!(sampler.sample(&[f32::NAN]), None);
        assert_eq!(sampler.sample(&[]), None);
    }

    #[test]
    fn settings_outside_their_range_are_refused() {
        let default = SamplerConfig::default();
        for (config, message) in [
            (SamplerConfig { temperature: -1.0, ..default }, "temperature is -1"),
            (SamplerConfig { temperature: f32::NAN, ..default }, "temperature is NaN"),
            (SamplerConfig { top_p: 0.0, ..default }, "top_p is 0"),
            (SamplerConfig { min_p: 2.0, ..default }, "min_p is 2"),
        ] {
            let error = Sampler::new(config).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
