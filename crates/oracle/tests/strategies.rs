//! The random cases are worth testing with: most have words, and the hard shapes all occur.

use maskwright_grammar::{Expr, ExprId, Grammar, RuleId};
use maskwright_oracle::{ALPHABET, Oracle, arb_grammar, arb_text_walk, arb_vocabulary, unfold};
use maskwright_vocabulary::TokenId;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const N_CASES: usize = 400;

/// The rules that `id` can begin with; `is_nullable` says what may be skipped.
fn begins_with(grammar: &Grammar, id: ExprId, is_nullable: &[bool]) -> Vec<RuleId> {
    match grammar.pool().get(id) {
        Expr::Never | Expr::Epsilon | Expr::Terminal(_) => Vec::new(),
        Expr::Rule(rule) => vec![*rule],
        &Expr::Seq(head, tail) => {
            let mut rules = begins_with(grammar, head, is_nullable);
            if nullable(grammar, head, is_nullable) {
                rules.extend(begins_with(grammar, tail, is_nullable));
            }
            rules
        }
        Expr::Alt(parts) => parts.iter().flat_map(|&part| begins_with(grammar, part, is_nullable)).collect(),
        &Expr::Repeat { inner, .. } => begins_with(grammar, inner, is_nullable),
        Expr::Shuffle(_) => unreachable!("lists in any order are unfolded before"),
    }
}

fn nullable(grammar: &Grammar, id: ExprId, rules: &[bool]) -> bool {
    match grammar.pool().get(id) {
        Expr::Never => false,
        Expr::Epsilon => true,
        Expr::Terminal(terminal) => grammar.terminals()[terminal.index()].is_nullable(),
        Expr::Rule(rule) => rules[rule.index()],
        &Expr::Seq(head, tail) => nullable(grammar, head, rules) && nullable(grammar, tail, rules),
        Expr::Alt(parts) => parts.iter().any(|&part| nullable(grammar, part, rules)),
        &Expr::Repeat { inner, min, .. } => min == 0 || nullable(grammar, inner, rules),
        Expr::Shuffle(_) => unreachable!("lists in any order are unfolded before"),
    }
}

/// Whether some rule can begin with itself, in one step or several.
fn is_left_recursive(grammar: &Grammar) -> bool {
    let grammar = &unfold(grammar);
    let mut is_nullable = vec![false; grammar.rules().len()];
    for _ in grammar.rules() {
        for rule in grammar.rules() {
            is_nullable[rule.index()] = nullable(grammar, grammar.body(rule), &is_nullable);
        }
    }
    let reaches_itself = |rule: RuleId| {
        let mut seen = vec![false; grammar.rules().len()];
        let mut work = begins_with(grammar, grammar.body(rule), &is_nullable);
        while let Some(callee) = work.pop() {
            if !std::mem::replace(&mut seen[callee.index()], true) {
                work.extend(begins_with(grammar, grammar.body(callee), &is_nullable));
            }
        }
        seen[rule.index()]
    };
    grammar.rules().any(reaches_itself)
}

#[test]
fn grammars_are_of_all_kinds() {
    let mut runner = TestRunner::deterministic();
    let [mut n_viable, mut n_infinite, mut n_left, mut n_extended] = [0; 4];
    for _ in 0..N_CASES {
        let grammar = arb_grammar().new_tree(&mut runner).expect("nothing is filtered").current();
        let oracle = Oracle::new(&grammar);
        n_viable += usize::from(oracle.is_prefix(b""));
        n_infinite += usize::from(oracle.words_up_to(4, b"abc").iter().any(|word| word.len() == 4));
        n_left += usize::from(is_left_recursive(&grammar));
        n_extended += usize::from(grammar.terminals().iter().any(|regex| regex.is_extended()));
    }
    let counts = [n_viable, n_infinite, n_left, n_extended];
    println!("{counts:?}");
    assert!(counts.iter().all(|&count| count >= N_CASES / 5), "{counts:?}");
    assert!(n_viable >= N_CASES * 3 / 4, "{n_viable}");
    assert!(n_viable < N_CASES && n_left < N_CASES * 3 / 4, "the simple and the empty occur too: {counts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn vocabularies_have_every_byte(vocabulary in arb_vocabulary()) {
        let tokens = || (0..vocabulary.n_vocab()).filter_map(|id| vocabulary.token_bytes(TokenId(id as u32)));
        prop_assert!(ALPHABET.iter().all(|&byte| tokens().any(|token| token == [byte])));
        prop_assert!(tokens().all(|token| token.len() <= 6));
        prop_assert!((1..=2).contains(&vocabulary.eos_token_ids().len()));
        prop_assert!(tokens().count() + vocabulary.eos_token_ids().len() < vocabulary.n_vocab());
    }

    #[test]
    fn walks_stay_in_the_language(
        grammar in arb_grammar(), vocabulary in arb_vocabulary(), walk in arb_text_walk(),
    ) {
        let oracle = Oracle::new(&grammar);
        let text = walk.text(&oracle, &vocabulary);
        prop_assert!(text.is_empty() || oracle.is_prefix(&text));
    }
}
