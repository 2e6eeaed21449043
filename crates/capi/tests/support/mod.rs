//! Compiles programs in C against the library that was built with this test.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library, which has the functions of all three headers in a build for tests.
pub(crate) fn library() -> PathBuf {
    let name = format!("{}maskwright_capi{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    std::env::current_exe().unwrap().with_file_name(name)
}

/// A program of `tests/c`, compiled into `folder` by `compiler` (`cc` or `c++`) with its `standard`, warnings
/// as errors. `None`, and said, if there is no compiler.
pub(crate) fn program(folder: &Path, compiler: &str, standard: &str, source: &Path) -> Option<PathBuf> {
    if !maskwright_oracle::has_program(compiler) {
        return None;
    }
    let program = folder.join(source.file_stem().unwrap());
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let library = library();
    let compiled = Command::new(compiler)
        .args([
            standard,
            "-O1",
            "-g",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wredundant-decls",
            "-pthread",
            "-I",
        ])
        .args([include.as_os_str(), source.as_os_str(), OsStr::new("-o"), program.as_os_str()])
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", library.parent().unwrap().display()))
        .arg("-ldl")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{}: {errors}", source.display());
    Some(program)
}

/// What a program prints; it must end well.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The source of a program of `tests/c`.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}
