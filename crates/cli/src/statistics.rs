//! What `generate --stats` tells: speed, what the masks cost, and what the model itself thought of them.
//!
//! The probability of the allowed tokens is that of section 5 of "Efficient Guided Generation for Large
//! Language Models": how much of the model's own distribution, at temperature 1, the mask leaves at each
//! step. Near 1 the model wanted what the grammar wants; near 0 it was made to write something else.
//!
//! What was not measured is left out, and `null` in JSON: a zero would look like a figure. Searches read many
//! texts at once, so no step of theirs has times.

use std::fmt;
use std::time::Duration;

use maskwright::TokenId;
use maskwright_decode::{Generation, StepStatistics, Summary};
use serde_json::{Value, json};

use crate::search::Found;

/// How many probabilities go on one line.
const MASSES_PER_LINE: usize = 20;

/// Figures of one generation.
pub(crate) struct Statistics<'a> {
    generation: &'a Generation,
    summary: Summary,
    n_prompt: usize,
    /// What is known of a search; `None` if each step was measured, as [`maskwright_decode::generate`] does
    /// it.
    search: Option<Found>,
    /// Mask times of the steps that had one, ascending.
    masks: Vec<Duration>,
}

impl<'a> Statistics<'a> {
    /// The figures of a generation that picked token by token.
    pub(crate) fn new(generation: &'a Generation, n_prompt: usize, has_constraint: bool) -> Statistics<'a> {
        let steps = &generation.steps;
        let masked = steps.iter().filter(|step| has_constraint && !step.forced);
        let mut masks: Vec<Duration> = masked.map(|step| step.mask).collect();
        masks.sort_unstable();
        Statistics { generation, summary: Summary::of(steps), n_prompt, search: None, masks }
    }

    /// The figures of a search's text, whose steps have no times.
    pub(crate) fn of_search(generation: &'a Generation, n_prompt: usize, found: Found) -> Statistics<'a> {
        Statistics { search: Some(found), ..Statistics::new(generation, n_prompt, false) }
    }

    fn is_measured(&self) -> bool {
        self.search.is_none()
    }

    /// How many tokens were forced, where that was counted.
    fn n_forced(&self) -> Option<usize> {
        self.is_measured().then_some(self.summary.n_forced)
    }

    /// Everything after the prompt's pass: forward passes, masks, picking.
    fn decoding(&self) -> Duration {
        self.summary.forward + self.summary.constraint + self.summary.sample
    }

    /// Tokens per second after the prompt's pass; `None` if that pass was all there was.
    fn tokens_per_second(&self) -> Option<f64> {
        let seconds = self.decoding().as_secs_f64();
        (!self.summary.forward.is_zero()).then(|| self.summary.n_tokens as f64 / seconds)
    }

    /// The mask time that the fraction `rank` of all steps does not exceed.
    fn mask_percentile(&self, rank: f64) -> Option<Duration> {
        let last = self.masks.len().checked_sub(1)?;
        Some(self.masks[((last as f64) * rank).round() as usize])
    }

    fn mean_mask(&self) -> Option<Duration> {
        let n_masks = u32::try_from(self.masks.len()).ok().filter(|&n| n > 0)?;
        Some(self.masks.iter().sum::<Duration>() / n_masks)
    }

    /// As a JSON object; with every step if `with_steps`. Times are in microseconds, and `null` where none
    /// was measured.
    pub(crate) fn to_json(&self, with_steps: bool) -> Value {
        let micros = |time: Option<Duration>| time.map(microseconds);
        let mut value = json!({
            "n_prompt_tokens": self.n_prompt,
            "n_tokens": self.summary.n_tokens,
            "n_forced_tokens": self.n_forced(),
            "prompt_us": measured(self.summary.prefill),
            "decoding_us": measured(self.decoding()),
            "tokens_per_second": self.tokens_per_second(),
            "mask_us": {
                "n": self.is_measured().then_some(self.masks.len()),
                "mean": micros(self.mean_mask()),
                "p50": micros(self.mask_percentile(0.5)),
                "p99": micros(self.mask_percentile(0.99)),
                "max": micros(self.mask_percentile(1.0)),
            },
            "constraint_us": measured(self.summary.constraint),
            "mean_allowed_mass": self.summary.mean_allowed_mass,
            "cost_nats": self.summary.cost_nats.filter(|cost| cost.is_finite()),
            "search": self.search.map(|found| json!({
                "n_model_tokens": found.n_model_tokens,
                "seconds": found.elapsed.as_secs_f64(),
                "perplexity": found.perplexity,
                "is_proven": found.is_proven,
            })),
        });
        if with_steps {
            let ids = self.generation.tokens.iter().chain(&self.generation.eos_id);
            let step = |(&id, step)| step_json(id, step, self.is_measured());
            let steps = ids.zip(&self.generation.steps).map(step);
            value["steps"] = steps.collect();
        }
        value
    }
}

fn step_json(id: TokenId, step: &StepStatistics, is_measured: bool) -> Value {
    json!({
        "token": id.0,
        "forced": is_measured.then_some(step.forced),
        "allowed_mass": step.allowed_mass,
        "mask_us": measured(step.mask),
        "apply_us": measured(step.apply),
        "accept_us": measured(step.accept),
        "sample_us": measured(step.sample),
        "forward_us": measured(step.forward),
    })
}

/// Microseconds of what took any time at all; the default of a time is that it was not measured.
fn measured(time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| microseconds(time))
}

/// Microseconds, to a tenth.
fn microseconds(time: Duration) -> f64 {
    (time.as_nanos() as f64 / 100.0).round() / 10.0
}

impl fmt::Display for Statistics<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Summary { n_tokens, prefill, constraint, mean_allowed_mass, cost_nats, .. } = self.summary;
        if let Some(Found { n_model_tokens, elapsed, perplexity, .. }) = self.search {
            write!(f, "search   {n_model_tokens} model tokens in {:.1} s", elapsed.as_secs_f64())?;
            if let Some(perplexity) = perplexity {
                write!(f, ", perplexity {perplexity:.2}")?;
            }
            writeln!(f)?;
        }
        write!(f, "tokens   {n_tokens} generated")?;
        if let Some(n_forced) = self.n_forced() {
            write!(f, " ({n_forced} forced)")?;
        }
        if let Some(rate) = self.tokens_per_second() {
            write!(f, ", {rate:.1} tokens/s")?;
        }
        write!(f, "; prompt {}", self.n_prompt)?;
        if !prefill.is_zero() {
            write!(f, " in {:.0} ms", prefill.as_secs_f64() * 1e3)?;
        }
        writeln!(f)?;
        let percentiles = (self.mean_mask(), self.mask_percentile(0.5), self.mask_percentile(0.99));
        if let ((Some(mean), Some(p50), Some(p99)), Some(max)) = (percentiles, self.mask_percentile(1.0)) {
            writeln!(
                f,
                "masks    {} computed: mean {:.1} us, p50 {:.1}, p99 {:.1}, max {:.1}",
                self.masks.len(),
                microseconds(mean),
                microseconds(p50),
                microseconds(p99),
                microseconds(max),
            )?;
            let share = constraint.as_secs_f64() / (self.decoding() + prefill).as_secs_f64();
            writeln!(
                f,
                "grammar  {:.2} ms in all (masks, their use, accepted tokens): {:.2}% of the time",
                constraint.as_secs_f64() * 1e3,
                share * 100.0
            )?;
        }
        if let Some(cost) = cost_nats {
            writeln!(
                f,
                "cost     {cost:.2} nats: what the grammar cut off of the model's probability, in all"
            )?;
        }
        if let Some(mass) = mean_allowed_mass {
            writeln!(
                f,
                "mass     {mass:.3} of the model's own probability was on allowed tokens, on average"
            )?;
            let masses: Vec<f64> =
                self.generation.steps.iter().filter_map(|step| step.allowed_mass).collect();
            for (row, masses) in masses.chunks(MASSES_PER_LINE).enumerate() {
                write!(f, "{}", if row == 0 { "by step " } else { "        " })?;
                for mass in masses {
                    write!(f, " {mass:.2}")?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maskwright_decode::FinishReason;

    fn generation(masks: &[u64]) -> Generation {
        let step = |&mask: &u64| StepStatistics {
            mask: Duration::from_micros(mask),
            forward: Duration::from_millis(10),
            allowed_mass: Some(0.5),
            ..StepStatistics::default()
        };
        Generation {
            tokens: (0..masks.len() as u32).map(TokenId).collect(),
            eos_id: None,
            finish_reason: FinishReason::MaxTokens,
            steps: masks.iter().map(step).collect(),
            candidates: Vec::new(),
        }
    }

    #[test]
    fn percentiles_are_over_masks_that_were_computed() {
        let mut generation = generation(&[5, 1, 3, 2, 4]);
        generation.steps.push(StepStatistics { forced: true, ..StepStatistics::default() });
        generation.tokens.push(TokenId(5));
        let value = Statistics::new(&generation, 7, true).to_json(true);
        assert_eq!(value["mask_us"], json!({"n": 5, "mean": 3.0, "p50": 3.0, "p99": 5.0, "max": 5.0}));
        assert_eq!(value["n_forced_tokens"], json!(1));
        assert_eq!(value["steps"].as_array().map(Vec::len), Some(6));
        assert_eq!(value["steps"][5]["forced"], json!(true));
    }

    #[test]
    fn a_generation_without_steps_has_no_figures_and_no_panic() {
        let generation = generation(&[]);
        let statistics = Statistics::new(&generation, 1, true);
        assert_eq!(statistics.to_json(false)["tokens_per_second"], Value::Null);
        assert_eq!(statistics.to_string(), "tokens   0 generated (0 forced); prompt 1\n");
    }

    /// "masks 6 computed: mean 0.0 us" and "NaN% of the time" were told of a search.
    #[test]
    fn what_was_not_measured_is_no_figure() {
        let mut generation = generation(&[1, 2]);
        generation.steps.fill(StepStatistics::default());
        let elapsed = Duration::from_millis(300);
        let found = Found { n_model_tokens: 40, elapsed, perplexity: None, is_proven: None };
        let statistics = Statistics::of_search(&generation, 7, found);
        let told = "search   40 model tokens in 0.3 s\ntokens   2 generated; prompt 7\n";
        assert_eq!(statistics.to_string(), told);
        let value = statistics.to_json(true);
        for name in ["n_forced_tokens", "prompt_us", "decoding_us", "tokens_per_second", "constraint_us"] {
            assert_eq!(value.get(name), Some(&Value::Null), "{name}");
        }
        assert_eq!(value["mask_us"]["n"], Value::Null);
        let expected = json!({"n_model_tokens": 40, "seconds": 0.3, "perplexity": null, "is_proven": null});
        assert_eq!(value["search"], expected);
        for name in ["forced", "mask_us", "accept_us", "forward_us"] {
            assert_eq!(value["steps"][0].get(name), Some(&Value::Null), "{name}");
        }
        // A text without a grammar has no masks.
        let value = Statistics::new(&self::generation(&[0]), 7, false).to_json(false);
        assert_eq!((&value["mask_us"]["n"], &value["constraint_us"]), (&json!(0), &Value::Null));
    }
}
