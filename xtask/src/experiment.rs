//! `cargo xtask experiment NAME` and `cargo xtask research check`: the workspace of `research/`.

use std::ffi::OsString;
use std::process::Command;

use crate::commands::{cargo, root, run};

/// Runs the campaigns' program with these arguments, in a release build. The network gets one thread unless the
/// environment says otherwise: with more, a small network on a busy machine falls to a fraction of its speed.
pub(crate) fn run_campaign(arguments: &[OsString]) -> anyhow::Result<()> {
    let mut command = research("run");
    command.args(["--release", "--quiet", "--package", "maskwright-campaigns", "--"]).args(arguments);
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        command.env("RAYON_NUM_THREADS", "1");
    }
    run(&mut command)
}

/// Formatting, lints and tests of the research workspace, which the product's checks leave out.
pub(crate) fn check_research() -> anyhow::Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]).current_dir(root().join("research")))?;
    run(research("clippy").args(["--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))?;
    run(research("test").args(["--workspace", "--locked"]))
}

/// A command of cargo in the research workspace. It shares the target folder, so what both build is built once.
fn research(command: &str) -> Command {
    let mut cargo = cargo();
    cargo.arg(command).arg("--manifest-path").arg(root().join("research/Cargo.toml"));
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        cargo.arg("--target-dir").arg(root().join("target"));
    }
    cargo
}
