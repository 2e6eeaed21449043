//! Canvases filled by models without taste, held to balanced brackets by exact infilling.

use std::ops::ControlFlow;

use maskwright_automata::Fuel;
use maskwright_decode::{
    CanvasTask, DiffusionModel, FillConfig, FillEvent, FilledCanvas, GrammarCanvas, RandomDiffusionModel,
    SamplerConfig, fill_canvases,
};
use maskwright_grammar::{Grammar, GrammarBuilder};
use maskwright_infill::{Canvas, CanvasConfig, Infiller};
use maskwright_vocabulary::{TokenId, Tokenizer};

const TOKENS: [&str; 13] = ["(", ")", "[", "]", "()", "[]", "](", ")[", "((", "))", "[[", "]]", "]])"];
pub(crate) const EOS: TokenId = TokenId(13);
const PADDING: TokenId = TokenId(14);
const MASK: TokenId = TokenId(15);
pub(crate) const N_VOCAB: usize = 16;

/// `( "(" S ")" | "[" S "]" )*`
fn brackets() -> Grammar {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("S");
    let inner = builder.rule(start);
    let mut pair = |open: &str, close: &str| {
        let (open, close) = (builder.literal(open), builder.literal(close));
        builder.seq(&[open, inner, close])
    };
    let pairs = [pair("(", ")"), pair("[", "]")];
    let pair = builder.alt(&pairs);
    let body = builder.repeat(pair, 0, None);
    builder.define(start, body);
    builder.finish(start).unwrap()
}

pub(crate) fn is_balanced(text: &[u8]) -> bool {
    let mut open = Vec::new();
    text.iter().all(|&byte| match byte {
        b'(' | b'[' => {
            open.push(byte);
            true
        }
        b')' => open.pop() == Some(b'('),
        _ => open.pop() == Some(b'['),
    }) && open.is_empty()
}

pub(crate) fn tokenizer() -> Tokenizer {
    let mut tokens: Vec<Vec<u8>> = TOKENS.iter().map(|token| token.as_bytes().to_vec()).collect();
    tokens.resize(N_VOCAB, Vec::new());
    Tokenizer::from_tokens(tokens, &[EOS]).unwrap()
}

pub(crate) fn infiller() -> Infiller {
    Infiller::new(&brackets(), tokenizer().vocabulary().clone(), Default::default(), &Fuel::unlimited())
        .unwrap()
}

fn canvas(infiller: &Infiller, positions: &[Option<TokenId>]) -> GrammarCanvas {
    let mut config = CanvasConfig::default();
    config.padding = Some(PADDING);
    GrammarCanvas::new(Canvas::new(infiller, positions, config).unwrap())
}

