//! `Matcher.search`: searches over many texts, with the caller's model.
//!
//! A search runs without the interpreter, and takes it for each call of the model. What that raises ends the
//! search and comes out of it; so does Ctrl-C.

use std::collections::HashMap;
use std::error::Error as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use maskwright::TokenId;
use maskwright_decode::{
    ConstraintError, DecodeError, GrammarConstraint, LanguageModel, Logits, ModelError, SamplerConfig,
    SearchConfig, SearchOutcome, SequenceId, SequenceInput, Strategy,
};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::arguments::ints;
use crate::errors::{deprecated, exception, invalid};
use crate::interrupt::unless_interrupted;
use crate::work::outside;

/// A text that `Matcher.search` found.
#[pyclass(frozen, module = "maskwright", get_all)]
pub(crate) struct Hypothesis {
    /// The tokens after the prompt, with the end-of-sequence token if the text has one.
    token_ids: Vec<u32>,
    /// The sum of the logarithms of the model's probabilities for them.
    log_probability: f64,
    /// Whether the text is whole; False if it was cut off at 256 tokens, which only happens without
    /// `max_tokens`.
    is_complete: bool,
}

#[pymethods]
impl Hypothesis {
    /// The same as `log_probability`. Deprecated.
    #[getter]
    fn log_likelihood(&self, py: Python<'_>) -> PyResult<f64> {
        deprecated(py, "Hypothesis.log_likelihood", "Hypothesis.log_probability")?;
        Ok(self.log_probability)
    }

    fn __repr__(&self) -> String {
        format!(
            "Hypothesis(token_ids={:?}, log_probability={}, is_complete={})",
            self.token_ids,
            self.log_probability,
            if self.is_complete { "True" } else { "False" }
        )
    }
}

/// How to search.
pub(crate) struct Options {
    pub(crate) strategy: String,
    pub(crate) tries: Option<NonZeroUsize>,
    pub(crate) temperature: f32,
    pub(crate) seed: u64,
}

/// The most tokens of a text if the session has no limit.
const MAX_TOKENS: usize = 256;

/// The most tokens that a text can have with its prompt; the caller's model says when it has enough.
const CONTEXT_LENGTH: usize = 1 << 24;

/// Searches for texts that go on from where `matcher` stands; the best first, with all that was tried.
///
/// # Errors
/// What the model raised, ValueError for wrong options, and what the session gives.
pub(crate) fn search(
    py: Python<'_>,
    matcher: maskwright::Matcher,
    tokenizer: &maskwright::Tokenizer,
    logits_fn: Py<PyAny>,
    prompt_ids: &[TokenId],
    options: &Options,
) -> PyResult<(Vec<Hypothesis>, SearchOutcome)> {
    let left = matcher.max_tokens().map_or(MAX_TOKENS, |limit| limit.saturating_sub(matcher.n_tokens()));
    // Stop tokens of the session included.
    let eos_ids = matcher.grammar().vocabulary().eos_token_ids().to_vec();
    let search = SearchConfig { max_tokens: left, eos_ids };
    let constraint = GrammarConstraint::new(matcher, tokenizer);
    let sampler =
        SamplerConfig { temperature: options.temperature, seed: options.seed, ..SamplerConfig::default() };
    let Some(strategy) = Strategy::named(&options.strategy, options.tries, sampler) else {
        let (given, names) = (&options.strategy, Strategy::NAMES);
        return Err(invalid(format!("strategy is {given:?}, expected one of {names:?}")));
    };
    let mut model = PythonModel {
        logits_fn,
        n_vocab: tokenizer.n_vocab(),
        sequences: HashMap::new(),
        next: 0,
        raised: None,
    };
    let mut interrupted = None;
    let outcome = unless_interrupted(py, || {
        strategy.run(&mut model, &constraint, prompt_ids, &search, &mut |_| match outside(|| {
            Python::attach(|py| py.check_signals())
        }) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                interrupted = Some(error);
                ControlFlow::Break(())
            }
        })
    })?;
    if let Some(error) = model.raised.or(interrupted) {
        return Err(error);
    }
    let (outcome, _) = outcome.map_err(|error| raised(py, &error))?;
    let found = outcome.texts.iter().map(|text| Hypothesis {
        is_complete: text.is_complete(),
        token_ids: ints(text.tokens.iter().copied().chain(text.eos_id)),
        log_probability: text.log_likelihood,
    });
    Ok((found.collect(), outcome))
}

