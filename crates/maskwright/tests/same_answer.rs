//! The same question has the same answer, whatever was asked before: in a fresh grammar, after any other
//! questions, after caches were dropped, after calls that ran out of work, and on any thread.
//!
//! What completes a text is chosen once, and found in tables that grow with each question. An answer is all
//! that a caller sees: the number or the mask, its status, or the error.
//!
//! `PROPTEST_CASES=2000 cargo test --release -p maskwright --test same_answer` runs the full campaign;
//! without the variable 40 to 200 cases of each kind run.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::cell::Cell;
use std::sync::Arc;
use std::thread;

use maskwright::json_schema::{SchemaConfig, Whitespace};
use maskwright::lark::{Indentation, LarkOptions, LexerKind};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, MaskStatus, Matcher, MatcherConfig,
    TokenCountStatus, TokenId, Tokenizer,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

/// Grammars of one kind, and the tokens of a vocabulary that they share; the last one ends a text.
struct Kind {
    sources: Vec<GrammarSource>,
    tokens: &'static [&'static str],
    /// How many cases run if nothing else is asked for.
    n_cases: u32,
}

fn bytes() -> Kind {
    let grammars = [
        r#"root ::= "[" list "]"
list ::= item ("," item)*
item ::= [0-9]+ | "[" list "]""#,
        r#"root ::= "a"* ("b" root "]" | "1" | "ab")"#,
        r#"root ::= s
s ::= "a" | "b" s s | "[" s "]" s"#,
        r#"root ::= [ab1]{2,9} ("," [ab]{3})* "]"?"#,
    ];
    let mut sources = grammars.map(GrammarSource::gbnf).to_vec();
    let mut any_order = SchemaConfig::default();
    any_order.property_order = maskwright::json_schema::PropertyOrder::Any;
    any_order.whitespace = Whitespace::Compact;
    let keys = r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {}, "ab": {}}, "required": ["a", "b"], "additionalProperties": false}"#;
    sources.push(GrammarSource::json_schema(keys, any_order));
    Kind { sources, tokens: JSON_TOKENS, n_cases: 200 }
}

const JSON_TOKENS: &[&str] = &[
    "[", "]", "{", "}", "\"a\"", "\"", "a", "b\"", ",", "{\"a\":", "\"b\":1", ",\"a\":1", "1", " ", "b",
    "1]", "]]", ":", "</s>",
];

const LEXED_TOKENS: &[&str] = &[
    "x", "xx", "1", "11", "+", "x+", "(", ")", "))", ")+", " ", "  ", "\n", "\n ", "\n  ", "if", "f", "i",
    "x:\n ", ";", ",", "x,", ":", "x)", "=", "\"", "\" ", "x\n", "=x", "+x\n", "if(", "):\n  x=", "</s>",
];

fn lexed(lexer: LexerKind) -> Kind {
    let grammars = [
        r#"
start: sum (";" sum)*
sum: item ("+" item)*
item: NAME | NUMBER | "(" sum ")" | "if" "(" sum ")" item
NAME: /[a-z]+/
NUMBER: /1+/
%ignore " "
"#,
        r#"
start: A A B | "(" start ")"
A: "x"
B: "xx"
%ignore " "
"#,
        r#"
start: pair ("," pair)*
pair: NAME "=" (NAME | STRING | list)
list: "(" [pair ("," pair)*] ")"
NAME: /[xfi][xfi1]*/
STRING: /"[^"\n]{1,3}"/
%ignore /[ \n]+/
"#,
    ];
    let mut options = LarkOptions::default();
    options.lexer = lexer;
    let sources = grammars.map(|grammar| GrammarSource::lark(grammar, options.clone())).to_vec();
    Kind { sources, tokens: LEXED_TOKENS, n_cases: 200 }
}

