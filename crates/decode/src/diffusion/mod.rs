//! Masked diffusion: a canvas of unknown tokens is filled in the order in which a model becomes sure of them.
//!
//! * [`DiffusionModel`]: logits for every position of a canvas. [`RandomDiffusionModel`] has no taste.
//! * [`CanvasConstraint`]: what holds a canvas to a language; [`GrammarCanvas`] is exact infilling.
//! * [`fill_canvases`]: the loop, with revisions, cancellation and statistics.
//!
//! Place in the pipeline: beside [`generate`](crate::generate()), above `infill`. Not for causal models,
//! which have no opinion about a position whose left side is not known: see
//! [`fill_regions`](crate::fill_regions) for those.

mod constraint;
mod fill;
mod model;
mod statistics;

pub use constraint::{CanvasConstraint, GrammarCanvas};
pub use fill::{CanvasTask, FillConfig, FilledCanvas, fill_canvases};
pub use model::{DiffusionModel, RandomDiffusionModel};
pub use statistics::{CanvasStatistics, FillEvent};
