//! Campaigns: long experiments over real models and data, started as `cargo xtask experiment NAME`.
//!
//! Place in the pipeline: a leaf; nothing depends on it, and it uses the public interface only. Each campaign
//! is one module with its arguments, its `run`, and a test on tiny data. All write a [`log`] of JSON
//! lines and go on where a log ends, so a run may be broken off at any time. A campaign verifies what it
//! measures, and its exit status is 0 only if the outcome is what is claimed of the project.
//!
//! * [`json_mode`]: a real model writes records for a hundred schemas.
//! * [`random_logits`]: a model without taste writes a thousand texts.
//! * [`budget_random`]: the same under limits on tokens, which every text must keep.
//! * [`schema_pairs`]: random schemas and values, judged twice.
//! * [`overhead`]: what masks cost beside the network.
//! * [`maskbench`]: verdicts and times over thousands of schemas.
//! * [`budget`]: limits on tokens, by paper 4's estimate and by the exact minimum, with three strategies.
//! * [`budget::c_function`]: a function in C within 40 tokens, as in figure 5 of paper 4.
//! * [`infill`]: a diffusion model under no constraint, checked proposals and exact masks.
//! * [`canvases`]: canvases of true programs are filled to the end with the true tokens.
//! * [`hostile_canvases`]: how long a call takes where a canvas is hard.
//! * [`train_diffusion`]: the weights of the built-in diffusion model.
//! * [`programs`]: a real model writes functions in Python and queries in SQL, which their own parsers judge.
//! * [`lark_verdicts`]: programs and changes of them under Lark grammars, judged by Lark itself.
//! * [`hostile`]: time and memory of bad input, each case in a process of its own.
//!
//! Rejected: ignored tests. They have no arguments, no progress, no memory of what was done, and report by
//! panic.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports to its user")]

mod budget;
mod budget_random;
mod canvases;
mod data;
mod diffusion_corpus;
mod hostile;
mod hostile_canvases;
mod infill;
mod json_mode;
mod judge;
mod lark_verdicts;
mod log;
mod maskbench;
mod molecules;
mod numbers;
mod overhead;
mod programs;
mod progress;
mod prompt;
mod prompt_memory;
mod random_logits;
mod random_schema;
mod reject;
mod schema_pairs;
mod table;
mod train_diffusion;
mod trainer;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask experiment", version, about = "Long experiments over real models and data")]
struct Cli {
    #[command(subcommand)]
    campaign: Campaign,
}

#[derive(Subcommand)]
enum Campaign {
    /// A real model at temperature 1 writes a record for each of a hundred schemas.
    JsonMode(json_mode::Arguments),
    /// A model with random logits writes texts for real schemas until enough are finished.
    RandomLogits(random_logits::Arguments),
    /// The same under limits on tokens that leave little room; known texts at exactly their length.
    BudgetRandom(budget_random::Arguments),
    /// Random schemas and values, judged by our grammars and by an independent validator.
    SchemaPairs(schema_pairs::Arguments),
    /// What masks cost beside the forward pass, over one given text of 2,000 tokens.
    Overhead(overhead::Arguments),
    /// Verdicts and times over the schemas and instances of MaskBench.
    Maskbench(maskbench::Arguments),
    /// Texts under limits on tokens, by estimate and by exact minimum, greedily, by beams and by tree search.
    Budget(budget::Arguments),
    /// Programs and changes of them under Lark grammars, judged by our matchers and by Lark itself.
    LarkVerdicts(lark_verdicts::Arguments),
    /// A real model writes 50 functions in Python and 50 queries in SQL, judged by Python and sqlite
    /// themselves.
    Programs(programs::Arguments),
    /// A function in C within 40 tokens, by a real model and by random logits.
    CFunction(budget::c_function::Arguments),
    /// Bad input: outcome, time and memory of each case.
    Hostile(hostile::Arguments),
    /// A diffusion model writes records and molecules: no constraint, checked proposals, exact masks.
    Infill(infill::Arguments),
    /// Canvases made of true programs: possible, and the true tokens in every mask, to the end.
    Canvases(canvases::Arguments),
    /// Every call of canvases that are hard, with the limits that users have; none may take over five
    /// seconds.
    HostileCanvases(hostile_canvases::Arguments),
    /// Trains the diffusion model that comes with the project.
    TrainDiffusion(train_diffusion::Arguments),
    /// One case of `hostile`; prints a line of JSON.
    #[command(hide = true)]
    HostileCase(hostile::CaseArguments),
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    match Cli::parse().campaign {
        Campaign::JsonMode(arguments) => json_mode::run(&arguments),
        Campaign::RandomLogits(arguments) => random_logits::run(&arguments),
        Campaign::BudgetRandom(arguments) => budget_random::run(&arguments),
        Campaign::SchemaPairs(arguments) => schema_pairs::run(&arguments),
        Campaign::Overhead(arguments) => overhead::run(&arguments),
        Campaign::Maskbench(arguments) => maskbench::run(&arguments),
        Campaign::Budget(arguments) => budget::run(&arguments),
        Campaign::LarkVerdicts(arguments) => lark_verdicts::run(&arguments),
        Campaign::Programs(arguments) => programs::run(&arguments),
        Campaign::CFunction(arguments) => budget::c_function::run(&arguments),
        Campaign::Hostile(arguments) => hostile::run(&arguments),
        Campaign::Infill(arguments) => infill::run(&arguments),
        Campaign::Canvases(arguments) => canvases::run(&arguments),
        Campaign::HostileCanvases(arguments) => hostile_canvases::run(&arguments),
        Campaign::TrainDiffusion(arguments) => train_diffusion::run(&arguments),
        Campaign::HostileCase(arguments) => hostile::run_case(&arguments),
    }
}
