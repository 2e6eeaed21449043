//! What the fuzz targets of `fuzz/` have found, each as a named test: input that is small, and what is right.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::sync::Arc;

use maskwright::lark::LarkOptions;
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Limits, TokenId, Tokenizer,
};

/// Every byte is a token.
fn tokenizer() -> Tokenizer {
    let tokens = (0..=u8::MAX).map(|byte| vec![byte]).chain([b"</s>".to_vec()]).collect();
    Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap()
}

fn compile(source: &GrammarSource, limits: Limits) -> Result<Arc<CompiledGrammar>, Error> {
    Compiler::with_limits(&tokenizer(), limits).compile(source, &CompileOptions::default())
}

/// `lark`: what a lexer may be in the middle of was followed without counting it as work. Where a pattern can
/// go on for many bytes after it has matched, that took seconds and gigabytes, whatever the limits.
#[test]
fn readings_of_a_lexer_count_as_work_of_a_compilation() {
    let source = |n_dots: usize| {
        let pattern = format!("/{};.*L ! $/m", ".".repeat(n_dots));
        let rules = format!("start: \"a\" \"c\"\n%ignore {pattern}\n%ignore /\\n/");
        GrammarSource::lark(rules, LarkOptions::default())
    };
    let mut limits = Limits::default();
    limits.compile_work = 200_000;
    let error = compile(&source(80), limits).unwrap_err();
    assert_eq!(error.limit(), Some(("compile_work", 200_000)), "{error}");
    let grammar = compile(&source(10), Limits::default()).unwrap();
    assert!(grammar.check(b"ac", &Default::default()).unwrap().is_valid);
}

/// `gbnf`: a token that the vocabulary lacks had no place in the source where a quote in a set, or a `#` in a
/// string, stood before it on its line.
#[test]
fn a_token_that_is_lacking_has_a_place() {
    let lark = |rules: &str| GrammarSource::lark(rules, LarkOptions::default());
    let cases = [
        (GrammarSource::gbnf(r#"root ::= " "[r "]" | "!<call>"#), (1, 24)),
        (GrammarSource::gbnf(r##"root ::= "#" <foo>"##), (1, 14)),
        (GrammarSource::gbnf("root ::= [\"] <foo>"), (1, 14)),
        (GrammarSource::gbnf("# <foo>\nroot ::= \"<foo>\" <foo>"), (2, 18)),
        (lark(r#"start: /"/ <foo>"#), (1, 12)),
        (lark(r##"start: "#" <[900]>"##), (1, 12)),
        (lark(r#"start: "//" <foo>"#), (1, 13)),
        (lark("// <foo>\nstart: <foo>"), (2, 8)),
    ];
    for (source, (line, column)) in cases {
        let error = compile(&source, Limits::default()).unwrap_err();
        assert_eq!((error.line(), error.column()), (Some(line), Some(column)), "{error}");
    }
}
