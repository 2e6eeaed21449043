//! The baseline: the model proposes a token for a position, a check says whether the text so far can be
//! completed, and the proposal is kept or rejected.
//!
//! This is the loop of the paper on constrained decoding of diffusion models with context-free grammars
//! (papers/3, section 5 for its limits). Its check takes every run of masked positions for *any* text, so it
//! does not see how many tokens are left: a canvas may pass it at every step and still run out of room. Where
//! that happens the loop rejects proposal after proposal until its limit, and the text is completed by an
//! example word instead. One check is made for each proposal, none for a whole vocabulary.
//!
//! The paper's text leaves open whether its hundred rejections are counted for a token or for the whole text;
//! here they are those of the whole canvas, as its words are.

use std::time::Instant;

use anyhow::{Context, ensure};
use maskwright::TokenId;
use maskwright_decode::{CanvasStatistics, DiffusionModel, Sampler, SamplerConfig, allowed_mass, mask_len};
use maskwright_infill::{Hole, Infiller, Part, Template};

/// A check of partial canvases that takes a run of masked positions for any text.
#[derive(Clone, Debug)]
pub(crate) struct PartialCheck {
    infiller: Infiller,
    padding: Option<TokenId>,
}

impl PartialCheck {
    /// A check by a grammar. `padding` is the token behind EOS, where that is another than EOS.
    pub(crate) fn new(infiller: &Infiller, padding: Option<TokenId>) -> Self {
        PartialCheck { infiller: infiller.clone(), padding }
    }

    /// Whether some text of the language has the known tokens in this order, with any text for each run of
    /// masked positions and nothing behind an EOS but EOS and padding.
    ///
    /// # Errors
    /// If it cannot be decided within limits.
    pub(crate) fn is_completable(&self, positions: &[Option<TokenId>]) -> anyhow::Result<bool> {
        match self.template(positions)? {
            Some(mut template) => Ok(template.is_possible()?),
            None => Ok(false),
        }
    }

    /// A text of the language that has the known tokens in this order; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be found within limits.
    pub(crate) fn example(&self, positions: &[Option<TokenId>]) -> anyhow::Result<Option<Vec<u8>>> {
        match self.template(positions)? {
            Some(mut template) => Ok(template.complete()?),
            None => Ok(None),
        }
    }

    /// The known text in front of the first EOS and the holes between; `None` if no text can look like this.
    fn template(&self, positions: &[Option<TokenId>]) -> anyhow::Result<Option<Template>> {
        let vocabulary = self.infiller.vocabulary();
        let ends = |id: TokenId| vocabulary.is_eos(id) || self.padding == Some(id);
        let end = positions.iter().position(|position| position.is_some_and(ends)).unwrap_or(positions.len());
        if positions[end..].iter().flatten().any(|&id| !ends(id)) {
            return Ok(None);
        }
        let mut parts: Vec<Part> = Vec::new();
        for position in &positions[..end] {
            let Some(id) = *position else {
                if parts.last() != Some(&Part::Hole(Hole::Any)) {
                    parts.push(Part::Hole(Hole::Any));
                }
                continue;
            };
            let Some(bytes) = vocabulary.token_bytes(id) else { return Ok(None) };
            match parts.last_mut() {
                Some(Part::Text(text)) => text.extend_from_slice(bytes),
                _ => parts.push(Part::Text(bytes.to_vec())),
            }
        }
        Ok(Some(Template::new(&self.infiller, parts)?))
    }
}

/// How [`propose_and_check`] runs.
#[derive(Clone, Debug)]
pub(crate) struct RejectConfig {
    /// How tokens are drawn.
    pub(crate) sampler: SamplerConfig,
    /// The most proposals that are rejected before the loop gives up.
    pub(crate) max_rejections: usize,
}

impl Default for RejectConfig {
    /// Sampled at temperature 1; the paper's hundred rejections.
    fn default() -> Self {
        RejectConfig { sampler: SamplerConfig::default(), max_rejections: 100 }
    }
}

/// How a canvas was finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckedOutcome {
    /// By the model's own tokens.
    Filled,
    /// The loop gave up; the text is an example word.
    Completed,
    /// The loop gave up, and there was no example word either.
    Aborted,
}

/// A canvas as [`propose_and_check`] has left it.
#[derive(Clone, Debug)]
pub(crate) struct CheckedCanvas {
    /// How it ended.
    pub(crate) outcome: CheckedOutcome,
    /// The text; `None` if aborted.
    pub(crate) text: Option<Vec<u8>>,
    /// What it took; a check counts as a mask.
    pub(crate) statistics: CanvasStatistics,
}

