//! A virtual environment with the Python package in it.

use std::path::PathBuf;
use std::process::Command;

use crate::commands::{root, run};

/// What the tests import, and what builds the package.
const PACKAGES: [&str; 5] = ["maturin>=1.9,<2", "mypy>=1.10", "numpy>=1.26", "pytest>=8", "tokenizers>=0.20"];

/// The virtual environment of the tests under `target/`, made if it is not there, with the package installed from
/// the working tree in the dev profile. Returns its `python`.
pub(crate) fn with_package() -> anyhow::Result<PathBuf> {
    // The dev profile, so that the crates built for the Rust tests serve here as well.
    environment("python-env", &PACKAGES, &[])
}

/// The virtual environment of the benchmarks, with the package in the release profile and `peers` from their
/// packages.
pub(crate) fn with_peers(peers: &[&str]) -> anyhow::Result<PathBuf> {
    environment("bench-env", &[&PACKAGES, peers].concat(), &["--release"])
}

/// The virtual environment `target/NAME`, made if it is not there, with `packages` and our own, built with
/// `options`.
fn environment(name: &str, packages: &[&str], options: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = root().join("target").join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(&python).args(pip).args(packages))?;
    run(Command::new(&python)
        .args(["-m", "maturin", "develop", "--quiet", "--manifest-path", "python/Cargo.toml"])
        .args(options)
        .env("VIRTUAL_ENV", &folder))?;
    Ok(python)
}
