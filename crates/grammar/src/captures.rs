//! Labels around the rules that a caller names.

use maskwright_automata::Fuel;
use rustc_hash::FxHashSet;

use crate::reduce::{fixpoint, reachable};
use crate::{Expr, ExprId, Grammar, GrammarError, Label, RuleId, TerminalId};

impl Grammar {
    /// The grammar with [labels](Label) around each text of the rules that are called by one of `names`,
    /// whose place there is their number. Rules and terminals keep their ids. Terminals are not empty.
    ///
    /// # Errors
    /// If no rule is called so; if such a rule can begin with itself, so that its texts could begin any number
    /// of times at one place; or if `fuel` runs out.
    ///
    /// ```
    /// # mod maskwright { pub mod grammar { pub use maskwright_automata::Fuel; pub use maskwright_grammar::*; } }
    /// use maskwright::grammar::{Fuel, GrammarBuilder};
    /// let mut builder = GrammarBuilder::new();
    /// let (list, item) = (builder.declare("list"), builder.declare("item"));
    /// let (comma, word, inner) = (builder.literal(","), builder.literal("a"), builder.rule(item));
    /// let more = builder.seq(&[comma, inner]);
    /// let more = builder.repeat(more, 0, None);
    /// let body = builder.seq(&[inner, more]);
    /// builder.define(list, body);
    /// builder.define(item, word);
    /// let grammar = builder.finish(list).unwrap();
    /// let labelled = grammar.clone().with_labelled_rules(&["item".to_owned()], &Fuel::new(1_000)).unwrap();
    /// assert_eq!(labelled.terminals().len(), grammar.terminals().len() + 2);
    /// assert!(grammar.with_labelled_rules(&["word".to_owned()], &Fuel::new(1_000)).is_err());
    /// ```
    pub fn with_labelled_rules(mut self, names: &[String], fuel: &Fuel) -> Result<Grammar, GrammarError> {
        for (number, name) in names.iter().enumerate() {
            let rules: Vec<RuleId> = self.rules().filter(|&rule| self.name(rule) == name).collect();
            if rules.is_empty() {
                return Err(GrammarError::no_such_rule(name, self.rules().map(|rule| self.name(rule))));
            }
            let number = u32::try_from(number).expect("names are fewer than ids");
            let labels = [Label::Begin(number), Label::End(number)].map(|label| {
                let known = self.terminals.iter().position(|terminal| Label::of(terminal) == Some(label));
                let known = known.unwrap_or_else(|| {
                    self.terminals.push(label.regex());
                    self.terminals.len() - 1
                });
                self.pool.terminal(TerminalId::from_index(known))
            });
            for rule in rules {
                let body = self.rules[rule.index()].body;
                self.rules[rule.index()].body = self.pool.seq(&[labels[0], body, labels[1]]);
            }
        }
        match self.begins_with_itself(names, fuel)? {
            Some(rule) => Err(GrammarError::begins_with_itself(self.name(rule))),
            None => Ok(self),
        }
    }

    /// A rule of these names whose text can begin with a text of the same rule, labels aside.
    fn begins_with_itself(&self, names: &[String], fuel: &Fuel) -> Result<Option<RuleId>, GrammarError> {
        let found = reachable(&self.pool, &self.rules, self.start, fuel)?;
        let is_label = |terminal: &TerminalId| Label::of(&self.terminals[terminal.index()]).is_some();
        let nullable = fixpoint(
            &self.pool,
            &self.rules,
            &found.exprs,
            &found.order,
            fuel,
            |pool, expr, exprs, rules| match expr {
                Expr::Never => false,
                Expr::Epsilon => true,
                Expr::Terminal(t) => is_label(t) || self.terminals[t.index()].is_nullable(),
                Expr::Rule(rule) => rules[rule.index()],
                Expr::Seq(head, tail) => exprs[head.index()] && exprs[tail.index()],
                Expr::Alt(parts) => parts.iter().any(|part| exprs[part.index()]),
                Expr::Repeat { inner, min, .. } => *min == 0 || exprs[inner.index()],
                Expr::Shuffle(place) => {
                    pool.shuffle_list(place).is_nullable(place, |part| exprs[part.index()])
                }
            },
        )?;
        let called = |rule: &RuleId| names.iter().any(|name| name == self.name(*rule));
        for rule in found.order.iter().map(|&(rule, _)| rule).filter(called) {
            let mut seen: FxHashSet<ExprId> = FxHashSet::default();
            let mut work = vec![self.body(rule)];
            while let Some(part) = work.pop() {
                if !seen.insert(part) {
                    continue;
                }
                fuel.spend(1)?;
                match self.pool.get(part) {
                    Expr::Rule(callee) if *callee == rule => return Ok(Some(rule)),
                    Expr::Rule(callee) => work.push(self.body(*callee)),
                    Expr::Seq(head, tail) => {
                        work.push(*head);
                        work.extend(nullable.exprs[head.index()].then_some(*tail));
                    }
                    _ => work.extend(self.pool.children(part)),
                }
            }
        }
        Ok(None)
    }
}
