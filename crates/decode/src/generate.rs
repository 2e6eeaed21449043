//! The generation loop: mask, sample, accept, forward, until the text ends.
//!
//! A token is *fed* when the model has read it. The loop keeps the tokens that are accepted but not yet fed
//! and feeds them in one forward pass when it needs logits; so a run of forced tokens (jump-forward) costs
//! one pass together with the token before it, and forced tokens at the very start ride on the prompt's pass.
//!
//! Rejected: feeding each token as soon as it is accepted. It is simpler, but forced tokens then cost a pass
//! each and the last token's logits are computed for nothing.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use maskwright_vocabulary::TokenId;

use crate::{
    candidates::Candidates,
    constraint::Constraint,
    error::{DecodeError, Kind},
    mask::{allowed_mass, apply_mask, mask_len},
    model::{LanguageModel, Logits, SequenceId, SequenceInput},
    sampler::{Sampler, SamplerConfig},
    statistics::StepStatistics,
};

/// How [`generate`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::{GenerateConfig, SamplerConfig};
/// use maskwright_vocabulary::TokenId;
/// let eos_ids = vec![TokenId(2)];
/// let config = GenerateConfig { eos_ids, sampler: SamplerConfig::greedy(), ..GenerateConfig::default() };
/// assert!(config.jump_forward);
/// ```
#[derive(Clone, Debug)]
pub struct GenerateConfig {
    /// The most tokens to generate, forced tokens and end of text included.
    pub max_tokens: usize,
    /// The ids that end the text.
    pub eos_ids: Vec<TokenId>,
    /// How tokens are picked.
    pub sampler: SamplerConfig,
    /// Whether tokens that the constraint forces are taken without asking the model.
    pub jump_forward: bool,
    /// Whether to measure the probability that the model gave to the allowed tokens at every step. Costs an
    /// exponential per vocabulary entry and step, and a mask for every forced token.
    pub measure_mass: bool,
    /// How many of the model's likeliest tokens are kept at every step, and as many of those that were
    /// allowed; 0: none. More than 0 needs `measure_mass`.
    pub n_candidates: usize,
}

impl Default for GenerateConfig {
    /// Up to 256 tokens, sampled at temperature 1, with jump-forward and without measuring; no end-of-text
    /// id.
    fn default() -> Self {
        GenerateConfig {
            max_tokens: 256,
            eos_ids: Vec::new(),
            sampler: SamplerConfig::default(),
            jump_forward: true,
            measure_mass: false,
            n_candidates: 0,
        }
    }
}

/// A token that has just been generated.
///
/// # Examples
/// ```
/// use maskwright_decode::TokenEvent;
/// use maskwright_vocabulary::TokenId;
/// let event = TokenEvent { id: TokenId(7), index: 0, forced: false, is_eos: false };
/// assert_eq!(event.id, TokenId(7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// The token.
    pub id: TokenId,
    /// How many tokens were generated before it.
    pub index: usize,
    /// Whether the constraint forced it.
    pub forced: bool,
    /// Whether it ends the text (and is no part of it).
    pub is_eos: bool,
}

/// Why a generation ended.
///
/// # Examples
/// ```
/// use maskwright_decode::FinishReason;
/// assert!(FinishReason::Eos.is_complete() && !FinishReason::MaxTokens.is_complete());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// An end-of-text token.
    Eos,
    /// The constraint has ended the text without one.
    Terminated,
    /// The limit of [`GenerateConfig::max_tokens`].
    MaxTokens,
    /// Prompt and text fill the model's context.
    ContextFull,
    /// The caller's function broke off.
    Cancelled,
}

impl FinishReason {
    /// Whether the text is whole, rather than cut off.
    #[must_use]
    pub fn is_complete(self) -> bool {
        matches!(self, FinishReason::Eos | FinishReason::Terminated)
    }
}

/// A generated text, as tokens.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
/// use maskwright_decode::{FinishReason, GenerateConfig, RandomModel, generate};
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomModel::new(100, 64, 1);
/// let config = GenerateConfig { max_tokens: 5, ..GenerateConfig::default() };
/// let mut n_seen = 0;
/// let generation = generate(&mut model, None, &[TokenId(1)], &config, &mut |_event| {
///     n_seen += 1;
///     ControlFlow::Continue(())
/// })
/// .unwrap();
/// assert_eq!((generation.tokens.len(), n_seen, generation.finish_reason), (5, 5, FinishReason::MaxTokens));
/// ```
#[derive(Clone, Debug)]
pub struct Generation {
    /// The tokens after the prompt, without the end-of-text token.
    pub tokens: Vec<TokenId>,
    /// The end-of-text token, if one was generated.
    pub eos_id: Option<TokenId>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// One entry for each generated token, end of text included.
    pub steps: Vec<StepStatistics>,
    /// The same of the likeliest tokens at each, if [`GenerateConfig::n_candidates`] asks for them; else
    /// empty.
    pub candidates: Vec<Candidates>,
}

