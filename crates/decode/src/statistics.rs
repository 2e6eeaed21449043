//! What each generated token cost, and how likely the model itself found what was allowed.

use std::time::Duration;

/// One generated token.
///
/// # Examples
/// ```
/// use maskwright_decode::{StepStatistics, Summary};
/// let step = StepStatistics { forced: true, ..StepStatistics::default() };
/// assert_eq!(Summary::of(&[step, StepStatistics::default()]).n_forced, 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepStatistics {
    /// Whether the constraint forced the token, so that no mask was drawn from and nothing sampled.
    pub forced: bool,
    /// Time to compute the mask.
    pub mask: Duration,
    /// Time to apply the mask to the logits.
    pub apply: Duration,
    /// Time to pick a token.
    pub sample: Duration,
    /// Time for the constraint to take the token, forced tokens looked up included.
    pub accept: Duration,
    /// Time of the forward pass that gave this token's logits; zero for all but one of a run of forced
    /// tokens. The first step's is the prompt's.
    pub forward: Duration,
    /// The probability that the model gave to the allowed tokens, at temperature 1; absent if it was not
    /// measured.
    pub allowed_mass: Option<f64>,
}

/// Totals over steps.
///
/// # Examples
/// ```
/// use maskwright_decode::{StepStatistics, Summary};
/// let step = StepStatistics { allowed_mass: Some(0.5), ..StepStatistics::default() };
/// assert_eq!(Summary::of(&[step]).mean_allowed_mass, Some(0.5));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Tokens generated, end of text included.
    pub n_tokens: usize,
    /// Those of them that were forced.
    pub n_forced: usize,
    /// Masks, their application and acceptance: what the constraint cost.
    pub constraint: Duration,
    /// The slowest single mask.
    pub slowest_mask: Duration,
    /// Picking tokens.
    pub sample: Duration,
    /// The forward pass over the prompt.
    pub prefill: Duration,
    /// All other forward passes.
    pub forward: Duration,
    /// The mean over the steps that measured it.
    pub mean_allowed_mass: Option<f64>,
    /// What the constraint cost the text, in nats: the sum of -ln of the allowed probability over the steps
    /// that measured it. The model alone would write only texts whose tokens the constraint allows with
    /// probability e to the minus that, going this way.
    pub cost_nats: Option<f64>,
}

impl Summary {
    /// Adds up the steps of one generation, in order.
    #[must_use]
    pub fn of(steps: &[StepStatistics]) -> Self {
        let mut summary = Summary { n_tokens: steps.len(), ..Summary::default() };
        let (mut n_measured, mut mass) = (0_u32, 0.0);
        let mut prefill_seen = false;
        for step in steps {
            summary.n_forced += usize::from(step.forced);
            summary.constraint += step.mask + step.apply + step.accept;
            summary.slowest_mask = summary.slowest_mask.max(step.mask);
            summary.sample += step.sample;
            if prefill_seen {
                summary.forward += step.forward;
            } else {
                summary.prefill += step.forward;
                prefill_seen = !step.forward.is_zero();
            }
            if let Some(value) = step.allowed_mass {
                n_measured += 1;
                mass += value;
            }
        }
        let cost = |step: &StepStatistics| step.allowed_mass.map(|mass| -mass.clamp(0.0, 1.0).ln());
        summary.cost_nats = (n_measured > 0).then(|| steps.iter().filter_map(cost).sum::<f64>().max(0.0));
        summary.mean_allowed_mass = (n_measured > 0).then(|| mass / f64::from(n_measured));
        summary
    }
}
