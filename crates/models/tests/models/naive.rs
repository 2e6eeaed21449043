//! The network once more, written from the papers with plain loops: the naive twin of the candle code.

use maskwright_vocabulary::TokenId;

use crate::tiny::{N_VOCAB, Tiny, WINDOW};

const WIDTH: usize = 64;
const INNER: usize = 96;
const N_HEADS: usize = 4;
const N_KV_HEADS: usize = 2;
const HEAD: usize = 16;

/// The network of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Llama,
    Qwen2,
    Gemma3,
}

impl Kind {
    pub(crate) const ALL: [Kind; 3] = [Kind::Llama, Kind::Qwen2, Kind::Gemma3];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Llama => "llama",
            Kind::Qwen2 => "qwen2",
            Kind::Gemma3 => "gemma3",
        }
    }
}

/// The logits after every token.
pub(crate) fn logits(tiny: &Tiny, tokens: &[TokenId], kind: Kind) -> Vec<Vec<f32>> {
    let is_gemma = kind == Kind::Gemma3;
    let embedding = tiny.values("token_embd.weight");
    let scale = if is_gemma { (WIDTH as f32).sqrt() } else { 1.0 };
    let row = |id: &TokenId| embedding[id.index() * WIDTH..][..WIDTH].iter().map(|x| x * scale).collect();
    let mut rows: Vec<Vec<f32>> = tokens.iter().map(row).collect();
    let n_layers = tiny.number(&format!("{}.block_count", kind.name())).unwrap();
    let period = tiny.number("gemma3.attention.sliding_window_pattern").unwrap_or(6);
    for layer in 0..n_layers {
        let weights = |part: &str| tiny.values(&format!("blk.{layer}.{part}"));
        let bias =
            |part: &str, n: usize| if kind == Kind::Qwen2 { weights(part).to_vec() } else { vec![0.0; n] };
        let post_norm = |row: Vec<f32>, part: &str| if is_gemma { norm(&row, weights(part)) } else { row };
        let head_norms = |heads: Vec<f32>, part: &str| {
            if is_gemma {
                heads.chunks(HEAD).flat_map(|head| norm(head, weights(part))).collect()
            } else {
                heads
            }
        };
        let in_window = is_gemma && layer % period != period - 1;
        let (mut keys, mut values): (Vec<Vec<f32>>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
        for (position, row) in rows.iter_mut().enumerate() {
            let turned = |mut heads: Vec<f32>| {
                let (base, step) = if is_gemma && !in_window { (1e6, 0.25) } else { (1e4, 1.0) };
                rotate(&mut heads, position as f32 * step, base, kind != Kind::Llama);
                heads
            };
            let normed = norm(row, weights("attn_norm.weight"));
            let query = added(&times(weights("attn_q.weight"), &normed), &bias("attn_q.bias", 64));
            let key = added(&times(weights("attn_k.weight"), &normed), &bias("attn_k.bias", 32));
            let query = turned(head_norms(query, "attn_q_norm.weight"));
            keys.push(turned(head_norms(key, "attn_k_norm.weight")));
            values.push(added(&times(weights("attn_v.weight"), &normed), &bias("attn_v.bias", 32)));
            let mut attended = Vec::new();
            for head in 0..N_HEADS {
                let shared = head / (N_HEADS / N_KV_HEADS) * HEAD;
                let part = |row: &Vec<f32>| row[shared..shared + HEAD].to_vec();
                let query = &query[head * HEAD..][..HEAD];
                let score = |(earlier, key): (usize, &Vec<f32>)| {
                    let hidden = in_window && position - earlier >= WINDOW;
                    if hidden { 0.0 } else { (dot(query, &part(key)) / 4.0).exp() }
                };
                let scores: Vec<f32> = keys.iter().enumerate().map(score).collect();
                let total: f32 = scores.iter().sum();
                let mut mean = vec![0.0; HEAD];
                for (score, value) in scores.iter().zip(&values) {
                    mean = added(&mean, &part(value).iter().map(|v| v * score / total).collect::<Vec<_>>());
                }
                attended.extend(mean);
            }
            let attended = times(weights("attn_output.weight"), &attended);
            *row = added(row, &post_norm(attended, "post_attention_norm.weight"));
            let normed = norm(row, weights("ffn_norm.weight"));
            let up = times(weights("ffn_up.weight"), &normed);
            let gate = times(weights("ffn_gate.weight"), &normed);
            let activate = if is_gemma { gelu } else { silu };
            let inner: Vec<f32> = gate.iter().zip(&up).map(|(&g, u)| activate(g) * u).collect();
            assert_eq!(inner.len(), INNER);
            *row = added(row, &post_norm(times(weights("ffn_down.weight"), &inner), "post_ffw_norm.weight"));
        }
    }
    let last = |row: &Vec<f32>| times(embedding, &norm(row, tiny.values("output_norm.weight")));
    let logits: Vec<Vec<f32>> = rows.iter().map(last).collect();
    assert!(logits.iter().all(|row| row.len() == N_VOCAB));
    logits
}

fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + ((2.0 / std::f32::consts::PI).sqrt() * (x + 0.044_715 * x * x * x)).tanh())
}

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

fn added(left: &[f32], right: &[f32]) -> Vec<f32> {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(l, r)| l + r).collect()
}

fn times(matrix: &[f32], row: &[f32]) -> Vec<f32> {
    matrix.chunks(row.len()).map(|weights| dot(weights, row)).collect()
}

fn norm(row: &[f32], weights: &[f32]) -> Vec<f32> {
    let scale = 1.0 / (dot(row, row) / row.len() as f32 + 1e-5).sqrt();
    row.iter().zip(weights).map(|(value, weight)| value * scale * weight).collect()
}

/// Turns pair `i` of each head by position · base^(-2i / head size); pairs are neighbours or halves.
fn rotate(heads: &mut [f32], position: f32, base: f32, halves: bool) {
    for head in heads.chunks_mut(HEAD) {
        for pair in 0..HEAD / 2 {
            let (x, y) = if halves { (pair, pair + HEAD / 2) } else { (2 * pair, 2 * pair + 1) };
            let angle = position * base.powf(-2.0 * pair as f32 / HEAD as f32);
            let (sin, cos) = angle.sin_cos();
            (head[x], head[y]) = (head[x] * cos - head[y] * sin, head[x] * sin + head[y] * cos);
        }
    }
}
