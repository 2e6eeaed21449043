//! The error of a decoding loop: what the caller asked wrongly, or what the model or the constraint answered.

use maskwright_vocabulary::TokenId;

use crate::{constraint::ConstraintError, model::ModelError};

/// Why a text could not be generated. The message says what was given and what was allowed.
///
/// # Examples
/// ```
/// use maskwright_decode::{Sampler, SamplerConfig};
/// let error = Sampler::new(SamplerConfig { top_p: 1.5, ..SamplerConfig::default() }).unwrap_err();
/// assert_eq!(error.to_string(), "top_p is 1.5, it must be above 0 and at most 1");
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DecodeError(#[from] Kind);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Kind {
    #[error("the prompt is empty: a model needs at least one token, such as its beginning-of-text token")]
    EmptyPrompt,
    #[error(
        "a piece of the template is a list of tokens; when a model fills the holes, every piece must be text"
    )]
    PieceOfTokens,
    #[error("the prompt has {given} tokens, the model's context holds {allowed}")]
    PromptTooLong { given: usize, allowed: usize },
    #[error("{name} is {given}, it must be {allowed}")]
    BadSetting { name: &'static str, given: f32, allowed: &'static str },
    #[error("{name} is {given}, it must be {allowed}")]
    BadCount { name: &'static str, given: usize, allowed: &'static str },
    #[error("after {n_tokens} generated tokens the constraint allows no token at all")]
    DeadEnd { n_tokens: usize },
    #[error(
        "after {n_tokens} generated tokens the model gave no finite logit to any of {n_allowed} allowed tokens"
    )]
    NoFiniteLogit { n_tokens: usize, n_allowed: usize },
    #[error("after {n_tokens} generated tokens the constraint refused token {}, which {why}", id.0)]
    Refused { n_tokens: usize, id: TokenId, why: &'static str },
    #[error("the model returned {given} rows of logits, {wanted} were asked for")]
    RowsMissing { given: usize, wanted: usize },
    #[error("canvas {index} cannot be filled to a text of the language")]
    ImpossibleCanvas { index: usize },
    #[error(
        "the model gave no finite logit to any of {n_allowed} allowed tokens at position {position} of canvas {index}"
    )]
    NoLogitForPosition { index: usize, position: usize, n_allowed: usize },
    #[error(
        "the constraint of canvas {index} refused token {} at position {position}, which its mask had allowed",
        id.0
    )]
    RefusedAtPosition { index: usize, position: usize, id: TokenId },
    #[error(
        "hole {hole} may take {max_tokens} tokens, after {n_before} that the model has read; its context holds \
         {context_length}"
    )]
    NoRoom { hole: usize, max_tokens: usize, n_before: usize, context_length: usize },
    #[error(
        "hole {hole} cannot be ended within the {room} tokens that are left of the model's context of \
         {context_length}"
    )]
    NoRoomToEnd { hole: usize, room: usize, context_length: usize },
    #[error("hole {hole} cannot be filled, with what stands around it, to a text of the language")]
    ImpossibleTemplate { hole: usize },
    #[error("the model failed")]
    Model(#[from] ModelError),
    #[error("the constraint failed")]
    Constraint(#[from] ConstraintError),
}

impl DecodeError {
    /// Whether the constraint left no token to choose from (its language, or its limits, ended the text).
    #[must_use]
    pub fn is_dead_end(&self) -> bool {
        matches!(self.0, Kind::DeadEnd { .. })
    }
}

impl From<ModelError> for DecodeError {
    fn from(error: ModelError) -> Self {
        DecodeError(error.into())
    }
}

impl From<ConstraintError> for DecodeError {
    fn from(error: ConstraintError) -> Self {
        DecodeError(error.into())
    }
}
