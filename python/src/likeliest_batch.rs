//! `likeliest_batch`: `Matcher.likeliest` for many texts at once.

use maskwright::debug::counted;
use maskwright::{LikeliestConfig, PositionScores};
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::arguments::{Count, Int, List};
use crate::batch::{self, OneMatcher, batch_error, in_parallel};
use crate::errors::invalid;
use crate::interrupt::stoppable;
use crate::likeliest::{Likeliest, Pair, Scores, config};
use crate::matcher::Matcher;

/// `Matcher.likeliest` for many texts, in parallel, with the interpreter released.
///
/// `logits` are of shape (batch, positions, vocabulary), both `candidates` of shape (batch, positions, k),
/// and `max_tokens` is one number for all texts or a list with one for each (None where the text is to be
/// complete within the positions).
///
/// Raises BatchError if some of them fail; its `errors` is a dict from the number of the text to the
/// exception that `likeliest` would have raised.
#[pyfunction]
#[pyo3(signature = (matchers, logits=None, *, beam=Count(32), max_tokens=None, candidates=None, padding=None))]
#[pyo3(
    text_signature = "(matchers, logits=None, *, beam=32, max_tokens=None, candidates=None, padding=None)"
)]
pub(crate) fn likeliest_batch(
    py: Python<'_>,
    matchers: List<OneMatcher>,
    logits: Option<Bound<'_, PyAny>>,
    beam: Count,
    max_tokens: Option<OneOrMany>,
    candidates: Option<Pair<'_>>,
    padding: Option<Int>,
) -> PyResult<Vec<Likeliest>> {
    let scores = Scores::new(py, logits, candidates, matchers.0.len())?;
    let matchers: Vec<&Matcher> = matchers.0.iter().map(OneMatcher::get).collect();
    let limits: Vec<Option<Count>> = match max_tokens {
        None => matchers.iter().map(|_| None).collect(),
        Some(OneOrMany::One(Count(limit))) => matchers.iter().map(|_| Some(Count(limit))).collect(),
        Some(OneOrMany::Many(limits)) if limits.len() == matchers.len() => limits,
        Some(OneOrMany::Many(limits)) => {
            return Err(invalid(format!(
                "there are {} for {}",
                counted(limits.len(), "limit"),
                counted(matchers.len(), "matcher")
            )));
        }
    };
    let config = config(beam, None, padding)?;
    for matcher in &matchers {
        scores.check_width(matcher.session().grammar().vocabulary().n_vocab())?;
    }
    let mut jobs = Vec::new();
    for (row, (positions, limit)) in scores.positions()?.into_iter().zip(limits).enumerate() {
        let mut config = config.clone();
        config.max_tokens = limit.map(|Count(limit)| limit);
        jobs.push(Job { row, matcher: matchers[row], positions, config, found: None });
    }
    let n_threads = batch::n_threads(matchers.iter().copied());
    let failed = stoppable(py, || {
        in_parallel(&mut jobs, n_threads, |job| {
            let found = || job.matcher.session().likeliest(&job.positions, &job.config);
            match batch::caught(found) {
                Ok(found) => {
                    job.found = Some(found);
                    None
                }
                Err(failure) => Some((job.row, failure)),
            }
        })
    })?;
    if !failed.is_empty() {
        return Err(batch_error(py, failed)?);
    }
    Ok(jobs.into_iter().filter_map(|job| job.found.map(Likeliest::from)).collect())
}

/// A text to be found.
struct Job<'a> {
    row: usize,
    matcher: &'a Matcher,
    positions: Vec<PositionScores<'a>>,
    config: LikeliestConfig,
    found: Option<maskwright::Likeliest>,
}

/// A limit for all texts, or one for each.
pub(crate) enum OneOrMany {
    One(Count),
    Many(Vec<Option<Count>>),
}

impl<'py> FromPyObject<'_, 'py> for OneOrMany {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<OneOrMany> {
        match object.extract::<Count>() {
            Ok(limit) => Ok(OneOrMany::One(limit)),
            Err(error) if object.is_instance_of::<PyInt>() => Err(error),
            Err(_) => object.extract::<List<Option<Count>>>().map(|limits| OneOrMany::Many(limits.0)),
        }
    }
}
