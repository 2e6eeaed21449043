//! What Lark 1.3.1 itself accepts, recorded: terminals that look around themselves, and strings that are
//! ignored.
//!
//! Small cases that once went wrong are tests of their own; `testdata/lark` has random grammars, each with
//! all short texts that Lark accepts.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;
use std::path::Path;

use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{CompileOptions, Compiler, ErrorKind, GrammarSource, Matcher, TokenId, Tokenizer};
use serde_json::Value;

fn compiler() -> Compiler {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.push(Vec::new());
    Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap())
}

/// Which of `texts` a grammar has; none if it has no text at all.
fn accepted<'t>(compiler: &Compiler, source: &str, lexer: LexerKind, texts: &[&'t str]) -> BTreeSet<&'t str> {
    let mut lark = LarkOptions::default();
    lark.lexer = lexer;
    let grammar =
        match compiler.compile(&GrammarSource::lark(source, lark.clone()), &CompileOptions::default()) {
            Ok(grammar) => grammar,
            Err(error) if error.to_string().contains("matches no text") => return BTreeSet::new(),
            Err(error) => panic!("{source}\n{error}"),
        };
    let is_accepted = |text: &&&str| {
        let mut matcher = Matcher::new(&grammar);
        matcher.accept_bytes(text.as_bytes()).unwrap() && matcher.is_accepting()
    };
    texts.iter().filter(is_accepted).copied().collect()
}

/// That a grammar has the first texts and not the others.
fn has(lexer: LexerKind, source: &str, words: &[&str], others: &[&str]) {
    let texts = [words, others].concat();
    let expected: BTreeSet<&str> = words.iter().copied().collect();
    assert_eq!(accepted(&compiler(), source, lexer, &texts), expected, "{lexer:?}: {source}");
}

use LexerKind::{Basic, Contextual, DynamicComplete};

/// A lookahead used to see no more than its own terminal, so that `a` was taken although a `b` followed.
#[test]
fn a_negative_lookahead_sees_what_follows_the_terminal() {
    has(DynamicComplete, "start: A B\nA: /a(?!b)/\nB: \"b\"|\"c\"", &["ac"], &["ab"]);
    has(DynamicComplete, "start: A X\nA: /a(?!b)/\nX: /[bc]/", &["ac"], &["ab"]);
}

/// The same of the end of a word: `ab` was the word `a`, and then a `b`.
#[test]
fn a_word_boundary_sees_what_follows_the_terminal() {
    has(DynamicComplete, "start: A B\nA: /a\\b/\nB: \"b\"|\" \"", &["a "], &["ab"]);
    has(DynamicComplete, "start: NAME NUM?\nNAME: /[a-z]+\\b/\nNUM: /[0-9]+/", &["ab"], &["ab1"]);
}

/// A lookbehind used to see nothing before its own terminal.
#[test]
fn a_negative_lookbehind_sees_what_stands_before_the_terminal() {
    has(DynamicComplete, "start: A B\nA: /a/\nB: /(?<!a)b/", &[], &["ab"]);
    has(DynamicComplete, "start: A B\nA: /a|c/\nB: /(?<!a)b/", &["cb"], &["ab"]);
}

/// A terminal that needs something around it used to have no word at all, and the grammar was refused.
#[test]
fn positive_assertions_are_met_by_the_neighbours() {
    has(DynamicComplete, "start: A B\nA: /a(?=b)/\nB: \"b\"|\"c\"", &["ab"], &["ac", "a"]);
    has(DynamicComplete, "start: A \"b\"\nA: /a(?=b)/", &["ab"], &["a"]);
    has(DynamicComplete, "start: \"a\" B\nB: /(?<=a)b/", &["ab"], &["b"]);
}

/// An anchor used to hold at the ends of its own terminal, wherever that stood. Now nothing is in these
/// languages.
#[test]
fn anchors_are_at_the_ends_of_the_text() {
    has(DynamicComplete, "start: A \"b\"\nA: /a$/", &[], &["ab", "a"]);
    has(DynamicComplete, "start: \"x\" A\nA: /^a/", &[], &["xa", "a"]);
    has(DynamicComplete, "start: A \"\\n\"?\nA: /a$/", &["a", "a\n"], &["\n"]);
}

