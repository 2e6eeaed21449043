//! Defects that adversarial testing found, each as it was found, with its story.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::sync::Arc;

use maskwright::infill::Verdict;
use maskwright::json_schema::{PropertyOrder, SchemaConfig};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, Limits, Mask, MaskStatus, Matcher,
    MatcherConfig, TokenCountStatus, TokenId, Tokenizer,
};
use serde_json::{Value, json};

/// Each byte is a token; then there are some longer ones, and the end.
fn tokenizer(longer: &[&str]) -> Tokenizer {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.extend(longer.iter().map(|token| token.as_bytes().to_vec()));
    let end = tokens.len() as u32;
    tokens.push(b"</s>".to_vec());
    Tokenizer::from_tokens(tokens, &[TokenId(end)]).unwrap()
}

fn compiled(schema: &Value, property_order: PropertyOrder, longer: &[&str]) -> Arc<CompiledGrammar> {
    let mut config = SchemaConfig::default();
    config.property_order = property_order;
    let compiler = Compiler::new(&tokenizer(longer));
    let compiled =
        compiler.compile(&GrammarSource::json_schema(schema.to_string(), config), &CompileOptions::default());
    compiled.unwrap()
}

/// After each beginning of a text the mask allows a token if and only if the session accepts it. Masks come
/// from rows, acceptance from the token's bytes.
fn assert_masks_are_what_is_accepted(grammar: &Arc<CompiledGrammar>, text: &str) {
    let mut matcher = grammar.matcher();
    for n_bytes in 0..=text.len() {
        let mask = matcher.mask().unwrap();
        assert_eq!(matcher.mask_status(), MaskStatus::Exact);
        for token in (0..mask.n_vocab() as u32).map(TokenId) {
            let is_accepted = matcher.fork().accept_token(token).unwrap();
            assert_eq!(mask.contains(token), is_accepted, "{token:?} after {}", &text[..n_bytes]);
        }
        let is_accepted =
            n_bytes == text.len() || matcher.accept_bytes(&text.as_bytes()[n_bytes..][..1]).unwrap();
        assert!(is_accepted, "{text} at {n_bytes}");
    }
}

/// The bytes that the mask after a text allows.
fn allowed_after(grammar: &Arc<CompiledGrammar>, text: &str) -> (String, MaskStatus) {
    let mut matcher = Matcher::new(grammar);
    assert!(matcher.accept_bytes(text.as_bytes()).unwrap(), "{text}");
    let mask = matcher.mask().unwrap();
    let bytes = mask.iter().filter(|token| token.0 < 256).map(|token| char::from(token.0 as u8));
    (bytes.collect(), matcher.mask_status())
}

fn object_of(values: &Value) -> Value {
    json!({"type": "object", "properties": {"k": values}, "required": ["k"], "additionalProperties": false})
}