fn filled(canvases: &[Vec<Option<TokenId>>], seed: u64, config: &FillConfig) -> Vec<FilledCanvas> {
    let infiller = infiller();
    let mut constraints: Vec<GrammarCanvas> =
        canvases.iter().map(|positions| canvas(&infiller, positions)).collect();
    let tasks = constraints.iter_mut().zip(canvases).map(|(constraint, positions)| CanvasTask {
        prompt: &[TokenId(0), TokenId(1)],
        positions: positions.clone(),
        constraint: Some(constraint),
    });
    let mut model = RandomDiffusionModel::new(N_VOCAB, 64, MASK, seed);
    fill_canvases(&mut model, tasks.collect(), config, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn text(filled: &FilledCanvas) -> Vec<u8> {
    tokenizer().decode(&filled.text(&[EOS]).unwrap())
}

fn canvases() -> Vec<Vec<Option<TokenId>>> {
    let mut known = vec![None; 9];
    known[4] = Some(TokenId(12));
    known[8] = Some(TokenId(1));
    vec![
        vec![None; 12],
        known,
        vec![None; 1],
        vec![Some(TokenId(8)), Some(TokenId(9)), Some(EOS), None, None],
        Vec::new(),
    ]
}

#[test]
fn every_finished_canvas_is_in_the_language() {
    for seed in 0..20 {
        for tokens_per_step in [1, 3, 50] {
            for (n_revisions, all_masks) in [(0, false), (2, false), (1, true)] {
                let config = FillConfig { tokens_per_step, n_revisions, all_masks, ..FillConfig::default() };
                for (filled, given) in filled(&canvases(), seed, &config).iter().zip(canvases()) {
                    assert!(filled.positions.iter().all(|id| id.is_some_and(|id| id != MASK)));
                    assert!(is_balanced(&text(filled)), "{:?}", filled.positions);
                    for (now, given) in filled.positions.iter().zip(given) {
                        assert!(given.is_none() || *now == given, "what was known stays");
                    }
                }
            }
        }
    }
}

#[test]
fn a_seed_decides_and_the_batch_does_not() {
    let config = FillConfig { tokens_per_step: 2, n_revisions: 1, ..FillConfig::default() };
    let together = filled(&canvases(), 3, &config);
    let positions =
        |filled: &[FilledCanvas]| -> Vec<_> { filled.iter().map(|f| f.positions.clone()).collect() };
    assert_eq!(positions(&together), positions(&filled(&canvases(), 3, &config)));
    for (index, given) in canvases().into_iter().enumerate() {
        let seed = index as u64;
        let sampler = SamplerConfig { seed, ..config.sampler };
        let alone = filled(&[given], 3, &FillConfig { sampler, ..config.clone() });
        assert_eq!(alone[0].positions, together[index].positions);
    }
    let sampler = SamplerConfig { seed: 9, ..config.sampler };
    assert_ne!(positions(&together), positions(&filled(&canvases(), 3, &FillConfig { sampler, ..config })));
}

/// The naive twin of masks on demand: masks for all positions before each choice.
#[test]
fn masks_on_demand_choose_as_all_masks_do() {
    for seed in 0..30 {
        let on_demand = FillConfig { sampler: SamplerConfig::greedy(), ..FillConfig::default() };
        let all = FillConfig { all_masks: true, ..on_demand.clone() };
        let (lazy, eager) = (filled(&canvases(), seed, &on_demand), filled(&canvases(), seed, &all));
        for (lazy, eager) in lazy.iter().zip(&eager) {
            assert_eq!(lazy.positions, eager.positions);
            assert!(lazy.statistics.n_masks <= eager.statistics.n_masks);
        }
    }
}

#[test]
fn it_is_told_of_every_token_and_can_be_broken_off() {
    let infiller = infiller();
    let mut constraint = canvas(&infiller, &[None; 10]);
    let task = CanvasTask { prompt: &[], positions: vec![None; 10], constraint: Some(&mut constraint) };
    let mut model = RandomDiffusionModel::new(N_VOCAB, 64, MASK, 1);
    let mut events: Vec<FillEvent> = Vec::new();
    let config = FillConfig::default();
    let filled = fill_canvases(&mut model, vec![task], &config, &mut |event| {
        events.push(*event);
        if events.len() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(filled[0].positions.iter().flatten().count(), 4);
    for event in events {
        assert_eq!(filled[0].positions[event.position], event.id);
        assert!(event.confidence > 0.0 && event.confidence <= 1.0);
    }
    assert_eq!(filled[0].statistics.n_steps, 4);
}

#[test]
fn without_a_constraint_anything_comes_but_the_mask() {
    let mut model = RandomDiffusionModel::new(N_VOCAB, 64, MASK, 1);
    let task = || CanvasTask { prompt: &[TokenId(0)], positions: vec![None; 40], constraint: None };
    let config = FillConfig { tokens_per_step: 5, ..FillConfig::default() };
    let filled =
        fill_canvases(&mut model, vec![task(), task()], &config, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(filled.iter().all(|filled| filled.positions.iter().all(|id| id.is_some_and(|id| id != MASK))));
    assert!(
        filled
            .iter()
            .any(|filled| !is_balanced(&tokenizer().decode(&filled.text(&[EOS]).unwrap_or_default())))
    );
    assert_eq!(filled[0].statistics.n_steps, 8);
}

#[test]
fn what_cannot_be_is_said() {
    let infiller = infiller();
    let run = |positions: Vec<Option<TokenId>>, prompt: &[TokenId], config: FillConfig| {
        let mut constraint = canvas(&infiller, &positions);
        let task = CanvasTask { prompt, positions, constraint: Some(&mut constraint) };
        let mut model = RandomDiffusionModel::new(N_VOCAB, 8, MASK, 1);
        let result = fill_canvases(&mut model, vec![task], &config, &mut |_| ControlFlow::Continue(()));
        match result {
            Ok(filled) => filled[0].error.as_ref().unwrap().to_string(),
            Err(error) => error.to_string(),
        }
    };
    let default = FillConfig::default;
    assert_eq!(
        run(vec![Some(TokenId(1)), None], &[], default()),
        "canvas 0 cannot be filled to a text of the language"
    );
    assert!(run(vec![None; 8], &[TokenId(0)], default()).starts_with("the prompt has 9 tokens"));
    let none = FillConfig { tokens_per_step: 0, ..default() };
    assert!(run(vec![None], &[], none).starts_with("tokens_per_step is 0"));
    let share = FillConfig { revised_share: 1.5, ..default() };
    assert!(run(vec![None], &[], share).starts_with("revised_share is 1.5"));
    let mut model = RandomDiffusionModel::new(N_VOCAB, 8, MASK, 1);
    assert!(model.forward(&[&[TokenId(99)]]).unwrap_err().to_string().contains("99 is outside"));
}
