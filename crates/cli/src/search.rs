//! `generate --strategy best-of|beam|mcts|likeliest|smc`: tries many texts, and writes one at the end.
//!
//! A search knows its text only when it is done, so nothing is streamed. A bar, or a line every few seconds,
//! tells how far it is, and Ctrl-C ends it with the best text so far.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::bail;
use clap::ValueEnum;
use maskwright::TokenId;
use maskwright_decode::{
    Constraint, DecodeError, FinishReason, GenerateConfig, Generation, LanguageModel, Progress, Proof,
    SamplerConfig, SearchConfig, SearchOutcome, StepStatistics, Strategy, TokenEvent, Unconstrained,
};

use crate::arguments::{Generate, StrategyArgument};
use crate::held::Held;
use crate::interrupt::Interrupt;
use crate::outcome::note;
use crate::progress::Meter;

/// A strategy that looks at more than one text.
#[derive(Clone, Copy)]
pub(crate) struct Search(Strategy);

/// What is known about a search that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// How many tokens the model has read.
    pub(crate) n_model_tokens: usize,
    pub(crate) elapsed: Duration,
    /// The perplexity of the text; `None` if it has no tokens.
    pub(crate) perplexity: Option<f64>,
    /// Whether no text is likelier; `None` for strategies that look for something else.
    pub(crate) is_proven: Option<bool>,
}

/// Why another text may be likelier.
fn doubt(proof: Proof) -> Option<&'static str> {
    match proof {
        Proof::Proven => None,
        Proof::Stopped => Some("the search stopped at its limit; raise it with --tries N"),
        Proof::TokensLeftOut => {
            Some("the search looked only at the likeliest tokens after each beginning of a text")
        }
    }
}

/// Refuses options of sampling that the strategy has no use for. The greedy one takes them as `sample` at
/// temperature 0 does.
fn refuse_useless(arguments: &Generate) -> anyhow::Result<()> {
    use StrategyArgument::{BestOf, Greedy, Sample, Smc};
    for option in arguments.sampling.given() {
        let (uses, names): (&[StrategyArgument], _) = match option {
            "--temperature" | "--seed" => (&[Greedy, Sample, BestOf, Smc], "sample, best-of or smc"),
            _ => (&[Greedy, Sample, BestOf], "sample or best-of"),
        };
        if !uses.contains(&arguments.strategy) {
            bail!("{option} goes with --strategy {names}");
        }
    }
    Ok(())
}

impl Search {
    /// The search that the arguments ask for; `None` if tokens are picked one by one.
    ///
    /// # Errors
    /// If other arguments do not go with it.
    pub(crate) fn of(arguments: &Generate) -> anyhow::Result<Option<Search>> {
        refuse_useless(arguments)?;
        let mut sampler = SamplerConfig::from(arguments.sampling);
        if arguments.strategy == StrategyArgument::Smc {
            // They are true to the model's own probabilities.
            sampler.temperature = arguments.sampling.temperature.unwrap_or(1.0);
        }
        let name = arguments.strategy.to_possible_value();
        let search = name.and_then(|name| Strategy::named(name.get_name(), arguments.tries, sampler));
        let Some(search) = search else {
            if arguments.tries.is_some() {
                bail!("--tries goes with --strategy best-of, beam, mcts, likeliest or smc");
            }
            return Ok(None);
        };
        if arguments.sampling.temperature == Some(0.0)
            && matches!(search, Strategy::BestOf(_) | Strategy::Particles(_))
        {
            bail!(
                "--temperature is 0, so all texts would be the same: this strategy draws at random and needs a \
                 temperature above 0; --strategy greedy always takes the likeliest token"
            );
        }
        Ok(Some(Search(search)))
    }

