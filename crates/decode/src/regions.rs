//! The holes of a template filled by a causal model, such that the whole is in the language.
//!
//! The model reads what stands in front of a hole (with the holes before it filled) and writes it token by
//! token. The mask of every token comes from the [`Template`], so the text after the hole and the other holes
//! count from the first token on. A model with fill-in-the-middle tokens reads the text after the hole too.
//!
//! A hole ends when the model picks an end-of-text token where the template allows the hole to end; or, for
//! models that never learned to stop in the middle of a text, when the token it likes is how the text after
//! the hole begins.

use std::ops::ControlFlow;

use maskwright_infill::{Error, Hole, Infiller, Part, Template};
use maskwright_vocabulary::{TokenId, Tokenizer};

use crate::constraint::ConstraintError;
use crate::error::{DecodeError, Kind};
use crate::mask::{apply_mask, is_allowed, mask_len};
use crate::model::{LanguageModel, Logits, SequenceId, SequenceInput, n_kept};
use crate::sampler::{Sampler, SamplerConfig};

/// The tokens around what a fill-in-the-middle model reads: prefix, text in front, suffix, text after,
/// middle.
///
/// # Examples
/// ```
/// use maskwright_decode::MiddleTokens;
/// use maskwright_vocabulary::TokenId;
/// let tokens = MiddleTokens { prefix: TokenId(1), suffix: TokenId(3), middle: TokenId(2) };
/// assert_ne!(tokens.suffix, tokens.middle);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiddleTokens {
    /// In front of the text before the hole.
    pub prefix: TokenId,
    /// In front of the text after the hole.
    pub suffix: TokenId,
    /// Where the model begins to write.
    pub middle: TokenId,
}

/// What families of models call them: Qwen2.5-Coder and others, StarCoder, Granite, Code Llama,
/// DeepSeek-Coder.
const MIDDLE_TOKENS: [[&str; 3]; 5] = [
    ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"],
    ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"],
    ["<fim-prefix>", "<fim-suffix>", "<fim-middle>"],
    ["\u{2581}<PRE>", "\u{2581}<SUF>", "\u{2581}<MID>"],
    [
        "<\u{ff5c}fim\u{2581}begin\u{ff5c}>",
        "<\u{ff5c}fim\u{2581}hole\u{ff5c}>",
        "<\u{ff5c}fim\u{2581}end\u{ff5c}>",
    ],
];

impl MiddleTokens {
    /// The tokens of a tokenizer, by their usual names among its special tokens. That it has them doesn't
    /// mean that every model with this tokenizer was trained with them.
    #[must_use]
    pub fn of(tokenizer: &Tokenizer) -> Option<MiddleTokens> {
        MIDDLE_TOKENS.iter().find_map(|names| {
            let [prefix, suffix, middle] = names.map(|name| tokenizer.special_token_id(name));
            Some(MiddleTokens { prefix: prefix?, suffix: suffix?, middle: middle? })
        })
    }
}

/// How [`fill_regions`] runs.
///
/// # Examples
/// ```
/// use maskwright_decode::{RegionsConfig, SamplerConfig};
/// let config = RegionsConfig { sampler: SamplerConfig::greedy(), ..RegionsConfig::default() };
/// assert!(config.middle_tokens.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RegionsConfig {
    /// How tokens are picked.
    pub sampler: SamplerConfig,
    /// After how many tokens a hole of any length is ended as soon as possible.
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledRegion {
    /// What stands in it now.
    pub tokens: Vec<TokenId>,
    /// Whether it is whole; false where the caller broke off.
    pub is_ended: bool,
}

