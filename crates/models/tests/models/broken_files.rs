//! Files that are not what they say: an error that names the file and the fault, and never a panic.

use std::path::Path;

use candle_core::quantized::{GgmlDType, gguf_file::Value};
use maskwright_decode::{LanguageModel, SequenceInput};
use maskwright_models::LlamaModel;
use maskwright_vocabulary::TokenId;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tempfile::tempdir;

use crate::tiny::Tiny;

/// The message without the path, which must begin it.
fn fault(path: &Path) -> String {
    let message = LlamaModel::from_gguf(path).unwrap_err().to_string();
    let fault = message.strip_prefix(&format!("{}: ", path.display()));
    fault.unwrap_or_else(|| panic!("{message} does not begin with the path")).to_owned()
}

fn fault_of_bytes(bytes: &[u8]) -> String {
    let folder = tempdir().unwrap();
    let path = folder.path().join("broken.gguf");
    std::fs::write(&path, bytes).unwrap();
    fault(&path)
}

fn fault_of(tiny: &Tiny) -> String {
    let folder = tempdir().unwrap();
    fault(&tiny.write(folder.path(), "broken.gguf"))
}

fn tiny() -> Tiny {
    Tiny::new("llama", GgmlDType::Q8_0, 1)
}

fn bytes_of(tiny: &Tiny) -> Vec<u8> {
    let folder = tempdir().unwrap();
    std::fs::read(tiny.write(folder.path(), "whole.gguf")).unwrap()
}

#[test]
fn what_is_no_gguf_file() {
    let folder = tempdir().unwrap();
    assert_eq!(fault(&folder.path().join("missing.gguf")), "cannot be opened");
    assert_eq!(fault(folder.path()), "is not a file");
    assert!(fault_of_bytes(b"").starts_with("is truncated"));
    assert_eq!(fault_of_bytes(b"PK\x03\x04"), "is not a GGUF file: it begins with \"PK\\x03\\x04\"");
    assert_eq!(fault_of_bytes(b"GGUF\x01\0\0\0"), "is GGUF version 1, versions 2 and 3 can be read");
    assert!(fault_of_bytes(b"GGUF\0\0\0\x03").starts_with("is GGUF version 50331648"));
}

#[test]
fn announced_sizes_are_not_believed() {
    let huge = u64::MAX.to_le_bytes();
    let header = |n_tensors: u64, n_values: u64| {
        [&b"GGUF\x03\0\0\0"[..], &n_tensors.to_le_bytes(), &n_values.to_le_bytes()].concat()
    };
    assert!(fault_of_bytes(&header(u64::MAX, 0)).contains("tensor entries are announced"));
    assert!(fault_of_bytes(&header(0, u64::MAX / 13)).contains("metadata entries are announced"));
    let key = |name: &str| [&(name.len() as u64).to_le_bytes()[..], name.as_bytes()].concat();
    let entry = |tail: &[&[u8]]| [&header(0, 1)[..], &key("some.key"), &tail.concat(), &[0; 64]].concat();
    // A text, and arrays of bytes, of texts and of arrays.
    assert!(
        fault_of_bytes(&entry(&[&[8, 0, 0, 0], &huge]))
            .contains("some.key needs 18446744073709551615 bytes more")
    );
    assert!(fault_of_bytes(&entry(&[&[9, 0, 0, 0], &[0; 4], &huge])).contains("is truncated"));
    assert!(fault_of_bytes(&entry(&[&[9, 0, 0, 0], &[10, 0, 0, 0], &huge])).contains("is truncated"));
    assert!(fault_of_bytes(&entry(&[&[9, 0, 0, 0], &[8, 0, 0, 0], &huge])).contains("is truncated"));
    assert!(fault_of_bytes(&entry(&[&[9, 0, 0, 0], &[9, 0, 0, 0], &huge])).contains("is truncated"));
    assert!(fault_of_bytes(&entry(&[&[13, 0, 0, 0]])).contains("some.key is of type 13"));
    // Arrays in arrays, without end.
    let nested = [[9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]; 5000].concat();
    assert!(fault_of_bytes(&entry(&[&[9, 0, 0, 0], &nested])).contains("arrays more than 8 deep"));
    // A tensor whose size does not fit into 64 bits, and one that is merely too large.
    let tensor = |dims: [u64; 2]| {
        let dims = [dims[0].to_le_bytes(), dims[1].to_le_bytes()].concat();
        [&header(1, 0)[..], &key("w"), &[2, 0, 0, 0], &dims, &[0; 4], &[0; 8], &[0; 64]].concat()
    };
    assert!(fault_of_bytes(&tensor([1 << 40, 1 << 40])).contains("which no tensor in"));
    assert!(fault_of_bytes(&tensor([1 << 20, 1 << 20])).contains("which no tensor in"));
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    let bytes = bytes_of(&tiny());
    let folder = tempdir().unwrap();
    let path = folder.path().join("cut.gguf");
    // Every length of the header, then some of the data; the last padding may go.
    let lengths = (0..3_000).chain((3_000..bytes.len() - 32).step_by(997));
    for length in lengths {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(!fault(&path).is_empty(), "{length} bytes");
    }
}

