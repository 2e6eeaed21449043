//! `cargo xtask hosts`: the adapters of the Python package in the programs that they are for, with a small
//! model.
//!
//! Also the comparison of structural tags with xgrammar, in an environment of its own, and that of calls of
//! tools with the parsers of vLLM and SGLang.
//!
//! Not part of `.ci/run`: the first run downloads some 3 GB (torch among them), builds llama.cpp and takes a
//! quarter of an hour. Later runs reuse an environment as long as its requirements are the same, and take
//! minutes. vLLM and SGLang, in 6 GB and 7 GB of their own, llama-server, which is a long build, and mlx-lm
//! are tested only if they are named.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::commands::{capture, cargo, root, run, target};
use crate::python_env::{Environment, MATURIN};
use crate::{js, llama_server};

/// A program that runs models.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Host {
    /// `model.generate` of transformers, in torch.
    Transformers,
    /// llama-cpp-python.
    LlamaCpp,
    /// llama-server with our C library in it, and a sampler of one's own.
    LlamaServer,
    /// The playground in headless Chromium: the system's, or the one that `MASKWRIGHT_CHROMIUM` names.
    Browser,
    /// mlx-lm, on the CPU.
    Mlx,
    /// Generators of Outlines, over the other two.
    Outlines,
    /// The code of other libraries that pages show beside ours.
    Peers,
    /// Structural tags, each compiled and read by xgrammar as well.
    Xgrammar,
    /// vLLM's server on the CPU.
    Vllm,
    /// Forced tokens as drafts, in three of vLLM's servers, one after the other.
    VllmDrafts,
    /// What is replaced in vLLM and SGLang, in the newest sources of both.
    Newest,
    /// SGLang's scheduler, and its server on the CPU.
    Sglang,
    /// The tool parsers of vLLM and SGLang, which read random messages with calls.
    ToolCalls,
}

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Which hosts; by default all that need neither vLLM nor SGLang nor a build of llama.cpp.
    #[arg(value_enum)]
    hosts: Vec<Host>,
    /// The GGUF file of SmolLM2; by default the one that `maskwright pull smollm2` fetches.
    #[arg(long)]
    gguf: Option<PathBuf>,
    /// Passed to pytest, such as `-k beams`, to the comparison with xgrammar: `--write`, or to that with tool
    /// parsers: `--texts 50`.
    #[arg(last = true)]
    passed_on: Vec<String>,
}

/// Runs the tests of the hosts in `python/hosts`.
pub(crate) fn run_hosts(arguments: &Arguments) -> anyhow::Result<()> {
    let all = [Host::Transformers, Host::LlamaCpp, Host::Outlines, Host::Peers, Host::Xgrammar];
    let hosts = if arguments.hosts.is_empty() { &all[..] } else { &arguments.hosts };
    if hosts.contains(&Host::Xgrammar) {
        compare_structural_tags(if hosts.len() == 1 { &arguments.passed_on } else { &[] })?;
    }
    let files: Vec<&str> = hosts.iter().flat_map(|host| tests(*host)).copied().collect();
    if !files.is_empty() {
        let environment = environment("hosts", "python/hosts/requirements.txt", None)?;
        run_tests(arguments, &environment, &files, &[])?;
    }
    if hosts.contains(&Host::LlamaServer) {
        let environment = environment("hosts", "python/hosts/requirements.txt", None)?;
        let programs = llama_server::build(&environment)?;
        let variables = [
            ("MASKWRIGHT_HOSTS_LLAMA_SERVER", programs.server),
            ("MASKWRIGHT_HOSTS_LLAMA_SAMPLER", programs.sampler),
        ];
        run_tests(arguments, &environment, &["python/hosts/test_llama_server.py"], &variables)?;
    }
    if hosts.contains(&Host::Browser) {
        js::run_browser()?;
    }
    if hosts.contains(&Host::Mlx) {
        let environment = environment("hosts-mlx", "python/hosts/requirements-mlx.txt", None)?;
        run_tests(arguments, &environment, &["python/hosts/test_mlx.py"], &[])?;
    }
    if hosts.contains(&Host::ToolCalls) {
        judge_tool_calls(&arguments.passed_on)?;
    }
    let of_vllm =
        [(Host::Vllm, "python/hosts/test_vllm.py"), (Host::VllmDrafts, "python/hosts/test_vllm_drafts.py")];
    for (_, file) in of_vllm.iter().filter(|(host, _)| hosts.contains(host)) {
        run_tests(arguments, &vllm()?, &[file], &[])?;
    }
    if hosts.contains(&Host::Newest) {
        for (environment, server) in [(vllm()?, "vllm"), (sglang()?, "sglang")] {
            install_package(&environment)?;
            let mut check = Command::new(environment.python());
            run(check.args(["python/hosts/newest.py", server]).args(&arguments.passed_on))?;
        }
    }
    if hosts.contains(&Host::Sglang) {
        let environment = sglang()?;
        run_tests(arguments, &environment, &["python/hosts/test_sglang.py"], &[])?;
    }
    Ok(())
}

