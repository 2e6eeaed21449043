//! `json-mode`: a real model at temperature 1 writes a record for each schema of JSON-Mode-Eval.
//!
//! Claimed: at least 90% of the texts finish within the limit on tokens, and every finished text satisfies
//! its schema in the eyes of an independent validator. The limit is a guarantee, as it is for users: a model
//! that loses itself in an endless string is led to its end; `--cut-off` shows how many finish without.
//! Schemas that the compiler refuses are listed with the reason, unfinished texts by name. Cost: one forward
//! pass a token.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use maskwright::json_schema::SchemaConfig;
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, MatcherConfig, Tokenizer, TokenizerOptions,
};
use maskwright_decode::{GenerateConfig, GrammarConstraint, LanguageModel, SamplerConfig, Summary, generate};
use maskwright_models::{ChatMessage, ChatTemplate, LlamaModel};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{self, Record};
use crate::judge::Judge;
use crate::log::{Log, LogArguments};
use crate::prompt;
use crate::table::{Quantiles, render, shortened};

/// The least share of texts that must finish.
const LEAST_FINISHED: f64 = 0.9;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// A GGUF file, or the name of a known model, which is pulled if need be
    #[arg(long, default_value = "smollm2")]
    model: String,
    /// Records of schemas [default: data/json-mode-eval.jsonl of the shared folder]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// The most tokens of a text
    #[arg(long, default_value_t = 1024)]
    max_tokens: usize,
    /// Texts are cut off at the limit, instead of being led to an end before it
    #[arg(long)]
    cut_off: bool,
    /// The sampler's seed for the first record; each further one has the next
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    log: LogArguments,
}

/// What became of one schema.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    id: String,
    outcome: Outcome,
    /// Why: the compiler's words, the validator's, the decoder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    seed: u64,
    #[serde(default)]
    n_tokens: usize,
    #[serde(default)]
    n_forced: usize,
    /// The mean probability that the model itself gave to what was allowed.
    #[serde(default)]
    allowed_mass: Option<f64>,
    #[serde(default)]
    seconds: f64,
    #[serde(default)]
    text: String,
}

#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// The compiler does not take the schema.
    Refused,
    /// Finished, and the validator agrees.
    Valid,
    /// Finished, and the validator objects: a bug.
    Invalid,
    /// The limit on tokens came first.
    Unfinished,
    /// The decoder failed: a bug.
    Failed,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let data = arguments.data.clone().unwrap_or_else(|| data::shared().join("data/json-mode-eval.jsonl"));
    let records = data::read_records(&data)?;
    let settings = json!({
        "model": arguments.model, "max_tokens": arguments.max_tokens, "seed": arguments.seed,
        "n_records": records.len(), "prompts": "facts", "cut_off": arguments.cut_off,
    });
    let mut log = Log::<Entry>::open("json-mode", &settings, &arguments.log)?;
    let is_done = |log: &Log<Entry>, id: &str| log.entries().iter().any(|entry| entry.id == id);
    if !records.iter().all(|record| is_done(&log, &record.id)) {
        let mut writer = Writer::load(&arguments.model, arguments.max_tokens, arguments.cut_off)?;
        let bar = crate::progress::bar("json-mode", log.entries().len(), records.len());
        for (index, record) in records.iter().enumerate() {
            if !is_done(&log, &record.id) {
                log.append(writer.entry(record, arguments.seed + index as u64)?)?;
                bar.inc(1);
            }
        }
        bar.finish();
    }
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries())
}

/// A loaded model and a compiler for its vocabulary.
struct Writer<M> {
    model: M,
    template: Option<ChatTemplate>,
    compiler: Compiler,
    max_tokens: usize,
    may_be_cut_off: bool,
}

impl Writer<LlamaModel> {
    fn load(name: &str, max_tokens: usize, may_be_cut_off: bool) -> anyhow::Result<Self> {
        let path = data::locate_model(name)?;
        let model = LlamaModel::from_gguf(&path)?;
        let tokenizer = Tokenizer::from_gguf(&path, &TokenizerOptions::default())?;
        let template = ChatTemplate::from_info(model.info())?;
        Ok(Writer { model, template, compiler: Compiler::new(&tokenizer), max_tokens, may_be_cut_off })
    }
}

