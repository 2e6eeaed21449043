//! A canvas is filled to the end: with its true tokens, or with what a model draws.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use maskwright::infill::{CanvasConfig, CanvasStatus, Infiller, Verdict};
use maskwright::{Canvas, Error, Mask, MaskStatus, TokenId};
use maskwright_decode::{
    CanvasConstraint, CanvasTask, ConstraintError, DecodeError, DiffusionModel, FillConfig, GrammarCanvas,
    Logits, ModelError, SamplerConfig, fill_canvases,
};
use serde::{Deserialize, Serialize};

use crate::numbers::Numbers;

/// A question that takes longer is listed by its place.
const SLOW_MS: f64 = 200.0;

/// How many tokens are drawn from one look of the model, which does not see what is on the canvas.
const TOKENS_PER_STEP: usize = 16;

/// What it took to fill a canvas.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
pub(super) struct Filling {
    pub(super) construction_ms: f64,
    pub(super) n_put: usize,
    pub(super) asked: Asked,
    /// Of true tokens: the questions after another token was put.
    #[serde(default)]
    pub(super) astray: Asked,
    /// What it took to put each true token.
    #[serde(default)]
    pub(super) puts_ms: Vec<f64>,
    pub(super) masks_ms: Vec<f64>,
    /// Masks without a token, though each position has one in the witness.
    #[serde(default)]
    pub(super) n_empty_masks: usize,
    /// What it took to ask about tokens and to put them. Where tokens are drawn, with masks; not with the
    /// construction.
    pub(super) constraint_ms: f64,
    #[serde(default)]
    pub(super) drawn: Drawn,
    pub(super) seconds: f64,
    /// Why it has ended before its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<Stop>,
}

/// Questions about one token, by their answer.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) yes_ms: Vec<f64>,
    pub(super) no_ms: Vec<f64>,
    pub(super) open_ms: Vec<f64>,
    /// The slow ones, and those that are left open.
    pub(super) listed: Vec<Listed>,
}

/// A question, described.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
pub(super) struct Listed {
    pub(super) position: usize,
    pub(super) token: u32,
    /// How many tokens were put before.
    pub(super) n_put: usize,
    pub(super) answer: String,
    pub(super) ms: f64,
}

/// What became of the tokens that the model has drawn.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
pub(super) struct Drawn {
    /// Draws that were not taken.
    pub(super) n_refused: usize,
    /// The sum of the probabilities of draws that were left open.
    pub(super) open_probability: f64,
    /// Positions that got the token of the witness.
    pub(super) n_given: usize,
}

/// What has ended the filling of a canvas before its end.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stop {
    /// The canvas was not shown to be possible, nor impossible.
    Open,
    /// The time is over.
    Unfinished(String),
    /// A claim is broken.
    Wrong(String),
}

impl Filling {
    pub(super) fn is_open(&self) -> bool {
        self.stop == Some(Stop::Open)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Wrong(format!("an error: {error}"))
    }
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Stop {
        Stop::Wrong(format!("an error of the loop: {error}"))
    }
}

impl Asked {
    pub(super) fn note(
        &mut self,
        (position, token): (usize, TokenId),
        n_put: usize,
        verdict: Verdict,
        ms: f64,
    ) {
        let (times, answer) = match verdict {
            Verdict::Yes => (&mut self.yes_ms, "yes"),
            Verdict::No => (&mut self.no_ms, "no"),
            Verdict::Open => (&mut self.open_ms, "open"),
        };
        times.push(ms);
        if ms > SLOW_MS || verdict == Verdict::Open {
            self.listed.push(Listed { position, token: token.0, n_put, answer: answer.to_owned(), ms });
        }
    }

    pub(super) fn all_ms(&self) -> impl Iterator<Item = f64> + '_ {
        [&self.yes_ms, &self.no_ms, &self.open_ms].into_iter().flatten().copied()
    }
}

/// What a canvas is, and how long it may take.
pub(super) struct Task<'a> {
    pub(super) infiller: &'a Infiller,
    pub(super) positions: &'a [Option<TokenId>],
    pub(super) seconds: f64,
    pub(super) numbers: Numbers,
}

