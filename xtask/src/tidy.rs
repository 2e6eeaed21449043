//! `cargo xtask tidy`: what the compiler does not check.
//!
//! * Crates depend on each other only along the arrows of [`LAYERS`] (drawn in ARCHITECTURE.md).
//! * A crate that is published has what its page on crates.io and docs.rs shows.
//! * Nothing but the features of [`ENCODERS`] brings the crates of that name, and no crate of [`ONE_VERSION`]
//!   is there twice.
//! * No crate has a larger circle of files that import each other, or more `impl T` outside the file or
//!   folder of `T`, than recorded (`structure`).
//! * Every source file opens with `//!`.
//! * No source file has more than [`MAX_LINES`] lines.
//! * ARCHITECTURE.md names every crate.
//! * Paths that pages and comments name exist, and comments have lines of at most 110 columns (`prose`).
//! * No crate has more lines of code than recorded (`weight`).
//! * Examples on the pages of `maskwright` name no other crate (`examples`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::commands::{capture, cargo, collect_sources, root};
use crate::{examples, prose, structure, weight};

/// The crates, and for each the crates of this workspace that it may depend on. Tests may use more.
const LAYERS: &[(&str, &[&str])] = &[
    ("maskwright-error", &[]),
    ("maskwright-automata", &[]),
    ("maskwright-lexing", &["maskwright-automata"]),
    ("maskwright-grammar", &["maskwright-automata", "maskwright-error"]),
    (
        "maskwright-syntax",
        &["maskwright-automata", "maskwright-error", "maskwright-grammar", "maskwright-lexing"],
    ),
    (
        "maskwright-json-schema",
        &["maskwright-automata", "maskwright-error", "maskwright-grammar", "maskwright-syntax"],
    ),
    (
        "maskwright-lark",
        &[
            "maskwright-automata",
            "maskwright-error",
            "maskwright-grammar",
            "maskwright-json-schema",
            "maskwright-lexing",
            "maskwright-syntax",
        ],
    ),
    (
        "maskwright-tags",
        &[
            "maskwright-automata",
            "maskwright-error",
            "maskwright-grammar",
            "maskwright-json-schema",
            "maskwright-lark",
            "maskwright-syntax",
        ],
    ),
    ("maskwright-vocabulary", &["maskwright-automata", "maskwright-error"]),
    ("maskwright-scan", &["maskwright-automata", "maskwright-grammar", "maskwright-lexing"]),
    (
        "maskwright-engine",
        &[
            "maskwright-automata",
            "maskwright-error",
            "maskwright-grammar",
            "maskwright-lexing",
            "maskwright-scan",
            "maskwright-vocabulary",
        ],
    ),
    (
        "maskwright-infill",
        &[
            "maskwright-automata",
            "maskwright-engine",
            "maskwright-error",
            "maskwright-grammar",
            "maskwright-lexing",
            "maskwright-scan",
            "maskwright-vocabulary",
        ],
    ),
    (
        "maskwright-decode",
        &["maskwright-engine", "maskwright-infill", "maskwright-trace", "maskwright-vocabulary"],
    ),
    ("maskwright-models", &["maskwright-decode", "maskwright-vocabulary"]),
    ("maskwright-trace", &[]),
    (
        "maskwright",
        &[
            "maskwright-automata",
            "maskwright-engine",
            "maskwright-error",
            "maskwright-grammar",
            "maskwright-infill",
            "maskwright-json-schema",
            "maskwright-lark",
            "maskwright-syntax",
            "maskwright-tags",
            "maskwright-vocabulary",
        ],
    ),
    (
        "maskwright-cli",
        &["maskwright", "maskwright-decode", "maskwright-models", "maskwright-syntax", "maskwright-trace"],
    ),
    ("maskwright-python", &["maskwright", "maskwright-decode", "maskwright-trace"]),
    ("maskwright-capi", &["maskwright"]),
    ("maskwright-js", &["maskwright"]),
    (
        "maskwright-oracle",
        &[
            "maskwright-automata",
            "maskwright-error",
            "maskwright-grammar",
            "maskwright-lexing",
            "maskwright-vocabulary",
        ],
    ),
    ("xtask", &[]),
    ("maskwright-fuzz", &["maskwright", "maskwright-oracle", "maskwright-vocabulary"]),
    // Of research/, which nothing of the above may depend on.
    (
        "maskwright-truncproof",
        &["maskwright-automata", "maskwright-decode", "maskwright-grammar", "maskwright-vocabulary"],
    ),
    (
        "maskwright-campaigns",
        &[
            "maskwright",
            "maskwright-automata",
            "maskwright-decode",
            "maskwright-infill",
            "maskwright-models",
            "maskwright-truncproof",
            "maskwright-vocabulary",
        ],
    ),
];

