//! The pages that have examples in Rust, so that `cargo test` runs these. `python/tests/test_docs.py` finds
//! pages that are missing here.

#![doc = include_str!("../../../README.md")]
#![doc = include_str!("../../../crates/infill/README.md")]
#![doc = include_str!("../../../docs/how/configurations.md")]
#![doc = include_str!("../../../docs/guides/rust.md")]
