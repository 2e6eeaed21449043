//! The limits of a compiler, as Python gives them.

use maskwright::Limits;
use maskwright::debug::nearest_name;
use pyo3::exceptions::{PyDeprecationWarning, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Count, OfCall, Text, dict};
use crate::errors::{LIMITS, invalid, warn};

/// The key of the limits that few users need, and these.
const ADVANCED: &str = "advanced";
const ADVANCED_LIMITS: [&str; 9] = [
    "compile_bytes",
    "max_threads",
    "max_calls",
    "max_states",
    "max_residue_size",
    "liveness_fuel",
    "row_cache_bytes",
    "automaton_bytes",
    "machine_bytes",
];

/// Limits as given in Python.
#[derive(Default)]
pub(crate) struct LimitCounts(Vec<(&'static str, usize)>);

impl LimitCounts {
    /// Reads a dict from names of limits to numbers, with another such dict as `"advanced"`.
    ///
    /// # Errors
    /// TypeError for other types and for names of no limit, ValueError for a number out of range.
    pub(crate) fn read(given: &Bound<'_, PyAny>) -> PyResult<LimitCounts> {
        let mut counts = LimitCounts::default();
        for (name, value) in dict(given, "names of limits to numbers")? {
            let name: Text<OfCall> = name.extract()?;
            if *name == *ADVANCED {
                for (name, value) in dict(&value, "names of limits to numbers")? {
                    let name: Text<OfCall> = name.extract()?;
                    counts.add(named(&name, &ADVANCED_LIMITS)?, &value)?;
                }
                continue;
            }
            let known = if *name == *"compile_fuel" {
                warn::<PyDeprecationWarning>(
                    given.py(),
                    "the limit compile_fuel is called compile_work now",
                )?;
                "compile_work"
            } else if let Some(known) = ADVANCED_LIMITS.iter().find(|known| ***known == *name) {
                let now = format!("{{\"{ADVANCED}\": {{\"{known}\": …}}}}");
                warn::<PyDeprecationWarning>(
                    given.py(),
                    &format!("the limit {known} is given as {now} now"),
                )?;
                known
            } else {
                named(&name, &[&LIMITS[..], &[ADVANCED]].concat())?
            };
            counts.add(known, &value)?;
        }
        Ok(counts)
    }

    fn add(&mut self, name: &'static str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let Count(count) = value.extract()?;
        if name == "max_states" && u32::try_from(count).is_err() {
            return Err(invalid(format!("{name} is {count}, expected at most 2**32 - 1")));
        }
        self.0.push((name, count));
        Ok(())
    }

    /// The dict that gives these limits.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (all, advanced) = (PyDict::new(py), PyDict::new(py));
        for (name, count) in &self.0 {
            let is_advanced = ADVANCED_LIMITS.contains(name);
            if is_advanced { &advanced } else { &all }.set_item(name, count)?;
        }
        if !advanced.is_empty() {
            all.set_item(ADVANCED, advanced)?;
        }
        Ok(all)
    }

    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        for &(name, count) in &self.0 {
            match name {
                "compile_work" => limits.compile_work = count as u64,
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
                _ => limits.max_positions = count,
            }
        }
        limits
    }
}

/// The limit of this name.
///
/// # Errors
/// TypeError if it is not among `names`.
fn named(name: &str, names: &[&'static str]) -> PyResult<&'static str> {
    if let Some(known) = names.iter().find(|known| **known == name) {
        return Ok(known);
    }
    let expected = match nearest_name(name, names.iter().copied()) {
        Some((_, meant)) => format!("did you mean {meant:?}?"),
        None => format!("the limits are {}", names.join(", ")),
    };
    Err(PyTypeError::new_err(format!("no limit is named {name:?}; {expected}")))
}
