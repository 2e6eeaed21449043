//! Rules that one other rule alone refers to become part of it.
//!
//! The language is the same. A chart begins a rule, and ends it, at every place where its caller comes to it, and grammars
//! of programming languages have a rule for each level of precedence, each called by the one before. Written into each other they
//! are one rule, and its states are as few: behind an operand the operators of all levels, whichever came before.
//!
//! Rules that refer to themselves stay, and so do those with several callers, since what is behind each call would be
//! states of its own.

use maskwright_automata::Fuel;
use maskwright_grammar::{Expr, ExprId, ExprPool, Grammar, GrammarBuilder, GrammarError, RuleId, Seen};

/// The same language without rules that have one caller. Takes time linear in the grammar.
///
/// # Errors
/// If `fuel` runs out.
pub(crate) fn inline_single(grammar: &Grammar, fuel: &Fuel) -> Result<Grammar, GrammarError> {
    let callees = callees(grammar, fuel)?;
    let parents = parents(grammar.start(), &callees);
    let mut builder = GrammarBuilder::new();
    for regex in grammar.terminals() {
        // Terminals keep their ids.
        builder.terminal(regex.clone());
    }
    let rules: Vec<RuleId> = grammar.rules().map(|rule| builder.declare(grammar.name(rule))).collect();
    let pool = grammar.pool();
    let mut bodies: Vec<Option<ExprId>> = vec![None; rules.len()];
    let mut lowered = vec![ExprPool::NEVER; pool.len()];
    for rule in inner_first(&callees, &parents) {
        let mut seen = Seen::new();
        for id in pool.post_order(grammar.body(rule), &mut seen) {
            fuel.spend(1)?;
            let part = |id: &ExprId| lowered[id.index()];
            lowered[id.index()] = match pool.get(id) {
                Expr::Never => ExprPool::NEVER,
                Expr::Epsilon => ExprPool::EPSILON,
                Expr::Terminal(terminal) => builder.terminal(grammar.terminals()[terminal.index()].clone()),
                &Expr::Rule(callee) => match bodies[callee.index()] {
                    Some(body) if parents[callee.index()] == Some(rule) => body,
                    _ => builder.rule(callee),
                },
                Expr::Seq(head, tail) => {
                    let parts = [part(head), part(tail)];
                    builder.seq(&parts)
                }
                Expr::Alt(parts) => {
                    let parts: Vec<ExprId> = parts.iter().map(part).collect();
                    builder.alt(&parts)
                }
                Expr::Repeat { inner, min, max } => {
                    let inner = part(inner);
                    builder.repeat(inner, *min, *max)
                }
                // Lists in any order are made by front ends that do not write lists by recursion.
                Expr::Shuffle(_) => return Ok(grammar.clone()),
            };
        }
        let body = lowered[grammar.body(rule).index()];
        bodies[rule.index()] = Some(body);
        builder.define(rule, body);
    }
    builder.finish(grammar.start())
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

/// All rules, those that become part of another one before it. Rules that only call each other in a circle come
/// last, in any order; nothing reaches them.
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
