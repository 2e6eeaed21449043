//! Masked diffusion with no constraint, with the check of one proposal after the other, and with exact masks.
//!
//! The built-in model fills canvases with JSON records of its six kinds and with molecules. A text counts as right if
//! a parser that shares nothing with infilling agrees: a JSON parser and a schema validator, and the engine's
//! matcher for SMILES. Seeds, lengths and prompts are the same for the three methods.
//!
//! What is claimed: exact masks make every text right, and none is patched up at the end.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use maskwright::grammar::Grammar;
use maskwright::json_schema::SchemaConfig;
use maskwright::{CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, TokenId};
use maskwright_decode::{
    CanvasStatistics, CanvasTask, FillConfig, GrammarCanvas, SamplerConfig, fill_canvases,
};
use maskwright_infill::{Canvas, CanvasConfig, InfillLimits, Infiller};
use maskwright_models::{BUILTIN_SCHEMAS, BuiltinDiffusion, builtin_diffusion};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::judge::Judge;
use crate::log::{Log, LogArguments};
use crate::reject::{CheckedOutcome, PartialCheck, RejectConfig, propose_and_check};
use crate::table::{Quantiles, render, shortened};

const SMILES: &str = include_str!("../../../testdata/infill/smiles.gbnf");

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Texts of each kind (six of records, one of molecules), method and seed
    #[arg(long, default_value_t = 10)]
    texts: u64,
    /// Runs with different seeds
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Positions of a canvas of a record
    #[arg(long, default_value_t = 56)]
    record_tokens: usize,
    /// Positions of a canvas of a molecule
    #[arg(long, default_value_t = 32)]
    molecule_tokens: usize,
    /// The sampler's temperature
    #[arg(long, default_value_t = 1.0)]
    temperature: f32,
    #[command(flatten)]
    log: LogArguments,
}

/// How a canvas is held to its language.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Method {
    /// Not at all.
    None,
    /// Proposals are checked one by one.
    Propose,
    /// Exact masks.
    Masks,
}

const METHODS: [Method; 3] = [Method::None, Method::Propose, Method::Masks];

/// One canvas.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    kind: String,
    method: Method,
    seed: u64,
    /// Whether the text is right.
    is_valid: bool,
    /// Whether the loop gave up and the text is an example word.
    is_patched: bool,
    /// Why it is not right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    n_steps: usize,
    n_refused: usize,
    n_masks: usize,
    forward_ms: f64,
    constraint_ms: f64,
    slowest_ms: f64,
    total_ms: f64,
    text: String,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let settings = json!({
        "record_tokens": arguments.record_tokens, "molecule_tokens": arguments.molecule_tokens,
        "temperature": arguments.temperature,
    });
    let mut log = Log::<Entry>::open("infill", &settings, &arguments.log)?;
    let mut kinds = vec!["smiles"];
    kinds.extend(BUILTIN_SCHEMAS.map(|(kind, _)| kind));
    let n_seeds = arguments.seeds * arguments.texts;
    let bar = crate::progress::bar("infill", 0, kinds.len() * METHODS.len() * n_seeds as usize);
    let builtin = builtin_diffusion()?;
    for kind in kinds {
        let mut writer = Writer::new(builtin.clone(), kind, arguments)?;
        for seed in 0..n_seeds {
            for method in METHODS {
                let is_this =
                    |entry: &Entry| entry.kind == kind && entry.method == method && entry.seed == seed;
                if !log.entries().iter().any(is_this) {
                    log.append(writer.entry(method, seed)?)?;
                }
                bar.inc(1);
            }
        }
    }
    bar.finish();
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries())
}

/// Who says whether a text is right.
enum Referee {
    Schema(Judge),
    Grammar { compiled: std::sync::Arc<CompiledGrammar> },
}

impl Referee {
    fn objection(&self, text: &[u8]) -> anyhow::Result<Option<String>> {
        match self {
            Referee::Schema(judge) => Ok(judge.objection(text)),
            Referee::Grammar { compiled } => {
                let mut matcher = Matcher::new(compiled);
                let is_read = matcher.accept_bytes(text)?;
                Ok((!is_read || !matcher.is_accepting()).then(|| "not in the grammar".to_owned()))
            }
        }
    }
}

/// A model, a language, and who judges.
struct Writer {
    builtin: BuiltinDiffusion,
    kind: &'static str,
    prompt: Vec<TokenId>,
    infiller: Infiller,
    referee: Referee,
    n_positions: usize,
    temperature: f32,
}

