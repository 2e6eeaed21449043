//! Masks of lexed grammars with all optimisations, against those with none.
//!
//! The grammars are larger than exhaustive search can judge, and any text stands in most templates: within it
//! edges of the graph lead back.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-infill --test either_way` runs the full campaign;
//! without the variable 4,000 cases run.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

mod common;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use common::lexed::{Rhs, Subject, arb_parts, cases_or, check_ways, grammar, regexp, string, vocabulary};

const N_TERMINALS: usize = 6;
const N_RULES: usize = 5;

/// Sentences are short and rules many, each mostly a sequence.
fn arb_rule() -> impl Strategy<Value = Rhs> {
    let leaf = || {
        prop_oneof![
            3 => (0..N_TERMINALS).prop_map(Rhs::Terminal),
            2 => (0..N_RULES).prop_map(Rhs::Rule),
        ]
    };
    let sequence = vec(leaf(), 1..=4).prop_map(Rhs::Seq);
    let repeated = (leaf(), 0..2u32).prop_map(|(inner, min)| Rhs::Repeat(Box::new(inner), min, None));
    let way = prop_oneof![4 => sequence, 1 => repeated];
    // A way out, so that few grammars are empty.
    (vec(way, 1..=3), 0..N_TERMINALS).prop_map(|(mut ways, terminal)| {
        ways.push(Rhs::Terminal(terminal));
        Rhs::Alt(ways)
    })
}

fn arb_grammar() -> impl Strategy<Value = Subject> {
    let terminal = prop_oneof![
        4 => select(vec!["a", "b", "c", "(", ")", ";", "ab", "a("]).prop_map(string),
        1 => select(vec!["a+", "[bc]+", "c;?"]).prop_map(|source| regexp(source, 0)),
    ];
    let ignored =
        select(vec![None, None, Some(" +")]).prop_map(|source| source.map(|source| regexp(source, 0)));
    (vec(terminal, N_TERMINALS), ignored, vec(arb_rule(), N_RULES)).prop_map(|(terminals, ignored, rules)| {
        Subject {
            grammar: grammar(terminals, &[], ignored, &rules),
            layout: None,
            alphabet: "",
            n_letters: 0,
        }
    })
}

proptest! {
    #![proptest_config(cases_or(4_000))]

    #[test]
    fn masks_are_the_same_either_way(
        subject in arb_grammar(),
        tokens in vec("[abc(); ]{1,3}", 1..8),
        parts in arb_parts("[abc();]{1,2}"),
        choices in vec(any::<Index>(), 2),
    ) {
        check_ways(&subject, &vocabulary(&tokens), &parts, &choices)?;
    }
}
