//! `maskwright infill`: templates filled without a model, canvases by the built-in diffusion model.

mod common;

use common::{example, maskwright, maskwright_with};

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
    let limit = ["infill", "--regex", "a+", "--tokenizer", "gpt2", "-t", "{{hole=99999999}}"];
    maskwright(&limit).exits(2).says(&["positions"]);
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
