//! `cargo xtask fuzz`: the targets of `fuzz/` for some minutes each, with cargo-fuzz.
//!
//! Sanitizers need a nightly toolchain. If it or cargo-fuzz is absent, the task says so and succeeds. With
//! `RUSTC_BOOTSTRAP=1` in the environment, the toolchain in use serves.

use std::process::Command;

use anyhow::ensure;
use clap::Args;

use crate::commands::{cargo, root, run};

/// An input may take so many seconds and MiB; most take some milliseconds. What leaks is only what is static.
const OPTIONS: &str =
    "-timeout=30 -rss_limit_mb=3000 -malloc_limit_mb=1000 -detect_leaks=0 -dict=fuzz/words.dict";

#[derive(Args)]
pub(crate) struct Arguments {
    /// How long each target runs.
    #[arg(long, default_value_t = 10)]
    minutes: u32,
    /// Which ones: files of `fuzz/fuzz_targets`; all if none is named.
    targets: Vec<String>,
}

/// Runs the targets one after the other, and fails if one has found something.
#[allow(clippy::print_stderr, reason = "what is skipped is told")]
pub(crate) fn run_fuzz(arguments: &Arguments) -> anyhow::Result<()> {
    let listed = fuzz(&["list"]).output().ok().filter(|listed| listed.status.success());
    let Some(listed) = listed else {
        eprintln!(
            "fuzz: SKIPPED: it needs `cargo install cargo-fuzz` and `rustup toolchain install nightly`"
        );
        return Ok(());
    };
    run(Command::new("python3").arg("fuzz/seeds.py"))?;
    let mut targets = arguments.targets.clone();
    if targets.is_empty() {
        targets = String::from_utf8(listed.stdout)?.lines().map(str::to_owned).collect();
    }
    let options = format!("{OPTIONS} -max_total_time={}", 60 * u64::from(arguments.minutes));
    let fails = |target: &&String| run(fuzz(&["run", target, "--"]).args(options.split(' '))).is_err();
    let failed: Vec<&String> = targets.iter().filter(fails).collect();
    ensure!(failed.is_empty(), "found by {failed:?}: the inputs are in fuzz/artifacts");
    Ok(())
}

/// A command of cargo-fuzz. `rustup run` chooses a toolchain where `cargo` is already that of another one.
fn fuzz(arguments: &[&str]) -> Command {
    let is_stable = std::env::var_os("RUSTC_BOOTSTRAP").is_some();
    let mut command = if is_stable { cargo() } else { Command::new("rustup") };
    command.current_dir(root()).args(if is_stable { &[][..] } else { &["run", "nightly", "cargo"] });
    command.arg("fuzz").args(arguments);
    command
}
