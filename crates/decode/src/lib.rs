//! Decoding loops: a language model proposes logits, a constraint says which tokens may come, a sampler
//! picks one.
//!
//! Place in the pipeline: above the engine (whose sessions become a [`GrammarConstraint`]) and below `models`
//! (whose networks implement [`LanguageModel`]). Nothing here knows a grammar or a network.
//!
//! * [`LanguageModel`]: logits for a batch of sequences, with a cache that can be truncated and forked.
//! * [`Constraint`]: what a sampler needs of a session; [`GrammarConstraint`] is the engine's,
//!   [`Unconstrained`] allows everything.
//! * [`Sampler`]: greedy or sampling with temperature, top-k, top-p and min-p, the same for a seed
//!   everywhere.
//! * [`generate()`]: the loop, with jump-forward over forced tokens, cancellation and statistics.
//! * [`beam_search`], [`tree_search`], [`most_likely`], [`best_of`], [`particles()`]:
//!   searches over many texts, each returned with its likelihood.
//! * [`fill_canvases`]: masked diffusion over a [`DiffusionModel`]; [`fill_regions`]: holes filled by a
//!   causal model.
//! * [`asked_step`], [`chosen_step`], [`branches`]: what happened, as a [`Trace`](maskwright_trace::Trace).
//! * [`heal_prompt`] and [`PrefixConstraint`]: token healing at the end of a prompt.
//! * [`RandomModel`]: random logits with a seed, the hardest test of a constraint.
//!
//! A step costs one forward pass, one mask, and passes over the logits: O(vocabulary) and no sorting of the
//! whole vocabulary ([`Sampler`] says how).
//!
//! Rejected: a `LogitsProcessor` chain as in other libraries. A constraint is not one processor among many:
//! it must see the token that was picked, can be rolled back, forces tokens, and is applied before every
//! filter, so it has a trait of its own.

mod candidates;
mod constraint;
mod diffusion;
mod error;
mod generate;
mod healing;
mod mask;
mod matcher;
mod model;
mod prefix;
mod random_model;
mod regions;
mod sampler;
mod search;
mod statistics;
mod traced;

pub use candidates::{Candidate, Candidates};
pub use constraint::{Constraint, ConstraintError, Unconstrained};
pub use diffusion::{
    CanvasConstraint, CanvasStatistics, CanvasTask, DiffusionModel, FillConfig, FillEvent, FilledCanvas,
    GrammarCanvas, RandomDiffusionModel, fill_canvases,
};
pub use error::DecodeError;
pub use generate::{FinishReason, GenerateConfig, Generation, TokenEvent, generate};
pub use healing::{HealedPrompt, TokenText, heal_prompt};
pub use mask::{allowed_mass, apply_mask, is_allowed, mask_len};
pub use matcher::GrammarConstraint;
pub use model::{LanguageModel, Logits, ModelError, SequenceId, SequenceInput};
pub use prefix::PrefixConstraint;
pub use random_model::RandomModel;
pub use regions::{FilledRegion, MiddleTokens, RegionsConfig, fill_regions};
pub use sampler::{Sampler, SamplerConfig};
pub use search::{
    BeamConfig, BestOfConfig, ExploredToken, Hypothesis, MostLikely, MostLikelyConfig, OnProgress, Particles,
    ParticlesConfig, Progress, Proof, SearchConfig, SearchOutcome, Strategy, TreeSearchConfig, beam_search,
    best_of, most_likely, particles, tree_search,
};
pub use statistics::{StepStatistics, Summary};
pub use traced::{asked_step, branches, chosen_step, text_regions, visible_text};
