//! What all searches do with the model: sequences that are given back in any case, forward passes that are
//! counted, masks over rows, and the question whether a text has ended.

use maskwright_vocabulary::TokenId;

use super::{
    ExploredToken, Hypothesis, OnProgress, Progress, SearchConfig, SearchOutcome, explored::Explored,
    row::Row,
};
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    generate::FinishReason,
    mask::mask_len,
    model::{LanguageModel, Logits, SequenceId, SequenceInput},
};

/// A model at work for one search. Every sequence that it made is released when it is dropped.
pub(crate) struct Driver<'a> {
    model: &'a mut dyn LanguageModel,
    sequences: Vec<SequenceId>,
    mask: Vec<u32>,
    eos_ids: &'a [TokenId],
    max_tokens: usize,
    /// Whether it is the context and not the caller that limits the number of tokens.
    is_context_limit: bool,
    n_model_tokens: usize,
    explored: Explored,
}

/// What became of a text by one more token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Open,
    Ended(FinishReason),
}

impl<'a> Driver<'a> {
    /// # Errors
    /// If the prompt is empty or does not fit into the context with at least one more token to write.
    pub(crate) fn new(
        model: &'a mut dyn LanguageModel,
        prompt_ids: &[TokenId],
        search: &'a SearchConfig,
    ) -> Result<Self, DecodeError> {
        if prompt_ids.is_empty() {
            return Err(Kind::EmptyPrompt.into());
        }
        if search.max_tokens == 0 {
            return Err(Kind::BadCount { name: "max_tokens", given: 0, allowed: "at least 1" }.into());
        }
        let (given, allowed) = (prompt_ids.len(), model.context_length().saturating_sub(1));
        if given > allowed {
            return Err(Kind::PromptTooLong { given, allowed }.into());
        }
        // The last token of a text need not be read, but the text is to fit with it.
        let room = model.context_length() - given;
        Ok(Driver {
            mask: vec![0; mask_len(model.n_vocab())],
            model,
            sequences: Vec::new(),
            eos_ids: &search.eos_ids,
            max_tokens: search.max_tokens.min(room),
            is_context_limit: room < search.max_tokens,
            n_model_tokens: 0,
            explored: Explored::default(),
        })
    }

    /// The most tokens of a text.
    pub(crate) fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    pub(crate) fn create(&mut self) -> Result<SequenceId, DecodeError> {
        let sequence = self.model.create_sequence()?;
        self.sequences.push(sequence);
        Ok(sequence)
    }

    pub(crate) fn fork(&mut self, sequence: SequenceId) -> Result<SequenceId, DecodeError> {
        let fork = self.model.fork_sequence(sequence)?;
        self.sequences.push(fork);
        Ok(fork)
    }

    pub(crate) fn release(&mut self, sequence: SequenceId) {
        self.sequences.retain(|&held| held != sequence);
        self.model.release_sequence(sequence);
    }

