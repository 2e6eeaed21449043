//! The pages of `docs/reference` say what the library does: their tables are made here, from the library.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[path = "../support/page.rs"]
mod page;

mod environment;
mod errors;
mod formats;
mod limits;
mod notations;
mod patterns;
mod schemas;
