//! The baseline: the model proposes a token for a position, a check says whether the text so far can be completed,
//! and the proposal is kept or rejected.
//!
//! This is the loop of the paper on constrained decoding of diffusion models with context-free grammars
//! (papers/3, section 5 for its limits). Its check takes every run of masked positions for *any* text, so it does not
//! see how many tokens are left: a canvas may pass it at every step and still run out of room. Where that happens the
//! loop rejects proposal after proposal until its limit, and the text is completed by an example word instead. One
//! check is made for each proposal, none for a whole vocabulary.
//!
//! The paper's text leaves open whether its hundred rejections are counted for a token or for the whole text; here they
//! are those of the whole canvas, as its words are.

use std::time::Instant;

use maskwright_infill::{Hole, Infiller, Part, Template};
use maskwright_vocabulary::TokenId;

use super::fill::probability;
use super::model::DiffusionModel;
use super::statistics::CanvasStatistics;
use crate::constraint::ConstraintError;
use crate::error::{DecodeError, Kind};
use crate::sampler::{Sampler, SamplerConfig};

/// A check of partial canvases that takes a run of masked positions for any text.
///
/// # Examples
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_decode::PartialCheck;
/// use maskwright_grammar::Grammar;
/// use maskwright_infill::Infiller;
/// use maskwright_vocabulary::Vocabulary;
/// let tokens = ["a", "b"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap().shared();
/// let grammar = Grammar::from_regex(Regex::literal("abb"));
/// let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited()).unwrap();
/// let check = PartialCheck::new(&infiller, None);
/// assert!(check.is_completable(&[Some(0), None]).unwrap(), "though `bb` is no single token");
/// assert!(!check.is_completable(&[Some(0), Some(0), None]).unwrap());
/// assert_eq!(check.example(&[Some(0), None]).unwrap().unwrap(), b"abb");
/// ```
#[derive(Clone, Debug)]
pub struct PartialCheck {
    infiller: Infiller,
    padding: Option<u32>,
}

impl PartialCheck {
    /// A check by a grammar. `padding` is the token behind EOS, where that is another than EOS.
    #[must_use]
    pub fn new(infiller: &Infiller, padding: Option<u32>) -> Self {
        PartialCheck { infiller: infiller.clone(), padding }
    }

    /// Whether some text of the language has the known tokens in this order, with any text for each run of masked
    /// positions and nothing behind an EOS but EOS and padding.
    ///
    /// # Errors
    /// If it cannot be decided within limits.
    pub fn is_completable(&self, positions: &[Option<u32>]) -> Result<bool, ConstraintError> {
        match self.template(positions)? {
            Some(mut template) => template.is_possible().map_err(ConstraintError::new),
            None => Ok(false),
        }
    }

    /// A text of the language that has the known tokens in this order; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be found within limits.
    pub fn example(&self, positions: &[Option<u32>]) -> Result<Option<Vec<u8>>, ConstraintError> {
        match self.template(positions)? {
            Some(mut template) => template.complete().map_err(ConstraintError::new),
            None => Ok(None),
        }
    }

    /// The known text in front of the first EOS and the holes between; `None` if no text can look like this.
    fn template(&self, positions: &[Option<u32>]) -> Result<Option<Template>, ConstraintError> {
        let vocabulary = self.infiller.vocabulary();
        let ends = |id: u32| vocabulary.is_eos(TokenId(id)) || self.padding == Some(id);
        let end = positions.iter().position(|position| position.is_some_and(ends)).unwrap_or(positions.len());
        if positions[end..].iter().flatten().any(|&id| !ends(id)) {
            return Ok(None);
        }
        let mut parts: Vec<Part> = Vec::new();
        for position in &positions[..end] {
            let Some(id) = *position else {
                if parts.last() != Some(&Part::Hole(Hole::Any)) {
                    parts.push(Part::Hole(Hole::Any));
                }
                continue;
            };
            let Some(bytes) = vocabulary.token_bytes(TokenId(id)) else { return Ok(None) };
            match parts.last_mut() {
                Some(Part::Text(text)) => text.extend_from_slice(bytes),
                _ => parts.push(Part::Text(bytes.to_vec())),
            }
        }
        Template::new(&self.infiller, parts).map(Some).map_err(ConstraintError::new)
    }
}

/// How [`propose_and_check`] runs.
///
/// # Examples
/// ```
/// assert_eq!(maskwright_decode::RejectConfig::default().max_rejections, 100);
/// ```
#[derive(Clone, Debug)]
pub struct RejectConfig {
    /// How tokens are drawn.
    pub sampler: SamplerConfig,
    /// The most proposals that are rejected before the loop gives up.
    pub max_rejections: usize,
}

impl Default for RejectConfig {
    /// Sampled at temperature 1; the paper's hundred rejections.
    fn default() -> Self {
        RejectConfig { sampler: SamplerConfig::default(), max_rejections: 100 }
    }
}

/// How a canvas was finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckedOutcome {
    /// By the model's own tokens.
    Filled,
    /// The loop gave up; the text is an example word.
    Completed,
    /// The loop gave up, and there was no example word either.
    Aborted,
}

