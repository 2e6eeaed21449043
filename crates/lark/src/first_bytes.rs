//! The bytes with which texts of a grammar can begin, and so what may follow an ignored text.

use maskwright_automata::{Automaton, AutomatonLimits, ByteSet, Fuel};
use maskwright_grammar::{Expr, ExprId, Grammar, Seen};
use maskwright_lexing::LexError;
use rustc_hash::FxHashSet;

/// The bytes with which texts of `grammar` can begin, and maybe more. Visits only terminals that texts may
/// begin with.
pub(crate) fn first_bytes(grammar: &Grammar, fuel: &Fuel) -> Result<ByteSet, LexError> {
    let pool = grammar.pool();
    let may_be_empty = empty(grammar, fuel)?;
    let mut first = ByteSet::EMPTY;
    let mut seen: FxHashSet<ExprId> = FxHashSet::default();
    let mut work = vec![grammar.body(grammar.start())];
    while let Some(id) = work.pop() {
        if !seen.insert(id) {
            continue;
        }
        fuel.spend(1)?;
        match pool.get(id) {
            Expr::Terminal(terminal) => {
                let words = &grammar.terminals()[terminal.index()];
                let automaton = Automaton::new(words, &AutomatonLimits::default(), fuel)?;
                if let Some(start) = automaton.start() {
                    first = first.union(&automaton.next_bytes(start)?);
                }
            }
            &Expr::Rule(rule) => work.push(grammar.body(rule)),
            &Expr::Seq(head, tail) => {
                work.push(head);
                work.extend(may_be_empty[head.index()].then_some(tail));
            }
            // A list in any order begins with any of its parts or, if parts can be empty, with a separator.
            _ => work.extend(pool.children(id)),
        }
    }
    Ok(first)
}

/// For each expression, whether it has the empty text. Lists in any order count as if they had.
fn empty(grammar: &Grammar, fuel: &Fuel) -> Result<Vec<bool>, LexError> {
    let pool = grammar.pool();
    let mut empty = vec![false; pool.len()];
    let mut seen = Seen::new();
    let order: Vec<ExprId> =
        grammar.rules().flat_map(|rule| pool.post_order(grammar.body(rule), &mut seen)).collect();
    loop {
        let mut has_grown = false;
        for &id in &order {
            fuel.spend(1)?;
            let now = match pool.get(id) {
                Expr::Never => false,
                Expr::Epsilon | Expr::Shuffle(_) => true,
                Expr::Terminal(terminal) => grammar.terminals()[terminal.index()].is_nullable(),
                &Expr::Rule(rule) => empty[grammar.body(rule).index()],
                &Expr::Seq(head, tail) => empty[head.index()] && empty[tail.index()],
                Expr::Alt(parts) => parts.iter().any(|part| empty[part.index()]),
                &Expr::Repeat { inner, min, .. } => min == 0 || empty[inner.index()],
            };
            has_grown |= now && !empty[id.index()];
            empty[id.index()] |= now;
        }
        if !has_grown {
            return Ok(empty);
        }
    }
}
