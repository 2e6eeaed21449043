//! What a model says of the tokens of each position.

use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use crate::EngineError;

/// The score of a token that the model forbids (minus infinity): so low that any text without one is better, and finite, so that of
/// texts that need such tokens the one with the fewest is found.
pub(crate) const IMPOSSIBLE: f64 = -1e9;

/// So many of the best tokens of a position are tried first, where all are scored.
const N_RANKED: usize = 64;

/// The least probability of all tokens that are not candidates. Candidates whose probabilities are rounded may sum to 1.
const LEAST_REST: f64 = 1e-9;

/// What is known of one position of a text.
#[derive(Clone, Copy, Debug)]
pub enum Position<'a> {
    /// A logit for each id. There may be more than the vocabulary has ids: those are no tokens. Missing ones are minus infinity.
    Logits(&'a [f32]),
    /// The best tokens, with the natural logarithms of their probabilities. All others are less probable than the least of these, and have together
    /// what these leave. If none of them is allowed, the best token of `logits` is taken if there are some.
    Candidates {
        /// In any order.
        ids: &'a [u32],
        /// As many.
        log_probabilities: &'a [f32],
        /// A logit for each id, or nothing.
        logits: Option<&'a [f32]>,
    },
    /// The token that is there. It counts nothing.
    Known(TokenId),
}

/// The scores of one position: logarithms of probabilities.
pub(crate) struct Row<'a> {
    /// The best tokens, the best first; of equal ones, the least id.
    pub(crate) ranked: Vec<(TokenId, f64)>,
    /// No other token has a higher score.
    pub(crate) beyond: f64,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Logits, and what is to be subtracted from them.
    Logits(&'a [f32], f64),
    /// The scores of candidates by id.
    Candidates(FxHashMap<TokenId, f64>),
    Known(TokenId),
}

/// The scores of all positions.
pub(crate) struct Scores<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    /// The most that the positions from each one on can give.
    pub(crate) ahead: Vec<f64>,
}

