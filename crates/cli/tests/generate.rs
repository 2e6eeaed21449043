//! `maskwright generate` with a small network: what it writes is in the language, and it ends as it says.

mod common;

#[cfg(unix)]
use std::io::Read;
#[cfg(unix)]
use std::process::{Command, Stdio};

use common::{Run, example, maskwright, maskwright_with, stories};
use regex::Regex;

/// The IP address of section 3.1 of "Efficient Guided Generation for Large Language Models".
const IP_ADDRESS: &str = r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)";

/// `generate` with the small network; `None` where it is not there.
fn generate(arguments: &[&str]) -> Option<Run> {
    let model = stories()?;
    Some(maskwright(&[&["generate", "--model", &model], arguments].concat()))
}

#[track_caller]
fn assert_matches(pattern: &str, text: &str) {
    let whole = Regex::new(&format!("^(?:{pattern})$")).expect("the pattern is one of ours");
    assert!(whole.is_match(text), "{text:?} is not in {pattern}");
}

#[test]
fn the_examples_of_the_paper_come_out_in_their_language() {
    for seed in ["0", "1", "2"] {
        for pattern in [r"\s*(yes|no|never|always)", r"\s*19[0-9]{2}", IP_ADDRESS] {
            // White space may go on for as long as the model likes; at this temperature it does not.
            let arguments =
                ["--regex", pattern, "-p", "Once upon a time", "--seed", seed, "--temperature", "0.5"];
            let Some(run) = generate(&arguments) else { return };
            assert_matches(pattern, &run.exits(0).stdout);
        }
        let arguments = ["--seed", seed, "-p", "Is it so?", "--choice", "yes", "no", "never", "always"];
        let Some(run) = generate(&arguments) else { return };
        assert_matches("yes|no|never|always", &run.exits(0).stdout);
    }
}

#[test]
fn schemas_give_json_that_fits() {
    for seed in ["0", "1"] {
        let schema = example("review.schema.json");
        let Some(run) = generate(&["--json-schema", &schema, "-p", "A review:", "--seed", seed]) else {
            return;
        };
        let value: serde_json::Value = serde_json::from_str(&run.exits(0).stdout).unwrap();
        assert!(["positive", "negative", "mixed"].contains(&value["sentiment"].as_str().unwrap()));
        // An integer may be written 3.0.
        assert!((1.0..=5.0).contains(&value["stars"].as_f64().unwrap()));
        assert!((10..=120).contains(&value["summary"].as_str().unwrap().chars().count()));
        assert_eq!(value.as_object().unwrap().len(), 4);

        let schema = example("person.schema.json");
        let Some(run) = generate(&["--json-schema", &schema, "-p", "A girl:", "--seed", seed]) else {
            return;
        };
        let value: serde_json::Value = serde_json::from_str(&run.exits(0).stdout).unwrap();
        assert_matches(r"[a-z0-9.]{1,20}@[a-z0-9]{1,15}\.(com|org|net)", value["email"].as_str().unwrap());
        assert!((0.0..=120.0).contains(&value["age"].as_f64().unwrap()));
    }
}

#[test]
fn gbnf_gives_texts_that_check_accepts() {
    let grammar = example("todo.gbnf");
    let Some(run) = generate(&["--gbnf", &grammar, "-p", "Lily had to do this.", "--seed", "3"]) else {
        return;
    };
    let text = run.exits(0).stdout;
    assert_matches(r"(- \[[ x]\] [A-Z][a-z ,']{3,175}\.\n){2,5}", &text);
    maskwright(&["check", "--gbnf", &grammar, "--text", &text]).exits(0);
}

#[test]
fn a_seed_gives_the_same_text_and_greedy_needs_none() {
    let text = |more: &[&str]| {
        let arguments = [&["--regex", "[a-z ]{20,60}", "-p", "Once"], more].concat();
        generate(&arguments).map(|run| run.exits(0).stdout)
    };
    let Some(first) = text(&["--seed", "5"]) else { return };
    assert_eq!(Some(&first), text(&["--seed", "5"]).as_ref());
    assert_ne!(Some(&first), text(&["--seed", "6"]).as_ref());
    let greedy = text(&["--strategy", "greedy", "--seed", "1"]);
    assert_eq!(greedy, text(&["--strategy", "greedy", "--seed", "2"]));
    assert_eq!(greedy, text(&["--temperature", "0"]));
    assert_eq!(greedy, text(&["--top-k", "1"]));
}

