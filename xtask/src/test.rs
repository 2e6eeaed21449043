//! `cargo xtask test`: every test.

use std::process::Command;

use crate::commands::{cargo, run};
use crate::python_env;

/// The variable that decides which random cases the property tests take.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Runs all Rust tests, then all Python tests.
///
/// The random cases are the same each time, unless [`SEED`] is set: what fails here has to do with the change at hand. New
/// cases are what `cargo test` and the campaigns (CONTRIBUTING.md) are for.
pub(crate) fn run_all() -> anyhow::Result<()> {
    let mut tests = cargo();
    if std::env::var_os(SEED).is_none() {
        tests.env(SEED, "1");
    }
    // The Python extension is a library without Rust tests; maturin builds it below.
    run(tests.args(["test", "--workspace", "--exclude", "maskwright-python"]))?;
    let python = python_env::with_package()?;
    run(Command::new(python).args(["-m", "pytest", "python/tests", "-q"]))
}
