//! `cargo xtask bench`: benchmarks through the Python package in a release build, peers beside it.
//!
//! * `maskbench`: compile, first mask, masks and commits over MaskBench, with the verdicts checked.
//! * `pains`: what other engines fall over, with the answers checked.
//! * `instructions`: instructions instead of time, of a small fixed set; without Python.
//! * `programs`: compile, first mask, masks, commits and memory over programs, with the verdicts checked.
//!
//! Each engine runs in a process of its own, one thread, with the programs in `xtask/bench`. Figures are ratios
//! within one run: the machine's speed cancels out, its noise does not.

mod instructions;
mod maskbench;
mod plot;
mod programs;
mod summary;

use std::path::PathBuf;
use std::process::Command;

use crate::commands::{root, run};
use crate::python_env;

/// What the benchmarks measure against.
const PEERS: [&str; 3] = ["llguidance==1.9.1", "glrmask==0.5.0", "tokenizers>=0.20"];

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// Replay MaskBench through our engine and the peers.
    Maskbench(maskbench::Arguments),
    /// Long strings, large enums, many tools, deep nesting and the like.
    Pains {
        /// A tokenizer.json.
        #[arg(long)]
        tokenizer: PathBuf,
    },
    /// Count the instructions of a small fixed set, and compare them with those recorded.
    Instructions(instructions::Arguments),
    /// Replay Go, Java, Python and SQL under Lark grammars through our engine and the peers.
    Programs(programs::Arguments),
}

pub(crate) fn run_bench(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Maskbench(arguments) => maskbench::run_maskbench(arguments),
        Bench::Pains { tokenizer } => {
            let tokenizer = tokenizer.canonicalize()?;
            let python = python_env::with_peers(&PEERS)?;
            run(Command::new(python).arg(root().join("xtask/bench/pains.py")).arg(tokenizer))
        }
        Bench::Instructions(arguments) => instructions::run_instructions(arguments),
        Bench::Programs(arguments) => programs::run_programs(arguments),
    }
}
