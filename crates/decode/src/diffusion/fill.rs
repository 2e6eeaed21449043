//! The loop of masked diffusion: the model looks at a canvas, the positions it is surest of are filled, and
//! again.
//!
//! A step costs one forward pass for all canvases of the batch, and for each canvas a few questions. A pick
//! is drawn from the model's logits, and the constraint is asked whether this token may stand there. If not,
//! it is asked about the model's most likely tokens, in order. If none of them may, one is drawn from the
//! mask of the position. And if the mask has none that the model could draw, the position gets the token of a
//! text that is known to fill the canvas. So a canvas that is possible at first always ends as a text of the
//! language.
//!
//! Rejected: confidence by the probability among allowed tokens. A position where the model believes in
//! nothing that is allowed would come first, since among two tokens it finds impossible one has half the
//! probability. And a mask for each refused pick: it answers the question for every token of the vocabulary,
//! where one is wanted.

use std::ops::ControlFlow;
use std::time::Instant;

use maskwright_infill::Verdict;

use maskwright_vocabulary::TokenId;

use super::constraint::CanvasConstraint;
use super::model::DiffusionModel;
use super::statistics::{CanvasStatistics, FillEvent};
use crate::error::{DecodeError, Kind};
use crate::mask::{apply_mask, mask_len};
use crate::model::Logits;
use crate::sampler::{Sampler, SamplerConfig};

/// After how many questions about a position that are left open no more are asked about it.
const MAX_OPEN: usize = 2;

/// How [`fill_canvases`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::{FillConfig, SamplerConfig};
/// let config = FillConfig { tokens_per_step: 4, sampler: SamplerConfig::greedy(), ..Default::default() };
/// assert_eq!(config.n_revisions, 0);
/// ```
#[derive(Clone, Debug)]
pub struct FillConfig {
    /// How many positions of a canvas are filled after each look of the model; at least 1.
    pub tokens_per_step: usize,
    /// How tokens are drawn. Each canvas has draws of its own, from `seed` and its place in the batch.
    pub sampler: SamplerConfig,
    /// How often a full canvas is revised: its least sure tokens are masked again and filled anew, with all
    /// the others in view.
    pub n_revisions: usize,
    /// The share, from 0 to 1, of a canvas's filled tokens that a revision masks again.
    pub revised_share: f32,
    /// About how many of the model's most likely tokens the constraint is asked where it refuses the one that
    /// was drawn, before a mask is computed.
    pub n_alternatives: usize,
    /// Whether the exact mask of every masked position is computed at every step before one is chosen.
    /// Otherwise the constraint is asked about a token when its position is to be filled.
    pub all_masks: bool,
}

impl Default for FillConfig {
    /// One token a step, sampled at temperature 1, eight alternatives, no revision.
    fn default() -> Self {
        FillConfig {
            tokens_per_step: 1,
            sampler: SamplerConfig::default(),
            n_revisions: 0,
            revised_share: 0.25,
            n_alternatives: 8,
            all_masks: false,
        }
    }
}

/// A canvas to be filled.
pub struct CanvasTask<'a> {
    /// What the model sees in front of the canvas. Not part of the text that is held to a language.
    pub prompt: &'a [TokenId],
    /// The canvas; `None` is a masked position.
    pub positions: Vec<Option<TokenId>>,
    /// What it is held to, with the same positions; `None` for anything.
    pub constraint: Option<&'a mut dyn CanvasConstraint>,
}

/// A canvas as it was left.
#[derive(Debug)]
pub struct FilledCanvas {
    /// The tokens; `None` only where the loop was cancelled, or the canvas failed.
    pub positions: Vec<Option<TokenId>>,
    /// Why the canvas was not filled, if it failed. The others of its batch are still filled.
    pub error: Option<DecodeError>,
    /// What it took.
    pub statistics: CanvasStatistics,
}

