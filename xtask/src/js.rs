//! `cargo xtask js`: builds the package for browsers and Node (`js/package`) and runs its tests in Node.
//!
//! Not part of `.ci/run`: it installs wasm-bindgen's program and packages of npm, and the build takes ten
//! minutes at first.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::commands::{capture, cargo, root, run, target};

const TARGET: &str = "wasm32-unknown-unknown";

#[derive(clap::Args, Default)]
pub(crate) struct Arguments {
    /// A model's `tokenizer.json` that the playground offers too, as `NAME=FILE`.
    #[arg(long)]
    tokenizer: Vec<String>,
}

/// Builds the package and tests it.
#[allow(clippy::print_stderr, reason = "what was built")]
pub(crate) fn run_js(arguments: &Arguments) -> anyhow::Result<()> {
    let js = root().join("js");
    let wasm = build()?;
    install()?;
    let optimised = wasm.with_extension("small");
    let mut optimiser = Command::new(js.join("node_modules/.bin/wasm-opt"));
    run(optimiser.arg("-Oz").arg(&wasm).arg("-o").arg(&optimised))?;
    fs::rename(&optimised, &wasm)?;
    eprintln!("js: {} of {} KiB", wasm.display(), fs::metadata(&wasm)?.len() / 1024);
    let playground = assemble(&arguments.tokenizer)?;
    eprintln!("js: the playground is in {}", playground.display());
    let verdicts = root().join("target/js-verdicts.jsonl");
    let native = ["test", "--locked", "-p", "maskwright", "--test", "masks", "verdicts"];
    run(cargo().args(native).env("MASKWRIGHT_VERDICTS", &verdicts))?;
    let mut tests = Command::new("npm");
    if verdicts.exists() {
        tests.env("MASKWRIGHT_VERDICTS", &verdicts);
    }
    run(tests.args(["--prefix"]).arg(&js).args(["test"]))
}

/// Runs the tests of the playground in headless Chromium.
pub(crate) fn run_browser() -> anyhow::Result<()> {
    if !root().join("target/playground/index.html").exists() {
        run_js(&Arguments::default())?;
    }
    assemble(&[])?;
    test_in_browser("playground.test.mjs")
}

/// Runs a test of `js/browser` in headless Chromium.
pub(crate) fn test_in_browser(name: &str) -> anyhow::Result<()> {
    install()?;
    run(Command::new("node").arg("--test").arg(root().join("js/browser").join(name)))
}

/// The packages of npm that build and test. What a program among them may do when it is installed is not
/// asked for.
fn install() -> anyhow::Result<()> {
    let options = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
    run(Command::new("npm").arg("--prefix").arg(root().join("js")).args(options))
}

/// Puts the playground together, with its own vocabulary and those of `tokenizers`: a folder for any server
/// of files.
fn assemble(tokenizers: &[String]) -> anyhow::Result<PathBuf> {
    let folder = root().join("target/playground");
    let engine = folder.join("maskwright");
    fs::create_dir_all(engine.join("wasm"))?;
    for name in ["index.html", "main.js", "worker.js", "examples.js", "style.css"] {
        fs::copy(root().join("docs/playground").join(name), folder.join(name))?;
    }
    for name in ["index.js", "wasm/maskwright_js.js", "wasm/maskwright_js_bg.wasm"] {
        fs::copy(root().join("js/package").join(name), engine.join(name))?;
    }
    fs::copy(root().join("testdata/masks/vocabulary.txt"), folder.join("vocabulary.txt"))?;
    let mut offered = vec![("a small one".to_owned(), "vocabulary.txt".to_owned())];
    for (index, tokenizer) in tokenizers.iter().enumerate() {
        let (name, path) = tokenizer.split_once('=').context("--tokenizer takes NAME=FILE")?;
        let file = format!("tokenizer-{index}.json");
        fs::copy(path, folder.join(&file)).with_context(|| format!("cannot read {path}"))?;
        offered.push((name.to_owned(), file));
    }
    fs::write(folder.join("vocabularies.json"), serde_json::to_string(&offered)?)?;
    Ok(folder)
}

/// The engine in WebAssembly, with its JavaScript beside it.
fn build() -> anyhow::Result<PathBuf> {
    let installed = capture(Command::new("rustup").args(["target", "list", "--installed"]))?;
    if !installed.lines().any(|line| line == TARGET) {
        run(Command::new("rustup").args(["target", "add", TARGET]))?;
    }
    run(cargo().args(["build", "--locked", "-p", "maskwright-js", "--profile", "web", "--target", TARGET]))?;
    let made = target().join(TARGET).join("web/maskwright_js.wasm");
    let folder = root().join("js/package/wasm");
    let mut binder = Command::new(wasm_bindgen()?);
    run(binder.args(["--target", "web", "--out-dir"]).arg(&folder).arg(made))?;
    Ok(folder.join("maskwright_js_bg.wasm"))
}

/// wasm-bindgen's program, of the version in Cargo.lock, installed if it is not there.
fn wasm_bindgen() -> anyhow::Result<PathBuf> {
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains("name = \"wasm-bindgen\"\n"))
        .and_then(|package| package.lines().find_map(|line| line.strip_prefix("version = \"")))
        .and_then(|version| version.strip_suffix('"'))
        .context("Cargo.lock has no wasm-bindgen")?;
    let tools = root().join("target/js-tools");
    let program = tools.join("bin/wasm-bindgen");
    let known = Command::new(&program).arg("--version").output();
    if known.is_ok_and(|known| String::from_utf8_lossy(&known.stdout).contains(version)) {
        return Ok(program);
    }
    run(cargo().args(["install", "wasm-bindgen-cli", "--version", version, "--root"]).arg(&tools))?;
    ensure!(program.exists(), "{} was not installed", program.display());
    Ok(program)
}