/// At temperature 1 over all tokens, a small model wrote nonsense.
#[test]
fn the_defaults_suit_small_models() {
    let text = |more: &[&str]| {
        let arguments = [&["--regex", "[a-z ]{20,60}", "-p", "Once", "--seed", "5"], more].concat();
        generate(&arguments).map(|run| run.exits(0).stdout)
    };
    let Some(first) = text(&[]) else { return };
    let settings = ["--temperature", "0.8", "--top-k", "40", "--top-p", "0.95"];
    assert_eq!(Some(&first), text(&settings).as_ref());
    assert_ne!(Some(&first), text(&["--temperature", "1", "--top-k", "0", "--top-p", "1"]).as_ref());
}

#[test]
fn a_text_is_complete_within_the_limit() {
    // The shortest person takes 47 tokens of this vocabulary.
    let schema = example("person.schema.json");
    for seed in ["0", "1", "2"] {
        let arguments =
            ["--json-schema", &schema, "-p", "A girl", "--max-tokens", "50", "--seed", seed, "--json"];
        let Some(run) = generate(&arguments) else { return };
        let value = run.exits(0).json();
        assert_eq!((&value["finish_reason"], &value["is_complete"]), (&"eos".into(), &true.into()));
        assert!(value["stats"]["n_tokens"].as_u64().unwrap() <= 50);
        maskwright(&["check", "--json-schema", &schema, "--text", value["text"].as_str().unwrap()]).exits(0);
    }
    // The end of a raw prompt is written again, or read where there is no room for that.
    for (limit, is_healed) in [("10", false), ("13", true), ("15", true)] {
        let arguments = ["--regex", "[a-z ]{50}", "--raw", "-p", "Once upon a ti", "--max-tokens", limit];
        let Some(run) = generate(&[&arguments[..], &["--temperature", "3"]].concat()) else { return };
        let run = run.exits(0);
        assert_matches("[a-z ]{50}", &run.stdout);
        assert_eq!(run.stderr.contains("no room to heal"), !is_healed, "{}", run.stderr);
    }
    let arguments = ["--regex", "[a-z ]{50}", "-p", "Once", "--max-tokens", "4"];
    let Some(run) = generate(&arguments) else { return };
    assert_eq!(run.exits(2).says(&["4 tokens are too few", "10 are enough"]).stdout, "");
}

#[test]
fn built_in_and_lark_grammars_hold_the_model() {
    let tasks = example("tasks.lark");
    for grammar in [&["--grammar", "arithmetic"][..], &["--lark", &tasks, "--lexer", "basic"]] {
        let arguments = [grammar, &["-p", "Lily had to", "--max-tokens", "30", "--json"]].concat();
        let Some(run) = generate(&arguments) else { return };
        let value = run.exits(0).json();
        assert!(value["stats"]["n_tokens"].as_u64().unwrap() <= 30);
        let text = value["text"].as_str().unwrap();
        maskwright(&[&["check", "--text", text], grammar].concat()).exits(0);
    }
}

#[test]
fn an_unfinished_text_is_a_failure_that_says_what_is_missing() {
    let arguments = ["--regex", "[a-z]{50}", "-p", "Once", "--max-tokens", "4", "--no-guarantee"];
    let Some(run) = generate(&arguments) else { return };
    let run = run.exits(1).says(&["--max-tokens 4", "not complete", "expected next"]);
    assert_matches("[a-z]{4,49}", &run.stdout);
    let Some(run) = generate(&[&arguments[..], &["--json"]].concat()) else { return };
    let value = run.exits(1).json();
    assert_eq!((&value["finish_reason"], &value["is_complete"]), (&"max_tokens".into(), &false.into()));
    // A text that may end where it was cut is one of the language.
    let arguments = ["--regex", "[a-z ]+", "-p", "Once", "--max-tokens", "4", "--no-guarantee"];
    let Some(run) = generate(&arguments) else { return };
    let run = run.exits(0).says(&["--max-tokens 4", "in the language"]);
    assert_matches("[a-z ]+", &run.stdout);
}

