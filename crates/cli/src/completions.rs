//! `maskwright completions`: what a shell needs to complete our commands.

use std::io::Write;

use clap::CommandFactory;

use crate::arguments::{CommandLine, Completions};
use crate::outcome::Outcome;

/// Prints the script.
pub(crate) fn run(arguments: &Completions) -> anyhow::Result<Outcome> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut CommandLine::command(), "maskwright", &mut script);
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&script)?;
    stdout.flush()?;
    Ok(Outcome::Done)
}
