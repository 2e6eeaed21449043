//! Lists in any order, written out.
//!
//! The rest of the oracle knows sequence, choice and repetition only. A list in any order becomes what its
//! definition says: a rule for each set of items that were there (and each number of members, as far as it
//! matters), whose right-hand side goes through all that may come next. Exponential in the items: for few.

use std::collections::BTreeMap;

use maskwright_grammar::{Expr, ExprId, ExprPool, Grammar, GrammarBuilder, RuleId, Shuffle, ShuffleList};

/// The same language without lists in any order.
pub fn unfold(grammar: &Grammar) -> Grammar {
    let pool = grammar.pool();
    let mut builder = GrammarBuilder::new();
    let rules: Vec<RuleId> = grammar.rules().map(|rule| builder.declare(grammar.name(rule))).collect();
    let mut lowered: Vec<ExprId> = Vec::with_capacity(pool.len());
    for id in (0..pool.len()).map(ExprId::from_index) {
        // What stands below an expression has a smaller id.
        let at = |id: &ExprId| lowered[id.index()];
        let expr = match pool.get(id) {
            Expr::Never => builder.never(),
            Expr::Epsilon => builder.epsilon(),
            Expr::Terminal(terminal) => builder.terminal(grammar.terminals()[terminal.index()].clone()),
            Expr::Rule(rule) => builder.rule(rules[rule.index()]),
            Expr::Seq(head, tail) => builder.seq(&[at(head), at(tail)]),
            Expr::Alt(parts) => builder.alt(&parts.iter().map(at).collect::<Vec<_>>()),
            Expr::Repeat { inner, min, max } => builder.repeat(at(inner), *min, *max),
            Expr::Shuffle(place) => written_out(pool.shuffle_list(place), place, &mut builder, &lowered),
        };
        lowered.push(expr);
    }
    for (rule, &new) in grammar.rules().zip(&rules) {
        builder.define(new, lowered[grammar.body(rule).index()]);
    }
    builder.finish(rules[grammar.start().index()]).expect("every rule was defined just now")
}

/// The items that were there, how many members there were, and whether the last one was just read.
type State = (Vec<bool>, u32);

fn written_out(
    list: &ShuffleList,
    place: &Shuffle,
    builder: &mut GrammarBuilder,
    lowered: &[ExprId],
) -> ExprId {
    let at = |id: ExprId| if id == ExprPool::NEVER { ExprPool::NEVER } else { lowered[id.index()] };
    let start: State = ((0..list.items.len()).map(|i| place.has_seen(i)).collect(), place.count);
    let is_done = |(seen, count): &State| {
        *count >= list.min && list.items.iter().zip(seen).all(|(item, &seen)| seen || !item.is_required)
    };
    // By state, the rule of what follows the member that led to it.
    let mut rules: BTreeMap<State, RuleId> = BTreeMap::new();
    let mut todo = Vec::new();
    let members = |state: &State,
                   builder: &mut GrammarBuilder,
                   rules: &mut BTreeMap<State, RuleId>,
                   todo: &mut Vec<State>| {
        let (seen, count) = state;
        if list.max.is_some_and(|max| *count >= max) {
            return builder.never();
        }
        let next_count = if list.max.is_some() { count + 1 } else { (count + 1).min(list.min) };
        let mut ways = Vec::new();
        let unseen = (0..seen.len()).filter(|&i| !seen[i]).map(Some);
        for choice in unseen.chain([None]) {
            let mut seen = seen.clone();
            let member = match choice {
                Some(i) => {
                    seen[i] = true;
                    list.items[i].expr
                }
                None => list.others,
            };
            let next = (seen, next_count);
            let rule = *rules.entry(next.clone()).or_insert_with(|| {
                todo.push(next);
                builder.declare("behind")
            });
            let behind = builder.rule(rule);
            ways.push(builder.seq(&[at(member), behind]));
        }
        builder.alt(&ways)
    };
    let first = members(&start, builder, &mut rules, &mut todo);
    while let Some(state) = todo.pop() {
        let rule = rules[&state];
        let next = members(&state, builder, &mut rules, &mut todo);
        let more = builder.seq(&[at(list.separator), next]);
        let end = if is_done(&state) { builder.epsilon() } else { builder.never() };
        let body = builder.alt(&[end, more]);
        builder.define(rule, body);
    }
    let end = if is_done(&start) { builder.epsilon() } else { builder.never() };
    builder.alt(&[end, first])
}
