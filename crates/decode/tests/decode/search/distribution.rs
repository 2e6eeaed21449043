//! Sampling that is true to the model: distances to the exact conditional distribution, with fixed seeds.

use std::collections::BTreeMap;

use super::{PROMPT, Texts, all_tokens, check, go_on, log_likelihood_at, model, search};
use maskwright_decode::{
    AdaptiveConfig, AdaptiveSampler, BestOfConfig, ParticlesConfig, SamplerConfig, WeightedText, best_of,
    particles,
};

type Distribution = BTreeMap<Vec<u32>, f64>;

/// The probability of each text under the model, given that it is one of them; and that of all together.
fn exact(seed: u64, temperature: f64, language: &Texts) -> (Distribution, f64) {
    let probability = |text: &Vec<u32>| log_likelihood_at(temperature, &mut model(seed), text).exp();
    let total: f64 = language.texts.iter().map(probability).sum();
    (language.texts.iter().map(|text| (text.clone(), probability(text) / total)).collect(), total)
}

/// Half the sum of the differences: 0 for equal distributions, 1 for disjoint ones.
fn distance(found: &Distribution, exact: &Distribution) -> f64 {
    exact.iter().map(|(text, p)| (p - found.get(text).unwrap_or(&0.0)).abs()).sum::<f64>() / 2.0
}

/// The weights of equal texts added up.
fn by_text(texts: &[WeightedText]) -> Distribution {
    let mut found = Distribution::new();
    for text in texts {
        *found.entry(all_tokens(&text.text)).or_default() += text.weight;
    }
    found
}

/// Masking each token alone, 4,000 times.
fn masked(seed: u64, language: &Texts) -> Distribution {
    let sampler = SamplerConfig { seed, ..SamplerConfig::default() };
    let config = BestOfConfig { n_texts: 4_000, sampler };
    let outcome = best_of(&mut model(seed), language, &PROMPT, &search(7), &config, &mut go_on).unwrap();
    let mut found = Distribution::new();
    for text in &outcome.texts {
        *found.entry(all_tokens(text)).or_default() += 1.0 / 4_000.0;
    }
    found
}

#[test]
fn particles_follow_the_model_where_masking_does_not() {
    let language = Texts::new(7);
    let mut n_told_apart = 0;
    for seed in 0..6 {
        let (exact, _) = exact(seed, 1.0, &language);
        for resample_below in [0.0, 0.5, 1.0] {
            let config =
                ParticlesConfig { n_particles: 4_000, resample_below, seed, ..ParticlesConfig::default() };
            let texts =
                particles(&mut model(seed), &language, &PROMPT, &search(7), &config, &mut go_on).unwrap();
            let distance = distance(&by_text(&texts), &exact);
            assert!(distance < 0.08, "seed {seed}, resampling below {resample_below}: {distance}");
        }
        n_told_apart += usize::from(distance(&masked(seed, &language), &exact) > 0.15);
    }
    assert!(n_told_apart >= 4, "the test could not fail: {n_told_apart}");
}

#[test]
fn adaptive_samples_approach_the_model() {
    let language = Texts::new(7);
    for seed in 0..6 {
        let (exact, total) = exact(seed, 1.0, &language);
        let mut model = model(seed);
        let mut sampler = AdaptiveSampler::new(AdaptiveConfig { seed, ..AdaptiveConfig::default() }).unwrap();
        let mut found = Distribution::new();
        let mut future = sampler.expected_future();
        for round in 0..6_000 {
            let text = sampler.sample(&mut model, &language, &PROMPT, &search(7)).unwrap();
            if round >= 2_000 {
                *found.entry(all_tokens(&text)).or_default() += 1.0 / 4_000.0;
            }
            if round % 500 == 0 {
                check(&text, &mut model, &language);
            }
            // An upper bound that only falls.
            assert!(sampler.expected_future() <= future * (1.0 + 1e-9));
            future = sampler.expected_future();
            assert!(future >= total * (1.0 - 1e-6), "{future} {total}");
        }
        assert!(future < total * 1.05, "seed {seed}: {future} {total}");
        let distance = distance(&found, &exact);
        assert!(distance < 0.06, "seed {seed}: {distance}");
    }
}

#[test]
fn a_temperature_changes_what_is_approached() {
    let language = Texts::new(7);
    let (plain, hot) = (exact(1, 1.0, &language).0, exact(1, 3.0, &language).0);
    assert!(distance(&plain, &hot) > 0.15, "the test could not fail");
    let config = ParticlesConfig { n_particles: 4_000, temperature: 3.0, ..ParticlesConfig::default() };
    let texts = particles(&mut model(1), &language, &PROMPT, &search(7), &config, &mut go_on).unwrap();
    assert!(distance(&by_text(&texts), &hot) < 0.06);
    let mut sampler = AdaptiveSampler::new(AdaptiveConfig { temperature: 3.0, seed: 1 }).unwrap();
    let mut found = Distribution::new();
    for round in 0..6_000 {
        let text = sampler.sample(&mut model(1), &language, &PROMPT, &search(7)).unwrap();
        if round >= 2_000 {
            *found.entry(all_tokens(&text)).or_default() += 1.0 / 4_000.0;
        }
    }
    assert!(distance(&found, &hot) < 0.06);
}

#[test]
fn the_best_of_many_samples_comes_first() {
    let language = Texts::new(7);
    let config = BestOfConfig { n_texts: 50, sampler: SamplerConfig::default() };
    let mut model = model(2);
    let outcome = best_of(&mut model, &language, &PROMPT, &search(7), &config, &mut go_on).unwrap();
    assert_eq!(outcome.texts.len(), 50);
    outcome.texts.iter().for_each(|text| check(text, &mut model, &language));
    assert!(outcome.texts.is_sorted_by(|left, right| left.mean_likelihood() >= right.mean_likelihood()));
}
