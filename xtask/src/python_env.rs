//! Virtual environments under `target/`: with the Python package in them, or with tools that come as wheels.

use std::path::PathBuf;
use std::process::Command;

use crate::commands::{root, run};

/// What builds the package.
pub(crate) const MATURIN: &str = "maturin>=1.9,<2";
/// What the tests import, and what builds the package.
const PACKAGES: [&str; 9] = [
    MATURIN,
    "lark>=1.3",
    "mlx[cpu]>=0.30; sys_platform == 'linux' and platform_machine == 'x86_64'",
    "mypy>=1.10",
    "numpy>=1.26",
    "prometheus_client>=0.20",
    "pydantic>=2.12",
    "pytest>=8",
    "tokenizers>=0.20",
];

/// A virtual environment.
pub(crate) struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Where the environment of this name is.
    pub(crate) fn folder(name: &str) -> PathBuf {
        root().join("target").join(name)
    }

    /// The environment of this name, made if it is not there, with `packages`.
    pub(crate) fn with(name: &str, packages: &[&str]) -> anyhow::Result<Environment> {
        let environment = Environment { folder: Environment::folder(name) };
        if !environment.python().exists() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&environment.folder))?;
        }
        if !packages.is_empty() {
            run(environment.pip().args(packages))?;
        }
        Ok(environment)
    }

    /// Its interpreter.
    pub(crate) fn python(&self) -> PathBuf {
        self.program("python")
    }

    /// A program that a package has installed.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        let folder = if cfg!(windows) { "Scripts" } else { "bin" };
        self.folder.join(folder).join(name).with_extension(std::env::consts::EXE_EXTENSION)
    }

    /// `pip install`, for what to install.
    pub(crate) fn pip(&self) -> Command {
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip
    }

    /// With our package, built with `options`. Returns the interpreter.
    fn with_package(self, options: &[&str]) -> anyhow::Result<PathBuf> {
        run(Command::new(self.python())
            .args(["-m", "maturin", "develop", "--quiet", "--manifest-path", "python/Cargo.toml"])
            .args(options)
            .env("VIRTUAL_ENV", &self.folder))?;
        Ok(self.python())
    }
}

/// The virtual environment of the tests, with the package installed from the working tree in the dev profile.
/// Returns its `python`.
pub(crate) fn with_package() -> anyhow::Result<PathBuf> {
    // The dev profile, so that the crates built for the Rust tests serve here as well.
    Environment::with("python-env", &PACKAGES)?.with_package(&[])
}

/// The virtual environment of the benchmarks, with the package as it is shipped (the profile `dist`) and
/// `peers` from their packages.
pub(crate) fn with_peers(peers: &[&str]) -> anyhow::Result<PathBuf> {
    Environment::with("bench-env", &[&PACKAGES, peers].concat())?.with_package(&["--profile", "dist"])
}