/// Once an array had all values that its items can have, the mask was an error: white space led the search
/// for another one to new places without end.
#[test]
fn arrays_that_have_all_values_can_be_closed() {
    let array = |items: Value| json!({"type": "array", "uniqueItems": true, "items": items});
    let two = compiled(&array(object_of(&json!({"enum": ["x", "y"]}))), PropertyOrder::Schema, &[]);
    assert_eq!(allowed_after(&two, r#"[{"k": "x"}, {"k": "y"}"#), ("]".into(), MaskStatus::Exact));
    assert_eq!(allowed_after(&two, "[\n{\"k\": \"x\"}, {\"k\": \"y\"}"), ("\n ".into(), MaskStatus::Exact));
    let mut matcher = Matcher::new(&two);
    assert!(!matcher.accept_bytes(br#"[{"k": "x"}, {"k": "y"}, "#).unwrap(), "no third one can follow");
    let mixed = compiled(&array(json!({"enum": ["aa", [1], "a"]})), PropertyOrder::Schema, &[]);
    assert_eq!(allowed_after(&mixed, "[[1],"), ("\n \"".into(), MaskStatus::Exact));
    let names: Vec<String> = (0..10).map(|i| format!("k{i}")).collect();
    let values: Vec<String> = names.iter().map(|name| format!(r#"{{"k": "{name}"}}"#)).collect();
    let many = compiled(&array(object_of(&json!({"enum": names}))), PropertyOrder::Schema, &[]);
    assert_eq!(allowed_after(&many, &format!("[{}", values.join(", "))), ("]".into(), MaskStatus::Exact));
    let all_but_one = allowed_after(&many, &format!("[{}", values[..9].join(", ")));
    assert_eq!(all_but_one, (",]".into(), MaskStatus::Exact));
}

fn required(n: usize) -> Value {
    let names: Vec<String> = (0..n).map(|i| format!("p{i:02}")).collect();
    let properties: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

/// The least number of tokens was looked for in each of the 2^n sets of keys that could be there: 20 required
/// keys in any order took 11 seconds and ended in an error.
#[test]
fn required_keys_in_any_order_have_limits_on_tokens() {
    for n in [5, 8, 20] {
        let grammar = compiled(&required(n), PropertyOrder::Any, &[]);
        // Bytes are tokens, so all orders take as many: `"p00":"",` for each key, and `{`, `}` and the end
        // less a comma.
        let least = Matcher::new(&grammar).tokens_to_finish().unwrap();
        assert_eq!(least.n_tokens, 9 * n + 2, "{n} keys");
        let mut matcher =
            Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(least.n_tokens)).unwrap();
        let tokens = matcher.finish().unwrap();
        assert_eq!(tokens.len(), least.n_tokens, "{n} keys");
        for token in tokens {
            assert!(matcher.mask().unwrap().contains(token) && matcher.accept_token(token).unwrap());
        }
        assert!(matcher.is_terminated());
    }
}

/// With tokens that span members, an upper bound by one order of many is kept whichever tokens are taken.
#[test]
fn a_limit_that_one_order_keeps_is_kept_in_all() {
    let longer = ["\",\"", "\":\"", "{\"", "\"}", "p0", "p1", "01\":\"", "\"p", ", ", "\": \""];
    let grammar = compiled(&required(10), PropertyOrder::Any, &longer);
    let least = Matcher::new(&grammar).tokens_to_finish().unwrap();
    assert_eq!(least.status, TokenCountStatus::Upper);
    for seed in 0..10u64 {
        let mut matcher =
            Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(least.n_tokens + seed as usize))
                .unwrap();
        let mut draw = seed;
        while !matcher.is_terminated() {
            let allowed: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
            assert!(!allowed.is_empty(), "seed {seed}: no token is left");
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let token = allowed[(draw >> 33) as usize % allowed.len()];
            assert!(matcher.accept_token(token).unwrap(), "seed {seed}: a token of the mask is refused");
        }
    }
}

/// Objects of thousands of properties compile at once, but their least number of tokens took half a minute
/// and 700 MB.
#[test]
fn large_objects_have_limits_on_tokens() {
    let properties: serde_json::Map<_, _> =
        (0..3_000).map(|i| (format!("p{i}"), json!({"type": "string"}))).collect();
    let parts: Vec<Value> =
        properties.iter().map(|(name, schema)| json!({"properties": {name: schema}})).collect();
    for (schema, order) in [
        (json!({"properties": properties}), PropertyOrder::Schema),
        (json!({"properties": properties}), PropertyOrder::Any),
        (json!({"allOf": parts}), PropertyOrder::Schema),
    ] {
        let grammar = compiled(&schema, order, &[]);
        let mut matcher = Matcher::new(&grammar);
        assert!(matcher.accept_bytes(b"{\"p1").unwrap());
        assert!(matcher.mask().unwrap().contains(TokenId(u32::from(b'"'))));
        // `":""}` and the end.
        assert_eq!(matcher.tokens_to_finish().unwrap().n_tokens, 6);
    }
}

/// A text of 2^40 tokens was said to have no tokens that spell it.
#[test]
fn numbers_of_tokens_beyond_counting_are_a_limit() {
    let mut source = String::from("root ::= a0\n");
    (0..40).for_each(|i| source += &format!("a{i} ::= a{} a{}\n", i + 1, i + 1));
    let compiler = Compiler::new(&tokenizer(&[]));
    let grammar = compiler
        .compile(&GrammarSource::gbnf(&(source + "a40 ::= \"x\"")), &CompileOptions::default())
        .unwrap();
    let error = Matcher::new(&grammar).tokens_to_finish().unwrap_err();
    assert!(error.is_limit(), "{error}");
    assert!(Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(100)).is_err());
    assert!(Matcher::new(&grammar).accept_bytes(b"xxx").unwrap());
}

/// With one token left, two bytes were accepted that are no token.
#[test]
fn bytes_count_against_the_limit_on_tokens() {
    let compiler = Compiler::new(&tokenizer(&["bc"]));
    let grammar = compiler.compile(&GrammarSource::regex("abc|abcd?e"), &CompileOptions::default()).unwrap();
    let mut matcher = Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(3)).unwrap();
    assert!(!matcher.fork().accept_bytes(b"abcde").unwrap(), "a, bc, d, e and the end");
    assert!(!matcher.fork().accept_bytes(b"abce").unwrap(), "a, bc, e and the end");
    assert!(matcher.accept_bytes(b"abc").unwrap(), "a, bc and the end");
    assert!(matcher.is_accepting());
    matcher.rollback(1).unwrap();
    assert!(matcher.accept_bytes(b"a").unwrap() && matcher.accept_bytes(b"bc").unwrap());
}

/// Compilers for fewer than some 80,000 tokens made rows far beyond those of JSON's own terminals: 32,000
/// tokens took a second and 65 MB, 128,000 a twentieth of both.
#[test]
fn compilers_for_small_vocabularies_are_as_light_as_for_large_ones() {
    let memory = [20_000u64, 90_000].map(|n_tokens| {
        // Words of up to eight of 32 characters, spread by a multiplicative hash.
        let word = |index: u64| {
            let bits = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let letters = b"abcdefghijklmnopqrstuvwxyz \"{}:,";
            let length = 2 + bits as usize % 7;
            (0..length).map(|place| letters[(bits >> (24 + 5 * place)) as usize % 32]).collect::<Vec<u8>>()
        };
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        tokens.extend((0..n_tokens).map(word));
        tokens.push(b"</s>".to_vec());
        let eos = tokens.len() as u32 - 1;
        Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(eos)]).unwrap()).memory_usage()
    });
    assert!(memory.iter().all(|&bytes| bytes < 24 << 20), "{memory:?} bytes");
}