/// Fills the canvas with `tokens`, those of a text that fills it, in a random order. Where it is not found
/// out whether one can be put, the position gets the token of the witness, and what is asked later is about
/// another text. `n_masks` masks are looked at on the way. The tokens of the canvas, if it is full.
pub(super) fn with_true_tokens(
    mut task: Task<'_>,
    tokens: &[TokenId],
    n_masks: usize,
) -> (Filling, Option<Vec<TokenId>>) {
    let mut filling = Filling::default();
    let start = Instant::now();
    let filled = put_true_tokens(&mut task, tokens, n_masks, &mut filling);
    filling.seconds = start.elapsed().as_secs_f64();
    let filled = filled.map_err(|stop| filling.stop = Some(stop)).ok();
    (filling, filled)
}

fn put_true_tokens(
    task: &mut Task<'_>,
    tokens: &[TokenId],
    n_masks: usize,
    filling: &mut Filling,
) -> Result<Vec<TokenId>, Stop> {
    let start = Instant::now();
    let mut canvas = construct(task, filling)?;
    let numbers = &mut task.numbers;
    let mut masked: Vec<usize> = (0..tokens.len()).filter(|&at| task.positions[at].is_none()).collect();
    for index in (1..masked.len()).rev() {
        masked.swap(index, numbers.below(index + 1));
    }
    let looked_at: Vec<usize> = (0..n_masks).map(|_| numbers.below(masked.len().max(1))).collect();
    let mut is_astray = false;
    for (n_put, &at) in masked.iter().enumerate() {
        if start.elapsed().as_secs_f64() > task.seconds {
            return Err(Stop::Unfinished(format!("{n_put} of {} tokens are put", masked.len())));
        }
        let token = tokens[at];
        let clock = Clock::start();
        let verdict = canvas.allows(at, &[token])?[0];
        let asked_ms = clock.ms();
        let asked = if is_astray { &mut filling.astray } else { &mut filling.asked };
        asked.note((at, token), n_put, verdict, asked_ms);
        for _ in looked_at.iter().filter(|&&index| index == n_put) {
            let mask = Mask::new(task.infiller.vocabulary().n_vocab());
            let (elapsed, is_empty) = look_at_mask(&mut canvas, mask, (at, token, verdict), numbers)?;
            filling.masks_ms.push(elapsed);
            filling.n_empty_masks += usize::from(is_empty);
        }
        let put = match verdict {
            Verdict::Yes => token,
            Verdict::No if !is_astray => {
                return Err(Stop::Wrong(format!("true token {at} is refused, {n_put} are put")));
            }
            Verdict::No | Verdict::Open => {
                let witness = canvas.complete()?;
                let given = witness.and_then(|witness| witness.get(at).copied());
                given.ok_or_else(|| Stop::Wrong(format!("there is no witness with {n_put} tokens put")))?
            }
        };
        is_astray |= put != token;
        let clock = Clock::start();
        let is_set = canvas.set(at, put)?;
        if put == token && !is_astray {
            filling.puts_ms.push(clock.ms());
        }
        filling.constraint_ms += asked_ms + clock.ms();
        if !is_set {
            return Err(Stop::Wrong(format!(
                "{verdict:?} for position {at}, but token {} cannot be set",
                put.0
            )));
        }
        filling.n_put += 1;
    }
    Ok(canvas.positions().iter().flatten().copied().collect())
}

/// A canvas, which must be known to be possible.
fn construct(task: &Task<'_>, filling: &mut Filling) -> Result<Canvas, Stop> {
    let clock = Clock::start();
    let mut canvas = Canvas::new(task.infiller, task.positions, CanvasConfig::default())?;
    let status = canvas.status()?;
    filling.construction_ms = clock.ms();
    match status {
        CanvasStatus::Possible => Ok(canvas),
        CanvasStatus::Impossible => Err(Stop::Wrong("impossible at construction".to_owned())),
        CanvasStatus::Open => Err(Stop::Open),
    }
}

