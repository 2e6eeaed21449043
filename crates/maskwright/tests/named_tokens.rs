//! Tokens named by id or name in each notation, over the same vocabulary.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::sync::Arc;

use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Matcher, TokenId, Tokenizer,
};

/// 0 to 3 are text, 4 and 5 special, 6 an added token that is text as well, 7 ends a text.
const TOKENS: [&str; 8] = ["a", "b", "<", "think>", "<|sep|>", "</think>", "<think>", "</s>"];

fn tokenizer() -> Tokenizer {
    let tokens = TOKENS.map(|token| token.as_bytes().to_vec());
    Tokenizer::from_tokens_with_special(tokens.to_vec(), &[7], &[4, 5]).unwrap()
}

fn compile(source: GrammarSource) -> Result<Arc<CompiledGrammar>, Error> {
    Compiler::new(&tokenizer()).compile(&source, &CompileOptions::default())
}

fn lark(text: &str, lexer: LexerKind) -> Result<Arc<CompiledGrammar>, Error> {
    let mut options = LarkOptions::default();
    options.lexer = lexer;
    compile(GrammarSource::lark(text, options))
}

/// Whether the ids, and after them the end, are accepted; and that masks say so on the way.
fn accepts(compiled: &Arc<CompiledGrammar>, ids: &[u32]) -> bool {
    let mut matcher = Matcher::new(compiled);
    for &id in ids.iter().chain(&[7]) {
        let mask = matcher.mask().unwrap();
        let all = (0..8).map(TokenId).filter(|&token| matcher.validate_tokens(&[token]).unwrap() == 1);
        assert_eq!(all.collect::<Vec<_>>(), mask.iter().collect::<Vec<_>>());
        if !matcher.accept_token(TokenId(id)).unwrap() {
            return false;
        }
    }
    matcher.is_terminated()
}

const LEXERS: [LexerKind; 3] = [LexerKind::Basic, LexerKind::Contextual, LexerKind::DynamicComplete];

/// Grammars in GBNF and Lark of the same texts, some texts of theirs and some others.
#[test]
fn notations_agree() {
    type Case = (&'static str, &'static str, &'static [&'static [u32]], &'static [&'static [u32]]);
    let cases: &[Case] = &[
        (
            "root ::= <think> [b]+ </think> \"a\"",
            "start: <think> /b+/ </think> \"a\"",
            &[&[6, 1, 5, 0], &[6, 1, 1, 5, 0]],
            &[&[6, 5, 0], &[2, 3, 1, 5, 0], &[6, 1, 5, 1], &[0]],
        ),
        (
            "root ::= [ab]* (<[4]> [ab]* | </think>)",
            "start: A? (<[4]> A? | </think>)\nA: /[ab]+/",
            &[&[4], &[0, 1, 4, 1], &[5], &[0, 5]],
            &[&[0], &[5, 0], &[4, 5]],
        ),
        (
            "root ::= !<[0]> !</think>*",
            "start: <[^0]> <[^5]>*",
            &[&[1], &[6], &[4, 0, 1, 2, 3, 4, 6], &[5, 4]],
            &[&[], &[0], &[1, 5]],
        ),
        (
            "root ::= (<[1]> | <[2]> | <[3]>)+ <[3]>",
            "start: <[1-3]>+ <[3]>",
            &[&[3, 3], &[1, 2, 3]],
            &[&[3], &[1, 2], &[3, 3, 0]],
        ),
    ];
    for (gbnf, text, yes, no) in cases {
        let mut compiled = vec![compile(GrammarSource::gbnf(*gbnf)).unwrap()];
        compiled.extend(LEXERS.map(|lexer| lark(text, lexer).unwrap()));
        for (index, compiled) in compiled.iter().enumerate() {
            for ids in *yes {
                assert!(accepts(compiled, ids), "{gbnf} ({index}) refuses {ids:?}");
            }
            for ids in *no {
                assert!(!accepts(compiled, ids), "{gbnf} ({index}) accepts {ids:?}");
            }
        }
    }
}

