//! Programs in C and C++ that call the three C interfaces, by themselves and under valgrind, and the
//! examples.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use maskwright::{CompileOptions, Compiler, Error, GrammarSource, Tokenizer, TokenizerOptions};
use maskwright_oracle::has_program;

/// Compiles a program of `tests/c`. `None` without a compiler.
fn compiled(source: &str, folder: &Path) -> Option<Command> {
    let (compiler, standard) = match source.ends_with(".cpp") {
        true => ("c++", "-std=c++11"),
        false => ("cc", "-std=c99"),
    };
    let program = support::program(folder, compiler, standard, &support::source(source));
    if program.is_none() {
        skipped(source, compiler);
    }
    program.map(Command::new)
}

#[allow(clippy::print_stderr, reason = "who runs the tests is told")]
fn skipped(what: &str, lacking: &str) {
    eprintln!("skipped: {what}: there is no {lacking}");
}

/// The argument that a program gets: Ollama's opens the library, others may write to a folder.
fn argument(source: &str, folder: &Path) -> PathBuf {
    if source == "ollama.c" { support::library() } else { folder.to_owned() }
}

/// A program says nothing if all is well.
fn is_silent(command: &mut Command) {
    let output = command.output().unwrap();
    let [said, complained] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(
        output.status.success() && said.is_empty() && complained.is_empty(),
        "{}\n{said}{complained}",
        output.status
    );
}

fn runs(source: &str) {
    let folder = tempfile::tempdir().unwrap();
    if let Some(mut program) = compiled(source, folder.path()) {
        is_silent(program.arg(argument(source, folder.path())));
    }
}

/// Valgrind finds no wrong access and nothing lost.
fn loses_nothing(source: &str) {
    if !has_program("valgrind") {
        return skipped(source, "valgrind");
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(source, folder.path()) else { return };
    let lost = ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible"];
    let known = format!("--suppressions={}", support::source("valgrind.supp").display());
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["-q", "--error-exitcode=9", &known]).args(lost).arg(program.get_program());
    is_silent(valgrind.arg(argument(source, folder.path())).env("MASKWRIGHT_SLOW", "1"));
}

/// Two tests for each program.
macro_rules! programs {
    ($($name:ident: $source:literal,)*) => {
        $(mod $name {
            #[test]
            fn runs() {
                super::runs($source);
            }

            #[test]
            fn loses_nothing() {
                super::loses_nothing($source);
            }
        })*
    };
}

programs! {
    native: "native.c",
    native_sessions: "native_sessions.c",
    native_wrong_use: "native_wrong_use.c",
    threads: "threads.c",
    llguidance: "llguidance.c",
    llguidance_matcher: "llguidance_matcher.c",
    llguidance_constraint: "llguidance_constraint.c",
    llguidance_stop: "llguidance_stop.c",
    ollama: "ollama.c",
    headers: "headers.cpp",
}

/// What a program prints about a tokenizer, by Rust's API.
fn shown(path: &Path, schema: &str, text: &str) -> Result<String, Error> {
    let options = TokenizerOptions::default();
    let tokenizer = match path.extension().is_some_and(|extension| extension == "gguf") {
        true => Tokenizer::from_gguf(path, &options)?,
        false => Tokenizer::from_file(path, &options)?,
    };
    let source = GrammarSource::json_schema(schema, Default::default());
    let mut matcher = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?.matcher();
    let mut line = tokenizer.n_vocab().to_string();
    let mut mask = vec![0_u32; maskwright::mask_words(tokenizer.n_vocab())];
    for token in tokenizer.encode_bytes(text.as_bytes())? {
        matcher.fill_mask(&mut mask)?;
        let n_allowed: u32 = mask.iter().map(|word| word.count_ones()).sum();
        assert!(matcher.accept_token(token)?);
        line += &format!(" {}:{n_allowed}", token.0);
    }
    Ok(line + "\n")
}

#[test]
fn files_of_tokenizers() {
    let schema =
        r#"{"type": "object", "properties": {"naïve": {"type": "array", "items": {"type": "integer"}}}}"#;
    let text = r#"{"naïve": [12, -345], "other": {"é": "a long text"}}"#;
    let names =
        ["gpt2", "qwen2_5", "llama3_1", "llama2"].map(|name| format!("tokenizers/{name}/tokenizer.json"));
    let names = names.into_iter().chain(["models/stories260K/stories260K-f32.gguf".to_owned()]);
    let files: Vec<PathBuf> = names.filter_map(|name| maskwright_oracle::shared(&name)).collect();
    let folder = tempfile::tempdir().unwrap();
    let Some(mut program) = compiled("tokenizer_files.c", folder.path()) else { return };
    let printed = support::output(program.args([schema, text]).args(&files));
    let expected: String = files.iter().map(|file| shown(file, schema, text).unwrap()).collect();
    assert_eq!(printed, expected);
}

