//! Beam search: the texts in progress are extended together, and the likeliest few are kept.
//!
//! Paper 4, section 4.2 (2). A step is one forward pass over all beams; an extension is scored by the model's
//! own log-likelihood, tokens that are not allowed have none. Finished texts are set aside and compared by
//! log-likelihood / length^`length_exponent`.
//!
//! The search ends when enough texts are finished and no text in progress has a better score than the worst
//! of them (at its present length, or at the length most favourable to it: [`BeamConfig::is_patient`]), or
//! when no text is in progress any more.

use maskwright_vocabulary::TokenId;

use super::{
    Hypothesis, OnProgress, SearchConfig, SearchOutcome, by_key, driver::Driver, driver::Step, normalized,
};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    generate::FinishReason,
    model::{LanguageModel, SequenceId},
};

/// How [`beam_search`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::BeamConfig;
/// assert_eq!(BeamConfig { n_beams: 4, ..BeamConfig::default() }.length_exponent, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamConfig {
    /// How many texts are kept, and returned at most.
    pub n_beams: usize,
    /// Scores are log-likelihoods divided by length to this power: 0 for the likeliest text, 1 for the
    /// likeliest per token. From 0 on.
    pub length_exponent: f64,
    /// Whether to go on until no text in progress can still become better than the finished ones.
    pub is_patient: bool,
}

impl Default for BeamConfig {
    /// Ten beams, scores per token, impatient.
    fn default() -> Self {
        BeamConfig { n_beams: 10, length_exponent: 1.0, is_patient: false }
    }
}

/// A text in progress. `sequence` has read the prompt and all of `tokens` but what is `pending`.
struct Beam<C> {
    constraint: C,
    sequence: SequenceId,
    tokens: Vec<TokenId>,
    pending: Vec<TokenId>,
    log_likelihood: f64,
    /// Its last token among those that were tried.
    explored: Option<usize>,
}

/// A beam and its next token.
struct Extension {
    beam: usize,
    id: TokenId,
    log_likelihood: f64,
}

