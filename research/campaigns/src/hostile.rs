//! `hostile`: what bad input costs. Each case runs in a process of its own, whose peak of memory is its own.
//!
//! The cases are those of `testdata/hostile/cases.jsonl`, with a real vocabulary, and a few that need a
//! network or a decoding loop. Claimed: each has the outcome that its test demands, within 2 seconds and 1
//! GB. The time is that of the case alone; the memory is that of the whole process, loaded tokenizer
//! included.

use std::ops::ControlFlow;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use maskwright::Tokenizer;
use maskwright_decode::{GenerateConfig, RandomModel, generate};
use maskwright_models::LlamaModel;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::log::{Log, LogArguments};
use crate::table::{render, shortened};

#[path = "../../../crates/maskwright/tests/support/hostile.rs"]
mod cases;

/// The most seconds of a case.
const MOST_SECONDS: f64 = 2.0;
/// The most memory of its process, in kB.
const MOST_KB: u64 = 1_000_000;
/// After so long a case is broken off.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Whose vocabulary: a shared tokenizer's name, a file, or a built-in encoding
    #[arg(long, default_value = "llama3_1")]
    tokenizer: String,
    /// Only cases with this in their name
    #[arg(long, default_value = "")]
    only: String,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(clap::Args, Debug)]
pub(crate) struct CaseArguments {
    tokenizer: String,
    name: String,
}

/// What became of a case.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    name: String,
    /// What is not as it should be.
    failure: Option<String>,
    seconds: f64,
    /// The process's peak of resident memory; `None` where the system does not tell.
    peak_kb: Option<u64>,
    /// The same before the case began.
    peak_kb_before: Option<u64>,
}

impl Entry {
    fn is_good(&self) -> bool {
        self.failure.is_none()
            && self.seconds <= MOST_SECONDS
            && self.peak_kb.is_none_or(|peak_kb| peak_kb <= MOST_KB)
    }
}

/// In words what is not as it should be.
type OtherCase = fn() -> Result<(), String>;

/// Cases that are no grammar: a broken network, no network, no prompt.
const OTHER_CASES: [(&str, OtherCase); 3] = [
    ("network: broken file", || {
        let path = std::env::temp_dir().join(format!("maskwright-broken-{}.gguf", std::process::id()));
        let written = std::fs::write(&path, b"GGUF\x03\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f");
        let result = LlamaModel::from_gguf(&path);
        let removed = written.and_then(|()| std::fs::remove_file(&path));
        removed.map_err(|error| error.to_string())?;
        expect_error(result.err(), "maskwright-broken")
    }),
    ("network: no such file", || {
        expect_error(
            LlamaModel::from_gguf("no-such-folder/no-such.gguf").err(),
            "no-such-folder/no-such.gguf",
        )
    }),
    ("prompt: empty", || {
        let mut model = RandomModel::new(10, 10, 1);
        let result =
            generate(&mut model, None, &[], &GenerateConfig::default(), &mut |_| ControlFlow::Continue(()));
        expect_error(result.err(), "prompt is empty")
    }),
];

fn expect_error(error: Option<impl std::error::Error>, part: &str) -> Result<(), String> {
    match error.map(|error| error.to_string()) {
        None => Err("no error".to_owned()),
        Some(message) if message.contains(part) => Ok(()),
        Some(message) => Err(format!("the error does not say {part:?}: {message}")),
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let settings = json!({"tokenizer": arguments.tokenizer});
    let mut log = Log::<Entry>::open("hostile", &settings, &arguments.log)?;
    let given = cases::read();
    let names = given.iter().map(cases::name).chain(OTHER_CASES.iter().map(|&(name, _)| name));
    let names: Vec<&str> = names.filter(|name| name.contains(&arguments.only)).collect();
    let bar = crate::progress::bar("hostile", 0, names.len());
    for name in &names {
        if !log.entries().iter().any(|entry| entry.name == *name) {
            log.append(run_in_process(name, &arguments.tokenizer)?)?;
        }
        bar.inc(1);
    }
    bar.finish();
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries())
}