impl FilledCanvas {
    /// The tokens in front of the first of `eos_ids`, if they are all known.
    #[must_use]
    pub fn text(&self, eos_ids: &[TokenId]) -> Option<Vec<TokenId>> {
        let is_text = |position: &&Option<TokenId>| position.is_none_or(|id| !eos_ids.contains(&id));
        self.positions.iter().take_while(is_text).copied().collect()
    }
}

/// Fills canvases together, the surest positions first. `on_event` is told of every token as it is put or
/// taken back; `Break` ends the loop, and what is not filled then stays masked.
///
/// Theorem. If the constraint keeps its contract, a canvas that is possible at first is filled with a text of
/// the constraint's language after at most (positions + revised positions) steps: a masked position can
/// always be set to the witness's token.
///
/// A canvas that is impossible from the start, or whose constraint fails, has an
/// [`error`](FilledCanvas::error).
///
/// # Errors
/// If a prompt and its canvas do not fit into the model, a setting is out of range, or the model fails.
pub fn fill_canvases(
    model: &mut dyn DiffusionModel,
    tasks: Vec<CanvasTask<'_>>,
    config: &FillConfig,
    on_event: &mut dyn FnMut(&FillEvent) -> ControlFlow<()>,
) -> Result<Vec<FilledCanvas>, DecodeError> {
    config.check()?;
    let mut fills = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.into_iter().enumerate() {
        fills.push(Fill::new(index, task, model, config)?);
    }
    'steps: loop {
        let open: Vec<usize> = (0..fills.len()).filter(|&index| fills[index].is_open()).collect();
        if open.is_empty() {
            break;
        }
        let clock = Instant::now();
        let canvases: Vec<Vec<TokenId>> =
            open.iter().map(|&index| fills[index].tokens(model.mask_id())).collect();
        let canvases: Vec<&[TokenId]> = canvases.iter().map(Vec::as_slice).collect();
        let logits = model.forward(&canvases)?;
        let elapsed = clock.elapsed() / open.len() as u32;
        if logits.len() != open.len() {
            return Err(Kind::RowsMissing { given: logits.len(), wanted: open.len() }.into());
        }
        for (&index, logits) in open.iter().zip(&logits) {
            let fill = &mut fills[index];
            let wanted = fill.prompt.len() + fill.positions.len();
            if logits.n_rows() != wanted {
                return Err(Kind::RowsMissing { given: logits.n_rows(), wanted }.into());
            }
            fill.statistics.n_steps += 1;
            fill.statistics.forward += elapsed;
            match fill.step(logits, on_event) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break 'steps,
                Err(error) => fill.error = Some(error),
            }
        }
    }
    Ok(fills
        .into_iter()
        .map(|Fill { positions, error, statistics, .. }| FilledCanvas { positions, error, statistics })
        .collect())
}

impl FillConfig {
    pub(crate) fn check(&self) -> Result<(), DecodeError> {
        let bad = |name, given, allowed| Err(DecodeError::from(Kind::BadSetting { name, given, allowed }));
        if self.tokens_per_step == 0 {
            return bad("tokens_per_step", 0.0, "at least 1");
        }
        if !(0.0..=1.0).contains(&self.revised_share) {
            return bad("revised_share", self.revised_share, "from 0 to 1");
        }
        Ok(())
    }
}

/// One canvas of a batch.
struct Fill<'a, 'c> {
    index: usize,
    prompt: &'a [TokenId],
    positions: Vec<Option<TokenId>>,
    constraint: Option<&'a mut dyn CanvasConstraint>,
    config: &'c FillConfig,
    sampler: Sampler,
    mask_id: TokenId,
    /// How sure the model was of what the loop put there.
    confidences: Vec<Option<f64>>,
    n_revisions_left: usize,
    mask: Vec<u32>,
    error: Option<DecodeError>,
    statistics: CanvasStatistics,
}

