//! Rewriting a file in Q8_0.

use candle_core::quantized::GgmlDType;
use maskwright_decode::{LanguageModel, SequenceInput};
use maskwright_models::{LlamaModel, ModelInfo, requantize_to_q8_0};
use maskwright_vocabulary::TokenId;
use tempfile::tempdir;

use crate::tiny::Tiny;

fn last_logits(path: &std::path::Path) -> Vec<f32> {
    let mut model = LlamaModel::from_gguf(path).unwrap();
    let sequence = model.create_sequence().unwrap();
    model.forward(&[SequenceInput::last(sequence, &[1, 5, 9].map(TokenId))]).unwrap()[0].row(0).to_vec()
}

#[test]
fn nothing_of_note_changes() {
    let folder = tempdir().unwrap();
    let source = Tiny::new("llama", GgmlDType::Q4_1, 3).write(folder.path(), "q4.gguf");
    let target = folder.path().join("q8.gguf");
    let mut reports = Vec::new();
    requantize_to_q8_0(&source, &target, &mut |n_done, n_total| reports.push((n_done, n_total))).unwrap();
    assert_eq!(reports.first(), Some(&(0, 20)));
    assert_eq!(reports.last(), Some(&(20, 20)));
    assert_eq!(ModelInfo::from_gguf(&source).unwrap(), ModelInfo::from_gguf(&target).unwrap());
    let (before, after) = (last_logits(&source), last_logits(&target));
    let spread = before.iter().copied().fold(0.0, |most: f32, value| most.max(value.abs()));
    for (b, a) in before.iter().zip(&after) {
        assert!((b - a).abs() < 0.05 * spread, "{b} and {a}");
    }

    // Again: everything is in Q8_0 already, so every byte stays.
    let again = folder.path().join("again.gguf");
    requantize_to_q8_0(&target, &again, &mut |_, _| ()).unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), std::fs::read(&again).unwrap());

    // candle reads what was written, with the file type changed and all types as they should be.
    let mut file = std::fs::File::open(&target).unwrap();
    let content = candle_core::quantized::gguf_file::Content::read(&mut file).unwrap();
    assert_eq!(content.metadata["general.file_type"].to_u32().unwrap(), 7);
    for (name, info) in &content.tensor_infos {
        let expected = if name.contains("norm") { GgmlDType::F32 } else { GgmlDType::Q8_0 };
        assert_eq!(info.ggml_dtype, expected, "{name}");
    }
}

#[test]
fn a_target_that_cannot_be_written_is_an_error() {
    let folder = tempdir().unwrap();
    let source = Tiny::new("llama", GgmlDType::F32, 3).write(folder.path(), "f32.gguf");
    let error = requantize_to_q8_0(&source, &folder.path().join("no/folder"), &mut |_, _| ()).unwrap_err();
    assert!(error.to_string().ends_with("no/folder: cannot be written"), "{error}");
}
