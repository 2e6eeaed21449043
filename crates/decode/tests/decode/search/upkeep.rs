//! What all searches owe their callers: sequences given back, errors with words, an end when it is asked for.

use std::ops::ControlFlow;

use super::{PROMPT, Texts, go_on, search};
use crate::support::Spy;
use maskwright_decode::{
    BeamConfig, BestOfConfig, DecodeError, FinishReason, Hypothesis, MostLikelyConfig, OnProgress,
    ParticlesConfig, SamplerConfig, TreeSearchConfig, beam_search, best_of, most_likely, particles,
    tree_search,
};
use maskwright_vocabulary::TokenId;

/// Runs the strategy of a number; `None` past the last.
fn run(
    strategy: usize,
    model: &mut Spy,
    max_tokens: usize,
    prompt: &[TokenId],
    on_progress: &mut OnProgress<'_>,
) -> Option<Result<Vec<Hypothesis>, DecodeError>> {
    let (language, search) = (Texts::new(7), search(max_tokens));
    Some(match strategy {
        0 => beam_search(model, &language, prompt, &search, &BeamConfig::default(), on_progress)
            .map(|outcome| outcome.texts),
        1 => tree_search(model, &language, prompt, &search, &TreeSearchConfig::default(), on_progress)
            .map(|outcome| outcome.texts),
        2 => best_of(model, &language, prompt, &search, &BestOfConfig::default(), on_progress)
            .map(|outcome| outcome.texts),
        3 => particles(model, &language, prompt, &search, &ParticlesConfig::default(), on_progress)
            .map(|found| found.outcome.texts),
        4 => most_likely(model, &language, prompt, &search, &MostLikelyConfig::default(), on_progress)
            .map(|found| found.outcome.texts),
        _ => return None,
    })
}

#[test]
fn sequences_are_given_back_whatever_happens() {
    for strategy in 0.. {
        let mut n_failures = 0;
        for fails_at in (0..12).map(Some).chain([None]) {
            let mut spy = Spy::new(20, 100, 5);
            spy.fails_at = fails_at;
            let Some(result) = run(strategy, &mut spy, 7, &PROMPT, &mut go_on) else { return };
            assert_eq!(spy.n_sequences, 0, "strategy {strategy}, failing at {fails_at:?}");
            n_failures += usize::from(result.is_err());
            assert!(fails_at.is_some() || result.is_ok());
        }
        assert!(n_failures > 0);
    }
}

#[test]
fn a_search_ends_when_it_is_told_to() {
    for strategy in 0..5 {
        let mut n_whole = 0;
        for n_calls in 1..40 {
            let mut spy = Spy::new(20, 100, 7);
            let mut n_left = n_calls;
            let mut on_progress = |progress: &maskwright_decode::Progress<'_>| {
                assert!(progress.n_done <= progress.n_total);
                assert!(n_left > 0, "strategy {strategy} continues");
                n_left -= 1;
                if n_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let texts = run(strategy, &mut spy, 7, &PROMPT, &mut on_progress).unwrap().unwrap();
            assert!(!texts.is_empty() && spy.n_sequences == 0);
            let best = &texts[0];
            assert!(best.is_complete() || best.finish_reason == FinishReason::Cancelled, "{best:?}");
            n_whole += usize::from(best.is_complete());
        }
        assert!(n_whole > 0, "strategy {strategy}");
    }
}

#[test]
fn bad_calls_are_refused() {
    for strategy in 0.. {
        let message = |max_tokens, prompt: &[TokenId]| {
            let mut spy = Spy::new(20, 10, 1);
            let result = run(strategy, &mut spy, max_tokens, prompt, &mut go_on)?;
            Some(result.unwrap_err().to_string())
        };
        let Some(empty) = message(7, &[]) else { break };
        assert!(empty.starts_with("the prompt is empty"), "{empty}");
        assert_eq!(
            message(7, &[TokenId(1); 10]).unwrap(),
            "the prompt has 10 tokens, the model's context holds 9"
        );
        assert_eq!(message(0, &[TokenId(1)]).unwrap(), "max_tokens is 0, it must be at least 1");
        let mut spy = Spy::new(20, 100, 1);
        spy.answers_nan = true;
        let error = run(strategy, &mut spy, 7, &PROMPT, &mut go_on).unwrap().unwrap_err().to_string();
        assert!(error.contains("no finite logit"), "{error}");
    }
    let refuse = |name: &str, result: Result<(), DecodeError>| {
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    };
    let mut spy = Spy::new(20, 100, 1);
    let (language, search) = (Texts::new(7), search(7));
    for (name, config) in [
        ("n_beams is 0", BeamConfig { n_beams: 0, ..BeamConfig::default() }),
        ("length_exponent is -1", BeamConfig { length_exponent: -1.0, ..BeamConfig::default() }),
    ] {
        let result = beam_search(&mut spy, &language, &PROMPT, &search, &config, &mut go_on);
        refuse(name, result.map(drop));
    }
    for (name, config) in [
        ("n_trials is 0", TreeSearchConfig { n_trials: 0, ..TreeSearchConfig::default() }),
        ("exploration is NaN", TreeSearchConfig { exploration: f64::NAN, ..TreeSearchConfig::default() }),
        (
            "prior_temperature is 0",
            TreeSearchConfig { prior_temperature: 0.0, ..TreeSearchConfig::default() },
        ),
    ] {
        let result = tree_search(&mut spy, &language, &PROMPT, &search, &config, &mut go_on);
        refuse(name, result.map(drop));
    }
    for (name, config) in [
        ("n_particles is 0", ParticlesConfig { n_particles: 0, ..ParticlesConfig::default() }),
        ("temperature is 0", ParticlesConfig { temperature: 0.0, ..ParticlesConfig::default() }),
        ("resample_below is 2", ParticlesConfig { resample_below: 2.0, ..ParticlesConfig::default() }),
    ] {
        let result = particles(&mut spy, &language, &PROMPT, &search, &config, &mut go_on);
        refuse(name, result.map(drop));
    }
    let config = BestOfConfig { n_texts: 0, sampler: SamplerConfig::default() };
    refuse("n_texts is 0", best_of(&mut spy, &language, &PROMPT, &search, &config, &mut go_on).map(drop));
    let config = MostLikelyConfig { n_children: 0, ..MostLikelyConfig::default() };
    refuse(
        "n_children is 0",
        most_likely(&mut spy, &language, &PROMPT, &search, &config, &mut go_on).map(drop),
    );
}