/// Computes a mask and holds it against the answer about one token, and against a question about one of its
/// own. The milliseconds, and whether the mask is empty.
fn look_at_mask(
    canvas: &mut Canvas,
    mut mask: Mask,
    (at, token, verdict): (usize, TokenId, Verdict),
    numbers: &mut Numbers,
) -> Result<(f64, bool), Stop> {
    let clock = Clock::start();
    let status = canvas.fill_mask(at, mask.words_mut(), false)?;
    let elapsed = clock.ms();
    let has_token = mask.contains(token);
    let is_wrong = match verdict {
        Verdict::Yes => !has_token && status == MaskStatus::Exact,
        Verdict::No => has_token,
        Verdict::Open => false,
    };
    if is_wrong {
        return Err(Stop::Wrong(format!(
            "{verdict:?} for position {at}, in the mask: {has_token}, {status:?}"
        )));
    }
    let n_tokens = mask.len();
    let of_mask = (n_tokens > 0).then(|| mask.iter().nth(numbers.below(n_tokens))).flatten();
    if let Some(other) = of_mask
        && canvas.allows(at, &[other])?[0] == Verdict::No
    {
        return Err(Stop::Wrong(format!("position {at} has {} in its mask, and no for it", other.0)));
    }
    Ok((elapsed, n_tokens == 0))
}

/// Fills the canvas with tokens drawn from a model to which all are equally likely, at all positions in a
/// random order. The tokens of the canvas, if it is full.
pub(super) fn with_draws(mut task: Task<'_>, n_alternatives: usize) -> (Filling, Option<Vec<TokenId>>) {
    let mut filling = Filling::default();
    let start = Instant::now();
    let filled = draw(&mut task, n_alternatives, &mut filling);
    filling.seconds = start.elapsed().as_secs_f64();
    let filled = filled.map_err(|stop| filling.stop = Some(stop)).ok();
    (filling, filled)
}

fn draw(task: &mut Task<'_>, n_alternatives: usize, filling: &mut Filling) -> Result<Vec<TokenId>, Stop> {
    let start = Instant::now();
    let canvas = construct(task, filling)?;
    let seed = task.numbers.below(1 << 40) as u64;
    let n_vocab = task.infiller.vocabulary().n_vocab();
    let mut model = UniformModel::new(n_vocab, task.positions.len(), &mut task.numbers);
    let sampler = SamplerConfig { seed, ..SamplerConfig::default() };
    let config =
        FillConfig { tokens_per_step: TOKENS_PER_STEP, sampler, n_alternatives, ..FillConfig::default() };
    let mut watched = Watched { canvas: GrammarCanvas::new(canvas), filling: &mut *filling };
    let canvas =
        CanvasTask { prompt: &[], positions: task.positions.to_vec(), constraint: Some(&mut watched) };
    let is_late = || start.elapsed().as_secs_f64() > task.seconds;
    let filled = fill_canvases(&mut model, vec![canvas], &config, &mut |_| {
        if is_late() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let Some(filled) = filled.into_iter().next() else {
        return Err(Stop::Wrong("the loop returns no canvas".to_owned()));
    };
    let statistics = filled.statistics;
    filling.n_put = statistics.n_filled;
    filling.constraint_ms = statistics.constraint.as_secs_f64() * 1e3;
    filling.drawn = Drawn {
        n_refused: statistics.n_refused,
        open_probability: statistics.open_probability,
        n_given: statistics.n_given,
    };
    if let Some(error) = filled.error {
        return Err(error.into());
    }
    let tokens: Option<Vec<TokenId>> = filled.positions.iter().copied().collect();
    tokens.ok_or_else(|| Stop::Unfinished(format!("{} tokens are put", statistics.n_filled)))
}

/// A canvas whose answers and times are noted.
struct Watched<'a> {
    canvas: GrammarCanvas,
    filling: &'a mut Filling,
}

impl CanvasConstraint for Watched<'_> {
    fn is_possible(&mut self) -> Result<bool, ConstraintError> {
        self.canvas.is_possible()
    }

    fn allows(&mut self, position: usize, ids: &[TokenId]) -> Result<Vec<Verdict>, ConstraintError> {
        let mut verdicts = Vec::with_capacity(ids.len());
        for &id in ids {
            let clock = Clock::start();
            let verdict = self.canvas.allows(position, &[id])?[0];
            let n_put = self.filling.n_put;
            self.filling.asked.note((position, id), n_put, verdict, clock.ms());
            verdicts.push(verdict);
        }
        Ok(verdicts)
    }

    fn fill_mask(
        &mut self,
        position: usize,
        mask: &mut [u32],
        exact: bool,
    ) -> Result<MaskStatus, ConstraintError> {
        let clock = Clock::start();
        let status = self.canvas.fill_mask(position, mask, exact)?;
        self.filling.masks_ms.push(clock.ms());
        self.filling.n_empty_masks += usize::from(mask.iter().all(|&word| word == 0));
        Ok(status)
    }

    fn set(&mut self, position: usize, id: TokenId) -> Result<bool, ConstraintError> {
        let is_set = self.canvas.set(position, id)?;
        self.filling.n_put += usize::from(is_set);
        Ok(is_set)
    }

    fn unset(&mut self, position: usize) -> Result<(), ConstraintError> {
        self.canvas.unset(position)
    }

    fn witness(&mut self) -> Result<Option<Vec<TokenId>>, ConstraintError> {
        self.canvas.witness()
    }
}

