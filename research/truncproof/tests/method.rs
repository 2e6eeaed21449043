//! The method against the engine's exact budgets, on JSON and on statements of a small language: it allows
//! nothing that the engine does not, it never comes to a dead end, and what it refuses beside is what the
//! paper's estimate cannot see.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use maskwright_automata::{ByteSet, Fuel, Regex};
use maskwright_decode::{Constraint, is_allowed, mask_len};
use maskwright_engine::{Compiler, EngineGrammar, Matcher, MatcherConfig};
use maskwright_grammar::{Grammar, GrammarBuilder};
use maskwright_truncproof::{TruncProof, TruncProofConstraint};
use maskwright_vocabulary::{TokenId, Vocabulary};
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

/// JSON of objects, lists, strings of two letters, numbers and `true`; structure takes blanks on both sides,
/// as in the paper's grammar.
fn json() -> Grammar {
    let mut builder = GrammarBuilder::new();
    let blanks = Regex::literal(" ").star();
    let mark = |builder: &mut GrammarBuilder, text: &str| {
        builder.terminal(Regex::concat([blanks.clone(), Regex::literal(text), blanks.clone()]))
    };
    let [open, close, start, end, colon, comma] =
        ["{", "}", "[", "]", ":", ","].map(|text| mark(&mut builder, text));
    let quote = Regex::literal("\"");
    let letters = Regex::bytes(ByteSet::range(b'a', b'b')).star();
    let string = builder.terminal(Regex::concat([quote.clone(), letters, quote]));
    let digits = Regex::bytes(ByteSet::range(b'0', b'1')).plus();
    let integer = builder.terminal(digits.clone());
    let fraction = builder.terminal(Regex::concat([Regex::literal("."), digits]));
    let truth = builder.literal("true");
    let fraction = builder.optional(fraction);
    let number = builder.seq(&[integer, fraction]);

    let value = builder.declare("value");
    let inner = builder.rule(value);
    let member = builder.seq(&[string, colon, inner]);
    let list = |builder: &mut GrammarBuilder, item| {
        let more = builder.seq(&[comma, item]);
        let more = builder.repeat(more, 0, None);
        let items = builder.seq(&[item, more]);
        builder.optional(items)
    };
    let members = list(&mut builder, member);
    let items = list(&mut builder, inner);
    let object = builder.seq(&[open, members, close]);
    let array = builder.seq(&[start, items, end]);
    let body = builder.alt(&[object, array, string, number, truth]);
    builder.define(value, body);
    builder.finish(value).unwrap()
}

/// Statements `name=name;` and `if(name){…}`, where a name may be spelled like the keyword.
fn statements() -> Grammar {
    let mut builder = GrammarBuilder::new();
    let name = builder.terminal(Regex::bytes(ByteSet::range(b'a', b'z')).plus());
    let [equals, end, condition, open, close] =
        ["=", ";", "if(", "){", "}"].map(|text| builder.literal(text));
    let statement = builder.declare("statement");
    let inner = builder.rule(statement);
    let block = builder.repeat(inner, 0, None);
    let assignment = builder.seq(&[name, equals, name, end]);
    let branch = builder.seq(&[condition, name, open, block, close]);
    let body = builder.alt(&[assignment, branch]);
    builder.define(statement, body);
    let start = builder.declare("start");
    builder.define(start, block);
    builder.finish(start).unwrap()
}

fn vocabulary(texts: &[&str]) -> Arc<Vocabulary> {
    let tokens = texts.iter().map(|text| Some(text.as_bytes().to_vec())).chain([Some(b"</s>".to_vec())]);
    Vocabulary::from_tokens(tokens.collect(), &[TokenId(texts.len() as u32)], None).unwrap().shared()
}

fn cases() -> [(Grammar, Arc<Vocabulary>); 2] {
    let json_tokens = [
        "{", "}", "[", "]", ":", ",", "\"", "a", "b", "0", "1", ".", "true", " ", "\":", "\"},", "{\"", "]]",
        "ab\"", "],", "},", "0.", "tr", "ue", " {", "\",\"", "}, ", "[1",
    ];
    let statement_tokens =
        ["i", "f", "if", "(", "if(", "){", "}", "=", ";", "x", "x=", "=x;", ";}", "){}", "}}", ";x", "(x"];
    [(json(), vocabulary(&json_tokens)), (statements(), vocabulary(&statement_tokens))]
}

fn compile(grammar: &Grammar, vocabulary: &Arc<Vocabulary>) -> Arc<EngineGrammar> {
    let compiler = Compiler::new(vocabulary.clone(), Default::default());
    compiler.compile(grammar.clone(), &Fuel::new(1_000_000)).unwrap()
}