    /// Searches, then hands the tokens of the best text to `held` and `on_token`, as
    /// [`maskwright_decode::generate`] does one by one. The outcome has all texts and the tree. The steps
    /// have no times, since a search has none for a single token.
    ///
    /// # Errors
    /// As the search's.
    pub(crate) fn generate(
        self,
        model: &mut dyn LanguageModel,
        held: &mut Held<'_>,
        prompt_ids: &[TokenId],
        config: &GenerateConfig,
        on_token: &mut dyn FnMut(&TokenEvent) -> ControlFlow<()>,
        interrupt: &Interrupt,
    ) -> Result<(Generation, Found, SearchOutcome), DecodeError> {
        let search = SearchConfig { max_tokens: config.max_tokens, eos_ids: config.eos_ids.clone() };
        let clock = Instant::now();
        let (outcome, proof) = match held {
            Held::Nothing => {
                let anything = Unconstrained::new(config.eos_ids.clone());
                self.run(model, &anything, prompt_ids, &search, interrupt)?
            }
            Held::Prompt(constraint) => self.run(model, constraint, prompt_ids, &search, interrupt)?,
            Held::Grammar(constraint) => self.run(model, constraint, prompt_ids, &search, interrupt)?,
        };
        let SearchOutcome { n_model_tokens, is_cancelled, .. } = outcome;
        let best = outcome.best().cloned().expect("every search returns a text, if only an empty one");
        if is_cancelled && best.is_complete() {
            let is_drawn = matches!(self.0, Strategy::Particles(_));
            note(if is_drawn { "this is the text so far" } else { "this is the best text so far" });
        } else if let Some(doubt) = proof.and_then(doubt).filter(|_| !is_cancelled) {
            note(format_args!("another text may be likelier: {doubt}"));
        }
        let is_proven = proof.map(|proof| proof == Proof::Proven);
        for (index, &id) in best.tokens.iter().chain(&best.eos_id).enumerate() {
            if let Some(constraint) = held.constraint() {
                constraint.accept_token(id)?;
            }
            let is_eos = index == best.tokens.len();
            let flow = on_token(&TokenEvent { id, index, forced: false, is_eos });
            // What has been found is written, although Ctrl-C was pressed.
            if flow.is_break() && !interrupt.is_pressed() {
                break;
            }
        }
        let perplexity = (best.n_tokens > 0).then(|| best.perplexity());
        let found = Found { n_model_tokens, elapsed: clock.elapsed(), perplexity, is_proven };
        let finish_reason = if is_cancelled { FinishReason::Cancelled } else { best.finish_reason };
        let steps = vec![StepStatistics::default(); best.n_tokens];
        Ok((
            Generation {
                tokens: best.tokens,
                eos_id: best.eos_id,
                finish_reason,
                steps,
                candidates: Vec::new(),
            },
            found,
            outcome,
        ))
    }

    /// The search, and the proof that its text is the likeliest, where that is what it looks for.
    fn run<C: Constraint + Clone>(
        self,
        model: &mut dyn LanguageModel,
        constraint: &C,
        prompt: &[TokenId],
        search: &SearchConfig,
        interrupt: &Interrupt,
    ) -> Result<(SearchOutcome, Option<Proof>), DecodeError> {
        // The limit on tokens or tries; most searches end before it.
        let unit = match self.0 {
            Strategy::BestOf(_) | Strategy::Beam(_) | Strategy::Tree(_) | Strategy::Particles(_) => "tokens",
            Strategy::Likeliest(_) => "beginnings of texts",
        };
        let mut meter = Meter::at_most("searching", unit);
        let mut last =
            SearchOutcome { texts: Vec::new(), explored: Vec::new(), n_model_tokens: 0, is_cancelled: true };
        let on_progress = &mut |progress: &Progress<'_>| {
            last.n_model_tokens = progress.n_model_tokens;
            if progress.best != last.best() {
                last.texts = progress.best.cloned().into_iter().collect();
            }
            meter.update(
                progress.n_done,
                progress.n_total,
                &format!(", {} model tokens", last.n_model_tokens),
            );
            if interrupt.is_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        match self.0.run(model, constraint, prompt, search, on_progress) {
            // Ctrl-C breaks off a long pass of the model too, which is then an error.
            Err(_) if interrupt.is_pressed() && last.best().is_some() => {
                let proof = matches!(self.0, Strategy::Likeliest(_)).then_some(Proof::Stopped);
                Ok((last, proof))
            }
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use maskwright_decode::RandomModel;

    use super::*;

    /// A tree search that Ctrl-C ended with a complete text ended as if nothing had been.
    #[test]
    fn an_interrupted_search_says_so() {
        let config = GenerateConfig {
            max_tokens: 3,
            eos_ids: vec![TokenId(0)],
            sampler: SamplerConfig::default(),
            jump_forward: false,
            measure_mass: false,
            n_candidates: 0,
        };
        for name in Strategy::NAMES {
            let search = Search(Strategy::named(name, None, SamplerConfig::default()).unwrap());
            // A model of one token, the end: the first text that is found is complete.
            let mut model = RandomModel::new(1, 64, 7);
            let interrupt = Interrupt::pressed();
            let mut on_token = |_: &TokenEvent| ControlFlow::Continue(());
            let (generation, found, _) = search
                .generate(&mut model, &mut Held::Nothing, &[TokenId(0)], &config, &mut on_token, &interrupt)
                .unwrap();
            assert_eq!(generation.finish_reason, FinishReason::Cancelled);
            assert_ne!(found.is_proven, Some(true));
        }
    }
}
