//! `cargo xtask bench maskbench`: our engine beside its peers on MaskBench.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use super::plot;
use super::summary::{Measure, Outcome, mean, quantile};
use crate::commands::{root, run};
use crate::python_env;

/// Our own name among the engines.
const OURS: &str = "maskwright";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder of .jsonl files, `{"id", "schema", "tests": [{"valid", "data"}]}` a line.
    #[arg(long)]
    data: PathBuf,
    /// A tokenizer.json.
    #[arg(long)]
    tokenizer: PathBuf,
    /// Every how many-th schema.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// The engines that ours is compared with.
    #[arg(long, value_delimiter = ',', default_value = "llguidance,glrmask")]
    peers: Vec<String>,
    /// Where a plot of the distributions is written.
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// Runs all engines one after the other, and prints the table. Fails if ours accepts an invalid instance.
#[allow(clippy::print_stdout, reason = "the table is the outcome")]
pub(crate) fn run_maskbench(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.every > 0, "--every 0 is no step, 1 takes every schema");
    let (data, tokenizer) = (arguments.data.canonicalize()?, arguments.tokenizer.canonicalize()?);
    let python = python_env::with_peers(&super::PEERS)?;
    let folder = root().join("target/bench");
    std::fs::create_dir_all(&folder)?;
    let mut outcomes = Vec::new();
    for name in std::iter::once(OURS).chain(arguments.peers.iter().map(String::as_str)) {
        let out = folder.join(format!("maskbench-{name}.jsonl"));
        let mut command = Command::new(&python);
        command.arg(root().join("xtask/bench/maskbench.py")).arg(name).arg(&tokenizer).arg(&data).arg(&out);
        run(command.arg(arguments.every.to_string()))?;
        outcomes.push(Outcome::read(name, &out)?);
    }
    let common = common_ids(&outcomes);
    println!("{}", report(&outcomes, &common));
    if let Some(svg) = &arguments.svg {
        std::fs::write(svg, plot::distributions(&outcomes, &common))?;
    }
    let n_wrong = outcomes[0].verdicts().invalid_accepted;
    ensure!(n_wrong == 0, "{n_wrong} invalid instances are accepted");
    Ok(())
}

/// The schemas that all engines compile.
fn common_ids(outcomes: &[Outcome]) -> BTreeSet<&str> {
    let mut sets = outcomes.iter().map(Outcome::compiled);
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |common, set| common.intersection(&set).copied().collect())
}

/// A table in Markdown: a row for each figure, a column for each engine, and the ratio of the first engine's
/// to each other's.
fn report(outcomes: &[Outcome], common: &BTreeSet<&str>) -> String {
    let mut table = Table::new(outcomes);
    table.counts("schemas", outcomes.iter().map(Outcome::n_schemas));
    table.counts("compiled", outcomes.iter().map(|outcome| outcome.compiled().len()));
    table.counts("timed: compiled by all", outcomes.iter().map(|_| common.len()));
    table.counts("all instances judged right", outcomes.iter().map(Outcome::n_passing));
    let verdicts = || outcomes.iter().map(Outcome::verdicts);
    table.counts("valid accepted", verdicts().map(|verdicts| verdicts.valid_accepted));
    table.counts("valid REFUSED", verdicts().map(|verdicts| verdicts.valid_refused));
    table.counts("invalid refused", verdicts().map(|verdicts| verdicts.invalid_refused));
    table.counts("invalid ACCEPTED", verdicts().map(|verdicts| verdicts.invalid_accepted));
    table.figures("peak memory, MiB", outcomes.iter().map(|outcome| outcome.memory).collect());
    for measure in Measure::ALL {
        let times: Vec<Vec<f64>> = outcomes.iter().map(|outcome| outcome.times(measure, common)).collect();
        let title = measure.title();
        table.figures(&format!("{title}: mean, us"), times.iter().map(|times| mean(times)).collect());
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)] {
            table
                .figures(&format!("{title}: {name}"), times.iter().map(|times| quantile(times, q)).collect());
        }
    }
    table.text
}

struct Table {
    text: String,
    n_engines: usize,
}

impl Table {
    fn new(outcomes: &[Outcome]) -> Table {
        let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.name.as_str()).collect();
        let ratios = names[1..].iter().map(|name| format!("{} / {name}", names[0]));
        let columns: Vec<String> = names.iter().map(|&name| name.to_owned()).chain(ratios).collect();
        let text = format!("| | {} |\n|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len()));
        Table { text, n_engines: names.len() }
    }

    fn counts(&mut self, title: &str, values: impl Iterator<Item = usize>) {
        let cells: Vec<String> = values.map(|value| value.to_string()).collect();
        self.row(title, cells);
    }

    fn figures(&mut self, title: &str, values: Vec<f64>) {
        let ratios = values[1..].iter().map(|value| format!("{:.3}", values[0] / value));
        let cells = values.iter().map(|value| format!("{value:.2}")).chain(ratios).collect();
        self.row(title, cells);
    }

    fn row(&mut self, title: &str, mut cells: Vec<String>) {
        cells.resize(2 * self.n_engines - 1, String::new());
        self.text += &format!("| {title} | {} |\n", cells.join(" | "));
    }
}
