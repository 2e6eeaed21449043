//! The headers are what cbindgen makes of the sources. `MASKWRIGHT_WRITE_HEADERS=1` writes them.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, Language, RenameRule, Style};

fn config(guard: &str) -> Config {
    Config {
        language: Language::C,
        cpp_compat: true,
        usize_is_size_t: true,
        include_guard: Some(guard.to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        documentation_style: DocumentationStyle::Doxy,
        style: Style::Both,
        line_length: 100,
        ..Config::default()
    }
}

fn header(module: &str, mut config: Config, head: &str) -> String {
    config.header = Some(head.to_owned());
    // It reads the module's other files by itself.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module).join("mod.rs");
    let bindings = Builder::new().with_src(source).with_config(config).generate().unwrap();
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).unwrap()
}

#[track_caller]
fn is_current(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include").join(name);
    if std::env::var_os("MASKWRIGHT_WRITE_HEADERS").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "include/{name} is not what the sources say: run this test with MASKWRIGHT_WRITE_HEADERS=1"
    );
}

#[test]
fn maskwright_h() {
    let mut config = config("MASKWRIGHT_H");
    let renamed = [
        ("MwTokenizer", "mw_tokenizer"),
        ("MwCompiler", "mw_compiler"),
        ("MwGrammar", "mw_grammar"),
        ("MwCancel", "mw_cancel_token"),
        ("MwSession", "mw_session"),
        ("ErrorInfo", "mw_error"),
        ("Status", "mw_status"),
    ];
    config.export.rename = renamed.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    config.enumeration =
        EnumConfig { rename_variants: RenameRule::QualifiedScreamingSnakeCase, ..EnumConfig::default() };
    let head = "/* Maskwright: which tokens may come next, given a grammar. Link with -lmaskwright.

   A function that can fail returns a status, writes its result through a pointer, and takes as its last argument
   where to put an error (NULL if it is not wanted), which mw_error_free frees. Pointers are NULL or lead to what
   their type says; texts are UTF-8 and end with a NUL byte, or have a length. NULL, and an object of another type,
   are refused with MW_STATUS_ARGUMENT.

   Threads: a function that takes its objects as const may run on several threads at once. All others need an
   object for themselves while they run. */";
    is_current("maskwright.h", &header("native", config, head));
}

#[test]
fn llguidance_h() {
    let head = "/* For programs that are written for llguidance's C interface: the same functions, by Maskwright. Link with
   -lmaskwright_llguidance.

   Functions that take const pointers may run on several threads at once, all others need their objects for
   themselves while they run. */";
    is_current("llguidance.h", &header("llguidance", config("LLGUIDANCE_H"), head));
}
