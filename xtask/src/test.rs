//! `cargo xtask test`: every test, with few random cases; `--long`: with three times as many, as `.ci/run`
//! does; `--python`: only those of the Python package.

use std::collections::BTreeSet;
use std::process::Command;

use crate::commands::{cargo, root, run};
use crate::python_env;

/// The variable that decides which random cases the property tests take.
const SEED: &str = "PROPTEST_RNG_SEED";

/// The variable that names the file in which tests write that they were skipped
/// (`maskwright_oracle::shared`).
const SKIPPED: &str = "MASKWRIGHT_SKIPPED";

/// The variable that asks for all random cases (`maskwright_oracle::cases`).
const LONG: &str = "MASKWRIGHT_LONG";

/// Runs all Rust tests, unless the Python package alone is asked for, then all Python tests.
///
/// The random cases are the same each time, unless [`SEED`] is set: what fails here has to do with the change
/// at hand. New cases are what `cargo test` and the campaigns (CONTRIBUTING.md) are for.
pub(crate) fn run_all(is_long: bool, is_python: bool) -> anyhow::Result<()> {
    let mut tests = cargo();
    if is_long {
        tests.env(LONG, "1");
    }
    if std::env::var_os(SEED).is_none() {
        tests.env(SEED, "1");
    }
    // The Python extension is a library without Rust tests; maturin builds it below.
    let skipped = root().join("target").join("skipped-tests");
    if skipped.exists() {
        std::fs::remove_file(&skipped)?;
    }
    if !is_python {
        run(tests.args(["test", "--workspace", "--exclude", "maskwright-python"]).env(SKIPPED, &skipped))?;
    }
    let python = python_env::with_package()?;
    run(Command::new(python).args(["-m", "pytest", "python/tests", "-q"]).env(SKIPPED, &skipped))?;
    report_skipped(&std::fs::read_to_string(&skipped).unwrap_or_default());
    Ok(())
}

/// Prints how many tests were skipped, or ran on small data, because real data are absent.
#[allow(clippy::print_stderr, reason = "the last line of the run")]
fn report_skipped(lines: &str) {
    let tests: BTreeSet<&str> = lines.lines().filter_map(|line| line.split('\t').next()).collect();
    match tests.len() {
        0 => eprintln!("test: no test was skipped for lack of data"),
        n => eprintln!(
            "test: {n} tests were skipped, or ran on made-up data only: MASKWRIGHT_SHARED names no folder with real data \
             (listed in target/skipped-tests)"
        ),
    }
}