#[test]
fn without_a_grammar_the_model_writes_on_and_the_prompt_is_not_repeated() {
    let prompt = "Once upon a ti";
    let arguments = ["--raw", "-p", prompt, "--max-tokens", "6", "--strategy", "greedy"];
    let Some(healed) = generate(&arguments) else { return };
    let healed = healed.exits(0);
    assert!(healed.stdout.starts_with("me"), "{:?}", healed.stdout);
    let Some(unhealed) = generate(&[&arguments[..], &["--no-heal"]].concat()) else { return };
    assert!(!unhealed.exits(0).stdout.is_empty());
}

#[test]
fn the_prompt_may_come_from_standard_input() {
    let Some(model) = stories() else { return };
    let arguments = ["generate", "--model", &model, "--choice", "a", "b", "--seed", "1"];
    let piped = maskwright_with(&arguments, b"Once upon a time\n").exits(0);
    let given = maskwright(&[&arguments[..], &["-p", "Once upon a time"]].concat()).exits(0);
    assert_eq!(piped.stdout, given.stdout);
}

#[test]
fn statistics_go_to_standard_error_and_json_has_every_step() {
    let arguments =
        ["--json-schema", &example("tool-call.schema.json"), "-p", "Tea", "--stats", "--seed", "1"];
    let Some(run) = generate(&arguments) else { return };
    let run = run.exits(0).says(&["tokens/s", "masks", "p99", "forced", "probability"]);
    let text = run.stdout;
    serde_json::from_str::<serde_json::Value>(&text).expect("the text alone is on standard output");

    let Some(run) = generate(&[&arguments[..], &["--json"]].concat()) else { return };
    let value = run.exits(0).json();
    assert_eq!(value["text"], text, "measured alike, written alike");
    assert_eq!((&value["finish_reason"], &value["is_complete"]), (&"eos".into(), &true.into()));
    let steps = value["stats"]["steps"].as_array().unwrap();
    let n_forced = steps.iter().filter(|step| step["forced"] == true).count();
    assert_eq!(value["stats"]["n_tokens"], steps.len());
    assert_eq!(value["stats"]["n_forced_tokens"], n_forced);
    assert!(n_forced > 0, "keys and punctuation leave no choice");
    assert!(steps.iter().all(|step| (0.0..=1.0).contains(&step["allowed_mass"].as_f64().unwrap())));

    // Without jump-forward the model is asked every time.
    let Some(run) = generate(&[&arguments[..], &["--json", "--no-jump-forward"]].concat()) else { return };
    let value = run.exits(0).json();
    assert_eq!(value["stats"]["n_forced_tokens"], 0);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_text_where_it_is() {
    let Some(model) = stories() else { return };
    let arguments = ["generate", "--model", &model, "--regex", "[a-z ]{1000}", "-p", "Once", "--seed", "1"];
    let limit = ["--max-tokens", "400", "--no-guarantee"];
    let whole = maskwright(&[&arguments[..], &limit].concat()).exits(1).stdout;
    // The text may be at its end before the signal comes; then it is tried again.
    for _ in 0..20 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_maskwright"))
            .args(arguments)
            .args(limit)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut text = vec![0];
        stdout.read_exact(&mut text).unwrap();
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        stdout.read_to_end(&mut text).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(whole.starts_with(&text), "{text}");
        if output.status.code() == Some(130) {
            assert!(String::from_utf8(output.stderr).unwrap().contains("interrupted; the text has "));
            return;
        }
        assert_eq!(output.status.code(), Some(1));
    }
    panic!("20 generations of 400 tokens ended before a signal came");
}
