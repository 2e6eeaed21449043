//! How far a text is in a language, where it leaves it and why.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::sync::Arc;

use maskwright::{
    Check, CheckConfig, CheckReason, CompileOptions, CompiledGrammar, Compiler, GrammarSource, Limits,
    TokenId, Tokenizer,
};

/// Single bytes, an end, and a special token.
fn tokenizer() -> Tokenizer {
    let tokens = (0..=255u8).map(|byte| vec![byte]).chain([b"</s>".to_vec(), b"<call>".to_vec()]);
    Tokenizer::from_tokens_with_special(tokens.collect(), &[TokenId(256)], &[TokenId(257)]).unwrap()
}

fn compiled(source: &GrammarSource) -> Arc<CompiledGrammar> {
    Compiler::new(&tokenizer()).compile(source, &CompileOptions::default()).unwrap()
}

fn check(grammar: &CompiledGrammar, text: impl AsRef<[u8]>) -> Check {
    grammar.check(text.as_ref(), &CheckConfig::default()).unwrap()
}

fn reason(check: &Check) -> String {
    check.reason.as_ref().map(CheckReason::to_string).unwrap_or_default()
}

#[test]
fn a_text_is_valid_or_has_a_place_and_a_reason() {
    let schema = r#"{"type": "object", "properties": {"age": {"type": "integer", "maximum": 120}}, "required": ["age"]}"#;
    let grammar = compiled(&GrammarSource::json_schema(schema, Default::default()));
    let valid = check(&grammar, r#"{"age": 20}"#);
    assert!(valid.is_valid && valid.is_prefix && valid.reason.is_none() && valid.expected.is_empty());
    assert_eq!((valid.offset, valid.to_string().as_str()), (11, "the text is in the language"));
    let wrong = check(&grammar, "{\n  \"age\": 200\n}");
    assert_eq!((wrong.is_valid, wrong.is_prefix), (false, false));
    assert_eq!((wrong.offset, wrong.line, wrong.column), (13, 2, 12));
    assert_eq!(reason(&wrong), r#"at /age: 200 is above "maximum": 120"#);
    assert_eq!(wrong.path.as_deref(), Some("/age"));
    let shown = wrong.to_string();
    assert!(shown.starts_with("not in the language: line 2 column 12 (byte 13): at /age: 200"), "{shown}");
    assert!(shown.contains(&format!("\n{}\nexpected ", wrong.frame())), "{shown}");
    assert_eq!(wrong.frame(), " 2 |   \"age\": 200\n   |            ^");
    let begun = check(&grammar, r#"{"age": 2"#);
    assert_eq!((begun.is_valid, begun.is_prefix, begun.offset), (false, true, 9));
    assert_eq!(reason(&begun), "the text ends too early");
    assert!(!begun.expected.is_empty());
}

#[test]
fn empty_texts_and_bytes_that_are_no_text_have_places() {
    let grammar = compiled(&GrammarSource::regex(".+"));
    let empty = check(&grammar, "");
    assert_eq!((empty.is_valid, empty.is_prefix), (false, true));
    assert_eq!((empty.offset, empty.line, empty.column), (0, 1, 1));
    let broken = check(&grammar, b"\xC3\xA4\xFF");
    assert_eq!((broken.is_prefix, broken.offset, broken.column), (false, 2, 2));
    assert_eq!(reason(&broken), r#""\xff" cannot come here"#);
    let half = check(&grammar, b"a\xC3");
    assert_eq!((half.is_valid, half.is_prefix, half.offset), (false, true, 2));
    assert!(check(&compiled(&GrammarSource::regex("a?")), "").is_valid);
}

#[test]
fn a_last_line_end_is_left_out_only_if_asked_for() {
    let grammar = compiled(&GrammarSource::regex("a"));
    let mut config = CheckConfig::default();
    assert!(!grammar.check(b"a\n", &config).unwrap().is_valid);
    config.skip_last_line_end = true;
    let skipped = grammar.check(b"a\r\n", &config).unwrap();
    assert!(skipped.is_valid && skipped.without_line_end && skipped.offset == 1);
    assert!(!grammar.check(b"a\n\n", &config).unwrap().is_valid);
}

#[test]
fn names_of_special_tokens_are_text_unless_asked_for() {
    let tokenizer = tokenizer();
    let grammar = compiled(&GrammarSource::gbnf("root ::= <call> [a-z]+"));
    let mut config = CheckConfig::default();
    assert_eq!(grammar.check(b"<call>go", &config).unwrap().offset, 0);
    config.tokenizer = Some(&tokenizer);
    config.special_tokens = true;
    assert!(grammar.check(b"<call>go", &config).unwrap().is_valid);
    let wrong = grammar.check(b"<call>go<call>", &config).unwrap();
    assert_eq!((wrong.is_valid, wrong.offset), (false, 8));
    assert!(wrong.token.as_ref().unwrap().contains("is refused"), "{wrong}");
}

/// The command line said of such a text that it ends too early.
#[test]
fn a_token_can_be_refused_whose_bytes_are_not() {
    let tag = r#"{"format": {"type": "tag", "begin": "", "content": {"type": "any_text", "max_tokens": 2}, "end": "."}}"#;
    let Ok(grammar) = Compiler::new(&tokenizer())
        .compile(&GrammarSource::structural_tag(tag, Default::default()), &CompileOptions::default())
    else {
        panic!("the tag is right")
    };
    let tokenizer = tokenizer();
    let mut config = CheckConfig::default();
    assert!(grammar.check(b"abc.", &config).unwrap().is_valid);
    config.tokenizer = Some(&tokenizer);
    let refused = grammar.check(b"abc.", &config).unwrap();
    assert_eq!((refused.is_valid, refused.is_prefix), (false, true));
    assert_eq!(refused.reason, Some(CheckReason::Token));
    assert!(refused.token.is_some() && refused.to_string().contains("one of its tokens is refused"));
}

#[test]
fn the_work_of_masks_limits_no_check_and_other_limits_are_errors() {
    let mut limits = Limits::default();
    limits.mask_work = Some(1);
    let compiler = Compiler::with_limits(&tokenizer(), limits);
    let grammar = compiler.compile(&GrammarSource::regex("(ab)*"), &CompileOptions::default()).unwrap();
    assert!(check(&grammar, "ab".repeat(1000)).is_valid);
    let mut limits = Limits::default();
    limits.max_threads = 1;
    let compiler = Compiler::with_limits(&tokenizer(), limits);
    let source = GrammarSource::gbnf(
        r#"root ::= "q" (a | b | c)
a ::= "x" a "1" | "y"
b ::= "x" b "2" | "y"
c ::= "x" c "3" | "y""#,
    );
    let grammar = compiler.compile(&source, &CompileOptions::default()).unwrap();
    let error = grammar.check(b"qxxxx", &CheckConfig::default()).unwrap_err();
    assert!(error.is_limit(), "{error}");
}

#[test]
fn a_long_text_is_checked_to_its_end() {
    let grammar = compiled(&GrammarSource::gbnf("root ::= (\"ab\" \"\\n\"?)*"));
    let text = "abab\n".repeat(200_000);
    assert!(check(&grammar, &text).is_valid);
    let wrong = check(&grammar, text.clone() + "b");
    assert_eq!((wrong.offset, wrong.line, wrong.column), (text.len(), 200_001, 1));
}
