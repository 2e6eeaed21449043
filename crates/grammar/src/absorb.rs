//! States that absorb what may follow them.
//!
//! A state r *absorbs* a state s if r followed by s has the same words as r alone. `x*` absorbs `x*`, and so
//! does everything that ends in `x*`. A reading that would return from r into s then needs no frame for s:
//! the engine leaves it out (`Parser::push` there), so a star within a star takes no more stack, and no more
//! time, than one of them.
//!
//! Two kinds of rules are stars:
//!
//! * a rule that is empty or ends in itself: T = ε | L₁ T | L₂ T … has the words of (L₁ | L₂ …)*;
//! * the rules that replace left recursion ([`left_recursion`](crate::left_recursion)): T(j,i) has the words
//!   along the paths from j to i, so it absorbs T(i,i).

use crate::{Expr, ExprId, ExprPool, Network, RuleId};

impl Network {
    /// A state that `state` absorbs; `None` if none is known. Constant time for states that some move leads
    /// to.
    #[inline]
    pub fn absorbed(&self, state: ExprId) -> Option<ExprId> {
        self.absorbing.by_state.get(state.index()).copied().flatten()
    }

    /// Finds out what `state` absorbs, to be told by [`Network::absorbed`].
    pub(crate) fn learn_absorbed(&mut self, state: ExprId) {
        let mut last = state;
        while let &Expr::Seq(_, tail) = self.pool.get(last) {
            last = tail;
        }
        let absorbed = match *self.pool.get(last) {
            Expr::Rule(rule) => self.absorbing.stars.get(&rule).map(|&star| self.pool.rule(star)),
            Expr::Repeat { inner, max: None, .. } => Some(self.pool.repeat(inner, 0, None)),
            _ => None,
        };
        if absorbed.is_some() {
            let n_states = self.absorbing.by_state.len().max(state.index() + 1);
            self.absorbing.by_state.resize(n_states, None);
            self.absorbing.by_state[state.index()] = absorbed;
        }
    }

    /// Finds the rules that are empty or end in themselves.
    pub(crate) fn find_stars(&mut self) {
        for index in 0..self.bodies.len() {
            let rule = RuleId::from_index(index);
            if self.rule_nullable[index] && self.ends_in_itself(rule) {
                self.absorbing.stars.entry(rule).or_insert(rule);
            }
        }
    }

    /// Whether all alternatives of a rule but the empty one end in the rule.
    fn ends_in_itself(&self, rule: RuleId) -> bool {
        let mut alternatives = vec![self.body(rule)];
        while let Some(alternative) = alternatives.pop() {
            match self.pool.get(alternative) {
                _ if alternative == ExprPool::EPSILON => {}
                Expr::Alt(parts) => alternatives.extend(parts.iter().copied()),
                Expr::Seq(_, tail) => {
                    let mut last = *tail;
                    while let &Expr::Seq(_, tail) = self.pool.get(last) {
                        last = tail;
                    }
                    if *self.pool.get(last) != Expr::Rule(rule) {
                        return false;
                    }
                }
                _ => return false,
            }
        }
        true
    }
}
