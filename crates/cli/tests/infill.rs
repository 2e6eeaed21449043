//! `maskwright infill`: templates filled without a model and by a small network, canvases by the built-in
//! diffusion model.

mod common;

use common::{Run, example, maskwright, maskwright_with, stories};

#[test]
fn holes_are_filled_so_that_the_whole_is_in_the_language() {
    let schema = example("person.schema.json");
    for template in
        [r#"{"name": "{{hole}}", "age": 3{{hole}}"#, "{{hole}}", r#"{{hole}}ada@math.org{{hole}}"#]
    {
        let text = maskwright(&["infill", "--json-schema", &schema, "-t", template]).exits(0).stdout;
        maskwright(&["check", "--json-schema", &schema, "--text", &text]).exits(0);
        let mut rest = text.as_str();
        for piece in template.split("{{hole}}") {
            rest = &rest[rest.find(piece).unwrap() + piece.len()..];
        }
    }
}

#[test]
fn holes_are_counted_in_tokens() {
    let infill = |template: &str| {
        maskwright(&["infill", "--regex", "[a-z]{1,20}", "--tokenizer", "gpt2", "--json", "-t", template])
    };
    let value = infill("{{hole=2}}{{hole:1}}q").exits(0).json();
    assert_eq!((&value["is_possible"], &value["n_holes"]), (&true.into(), &2.into()));
    assert!(value["text"].as_str().unwrap().ends_with('q'), "{value}");
    let value = infill("aaaaaaaaaaaaaaaaaaa{{hole=2}}").exits(1).json();
    assert_eq!((&value["is_possible"], value["why"].is_string()), (&false.into(), true), "{value}");
    let run = maskwright(&["infill", "--regex", "a+", "-t", "{{hole=2}}"]).exits(2).says(&["--tokenizer"]);
    assert_eq!(run.stdout, "");
}

#[test]
fn an_impossible_template_says_where() {
    let schema = example("person.schema.json");
    let run =
        maskwright(&["infill", "--json-schema", &schema, "-t", r#"{"name": "{{hole}}", "age": x"#]).exits(1);
    assert_eq!(run.stdout, "");
    run.says(&["cannot be completed", "⟂x"]);
}

#[test]
fn templates_come_from_files_and_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("template.txt");
    std::fs::write(&path, "a{{hole}}c\n").unwrap();
    let path = path.display().to_string();
    // The line end of the file is left out where the grammar has no place for it, and kept where it has.
    assert_eq!(maskwright(&["infill", "--regex", "ab{2}c", &path]).exits(0).stdout, "abbc");
    assert_eq!(maskwright(&["infill", "--regex", "ab{2}c\n", &path]).exits(0).stdout, "abbc\n");
    assert_eq!(maskwright_with(&["infill", "--regex", "ab{2}c"], b"a{{hole}}").exits(0).stdout, "abbc");
    maskwright(&["infill", "--regex", "ab{2}c", "-t", "a{{hole}}c\n"]).exits(1);
    maskwright(&["infill", "--regex", "a", "no-such.txt"]).exits(2).says(&["no-such.txt"]);
}

#[test]
fn lexed_grammars_are_filled_too() {
    let python = ("python", "def {{hole}}:\n    x\n{{hole}}  y\n");
    for (grammar, template) in
        [("json", "[{{hole}}]"), ("arithmetic", "(1{{hole}}*"), ("sql", "SELECT {{hole}} x"), python]
    {
        let run =
            maskwright(&["infill", "--grammar", grammar, "-t", &[template, "{{hole}}"].concat()]).exits(0);
        maskwright(&["check", "--grammar", grammar, "--text", &run.stdout]).exits(0);
    }
}

#[test]
fn bad_usage() {
    maskwright(&["infill", "-t", "{{hole}}"]).exits(2).says(&["no grammar is given"]);
    maskwright(&["infill", "--regex", "a", "-t", "b\n {{hole:x}}"])
        .exits(2)
        .says(&["the template:2:2", "{{hole:8}}"]);
    // Before anything is loaded.
    for names in [["--model", "no-such-model"], ["--tokenizer", "no-such-tokenizer"]] {
        let always = ["infill", "--regex", "a", "-t", "b\n {{hole:x}}"];
        maskwright(&[&always[..], &names].concat()).exits(2).says(&["the template:2:2", "{{hole:8}}"]);
    }
    let limit = ["infill", "--regex", "a+", "--tokenizer", "gpt2", "-t", "{{hole=99999999}}"];
    maskwright(&limit).exits(2).says(&["positions"]);
}

/// `infill` with the small network; `None` where it is not there.
fn model(arguments: &[&str]) -> Option<Run> {
    let model = stories()?;
    Some(maskwright(&[&["infill", "--model", &model], arguments].concat()))
}

#[test]
fn a_model_fills_the_holes() {
    let schema = example("person.schema.json");
    let template = r#"{"name": "Lily{{hole:4}}", "age": {{hole}}, "email": "{{hole}}@math{{hole}}"#;
    let mut texts = std::collections::BTreeSet::new();
    for seed in ["0", "1", "2"] {
        let arguments = ["--json-schema", &schema, "-t", template, "--seed", seed];
        let Some(run) = model(&arguments) else { return };
        let text = run.exits(0).stdout;
        maskwright(&["check", "--json-schema", &schema, "--text", &text]).exits(0);
        let Some(run) = model(&[&arguments[..], &["--json"]].concat()) else { return };
        let value = run.exits(0).json();
        let n_tokens: Vec<u64> = serde_json::from_value(value["n_tokens"].clone()).unwrap();
        assert!(n_tokens.len() == 4 && n_tokens[0] <= 4, "{value}");
        assert_eq!((&value["text"], &value["is_complete"]), (&text.as_str().into(), &true.into()));
        texts.insert(text);
    }
    assert!(texts.len() > 1, "the seed decides: {texts:?}");
}

#[test]
fn a_model_is_held_to_the_template() {
    let arguments = ["--regex", "(la )*end", "--max-tokens", "5", "-t", "{{hole}}end", "-p", "Sing"];
    let Some(run) = model(&arguments) else { return };
    let text = run.exits(0).stdout;
    assert!(text.ends_with("end") && text.len() < 60, "{text:?}");
    let Some(run) = model(&["--regex", "a+", "-t", "b{{hole}}"]) else { return };
    assert_eq!(run.exits(1).says(&["cannot be completed"]).stdout, "");
    // The line end of a file that the grammar has no place for.
    let stories = stories().unwrap_or_default();
    let run = maskwright_with(&["infill", "--regex", "ab{2}c", "--model", &stories], b"a{{hole}}c\n");
    assert_eq!(run.exits(0).stdout, "abbc");
    let Some(run) = model(&["--regex", "a+", "-t", "{{hole:100000}}"]) else { return };
    run.exits(2).says(&["positions are more than the limit"]);
}

#[test]
fn options_of_models_go_with_models() {
    maskwright(&["infill", "--regex", "a", "-t", "{{hole}}", "--prompt", "x"]).exits(2).says(&["--model"]);
    maskwright(&["infill", "--regex", "a", "-t", "{{hole}}", "--fim"]).exits(2).says(&["--model"]);
    for option in ["--temperature", "--top-k", "--top-p", "--min-p", "--seed", "--max-tokens"] {
        let run = maskwright(&["infill", "--regex", "a", "-t", "{{hole}}", option, "1"]);
        assert_eq!(run.exits(2).says(&["--model"]).stdout, "", "{option}");
    }
    let limit = ["--model", "builtin-diffusion", "--max-tokens", "3"];
    maskwright(&[&["infill", "--regex", "a", "-t", "{{hole=1}}"], &limit[..]].concat())
        .exits(2)
        .says(&["--max-tokens goes with a language model"]);
    let both = ["--model", "builtin-diffusion", "--fim"];
    maskwright(&[&["infill", "--regex", "a", "-t", "{{hole=1}}"], &both[..]].concat())
        .exits(2)
        .says(&["--fim", "language model"]);
    let Some(run) = model(&["--regex", "a", "-t", "{{hole}}", "--fim"]) else { return };
    run.exits(2).says(&["--fim", "no tokens for filling in the middle"]);
    let Some(run) = model(&["--regex", "a", "-t", "{{hole}}", "--temperature", "-1"]) else { return };
    run.exits(2).says(&["temperature"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_text_where_it_is() {
    use std::io::Read;
    use std::process::{Command, Stdio};
    let Some(model) = stories() else { return };
    let arguments =
        ["infill", "--model", &model, "--regex", "x[a-z ]{700}", "-t", "x{{hole}}", "--max-tokens", "500"];
    let whole = maskwright(&arguments).exits(0).stdout;
    // The text may be at its end before the signal comes; then it is tried again.
    for _ in 0..20 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_maskwright"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut bytes = vec![0; 2];
        stdout.read_exact(&mut bytes).unwrap();
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        stdout.read_to_end(&mut bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(whole.starts_with(&text), "{text}");
        if output.status.code() == Some(130) {
            assert!(String::from_utf8(output.stderr).unwrap().contains("interrupted after 0 of 1 holes"));
            return;
        }
        assert_eq!(output.status.code(), Some(0));
    }
    panic!("20 texts ended before a signal came");
}

#[test]
fn the_built_in_diffusion_model_fills_canvases() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = folder.join("../models/assets/diffusion/schemas/person.json").display().to_string();
    let run = |more: &[&str]| {
        let always = ["infill", "--model", "builtin-diffusion", "--json-schema", &schema];
        maskwright(&[&always, more].concat())
    };
    let value = run(&["--tokens", "32", "--seed", "3", "--tokens-per-step", "4", "--json"]).exits(0).json();
    assert_eq!(
        (&value["is_word"], &value["prompt"], &value["n_positions"]),
        (&true.into(), &"person".into(), &32.into())
    );
    let template = r#"{"name":"{{hole=6}}","age":4{{hole=1}},"city":"Rome"}"#;
    let text = run(&["-t", template, "--trace"]).exits(0).says(&["Rome"]).stdout;
    assert!(text.starts_with("{\"name\":\"") && text.ends_with("\"city\":\"Rome\"}\n"), "{text}");
    maskwright(&["check", "--json-schema", &schema, "--text", text.trim_end()]).exits(0);
    run(&["-t", "{{hole}}"]).exits(2).says(&["{{hole=8}}"]);
    run(&["--tokens", "3"]).exits(1).says(&["3 positions"]);
    maskwright(&["infill", "--regex", "a", "--tokens", "3"]).exits(2).says(&["--model builtin-diffusion"]);
}

/// A template whose question is not decided is no bad input, and the error says what to do.
#[test]
fn the_limit_on_work_is_an_option() {
    let template =
        "def f(x):\n    y = {{hole:5}}\n    for i in {{hole:4}}:\n        y += {{hole:6}}\n    return y\n";
    let infill = ["infill", "--grammar", "python", "--tokenizer", "gpt2", "-t", template];
    let text = maskwright(&infill).exits(0).stdout;
    maskwright(&["check", "--grammar", "python", "--text", &text]).exits(0);
    let little = [&infill[..], &["--infill-work", "1000"]].concat();
    maskwright(&little)
        .exits(1)
        .says(&["1000 units of work of the limit infill_work", "--infill-work 10000"]);
    let value = maskwright(&[&little[..], &["--json"]].concat()).exits(1).json();
    assert!(value["is_possible"].is_null() && value["why"].as_str().unwrap().contains("--infill-work 10000"));
}

/// It was taken as text, and nothing said so.
#[test]
fn what_resembles_a_hole_is_said_to_be_text() {
    let infill = ["infill", "--regex", "[a-z]+", "-t", "ab{{hol}}"];
    maskwright(&infill).exits(1).says(&["{{hol}} is taken as text: a hole is written {{hole}}"]);
    let value = maskwright(&[&infill[..], &["--json"]].concat()).exits(1).json();
    assert!(value["why"].as_str().unwrap().contains("{{hol}} is taken as text"), "{value}");
    let text = maskwright(&["infill", "--regex", "[a-z{}]+", "-t", "ab{{hol}}{{hole}}"]).exits(0).stdout;
    assert!(text.starts_with("ab{{hol}}"), "{text}");
}