#[test]
fn flipped_bits_never_panic() {
    let bytes = bytes_of(&tiny());
    let folder = tempdir().unwrap();
    let path = folder.path().join("flipped.gguf");
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut n_loaded = 0;
    for _ in 0..1_500 {
        let mut flipped = bytes.clone();
        for _ in 0..rng.random_range(1..4) {
            // The header has some 2,600 bytes.
            let position = rng.random_range(0..2_700);
            flipped[position] ^= 1 << rng.random_range(0..8);
        }
        std::fs::write(&path, &flipped).unwrap();
        if let Ok(mut model) = LlamaModel::from_gguf(&path) {
            n_loaded += 1;
            let sequence = model.create_sequence().unwrap();
            // Whatever comes out, or an error: but it comes back.
            let _ = model.forward(&[SequenceInput::last(sequence, &[1, 2, 3].map(TokenId))]);
        }
    }
    assert!(n_loaded > 100, "some flips must be harmless, {n_loaded} were");
}

#[test]
fn missing_or_wrong_metadata() {
    assert_eq!(fault_of(&tiny().without("general.architecture")), "has no general.architecture");
    for key in
        ["block_count", "embedding_length", "feed_forward_length", "attention.head_count", "context_length"]
    {
        assert_eq!(fault_of(&tiny().without(&format!("llama.{key}"))), format!("has no llama.{key}"));
    }
    let with = |key: &str, value: Value| {
        let mut tiny = tiny();
        tiny.set(key, value);
        fault_of(&tiny)
    };
    let text = |text: &str| Value::String(text.to_owned());
    let other = with("general.architecture", text("mamba"));
    assert_eq!(other, "is a network of architecture \"mamba\", llama, qwen2 and gemma3 can be run");
    assert_eq!(
        with("llama.block_count", Value::U32(0)),
        "has a llama.block_count that is not a number from 1 to 2^31"
    );
    assert!(with("llama.block_count", Value::I32(-4)).starts_with("has a llama.block_count"));
    assert!(with("llama.block_count", text("two")).starts_with("has a llama.block_count"));
    assert_eq!(with("llama.block_count", Value::U32(3)), "has no tensor blk.2.attn_q.weight");
    assert!(with("llama.attention.head_count_kv", Value::U32(3)).contains("which must divide them"));
    assert!(with("llama.attention.head_count", Value::U32(128)).contains("an even size is needed"));
    assert!(with("llama.rope.dimension_count", Value::U32(8)).contains("only the head size 16"));
    assert!(with("llama.rope.scaling.type", text("yarn")).contains("none and linear can be run"));
    assert!(with("llama.expert_count", Value::U32(8)).contains("mixture of experts"));
    assert!(with("llama.rope.freq_base", Value::F32(f32::NAN)).contains("not positive"));
    assert!(with("general.alignment", Value::U32(0)).contains("a power of two is needed"));
    assert!(with("general.alignment", Value::U32(48)).contains("a power of two is needed"));
}

