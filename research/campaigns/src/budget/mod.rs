//! `budget`: a real model writes JSON under limits on tokens, by paper 4's estimate and by the exact minimum.
//!
//! Section 5 and appendices B.8 to B.11 of paper 4, with another model and prompts of our own: for each
//! record the limit is the length of its gold value times a ratio (or a fixed number), the grammar is RFC
//! 8259's or the record's schema, and every method decodes greedily, by beam search and by Monte Carlo tree
//! search. Counted are texts that are JSON (*syntax*), that satisfy the schema, and that equal the gold
//! value.
//!
//! Claimed: every text under the exact budget is JSON, with every strategy at every limit; the tree search's
//! value is at least the greedy text's. The rest is measured and reported.
//!
//! Cost: one model token a token for the greedy texts, ten for beams, some hundreds for the tree search,
//! which therefore runs on few records (`--tree-records`); a prompt is read once for all its texts. The whole
//! experiment takes days on one core; the arguments choose parts of it, and the log grows with each.

pub(crate) mod c_function;
mod plot;
mod report;
mod task;
mod write;

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::log::{Log, LogArguments};
use task::{Limit, Task};
use write::Writer;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// A GGUF file, or the name of a known model, which is pulled if need be. Set RAYON_NUM_THREADS=1
    #[arg(long, default_value = "smollm2")]
    model: String,
    /// Records of schemas with gold values [default: data/json-mode-eval.jsonl of the shared folder]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Only the first N records
    #[arg(long, value_name = "N")]
    records: Option<usize>,
    /// Limits: ratios of the gold value's length (with a point), numbers of tokens, or `least`: the smallest
    /// that a method begins with
    #[arg(long, value_delimiter = ',', default_value = "1.0,1.1,1.2,1.5,400")]
    limits: Vec<Limit>,
    /// Which grammars
    #[arg(long, value_delimiter = ',', default_value = "json,schema")]
    grammars: Vec<GrammarKind>,
    /// Which ways to hold the model to grammar and limit
    #[arg(long, value_delimiter = ',', default_value = "free,unlimited,estimate,exact")]
    methods: Vec<Method>,
    /// Which strategies
    #[arg(long, value_delimiter = ',', default_value = "greedy,beam,tree")]
    strategies: Vec<Strategy>,
    /// Which prompts
    #[arg(long, value_delimiter = ',', default_value = "plain,compact")]
    prompts: Vec<PromptKind>,
    /// The tree search runs on the first N records [default: 20 at the limit 1.1, 5 elsewhere]
    #[arg(long, value_name = "N")]
    tree_records: Option<usize>,
    /// Only texts whose limit is at most N tokens: long ones take most of the time
    #[arg(long, value_name = "N")]
    at_most: Option<usize>,
    /// Draw the shares by limit into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(ValueEnum, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum GrammarKind {
    /// RFC 8259
    Json,
    /// The record's schema
    Schema,
}

#[derive(ValueEnum, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Method {
    /// No constraint; greedy only
    Free,
    /// The grammar, cut off at the limit
    Unlimited,
    /// The grammar and paper 4's estimate; RFC 8259 only
    Estimate,
    /// The grammar and the exact minimum
    Exact,
}

#[derive(ValueEnum, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Strategy {
    Greedy,
    /// Ten beams
    Beam,
    /// Monte Carlo tree search with the paper's settings
    Tree,
    /// No model: each token is any token of the mask, all alike; with a limit only
    Random,
}

#[derive(ValueEnum, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum PromptKind {
    Plain,
    /// With the request to spare white space
    Compact,
}

/// What tells the texts of one record apart.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Setting {
    grammar: GrammarKind,
    prompt: PromptKind,
    limit: Limit,
    method: Method,
    strategy: Strategy,
}

/// What became of one text.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    id: String,
    #[serde(flatten)]
    setting: Setting,
    max_tokens: usize,
    outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    is_json: bool,
    is_valid: bool,
    is_gold: bool,
    /// The text's, end of text included.
    n_tokens: usize,
    /// Read by the model, the prompt included.
    n_model_tokens: usize,
    perplexity: f64,
    seconds: f64,
    prompt_text: String,
    text: String,
}

#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Finished,
    CutOff,
    /// The method does not take the grammar or the limit, or the model's context is too short for prompt and
    /// limit.
    Refused,
    /// The decoder failed: a bug.
    Failed,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let data = arguments.data.clone().unwrap_or_else(|| data::shared().join("data/json-mode-eval.jsonl"));
    let mut tasks = task::read(&data)?;
    tasks.truncate(arguments.records.unwrap_or(usize::MAX));
    // Parts of the experiment go into one log; what decides a text is in each entry.
    let settings = json!({ "model": arguments.model, "prompts": task::PROMPT_VERSION });
    let mut log = Log::<Entry>::open("budget", &settings, &arguments.log)?;
    let jobs: Vec<(&Task, Setting)> = jobs(arguments, &tasks)
        .into_iter()
        .filter(|(task, setting)| {
            !log.entries().iter().any(|entry| entry.id == task.id && entry.setting == *setting)
        })
        .collect();
    if !jobs.is_empty() {
        let mut writer = Writer::load(&arguments.model)?;
        let bar = crate::progress::bar("budget", 0, jobs.len());
        for (task, setting) in jobs {
            if writer.max_tokens(task, setting)? > arguments.at_most.unwrap_or(usize::MAX) {
                bar.inc(1);
                continue;
            }
            log.append(writer.entry(task, setting).with_context(|| task.id.clone())?)?;
            bar.inc(1);
        }
        bar.finish();
    }
    println!("{}", report::report(log.entries()));
    if let Some(path) = &arguments.svg {
        std::fs::write(path, plot::svg(log.entries())).with_context(|| path.display().to_string())?;
        println!("plot: {}", path.display());
    }
    println!("log: {}", log.path().display());
    verdict(log.entries())
}

