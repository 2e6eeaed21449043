//! Regular rules become terminals.
//!
//! Grammars such as GBNF's are written character by character; run as they stand, every character would be
//! a parser step. This pass inlines rules whose language is visibly regular (no recursion, below a size)
//! into one terminal each, and joins regular members of a choice or a repetition. It never joins
//! neighbours of a sequence across rule references: `string ws` stays two terminals, so that the rows of
//! `string` are those that every other grammar's strings have.

use maskwright_automata::{Fuel, FuelError, Regex};

use crate::builder::Rule;
use crate::{Expr, ExprId, ExprPool, Grammar, GrammarBuilder, RuleId, Seen};

/// The largest expression, in [`Regex::size`] units, that becomes one terminal.
const MAX_TERMINAL: u64 = 20_000;

/// The same language with regular rules collapsed into terminals. Takes time linear in the grammar and in
/// the size of the terminals made. A grammar with a [watch](crate::Watch) stays as it is: its marks stand on
/// terminals.
///
/// # Errors
/// If `fuel` runs out.
pub fn collapse_regular(grammar: &Grammar, fuel: &Fuel) -> Result<Grammar, FuelError> {
    if grammar.watched.is_some() {
        return Ok(grammar.clone());
    }
    let n_exprs = grammar.pool.len();
    let mut pass = Collapse {
        grammar,
        fuel,
        regular: vec![None; n_exprs],
        rule_regular: vec![None; grammar.rules.len()],
    };
    let mut seen = Seen::new();
    for rule in callee_first(grammar, fuel)? {
        // A rule met again before it is done is recursive: its entry is still `None` there, so whatever
        // contains it is not regular either.
        let body = grammar.body(rule);
        for id in grammar.pool.post_order(body, &mut seen) {
            pass.regular[id.index()] = pass.regular_of(id)?;
        }
        pass.rule_regular[rule.index()] = pass.regular[body.index()].clone();
    }
    let Collapse { regular, .. } = pass;
    let mut builder = GrammarBuilder::new();
    for rule in &grammar.rules {
        builder.declare(rule.name.clone());
    }
    let mut lowered = vec![ExprPool::NEVER; n_exprs];
    seen.clear();
    for (index, Rule { body, .. }) in grammar.rules.iter().enumerate() {
        for id in grammar.pool.post_order(*body, &mut seen) {
            fuel.spend(1)?;
            lowered[id.index()] = lower(grammar, &mut builder, &regular, &lowered, id);
        }
        builder.define(RuleId::from_index(index), lowered[body.index()]);
    }
    fuel.hold(builder.memory_usage());
    Ok(builder.finish(grammar.start).expect("every rule was defined just now"))
}

struct Collapse<'a> {
    grammar: &'a Grammar,
    fuel: &'a Fuel,
    /// The terminal that an expression can become; `None` if it is not regular, too large or not visited.
    regular: Vec<Option<Regex>>,
    rule_regular: Vec<Option<Regex>>,
}

impl Collapse<'_> {
    fn regular_of(&self, id: ExprId) -> Result<Option<Regex>, FuelError> {
        let get = |id: &ExprId| self.regular[id.index()].clone();
        let regex = match self.grammar.pool.get(id) {
            Expr::Never => Some(Regex::empty()),
            Expr::Epsilon => Some(Regex::epsilon()),
            // Tokens that are named by their ids stay terminals of their own.
            Expr::Terminal(terminal) => {
                let regex = &self.grammar.terminals[terminal.index()];
                (!regex.is_marked()).then(|| regex.clone())
            }
            Expr::Rule(rule) => self.rule_regular[rule.index()].clone(),
            Expr::Seq(head, tail) => get(head).zip(get(tail)).map(|(head, tail)| Regex::concat([head, tail])),
            Expr::Alt(parts) => parts.iter().map(get).collect::<Option<Vec<_>>>().map(Regex::union),
            Expr::Repeat { inner, min, max } => get(inner).map(|inner| inner.repeat(*min, *max)),
            // A choice among all orders.
            Expr::Shuffle(_) => None,
        };
        let regex = regex.filter(|regex| regex.size() <= MAX_TERMINAL);
        self.fuel.spend(1 + regex.as_ref().map_or(0, |regex| regex.size() / 16))?;
        Ok(regex)
    }
}

/// Expression `id` in the new grammar; its children are lowered already.
fn lower(
    grammar: &Grammar,
    builder: &mut GrammarBuilder,
    regular: &[Option<Regex>],
    lowered: &[ExprId],
    id: ExprId,
) -> ExprId {
    if let Some(regex) = &regular[id.index()] {
        return builder.terminal(regex.clone());
    }
    match grammar.pool.get(id) {
        Expr::Never => builder.never(),
        Expr::Epsilon => builder.epsilon(),
        Expr::Terminal(terminal) => builder.terminal(grammar.terminals[terminal.index()].clone()),
        Expr::Rule(rule) => builder.rule(*rule),
        Expr::Seq(head, tail) => {
            // The tail of a sequence is an expression of its own, but joining it into one terminal is only
            // wanted where the whole right-hand side is regular: see `sequence_parts`.
            let parts = sequence_parts(grammar, regular, lowered, builder, *head, *tail);
            builder.seq(&parts)
        }
        Expr::Alt(parts) => {
            // Regular members of a choice are one terminal: their first bytes compete anyway.
            let terminal = Regex::union(
                parts.iter().filter_map(|part| regular[part.index()].clone()).collect::<Vec<_>>(),
            );
            let mut members: Vec<ExprId> = parts
                .iter()
                .filter(|part| regular[part.index()].is_none())
                .map(|part| lowered[part.index()])
                .collect();
            members.push(builder.terminal(terminal));
            builder.alt(&members)
        }
        &Expr::Repeat { inner, min, max } => builder.repeat(lowered[inner.index()], min, max),
        Expr::Shuffle(place) => {
            builder.shuffle(grammar.pool.shuffle_list(place).map(|part| lowered[part.index()]))
        }
    }
}

/// The parts of a sequence, each lowered by itself, so that neighbours stay apart.
fn sequence_parts(
    grammar: &Grammar,
    regular: &[Option<Regex>],
    lowered: &[ExprId],
    builder: &mut GrammarBuilder,
    head: ExprId,
    tail: ExprId,
) -> Vec<ExprId> {
    let mut part_ids = vec![head];
    let mut rest = tail;
    while let &Expr::Seq(head, tail) = grammar.pool.get(rest) {
        part_ids.push(head);
        rest = tail;
    }
    part_ids.push(rest);
    part_ids
        .into_iter()
        .map(|part| match &regular[part.index()] {
            Some(regex) => builder.terminal(regex.clone()),
            None => lowered[part.index()],
        })
        .collect()
}

/// All rules, each after the rules it uses where recursion allows. Iterative.
fn callee_first(grammar: &Grammar, fuel: &Fuel) -> Result<Vec<RuleId>, FuelError> {
    let mut order = Vec::with_capacity(grammar.rules.len());
    let mut seen_rules = Seen::new();
    let mut seen = Seen::new();
    let mut stack = Vec::new();
    for root in grammar.rules() {
        stack.push((root, false));
        while let Some((rule, is_done)) = stack.pop() {
            if is_done {
                order.push(rule);
            } else if seen_rules.insert(rule.index()) {
                stack.push((rule, true));
                seen.clear();
                for id in grammar.pool.post_order(grammar.body(rule), &mut seen) {
                    fuel.spend(1)?;
                    if let &Expr::Rule(callee) = grammar.pool.get(id) {
                        stack.push((callee, false));
                    }
                }
            }
        }
    }
    Ok(order)
}
