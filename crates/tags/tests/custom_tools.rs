//! OpenAI's custom tools, which take a text in the place of an object.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod support;

use maskwright_automata::Fuel;
use maskwright_tags::{CompiledTag, OnError, TagError, ToolCallOptions, compile_tool_calls, tool_formats};
use serde_json::{Value, json};
use support::Session;

fn compiled(tools: &str, options: &ToolCallOptions) -> Result<CompiledTag, TagError> {
    compile_tool_calls(tools, options, &Default::default(), &Default::default(), &Fuel::new(50_000_000))
}

/// The grammar of the patches that Codex lets a model write, as its tool has it.
const PATCH: &str = r#"start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
"#;

/// A custom tool as responses have it, or as chat completions do.
fn custom_tool(is_chat: bool, syntax: &str, definition: &str) -> Value {
    let grammar = json!({"syntax": syntax, "definition": definition});
    match (is_chat, syntax) {
        (false, "text") => json!({"type": "custom", "name": "f", "format": {"type": "text"}}),
        (true, "text") => json!({"type": "custom", "custom": {"name": "f"}}),
        (true, _) => {
            json!({"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "grammar": grammar}}})
        }
        (false, _) => {
            let format = json!({"type": "grammar", "syntax": syntax, "definition": definition});
            json!({"type": "custom", "name": "f", "description": "d", "format": format})
        }
    }
}

#[test]
fn custom_tools_are_given_a_text_of_their_grammar() {
    let session = Session::new(&[]);
    let patch =
        "*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n-\n+    return \"x\"\n \n*** End Patch\n";
    let cases = [
        ("regex", r"\+[0-9]{6,15}", vec!["+123456"], vec!["123456", "+12345", ""]),
        ("regex", r"(?s).*", vec!["", "a\n\"b\\", "</tool>"], vec![]),
        (
            "lark",
            PATCH,
            vec![patch, patch.trim_end()],
            vec!["", "*** Begin Patch\n*** End Patch\n", &patch[1..]],
        ),
        (
            "lark",
            "start: \"a\" (\",\" NAME)*\nNAME: /[a-z]*/\n%ignore \" \"",
            vec!["a,b , c", "a,,"],
            vec!["b"],
        ),
        ("text", "", vec!["", "anything\n{}", "\u{1}é"], vec![]),
    ];
    for (format, begin, end, is_json) in [
        ("qwen_3", "<tool_call>\n{\"name\": \"f\", \"arguments\": ", "}\n</tool_call>", true),
        ("llama", "{\"name\": \"f\", \"parameters\": ", "}", true),
        ("mistral_v13", "[TOOL_CALLS]f[ARGS]", "", true),
        (
            "kimi",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>",
            "<|tool_call_end|><|tool_calls_section_end|>",
            true,
        ),
        ("gpt_oss", " to=functions.f<|channel|>commentary<|message|>", "<|call|>", false),
        ("gpt_oss", "<|channel|>commentary to=functions.f code<|message|>", "<|call|>", false),
    ] {
        for (is_chat, (syntax, definition, right, wrong)) in
            [false, true].into_iter().flat_map(|is_chat| cases.iter().map(move |case| (is_chat, case)))
        {
            let tools = json!([custom_tool(is_chat, syntax, definition)]).to_string();
            for choice in [
                "required",
                "f",
                r#"{"type": "custom", "name": "f"}"#,
                r#"{"type": "custom", "custom": {"name": "f"}}"#,
            ] {
                let mut options = ToolCallOptions::new(format);
                options.tool_choice = choice.to_owned();
                let compiled = compiled(&tools, &options).unwrap();
                assert!(compiled.report.is_complete(), "{format} {syntax}");
                let grammar = session.compile(compiled.grammar);
                let is_taken = |input: &str| {
                    let input = if is_json { json!(input).to_string() } else { input.to_owned() };
                    session.is_text(&grammar, &format!("{begin}{input}{end}").into())
                };
                right.iter().for_each(|input| assert!(is_taken(input), "{format} {syntax} {input:?}"));
                wrong.iter().for_each(|input| assert!(!is_taken(input), "{format} {syntax} {input:?}"));
                assert!(
                    !session.is_text(&grammar, &format!("{begin}{{\"any\": 1}}{end}").into()) || !is_json
                );
            }
        }
    }
}

#[test]
fn custom_tools_do_not_end_their_call() {
    let session = Session::new(&[]);
    for (format, begin, end) in [
        ("qwen_3", "<tool_call>\n{\"name\": \"f\", \"arguments\": \"", "\"}\n</tool_call>"),
        ("gpt_oss", " to=functions.f<|channel|>commentary<|message|>", "<|call|>"),
    ] {
        let mark = end.trim_start_matches(['"', '}', '\n']);
        for tool in [
            custom_tool(false, "text", ""),
            custom_tool(false, "regex", "(?s).*"),
            custom_tool(false, "lark", "start: /.*/s"),
        ] {
            let mut options = ToolCallOptions::new(format);
            options.tool_choice = "required".to_owned();
            let grammar = session.compile(compiled(&json!([tool]).to_string(), &options).unwrap().grammar);
            assert!(session.is_text(&grammar, &format!("{begin}a < b{end}").into()), "{format} {tool}");
            assert!(!session.is_text(&grammar, &format!("{begin}a {mark} b{end}").into()), "{format} {tool}");
            let is_hidden =
                session.is_text(&grammar, &format!("{begin}a {} b{end}", mark.replace('/', "\\/")).into());
            assert_eq!(is_hidden, format == "qwen_3", "{tool}");
        }
    }
}

#[test]
fn formats_take_custom_tools_or_refuse_them_by_name() {
    let tools = json!([custom_tool(false, "regex", "a+")]).to_string();
    let (mut n_taken, mut n_refused) = (0, 0);
    for format in tool_formats() {
        let options = ToolCallOptions::new(format.name);
        match compiled(&tools, &options) {
            Ok(_) => n_taken += 1,
            Err(error) => {
                n_refused += 1;
                assert!(
                    error.to_string().contains(&format!("the format {} have names", format.name)),
                    "{error}"
                );
                assert!(error.pointer() == "/0" && error.to_string().contains("the tool \"f\""), "{error}");
                let mut options = options;
                options.on_error = OnError::LeaveOut;
                assert!(!compiled(&tools, &options).unwrap().report.is_complete(), "{}", format.name);
            }
        }
    }
    assert!(n_taken > 20 && n_refused > 15, "{n_taken} {n_refused}");
}

#[test]
fn wrong_formats_of_custom_tools_are_errors_at_their_place() {
    for (tool, pointer, message) in [
        (json!({"type": "custom", "name": "f", "parameters": {}}), "/0/parameters", "has no `parameters`"),
        (json!({"type": "custom", "name": "f", "format": {}}), "/0/format", "needs the field `type`"),
        (
            json!({"type": "custom", "name": "f", "format": {"type": "grammer"}}),
            "/0/format/type",
            "did you mean `grammar`",
        ),
        (
            json!({"type": "custom", "name": "f", "format": {"type": "text", "syntax": "lark"}}),
            "/0/format/syntax",
            "no field",
        ),
        (
            json!({"type": "custom", "name": "f", "format": {"type": "grammar", "syntax": "larc", "definition": ""}}),
            "/0/format/syntax",
            "did you mean `lark`",
        ),
        (
            json!({"type": "custom", "name": "f", "format": {"type": "grammar", "syntax": "lark"}}),
            "/0/format",
            "needs the field `definition`",
        ),
        (
            json!({"type": "custom", "name": "f", "format": {"type": "grammar", "syntax": "lark", "definition": 1}}),
            "/0/format/definition",
            "1 is given",
        ),
        (json!({"type": "custom", "custom": {"format": {"type": "text"}}}), "/0/custom", "has no name"),
        (json!({"type": "custom", "name": "f", "inputSchema": {}}), "/0/inputSchema", "has no `inputSchema`"),
        (
            json!({"type": "custom", "name": "f", "parametersJsonSchema": {}}),
            "/0/parametersJsonSchema",
            "has no `parametersJsonSchema`",
        ),
        (json!({"type": "custom", "name": "f", "fromat": {}}), "/0/fromat", "has no `fromat`"),
        (json!({"type": "custom", "name": "f", "grammar": {}}), "/0/grammar", "has no `grammar`"),
        (custom_tool(false, "regex", "a(b"), "/0/format/definition", "line 1 column 2"),
        (custom_tool(true, "regex", r"(?=a)b"), "/0/custom/format/grammar/definition", "look-around"),
        (
            custom_tool(false, "lark", "start: itm\nitem: \"x\""),
            "/0/format/definition",
            "did you mean `item`",
        ),
        (
            custom_tool(false, "lark", "%llguidance {\"ignore_once\": true}\nstart: \"x\""),
            "/0/format/definition",
            "line 1",
        ),
        (custom_tool(false, "lark", "start: a\na[lazy]: /x/"), "/0/format/definition", "line 2"),
        (
            custom_tool(false, "lark", "start: A <[3]>\nA: \"a\""),
            "/0/format/definition",
            "which no string of JSON holds",
        ),
        (
            custom_tool(false, "lark", "start: A\nA: /(?!x)/"),
            "/0/format/definition",
            "matches the empty text",
        ),
    ] {
        let options = ToolCallOptions::new("qwen_3");
        let error = compiled(&json!([tool]).to_string(), &options).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(error.pointer(), pointer, "{error}");
        let mut options = options;
        options.on_error = OnError::AnyJson;
        assert!(!compiled(&json!([tool]).to_string(), &options).unwrap().report.is_complete(), "{tool}");
    }
}

#[test]
fn a_format_beside_the_custom_tool_is_an_error() {
    let tools = json!([{"type": "custom", "custom": {"name": "f"}, "format": {"type": "text"}}]).to_string();
    let error = compiled(&tools, &ToolCallOptions::new("qwen_3")).unwrap_err();
    assert!(error.pointer() == "/0/format" && error.to_string().contains("beside `custom`"), "{error}");
}
