//! `--tools`: messages in which a model calls tools.

mod common;

use common::maskwright;

const TOOLS: &str = r#"[{"name": "now", "inputSchema": {"type": "object", "additionalProperties": false}},
    {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}]"#;

fn check(more: &[&str], text: &str) -> common::Run {
    maskwright(&[&["check", "--tools", TOOLS, "--text", text], more].concat())
}

#[test]
fn calls_are_read_in_the_format_of_the_family() {
    let call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    check(&["--tool-format", "qwen_3"], call).exits(0);
    check(&["--tool-format", "qwen_3", "--tool-choice", "none"], call).exits(1);
    check(&["--tool-format", "qwen_3", "--tool-choice", "now"], call).exits(1);
    check(&["--tool-format", "qwen_3", "--tool-choice", "required"], "No.").exits(1);
    check(&["--tool-format", "qwen_3"], "No.").exits(0);
    check(&["--tool-format", "lfm_2"], "<|tool_call_start|>[add(a=1), now()]<|tool_call_end|>").exits(0);
    let thought = "<think>\nHm.</think>\n\n";
    check(&["--tool-format", "qwen_3", "--reasoning", "always"], &format!("{thought}{call}")).exits(0);
    check(&["--tool-format", "qwen_3", "--reasoning", "always"], call).exits(1);
}

/// The help promised the list, and an error had it.
#[test]
fn without_a_name_the_formats_are_listed() {
    let listed = check(&["--tool-format"], "No.").exits(0);
    let formats: Vec<&str> = listed.stdout.lines().collect();
    assert!(
        formats.contains(&"qwen_3") && formats.contains(&"gemma_4") && formats.len() >= 40,
        "{formats:?}"
    );
    assert_eq!(listed.stderr, "");
    for command in
        [&["generate"][..], &["check"], &["infill"], &["debug", "ir"], &["mask", "--tokenizer", "gpt2"]]
    {
        let alone = maskwright(&[command, &["--tool-format"]].concat()).exits(0);
        assert_eq!(alone.stdout, listed.stdout, "{command:?}");
    }
}

#[test]
fn wrong_requests_are_told_of() {
    check(&[], "No.").exits(2).says(&["--tool-format NAME", "qwen_3"]);
    check(&["--tool-format", "qwen3"], "No.").exits(2).says(&["qwen_3"]);
    check(&["--tool-format", "qwen_3", "--tool-choice", "ad"], "No.").exits(2).says(&["did you mean `add`?"]);
    maskwright(&["check", "--regex", "a", "--text", "a", "--tool-format", "llama"])
        .exits(2)
        .says(&["goes with --tools FILE"]);
    let bad =
        r#"[{"name": "draw", "inputSchema": {"type": "object", "properties": {"at": {"type": "int"}}}}]"#;
    maskwright(&["check", "--tools", bad, "--tool-format", "llama", "--text", "No."]).exits(2).says(&[
        "in the tool \"draw\"",
        "the argument `at`",
        "did you mean \"integer\"?",
    ]);
}

/// Somebody had to find them in the text, from which special tokens are missing.
#[test]
fn a_generated_message_says_its_calls() {
    let Some(model) = maskwright_oracle::shared("models/stories260K/stories260K-f32.gguf") else { return };
    let model = model.display().to_string();
    let arguments =
        ["generate", "--model", &model, "-p", "Once", "--tools", TOOLS, "--tool-format", "qwen_3"];
    let more = ["--tool-choice", "now", "--max-tokens", "100"];
    let json = maskwright(&[&arguments[..], &more, &["--json"]].concat()).exits(0).json();
    let calls = json["message"]["calls"].as_array().unwrap();
    assert_eq!((&calls[0]["name"], &calls[0]["arguments"]), (&"now".into(), &serde_json::json!({})));
    assert_eq!(json["message"]["reasoning"], "");
    maskwright(&[&arguments[..], &more].concat()).exits(0).says(&["call now: {}\n"]);
}
