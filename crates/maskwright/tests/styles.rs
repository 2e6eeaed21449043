//! The cases of argument styles, token by token: what is in the language is never masked, and mask and
//! session agree.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use maskwright::json_schema::{Numbers, PropertyOrder, SchemaConfig, Style, Whitespace};
use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
use serde::Deserialize;
use serde_json::Value;

/// Tokens across the edges of names, values and marks.
const TOKENS: [&str; 22] = [
    "</parameter>",
    "</parameter>\n<parameter=",
    "</",
    "x</",
    "parameter",
    ">\n",
    "\">",
    "Berlin</parameter>",
    "</arg_value><arg_key>",
    "</arg_key><arg_value>",
    "1</arg_value>",
    "<cofl:value name=\"",
    "\" type=\"raw\">",
    "</cofl:value></cofl:value>",
    "<|close|>argument<|sep|>",
    "<|close|>",
    "argument",
    "｜DSML｜",
    "</｜DSML｜parameter>",
    " string=\"true\">",
    "true",
    "  ",
];

fn texts<'v>(case: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    case[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap())
}

/// The longest token that `text` begins with.
fn longest(tokens: &[Vec<u8>], text: &[u8]) -> (TokenId, usize) {
    let (id, token) = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| text.starts_with(token))
        .max_by_key(|(_, t)| t.len())
        .unwrap();
    (TokenId(id as u32), token.len())
}

#[test]
fn masks_and_sessions_agree_along_every_case() {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.extend(TOKENS.map(|token| token.as_bytes().to_vec()));
    let end = tokens.len() as u32;
    let mut all = tokens.clone();
    all.push(b"</s>".to_vec());
    let compiler = Compiler::new(&Tokenizer::from_tokens(all, &[TokenId(end)]).unwrap());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/json-schema/styles.jsonl");
    let (mut n_texts, mut n_places) = (0, 0);
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case.get("error").is_some() {
            continue;
        }
        let mut config = SchemaConfig::default();
        config.style = Style::deserialize(&case["style"]).unwrap();
        config.strict = case["lenient"] != true;
        config.numbers = Numbers::Any;
        config.whitespace = match &case["whitespace"] {
            Value::Number(most) => Whitespace::AtMost(most.as_u64().unwrap().try_into().unwrap()),
            Value::String(name) if name == "any" => Whitespace::Any,
            Value::String(_) => Whitespace::Compact,
            _ => Whitespace::Flexible,
        };
        if case["property_order"] == "any" {
            config.property_order = PropertyOrder::Any;
        }
        let source = GrammarSource::json_schema(case["schema"].to_string(), config);
        let grammar = compiler.compile(&source, &CompileOptions::default()).unwrap();
        let saved = compiler.deserialize(&grammar.serialize().unwrap(), &CompileOptions::default()).unwrap();
        for (key, is_word) in [("yes", true), ("no", false)] {
            for text in texts(&case, key) {
                n_texts += 1;
                let mut matcher = Matcher::new(&grammar);
                let mut at = 0;
                loop {
                    let mask = matcher.mask().unwrap();
                    n_places += 1;
                    for id in (0..=end).map(TokenId) {
                        let is_taken = matcher.fork().accept_token(id).unwrap();
                        assert_eq!(mask.contains(id), is_taken, "{} {text} at {at}: {id:?}", case["name"]);
                    }
                    if at == text.len() {
                        break;
                    }
                    let (id, len) = longest(&tokens, &text.as_bytes()[at..]);
                    if !matcher.accept_token(id).unwrap() {
                        break;
                    }
                    at += len;
                }
                let is_read = at == text.len() && matcher.is_accepting();
                assert_eq!(is_read, is_word, "{}: {text} should be a `{key}`", case["name"]);
                let mut matcher = Matcher::new(&saved);
                let is_read = matcher.accept_bytes(text.as_bytes()).unwrap() && matcher.is_accepting();
                assert_eq!(is_read, is_word, "saved: {}: {text}", case["name"]);
            }
        }
    }
    assert!(n_texts > 1_000 && n_places > 10_000, "only {n_texts} texts, {n_places} places");
}
