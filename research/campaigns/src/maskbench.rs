//! `maskbench`: verdicts and times over the schemas and instances of MaskBench.
//!
//! For each schema: the time to compile it, and to its first mask; for each instance: a mask before each
//! token and the time to accept it, until one is refused. Accepted means that every token is in its mask and
//! the end is accepted. Times of masks and commits are those of valid instances, as in the peers' benchmark;
//! slow positions are listed wherever they are.
//!
//! Claimed: no invalid instance is accepted among the schemas that the compiler takes. Valid instances
//! refused are counted and named.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::ensure;
use maskwright::json_schema::SchemaConfig;
use maskwright::{CompileOptions, Compiler, Error, GrammarSource, Matcher, mask_contains, mask_words};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{self, Instance, Record};
use crate::log::{Log, LogArguments};
use crate::table::{Quantiles, render, shortened};

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Records with instances [default: data/maskbench of the shared folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A shared tokenizer's name, a file, or a built-in encoding
    #[arg(long, default_value = "llama3_1")]
    tokenizer: String,
    /// Every how many-th schema
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Only schemas with this in their id
    #[arg(long, default_value = "")]
    only: String,
    /// How many of the slowest positions are shown
    #[arg(long, default_value_t = 20)]
    slowest: usize,
    #[command(flatten)]
    log: LogArguments,
}

/// What became of one schema. Times are in microseconds.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
struct Entry {
    id: String,
    /// Why the compiler does not take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(default)]
    compile: f64,
    /// Compiling and the first mask.
    #[serde(default)]
    first_mask: f64,
    #[serde(default)]
    instances: Vec<Judged>,
}

/// What became of one instance.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
struct Judged {
    is_valid: bool,
    is_accepted: bool,
    /// Why it was not accepted, or what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_failed: bool,
    /// One element a token.
    masks: Vec<f64>,
    commits: Vec<f64>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.every > 0, "--every 0 is no step, 1 takes every schema");
    let data = arguments.data.clone().unwrap_or_else(|| data::shared().join("data/maskbench"));
    let records = data::read_records(&data)?;
    let settings = json!({
        "tokenizer": arguments.tokenizer, "n_records": records.len(), "every": arguments.every,
        "only": arguments.only,
    });
    let records: Vec<Record> = records
        .into_iter()
        .step_by(arguments.every)
        .filter(|record| record.id.contains(&arguments.only))
        .collect();
    let mut log = Log::<Entry>::open("maskbench", &settings, &arguments.log)?;
    let known: HashSet<String> = log.entries().iter().map(|entry| entry.id.clone()).collect();
    let compiler = Compiler::new(&data::load_tokenizer(&arguments.tokenizer)?);
    let bar = crate::progress::bar("maskbench", known.len(), records.len());
    for record in records.iter().filter(|record| !known.contains(&record.id)) {
        log.append(judge(record, &compiler))?;
        bar.inc(1);
    }
    bar.finish();
    println!("{}", report(log.entries(), arguments.slowest));
    println!("shared caches: {} MB; log: {}", compiler.memory_usage() >> 20, log.path().display());
    verdict(log.entries())
}

fn judge(record: &Record, compiler: &Compiler) -> Entry {
    let schema = record.schema.to_string();
    let clock = Instant::now();
    let compiled = compiler
        .compile(&GrammarSource::json_schema(&schema, SchemaConfig::default()), &CompileOptions::default());
    let compile = microseconds(clock);
    let mut entry = Entry { id: record.id.clone(), compile, ..Entry::default() };
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => return Entry { refused: Some(error.to_string()), ..entry },
    };
    let mut words = vec![0; mask_words(compiler.tokenizer().n_vocab())];
    let first = Matcher::new(&compiled).fill_mask(&mut words);
    entry.first_mask = microseconds(clock);
    if let Err(error) = first {
        return Entry { refused: Some(error.to_string()), ..entry };
    }
    for instance in &record.tests {
        let mut judged = Judged { is_valid: instance.valid, ..Judged::default() };
        let mut matcher = Matcher::new(&compiled);
        match read(&mut matcher, instance, compiler, &mut words, &mut judged) {
            Ok(None) => judged.is_accepted = true,
            Ok(reason) => judged.reason = reason,
            Err(error) => {
                judged.has_failed = true;
                judged.reason = Some(error.to_string());
            }
        }
        entry.instances.push(judged);
    }
    entry
}

