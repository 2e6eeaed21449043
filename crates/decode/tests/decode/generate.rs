//! The generation loop against a language small enough to check by hand, driven by random logits.

use std::{error::Error, ops::ControlFlow};

use crate::support::{EOS, Spy, Tokens, Words, tokens};
use maskwright_decode::{
    Constraint, FinishReason, GenerateConfig, Generation, LanguageModel, PrefixConstraint, RandomModel,
    SamplerConfig, SequenceInput, Summary, Unconstrained, allowed_mass, generate, heal_prompt, mask_len,
};
use maskwright_vocabulary::TokenId;

const WORDS: [&str; 5] = ["abc", "abcabc", "bca", "cccccc", "ab"];

fn vocabulary() -> Tokens {
    tokens(&["a", "b", "c", "ab", "bc", "abc", "cc", "x", ""])
}

fn config(sampler: SamplerConfig) -> GenerateConfig {
    GenerateConfig { eos_ids: vec![EOS], sampler, max_tokens: 50, ..GenerateConfig::default() }
}

fn run(
    model: &mut dyn LanguageModel,
    constraint: &mut dyn Constraint,
    config: &GenerateConfig,
) -> Result<Generation, maskwright_decode::DecodeError> {
    generate(model, Some(constraint), &[1, 2].map(TokenId), config, &mut |_| ControlFlow::Continue(()))
}

fn text(tokens: &Tokens, ids: &[TokenId]) -> Vec<u8> {
    ids.iter().flat_map(|id| tokens[id.index()].clone().unwrap()).collect()
}

#[test]
fn every_finished_text_is_in_the_language() {
    let tokens = vocabulary();
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..300 {
        // Logits are wider than the vocabulary, as real ones are.
        let mut model = RandomModel::new(tokens.len() + 40, 100, seed);
        let mut words = Words::new(&WORDS, &tokens);
        let sampler = SamplerConfig { seed, ..SamplerConfig::default() };
        let generation = run(&mut model, &mut words, &config(sampler)).unwrap();
        assert_eq!(generation.finish_reason, FinishReason::Eos);
        assert_eq!(generation.eos_id, Some(EOS));
        assert_eq!(generation.steps.len(), generation.tokens.len() + 1);
        let text = String::from_utf8(text(&tokens, &generation.tokens)).unwrap();
        assert!(WORDS.contains(&text.as_str()), "{text}");
        assert_eq!(words.text, text.as_bytes());
        seen.insert(text);
    }
    assert_eq!(seen.len(), WORDS.len());
}

#[test]
fn jump_forward_changes_the_calls_but_not_the_text() {
    let tokens = tokens(&["a", "b", "c", "d"]);
    let mut n_saved = 0;
    for seed in 0..50 {
        let outcome = |jump_forward| {
            let mut spy = Spy::new(10, 100, seed);
            let settings = GenerateConfig { jump_forward, ..config(SamplerConfig::greedy()) };
            let generation =
                run(&mut spy, &mut Words::new(&["abcd", "bcda", "dddd"], &tokens), &settings).unwrap();
            assert_eq!(spy.n_sequences, 0);
            (generation, spy.n_fed)
        };
        let (jumping, calls) = outcome(true);
        let (stepping, all_calls) = outcome(false);
        assert_eq!(jumping.tokens, stepping.tokens);
        assert_eq!(calls, [2], "one choice, then everything is forced and nothing more is read");
        assert_eq!(all_calls, [2, 1, 1, 1, 1]);
        assert_eq!(Summary::of(&jumping.steps).n_forced, 4);
        n_saved += all_calls.len() - calls.len();
    }
    assert_eq!(n_saved, 200);
}

#[test]
fn a_run_of_forced_tokens_is_fed_in_one_call() {
    let tokens = tokens(&["a", "b", "c", "x", "y"]);
    let words = ["abcx", "abcy"];
    let mut spy = Spy::new(10, 100, 3);
    let generation =
        run(&mut spy, &mut Words::new(&words, &tokens), &config(SamplerConfig::greedy())).unwrap();
    // The prompt of two and a, b, c; then x or y is picked, and the end is forced.
    assert_eq!(spy.n_fed, [5]);
    let forced: Vec<bool> = generation.steps.iter().map(|step| step.forced).collect();
    assert_eq!(forced, [true, true, true, false, true]);
}