    pub(crate) fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) -> Result<(), DecodeError> {
        Ok(self.model.truncate(sequence, n_tokens)?)
    }

    /// One pass over all inputs; for each the logits after its last token.
    pub(crate) fn forward(
        &mut self,
        inputs: &[(SequenceId, &[TokenId])],
    ) -> Result<Vec<Logits>, DecodeError> {
        if inputs.is_empty() {
            return Ok(Vec::new());
        }
        let batch: Vec<SequenceInput<'_>> =
            inputs.iter().map(|&(sequence, tokens)| SequenceInput::last(sequence, tokens)).collect();
        let rows = self.model.forward(&batch)?;
        self.n_model_tokens += inputs.iter().map(|(_, tokens)| tokens.len()).sum::<usize>();
        let given = rows.iter().filter(|logits| logits.n_rows() == 1).count();
        if given != inputs.len() || rows.len() != inputs.len() {
            return Err(Kind::RowsMissing { given, wanted: inputs.len() }.into());
        }
        Ok(rows)
    }

    /// Reads tokens whose logits nobody needs.
    pub(crate) fn feed(&mut self, sequence: SequenceId, tokens: &[TokenId]) -> Result<(), DecodeError> {
        if tokens.is_empty() {
            return Ok(());
        }
        self.model.forward(&[SequenceInput { sequence, tokens, n_logits: 0 }])?;
        self.n_model_tokens += tokens.len();
        Ok(())
    }

    /// The logits after the `n_tokens` tokens of a text, under what `constraint` allows there: at least one
    /// token with a finite logit.
    ///
    /// # Errors
    /// If nothing is allowed, or nothing that is allowed has a finite logit, or the mask cannot be made.
    pub(crate) fn row<'r>(
        &'r mut self,
        constraint: &mut impl Constraint,
        logits: &'r Logits,
        n_tokens: usize,
        temperature: f64,
    ) -> Result<Row<'r>, DecodeError> {
        constraint.fill_mask(&mut self.mask)?;
        let logits = logits.row(0);
        let row = Row::new(logits, &self.mask, temperature);
        if row.allowed().next().is_none() {
            let n_allowed =
                (0..).map(TokenId).zip(logits).filter(|&(id, _)| crate::is_allowed(&self.mask, id)).count();
            return Err(match n_allowed {
                0 => Kind::DeadEnd { n_tokens },
                _ => Kind::NoFiniteLogit { n_tokens, n_allowed },
            }
            .into());
        }
        Ok(row)
    }

    /// The mask that the last [`row`](Driver::row) was made with.
    pub(crate) fn mask(&self) -> &[u32] {
        &self.mask
    }

    /// Takes a token that the mask allowed as the `n_tokens`-th of a text (from 1), and says whether the text
    /// has ended with it.
    ///
    /// # Errors
    /// If the constraint fails or refuses the token.
    pub(crate) fn accept(
        &self,
        constraint: &mut impl Constraint,
        id: TokenId,
        n_tokens: usize,
    ) -> Result<Step, DecodeError> {
        if !constraint.accept_token(id)? {
            let n_tokens = n_tokens - 1;
            return Err(Kind::Refused { n_tokens, id, why: "its mask had allowed" }.into());
        }
        // A token that ends texts can also be a part of one, where the constraint says so.
        Ok(if constraint.is_terminated() {
            Step::Ended(if self.is_eos(id) { FinishReason::Eos } else { FinishReason::Terminated })
        } else if n_tokens < self.max_tokens {
            Step::Open
        } else if self.is_context_limit {
            Step::Ended(FinishReason::ContextFull)
        } else {
            Step::Ended(FinishReason::MaxTokens)
        })
    }

    /// Notes for the outcome that a token was tried after the one of index `parent`. Returns its index, for
    /// the tokens after it.
    pub(crate) fn explore(
        &mut self,
        parent: Option<usize>,
        id: TokenId,
        log_likelihood: f64,
        step: Step,
    ) -> Option<usize> {
        let ended = if let Step::Ended(reason) = step { Some(reason) } else { None };
        Some(self.explored.note(ExploredToken { parent, id, log_likelihood, ended }))
    }

    /// What the search found.
    pub(crate) fn into_outcome(mut self, texts: Vec<Hypothesis>, is_cancelled: bool) -> SearchOutcome {
        let explored = std::mem::take(&mut self.explored).into_tokens();
        SearchOutcome { texts, explored, n_model_tokens: self.n_model_tokens, is_cancelled }
    }

    fn is_eos(&self, id: TokenId) -> bool {
        self.eos_ids.contains(&id)
    }

    /// The text of all these tokens.
    pub(crate) fn hypothesis(
        &self,
        mut tokens: Vec<TokenId>,
        finish_reason: FinishReason,
        log_likelihood: f64,
    ) -> Hypothesis {
        let n_tokens = tokens.len();
        let eos_id = if finish_reason == FinishReason::Eos { tokens.pop() } else { None };
        Hypothesis { tokens, eos_id, finish_reason, log_likelihood, n_tokens }
    }

    /// Reports that texts have `n_tokens` tokens; true if the caller breaks off.
    pub(crate) fn report(
        &self,
        on_progress: &mut OnProgress<'_>,
        n_tokens: usize,
        best: Option<&Hypothesis>,
    ) -> bool {
        self.report_of(on_progress, n_tokens, self.max_tokens, best)
    }

    /// Reports `n_done` of `n_total`; true if the caller breaks off.
    pub(crate) fn report_of(
        &self,
        on_progress: &mut OnProgress<'_>,
        n_done: usize,
        n_total: usize,
        best: Option<&Hypothesis>,
    ) -> bool {
        let n_model_tokens = self.n_model_tokens;
        on_progress(&Progress { n_done, n_total, n_model_tokens, best }).is_break()
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        for &sequence in &self.sequences {
            self.model.release_sequence(sequence);
        }
    }
}
