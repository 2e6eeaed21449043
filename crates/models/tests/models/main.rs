//! Networks, files, fetching: on tiny models made here, and on a trained one where it is at hand.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on has failed; a skipped one says so"
)]

mod broken_files;
mod builtin_diffusion;
mod diffusion_network;
mod fetching;
mod naive;
mod network;
mod requantize;
mod tiny;
mod trained;