/// Continues a prompt with tokens that the constraint allows, each handed to `on_token` as it is generated,
/// end of text included. `Break` from `on_token` ends the generation after that token.
///
/// The model's other sequences are left alone, and the one used here is released at the end. On return the
/// constraint has accepted exactly the generated tokens.
///
/// # Errors
/// If the prompt is empty or does not fit into the context, a sampler setting is out of range, the constraint
/// allows no token ([`DecodeError::is_dead_end`]), or the model or the constraint fails.
pub fn generate(
    model: &mut dyn LanguageModel,
    constraint: Option<&mut (dyn Constraint + '_)>,
    prompt_ids: &[TokenId],
    config: &GenerateConfig,
    on_token: &mut dyn FnMut(&TokenEvent) -> ControlFlow<()>,
) -> Result<Generation, DecodeError> {
    if prompt_ids.is_empty() {
        return Err(Kind::EmptyPrompt.into());
    }
    let (given, allowed) = (prompt_ids.len(), model.context_length());
    if given > allowed {
        return Err(Kind::PromptTooLong { given, allowed }.into());
    }
    let sampler = Sampler::new(config.sampler)?;
    let sequence = model.create_sequence()?;
    let mut run = Run {
        mask: vec![0; mask_len(model.n_vocab())],
        model,
        sequence,
        constraint,
        config,
        sampler,
        on_token,
        n_prompt: prompt_ids.len(),
        pending: prompt_ids.to_vec(),
        unmeasured: Vec::new(),
        generation: Generation {
            tokens: Vec::new(),
            eos_id: None,
            finish_reason: FinishReason::MaxTokens,
            steps: Vec::new(),
            candidates: Vec::new(),
        },
    };
    let result = run.run();
    let Run { model, generation, .. } = run;
    model.release_sequence(sequence);
    result.map(|finish_reason| Generation { finish_reason, ..generation })
}

/// Keeps the `n` likeliest tokens of a step.
fn keep(kept: &mut Vec<Candidates>, step: usize, logits: &[f32], mask: &[u32], n: usize) {
    if n > 0 {
        kept.resize_with(kept.len().max(step + 1), Candidates::default);
        kept[step] = Candidates::of(logits, mask, n);
    }
}

/// The state of one call of [`generate`].
struct Run<'a, 'c> {
    model: &'a mut dyn LanguageModel,
    sequence: SequenceId,
    constraint: Option<&'a mut (dyn Constraint + 'c)>,
    config: &'a GenerateConfig,
    sampler: Sampler,
    on_token: &'a mut dyn FnMut(&TokenEvent) -> ControlFlow<()>,
    mask: Vec<u32>,
    n_prompt: usize,
    /// Accepted, not yet fed: what the next forward pass reads.
    pending: Vec<TokenId>,
    /// Forced steps whose logits have not been computed yet, oldest first, with the mask before each. They
    /// are the last `unmeasured.len()` tokens of `pending`.
    unmeasured: Vec<(usize, Vec<u32>)>,
    generation: Generation,
}

impl Run<'_, '_> {
    fn run(&mut self) -> Result<FinishReason, DecodeError> {
        if self.constraint.as_ref().is_some_and(|constraint| constraint.is_terminated()) {
            return Ok(FinishReason::Terminated);
        }
        if self.config.max_tokens == 0 {
            return Ok(FinishReason::MaxTokens);
        }
        if self.n_prompt == self.model.context_length() {
            return Ok(FinishReason::ContextFull);
        }
        loop {
            let (forced, mut lookup) = match &mut self.constraint {
                Some(constraint) if self.config.jump_forward => {
                    let clock = Instant::now();
                    (constraint.forced_tokens()?, clock.elapsed())
                }
                _ => (Vec::new(), Duration::ZERO),
            };
            // After a run there may be another, such as the end of the text: ask until there is none.
            let picks = forced.is_empty();
            for id in forced {
                if let Some(reason) = self.take_forced(id, std::mem::take(&mut lookup))? {
                    self.measure_forced_at_end()?;
                    return Ok(reason);
                }
            }
            if picks && let Some(reason) = self.pick(lookup)? {
                return Ok(reason);
            }
        }
    }

    /// Takes a token without asking the model.
    fn take_forced(&mut self, id: TokenId, lookup: Duration) -> Result<Option<FinishReason>, DecodeError> {
        if self.config.measure_mass {
            let mut mask = vec![0; self.mask.len()];
            if let Some(constraint) = &mut self.constraint {
                constraint.fill_mask(&mut mask)?;
            }
            self.unmeasured.push((self.generation.steps.len(), mask));
        }
        let mut step = StepStatistics { forced: true, accept: lookup, ..StepStatistics::default() };
        self.accept(id, &mut step, "it had itself forced")?;
        Ok(self.emit(id, step))
    }

