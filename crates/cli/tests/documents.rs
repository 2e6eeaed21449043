//! The commands of README.md and examples/README.md do what these pages say.

#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("the page is in the repository")
}

/// The commands of a page that call the program, each with its continuation lines.
fn commands(page: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for block in page.split("```sh\n").skip(1) {
        let (block, _) = block.split_once("\n```").expect("a block ends");
        let mut is_ours = false;
        for line in block.lines() {
            if !line.starts_with(' ') {
                is_ours = line.contains("maskwright") && !line.contains(" install ");
                if is_ours {
                    commands.push(String::new());
                }
            }
            if let Some(command) = commands.last_mut().filter(|_| is_ours) {
                command.push_str(line);
                command.push('\n');
            }
        }
    }
    commands
}

/// Whether a command needs a model that has to be fetched.
fn needs_download(command: &str) -> bool {
    command.contains(" generate ") || command.contains("smollm2")
}

/// Runs a command in the repository's folder; returns its exit code, standard output and standard error.
fn run(command: &str, more: &str) -> (Option<i32>, String, String) {
    let command = command.replace("cargo run --release --bin maskwright --", "maskwright");
    let script = format!("maskwright() {{ \"$PROGRAM\" \"$@\"; }}\n{} {more}", command.trim_end());
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("PROGRAM", env!("CARGO_BIN_EXE_maskwright"))
        .current_dir(root())
        .output()
        .expect("there is a shell");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn commands_that_need_no_download_run() {
    let pages = [page("README.md"), page("examples/README.md")];
    let commands: Vec<String> = pages.iter().flat_map(|page| commands(page)).collect();
    let runnable: Vec<&String> = commands.iter().filter(|command| !needs_download(command)).collect();
    assert!(runnable.len() >= 9 && commands.len() >= 25, "{} of {}", runnable.len(), commands.len());
    for command in runnable {
        let (code, stdout, stderr) = run(command, "");
        // `check` exits with 1 if a text is not in the language.
        let may_refuse = command.contains("maskwright check");
        assert!(
            code == Some(0) || (may_refuse && code == Some(1)),
            "{command}gives {code:?}\n{stdout}\n{stderr}"
        );
        assert!(!stdout.is_empty() || may_refuse, "{command}writes nothing\n{stderr}");
    }
}

/// The text that README shows is the text that its command writes.
#[test]
fn readme_shows_what_the_diffusion_model_writes() {
    let page = page("README.md");
    let command = commands(&page).into_iter().find(|command| command.contains("builtin-diffusion"));
    let command = command.expect("README shows the diffusion model");
    for (more, code) in [("", 0), ("--unconstrained", 1)] {
        let (ended, stdout, stderr) = run(&command, more);
        assert_eq!(ended, Some(code), "{stderr}");
        assert!(page.contains(&format!("`{}`", stdout.trim_end())), "README lacks {stdout} of {more:?}");
    }
}
