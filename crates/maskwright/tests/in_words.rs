//! What users are told, word for word: why a text cannot go on so, and what may come next.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::sync::Arc;

use maskwright::infill::{Hole, Part};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId, Tokenizer,
};

const PERSON: &str = r#"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 6},
        "hobbies": {"type": "array", "items": {"enum": ["chess", "tennis", "go"]}, "minItems": 1, "maxItems": 2},
        "age": {"type": "integer", "minimum": 18, "maximum": 120},
        "height": {"$ref": "\#/$defs/metres"},
        "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
        "kind": {"const": "person"},
        "half": {"type": "number", "multipleOf": 0.5}
    },
    "required": ["name", "hobbies"],
    "additionalProperties": false,
    "$defs": {"metres": {"type": "number", "exclusiveMaximum": 3}}
}"#;

/// Compiles for the tokens of a tokenizer of single bytes.
fn compiled(source: &GrammarSource) -> Arc<CompiledGrammar> {
    let tokens = (0..=255u8).map(|byte| vec![byte]).chain([b"</s>".to_vec()]);
    let tokenizer = Tokenizer::from_tokens(tokens.collect(), &[TokenId(256)]).unwrap();
    Compiler::new(&tokenizer).compile(source, &CompileOptions::default()).unwrap()
}

fn after(grammar: &Arc<CompiledGrammar>, text: &str) -> Matcher {
    let mut matcher = grammar.matcher();
    assert!(matcher.accept_bytes(text.as_bytes()).unwrap(), "{text}");
    matcher
}

fn person() -> Arc<CompiledGrammar> {
    compiled(&GrammarSource::json_schema(PERSON.replace("\\#", "#"), Default::default()))
}

/// The text is read up to where it leaves the language, and what is said there.
fn told(grammar: &Arc<CompiledGrammar>, text: &str) -> String {
    let mut matcher = grammar.matcher();
    let n_read = (0..text.len()).find(|&at| !matcher.accept_bytes(&text.as_bytes()[at..=at]).unwrap());
    let at = n_read.unwrap_or_else(|| panic!("{text} is in the language"));
    matcher
        .refusal(&text.as_bytes()[at..])
        .unwrap_or_else(|| format!("expected {}", matcher.expected().unwrap().join(" or ")))
}

