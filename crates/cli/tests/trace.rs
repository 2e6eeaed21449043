//! `--trace` and `--color`: what they write, and with what they do not go.

mod common;

use common::{example, maskwright, shared};

#[test]
fn a_canvas_is_shown_step_by_step() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("canvas.html");
    let trace = format!("--trace={}", page.display());
    let schema = example("../crates/models/assets/diffusion/schemas/person.json");
    let template = r#"{"name":"{{hole=4}}5{{hole=4}}"}"#;
    let run = [
        "infill",
        "--model",
        "builtin-diffusion",
        "--seed",
        "1",
        &trace,
        "--json-schema",
        &schema,
        "-t",
        template,
    ];
    let run = maskwright(&run).exits(0);
    assert_eq!(run.stderr, "", "the canvas is on the page alone");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("\"frames\""));
    maskwright(&["infill", "--regex", "a", "-t", "a", &trace]).exits(2).says(&["--trace goes with --model"]);
}

#[test]
fn a_text_is_shown_token_by_token() {
    let Some(model) = shared("models/stories260K/stories260K-f32.gguf") else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("text.html").display().to_string();
    let generate =
        ["generate", "--model", &model, "--regex", "Once [a-z ]{3,9}\\.", "-p", "A story.", "--seed", "1"];
    let run = maskwright(&[&generate[..], &["--trace", &page, "--color", "--stats"]].concat()).exits(0);
    let run = run.says(&["probability cut off:", "nats: what the grammar cut off", "forced"]);
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.contains("cannot come here") && written.contains("A story."));
    // A trace changes nothing of the text.
    assert_eq!(run.stdout, maskwright(&generate).exits(0).stdout);
    let search = [&generate[..], &["--trace", &page, "--strategy", "beam"]].concat();
    let search: Vec<&str> =
        search.into_iter().filter(|argument| !["--seed", "1"].contains(argument)).collect();
    maskwright(&search).exits(2).says(&["--strategy greedy or sample"]);
    let nowhere = [&generate[..], &["--trace", "/nowhere/text.html"]].concat();
    assert_ne!(maskwright(&nowhere).code, Some(0), "what cannot be written is an error");
}
