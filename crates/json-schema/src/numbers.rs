//! Numbers: exact values, sets of them, and the languages of their spellings.

pub(crate) mod decimal;
pub(crate) mod doubles;
pub(crate) mod multiples;
pub(crate) mod number;
pub(crate) mod numeral;
pub(crate) mod plain;
pub(crate) mod range;
pub(crate) mod scientific;
