//! The project's own tasks, run as `cargo xtask TASK`.
//!
//! * `audit`: licences and sources of all dependencies.
//! * `bench`: benchmarks beside peers.
//! * `c-library`: the C libraries, built and installed with headers.
//! * `conformance`: MaskBench and the official JSON Schema suite; `conformance DIR --misses` lists the
//!   misses.
//! * `experiment`: the campaigns of `research/campaigns`; `experiment tools` and `experiment calls`, which
//!   are in folders of their own.
//! * `research`: the checks of `research/`.
//! * `fuzz`: the fuzz targets of `fuzz/`, which need a nightly toolchain and cargo-fuzz.
//! * `hosts`: the Python package in transformers, llama-cpp-python, mlx-lm, Outlines, vLLM and SGLang, and
//!   the C library in llama-server, with a small model.
//! * `js`: the package for browsers and Node, built and tested.
//! * `lint`: spelling, and the workflow files.
//! * `release`: what a release packs, built, installed and tried; nothing is published.
//! * `site`: the documentation site, built from `docs/`; with `--check`, tried in headless Chromium.
//! * `test`: every test, the Python package's included, in a virtual environment that it makes itself.
//! * `tidy`: the layers of ARCHITECTURE.md, circles of files, where methods are, module heads, file lengths,
//!   examples, paths in pages and comments, lines of code; `weigh` lowers the record of these.

mod audit;
mod bench;
mod c_library;
mod commands;
mod conformance;
mod examples;
mod experiment;
mod fuzz;
mod hosts;
mod js;
mod lint;
mod llama_server;
mod prose;
mod python_env;
mod release;
mod site;
mod structure;
mod test;
mod tidy;
mod weight;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own tasks")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check licences, bans and sources of all dependencies with cargo-deny.
    Audit,
    /// Measure our engine beside its peers.
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Build the C libraries and install them with their headers.
    CLibrary(c_library::Arguments),
    /// Replay MaskBench and the official JSON Schema suite, in both property orders.
    Conformance {
        /// The folder that holds `maskbench` or `json-schema-test-suite`.
        folder: PathBuf,
        /// List every schema that is not taken and every instance that is judged wrong.
        #[arg(long)]
        misses: bool,
    },
    /// Run a long experiment over real models and data; `experiment --help` lists them; `tools` and `calls`
    /// are two more.
    #[command(disable_help_flag = true)]
    Experiment {
        /// Its name and arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Run the fuzz targets, each for some minutes; skipped without cargo-fuzz and a nightly toolchain.
    Fuzz(fuzz::Arguments),
    /// Test the Python package inside of the programs that it has adapters for, with a small model. The first
    /// run downloads some 3 GB.
    Hosts(hosts::Arguments),
    /// Run the experiments of docs/papers.md and write its results again. The first run downloads some 3 GB.
    #[command(disable_help_flag = true)]
    Papers {
        /// Which ones, and `--sample` for two minutes each; `papers --help` lists them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Look after the workspace of `research/`.
    #[command(subcommand)]
    Research(Research),
    /// Build the package for browsers and Node, and run its tests in Node.
    Js(js::Arguments),
    /// Check the spelling, and the workflow files of GitHub Actions.
    Lint,
    /// Pack the crates, build the wheel and the source distribution, install and try them. Releases
    /// themselves are made by `.github/workflows/release.yml` when a tag is pushed.
    Release {
        /// Publish nothing. Required: this task never publishes.
        #[arg(long, required = true)]
        dry_run: bool,
        /// Do not build the packed crates, which takes minutes.
        #[arg(long)]
        no_verify: bool,
    },
    /// Build the documentation site into target/site.
    Site(site::Arguments),
    /// Run every test: Rust's, then the Python package's in a virtual environment under target/.
    Test {
        /// Take three times as many random cases, as `.ci/run` does.
        #[arg(long)]
        long: bool,
        /// Run only the tests of the Python package, with the `python3` on the path.
        #[arg(long, conflicts_with = "long")]
        python: bool,
    },
    /// Check the layering of the crates, circles of files, where methods are, the module heads and the file
    /// lengths, the paths that pages and comments name, and that no crate has become heavier.
    Tidy,
    /// Print how many lines of code each crate has, and lower the record to them.
    Weigh,
}

#[derive(Subcommand)]
enum Research {
    /// Formatting, lints and tests of what `.ci/run` leaves out.
    Check,
}

#[allow(clippy::print_stderr, reason = "the last lines of a task that failed")]
fn main() -> ExitCode {
    // Without a backtrace: what a task has found is the last that it prints.
    let done = run(Cli::parse().task).inspect_err(|error| eprintln!("error: {error:#}"));
    ExitCode::from(u8::from(done.is_err()))
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Audit => audit::run_deny(),
        Task::Js(arguments) => js::run_js(&arguments),
        Task::CLibrary(arguments) => c_library::install_as(&arguments),
        Task::Bench(bench) => bench::run_bench(&bench),
        Task::Conformance { folder, misses } => conformance::run_conformance(&folder, misses),
        Task::Experiment { arguments } => experiment::run_experiment(&arguments),
        Task::Fuzz(arguments) => fuzz::run_fuzz(&arguments),
        Task::Hosts(arguments) => hosts::run_hosts(&arguments),
        Task::Papers { arguments } => experiment::run_papers(&arguments),
        Task::Research(Research::Check) => experiment::check_research(),
        Task::Lint => lint::run_all(),
        Task::Release { dry_run: _, no_verify } => release::dry_run(!no_verify),
        Task::Site(arguments) => site::run_site(&arguments),
        Task::Test { long, python } => test::run_all(long, python),
        Task::Tidy => tidy::run(),
        Task::Weigh => weight::weigh(&tidy::sources()?),
    }
}
