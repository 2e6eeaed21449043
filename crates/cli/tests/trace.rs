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
    let nowhere = [&generate[..], &["--trace", "/nowhere/text.html"]].concat();
    assert_ne!(maskwright(&nowhere).code, Some(0), "what cannot be written is an error");
}

/// All strategies of searches: what was tried is a tree, in which the text that is written is marked.
#[test]
fn a_search_is_shown_as_a_tree() {
    let Some(model) = shared("models/stories260K/stories260K-f32.gguf") else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("tree.html").display().to_string();
    for strategy in ["best-of", "beam", "mcts", "likeliest", "smc"] {
        let run = ["generate", "--model", &model, "--regex", "(Once|The) [a-z ]{3,9}\\.", "-p", "A story."];
        let run = [&run[..], &["--strategy", strategy, "--tries", "4", "--max-tokens", "12"]].concat();
        let traced = maskwright(&[&run[..], &["--trace", &page, "--color"]].concat()).exits(0);
        let traced = traced.says(&["branches tried:"]);
        let written = std::fs::read_to_string(&page).unwrap();
        let start = written.find("<script type=\"application/json\"").expect("the data of the page");
        let data = &written[written[start..].find('>').unwrap() + start + 1..];
        let data: serde_json::Value = serde_json::from_str(&data[..data.find("</script>").unwrap()]).unwrap();
        let chosen = data["tree"].as_array().unwrap().iter().filter(|branch| branch["o"] == "chosen");
        let text: String = chosen.map(|branch| branch["t"].as_str().unwrap()).collect();
        assert!(text.starts_with(traced.stdout.trim_end()), "{strategy}: {text:?} for {:?}", traced.stdout);
        assert_eq!(traced.stdout, maskwright(&run).exits(0).stdout, "{strategy}");
    }
}
