//! The limits of a compiler, as Python gives them.

use maskwright::Limits;
use maskwright::debug::nearest_name;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arguments::{Count, OfCall, Text, dict};
use crate::errors::invalid;

/// The names of the limits.
const LIMITS: [&str; 14] = [
    "compile_fuel",
    "compile_bytes",
    "max_threads",
    "max_calls",
    "mask_work",
    "max_states",
    "max_residue_size",
    "liveness_fuel",
    "infill_work",
    "max_positions",
    "memory_bytes",
    "row_cache_bytes",
    "automaton_bytes",
    "machine_bytes",
];

/// Limits as given in Python.
#[derive(Default)]
pub(crate) struct LimitCounts(pub(crate) Vec<(String, usize)>);

impl LimitCounts {
    /// Reads a dict from names of limits to numbers.
    ///
    /// # Errors
    /// TypeError for other types and for names of no limit, ValueError for a number out of range.
    pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<LimitCounts> {
        let mut counts = LimitCounts::default();
        for (name, value) in dict(given, "names of limits to numbers")? {
            let name: Text<OfCall> = name.extract()?;
            let Count(count) = value.extract()?;
            let is_narrow = *name == *"max_states";
            if is_narrow && u32::try_from(count).is_err() {
                let given = &*name;
                return Err(invalid(format!("{given} is {count}, expected at most 2**32 - 1")));
            }
            if !LimitCounts::set(&mut Limits::default(), &name, count) {
                let expected = match nearest_name(&name, LIMITS) {
                    Some((_, meant)) => format!("did you mean {meant:?}?"),
                    None => format!("the limits are {}", LIMITS.join(", ")),
                };
                return Err(PyTypeError::new_err(format!("no limit is named {:?}; {expected}", &*name)));
            }
            counts.0.push((name.0, count));
        }
        Ok(counts)
    }

    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for (name, count) in &self.0 {
            LimitCounts::set(&mut limits, name, *count);
        }
        limits
    }

    /// Sets the limit of a name; whether there is one.
    fn set(limits: &mut Limits, name: &str, count: usize) -> bool {
        match name {
            "compile_fuel" => limits.compile_fuel = count as u64,
            "compile_bytes" => limits.compile_bytes = count as u64,
            "max_threads" => limits.max_threads = count,
            "max_calls" => limits.max_calls = count,
            "mask_work" => limits.mask_work = Some(count as u64),
            "row_cache_bytes" => limits.row_cache_bytes = count,
            "automaton_bytes" => limits.automaton_bytes = count,
            "machine_bytes" => limits.machine_bytes = count,
            "memory_bytes" => limits.memory_bytes = count,
            "max_states" => limits.max_states = u32::try_from(count).unwrap_or(u32::MAX),
            "max_residue_size" => limits.max_residue_size = count as u64,
            "liveness_fuel" => limits.liveness_fuel = count as u64,
            "infill_work" => limits.infill_work = count as u64,
            "max_positions" => limits.max_positions = count,
            _ => return false,
        }
        true
    }
}
