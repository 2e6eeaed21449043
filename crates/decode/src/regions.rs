//! Several regions of a text filled by a causal model, with what stands behind each in view of the grammar.
//!
//! The model reads what stands in front of a hole (with the holes before it filled) and writes it token by token; the
//! mask of every token comes from the [`Template`], so the text behind the hole and the other holes count from the
//! first token on. A model with fill-in-the-middle tokens reads the text behind the hole too.
//!
//! A hole ends when the model picks an end-of-text token where the template allows the hole to end; or, for models that
//! never learned to stop in the middle of a text, when what it likes best is how the text behind the hole begins.

use std::time::Instant;

use maskwright_infill::{Error, Template};
use maskwright_vocabulary::{TokenId, Tokenizer};

use crate::constraint::ConstraintError;
use crate::error::{DecodeError, Kind};
use crate::mask::{apply_mask, is_allowed, mask_len};
use crate::model::{LanguageModel, SequenceId, SequenceInput};
use crate::sampler::{Sampler, SamplerConfig};
use crate::statistics::StepStatistics;

/// The tokens around what a fill-in-the-middle model reads: prefix, text in front, suffix, text behind, middle.
///
/// # Examples
/// ```
/// use maskwright_decode::MiddleTokens;
/// let tokens = MiddleTokens { prefix: 1, suffix: 3, middle: 2 };
/// assert_ne!(tokens.suffix, tokens.middle);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiddleTokens {
    /// In front of the text before the hole.
    pub prefix: u32,
    /// In front of the text behind the hole.
    pub suffix: u32,
    /// Where the model begins to write.
    pub middle: u32,
}

/// How [`fill_regions`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::{RegionsConfig, SamplerConfig};
/// let config = RegionsConfig { sampler: SamplerConfig::greedy(), ..RegionsConfig::default() };
/// assert!(config.middle_tokens.is_none());
/// ```
#[derive(Clone, Debug)]
pub struct RegionsConfig {
    /// How tokens are picked.
    pub sampler: SamplerConfig,
    /// The most tokens of one hole.
    pub max_tokens: usize,
    /// What the model's fill-in-the-middle format needs; `None` for models that read from the left alone.
    pub middle_tokens: Option<MiddleTokens>,
}

impl Default for RegionsConfig {
    /// At most 128 tokens a hole, sampled at temperature 1, from the left.
    fn default() -> Self {
        RegionsConfig { sampler: SamplerConfig::default(), max_tokens: 128, middle_tokens: None }
    }
}

/// A hole as it was filled.
#[derive(Clone, Debug)]
pub struct FilledRegion {
    /// What stands in it now.
    pub tokens: Vec<u32>,
    /// Whether it is whole: the model ended it, or the limit on tokens came where the template lets it end.
    pub is_ended: bool,
    /// One entry for each token, the one that ended it included.
    pub steps: Vec<StepStatistics>,
}

/// A text with its holes filled from left to right: `pieces[0]`, hole 0, `pieces[1]`, hole 1, and so on.
///
/// `template`, if given, is a template of the same pieces and holes; what is written is then always such that the rest
/// can be completed, and a hole is [fixed](Template::fix) in it when it ends. Holes of at most `config.max_tokens`
/// tokens (`Hole::AtMost`) always end in time; one that the template lets be longer may reach the limit where
/// it cannot end, and is left open in the template.
/// The prompt is what the model reads first, such as a beginning-of-text token or an instruction.
///
/// # Errors
/// If the template is impossible, a text does not fit into the model's context or cannot be encoded, or the model or
/// the template fails.
pub fn fill_regions(
    model: &mut dyn LanguageModel,
    tokenizer: &Tokenizer,
    prompt: &[u32],
    pieces: &[&[u8]],
    mut template: Option<&mut Template>,
    config: &RegionsConfig,
) -> Result<Vec<FilledRegion>, DecodeError> {
    let mut sampler = Sampler::new(config.sampler)?;
    let mut regions: Vec<FilledRegion> = Vec::new();
    let mut before = Vec::new();
    for hole in 0..pieces.len().saturating_sub(1) {
        before.extend_from_slice(pieces[hole]);
        // Holes further on are left out of what stands behind: the model has no token for "something".
        let behind = pieces[hole + 1..].concat();
        let read = read_tokens(tokenizer, prompt, &before, &behind, config.middle_tokens)?;
        if read.is_empty() {
            return Err(Kind::EmptyPrompt.into());
        }
        let (given, allowed) = (read.len() + config.max_tokens, model.context_length());
        if given > allowed {
            return Err(Kind::PromptTooLong { given, allowed }.into());
        }
        let sequence = model.create_sequence()?;
        let next = encoded(tokenizer, pieces[hole + 1])?.first().copied();
        let mut writing = Writing {
            model,
            sequence,
            template: template.as_deref_mut(),
            hole,
            next,
            eos_ids: tokenizer.eos_token_ids(),
            sampler: &mut sampler,
            region: FilledRegion { tokens: Vec::new(), is_ended: false, steps: Vec::new() },
        };
        let written = writing.write(read, config.max_tokens);
        let region = writing.region;
        model.release_sequence(sequence);
        written?;
        before.extend(tokenizer.decode(&region.tokens));
        regions.push(region);
    }
    Ok(regions)
}