/// A canvas under a limit on tokens was open, whatever the work: a text that the limit ends earlier was not
/// looked for.
#[test]
fn canvases_end_where_a_limit_on_tokens_ends_the_text() {
    let tokens = ["a", "b", "ab", "c", "ca", " ", "</s>"].map(|token| token.as_bytes().to_vec());
    let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(6)]).unwrap();
    for n in 1..=3 {
        let tag = json!({"type": "structural_tag", "format": {"type": "any_text", "max_tokens": n}});
        let source = GrammarSource::structural_tag(tag.to_string(), SchemaConfig::default());
        let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default()).unwrap();
        let mut canvas = grammar.canvas(&[None; 4]).unwrap();
        for position in 0..4 {
            let expected = if position < n { Verdict::Yes } else { Verdict::No };
            let answers = canvas.allows(position, &[TokenId(0), TokenId(3)]).unwrap();
            if position < n {
                assert_eq!(answers, [expected; 2], "at {position}, at most {n}");
            } else {
                assert!(!answers.contains(&Verdict::Yes), "at {position}, at most {n}");
            }
        }
        assert!(canvas.set(n - 1, TokenId(3)).unwrap() && canvas.set(n, TokenId(6)).unwrap());
    }
}

/// Within a character of a string, known text after it was taken for text that must not become part of a
/// string. So the canvas was searched as a whole, and stayed open.
#[test]
fn known_strings_go_on_after_half_a_character() {
    let tokens = ["x", " = ", "'", "\u{279e}", "\n", " True", "</s>"].map(|token| token.as_bytes().to_vec());
    let mut tokens = tokens.to_vec();
    tokens.extend([b"\xe2\x9e".to_vec(), b"\x9e".to_vec()]);
    let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(6)]).unwrap();
    let mut limits = Limits::default();
    limits.infill_work = 1_000_000;
    let compiler = Compiler::with_limits(&tokenizer, limits);
    let grammar = compiler.compile(&GrammarSource::builtin("python"), &CompileOptions::default()).unwrap();
    let known = [0, 1, 2, 7].map(|id| Some(TokenId(id)));
    let rest = [5, 2, 4].map(|id| Some(TokenId(id)));
    let positions: Vec<Option<TokenId>> = known.into_iter().chain([None]).chain(rest).collect();
    let mut canvas = grammar.canvas(&positions).unwrap();
    assert_eq!(canvas.allows(4, &[TokenId(8), TokenId(2)]).unwrap(), [Verdict::Yes, Verdict::No]);
}

