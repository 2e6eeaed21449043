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
/// let mass = maskwright_decode::allowed_mass(&[0.0, 1.0, 2.0], &[0b011]);
/// assert!((candidates.allowed_mass - mass).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// The model's likeliest tokens, at temperature 1, the likeliest first.
    pub wanted: Vec<Candidate>,
    /// The likeliest of the allowed ones, with their probabilities among these.
    pub allowed: Vec<Candidate>,
    /// How many tokens were allowed.
    pub n_allowed: usize,
    /// The probability of all of them together, as [`allowed_mass`](crate::allowed_mass) gives it.
    pub allowed_mass: f64,
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
    /// The `n` likeliest tokens of a row of logits, as the model gave them. Logits that are not finite are of
    /// no token. Takes time linear in the row, for few tokens.
    #[must_use]
    pub fn of(logits: &[f32], mask: &[u32], n: usize) -> Candidates {
        let finite =
            || (0..).zip(logits).map(|(id, &logit)| (id, logit)).filter(|(_, logit)| logit.is_finite());
        let largest = |best: f32, (_, logit): (u32, f32)| best.max(logit);
        let mut wanted = Best::new(n, finite().fold(f32::NEG_INFINITY, largest));
        let mut allowed = Best::new(n, wanted.base);
        for (id, logit) in finite() {
            let weight = f64::from((logit - wanted.base).exp());
            wanted.add(id, logit, weight);
            if mask_contains(mask, TokenId(id)) {
                allowed.add(id, logit, weight);
            }
        }
        let n_allowed = allowed.n_added;
        if n_allowed > 0 && allowed.total < LEAST_TOTAL {
            let of_mask = || finite().filter(|&(id, _)| mask_contains(mask, TokenId(id)));
            allowed = Best::new(n, of_mask().fold(f32::NEG_INFINITY, largest));
            for (id, logit) in of_mask() {
                allowed.add(id, logit, f64::from((logit - allowed.base).exp()));
            }
        }
        let allowed_mass = match n_allowed {
            0 => 0.0,
            _ => allowed.total / wanted.total * f64::from((allowed.base - wanted.base).exp()),
        };
        let candidates = |best: Best| {
            let candidate = |&(id, logit): &(u32, f32)| Candidate {
                id: TokenId(id),
                probability: f64::from((logit - best.base).exp()) / best.total,
                is_allowed: mask_contains(mask, TokenId(id)),
            };
            best.tokens.iter().map(candidate).collect()
        };
        Candidates { wanted: candidates(wanted), allowed: candidates(allowed), n_allowed, allowed_mass }
    }
}

/// Below this, what allowed tokens weigh beside the model's favourite has lost digits.
const LEAST_TOTAL: f64 = 1e-20;

/// The tokens with the greatest logits, the greatest first; of equal ones those with the least ids.
struct Best {
    n: usize,
    tokens: Vec<(u32, f32)>,
    n_added: usize,
    /// The logit beside which tokens are weighed, and what all of them weigh together.
    base: f32,
    total: f64,
}

impl Best {
    fn new(n: usize, base: f32) -> Best {
        Best { n, tokens: Vec::with_capacity(n + 1), n_added: 0, base, total: 0.0 }
    }

    /// Adds a token, whose id is greater than those before.
    fn add(&mut self, id: u32, logit: f32, weight: f64) {
        self.n_added += 1;
        self.total += weight;
        if self.tokens.len() == self.n && self.tokens.last().is_none_or(|&(_, least)| logit <= least) {
            return;
        }
        let at = self.tokens.partition_point(|&(_, other)| other >= logit);
        self.tokens.insert(at, (id, logit));
        self.tokens.truncate(self.n);
    }
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
        let unlikely = Candidates::of(&[-3e38, 3e38, -3e38], &[0b101], 5);
        assert_eq!(unlikely.allowed.iter().map(|token| token.probability).collect::<Vec<_>>(), [0.5, 0.5]);
        let none = Candidates::of(&[1.0, 2.0], &[0], 1);
        assert!(none.allowed.is_empty() && none.wanted[0].id == TokenId(1));
    }
}
