//! Ambiguous grammars are followed for long texts in bounded work.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, EngineGrammar, Error, Limits, Matcher};
use maskwright_grammar::{ExprId, Grammar, GrammarBuilder, RuleId};
use maskwright_lark::{LarkConfig, LexerKind, parse_lark};
use maskwright_oracle::{Oracle, TextWalk};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn vocabulary(tokens: &[&str]) -> Arc<Vocabulary> {
    let all = tokens.iter().chain(&["</s>"]).map(|token| Some(token.as_bytes().to_vec()));
    Vocabulary::from_tokens(all.collect(), &[TokenId(tokens.len() as u32)], None).unwrap().shared()
}

/// Reads `n_bytes` of `unit` again and again, with a mask every hundred bytes; what is left at the end.
fn read(compiled: &Arc<EngineGrammar>, unit: &str, n_bytes: usize) -> Result<Matcher, Error> {
    let mut matcher = Matcher::new(compiled);
    for (position, byte) in unit.bytes().cycle().take(n_bytes).enumerate() {
        let tokens = compiled.vocabulary().n_vocab() as u32;
        let token = (0..tokens)
            .map(TokenId)
            .find(|&token| compiled.vocabulary().token_bytes(token) == Some(&[byte]))
            .unwrap();
        if position % 100 == 0 {
            assert!(matcher.mask()?.contains(token), "byte {position}");
        }
        assert!(matcher.accept_token(token)?, "byte {position}");
    }
    Ok(matcher)
}

/// `s: "a" s s | "a" s | "a"`, whose readings differ in how deep they are and are not merged.
fn pairs(limits: Limits) -> Arc<EngineGrammar> {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("s");
    let (inner, letter) = (builder.rule(start), builder.literal("a"));
    let (two, one) = (builder.seq(&[letter, inner, inner]), builder.seq(&[letter, inner]));
    let body = builder.alt(&[two, one, letter]);
    builder.define(start, body);
    let grammar = builder.finish(start).unwrap();
    Compiler::new(vocabulary(&["a"]), limits).compile(grammar, &Fuel::unlimited()).unwrap()
}

/// Readings that differ only in how they came about are one: a limit on readings is not met by a text of
/// as many letters.
#[test]
fn readings_are_shared() {
    let compiled = pairs(Limits { max_threads: 2_000, ..Limits::default() });
    assert!(read(&compiled, "a", 400).unwrap().is_accepting());
}

#[test]
fn too_many_readings_are_an_error_and_change_nothing() {
    let error = read(&pairs(Limits { max_threads: 100, ..Limits::default() }), "a", 400).err().unwrap();
    assert!(error.is_limit(), "{error}");
}

#[test]
fn the_work_of_a_byte_is_bounded() {
    let error = read(&pairs(Limits { max_calls: 10_000, ..Limits::default() }), "a", 400).err().unwrap();
    assert!(error.is_limit() && error.to_string().contains("10000"), "{error}");
}

/// `start: start start | "a"` ended in a limit error after 600 bytes, and its relatives after 200 to 1,600.
/// Most of them now take the same few readings at each byte, and the others no more than there are bytes
/// before it.
#[test]
fn ambiguous_lists_of_any_length_are_read() {
    // By grammar: the text, and how many calls a byte may lead to.
    let constant = 50;
    let linear = 20_000;
    for (source, unit, max_calls) in [
        ("start: start start | \"a\"", "a", constant),
        ("start: start \"+\" start | \"n\"", "n+", constant),
        ("start: start \"+\" start | start \"*\" start | \"(\" start \")\" | \"n\"", "n+n*", constant),
        ("start: start start | start \"b\" | \"a\"", "ab", constant),
        ("start: \"a\" start | start \"b\" | \"a\"", "a", constant),
        ("start: \"-\" start | start \"-\" start | \"n\"", "-n-", constant),
        ("start: start start | \"(\" start \")\" |", "()", constant),
        ("start: \"a\" start*", "a", constant),
        ("start: \"a\" xs\nxs: start xs |", "a", constant),
        ("start: b | \"a\"\nb: start start", "a", constant),
        ("start: start \"-\" start | call | \"n\"\ncall: start \"()\"", "n()-", constant),
        ("start: start? start \"a\"? | \"x\"", "xa", linear),
        ("start: start start start | start start | \"a\"", "a", linear),
        ("start: start+ | \"a\"", "a", linear),
        ("start: \"a\" start? start?", "a", linear),
        ("start: \"i\" start | \"i\" start \"e\" start | \"s\" | start start", "iises", linear),
    ] {
        for lexer in [LexerKind::Contextual, LexerKind::DynamicComplete] {
            let config = LarkConfig { lexer, ..LarkConfig::default() };
            let grammar = parse_lark(source, "grammar.lark", &config, &Fuel::unlimited()).unwrap();
            let letters: Vec<String> = unit.chars().map(String::from).collect();
            let mut tokens: Vec<&str> = letters.iter().map(|letter| &**letter).collect();
            tokens.push(unit);
            tokens.sort_unstable();
            tokens.dedup();
            let compiler = Compiler::new(vocabulary(&tokens), Limits { max_calls, ..Limits::default() });
            let compiled = match grammar.over_bytes {
                Some(grammar) => compiler.compile(grammar, &Fuel::unlimited()),
                None => compiler.compile_contextual(grammar.lexed, None, &Fuel::unlimited()),
            };
            let matcher = read(&compiled.unwrap(), unit, 2_000);
            assert!(matcher.is_ok(), "{source:?}, {lexer:?}: {}", matcher.err().unwrap());
        }
    }
}

