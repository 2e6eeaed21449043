//! Replays token sequences through schemas compiled fresh by one compiler, and prints what it took.
//!
//! `replay TOKENIZER REPLAY.jsonl [--rounds N] [--slowest N] [--limit TOKENS]`. A line of the replay is
//! `{"id", "schema", "tests": [{"valid", "ids"}]}`, with the tokens as the tokenizer's own encoder gives
//! them; `cargo xtask bench maskbench` writes such files. Verdicts are checked: an invalid instance that is
//! accepted, or a valid one that is refused, is named, and the former is a failure. Made for `perf` and
//! `callgrind`, which see no Python here. With `--limit` sessions must end within so many tokens, and
//! instances that take more are passed over. The clock is that of the thread's own processor time where the
//! system has one.

#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use std::error::Error;
use std::time::Instant;

use maskwright::json_schema::SchemaConfig;
use maskwright::{
    CompileOptions, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId, Tokenizer, TokenizerOptions,
    mask_contains, mask_words,
};
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Times in microseconds, with where they were taken. Of several rounds the shortest counts: each does the
/// same work from empty caches, and what is longer is the machine's doing.
#[derive(Default)]
struct Times {
    all: Vec<(f64, String)>,
    next: usize,
}

impl Times {
    fn add(&mut self, time: f64, place: impl FnOnce() -> String) {
        match self.all.get_mut(self.next) {
            Some((known, _)) => *known = known.min(time),
            None => self.all.push((time, place())),
        }
        self.next += 1;
    }

    fn print(&mut self, what: &str, n_slowest: usize) {
        self.all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let n = self.all.len().max(1);
        let mean = self.all.iter().map(|(time, _)| time).sum::<f64>() / n as f64;
        let at = |q: f64| self.all.get(((n - 1) as f64 * q) as usize).map_or(0.0, |(time, _)| *time);
        println!(
            "{what:22} n {n:7} mean {mean:9.2} p50 {:8.2} p90 {:8.2} p99 {:8.2} p99.9 {:8.2} max {:9.1}",
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            at(1.0)
        );
        for (time, place) in self.all.iter().rev().take(n_slowest) {
            println!("    {time:9.1} {place}");
        }
    }
}

/// What a round finds besides times.
#[derive(Default)]
struct Findings {
    n_refused: usize,
    n_accepted_invalid: usize,
    wrong: Vec<String>,
    machine_bytes: usize,
    shared_bytes: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(tokenizer), Some(replay)) = (arguments.next(), arguments.next()) else {
        return Err("usage: replay TOKENIZER REPLAY.jsonl [--rounds N] [--slowest N] [--limit TOKENS]".into());
    };
    let (mut n_rounds, mut n_slowest, mut limit) = (1, 0, None);
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        match name.as_str() {
            "--rounds" => n_rounds = value.parse()?,
            "--slowest" => n_slowest = value.parse()?,
            "--limit" => limit = Some(value.parse()?),
            _ => return Err(format!("no option {name}").into()),
        }
    }
    let tokenizer = Tokenizer::from_file(tokenizer.as_ref(), &TokenizerOptions::default())?;
    let replay = std::fs::read_to_string(replay)?;
    let mut times = [(); 3].map(|()| Times::default());
    let mut findings = Findings::default();
    for _ in 0..n_rounds {
        let clock = Instant::now();
        let compiler = Compiler::new(&tokenizer);
        println!("compiler made in {:.3} s", clock.elapsed().as_secs_f64());
        times.iter_mut().for_each(|times| times.next = 0);
        findings = run_all(&compiler, &replay, limit, &mut times)?;
    }
    let Findings { n_refused, n_accepted_invalid, wrong, .. } = &findings;
    println!(
        "{n_refused} schemas refused, {} wrong verdicts, {n_accepted_invalid} invalid accepted",
        wrong.len()
    );
    println!(
        "shared caches {} KiB, machines {} KiB",
        findings.shared_bytes >> 10,
        findings.machine_bytes >> 10
    );
    for (what, times) in ["compile + first mask", "mask", "commit"].into_iter().zip(&mut times) {
        times.print(what, n_slowest);
    }
    wrong.iter().for_each(|line| println!("wrong: {line}"));
    match n_accepted_invalid {
        0 => Ok(()),
        _ => Err("an invalid instance was accepted".into()),
    }
}

/// One round over all schemas.
fn run_all(
    compiler: &Compiler,
    replay: &str,
    limit: Option<usize>,
    times: &mut [Times; 3],
) -> Result<Findings, Box<dyn Error>> {
    let [first, masks, commits] = times;
    let mut findings = Findings::default();
    let mut words = vec![0; mask_words(compiler.tokenizer().n_vocab())];
    for line in replay.lines() {
        let record: Value = serde_json::from_str(line)?;
        let id = record["id"].as_str().unwrap_or_default();
        let schema = record["schema"].to_string();
        let clock = Instant::now();
        let compiled = compiler.compile(
            &GrammarSource::json_schema(&schema, SchemaConfig::default()),
            &CompileOptions::default(),
        );
        let compile_time = clock.elapsed();
        let Ok(compiled) = compiled else {
            findings.n_refused += 1;
            continue;
        };
        Matcher::new(&compiled).fill_mask(&mut words)?;
        first.add(clock.elapsed().as_secs_f64() * 1e6, || {
            format!("{id}, {} bytes, compile alone {compile_time:?}", schema.len())
        });
        for (instance, test) in record["tests"].as_array().into_iter().flatten().enumerate() {
            let is_valid = test["valid"].as_bool().unwrap_or_default();
            let ids = test["ids"].as_array().into_iter().flatten();
            let ids: Vec<TokenId> = ids.filter_map(|id| id.as_u64().map(|id| TokenId(id as u32))).collect();
            if limit.is_some_and(|limit| ids.len() >= limit) {
                continue;
            }
            let mut matcher = match Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(limit)) {
                // No text of the schema has so few tokens.
                Err(_) if limit.is_some() => continue,
                matcher => matcher?,
            };
            let mut is_accepted = true;
            for (position, &token) in ids.iter().enumerate() {
                let place = || format!("{id}, instance {instance}, token {position}");
                let clock = Instant::now();
                matcher.fill_mask(&mut words)?;
                let mask_time = clock.elapsed().as_secs_f64() * 1e6;
                if is_valid {
                    masks.add(mask_time, place);
                }
                if !mask_contains(&words, token) {
                    is_accepted = false;
                    break;
                }
                let clock = Instant::now();
                matcher.accept_token(token)?;
                let commit_time = clock.elapsed().as_secs_f64() * 1e6;
                if is_valid {
                    commits.add(commit_time, place);
                }
            }
            is_accepted &= matcher.is_accepting();
            if is_accepted != is_valid {
                findings.n_accepted_invalid += usize::from(is_accepted);
                findings.wrong.push(format!("{id}, instance {instance}: accepted {is_accepted}"));
            }
        }
        findings.machine_bytes += compiled.memory_usage();
    }
    findings.shared_bytes = compiler.memory_usage();
    Ok(findings)
}
