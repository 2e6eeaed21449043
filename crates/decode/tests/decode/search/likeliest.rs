//! The likeliest text against the list of all.

use std::ops::ControlFlow;

use super::{PROMPT, Texts, all_tokens, check, go_on, log_likelihood, model, search};
use maskwright_decode::{BestOfConfig, MostLikelyConfig, Progress, SamplerConfig, best_of, most_likely};

fn largest(seed: u64, language: &Texts) -> f64 {
    let likelihoods = language.texts.iter().map(|text| log_likelihood(&mut model(seed), text));
    likelihoods.fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn is_the_largest_of_all() {
    for max_tokens in [2, 4, 7] {
        let language = Texts::new(max_tokens);
        for seed in 0..40 {
            let mut model = model(seed);
            let config = MostLikelyConfig::default();
            let found = most_likely(&mut model, &language, &PROMPT, &search(max_tokens), &config, &mut go_on)
                .unwrap();
            assert!(found.is_proven);
            check(&found.outcome.texts[0], &mut model, &language);
            assert!((found.outcome.texts[0].log_likelihood - largest(seed, &language)).abs() < 1e-4);
        }
    }
}

#[test]
fn limits_cost_the_proof_and_nothing_else() {
    let language = Texts::new(7);
    let (mut n_proven, mut n_unproven) = (0, 0);
    for seed in 0..40 {
        for config in [
            MostLikelyConfig { max_prefixes: 8, ..MostLikelyConfig::default() },
            MostLikelyConfig { n_children: 2, ..MostLikelyConfig::default() },
        ] {
            let mut model = model(seed);
            let found = most_likely(&mut model, &language, &PROMPT, &search(7), &config, &mut go_on).unwrap();
            check(&found.outcome.texts[0], &mut model, &language);
            let greedy = BestOfConfig { n_texts: 1, sampler: SamplerConfig::greedy() };
            let greedy = best_of(&mut model, &language, &PROMPT, &search(7), &greedy, &mut go_on).unwrap();
            assert!(found.outcome.texts[0].log_likelihood >= greedy.texts[0].log_likelihood - 1e-9);
            let most = largest(seed, &language);
            assert!(
                !found.is_proven || (found.outcome.texts[0].log_likelihood - most).abs() < 1e-4,
                "{found:?}"
            );
            n_proven += usize::from(found.is_proven);
            n_unproven += usize::from(!found.is_proven);
        }
    }
    assert!(n_proven > 0 && n_unproven > 0, "{n_proven} {n_unproven}");
}

#[test]
fn a_limit_on_tokens_alone_finds_the_likeliest_that_fits() {
    // The constraint knows no budget; texts that are cut off do not count.
    for seed in 0..20 {
        let mut model = model(seed);
        let config = MostLikelyConfig::default();
        let found =
            most_likely(&mut model, &Texts::new(9), &PROMPT, &search(4), &config, &mut go_on).unwrap();
        let within = Texts::new(4);
        assert!(within.texts.contains(&all_tokens(&found.outcome.texts[0])));
        assert!((found.outcome.texts[0].log_likelihood - largest(seed, &within)).abs() < 1e-4);
    }
}

/// A short prefix took the place of a longer text that was cut off, since it was likelier.
#[test]
fn a_text_that_is_cut_off_does_not_become_shorter() {
    let mut n_full = 0;
    for seed in 0..20 {
        let mut longest = 0;
        for n_calls in 1..20 {
            let mut n_left = n_calls;
            let on_progress = &mut |_: &Progress<'_>| {
                n_left -= 1;
                if n_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let (language, config) = (Texts::new(9), MostLikelyConfig::default());
            let found =
                most_likely(&mut model(seed), &language, &PROMPT, &search(3), &config, on_progress).unwrap();
            let text = &found.outcome.texts[0];
            if text.is_complete() {
                break;
            }
            assert!(text.n_tokens >= longest, "seed {seed}, {n_calls} calls: {text:?}");
            longest = text.n_tokens;
            n_full += usize::from(longest == 3);
        }
    }
    assert!(n_full > 5, "the test could not fail: {n_full}");
}
