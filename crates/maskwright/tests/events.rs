//! What texts say while they are written, beside the texts themselves.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::sync::Arc;

use maskwright::json_schema::{SchemaConfig, Whitespace};
use maskwright::tool_calls::ToolCallOptions;
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Event, GrammarSource, Message, PathPart, TokenId, Tokenizer,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn compiled(source: &GrammarSource) -> Arc<CompiledGrammar> {
    let tokenizer = Tokenizer::from_tokens(vec![b"</s>".to_vec()], &[TokenId(0)]).unwrap();
    Compiler::new(&tokenizer).compile(source, &CompileOptions::default()).unwrap()
}

fn calls(tools: &Value, format: &str) -> Arc<CompiledGrammar> {
    compiled(&GrammarSource::tool_calls(tools.to_string(), ToolCallOptions::new(format), Default::default()))
}

/// The events of a text that is read in pieces of so many bytes, which only grow.
fn events(grammar: &CompiledGrammar, text: &str, n_bytes: usize) -> Vec<Event> {
    let (mut matcher, mut events) = (grammar.matcher(), grammar.events().unwrap());
    let mut before: Vec<Event> = Vec::new();
    for piece in text.as_bytes().chunks(n_bytes) {
        assert!(matcher.accept_bytes(piece).unwrap(), "{text:?}");
        let now = events.of(&matcher).unwrap();
        assert!(now.starts_with(&before), "an event has changed: {before:?} {now:?}");
        before = now.to_vec();
    }
    // They are the same when they are asked for once, at the end, and after going on and back.
    let mut late = grammar.events().unwrap();
    assert_eq!(late.of(&matcher).unwrap(), before);
    for n_back in [1, 40, 3] {
        let n_back = n_back.min(matcher.n_steps());
        let mut shorter = matcher.fork();
        shorter.rollback(n_back).unwrap();
        let some = late.of(&shorter).unwrap();
        assert!(before.starts_with(some));
        assert_eq!(late.of(&matcher).unwrap(), before);
    }
    let whole = events.of_whole(&matcher).unwrap();
    assert!(whole.starts_with(&before));
    whole
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        Just(json!("\"\\\n\u{1}😀<|")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".{0,3}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// The value of a JSON Schema comes as it is, without white space, and each piece at its path.
    #[test]
    fn values_come_in_pieces_with_their_paths(value in value(), n_bytes in 1..9_usize, is_pretty: bool) {
        let mut config = SchemaConfig::default();
        config.whitespace = Whitespace::Any;
        let grammar = compiled(&GrammarSource::json_schema("true", config));
        let text = if is_pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let events = events(&grammar, &text, n_bytes);
        prop_assert_eq!(Message::of(&events).value.unwrap(), value.to_string());
        let mut raw = String::new();
        for event in &events {
            let Event::Argument { index, path, raw: more, .. } = event else { continue };
            prop_assert!(index.is_none());
            raw.push_str(more);
            // What has a path is there.
            let mut at = &value;
            for part in path {
                at = match part {
                    PathPart::Key(key) => &at[key],
                    PathPart::Index(index) => &at[*index],
                    other => panic!("{other:?}"),
                };
            }
        }
        prop_assert_eq!(raw, text);
        let is_end = matches!(events.last(), Some(Event::End { index: None, id: None, .. }));
        prop_assert!(is_end);
    }
}

#[test]
fn surrogates_come_whole() {
    let grammar = compiled(&GrammarSource::json_schema("true", Default::default()));
    for event in events(&grammar, r#"["\ud83d\ude00\u0041\\"]"#, 1) {
        if let Event::Argument { json, .. } = event {
            assert!(!json.ends_with(r"\ud83d") && !json.starts_with(r"\ude00"), "{json}");
        }
    }
}

/// A string that may be another value is settled at its end, by what the schema takes.
#[test]
fn what_may_be_a_string_or_not_is_settled_at_its_end() {
    let schema = json!({"type": "object", "properties": {
        "a": {"anyOf": [{"type": "integer", "maximum": 5}, {"type": "string"}]},
        "b": {"type": "string"},
        "c": {},
    }});
    let grammar = calls(&json!([{"name": "f", "inputSchema": schema}]), "qwen_3_coder");
    let text = |name: &str, value: &str| {
        format!(
            "<tool_call>\n<function=f>\n<parameter={name}>\n{value}\n</parameter>\n</function>\n</tool_call>"
        )
    };
    for (name, written, read) in [
        ("a", "3", json!(3)),
        ("a", "7", json!("7")),
        ("a", "x", json!("x")),
        ("b", "3", json!("3")),
        ("b", "", json!("")),
        ("b", "\n\na\n", json!("\n\na\n")),
        ("c", "[1, 2]", json!([1, 2])),
        ("c", "null", json!(null)),
        ("c", "[1", json!("[1")),
    ] {
        for n_bytes in [1, 5, 200] {
            let events = events(&grammar, &text(name, written), n_bytes);
            let arguments: Value = serde_json::from_str(&Message::of(&events).calls[0].arguments).unwrap();
            assert_eq!(arguments, json!({name: read}), "{name} {written:?}");
        }
    }
    // A string alone streams.
    let open = text("b", "abcdef");
    let (mut matcher, mut events) = (grammar.matcher(), grammar.events().unwrap());
    assert!(matcher.accept_bytes(open.split_once("ef").unwrap().0.as_bytes()).unwrap());
    assert_eq!(Message::of(events.of(&matcher).unwrap()).calls[0].arguments, r#"{"b":"abcd"#);
}

#[test]
fn marks_in_strings_end_no_call() {
    let grammar = calls(&json!([{"name": "f", "inputSchema": {"type": "object"}}]), "qwen_3");
    let call = |value: &str| {
        format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"a\": {value}}}}}\n</tool_call>")
    };
    let text = format!("{}\n{}", call(r#""<\/tool_call>""#), call("1"));
    let message = Message::of(&events(&grammar, &text, 3));
    let arguments: Vec<&str> = message.calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"a":"<\/tool_call>"}"#, r#"{"a":1}"#]);
}

#[test]
fn tags_have_text_and_calls() {
    let tag = json!({"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<f"], "tags": [
        {"type": "tag", "begin": "<f=now>", "content": {"type": "json_schema", "json_schema": {"type": "object"}}, "end": "</f>"},
        {"type": "tag", "begin": "<f!>", "content": {"type": "any_text"}, "end": "</f>"},
    ]}});
    let grammar = compiled(&GrammarSource::structural_tag(tag.to_string(), Default::default()));
    let events = events(&grammar, "Hi <f!>a<b</f> and <f=now>{\"x\": 1}</f>.", 2);
    let message = Message::of(&events);
    assert_eq!((&*message.text, &*message.calls[0].name), ("Hi a<b and .", "now"));
    assert_eq!(message.calls[0].arguments, r#"{"x":1}"#);
    let within = |event: &&Event| matches!(event, Event::Text { tag: Some(_), .. });
    assert!(events.iter().filter(within).count() > 0);
}

#[test]
fn custom_tools_are_given_text() {
    let tools = json!([{"type": "custom", "custom": {"name": "sql"}}]);
    for (format, text) in [
        ("qwen_3", "<tool_call>\n{\"name\": \"sql\", \"arguments\": \"SELECT \\\"x\\\"\\n\"}\n</tool_call>"),
        ("harmony", "<|channel|>commentary to=functions.sql<|message|>SELECT \"x\"\n<|call|>"),
    ] {
        for n_bytes in [1, 4, 100] {
            let message = Message::of(&events(&calls(&tools, format), text, n_bytes));
            assert_eq!(message.calls[0].input.as_deref(), Some("SELECT \"x\"\n"), "{format}");
        }
    }
}

#[test]
fn other_grammars_are_one_text() {
    let grammar = compiled(&GrammarSource::regex("[a-zé]+"));
    let message = Message::of(&events(&grammar, "aéb", 1));
    assert_eq!((&*message.text, message.calls.len()), ("aéb", 0));
    let error = grammar.parse(b"a1").unwrap_err();
    assert!(error.to_string().contains("line 1 column 2"), "{error}");
    assert!(grammar.parse_tokens(&[TokenId(5)]).is_err());
}

/// Each was wrong, or ended in a panic, when somebody else looked at it first.
#[test]
fn what_a_review_found() {
    let x = json!({"type": "const_string", "value": "x"});
    let dispatch = json!({"type": "dispatch", "rules": [["<c", x], ["ab", x]], "loop": false});
    let content = json!({"type": "plus", "content": dispatch});
    let tag = |format: Value| {
        let tag = json!({"type": "structural_tag", "format": format}).to_string();
        compiled(&GrammarSource::structural_tag(tag, Default::default()))
    };
    // Readings that came to one place were in no order.
    let ambiguous = tag(json!({"type": "tag", "begin": "ab", "content": content, "end": "</c>"}));
    let (mut matcher, mut told) = (ambiguous.matcher(), ambiguous.events().unwrap());
    for byte in b"abax" {
        assert!(matcher.accept_bytes(&[*byte]).unwrap());
        told.of(&matcher).unwrap();
    }
    // A call within a tag, a tag that may lack its schema, and one with two.
    let schema = json!({"type": "json_schema", "json_schema": {"type": "object"}});
    let call = json!({"type": "tag", "begin": "<call=f>", "content": schema, "end": "</call>"});
    let nested = tag(json!({"type": "tag", "begin": "<calls>", "content": call, "end": "</calls>"}));
    let message = Message::of(&events(&nested, "<calls><call=f>{\"a\": 1}</call></calls>", 3));
    assert_eq!((message.calls.len(), &*message.calls[0].arguments), (1, r#"{"a":1}"#));
    let optional = json!({"type": "optional", "content": schema});
    let optional = tag(json!({"type": "tag", "begin": "<f>", "content": optional, "end": "</f>"}));
    let message = Message::of(&events(&optional, "<f>{\"a\": 1}</f>", 3));
    assert_eq!((&*message.text, message.calls.len()), ("{\"a\": 1}", 0));
    // A name with `=`, an empty text for a custom tool, a long string in elements.
    let named = json!({"type": "object", "properties": {"a=b": {"type": "integer"}}});
    let grammar = calls(&json!([{"name": "f", "inputSchema": named}]), "gemma_4");
    let message = Message::of(&events(&grammar, "<|tool_call>call:f{a=b:1}<tool_call|>", 2));
    assert_eq!(message.calls[0].arguments, r#"{"a=b":1}"#);
    let custom = calls(&json!([{"type": "custom", "custom": {"name": "sql"}}]), "harmony");
    let message =
        Message::of(&events(&custom, "<|channel|>commentary to=functions.sql<|message|><|call|>", 5));
    assert_eq!(message.calls[0].input.as_deref(), Some(""));
    let long = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 1_000}}});
    let grammar = calls(&json!([{"name": "f", "inputSchema": long}]), "qwen_3_coder");
    let text = "<tool_call>\n<function=f>\n<parameter=a>\nHi\n</parameter>\n</function>\n</tool_call>";
    assert_eq!(grammar.parse(text.as_bytes()).unwrap().calls[0].arguments, r#"{"a":"Hi"}"#);
    // Another grammar's text.
    let (mut other, mut told) = (compiled(&GrammarSource::regex("a+")).matcher(), grammar.events().unwrap());
    assert!(other.accept_bytes(b"<tool_call>").is_ok_and(|is_taken| !is_taken));
    assert!(other.accept_bytes(b"a").unwrap());
    told.of(&other).unwrap();
    // More readings than can be followed.
    let expr = json!({"type": "grammar", "syntax": "lark", "definition": "start: expr\nexpr: expr \"+\" expr | /[0-9]+/"});
    let custom = calls(&json!([{"type": "custom", "custom": {"name": "f", "format": expr}}]), "harmony");
    let text = format!("<|channel|>commentary to=functions.f<|message|>1{}<|call|>", "+1".repeat(2_000));
    assert!(custom.parse(text.as_bytes()).unwrap_err().is_limit());
}