    /// Reads what is pending, masks the logits, picks a token.
    fn pick(&mut self, lookup: Duration) -> Result<Option<FinishReason>, DecodeError> {
        let mut step = StepStatistics { accept: lookup, ..StepStatistics::default() };
        let clock = Instant::now();
        let mut logits = self.forward(self.pending.len(), 1)?;
        step.forward = clock.elapsed();
        self.pending.clear();

        let n_tokens = self.generation.steps.len();
        let wanted = Kind::RowsMissing { given: 0, wanted: 1 };
        let row = logits.last_mut().ok_or(wanted)?;
        let mut n_allowed = row.len();
        if let Some(constraint) = &mut self.constraint {
            let clock = Instant::now();
            let narrows = constraint.fill_mask(&mut self.mask)?;
            step.mask = clock.elapsed();
            if self.config.measure_mass {
                step.allowed_mass = Some(allowed_mass(row, &self.mask));
                keep(&mut self.generation.candidates, n_tokens, row, &self.mask, self.config.n_candidates);
            }
            if narrows {
                let clock = Instant::now();
                n_allowed = apply_mask(row, &self.mask);
                step.apply = clock.elapsed();
            }
            if n_allowed == 0 {
                return Err(Kind::DeadEnd { n_tokens }.into());
            }
        } else if self.config.measure_mass {
            step.allowed_mass = Some(1.0);
            self.mask.fill(u32::MAX);
            keep(&mut self.generation.candidates, n_tokens, row, &self.mask, self.config.n_candidates);
        }

        let clock = Instant::now();
        let id = self.sampler.sample(row).ok_or(Kind::NoFiniteLogit { n_tokens, n_allowed })?;
        step.sample = clock.elapsed();
        self.accept(id, &mut step, "its mask had allowed")?;
        Ok(self.emit(id, step))
    }

    fn accept(
        &mut self,
        id: TokenId,
        step: &mut StepStatistics,
        why: &'static str,
    ) -> Result<(), DecodeError> {
        if let Some(constraint) = &mut self.constraint {
            let clock = Instant::now();
            let accepted = constraint.accept_token(id)?;
            step.accept += clock.elapsed();
            if !accepted {
                let n_tokens = self.generation.steps.len();
                return Err(Kind::Refused { n_tokens, id, why }.into());
            }
        }
        Ok(())
    }

    /// Records a token and says whether it is the last.
    fn emit(&mut self, id: TokenId, step: StepStatistics) -> Option<FinishReason> {
        // A token that ends texts can also be a part of one, where the constraint says so.
        let is_over = self.constraint.as_ref().is_none_or(|constraint| constraint.is_terminated());
        let is_eos = is_over && self.config.eos_ids.contains(&id);
        let event = TokenEvent { id, index: self.generation.steps.len(), forced: step.forced, is_eos };
        self.generation.steps.push(step);
        self.pending.push(id);
        let flow = (self.on_token)(&event);
        if is_eos {
            self.generation.eos_id = Some(id);
            return Some(FinishReason::Eos);
        }
        self.generation.tokens.push(id);
        if self.constraint.as_ref().is_some_and(|constraint| constraint.is_terminated()) {
            Some(FinishReason::Terminated)
        } else if flow.is_break() {
            Some(FinishReason::Cancelled)
        } else if self.generation.steps.len() >= self.config.max_tokens {
            Some(FinishReason::MaxTokens)
        } else if self.n_prompt + self.generation.steps.len() >= self.model.context_length() {
            Some(FinishReason::ContextFull)
        } else {
            None
        }
    }

    /// Feeds the first `n_tokens` pending tokens; returns `n_rows` rows of logits after those that the
    /// unmeasured steps need, which are used up here.
    fn forward(&mut self, n_tokens: usize, n_rows: usize) -> Result<Logits, DecodeError> {
        let tokens = &self.pending[..n_tokens];
        let n_logits = n_rows + self.unmeasured.len();
        let input = SequenceInput { sequence: self.sequence, tokens, n_logits };
        let logits = self.model.forward(&[input])?.pop();
        let given = logits.as_ref().map_or(0, Logits::n_rows);
        match logits {
            Some(logits) if given == n_logits => {
                for (row, (step_idx, mask)) in self.unmeasured.drain(..).enumerate() {
                    let mass = allowed_mass(logits.row(row), &mask);
                    self.generation.steps[step_idx].allowed_mass = Some(mass);
                    let (kept, n) = (&mut self.generation.candidates, self.config.n_candidates);
                    keep(kept, step_idx, logits.row(row), &mask, n);
                }
                Ok(logits)
            }
            _ => Err(Kind::RowsMissing { given, wanted: n_logits }.into()),
        }
    }

    /// A text that ends in forced tokens still owes their measurement.
    fn measure_forced_at_end(&mut self) -> Result<(), DecodeError> {
        if !self.unmeasured.is_empty() {
            self.forward(self.pending.len() - 1, 0)?;
        }
        Ok(())
    }
}
