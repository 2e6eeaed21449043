//! One row of logits under a mask, as probabilities.
//!
//! NaN counts as minus infinity and plus infinity as the largest finite number, as in the sampler. Sums are
//! in `f64`, relative to the largest logit. Each question is one pass over the vocabulary.

use std::cmp::Ordering;

use maskwright_vocabulary::TokenId;

use crate::mask::is_allowed;

/// The model's distribution after some text, and what of it is allowed.
pub(crate) struct Row<'a> {
    logits: &'a [f32],
    mask: &'a [u32],
    temperature: f64,
    /// log Σ exp(logit / temperature) over the whole vocabulary.
    log_total: f64,
}

/// A logit without its special values.
fn finite(logit: f32) -> f32 {
    if logit.is_nan() { f32::NEG_INFINITY } else { logit.min(f32::MAX) }
}

/// log Σ exp(value): minus infinity for no values. `values` is gone through twice.
pub(crate) fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + values.map(|value| (value - largest).exp()).sum::<f64>().ln()
}

impl<'a> Row<'a> {
    /// The distribution softmax(logits / temperature); `temperature` is above 0.
    pub(crate) fn new(logits: &'a [f32], mask: &'a [u32], temperature: f64) -> Row<'a> {
        let log_total = log_sum_exp(logits.iter().map(|&logit| f64::from(finite(logit)) / temperature));
        Row { logits, mask, temperature, log_total }
    }

    /// The logarithm of the model's probability of `id`, allowed or not.
    pub(crate) fn log_probability(&self, id: TokenId) -> f64 {
        let logit = self.logits.get(id.index()).map_or(f32::NEG_INFINITY, |&logit| finite(logit));
        f64::from(logit) / self.temperature - self.log_total
    }

    /// The allowed tokens with a finite logit and the logarithms of their probabilities, by id.
    pub(crate) fn allowed(&self) -> impl Iterator<Item = (TokenId, f64)> + Clone {
        (0..)
            .map(TokenId)
            .zip(self.logits)
            .filter(|&(id, &logit)| finite(logit) > f32::NEG_INFINITY && is_allowed(self.mask, id))
            .map(|(id, &logit)| (id, f64::from(finite(logit)) / self.temperature - self.log_total))
    }

    /// The logarithm of the model's probability of all allowed tokens together.
    pub(crate) fn log_allowed_mass(&self) -> f64 {
        log_sum_exp(self.allowed().map(|(_, log_probability)| log_probability))
    }

    /// The `n` likeliest allowed tokens, likelier first, then by id: the greedy choice comes first.
    pub(crate) fn likeliest(&self, n: usize) -> Vec<(TokenId, f64)> {
        let likelier = |left: &(TokenId, f64), right: &(TokenId, f64)| -> Ordering {
            right.1.total_cmp(&left.1).then(left.0.cmp(&right.0))
        };
        let mut tokens: Vec<(TokenId, f64)> = self.allowed().collect();
        if n == 0 {
            tokens.clear();
        } else if n < tokens.len() {
            tokens.select_nth_unstable_by(n - 1, likelier);
            tokens.truncate(n);
        }
        tokens.sort_unstable_by(likelier);
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        let logits = [1.0, f32::NAN, 3.0, 3.0, f32::NEG_INFINITY, -2.0];
        let weight = |logit: f64| (logit / 2.0).exp();
        let total = weight(1.0) + 2.0 * weight(3.0) + weight(-2.0);
        let row = Row::new(&logits, &[0b10_1110], 2.0);
        for (id, logit) in [(0, 1.0), (2, 3.0), (5, -2.0)] {
            assert!((row.log_probability(TokenId(id)).exp() - weight(logit) / total).abs() < 1e-12);
        }
        assert_eq!(row.log_probability(TokenId(1)), f64::NEG_INFINITY);
        assert_eq!(row.allowed().map(|(id, _)| id.0).collect::<Vec<_>>(), [2, 3, 5]);
        let mass = (2.0 * weight(3.0) + weight(-2.0)) / total;
        assert!((row.log_allowed_mass().exp() - mass).abs() < 1e-12);
        let ids = |n| row.likeliest(n).iter().map(|&(id, _)| id.0).collect::<Vec<_>>();
        assert_eq!((ids(0), ids(1), ids(2), ids(9)), (vec![], vec![2], vec![2, 3], vec![2, 3, 5]));
    }

    #[test]
    fn nothing_allowed_has_no_mass() {
        let row = Row::new(&[f32::NAN, 1.0], &[1], 1.0);
        assert_eq!((row.log_allowed_mass(), row.likeliest(3)), (f64::NEG_INFINITY, vec![]));
    }
}