/// Reads an instance; why it is refused, `None` if it is not.
fn read(
    matcher: &mut Matcher,
    instance: &Instance,
    compiler: &Compiler,
    words: &mut [u32],
    judged: &mut Judged,
) -> Result<Option<String>, Error> {
    let text = data::python_dumps(&instance.data);
    for (position, id) in compiler.tokenizer().encode(&text)?.into_iter().enumerate() {
        let clock = Instant::now();
        matcher.fill_mask(words)?;
        judged.masks.push(microseconds(clock));
        if !mask_contains(words, id) {
            return Ok(Some(format!("at token {position}: {}", matcher.explain(id)?)));
        }
        let clock = Instant::now();
        let is_accepted = matcher.accept_token(id)?;
        judged.commits.push(microseconds(clock));
        if !is_accepted {
            return Ok(Some(format!("at token {position}: in its mask and yet not accepted")));
        }
    }
    Ok((!matcher.is_accepting()).then(|| "the end is not accepted".to_owned()))
}

fn microseconds(clock: Instant) -> f64 {
    // Two decimals are enough, and keep the log small.
    (clock.elapsed().as_secs_f64() * 1e8).round() / 100.0
}

fn report(entries: &[Entry], n_slowest: usize) -> String {
    let taken: Vec<&Entry> = entries.iter().filter(|entry| entry.refused.is_none()).collect();
    let instances =
        || taken.iter().flat_map(|entry| entry.instances.iter().map(move |judged| (&entry.id, judged)));
    let count = |is_valid: bool, is_accepted: bool| {
        let is_such = |judged: &Judged| judged.is_valid == is_valid && judged.is_accepted == is_accepted;
        instances().filter(|(_, judged)| is_such(judged)).count().to_string()
    };
    let all_right = taken.iter().filter(|entry| is_all_right(entry)).count();
    let percent = 100.0 * all_right as f64 / entries.len().max(1) as f64;
    let mut text = render(&[
        vec!["schemas".to_owned(), entries.len().to_string()],
        vec!["taken".to_owned(), taken.len().to_string()],
        vec!["all right".to_owned(), format!("{all_right} ({percent:.1}%)")],
        vec!["valid accepted".to_owned(), count(true, true)],
        vec!["valid refused".to_owned(), count(true, false)],
        vec!["invalid refused".to_owned(), count(false, false)],
        vec!["invalid ACCEPTED".to_owned(), count(false, true)],
        vec!["failed".to_owned(), instances().filter(|(_, judged)| judged.has_failed).count().to_string()],
    ]);
    let valid = || instances().map(|(_, judged)| judged).filter(|judged| judged.is_valid);
    text += &render(&[
        Quantiles::head("microseconds"),
        Quantiles::row("compile", taken.iter().map(|entry| entry.compile)),
        Quantiles::row("compile + first mask", taken.iter().map(|entry| entry.first_mask)),
        Quantiles::row("mask", valid().flat_map(|judged| judged.masks.iter().copied())),
        Quantiles::row("commit", valid().flat_map(|judged| judged.commits.iter().copied())),
    ]);
    text += &slowest(&taken, n_slowest);
    for (id, judged) in instances().filter(|(_, judged)| judged.is_valid != judged.is_accepted) {
        let kind = if judged.is_valid { "valid refused" } else { "invalid ACCEPTED" };
        text += &format!("{id}: {kind} {}\n", shortened(judged.reason.as_deref().unwrap_or_default(), 160));
    }
    let mut refusals: BTreeMap<String, usize> = BTreeMap::new();
    for reason in entries.iter().filter_map(|entry| entry.refused.as_deref()) {
        *refusals.entry(refusal_class(reason)).or_default() += 1;
    }
    let mut refusals: Vec<(String, usize)> = refusals.into_iter().collect();
    refusals.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    for (reason, n) in refusals {
        text += &format!("{n} refused: {reason}\n");
    }
    text
}

