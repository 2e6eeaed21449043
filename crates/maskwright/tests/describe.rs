//! What prompts are told of grammars: always something, and examples that the grammar accepts.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::path::Path;

use maskwright::json_schema::SchemaConfig;
use maskwright::tool_calls::{ToolCallOptions, tool_formats};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, TokenId, Tokenizer, describe, lark,
};
use serde_json::{Value, json};

fn compiled(source: &GrammarSource) -> Option<std::sync::Arc<CompiledGrammar>> {
    let tokens = (0..=u8::MAX).map(|byte| vec![byte]).chain([b"</s>".to_vec()]);
    let tokenizer = Tokenizer::from_tokens(tokens.collect(), &[TokenId(256)]).unwrap();
    Compiler::new(&tokenizer).compile(source, &CompileOptions::default()).ok()
}

/// The example at the end of a description.
fn example(text: &str) -> &str {
    let begin = ["For example:\n\n", "write:\n\n"]
        .iter()
        .filter_map(|mark| Some(text.rfind(mark)? + mark.len()))
        .max();
    &text[begin.unwrap_or(text.len())..]
}

/// The schemas of `testdata/json-schema` that compile.
fn schemas() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/json-schema");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let texts = files.map(|path| std::fs::read_to_string(path).unwrap());
    texts
        .flat_map(|text| {
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            lines.map(|mut case| case["schema"].take()).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn examples_of_schemas_are_valid() {
    let mut n_examples = 0;
    for schema in schemas() {
        let source = GrammarSource::json_schema(schema.clone(), SchemaConfig::default());
        let Some(grammar) = compiled(&source) else { continue };
        let text = describe(&source, Some(true)).unwrap();
        let example = example(&text);
        assert!(
            example.is_empty() || grammar.check(example.as_bytes(), &Default::default()).unwrap().is_valid,
            "{schema}: {text}"
        );
        n_examples += usize::from(!example.is_empty());
        assert!(!describe(&source, None).unwrap().contains("For example"));
    }
    assert!(n_examples > 300, "{n_examples}");
}

#[test]
fn every_format_of_tool_calls_shows_a_call() {
    let tools = json!([
        {"name": "weather", "description": "Of a city.", "inputSchema": {"type": "object", "properties": {
            "city": {"type": "string", "description": "its name"}, "days": {"type": "integer"}}, "required": ["city"]}},
        {"name": "now", "inputSchema": {"type": "object", "additionalProperties": false}},
    ]);
    for format in tool_formats() {
        for choice in ["auto", "required", "now"] {
            let mut options = ToolCallOptions::new(format.name);
            options.tool_choice = choice.to_owned();
            let source = GrammarSource::tool_calls(tools.to_string(), options, SchemaConfig::default());
            let grammar = compiled(&source).unwrap();
            let text = describe(&source, None).unwrap();
            let call = example(&text);
            assert!(
                grammar.check(call.as_bytes(), &Default::default()).unwrap().is_valid,
                "{}: {text}",
                format.name
            );
            let message = grammar.parse(call.as_bytes()).unwrap();
            let name = if choice == "now" { "now" } else { "weather" };
            assert_eq!(message.calls[0].name, name, "{}: {text}", format.name);
            assert_eq!(text.contains("weather: Of a city."), choice != "now", "{}: {text}", format.name);
        }
    }
}

#[test]
fn other_sources() {
    let told = |source: &GrammarSource| describe(source, None).unwrap();
    assert!(told(&GrammarSource::regex("a+b")).ends_with("\n\na+b"));
    let numbers = GrammarSource::gbnf("root ::= [0-9]+ \"!\"\n");
    assert!(told(&numbers).ends_with("root ::= [0-9]+ \"!\"\n\nFor example:\n\n0!"), "{}", told(&numbers));
    for name in lark::builtin_names() {
        let text = told(&GrammarSource::builtin(name));
        let may_be_empty = matches!(name, "cpp" | "python");
        assert!(
            text.starts_with("Answer only with") && text.contains("For example") != may_be_empty,
            "{text}"
        );
    }
    let tag = json!({"type": "structural_tag", "format": {"type": "sequence", "elements": [
        {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
        {"type": "json_schema", "json_schema": {"type": "integer"}}]}});
    let text = told(&GrammarSource::structural_tag(tag.to_string(), SchemaConfig::default()));
    assert!(text.contains("<think>…</think>\n\ninteger") && text.ends_with("<think></think>0"), "{text}");
    let mut options = ToolCallOptions::new("qwen_3");
    options.tool_choice = "none".to_owned();
    let none = GrammarSource::tool_calls(r#"[{"name": "now"}]"#, options, SchemaConfig::default());
    assert_eq!(told(&none), "Answer with text; no tool can be called.");
}

/// References that lead to each other, and many of them, take no time.
#[test]
fn hostile_schemas() {
    let members = |name: &str| {
        (0..200)
            .map(|i| (format!("{name}{i}"), json!({"$ref": "#/$defs/a"})))
            .collect::<serde_json::Map<_, _>>()
    };
    let deep = json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": members("p"), "required": ["p0", "p1", "p2"]}}});
    let source = GrammarSource::json_schema(
        json!({"anyOf": [{"type": "null"}, deep["$defs"]["a"]], "$defs": deep["$defs"]}),
        SchemaConfig::default(),
    );
    let text = describe(&source, Some(true)).unwrap();
    assert!(text.len() < 100_000, "{}", text.len());
    let same: serde_json::Map<String, Value> = (0..500)
        .map(|i| (format!("k{i}"), json!({"$ref": format!("#/$defs/d{i}/properties/same")})))
        .collect();
    let defs: serde_json::Map<String, Value> =
        (0..500).map(|i| (format!("d{i}"), json!({"properties": {"same": {"type": "integer"}}}))).collect();
    let source =
        GrammarSource::json_schema(json!({"properties": same, "$defs": defs}), SchemaConfig::default());
    assert!(describe(&source, None).unwrap().contains("where same_500 is integer"));
}
