//! The network once more, written from the papers with plain loops: the naive twin of the candle code.

use maskwright_vocabulary::TokenId;

use crate::tiny::{N_VOCAB, Tiny};

const WIDTH: usize = 64;
const INNER: usize = 96;
const N_HEADS: usize = 4;
const N_KV_HEADS: usize = 2;
const HEAD: usize = 16;

/// The logits after every token.
pub(crate) fn logits(tiny: &Tiny, tokens: &[TokenId], halves: bool) -> Vec<Vec<f32>> {
    let embedding = tiny.values("token_embd.weight");
    let mut rows: Vec<Vec<f32>> =
        tokens.iter().map(|id| embedding[id.index() * WIDTH..][..WIDTH].to_vec()).collect();
    for layer in 0..2 {
        let weights = |part: &str| tiny.values(&format!("blk.{layer}.{part}"));
        let bias = |part: &str, n: usize| if halves { weights(part).to_vec() } else { vec![0.0; n] };
        let (mut keys, mut values): (Vec<Vec<f32>>, Vec<Vec<f32>>) = (Vec::new(), Vec::new());
        for (position, row) in rows.iter_mut().enumerate() {
            let normed = norm(row, weights("attn_norm.weight"));
            let mut query = added(&times(weights("attn_q.weight"), &normed), &bias("attn_q.bias", 64));
            let mut key = added(&times(weights("attn_k.weight"), &normed), &bias("attn_k.bias", 32));
            rotate(&mut query, position, halves);
            rotate(&mut key, position, halves);
            keys.push(key);
            values.push(added(&times(weights("attn_v.weight"), &normed), &bias("attn_v.bias", 32)));
            let mut attended = Vec::new();
            for head in 0..N_HEADS {
                let shared = head / (N_HEADS / N_KV_HEADS) * HEAD;
                let part = |row: &Vec<f32>| row[shared..shared + HEAD].to_vec();
                let query = &query[head * HEAD..][..HEAD];
                let scores: Vec<f32> = keys.iter().map(|k| (dot(query, &part(k)) / 4.0).exp()).collect();
                let total: f32 = scores.iter().sum();
                let mut mean = vec![0.0; HEAD];
                for (score, value) in scores.iter().zip(&values) {
                    mean = added(&mean, &part(value).iter().map(|v| v * score / total).collect::<Vec<_>>());
                }
                attended.extend(mean);
            }
            *row = added(row, &times(weights("attn_output.weight"), &attended));
            let normed = norm(row, weights("ffn_norm.weight"));
            let up = times(weights("ffn_up.weight"), &normed);
            let gate = times(weights("ffn_gate.weight"), &normed);
            let inner: Vec<f32> = gate.iter().zip(&up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
            assert_eq!(inner.len(), INNER);
            *row = added(row, &times(weights("ffn_down.weight"), &inner));
        }
    }
    let last = |row: &Vec<f32>| times(embedding, &norm(row, tiny.values("output_norm.weight")));
    let logits: Vec<Vec<f32>> = rows.iter().map(last).collect();
    assert!(logits.iter().all(|row| row.len() == N_VOCAB));
    logits
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

/// Turns pair `i` of each head by position · 10000^(-2i / head size); pairs are neighbours or halves.
fn rotate(heads: &mut [f32], position: usize, halves: bool) {
    for head in heads.chunks_mut(HEAD) {
        for pair in 0..HEAD / 2 {
            let (x, y) = if halves { (pair, pair + HEAD / 2) } else { (2 * pair, 2 * pair + 1) };
            let angle = position as f32 * 10_000_f32.powf(-2.0 * pair as f32 / HEAD as f32);
            let (sin, cos) = angle.sin_cos();
            (head[x], head[y]) = (head[x] * cos - head[y] * sin, head[x] * sin + head[y] * cos);
        }
    }
}
