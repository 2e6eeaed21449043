//! `maskwright generate --strategy`: searches with a small network.

mod common;

#[cfg(unix)]
use std::io::{BufRead, BufReader, Read};
#[cfg(unix)]
use std::process::{Child, Command, Stdio};

use common::{Run, maskwright, stories};
use regex::Regex;

const SEARCHES: [&str; 5] = ["best-of", "beam", "mcts", "likeliest", "smc"];

/// Those that draw at random.
const DRAWN: [&str; 2] = ["best-of", "smc"];

const PATTERN: &str = "(he|she|it) (ran|sat)[.!]";

/// A search for a text of [`PATTERN`] by the small network; `None` where it is not there.
fn search(strategy: &str, more: &[&str]) -> Option<Run> {
    let model = stories()?;
    let arguments =
        ["generate", "--model", &model, "--regex", PATTERN, "--raw", "-p", "Once", "--max-tokens", "12"];
    Some(maskwright(&[&arguments[..], &["--strategy", strategy], more].concat()))
}

/// A member of a JSON object, by its path.
#[track_caller]
fn figure(run: &Run, name: &str) -> f64 {
    let value = run.json();
    value["stats"]["search"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {value}"))
}

#[test]
fn every_search_writes_a_text_of_the_grammar_and_the_same_again() {
    let pattern = Regex::new(&format!("^(?:{PATTERN})$")).expect("the pattern is one of ours");
    for strategy in SEARCHES {
        let seed: &[&str] = if DRAWN.contains(&strategy) { &["--seed", "4"] } else { &[] };
        let Some(run) = search(strategy, seed) else { return };
        let text = run.exits(0).stdout;
        assert!(pattern.is_match(&text), "{strategy}: {text:?}");
        assert_eq!(search(strategy, seed).map(|run| run.stdout), Some(text));
    }
}

#[test]
fn samples_differ_by_seed() {
    for strategy in DRAWN {
        let mut texts = std::collections::BTreeSet::new();
        for seed in ["0", "1", "2", "3", "4", "5"] {
            let Some(run) = search(strategy, &["--seed", seed, "--temperature", "3", "--tries", "2"]) else {
                return;
            };
            texts.insert(run.exits(0).stdout);
        }
        assert!(texts.len() > 1, "{strategy}: {texts:?}");
    }
}

/// With the temperature of `sample`, 0.8, `smc` was not true to the model.
#[test]
fn what_is_true_to_the_model_is_drawn_at_temperature_1() {
    for (strategy, default, other) in [("smc", "1", "0.8"), ("best-of", "0.8", "1")] {
        let (mut n_equal, mut n_different) = (0, 0);
        for seed in ["0", "1", "2", "3", "4", "5", "6", "7"] {
            // One text, which is what was drawn.
            let text = |more: &[&str]| {
                let arguments = [&["--seed", seed, "--tries", "1", "--json"], more].concat();
                Some(figure(&search(strategy, &arguments)?.exits(0), "perplexity"))
            };
            let Some(first) = text(&[]) else { return };
            n_equal += usize::from(Some(first) == text(&["--temperature", default]));
            n_different += usize::from(Some(first) != text(&["--temperature", other]));
        }
        assert!(n_equal == 8 && n_different > 0, "{strategy}: {n_equal} {n_different}");
    }
}

#[test]
fn more_tries_read_more_and_the_likeliest_text_is_proven() {
    for strategy in SEARCHES {
        let n_read = |tries| {
            let run = search(strategy, &["--tries", tries, "--json"])?.exits(0);
            Some(figure(&run, "n_model_tokens"))
        };
        let (Some(few), Some(many)) = (n_read("2"), n_read("12")) else { return };
        assert!(few < many, "{strategy}: {few} {many}");
    }
    let Some(hurried) = search("likeliest", &["--tries", "1", "--json"]) else { return };
    let hurried = hurried.exits(0).says(&["another text may be likelier", "--tries"]);
    assert_eq!(hurried.json()["stats"]["search"]["is_proven"], false);
    let Some(proven) = search("likeliest", &["--json"]) else { return };
    let proven = proven.exits(0);
    // On a busy machine it says how far it is.
    assert!(!proven.stderr.contains("likelier"), "{}", proven.stderr);
    assert_eq!(proven.json()["stats"]["search"]["is_proven"], true);
    assert!(figure(&proven, "perplexity") >= 1.0);
}

/// A search told of masks of 0.0 us and of NaN% of the time.
#[test]
fn statistics_of_a_search_are_those_that_it_has() {
    for strategy in SEARCHES {
        let Some(run) = search(strategy, &["--stats"]) else { return };
        let run = run.exits(0).says(&["search   ", "model tokens", "perplexity", "tokens   ", "; prompt "]);
        for absent in ["NaN", "masks", "grammar ", "0 ms", "forced"] {
            assert!(!run.stderr.contains(absent), "{absent}: {}", run.stderr);
        }
        let Some(run) = search(strategy, &["--stats", "--json"]) else { return };
        let stats = &run.exits(0).json()["stats"];
        assert!(stats["prompt_us"].is_null() && stats["mask_us"]["n"].is_null(), "{stats}");
        assert!(stats["n_tokens"].as_u64() > Some(0) && stats["steps"][0]["token"].is_u64(), "{stats}");
        assert_eq!(stats["search"]["is_proven"].is_null(), strategy != "likeliest", "{stats}");
    }
    let Some(run) = search("sample", &["--json"]) else { return };
    assert!(run.exits(0).json()["stats"]["search"].is_null());
}

#[test]
fn what_a_strategy_has_no_use_for_is_refused() {
    for (strategy, more, parts) in [
        ("beam", ["--top-k", "3"], ["--top-k goes with --strategy", " sample or best-of\n"]),
        ("smc", ["--top-p", "0.5"], ["--top-p goes with --strategy", " sample or best-of\n"]),
        ("smc", ["--min-p", "0.5"], ["--min-p goes with --strategy", " sample or best-of\n"]),
        ("mcts", ["--seed", "1"], ["--seed goes with --strategy", " sample, best-of or smc\n"]),
        (
            "likeliest",
            ["--temperature", "1"],
            ["--temperature goes with --strategy", " sample, best-of or smc\n"],
        ),
        ("greedy", ["--tries", "3"], ["--tries goes with", "best-of"]),
        ("sample", ["--tries", "3"], ["--tries goes with", "best-of"]),
        ("beam", ["--tries", "0"], ["--tries", "zero"]),
        ("smc", ["--temperature", "0"], ["--temperature is 0", "above 0"]),
        ("best-of", ["--temperature", "0"], ["--temperature is 0", "above 0"]),
    ] {
        let arguments = ["generate", "--model", "no-such-model", "-p", "x", "--strategy", strategy];
        maskwright(&[&arguments[..], &more].concat()).exits(2).says(&parts);
    }
}

/// A running program, which ends with the test.
#[cfg(unix)]
struct Running(Child);

#[cfg(unix)]
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Searches that would take minutes, which have told how far they are before Ctrl-C is pressed.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_search_with_the_best_text() {
    let Some(model) = stories() else { return };
    let run = |strategy: &str| {
        // Of these a machine does many in the time to the first line.
        let tries = if strategy == "likeliest" { "1000000" } else { "300" };
        let arguments = ["generate", "--model", &model, "--regex", "[a-z ]{900}[.]?", "--raw", "-p", "Once"];
        let child = Command::new(env!("CARGO_BIN_EXE_maskwright"))
            .args(arguments)
            .args(["--max-tokens", "400", "--strategy", strategy, "--tries", tries])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Running(child.expect("the program starts"))
    };
    for (strategy, mut running) in SEARCHES.map(|strategy| (strategy, run(strategy))) {
        let child = &mut running.0;
        let mut lines = BufReader::new(child.stderr.take().expect("it was piped")).lines();
        let line = lines.next().expect("a line of progress").unwrap();
        assert!(line.starts_with("searching: ") && line.contains(" model tokens, "), "{strategy}: {line}");
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let mut text = String::new();
        child.stdout.take().expect("it was piped").read_to_string(&mut text).unwrap();
        let rest: Vec<String> = lines.map(|line| line.unwrap()).collect();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{strategy}: {rest:?}");
        assert!(rest.iter().any(|line| line.contains("interrupted; the text has ")), "{strategy}: {rest:?}");
        assert!(!text.is_empty() || rest.iter().any(|line| line.contains("has 0 tokens")), "{strategy}");
    }
}
