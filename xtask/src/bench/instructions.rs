//! `cargo xtask bench instructions`: instructions, counted by callgrind, of a small fixed set.
//!
//! Counts do not depend on the machine's speed or on what else it does, so a regression of a few percent
//! shows. They do depend on the compiler, the profile, the processor's kind and the vocabulary;
//! `xtask/bench/instructions.json` says which the recorded ones are of. The set is the example
//! `instructions`; what lies between two of its boundaries is a part of callgrind's output.
//!
//! `.ci/run` counts with a vocabulary that the example makes up, and fails above the tolerance. After a
//! change that is meant to cost or to save, `--record` writes the new counts down, in a commit that says why.
//! A tokenizer's counts are printed beside those of the made-up one's record only where the record is of that
//! tokenizer.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::commands::{cargo, root, run};

/// The function of the example that is called before and after what is measured.
const BOUNDARY: &str = "instructions::boundary";

/// The profile that is counted: that of a release, with names.
const PROFILE: &str = "profiling";

/// Where the counts to compare with stand.
const RECORD: &str = "xtask/bench/instructions.json";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A tokenizer.json; by default a vocabulary that is made up.
    #[arg(long)]
    tokenizer: Option<PathBuf>,
    /// Write the counts down, to be compared with from now on.
    #[arg(long)]
    record: bool,
    /// By how many percent a count may be above the recorded one.
    #[arg(long, default_value_t = 5.0)]
    tolerance: f64,
}

/// Counts, and prints a table. Fails if a count is more than the tolerance above the recorded one.
#[allow(clippy::print_stdout, reason = "a benchmark prints its table")]
pub(crate) fn run_instructions(arguments: &Arguments) -> anyhow::Result<()> {
    let tokenizer = arguments.tokenizer.as_ref().map(|file| file.canonicalize()).transpose()?;
    // A release with names: without them, callgrind does not find the function that it stops at.
    let build = ["build", "--profile", PROFILE, "--package", "maskwright", "--example", "instructions"];
    run(cargo().args(build))?;
    let program = root().join("target").join(PROFILE).join("examples/instructions");
    let counted = count(&program, tokenizer.as_deref())?;
    let vocabulary =
        tokenizer.as_ref().and_then(|file| file.parent()?.file_name()).map(OsStr::to_string_lossy);
    let conditions = json!({
        "vocabulary": vocabulary.unwrap_or("made up".into()),
        "rustc": rustc_version()?,
        "profile": PROFILE,
        "cpu": cpu(),
    });
    let record = root().join(RECORD);
    if arguments.record {
        let text = serde_json::to_string_pretty(&json!({"conditions": conditions, "counts": counted}))?;
        std::fs::write(&record, text + "\n")?;
    }
    let known: Value =
        serde_json::from_slice(&std::fs::read(&record).context("nothing is recorded yet: --record")?)?;
    let is_comparable = known["conditions"] == conditions;
    if !is_comparable {
        println!("recorded under {}, this is {conditions}: not compared", known["conditions"]);
    }
    println!("{:20} {:>14} {:>14} {:>8}", "", "instructions", "recorded", "ratio");
    let mut worse = Vec::new();
    for (name, &count) in &counted {
        let Some(before) = known["counts"][name].as_u64() else {
            println!("{name:20} {count:>14} {:>14}", "new");
            continue;
        };
        let ratio = count as f64 / before.max(1) as f64;
        println!("{name:20} {count:>14} {before:>14} {ratio:>8.3}");
        if ratio > 1.0 + arguments.tolerance / 100.0 {
            worse.push(name.as_str());
        }
    }
    ensure!(
        !is_comparable || worse.is_empty(),
        "more instructions than before: {}. If that is meant: cargo xtask bench instructions --record",
        worse.join(", ")
    );
    Ok(())
}

/// By case and phase.
fn count(program: &Path, tokenizer: Option<&Path>) -> anyhow::Result<BTreeMap<String, u64>> {
    let folder = root().join("target/callgrind");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", folder.join("part").display()));
    command.arg(format!("--dump-before={BOUNDARY}"));
    let output = command.arg(program).args(tokenizer).output();
    let output = output.context("valgrind does not start; is it installed?")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the measured program failed: {errors}");
    let names = String::from_utf8(output.stdout)?;
    let mut counts = BTreeMap::new();
    for (at, name) in names.lines().enumerate() {
        // The first part ends where the first measured one begins.
        let file = folder.join(format!("part.{}", 2 * at + 2));
        let text = std::fs::read_to_string(&file).with_context(|| format!("no counts of {name}"))?;
        let total =
            text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
        let Some(total): Option<u64> = total.and_then(|total| total.trim().parse().ok()) else {
            bail!("no total in the counts of {name}");
        };
        ensure!(total > 0, "nothing was counted of {name}: is a measured function inlined?");
        counts.insert(name.to_owned(), total);
    }
    ensure!(!counts.is_empty(), "nothing was measured: {errors}");
    Ok(counts)
}

/// The processor, as far as the C library and others choose their instructions by it.
fn cpu() -> String {
    #[cfg(target_arch = "x86_64")]
    let more = if is_x86_feature_detected!("avx2") { " with AVX2" } else { "" };
    #[cfg(not(target_arch = "x86_64"))]
    let more = "";
    format!("{}{more}", std::env::consts::ARCH)
}

fn rustc_version() -> anyhow::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(String::from_utf8(Command::new(rustc).arg("--version").output()?.stdout)?.trim().to_owned())
}
