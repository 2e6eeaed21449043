//! `maskwright.Trace`: what happened in a generation, as a page to look at.
//!
//! Arrays and tensors become contiguous rows in Python (`maskwright/_trace.py`).

use maskwright::TokenId;
use maskwright_decode::{Candidate, Candidates};
use maskwright_trace::{N_CANDIDATES, Step, Trace};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::matcher::Matcher;
use crate::tokenizer::Tokenizer;

/// The steps of a trace.
#[pyclass(module = "maskwright")]
pub(crate) struct TraceSteps {
    trace: Trace,
}

#[pymethods]
impl TraceSteps {
    #[new]
    fn new(title: String, model: Option<String>, prompt: Option<String>) -> TraceSteps {
        TraceSteps { trace: Trace { title, model, prompt, ..Trace::default() } }
    }

    /// Notes a token, with the model's logits and the mask that it was taken with: packed words, or None if all were allowed.
    #[pyo3(signature = (logits, mask, token, matcher=None, tokenizer=None))]
    fn step(
        &mut self,
        py: Python<'_>,
        logits: PyReadonlyArray1<'_, f32>,
        mask: Option<PyReadonlyArray1<'_, u32>>,
        token: u32,
        matcher: Option<&Bound<'_, Matcher>>,
        tokenizer: Option<&Bound<'_, Tokenizer>>,
    ) -> PyResult<()> {
        let logits = logits.as_slice()?;
        let all = vec![u32::MAX; logits.len().div_ceil(32)];
        let mask = mask.as_ref().map_or(Ok(&all[..]), PyReadonlyArray1::as_slice)?;
        let Candidates { wanted, allowed, n_allowed, allowed_mass } =
            Candidates::of(logits, mask, N_CANDIDATES);
        let tokenizer = tokenizer.map(|tokenizer| tokenizer.get().0.clone());
        let text = |id: TokenId| {
            tokenizer.as_ref().and_then(|tokenizer| tokenizer.token_bytes(id)).map(<[u8]>::to_vec)
        };
        let name = |id: TokenId| match &tokenizer {
            Some(tokenizer) => tokenizer.vocabulary().name(id).map(str::to_owned),
            None => Some(format!("#{}", id.0)),
        };
        let shown = |candidate: Candidate| -> PyResult<maskwright_trace::Candidate> {
            let Candidate { id, probability, is_allowed } = candidate;
            let why = match matcher.filter(|_| !is_allowed) {
                Some(matcher) => matcher.get().why_refused(py, id)?,
                None => None,
            };
            let (text, name) = (text(id).unwrap_or_default(), name(id));
            Ok(maskwright_trace::Candidate { token: id.0, text, name, probability, is_allowed, why })
        };
        let (path, tokens_left) = match matcher {
            Some(matcher) => matcher.get().place(py)?,
            None => (None, None),
        };
        let id = TokenId(token);
        let is_end = tokenizer.as_ref().is_some_and(|tokenizer| tokenizer.eos_token_ids().contains(&id));
        let bytes = text(id).filter(|_| !is_end).unwrap_or_default();
        let step = Step {
            token,
            name: name(id).filter(|_| is_end || bytes.is_empty()),
            text: bytes,
            is_forced: n_allowed == 1,
            is_end,
            allowed_mass: Some(allowed_mass),
            n_allowed: Some(n_allowed as u64),
            wanted: wanted.into_iter().map(shown).collect::<PyResult<_>>()?,
            allowed: allowed.into_iter().map(shown).collect::<PyResult<_>>()?,
            path,
            mask_us: None,
            tokens_left,
        };
        self.trace.steps.push(step);
        Ok(())
    }

    fn __len__(&self) -> usize {
        self.trace.steps.len()
    }

    /// The page.
    fn html(&self) -> String {
        self.trace.html()
    }

    /// One line for each token.
    fn text(&self) -> String {
        self.trace.to_text()
    }

    /// Coloured text for a terminal.
    fn ansi(&self) -> String {
        self.trace.to_ansi()
    }

    /// What the grammar cut off of the model's probability, in nats; None if nothing was measured.
    fn cost_nats(&self) -> Option<f64> {
        self.trace.cost_nats()
    }
}