#[test]
fn the_mass_is_that_of_the_plain_model_at_every_step() {
    let tokens = vocabulary();
    let mut n_forced = 0;
    for seed in 0..40 {
        let mut model = RandomModel::new(tokens.len(), 100, seed).with_scale(4.0);
        let settings = GenerateConfig { measure_mass: true, ..config(SamplerConfig::greedy()) };
        let generation = run(&mut model, &mut Words::new(&WORDS, &tokens), &settings).unwrap();
        let ids: Vec<TokenId> = generation.tokens.iter().copied().chain(generation.eos_id).collect();
        let mut words = Words::new(&WORDS, &tokens);
        let mut fed = vec![TokenId(1), TokenId(2)];
        for (step, &id) in generation.steps.iter().zip(&ids) {
            let sequence = model.create_sequence().unwrap();
            let logits = model.forward(&[SequenceInput::last(sequence, &fed)]).unwrap();
            let mut mask = vec![0; mask_len(tokens.len())];
            words.fill_mask(&mut mask).unwrap();
            let expected = allowed_mass(logits[0].row(0), &mask);
            assert!((step.allowed_mass.unwrap() - expected).abs() < 1e-12, "seed {seed}");
            n_forced += usize::from(step.forced);
            words.accept_token(id).unwrap();
            fed.push(id);
        }
    }
    assert!(n_forced > 20, "forced steps must occur to be tested");
}

