//! `Matcher.likeliest`: the likeliest text, given scores for each of many positions.
//!
//! Arrays and tensors of any type and device become contiguous arrays in Python (`maskwright/_scores.py`);
//! here their rows become positions.

use maskwright::{LikeliestConfig, LikeliestStatus, PositionScores, TokenId};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arguments::{Count, Int, ints, wrong_type};
use crate::errors::{deprecated, invalid};

/// The likeliest text that `Matcher.likeliest` found.
#[pyclass(frozen, module = "maskwright", get_all)]
pub(crate) struct Likeliest {
    /// A token for each position, padding after the end of the text included.
    token_ids: Vec<u32>,
    /// The sum of the logarithms of their probabilities; minus infinity if the model forbids one of them. A
    /// token outside the candidates counts with the largest score that it can have.
    log_probability: f64,
    /// "exact" if no text is likelier; "bound" if there may be one, because the beam left states out, or a
    /// token is not among the candidates.
    status: &'static str,
    /// How many of the tokens are the text, its end-of-sequence token included.
    n_tokens: usize,
    /// Whether the text ends within the positions.
    is_complete: bool,
}

#[pymethods]
impl Likeliest {
    /// The same as `token_ids`. Deprecated.
    #[getter]
    fn ids(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        deprecated(py, "Likeliest.ids", "Likeliest.token_ids")?;
        Ok(self.token_ids.clone())
    }

    fn __repr__(&self) -> String {
        let Likeliest { token_ids, log_probability, status, n_tokens, is_complete } = self;
        let is_complete = if *is_complete { "True" } else { "False" };
        format!(
            "Likeliest(token_ids={token_ids:?}, log_probability={log_probability}, status={status:?}, n_tokens={n_tokens}, is_complete={is_complete})"
        )
    }
}

impl From<maskwright::Likeliest> for Likeliest {
    fn from(found: maskwright::Likeliest) -> Likeliest {
        Likeliest {
            token_ids: ints(found.token_ids),
            log_probability: found.log_probability,
            status: match found.status {
                LikeliestStatus::Exact => "exact",
                LikeliestStatus::Bound => "bound",
            },
            n_tokens: found.n_tokens,
            is_complete: found.is_complete,
        }
    }
}

/// The options of a search.
///
/// # Errors
/// ValueError if the beam is 0 or the padding no id.
pub(crate) fn config(
    Count(beam): Count,
    max_tokens: Option<Count>,
    padding: Option<Int>,
) -> PyResult<LikeliestConfig> {
    if beam == 0 {
        return Err(invalid("beam is 0, expected at least 1"));
    }
    let padding = match padding {
        None => None,
        Some(Int(id)) => Some(TokenId(
            u32::try_from(id).map_err(|_| invalid(format!("padding is {id}, expected the id of a token")))?,
        )),
    };
    let mut config = LikeliestConfig::default();
    config.beam = beam;
    config.max_tokens = max_tokens.map(|Count(limit)| limit);
    config.padding = padding;
    Ok(config)
}

/// The best tokens of each position: their ids and their log-probabilities, both arrays or tensors.
pub(crate) struct Pair<'py>(Bound<'py, PyAny>, Bound<'py, PyAny>);

impl<'py> FromPyObject<'_, 'py> for Pair<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Pair<'py>> {
        match object.extract() {
            Ok((ids, log_probabilities)) => Ok(Pair(ids, log_probabilities)),
            Err(_) => Err(wrong_type(&object, "a pair (a tuple) of ids and log-probabilities")),
        }
    }
}

/// Scores of several texts, as contiguous arrays of shape (batch, positions, …).
pub(crate) struct Scores<'py> {
    logits: Option<PyReadonlyArrayDyn<'py, f32>>,
    candidates: Option<(PyReadonlyArrayDyn<'py, u32>, PyReadonlyArrayDyn<'py, f32>)>,
    n_texts: usize,
}

impl<'py> Scores<'py> {
    /// # Errors
    /// TypeError for other types than arrays and tensors of numbers, ValueError for shapes that do not fit.
    pub(crate) fn new(
        py: Python<'py>,
        logits: Option<Bound<'py, PyAny>>,
        candidates: Option<Pair<'py>>,
        n_texts: usize,
    ) -> PyResult<Scores<'py>> {
        let module = py.import("maskwright._scores")?;
        let candidates = candidates.map(|Pair(ids, log_probabilities)| (ids, log_probabilities));
        let arrays = module.call_method1("arrays", (logits, candidates, n_texts))?;
        type Arrays<'py> = (
            Option<PyReadonlyArrayDyn<'py, f32>>,
            Option<(PyReadonlyArrayDyn<'py, u32>, PyReadonlyArrayDyn<'py, f32>)>,
        );
        let (logits, candidates): Arrays<'py> = arrays.extract()?;
        Ok(Scores { logits, candidates, n_texts })
    }

    /// Checks that there is a logit for each token.
    ///
    /// # Errors
    /// ValueError if there are fewer: then they are of a model with another tokenizer.
    pub(crate) fn check_width(&self, n_vocab: usize) -> PyResult<()> {
        let width = self.logits.as_ref().and_then(|logits| logits.shape().last().copied());
        match width.filter(|&width| width < n_vocab) {
            None => Ok(()),
            Some(width) => Err(invalid(format!(
                "the logits are of {width} tokens, but the grammar was compiled for a tokenizer of {n_vocab} tokens"
            ))),
        }
    }

    /// The positions of each text.
    ///
    /// # Errors
    /// None: the arrays are contiguous.
    pub(crate) fn positions(&self) -> PyResult<Vec<Vec<PositionScores<'_>>>> {
        let shape = match (&self.logits, &self.candidates) {
            (Some(logits), _) => logits.shape(),
            (None, Some((ids, _))) => ids.shape(),
            (None, None) => return Ok(Vec::new()),
        };
        let n_positions = shape[1];
        let logits = self.logits.as_ref().map(|array| rows(array)).transpose()?;
        let candidates = match &self.candidates {
            Some((ids, scores)) => Some((rows(ids)?, rows(scores)?)),
            None => None,
        };
        let position = |at: usize| {
            let logits = logits.as_ref().map(|rows| rows[at]);
            match (&candidates, logits) {
                (Some((ids, scores)), _) => {
                    PositionScores::Candidates { ids: ids[at], log_probabilities: scores[at], logits }
                }
                (None, logits) => PositionScores::Logits(logits.unwrap_or_default()),
            }
        };
        let texts = (0..self.n_texts).map(|text| text * n_positions..(text + 1) * n_positions);
        Ok(texts.map(|places| places.map(position).collect()).collect())
    }
}

/// The rows of an array along its last dimension.
fn rows<'a, T: numpy::Element>(array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<Vec<&'a [T]>> {
    let width = array.shape().last().copied().unwrap_or_default();
    let all = array.as_slice().map_err(|error| invalid(error.to_string()))?;
    Ok(match width {
        0 => vec![&[]; array.shape()[0] * array.shape()[1]],
        _ => all.chunks_exact(width).collect(),
    })
}
