//! The reader of grammars over bytes.

mod mask;

pub(crate) use mask::{FoundBehind, WordPath};