/// Fills the holes of a template from left to right, such that the whole stays in the language of `infiller`.
/// The bytes of the whole text go to `on_text` as they are known, from the first to the last; `Break` ends it
/// there, and then the last region is not ended or some are missing.
///
/// A hole with a limit ([`Hole::AtMost`], [`Hole::Exactly`]) always ends within it. A [`Hole::Any`] gets at
/// most [`RegionsConfig::max_tokens`] tokens, and at most half of the room in the model's context; then it is
/// closed with few more. Limited holes cost more per token, because every completion within the limit is
/// tracked.
///
/// The prompt is what the model reads first, such as a beginning-of-text token or an instruction. The model
/// reads each token once, unless the text before a hole is tokenized differently the second time.
///
/// # Errors
/// If the template is impossible, a text does not fit into the model's context or cannot be encoded, a hole
/// is the first that there is to read, or the model or the template fails.
pub fn fill_regions(
    model: &mut dyn LanguageModel,
    tokenizer: &Tokenizer,
    infiller: &Infiller,
    parts: &[Part],
    prompt: &[TokenId],
    config: &RegionsConfig,
    on_text: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<Vec<FilledRegion>, DecodeError> {
    let sampler = Sampler::new(config.sampler)?;
    let sequence = model.create_sequence()?;
    let mut run = Run {
        mask: vec![0; mask_len(model.n_vocab())],
        model,
        sequence,
        read: Vec::new(),
        tokenizer,
        infiller,
        max_tokens: config.max_tokens,
        prompt,
        middle_tokens: config.middle_tokens,
        sampler,
        written: Vec::new(),
        regions: Vec::new(),
        on_text,
    };
    let result = run.run(parts);
    let Run { model, regions, .. } = run;
    model.release_sequence(sequence);
    result.map(|_| regions)
}

/// The state of one call of [`fill_regions`].
struct Run<'a> {
    model: &'a mut dyn LanguageModel,
    sequence: SequenceId,
    /// What the sequence has read.
    read: Vec<TokenId>,
    tokenizer: &'a Tokenizer,
    infiller: &'a Infiller,
    max_tokens: usize,
    prompt: &'a [TokenId],
    middle_tokens: Option<MiddleTokens>,
    sampler: Sampler,
    mask: Vec<u32>,
    /// The text so far.
    written: Vec<u8>,
    regions: Vec<FilledRegion>,
    on_text: &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>,
}

