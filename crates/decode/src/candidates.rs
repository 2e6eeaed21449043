//! The likeliest tokens of a step, and the likeliest that were allowed.

use maskwright_vocabulary::{TokenId, mask_contains};

/// What a model wanted to write at a step, and what of that it could.
///
/// # Examples
/// ```
/// use maskwright_decode::Candidates;
/// let candidates = Candidates::of(&[0.0, 1.0, 2.0], &[0b011], 2);
/// let ids = |tokens: &[maskwright_decode::Candidate]| tokens.iter().map(|token| token.id.0).collect::<Vec<_>>();
/// assert_eq!((ids(&candidates.wanted), ids(&candidates.allowed)), (vec![2, 1], vec![1, 0]));
/// assert!(!candidates.wanted[0].is_allowed && candidates.n_allowed == 2);
/// let sum: f64 = candidates.allowed.iter().map(|token| token.probability).sum();
/// assert!((sum - 1.0).abs() < 1e-9, "of the allowed tokens alone");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// The model's likeliest tokens, at temperature 1, the likeliest first.
    pub wanted: Vec<Candidate>,
    /// The likeliest of the allowed ones, with their probabilities among these.
    pub allowed: Vec<Candidate>,
    /// How many tokens were allowed.
    pub n_allowed: usize,
}

/// A token and its probability.
///
/// # Examples
/// ```
/// use maskwright_decode::Candidate;
/// use maskwright_vocabulary::TokenId;
/// let candidate = Candidate { id: TokenId(3), probability: 0.5, is_allowed: true };
/// assert!(candidate.is_allowed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token.
    pub id: TokenId,
    /// Its probability, 0 to 1.
    pub probability: f64,
    /// Whether the mask allowed it.
    pub is_allowed: bool,
}

impl Candidates {
    /// The `n` likeliest tokens of a row of logits, as the model gave them. Logits that are not finite are of no token. Takes time
    /// linear in the row.
    #[must_use]
    pub fn of(logits: &[f32], mask: &[u32], n: usize) -> Candidates {
        let ids = |is_wanted: &dyn Fn(TokenId) -> bool| {
            let ids = (0..logits.len() as u32).map(TokenId);
            let mut ids: Vec<TokenId> =
                ids.filter(|&id| logits[id.index()].is_finite() && is_wanted(id)).collect();
            let total = log_sum(ids.iter().map(|id| f64::from(logits[id.index()])));
            let n_all = ids.len();
            let likelier = |left: &TokenId, right: &TokenId| {
                logits[right.index()].total_cmp(&logits[left.index()]).then(left.cmp(right))
            };
            if ids.len() > n {
                ids.select_nth_unstable_by(n, likelier);
                ids.truncate(n);
            }
            ids.sort_unstable_by(likelier);
            let candidate = |id: TokenId| Candidate {
                id,
                probability: (f64::from(logits[id.index()]) - total).exp(),
                is_allowed: mask_contains(mask, id),
            };
            (ids.into_iter().map(candidate).collect::<Vec<_>>(), n_all)
        };
        let (wanted, _) = ids(&|_| true);
        let (allowed, n_allowed) = ids(&|id| mask_contains(mask, id));
        Candidates { wanted, allowed, n_allowed }
    }
}

/// The logarithm of a sum of exponentials.
fn log_sum(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    largest + values.map(|value| (value - largest).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_rows_have_few_candidates() {
        let odd = [f32::NAN, f32::NEG_INFINITY, 3.0, f32::INFINITY];
        let candidates = Candidates::of(&odd, &[0b1111], 5);
        assert_eq!((candidates.wanted.len(), candidates.n_allowed), (1, 1));
        assert_eq!((candidates.wanted[0].id, candidates.wanted[0].probability), (TokenId(2), 1.0));
        assert_eq!(Candidates::of(&[], &[], 5), Candidates::default());
        let none = Candidates::of(&[1.0, 2.0], &[0], 1);
        assert!(none.allowed.is_empty() && none.wanted[0].id == TokenId(1));
    }
}
