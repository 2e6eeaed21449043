//! Holes of templates filled by models without taste, held to balanced brackets.

use std::ops::ControlFlow;

use crate::diffusion::{EOS, N_VOCAB, infiller, is_balanced, tokenizer};
use crate::support::Spy;
use maskwright_decode::{
    DecodeError, FilledRegion, LanguageModel, MiddleTokens, RandomModel, RegionsConfig, SamplerConfig,
    fill_regions,
};
use maskwright_infill::{Hole, Part};
use maskwright_vocabulary::TokenId;

/// Fills a template; the whole text, and the holes.
fn fill(
    model: &mut dyn LanguageModel,
    parts: &[Part],
    config: &RegionsConfig,
) -> Result<(Vec<u8>, Vec<FilledRegion>), DecodeError> {
    let mut text = Vec::new();
    let on_text = &mut |bytes: &[u8]| {
        text.extend_from_slice(bytes);
        ControlFlow::Continue(())
    };
    let regions = fill_regions(model, &tokenizer(), &infiller(), parts, &[TokenId(0)], config, on_text)?;
    Ok((text, regions))
}

fn text(text: &str) -> Part {
    Part::Text(text.as_bytes().to_vec())
}

#[test]
fn what_stands_after_a_hole_is_in_view() {
    for seed in 0..20 {
        for holes in [[Hole::AtMost(6); 2], [Hole::Exactly(4), Hole::AtMost(3)]] {
            let [first, second] = holes.map(Part::Hole);
            let parts = [text("(["), first, text("]("), second, text(")]")];
            let sampler = SamplerConfig { seed, ..SamplerConfig::default() };
            let config = RegionsConfig { sampler, ..RegionsConfig::default() };
            let mut model = RandomModel::new(N_VOCAB, 64, seed);
            // `)]` closes what the holes leave open.
            let (whole, regions) = fill(&mut model, &parts, &config).unwrap();
            assert!(is_balanced(&whole), "{}", String::from_utf8_lossy(&whole));
            for (region, hole) in regions.iter().zip(holes) {
                let n_tokens = region.tokens.len();
                let fits = match hole {
                    Hole::Any => true,
                    Hole::AtMost(n) => n_tokens <= n,
                    Hole::Exactly(n) => n_tokens == n,
                };
                assert!(region.is_ended && fits, "{region:?}");
            }
            let texts = regions.iter().map(|region| tokenizer().decode(&region.tokens));
            let [first, second]: [Vec<u8>; 2] = texts.collect::<Vec<_>>().try_into().unwrap();
            assert_eq!(whole, [b"([", &*first, b"](", &second, b")]"].concat());
        }
    }
}

#[test]
fn a_hole_ends_where_the_text_after_it_begins() {
    // This model likes `]]` best wherever it is.
    let mut model = Spy::new(N_VOCAB, 64, 1);
    model.likes = Some(TokenId(11));
    let config = RegionsConfig { sampler: SamplerConfig::greedy(), ..RegionsConfig::default() };
    let parts = [text("[["), Part::Hole(Hole::Any), text("]]")];
    assert_eq!(fill(&mut model, &parts, &config).unwrap().0, b"[[]]");
    model.likes = Some(EOS);
    assert_eq!(fill(&mut model, &parts, &config).unwrap().0, b"[[]]");
    assert_eq!(model.n_sequences, 0);
}

#[test]
fn a_hole_of_any_length_is_ended_after_the_limit() {
    // This model never wants an end, and then it must close what it has opened.
    let mut model = Spy::new(N_VOCAB, 64, 1);
    model.likes = Some(TokenId(8));
    for max_tokens in [0, 1, 5] {
        let config = RegionsConfig { sampler: SamplerConfig::greedy(), max_tokens, middle_tokens: None };
        let parts = [text("["), Part::Hole(Hole::Any), text("]"), Part::Hole(Hole::Any)];
        let (whole, regions) = fill(&mut model, &parts, &config).unwrap();
        assert!(is_balanced(&whole), "{}", String::from_utf8_lossy(&whole));
        assert!(regions.iter().all(|region| region.is_ended && region.tokens.len() >= max_tokens));
        let n_tokens: usize = regions.iter().map(|region| region.tokens.len()).sum();
        assert!(n_tokens <= 8 * max_tokens, "what is open is closed: {regions:?}");
    }
}