/// The compiler's words with the keyword and without the place, so that like refusals meet.
fn refusal_class(reason: &str) -> String {
    let (place, words) = reason.split_once(": ").unwrap_or(("", reason));
    let keyword = place.split(" at ").next().unwrap_or_default();
    shortened(format!("{keyword} {words}").trim(), 90)
}

fn slowest(taken: &[&Entry], n_slowest: usize) -> String {
    let mut slow: Vec<(f64, String)> = Vec::new();
    for entry in taken {
        slow.push((entry.first_mask, format!("{}: compile + first mask", entry.id)));
        for (index, judged) in entry.instances.iter().enumerate() {
            for (what, times) in [("mask", &judged.masks), ("commit", &judged.commits)] {
                let longest = times.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
                if let Some((position, time)) = longest {
                    slow.push((
                        time,
                        format!("{}: {what} of instance {index} at token {position}", entry.id),
                    ));
                }
            }
        }
    }
    slow.sort_by(|a, b| b.0.total_cmp(&a.0));
    slow.truncate(n_slowest);
    slow.into_iter().map(|(time, place)| format!("slow: {time:.0} us {place}\n")).collect()
}

fn is_all_right(entry: &Entry) -> bool {
    entry.refused.is_none() && entry.instances.iter().all(|judged| judged.is_valid == judged.is_accepted)
}

/// Whether the claim holds.
fn verdict(entries: &[Entry]) -> anyhow::Result<()> {
    let is_wrong = |judged: &Judged| judged.has_failed || (judged.is_accepted && !judged.is_valid);
    let n_wrong = entries.iter().flat_map(|entry| &entry.instances).filter(|judged| is_wrong(judged)).count();
    ensure!(n_wrong == 0, "{n_wrong} invalid instances are accepted, or failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use maskwright::{TokenId, Tokenizer};

    use super::*;

    #[test]
    fn verdicts_times_and_refusals() {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        tokens.push(Vec::new());
        let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap());
        let record = |schema| Record {
            id: "r".to_owned(),
            schema,
            tests: vec![
                Instance { valid: true, data: json!([1, 2]) },
                Instance { valid: false, data: json!([1, "é"]) },
            ],
            gold: None,
        };
        let entry = judge(&record(json!({"items": {"type": "integer"}})), &compiler);
        let verdicts: Vec<bool> = entry.instances.iter().map(|judged| judged.is_accepted).collect();
        assert_eq!(verdicts, [true, false]);
        assert_eq!((entry.instances[0].masks.len(), entry.instances[0].commits.len()), (6, 6));
        assert!(entry.instances[1].reason.as_deref().unwrap().starts_with("at token 4: "));
        assert!(is_all_right(&entry) && verdict(std::slice::from_ref(&entry)).is_ok());
        assert!(entry.first_mask >= entry.compile);

        let wrong = judge(&record(json!({"items": true})), &compiler);
        assert!(verdict(&[entry, wrong.clone()]).is_err());
        assert!(report(&[wrong], 1).contains("r: invalid ACCEPTED"));
        let refused = judge(&record(json!({"type": "string", "minLength": 2, "maxLength": 1})), &compiler);
        assert!(refused.refused.is_some() && refused.instances.is_empty() && !is_all_right(&refused));
        assert_eq!(refusal_class("`format` at /a/b: no: never"), "`format` no: never");
        assert_eq!(refusal_class("too large"), "too large");
    }
}