/// What encodes text, and takes half of a build: features of `maskwright` bring these crates, nothing else
/// does.
const ENCODERS: [&str; 2] = ["tokenizers", "tiktoken-rs"];

/// Crates that have been there in two versions, at no use to anyone. Where `cargo update` brings a second
/// one, hold the first crate back: `cargo update -p CRATE --precise VERSION`.
const ONE_VERSION: [&str; 2] = ["fancy-regex", "hashbrown"];

/// The manifests of the workspaces.
const WORKSPACES: [&str; 3] = ["Cargo.toml", "fuzz/Cargo.toml", "research/Cargo.toml"];

/// What the manifest of a published crate says.
const FIELDS: [&str; 6] = ["description", "license", "repository", "readme", "keywords", "categories"];

/// The texts of the licences, which a package holds.
pub(crate) const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// The most lines of one source file, tests included.
const MAX_LINES: usize = 800;

/// Checks everything; fails with all findings at once.
#[allow(clippy::print_stderr, reason = "a task tells its outcome")]
pub(crate) fn run() -> anyhow::Result<()> {
    let mut findings = Vec::new();
    let packages = packages()?;
    check_layers(&packages, &mut findings);
    check_manifests(&packages, &mut findings);
    check_dependencies(&mut findings)?;
    let sources = sources()?;
    check_sources(&sources, &mut findings);
    structure::check(&packages, &sources, &mut findings)?;
    prose::check(&sources, &mut findings)?;
    weight::check(&sources, &mut findings)?;
    let library = LAYERS.iter().find(|(name, _)| *name == "maskwright").map_or(&[][..], |(_, below)| below);
    let folders: Vec<&str> = library.iter().filter_map(|name| name.strip_prefix("maskwright-")).collect();
    let n_examples = examples::check(&sources, &folders, &mut findings)?;
    let architecture =
        std::fs::read_to_string(root().join("ARCHITECTURE.md")).context("ARCHITECTURE.md cannot be read")?;
    for (name, _) in LAYERS {
        let short = name.strip_prefix("maskwright-").unwrap_or(name);
        if !architecture.contains(&format!("`{short}`")) {
            findings.push(format!("ARCHITECTURE.md does not name `{short}`"));
        }
    }
    if findings.is_empty() {
        let n_crates = LAYERS.len();
        eprintln!(
            "tidy: {n_crates} crates in their layers, every file with its head, {n_examples} examples on pages of `maskwright`"
        );
        return Ok(());
    }
    bail!("{}", findings.join("\n"))
}

/// Name and version of every crate that is published.
pub(crate) fn published() -> anyhow::Result<Vec<(String, String)>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = packages()?;
    let published = packages.iter().filter(|package| is_published(package));
    Ok(published.map(|package| (text(&package["name"]), text(&package["version"]))).collect())
}

/// The packages of the workspaces, as `cargo metadata` tells them.
fn packages() -> anyhow::Result<Vec<Value>> {
    let mut packages = Vec::new();
    for manifest in WORKSPACES {
        let arguments = ["metadata", "--format-version", "1", "--no-deps", "--manifest-path", manifest];
        let json = capture(cargo().args(arguments))?;
        let mut metadata: Value = serde_json::from_str(&json).context("cargo metadata printed no JSON")?;
        packages.extend(metadata["packages"].as_array_mut().map(std::mem::take).unwrap_or_default());
    }
    Ok(packages)
}

