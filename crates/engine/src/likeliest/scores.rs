//! What a model says of the tokens of each position.

use std::cell::OnceCell;

use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use crate::EngineError;

/// The score of a token that the model forbids (minus infinity): so low that any text without one is better,
/// and finite, so that of texts that need such tokens the one with the fewest is found.
pub(crate) const IMPOSSIBLE: f64 = -1e9;

/// So many of the best tokens of a position are tried first, where all are scored.
const N_RANKED: usize = 64;

/// What is left of the probability is known only so well, as scores are rounded. If the candidates leave
/// less, that says nothing of the others.
const LEAST_REST: f64 = 1e-2;

/// By so much the others are taken to be less probable than the least candidate.
const MARGIN: f64 = 1e-9;

/// A score that cannot be added up.
fn bad_score(position: usize, id: u32) -> EngineError {
    EngineError::argument(format!(
        "position {position}: the score of token {id} is not a number or plus infinity"
    ))
}

/// What is known of one position of a text.
#[derive(Clone, Copy, Debug)]
pub enum PositionScores<'a> {
    /// A logit for each id. There may be more than the vocabulary has ids: those are no tokens. Missing ones
    /// are minus infinity.
    Logits(&'a [f32]),
    /// The best tokens, with the natural logarithms of their probabilities. Every other token is at most as
    /// probable as the least of these; together they have the remaining probability. If none of them is
    /// allowed, the best token of `logits` is taken if there are some.
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
    kind: Kind<'a>,
    /// The highest score.
    best: f64,
    /// Of logits once they are asked for.
    ranked: OnceCell<Ranked>,
}

