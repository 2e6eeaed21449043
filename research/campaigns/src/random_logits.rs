//! `random-logits`: a model without taste writes texts for real schemas, and every finished one must be
//! valid.
//!
//! The logits are uniform, nothing favours an end, so this is the constraint alone. Schemas are taken from
//! MaskBench in the order of a hash of their ids, as long as the compiler and the judge take them. In rounds,
//! each schema gets one text a round, until enough texts are finished. The limit on tokens is a guarantee, as
//! it is for users; a schema that takes more gets its least number and half as many again. With `--cut-off`,
//! and where the session enforces a keyword, texts may reach the limit; such a text is counted apart, and
//! must still have a way on.
//!
//! Tokens are forced in even rounds and drawn one by one in odd rounds, so that jump-forward is judged too.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{bail, ensure};
use maskwright::json_schema::SchemaConfig;
use maskwright::{CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId};
use maskwright_decode::{GenerateConfig, GrammarConstraint, RandomModel, SamplerConfig, generate};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{self, Record};
use crate::judge::Judge;
use crate::log::{Log, LogArguments};
use crate::table::{Quantiles, render, shortened};

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Whose vocabulary: a shared tokenizer's name, a file, or a built-in encoding
    #[arg(long, default_value = "smollm2")]
    tokenizer: String,
    /// Records of schemas [default: data/maskbench of the shared folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How many schemas
    #[arg(long, default_value_t = 50)]
    schemas: usize,
    /// How many finished texts in all
    #[arg(long, default_value_t = 1000)]
    texts: usize,
    /// The most tokens of a text
    #[arg(long, default_value_t = 512)]
    max_tokens: usize,
    /// Texts are cut off at the limit, instead of being led to an end before it
    #[arg(long)]
    cut_off: bool,
    /// The most rounds, if texts do not finish
    #[arg(long, default_value_t = 200)]
    max_rounds: u64,
    /// Changes the logits
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    id: String,
    round: u64,
    outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    n_tokens: usize,
    n_bytes: usize,
    /// Kept where something is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// Finished, and the validator agrees.
    Valid,
    /// Finished, and the validator objects: a bug.
    Invalid,
    /// The limit on tokens came first; some token is still allowed.
    Unfinished,
    /// A dead end or an error: a bug.
    Failed,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let data = arguments.data.clone().unwrap_or_else(|| data::shared().join("data/maskbench"));
    let records = data::read_records(&data)?;
    let settings = json!({
        "tokenizer": arguments.tokenizer, "n_records": records.len(), "schemas": arguments.schemas,
        "max_tokens": arguments.max_tokens, "cut_off": arguments.cut_off, "seed": arguments.seed,
    });
    let mut log = Log::<Entry>::open("random-logits", &settings, &arguments.log)?;
    let compiler = Compiler::new(&data::load_tokenizer(&arguments.tokenizer)?);
    let subjects = pick(records, arguments.schemas, &compiler);
    ensure!(!subjects.is_empty(), "no schema is taken by both the compiler and the validator");
    write_texts(&subjects, &compiler, arguments, &mut log)?;
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries(), arguments.texts)
}

/// A schema that texts are written for.
struct Subject {
    id: String,
    grammar: Arc<CompiledGrammar>,
    judge: Judge,
}

/// The first `n_wanted` records, in the order of a hash of their ids, that compiler and judge take.
fn pick(mut records: Vec<Record>, n_wanted: usize, compiler: &Compiler) -> Vec<Subject> {
    records.sort_by_key(|record| hash(record.id.as_bytes()));
    let subject = |record: Record| {
        let schema = record.schema.to_string();
        let compiled = compiler
            .compile(
                &GrammarSource::json_schema(&schema, SchemaConfig::default()),
                &CompileOptions::default(),
            )
            .ok()?;
        let judge = Judge::new(&record.schema).ok()?;
        Some(Subject { id: record.id, grammar: compiled, judge })
    };
    records.into_iter().filter_map(subject).take(n_wanted).collect()
}

