//! The maskwright command line.
//!
//! The top of the pipeline: reads files and arguments, calls the facade, the decoding loop and the models,
//! and writes. Generated text (or, with `--json`, one object) goes to standard output, everything else to
//! standard error; colours and progress bars only where there is a terminal.
//!
//! One module a command (`generate`, `check`, `mask`, `infill`, `tokenize`, `pull`, `completions`, `debug`),
//! and one for each thing they share.

mod arguments;
mod budget;
mod bytes;
mod check;
mod completions;
mod debug;
mod diffuse;
mod examples;
mod generate;
mod grammar;
mod held;
mod infill;
mod input;
mod interrupt;
mod mask;
mod model;
mod outcome;
mod progress;
mod prompt;
mod pull;
mod reading;
mod regions;
mod search;
mod statistics;
mod template;
mod text_stream;
mod tokenize;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Command, CommandLine};
use outcome::Outcome;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = CommandLine::parse().command;
    let result = match command {
        command if command.asks_for_tool_formats() => grammar::list_tool_formats(),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Mask(arguments) => mask::run(&arguments),
        Command::Infill(arguments) => infill::run(&arguments),
        Command::Tokenize(arguments) => tokenize::run(&arguments),
        Command::Pull(arguments) => pull::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Debug(arguments) => debug::run(&arguments),
    };
    match result {
        Ok(outcome) => outcome.into(),
        // There is nobody to tell.
        Err(error) if outcome::is_broken_pipe(&error) => Outcome::OutputClosed.into(),
        Err(error) => {
            outcome::report(&error);
            outcome::of_error(&error).into()
        }
    }
}
