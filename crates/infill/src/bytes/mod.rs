//! Infilling for grammars over bytes.
//!
//! What a terminal says about one token of the vocabulary is kept for all positions (`tables`). From that the
//! edges of a lattice are made that the chart asks for (`scanned`); the reader (`read`) makes a chart for
//! each lattice.

mod read;
mod scanned;
mod tables;

pub(crate) use tables::Tables;