impl Run<'_> {
    /// Writes all parts; `Break` if the caller breaks off.
    fn run(&mut self, parts: &[Part]) -> Result<ControlFlow<()>, DecodeError> {
        for (index, part) in parts.iter().enumerate() {
            let flow = match part {
                Part::Text(text) => self.write(text),
                Part::Tokens(_) => return Err(Kind::PieceOfTokens.into()),
                Part::Hole(hole) => self.fill(*hole, &parts[index + 1..])?,
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn write(&mut self, bytes: &[u8]) -> ControlFlow<()> {
        self.written.extend_from_slice(bytes);
        (self.on_text)(bytes)
    }

    /// Fills the next hole, after which there is `after`; `Break` if the caller breaks off.
    fn fill(&mut self, kind: Hole, after: &[Part]) -> Result<ControlFlow<()>, DecodeError> {
        let mut whole = self.tokens_before(after)?;
        if whole.is_empty() {
            return Err(Kind::EmptyPrompt.into());
        }
        // How the text after the hole begins.
        let next = match after.first() {
            Some(Part::Text(text)) => self.encoded(text)?.first().copied(),
            _ => None,
        };
        let (given, allowed) = (whole.len(), self.model.context_length());
        let room = allowed.checked_sub(given).ok_or(Kind::PromptTooLong { given, allowed })?;
        let (n_tokens, is_limited) = match kind {
            // The other half of the room is for what ends the hole.
            Hole::Any => (self.max_tokens.min(room / 2), false),
            Hole::AtMost(n) | Hole::Exactly(n) => (n, true),
        };
        if n_tokens > room {
            let (hole, max_tokens) = (self.regions.len(), n_tokens);
            return Err(Kind::NoRoom { hole, max_tokens, n_before: given, context_length: allowed }.into());
        }
        self.regions.push(FilledRegion { tokens: Vec::new(), is_ended: false });
        let mut template = self.template(kind, after)?;
        if self.write_tokens(&mut template, &mut whole, n_tokens, next)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if is_limited || self.is_ended() {
            return Ok(ControlFlow::Continue(()));
        }
        let (mut template, n_tokens) = self.shortest_end(allowed - whole.len(), after)?;
        self.write_tokens(&mut template, &mut whole, n_tokens, next)
    }

    /// The template of the last region's end, and its limit: the fewest tokens that end the hole, up to a
    /// factor of 2, and at most `room`.
    fn shortest_end(&self, room: usize, after: &[Part]) -> Result<(Template, usize), DecodeError> {
        let mut n_tokens = room.min(1);
        loop {
            let mut template = self.template(Hole::AtMost(n_tokens), after)?;
            if template.is_possible().map_err(failed)? {
                return Ok((template, n_tokens));
            }
            if n_tokens == room {
                let (hole, context_length) = (self.regions.len() - 1, self.model.context_length());
                return Err(Kind::NoRoomToEnd { hole, room, context_length }.into());
            }
            n_tokens = (2 * n_tokens).min(room);
        }
    }

    /// What stands there now, a hole, and what comes after it.
    fn template(&self, kind: Hole, after: &[Part]) -> Result<Template, DecodeError> {
        let mut parts = vec![Part::Text(self.written.clone()), Part::Hole(kind)];
        parts.extend_from_slice(after);
        Template::new(self.infiller, parts).map_err(failed)
    }

    /// Whether the last region is ended.
    fn is_ended(&self) -> bool {
        self.regions.last().is_some_and(|region| region.is_ended)
    }

    /// Lets the model write at most `n_tokens` tokens into the first hole of `template`, unless it ends the
    /// hole before, by an end-of-text token or by `next`. It has to read `whole`. `Break` if the caller
    /// breaks off.
    fn write_tokens(
        &mut self,
        template: &mut Template,
        whole: &mut Vec<TokenId>,
        n_tokens: usize,
        next: Option<TokenId>,
    ) -> Result<ControlFlow<()>, DecodeError> {
        let hole = self.regions.len() - 1;
        let mut prefix: Vec<TokenId> = Vec::new();
        loop {
            template.fill_mask(0, &prefix, &mut self.mask).map_err(failed)?;
            let eos_ids = self.tokenizer.eos_token_ids();
            let may_end = eos_ids.iter().any(|&id| is_allowed(&self.mask, id));
            if prefix.len() == n_tokens {
                self.regions[hole].is_ended = may_end;
                return Ok(ControlFlow::Continue(()));
            }
            let mut row = self.logits(whole)?;
            let liked = self.sampler.sample(&row);
            let n_allowed = apply_mask(&mut row, &self.mask);
            if n_allowed == 0 {
                return Err(Kind::ImpossibleTemplate { hole }.into());
            }
            // What it likes is taken where it is allowed, and drawn again from the allowed tokens where it is
            // not. Without top-k, top-p and min-p that is the distribution of one draw from the allowed
            // tokens. With them it is not: the first draw is filtered before the mask, and the second one
            // after it.
            let allowed = liked.filter(|&id| is_allowed(&self.mask, id));
            let id = match allowed.or_else(|| self.sampler.sample(&row)) {
                Some(id) => id,
                None => return Err(Kind::NoFiniteLogit { n_tokens: prefix.len(), n_allowed }.into()),
            };
            if may_end && (eos_ids.contains(&id) || liked.is_some() && liked == next) {
                self.regions[hole].is_ended = true;
                return Ok(ControlFlow::Continue(()));
            }
            prefix.push(id);
            self.regions[hole].tokens.push(id);
            whole.push(id);
            let tokenizer = self.tokenizer;
            if self.write(tokenizer.token_bytes(id).unwrap_or_default()).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// What the model reads in front of a hole.
    fn tokens_before(&self, after: &[Part]) -> Result<Vec<TokenId>, DecodeError> {
        let mut tokens = self.prompt.to_vec();
        tokens.extend(self.middle_tokens.map(|tokens| tokens.prefix));
        tokens.extend(self.encoded(&self.written)?);
        if let Some(MiddleTokens { suffix, middle, .. }) = self.middle_tokens {
            // Holes further on are left out: the model has no token for "something".
            let texts = after.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_slice()),
                Part::Tokens(_) | Part::Hole(_) => None,
            });
            tokens.push(suffix);
            tokens.extend(self.encoded(&texts.collect::<Vec<_>>().concat())?);
            tokens.push(middle);
        }
        Ok(tokens)
    }

    fn encoded(&self, text: &[u8]) -> Result<Vec<TokenId>, DecodeError> {
        Ok(self.tokenizer.encode_bytes(text).map_err(ConstraintError::new)?)
    }

    /// The logits after `whole`, of which only what is new is read.
    fn logits(&mut self, whole: &[TokenId]) -> Result<Vec<f32>, DecodeError> {
        let n_kept = n_kept(&self.read, whole);
        self.model.truncate(self.sequence, n_kept)?;
        let logits = self.model.forward(&[SequenceInput::last(self.sequence, &whole[n_kept..])])?;
        self.read = whole.to_vec();
        let row = logits.first().and_then(Logits::last);
        Ok(row.ok_or(Kind::RowsMissing { given: 0, wanted: 1 })?.to_vec())
    }
}

fn failed(error: Error) -> DecodeError {
    ConstraintError::new(error).into()
}