/// Fills one canvas by proposals: the surest token of the surest position is kept iff `check` finds the
/// canvas completable with it, else the next proposal is made. `positions` keep the tokens. Those in front of
/// the canvas are `prompt`.
///
/// # Errors
/// If prompt and canvas do not fit into the model, a setting is out of range, or the model or the check
/// fails.
pub(crate) fn propose_and_check(
    model: &mut dyn DiffusionModel,
    prompt: &[TokenId],
    positions: &mut [Option<TokenId>],
    check: &PartialCheck,
    config: &RejectConfig,
) -> anyhow::Result<CheckedCanvas> {
    let (given, allowed) = (prompt.len() + positions.len(), model.max_positions());
    ensure!(given <= allowed, "prompt and canvas have {given} tokens, the model takes {allowed}");
    let mut loops = Proposals {
        check,
        sampler: Sampler::new(config.sampler)?,
        positions,
        n_rejections_left: config.max_rejections,
        statistics: CanvasStatistics::default(),
    };
    while loops.positions.contains(&None) {
        if !loops.step(model, prompt)? {
            let text = check.example(loops.positions)?;
            let outcome = if text.is_some() { CheckedOutcome::Completed } else { CheckedOutcome::Aborted };
            return Ok(CheckedCanvas { outcome, text, statistics: loops.statistics });
        }
    }
    let text = check.example(loops.positions)?;
    Ok(CheckedCanvas { outcome: CheckedOutcome::Filled, text, statistics: loops.statistics })
}

/// The state of one call of [`propose_and_check`].
struct Proposals<'a> {
    check: &'a PartialCheck,
    sampler: Sampler,
    positions: &'a mut [Option<TokenId>],
    n_rejections_left: usize,
    statistics: CanvasStatistics,
}

impl Proposals<'_> {
    /// One look of the model, and proposals until one is kept; false if there were too many.
    fn step(&mut self, model: &mut dyn DiffusionModel, prompt: &[TokenId]) -> anyhow::Result<bool> {
        let mask_id = model.mask_id();
        let known = self.positions.iter().map(|position| position.unwrap_or(mask_id));
        let canvas: Vec<TokenId> = prompt.iter().copied().chain(known).collect();
        let clock = Instant::now();
        let logits = model.forward(&[&canvas])?;
        self.statistics.forward += clock.elapsed();
        self.statistics.n_steps += 1;
        let logits = logits.first().filter(|logits| logits.n_rows() == canvas.len());
        let logits = logits.context("the model returned too few rows of logits")?;
        let mut proposals: Vec<Proposal> = Vec::new();
        for position in 0..self.positions.len() {
            if self.positions[position].is_some() {
                continue;
            }
            let mut row = logits.row(prompt.len() + position).to_vec();
            if let Some(logit) = row.get_mut(mask_id.index()) {
                *logit = f32::NEG_INFINITY;
            }
            proposals.extend(self.propose(position, row));
        }
        loop {
            let surest = proposals.iter().enumerate().max_by(|(_, left), (_, right)| {
                left.confidence.total_cmp(&right.confidence).then(right.position.cmp(&left.position))
            });
            let Some((place, &Proposal { position, id, .. })) = surest else { return Ok(false) };
            self.positions[position] = Some(id);
            let clock = Instant::now();
            let is_kept = self.check.is_completable(self.positions)?;
            let elapsed = clock.elapsed();
            self.statistics.n_masks += 1;
            self.statistics.constraint += elapsed;
            self.statistics.slowest_mask = self.statistics.slowest_mask.max(elapsed);
            if is_kept {
                self.statistics.n_filled += 1;
                return Ok(true);
            }
            self.positions[position] = None;
            self.statistics.n_refused += 1;
            if self.n_rejections_left <= 1 {
                return Ok(false);
            }
            self.n_rejections_left -= 1;
            let Proposal { mut row, .. } = proposals.swap_remove(place);
            row[id.index()] = f32::NEG_INFINITY;
            proposals.extend(self.propose(position, row));
        }
    }

    /// What the model would put at a position; `None` if it has nothing left to propose there.
    fn propose(&mut self, position: usize, row: Vec<f32>) -> Option<Proposal> {
        let clock = Instant::now();
        let id = self.sampler.sample(&row)?;
        let confidence = probability(&row, id);
        self.statistics.sample += clock.elapsed();
        Some(Proposal { position, id, confidence, row })
    }
}

/// A token for a position, and the logits there without what was rejected.
struct Proposal {
    position: usize,
    id: TokenId,
    confidence: f64,
    row: Vec<f32>,
}

