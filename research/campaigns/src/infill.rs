//! Masked diffusion with no constraint, with the check of one proposal after the other, and with exact masks.
//!
//! The built-in model fills canvases with JSON records of the six kinds that it was trained on, with
//! molecules, and with records for the schemas of JSON-Mode-Eval, which it has never seen. A text counts as
//! right if a parser that shares nothing with infilling agrees: a JSON parser and a schema validator, and the
//! engine's matcher for SMILES with [closed rings](crate::molecules) (`cargo xtask papers` judges the
//! molecules by RDKit). Seeds, lengths and prompts are the same for the three methods.
//!
//! What is claimed: exact masks make every text right, and none is patched up at the end.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use maskwright::json_schema::SchemaConfig;
use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, TokenId};
use maskwright_decode::{
    CanvasStatistics, CanvasTask, FillConfig, GrammarCanvas, SamplerConfig, fill_canvases,
};
use maskwright_infill::{Canvas, CanvasConfig, Infiller};
use maskwright_models::{BUILTIN_SCHEMAS, BuiltinDiffusion, builtin_diffusion};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::data::{self, Record};
use crate::judge::Judge;
use crate::log::{Log, LogArguments};
use crate::molecules;
use crate::reject::{CheckedOutcome, PartialCheck, RejectConfig, propose_and_check};
use crate::table::{Quantiles, render, shortened};

/// Begins the name of a kind that is a schema of JSON-Mode-Eval; its id follows.
const RECORD: &str = "schema ";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Texts of each kind (six of records, one of molecules), method and seed
    #[arg(long, default_value_t = 10)]
    texts: u64,
    /// How many times as many molecules
    #[arg(long, default_value_t = 1)]
    molecules: u64,
    /// Schemas of JSON-Mode-Eval
    #[arg(long, default_value_t = 0)]
    schemas: usize,
    /// Texts for each of these schemas
    #[arg(long, default_value_t = 1)]
    unseen_seeds: u64,
    /// Positions of a canvas for one of these schemas, beyond the fewest tokens that satisfy it
    #[arg(long, default_value_t = 24)]
    spare_tokens: usize,
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
        "temperature": arguments.temperature, "spare_tokens": arguments.spare_tokens, "smiles": "closed rings",
    });
    let mut log = Log::<Entry>::open("infill", &settings, &arguments.log)?;
    let n_seeds = arguments.seeds * arguments.texts;
    let mut jobs = vec![(Kind::molecules(), n_seeds * arguments.molecules)];
    jobs.extend(BUILTIN_SCHEMAS.map(|(name, schema)| (Kind::records(name, schema), n_seeds)));
    if arguments.schemas > 0 {
        let records = data::read_records(&data::shared().join("data/json-mode-eval.jsonl"))?;
        jobs.extend(
            records
                .iter()
                .take(arguments.schemas)
                .map(|record| (Kind::unseen(record), arguments.unseen_seeds)),
        );
    }
    let n_texts: u64 = jobs.iter().map(|(_, n)| n * METHODS.len() as u64).sum();
    let bar = crate::progress::bar("infill", 0, n_texts as usize);
    let builtin = builtin_diffusion()?;
    for (kind, n_seeds) in jobs {
        let is_done = |log: &Log<Entry>, method: Method, seed: u64| {
            log.entries()
                .iter()
                .any(|entry| entry.kind == kind.name && entry.method == method && entry.seed == seed)
        };
        let mut left: Vec<(Method, u64)> =
            (0..n_seeds).flat_map(|seed| METHODS.map(|method| (method, seed))).collect();
        let n_all = left.len();
        left.retain(|&(method, seed)| !is_done(&log, method, seed));
        bar.inc((n_all - left.len()) as u64);
        if left.is_empty() {
            continue;
        }
        let mut writer = match Writer::new(builtin.clone(), &kind, arguments) {
            Ok(writer) => writer,
            Err(error) => {
                eprintln!("{} is left out: {error:#}", kind.name);
                continue;
            }
        };
        for (method, seed) in left {
            log.append(writer.entry(method, seed)?)?;
            bar.inc(1);
        }
    }
    bar.finish();
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries())
}

/// What a canvas is filled with.
struct Kind {
    name: String,
    /// What the model is asked for.
    prompt: &'static str,
    /// The schema of a record; a molecule has none.
    schema: Option<Value>,
    is_unseen: bool,
}

impl Kind {
    fn molecules() -> Kind {
        Kind { name: "smiles".to_owned(), prompt: "smiles", schema: None, is_unseen: false }
    }

