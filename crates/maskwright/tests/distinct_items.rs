//! Arrays whose items all differ: masks against every word of small languages, and against the session itself,
//! token by token, on random walks, which never end in a dead end.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::collections::BTreeSet;

use maskwright::{CompileOptions, Compiler, Matcher, SchemaConfig, TokenId, Tokenizer, Whitespace};
use serde_json::{Value, json};

const TOKENS: [&str; 30] = [
    "\",\"",
    "\"]",
    "[\"",
    "\", \"",
    "{\"a\":",
    "{\"a\":\"",
    "\"}",
    "\"},",
    "\"},{\"",
    "},",
    "}]",
    "],[",
    "[[",
    "]]",
    "1,",
    ",1",
    "1,1",
    "11",
    ",2]",
    "[1,",
    "true",
    "false",
    "true,",
    ",true",
    "e,",
    ", ",
    ".0",
    "null,",
    "\\u",
    "aa",
];

fn tokenizer() -> (Tokenizer, u32) {
    let mut tokens: Vec<Vec<u8>> = (b' '..=b'~').map(|byte| vec![byte]).collect();
    tokens.push(b"\n".to_vec());
    tokens.extend(TOKENS.map(|token| token.as_bytes().to_vec()));
    let end = tokens.len() as u32;
    tokens.push(b"</s>".to_vec());
    (Tokenizer::from_tokens(tokens, &[end]).unwrap(), end)
}

fn matcher(schema: &Value, whitespace: Whitespace) -> (Matcher, Tokenizer, u32) {
    let (tokenizer, end) = tokenizer();
    let config = SchemaConfig { whitespace, ..SchemaConfig::default() };
    let compiler = Compiler::new(&tokenizer);
    let compiled =
        compiler.compile_json_schema(&schema.to_string(), &config, &CompileOptions::default()).unwrap();
    assert!(compiled.report.is_complete(), "{schema}");
    (Matcher::new(&compiled.grammar), tokenizer, end)
}

/// The mask at the end of each beginning of each word, against the words.
fn check_words(schema: &Value, words: &[&str]) {
    let (matcher, tokenizer, end) = matcher(schema, Whitespace::Compact);
    let beginnings: BTreeSet<&str> =
        words.iter().flat_map(|word| (0..=word.len()).map(|length| &word[..length])).collect();
    for beginning in beginnings {
        let mut matcher = matcher.fork();
        assert!(matcher.accept_bytes(beginning.as_bytes()).unwrap(), "{schema} {beginning}");
        let mask = matcher.mask().unwrap();
        for id in 0..=end {
            let is_allowed = if id == end {
                words.contains(&beginning)
            } else {
                let text = tokenizer.vocabulary().token_bytes(TokenId(id)).unwrap();
                words.iter().any(|word| {
                    word.strip_prefix(beginning).is_some_and(|rest| rest.as_bytes().starts_with(text))
                })
            };
            let spelled = tokenizer.vocabulary().token_bytes(TokenId(id)).unwrap_or_default().escape_ascii();
            assert_eq!(mask.contains(TokenId(id)), is_allowed, "{schema} {beginning} {spelled}");
            assert_eq!(
                matcher.fork().accept_token(TokenId(id)).unwrap(),
                is_allowed,
                "{schema} {beginning} {spelled}"
            );
        }
    }
}

#[test]
fn masks_are_those_of_the_words() {
    let object = json!({"type": "object", "properties": {"a": {"enum": ["x", "xy"]}}, "required": ["a"], "additionalProperties": false});
    let (x, xy) = (r#"{"a":"x"}"#, r#"{"a":"xy"}"#);
    let lists =
        ["[]".to_owned(), format!("[{x}]"), format!("[{xy}]"), format!("[{x},{xy}]"), format!("[{xy},{x}]")];
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    check_words(&json!({"type": "array", "items": object, "uniqueItems": true}), &lists);
    let schema = json!({"type": "array", "prefixItems": [{"type": "boolean"}, {"enum": [true]}], "items": false, "uniqueItems": true});
    check_words(&schema, &["[]", "[true]", "[false]", "[false,true]"]);
    let bit = json!({"type": "array", "items": {"enum": ["1"]}, "uniqueItems": true});
    let schema = json!({"type": "array", "items": bit, "uniqueItems": true});
    check_words(&schema, &["[]", "[[]]", "[[\"1\"]]", "[[],[\"1\"]]", "[[\"1\"],[]]"]);
}

/// xorshift64*: the walks are the same on every machine.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
}