/// All tokens of the vocabulary are about equally likely everywhere; their order, from the likeliest on, is a
/// random one at each position. The mask token, one more id after the vocabulary, has another weight at each
/// position. It is never drawn, but the loop counts it when it says how sure the model is, so positions are
/// filled in a random order instead of from the left.
struct UniformModel {
    /// Logits in [0, 0.01). Each position has them from another place on.
    logits: Vec<f32>,
    /// For each position that place, and the logit of the mask token.
    rows: Vec<(usize, f32)>,
}

impl UniformModel {
    fn new(n_vocab: usize, n_positions: usize, numbers: &mut Numbers) -> UniformModel {
        let mut below_one = || numbers.below(1 << 20) as f32 / (1 << 20) as f32;
        let logits = (0..n_vocab).map(|_| 0.01 * below_one()).collect();
        let largest = (n_vocab as f32).ln();
        let weights: Vec<f32> = (0..n_positions).map(|_| largest * below_one()).collect();
        let rows = weights.into_iter().map(|weight| (numbers.below(n_vocab), weight)).collect();
        UniformModel { logits, rows }
    }
}

impl DiffusionModel for UniformModel {
    fn n_vocab(&self) -> usize {
        self.logits.len() + 1
    }

    fn max_positions(&self) -> usize {
        self.rows.len()
    }

    fn mask_id(&self) -> TokenId {
        TokenId(self.logits.len() as u32)
    }

    fn forward(&mut self, canvases: &[&[TokenId]]) -> Result<Vec<Logits>, ModelError> {
        ModelError::check_canvases(self, canvases)?;
        let width = self.n_vocab();
        let logits = |canvas: &&[TokenId]| {
            let mut logits = Vec::with_capacity(canvas.len() * width);
            for &(first, of_mask) in &self.rows[..canvas.len()] {
                logits.extend_from_slice(&self.logits[first..]);
                logits.extend_from_slice(&self.logits[..first]);
                logits.push(of_mask);
            }
            Logits::new(logits, width)
        };
        Ok(canvases.iter().map(logits).collect())
    }
}

/// Counts the time of the processor that this thread takes, which other programs do not change.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Duration);

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock(processor_time())
    }

    /// Milliseconds since the start.
    pub(crate) fn ms(&self) -> f64 {
        (processor_time() - self.0).as_secs_f64() * 1e3
    }
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_noted_by_answer_and_the_slow_ones_by_place() {
        let mut asked = Asked::default();
        asked.note((3, TokenId(7)), 1, Verdict::Yes, 2.0);
        asked.note((4, TokenId(8)), 2, Verdict::No, 500.0);
        asked.note((5, TokenId(9)), 2, Verdict::Open, 1.0);
        assert_eq!(asked.all_ms().collect::<Vec<_>>(), [2.0, 500.0, 1.0]);
        let listed: Vec<(usize, &str)> =
            asked.listed.iter().map(|listed| (listed.position, &listed.answer[..])).collect();
        assert_eq!(listed, [(4, "no"), (5, "open")]);
    }

    #[test]
    fn the_uniform_model_is_less_sure_of_some_positions() {
        let mut model = UniformModel::new(50, 3, &mut Numbers(5));
        let logits = model.forward(&[&[50, 1, 50].map(TokenId)]).unwrap();
        let row = |position| logits[0].row(position);
        assert_eq!((logits[0].n_rows(), row(0).len()), (3, 51));
        assert!(row(0)[..50].iter().all(|logit| (0.0..0.01).contains(logit)));
        assert_ne!(row(0)[50], row(2)[50]);
        assert_ne!(row(0)[..50], row(2)[..50]);
    }
}
