//! `cargo xtask test`: every test.

use std::process::Command;

use crate::commands::{cargo, run};
use crate::python_env;

/// Runs all Rust tests, then all Python tests.
pub(crate) fn run_all() -> anyhow::Result<()> {
    // The Python extension is a library without Rust tests; maturin builds it below.
    run(cargo().args(["test", "--workspace", "--exclude", "maskwright-python"]))?;
    let python = python_env::with_package()?;
    run(Command::new(python).args(["-m", "pytest", "python/tests", "-q"]))
}
