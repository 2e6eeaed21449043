//! Tree search: never below the greedy text, and the best text where trials suffice.

use std::ops::ControlFlow;

use super::{PROMPT, Texts, check, go_on, log_likelihood, model, search};
use crate::support::EOS;
use maskwright_decode::{GenerateConfig, SamplerConfig, TreeSearchConfig, generate, tree_search};
use maskwright_vocabulary::TokenId;

/// The value of the greedy text, written by the plain loop.
fn greedy_value(seed: u64, language: &Texts) -> f64 {
    let config = GenerateConfig {
        eos_ids: vec![EOS],
        sampler: SamplerConfig::greedy(),
        jump_forward: false,
        ..GenerateConfig::default()
    };
    let mut continue_ = |_: &_| ControlFlow::Continue(());
    let mut language = language.clone();
    let text = generate(&mut model(seed), Some(&mut language), &PROMPT, &config, &mut continue_).unwrap();
    let tokens: Vec<TokenId> = text.tokens.iter().copied().chain(text.eos_id).collect();
    (log_likelihood(&mut model(seed), &tokens) / tokens.len() as f64).exp()
}

#[test]
fn the_value_is_at_least_that_of_the_greedy_text() {
    let (mut n_better, mut n_cases) = (0, 0);
    for max_tokens in [3, 5, 7] {
        let language = Texts::new(max_tokens);
        for seed in 0..40 {
            let greedy = greedy_value(seed, &language);
            for (n_trials, n_leaves) in [(1, 1), (3, 1), (20, 1), (20, 4)] {
                let mut model = model(seed);
                let config = TreeSearchConfig { n_trials, n_leaves, ..TreeSearchConfig::default() };
                let outcome =
                    tree_search(&mut model, &language, &PROMPT, &search(max_tokens), &config, &mut go_on)
                        .unwrap();
                let best = outcome.best().unwrap();
                check(best, &mut model, &language);
                assert!(best.mean_likelihood() >= greedy - 1e-6, "{} {greedy}", best.mean_likelihood());
                n_better += usize::from(best.mean_likelihood() > greedy + 1e-6);
                n_cases += 1;
                assert!(outcome.texts.len() == 1 && !outcome.is_cancelled);
            }
        }
    }
    assert!(n_better * 4 > n_cases, "{n_better} of {n_cases}");
}

#[test]
fn many_trials_find_the_best_text() {
    let language = Texts::new(6);
    for seed in 0..20 {
        let mut model = model(seed);
        let config = TreeSearchConfig { n_trials: 400, ..TreeSearchConfig::default() };
        let outcome = tree_search(&mut model, &language, &PROMPT, &search(6), &config, &mut go_on).unwrap();
        let value = |text: &Vec<TokenId>| log_likelihood(&mut model.clone(), text) / text.len() as f64;
        let most = language.texts.iter().map(value).fold(f64::NEG_INFINITY, f64::max).exp();
        let found = outcome.best().unwrap().mean_likelihood();
        assert!((found - most).abs() < 1e-6, "seed {seed}: {found} {most}");
    }
}

#[test]
fn known_positions_are_not_asked_again() {
    let language = Texts::new(7);
    let n_prefixes: usize = {
        let mut prefixes: Vec<&[TokenId]> =
            language.texts.iter().flat_map(|text| (0..text.len()).map(|n| &text[..n])).collect();
        prefixes.sort();
        prefixes.dedup();
        prefixes.len()
    };
    for n_leaves in [1, 3, 8] {
        let mut n_questions = 0;
        let config = TreeSearchConfig { n_trials: 100, n_leaves, ..TreeSearchConfig::default() };
        let mut before = 0;
        let mut count = |progress: &maskwright_decode::Progress<'_>| {
            n_questions += usize::from(progress.n_model_tokens > before);
            before = progress.n_model_tokens;
            ControlFlow::Continue(())
        };
        tree_search(&mut model(3), &language, &PROMPT, &search(7), &config, &mut count).unwrap();
        assert!(n_questions <= 2 * n_prefixes, "{n_questions} passes, {n_prefixes} prefixes");
    }
}

#[test]
fn texts_that_are_cut_off_lose() {
    let language = Texts::new(9);
    let mut n_whole = 0;
    for seed in 0..30 {
        let config = TreeSearchConfig { n_trials: 60, ..TreeSearchConfig::default() };
        let outcome =
            tree_search(&mut model(seed), &language, &PROMPT, &search(3), &config, &mut go_on).unwrap();
        n_whole += usize::from(outcome.best().unwrap().is_complete());
        assert!(outcome.best().unwrap().n_tokens <= 3);
    }
    assert_eq!(n_whole, 30);
}
