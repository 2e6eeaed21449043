//! Inlines rules that only one other rule refers to.
//!
//! The language is the same. A chart begins and ends a rule at every place where its caller is, and grammars
//! of programming languages have a rule for each level of precedence, each called by the one before. Inlined
//! into each other they are one rule, with as few states: after an operand, the operators of all levels
//! follow, whichever came before.
//!
//! Recursive rules stay, and so do rules with several callers, because what follows each call would be states
//! of its own.

use maskwright_automata::Fuel;
use maskwright_grammar::{Expr, ExprId, Grammar, GrammarError, RuleId, Seen};

use crate::rules::rewriting::Rewriting;

/// The same language without rules that have one caller. Takes time linear in the grammar.
///
/// # Errors
/// If `fuel` runs out.
pub(crate) fn inline_single(grammar: &Grammar, fuel: &Fuel) -> Result<Grammar, GrammarError> {
    let callees = callees(grammar, fuel)?;
    let parents = parents(grammar.start(), &callees);
    let mut rewriting = Rewriting::new(grammar);
    let mut bodies: Vec<Option<ExprId>> = vec![None; grammar.rules().len()];
    for rule in inner_first(&callees, &parents) {
        let in_place =
            |callee: RuleId| bodies[callee.index()].filter(|_| parents[callee.index()] == Some(rule));
        // Each rule for itself: what is shared between bodies may hold another rule's body in one of them.
        let Some(body) = rewriting.body(rule, &mut Seen::new(), in_place, fuel)? else {
            return Ok(grammar.clone());
        };
        bodies[rule.index()] = Some(body);
        rewriting.builder.define(rule, body);
    }
    rewriting.builder.finish(grammar.start())
}

/// By rule, the rules that it refers to, each once.
fn callees(grammar: &Grammar, fuel: &Fuel) -> Result<Vec<Vec<RuleId>>, GrammarError> {
    let pool = grammar.pool();
    let mut all = Vec::new();
    for rule in grammar.rules() {
        let mut callees = Vec::new();
        for id in pool.post_order(grammar.body(rule), &mut Seen::new()) {
            fuel.spend(1)?;
            if let &Expr::Rule(callee) = pool.get(id) {
                callees.push(callee);
            }
        }
        callees.sort_unstable();
        callees.dedup();
        all.push(callees);
    }
    Ok(all)
}

/// By rule, its only caller, if it has just one that is another rule.
fn parents(start: RuleId, callees: &[Vec<RuleId>]) -> Vec<Option<RuleId>> {
    let mut callers: Vec<Vec<RuleId>> = vec![Vec::new(); callees.len()];
    for (caller, callees) in callees.iter().enumerate() {
        callees.iter().for_each(|callee| callers[callee.index()].push(RuleId::from_index(caller)));
    }
    let only = |(rule, callers): (usize, Vec<RuleId>)| match callers[..] {
        [caller] if caller.index() != rule && rule != start.index() => Some(caller),
        _ => None,
    };
    callers.into_iter().enumerate().map(only).collect()
}

/// All rules, those that become part of another one before it. Rules that only call each other in a circle
/// come last, in any order; nothing reaches them.
fn inner_first(callees: &[Vec<RuleId>], parents: &[Option<RuleId>]) -> Vec<RuleId> {
    let is_part_of =
        |callee: &RuleId, rule: usize| parents[callee.index()].is_some_and(|p| p.index() == rule);
    let mut n_open: Vec<usize> = (0..callees.len())
        .map(|rule| callees[rule].iter().filter(|callee| is_part_of(callee, rule)).count())
        .collect();
    let mut order: Vec<RuleId> =
        (0..callees.len()).filter(|&rule| n_open[rule] == 0).map(RuleId::from_index).collect();
    let mut index = 0;
    while let Some(&rule) = order.get(index) {
        index += 1;
        if let Some(parent) = parents[rule.index()] {
            n_open[parent.index()] -= 1;
            if n_open[parent.index()] == 0 {
                order.push(parent);
            }
        }
    }
    order.extend((0..callees.len()).filter(|&rule| n_open[rule] > 0).map(RuleId::from_index));
    order
}
