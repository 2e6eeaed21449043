//! Running other programs, with what is run said on standard error.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// The workspace's root folder.
pub(crate) fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// The `cargo` that runs this task. It is not told of the package of `xtask`: build scripts that ask which
/// package is built would run again, and all that depends on them would be built anew.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// What `command`, run in the workspace's root, prints on standard output.
pub(crate) fn capture(command: &mut Command) -> anyhow::Result<String> {
    let line = shown(command);
    let output = command.current_dir(root()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("could not start `{line}`"))?;
    ensure!(output.status.success(), "`{line}` failed: {}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not print UTF-8"))
}

/// Runs `command` in the workspace's root to its end.
#[allow(clippy::print_stderr, reason = "a task tells what it runs")]
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = shown(command);
    eprintln!("$ {line}");
    let status = command.current_dir(root()).status().with_context(|| format!("could not start `{line}`"))?;
    ensure!(status.success(), "`{line}` failed: {status}");
    Ok(())
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The files of a folder, and of the folders in it, that have this extension.
pub(crate) fn collect_sources(
    folder: &Path,
    extension: &str,
    files: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with(".venv") {
                collect_sources(&path, extension, files)?;
            }
        } else if path.extension().is_some_and(|own| own == extension) {
            files.push(path);
        }
    }
    Ok(())
}
