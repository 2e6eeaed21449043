//! The true loop: the built-in diffusion model writes records and molecules, held to their languages by exact
//! infilling.

use std::ops::ControlFlow;

use maskwright_automata::Fuel;
use maskwright_decode::{
    CanvasTask, DiffusionModel, FillConfig, FilledCanvas, GrammarCanvas, SamplerConfig, fill_canvases,
};
use maskwright_grammar::Grammar;
use maskwright_infill::{Canvas, CanvasConfig, Infiller};
use maskwright_json_schema::{SchemaConfig, compile_str};
use maskwright_models::{BUILTIN_SCHEMAS, BuiltinDiffusion, builtin_diffusion};
use maskwright_oracle::Oracle;
use maskwright_vocabulary::TokenId;

fn smiles() -> Grammar {
    let source = include_str!("../../../../testdata/infill/smiles.gbnf");
    maskwright_syntax::parse_gbnf(source, "smiles.gbnf", &Fuel::unlimited()).unwrap()
}

fn schema(text: &str) -> Grammar {
    compile_str(text, &SchemaConfig::default(), &Fuel::unlimited()).unwrap().grammar
}

fn infiller(builtin: &BuiltinDiffusion, grammar: &Grammar) -> Infiller {
    let vocabulary = builtin.tokenizer.vocabulary().clone();
    Infiller::new(grammar, vocabulary, Default::default(), &Fuel::unlimited()).unwrap()
}

/// Fills canvases of these lengths.
fn fill(
    builtin: &mut BuiltinDiffusion,
    kind: &str,
    infiller: Option<&Infiller>,
    lengths: &[usize],
    config: &FillConfig,
) -> Vec<FilledCanvas> {
    let prompt = builtin.prompt_ids(kind).unwrap();
    let padding = Some(TokenId(builtin.model.config().pad_id));
    let canvas = |&n: &usize| {
        let infiller = infiller?;
        Some(GrammarCanvas::new(
            Canvas::new(infiller, &vec![None; n], CanvasConfig::with_padding(padding)).unwrap(),
        ))
    };
    let mut constraints: Vec<Option<GrammarCanvas>> = lengths.iter().map(canvas).collect();
    let task = |(constraint, &n): (_, &usize)| {
        let constraint: &mut Option<GrammarCanvas> = constraint;
        CanvasTask {
            prompt: &prompt,
            positions: vec![None; n],
            constraint: constraint.as_mut().map(|canvas| canvas as _),
        }
    };
    let tasks = constraints.iter_mut().zip(lengths).map(task).collect();
    fill_canvases(&mut builtin.model, tasks, config, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn text(builtin: &BuiltinDiffusion, filled: &FilledCanvas) -> Vec<u8> {
    builtin.tokenizer.decode(&filled.text(builtin.tokenizer.eos_token_ids()).unwrap())
}

#[test]
fn every_molecule_is_in_the_language() {
    let mut builtin = builtin_diffusion().unwrap();
    let grammar = smiles();
    let (infiller, oracle) = (infiller(&builtin, &grammar), Oracle::new(&grammar));
    for config in [
        FillConfig { tokens_per_step: 4, ..FillConfig::default() },
        FillConfig {
            sampler: SamplerConfig { temperature: 1.5, ..Default::default() },
            tokens_per_step: 8,
            n_revisions: 1,
            ..Default::default()
        },
    ] {
        for filled in fill(&mut builtin, "smiles", Some(&infiller), &[8, 16, 24], &config) {
            let text = text(&builtin, &filled);
            assert!(oracle.is_word(&text), "{}", String::from_utf8_lossy(&text));
        }
    }
}

#[test]
fn every_record_satisfies_its_schema() {
    let mut builtin = builtin_diffusion().unwrap();
    for (kind, source) in BUILTIN_SCHEMAS {
        let grammar = schema(source);
        let infiller = infiller(&builtin, &grammar);
        let config = FillConfig { tokens_per_step: 4, ..FillConfig::default() };
        for filled in fill(&mut builtin, kind, Some(&infiller), &[40, 56], &config) {
            let text = text(&builtin, &filled);
            let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert!(value.is_object(), "{kind}: {value}");
            assert!(Oracle::new(&grammar).is_word(&text), "{kind}: {value}");
        }
    }
}

#[test]
fn a_seed_gives_one_text() {
    let mut builtin = builtin_diffusion().unwrap();
    let infiller = infiller(&builtin, &smiles());
    let mut texts = |seed: u64| -> Vec<Vec<u8>> {
        let sampler = SamplerConfig { seed, ..SamplerConfig::default() };
        let config = FillConfig { sampler, tokens_per_step: 2, ..FillConfig::default() };
        let filled = fill(&mut builtin, "smiles", Some(&infiller), &[24, 24, 24], &config);
        filled.iter().map(|filled| text(&builtin, filled)).collect()
    };
    let first = texts(1);
    assert_eq!(first, texts(1));
    assert_ne!(first, texts(2));
}

/// A model that had learned nothing would give each hidden token one chance in a thousand.
#[test]
fn it_knows_its_texts_better_than_chance() {
    let mut builtin = builtin_diffusion().unwrap();
    let mut surprises = Vec::new();
    for (kind, text) in [
        ("person", r#"{"name":"Ada Brown","age":41,"city":"Oslo","email":"ada.brown@example.org"}"#),
        (
            "recipe",
            r#"{"name":"rice with beans","minutes":35,"ingredients":["rice","beans"],"difficulty":"easy"}"#,
        ),
        ("smiles", "CC(=O)Nc1ccc(OC)cc1"),
    ] {
        let prompt = builtin.prompt_ids(kind).unwrap();
        let text = builtin.tokenizer.encode(text).unwrap();
        let whole = [prompt.clone(), text, builtin.tokenizer.eos_token_ids().to_vec()].concat();
        let hidden = (prompt.len()..whole.len()).step_by(3);
        let mut canvas = whole.clone();
        hidden.clone().for_each(|position| canvas[position] = builtin.model.mask_id());
        let logits = builtin.model.forward(&[&canvas]).unwrap().remove(0);
        surprises.extend(hidden.map(|position| {
            let row = logits.row(position);
            let total: f64 = row.iter().map(|&logit| f64::from(logit).exp()).sum();
            total.ln() - f64::from(row[whole[position].index()])
        }));
    }
    let (mean, chance) = (surprises.iter().sum::<f64>() / surprises.len() as f64, 1000_f64.ln());
    assert!(mean < 0.7 * chance, "{mean} nats a token, chance has {chance}");
}