impl<M: LanguageModel> Writer<M> {
    fn entry(&mut self, record: &Record, seed: u64) -> anyhow::Result<Entry> {
        let schema = record.schema.to_string();
        let compiled = self.compiler.compile(
            &GrammarSource::json_schema(&schema, SchemaConfig::default()),
            &CompileOptions::default(),
        );
        let mut entry = Entry {
            id: record.id.clone(),
            outcome: Outcome::Refused,
            reason: None,
            seed,
            n_tokens: 0,
            n_forced: 0,
            allowed_mass: None,
            seconds: 0.0,
            text: String::new(),
        };
        match compiled {
            Ok(compiled) => {
                let judge = Judge::new(&record.schema)
                    .with_context(|| format!("{}: the validator does not take the schema", record.id))?;
                self.write(&compiled, &prompt_of(record), &judge, &mut entry)?;
            }
            Err(error) => entry.reason = Some(error.to_string()),
        }
        Ok(entry)
    }

    fn write(
        &mut self,
        grammar: &std::sync::Arc<CompiledGrammar>,
        prompt: &str,
        judge: &Judge,
        entry: &mut Entry,
    ) -> anyhow::Result<()> {
        let tokenizer = self.compiler.tokenizer().clone();
        let prompt = match &self.template {
            Some(template) => template.render(&[ChatMessage::user(prompt)], true)?,
            None => prompt.to_owned(),
        };
        let prompt_ids = tokenizer.encode_with_special(&prompt)?;
        let config = GenerateConfig {
            max_tokens: self.max_tokens,
            eos_ids: tokenizer.eos_token_ids().to_vec(),
            sampler: SamplerConfig { temperature: 1.0, seed: entry.seed, ..SamplerConfig::default() },
            jump_forward: true,
            measure_mass: true,
            n_candidates: 0,
        };
        let limit = (!self.may_be_cut_off).then_some(self.max_tokens);
        let matcher = match Matcher::with_config(grammar, &MatcherConfig::with_max_tokens(limit)) {
            Ok(matcher) => matcher,
            Err(error) => {
                entry.outcome = Outcome::Refused;
                entry.reason = Some(error.to_string());
                return Ok(());
            }
        };
        let mut constraint = GrammarConstraint::new(matcher, &tokenizer);
        let clock = Instant::now();
        let result = generate(&mut self.model, Some(&mut constraint), &prompt_ids, &config, &mut |_| {
            ControlFlow::Continue(())
        });
        entry.seconds = clock.elapsed().as_secs_f64();
        let generation = match result {
            Ok(generation) => generation,
            Err(error) => {
                entry.outcome = Outcome::Failed;
                entry.reason = Some(error.to_string());
                return Ok(());
            }
        };
        let summary = Summary::of(&generation.steps);
        entry.n_tokens = summary.n_tokens;
        entry.n_forced = summary.n_forced;
        entry.allowed_mass = summary.mean_allowed_mass;
        let text = tokenizer.decode(&generation.tokens);
        entry.text = String::from_utf8_lossy(&text).into_owned();
        if generation.finish_reason.is_complete() {
            entry.reason = judge.objection(&text);
            entry.outcome = if entry.reason.is_none() { Outcome::Valid } else { Outcome::Invalid };
        } else {
            entry.outcome = Outcome::Unfinished;
        }
        Ok(())
    }
}

/// The record's facts and schema, or the schema alone where there are no facts.
fn prompt_of(record: &Record) -> String {
    match &record.gold {
        Some(gold) => prompt::of_facts(&record.schema, gold),
        None => format!("Write a JSON record that fits this schema: {}", record.schema),
    }
}

fn count(entries: &[Entry], outcome: Outcome) -> usize {
    entries.iter().filter(|entry| entry.outcome == outcome).count()
}

