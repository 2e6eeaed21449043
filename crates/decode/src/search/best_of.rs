//! Best of n: samples in one batch, the likeliest per token first.

use maskwright_vocabulary::TokenId;

use super::population::Population;
use super::{OnProgress, SearchConfig, SearchOutcome, by_key, driver::Driver};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    model::LanguageModel,
    sampler::{Sampler, SamplerConfig},
};

/// How [`best_of`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::{BestOfConfig, SamplerConfig};
/// let config = BestOfConfig { n_texts: 4, sampler: SamplerConfig { seed: 7, ..SamplerConfig::default() } };
/// assert_eq!(config.sampler.temperature, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestOfConfig {
    /// How many texts are sampled.
    pub n_texts: usize,
    /// How their tokens are picked, all from one run of random draws.
    pub sampler: SamplerConfig,
}

impl Default for BestOfConfig {
    /// Ten texts, sampled at temperature 1.
    fn default() -> Self {
        BestOfConfig { n_texts: 10, sampler: SamplerConfig::default() }
    }
}

/// Samples [`BestOfConfig::n_texts`] texts at the same time, and sorts them by
/// [`Hypothesis::mean_likelihood`](super::Hypothesis::mean_likelihood). The prompt is read once.
///
/// # Errors
/// If the prompt is empty or too long, a setting is out of range, the constraint allows no token of some
/// text, or the model or the constraint fails.
pub fn best_of<C: Constraint + Clone>(
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
    config: &BestOfConfig,
    on_progress: &mut OnProgress<'_>,
) -> Result<SearchOutcome, DecodeError> {
    if config.n_texts == 0 {
        return Err(Kind::BadCount { name: "n_texts", given: 0, allowed: "at least 1" }.into());
    }
    let mut sampler = Sampler::new(config.sampler)?;
    let mut driver = Driver::new(model, prompt_ids, search)?;
    let mut population = Population::new(&mut driver, constraint, prompt_ids, config.n_texts)?;
    let mut is_cancelled = false;
    while population.is_open() && !is_cancelled {
        population.step(&mut driver, &mut sampler, 1.0)?;
        let best = population.best(&driver);
        is_cancelled = driver.report(on_progress, population.n_tokens(), best.as_ref());
    }
    let mut texts = population.into_texts(&driver);
    let key = |text: &super::Hypothesis| text.sort_key(text.normalized(1.0));
    texts.sort_by(|left, right| by_key(key(left), key(right)));
    Ok(driver.into_outcome(texts, is_cancelled))
}
