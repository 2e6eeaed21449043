//! Strings and names: how characters are written, and the languages of patterns.

pub(crate) mod escape;
pub(crate) mod excluded;
pub(crate) mod names;
pub(crate) mod notation;
pub(crate) mod terminals;
pub(crate) mod words;
