//! Masked diffusion models: a small network and its training.
//!
//! * [`MaskedDiffusionModel`]: a network with its weights, a [`DiffusionModel`](maskwright_decode::DiffusionModel).
//! * [`DiffusionTrainer`]: training on the CPU.

mod config;
mod model;
mod network;
mod train;

pub use config::DiffusionConfig;
pub use model::MaskedDiffusionModel;
pub use train::{DiffusionTrainer, MaskedBatch};
