//! Words that end the text: a pass for grammars with tokens that may only be read at the end of the text.
//!
//! A terminal may have words that end the text ("last" words) besides its plain ones. The pass returns a
//! grammar of the texts whose words are all plain, and of those with one last word, after which nothing
//! comes. For each rule r that can derive a last word it adds a second rule, for the texts of r that end with
//! one:
//!
//! * last(a b) = a last(b), or last(a) and the labels of b if b can be empty but for those;
//! * last(a | b) = last(a) | last(b);
//! * last(a{m,n}) = a{k,n-1} last(a), where k is m - 1, or 0 if a can be empty.
//!
//! Plain rules stay as they are, and keep their ids. Linear in the grammar.

use maskwright_automata::{Fuel, Node, Regex};

use crate::builder::Rule;
use crate::reduce::{fixpoint, nullable, reachable};
use crate::token_set::{Halves, halves};
use crate::{Expr, ExprId, ExprPool, Grammar, GrammarError, Label, RuleId, TerminalId, TokenSet};

impl Grammar {
    /// The grammar with `resolved` applied to each set of tokens in its terminals, and with `after` after
    /// each text that does not end with a last word. Terminals keep their ids.
    ///
    /// # Errors
    /// Those of `resolved`, or if `fuel` runs out.
    #[doc(hidden)]
    pub fn with_ends<E: From<GrammarError>>(
        mut self,
        mut resolved: impl FnMut(&TokenSet) -> Result<Halves, E>,
        after: Regex,
        fuel: &Fuel,
    ) -> Result<Grammar, E> {
        let mut last = vec![ExprPool::NEVER; self.terminals.len()];
        for (id, last) in last.iter_mut().enumerate() {
            if !self.terminals[id].is_marked() {
                continue;
            }
            let found = halves(&self.terminals[id], &mut resolved)?;
            self.terminals[id] = found.plain;
            if !matches!(found.last.node(), Node::Empty) {
                *last = self.add_terminal(found.last);
            }
        }
        let after = self.add_terminal(after);
        Ok(self.with_last_words(&last, after, fuel)?)
    }

    /// Adds a terminal that no rule uses yet.
    fn add_terminal(&mut self, regex: Regex) -> ExprId {
        let id = TerminalId::from_index(self.terminals.len());
        self.terminals.push(regex);
        self.pool.terminal(id)
    }

    /// The texts of plain words, with `after` after each, and those whose last word is one of `last`. `last`
    /// has an expression of this grammar for each terminal, [`NEVER`](ExprPool::NEVER) if no word of the
    /// terminal ends the text; terminals beyond its end have no last words. Terminals keep their ids. Lists
    /// in any order have no last words.
    ///
    /// # Errors
    /// If `fuel` runs out.
    #[doc(hidden)]
    pub fn with_last_words(
        mut self,
        last: &[ExprId],
        after: ExprId,
        fuel: &Fuel,
    ) -> Result<Grammar, GrammarError> {
        let last_of = |terminal: TerminalId| last.get(terminal.index()).copied().unwrap_or(ExprPool::NEVER);
        let (pool, terminals) = (&self.pool, &self.terminals);
        let is_label: Vec<bool> = terminals.iter().map(|terminal| Label::of(terminal).is_some()).collect();
        let found = reachable(pool, &self.rules, self.start, fuel)?;
        let nullable = nullable(pool, &self.rules, &found, fuel, |terminal| {
            is_label[terminal.index()] || terminals[terminal.index()].is_nullable()
        })?;
        let has_last = fixpoint(
            pool,
            &self.rules,
            &found.exprs,
            &found.order,
            fuel,
            |_, expr, exprs, rules| match expr {
                Expr::Never | Expr::Epsilon | Expr::Shuffle(_) => false,
                Expr::Terminal(t) => last_of(*t) != ExprPool::NEVER,
                Expr::Rule(rule) => rules[rule.index()],
                Expr::Seq(head, tail) => {
                    exprs[tail.index()] || exprs[head.index()] && nullable.exprs[tail.index()]
                }
                Expr::Alt(parts) => parts.iter().any(|part| exprs[part.index()]),
                Expr::Repeat { inner, .. } => exprs[inner.index()],
            },
        )?;
        let mut rules_of: Vec<Option<RuleId>> = vec![None; self.rules.len()];
        for rule in (0..rules_of.len()).filter(|&rule| has_last.rules[rule]) {
            rules_of[rule] = Some(RuleId::from_index(self.rules.len()));
            let name = self.rules[rule].name.clone();
            self.rules.push(Rule { name, body: ExprPool::NEVER });
        }
        let mut lasts = vec![ExprPool::NEVER; self.pool.len()];
        for &id in found.exprs.iter().filter(|id| has_last.exprs[id.index()]) {
            fuel.spend(1)?;
            let pool = &mut self.pool;
            lasts[id.index()] = match pool.get(id).clone() {
                Expr::Never | Expr::Epsilon | Expr::Shuffle(_) => ExprPool::NEVER,
                Expr::Terminal(terminal) => last_of(terminal),
                Expr::Rule(rule) => rules_of[rule.index()].map_or(ExprPool::NEVER, |rule| pool.rule(rule)),
                Expr::Seq(head, tail) => {
                    let later = pool.seq2(head, lasts[tail.index()]);
                    let now = match nullable.exprs[tail.index()] {
                        true => {
                            let labels = labels_of(pool, tail, &is_label);
                            pool.seq2(lasts[head.index()], labels)
                        }
                        false => ExprPool::NEVER,
                    };
                    pool.alt(&[later, now])
                }
                Expr::Alt(parts) => {
                    let parts: Vec<ExprId> = parts.iter().map(|part| lasts[part.index()]).collect();
                    pool.alt(&parts)
                }
                Expr::Repeat { inner, min, max } => {
                    let least = if nullable.exprs[inner.index()] { 0 } else { min.saturating_sub(1) };
                    let before = pool.repeat(inner, least, max.map(|max| max - 1));
                    pool.seq2(before, lasts[inner.index()])
                }
            };
        }
        for (rule, last) in rules_of.iter().enumerate() {
            if let Some(last) = last {
                self.rules[last.index()].body = lasts[self.rules[rule].body.index()];
            }
        }
        let plain = self.pool.rule(self.start);
        let plain = self.pool.seq2(plain, after);
        let last = rules_of[self.start.index()].map_or(ExprPool::NEVER, |last| self.pool.rule(last));
        let body = self.pool.alt(&[plain, last]);
        let name = self.rules[self.start.index()].name.clone();
        self.start = RuleId::from_index(self.rules.len());
        self.rules.push(Rule { name, body });
        Ok(self)
    }
}

/// The labels that stand in a row of parts, of which the others are empty.
fn labels_of(pool: &mut ExprPool, mut parts: ExprId, is_label: &[bool]) -> ExprId {
    let mut labels = Vec::new();
    loop {
        let (part, rest) = match pool.get(parts) {
            &Expr::Seq(head, tail) => (head, Some(tail)),
            _ => (parts, None),
        };
        if let Expr::Terminal(terminal) = pool.get(part)
            && is_label[terminal.index()]
        {
            labels.push(part);
        }
        match rest {
            Some(rest) => parts = rest,
            None => return pool.seq(&labels),
        }
    }
}
