//! `maskwright.Trace`: what happened in a generation, as a page to look at.

use maskwright::TokenId;
use maskwright_decode::{SearchOutcome, asked_step, branches, chosen_step, text_regions};
use maskwright_trace::{Step, Trace};
use pyo3::prelude::*;

use crate::arguments::{OfCall, Text, wrong_type};

/// The steps of a trace.
#[pyclass(module = "maskwright", name = "_TraceSteps")]
pub(crate) struct TraceSteps {
    trace: Trace,
    /// The next step, while its token is not known.
    asked: Option<Step>,
    /// The session before the first step.
    start: Option<maskwright::Matcher>,
    tokenizer: Option<maskwright::Tokenizer>,
    /// The tokens that end texts; `None` for those of the tokenizer.
    ends: Option<Vec<u32>>,
}

#[pymethods]
impl TraceSteps {
    #[new]
    fn new(title: Text<OfCall>, model: Option<Text<OfCall>>, prompt: Option<Text<OfCall>>) -> TraceSteps {
        let [model, prompt] = [model, prompt].map(|text| text.map(|text| text.0));
        let trace = Trace { title: title.0, model, prompt, ..Trace::default() };
        TraceSteps { trace, asked: None, start: None, tokenizer: None, ends: None }
    }

    /// Makes the steps those of a text. From the first token that differs on, the old steps are forgotten.
    /// `ends` are the tokens that end texts.
    fn follow(&mut self, tokens: Vec<u32>, ends: Vec<u32>) {
        let steps = &mut self.trace.steps;
        let n_same = steps.iter().zip(&tokens).take_while(|(step, token)| step.token == **token).count();
        if let Some(other) = steps.drain(n_same..).next() {
            self.asked = Some(other);
        }
        self.ends = Some(ends);
        for &token in &tokens[n_same..] {
            self.answer(token);
        }
    }

    /// Notes one more token.
    fn answer(&mut self, token: u32) {
        let step = self.asked.take().unwrap_or_default();
        let step = self.chosen(step, token);
        self.trace.steps.push(step);
    }

    /// Forgets all steps.
    fn clear(&mut self) {
        self.trace = Trace {
            title: std::mem::take(&mut self.trace.title),
            model: self.trace.model.take(),
            prompt: self.trace.prompt.take(),
            ..Trace::default()
        };
        (self.asked, self.start, self.ends) = (None, None, None);
    }

    fn __len__(&self) -> usize {
        self.trace.steps.len() + usize::from(self.last().is_some())
    }

    /// The tokens that were noted.
    fn token_ids(&self) -> Vec<u32> {
        self.trace.steps.iter().chain(&self.last()).map(|step| step.token).collect()
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
        let (known, last) = (self.trace.cost_nats(), self.last().and_then(|step| step.cost_nats()));
        known.map_or(last, |known| Some(known + last.unwrap_or(0.0)))
    }
}

impl TraceSteps {
    /// The steps of a `maskwright.Trace`.
    ///
    /// # Errors
    /// TypeError if it is something else.
    pub(crate) fn of<'py>(trace: &Bound<'py, PyAny>) -> PyResult<Bound<'py, TraceSteps>> {
        let steps = trace.getattr("_steps").ok().and_then(|steps| steps.cast_into::<TraceSteps>().ok());
        steps.ok_or_else(|| wrong_type(trace, "a Trace (or None)"))
    }

    /// Whether no token was noted.
    pub(crate) fn is_empty(&self) -> bool {
        self.trace.steps.is_empty()
    }

    /// Takes a step whose token is not known yet. With the first step comes `start`, the session before it.
    pub(crate) fn ask(
        &mut self,
        step: Step,
        start: Option<maskwright::Matcher>,
        tokenizer: Option<maskwright::Tokenizer>,
    ) {
        self.start = start.or_else(|| self.start.take());
        (self.asked, self.tokenizer) = (Some(step), tokenizer);
    }

    /// Shows a search in the place of what was there. `matcher` stands where the search began. Places that
    /// cannot be told within the limits are left out.
    pub(crate) fn show_search(
        &mut self,
        outcome: &SearchOutcome,
        mut matcher: maskwright::Matcher,
        tokenizer: &maskwright::Tokenizer,
    ) {
        self.clear();
        self.start = Some(matcher.fork());
        self.tokenizer = Some(tokenizer.clone());
        (self.trace.tree, self.trace.n_left_out) = branches(outcome, Some(tokenizer));
        let Some(best) = outcome.best() else { return };
        let mut is_known = true;
        for &id in best.tokens.iter().chain(&best.eos_id) {
            let step = asked_step(None, Some(&matcher).filter(|_| is_known), Some(tokenizer));
            let is_end = best.eos_id == Some(id) && self.trace.steps.len() == best.tokens.len();
            let step = chosen_step(step.unwrap_or_default(), id, is_end, Some(tokenizer));
            self.trace.steps.push(step);
            is_known = is_known && matcher.accept_token(id).unwrap_or(false);
        }
    }

    fn chosen(&self, step: Step, token: u32) -> Step {
        let (id, tokenizer) = (TokenId(token), self.tokenizer.as_ref());
        let is_end = match &self.ends {
            Some(ends) => ends.contains(&token),
            None => tokenizer.is_some_and(|tokenizer| tokenizer.eos_token_ids().contains(&id)),
        };
        chosen_step(step, id, is_end, tokenizer)
    }

    /// The last token if no other was possible: some hosts do not tell it.
    fn last(&self) -> Option<Step> {
        let step = self.asked.as_ref().filter(|step| step.is_forced)?;
        let only = step.allowed.first()?;
        Some(self.chosen(step.clone(), only.token))
    }

    /// The trace with its last token and its regions.
    fn shown(&self) -> Trace {
        let mut trace = self.trace.clone();
        trace.steps.extend(self.last());
        if let Some(start) = &self.start {
            trace.regions = text_regions(start, &trace.steps, 0);
        }
        trace
    }
}
