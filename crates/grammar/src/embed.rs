//! Grammars inside grammars.

use maskwright_automata::{Fuel, FuelError};

use crate::{Expr, ExprId, ExprPool, Grammar, GrammarBuilder, RuleId, Seen, TerminalId};

/// A grammar that was [embedded](GrammarBuilder::embed_all) in another.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// The expression of its start rule.
    pub start: ExprId,
    /// For each expression of its pool that its rules use, the expression in the outer grammar.
    pub exprs: Vec<ExprId>,
}

impl GrammarBuilder {
    /// The texts of `grammar` as a part of the one that is built, with what `terminal` makes of each of its
    /// terminals. Its rules become rules of their own. What its [watch](Grammar::watched) says is left out.
    /// Linear in the grammar.
    ///
    /// # Errors
    /// If `fuel` runs out.
    ///
    /// ```
    /// # mod maskwright { pub mod grammar { pub use maskwright_automata::*; pub use maskwright_grammar::*; } }
    /// use maskwright::grammar::{Fuel, Grammar, GrammarBuilder, Regex};
    /// let inner = Grammar::from_regex(Regex::literal("1").plus());
    /// let mut builder = GrammarBuilder::new();
    /// let start = builder.declare("list");
    /// let (open, close) = (builder.literal("["), builder.literal("]"));
    /// let numbers = builder.embed(&inner, &Fuel::unlimited(), |builder, terminal| {
    ///     builder.terminal(inner.terminals()[terminal.index()].clone())
    /// }).unwrap();
    /// let body = builder.seq(&[open, numbers, close]);
    /// builder.define(start, body);
    /// assert_eq!(builder.finish(start).unwrap().rules().len(), 2);
    /// ```
    pub fn embed(
        &mut self,
        grammar: &Grammar,
        fuel: &Fuel,
        terminal: impl FnMut(&mut GrammarBuilder, TerminalId) -> ExprId,
    ) -> Result<ExprId, FuelError> {
        Ok(self.embed_all(grammar, fuel, terminal)?.start)
    }

    /// Like [embed](Self::embed), but also returns where each expression went.
    ///
    /// # Errors
    /// If `fuel` runs out.
    #[doc(hidden)]
    pub fn embed_all(
        &mut self,
        grammar: &Grammar,
        fuel: &Fuel,
        mut terminal: impl FnMut(&mut GrammarBuilder, TerminalId) -> ExprId,
    ) -> Result<Embedded, FuelError> {
        let rules: Vec<RuleId> = grammar.rules().map(|rule| self.declare(grammar.name(rule))).collect();
        let pool = grammar.pool();
        let mut embedded = vec![ExprPool::NEVER; pool.len()];
        let mut seen = Seen::new();
        for rule in grammar.rules() {
            let body = grammar.body(rule);
            for id in pool.post_order(body, &mut seen) {
                fuel.spend(1)?;
                let of = |id: &ExprId| embedded[id.index()];
                embedded[id.index()] = match pool.get(id) {
                    Expr::Never => self.never(),
                    Expr::Epsilon => self.epsilon(),
                    &Expr::Terminal(its) => terminal(self, its),
                    Expr::Rule(rule) => self.rule(rules[rule.index()]),
                    Expr::Seq(head, tail) => self.seq(&[of(head), of(tail)]),
                    Expr::Alt(parts) => {
                        let parts: Vec<ExprId> = parts.iter().map(of).collect();
                        self.alt(&parts)
                    }
                    &Expr::Repeat { inner, min, max } => self.repeat(of(&inner), min, max),
                    Expr::Shuffle(place) => {
                        let list = pool.shuffle_list(place).map(|part| of(&part));
                        self.shuffle(list)
                    }
                };
            }
            self.define(rules[rule.index()], embedded[body.index()]);
        }
        Ok(Embedded { start: self.rule(rules[grammar.start().index()]), exprs: embedded })
    }
}
