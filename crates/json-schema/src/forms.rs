//! What a schema means: sets of numbers, strings, arrays and objects.

pub(crate) mod array;
pub(crate) mod diagram;
pub(crate) mod meanings;
pub(crate) mod node_id;
pub(crate) mod object;
pub(crate) mod shape;