/// An added token that is text as well is read both ways.
#[test]
fn both_readings_are_followed() {
    let source = "start: <think> \"a\" | /<think>b/";
    for lexer in LEXERS {
        let compiled = lark(source, lexer).unwrap();
        for ids in [&[6, 0][..], &[6, 1], &[2, 3, 1]] {
            assert!(accepts(&compiled, ids), "{lexer:?} {ids:?}");
        }
        assert!(!accepts(&compiled, &[2, 3, 0]), "the text is not the token");
        let mut matcher = Matcher::new(&compiled);
        assert!(matcher.accept_token(TokenId(6)).unwrap());
        assert_eq!(matcher.mask().unwrap().iter().map(|token| token.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(matcher.text(), b"<think>");
    }
}

#[test]
fn wildcards_lists_and_templates() {
    for lexer in LEXERS {
        let any = lark("start: <[*]> <[0,4-5]>", lexer).unwrap();
        assert!(accepts(&any, &[6, 4]) && accepts(&any, &[4, 0]) && accepts(&any, &[1, 5]));
        assert!(!accepts(&any, &[6, 1]) && !accepts(&any, &[7, 0]));
        let twice = lark("start: twice{<|sep|>} twice{\"a\"}\ntwice{x}: x x", lexer).unwrap();
        assert!(accepts(&twice, &[4, 4, 0, 0]) && !accepts(&twice, &[4, 0, 0]));
        let spaced = lark("start: \"a\" <|sep|> \"a\"\n%ignore \"b\"", lexer).unwrap();
        assert!(accepts(&spaced, &[1, 0, 1, 4, 1, 0, 1]) && !accepts(&spaced, &[0, 1, 0]));
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let message = |compiled: Result<Arc<CompiledGrammar>, Error>| compiled.err().unwrap().to_string();
    for lexer in LEXERS {
        assert!(message(lark("start: <|sop|>", lexer)).contains("did you mean `<|sep|>`?"));
        assert!(message(lark("start: <[8]>", lexer)).contains("no token has the id 8"));
        let unused = lark("start: \"a\"\nother: <nothing>", lexer).unwrap();
        assert!(accepts(&unused, &[0]), "a rule that is not used names nothing");
    }
    let inside = message(lark("start: A\nA: \"a\" <think>", LexerKind::Basic));
    assert!(inside.contains("the token <think> of the vocabulary inside a terminal"), "{inside}");
    assert!(
        message(lark("start: <[5-3]>", LexerKind::Basic)).contains("the range 5-3 of token ids is backwards")
    );
    assert!(message(lark("start: <[x]>", LexerKind::Basic)).contains("no range of token ids"));
    assert!(message(lark("start: < think>", LexerKind::Basic)).contains("without spaces"));
    let error = compile(GrammarSource::gbnf("root ::= \"<x>\" |\n  <thunk>")).err().unwrap();
    assert!(error.to_string().contains("did you mean"), "{error}");
    assert_eq!((error.line(), error.column()), (Some(2), Some(3)), "{error}");
    let error = lark("start: \"a\"\n  | <[3,9]> \"<[9]>\"", LexerKind::Contextual).err().unwrap();
    assert_eq!((error.line(), error.column()), (Some(2), Some(5)), "{error}");
}

/// Saved grammars name tokens, not ids: they can be compiled for another vocabulary.
#[test]
fn saved_grammars_find_their_tokens_again() {
    let compiled = compile(GrammarSource::gbnf("root ::= <|sep|> \"a\"")).unwrap();
    let tokens = ["<|sep|>", "a", "</s>"].map(|token| token.as_bytes().to_vec());
    let other = Tokenizer::from_tokens_with_special(tokens.to_vec(), &[2], &[0]).unwrap();
    let options = CompileOptions::default();
    let again = Compiler::new(&other).deserialize(&compiled.serialize().unwrap(), &options).unwrap();
    assert_eq!(Matcher::new(&again).accept_tokens(&[0, 1, 2].map(TokenId)).unwrap(), 3);
}
