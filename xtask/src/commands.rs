//! Running other programs, with what is run said on standard error.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// The `cargo` that runs this task.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs `command` in the workspace's root to its end.
#[allow(clippy::print_stderr, reason = "a task tells what it runs")]
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let line = line.join(" ");
    eprintln!("$ {line}");
    let status = command.current_dir(root()).status().with_context(|| format!("could not start `{line}`"))?;
    ensure!(status.success(), "`{line}` failed: {status}");
    Ok(())
}
