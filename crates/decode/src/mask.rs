//! Masks against logits: forbidding tokens, and the probability the model gave to the allowed ones.
//!
//! All functions take the mask as packed words (see [`Constraint`](crate::Constraint)) and treat ids past the
//! end of the mask as not allowed. Linear in the vocabulary; whole words of zeros or ones are the fast path.

use maskwright_vocabulary::{TokenId, mask_contains};

/// The number of words of a mask over `n_vocab` token ids.
///
/// # Examples
/// ```
/// assert_eq!(maskwright_decode::mask_len(33), 2);
/// ```
#[must_use]
pub fn mask_len(n_vocab: usize) -> usize {
    n_vocab.div_ceil(32)
}

/// Whether the mask allows `id`.
///
/// # Examples
/// ```
/// use maskwright_decode::is_allowed;
/// use maskwright_vocabulary::TokenId;
/// assert!(is_allowed(&[0, 0b10], TokenId(33)));
/// assert!(!is_allowed(&[0, 0b10], TokenId(64)));
/// ```
#[must_use]
pub fn is_allowed(mask: &[u32], id: TokenId) -> bool {
    mask_contains(mask, id)
}

/// Sets the logits of tokens that are not allowed to minus infinity; returns the number of allowed tokens
/// among `logits`.
///
/// # Examples
/// ```
/// let mut logits = [1.0, 2.0, 3.0];
/// assert_eq!(maskwright_decode::apply_mask(&mut logits, &[0b101]), 2);
/// assert_eq!(logits, [1.0, f32::NEG_INFINITY, 3.0]);
/// ```
pub fn apply_mask(logits: &mut [f32], mask: &[u32]) -> usize {
    let mut n_allowed = 0;
    for (word_idx, chunk) in logits.chunks_mut(32).enumerate() {
        let word = mask.get(word_idx).copied().unwrap_or(0);
        match word {
            0 => chunk.fill(f32::NEG_INFINITY),
            u32::MAX => n_allowed += chunk.len(),
            _ => {
                for (bit, logit) in chunk.iter_mut().enumerate() {
                    if word >> bit & 1 == 0 {
                        *logit = f32::NEG_INFINITY;
                    } else {
                        n_allowed += 1;
                    }
                }
            }
        }
    }
    n_allowed
}

/// The probability, between 0 and 1, that the model itself gives to the allowed tokens: the sum over them of
/// softmax(logits) at temperature 1 (section 5 of "Efficient Guided Generation for Large Language Models").
///
/// `logits` are those of the model, before [`apply_mask`]. NaN counts as minus infinity; 0 if no logit is
/// finite.
///
/// # Examples
/// ```
/// let mass = maskwright_decode::allowed_mass(&[0.0, 0.0, 0.0, 0.0], &[0b0001]);
/// assert!((mass - 0.25).abs() < 1e-9);
/// ```
#[must_use]
pub fn allowed_mass(logits: &[f32], mask: &[u32]) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max).min(f32::MAX);
    if largest == f32::NEG_INFINITY {
        return 0.0;
    }
    let (mut allowed, mut total) = (0.0, 0.0);
    for (word_idx, chunk) in logits.chunks(32).enumerate() {
        let word = mask.get(word_idx).copied().unwrap_or(0);
        for (bit, &logit) in chunk.iter().enumerate() {
            let weight = if logit.is_nan() { 0.0 } else { f64::from((logit.min(f32::MAX) - largest).exp()) };
            total += weight;
            if word >> bit & 1 == 1 {
                allowed += weight;
            }
        }
    }
    allowed / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_mask_forbids_the_rest() {
        let mut logits = vec![1.0; 70];
        assert_eq!(apply_mask(&mut logits, &[u32::MAX]), 32);
        assert!(
            logits[..32].iter().all(|&l| l == 1.0) && logits[32..].iter().all(|&l| l == f32::NEG_INFINITY)
        );
    }

    #[test]
    fn agrees_with_is_allowed_at_every_id() {
        let mask = [0x8000_0001, 0, u32::MAX, 0b0110];
        let mut logits = vec![0.5; 101];
        let n_allowed = apply_mask(&mut logits, &mask);
        for (id, &logit) in logits.iter().enumerate() {
            assert_eq!(logit == 0.5, is_allowed(&mask, TokenId(id as u32)), "id {id}");
        }
        assert_eq!(n_allowed, 2 + 32 + 2);
    }

    #[test]
    fn mass_survives_infinities_and_nan() {
        assert_eq!(allowed_mass(&[f32::NAN, f32::NEG_INFINITY], &[3]), 0.0);
        assert_eq!(allowed_mass(&[f32::INFINITY, 1.0], &[1]), 1.0);
        assert_eq!(allowed_mass(&[f32::NAN, 1.0], &[2]), 1.0);
        assert_eq!(allowed_mass(&[3.0, 1.0], &[0]), 0.0);
    }
}
