//! The diffusion network against plain loops, and its files.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor};
use maskwright_decode::DiffusionModel;
use maskwright_models::{DiffusionConfig, MaskedDiffusionModel};
use maskwright_vocabulary::TokenId;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const CONFIG: DiffusionConfig = DiffusionConfig {
    n_vocab: 11,
    n_positions: 7,
    n_embedding: 12,
    n_heads: 3,
    n_layers: 2,
    mask_id: 10,
    pad_id: 9,
    separator_id: 8,
};

/// A file of random weights and what is in it.
fn saved(seed: u64) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let DiffusionConfig { n_vocab, n_positions, n_embedding: width, n_layers, .. } = CONFIG;
    let mut shapes = vec![
        ("token_embedding".to_owned(), vec![n_vocab, width]),
        ("position_embedding".to_owned(), vec![n_positions, width]),
        ("output_norm".to_owned(), vec![width]),
        ("output_bias".to_owned(), vec![n_vocab]),
    ];
    for layer in 0..n_layers {
        for (name, shape) in [
            ("attention_norm", vec![width]),
            ("query_key_value", vec![width, 3 * width]),
            ("attention_output", vec![width, width]),
            ("feed_forward_norm", vec![width]),
            ("up", vec![width, 4 * width]),
            ("down", vec![4 * width, width]),
        ] {
            shapes.push((format!("layers.{layer}.{name}"), shape));
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let weights: HashMap<String, Tensor> = shapes
        .into_iter()
        .map(|(name, shape)| {
            let values: Vec<f32> = (0..shape.iter().product()).map(|_| rng.random_range(-0.6..0.6)).collect();
            let weight = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
            (name, weight.to_dtype(DType::F16).unwrap())
        })
        .collect();
    candle_core::safetensors::save(&weights, &path).unwrap();
    std::fs::read(&path).unwrap()
}

/// The matrices of a file of half-precision weights, by name, read without candle.
struct Weights(Vec<(String, Vec<usize>, Vec<f64>)>);

impl Weights {
    fn read(bytes: &[u8]) -> Self {
        let header_len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + header_len]).unwrap();
        let data = &bytes[8 + header_len..];
        let number = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
        let entries = header.as_object().unwrap().iter().map(|(name, entry)| {
            assert_eq!(entry["dtype"], "F16");
            let shape = entry["shape"].as_array().unwrap().iter().map(number).collect();
            let range = number(&entry["data_offsets"][0])..number(&entry["data_offsets"][1]);
            let values = data[range].chunks(2).map(|half| from_half(u16::from_le_bytes([half[0], half[1]])));
            (name.clone(), shape, values.collect())
        });
        Weights(entries.collect())
    }

    fn values(&self, name: &str) -> &[f64] {
        &self.0.iter().find(|entry| entry.0 == name).unwrap().2
    }

    /// row × matrix.
    fn times(&self, row: &[f64], name: &str) -> Vec<f64> {
        let matrix = self.values(name);
        let n_out = matrix.len() / row.len();
        (0..n_out).map(|out| (0..row.len()).map(|i| row[i] * matrix[i * n_out + out]).sum()).collect()
    }

    fn norm(&self, row: &[f64], name: &str) -> Vec<f64> {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
        row.iter().zip(self.values(name)).map(|(x, gain)| x / (mean + 1e-5).sqrt() * gain).collect()
    }
}

fn from_half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    assert!(exponent < 31, "weights are finite");
    if exponent == 0 {
        sign * fraction * 2f64.powi(-14)
    } else {
        sign * (1.0 + fraction) * 2f64.powi(exponent - 15)
    }
}

fn add(left: &mut [f64], right: &[f64]) {
    left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
}

