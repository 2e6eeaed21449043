//! `cargo xtask release --dry-run`: everything of a release but the publishing.
//!
//! * The crates that are published are packed, and each packed crate is built from what was packed. What a
//!   package must have, [`crate::tidy`] checks.
//! * A wheel for this machine and a source distribution are built. Both are installed, each in a virtual
//!   environment of its own, the second one by building it, and run an example.
//! * The workflow files are checked (by [`crate::lint`]), since they cannot be run here: a tag starts
//!   `.github/workflows/release.yml`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::commands::{capture, cargo, run, target};
use crate::python_env::{Environment, MATURIN};
use crate::{lint, tidy};

/// The most bytes of a wheel.
const MAX_WHEEL: u64 = 10_000_000;

/// Tries a release. `verify`: the packed crates are built too, which takes minutes.
#[allow(clippy::print_stderr, reason = "a task tells its outcome")]
pub(crate) fn dry_run(verify: bool) -> anyhow::Result<()> {
    tidy::run()?;
    lint::run_all()?;
    let mut built = pack_crates(verify)?;
    built.extend(build_python()?);
    eprintln!("release: everything is packed, installed and tried");
    for (file, size) in built {
        eprintln!("{size:>10} bytes  {}", file.display());
    }
    Ok(())
}

/// Packs every crate that is published; the packed files with their sizes.
fn pack_crates(verify: bool) -> anyhow::Result<Vec<(PathBuf, u64)>> {
    let packages = tidy::published()?;
    // A folder of its own, and empty: cargo takes a packed crate of the same version as unchanged, and builds
    // those that depend on it with what it made the last time.
    let folder = target().join("release-crates");
    remove(&folder)?;
    let mut pack = cargo();
    // A change is tried before it is committed.
    pack.args(["package", "--locked", "--allow-dirty", "--target-dir"]).arg(&folder);
    if !verify {
        pack.arg("--no-verify");
    }
    for (name, _) in &packages {
        pack.args(["--package", name]);
    }
    run(&mut pack)?;
    let mut packed = Vec::new();
    for (name, version) in &packages {
        let file = folder.join(format!("package/{name}-{version}.crate"));
        let names = capture(Command::new("tar").arg("-tzf").arg(&file))?;
        for needed in tidy::LICENCES.into_iter().chain(["README.md"]) {
            let path = format!("{name}-{version}/{needed}");
            ensure!(names.lines().any(|line| line == path), "{} lacks {needed}", file.display());
        }
        packed.push(sized(file)?);
    }
    Ok(packed)
}

/// Builds the wheel and the source distribution; installs and tries both.
fn build_python() -> anyhow::Result<Vec<(PathBuf, u64)>> {
    let folder = target().join("package/python");
    remove(&folder)?;
    let tools = Environment::with("release-tools", &[MATURIN])?;
    let maturin = |arguments: &[&str]| {
        let mut maturin = Command::new(tools.python());
        maturin.args(["-m", "maturin"]).args(arguments);
        run(maturin.args(["--manifest-path", "python/Cargo.toml", "--out"]).arg(&folder))
    };
    // `pypi` refuses a wheel that needs libraries beyond what its tag promises.
    maturin(&["build", "--profile", "dist", "--locked", "--compatibility", "pypi"])?;
    maturin(&["sdist"])?;
    let files = std::fs::read_dir(&folder).context("maturin made no folder")?;
    let mut built = files.map(|entry| sized(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    built.sort();
    let suffixes: Vec<_> = built.iter().map(|(file, _)| file.extension().unwrap_or_default()).collect();
    ensure!(suffixes == ["whl", "gz"], "expected a wheel and a source distribution in {}", folder.display());
    let size = built[0].1;
    ensure!(size <= MAX_WHEEL, "the wheel has {size} bytes, more than {MAX_WHEEL}");
    for (file, _) in &built {
        install_and_try(file)?;
    }
    Ok(built)
}

/// Installs a file in a fresh virtual environment, and runs the example there.
fn install_and_try(file: &Path) -> anyhow::Result<()> {
    let name = if file.extension().is_some_and(|extension| extension == "whl") { "wheel" } else { "sdist" };
    let name = format!("release-{name}");
    remove(&Environment::folder(&name))?;
    let fresh = Environment::with(&name, &[])?;
    // A source distribution is built from nothing: its files are old, and cargo would take what is in
    // `target` for newer.
    run(fresh.pip().arg(file).env_remove("CARGO_TARGET_DIR"))?;
    // Isolated, so that no source folder stands in for what is installed.
    run(Command::new(fresh.python()).args(["-I", "xtask/src/release/example.py"]))
}

fn sized(file: PathBuf) -> anyhow::Result<(PathBuf, u64)> {
    let size = std::fs::metadata(&file).with_context(|| format!("{} is missing", file.display()))?.len();
    Ok((file, size))
}

fn remove(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    Ok(())
}
