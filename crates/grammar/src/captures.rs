//! Labels around the rules that a caller names.

use maskwright_automata::Fuel;
use rustc_hash::FxHashSet;

use crate::reduce::{nullable, reachable};
use crate::{Expr, ExprId, Grammar, GrammarError, Label, RuleId, TerminalId};

/// The grammar with [labels](Label) around each text of the rules that are called by one of `names`,
/// whose place there is their number. Rules and terminals keep their ids. Terminals are not empty.
///
/// # Errors
/// If no rule is called so; if such a rule can begin with itself, so that its texts could begin any number
/// of times at one place; or if `fuel` runs out.
///
/// ```
/// # mod maskwright { pub mod grammar { pub use maskwright_automata::*; pub use maskwright_grammar::*; } }
/// use maskwright::grammar::{Fuel, GrammarBuilder, with_labelled_rules};
/// let mut builder = GrammarBuilder::new();
/// let (list, item) = (builder.declare("list"), builder.declare("item"));
/// let (comma, word, inner) = (builder.literal(","), builder.literal("a"), builder.rule(item));
/// let more = builder.seq(&[comma, inner]);
/// let more = builder.repeat(more, 0, None);
/// let body = builder.seq(&[inner, more]);
/// builder.define(list, body);
/// builder.define(item, word);
/// let grammar = builder.finish(list).unwrap();
/// let labelled = with_labelled_rules(grammar.clone(), &["item".to_owned()], &Fuel::new(1_000)).unwrap();
/// assert_eq!(labelled.terminals().len(), grammar.terminals().len() + 2);
/// assert!(with_labelled_rules(grammar, &["word".to_owned()], &Fuel::new(1_000)).is_err());
/// ```
pub fn with_labelled_rules(
    mut grammar: Grammar,
    names: &[String],
    fuel: &Fuel,
) -> Result<Grammar, GrammarError> {
    for (number, name) in names.iter().enumerate() {
        let mut rules: Vec<RuleId> = grammar.rules().filter(|&rule| grammar.name(rule) == name).collect();
        // Front ends put a start rule around the user's, with its name.
        if rules.len() > 1 {
            rules.retain(|&rule| rule != grammar.start());
        }
        if rules.is_empty() {
            return Err(GrammarError::no_such_rule(name, grammar.rules().map(|rule| grammar.name(rule))));
        }
        let number = u32::try_from(number).expect("names are fewer than ids");
        let labels = [Label::Begin(number), Label::End(number)].map(|label| {
            grammar.terminals.push(label.regex());
            grammar.pool.terminal(TerminalId::from_index(grammar.terminals.len() - 1))
        });
        for rule in rules {
            let body = grammar.rules[rule.index()].body;
            grammar.rules[rule.index()].body = grammar.pool.seq(&[labels[0], body, labels[1]]);
        }
    }
    match begins_with_itself(&grammar, names, fuel)? {
        Some(rule) => Err(GrammarError::begins_with_itself(grammar.name(rule))),
        None => Ok(grammar),
    }
}

/// A rule of these names whose text can begin with a text of the same rule, labels aside.
fn begins_with_itself(
    grammar: &Grammar,
    names: &[String],
    fuel: &Fuel,
) -> Result<Option<RuleId>, GrammarError> {
    let found = reachable(&grammar.pool, &grammar.rules, grammar.start, fuel)?;
    let nullable = nullable(&grammar.pool, &grammar.rules, &found, fuel, |terminal| {
        let regex = &grammar.terminals[terminal.index()];
        Label::of(regex).is_some() || regex.is_nullable()
    })?;
    let called = |rule: &RuleId| names.iter().any(|name| name == grammar.name(*rule));
    for rule in found.order.iter().map(|&(rule, _)| rule).filter(called) {
        let mut seen: FxHashSet<ExprId> = FxHashSet::default();
        let mut work = vec![grammar.body(rule)];
        while let Some(part) = work.pop() {
            if !seen.insert(part) {
                continue;
            }
            fuel.spend(1)?;
            match grammar.pool.get(part) {
                Expr::Rule(callee) if *callee == rule => return Ok(Some(rule)),
                Expr::Rule(callee) => work.push(grammar.body(*callee)),
                Expr::Seq(head, tail) => {
                    work.push(*head);
                    work.extend(nullable.exprs[head.index()].then_some(*tail));
                }
                _ => work.extend(grammar.pool.children(part)),
            }
        }
    }
    Ok(None)
}