/// The probability of `id`: softmax(row) at it.
fn probability(row: &[f32], id: TokenId) -> f64 {
    let mut only = vec![0; mask_len(row.len())];
    only[id.index() / 32] = 1 << (id.0 % 32);
    allowed_mass(row, &only)
}

#[cfg(test)]
mod tests {
    use maskwright::{CompileOptions, GrammarSource, Tokenizer};
    use maskwright_automata::Fuel;
    use maskwright_decode::RandomDiffusionModel;
    use maskwright_models::builtin_diffusion;
    use maskwright_oracle::Oracle;

    use super::*;

    const TOKENS: [&str; 13] = ["(", ")", "[", "]", "()", "[]", "](", ")[", "((", "))", "[[", "]]", "]])"];
    const EOS: TokenId = TokenId(13);
    const PADDING: TokenId = TokenId(14);
    const MASK: TokenId = TokenId(15);
    const N_VOCAB: usize = 16;

    fn is_balanced(text: &[u8]) -> bool {
        let mut open = Vec::new();
        text.iter().all(|&byte| match byte {
            b'(' | b'[' => {
                open.push(byte);
                true
            }
            b')' => open.pop() == Some(b'('),
            _ => open.pop() == Some(b'['),
        }) && open.is_empty()
    }

    fn tokenizer() -> Tokenizer {
        let mut tokens: Vec<Vec<u8>> = TOKENS.iter().map(|token| token.as_bytes().to_vec()).collect();
        tokens.resize(N_VOCAB, Vec::new());
        Tokenizer::from_tokens(tokens, &[EOS]).unwrap()
    }

    fn infiller() -> Infiller {
        let grammar = GrammarSource::gbnf(r#"root ::= ("(" root ")" | "[" root "]")*"#)
            .grammar(&CompileOptions::default())
            .unwrap();
        Infiller::new(&grammar, tokenizer().vocabulary().clone(), Default::default(), &Fuel::unlimited())
            .unwrap()
    }

    #[test]
    fn proposals_are_checked_one_by_one() {
        let check = PartialCheck::new(&infiller(), Some(PADDING));
        let (mut n_filled, mut n_completed) = (0, 0);
        for seed in 0..40 {
            let mut model = RandomDiffusionModel::new(N_VOCAB, 64, MASK, seed);
            let mut positions = vec![None; 10];
            let config = RejectConfig { max_rejections: 30, ..RejectConfig::default() };
            let filled =
                propose_and_check(&mut model, &[TokenId(0)], &mut positions, &check, &config).unwrap();
            let text = filled.text.unwrap();
            assert!(is_balanced(&text));
            match filled.outcome {
                CheckedOutcome::Filled => {
                    n_filled += 1;
                    let ids: Vec<TokenId> = positions.iter().flatten().copied().collect();
                    let end = ids.iter().position(|&id| id == EOS || id == PADDING).unwrap_or(ids.len());
                    assert_eq!(tokenizer().decode(&ids[..end]), text);
                    assert_eq!(filled.statistics.n_masks, 10 + filled.statistics.n_refused);
                }
                CheckedOutcome::Completed => {
                    n_completed += 1;
                    assert!(positions.contains(&None));
                    assert!(filled.statistics.n_refused <= 30);
                }
                CheckedOutcome::Aborted => panic!("brackets can always be closed"),
            }
        }
        assert!(n_filled > 0 && n_completed > 0, "{n_filled} filled, {n_completed} completed: both happen");
    }

    /// What it costs to check proposals one by one, and where that ends.
    #[test]
    fn the_baseline_runs_the_same_model() {
        let mut builtin = builtin_diffusion().unwrap();
        let source = include_str!("../../../testdata/infill/smiles.gbnf");
        let grammar = GrammarSource::gbnf(source).grammar(&CompileOptions::default()).unwrap();
        let vocabulary = builtin.tokenizer.vocabulary().clone();
        let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited()).unwrap();
        let oracle = Oracle::new(&grammar);
        let check = PartialCheck::new(&infiller, Some(TokenId(builtin.model.config().pad_id)));
        let prompt = builtin.prompt_ids("smiles").unwrap();
        for seed in 0..3 {
            let sampler = SamplerConfig { seed, ..SamplerConfig::default() };
            let config = RejectConfig { sampler, ..RejectConfig::default() };
            let filled =
                propose_and_check(&mut builtin.model, &prompt, &mut [None; 20], &check, &config).unwrap();
            assert!(oracle.is_word(&filled.text.unwrap()));
        }
    }
}