/// Free text around tool calls: a call with wrong arguments used to pass as text.
#[test]
fn no_tool_call_passes_as_text() {
    let call = "call: \"<t>\" \"1\" \"</t>\"\n";
    let source = format!("start: (TEXT|call)*\n{call}TEXT: /[^<]|<(?!t>)/");
    has(DynamicComplete, &source, &["x<t>1</t>", "a<b>", "<", "<t<t>1</t>"], &["x<t>2</t>", "<t>"]);
    let source = format!("start: (TEXT|call)*\n{call}TEXT: /((?!<t>)(.|\\n))+/");
    has(DynamicComplete, &source, &["x<t>1</t>y", "a<b>\n", "<t"], &["x<t>2</t>", "<t>"]);
    let source =
        "start: (TEXT|call)*\ncall: \"<t>\" %json {\"type\": \"integer\"} \"</t>\"\nTEXT: /[^<]|<(?!t>)/";
    has(DynamicComplete, source, &["x<t>12</t>", "<t>-1</t><"], &["x<t>true</t>", "<t>1</t"]);
}

/// Keywords that end where words do, with blanks ignored.
#[test]
fn a_keyword_ends_where_a_word_ends() {
    let source = "start: IF NAME\nIF: /if\\b/\nNAME: /[a-zé]\\w*/\n%ignore \" \"";
    has(DynamicComplete, source, &["if x", "if  if1"], &["ifx", "ifé", "if"]);
}

/// An assertion that is decided within the terminal's own text leaves the terminal what it is, wherever it
/// stands.
#[test]
fn assertions_within_a_terminal_cost_nothing() {
    has(DynamicComplete, "start: A A\nA: /a(?!b)[a-c]|b(?<=b)/", &["aaac", "bb", "aab"], &["abab", "ab"]);
}

/// What is too much to keep track of is said, with the place and what to do.
#[test]
fn contexts_beyond_a_limit_are_a_located_error() {
    let source = "start: A+\nA: /(?<=[ab]..........)a|b|(?<![ab].........)c/\n";
    let mut lark = LarkOptions::default();
    lark.lexer = DynamicComplete;
    let error = compiler()
        .compile(&GrammarSource::lark(source, lark.clone()), &CompileOptions::default())
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let shown = error.to_string();
    assert!(shown.contains("`A`") && shown.contains(":2:1") && shown.contains("\"contextual\""), "{shown}");
}

/// A token that a regular expression found, and that is the text of an ignored string, used to be ignored.
/// Lark gives it to the parser, which has no use for it.
#[test]
fn an_ignored_string_found_by_a_regular_expression_is_a_token() {
    let source = "start: T1 \"ab\" | T0?\n%ignore \" \"\nT0: \"i\"\nT1: / +/";
    for lexer in [Basic, Contextual] {
        has(lexer, source, &["", "i", "  ab"], &[" ", " ab", " i"]);
    }
}

/// What an ignored regular expression found used to be a token if it was the text of a string in a rule.
#[test]
fn what_an_ignored_regular_expression_finds_is_ignored() {
    let source = "start: T1 x\nx: \"1\" T1\n%ignore /[ 1]/\nT1: \"ba\"";
    for lexer in [Basic, Contextual] {
        has(lexer, source, &[], &["ba1ba", "baba", "ba 1ba"]);
    }
}

/// The same where the rules can do without that string: the text used to be refused.
#[test]
fn a_string_that_is_always_ignored_is_not_missed() {
    let source = "start:\"ab\"(/a*b/\"1\"|T0)\n%ignore/[ 1]/\nT0:/a|ab/";
    for lexer in [Basic, Contextual] {
        has(lexer, source, &["1aba", "aba"], &["ab", "aab1"]);
    }
}

fn recorded(name: &str) -> Vec<Value> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/lark"));
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// All texts over `letters` of at most four of them.
fn texts_over(letters: &str) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut begin = 0;
    for _ in 0..4 {
        let end = texts.len();
        for index in begin..end {
            let longer: Vec<String> =
                letters.chars().map(|letter| format!("{}{letter}", texts[index])).collect();
            texts.extend(longer);
        }
        begin = end;
    }
    texts
}

fn check_recorded(name: &str, lexer: LexerKind, at_least: usize) {
    let cases = recorded(name);
    assert!(cases.len() >= at_least);
    let compiler = compiler();
    for case in &cases {
        let source = case["source"].as_str().unwrap();
        let texts = texts_over(case["letters"].as_str().unwrap());
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let expected: BTreeSet<&str> =
            case["accepted"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        assert_eq!(accepted(&compiler, source, lexer, &texts), expected, "{source}");
    }
}

#[test]
fn random_terminals_that_look_around_have_the_texts_that_lark_accepts() {
    check_recorded("look_around.json", DynamicComplete, 150);
}

#[test]
fn random_ignored_keywords_are_ignored_where_lark_ignores_them() {
    check_recorded("ignored_keywords.json", Basic, 120);
}
