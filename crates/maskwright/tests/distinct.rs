//! Items that all differ and keys that occur once: masks, with and without a limit on tokens, against every
//! word of small languages, and against the session itself, token by token, on random walks, which never end
//! in a dead end.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::collections::BTreeSet;

use maskwright::json_schema::{SchemaConfig, Whitespace};
use maskwright::{
    CompileOptions, Compiler, GrammarSource, MaskStatus, Matcher, MatcherConfig, TokenCountStatus, TokenId,
    Tokenizer,
};
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde_json::{Value, json};

const TOKENS: [&str; 42] = [
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
    "\":",
    "\":true,",
    "\":true,\"a",
    "\":true,\"",
    ",\"a",
    ",\"b\":true",
    "{\"a\":true,\"a\":",
    "{\"b\":true,\"a\":true}",
    "\":true}",
    "\\u006",
    ":true",
    "\"a\":true,",
];

fn tokenizer() -> (Tokenizer, u32) {
    let mut tokens: Vec<Vec<u8>> = (b' '..=b'~').map(|byte| vec![byte]).collect();
    tokens.push(b"\n".to_vec());
    tokens.extend(TOKENS.map(|token| token.as_bytes().to_vec()));
    let end = tokens.len() as u32;
    tokens.push(b"</s>".to_vec());
    (Tokenizer::from_tokens(tokens, &[TokenId(end)]).unwrap(), end)
}

fn matcher(schema: &Value, whitespace: Whitespace) -> (Matcher, Tokenizer, u32) {
    let (tokenizer, end) = tokenizer();
    let mut config = SchemaConfig::default();
    config.whitespace = whitespace;
    let compiler = Compiler::new(&tokenizer);
    let compiled = compiler
        .compile(&GrammarSource::json_schema(schema.to_string(), config), &CompileOptions::default())
        .unwrap();
    assert!(compiled.report().unwrap().is_complete(), "{schema}");
    (Matcher::new(&compiled), tokenizer, end)
}

/// The least number of tokens that spell each end of `word`, by its start.
fn spelled(word: &[u8], tokenizer: &Tokenizer, end: u32) -> Vec<usize> {
    let mut least = vec![usize::MAX; word.len() + 1];
    least[word.len()] = 0;
    for start in (0..word.len()).rev() {
        for id in 0..end {
            let token = tokenizer.vocabulary().token_bytes(TokenId(id)).unwrap();
            if word[start..].starts_with(token) {
                least[start] = least[start].min(least[start + token.len()].saturating_add(1));
            }
        }
    }
    least
}

/// The mask at the end of each beginning of each word, against the words, at every limit on tokens.
fn check_words(schema: &Value, words: &[&str]) {
    let (start, tokenizer, end) = matcher(schema, Whitespace::Compact);
    let lengths: Vec<Vec<usize>> =
        words.iter().map(|word| spelled(word.as_bytes(), &tokenizer, end)).collect();
    let tokens_after = |text: &str| {
        let rests = words.iter().zip(&lengths).filter(|(word, _)| word.starts_with(text));
        rests.map(|(_, length)| length[text.len()] + 1).min()
    };
    let beginnings: BTreeSet<&str> =
        words.iter().flat_map(|word| (0..=word.len()).map(|length| &word[..length])).collect();
    for beginning in beginnings {
        let mut matcher = start.fork();
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
        let least = matcher.tokens_to_finish().unwrap();
        let expected = tokens_after(beginning).unwrap();
        let is_right = match least.status {
            TokenCountStatus::Exact => least.n_tokens == expected,
            TokenCountStatus::Upper => least.n_tokens >= expected,
        };
        assert!(is_right, "{schema} {beginning}: {least:?} instead of {expected}");
        for n_left in least.n_tokens..least.n_tokens + 4 {
            let Some(mut limited) = start_within(&start, beginning, n_left) else { continue };
            let mask = limited.mask().unwrap();
            let is_exact = limited.mask_status() == MaskStatus::Exact;
            for id in 0..end {
                let text = tokenizer.vocabulary().token_bytes(TokenId(id)).unwrap();
                let text = format!("{beginning}{}", std::str::from_utf8(text).unwrap());
                let is_allowed = tokens_after(&text).is_some_and(|after| after < n_left);
                let is_given = mask.contains(TokenId(id));
                assert!(is_given == is_allowed || !is_exact && !is_given, "{schema} {text} {n_left}");
                assert_eq!(
                    limited.fork().accept_token(TokenId(id)).unwrap(),
                    is_given,
                    "{schema} {text} {n_left}"
                );
            }
            assert_eq!(mask.contains(TokenId(end)), words.contains(&beginning));
            assert!(!mask.is_empty(), "{schema} {beginning} {n_left}: a dead end");
            let completion = limited.finish().unwrap();
            assert!(completion.len() <= n_left, "{schema} {beginning} {n_left}");
            assert_eq!(limited.accept_tokens(&completion).unwrap(), completion.len());
        }
    }
}

