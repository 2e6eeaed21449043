//! Figure 1 of paper 2 ("Flexible and Efficient Grammar-Constrained Decoding"): the token spanner table, and
//! what the parser says of its sequences.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::collections::{BTreeMap, BTreeSet};

use maskwright::inspect::StackVerdict;
use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};

/// Figure 1c.
const VOCABULARY: [&str; 6] = ["a", "b", "c", "ab", "ac", "aba"];

/// Figure 1d: states by texts that lead to them, columns as in the vocabulary.
const TABLE: [(&str, [&str; 6]); 4] = [
    ("", ["B,C", "", "", "B", "C", "BB,BC"]),
    ("a", ["", "B", "C", "", "", ""]),
    ("ab", ["BB,BC", "B", "", "BB", "BC", "BBB,BBC"]),
    ("ac", ["CB,CC", "", "C", "CB", "CC", "CBB,CBC"]),
];

/// Figure 1a.
const TERMINALS: &str = "B: /ab+/\nC: /ac+/\n";

/// By sequence of terminals: tokens, and what the parser says.
type Spans = BTreeMap<String, (Vec<String>, StackVerdict)>;

fn spans(tokens: &[&str], rules: &str, lexer: LexerKind, text: &str) -> (Spans, BTreeSet<String>) {
    let all = tokens.iter().map(|token| token.as_bytes().to_vec()).chain([Vec::new()]).collect();
    let tokenizer = Tokenizer::from_tokens(all, &[TokenId(tokens.len() as u32)]).unwrap();
    let mut lark = LarkOptions::default();
    lark.lexer = lexer;
    let grammar = Compiler::new(&tokenizer)
        .compile(&GrammarSource::lark(rules, lark.clone()), &CompileOptions::default())
        .unwrap();
    let names = grammar.inspect_terminals();
    let word = |id: u32| tokens[id as usize].to_owned();
    let spans = grammar.inspect_spans(text.as_bytes()).unwrap().unwrap();
    let spans = spans.into_iter().map(|span| {
        let sequence: String = span.terminals.iter().map(|&terminal| names[terminal].as_str()).collect();
        (sequence, (span.tokens.iter().map(|token| word(token.0)).collect(), span.verdict))
    });
    let mut matcher = Matcher::new(&grammar);
    assert!(matcher.accept_bytes(text.as_bytes()).unwrap());
    let mask = matcher.mask().unwrap();
    let allowed = mask.iter().filter(|token| token.0 < tokens.len() as u32).map(|token| word(token.0));
    (spans.collect(), allowed.collect())
}

#[test]
fn the_token_spanner_table_is_that_of_figure_1d() {
    let rules = format!("start: (B | C)+\n{TERMINALS}");
    for lexer in [LexerKind::Basic, LexerKind::Contextual] {
        for (text, row) in TABLE {
            let (spans, _) = spans(&VOCABULARY, &rules, lexer, text);
            for (token, expected) in VOCABULARY.iter().zip(row) {
                let found: Vec<&str> = spans
                    .iter()
                    .filter(|(_, (tokens, _))| tokens.iter().any(|other| other == token))
                    .map(|(sequence, _)| sequence.as_str())
                    .collect();
                assert_eq!(found.join(","), expected, "{token} after {text:?}");
            }
            assert!(spans.values().all(|(_, verdict)| *verdict == StackVerdict::Always));
        }
    }
}

#[test]
fn sequences_are_judged_as_the_grammar_of_figure_1e_has_them() {
    // B and C in turn.
    let rules = format!("start: B after_b\nafter_b: | C after_c\nafter_c: | B after_b\n{TERMINALS}");
    let cases: [(&str, &[&str], &[&str]); 4] = [
        ("", &["B", "BC"], &["a", "ab", "aba"]),
        ("a", &["B"], &["b"]),
        ("ab", &["B", "BC"], &["a", "b", "ac"]),
        ("abac", &["C", "CB", "CBC"], &["a", "c", "ab", "aba"]),
    ];
    for (text, accepted, allowed) in cases {
        let (spans, mask) = spans(&VOCABULARY, &rules, LexerKind::Basic, text);
        for (sequence, (_, verdict)) in &spans {
            let is_accepted = accepted.contains(&sequence.as_str());
            let expected = if is_accepted { StackVerdict::Always } else { StackVerdict::Never };
            assert_eq!(*verdict, expected, "{sequence} after {text:?}");
        }
        assert!(accepted.iter().all(|sequence| spans.contains_key(*sequence)), "{text:?}: {spans:?}");
        assert_eq!(mask, allowed.iter().map(|&token| token.to_owned()).collect(), "{text:?}");
    }
}

#[test]
fn closing_brackets_depend_on_the_stack() {
    let rules = "start: L start R | B\nL: \"(\"\nR: \")\"\nB: \"b\"\n";
    let tokens = ["(", ")", "b", "))))", ")))))", ")("];
    let (spans, mask) = spans(&tokens, rules, LexerKind::Basic, "((((b");
    let verdict = |sequence: &str| spans[sequence].1;
    assert_eq!(verdict("BR"), StackVerdict::Always);
    assert_eq!(verdict("BRRRR"), StackVerdict::Depends { is_read_here: true });
    assert_eq!(verdict("BRRRRR"), StackVerdict::Depends { is_read_here: false });
    assert_eq!(verdict("BRL"), StackVerdict::Never);
    assert_eq!(mask, [")", "))))"].map(str::to_owned).into());
}