/// What a position would be filled with.
#[derive(Clone, Copy, Debug)]
struct Pick {
    position: usize,
    id: TokenId,
    /// The probability that the model gives to the token, at temperature 1, among all tokens.
    confidence: f64,
    /// Whether the constraint has allowed it, as it was in this step.
    is_checked: bool,
}

impl<'a, 'c> Fill<'a, 'c> {
    fn new(
        index: usize,
        task: CanvasTask<'a>,
        model: &dyn DiffusionModel,
        config: &'c FillConfig,
    ) -> Result<Self, DecodeError> {
        let CanvasTask { prompt, positions, mut constraint } = task;
        let (given, allowed) = (prompt.len() + positions.len(), model.max_positions());
        if given > allowed {
            return Err(Kind::PromptTooLong { given, allowed }.into());
        }
        let clock = Instant::now();
        let error = match constraint.as_mut().map_or(Ok(true), |constraint| constraint.is_possible()) {
            Ok(true) => None,
            Ok(false) => Some(Kind::ImpossibleCanvas { index }.into()),
            Err(error) => Some(error.into()),
        };
        let statistics = CanvasStatistics { constraint: clock.elapsed(), ..CanvasStatistics::default() };
        let seed = config.sampler.seed.wrapping_add(index as u64);
        Ok(Fill {
            index,
            prompt,
            confidences: vec![None; positions.len()],
            positions,
            constraint,
            config,
            sampler: Sampler::new(SamplerConfig { seed, ..config.sampler })?,
            mask_id: model.mask_id(),
            n_revisions_left: config.n_revisions,
            mask: vec![0; mask_len(model.n_vocab())],
            error,
            statistics,
        })
    }

    /// Whether something is to be filled.
    fn is_open(&self) -> bool {
        self.error.is_none() && self.positions.contains(&None)
    }

    /// What the model reads.
    fn tokens(&self, mask_id: TokenId) -> Vec<TokenId> {
        let positions = self.positions.iter().map(|position| position.unwrap_or(mask_id));
        self.prompt.iter().copied().chain(positions).collect()
    }