/// Blocks by indentation.
fn indented(lexer: LexerKind) -> Kind {
    let grammar = r#"
start: (_NL | line)*
line: NAME "=" sum _NL | "if" sum ":" _NL _INDENT line+ _DEDENT
sum: NAME ("+" NAME)* | LPAR sum RPAR
NAME: /(?!if\b)[a-z]+/
_NL: /(\n *)+/
LPAR: "("
RPAR: ")"
%declare _INDENT _DEDENT
%ignore / +/
"#;
    let mut options = LarkOptions::default();
    options.lexer = lexer;
    options.indentation = Some(Indentation::python());
    // Each compilation takes some milliseconds.
    Kind { sources: vec![GrammarSource::lark(grammar, options)], tokens: LEXED_TOKENS, n_cases: 40 }
}

fn watched() -> Kind {
    let mut config = SchemaConfig::default();
    config.whitespace = Whitespace::Compact;
    let schemas = [
        r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", 1, 11]}}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": ["integer", "string"]}}"#,
        r#"{"type": "object", "additionalProperties": {"const": 1}, "minProperties": 2}"#,
        r#"{"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": {"const": 1}}"#,
    ];
    let sources = schemas.map(|schema| GrammarSource::json_schema(schema, config)).to_vec();
    Kind { sources, tokens: JSON_TOKENS, n_cases: 200 }
}

/// What is asked of the session after some tokens.
#[derive(Clone, Debug)]
enum Question {
    /// How many tokens complete the text.
    Least,
    /// The tokens that do.
    Finish,
    /// The mask, within so many tokens beyond those there are.
    Mask(usize),
    /// Whether a token is allowed then.
    Allows(usize, TokenId),
}

/// A number or a mask with its status, or the error.
type Answer = String;

/// What cases came to.
#[derive(Default)]
struct Counts {
    exact: Cell<u32>,
    bound: Cell<u32>,
}

fn ask(grammar: &Arc<CompiledGrammar>, tokens: &[TokenId], question: &Question) -> (Answer, Option<bool>) {
    let limit = match question {
        Question::Least | Question::Finish => None,
        Question::Mask(more) | Question::Allows(more, _) => Some(tokens.len() + more),
    };
    let answer = || {
        let mut matcher = Matcher::with_config(grammar, &MatcherConfig::with_max_tokens(limit))?;
        let n_accepted = matcher.accept_tokens(tokens)?;
        if n_accepted < tokens.len() {
            return Ok((format!("{n_accepted} of the tokens are accepted"), None));
        }
        Ok(match question {
            Question::Least => {
                let least = matcher.tokens_to_finish()?;
                (format!("{least:?}"), Some(least.status == TokenCountStatus::Exact))
            }
            Question::Finish => (format!("{:?}", matcher.finish()?.len()), None),
            Question::Mask(_) => {
                let mask: Vec<u32> = matcher.mask()?.iter().map(|token| token.0).collect();
                let status = matcher.mask_status();
                (format!("{mask:?}, {status:?}"), Some(status == MaskStatus::Exact))
            }
            Question::Allows(_, token) => (format!("{}", matcher.validate_tokens(&[*token])?), None),
        })
    };
    answer().unwrap_or_else(|error: maskwright::Error| (error.to_string(), None))
}

/// A question again and again with little work, so that something is left in the middle.
fn run_out_of_work(grammar: &Arc<CompiledGrammar>, tokens: &[TokenId], question: &Question, work: u64) {
    let Question::Mask(more) = question else { return };
    let Ok(mut matcher) = Matcher::with_config(grammar, &MatcherConfig::with_max_tokens(tokens.len() + more))
    else {
        return;
    };
    if matcher.accept_tokens(tokens).is_ok_and(|n_accepted| n_accepted == tokens.len()) {
        let mut words = vec![0; maskwright::mask_words(grammar.vocabulary().n_vocab())];
        for _ in 0..2 {
            // Whatever it says: which tokens are known depends on what was asked before.
            let _ = matcher.fill_mask_within(&mut words, Some(work));
        }
    }
}

/// What is asked next, whether caches are dropped before, and with how much work the question is asked in
/// vain before.
type Step = (Index, bool, Option<u64>);

/// A text by choices among the tokens that are allowed, and what is asked there.
#[derive(Clone, Debug)]
struct Asked {
    choices: Vec<Index>,
    question: Question,
}

