//! Beams: as many as there are texts find all of them in order; few find what the plain search without caches
//! finds.

use super::{PROMPT, Texts, all_tokens, check, go_on, log_likelihood, model, search};
use crate::support::EOS;
use maskwright_decode::{BeamConfig, LanguageModel, RandomModel, beam_search};
use maskwright_vocabulary::TokenId;

fn score(log_likelihood: f64, n_tokens: usize, exponent: f64) -> f64 {
    log_likelihood / (n_tokens as f64).powf(exponent)
}

#[test]
fn wide_beams_sort_all_texts() {
    let language = Texts::new(6);
    let n_texts = language.texts.len();
    assert!(n_texts > 30, "{n_texts}");
    for seed in 0..20 {
        for length_exponent in [0.0, 0.7, 1.0] {
            let mut model = model(seed);
            let config = BeamConfig { n_beams: 2 * n_texts, length_exponent, is_patient: true };
            let outcome =
                beam_search(&mut model, &language, &PROMPT, &search(6), &config, &mut go_on).unwrap();
            assert_eq!(outcome.texts.len(), n_texts);
            let mut scores: Vec<f64> = Vec::new();
            for text in language.texts.iter() {
                scores.push(score(log_likelihood(&mut model, text), text.len(), length_exponent));
            }
            scores.sort_by(|left, right| right.total_cmp(left));
            for (text, expected) in outcome.texts.iter().zip(scores) {
                check(text, &mut model, &language);
                let found = score(text.log_likelihood, text.n_tokens, length_exponent);
                assert!((found - expected).abs() < 1e-4, "{found} {expected}");
            }
        }
    }
}

/// The same search with every likelihood computed from the beginning, and no batches.
fn naive(model: &mut RandomModel, language: &Texts, config: &BeamConfig) -> Vec<Vec<TokenId>> {
    let value = |text: &(Vec<TokenId>, f64)| score(text.1, text.0.len().max(1), config.length_exponent);
    let mut beams: Vec<(Vec<TokenId>, f64)> = vec![(Vec::new(), 0.0)];
    let mut finished: Vec<(Vec<TokenId>, f64)> = Vec::new();
    while !beams.is_empty() {
        if finished.len() == config.n_beams
            && beams.iter().all(|beam| value(beam) <= value(&finished[config.n_beams - 1]))
        {
            break;
        }
        let mut extensions = Vec::new();
        for (tokens, _) in &beams {
            for id in (Texts { prefix: tokens.clone(), ..language.clone() }).allowed() {
                let text: Vec<TokenId> = tokens.iter().copied().chain([id]).collect();
                let likelihood = log_likelihood(model, &text);
                extensions.push((text, likelihood));
            }
        }
        extensions.sort_by(|left, right| right.1.total_cmp(&left.1));
        beams.clear();
        for extension in extensions {
            if beams.len() == config.n_beams {
                break;
            }
            if extension.0.last() == Some(&EOS) { finished.push(extension) } else { beams.push(extension) }
        }
        finished.sort_by(|left, right| value(right).total_cmp(&value(left)));
        finished.truncate(config.n_beams);
    }
    finished.into_iter().map(|(tokens, _)| tokens).collect()
}

#[test]
fn narrow_beams_find_what_the_plain_search_finds() {
    for max_tokens in [3, 5, 7] {
        let language = Texts::new(max_tokens);
        for seed in 0..30 {
            for n_beams in [1, 2, 3, 5] {
                let mut model = model(seed);
                let config = BeamConfig { n_beams, ..BeamConfig::default() };
                let outcome =
                    beam_search(&mut model, &language, &PROMPT, &search(max_tokens), &config, &mut go_on)
                        .unwrap();
                let found: Vec<Vec<TokenId>> = outcome.texts.iter().map(all_tokens).collect();
                assert_eq!(found, naive(&mut model, &language, &config), "seed {seed}, {n_beams} beams");
                assert!(!outcome.is_cancelled && outcome.n_model_tokens >= PROMPT.len());
            }
        }
    }
}

#[test]
fn texts_without_a_budget_are_cut_off_and_come_last() {
    let language = Texts::new(9);
    for seed in 0..30 {
        let mut model = model(seed);
        let config = BeamConfig { n_beams: 4, ..BeamConfig::default() };
        let outcome = beam_search(&mut model, &language, &PROMPT, &search(3), &config, &mut go_on).unwrap();
        let whole: Vec<bool> = outcome.texts.iter().map(|text| text.is_complete()).collect();
        assert!(whole.is_sorted_by(|left, right| left >= right), "{whole:?}");
        assert!(outcome.texts.iter().all(|text| text.n_tokens <= 3));
        assert_eq!(model.n_cached(maskwright_decode::SequenceId::new(0)), 0, "sequences are released");
    }
}
