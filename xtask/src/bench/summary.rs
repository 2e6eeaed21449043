//! What one engine wrote about MaskBench, and the figures of it.
//!
//! Times are compared over the schemas that all engines compile, so that refusing the hard ones wins nothing;
//! verdicts are counted over all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

/// The outcome of one engine.
pub(crate) struct Outcome {
    pub(crate) name: String,
    /// By the schema's id; `None` if it was refused.
    schemas: BTreeMap<String, Option<Schema>>,
    /// Peak memory beyond the loaded engine, in MiB.
    pub(crate) memory: f64,
}

struct Schema {
    compile: f64,
    /// Compile, matcher and first mask.
    first: f64,
    cold: Vec<f64>,
    warm: Vec<f64>,
    commits: Vec<f64>,
    verdicts: Verdicts,
}

/// Instances by what they are and what became of them.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdicts {
    pub(crate) valid_accepted: usize,
    pub(crate) valid_refused: usize,
    pub(crate) invalid_refused: usize,
    pub(crate) invalid_accepted: usize,
}

/// The times that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Measure {
    Compile,
    First,
    ColdMask,
    WarmMask,
    Commit,
}

impl Measure {
    pub(crate) const ALL: [Measure; 5] =
        [Measure::Compile, Measure::First, Measure::ColdMask, Measure::WarmMask, Measure::Commit];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Measure::Compile => "compile",
            Measure::First => "compile + matcher + first mask",
            Measure::ColdMask => "mask, cold",
            Measure::WarmMask => "mask, warm",
            Measure::Commit => "commit",
        }
    }
}

impl Outcome {
    /// Reads what the replaying program wrote.
    ///
    /// # Errors
    /// If the file cannot be read or is not of that form.
    pub(crate) fn read(name: &str, file: &Path) -> anyhow::Result<Outcome> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        Outcome::parse(name, &text).with_context(|| format!("in {}", file.display()))
    }

    fn parse(name: &str, text: &str) -> anyhow::Result<Outcome> {
        let mut outcome = Outcome { name: name.to_owned(), schemas: BTreeMap::new(), memory: f64::NAN };
        for line in text.lines() {
            let line: Value = serde_json::from_str(line)?;
            if let Some(memory) = line["memory"].as_f64() {
                outcome.memory = memory;
                continue;
            }
            let Some(id) = line["id"].as_str() else { bail!("a line without an id: {line}") };
            let schema = line["error"].is_null().then(|| Schema::parse(&line));
            outcome.schemas.insert(id.to_owned(), schema);
        }
        Ok(outcome)
    }

    pub(crate) fn n_schemas(&self) -> usize {
        self.schemas.len()
    }

    /// The ids of the schemas that were compiled.
    pub(crate) fn compiled(&self) -> BTreeSet<&str> {
        self.schemas.iter().filter(|(_, schema)| schema.is_some()).map(|(id, _)| id.as_str()).collect()
    }

    /// How many schemas were compiled and all their instances judged right.
    pub(crate) fn n_passing(&self) -> usize {
        let is_right = |verdicts: Verdicts| verdicts.valid_refused + verdicts.invalid_accepted == 0;
        self.schemas.values().flatten().filter(|schema| is_right(schema.verdicts)).count()
    }

    pub(crate) fn verdicts(&self) -> Verdicts {
        self.schemas.values().flatten().fold(Verdicts::default(), |sum, schema| sum.plus(schema.verdicts))
    }

    /// The times of one kind, ascending, over the given schemas and their valid instances.
    pub(crate) fn times(&self, measure: Measure, ids: &BTreeSet<&str>) -> Vec<f64> {
        let chosen = self.schemas.iter().filter(|(id, _)| ids.contains(id.as_str()));
        let mut times: Vec<f64> = Vec::new();
        for schema in chosen.filter_map(|(_, schema)| schema.as_ref()) {
            match measure {
                Measure::Compile => times.push(schema.compile),
                Measure::First => times.push(schema.first),
                Measure::ColdMask => times.extend(&schema.cold),
                Measure::WarmMask => times.extend(&schema.warm),
                Measure::Commit => times.extend(&schema.commits),
            }
        }
        times.sort_by(f64::total_cmp);
        times
    }
}

impl Schema {
    fn parse(line: &Value) -> Schema {
        let tests = || line["tests"].as_array().into_iter().flatten();
        let times = |name: &str| tests().flat_map(|test| numbers(&test[name])).collect();
        let verdicts = tests().fold(Verdicts::default(), |sum, test| {
            sum.plus(Verdicts::of(test["valid"] == Value::Bool(true), test["accepted"] == Value::Bool(true)))
        });
        Schema {
            compile: line["compile"].as_f64().unwrap_or(f64::NAN),
            first: line["first"].as_f64().unwrap_or(f64::NAN),
            cold: times("cold"),
            warm: times("warm"),
            commits: times("commits"),
            verdicts,
        }
    }
}

fn numbers(list: &Value) -> impl Iterator<Item = f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64)
}

impl Verdicts {
    fn of(is_valid: bool, is_accepted: bool) -> Verdicts {
        let mut verdicts = Verdicts::default();
        match (is_valid, is_accepted) {
            (true, true) => verdicts.valid_accepted = 1,
            (true, false) => verdicts.valid_refused = 1,
            (false, false) => verdicts.invalid_refused = 1,
            (false, true) => verdicts.invalid_accepted = 1,
        }
        verdicts
    }

    fn plus(self, other: Verdicts) -> Verdicts {
        Verdicts {
            valid_accepted: self.valid_accepted + other.valid_accepted,
            valid_refused: self.valid_refused + other.valid_refused,
            invalid_refused: self.invalid_refused + other.invalid_refused,
            invalid_accepted: self.invalid_accepted + other.invalid_accepted,
        }
    }
}

/// The element at floor(q (n - 1)) of ascending `times`; `NaN` of none.
pub(crate) fn quantile(times: &[f64], q: f64) -> f64 {
    match times.len().checked_sub(1) {
        Some(last) => times[(last as f64 * q) as usize],
        None => f64::NAN,
    }
}

pub(crate) fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_program_writes() {
        let text = concat!(
            r#"{"id": "a", "compile": 3.0, "first": 5.0, "tests": [{"valid": true, "accepted": true, "#,
            r#""cold": [2.0, 1.0], "warm": [0.5, 0.5], "commits": [0.1, 0.2]}, {"valid": false, "accepted": true}]}"#,
            "\n",
            r#"{"id": "b", "error": "no"}"#,
            "\n",
            r#"{"memory": 7.5}"#,
        );
        let outcome = Outcome::parse("x", text).unwrap();
        assert_eq!((outcome.n_schemas(), outcome.n_passing(), outcome.memory), (2, 0, 7.5));
        let ids = outcome.compiled();
        assert_eq!(ids.iter().copied().collect::<Vec<_>>(), ["a"]);
        assert_eq!(outcome.times(Measure::ColdMask, &ids), [1.0, 2.0]);
        assert_eq!(
            outcome.verdicts(),
            Verdicts { valid_accepted: 1, invalid_accepted: 1, ..Verdicts::default() }
        );
        assert!(Outcome::parse("x", "{}").is_err());
    }

    #[test]
    fn quantiles_are_elements() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.99), 2.0);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
