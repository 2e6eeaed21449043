//! `cargo xtask c-library`: builds the C libraries of `crates/capi` and installs them with their headers, for
//! pkg-config and CMake.
//!
//! Three libraries come from one crate, each with a feature of its own, so that a program which also links
//! llguidance does not find its symbols twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::commands::{capture, cargo, root, run, target};

/// The version of the interface: `MW_ABI_VERSION` of `maskwright.h`.
const ABI: u32 = 1;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder to install to, in its `lib` and `include`.
    #[arg(long)]
    prefix: PathBuf,
    /// Without the encoders of tokenizer files: a third smaller, and text is cut greedily.
    #[arg(long)]
    without_encoders: bool,
    /// The profile of cargo.
    #[arg(long, default_value = "release")]
    profile: String,
}

struct Library {
    name: &'static str,
    feature: &'static str,
    has_encoders: bool,
    /// What its symbols begin with.
    symbols: &'static str,
    /// Its header and what pkg-config calls it, if programs are written for it.
    header: Option<(&'static str, &'static str)>,
    description: &'static str,
}

const LIBRARIES: [Library; 3] = [
    Library {
        name: "maskwright",
        feature: "native",
        has_encoders: true,
        symbols: "mw_",
        header: Some(("maskwright.h", "maskwright")),
        description: "Which tokens may come next, given a grammar",
    },
    Library {
        name: "maskwright_llguidance",
        feature: "llguidance",
        has_encoders: true,
        symbols: "llg_",
        header: Some(("llguidance.h", "maskwright-llguidance")),
        description: "The functions of llguidance.h, by Maskwright",
    },
    Library {
        name: "ollama_constraints",
        feature: "ollama",
        has_encoders: false,
        symbols: "ollama_constraint_",
        header: None,
        description: "",
    },
];

/// Installs to a folder: a release with encoders.
pub(crate) fn install(prefix: &Path) -> anyhow::Result<()> {
    let profile = "release".to_owned();
    install_as(&Arguments { prefix: prefix.to_owned(), without_encoders: false, profile })
}

#[allow(clippy::print_stderr, reason = "what was installed")]
pub(crate) fn install_as(arguments: &Arguments) -> anyhow::Result<()> {
    let prefix = std::path::absolute(&arguments.prefix)?;
    let (lib, include) = (prefix.join("lib"), prefix.join("include"));
    let (pkg_config, cmake) = (lib.join("pkgconfig"), lib.join("cmake/Maskwright"));
    for folder in [&lib, &include, &pkg_config, &cmake] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    for library in &LIBRARIES {
        let made = build(library, arguments)?;
        let shared = lib.join(format!("lib{}{}", library.name, std::env::consts::DLL_SUFFIX));
        install_shared(&made.with_extension(std::env::consts::DLL_EXTENSION), &shared)?;
        check_symbols(library, &shared)?;
        eprintln!("c-library: {} of {} KiB", shared.display(), fs::metadata(&shared)?.len() / 1024);
        let Some((header, package)) = library.header else { continue };
        fs::copy(made.with_extension("a"), lib.join(format!("lib{}.a", library.name)))?;
        fs::copy(root().join("crates/capi/include").join(header), include.join(header))?;
        let text = include_str!("../../crates/capi/install/package.pc.in");
        let text = filled(text).replace("@PACKAGE@", package).replace("@LIBRARY@", library.name);
        let text = text.replace("@DESCRIPTION@", library.description);
        fs::write(pkg_config.join(format!("{package}.pc")), text)?;
    }
    let config = include_str!("../../crates/capi/install/MaskwrightConfig.cmake.in");
    fs::write(cmake.join("MaskwrightConfig.cmake"), filled(config))?;
    let version = include_str!("../../crates/capi/install/MaskwrightConfigVersion.cmake.in");
    fs::write(cmake.join("MaskwrightConfigVersion.cmake"), filled(version))?;
    Ok(())
}

fn filled(text: &str) -> String {
    text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
}

/// Builds a library; returns its path without an extension.
fn build(library: &Library, arguments: &Arguments) -> anyhow::Result<PathBuf> {
    let encoders = library.has_encoders && !arguments.without_encoders;
    let features = if encoders { format!("{},tokenizers", library.feature) } else { library.feature.into() };
    let mut command = cargo();
    command.args(["rustc", "--locked", "--package", "maskwright-capi", "--lib", "--no-default-features"]);
    command.args(["--features", &features, "--profile", &arguments.profile]);
    command.args(["--crate-type", "cdylib,staticlib", "--"]);
    if cfg!(target_os = "linux") {
        command.arg(format!("-Clink-arg=-Wl,-soname,{}", with_abi(library.name)));
    }
    if cfg!(target_os = "macos") {
        command.arg(format!("-Clink-arg=-Wl,-install_name,@rpath/lib{}.dylib", library.name));
    }
    run(&mut command)?;
    let folder = if arguments.profile == "dev" { "debug" } else { &arguments.profile };
    Ok(target().join(folder).join("libmaskwright_capi.so"))
}

fn with_abi(name: &str) -> String {
    match name {
        // Ollama opens it by this name.
        "ollama_constraints" => format!("lib{name}.so"),
        _ => format!("lib{name}.so.{ABI}"),
    }
}

/// Copies a shared library; on Linux under the name that programs look for, with a link for the linker.
fn install_shared(made: &Path, shared: &Path) -> anyhow::Result<()> {
    let name = shared.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let with_abi = with_abi(name.trim_start_matches("lib"));
    let file = if cfg!(target_os = "linux") { shared.with_file_name(with_abi) } else { shared.to_owned() };
    for old in [shared, &file] {
        if old.symlink_metadata().is_ok() {
            fs::remove_file(old)?;
        }
    }
    fs::copy(made, &file).with_context(|| format!("{} was not built", made.display()))?;
    #[cfg(unix)]
    if file != shared {
        std::os::unix::fs::symlink(file.file_name().unwrap_or_default(), shared)?;
    }
    Ok(())
}

/// A library has its own functions, and no others.
fn check_symbols(library: &Library, shared: &Path) -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let symbols = capture(Command::new("nm").args(["-D", "--defined-only"]).arg(shared))?;
    let names: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    ensure!(!names.is_empty(), "{} has no functions", shared.display());
    let other = names.iter().find(|name| !name.starts_with(library.symbols));
    ensure!(other.is_none(), "{} has the symbol {}", shared.display(), other.unwrap_or(&""));
    Ok(())
}
