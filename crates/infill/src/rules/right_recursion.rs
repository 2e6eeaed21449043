//! Turns right recursion into repetition: `a ::= x a | y` becomes `x* y`.
//!
//! The language is the same. A chart has a call, with all its ends, at every place where a recursive rule
//! continues. For a list of n parts that is n² ends; as a repetition it is one call with n ends. Many rules
//! are regular except for this way of writing (GBNF has no other for unbounded lists), so `collapse_regular`
//! makes them terminals afterwards.
//!
//! Only a rule's own name at the very end of its alternatives counts. Recursion through other rules and in
//! the middle stays. Left recursion is resolved by the network.

use maskwright_automata::Fuel;
use maskwright_grammar::{Expr, ExprId, Grammar, GrammarError, RuleId, Seen};

use crate::rules::rewriting::Rewriting;

/// The same language without direct right recursion. Takes time linear in the grammar for each rule that is
/// directly right-recursive.
///
/// # Errors
/// If `fuel` runs out.
pub(crate) fn repeat_tails(grammar: &Grammar, fuel: &Fuel) -> Result<Grammar, GrammarError> {
    let mut rewriting = Rewriting::new(grammar);
    let mut seen = Seen::new();
    for rule in grammar.rules() {
        if rewriting.body(rule, &mut seen, |_| None, fuel)?.is_none() {
            return Ok(grammar.clone());
        }
    }
    let Rewriting { mut builder, lowered, .. } = rewriting;
    for rule in grammar.rules() {
        let body = match tails(grammar, rule, fuel)? {
            Some(tails) => {
                let mut sum = |parts: Vec<Vec<ExprId>>| {
                    let parts: Vec<ExprId> = parts
                        .iter()
                        .map(|parts| {
                            let parts: Vec<ExprId> = parts.iter().map(|id| lowered[id.index()]).collect();
                            builder.seq(&parts)
                        })
                        .collect();
                    builder.alt(&parts)
                };
                let (again, over) = (sum(tails.again), sum(tails.over));
                let again = builder.repeat(again, 0, None);
                builder.seq(&[again, over])
            }
            None => lowered[grammar.body(rule).index()],
        };
        builder.define(rule, body);
    }
    builder.finish(grammar.start())
}

/// A rule's alternatives as sequences.
#[derive(Default)]
struct Tails {
    /// What stands before the rule itself, where that comes last.
    again: Vec<Vec<ExprId>>,
    /// Those without the rule.
    over: Vec<Vec<ExprId>>,
}

/// The rule's alternatives, if it is itself at the end of some and nowhere else.
fn tails(grammar: &Grammar, rule: RuleId, fuel: &Fuel) -> Result<Option<Tails>, GrammarError> {
    let pool = grammar.pool();
    let body = grammar.body(rule);
    // Which expressions contain the rule: children come first.
    let mut has_rule = rustc_hash::FxHashSet::default();
    for id in pool.post_order(body, &mut Seen::new()) {
        fuel.spend(1)?;
        let is_rule = matches!(pool.get(id), &Expr::Rule(callee) if callee == rule);
        if is_rule || pool.children(id).iter().any(|child| has_rule.contains(child)) {
            has_rule.insert(id);
        }
    }
    if !has_rule.contains(&body) {
        return Ok(None);
    }
    let mut tails = Tails::default();
    let mut stack = vec![(body, Vec::new())];
    while let Some((id, mut before)) = stack.pop() {
        fuel.spend(before.len() as u64 + 1)?;
        if !has_rule.contains(&id) {
            before.push(id);
            tails.over.push(before);
            continue;
        }
        match pool.get(id) {
            Expr::Rule(_) => tails.again.push(before),
            Expr::Alt(parts) => stack.extend(parts.iter().map(|&part| (part, before.clone()))),
            &Expr::Seq(head, tail) if !has_rule.contains(&head) => {
                before.push(head);
                stack.push((tail, before));
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(tails))
}