#[test]
fn the_loop_ends_for_each_reason() {
    let tokens = vocabulary();
    let outcome = |context_length, settings: &GenerateConfig, stop_after: usize| {
        let mut model = RandomModel::new(tokens.len(), context_length, 1);
        let mut events = Vec::new();
        let generation = generate(&mut model, None, &[1, 2].map(TokenId), settings, &mut |event| {
            events.push(*event);
            if events.len() == stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
        assert_eq!(events.len(), generation.steps.len());
        (generation.finish_reason, generation.steps.len())
    };
    let endless = GenerateConfig { eos_ids: vec![], ..config(SamplerConfig::default()) };
    assert_eq!(outcome(1000, &endless, 0), (FinishReason::MaxTokens, 50));
    assert_eq!(outcome(20, &endless, 0), (FinishReason::ContextFull, 18));
    assert_eq!(outcome(2, &endless, 0), (FinishReason::ContextFull, 0));
    assert_eq!(outcome(1000, &endless, 7), (FinishReason::Cancelled, 7));
    let none = GenerateConfig { max_tokens: 0, ..endless.clone() };
    assert_eq!(outcome(1000, &none, 0), (FinishReason::MaxTokens, 0));
    let ending = GenerateConfig { eos_ids: (0..tokens.len() as u32).map(TokenId).collect(), ..endless };
    assert_eq!(outcome(1000, &ending, 0), (FinishReason::Eos, 1));

    // A constraint that ends the text by an id that the caller does not know as an end.
    let mut words = Words::new(&["a"], &tokens);
    let settings = GenerateConfig { eos_ids: vec![], ..config(SamplerConfig::default()) };
    let generation = run(&mut RandomModel::new(tokens.len(), 100, 1), &mut words, &settings).unwrap();
    assert_eq!(generation.finish_reason, FinishReason::Terminated);
    let again = run(&mut RandomModel::new(tokens.len(), 100, 1), &mut words, &settings).unwrap();
    assert_eq!((again.finish_reason, again.tokens.len()), (FinishReason::Terminated, 0));
}

#[test]
fn a_dead_end_is_an_error() {
    let tokens = tokens(&["a", "b"]);
    for jump_forward in [true, false] {
        // After "a" the word goes on with a byte that no token has.
        let mut words = Words::new(&["a!", "ab!"], &tokens);
        let settings = GenerateConfig { jump_forward, ..config(SamplerConfig::greedy()) };
        let mut spy = Spy::new(3, 100, 1);
        let error = run(&mut spy, &mut words, &settings).unwrap_err();
        assert!(error.is_dead_end());
        assert_eq!(error.to_string(), "after 2 generated tokens the constraint allows no token at all");
        assert_eq!(spy.n_sequences, 0);
    }
}

#[test]
fn bad_calls_and_failing_models_are_errors() {
    let tokens = vocabulary();
    let settings = config(SamplerConfig::greedy());
    let mut go_on = |_: &_| ControlFlow::Continue(());
    let mut model = RandomModel::new(tokens.len(), 3, 1);
    let error = generate(&mut model, None, &[], &settings, &mut go_on).unwrap_err().to_string();
    assert!(error.starts_with("the prompt is empty"), "{error}");
    let error = generate(&mut model, None, &[TokenId(1); 4], &settings, &mut go_on).unwrap_err();
    assert_eq!(error.to_string(), "the prompt has 4 tokens, the model's context holds 3");
    let bad = SamplerConfig { min_p: -1.0, ..SamplerConfig::default() };
    assert!(generate(&mut model, None, &[TokenId(1)], &config(bad), &mut go_on).is_err());

    let mut spy = Spy::new(tokens.len(), 100, 1);
    spy.fails_at = Some(1);
    let stepping = GenerateConfig { jump_forward: false, ..settings.clone() };
    let error = run(&mut spy, &mut Words::new(&["cccccc"], &tokens), &stepping).unwrap_err();
    assert_eq!(error.to_string(), "the model failed");
    assert_eq!(error.source().unwrap().to_string(), "unplugged");
    assert_eq!(spy.n_sequences, 0);

    let mut spy = Spy::new(tokens.len(), 100, 1);
    spy.answers_nan = true;
    let error = run(&mut spy, &mut Words::new(&WORDS, &tokens), &stepping).unwrap_err().to_string();
    assert_eq!(error, "after 0 generated tokens the model gave no finite logit to any of 7 allowed tokens");
}

#[test]
fn a_healed_prompt_comes_back_byte_for_byte() {
    let tokens = tokens(&["a", "b", "c", "ab", "bc", "bca", "ca", "x"]);
    // "x", "b": the second may have been the start of "bc" or "bca".
    let healed = heal_prompt(&[8, 2].map(TokenId), &tokens);
    assert_eq!((healed.kept_ids.as_slice(), healed.prefix.as_slice()), (&[TokenId(8)][..], &b"b"[..]));
    let mut segmentations = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let words = Words::new(&["c", "ca", "cab"], &tokens);
        let mut constraint = PrefixConstraint::new(words, healed.prefix.clone(), &tokens);
        let mut model = RandomModel::new(tokens.len(), 100, seed);
        let settings = config(SamplerConfig { seed, ..SamplerConfig::default() });
        let generation =
            generate(&mut model, Some(&mut constraint), &healed.kept_ids, &settings, &mut |_| {
                ControlFlow::Continue(())
            })
            .unwrap();
        let text = text(&tokens, &generation.tokens);
        let rest = text.strip_prefix(b"b").unwrap();
        assert!([&b"c"[..], b"ca", b"cab"].contains(&rest));
        segmentations.insert(generation.tokens);
    }
    assert!(segmentations.len() > 6, "{segmentations:?}");

    // The same without a grammar: only the bytes of the prompt are owed.
    let free = Unconstrained::new(vec![EOS]);
    let mut constraint = PrefixConstraint::new(free, healed.prefix.clone(), &tokens);
    let mut model = RandomModel::new(tokens.len(), 100, 5);
    let settings = config(SamplerConfig::default());
    let mut go_on = |_: &_| ControlFlow::Continue(());
    let generation =
        generate(&mut model, Some(&mut constraint), &healed.kept_ids, &settings, &mut go_on).unwrap();
    assert!(text(&tokens, &generation.tokens).starts_with(b"b"));
}
