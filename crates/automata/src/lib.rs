//! Regular languages over bytes.
//!
//! The lowest layer: it knows bytes, regular languages and automata, and nothing of grammars, vocabularies
//! or surface syntax. Front ends build [`Regex`] values; the engine turns each into an [`Automaton`] and
//! steps it byte by byte.
//!
//! * [`ByteSet`]: a set of bytes.
//! * [`Regex`]: an immutable expression with union, intersection, complement and counted repetition.
//! * [`Automaton`]: the lazily determinised automaton of a `Regex`; its states are *residues* (derivatives).
//! * [`AutomatonStore`]: where many automata keep their states, equal residues being one.
//! * [`Fuel`]: counts work, so that hostile input ends in an error that is the same on every machine.

mod arena;
mod automaton;
mod automaton_store;
mod byte_set;
mod classes;
mod counted;
mod error;
mod fuel;
mod lazy;
mod liveness;
mod locked;
pub mod meter;
mod regex;
mod residues;
mod rests;
mod saturate;
mod shortest;
mod state;
mod steps;
mod store;
mod table;
mod text;
mod utf8;
mod utf8_rest;
mod within;

pub use automaton::Automaton;
pub use automaton_store::AutomatonStore;
pub use byte_set::ByteSet;
pub use counted::{CountedFamily, CountedUnits, UnitStep, Window};
pub use error::AutomatonError;
pub use fuel::{CancelToken, Fuel, FuelError, WATCH_INTERVAL};
pub use regex::{Node, Regex};
pub use rests::Rests;
pub use state::{AutomatonLimits, StateId};
pub use steps::Steps;
pub use utf8_rest::Utf8Rest;