    fn records(name: &'static str, schema: &str) -> Kind {
        let schema = serde_json::from_str(schema).expect("the built-in schemas are JSON");
        Kind { name: name.to_owned(), prompt: name, schema: Some(schema), is_unseen: false }
    }

    /// A record of a schema that the model was not trained on. It is asked for a record of a kind that it
    /// knows.
    fn unseen(record: &Record) -> Kind {
        let name = format!("{RECORD}{}", record.id);
        Kind { name, prompt: "order", schema: Some(record.schema.clone()), is_unseen: true }
    }
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
    kind: String,
    prompt: Vec<TokenId>,
    infiller: Infiller,
    referee: Referee,
    n_positions: usize,
    temperature: f32,
}

impl Writer {
    fn new(builtin: BuiltinDiffusion, kind: &Kind, arguments: &Arguments) -> anyhow::Result<Writer> {
        let options = CompileOptions::default();
        let source = match &kind.schema {
            Some(schema) => GrammarSource::json_schema(schema.to_string(), SchemaConfig::default()),
            None => {
                let mut options = LarkOptions::default();
                options.lexer = LexerKind::Basic;
                GrammarSource::lark(molecules::closed_rings(), options)
            }
        };
        let compiled = Compiler::new(&builtin.tokenizer).compile(&source, &options)?;
        let infiller = compiled.infiller(&options)?;
        let n_positions = if kind.is_unseen {
            Matcher::new(&compiled).tokens_to_finish()?.n_tokens + arguments.spare_tokens
        } else if kind.schema.is_some() {
            arguments.record_tokens
        } else {
            arguments.molecule_tokens
        };
        let longest = builtin.model.config().n_positions;
        let prompt = builtin.prompt_ids(kind.prompt)?;
        ensure!(
            prompt.len() + n_positions <= longest,
            "it takes {n_positions} positions, the model has {longest}"
        );
        let referee = match &kind.schema {
            Some(schema) => Referee::Schema(Judge::new(schema)?),
            None => Referee::Grammar { compiled },
        };
        let temperature = arguments.temperature;
        Ok(Writer { builtin, kind: kind.name.clone(), prompt, infiller, referee, n_positions, temperature })
    }

    fn entry(&mut self, method: Method, seed: u64) -> anyhow::Result<Entry> {
        let clock = Instant::now();
        let (text, is_patched, statistics, failure) = match self.write(method, seed) {
            Ok((text, is_patched, statistics)) => (text, is_patched, statistics, "no text".to_owned()),
            // With any number of tokens in each gap, the check may be beyond the limit on work. Then there is
            // no text.
            Err(error) if method == Method::Propose => {
                (None, true, CanvasStatistics::default(), format!("{error:#}"))
            }
            Err(error) => return Err(error.context(self.kind.clone())),
        };
        let total = clock.elapsed();
        let reason = match &text {
            Some(text) => self.referee.objection(text)?,
            None => Some(failure),
        };
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        Ok(Entry {
            kind: self.kind.clone(),
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
    let group = |entry: &Entry| match entry.kind.as_str() {
        "smiles" => "molecules",
        kind if kind.starts_with(RECORD) => "unseen schemas",
        _ => "records",
    };
    for title in ["records", "molecules", "unseen schemas"] {
        for method in METHODS {
            let chosen: Vec<&Entry> =
                entries.iter().filter(|entry| entry.method == method && group(entry) == title).collect();
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
            molecules: 1,
            schemas: 0,
            unseen_seeds: 1,
            spare_tokens: 24,
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
        let (name, schema) = BUILTIN_SCHEMAS[0];
        // With these seeds the model draws a token that is refused, so that a mask is made.
        for (kind, seed) in [(Kind::molecules(), 6), (Kind::records(name, schema), 5)] {
            let mut writer = Writer::new(builtin.clone(), &kind, &arguments()).unwrap();
            for method in METHODS {
                entries.push(writer.entry(method, seed).unwrap());
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
        assert!(report(&[wrong]).contains("smiles seed 6"));
    }

    #[test]
    fn the_referee_knows_molecules() {
        let writer = Writer::new(builtin_diffusion().unwrap(), &Kind::molecules(), &arguments()).unwrap();
        assert_eq!(writer.referee.objection(b"c1ccccc1[N+](=O)[O-]").unwrap(), None);
        assert!(writer.referee.objection(b"C(C").unwrap().is_some());
    }
}
