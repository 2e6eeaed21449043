//! Masked diffusion models: a small network, and the one that comes with this crate.
//!
//! * [`MaskedDiffusionModel`]: a network with its weights, a
//!   [`DiffusionModel`](maskwright_decode::DiffusionModel).
//! * [`builtin_diffusion`]: a model of about a million weights and its tokenizer, with no file to fetch.

mod builtin;
mod config;
mod model;
mod network;

pub use builtin::{BUILTIN_SCHEMAS, BuiltinDiffusion, builtin_diffusion};
pub use config::DiffusionConfig;
pub use model::MaskedDiffusionModel;