/// A session behind `beginning`, written byte by byte, with so many tokens left; `None` if it does not take
/// that way.
fn start_within(start: &Matcher, beginning: &str, n_left: usize) -> Option<Matcher> {
    let limit = Some(beginning.len() + n_left);
    let mut matcher = Matcher::with_config(start.grammar(), &MatcherConfig::with_max_tokens(limit)).ok()?;
    let mut bytes = beginning.bytes();
    bytes.all(|byte| matcher.accept_token(TokenId(u32::from(byte - b' '))).unwrap()).then_some(matcher)
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
    let schema = json!({"type": "array", "items": {"enum": ["1", "11", "2"]}, "contains": {"const": "11"}, "uniqueItems": true});
    let mut words = Vec::new();
    for first in ["1", "11", "2"] {
        words.push(format!("[\"{first}\"]"));
        for second in ["1", "11", "2"].into_iter().filter(|&second| second != first) {
            words.push(format!("[\"{first}\",\"{second}\"]"));
            for third in ["1", "11", "2"].into_iter().filter(|third| ![first, second].contains(third)) {
                words.push(format!("[\"{first}\",\"{second}\",\"{third}\"]"));
            }
        }
    }
    words.retain(|word| word.contains("11"));
    check_words(&schema, &words.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn few_keys_are_used_up() {
    let few = |pattern: &str, min: u32| json!({"type": "object", "patternProperties": {pattern: {"enum": [true]}}, "additionalProperties": false, "minProperties": min});
    let (a, b) = (r#""a":true"#, r#""b":true"#);
    let one = [format!("{{{a}}}"), format!("{{{b}}}")];
    let two = [format!("{{{a},{b}}}"), format!("{{{b},{a}}}")];
    let words: Vec<&str> = one.iter().chain(&two).map(String::as_str).collect();
    check_words(&few("^[ab]$", 1), &words);
    check_words(&few("^[ab]$", 2), &words[2..]);
    check_words(&few("^a$", 0), &["{}", r#"{"a":true}"#]);
    let named = json!({"type": "object", "properties": {"a": {"enum": [true]}}, "patternProperties": {"^b?$": {"enum": [false]}}, "additionalProperties": false, "required": ["a"], "minProperties": 2});
    check_words(
        &named,
        &[
            r#"{"a":true,"":false}"#,
            r#"{"a":true,"b":false}"#,
            r#"{"a":true,"":false,"b":false}"#,
            r#"{"a":true,"b":false,"":false}"#,
        ],
    );
    let (tokenizer, _) = tokenizer();
    let error = Compiler::new(&tokenizer)
        .compile(
            &GrammarSource::json_schema(few("^[ab]$", 3).to_string(), SchemaConfig::default()),
            &CompileOptions::default(),
        )
        .err()
        .unwrap();
    assert!(error.to_string().contains("no value satisfies it"), "{error}");
    let must = json!({"type": "object", "properties": {"x": {"enum": [true]}}, "patternProperties": {"^a$": {"enum": [true]}}, "additionalProperties": false, "minProperties": 2});
    check_words(&must, &[r#"{"x":true,"a":true}"#]);
    // Of the other keys, which are many, none has a value.
    let both = |min: u32| {
        json!({"type": "object", "minProperties": min, "allOf": [
            {"additionalProperties": {"enum": ["1"]}},
            {"patternProperties": {"^a$": true}, "additionalProperties": {"enum": [true]}},
        ]})
    };
    check_words(&both(0), &["{}", r#"{"a":"1"}"#]);
    assert!(
        Compiler::new(&tokenizer)
            .compile(
                &GrammarSource::json_schema(both(2).to_string(), SchemaConfig::default()),
                &CompileOptions::default()
            )
            .is_err()
    );
    // Nested: what the inner object has used up is nothing to the outer one.
    let inner = few("^a$", 0);
    let nested =
        json!({"type": "object", "patternProperties": {"^[ab]$": inner}, "additionalProperties": false});
    let values = ["{}", r#"{"a":true}"#];
    let mut words = vec!["{}".to_owned()];
    for first in ["a", "b"] {
        for value in values {
            words.push(format!("{{\"{first}\":{value}}}"));
            for other in values {
                let second = if first == "a" { "b" } else { "a" };
                words.push(format!("{{\"{first}\":{value},\"{second}\":{other}}}"));
            }
        }
    }
    check_words(&nested, &words.iter().map(String::as_str).collect::<Vec<_>>());
}

/// All ways to write between `least` and `most` of `parts`, each once, in any order.
fn arrangements(parts: &[String], least: usize, most: usize) -> Vec<Vec<&str>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while let Some(before) = all.get(at).cloned() {
        if before.len() < most {
            let others = parts.iter().map(String::as_str).filter(|part| !before.contains(part));
            let longer: Vec<Vec<&str>> = others.map(|part| [&before[..], &[part]].concat()).collect();
            all.extend(longer);
        }
        at += 1;
    }
    all.retain(|parts| parts.len() >= least);
    all
}

/// A schema of few words, and these: an array of items that differ, or an object of keys that do.
fn arb_language() -> impl Strategy<Value = (Value, Vec<String>)> {
    let items =
        ["\"a\"", "\"aa\"", "\"1\"", "\"11\"", "true", "false", "null", "[]", "{\"a\":true}", "[\"1\"]"];
    let arrays = (subsequence(items.to_vec(), 1..=3), 0usize..3, 1usize..3, any::<bool>());
    let arrays = arrays.prop_map(|(items, least, more, is_within)| {
        let items: Vec<String> = items.into_iter().map(str::to_owned).collect();
        let (least, most) = (least.min(items.len()), (least + more).min(3));
        let values: Vec<Value> = items.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
        let array = json!({"type": "array", "items": {"enum": values}, "uniqueItems": true, "minItems": least, "maxItems": most});
        let words = arrangements(&items, least, most);
        let words = words.iter().map(|items| format!("[{}]", items.join(",")));
        match is_within {
            false => (array, words.collect()),
            true => (
                json!({"type": "object", "properties": {"a": array}, "required": ["a"], "additionalProperties": false}),
                words.map(|word| format!("{{\"a\":{word}}}")).collect(),
            ),
        }
    });
    let keys = ["a", "b", "aa", "ab", "", "1"];
    let objects = (subsequence(keys.to_vec(), 1..=3), 0usize..3, 1usize..3, any::<bool>());
    let objects = objects.prop_map(|(keys, least, more, value)| {
        let (least, most) = (least.min(keys.len()), (least + more).min(3));
        let pattern = format!("^({})$", keys.join("|"));
        let schema = json!({"type": "object", "patternProperties": {pattern: {"enum": [value]}}, "additionalProperties": false, "minProperties": least, "maxProperties": most});
        let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":{value}")).collect();
        let words = arrangements(&members, least, most);
        (schema, words.iter().map(|members| format!("{{{}}}", members.join(","))).collect())
    });
    prop_oneof![arrays, objects]
}

/// `PROPTEST_CASES=10000 cargo test --release -p maskwright --test distinct random_languages` runs the full
/// campaign.
#[test]
fn random_languages_of_few_words() {
    let cases = maskwright_oracle::cases(30);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let (tokenizer, _) = tokenizer();
    let compiler = Compiler::new(&tokenizer);
    let judge = |(schema, words): (Value, Vec<String>)| {
        let source = GrammarSource::json_schema(schema.to_string(), SchemaConfig::default());
        if compiler.compile(&source, &CompileOptions::default()).is_err() {
            return Err(TestCaseError::reject("it cannot be enforced"));
        }
        check_words(&schema, &words.iter().map(String::as_str).collect::<Vec<_>>());
        Ok(())
    };
    TestRunner::new(config).run(&arb_language(), judge).unwrap();
}

/// xorshift64*: the walks are the same on every machine.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
}

/// How many members the objects of a value have.
fn n_members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(n_members).sum(),
        Value::Object(members) => members.len() + members.values().map(n_members).sum::<usize>(),
        _ => 0,
    }
}

/// How many members a text of JSON writes.
fn n_written(text: &[u8]) -> usize {
    let (mut n, mut is_inside, mut is_escaped) = (0, false, false);
    for &byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_inside = !is_inside,
            b':' if !is_inside => n += 1,
            _ => {}
        }
    }
    n
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

/// Walks at random, to the end; `None`: without a limit on tokens, else that many more than the least.
fn walk(
    schema: &Value,
    start: &Matcher,
    tokenizer: &Tokenizer,
    end: u32,
    beyond: Option<usize>,
    mut random: u64,
) -> Vec<u8> {
    let limit = beyond.map(|beyond| start.tokens_to_finish().unwrap().n_tokens + beyond);
    let mut matcher = Matcher::with_config(start.grammar(), &MatcherConfig::with_max_tokens(limit)).unwrap();
    let mut text = Vec::new();
    for n_before in 0.. {
        let mask = matcher.mask().unwrap();
        for id in 0..=end {
            let is_allowed = matcher.validate_tokens(&[TokenId(id)]).unwrap() == 1;
            let place = || format!("{schema} {} {id} {limit:?} {n_before}", text.escape_ascii());
            assert_eq!(mask.contains(TokenId(id)), is_allowed, "{}", place());
        }
        let allowed: Vec<TokenId> = mask.iter().collect();
        assert!(!allowed.is_empty(), "{schema} {} {limit:?}: a dead end", text.escape_ascii());
        // Long texts are led to their end.
        let closing = allowed.iter().copied().find(|&token| {
            let bytes = tokenizer.vocabulary().token_bytes(token).unwrap_or(b"]");
            text.len() > 60 && bytes.iter().any(|byte| b"]}\"".contains(byte)) && bytes.len() == 1
        });
        let token = closing.unwrap_or(allowed[next(&mut random) as usize % allowed.len()]);
        assert!(matcher.accept_token(token).unwrap());
        if token.0 == end {
            assert!(limit.is_none_or(|limit| n_before < limit));
            break;
        }
        text.extend_from_slice(tokenizer.vocabulary().token_bytes(token).unwrap());
        if let Some(limit) = limit {
            let least = matcher.tokens_to_finish().unwrap().n_tokens;
            assert!(n_before + 1 + least <= limit, "{schema} {} {limit}: {least}", text.escape_ascii());
        }
        assert!(text.len() < 2_000, "{schema} {}", text.escape_ascii());
    }
    text
}

#[test]
fn random_walks_end_with_items_and_keys_that_differ() {
    let schemas = [
        json!({"type": "array", "items": {"type": "string", "pattern": "^[ab]{0,2}$"}, "uniqueItems": true}),
        json!({"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 30}, "uniqueItems": true}),
        json!({"type": "array", "uniqueItems": true, "items": {"type": "array", "uniqueItems": true, "maxItems": 2, "items": {"type": "boolean"}}}),
        json!({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}}}, "required": ["a"], "additionalProperties": false}),
        json!({"type": "array", "items": {"type": "string", "maxLength": 1, "pattern": "^[ab]*$"}, "contains": {"const": "a"}, "uniqueItems": true}),
        json!({}),
        json!({"type": "object", "minProperties": 3, "additionalProperties": {"enum": [1, 11]}}),
        json!({"type": "object", "propertyNames": {"pattern": "^(a|b+)$"}, "additionalProperties": {"enum": [1]}, "minProperties": 2}),
        json!({"type": "object", "patternProperties": {"^[ab]{1,2}$": {"type": "object"}}, "additionalProperties": false}),
        json!({"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "object"}}),
    ];
    for (number, schema) in schemas.iter().enumerate() {
        for whitespace in [Whitespace::Compact, Whitespace::Flexible] {
            let (start, tokenizer, end) = matcher(schema, whitespace);
            for round in 0..6 {
                for beyond in [None, Some(0), Some(2), Some(12), Some(45), Some(110)] {
                    let random = 1 + round + 100 * number as u64;
                    let text = walk(schema, &start, &tokenizer, end, beyond, random);
                    let value: Value = serde_json::from_slice(&text).unwrap();
                    assert!(has_distinct_items(&value) || schema == &json!({}), "{schema} {value}");
                    assert_eq!(n_members(&value), n_written(&text), "{schema} {}", text.escape_ascii());
                    let least = schema["minProperties"].as_u64().unwrap_or(0) as usize;
                    assert!(n_members(&value) >= least, "{schema} {value}");
                }
            }
        }
    }
}

/// A key that must be there with another value than one that is there: such keys may occur twice, and nothing
/// ends in a dead end.
#[test]
fn complements_of_few_keys_leave_a_way() {
    let schema = json!({"type": "object", "patternProperties": {"^a$": {"enum": ["1", "2"]}}, "additionalProperties": false, "not": {"additionalProperties": {"const": "1"}}});
    let (mut matcher, _, _) = matcher(&schema, Whitespace::Compact);
    assert!(matcher.accept_bytes(br#"{"a":"1""#).unwrap());
    assert!(matcher.mask().unwrap().iter().next().is_some());
    assert!(matcher.accept_bytes(br#","a":"2"}"#).unwrap() && matcher.is_accepting());
}

/// Where the limit is far, an optional part that needs items which differ can be begun and is completed.
#[test]
fn optional_arrays_of_different_items_fit_far_limits() {
    let strings = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true, "minItems": 3});
    let schema = json!({"type": "object", "properties": {"a": strings}, "additionalProperties": false});
    let (start, tokenizer, end) = matcher(&schema, Whitespace::Compact);
    for limit in [30, 2_000] {
        let mut matcher =
            Matcher::with_config(start.grammar(), &MatcherConfig::with_max_tokens(limit)).unwrap();
        for token in [r#"{"a":"#, "[\"", "aa", "\",\""] {
            let id = (0..end)
                .find(|&id| tokenizer.vocabulary().token_bytes(TokenId(id)) == Some(token.as_bytes()));
            assert!(matcher.mask().unwrap().contains(TokenId(id.unwrap())), "{token} {limit}");
            assert!(matcher.accept_token(TokenId(id.unwrap())).unwrap(), "{token} {limit}");
        }
        let left = matcher.finish().unwrap();
        assert_eq!(matcher.accept_tokens(&left).unwrap(), left.len());
        assert!(matcher.is_terminated());
    }
}

/// What is kept of many keys, and of open brackets, is shared by the steps of a session; nothing recurses.
#[test]
fn many_keys_and_deep_texts() {
    let (mut keys, _, _) = matcher(&json!({}), Whitespace::Compact);
    assert!(keys.accept_bytes(b"{").unwrap());
    for n in 0..20_000 {
        assert!(keys.accept_bytes(format!("\"k{n}\":{n},").as_bytes()).unwrap());
    }
    assert!(!keys.fork().accept_bytes(b"\"k777\"").unwrap());
    assert!(keys.accept_bytes(b"\"k77\\u0067\":[]}").unwrap() && keys.is_accepting());
    let (mut deep, _, _) = matcher(&json!({}), Whitespace::Compact);
    for _ in 0..1_000 {
        assert!(deep.accept_bytes("{\"a\":[".repeat(50).as_bytes()).unwrap());
    }
    drop(deep);
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
    let any = json!({});
    let (mut matcher, _, _) = self::matcher(&any, Whitespace::Compact);
    assert!(matcher.accept_bytes(br#"{"key":{"key":1},"k"#).unwrap());
    assert!(!matcher.accept_bytes(br#"ey""#).unwrap() && !matcher.accept_bytes(br#"\u0065y""#).unwrap());
    assert!(matcher.accept_bytes(br#"e":{"key":2,"#).unwrap());
    assert!(!matcher.accept_bytes(br#""key""#).unwrap() && matcher.accept_bytes(br#""ke":3}}"#).unwrap());
    assert!(matcher.is_accepting());
}
