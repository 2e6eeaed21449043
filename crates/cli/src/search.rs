//! `generate --strategy beam|mcts`: searches over many texts, whose best is written at the end.
//!
//! A search knows its text only when it is done, so nothing is streamed; a bar on a terminal tells how far it is, and
//! Ctrl-C ends it with the best text so far.

use std::ops::ControlFlow;
use std::time::Instant;

use maskwright_decode::{
    BeamConfig, Constraint, DecodeError, FinishReason, GenerateConfig, Generation, LanguageModel, Progress,
    SearchConfig, SearchOutcome, StepStatistics, TokenEvent, TreeSearchConfig, Unconstrained, beam_search,
    tree_search,
};

use crate::arguments::StrategyArgument;
use crate::generate::Held;
use crate::interrupt::Interrupt;
use crate::outcome::{note, say};
use crate::progress::token_bar;

/// A strategy that looks at more than one text.
#[derive(Clone, Copy)]
pub(crate) enum Search {
    Beam,
    Tree,
}

impl Search {
    /// The search of a strategy; `None` if it picks token by token.
    pub(crate) fn of(strategy: StrategyArgument) -> Option<Search> {
        match strategy {
            StrategyArgument::Greedy | StrategyArgument::Sample => None,
            StrategyArgument::Beam => Some(Search::Beam),
            StrategyArgument::Mcts => Some(Search::Tree),
        }
    }

    /// Searches, then hands the tokens of the best text to `held` and `on_token`, as [`maskwright_decode::generate`]
    /// does one by one. The steps have no times: those of a search are no token's own.
    ///
    /// # Errors
    /// As the search's.
    pub(crate) fn generate(
        self,
        model: &mut dyn LanguageModel,
        held: &mut Held<'_>,
        prompt_ids: &[u32],
        config: &GenerateConfig,
        on_token: &mut dyn FnMut(&TokenEvent) -> ControlFlow<()>,
        (interrupt, is_verbose): (&Interrupt, bool),
    ) -> Result<Generation, DecodeError> {
        let search = SearchConfig { max_tokens: config.max_tokens, eos_ids: config.eos_ids.clone() };
        let clock = Instant::now();
        let outcome = match held {
            Held::Nothing => {
                let anything = Unconstrained::new(config.eos_ids.clone());
                self.run(model, &anything, prompt_ids, &search, interrupt)?
            }
            Held::Prompt(constraint) => self.run(model, constraint, prompt_ids, &search, interrupt)?,
            Held::Grammar(constraint) => self.run(model, constraint, prompt_ids, &search, interrupt)?,
        };
        let Some(best) = outcome.best() else {
            let finish_reason = FinishReason::Cancelled;
            return Ok(Generation { tokens: Vec::new(), eos_id: None, finish_reason, steps: Vec::new() });
        };
        if is_verbose {
            let (n_model_tokens, perplexity) = (outcome.n_model_tokens, best.perplexity());
            let seconds = clock.elapsed().as_secs_f64();
            say(format_args!(
                "search: {n_model_tokens} model tokens in {seconds:.1} s, perplexity {perplexity:.2}"
            ));
        }
        if outcome.is_cancelled && best.is_complete() {
            note("this is the best text so far");
        }
        for (index, &id) in best.tokens.iter().chain(&best.eos_id).enumerate() {
            if let Some(constraint) = held.constraint() {
                constraint.accept_token(id)?;
            }
            let is_eos = index == best.tokens.len();
            if on_token(&TokenEvent { id, index, forced: false, is_eos }).is_break() && !outcome.is_cancelled
            {
                break;
            }
        }
        Ok(Generation {
            tokens: best.tokens.clone(),
            eos_id: best.eos_id,
            finish_reason: if outcome.is_cancelled { FinishReason::Cancelled } else { best.finish_reason },
            steps: vec![StepStatistics::default(); best.n_tokens],
        })
    }

    fn run<C: Constraint + Clone>(
        self,
        model: &mut dyn LanguageModel,
        constraint: &C,
        prompt_ids: &[u32],
        search: &SearchConfig,
        interrupt: &Interrupt,
    ) -> Result<SearchOutcome, DecodeError> {
        let bar = token_bar("{bar:32} {pos}/{len} tokens{msg}, {elapsed}", 0);
        let mut on_progress = |progress: &Progress<'_>| {
            bar.set_length(progress.max_tokens as u64);
            bar.set_position(progress.n_tokens as u64);
            bar.set_message(format!(", {} model tokens", progress.n_model_tokens));
            if interrupt.is_pressed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let outcome = match self {
            Search::Beam => {
                let config = BeamConfig::default();
                beam_search(model, constraint, prompt_ids, search, &config, &mut on_progress)
            }
            Search::Tree => {
                let config = TreeSearchConfig::default();
                tree_search(model, constraint, prompt_ids, search, &config, &mut on_progress)
            }
        };
        bar.finish_and_clear();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use maskwright_decode::{RandomModel, SamplerConfig};

    use super::*;

    /// A tree search that Ctrl-C ended with a complete text ended as if nothing had been.
    #[test]
    fn an_interrupted_search_says_so() {
        let config = GenerateConfig {
            max_tokens: 3,
            eos_ids: vec![0],
            sampler: SamplerConfig::default(),
            jump_forward: false,
            measure_mass: false,
        };
        for search in [Search::Beam, Search::Tree] {
            // A model of one token, the end: the first text that is found is complete.
            let mut model = RandomModel::new(1, 64, 7);
            let told = (&Interrupt::pressed(), false);
            let mut on_token = |_: &TokenEvent| ControlFlow::Continue(());
            let generation =
                search.generate(&mut model, &mut Held::Nothing, &[0], &config, &mut on_token, told).unwrap();
            assert_eq!(generation.finish_reason, FinishReason::Cancelled);
        }
    }
}
