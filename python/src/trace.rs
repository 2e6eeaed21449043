//! `maskwright.Trace`: what happened in a generation, as a page to look at.

use maskwright::TokenId;
use maskwright_decode::{SearchOutcome, asked_step, branches, chosen_step, text_regions};
use maskwright_trace::{Step, Trace};
use pyo3::prelude::*;

use crate::arguments::wrong_type;

/// The steps of a trace.
#[pyclass(module = "maskwright")]
pub(crate) struct TraceSteps {
    trace: Trace,
    /// The next step, while its token is not known.
    asked: Option<Step>,
    /// The session before the first step.
    start: Option<maskwright::Matcher>,
    tokenizer: Option<maskwright::Tokenizer>,
}

#[pymethods]
impl TraceSteps {
    #[new]
    fn new(title: String, model: Option<String>, prompt: Option<String>) -> TraceSteps {
        let trace = Trace { title, model, prompt, ..Trace::default() };
        TraceSteps { trace, asked: None, start: None, tokenizer: None }
    }

    /// Brings the steps to the tokens of the text, up to one of `ends`; by default those of the tokenizer. A token that differs takes the
    /// place of the one that was there, and those after it are forgotten.
    #[pyo3(signature = (tokens, ends=None))]
    fn follow(&mut self, tokens: Vec<u32>, ends: Option<Vec<u32>>) {
        let steps = &mut self.trace.steps;
        let n_same = steps.iter().zip(&tokens).take_while(|(step, token)| step.token == **token).count();
        if steps.get(n_same).is_none() && steps.last().is_some_and(|last| last.is_end) {
            return;
        }
        if let Some(other) = steps.drain(n_same..).next() {
            self.asked = Some(other);
        }
        for &token in &tokens[n_same..] {
            let step = self.asked.take().unwrap_or_default();
            self.choose(step, token, ends.as_deref());
            if self.trace.steps.last().is_some_and(|last| last.is_end) {
                break;
            }
        }
    }

    /// Notes one more token.
    fn answer(&mut self, token: u32) {
        let step = self.asked.take().unwrap_or_default();
        self.choose(step, token, None);
    }

    /// Forgets all steps.
    fn clear(&mut self) {
        self.trace = Trace {
            title: std::mem::take(&mut self.trace.title),
            model: self.trace.model.take(),
            prompt: self.trace.prompt.take(),
            ..Trace::default()
        };
        (self.asked, self.start) = (None, None);
    }

    fn __len__(&self) -> usize {
        self.trace.steps.len()
    }

    /// The tokens that were noted.
    fn token_ids(&self) -> Vec<u32> {
        self.trace.steps.iter().map(|step| step.token).collect()
    }

    /// The page.
    fn html(&self) -> String {
        self.shown().html()
    }

    /// One line for each token.
    fn text(&self) -> String {
        self.shown().to_text()
    }

    /// Coloured text for a terminal.
    fn ansi(&self) -> String {
        self.shown().to_ansi()
    }

    /// What the grammar cut off of the model's probability, in nats; None if nothing was measured.
    fn cost_nats(&self) -> Option<f64> {
        self.shown().cost_nats()
    }
}

impl TraceSteps {
    /// Whether no token was noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.trace.steps.is_empty()
    }

    /// Takes a step whose token is not known yet; `start` is the session before the first one.
    pub(crate) fn ask(
        &mut self,
        step: Step,
        start: Option<maskwright::Matcher>,
        tokenizer: Option<maskwright::Tokenizer>,
    ) {
        if self.is_empty() {
            self.start = start;
        }
        (self.asked, self.tokenizer) = (Some(step), tokenizer);
    }

    /// The steps of a `maskwright.Trace`.
    ///
    /// # Errors
    /// TypeError if it is something else.
    pub(crate) fn of<'py>(trace: &Bound<'py, PyAny>) -> PyResult<Bound<'py, TraceSteps>> {
        let steps = trace.getattr("_steps").ok().and_then(|steps| steps.cast_into::<TraceSteps>().ok());
        steps.ok_or_else(|| wrong_type(trace, "a Trace (or None)"))
    }

    /// Shows a search in the place of what was there.
    ///
    /// # Errors
    /// If the session, which stands where the search began, reaches a limit.
    pub(crate) fn show_search(
        &mut self,
        outcome: &SearchOutcome,
        mut matcher: maskwright::Matcher,
        tokenizer: &maskwright::Tokenizer,
    ) -> Result<(), maskwright::Error> {
        self.clear();
        self.start = Some(matcher.fork());
        self.tokenizer = Some(tokenizer.clone());
        self.trace.tree = branches(outcome, Some(tokenizer));
        let Some(best) = outcome.best() else { return Ok(()) };
        for &id in best.tokens.iter().chain(&best.eos_id) {
            let step = asked_step(None, Some(&matcher), Some(tokenizer))?;
            let is_end = best.eos_id == Some(id) && self.trace.steps.len() == best.tokens.len();
            self.trace.steps.push(chosen_step(step, id, is_end, Some(tokenizer)));
            matcher.accept_token(id)?;
        }
        Ok(())
    }

    fn choose(&mut self, step: Step, token: u32, ends: Option<&[u32]>) {
        let (id, tokenizer) = (TokenId(token), self.tokenizer.as_ref());
        let is_end = match ends {
            Some(ends) => ends.contains(&token),
            None => tokenizer.is_some_and(|tokenizer| tokenizer.eos_token_ids().contains(&id)),
        };
        self.trace.steps.push(chosen_step(step, id, is_end, tokenizer));
    }

    /// The trace with its regions, and with the last token if no other was possible: hosts do not tell it.
    fn shown(&self) -> Trace {
        let mut trace = self.trace.clone();
        if let Some(step) = self.asked.as_ref().filter(|step| step.is_forced)
            && let Some(only) = step.allowed.first()
        {
            let (id, tokenizer) = (TokenId(only.token), self.tokenizer.as_ref());
            let is_end = tokenizer.is_some_and(|tokenizer| tokenizer.eos_token_ids().contains(&id));
            trace.steps.push(chosen_step(step.clone(), id, is_end, tokenizer));
        }
        if let Some(start) = &self.start {
            trace.regions = text_regions(start, &trace.steps, 0);
        }
        trace
    }
}
