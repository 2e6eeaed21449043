//! `cargo xtask experiment NAME`, `cargo xtask papers` and `cargo xtask research check`: the folder
//! `research/`.
//!
//! Experiments are campaigns in Rust, but for `tools`, which is about tools of programs in Python and
//! JavaScript, and `calls`, which is about recorded messages. Those of the papers are in Python, with the
//! peers' packages beside ours, and run some campaigns.

use std::ffi::OsString;
use std::process::Command;

use crate::commands::{cargo, root, run};
use crate::hosts::{environment, install_package};

/// Runs the campaigns' program with these arguments, in a release build. The network gets one thread unless
/// the environment says otherwise: with more, a small network on a busy machine falls to a fraction of its
/// speed.
pub(crate) fn run_experiment(arguments: &[OsString]) -> anyhow::Result<()> {
    if let Some((name, arguments)) = arguments.split_first()
        && ["tools", "calls"].iter().any(|known| name == known)
    {
        return run_in_python(&name.to_string_lossy(), arguments);
    }
    let mut command = research("run");
    command.args(["--release", "--quiet", "--package", "maskwright-campaigns", "--"]).args(arguments);
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        command.env("RAYON_NUM_THREADS", "1");
    }
    run(&mut command)
}

/// `tools`: how `compile_tool_calls` does on the tools of MCP servers and of type libraries; Node must be
/// installed. `calls`: how events read recorded messages.
fn run_in_python(name: &str, arguments: &[OsString]) -> anyhow::Result<()> {
    let folder = format!("research/{name}");
    let environment = environment(&folder.replace('/', "-"), &format!("{folder}/requirements.txt"), None)?;
    install_package(&environment)?;
    run(Command::new(environment.python()).arg(format!("{folder}/run.py")).args(arguments))
}

/// The experiments whose results are in `docs/results`.
pub(crate) fn run_papers(arguments: &[OsString]) -> anyhow::Result<()> {
    let environment = environment("papers", "research/papers/requirements.txt", None)?;
    install_package(&environment)?;
    run(Command::new(environment.python()).arg("research/papers/run.py").args(arguments))
}

/// Formatting, lints and tests of the research workspace, which the product's checks leave out.
pub(crate) fn check_research() -> anyhow::Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]).current_dir(root().join("research")))?;
    run(research("clippy").args(["--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))?;
    run(research("test").args(["--workspace", "--locked"]))
}

/// A command of cargo in the research workspace. It shares the target folder, so what both build is built
/// once.
fn research(command: &str) -> Command {
    let mut cargo = cargo();
    cargo.arg(command).arg("--manifest-path").arg(root().join("research/Cargo.toml"));
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        cargo.arg("--target-dir").arg(root().join("target"));
    }
    cargo
}