/// Runs a case in a new process of this program.
fn run_in_process(name: &str, tokenizer: &str) -> anyhow::Result<Entry> {
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    let mut child = Command::new(program)
        .args(["hostile-case", tokenizer, name])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("a process cannot be started")?;
    let clock = Instant::now();
    let is_late = loop {
        if child.try_wait()?.is_some() {
            break false;
        }
        if clock.elapsed() > TIMEOUT {
            child.kill()?;
            break true;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let output = child.wait_with_output()?;
    if let Ok(entry) = serde_json::from_slice(&output.stdout) {
        return Ok(entry);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let failure = match is_late {
        true => format!("broken off after {} s", TIMEOUT.as_secs()),
        false => format!("{}: {}", output.status, stderr.lines().next().unwrap_or_default()),
    };
    let seconds = clock.elapsed().as_secs_f64();
    Ok(Entry { name: name.to_owned(), failure: Some(failure), seconds, peak_kb: None, peak_kb_before: None })
}

pub(crate) fn run_case(arguments: &CaseArguments) -> anyhow::Result<()> {
    let tokenizer = data::load_tokenizer(&arguments.tokenizer)?;
    println!("{}", serde_json::to_string(&measure(&arguments.name, &tokenizer)?)?);
    Ok(())
}

fn measure(name: &str, tokenizer: &Tokenizer) -> anyhow::Result<Entry> {
    let given = cases::read();
    let (failure, seconds, peak_kb_before) =
        if let Some((_, case)) = OTHER_CASES.iter().find(|(other, _)| *other == name) {
            let (before, clock) = (peak_kb(), Instant::now());
            (case().err(), clock.elapsed().as_secs_f64(), before)
        } else {
            let case = given.iter().find(|case| cases::name(case) == name);
            let case = cases::Case::new(case.with_context(|| format!("there is no case {name:?}"))?);
            let (before, clock) = (peak_kb(), Instant::now());
            (case.run(tokenizer).err(), clock.elapsed().as_secs_f64(), before)
        };
    Ok(Entry { name: name.to_owned(), failure, seconds, peak_kb: peak_kb(), peak_kb_before })
}

/// The peak of this process's resident memory, as Linux tells it.
fn peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn report(entries: &[Entry]) -> String {
    let mut rows = vec![["case", "seconds", "peak MB", "of it before", ""].map(str::to_owned).to_vec()];
    let megabytes = |kb: Option<u64>| kb.map_or_else(|| "unknown".to_owned(), |kb| (kb / 1000).to_string());
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|a, b| a.is_good().cmp(&b.is_good()).then(b.seconds.total_cmp(&a.seconds)));
    for entry in sorted {
        rows.push(vec![
            entry.name.clone(),
            format!("{:.3}", entry.seconds),
            megabytes(entry.peak_kb),
            megabytes(entry.peak_kb_before),
            if entry.is_good() { String::new() } else { "BAD".to_owned() },
        ]);
    }
    let mut text = render(&rows);
    for entry in entries {
        if let Some(failure) = &entry.failure {
            text += &format!("{}: {}\n", entry.name, shortened(failure, 400));
        }
    }
    text
}

/// Whether the claim holds.
fn verdict(entries: &[Entry]) -> anyhow::Result<()> {
    let n_bad = entries.iter().filter(|entry| !entry.is_good()).count();
    ensure!(n_bad == 0, "{n_bad} of {} cases end wrongly, or take more than 2 s or 1 GB", entries.len());
    println!("{} cases, each as it should be, within 2 s and 1 GB", entries.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use maskwright::TokenId;

    use super::*;

    #[test]
    fn cases_are_measured_and_judged() {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        tokens.push(Vec::new());
        let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap();
        let given = cases::read();
        let names: Vec<&str> =
            OTHER_CASES.iter().map(|&(name, _)| name).chain([cases::name(&given[0])]).collect();
        let entries: Vec<Entry> = names.iter().map(|name| measure(name, &tokenizer).unwrap()).collect();
        verdict(&entries).unwrap();
        if cfg!(target_os = "linux") {
            assert!(entries.iter().all(|entry| entry.peak_kb.unwrap() > 100));
        }
        let slow = Entry { seconds: 2.5, ..entries[0].clone() };
        let large = Entry { peak_kb: Some(1_100_000), ..entries[0].clone() };
        let wrong = Entry { failure: Some("x".to_owned()), ..entries[0].clone() };
        for bad in [slow, large, wrong] {
            assert!(report(std::slice::from_ref(&bad)).contains("BAD") && verdict(&[bad]).is_err());
        }
        assert!(measure("no such case", &tokenizer).is_err());
        assert!(cases::name(&given[0]) != cases::name(&given[1]));
    }
}