fn arb_asked(n_vocab: usize) -> impl Strategy<Value = Asked> {
    let question = prop_oneof![
        Just(Question::Least),
        Just(Question::Finish),
        (1usize..12).prop_map(Question::Mask),
        (1usize..12).prop_map(Question::Mask),
        (1usize..12, 0..n_vocab as u32).prop_map(|(more, id)| Question::Allows(more, TokenId(id))),
    ];
    (vec(any::<Index>(), 0..8), question).prop_map(|(choices, question)| Asked { choices, question })
}

fn text(grammar: &Arc<CompiledGrammar>, choices: &[Index]) -> Vec<TokenId> {
    let mut matcher = Matcher::new(grammar);
    let mut tokens = Vec::new();
    for choice in choices {
        let allowed: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
        let token = *choice.get(&allowed);
        if grammar.vocabulary().is_eos(token) || !matcher.accept_token(token).unwrap() {
            break;
        }
        tokens.push(token);
    }
    tokens
}

fn campaign(kind: &Kind) {
    let tokens: Vec<Vec<u8>> = kind.tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
    let n_vocab = tokens.len();
    let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(n_vocab as u32 - 1)]).unwrap();
    let compile = |source: &GrammarSource| {
        Compiler::new(&tokenizer).compile(source, &CompileOptions::default()).unwrap()
    };
    let cases = maskwright_oracle::cases(kind.n_cases);
    let config = ProptestConfig { cases, max_shrink_iters: 300, ..ProptestConfig::default() };
    let counts = Counts::default();
    let strategy = (
        any::<Index>(),
        vec(arb_asked(n_vocab), 2..7),
        vec((any::<Index>(), prop::bool::weighted(0.1), proptest::option::of(0u64..3_000)), 10..30),
    );
    let judge = |(source, asked, order): (Index, Vec<Asked>, Vec<Step>)| {
        let source = source.get(&kind.sources);
        let asked: Vec<(Vec<TokenId>, Question, Answer)> = asked
            .into_iter()
            .map(|Asked { choices, question }| {
                let tokens = text(&compile(source), &choices);
                let (answer, is_exact) = ask(&compile(source), &tokens, &question);
                let count = match is_exact {
                    Some(true) => Some(&counts.exact),
                    Some(false) => Some(&counts.bound),
                    None => None,
                };
                count.inspect(|count| count.set(count.get() + 1));
                (tokens, question, answer)
            })
            .collect();
        let shared = compile(source);
        let halves = [&order[..order.len() / 2], &order[order.len() / 2..]];
        let ask_all = |order: &[Step]| {
            for (at, drops_caches, work) in order {
                if *drops_caches {
                    shared.clear_caches();
                }
                let (tokens, question, expected) = at.get(&asked);
                if let Some(work) = work {
                    run_out_of_work(&shared, tokens, question, *work);
                }
                let (answer, _) = ask(&shared, tokens, question);
                if answer != *expected {
                    return Err(format!("{question:?} after {tokens:?}: {answer} instead of {expected}"));
                }
            }
            Ok(())
        };
        let outcomes = thread::scope(|scope| {
            let threads = halves.map(|order| scope.spawn(|| ask_all(order)));
            threads.map(|thread| thread.join().unwrap())
        });
        for outcome in outcomes {
            prop_assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
        }
        Ok(())
    };
    TestRunner::new(config).run(&strategy, judge).unwrap();
    let (n_exact, n_bound) = (counts.exact.get(), counts.bound.get());
    assert!(
        n_exact >= cases / 4 && n_bound >= cases / 20,
        "{n_exact} exact answers and {n_bound} bounds were compared"
    );
}

#[test]
fn grammars_over_bytes() {
    campaign(&bytes());
}

#[test]
fn what_sessions_remember() {
    campaign(&watched());
}

#[test]
fn grammars_with_a_basic_lexer() {
    campaign(&lexed(LexerKind::Basic));
}

#[test]
fn grammars_with_a_contextual_lexer() {
    campaign(&lexed(LexerKind::Contextual));
}

#[test]
fn indentation_with_a_basic_lexer() {
    campaign(&indented(LexerKind::Basic));
}

#[test]
fn indentation_with_a_contextual_lexer() {
    campaign(&indented(LexerKind::Contextual));
}
