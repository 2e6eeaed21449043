//! `cargo xtask bench programs`: our engine beside its peers on programs under Lark grammars.
//!
//! The arguments; the rest is `xtask/bench/programs.py`.

use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use crate::commands::{root, run};
use crate::python_env;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder of `grammars/LANGUAGE.lark`, `programs/syncode_lark_verdicts.tsv` with the programs it
    /// judges, and `sql.jsonl`.
    #[arg(long)]
    data: PathBuf,
    /// Each a tokenizer.json.
    #[arg(long, value_delimiter = ',', required = true)]
    tokenizer: Vec<PathBuf>,
    /// Which languages, in the order of the table.
    #[arg(long, value_delimiter = ',', default_value = "go,java,python,sql")]
    languages: Vec<String>,
    /// Every how many-th program.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// The engines that ours is compared with.
    #[arg(long, value_delimiter = ',', default_value = "llguidance")]
    peers: Vec<String>,
    /// Our lexer; verdicts are those of the basic one.
    #[arg(long, default_value = "basic", value_parser = ["basic", "contextual"])]
    lexer: String,
}

/// Runs all engines one after the other, and prints the table. Fails if a verdict of ours is wrong.
pub(crate) fn run_programs(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.every > 0, "--every 0 is no step, 1 takes every program");
    let data = arguments.data.canonicalize()?;
    let mut tokenizers = Vec::new();
    for file in &arguments.tokenizer {
        tokenizers.push(file.canonicalize()?.display().to_string());
    }
    let mut command = Command::new(python_env::with_peers(&super::PEERS)?);
    command.arg(root().join("xtask/bench/programs.py")).arg(data).arg(tokenizers.join(","));
    command.args([&arguments.languages.join(","), &arguments.peers.join(","), &arguments.lexer]);
    run(command.arg(arguments.every.to_string()))
}