    /// Fills the positions that the model is surest of.
    fn step(
        &mut self,
        logits: &Logits,
        on_event: &mut dyn FnMut(&FillEvent) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, DecodeError> {
        let mut picks = Vec::new();
        for position in 0..self.positions.len() {
            if self.positions[position].is_none() {
                picks.push(self.pick(logits, position)?);
            }
        }
        for _ in 0..self.config.tokens_per_step.min(picks.len()) {
            let mut pick = self.surest(logits, &mut picks)?;
            if !self.put(pick)? {
                // The mask is sure that a text has the token, and the search for one has reached its limit.
                pick = self.given_pick(logits, pick.position)?;
                let Pick { position, id, .. } = pick;
                if !self.put(pick)? {
                    return Err(Kind::RefusedAtPosition { index: self.index, position, id }.into());
                }
            }
            // What is put changes what is allowed elsewhere.
            picks.iter_mut().for_each(|other| other.is_checked = self.constraint.is_none());
            let Pick { position, id, confidence, .. } = pick;
            if on_event(&FillEvent { canvas: self.index, position, id: Some(id), confidence }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if !self.is_open() && self.n_revisions_left > 0 {
            self.n_revisions_left -= 1;
            return self.revise(on_event);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What the model would put at a position: what is allowed where all masks are wanted, else whatever it
    /// likes.
    fn pick(&mut self, logits: &Logits, position: usize) -> Result<Pick, DecodeError> {
        if self.config.all_masks && self.constraint.is_some() {
            return self.masked_pick(logits, position);
        }
        let clock = Instant::now();
        let mut row = self.row(logits, position).to_vec();
        if let Some(logit) = row.get_mut(self.mask_id.index()) {
            *logit = f32::NEG_INFINITY;
        }
        let id = match self.sampler.sample(&row) {
            Some(id) => id,
            // Any token is as good.
            None if self.constraint.is_some() => return self.given_pick(logits, position),
            None => {
                let n_allowed = row.len();
                return Err(Kind::NoLogitForPosition { index: self.index, position, n_allowed }.into());
            }
        };
        let confidence = probability(self.row(logits, position), id);
        self.statistics.sample += clock.elapsed();
        Ok(Pick { position, id, confidence, is_checked: self.constraint.is_none() })
    }

    /// The pick, if the constraint allows it; else another one for its position that it allows.
    fn checked(&mut self, logits: &Logits, pick: Pick) -> Result<Pick, DecodeError> {
        let verdict = self.ask(pick.position, pick.id)?;
        if verdict == Verdict::Yes {
            return Ok(Pick { is_checked: true, ..pick });
        }
        self.statistics.n_refused += 1;
        if verdict == Verdict::Open {
            self.statistics.open_probability += pick.confidence;
        }
        let row = self.row(logits, pick.position);
        let mut likely: Vec<TokenId> = (0..row.len() as u32)
            .map(TokenId)
            .filter(|&id| row[id.index()].is_finite() && ![pick.id, self.mask_id].contains(&id))
            .collect();
        let order = |left: &TokenId, right: &TokenId| row[right.index()].total_cmp(&row[left.index()]);
        let n_alternatives = self.config.n_alternatives.min(likely.len());
        if n_alternatives < likely.len() {
            likely.select_nth_unstable_by(n_alternatives, order);
            likely.truncate(n_alternatives);
        }
        likely.sort_unstable_by(order);
        let mut n_open = usize::from(verdict == Verdict::Open);
        for id in likely {
            let verdict = self.ask(pick.position, id)?;
            n_open += usize::from(verdict == Verdict::Open);
            if n_open >= MAX_OPEN {
                break;
            }
            if verdict == Verdict::Yes {
                let confidence = probability(self.row(logits, pick.position), id);
                return Ok(Pick { id, confidence, is_checked: true, ..pick });
            }
        }
        self.masked_pick(logits, pick.position)
    }

    /// What the model would put at a position of what its mask allows there; if that is nothing, the token of
    /// a text that is known to fit.
    fn masked_pick(&mut self, logits: &Logits, position: usize) -> Result<Pick, DecodeError> {
        self.fill_mask(position)?;
        let clock = Instant::now();
        let row = self.row(logits, position);
        let mut masked = row.to_vec();
        apply_mask(&mut masked, &self.mask);
        let drawn = self.sampler.sample(&masked);
        let confidence = drawn.map_or(0.0, |id| probability(row, id));
        self.statistics.sample += clock.elapsed();
        match drawn {
            Some(id) => Ok(Pick { position, id, confidence, is_checked: true }),
            None => self.given_pick(logits, position),
        }
    }

    /// The token of a text that is known to fill the canvas.
    fn given_pick(&mut self, logits: &Logits, position: usize) -> Result<Pick, DecodeError> {
        let witness = match &mut self.constraint {
            Some(constraint) => constraint.witness()?,
            None => None,
        };
        let given = witness.and_then(|witness| witness.get(position).copied());
        let id = given.ok_or(Kind::ImpossibleCanvas { index: self.index })?;
        self.statistics.n_given += 1;
        Ok(Pick { position, id, confidence: probability(self.row(logits, position), id), is_checked: true })
    }

    /// Whether the constraint allows a token at a position.
    fn ask(&mut self, position: usize, id: TokenId) -> Result<Verdict, DecodeError> {
        let Some(constraint) = &mut self.constraint else { return Ok(Verdict::Yes) };
        let clock = Instant::now();
        let verdict = constraint.allows(position, &[id])?.first().copied().unwrap_or(Verdict::Open);
        let elapsed = clock.elapsed();
        self.statistics.n_questions += 1;
        self.statistics.n_open += usize::from(verdict == Verdict::Open);
        self.statistics.constraint += elapsed;
        self.statistics.slowest_mask = self.statistics.slowest_mask.max(elapsed);
        Ok(verdict)
    }

    fn row<'l>(&self, logits: &'l Logits, position: usize) -> &'l [f32] {
        logits.row(self.prompt.len() + position)
    }

    /// Writes the mask of a position to `self.mask`.
    fn fill_mask(&mut self, position: usize) -> Result<(), DecodeError> {
        if let Some(constraint) = &mut self.constraint {
            let clock = Instant::now();
            constraint.fill_mask(position, &mut self.mask, self.config.all_masks)?;
            let elapsed = clock.elapsed();
            self.statistics.n_masks += 1;
            self.statistics.constraint += elapsed;
            self.statistics.slowest_mask = self.statistics.slowest_mask.max(elapsed);
        }
        Ok(())
    }

    /// Takes the surest pick out of `picks`. Each is checked when it comes to the front; one that is refused
    /// becomes another one and goes back to its place.
    fn surest(&mut self, logits: &Logits, picks: &mut Vec<Pick>) -> Result<Pick, DecodeError> {
        loop {
            let place = surest_place(picks);
            let pick = picks[place];
            if pick.is_checked {
                picks.swap_remove(place);
                return Ok(pick);
            }
            picks[place] = self.checked(logits, pick)?;
        }
    }

    /// Fills a position; false if the constraint refuses that.
    fn put(&mut self, pick: Pick) -> Result<bool, DecodeError> {
        let Pick { position, id, confidence, .. } = pick;
        if let Some(constraint) = &mut self.constraint {
            let clock = Instant::now();
            let is_put = constraint.set(position, id)?;
            self.statistics.constraint += clock.elapsed();
            if !is_put {
                return Ok(false);
            }
        }
        self.positions[position] = Some(id);
        self.confidences[position] = Some(confidence);
        self.statistics.n_filled += 1;
        Ok(true)
    }

    /// Masks the least sure of the tokens that the loop has put.
    fn revise(
        &mut self,
        on_event: &mut dyn FnMut(&FillEvent) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, DecodeError> {
        let filled = self.confidences.iter().enumerate();
        let mut filled: Vec<(f64, usize)> =
            filled.filter_map(|(position, &confidence)| Some((confidence?, position))).collect();
        filled.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        let n_revised = (filled.len() as f32 * self.config.revised_share).round() as usize;
        for &(confidence, position) in &filled[..n_revised.min(filled.len())] {
            if let Some(constraint) = &mut self.constraint {
                constraint.unset(position)?;
            }
            self.positions[position] = None;
            self.confidences[position] = None;
            self.statistics.n_revised += 1;
            if on_event(&FillEvent { canvas: self.index, position, id: None, confidence }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The place in `picks`, which is not empty, of the greatest confidence; of equals, that of the first
/// position.
fn surest_place(picks: &[Pick]) -> usize {
    let order = |left: &Pick, right: &Pick| {
        left.confidence.total_cmp(&right.confidence).then(right.position.cmp(&left.position))
    };
    let surest = picks.iter().enumerate().max_by(|left, right| order(left.1, right.1));
    surest.map_or(0, |(place, _)| place)
}

/// The probability of `id`, softmax(row) at it; 0 where no logit is finite. Plus infinity counts as the
/// largest finite number.
pub(crate) fn probability(row: &[f32], id: TokenId) -> f64 {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max).min(f32::MAX);
    if largest == f32::NEG_INFINITY {
        return 0.0;
    }
    let weight = |logit: f32| {
        if logit.is_nan() { 0.0 } else { f64::from(logit.min(f32::MAX) - largest).exp() }
    };
    let total: f64 = row.iter().map(|&logit| weight(logit)).sum();
    row.get(id.index()).map_or(0.0, |&logit| weight(logit)) / total
}
