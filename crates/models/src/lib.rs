//! Real language models for the decoding loops: networks on candle, chat templates, fetching weights.
//!
//! Place in the pipeline: the last layer; the one crate that knows candle, and (with the loaders of
//! `vocabulary`) the one that does I/O. Everything above sees [`maskwright_decode::LanguageModel`] and
//! [`maskwright_decode::DiffusionModel`].
//!
//! * [`LlamaModel`]: GGUF networks of the Llama, Qwen 2 and Gemma 3 families, on the CPU, with a cache that
//!   can be truncated.
//! * [`ModelInfo`]: what a file says about its model, without loading it.
//! * [`MaskedDiffusionModel`]: a small masked diffusion network; [`builtin_diffusion`] has its weights in
//!   this library.
//! * [`ChatTemplate`]: the model's own dialogue format.
//! * [`pull()`] and [`resolve_model`]: from a name to a file on this machine.
//!
//! A token costs one pass over the weights (2 operations a parameter) and attention linear in the text so
//! far.
//!
//! Rejected: candle-transformers' `quantized_llama` (logits at the last position only, and its cache cannot
//! be truncated, so neither rollback nor speculative decoding nor beam search), and linking llama.cpp (a C++
//! toolchain, and a second copy of everything it does besides logits).

mod cache;
mod chat;
mod config;
mod diffusion;
mod error;
mod gguf;
mod hub;
mod info;
mod llama;
mod network;
mod pull;
mod requantize;
mod resolve;
mod scope;
mod weights;

pub use chat::{ChatMessage, ChatTemplate};
pub use diffusion::{
    BUILTIN_SCHEMAS, BuiltinDiffusion, DiffusionConfig, MaskedDiffusionModel, builtin_diffusion,
};
pub use error::ModelsError;
pub use info::ModelInfo;
pub use llama::LlamaModel;
pub use pull::{PullConfig, PullProgress, PullStage, pull};
pub use requantize::requantize_to_q8_0;
pub use resolve::{ModelSource, known_models, model_source, resolve_model};