/// The best tokens of a position.
pub(crate) struct Ranked {
    /// The best first; of equal ones, the one with the least id.
    pub(crate) tokens: Vec<(TokenId, f64)>,
    /// No other token has a higher score.
    pub(crate) beyond: f64,
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
    pub(crate) fn new(positions: &[PositionScores<'a>]) -> Result<Scores<'a>, EngineError> {
        let rows = positions.iter().enumerate().map(|(index, position)| Row::new(index, position));
        let rows: Vec<Row<'a>> = rows.collect::<Result<_, _>>()?;
        let mut ahead = vec![0.0; rows.len() + 1];
        for (index, row) in rows.iter().enumerate().rev() {
            ahead[index] = ahead[index + 1] + row.best;
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
    fn new(index: usize, position: &PositionScores<'a>) -> Result<Row<'a>, EngineError> {
        match *position {
            PositionScores::Known(token) => {
                let ranked = Ranked { tokens: vec![(token, 0.0)], beyond: f64::NEG_INFINITY };
                Ok(Row { kind: Kind::Known(token), best: 0.0, ranked: ranked.into() })
            }
            PositionScores::Logits(logits) => {
                let (largest, normalizer) = log_sum_exp(logits);
                if !normalizer.is_finite()
                    && let Some(id) = logits.iter().position(|&logit| is_bad(logit))
                {
                    return Err(bad_score(index, id as u32));
                }
                let best = score_of(largest, normalizer);
                Ok(Row { kind: Kind::Logits(logits, normalizer), best, ranked: OnceCell::new() })
            }
            PositionScores::Candidates { ids: [], log_probabilities: [], logits: Some(logits) } => {
                Row::new(index, &PositionScores::Logits(logits))
            }
            PositionScores::Candidates { ids, log_probabilities, logits } => {
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
            return Err(EngineError::argument(format!(
                "position {index}: there are {} ids of candidates and {} log-probabilities",
                ids.len(),
                log_probabilities.len()
            )));
        }
        let mut by_id: FxHashMap<TokenId, f64> = FxHashMap::default();
        for (&id, &log_probability) in ids.iter().zip(log_probabilities) {
            if is_bad(log_probability) {
                return Err(bad_score(index, id));
            }
            let score = by_id.entry(TokenId(id)).or_insert(IMPOSSIBLE);
            *score = score.max(f64::from(log_probability));
        }
        let mut ranked: Vec<(TokenId, f64)> = by_id.iter().map(|(&token, &score)| (token, score)).collect();
        ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let rest = (1.0 - ranked.iter().map(|(_, score)| score.exp()).sum::<f64>()).max(LEAST_REST).ln();
        // A candidate goes before the others even where these may be as probable.
        let mut beyond = ranked.last().map_or(rest, |&(_, least)| least.min(rest)) - MARGIN;
        let mut best = ranked.first().map_or(beyond, |&(_, score)| score);
        let known = ranked.first().and_then(|&(token, score)| Some((*logits?.get(token.index())?, score)));
        let kind = match (logits, known) {
            (Some(logits), Some((logit, score))) => {
                if let Some(id) = logits.iter().position(|&logit| is_bad(logit)) {
                    return Err(bad_score(index, id as u32));
                }
                if logit == f32::NEG_INFINITY || score < IMPOSSIBLE {
                    return Err(EngineError::argument(format!(
                        "position {index}: the logit and the log-probability of token {} contradict each other",
                        ranked[0].0.0
                    )));
                }
                // Both say the same of the best token, so that tells by how much logits are to be moved.
                let normalizer = f64::from(logit) - score;
                // Nothing holds a caller to give the best tokens.
                let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                best = best.max(score_of(largest, normalizer));
                beyond = beyond.max(score_of(best_beside(logits, &by_id), normalizer));
                Kind::Logits(logits, normalizer)
            }
            _ => Kind::Candidates(by_id),
        };
        Ok(Row { kind, best, ranked: Ranked { tokens: ranked, beyond }.into() })
    }

    /// The best tokens: all candidates, or some of those that have logits.
    pub(crate) fn ranked(&self) -> &Ranked {
        self.ranked.get_or_init(|| {
            let Kind::Logits(logits, normalizer) = self.kind else {
                unreachable!("others are ranked when they are made")
            };
            let (tokens, beyond) = best_of(logits);
            let score = |(token, logit)| (token, score_of(logit, normalizer));
            Ranked { tokens: tokens.into_iter().map(score).collect(), beyond: score_of(beyond, normalizer) }
        })
    }

    /// The score of a token: of one that is not a candidate, the most that it can have; minus infinity if
    /// another token is there.
    pub(crate) fn score(&self, token: TokenId) -> f64 {
        match &self.kind {
            Kind::Logits(logits, normalizer) => {
                logits.get(token.index()).map_or(IMPOSSIBLE, |&logit| score_of(logit, *normalizer))
            }
            Kind::Candidates(by_id) => by_id.get(&token).copied().unwrap_or(self.ranked().beyond),
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

/// The largest logit of the tokens that are no candidates.
fn best_beside(logits: &[f32], candidates: &FxHashMap<TokenId, f64>) -> f32 {
    let mut largest = f32::NEG_INFINITY;
    for (id, &logit) in logits.iter().enumerate() {
        if logit > largest && !candidates.contains_key(&TokenId(id as u32)) {
            largest = logit;
        }
    }
    largest
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

/// The largest logit, and the logarithm of the sum of the exponentials; that is not finite if a logit is not
/// a number or plus infinity, or none is finite.
fn log_sum_exp(logits: &[f32]) -> (f32, f64) {
    const N_LANES: usize = 16;
    let (chunks, rest) = logits.as_chunks::<N_LANES>();
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; N_LANES];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &logit)| *lane = larger(*lane, logit));
    }
    let largest = lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, larger);
    if largest == f32::NEG_INFINITY {
        return (largest, f64::from(logits.iter().sum::<f32>()));
    }
    let mut sum: f64 = rest.iter().map(|&logit| f64::from(exp(logit - largest))).sum();
    // So few are added up in a lane that none is lost.
    for chunks in chunks.chunks(64) {
        let mut lanes = [0.0; N_LANES];
        for chunk in chunks {
            lanes.iter_mut().zip(chunk).for_each(|(lane, &logit)| *lane += exp(logit - largest));
        }
        sum += lanes.iter().map(|&lane| f64::from(lane)).sum::<f64>();
    }
    (largest, f64::from(largest) + sum.ln())
}

/// The exponential of a number that is not positive, to some 1e-7 of it for each unit of the number. The
/// compiler makes vector instructions of it, other than of the standard library's.
#[inline]
fn exp(x: f32) -> f32 {
    // 1.5 * 2^23: what is added to it is rounded to an integer, which stands in the lowest bits.
    const ROUNDS: f32 = 12_582_912.0;
    let y = x * std::f32::consts::LOG2_E;
    let y = if y < -126.0 { -126.0 } else { y };
    // 2^n * 2^r with r in [-1/2, 1/2], by Taylor's series.
    let rounded = y + ROUNDS;
    let r = (y - (rounded - ROUNDS)) * std::f32::consts::LN_2;
    let series =
        [720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0].iter().fold(0.0, |sum, factorial| sum * r + 1.0 / factorial);
    series * f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for step in 0..2_000 {
            let x = -(step as f32) * 0.05;
            let (own, right) = (exp(x), x.exp());
            assert!(
                (own - right).abs() <= 3e-7 * (1.0 - x) * right + 1e-37,
                "exp({x}) is {right}, not {own}"
            );
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
