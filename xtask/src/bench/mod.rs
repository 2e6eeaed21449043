//! `cargo xtask bench`: benchmarks through the Python package in a release build, peers beside it.
//!
//! * `maskbench`: compile, first mask, masks and commits over MaskBench, with the verdicts checked.
//! * `pains`: what other engines fall over, with the answers checked.
//! * `hostile`: compilations of hostile schemas, and masks in a bounded amount of work under hostile
//!   grammars. A compilation over 2 s or 200 MB fails, and a mask that is empty or takes over 50 ms.
//! * `limits`: steps of many sequences under limits on tokens.
//! * `likeliest`: the likeliest text of real patterns, beside a dense dynamic program in numpy; both must
//!   agree.
//! * `instructions`: instructions instead of time, of a small fixed set; without Python.
//! * `parallel`: how sessions of one grammar share two cores.
//! * `serving`: threads that compile while others fill masks, for minutes; a freeze or a call over 5 s fails.
//! * `programs`: compile, first mask, masks, commits and memory over programs, with the verdicts checked.
//!
//! Each engine runs in a process of its own, one thread, with the programs in `xtask/bench`. Figures are
//! ratios within one run: the machine's speed cancels out, its noise does not.

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

/// What `python/tests/serving.py` can play.
const SCENARIOS: [&str; 6] = ["one", "eight", "batch", "cancel", "interrupt", "fork"];

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
    /// Compilations of hostile schemas; random walks under hostile grammars, masks in a bounded amount of
    /// work.
    Hostile {
        /// A tokenizer.json.
        #[arg(long)]
        tokenizer: PathBuf,
        /// How many random schemas, and random grammars, there are beside the known ones.
        #[arg(long, default_value_t = 200)]
        random: u32,
    },
    /// Steps of many sequences under limits on tokens.
    Limits {
        /// A .jsonl file of MaskBench.
        #[arg(long)]
        data: PathBuf,
        /// A tokenizer.json.
        #[arg(long)]
        tokenizer: PathBuf,
        /// The work of a mask; 0 for no limit.
        #[arg(long, default_value_t = 0)]
        work: u64,
    },
    /// Objects in any order beside those in order: the time of masks, and the share of exact ones under
    /// limits on tokens.
    Orders {
        /// The folder with the .jsonl files of MaskBench.
        #[arg(long)]
        data: PathBuf,
        /// A tokenizer.json.
        #[arg(long)]
        tokenizer: PathBuf,
        /// Take every n-th schema.
        #[arg(long, default_value_t = 1)]
        every: u32,
    },
    /// The likeliest texts of the regular expressions in real schemas, beside a dense dynamic program in
    /// numpy.
    Likeliest {
        /// The folder with the .jsonl files of MaskBench.
        #[arg(long)]
        data: PathBuf,
        /// A tokenizer.json.
        #[arg(long)]
        tokenizer: PathBuf,
        /// How many patterns; the most frequent first.
        #[arg(long, default_value_t = 100)]
        patterns: u32,
    },
    /// Count the instructions of a small fixed set, and compare them with those recorded.
    Instructions(instructions::Arguments),
    /// Fill masks of one grammar on one thread and on two.
    Parallel {
        /// A tokenizer.json.
        #[arg(long)]
        tokenizer: PathBuf,
    },
    /// Compile hard schemas on some threads while others fill masks, in each of six scenarios.
    Serving {
        /// The folder with the .jsonl files of MaskBench.
        #[arg(long)]
        data: PathBuf,
        /// A tokenizer.json.
        #[arg(long)]
        tokenizer: PathBuf,
        /// How long each scenario runs.
        #[arg(long, default_value_t = 120)]
        seconds: u32,
    },
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
        Bench::Hostile { tokenizer, random } => {
            let tokenizer = tokenizer.canonicalize()?;
            let python = python_env::with_peers(&[&PEERS[..], &["jsonschema"]].concat())?;
            let mut compilations = Command::new(&python);
            run(compilations.arg(root().join("xtask/bench/hostile_compile.py")).arg(random.to_string()))?;
            let mut program = Command::new(python);
            program.arg(root().join("xtask/bench/hostile.py")).arg(tokenizer);
            run(program.arg(random.to_string()))
        }
        Bench::Limits { data, tokenizer, work } => {
            let (data, tokenizer) = (data.canonicalize()?, tokenizer.canonicalize()?);
            let mut program = Command::new(python_env::with_peers(&PEERS)?);
            program.arg(root().join("xtask/bench/limits.py")).arg(tokenizer).arg(data);
            run(program.arg(work.to_string()))
        }
        Bench::Orders { data, tokenizer, every } => {
            let (data, tokenizer) = (data.canonicalize()?, tokenizer.canonicalize()?);
            let mut program = Command::new(python_env::with_peers(&PEERS)?);
            program.arg(root().join("xtask/bench/orders.py")).arg(tokenizer).arg(data);
            run(program.arg(every.to_string()))
        }
        Bench::Likeliest { data, tokenizer, patterns } => {
            let (data, tokenizer) = (data.canonicalize()?, tokenizer.canonicalize()?);
            let python = python_env::with_peers(&[&PEERS[..], &["outlines_core==0.2.14"]].concat())?;
            let mut program = Command::new(python);
            program.arg(root().join("xtask/bench/likeliest.py")).arg(tokenizer).arg(data);
            run(program.arg(patterns.to_string()))
        }
        Bench::Parallel { tokenizer } => {
            let tokenizer = tokenizer.canonicalize()?;
            let python = python_env::with_peers(&PEERS)?;
            run(Command::new(python).arg(root().join("xtask/bench/parallel.py")).arg(tokenizer))
        }
        Bench::Serving { data, tokenizer, seconds } => {
            let (data, tokenizer) = (data.canonicalize()?, tokenizer.canonicalize()?);
            let python = python_env::with_peers(&PEERS)?;
            for scenario in SCENARIOS {
                let mut program = Command::new(&python);
                program.arg(root().join("python/tests/serving.py")).arg(scenario);
                program.arg("--data").arg(&data).arg("--tokenizer").arg(&tokenizer);
                run(program.arg("--seconds").arg(seconds.to_string()))?;
            }
            Ok(())
        }
        Bench::Instructions(arguments) => instructions::run_instructions(arguments),
        Bench::Programs(arguments) => programs::run_programs(arguments),
    }
}