/// What the model reads in front of a hole.
fn read_tokens(
    tokenizer: &Tokenizer,
    prompt: &[u32],
    before: &[u8],
    behind: &[u8],
    middle_tokens: Option<MiddleTokens>,
) -> Result<Vec<u32>, DecodeError> {
    let mut read = prompt.to_vec();
    read.extend(middle_tokens.map(|tokens| tokens.prefix));
    read.extend(encoded(tokenizer, before)?);
    if let Some(tokens) = middle_tokens {
        read.push(tokens.suffix);
        read.extend(encoded(tokenizer, behind)?);
        read.push(tokens.middle);
    }
    Ok(read)
}

fn encoded(tokenizer: &Tokenizer, text: &[u8]) -> Result<Vec<u32>, DecodeError> {
    Ok(tokenizer.encode_bytes(text).map_err(ConstraintError::new)?)
}

/// One hole in the making.
struct Writing<'a> {
    model: &'a mut dyn LanguageModel,
    sequence: SequenceId,
    template: Option<&'a mut Template>,
    hole: usize,
    /// How the text behind the hole begins.
    next: Option<u32>,
    eos_ids: &'a [u32],
    sampler: &'a mut Sampler,
    region: FilledRegion,
}

impl Writing<'_> {
    fn write(&mut self, mut read: Vec<u32>, max_tokens: usize) -> Result<(), DecodeError> {
        let mut mask = vec![0; mask_len(self.model.n_vocab())];
        let mut prefix: Vec<TokenId> = Vec::new();
        while prefix.len() < max_tokens {
            let mut step = StepStatistics::default();
            let clock = Instant::now();
            let logits = self.model.forward(&[SequenceInput::last(self.sequence, &read)])?.pop();
            step.forward = clock.elapsed();
            let mut row = logits
                .as_ref()
                .and_then(|logits| logits.last())
                .ok_or(Kind::RowsMissing { given: 0, wanted: 1 })?
                .to_vec();
            let liked = self.sampler.sample(&row);
            let clock = Instant::now();
            let n_allowed = self.allow(&prefix, &mut mask, &mut row)?;
            step.mask = clock.elapsed();
            if n_allowed == 0 {
                return Err(Kind::ImpossibleTemplate { hole: self.hole }.into());
            }
            let may_end = self.eos_ids.iter().any(|&id| is_allowed(&mask, id));
            // What it likes is taken where it is allowed: drawing again only what is refused is the same distribution.
            let allowed = liked.filter(|&id| is_allowed(&mask, id));
            let id = match allowed.or_else(|| self.sampler.sample(&row)) {
                Some(id) => id,
                None => return Err(Kind::NoFiniteLogit { n_tokens: prefix.len(), n_allowed }.into()),
            };
            self.region.steps.push(step);
            if may_end && (self.eos_ids.contains(&id) || liked.is_some() && liked == self.next) {
                self.region.is_ended = true;
                break;
            }
            prefix.push(TokenId(id));
            self.region.tokens.push(id);
            read = vec![id];
        }
        if let Some(template) = &mut self.template {
            let is_fixed = template.fix(self.hole, &prefix).map_err(failed)?;
            self.region.is_ended |= is_fixed;
        }
        Ok(())
    }

    /// Writes what may come next to `mask` and applies it to the logits; returns how many tokens are allowed.
    fn allow(&mut self, prefix: &[TokenId], mask: &mut [u32], row: &mut [f32]) -> Result<usize, DecodeError> {
        match &mut self.template {
            Some(template) => {
                mask.fill(0);
                template.fill_next_token_bitmask(self.hole, prefix, mask).map_err(failed)?;
                Ok(apply_mask(row, mask))
            }
            None => {
                mask.fill(u32::MAX);
                Ok(row.len())
            }
        }
    }
}

fn failed(error: Error) -> DecodeError {
    ConstraintError::new(error).into()
}
