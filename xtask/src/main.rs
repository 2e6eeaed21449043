//! The project's own tasks, run as `cargo xtask TASK`.
//!
//! * `test`: every test, the Python package's included, in a virtual environment that it makes itself.
//! * `tidy`: the layers of ARCHITECTURE.md, module heads, file lengths.

mod commands;
mod python_env;
mod test;
mod tidy;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own tasks")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test: Rust's, then the Python package's in a virtual environment under target/.
    Test,
    /// Check the layering of the crates, the module heads and the file lengths.
    Tidy,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Test => test::run_all(),
        Task::Tidy => tidy::run(),
    }
}
