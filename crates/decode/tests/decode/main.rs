//! The decoding loops and the healed prefix against small languages whose answers can be enumerated.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod diffusion;
mod generate;
mod prefix;
mod regions;
mod search;
mod support;
