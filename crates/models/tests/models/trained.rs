//! A trained network, where the folder of shared data is at hand.

use std::ops::ControlFlow;

use maskwright_decode::{GenerateConfig, LanguageModel, SamplerConfig, SequenceInput, generate};
use maskwright_models::LlamaModel;
use maskwright_vocabulary::TokenId;

fn stories() -> Option<(LlamaModel, Vec<Vec<u8>>)> {
    let path = maskwright_oracle::shared("models/stories260K/stories260K-f32.gguf")?;
    let model = LlamaModel::from_gguf(&path).unwrap();
    let mut file = std::fs::File::open(&path).unwrap();
    let content = candle_core::quantized::gguf_file::Content::read(&mut file).unwrap();
    let pieces = content.metadata["tokenizer.ggml.tokens"].to_vec().unwrap();
    let pieces =
        pieces.iter().map(|piece| piece.to_string().unwrap().replace('▁', " ").into_bytes()).collect();
    Some((model, pieces))
}

#[test]
fn tells_its_documented_story() {
    let Some((mut model, pieces)) = stories() else { return };
    let config =
        GenerateConfig { sampler: SamplerConfig::greedy(), max_tokens: 100, ..GenerateConfig::default() };
    let generation =
        generate(&mut model, None, &[TokenId(1)], &config, &mut |_| ControlFlow::Continue(())).unwrap();
    let text: Vec<u8> = generation.tokens.iter().flat_map(|id| pieces[id.index()].clone()).collect();
    let text = String::from_utf8_lossy(&text);
    // The greedy text that llama2.c documents for this network.
    let expected =
        "Once upon a time, there was a little girl named Lily. She loved to play outside in the park.";
    assert!(text.trim_start().starts_with(expected), "{text}");
}

#[test]
fn rollback_leaves_no_trace() {
    let Some((mut model, _)) = stories() else { return };
    let tokens: Vec<TokenId> = (0..200).map(|position| TokenId(3 + (position * 31) % 500)).collect();
    let sequence = model.create_sequence().unwrap();
    let once = model.forward(&[SequenceInput::all(sequence, &tokens)]).unwrap().remove(0);
    model.truncate(sequence, 50).unwrap();
    let again = model.forward(&[SequenceInput::all(sequence, &tokens[50..])]).unwrap().remove(0);
    for row in 0..150 {
        for (first, second) in once.row(row + 50).iter().zip(again.row(row)) {
            assert!((first - second).abs() < 1e-3, "row {row}: {first} and {second}");
        }
    }
}