/// A token of the mask raised an error, since each of the objects was a reading of its own.
#[test]
fn long_lists_of_objects_are_read_as_one() {
    for order in [PropertyOrder::Schema, PropertyOrder::Any] {
        let objects: Vec<Value> =
            (0..20_001).map(|i| json!({"a": i, "b": {"c": [format!("x{}", i * 7919 % 20_011)]}})).collect();
        let text = objects[12_345].to_string();
        let grammar = compiled(&json!({ "enum": objects }), order, &[]);
        let mut matcher = Matcher::new(&grammar);
        let mut mask = Mask::new(grammar.vocabulary().n_vocab());
        for &byte in text.as_bytes() {
            matcher.fill_mask(mask.words_mut()).unwrap();
            assert_eq!(matcher.mask_status(), MaskStatus::Exact);
            assert!(mask.contains(TokenId(byte.into())), "{text}: {byte}");
            assert!(matcher.accept_token(TokenId(byte.into())).unwrap());
        }
        assert!(matcher.is_accepting());
    }
}

/// A search for a word reached its limit, and so the mask raised an error.
#[test]
fn limits_within_a_mask_leave_a_bound() {
    let property =
        |i: usize| (format!("^.*{}.*$", "abcdef".as_bytes()[i] as char), json!({"minLength": i + 1}));
    let patterns: serde_json::Map<String, Value> = (0..6).map(property).collect();
    let grammar = compiled(&json!({ "patternProperties": patterns }), PropertyOrder::Schema, &[]);
    let mut n_bounds = 0;
    for text in ["{\"afd\":\"", "{\"fed\":\"", "{\"xa\": 1"] {
        let mut matcher = Matcher::new(&grammar);
        let mut mask = Mask::new(grammar.vocabulary().n_vocab());
        for &byte in text.as_bytes() {
            matcher.fill_mask(mask.words_mut()).unwrap();
            n_bounds += usize::from(matcher.mask_status() == MaskStatus::Bound);
            assert!(mask.iter().next().is_some(), "{text}");
            for token in mask.iter() {
                assert!(matcher.fork().accept_token(token).unwrap(), "{text}: {token:?}");
            }
            assert!(matcher.accept_token(TokenId(byte.into())).unwrap());
        }
    }
    assert!(n_bounds > 0, "no limit was reached");
}

