//! Tiny networks with random weights, as GGUF files.

use std::path::{Path, PathBuf};

use candle_core::{
    Device, Tensor,
    quantized::{
        GgmlDType, QTensor,
        gguf_file::{self, Value},
    },
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) const N_VOCAB: usize = 48;
/// The window of Gemma's layers.
pub(crate) const WINDOW: usize = 8;

/// The sizes and the contents of a file, to be changed before it is written.
#[derive(Clone)]
pub(crate) struct Tiny {
    pub(crate) metadata: Vec<(String, Value)>,
    /// Name, shape (outermost dimension first), type, values.
    pub(crate) tensors: Vec<(String, Vec<usize>, GgmlDType, Vec<f32>)>,
}

impl Tiny {
    /// Two layers (Gemma 3: seven, of which the sixth attends to all tokens and the others to the last 8),
    /// width 64, 4 heads of 16 and 2 key-value heads, inner width 96, context 600.
    pub(crate) fn new(architecture: &str, dtype: GgmlDType, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let is_gemma = architecture == "gemma3";
        let n_layers = if is_gemma { 7 } else { 2 };
        let key = |name: &str| format!("{architecture}.{name}");
        let number = |name: &str, value: u32| (key(name), Value::U32(value));
        let text = |text: &str| Value::String(text.to_owned());
        let tokens = (0..N_VOCAB).map(|id| text(&format!("t{id}"))).collect();
        let mut metadata = vec![
            ("general.architecture".to_owned(), text(architecture)),
            ("general.file_type".to_owned(), Value::U32(0)),
            number("block_count", n_layers),
            number("embedding_length", 64),
            number("feed_forward_length", 96),
            number("attention.head_count", 4),
            number("attention.head_count_kv", 2),
            number("context_length", 600),
            (key("attention.layer_norm_rms_epsilon"), Value::F32(1e-5)),
            ("tokenizer.ggml.tokens".to_owned(), Value::Array(tokens)),
            ("tokenizer.ggml.bos_token_id".to_owned(), Value::U32(1)),
            ("tokenizer.ggml.eos_token_id".to_owned(), Value::U32(2)),
            ("tokenizer.chat_template".to_owned(), text("{{ bos_token }}{{ messages[0].content }}")),
        ];
        if is_gemma {
            metadata.push(number("attention.sliding_window", WINDOW as u32));
            metadata.push((key("rope.freq_base"), Value::F32(1e6)));
            metadata.push((key("rope.scaling.type"), text("linear")));
            metadata.push((key("rope.scaling.factor"), Value::F32(4.0)));
        }
        let mut tensors = Vec::new();
        let mut add = |name: &str, shape: &[usize], dtype: GgmlDType, mean: f32, spread: f32| {
            let n_values = shape.iter().product();
            let values = (0..n_values).map(|_| mean + (rng.random::<f32>() - 0.5) * spread).collect();
            tensors.push((name.to_owned(), shape.to_vec(), dtype, values));
        };
        add("token_embd.weight", &[N_VOCAB, 64], dtype, 0.0, 2.0);
        for layer in 0..n_layers {
            let mut matrix = |part: &str, n_out, n_in| {
                add(&format!("blk.{layer}.{part}.weight"), &[n_out, n_in], dtype, 0.0, 0.6);
            };
            matrix("attn_q", 64, 64);
            matrix("attn_k", 32, 64);
            matrix("attn_v", 32, 64);
            matrix("attn_output", 64, 64);
            matrix("ffn_gate", 96, 64);
            matrix("ffn_up", 96, 64);
            matrix("ffn_down", 64, 96);
            add(&format!("blk.{layer}.attn_norm.weight"), &[64], GgmlDType::F32, 1.0, 0.5);
            add(&format!("blk.{layer}.ffn_norm.weight"), &[64], GgmlDType::F32, 1.0, 0.5);
            if is_gemma {
                let mut norm = |part: &str, width| {
                    add(&format!("blk.{layer}.{part}.weight"), &[width], GgmlDType::F32, 1.0, 0.5);
                };
                norm("attn_q_norm", 16);
                norm("attn_k_norm", 16);
                norm("post_attention_norm", 64);
                norm("post_ffw_norm", 64);
            }
            if architecture == "qwen2" {
                add(&format!("blk.{layer}.attn_q.bias"), &[64], GgmlDType::F32, 0.0, 1.0);
                add(&format!("blk.{layer}.attn_k.bias"), &[32], GgmlDType::F32, 0.0, 1.0);
                add(&format!("blk.{layer}.attn_v.bias"), &[32], GgmlDType::F32, 0.0, 1.0);
            }
        }
        add("output_norm.weight", &[64], GgmlDType::F32, 1.0, 0.5);
        Tiny { metadata, tensors }
    }

    /// The values of a tensor.
    pub(crate) fn values(&self, name: &str) -> &[f32] {
        &self.tensors.iter().find(|tensor| tensor.0 == name).unwrap().3
    }

    /// A number of the metadata, if it is there.
    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        let value = &self.metadata.iter().find(|entry| entry.0 == key)?.1;
        Some(value.to_u32().unwrap() as usize)
    }

    pub(crate) fn set(&mut self, key: &str, value: Value) {
        self.metadata.retain(|entry| entry.0 != key);
        self.metadata.push((key.to_owned(), value));
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.metadata.retain(|entry| entry.0 != name);
        self.tensors.retain(|tensor| tensor.0 != name);
        self
    }

    /// Writes the file with candle's own writer.
    pub(crate) fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        let tensors: Vec<(&str, QTensor)> = self
            .tensors
            .iter()
            .map(|(name, shape, dtype, values)| {
                let tensor = Tensor::from_vec(values.clone(), shape.as_slice(), &Device::Cpu).unwrap();
                (name.as_str(), QTensor::quantize(&tensor, *dtype).unwrap())
            })
            .collect();
        let tensors: Vec<(&str, &QTensor)> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
        let metadata: Vec<(&str, &Value)> = self.metadata.iter().map(|(key, v)| (key.as_str(), v)).collect();
        let mut file = std::fs::File::create(&path).unwrap();
        gguf_file::write(&mut file, &metadata, &tensors).unwrap();
        path
    }
}
