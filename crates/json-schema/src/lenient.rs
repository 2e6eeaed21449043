//! What is left out where not everything can be enforced, and what loses its effect by that.

pub(crate) mod affected;
pub(crate) mod loose;