/// `publish = false` is an empty list of registries.
fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

fn check_manifests(packages: &[Value], findings: &mut Vec<String>) {
    for package in packages.iter().filter(|package| is_published(package)) {
        let name = package["name"].as_str().unwrap_or_default();
        for field in FIELDS {
            let is_empty = package[field].as_array().is_some_and(Vec::is_empty);
            if package[field].is_null() || is_empty {
                findings.push(format!("crate `{name}` is published without `{field}`"));
            }
        }
        if package["metadata"]["docs"]["rs"].is_null() {
            findings.push(format!("crate `{name}` is published without `[package.metadata.docs.rs]`"));
        }
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        for file in LICENCES.into_iter().filter(|file| !manifest.with_file_name(file).exists()) {
            findings
                .push(format!("crate `{name}` is published without `{file}`: a link to the one at the root"));
        }
    }
}

/// The library without its default features depends on all crates that masks need.
fn check_dependencies(findings: &mut Vec<String>) -> anyhow::Result<()> {
    let arguments =
        ["tree", "--locked", "--package", "maskwright", "--no-default-features", "--edges", "normal"];
    let tree = capture(cargo().args(arguments).args(["--prefix", "none", "--format", "{p}"]))?;
    let has = |name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    for name in ENCODERS.into_iter().filter(|name| has(name)) {
        findings.push(format!(
            "`maskwright --no-default-features` depends on `{name}`: `cargo tree -p maskwright --no-default-features -i {name}` \
             says by what"
        ));
    }
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).context("Cargo.lock cannot be read")?;
    for name in ONE_VERSION {
        let n_versions = lock.matches(&format!("\nname = \"{name}\"\n")).count();
        if n_versions > 1 {
            findings.push(format!(
                "Cargo.lock has {n_versions} versions of `{name}`: see ONE_VERSION in xtask/src/tidy.rs"
            ));
        }
    }
    Ok(())
}

fn check_layers(packages: &[Value], findings: &mut Vec<String>) {
    let layers: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(allowed) = layers.get(name) else {
            findings.push(format!(
                "crate `{name}` has no layer: add it to xtask/src/tidy.rs and ARCHITECTURE.md"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let dependency_name = dependency["name"].as_str().unwrap_or_default();
            let is_ours = layers.contains_key(dependency_name);
            let is_for_tests = dependency["kind"].as_str() == Some("dev");
            if is_ours && !is_for_tests && !allowed.contains(&dependency_name) {
                findings.push(format!("crate `{name}` may not depend on `{dependency_name}`"));
            }
        }
    }
}

/// All source files: paths in the project, and what is in them.
pub(crate) fn sources() -> anyhow::Result<Vec<(String, String)>> {
    let root = root();
    let mut files = Vec::new();
    for folder in ["crates", "fuzz", "js", "python", "research", "xtask"] {
        collect_sources(&root.join(folder), "rs", &mut files)?;
    }
    let read = |file: PathBuf| {
        let source = std::fs::read_to_string(&file);
        let source = source.with_context(|| format!("{} cannot be read", file.display()))?;
        let path = file.strip_prefix(&root).unwrap_or(&file);
        Ok((path.display().to_string().replace('\\', "/"), source))
    };
    files.into_iter().map(read).collect()
}

fn check_sources(sources: &[(String, String)], findings: &mut Vec<String>) {
    for (path, source) in sources {
        if !source.trim_start_matches("#![cfg(test)]\n").starts_with("//!") {
            findings.push(format!("{path} does not open with `//!`: say what it is for"));
        }
        let n_lines = source.lines().count();
        if n_lines > MAX_LINES {
            findings.push(format!("{path} has {n_lines} lines, more than {MAX_LINES}: split it by idea"));
        }
    }
}