impl Writer {
    fn new(builtin: BuiltinDiffusion, kind: &'static str, arguments: &Arguments) -> anyhow::Result<Writer> {
        let options = CompileOptions::default();
        let schema = BUILTIN_SCHEMAS.iter().find(|(name, _)| *name == kind);
        let (grammar, referee, n_positions): (Grammar, Referee, usize) = match schema {
            Some((_, schema)) => {
                let judge = Judge::new(&serde_json::from_str(schema)?)?;
                let grammar =
                    GrammarSource::json_schema(*schema, SchemaConfig::default()).grammar(&options)?;
                (grammar, Referee::Schema(judge), arguments.record_tokens)
            }
            None => {
                let compiled =
                    Compiler::new(&builtin.tokenizer).compile(&GrammarSource::gbnf(SMILES), &options)?;
                let grammar = GrammarSource::gbnf(SMILES).grammar(&options)?;
                (grammar, Referee::Grammar { compiled }, arguments.molecule_tokens)
            }
        };
        let vocabulary = builtin.tokenizer.vocabulary().clone();
        let fuel = maskwright_automata::Fuel::unlimited();
        let infiller = Infiller::new(&grammar, vocabulary, InfillLimits::default(), &fuel)?;
        let prompt = builtin.prompt_ids(kind)?;
        let temperature = arguments.temperature;
        Ok(Writer { builtin, kind, prompt, infiller, referee, n_positions, temperature })
    }

    fn entry(&mut self, method: Method, seed: u64) -> anyhow::Result<Entry> {
        let clock = Instant::now();
        let (text, is_patched, statistics) = self.write(method, seed).with_context(|| self.kind)?;
        let total = clock.elapsed();
        let reason = match &text {
            Some(text) => self.referee.objection(text)?,
            None => Some("no text".to_owned()),
        };
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        Ok(Entry {
            kind: self.kind.to_owned(),
            method,
            seed,
            is_valid: reason.is_none(),
            is_patched,
            reason,
            n_steps: statistics.n_steps,
            n_refused: statistics.n_refused,
            n_masks: statistics.n_masks,
            forward_ms: ms(statistics.forward),
            constraint_ms: ms(statistics.constraint),
            slowest_ms: ms(statistics.slowest_mask),
            total_ms: ms(total),
            text: String::from_utf8_lossy(&text.unwrap_or_default()).into_owned(),
        })
    }

    /// The text, whether it was patched up, and what it cost.
    fn write(
        &mut self,
        method: Method,
        seed: u64,
    ) -> anyhow::Result<(Option<Vec<u8>>, bool, CanvasStatistics)> {
        let sampler = SamplerConfig { temperature: self.temperature, seed, ..SamplerConfig::default() };
        let mut positions = vec![None; self.n_positions];
        let padding = Some(TokenId(self.builtin.model.config().pad_id));
        if method == Method::Propose {
            let check = PartialCheck::new(&self.infiller, padding);
            let config = RejectConfig { sampler, ..RejectConfig::default() };
            let filled =
                propose_and_check(&mut self.builtin.model, &self.prompt, &mut positions, &check, &config)?;
            return Ok((filled.text, filled.outcome != CheckedOutcome::Filled, filled.statistics));
        }
        let mut config = CanvasConfig::default();
        config.padding = padding;
        let mut constraint =
            GrammarCanvas::new(Canvas::new(&self.infiller, &vec![None; self.n_positions], config)?);
        let task = CanvasTask {
            prompt: &self.prompt,
            positions,
            constraint: if method == Method::Masks { Some(&mut constraint) } else { None },
        };
        let config = FillConfig { sampler, ..FillConfig::default() };
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let mut filled = fill_canvases(&mut self.builtin.model, vec![task], &config, go_on)?;
        let filled = filled.pop().context("one canvas was given")?;
        let ids = filled.text(self.builtin.tokenizer.eos_token_ids());
        Ok((ids.map(|ids| self.builtin.tokenizer.decode(&ids)), false, filled.statistics))
    }
}