#[test]
fn keywords_of_a_schema_are_the_reasons() {
    let person = person();
    for (text, why) in [
        (r#"{"name": "A""#, r#"at /name: "A" has 1 character, fewer than "minLength": 2"#),
        (r#"{"name": "Adelheid"}"#, r#"at /name: "Adelheid" has 8 characters, more than "maxLength": 6"#),
        (r#"{"name": 3}"#, r#"at /name: a number is not of "type": "string""#),
        (r#"{"name": "Ann"}"#, r#"at the top: "hobbies" is "required" and missing"#),
        (
            r#"{"name": "Ann", "age": 20}"#,
            r#"at the top: "hobbies" is "required" and comes before "age", in the schema's order"#,
        ),
        (r#"{"name": "Ann", "hobbies": []}"#, r#"at /hobbies: 0 items, fewer than "minItems": 1"#),
        (
            r#"{"name": "Ann", "hobbies": ["golf"]}"#,
            r#"at /hobbies/0: "golf" is not one of "enum": ["chess","tennis","go"]"#,
        ),
        (
            r#"{"name": "Ann", "hobbies": ["go", "go", "go"]}"#,
            r#"at /hobbies: 2 items are there, as many as "maxItems": 2"#,
        ),
        (r#"{"name": "Ann", "hobbies": ["go"], "age": 200}"#, r#"at /age: 200 is above "maximum": 120"#),
        (r#"{"name": "Ann", "hobbies": ["go"], "age": 7}"#, r#"at /age: 7 is below "minimum": 18"#),
        (
            r#"{"name": "Ann", "hobbies": ["go"], "age": 20.5}"#,
            r#"at /age: an integer is written without a fraction or an exponent"#,
        ),
        (
            r#"{"name": "Ann", "hobbies": ["go"], "height": 3}"#,
            r#"at /height: 3 is not below "exclusiveMaximum": 3"#,
        ),
        (
            r#"{"name": "Ann", "hobbies": ["go"], "code": "A1"}"#,
            r#"at /code: "A1" does not fit "pattern": "^[A-Z]{2}$""#,
        ),
        (
            r#"{"name": "Ann", "hobbies": ["go"], "kind": "dog"}"#,
            r#"at /kind: "dog" is not "const": "person""#,
        ),
        (r#"{"name": "Ann", "hobbies": ["go"], "half": 0.7}"#, "expected `0` or `5`"),
        (
            r#"{"name": "Ann", "hobbies": ["go"], "size": 1}"#,
            "at the top: \"size\" is none of the properties \"name\", \"hobbies\", \"age\", \
          \"height\", \"code\", \"kind\" and \"half\" (\"additionalProperties\": false)",
        ),
        (
            r#"{"name": "Ann", "hobbies": ["go"], "name": "Bo"}"#,
            r#"at the top: the key "name" is there already"#,
        ),
    ] {
        assert_eq!(told(&person, text), why, "{text}");
    }
}

/// Where keys or items must differ, or tokens are limited, the session refuses some of what the grammar
/// allows.
#[test]
fn examples_of_a_state_are_texts_that_the_session_accepts() {
    let schema = |text: &str| compiled(&GrammarSource::json_schema(text.to_owned(), Default::default()));
    let numbers = schema(r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#);
    let unique = schema(r#"{"type": "array", "items": {"enum": ["a", "bb", 1]}, "uniqueItems": true}"#);
    let mut limited = Matcher::with_config(&unique, &MatcherConfig::with_max_tokens(6)).unwrap();
    assert!(limited.accept_bytes(b"[").unwrap());
    for (matcher, n_examples) in [
        (after(&numbers, r#"{"a": 1, "a"#), 4),
        (after(&unique, r#"["a", "#), 2),
        (after(&unique, r#"["a", 1, "#), 1),
        (limited, 3),
    ] {
        let mut found = 0;
        for next in matcher.state().unwrap().next {
            for example in next.examples {
                found += 1;
                assert!(matcher.fork().accept_bytes(example.as_bytes()).unwrap(), "{example}");
            }
        }
        assert!(found >= n_examples, "{found}");
    }
}

#[test]
fn a_state_has_path_keywords_and_what_may_come() {
    let person = person();
    let state = after(&person, r#"{"name": "A"#).state().unwrap();
    assert_eq!(state.path.as_deref(), Some("/name"));
    let keywords: Vec<String> = state.keywords.iter().map(ToString::to_string).collect();
    assert_eq!(keywords, [r#""type": "string""#, r#""minLength": 2"#, r#""maxLength": 6"#]);
    assert_eq!(state.keywords[1].pointer, "/properties/name");
    assert_eq!(state.expected(), ["at least 1 more character"]);
    let state = after(&person, r#"{"name": "Ann", "hobbies": ["go""#).state().unwrap();
    assert_eq!(state.path.as_deref(), Some("/hobbies"));
    assert_eq!(state.expected(), ["`,`", "`]`"]);
    let state = after(&person, r#"{"name": "Ann", "hobbies": ["#).state().unwrap();
    assert_eq!(state.path.as_deref(), Some("/hobbies/0"));
    assert_eq!(state.expected(), ["`\"chess\"`", "`\"go\"`", "`\"tennis\"`", "a blank or line break"]);
    let state = after(&person, r#"{"name": "Ann", "hobbies": ["go"]}"#).state().unwrap();
    assert!(state.is_complete && state.next.is_empty(), "{state}");
    assert_eq!(state.to_string(), "expected the end of the text");
}

/// What is said must be true and be the reason: else the text is told what was expected.
#[test]
fn no_reason_is_better_than_a_wrong_one() {
    for (schema, text, why) in [
        (
            r#"{"minLength": 3, "pattern": "^a+$", "type": "string"}"#,
            r#""ab""#,
            Some(r#"at the top: "ab" does not fit "pattern": "^a+$""#),
        ),
        (
            r#"{"pattern": "^a*$", "maxLength": 3, "type": "string"}"#,
            r#""abbbbb""#,
            Some(r#"at the top: "abbbbb" does not fit "pattern": "^a*$""#),
        ),
        (
            r#"{"allOf": [{"pattern": "^a*$"}, {"minLength": 3}], "type": "string"}"#,
            r#""aa""#,
            Some(r#"at the top: "aa" has 2 characters, fewer than "minLength": 3"#),
        ),
        (
            r#"{"allOf": [{"pattern": "^a"}, {"enum": ["ab", "ac"]}]}"#,
            r#""ad""#,
            Some(r#"at the top: "ad" is not one of "enum": ["ab","ac"]"#),
        ),
        (r#"{"pattern": "^a", "not": {"const": "ab"}, "type": "string"}"#, r#""ab""#, None),
        (r#"{"minimum": 0, "maximum": 120, "type": "integer"}"#, "0500", None),
        (r#"{"minLength": 2, "type": "string"}"#, r#""a\ud800""#, None),
        (
            r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "b"]}"#,
            r#"{"a":}"#,
            None,
        ),
        (
            r#"{"type": "array", "items": {"type": "integer"}, "minItems": 2}"#,
            "[1]",
            Some(r#"at the top: 1 item, fewer than "minItems": 2"#),
        ),
        (
            r#"{"type": "array", "items": {"type": "integer"}, "maxItems": 1}"#,
            "[1,2]",
            Some(r#"at the top: 1 item is there, as many as "maxItems": 1"#),
        ),
        (
            r##"{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "type": "string",
            "definitions": {"a": {"type": "integer", "maximum": 3}}}"##,
            "5 ",
            Some(r#"at the top: 5 is above "maximum": 3"#),
        ),
        (
            r#"{"type": "object", "properties": {"name": {}, "nation": {}}, "additionalProperties": false}"#,
            r#"{"name":1,"name""#,
            Some(r#"at the top: the key "name" is there already"#),
        ),
        (
            r#"{"properties": {"a": {"type": "string", "pattern": "^a+$"}}, "additionalProperties": false, "type": "object"}"#,
            r#"{"a":"a",1"#,
            None,
        ),
    ] {
        let grammar = compiled(&GrammarSource::json_schema(schema, Default::default()));
        let told = told(&grammar, text);
        match why {
            Some(why) => assert_eq!(told, why, "{schema} {text}"),
            None => assert!(told.starts_with("expected "), "{schema} {text}: {told}"),
        }
    }
}

#[test]
fn a_tool_is_found_by_its_whole_name() {
    let tools = r#"[{"name": "search", "parameters": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]}},
        {"name": "search_web", "parameters": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 8}}, "required": ["n"]}},
        {"name": "set", "parameters": {"type": "object", "properties": {"search": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}]"#;
    let options = maskwright::tool_calls::ToolCallOptions::new("qwen_3");
    let tools = compiled(&GrammarSource::tool_calls(tools, options, Default::default()));
    let call = |name: &str, arguments: &str| {
        format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}")
    };
    assert_eq!(
        told(&tools, &call("search_web", r#"{"n": 9}"#)),
        r#"in search_web, at /n: 9 is above "maximum": 8"#
    );
    assert_eq!(after(&tools, "<tool_call>\n{").state().unwrap().place(), None, "no rules of our own");
    let state = after(&tools, &call("set", r#"{"search": {"n": "#)).state().unwrap();
    assert_eq!((state.within.as_deref(), state.path.as_deref()), (Some("set"), Some("/search/n")));
}

#[test]
fn characters_are_shown_whole() {
    let words = compiled(&GrammarSource::choice(["é", "è"]));
    assert_eq!(after(&words, "").expected().unwrap(), ["`è`", "`é`"]);
    let many = compiled(&GrammarSource::regex("[一-龥]x|y"));
    assert_eq!(after(&many, "").expected().unwrap(), ["`y`", "a character that is not of ASCII"]);
}

/// Of rules that may be read only those are named that are read in any case.
#[test]
fn rules_are_certain() {
    let source = "start: a \"x\" | b \"y\"\na: d \"p\"\nb: d \"q\"\nd: E+\nE: /[0-9]/\n";
    let grammar = compiled(&GrammarSource::lark(source, Default::default()));
    let state = after(&grammar, "1").state().unwrap();
    assert!(!state.rules.iter().any(|rule| rule == "a" || rule == "b"), "{:?}", state.rules);
}

#[test]
fn other_notations_have_words_too() {
    let date = compiled(&GrammarSource::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}"));
    assert_eq!(told(&date, "2024-1x"), "expected a digit (at least 4 more characters)");
    assert_eq!(told(&date, "2024/"), "expected `-`");
    let hexadecimal = compiled(&GrammarSource::regex("#[0-9a-f]+|[^a]{2}"));
    assert_eq!(told(&hexadecimal, "#0g0"), "expected a hexadecimal digit or the end of the text");
    let answer = compiled(&GrammarSource::choice(["yes", "no", "maybe"]));
    assert_eq!(after(&answer, "").expected().unwrap(), ["`maybe`", "`no`", "`yes`"]);
    let list = compiled(&GrammarSource::gbnf("root ::= item+\nitem ::= \"- \" [^\\n]+ \"\\n\""));
    assert_eq!(
        after(&list, "- ").expected().unwrap(),
        ["any character but a line break (at least 2 more characters)"]
    );
    let query =
        "start: \"SELECT\" columns \"FROM\" NAME\ncolumns: NAME (\",\" NAME)*\nNAME: /[a-z]+/\n%ignore \" \"";
    let query = compiled(&GrammarSource::lark(query, Default::default()));
    assert_eq!(told(&query, "SELECT a WHERE"), "expected `,` or `FROM`");
    assert_eq!(after(&query, "SELECT ").state().unwrap().to_string(), "in start > columns: expected NAME");
    let python = compiled(&GrammarSource::builtin("python"));
    assert_eq!(told(&python, "def f(x):\nreturn 1"), "expected an indented block");
}

#[test]
fn the_arguments_of_a_tool_have_a_path_of_their_own() {
    let tag = r#"{"type": "structural_tag", "format": {"type": "tag", "begin": "<function=weather>", "end": "</function>",
        "content": {"type": "json_schema", "json_schema": {"type": "object", "properties":
        {"days": {"type": "integer", "maximum": 7}}, "required": ["days"], "additionalProperties": false}}}}"#;
    let tag = compiled(&GrammarSource::structural_tag(tag, Default::default()));
    assert_eq!(
        told(&tag, r#"<function=weather>{"days": 12}"#),
        r#"in weather, at /days: 12 is above "maximum": 7"#
    );
    let state = after(&tag, r#"<function=weather>{"days": "#).state().unwrap();
    assert_eq!((state.within.as_deref(), state.path.as_deref()), (Some("weather"), Some("/days")));
    assert!(state.to_string().starts_with("in weather, at /days: expected "), "{state}");
    assert_eq!(told(&tag, r#"<function=weather>{"days": 1}</fun>"#), "expected `ction>`");
}

/// What the regions of a text are, each with its text.
fn regions(grammar: &Arc<CompiledGrammar>, text: &str) -> Vec<String> {
    regions_of(&after(grammar, text))
}

fn regions_of(matcher: &Matcher) -> Vec<String> {
    let (text, regions) = (String::from_utf8(matcher.text()).unwrap(), matcher.regions());
    let shown = |region: maskwright_engine::TextRegion| {
        let end = region.end.map_or("…", |_| "");
        let part = &text[region.start..region.end.unwrap_or(text.len())];
        format!("{} {}: {part}{end}", region.kind, region.name)
    };
    regions.into_iter().map(shown).collect()
}

#[test]
fn tags_tools_and_arguments_are_regions() {
    let tools = r#"[{"name": "a", "parameters": {"type": "object", "properties": {"x": {"type": "array"}, "y": {}}}},
        {"name": "b", "parameters": {"type": "object"}}]"#;
    let options = maskwright::tool_calls::ToolCallOptions::new("qwen_3");
    let tools = compiled(&GrammarSource::tool_calls(tools, options, Default::default()));
    let call = |name, arguments| {
        format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
    };
    let text = format!("{}\n{}", call("a", r#"{"x": ["}", 1], "y": "b"}"#), call("b", "{}"));
    assert_eq!(
        regions(&tools, &text),
        [
            "tool a: <tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": [\"}\", 1], \"y\": \"b\"}}\n</tool_call>",
            r#"argument x: ["}", 1]"#,
            r#"argument y: "b""#,
            "tool b: <tool_call>\n{\"name\": \"b\", \"arguments\": {}}\n</tool_call>",
        ]
    );
    // A name in the text before is no call.
    let cut = "I use b, not a.\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": [1, \"b";
    assert_eq!(
        regions(&tools, cut),
        ["tool a: <tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": [1, \"b…", r#"argument x: [1, "b…"#]
    );
    assert_eq!(after(&tools, cut).state().unwrap().path.as_deref(), Some("/x/1"));

    let tags = r#"{"type": "structural_tag", "format": {"type": "sequence", "elements": [
        {"type": "optional", "content":
            {"type": "tag", "begin": "<think>", "end": "</think>", "content": {"type": "any_text"}}},
        {"type": "triggered_tags", "triggers": ["<f=", "<n>", "<g>"], "tags": [
            {"type": "tag", "begin": "<f=x>", "end": ["</f>"],
                "content": {"type": "json_schema", "json_schema": {"type": "object", "properties": {"k": {"type": "integer", "maximum": 9}}}}},
            {"type": "tag", "begin": "<n>", "end": "</n>", "content": {"type": "json_schema", "json_schema": {"type": "integer"}}},
            {"type": "tag", "begin": "<g>", "end": "</g>",
                "content": {"type": "grammar", "grammar": "root ::= sum\nsum ::= term (\"+\" term)*\nterm ::= [0-9] | \"(\" sum \")\""}}]}]}}"#;
    let tags = compiled(&GrammarSource::structural_tag(tags, Default::default()));
    assert_eq!(
        regions(&tags, r#"<think>use <f=x>{ </think> so <f=x>{"k": 1}</f> <f=x>{"#),
        [
            "tag <think>: <think>use <f=x>{ </think>",
            r#"tag x: <f=x>{"k": 1}</f>"#,
            r#"argument k: 1"#,
            "tag x: <f=x>{…"
        ]
    );
    // A mark that nothing ends is text.
    let text = r#"I <think> so <f=x>{"k": 1"#;
    assert_eq!(regions(&tags, text), [r#"tag x: <f=x>{"k": 1…"#, r#"argument k: 1…"#]);
    assert_eq!(told(&tags, &format!("{text}0}}")), r#"in x, at /k: 10 is above "maximum": 9"#);
    // A number ends where the tag does.
    assert_eq!(regions(&tags, "<n>5</n><f=x>{"), ["tag <n>: <n>5</n>", "tag x: <f=x>{…"]);
    // The rules of a grammar in a tag are the user's.
    let rules = after(&tags, "so <g>(1+(3").state().unwrap().rules;
    assert_eq!(rules, ["sum", "term", "sum", "term"]);
}

/// A grammar of a structural tag.
fn tagged(format: &str) -> Arc<CompiledGrammar> {
    let tag = format!(r#"{{"type": "structural_tag", "format": {format}}}"#);
    compiled(&GrammarSource::structural_tag(tag, Default::default()))
}

/// What the state says a text is within, and the path.
fn place(grammar: &Arc<CompiledGrammar>, text: &str) -> (Option<String>, Option<String>) {
    let state = after(grammar, text).state().unwrap();
    (state.within, state.path)
}

#[test]
fn what_only_looks_like_a_call_is_none() {
    let object = r#"{"type": "json_schema", "json_schema": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}}"#;
    let some = |name: &str, path: &str| (Some(name.to_owned()), Some(path.to_owned()));
    let call = format!(r#"{{"type": "tag", "begin": "<f=a>", "content": {object}, "end": "</f>"}}"#);
    // Free text may hold any mark.
    let thinks = tagged(&format!(
        r#"{{"type": "sequence", "elements": [
            {{"type": "tag", "begin": "<think>", "content": {{"type": "any_text"}}, "end": "</think>"}},
            {{"type": "triggered_tags", "triggers": ["<f="], "tags": [{call}]}}]}}"#
    ));
    assert_eq!(place(&thinks, r#"<think>I call <f=a>{"n": "#), (None, None));
    assert_eq!(place(&thinks, r#"<think>I call <f=a>{"n": 99</think><f=a>{"n": "#), some("a", "/n"));
    let either = tagged(&format!(r#"{{"type": "or", "elements": [{{"type": "any_text"}}, {call}]}}"#));
    assert_eq!(place(&either, r#"say <f=a>{"n": "#), (None, None));
    // One of two contents, of which one is text.
    let content = format!(r#"{{"type": "or", "elements": [{object}, {{"type": "any_text"}}]}}"#);
    let mixed = tagged(&format!(r#"{{"type": "tag", "begin": "<a>", "content": {content}, "end": "</a>"}}"#));
    assert_eq!(place(&mixed, "<a>hello"), (None, None));
    // Texts before a value belong to its mark.
    let array = format!(
        r#"{{"type": "json_schema", "json_schema": {{"type": "array", "items": {}}}}}"#,
        &object[39..object.len() - 1]
    );
    let content = format!(
        r#"{{"type": "sequence", "elements": [{{"type": "const_string", "value": "{{x}}="}}, {array}]}}"#
    );
    let prefixed =
        tagged(&format!(r#"{{"type": "tag", "begin": "<a>", "content": {content}, "end": "</a>"}}"#));
    assert_eq!(place(&prefixed, r#"<a>{x}=[{"n": "#), some("<a>", "/0/n"));
    // An older form.
    let old = r#"{"structures": [{"begin": "<f=a>", "schema": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}},
        "end": "</f>"}], "triggers": ["<f="]}"#;
    let old = compiled(&GrammarSource::structural_tag(old, Default::default()));
    assert_eq!(place(&old, r#"so <f=a>{"n": "#), some("a", "/n"));
    // Of two tags that begin alike nothing is said until the text is of one of them.
    let alike = r#"{"type": "tag", "begin": "<f=a>", "end": "</f>", "content": {"type": "json_schema",
        "json_schema": {"type": "object", "properties": {"n": false}}}}"#;
    let third = call.replace("<f=a>", "<g>");
    let same = tagged(&format!(r#"{{"type": "or", "elements": [{call}, {alike}, {third}]}}"#));
    assert_eq!(place(&same, r#"<f=a>{"n": 1"#), some("a", "/n"));
    assert_eq!(place(&same, r#"<f=a>{"x": "<g>{"#), (None, None));
    assert_eq!(place(&same, r#"<g>{"n": 1"#), some("<g>", "/n"));
    // Long texts of marks that nothing ends.
    let open = tagged(
        r#"{"type": "sequence", "elements": [{"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}]}"#,
    );
    let matcher = after(&open, &"<a>".repeat(40_000));
    let start = std::time::Instant::now();
    matcher.state().unwrap();
    assert!(start.elapsed().as_secs() < 2, "{:?}", start.elapsed());
}

const TWO_TOOLS: &str = r#"[
    {"name": "get", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}, "required": ["n"], "additionalProperties": false}},
    {"name": "get_more", "inputSchema": {"type": "object", "properties": {"id": {"type": "integer", "minimum": 20, "maximum": 99},
        "s": {"type": "string", "minLength": 2}}, "required": ["id", "s"], "additionalProperties": false}}]"#;

/// In every format: the shortest call of a tool names no other tool, and most formats of JSON name the place.
#[test]
fn calls_of_every_format_have_their_own_tool() {
    let mut n_named = 0;
    let formats: Vec<&str> = maskwright::tool_calls::tool_formats().map(|format| format.name).collect();
    for name in &formats {
        let mut options = maskwright::tool_calls::ToolCallOptions::new(*name);
        options.tool_choice = "get_more".to_owned();
        let one = compiled(&GrammarSource::tool_calls(TWO_TOOLS, options.clone(), Default::default()));
        let shortest = one.matcher();
        let text = shortest.finish().unwrap();
        options.tool_choice = "required".to_owned();
        let both = compiled(&GrammarSource::tool_calls(TWO_TOOLS, options, Default::default()));
        let mut matcher = both.matcher();
        let mut paths = Vec::new();
        for &id in &text {
            let state = matcher.state().unwrap();
            if let (Some(within), Some(path)) = (&state.within, &state.path) {
                assert_eq!(within, "get_more", "{name}: {}", String::from_utf8_lossy(&matcher.text()));
                paths.push(path.clone());
            }
            assert!(matcher.accept_token(id).unwrap());
        }
        // All have brackets.
        let told = regions_of(&matcher);
        let call = told.iter().any(|region| region.starts_with("tool get_more: "));
        let id = told.iter().any(|region| {
            region.starts_with("argument id: ") && region.contains(|c: char| c.is_ascii_digit())
        });
        assert!(
            call && id && told.iter().any(|region| region.starts_with("argument s: ")),
            "{name}: {told:?}"
        );
        n_named +=
            usize::from(paths.iter().any(|path| path == "/id") && paths.iter().any(|path| path == "/s"));
    }
    assert!(n_named >= 25, "{n_named} of {}", formats.len());
}

/// A tool whose schema cannot be enforced takes any JSON, so its keywords are no reasons.
#[test]
fn tools_that_take_any_json_have_no_keywords() {
    let tools = r#"[{"name": "a", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 7, "maximum": 5}}, "required": ["n"]}},
        {"name": "b", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}}}]"#;
    let mut options = maskwright::tool_calls::ToolCallOptions::new("qwen_3");
    options.on_error = maskwright::tool_calls::OnError::AnyJson;
    let grammar = compiled(&GrammarSource::tool_calls(tools, options, Default::default()));
    let call = |name| format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{\"n\": ");
    assert_eq!(place(&grammar, &call("a")), (None, None));
    assert_eq!(place(&grammar, &call("b")), (Some("b".to_owned()), Some("/n".to_owned())));
}

#[test]
fn limits_on_tokens_are_told_apart_from_the_grammar() {
    let number = compiled(&GrammarSource::regex("a[0-9]{3}|b"));
    let mut matcher = Matcher::with_config(&number, &MatcherConfig::with_max_tokens(3)).unwrap();
    let why = matcher.explain(TokenId(u32::from(b'a'))).unwrap();
    assert_eq!(
        why,
        "token 97 `a` is refused: the text could not be completed within the tokens that are left"
    );
    assert!(matcher.accept_token(TokenId(u32::from(b'b'))).unwrap());
    assert_eq!(
        matcher.explain(TokenId(u32::from(b' '))).unwrap(),
        "token 32 ` ` is refused: ` ` cannot come here, expected the end of the text"
    );
}

/// No automaton is shown, whatever text a grammar has read.
#[test]
fn hostile_texts_are_told_in_words() {
    let anything = compiled(&GrammarSource::json_schema("{}", Default::default()));
    for text in ["{\"\\u00", "[[[[[[", "{\"a\": {\"b\": [1, {\"", "\"\u{202e}\u{0}"] {
        let mut matcher = anything.matcher();
        let n_read = text.bytes().take_while(|&byte| matcher.accept_bytes(&[byte]).unwrap()).count();
        let state = matcher.state().unwrap();
        assert!(
            !state.expected().is_empty() && !state.to_string().contains("\\x"),
            "{text:?} {n_read}: {state}"
        );
        let _ = matcher.refusal(&[0xFF, 0, b'{', 0x80]);
    }
}

/// Why a template or canvas cannot be filled, after what can be.
#[test]
fn holes_that_cannot_be_filled_say_why() {
    let person = person();
    let text = |text: &str| Part::Text(text.as_bytes().to_vec());
    let any = Part::Hole(Hole::Any);
    for (parts, why) in [
        (
            vec![text(r#"{"name": "Ann", "hobbies": ["go"], "age": 200, "#), any.clone()],
            r#""hobbies": ["go"], "age": 20⟂0, `; at /age: 200 is above "maximum": 120"#,
        ),
        (
            vec![text(r#"{"name": ""#), any.clone(), text(r#"", "hobbies": ["chess", "polo"]}"#)],
            r#"", "hobbies": ["chess", "⟂polo"]}`; after `{"name":"#,
        ),
        (
            vec![text(r#"{"name":3"#), any.clone()],
            r#"{"name":⟂3`; at /name: a number is not of "type": "string""#,
        ),
        (
            vec![text("{"), Part::Hole(Hole::Exactly(1)), text("}")],
            r#"⟂}`; after `{"`: at the top: "}…" is none of"#,
        ),
    ] {
        let told = person.template(parts).unwrap().why_impossible().unwrap().unwrap();
        assert!(told.contains(why), "{told}");
    }
    // Characters are shown whole.
    let greeting = compiled(&GrammarSource::regex("(Привет, мир! )*"));
    let told = greeting.template(vec![text(&("Привет, мир! ".repeat(5) + "ж"))]).unwrap().why_impossible();
    assert!(told.clone().unwrap().unwrap().contains("мир! ⟂ж`; expected"), "{told:?}");
    assert!(!told.unwrap().unwrap().contains('\u{fffd}'));
    let date = compiled(&GrammarSource::regex("[0-9]{4}-[0-9]{2}"));
    let positions: Vec<Option<TokenId>> =
        "20..-1x".bytes().map(|byte| (byte != b'.').then_some(TokenId(u32::from(byte)))).collect();
    let mut canvas = date.canvas(&positions).unwrap();
    let told = canvas.why_impossible().unwrap().unwrap();
    assert!(told.contains("-1⟂x`; after `20") && told.ends_with("-1`: expected a digit"), "{told}");
}

/// A line feed in a string was told as "expected any character", a byte that begins no character as a pattern
/// that it breaks, and a pattern as what a length refuses.
#[test]
fn reasons_that_were_false_are_true() {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.push(b"</s>".to_vec());
    let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap();
    let why = |source: &GrammarSource, text: &str, byte: u8| {
        let grammar = Compiler::new(&tokenizer).compile(source, &CompileOptions::default()).unwrap();
        let mut matcher = Matcher::new(&grammar);
        assert!(matcher.accept_bytes(text.as_bytes()).unwrap(), "{text}");
        matcher.why_refused(TokenId(byte.into())).unwrap().unwrap()
    };
    for (schema, text, byte, expected) in [
        (r#"{"type": "string"}"#, "\"a", b'\n', "at the top: a line feed is written `\\n` in a string"),
        (r#"{"type": "string"}"#, "\"a", b'\t', "at the top: a tab is written `\\t` in a string"),
        (
            r#"{"type": "string"}"#,
            "\"",
            1,
            "at the top: the control character U+0001 is written `\\u0001` in a string",
        ),
        (r#"{}"#, "{\"k", b'\r', "at the top: a carriage return is written `\\r` in a string"),
        (r#"{"type": "string", "pattern": "^a"}"#, "\"a", 0x9f, "the byte 0x9F begins no character"),
        (r#"{"type": "string"}"#, "\"", 0xff, "it has the byte 0xFF, which is in no text"),
        (
            r#"{"type": "string", "pattern": "é", "maxLength": 1}"#,
            "\"",
            b'/',
            r#"at the top: "/… does not fit "pattern": "é" and "maxLength": 1 together"#,
        ),
        (
            r#"{"type": "string", "pattern": "^a+$", "maxLength": 9}"#,
            "\"",
            b'b',
            r#"at the top: "b… does not fit "pattern": "^a+$""#,
        ),
    ] {
        let source = GrammarSource::json_schema(schema, Default::default());
        assert_eq!(why(&source, text, byte), expected, "{schema}");
    }
    let grammar = GrammarSource::gbnf(r#"root ::= "\"" [^"\\\x00-\x1f]* "\"" "#);
    assert_eq!(
        why(&grammar, "\"a", b'\n'),
        "`\\n` cannot come here, expected `\"` or any character but `\"`, `\\` and control characters"
    );
    // Long ways and unseen characters.
    let text = "{\"key\u{2028}\u{7f}\":".repeat(200);
    let told = why(&GrammarSource::json_schema("{}", Default::default()), &text[..text.len() - 1], b'x');
    assert!(told.len() < 600 && !told.contains(['\u{2028}', '\u{7f}']), "{told}");
}

#[test]
fn one_token_is_no_tokens() {
    let grammar = compiled(&GrammarSource::choice(["a"]));
    let told = |limit| {
        Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(limit)).unwrap_err().to_string()
    };
    assert!(told(1).starts_with("1 token is too few for the grammar: 2 are enough"), "{}", told(1));
    assert!(told(0).starts_with("0 tokens are too few for the grammar:"), "{}", told(0));
    let mut matcher = grammar.matcher();
    assert!(matcher.rollback(1).unwrap_err().to_string().starts_with("cannot roll back 1 token: only 0"));
}