/// A hole took the whole context, and then there was no room to end it; nor if 5 tokens were needed, 8 were
/// tried, and 6 were there.
#[test]
fn a_hole_leaves_room_for_its_end() {
    let mut model = Spy::new(N_VOCAB, 12, 1);
    model.likes = Some(TokenId(8));
    let config = RegionsConfig { sampler: SamplerConfig::greedy(), ..RegionsConfig::default() };
    let parts = [text("["), Part::Hole(Hole::Any), text("]")];
    let (whole, regions) = fill(&mut model, &parts, &config).unwrap();
    assert!(is_balanced(&whole), "{}", String::from_utf8_lossy(&whole));
    // Five times `((`, and five times `))`.
    assert!(regions[0].is_ended && regions[0].tokens.len() == 10, "{regions:?}");
}

#[test]
fn nothing_is_read_twice() {
    let mut model = Spy::new(N_VOCAB, 64, 3);
    // The text before the second hole is cut into the tokens that it was written in.
    model.likes = Some(TokenId(4));
    let config = RegionsConfig { sampler: SamplerConfig::greedy(), ..RegionsConfig::default() };
    let parts = [text("["), Part::Hole(Hole::Exactly(3)), Part::Hole(Hole::Exactly(2)), text("]")];
    assert_eq!(fill(&mut model, &parts, &config).unwrap().0, b"[()()()()()]");
    // The prompt and `[`, and then each token once; the last one is not read.
    assert_eq!(model.n_fed, [2, 1, 1, 1, 1]);
}

#[test]
fn a_model_that_fills_in_the_middle_reads_the_text_after_the_hole() {
    let middle = MiddleTokens { prefix: TokenId(14), suffix: TokenId(15), middle: TokenId(13) };
    let config = RegionsConfig { middle_tokens: Some(middle), ..RegionsConfig::default() };
    let mut model = Spy::new(N_VOCAB, 64, 3);
    let parts = [text("("), Part::Hole(Hole::AtMost(2)), text(")["), Part::Hole(Hole::AtMost(1)), text("]")];
    let (whole, _) = fill(&mut model, &parts, &config).unwrap();
    assert!(is_balanced(&whole));
    // The prompt, `(`, and then `)[` and `]` without the hole between them.
    assert_eq!(model.read[..7], [0, 14, 0, 15, 7, 3, 13].map(TokenId));
}

#[test]
fn it_can_be_broken_off_and_says_what_cannot_be() {
    let parts = [text("("), Part::Hole(Hole::Exactly(4)), text(")"), Part::Hole(Hole::AtMost(2))];
    for n_calls in 1..8 {
        let (mut n_left, mut model) = (n_calls, Spy::new(N_VOCAB, 64, 5));
        let on_text = &mut |_: &[u8]| {
            n_left -= 1;
            if n_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let config = RegionsConfig::default();
        let regions =
            fill_regions(&mut model, &tokenizer(), &infiller(), &parts, &[TokenId(0)], &config, on_text)
                .unwrap();
        assert!(n_left == 0 || regions.len() == 2, "{n_calls}");
        assert_eq!(regions.first().is_some_and(|region| region.is_ended), n_calls > 5);
        assert_eq!(model.n_sequences, 0);
    }
    let message = |context_length, parts: &[Part]| {
        let mut model = Spy::new(N_VOCAB, context_length, 1);
        let error = fill(&mut model, parts, &RegionsConfig::default()).unwrap_err();
        assert_eq!(model.n_sequences, 0);
        error.to_string()
    };
    assert!(message(64, &[text(")"), Part::Hole(Hole::Any)]).starts_with("hole 0 cannot be filled"));
    let told = message(5, &parts);
    assert!(told.starts_with("hole 0 may take 4 tokens, after 2"), "{told}");
    let open = [text("[([([("), Part::Hole(Hole::Any)];
    assert_eq!(message(3, &open), "the prompt has 7 tokens, the model's context holds 3");
    let told = message(10, &open);
    assert!(told.starts_with("hole 0 cannot be ended within the "), "{told}");
}