/// The best texts that [`BeamConfig::n_beams`] beams find, each held to its own copy of `constraint`.
///
/// O(beams × length) tokens read by the model, in one pass for each length; memory for the caches of twice as
/// many sequences as beams.
///
/// # Errors
/// If the prompt is empty or too long, a setting is out of range, the constraint allows no token of any text
/// in progress, or the model or the constraint fails.
pub fn beam_search<C: Constraint + Clone>(
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
    config: &BeamConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<SearchOutcome, DecodeError> {
    config.check()?;
    let mut driver = Driver::new(model, prompt_ids, search)?;
    let sequence = driver.create()?;
    let mut beams = vec![Beam {
        constraint: constraint.clone(),
        sequence,
        tokens: Vec::new(),
        pending: prompt_ids.to_vec(),
        log_likelihood: 0.0,
        explored: None,
    }];
    let mut finished: Vec<Hypothesis> = Vec::new();
    let mut is_cancelled = false;
    while !(beams.is_empty() || is_cancelled || config.is_settled(&finished, &beams, driver.max_tokens())) {
        let extensions = extend(&mut driver, &mut beams, config.n_beams + search.eos_ids.len())?;
        if extensions.is_empty() && finished.is_empty() {
            return Err(Kind::DeadEnd { n_tokens: beams[0].tokens.len() }.into());
        }
        beams = advance(&mut driver, &beams, &extensions, config.n_beams, &mut finished)?;
        let key = |text: &Hypothesis| text.sort_key(text.normalized(config.length_exponent));
        finished.sort_by(|left, right| by_key(key(left), key(right)));
        finished.truncate(config.n_beams);
        let n_tokens = beams.first().map_or(driver.max_tokens(), |beam| beam.tokens.len());
        is_cancelled = driver.report(on_progress, n_tokens, finished.first());
    }
    if is_cancelled {
        finished.extend(
            beams
                .into_iter()
                .map(|beam| driver.hypothesis(beam.tokens, FinishReason::Cancelled, beam.log_likelihood)),
        );
        finished.truncate(config.n_beams);
    }
    Ok(driver.into_outcome(finished, is_cancelled))
}

impl BeamConfig {
    fn check(&self) -> Result<(), DecodeError> {
        if self.n_beams == 0 {
            return Err(Kind::BadCount { name: "n_beams", given: 0, allowed: "at least 1" }.into());
        }
        if !(self.length_exponent >= 0.0 && self.length_exponent.is_finite()) {
            let given = self.length_exponent as f32;
            return Err(Kind::BadSetting { name: "length_exponent", given, allowed: "0 or above" }.into());
        }
        Ok(())
    }

    /// Whether the finished texts stay as they are. They are sorted; log-likelihoods are at most 0 and never
    /// rise, so the length most favourable to a text in progress is the greatest.
    fn is_settled<C>(&self, finished: &[Hypothesis], beams: &[Beam<C>], max_tokens: usize) -> bool {
        let Some(worst) = finished.get(self.n_beams - 1) else { return false };
        let worst = worst.normalized(self.length_exponent);
        beams.iter().all(|beam| {
            let n_tokens = if self.is_patient { max_tokens } else { beam.tokens.len() };
            normalized(beam.log_likelihood, n_tokens, self.length_exponent) <= worst
        }) && finished.iter().all(Hypothesis::is_complete)
    }
}

/// Reads what is pending and returns each beam's best extensions, likelier first: so many that `n_beams` stay
/// open though each beam may end in as many ways as there are ids for it.
fn extend<C: Constraint>(
    driver: &mut Driver<'_>,
    beams: &mut [Beam<C>],
    n_each: usize,
) -> Result<Vec<Extension>, DecodeError> {
    let inputs: Vec<(SequenceId, &[TokenId])> =
        beams.iter().map(|beam| (beam.sequence, beam.pending.as_slice())).collect();
    let rows = driver.forward(&inputs)?;
    let mut extensions = Vec::new();
    for (index, (beam, logits)) in beams.iter_mut().zip(&rows).enumerate() {
        beam.pending.clear();
        let row = match driver.row(&mut beam.constraint, logits, beam.tokens.len(), 1.0) {
            Ok(row) => row,
            // The others may have a way on.
            Err(error) if error.is_dead_end() => continue,
            Err(error) => return Err(error),
        };
        extensions.extend(row.likeliest(n_each).into_iter().map(|(id, log_probability)| {
            let log_likelihood = beam.log_likelihood + log_probability;
            Extension { beam: index, id, log_likelihood }
        }));
    }
    extensions.sort_by(|left, right| {
        let by_place = (left.beam, left.id).cmp(&(right.beam, right.id));
        right.log_likelihood.total_cmp(&left.log_likelihood).then(by_place)
    });
    Ok(extensions)
}

/// The `n_beams` best extensions that do not end their texts become beams; ends met before them are finished.
fn advance<C: Constraint + Clone>(
    driver: &mut Driver<'_>,
    beams: &[Beam<C>],
    extensions: &[Extension],
    n_beams: usize,
    finished: &mut Vec<Hypothesis>,
) -> Result<Vec<Beam<C>>, DecodeError> {
    let mut next: Vec<Beam<C>> = Vec::new();
    let mut is_continued = vec![false; beams.len()];
    let mut n_cut_off = 0;
    for &Extension { beam: index, id, log_likelihood } in extensions {
        if next.len() + n_cut_off == n_beams {
            break;
        }
        let beam = &beams[index];
        let mut constraint = beam.constraint.clone();
        let tokens: Vec<TokenId> = beam.tokens.iter().copied().chain([id]).collect();
        let step = driver.accept(&mut constraint, id, tokens.len())?;
        let explored = driver.explore(beam.explored, id, log_likelihood, step);
        match step {
            Step::Ended(reason) => {
                n_cut_off += usize::from(!reason.is_complete());
                finished.push(driver.hypothesis(tokens, reason, log_likelihood));
            }
            Step::Open => {
                // The first goes on in the beam's own sequence, which nobody else needs then.
                let is_first = !std::mem::replace(&mut is_continued[index], true);
                let sequence = if is_first { beam.sequence } else { driver.fork(beam.sequence)? };
                next.push(Beam { constraint, sequence, tokens, pending: vec![id], log_likelihood, explored });
            }
        }
    }
    for (beam, _) in beams.iter().zip(is_continued).filter(|(_, is_continued)| !is_continued) {
        driver.release(beam.sequence);
    }
    Ok(next)
}