/// FNV-1a, 64 bits: the same on every machine and in every release.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn write_texts(
    subjects: &[Subject],
    compiler: &Compiler,
    arguments: &Arguments,
    log: &mut Log<Entry>,
) -> anyhow::Result<()> {
    let known: HashSet<(String, u64)> =
        log.entries().iter().map(|entry| (entry.id.clone(), entry.round)).collect();
    let mut n_finished = n_finished_of(log.entries());
    let bar = crate::progress::bar("random-logits", n_finished, arguments.texts);
    for round in 0..arguments.max_rounds {
        for subject in subjects {
            if n_finished >= arguments.texts {
                return Ok(());
            }
            if known.contains(&(subject.id.clone(), round)) {
                continue;
            }
            let entry = write_text(subject, compiler, arguments, round)?;
            n_finished += usize::from(matches!(entry.outcome, Outcome::Valid | Outcome::Invalid));
            bar.set_position(n_finished as u64);
            log.append(entry)?;
        }
    }
    Ok(())
}

fn write_text(
    subject: &Subject,
    compiler: &Compiler,
    arguments: &Arguments,
    round: u64,
) -> anyhow::Result<Entry> {
    let tokenizer = compiler.tokenizer();
    let seed = arguments.seed ^ hash(subject.id.as_bytes()).wrapping_add(round);
    let (matcher, max_tokens) = start(subject, arguments)?;
    let mut model = RandomModel::new(tokenizer.n_vocab(), max_tokens + 1, seed);
    let config = GenerateConfig {
        max_tokens,
        eos_ids: tokenizer.eos_token_ids().to_vec(),
        sampler: SamplerConfig { seed, ..SamplerConfig::default() },
        jump_forward: round.is_multiple_of(2),
        measure_mass: false,
        n_candidates: 0,
    };
    let mut constraint = GrammarConstraint::new(matcher, tokenizer);
    let result = generate(&mut model, Some(&mut constraint), &[TokenId(0)], &config, &mut |_| {
        ControlFlow::Continue(())
    });
    let (outcome, reason, tokens) = match result {
        Err(error) => (Outcome::Failed, Some(error.to_string()), Vec::new()),
        Ok(generation) if generation.finish_reason.is_complete() => {
            let objection = subject.judge.objection(&tokenizer.decode(&generation.tokens));
            let outcome = if objection.is_none() { Outcome::Valid } else { Outcome::Invalid };
            (outcome, objection, generation.tokens)
        }
        Ok(generation) => match constraint.matcher().fork().mask() {
            Ok(mask) if !mask.is_empty() => (Outcome::Unfinished, None, generation.tokens),
            Ok(_) => (Outcome::Failed, Some("no token is allowed".to_owned()), generation.tokens),
            Err(error) => (Outcome::Failed, Some(error.to_string()), generation.tokens),
        },
    };
    let text = tokenizer.decode(&tokens);
    let is_bad = matches!(outcome, Outcome::Invalid | Outcome::Failed);
    Ok(Entry {
        id: subject.id.clone(),
        round,
        outcome,
        reason,
        n_tokens: tokens.len(),
        n_bytes: text.len(),
        text: is_bad.then(|| String::from_utf8_lossy(&text).into_owned()),
    })
}

/// The session of a text and its limit on tokens.
fn start(subject: &Subject, arguments: &Arguments) -> anyhow::Result<(Matcher, usize)> {
    let plain = Matcher::new(&subject.grammar);
    if arguments.cut_off {
        return Ok((plain, arguments.max_tokens));
    }
    // Of grammars that the session adds to, no lengths are known.
    let Ok(least) = plain.tokens_to_finish() else { return Ok((plain, arguments.max_tokens)) };
    let limit = arguments.max_tokens.max(least.n_tokens.saturating_mul(3) / 2);
    Ok((Matcher::with_config(&subject.grammar, &MatcherConfig::with_max_tokens(limit))?, limit))
}

fn n_finished_of(entries: &[Entry]) -> usize {
    entries.iter().filter(|entry| matches!(entry.outcome, Outcome::Valid | Outcome::Invalid)).count()
}