#[test]
fn missing_or_wrong_tensors() {
    for name in ["token_embd.weight", "output_norm.weight", "blk.1.ffn_down.weight", "blk.0.attn_norm.weight"]
    {
        assert_eq!(fault_of(&tiny().without(name)), format!("has no tensor {name}"));
    }
    let mut wider = tiny();
    wider.set("llama.feed_forward_length", Value::U32(128));
    let fault = fault_of(&wider);
    assert_eq!(fault, "tensor blk.0.ffn_gate.weight has shape [96, 64], the metadata demand [128, 64]");
    let biases = fault_of(&Tiny { metadata: Tiny::new("qwen2", GgmlDType::F32, 1).metadata, ..tiny() });
    assert_eq!(biases, "has no tensor blk.0.attn_q.bias");
    let mut flat = tiny();
    let embedding = flat.tensors.iter_mut().find(|tensor| tensor.0 == "token_embd.weight").unwrap();
    embedding.1 = vec![48 * 64];
    assert_eq!(fault_of(&flat), "tensor token_embd.weight has shape [3072]");
}

#[test]
fn gemma_without_its_norms_and_windows() {
    let gemma = || Tiny::new("gemma3", GgmlDType::Q8_0, 1);
    let folder = tempdir().unwrap();
    LlamaModel::from_gguf(gemma().write(folder.path(), "whole.gguf")).unwrap();
    for part in ["attn_q_norm", "attn_k_norm", "post_attention_norm", "post_ffw_norm"] {
        let name = format!("blk.6.{part}.weight");
        assert_eq!(fault_of(&gemma().without(&name)), format!("has no tensor {name}"));
        let mut shorter = gemma();
        let norm = shorter.tensors.iter_mut().find(|tensor| tensor.0 == name).unwrap();
        let width = norm.1[0];
        norm.1 = vec![width / 2];
        norm.3.truncate(width / 2);
        let fault = format!("tensor {name} has shape [{}], the metadata demand [{width}]", width / 2);
        assert_eq!(fault_of(&shorter), fault);
    }
    let window = "gemma3.attention.sliding_window";
    assert_eq!(fault_of(&gemma().without(window)), format!("has no {window}"));
    let with = |key: &str, value: Value| {
        let mut gemma = gemma();
        gemma.set(&format!("gemma3.{key}"), value);
        fault_of(&gemma)
    };
    for key in ["attention.sliding_window", "attention.sliding_window_pattern"] {
        let fault = format!("has a gemma3.{key} that is not a number from 1 to 2^31");
        assert_eq!(with(key, Value::U32(0)), fault);
        assert_eq!(with(key, Value::Array(vec![Value::Bool(true); 7])), fault);
    }
    assert!(with("rope.freq_base_swa", Value::F32(-1.0)).contains("not positive"));
    assert!(with("rope.scaling.factor", Value::F32(0.0)).contains("not positive"));
    let capped = with("final_logit_softcapping", Value::F32(30.0));
    assert_eq!(capped, "has gemma3.final_logit_softcapping 30, only networks without can be run");
}

#[test]
fn a_window_longer_than_any_text_is_no_fault() {
    let mut wide = Tiny::new("gemma3", GgmlDType::Q8_0, 1);
    wide.set("gemma3.attention.sliding_window", Value::U32(0x8000_0000));
    let folder = tempdir().unwrap();
    let mut model = LlamaModel::from_gguf(wide.write(folder.path(), "wide.gguf")).unwrap();
    let sequence = model.create_sequence().unwrap();
    assert!(model.forward(&[SequenceInput::last(sequence, &[TokenId(1); 20])]).is_ok());
}
