//! The searches by name, as programs offer them.

use std::num::NonZeroUsize;

use maskwright_vocabulary::TokenId;

use super::{
    BeamConfig, BestOfConfig, MostLikelyConfig, OnProgress, ParticlesConfig, SearchConfig, SearchOutcome,
    TreeSearchConfig, beam_search, best_of, most_likely, particles, tree_search,
};
use crate::{Constraint, DecodeError, LanguageModel, SamplerConfig};

/// A search over many texts.
///
/// # Examples
/// ```
/// use maskwright_decode::{SamplerConfig, Strategy};
/// assert!(Strategy::NAMES.iter().all(|name| Strategy::named(name, None, SamplerConfig::default()).is_some()));
/// assert!(Strategy::named("greedy", None, SamplerConfig::default()).is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Strategy {
    /// The likeliest of several samples: [`best_of()`].
    BestOf(BestOfConfig),
    /// [`beam_search`].
    Beam(BeamConfig),
    /// [`tree_search`].
    Tree(TreeSearchConfig),
    /// [`most_likely()`].
    Likeliest(MostLikelyConfig),
    /// [`particles()`].
    Particles(ParticlesConfig),
}

/// Whether a text is known to be the likeliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// It is.
    Proven,
    /// The search came to its limit, or was broken off.
    Stopped,
    /// The search came to its end, but looked only at the likeliest tokens after each beginning.
    TokensLeftOut,
}

impl Strategy {
    /// The names there are.
    pub const NAMES: [&'static str; 5] = ["best-of", "beam", "mcts", "likeliest", "smc"];

    /// The search of a name, with `tries` texts, beams, trials, beginnings of texts or particles; by default
    /// as many as its configuration has. `sampler` is for those that draw at random; `smc` takes its
    /// temperature and seed.
    #[must_use]
    pub fn named(name: &str, tries: Option<NonZeroUsize>, sampler: SamplerConfig) -> Option<Strategy> {
        let tries = |default: usize| tries.map_or(default, NonZeroUsize::get);
        let SamplerConfig { temperature, seed, .. } = sampler;
        Some(match name {
            "best-of" => {
                Strategy::BestOf(BestOfConfig { n_texts: tries(BestOfConfig::default().n_texts), sampler })
            }
            "beam" => {
                let default = BeamConfig::default();
                Strategy::Beam(BeamConfig { n_beams: tries(default.n_beams), ..default })
            }
            "mcts" => {
                let default = TreeSearchConfig::default();
                Strategy::Tree(TreeSearchConfig { n_trials: tries(default.n_trials), ..default })
            }
            "likeliest" => {
                let default = MostLikelyConfig::default();
                Strategy::Likeliest(MostLikelyConfig { max_prefixes: tries(default.max_prefixes), ..default })
            }
            "smc" => {
                let default = ParticlesConfig::default();
                let n_particles = tries(default.n_particles);
                Strategy::Particles(ParticlesConfig { n_particles, temperature, seed, ..default })
            }
            _ => return None,
        })
    }

    /// Searches; with the proof that the first text is the likeliest, where that is what the strategy looks
    /// for.
    ///
    /// # Errors
    /// As the search's.
    pub fn run<C: Constraint + Clone>(
        &self,
        model: &mut dyn LanguageModel,
        constraint: &C,
        prompt_ids: &[TokenId],
        search: &SearchConfig,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<(SearchOutcome, Option<Proof>), DecodeError> {
        let outcome = match self {
            Strategy::BestOf(config) => best_of(model, constraint, prompt_ids, search, config, on_progress),
            Strategy::Beam(config) => beam_search(model, constraint, prompt_ids, search, config, on_progress),
            Strategy::Tree(config) => tree_search(model, constraint, prompt_ids, search, config, on_progress),
            Strategy::Likeliest(config) => {
                let found = most_likely(model, constraint, prompt_ids, search, config, on_progress)?;
                let proof = match (found.is_proven, found.is_searched) {
                    (true, _) => Proof::Proven,
                    (false, true) => Proof::TokensLeftOut,
                    (false, false) => Proof::Stopped,
                };
                return Ok((found.outcome, Some(proof)));
            }
            Strategy::Particles(config) => {
                particles(model, constraint, prompt_ids, search, config, on_progress)
                    .map(|found| found.outcome)
            }
        };
        outcome.map(|outcome| (outcome, None))
    }
}