impl<'a> Scores<'a> {
    /// # Errors
    /// If a score is not a number or plus infinity, or there are not as many ids as probabilities.
    pub(crate) fn new(positions: &[Position<'a>]) -> Result<Scores<'a>, EngineError> {
        let rows = positions.iter().enumerate().map(|(index, position)| Row::new(index, position));
        let rows: Vec<Row<'a>> = rows.collect::<Result<_, _>>()?;
        let mut ahead = vec![0.0; rows.len() + 1];
        for (index, row) in rows.iter().enumerate().rev() {
            ahead[index] = ahead[index + 1] + row.best();
        }
        Ok(Scores { rows, ahead })
    }

    /// The sum of the scores of `tokens`, one for each position.
    pub(crate) fn of(&self, tokens: &[TokenId]) -> f64 {
        tokens.iter().zip(&self.rows).map(|(&token, row)| row.score(token)).sum()
    }

    /// How many positions there are.
    pub(crate) fn n_positions(&self) -> usize {
        self.rows.len()
    }
}

impl<'a> Row<'a> {
    fn new(index: usize, position: &Position<'a>) -> Result<Row<'a>, EngineError> {
        match *position {
            Position::Known(token) => {
                Ok(Row { ranked: vec![(token, 0.0)], beyond: f64::NEG_INFINITY, kind: Kind::Known(token) })
            }
            Position::Logits(logits) => {
                let normalizer = log_sum_exp(logits);
                if !normalizer.is_finite()
                    && let Some(id) = logits.iter().position(|&logit| is_bad(logit))
                {
                    return Err(EngineError::bad_score(index, id as u32));
                }
                let (ranked, beyond) = best_of(logits);
                let score = |logit: f32| score_of(logit, normalizer);
                let ranked = ranked.into_iter().map(|(token, logit)| (token, score(logit))).collect();
                Ok(Row { ranked, beyond: score(beyond), kind: Kind::Logits(logits, normalizer) })
            }
            Position::Candidates { ids, log_probabilities, logits } => {
                Row::of_candidates(index, ids, log_probabilities, logits)
            }
        }
    }

    fn of_candidates(
        index: usize,
        ids: &[u32],
        log_probabilities: &[f32],
        logits: Option<&'a [f32]>,
    ) -> Result<Row<'a>, EngineError> {
        if ids.len() != log_probabilities.len() {
            return Err(EngineError::candidates_differ(index, ids.len(), log_probabilities.len()));
        }
        let mut by_id: FxHashMap<TokenId, f64> = FxHashMap::default();
        for (&id, &log_probability) in ids.iter().zip(log_probabilities) {
            if is_bad(log_probability) {
                return Err(EngineError::bad_score(index, id));
            }
            let score = by_id.entry(TokenId(id)).or_insert(IMPOSSIBLE);
            *score = score.max(f64::from(log_probability));
        }
        let mut ranked: Vec<(TokenId, f64)> = by_id.iter().map(|(&token, &score)| (token, score)).collect();
        ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let rest = (1.0 - ranked.iter().map(|(_, score)| score.exp()).sum::<f64>()).max(LEAST_REST).ln();
        let beyond = ranked.last().map_or(rest, |&(_, least)| least.min(rest));
        let best = ranked.first().map(|&(token, score)| (token.index(), score));
        let kind = match (logits, best) {
            (Some(logits), Some((best, score))) if best < logits.len() => {
                // Both say the same of the best token, so that tells by how much logits are to be moved.
                Kind::Logits(logits, f64::from(logits[best]) - score)
            }
            _ => Kind::Candidates(by_id),
        };
        Ok(Row { ranked, beyond, kind })
    }

    /// The highest score.
    pub(crate) fn best(&self) -> f64 {
        self.ranked.first().map_or(self.beyond, |&(_, score)| score)
    }

    /// The score of a token: of one that is not a candidate, the most that it can have; minus infinity if another token is there.
    pub(crate) fn score(&self, token: TokenId) -> f64 {
        match &self.kind {
            Kind::Logits(logits, normalizer) => {
                logits.get(token.index()).map_or(IMPOSSIBLE, |&logit| score_of(logit, *normalizer))
            }
            Kind::Candidates(by_id) => by_id.get(&token).copied().unwrap_or(self.beyond),
            Kind::Known(known) if *known == token => 0.0,
            Kind::Known(_) => f64::NEG_INFINITY,
        }
    }

    /// Whether the score of a token is known, not only what it is at most.
    pub(crate) fn knows(&self, token: TokenId) -> bool {
        if let Kind::Candidates(by_id) = &self.kind { by_id.contains_key(&token) } else { true }
    }

    /// The logits and what is to be subtracted from them, if they are what is known.
    pub(crate) fn logits(&self) -> Option<(&'a [f32], f64)> {
        match self.kind {
            Kind::Logits(logits, normalizer) => Some((logits, normalizer)),
            Kind::Candidates(_) | Kind::Known(_) => None,
        }
    }

    /// The token that is there.
    pub(crate) fn known(&self) -> Option<TokenId> {
        if let Kind::Known(token) = self.kind { Some(token) } else { None }
    }
}

/// Whether a score cannot be added up.
fn is_bad(score: f32) -> bool {
    score.is_nan() || score == f32::INFINITY
}

/// The score of a logit.
pub(crate) fn score_of(logit: f32, normalizer: f64) -> f64 {
    // Where the model forbids everything, the normalizer is not finite.
    if logit == f32::NEG_INFINITY { IMPOSSIBLE } else { (f64::from(logit) - normalizer).max(IMPOSSIBLE) }
}

/// The best tokens by logit, the best first, and the best logit of the others.
fn best_of(logits: &[f32]) -> (Vec<(TokenId, f32)>, f32) {
    let order = |a: &(TokenId, f32), b: &(TokenId, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    let mut kept: Vec<(TokenId, f32)> = Vec::with_capacity(4 * N_RANKED);
    let (mut least, mut beyond) = (f32::NEG_INFINITY, f32::NEG_INFINITY);
    for (id, &logit) in logits.iter().enumerate() {
        if logit > least || kept.len() < N_RANKED {
            kept.push((TokenId(id as u32), logit));
            if kept.len() == kept.capacity() {
                kept.select_nth_unstable_by(N_RANKED, order);
                least = kept[..N_RANKED].iter().fold(f32::INFINITY, |least, &(_, logit)| least.min(logit));
                kept.truncate(N_RANKED);
            }
        }
    }
    kept.sort_unstable_by(order);
    if kept.len() > N_RANKED {
        beyond = kept[N_RANKED].1;
    }
    kept.truncate(N_RANKED);
    if logits.len() > N_RANKED {
        // One that was dropped may be as good as the last that was kept.
        beyond = beyond.max(least);
    }
    (kept, beyond)
}

/// The logarithm of the sum of the exponentials; not finite if a logit is not a number or plus infinity, or none is finite.
fn log_sum_exp(logits: &[f32]) -> f64 {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if largest == f32::NEG_INFINITY {
        return f64::from(logits.iter().sum::<f32>());
    }
    let sum: f64 = logits
        .chunks(1024)
        .map(|chunk| f64::from(chunk.iter().map(|&logit| exp(logit - largest)).sum::<f32>()))
        .sum();
    f64::from(largest) + sum.ln()
}

/// The exponential of a number that is not positive, to some 1e-7 of it. Unlike the standard library's it is computed for many
/// numbers at once.
#[inline]
fn exp(x: f32) -> f32 {
    // 2^n * 2^r with r in [-1/2, 1/2], by Taylor's series.
    let y = (x * std::f32::consts::LOG2_E).max(-126.0);
    let n = (y - 0.5) as i32;
    let r = (y - n as f32) * std::f32::consts::LN_2;
    let series = 1.0 + r * (1.0 + r * (1.0 / 2.0 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0)))));
    series * f32::from_bits(((n + 127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for step in 0..2_000 {
            let x = -(step as f32) * 0.05;
            let (own, right) = (exp(x), x.exp());
            assert!((own - right).abs() <= 3e-6 * right + 1e-37, "exp({x}) is {right}, not {own}");
        }
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn the_best_are_found() {
        let logits: Vec<f32> =
            (0..1_000u32).map(|id| (id.wrapping_mul(2_654_435_761) >> 24) as f32).collect();
        let (best, beyond) = best_of(&logits);
        let mut all: Vec<(TokenId, f32)> =
            logits.iter().enumerate().map(|(id, &logit)| (TokenId(id as u32), logit)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        assert_eq!(best, all[..N_RANKED]);
        assert_eq!(beyond, all[N_RANKED].1);
    }
}