/// All texts that the arguments ask for, record by record.
fn jobs<'t>(arguments: &Arguments, tasks: &'t [Task]) -> Vec<(&'t Task, Setting)> {
    let mut jobs = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        for &prompt in &arguments.prompts {
            for &limit in &arguments.limits {
                for &method in &arguments.methods {
                    for &grammar in &arguments.grammars {
                        for &strategy in &arguments.strategies {
                            let setting = Setting { grammar, prompt, limit, method, strategy };
                            if setting.is_meant()
                                && (strategy != Strategy::Tree || index < n_tree(arguments, limit))
                            {
                                jobs.push((task, setting));
                            }
                        }
                    }
                }
            }
        }
    }
    jobs
}

fn n_tree(arguments: &Arguments, limit: Limit) -> usize {
    arguments.tree_records.unwrap_or(if limit == Limit::Percent(110) { 20 } else { 5 })
}

impl Setting {
    /// Whether the combination is one of the experiment's.
    fn is_meant(self) -> bool {
        match self.method {
            Method::Free => self.strategy == Strategy::Greedy && self.grammar == GrammarKind::Json,
            Method::Estimate => self.grammar == GrammarKind::Json,
            Method::Unlimited => self.strategy != Strategy::Random,
            Method::Exact => true,
        }
    }
}

/// Whether the claims hold.
fn verdict(entries: &[Entry]) -> anyhow::Result<()> {
    let failed: Vec<&Entry> = entries.iter().filter(|entry| entry.outcome == Outcome::Failed).collect();
    if let Some(entry) = failed.first() {
        bail!("{} texts failed, the first: {} {:?}", failed.len(), entry.id, entry.reason);
    }
    let broken = |entry: &&Entry| {
        entry.setting.method == Method::Exact && entry.outcome != Outcome::Refused && !entry.is_json
    };
    if let Some(entry) = entries.iter().find(broken) {
        bail!("{} under the exact budget is no JSON: {:?}", entry.id, entry.text);
    }
    let mut n_pairs = 0;
    for tree in entries.iter().filter(|entry| entry.setting.strategy == Strategy::Tree) {
        let setting = Setting { strategy: Strategy::Greedy, ..tree.setting };
        let is_twin = |entry: &&Entry| entry.id == tree.id && entry.setting == setting;
        let Some(greedy) = entries.iter().find(is_twin) else { continue };
        if (tree.outcome, greedy.outcome) == (Outcome::Finished, Outcome::Finished) {
            n_pairs += 1;
            // Batches of another shape round otherwise.
            if tree.perplexity > greedy.perplexity * 1.001 {
                let (tree_value, greedy_value) = (tree.perplexity, greedy.perplexity);
                bail!("{}: perplexity {tree_value} by tree search, {greedy_value} greedily", tree.id);
            }
        }
    }
    let is_exact =
        |entry: &&Entry| entry.setting.method == Method::Exact && entry.outcome != Outcome::Refused;
    let n_exact = entries.iter().filter(is_exact).count();
    println!(
        "{n_exact} texts under the exact budget, all JSON; {n_pairs} tree searches, none below the greedy text"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(method: Method, strategy: Strategy, perplexity: f64) -> Entry {
        let (grammar, prompt) = (GrammarKind::Json, PromptKind::Plain);
        Entry {
            id: "x".to_owned(),
            setting: Setting { grammar, prompt, limit: Limit::Percent(110), method, strategy },
            max_tokens: 9,
            outcome: Outcome::Finished,
            reason: None,
            is_json: true,
            is_valid: true,
            is_gold: false,
            n_tokens: 9,
            n_model_tokens: 90,
            perplexity,
            seconds: 1.0,
            prompt_text: String::new(),
            text: "{}".to_owned(),
        }
    }

    #[test]
    fn claims_are_checked() {
        let greedy = entry(Method::Exact, Strategy::Greedy, 3.0);
        let tree = entry(Method::Exact, Strategy::Tree, 2.0);
        assert!(verdict(&[greedy.clone(), tree.clone()]).is_ok());
        assert!(verdict(&[greedy.clone(), Entry { perplexity: 4.0, ..tree }]).is_err());
        assert!(verdict(&[Entry { is_json: false, ..greedy.clone() }]).is_err());
        let unlimited = entry(Method::Unlimited, Strategy::Greedy, 3.0);
        assert!(verdict(&[Entry { is_json: false, outcome: Outcome::CutOff, ..unlimited }]).is_ok());
        assert!(verdict(&[Entry { outcome: Outcome::Failed, ..greedy }]).is_err());
    }

    #[test]
    fn a_line_of_the_log_keeps_an_entry() {
        let entry = entry(Method::Estimate, Strategy::Beam, 3.0);
        let line = serde_json::to_string(&entry).unwrap();
        assert!(line.contains(r#""limit":"1.1","method":"estimate""#), "{line}");
        assert_eq!(serde_json::from_str::<Entry>(&line).unwrap(), entry);
    }
}
