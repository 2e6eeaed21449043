//! Sampling that is true to the model: distances to the exact conditional distribution, with fixed seeds.

use std::collections::BTreeMap;

use super::{PROMPT, Texts, all_tokens, check, go_on, log_likelihood_at, model, search};
use maskwright_decode::{BestOfConfig, Particles, ParticlesConfig, SamplerConfig, best_of, particles};
use maskwright_vocabulary::TokenId;

type Distribution = BTreeMap<Vec<TokenId>, f64>;

/// The probability of each text under the model, given that it is one of them.
fn exact(seed: u64, temperature: f64, language: &Texts) -> Distribution {
    let probability = |text: &Vec<TokenId>| log_likelihood_at(temperature, &mut model(seed), text).exp();
    let total: f64 = language.texts.iter().map(probability).sum();
    language.texts.iter().map(|text| (text.clone(), probability(text) / total)).collect()
}

/// Half the sum of the differences: 0 for equal distributions, 1 for disjoint ones.
fn distance(found: &Distribution, exact: &Distribution) -> f64 {
    exact.iter().map(|(text, p)| (p - found.get(text).unwrap_or(&0.0)).abs()).sum::<f64>() / 2.0
}

/// The weights of equal texts added up.
fn by_text(particles: &Particles) -> Distribution {
    let mut found = Distribution::new();
    for (text, weight) in particles.outcome.texts.iter().zip(&particles.weights) {
        *found.entry(all_tokens(text)).or_default() += weight;
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
        let exact = exact(seed, 1.0, &language);
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
fn the_first_particle_is_drawn_by_weight() {
    let language = Texts::new(7);
    let (mut first, mut weighted) = (Distribution::new(), Distribution::new());
    for seed in 0..2_000 {
        let config = ParticlesConfig { seed, ..ParticlesConfig::default() };
        let found = particles(&mut model(1), &language, &PROMPT, &search(7), &config, &mut go_on).unwrap();
        *first.entry(all_tokens(&found.outcome.texts[0])).or_default() += 1.0 / 2_000.0;
        for (text, weight) in by_text(&found) {
            *weighted.entry(text).or_default() += weight / 2_000.0;
        }
    }
    assert!(weighted.len() > 10, "the test could not fail");
    let distance = distance(&first, &weighted);
    assert!(distance < 0.04, "{distance}");
}

#[test]
fn a_temperature_changes_what_is_approached() {
    let language = Texts::new(7);
    let (plain, hot) = (exact(1, 1.0, &language), exact(1, 3.0, &language));
    assert!(distance(&plain, &hot) > 0.15, "the test could not fail");
    let config = ParticlesConfig { n_particles: 4_000, temperature: 3.0, ..ParticlesConfig::default() };
    let texts = particles(&mut model(1), &language, &PROMPT, &search(7), &config, &mut go_on).unwrap();
    assert!(distance(&by_text(&texts), &hot) < 0.06);
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