fn report(entries: &[Entry]) -> String {
    let head = [
        "texts",
        "right",
        "right, patched ones not",
        "refused",
        "steps",
        "forward ms",
        "constraint ms",
        "ms/step",
        "p99",
        "overhead",
    ];
    let mut rows = vec![std::iter::once("").chain(head).map(str::to_owned).collect::<Vec<_>>()];
    for (title, is_molecule) in [("records", false), ("molecules", true)] {
        for method in METHODS {
            let chosen: Vec<&Entry> = entries
                .iter()
                .filter(|entry| entry.method == method && (entry.kind == "smiles") == is_molecule)
                .collect();
            if chosen.is_empty() {
                continue;
            }
            let n = chosen.len() as f64;
            let share = |is: &dyn Fn(&Entry) -> bool| {
                format!("{:.1}%", 100.0 * chosen.iter().filter(|entry| is(entry)).count() as f64 / n)
            };
            let sum = |of: &dyn Fn(&Entry) -> f64| chosen.iter().map(|entry| of(entry)).sum::<f64>();
            let mean = |of: &dyn Fn(&Entry) -> f64| format!("{:.1}", sum(of) / n);
            let (constraint, forward) = (sum(&|entry| entry.constraint_ms), sum(&|entry| entry.forward_ms));
            let slowest = Quantiles::of(chosen.iter().map(|entry| entry.slowest_ms));
            rows.push(vec![
                format!("{title}, {method:?}"),
                chosen.len().to_string(),
                share(&|entry| entry.is_valid),
                share(&|entry| entry.is_valid && !entry.is_patched),
                mean(&|entry| entry.n_refused as f64),
                mean(&|entry| entry.n_steps as f64),
                mean(&|entry| entry.forward_ms),
                mean(&|entry| entry.constraint_ms),
                format!("{:.2}", constraint / sum(&|entry| entry.n_steps as f64)),
                slowest.map_or(String::new(), |slowest| format!("{:.2}", slowest.p99)),
                format!("{:.0}%", 100.0 * constraint / forward),
            ]);
        }
    }
    let mut text = render(&rows);
    text +=
        "(p99: of the slowest mask or check of a text, in ms; overhead: constraint beside forward passes)\n";
    for entry in entries.iter().filter(|entry| entry.method == Method::Masks && !entry.is_valid) {
        let why = entry.reason.as_deref().unwrap_or_default();
        text += &format!("{} seed {}: {why}: {}\n", entry.kind, entry.seed, shortened(&entry.text, 160));
    }
    text
}

/// Whether the claim holds.
fn verdict(entries: &[Entry]) -> anyhow::Result<()> {
    let masked = entries.iter().filter(|entry| entry.method == Method::Masks);
    let (n, n_wrong) = (masked.clone().count(), masked.filter(|entry| !entry.is_valid).count());
    ensure!(n > 0, "no text was written");
    ensure!(n_wrong == 0, "{n_wrong} of {n} texts under masks are wrong");
    println!("all {n} texts under masks are right, none patched");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> Arguments {
        Arguments {
            texts: 1,
            seeds: 1,
            record_tokens: 48,
            molecule_tokens: 16,
            temperature: 1.0,
            log: LogArguments::default(),
        }
    }

    #[test]
    fn every_method_writes_and_is_judged() {
        let builtin = builtin_diffusion().unwrap();
        let mut entries = Vec::new();
        for kind in ["smiles", "person"] {
            let mut writer = Writer::new(builtin.clone(), kind, &arguments()).unwrap();
            for method in METHODS {
                entries.push(writer.entry(method, 3).unwrap());
            }
        }
        verdict(&entries).unwrap();
        assert!(entries.iter().filter(|entry| entry.method == Method::Propose).all(|entry| entry.is_valid));
        assert!(
            entries
                .iter()
                .all(|entry| entry.n_steps > 0 && (entry.n_masks > 0) == (entry.method != Method::None))
        );
        assert_eq!(report(&entries).lines().count(), 8);
        let wrong = Entry { is_valid: false, ..entries[2].clone() };
        assert!(
            verdict(std::slice::from_ref(&wrong))
                .unwrap_err()
                .to_string()
                .starts_with("1 of 1 texts under masks")
        );
        assert!(report(&[wrong]).contains("smiles seed 3"));
    }

    #[test]
    fn the_referee_knows_molecules() {
        let writer = Writer::new(builtin_diffusion().unwrap(), "smiles", &arguments()).unwrap();
        assert_eq!(writer.referee.objection(b"c1ccccc1[N+](=O)[O-]").unwrap(), None);
        assert!(writer.referee.objection(b"C(C").unwrap().is_some());
    }
}
