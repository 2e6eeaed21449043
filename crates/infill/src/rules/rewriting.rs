//! A grammar written anew, rule by rule, with the same terminals and the same rules under the same ids.

use maskwright_automata::Fuel;
use maskwright_grammar::{Expr, ExprId, ExprPool, Grammar, GrammarBuilder, GrammarError, RuleId, Seen};

/// What has been written so far.
pub(crate) struct Rewriting<'g> {
    pub(crate) grammar: &'g Grammar,
    pub(crate) builder: GrammarBuilder,
    /// By expression of the grammar, what it has become.
    pub(crate) lowered: Vec<ExprId>,
}

impl<'g> Rewriting<'g> {
    /// All terminals and rules are declared, no rule is defined.
    pub(crate) fn new(grammar: &'g Grammar) -> Rewriting<'g> {
        let mut builder = GrammarBuilder::new();
        for regex in grammar.terminals() {
            builder.terminal(regex.clone());
        }
        for rule in grammar.rules() {
            builder.declare(grammar.name(rule));
        }
        Rewriting { grammar, builder, lowered: vec![ExprPool::NEVER; grammar.pool().len()] }
    }

    /// Writes the body of `rule`, with `in_place` of a rule instead of a reference to it, but for what is in
    /// `seen` and written already; `None` if there is a list in any order, which front ends that write lists
    /// by recursion do not make.
    ///
    /// # Errors
    /// If `fuel` runs out.
    pub(crate) fn body(
        &mut self,
        rule: RuleId,
        seen: &mut Seen,
        in_place: impl Fn(RuleId) -> Option<ExprId>,
        fuel: &Fuel,
    ) -> Result<Option<ExprId>, GrammarError> {
        let Rewriting { grammar, builder, lowered } = self;
        let pool = grammar.pool();
        for id in pool.post_order(grammar.body(rule), seen) {
            fuel.spend(1)?;
            let part = |id: &ExprId| lowered[id.index()];
            lowered[id.index()] = match pool.get(id) {
                Expr::Never => ExprPool::NEVER,
                Expr::Epsilon => ExprPool::EPSILON,
                Expr::Terminal(terminal) => builder.terminal(grammar.terminals()[terminal.index()].clone()),
                &Expr::Rule(callee) => in_place(callee).unwrap_or_else(|| builder.rule(callee)),
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
                Expr::Shuffle(_) => return Ok(None),
            };
        }
        Ok(Some(lowered[grammar.body(rule).index()]))
    }
}