fn has_distinct_items(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            (0..items.len()).all(|i| !items[..i].contains(&items[i])) && items.iter().all(has_distinct_items)
        }
        Value::Object(members) => members.values().all(has_distinct_items),
        _ => true,
    }
}

#[test]
fn random_walks_end_with_items_that_differ() {
    let schemas = [
        json!({"type": "array", "items": {"type": "string", "pattern": "^[ab]{0,2}$"}, "uniqueItems": true}),
        json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 30}, "uniqueItems": true}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "array", "uniqueItems": true, "maxItems": 2, "items": {"type": "boolean"}}}),
        json!({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}}}, "required": ["a"], "additionalProperties": false}),
        json!({"type": "array", "items": {"type": "string", "maxLength": 1, "pattern": "^[ab]*$"}, "contains": {"const": "a"}, "uniqueItems": true}),
    ];
    for (number, schema) in schemas.iter().enumerate() {
        for whitespace in [Whitespace::Compact, Whitespace::Flexible] {
            let (start, tokenizer, end) = matcher(schema, whitespace);
            for walk in 0..6 {
                let mut random = 1 + walk + 100 * number as u64;
                let mut matcher = start.fork();
                let mut text = Vec::new();
                loop {
                    let mask = matcher.mask().unwrap();
                    for id in 0..=end {
                        let is_allowed = matcher.validate_tokens(&[TokenId(id)]).unwrap() == 1;
                        assert_eq!(
                            mask.contains(TokenId(id)),
                            is_allowed,
                            "{schema} {} {id}",
                            text.escape_ascii()
                        );
                    }
                    let allowed: Vec<TokenId> = mask.iter().collect();
                    assert!(!allowed.is_empty(), "{schema} {}: a dead end", text.escape_ascii());
                    // Long texts are led to their end.
                    let closing = allowed.iter().copied().find(|&token| {
                        let bytes = tokenizer.vocabulary().token_bytes(token).unwrap_or(b"]");
                        text.len() > 60 && bytes.iter().any(|byte| b"]}\"".contains(byte)) && bytes.len() == 1
                    });
                    let token = closing.unwrap_or(allowed[next(&mut random) as usize % allowed.len()]);
                    assert!(matcher.accept_token(token).unwrap());
                    if token.0 == end {
                        break;
                    }
                    text.extend_from_slice(tokenizer.vocabulary().token_bytes(token).unwrap());
                    assert!(text.len() < 2_000, "{schema} {}", text.escape_ascii());
                }
                let value: Value = serde_json::from_slice(&text).unwrap();
                assert!(has_distinct_items(&value), "{schema} {value}");
            }
        }
    }
}

#[test]
fn what_a_session_remembers_goes_back_with_it() {
    let schema = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
    let (mut matcher, _, _) = matcher(&schema, Whitespace::Compact);
    assert!(matcher.accept_bytes(b"[\"a\",").unwrap());
    let mut fork = matcher.fork();
    assert!(fork.accept_bytes(b"\"b\",").unwrap());
    assert!(
        !fork.accept_bytes(b"\"b\"").unwrap() && fork.accept_bytes(b"\"c\"]").unwrap() && fork.is_accepting()
    );
    assert!(!matcher.accept_bytes(b"\"a\"").unwrap() && matcher.accept_bytes(b"\"b\"").unwrap());
    matcher.rollback(2).unwrap();
    assert!(matcher.accept_bytes(b"[\"b\",\"a\"]").unwrap() && matcher.is_accepting());
    assert!(matcher.tokens_to_finish().is_err(), "a budget is refused in words, not guessed");
}