fn report(entries: &[Entry]) -> String {
    use Outcome::{Failed, Invalid, Refused, Unfinished, Valid};
    let mut rows = Vec::new();
    for (title, outcome) in [
        ("schemas refused by the compiler", Refused),
        ("finished and valid", Valid),
        ("finished and INVALID", Invalid),
        ("unfinished", Unfinished),
        ("FAILED", Failed),
    ] {
        rows.push(vec![title.to_owned(), count(entries, outcome).to_string()]);
    }
    let mut text = render(&rows);
    for entry in entries.iter().filter(|entry| entry.outcome != Valid) {
        let why = entry.reason.clone().unwrap_or_else(|| {
            let end: String =
                entry.text.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
            format!("{} tokens, ending in {end:?}", entry.n_tokens)
        });
        text += &format!("{} {:?}: {}\n", entry.id, entry.outcome, shortened(&why, 160));
    }
    let written: Vec<&Entry> =
        entries.iter().filter(|entry| matches!(entry.outcome, Valid | Invalid | Unfinished)).collect();
    let of = |value: fn(&Entry) -> f64| written.iter().map(move |entry| value(entry));
    text += &render(&[
        Quantiles::head("per text"),
        Quantiles::row("tokens", of(|entry| entry.n_tokens as f64)),
        Quantiles::row("forced tokens", of(|entry| entry.n_forced as f64)),
        Quantiles::row("seconds", of(|entry| entry.seconds)),
        Quantiles::row("allowed mass %", of(|entry| 100.0 * entry.allowed_mass.unwrap_or(1.0))),
    ]);
    text
}

/// Whether the claim holds.
fn verdict(entries: &[Entry]) -> anyhow::Result<()> {
    let n_finished = count(entries, Outcome::Valid) + count(entries, Outcome::Invalid);
    let n_written = n_finished + count(entries, Outcome::Unfinished);
    if n_written == 0 {
        bail!("no text was written");
    }
    let n_bad = count(entries, Outcome::Invalid) + count(entries, Outcome::Failed);
    ensure!(n_bad == 0, "{n_bad} texts are invalid or failed");
    let share = n_finished as f64 / n_written as f64;
    ensure!(
        share >= LEAST_FINISHED,
        "{n_finished} of {n_written} texts finished, at least {:.0}% are claimed",
        100.0 * LEAST_FINISHED
    );
    println!("{n_finished} of {n_written} texts finished ({:.1}%), all of them valid", 100.0 * share);
    Ok(())
}

#[cfg(test)]
mod tests {
    use maskwright::TokenId;
    use maskwright_decode::RandomModel;
    use serde_json::Value;

    use super::*;

    fn entry(schema: Value, max_tokens: usize) -> Entry {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        tokens.push(Vec::new());
        let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap();
        let model = RandomModel::new(257, 4_000, 1);
        let mut writer = Writer {
            model,
            template: None,
            compiler: Compiler::new(&tokenizer),
            max_tokens,
            may_be_cut_off: true,
        };
        writer.entry(&Record { id: "x".to_owned(), schema, tests: Vec::new(), gold: None }, 5).unwrap()
    }

    #[test]
    fn every_outcome_is_told_apart() {
        let valid = entry(json!({"enum": ["a", "b"]}), 100);
        assert_eq!((valid.outcome, valid.reason.as_deref()), (Outcome::Valid, None));
        assert!(["\"a\"", "\"b\""].contains(&valid.text.as_str()) && valid.n_tokens == 4);
        let unfinished = entry(json!({"type": "string", "minLength": 60}), 50);
        assert_eq!((unfinished.outcome, unfinished.n_tokens), (Outcome::Unfinished, 50));
        let refused = entry(json!({"type": "string", "minLength": 2, "maxLength": 1}), 50);
        assert!(refused.outcome == Outcome::Refused && refused.reason.is_some());
        assert!(verdict(&[valid.clone(), refused.clone()]).is_ok());
        assert!(verdict(&[valid.clone(), unfinished.clone()]).is_err());
        assert!(verdict(&[refused]).is_err(), "nothing was written");
        let invalid = Entry { outcome: Outcome::Invalid, ..valid.clone() };
        let error = verdict(&[valid, invalid]).unwrap_err();
        assert!(error.to_string().contains("1 texts are invalid"));
        assert!(report(&[unfinished]).contains("x Unfinished: 50 tokens, ending in"));
    }
}