fn vllm() -> anyhow::Result<Environment> {
    let installer = Some("python/hosts/install_vllm.py");
    environment("hosts-vllm", "python/hosts/requirements-vllm.txt", installer)
}

fn sglang() -> anyhow::Result<Environment> {
    let installer = Some("python/hosts/install_sglang.py");
    environment("hosts-sglang", "python/hosts/requirements-sglang.txt", installer)
}

/// Has the tool parsers of both servers read what our grammars of tool calls accept.
fn judge_tool_calls(passed_on: &[String]) -> anyhow::Result<()> {
    for (environment, server) in [(vllm()?, "vllm"), (sglang()?, "sglang")] {
        install_package(&environment)?;
        let mut judge = Command::new(environment.python());
        run(judge.args(["python/hosts/tool_calls/judge.py", "--server", server]).args(passed_on))?;
    }
    Ok(())
}

/// The tests of a host that shares an environment with others.
fn tests(host: Host) -> &'static [&'static str] {
    match host {
        Host::Transformers => &[
            "python/hosts/test_transformers.py",
            "python/hosts/test_tool_calls.py",
            "python/hosts/test_diffusion_gemma.py",
        ],
        Host::LlamaCpp => &["python/hosts/test_llama_cpp.py", "python/hosts/test_same_prompt.py"],
        Host::Outlines => &["python/hosts/test_outlines.py"],
        Host::Peers => &["python/hosts/test_peers.py"],
        Host::LlamaServer
        | Host::Browser
        | Host::Mlx
        | Host::Xgrammar
        | Host::Vllm
        | Host::VllmDrafts
        | Host::Newest
        | Host::Sglang
        | Host::ToolCalls => &[],
    }
}

/// Compares structural tags with xgrammar: the cases of the test data, its built-in tags, and the cases of
/// its own tests.
fn compare_structural_tags(passed_on: &[String]) -> anyhow::Result<()> {
    let environment = environment("hosts-xgrammar", "python/hosts/structural_tags/requirements.txt", None)?;
    install_package(&environment)?;
    run(Command::new(environment.python()).arg("python/hosts/structural_tags/compare.py").args(passed_on))?;
    run(Command::new(environment.python()).arg("python/hosts/structural_tags/builtin_tags.py"))?;
    run(Command::new(environment.python()).arg("python/hosts/structural_tags/own_cases.py"))
}

/// Runs tests with a small model, and with more `variables` than all have.
#[allow(clippy::print_stderr, reason = "the last line of the run")]
fn run_tests(
    arguments: &Arguments,
    environment: &Environment,
    files: &[&str],
    variables: &[(&str, PathBuf)],
) -> anyhow::Result<()> {
    install_package(environment)?;
    let gguf = match &arguments.gguf {
        Some(file) => std::path::absolute(file)?,
        None => capture(cargo().args(["run", "--quiet", "-p", "maskwright-cli", "--", "pull", "smollm2"]))?
            .trim()
            .into(),
    };
    // One of the tests compares with the command line.
    run(cargo().args(["build", "--quiet", "-p", "maskwright-cli"]))?;
    let folder = root().join("target/hosts-smollm2");
    if !folder.join("config.json").exists() {
        // With torch, which not every environment has.
        let maker = self::environment("hosts", "python/hosts/requirements.txt", None)?;
        run(Command::new(maker.python()).arg("python/hosts/smollm2.py").args([&gguf, &folder]))?;
    }
    run(Command::new(environment.python())
        .args(["-m", "pytest", "-q", "-s", "--durations=5", "-p", "no:cacheprovider"])
        .args(files)
        .args(&arguments.passed_on)
        .env("MASKWRIGHT_HOSTS_GGUF", &gguf)
        .env("MASKWRIGHT_HOSTS_MODEL", &folder)
        .env("MASKWRIGHT_HOSTS_CLI", target().join("debug/maskwright"))
        // Nothing is looked up on the model hub.
        .env("HF_HUB_OFFLINE", "1")
        .envs(variables.iter().map(|(name, value)| (name, value))))?;
    eprintln!("hosts: {} passed", files.join(", "));
    Ok(())
}

/// The environment of this name, at the versions of its requirements, after an `installer` of what cannot be
/// required.
pub(crate) fn environment(
    name: &str,
    requirements: &str,
    installer: Option<&str>,
) -> anyhow::Result<Environment> {
    let environment = Environment::with(name, &[])?;
    let mut wanted = std::fs::read_to_string(root().join(requirements))?;
    if let Some(script) = installer {
        wanted += &std::fs::read_to_string(root().join(script))?;
    }
    let installed = Environment::folder(name).join("requirements.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
        return Ok(environment);
    }
    if let Some(script) = installer {
        run(Command::new(environment.python()).arg(script))?;
    }
    run(environment.pip().args([MATURIN, "-r", requirements]))?;
    std::fs::write(&installed, wanted)?;
    Ok(environment)
}

/// Builds the wheel and installs it, as a user has it.
pub(crate) fn install_package(environment: &Environment) -> anyhow::Result<()> {
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
            "--profile",
            "dist",
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