/// Where a byte is no token, and where a lexer reads, each mask close to a limit on tokens began the same
/// walk anew and ran out of work in it, however often it was asked for: with the limit on work that servers
/// have.
#[test]
fn masks_with_little_work_come_to_an_end() {
    let syllables =
        ["ba", "de", "fi", "lo", "mu", "ra", "se", "ti", "vo", "xu", ", ", "\": ", "\", \"", "@", "."];
    let words = syllables.iter().flat_map(|a| syllables.iter().map(move |b| format!("{a}{b}")));
    let words: Vec<String> =
        words.clone().flat_map(|word| syllables.map(|more| format!("{word}{more}"))).chain(words).collect();
    let mut tokens: Vec<Vec<u8>> = (0..=255).filter(|&byte| byte != 0xF1).map(|byte| vec![byte]).collect();
    tokens.extend(words.iter().map(|word| word.as_bytes().to_vec()));
    let end = TokenId(tokens.len() as u32);
    tokens.push(b"</s>".to_vec());
    let tokenizer = Tokenizer::from_tokens(tokens, &[end]).unwrap();
    let schema = |value: Value| GrammarSource::json_schema(object_of(&value), Default::default());
    let program = "start: (NAME \"=\" NAME (\".\" NAME)* \";\")+\nNAME: /[a-z]+/\n%ignore \" \"\n";
    for (source, text) in [
        (schema(json!({"type": "string"})), r#"{"k": "ba"#),
        (schema(json!({"type": "string", "maxLength": 200})), r#"{"k": "ba"#),
        (GrammarSource::lark(program, Default::default()), "ba = de"),
    ] {
        let compile = || Compiler::new(&tokenizer).compile(&source, &CompileOptions::default()).unwrap();
        let matcher = || {
            let grammar = compile();
            let mut unlimited = grammar.matcher();
            assert!(unlimited.accept_bytes(text.as_bytes()).unwrap());
            let limit = unlimited.n_tokens() + unlimited.tokens_to_finish().unwrap().n_tokens + 1;
            let mut matcher = compile().matcher_with(&MatcherConfig::with_max_tokens(limit)).unwrap();
            assert!(matcher.accept_bytes(text.as_bytes()).unwrap());
            matcher
        };
        let (mut free, mut little) = (matcher(), matcher());
        let whole = free.mask().unwrap();
        let mut mask = whole.clone();
        let first = little.fill_mask_within(mask.words_mut(), Some(2_000)).unwrap();
        assert!(first == MaskStatus::Bound && mask != whole, "{text}: that was enough work");
        for _ in 0..200 {
            little.fill_mask_within(mask.words_mut(), Some(2_000)).unwrap();
        }
        assert_eq!(mask, whole, "{text} of {}", source.kind());
    }
}

/// A newcomer hunted a defect that had been planted: a token that goes on after the quote was allowed before
/// the string had its least length, if another such token had characters enough.
#[test]
fn tokens_go_on_after_a_string_only_when_it_is_long_enough() {
    let longer = ["\",", "a\",", "abc\",", "abcdefgh\", \"", "ab", "abcdef", "\"]", "c\"]"];
    for bounds in
        [json!({"minLength": 5}), json!({"minLength": 5, "maxLength": 8}), json!({"pattern": "^[a-z]{5,}$"})]
    {
        let mut value = json!({"type": "string"});
        value.as_object_mut().unwrap().extend(bounds.as_object().unwrap().clone());
        let properties = json!({"code": value, "n": {"type": "integer"}});
        let object = json!({"type": "object", "properties": properties, "additionalProperties": false});
        for order in [PropertyOrder::Schema, PropertyOrder::Any] {
            assert_masks_are_what_is_accepted(
                &compiled(&object, order, &longer),
                r#"{"code": "abcdefg", "n": 1}"#,
            );
        }
        let list = json!({"type": "array", "items": value});
        assert_masks_are_what_is_accepted(
            &compiled(&list, PropertyOrder::Schema, &longer),
            r#"["abcdef", "abcdefgh"]"#,
        );
    }
}