/// The exception for an error of a search.
fn raised(py: Python<'_>, error: &DecodeError) -> PyErr {
    let cause = error.source().and_then(|source| source.downcast_ref::<ConstraintError>());
    match cause.and_then(|cause| cause.get_ref().downcast_ref::<maskwright::Error>()) {
        Some(cause) => exception(py, cause),
        None => invalid(match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        }),
    }
}

/// A model that is a Python function from sequences of tokens to rows of logits.
struct PythonModel {
    logits_fn: Py<PyAny>,
    n_vocab: usize,
    /// The tokens of each sequence.
    sequences: HashMap<SequenceId, Vec<u32>>,
    next: u32,
    /// What the function raised.
    raised: Option<PyErr>,
}

impl PythonModel {
    fn tokens(&mut self, sequence: SequenceId) -> Result<&mut Vec<u32>, ModelError> {
        self.sequences.get_mut(&sequence).ok_or_else(|| ModelError::new("there is no such sequence"))
    }

    fn add(&mut self, tokens: Vec<u32>) -> SequenceId {
        let sequence = SequenceId::new(self.next);
        self.next += 1;
        self.sequences.insert(sequence, tokens);
        sequence
    }

    /// A row of logits for each text, one after the other.
    fn logits(&self, texts: Vec<Vec<u32>>) -> PyResult<Vec<f32>> {
        outside(|| {
            Python::attach(|py| {
                let n_texts = texts.len();
                let given = self.logits_fn.call1(py, (texts,))?;
                let rows = py.import("maskwright._apply")?.getattr("_logits_rows")?;
                let rows: PyReadonlyArray2<'_, f32> =
                    rows.call1((given, n_texts, self.n_vocab))?.extract()?;
                Ok(rows.as_slice().map_err(|error| invalid(error.to_string()))?.to_vec())
            })
        })
    }
}

impl LanguageModel for PythonModel {
    fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    fn context_length(&self) -> usize {
        CONTEXT_LENGTH
    }

    fn create_sequence(&mut self) -> Result<SequenceId, ModelError> {
        Ok(self.add(Vec::new()))
    }

    fn fork_sequence(&mut self, sequence: SequenceId) -> Result<SequenceId, ModelError> {
        let tokens = self.tokens(sequence)?.clone();
        Ok(self.add(tokens))
    }

    fn release_sequence(&mut self, sequence: SequenceId) {
        self.sequences.remove(&sequence);
    }

    fn n_cached(&self, sequence: SequenceId) -> usize {
        self.sequences.get(&sequence).map_or(0, Vec::len)
    }

    fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) -> Result<(), ModelError> {
        self.tokens(sequence)?.truncate(n_tokens);
        Ok(())
    }

    fn forward(&mut self, batch: &[SequenceInput<'_>]) -> Result<Vec<Logits>, ModelError> {
        let mut texts = Vec::new();
        for input in batch {
            let mut text = self.tokens(input.sequence)?.clone();
            let first_asked = input.tokens.len() - input.n_logits;
            for (position, &token) in input.tokens.iter().enumerate() {
                text.push(token.0);
                if position >= first_asked {
                    texts.push(text.clone());
                }
            }
        }
        let n_vocab = self.n_vocab;
        let values = match texts.is_empty() {
            true => Vec::new(),
            false => self.logits(texts).map_err(|error| {
                self.raised = Some(error);
                ModelError::new("the function raised an exception")
            })?,
        };
        for input in batch {
            self.tokens(input.sequence)?.extend(input.tokens.iter().map(|token| token.0));
        }
        let mut rest = &values[..];
        let mut of_input = |input: &SequenceInput<'_>| {
            let (rows, after) = rest.split_at(input.n_logits * n_vocab);
            rest = after;
            Logits::new(rows.to_vec(), n_vocab)
        };
        Ok(batch.iter().map(&mut of_input).collect())
    }
}
