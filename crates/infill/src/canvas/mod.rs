//! What is known of a text so far, and what may still stand where: masked positions, and templates with
//! holes.

#[allow(clippy::module_inception, reason = "the room's main thing")]
mod canvas;
mod template;
mod why;

pub use canvas::{Canvas, CanvasConfig, CanvasStatus, Verdict};
pub use template::{Hole, Part, Template};
