//! Grammars, options and answers as JSON text.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::sync::Arc;

use maskwright::{CompileOptions, CompiledGrammar, Compiler, GrammarSource, TokenId, Tokenizer, bindings};
use serde_json::{Value, json};

fn compiler() -> Compiler {
    let tokens = (0..=255u8).map(|byte| vec![byte]).chain([b"</s>".to_vec(), b"<call>".to_vec()]);
    let special = [TokenId(257)];
    Compiler::new(&Tokenizer::from_tokens_with_special(tokens.collect(), &[TokenId(256)], &special).unwrap())
}

fn compiled(source: &GrammarSource) -> Arc<CompiledGrammar> {
    compiler().compile(source, &CompileOptions::default()).unwrap()
}

const TOOLS: &str = r#"[{"name": "look", "inputSchema": {"type": "object", "properties": {"at": {"type": "string"}},
    "required": ["at"], "additionalProperties": false}}]"#;

/// Kinds, sources, options, a text of the grammar and one that is none.
fn cases() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"}},
        "required": ["a", "b"], "additionalProperties": false}"#;
    vec![
        ("json_schema", schema, json!({}), r#"{"a": 1, "b": null}"#, r#"{"b": null, "a": 1}"#),
        ("json_schema", schema, json!({"property_order": "any"}), r#"{"b": null, "a": 1}"#, r#"{"a": 1}"#),
        (
            "json_schema",
            schema,
            json!({"whitespace": "compact"}),
            r#"{"a":1,"b":null}"#,
            r#"{"a": 1,"b":null}"#,
        ),
        (
            "json_schema",
            schema,
            json!({"max_whitespace": 2}),
            r#"{  "a":1,"b":null}"#,
            r#"{   "a":1,"b":null}"#,
        ),
        ("json_schema", r#"{"type": "number"}"#, json!({"numbers": "any"}), "1e7", "e"),
        ("json_schema", r#"{"type": "number"}"#, json!({"numbers": "plain"}), "17", "1e700"),
        ("json_schema", r#"{"type": "string", "contentSchema": {}}"#, json!({"strict": false}), "\"\"", "1"),
        ("regex", r"\d", json!({}), "1", "\u{663}"),
        ("regex", r"\d", json!({"dialect": "rust"}), "\u{663}", "x"),
        ("regex", r"(?=a)\w", json!({"dialect": "ecma"}), "a", "b"),
        ("regex", r"a(?<!b)", json!({"dialect": "python"}), "a", "b"),
        ("choice", r#"["yes", "no"]"#, json!({}), "no", "n"),
        ("gbnf", "root ::= item item\nitem ::= \"a\"", json!({"capture": ["item"]}), "aa", "a"),
        ("gbnf", "root ::= \"<call>\"", json!({"special_tokens_in_text": true}), "<call>", "<cal>"),
        ("lark", "begin: \"a\" /b+/?", json!({"start": "begin", "lexer": "dynamic_complete"}), "abb", "b"),
        ("lark", "start: WORD+\nWORD: /a+/\nOTHER: /aa/", json!({"lexer": "basic"}), "aaa", ""),
        (
            "lark",
            "%llguidance {}\nstart: \"x\" @part{2}",
            json!({"dialect": "llguidance", "grammars": {"part": "start: \"y\""}}),
            "xyy",
            "xy",
        ),
        (
            "lark",
            "start: \"if\" _NEWLINE _INDENT \"a\" _NEWLINE _DEDENT\n_NEWLINE: /\\n */\n%declare _INDENT _DEDENT",
            json!({"indentation": "python"}),
            "if\n a\n",
            "if\na\n",
        ),
        (
            "structural_tag",
            r#"{"format": {"type": "tag", "begin": "<a>", "content": {"type": "regex", "pattern": "x*"}, "end": "</a>"}}"#,
            json!({}),
            "<a>xx</a>",
            "<a>",
        ),
        (
            "tool_calls",
            TOOLS,
            json!({"format": "qwen_3", "tool_choice": "required", "parallel": false, "text": false}),
            "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"\"}}\n</tool_call>",
            "text",
        ),
        (
            "tool_calls",
            TOOLS,
            json!({"format": "qwen_3", "tool_choice": {"type": "function", "function": {"name": "look"}},
                "reasoning": "auto", "on_error": "leave_out"}),
            "<think>\n\n</think>\n\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"\"}}\n</tool_call>",
            "<think>",
        ),
        ("builtin", "json", json!({}), "[1, 2]", "[1,"),
    ]
}

/// Every option does what it says, and a grammar is the same once it was written as text and read again.
#[test]
fn sources_and_what_they_export() {
    for (kind, text, options, right, wrong) in cases() {
        let what = format!("{kind} {options}: {text}");
        let source =
            bindings::source(kind, text, &options.to_string()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let grammar = compiler().compile(&source, &CompileOptions::default());
        let grammar = grammar.unwrap_or_else(|error| panic!("{what}: {error}"));
        let exported = bindings::exported(grammar.source()).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(exported.starts_with("%llguidance {\"") && exported.lines().count() == 1, "{exported}");
        let again = bindings::imported(&exported).unwrap().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(bindings::described(&again).unwrap(), bindings::described(&source).unwrap(), "{what}");
        for grammar in [grammar, compiled(&again)] {
            let accepts = |text: &str| {
                let mut matcher = grammar.matcher();
                matcher.accept_bytes(text.as_bytes()).unwrap() && matcher.is_accepting()
            };
            assert!(accepts(right), "{right:?} of {what}");
            assert!(!accepts(wrong), "{wrong:?} of {what}");
        }
    }
    let kinds: Vec<&str> = cases().into_iter().map(|(kind, ..)| kind).collect();
    assert!(bindings::KINDS.iter().all(|kind| kinds.contains(kind)));
}

#[test]
fn wrong_options_say_what_would_be_right() {
    for (kind, text, options, message) in [
        ("json_shema", "{}", "", "no kind of grammar is called \"json_shema\""),
        ("json_schema", "{}", "[]", "the options are no JSON object"),
        ("json_schema", "{}", r#"{"whitespace": "none"}"#, "expected \"flexible\" or \"compact\" or \"any\""),
        ("json_schema", "{}", r#"{"max_whitespace": 1, "whitespace": "compact"}"#, "alone"),
        ("json_schema", "{}", r#"{"strict": 1}"#, "the option strict is 1, expected true or false"),
        ("json_schema", "{}", r#"{"lexer": "basic"}"#, "has no option lexer"),
        ("json_schema", "{}", r#"{"propertyorder": "any"}"#, "did you mean property_order?"),
        ("choice", "yes", "", "choices are a JSON array of texts"),
        ("choice", r#"["a"]"#, r#"{"a": 1}"#, "a choice has no option a"),
        ("lark", "start: \"a\"", r#"{"grammars": {"a.lark": {}}}"#, "the grammar \"a.lark\" is no text"),
        ("tool_calls", TOOLS, "{}", "tool calls need the option format"),
        ("gbnf", "root ::= \"a\"", r#"{"capture": "root"}"#, "expected an array of texts"),
    ] {
        let error = bindings::source(kind, text, options).unwrap_err().to_string();
        assert!(error.contains(message), "{kind} {options}: {error}");
    }
    let long = "x".repeat(100_000);
    for (kind, options) in [
        (&*long, ""),
        ("regex", &*json!(long).to_string()),
        ("regex", &*json!({"dialect": long}).to_string()),
        ("regex", &*json!({&*long: 1}).to_string()),
    ] {
        let error = bindings::source(kind, "a", options).unwrap_err().to_string();
        assert!(error.len() < 300, "{} bytes", error.len());
    }
    assert!(bindings::imported("start: \"a\"").is_none());
    for text in [
        "{}}",
        "{\"kind\": \"regex\"}}",
        "{\"kind\": \"regex\", \"source\": \"a\", \"options\": {\"a\": 1}}}",
    ] {
        assert!(bindings::imported(&format!("{}{text}", bindings::EXPORTED)).unwrap().is_err(), "{text}");
    }
}

/// A text may come from a stranger, by a server's request: it reads no file of who reads it.
#[test]
fn exported_grammars_read_no_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret.lark"), "start: \"secret\"").unwrap();
    std::fs::write(folder.path().join("secret.json"), "{\"const\": \"secret\"}").unwrap();
    let (paths, file) =
        (folder.path().display().to_string(), folder.path().join("main").display().to_string());
    for (kind, source, options) in [
        ("lark", "start: secret\n%import secret.start -> secret", json!({"import_paths": [&paths]})),
        ("lark", "start: secret\n%import .secret.start -> secret", json!({"file": &file})),
        ("json_schema", r#"{"$ref": "secret.json"}"#, json!({"file": &file})),
    ] {
        let exported = json!({"kind": kind, "source": source, "options": options});
        let error = bindings::imported(&format!("{}{exported}}}", bindings::EXPORTED)).unwrap().unwrap_err();
        assert!(error.to_string().contains("it reads no files"), "{error}");
    }
    for (kind, source) in [
        ("lark", "start: @own"),
        ("lark", "start: secret\n%import .secret.start -> secret"),
        ("lark", "%llguidance {}\nstart: %json \"secret.json\""),
        ("json_schema", r#"{"$ref": "secret.json"}"#),
    ] {
        // A grammar in the options reads no file either, wherever the tests run.
        let own = json!({"own": "start: %json \"Cargo.toml\""});
        let options =
            if kind == "lark" { json!({"dialect": "llguidance", "grammars": own}) } else { json!({}) };
        let exported = json!({"kind": kind, "source": source, "options": options});
        let source = bindings::imported(&format!("{}{exported}}}", bindings::EXPORTED)).unwrap().unwrap();
        assert!(compiler().compile(&source, &CompileOptions::default()).is_err());
    }
}

/// What no option says is refused rather than left out.
#[test]
fn some_grammars_are_no_text() {
    let mut documents = maskwright::json_schema::SchemaDocuments::default();
    documents.insert("name.json", r#"{"type": "string"}"#).unwrap();
    let source =
        GrammarSource::json_schema(r#"{"$ref": "name.json"}"#, Default::default()).documents(documents);
    let error = bindings::exported(compiled(&source).source()).unwrap_err();
    assert!(error.to_string().contains("needs other documents"), "{error}");
    let built = GrammarSource::regex("a").grammar(&CompileOptions::default()).unwrap();
    let error = bindings::exported(compiled(&built.into()).source()).unwrap_err();
    assert!(error.to_string().contains("was built by hand"), "{error}");
    let unread = GrammarSource::json_schema("{}", Default::default()).file("x.json");
    assert!(bindings::described(&unread).is_err() && bindings::described(compiled(&unread).source()).is_ok());
    let mut config = maskwright::json_schema::SchemaConfig::default();
    config.style = maskwright::json_schema::Style::QwenXml;
    let error = bindings::described(&GrammarSource::json_schema("{}", config)).unwrap_err();
    assert!(error.to_string().contains("has a style or limits"), "{error}");
    let mut options = maskwright::lark::LarkOptions::default();
    options.schemas.whitespace = maskwright::json_schema::Whitespace::OneLine;
    let error = bindings::described(&GrammarSource::lark("start: \"a\"", options)).unwrap_err();
    assert!(error.to_string().contains("has an option without a name"), "{error}");
}

#[test]
fn limits_have_the_names_of_python() {
    let limits =
        bindings::limits(r#"{"compile_work": 7, "mask_work": 8, "max_states": 9, "machine_bytes": 10}"#);
    let limits = limits.unwrap();
    assert_eq!((limits.compile_work, limits.mask_work, limits.max_states), (7, Some(8), 9));
    assert_eq!(limits.machine_bytes, 10);
    assert_eq!(bindings::limits("").unwrap().compile_work, maskwright::Limits::default().compile_work);
    for (given, message) in [
        (r#"{"compile_wrok": 7}"#, "did you mean compile_work?"),
        (r#"{"compile_work": -7}"#, "expected a whole number"),
        (r#"{"max_states": 4294967296}"#, "at most 2**32 - 1"),
    ] {
        let error = bindings::limits(given).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn answers_have_the_fields_of_python() {
    let source = bindings::source("tool_calls", TOOLS, r#"{"format": "qwen_3"}"#).unwrap();
    let grammar = compiled(&source);
    let mut matcher = grammar.matcher();
    let text = b"Well.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"x";
    assert!(matcher.accept_bytes(text).unwrap());
    let mut events = grammar.events().unwrap();
    let said = bindings::events(events.of(&matcher).unwrap());
    let said = said.as_array().unwrap();
    assert_eq!(said[0], json!({"kind": "text", "delta": "Well.\n", "tag": null}));
    let call = json!({"kind": "tool", "index": 0, "name": "look", "is_custom": false, "id": null});
    assert_eq!(said[1], call);
    let last = said.last().unwrap();
    assert_eq!((&last["kind"], &last["path"]), (&json!("argument"), &json!(["at"])));
    let state = bindings::state(&matcher.state().unwrap());
    assert_eq!((&state["path"], &state["is_complete"]), (&json!("/at"), &json!(false)));
    assert_eq!(state["keywords"][0]["name"], "type");
    assert!(state["sentence"].as_str().unwrap().contains("expected"), "{state}");
    let report = bindings::report(grammar.report());
    let required = report.as_array().unwrap().iter().find(|entry| entry["keyword"] == "required").unwrap();
    assert_eq!((&required["status"], &required["tool"]), (&json!("enforced"), &json!("look")));
    assert_eq!(bindings::report(None), json!([]));
}
