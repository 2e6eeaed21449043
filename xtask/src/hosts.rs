//! `cargo xtask hosts`: the adapters of the Python package in the programs that they are for, with a small model.
//!
//! Not part of `.ci/run`: the first run downloads some 3 GB (torch among them), builds llama.cpp and takes a quarter of an
//! hour. Later runs reuse the environment as long as `python/hosts/requirements.txt` is the same, and take minutes.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::commands::{capture, cargo, root, run, target};
use crate::python_env::{Environment, MATURIN};

/// A program that runs models.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Host {
    /// `model.generate` of transformers, in torch.
    Transformers,
    /// llama-cpp-python.
    LlamaCpp,
    /// Generators of Outlines, over the other two.
    Outlines,
}

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which hosts; all by default.
    #[arg(value_enum)]
    hosts: Vec<Host>,
    /// The GGUF file of SmolLM2; by default the one that `maskwright pull smollm2` fetches.
    #[arg(long)]
    gguf: Option<PathBuf>,
    /// Passed to pytest, such as `-k beams`.
    #[arg(last = true)]
    pytest: Vec<String>,
}

const REQUIREMENTS: &str = "python/hosts/requirements.txt";

/// Runs the tests of the hosts in `python/hosts`.
#[allow(clippy::print_stderr, reason = "the last line of the run")]
pub(crate) fn run_hosts(arguments: &Arguments) -> anyhow::Result<()> {
    let environment = environment()?;
    install_package(&environment)?;
    let gguf = match &arguments.gguf {
        Some(file) => std::path::absolute(file)?,
        None => capture(cargo().args(["run", "--quiet", "-p", "maskwright-cli", "--", "pull", "smollm2"]))?
            .trim()
            .into(),
    };
    let folder = root().join("target/hosts-smollm2");
    if !folder.join("config.json").exists() {
        run(Command::new(environment.python()).arg("python/hosts/smollm2.py").args([&gguf, &folder]))?;
    }
    let all = [Host::Transformers, Host::LlamaCpp, Host::Outlines];
    let hosts = if arguments.hosts.is_empty() { &all[..] } else { &arguments.hosts };
    let files = hosts.iter().map(|host| match host {
        Host::Transformers => "python/hosts/test_transformers.py",
        Host::LlamaCpp => "python/hosts/test_llama_cpp.py",
        Host::Outlines => "python/hosts/test_outlines.py",
    });
    let files: Vec<&str> = files.collect();
    run(Command::new(environment.python())
        .args(["-m", "pytest", "-q", "-s", "--durations=5", "-p", "no:cacheprovider"])
        .args(&files)
        .args(&arguments.pytest)
        .env("MASKWRIGHT_HOSTS_GGUF", &gguf)
        .env("MASKWRIGHT_HOSTS_MODEL", &folder)
        // Nothing is looked up on the model hub.
        .env("HF_HUB_OFFLINE", "1"))?;
    eprintln!("hosts: {} passed", files.join(", "));
    Ok(())
}

/// The environment with the hosts, at the versions of the requirements.
fn environment() -> anyhow::Result<Environment> {
    let environment = Environment::with("hosts", &[])?;
    let wanted = std::fs::read_to_string(root().join(REQUIREMENTS))?;
    let installed = Environment::folder("hosts").join("requirements.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(environment);
    }
    run(environment.pip().args([MATURIN, "-r", REQUIREMENTS]))?;
    std::fs::write(&installed, wanted)?;
    Ok(environment)
}

/// Builds the wheel and installs it, as a user has it.
fn install_package(environment: &Environment) -> anyhow::Result<()> {
    let folder = target().join("hosts-wheel");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    run(Command::new(environment.python())
        .args([
            "-m",
            "maturin",
            "build",
            "--quiet",
            "--release",
            "--manifest-path",
            "python/Cargo.toml",
            "--out",
        ])
        .arg(&folder))?;
    let wheels = std::fs::read_dir(&folder).context("maturin made no folder")?;
    let wheels = wheels.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(wheels.len() == 1, "expected one wheel in {}", folder.display());
    run(environment.pip().args(["--no-deps", "--force-reinstall"]).args(wheels))
}