/// Random walks under limits: the masks are within the engine's, no step is without a token, every walk ends
/// with a whole text within its limit.
#[test]
fn guarantees_a_whole_text_and_allows_nothing_wrong() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for (grammar, vocabulary) in cases() {
        let compiled = compile(&grammar, &vocabulary);
        let method = Arc::new(TruncProof::new(grammar, &vocabulary).unwrap());
        let least = method.least() as usize;
        let (mut n_equal, mut n_smaller) = (0, 0);
        for round in 0..150 {
            let limit = least + round % 16;
            let mut estimated = TruncProofConstraint::new(&method, Some(limit)).unwrap();
            let mut exact = Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(limit)).unwrap();
            let mut n_tokens = 0;
            while !estimated.is_terminated() {
                let mut mask = vec![0; mask_len(vocabulary.n_vocab())];
                estimated.fill_mask(&mut mask).unwrap();
                let wanted = exact.mask().unwrap();
                assert_eq!(estimated.is_accepting(), exact.is_accepting());
                let ids = (0..vocabulary.n_vocab() as u32).map(TokenId);
                let ids: Vec<TokenId> = ids.filter(|&id| is_allowed(&mask, id)).collect();
                assert!(ids.iter().all(|&id| wanted.contains(id)), "after {n_tokens} tokens");
                match ids.len() == wanted.len() {
                    true => n_equal += 1,
                    false => n_smaller += 1,
                }
                let &id = ids.choose(&mut rng).expect("a dead end");
                assert!(estimated.accept_token(id).unwrap() && exact.accept_token(id).unwrap());
                n_tokens += 1;
            }
            assert!(exact.is_terminated() && n_tokens <= limit);
        }
        assert!(n_equal > 100 && n_smaller > 100, "{n_equal} {n_smaller}");
    }
}

#[test]
fn a_mask_says_what_is_accepted_and_rollback_undoes_it() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for (grammar, vocabulary) in cases() {
        let method = Arc::new(TruncProof::new(grammar, &vocabulary).unwrap());
        for limit in [None, Some(12), Some(40)] {
            let mut constraint = TruncProofConstraint::new(&method, limit).unwrap();
            let mut masks = Vec::new();
            for _ in 0..30 {
                let mut mask = vec![0; mask_len(vocabulary.n_vocab())];
                constraint.fill_mask(&mut mask).unwrap();
                for id in (0..=vocabulary.n_vocab() as u32).map(TokenId) {
                    let is_accepted = constraint.accept_token(id).unwrap();
                    assert_eq!(is_accepted, is_allowed(&mask, id));
                    if is_accepted {
                        constraint.rollback(1).unwrap();
                    }
                }
                let ids = (0..vocabulary.n_vocab() as u32).map(TokenId);
                let ids: Vec<TokenId> = ids.filter(|&id| is_allowed(&mask, id)).collect();
                masks.push(mask);
                let Some(&id) = ids.choose(&mut rng) else { break };
                assert!(constraint.accept_token(id).unwrap());
            }
            let n_back = rng.random_range(1..masks.len());
            constraint.rollback(n_back).unwrap();
            let mut mask = vec![0; mask_len(vocabulary.n_vocab())];
            constraint.fill_mask(&mut mask).unwrap();
            let n_taken = constraint_steps(&mut constraint);
            assert_eq!(mask, masks[n_taken]);
        }
    }
}

/// How many steps can be undone; the constraint is at its start afterwards.
fn constraint_steps(constraint: &mut TruncProofConstraint) -> usize {
    let mut n_steps = 0;
    while constraint.rollback(1).is_ok() {
        n_steps += 1;
    }
    n_steps
}

#[test]
fn tokens_of_three_terminals_are_refused() {
    let (grammar, vocabulary) = cases().into_iter().next().unwrap();
    let compiled = compile(&grammar, &vocabulary);
    let method = Arc::new(TruncProof::new(grammar, &vocabulary).unwrap());
    let mut estimated = TruncProofConstraint::new(&method, None).unwrap();
    let mut exact = Matcher::new(&compiled);
    for text in [&b"[{\"a\":1"[..], b",\"b\":\"a"] {
        assert!(estimated.accept_bytes(text).unwrap() && exact.accept_bytes(text).unwrap());
    }
    // A string's end, an object's end and a comma.
    let token =
        vocabulary.trie().tokens(b"\"},".iter().fold(maskwright_vocabulary::Trie::ROOT, |node, &byte| {
            vocabulary.trie().child(node, byte).unwrap()
        }))[0];
    assert!(exact.mask().unwrap().contains(token));
    assert!(!estimated.accept_token(token).unwrap());
    assert!(estimated.accepts_bytes(b"\"},").unwrap() && !estimated.accepts_bytes(b"\"}}").unwrap());
    let vocabulary_end = vocabulary.eos_token_ids()[0];
    assert!(!estimated.accept_token(vocabulary_end).unwrap());
    assert!(estimated.accept_bytes(b"\"}]").unwrap() && estimated.is_accepting());
    assert!(estimated.accept_token(vocabulary_end).unwrap() && estimated.is_terminated());
    assert!(!estimated.accept_bytes(b" ").unwrap());
}

#[test]
fn limits_below_the_estimate_are_refused() {
    let (grammar, vocabulary) = cases().into_iter().next().unwrap();
    let method = Arc::new(TruncProof::new(grammar, &vocabulary).unwrap());
    assert_eq!(method.least(), 2, "`0` or `true`, and the end");
    let error = TruncProofConstraint::new(&method, Some(1)).unwrap_err().to_string();
    assert_eq!(error, "the limit is 1 tokens, the shortest text is estimated at 2");
}