/// What both examples print.
const WRITTEN: &str = "{\"name\":\"Ada\",\"age\":100}\n";

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

#[test]
fn the_example_in_c() {
    let folder = tempfile::tempdir().unwrap();
    match support::program(folder.path(), "cc", "-std=c99", &example("c/first.c")) {
        Some(program) => assert_eq!(support::output(&mut Command::new(program)), WRITTEN),
        None => skipped("first.c", "cc"),
    }
}

/// The block of `docs/guides/c.md` in a language, with what it leaves to its reader: `sample` takes the first
/// token allowed, and prints it.
fn the_loop_of_the_guide(language: &str, compiler: &str, standard: &str) {
    const N_SIGNS: usize = 94;
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/c.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, block) = guide.split_once(&format!("\n```{language}\n")).unwrap();
    let (block, _) = block.split_once("\n```\n").unwrap();
    let source = format!(
        "#include <maskwright.h>\n#include <stdbool.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
         static uint32_t sample(const uint32_t *mask) {{\n\
             uint32_t t = 0;\n\
             while (!(mask[t / 32] >> t % 32 & 1)) t++;\n\
             if (t < {N_SIGNS}) putchar('!' + (int)t);\n\
             return t;\n\
         }}\n\
         {block}\n\
         int main(int n, char **arguments) {{\n\
             return n == 2 ? write_text(arguments[1]), 0 : 1;\n\
         }}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guide").with_extension(language);
    std::fs::write(&file, source).unwrap();
    // The signs of ASCII, then the end.
    let signs = (b'!'..=b'~').zip(0..).map(|(sign, id)| (char::from(sign).to_string(), id.into()));
    let end = serde_json::json!({
        "id": N_SIGNS, "content": "</s>", "special": true,
        "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
    });
    let byte_level = serde_json::json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false,
    });
    let vocabulary: serde_json::Map<String, serde_json::Value> = signs.collect();
    let tokenizer = serde_json::json!({
        "version": "1.0", "added_tokens": [end], "pre_tokenizer": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    });
    std::fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let Some(program) = support::program(folder.path(), compiler, standard, &file) else {
        return skipped("the guide's loop", compiler);
    };
    let schema = r#"{"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"],
        "additionalProperties": false}"#;
    let printed = support::output(Command::new(program).arg(schema).current_dir(&folder));
    assert_eq!(printed, r#"{"age":0}"#);
}

#[test]
fn the_guides_loop_in_c() {
    the_loop_of_the_guide("c", "cc", "-std=c99");
}

#[test]
fn the_guides_loop_in_cpp() {
    the_loop_of_the_guide("cpp", "c++", "-std=c++11");
}

#[test]
fn the_example_in_go() {
    for program in ["cc", "pkg-config", "go"] {
        if !has_program(program) {
            return skipped("main.go", program);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (library, headers) = (support::library(), Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    let libraries = library.parent().unwrap();
    // The library of the tests, by the name under which it is installed.
    let package = format!(
        "Name: maskwright\nDescription: of a test\nVersion: 0\nCflags: -I{}\nLibs: -L{} -lmaskwright_capi\n",
        headers.display(),
        libraries.display()
    );
    std::fs::write(folder.path().join("maskwright.pc"), package).unwrap();
    let go = |arguments: &[&str]| {
        let mut go = Command::new("go");
        go.args(arguments).current_dir(example("go")).env("PKG_CONFIG_PATH", folder.path());
        // Nothing is fetched, and what is compiled is kept for the next time.
        go.envs([
            ("GOPROXY", "off"),
            ("GOTOOLCHAIN", "local"),
            ("GOWORK", "off"),
            ("GOFLAGS", "-buildvcs=false"),
        ]);
        go.env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go")).env("CGO_ENABLED", "1");
        support::output(&mut go)
    };
    let program = folder.path().join("first");
    go(&["vet", "."]);
    go(&["build", "-o", program.to_str().unwrap(), "."]);
    let printed = support::output(Command::new(&program).env("LD_LIBRARY_PATH", libraries));
    assert_eq!(printed, WRITTEN);
}

#[test]
fn every_function_is_called() {
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    let sources = std::fs::read_dir(support::source("")).unwrap().map(|entry| entry.unwrap().path());
    let sources: String = sources.map(read).collect();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut n_functions = 0;
    for (header, prefix) in [("maskwright.h", "mw_"), ("llguidance.h", "llg_")] {
        for word in
            read(include.join(header)).split(|sign: char| !sign.is_alphanumeric() && !"_(".contains(sign))
        {
            let Some((name, _)) = word.split_once('(').filter(|(name, _)| name.starts_with(prefix)) else {
                continue;
            };
            assert!(sources.contains(&format!("{name}(")), "no program of tests/c calls {name}");
            n_functions += 1;
        }
    }
    assert!(n_functions > 60, "{n_functions} functions in both headers");
}