/// A part of a right-hand side.
#[derive(Clone, Debug)]
enum Part {
    Letter(char),
    Rule(usize),
    Optional(usize),
    Star(usize),
    Plus(usize),
}

/// The rules, each by its alternatives.
type Rules = Vec<Vec<Vec<Part>>>;

/// Few letters and rules that call each other everywhere, so that many texts can be read in many ways; and
/// alternatives that begin or end with a letter, so that it matters how many rules are still open.
fn arb_rules() -> impl Strategy<Value = Rules> {
    let letter = || prop::sample::select(vec!['a', 'a', 'b', 'c']).prop_map(Part::Letter);
    let call = || {
        prop_oneof![
            5 => (0usize..3).prop_map(Part::Rule),
            1 => (0usize..3).prop_map(Part::Optional),
            1 => (0usize..3).prop_map(Part::Star),
            1 => (0usize..3).prop_map(Part::Plus),
        ]
    };
    let alternative = prop_oneof![
        3 => prop::collection::vec(prop_oneof![letter(), call()], 0..4),
        1 => letter().prop_map(|letter| vec![letter]),
        1 => (letter(), call(), call()).prop_map(|(a, b, c)| vec![a, b, c]),
        1 => (letter(), call(), letter()).prop_map(|(a, b, c)| vec![a, b, c]),
        1 => (call(), letter(), call()).prop_map(|(a, b, c)| vec![a, b, c]),
    ];
    prop::collection::vec(prop::collection::vec(alternative, 1..4), 1..4)
}

fn grammar(rules: &Rules) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let ids: Vec<RuleId> = (0..rules.len()).map(|index| builder.declare(format!("r{index}"))).collect();
    for (alternatives, &id) in rules.iter().zip(&ids) {
        let mut exprs = Vec::new();
        for alternative in alternatives {
            let mut parts = Vec::new();
            for part in alternative {
                let mut rule = |index: usize| -> ExprId { builder.rule(ids[index % ids.len()]) };
                let inner = match *part {
                    Part::Letter(letter) => builder.literal(letter.to_string()),
                    Part::Rule(index) | Part::Optional(index) | Part::Star(index) | Part::Plus(index) => {
                        rule(index)
                    }
                };
                parts.push(match part {
                    Part::Letter(_) | Part::Rule(_) => inner,
                    Part::Optional(_) => builder.repeat(inner, 0, Some(1)),
                    Part::Star(_) => builder.repeat(inner, 0, None),
                    Part::Plus(_) => builder.repeat(inner, 1, None),
                });
            }
            exprs.push(builder.seq(&parts));
        }
        let body = builder.alt(&exprs);
        builder.define(id, body);
    }
    builder.finish(ids[0]).unwrap()
}

/// What readings leave out because others stand for it changes no mask, and no least number of tokens.
#[test]
fn merged_readings_change_nothing() {
    let config = ProptestConfig { cases: maskwright_oracle::cases(1_500), ..ProptestConfig::default() };
    let n_cases = config.cases;
    let n_judged = std::cell::Cell::new(0);
    let strategy = (arb_rules(), prop::collection::vec(any::<u16>(), 8..24));
    let judged = TestRunner::new(config).run(&strategy, |(rules, choices)| {
        let grammar = grammar(&rules);
        let oracle = Oracle::new(&grammar);
        if !oracle.is_prefix(b"") {
            return Ok(());
        }
        let vocabulary = vocabulary(&["a", "b", "c", "ab", "aba", "cc"]);
        let compiler = Compiler::new(vocabulary.clone(), Limits::default());
        let compiled = compiler.compile(grammar, &Fuel::unlimited()).unwrap();
        let mut matcher = Matcher::new(&compiled);
        let mut text = Vec::new();
        for token in TextWalk::new(choices).tokens(&oracle, &vocabulary).into_iter().map(Some).chain([None]) {
            let mask = matcher.mask().unwrap();
            let expected = oracle.mask(&vocabulary, &text).unwrap();
            for (id, is_allowed) in (0u32..).zip(expected) {
                prop_assert_eq!(mask.contains(TokenId(id)), is_allowed, "token {} after {:?}", id, text);
            }
            prop_assert_eq!(matcher.is_accepting(), oracle.is_word(&text));
            if text.len() < 6 {
                let least = matcher.tokens_to_finish().unwrap().n_tokens;
                prop_assert!(oracle.tokens_to_finish(&vocabulary, &text).is_some_and(|exact| exact <= least));
            }
            let Some(token) = token else { break };
            prop_assert!(matcher.accept_token(token).unwrap());
            text.extend_from_slice(vocabulary.token_bytes(token).unwrap());
        }
        n_judged.set(n_judged.get() + u32::from(text.len() >= 8));
        Ok(())
    });
    judged.unwrap();
    assert!(n_judged.get() > n_cases / 10, "only {} texts of eight bytes", n_judged.get());
}