/// A canvas as [`propose_and_check`] has left it.
#[derive(Clone, Debug)]
pub struct CheckedCanvas {
    /// The tokens that were kept.
    pub positions: Vec<Option<u32>>,
    /// How it ended.
    pub outcome: CheckedOutcome,
    /// The text; `None` if aborted.
    pub text: Option<Vec<u8>>,
    /// What it took; a check counts as a mask.
    pub statistics: CanvasStatistics,
}

/// Fills one canvas by proposals: the surest token of the surest position is kept iff `check` finds the canvas
/// completable with it, else the next proposal is made. The tokens in front of the canvas are `prompt`.
///
/// # Errors
/// If prompt and canvas do not fit into the model, a setting is out of range, or the model or the check fails.
pub fn propose_and_check(
    model: &mut dyn DiffusionModel,
    prompt: &[u32],
    positions: &[Option<u32>],
    check: &PartialCheck,
    config: &RejectConfig,
) -> Result<CheckedCanvas, DecodeError> {
    let (given, allowed) = (prompt.len() + positions.len(), model.max_positions());
    if given > allowed {
        return Err(Kind::PromptTooLong { given, allowed }.into());
    }
    let mut loops = Proposals {
        check,
        sampler: Sampler::new(config.sampler)?,
        positions: positions.to_vec(),
        n_rejections_left: config.max_rejections,
        statistics: CanvasStatistics::default(),
    };
    while loops.positions.contains(&None) {
        if !loops.step(model, prompt)? {
            let text = check.example(&loops.positions)?;
            let outcome = if text.is_some() { CheckedOutcome::Completed } else { CheckedOutcome::Aborted };
            let Proposals { positions, statistics, .. } = loops;
            return Ok(CheckedCanvas { positions, outcome, text, statistics });
        }
    }
    let text = check.example(&loops.positions)?;
    let Proposals { positions, statistics, .. } = loops;
    Ok(CheckedCanvas { positions, outcome: CheckedOutcome::Filled, text, statistics })
}

/// The state of one call of [`propose_and_check`].
struct Proposals<'a> {
    check: &'a PartialCheck,
    sampler: Sampler,
    positions: Vec<Option<u32>>,
    n_rejections_left: usize,
    statistics: CanvasStatistics,
}

impl Proposals<'_> {
    /// One look of the model, and proposals until one is kept; false if there were too many.
    fn step(&mut self, model: &mut dyn DiffusionModel, prompt: &[u32]) -> Result<bool, DecodeError> {
        let mask_id = model.mask_id();
        let known = self.positions.iter().map(|position| position.unwrap_or(mask_id));
        let canvas: Vec<u32> = prompt.iter().copied().chain(known).collect();
        let clock = Instant::now();
        let logits = model.forward(&[&canvas])?;
        self.statistics.forward += clock.elapsed();
        self.statistics.n_steps += 1;
        let logits = logits.first().filter(|logits| logits.n_rows() == canvas.len());
        let logits = logits.ok_or(Kind::RowsMissing { given: 0, wanted: canvas.len() })?;
        let mut proposals: Vec<Proposal> = Vec::new();
        for position in 0..self.positions.len() {
            if self.positions[position].is_some() {
                continue;
            }
            let mut row = logits.row(prompt.len() + position).to_vec();
            if let Some(logit) = row.get_mut(mask_id as usize) {
                *logit = f32::NEG_INFINITY;
            }
            proposals.extend(self.propose(position, row));
        }
        loop {
            let surest = proposals.iter().enumerate().max_by(|(_, left), (_, right)| {
                left.confidence.total_cmp(&right.confidence).then(right.position.cmp(&left.position))
            });
            let Some((place, &Proposal { position, id, .. })) = surest else { return Ok(false) };
            self.positions[position] = Some(id);
            let clock = Instant::now();
            let is_kept = self.check.is_completable(&self.positions)?;
            let elapsed = clock.elapsed();
            self.statistics.n_masks += 1;
            self.statistics.constraint += elapsed;
            self.statistics.slowest_mask = self.statistics.slowest_mask.max(elapsed);
            if is_kept {
                self.statistics.n_filled += 1;
                return Ok(true);
            }
            self.positions[position] = None;
            self.statistics.n_refused += 1;
            if self.n_rejections_left <= 1 {
                return Ok(false);
            }
            self.n_rejections_left -= 1;
            let Proposal { mut row, .. } = proposals.swap_remove(place);
            row[id as usize] = f32::NEG_INFINITY;
            proposals.extend(self.propose(position, row));
        }
    }

    /// What the model would put at a position; `None` if it has nothing left to propose there.
    fn propose(&mut self, position: usize, row: Vec<f32>) -> Option<Proposal> {
        let clock = Instant::now();
        let id = self.sampler.sample(&row)?;
        let confidence = probability(&row, id);
        self.statistics.sample += clock.elapsed();
        Some(Proposal { position, id, confidence, row })
    }
}

/// A token for a position, and the logits there without what was rejected.
struct Proposal {
    position: usize,
    id: u32,
    confidence: f64,
    row: Vec<f32>,
}