/// The forward pass, position by position.
fn naive(weights: &Weights, ids: &[TokenId]) -> Vec<Vec<f64>> {
    let width = CONFIG.n_embedding;
    let head_size = CONFIG.head_size();
    let row = |name: &str, index: usize| weights.values(name)[index * width..(index + 1) * width].to_vec();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for (position, id) in ids.iter().enumerate() {
        let mut sum = row("token_embedding", id.index());
        add(&mut sum, &row("position_embedding", position));
        rows.push(sum);
    }
    for layer in 0..CONFIG.n_layers {
        let name = |part: &str| format!("layers.{layer}.{part}");
        let projected: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| weights.times(&weights.norm(row, &name("attention_norm")), &name("query_key_value")))
            .collect();
        for (row, own) in rows.iter_mut().zip(&projected) {
            let mut attended = vec![0.0; width];
            for head in 0..CONFIG.n_heads {
                let part =
                    |kind: usize| kind * width + head * head_size..kind * width + (head + 1) * head_size;
                let score = |other: &Vec<f64>| {
                    let products = own[part(0)].iter().zip(&other[part(1)]).map(|(q, k)| q * k);
                    (products.sum::<f64>() / (head_size as f64).sqrt()).exp()
                };
                let scores: Vec<f64> = projected.iter().map(score).collect();
                let total: f64 = scores.iter().sum();
                for (other, score) in projected.iter().zip(&scores) {
                    let values: Vec<f64> = other[part(2)].iter().map(|v| v * score / total).collect();
                    add(&mut attended[head * head_size..(head + 1) * head_size], &values);
                }
            }
            add(row, &weights.times(&attended, &name("attention_output")));
        }
        for row in &mut rows {
            let inner = weights.times(&weights.norm(row, &name("feed_forward_norm")), &name("up"));
            let inner: Vec<f64> = inner.iter().map(|x| x.max(0.0).powi(2)).collect();
            add(row, &weights.times(&inner, &name("down")));
        }
    }
    let logits = |position: &Vec<f64>| {
        let normed = weights.norm(position, "output_norm");
        (0..CONFIG.n_vocab)
            .map(|id| {
                let products = normed.iter().zip(row("token_embedding", id)).map(|(x, w)| x * w);
                products.sum::<f64>() + weights.values("output_bias")[id]
            })
            .collect()
    };
    rows.iter().map(logits).collect()
}

#[test]
fn the_forward_pass_agrees_with_plain_loops() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for seed in 0..5 {
        let bytes = saved(seed);
        let weights = Weights::read(&bytes);
        let mut model = MaskedDiffusionModel::from_safetensors(CONFIG, &bytes).unwrap();
        for length in [1, 4, 7] {
            let ids: Vec<TokenId> = (0..length).map(|_| TokenId(rng.random_range(0..11))).collect();
            let logits = model.forward(&[&ids]).unwrap().remove(0);
            for (position, expected) in naive(&weights, &ids).iter().enumerate() {
                for (given, expected) in logits.row(position).iter().zip(expected) {
                    assert!((f64::from(*given) - expected).abs() < 1e-4, "{given} {expected}");
                }
            }
        }
    }
}

#[test]
fn a_canvas_does_not_see_the_rest_of_its_batch() {
    let mut model = MaskedDiffusionModel::from_safetensors(CONFIG, &saved(1)).unwrap();
    let canvases: [&[TokenId]; 4] =
        [&[1, 10, 3].map(TokenId), &[TokenId(10); 3], &[4, 5, 6].map(TokenId), &[TokenId(2)]];
    for batch in [&canvases[..3], &canvases[..]] {
        let together = model.forward(batch).unwrap();
        for (canvas, logits) in batch.iter().zip(together) {
            let alone = model.forward(&[canvas]).unwrap().remove(0);
            assert_eq!(alone.n_rows(), canvas.len());
            for position in 0..canvas.len() {
                for (left, right) in alone.row(position).iter().zip(logits.row(position)) {
                    assert!((left - right).abs() < 1e-4);
                }
            }
        }
    }
    assert!(model.forward(&[]).unwrap().is_empty());
    assert!(
        model
            .forward(&[&[TokenId(1); 8]])
            .unwrap_err()
            .to_string()
            .contains("8 positions, the model takes 1 to 7")
    );
}

#[test]
fn wrong_files_are_refused() {
    let bytes = saved(1);
    let wider = DiffusionConfig { n_embedding: 24, ..CONFIG };
    let error = MaskedDiffusionModel::from_safetensors(wider, &bytes).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("token_embedding has shape [11, 12], needed is [11, 24]"), "{cause}");
    let deeper = DiffusionConfig { n_layers: 3, ..CONFIG };
    let error = MaskedDiffusionModel::from_safetensors(deeper, &bytes).unwrap_err();
    assert!(
        std::error::Error::source(&error).unwrap().to_string().contains("layers.2.attention_norm is missing")
    );
    for length in [0, 7, 100, bytes.len() - 1] {
        assert!(MaskedDiffusionModel::from_safetensors(CONFIG, &bytes[..length]).is_err());
    }
    for wrong in [
        DiffusionConfig { n_heads: 5, ..CONFIG },
        DiffusionConfig { n_layers: 0, ..CONFIG },
        DiffusionConfig { mask_id: 11, ..CONFIG },
    ] {
        assert!(MaskedDiffusionModel::from_safetensors(wrong, &bytes).is_err());
        assert!(DiffusionConfig::from_json(&serde_json::to_vec(&wrong).unwrap()).is_err());
    }
    assert_eq!(DiffusionConfig::from_json(&serde_json::to_vec(&CONFIG).unwrap()).unwrap(), CONFIG);
}