fn report(entries: &[Entry]) -> String {
    let count = |outcome| entries.iter().filter(|entry| entry.outcome == outcome).count().to_string();
    let n_schemas = entries.iter().map(|entry| &entry.id).collect::<HashSet<_>>().len();
    let mut text = render(&[
        vec!["schemas".to_owned(), n_schemas.to_string()],
        vec!["finished and valid".to_owned(), count(Outcome::Valid)],
        vec!["finished and INVALID".to_owned(), count(Outcome::Invalid)],
        vec!["unfinished, viable".to_owned(), count(Outcome::Unfinished)],
        vec!["FAILED".to_owned(), count(Outcome::Failed)],
    ]);
    for entry in entries.iter().filter(|entry| entry.reason.is_some()) {
        let reason = entry.reason.as_deref().unwrap_or_default();
        text += &format!("{} round {}: {}\n", entry.id, entry.round, shortened(reason, 160));
    }
    let mut unfinished: Vec<(&str, usize, usize)> = Vec::new();
    for entry in entries {
        let is_unfinished = usize::from(entry.outcome == Outcome::Unfinished);
        match unfinished.iter_mut().find(|(id, _, _)| *id == entry.id) {
            Some((_, n_unfinished, n_texts)) => {
                *n_unfinished += is_unfinished;
                *n_texts += 1;
            }
            None => unfinished.push((&entry.id, is_unfinished, 1)),
        }
    }
    for (id, n_unfinished, n_texts) in unfinished.iter().filter(|(_, n_unfinished, _)| *n_unfinished > 0) {
        text += &format!("{id}: {n_unfinished} of {n_texts} texts unfinished\n");
    }
    let finished = || entries.iter().filter(|entry| entry.outcome == Outcome::Valid);
    text += &render(&[
        Quantiles::head("per valid text"),
        Quantiles::row("tokens", finished().map(|entry| entry.n_tokens as f64)),
        Quantiles::row("bytes", finished().map(|entry| entry.n_bytes as f64)),
    ]);
    text
}

/// Whether the claim holds.
fn verdict(entries: &[Entry], n_wanted: usize) -> anyhow::Result<()> {
    let n_bad =
        entries.iter().filter(|entry| matches!(entry.outcome, Outcome::Invalid | Outcome::Failed)).count();
    ensure!(n_bad == 0, "{n_bad} texts are invalid or failed");
    let n_finished = n_finished_of(entries);
    if n_finished < n_wanted {
        bail!("{n_finished} texts finished, {n_wanted} are wanted: more rounds or tokens are needed");
    }
    println!("{n_finished} finished texts, all of them valid");
    Ok(())
}

#[cfg(test)]
mod tests {
    use maskwright::Tokenizer;

    use super::*;

    fn arguments(folder: &std::path::Path) -> Arguments {
        Arguments {
            tokenizer: String::new(),
            data: None,
            schemas: 3,
            texts: 20,
            cut_off: true,
            max_tokens: 60,
            max_rounds: 40,
            seed: 0,
            log: LogArguments { log: Some(folder.join("log.jsonl")), fresh: false },
        }
    }

    #[test]
    fn texts_are_written_judged_and_not_written_again() {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        tokens.extend([b"true".to_vec(), b"\"]".to_vec(), Vec::new()]);
        let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(258)]).unwrap());
        let schemas = [
            json!({"type": "array", "items": {"type": "boolean"}, "maxItems": 3}),
            json!({"type": "string", "minLength": 100}),
            json!({"minLength": 2, "maxLength": 1, "type": "string"}),
            json!({"type": "integer", "minimum": 5, "maximum": 700}),
        ];
        let records = schemas.into_iter().enumerate().map(|(index, schema)| Record {
            id: index.to_string(),
            schema,
            tests: Vec::new(),
            gold: None,
        });
        let subjects = pick(records.collect(), 3, &compiler);
        assert_eq!(subjects.len(), 3, "the unsatisfiable one is passed over");
        let folder = tempfile::tempdir().unwrap();
        let arguments = arguments(folder.path());
        let open = || Log::<Entry>::open("test", &json!({}), &arguments.log).unwrap();
        let mut log = open();
        write_texts(&subjects, &compiler, &arguments, &mut log).unwrap();
        verdict(log.entries(), 20).unwrap();
        assert!(
            log.entries().iter().all(|entry| (entry.outcome == Outcome::Unfinished) == (entry.id == "1"))
        );
        let n_entries = log.entries().len();
        assert_eq!(n_finished_of(log.entries()), 20, "it ends with the twentieth finished text");
        let mut log = open();
        write_texts(&subjects, &compiler, &arguments, &mut log).unwrap();
        assert_eq!(log.entries().len(), n_entries);
        assert!(verdict(log.entries(), 21).is_err());
        assert!(report(log.entries()).contains("1: "));
    }
}
