//! The LL(1) parser, and equation 4: the estimate of the tokens that a symbol takes.
//!
//! Right-hand sides are used as they are (optional parts, repetitions): an expression is to the parser what a
//! nonterminal is in the textbook. A grammar is taken if for every choice the sets of terminals that decide
//! for its members are disjoint (strong LL(1); equal expressions in different places share one FOLLOW).
//!
//! The paper finds D by a shortest-path search over sentential forms (algorithm 2). Costs of symbols only add
//! up, so the same minimum is the least fixed point of D over the expressions, which is what is computed
//! here; the search is the tests' twin.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use maskwright_grammar::{Expr, ExprId, Grammar, TerminalId};

use crate::error::{Kind, TruncProofError};

/// No number of tokens is enough.
pub(crate) const NEVER: u32 = u32::MAX;

/// What is known of an expression. The default is the bottom of every fixed point.
#[derive(Clone, Debug)]
struct Facts {
    /// The rule that it was first met in, for messages.
    rule: usize,
    is_nullable: bool,
    first: BTreeSet<TerminalId>,
    /// What may come after it; `None` is the end of the text.
    follow: BTreeSet<Option<TerminalId>>,
    /// D: an estimate from above of the least number of tokens of its words.
    least: u32,
}

/// An LL(1) grammar with its tables.
#[derive(Debug)]
pub(crate) struct Ll1 {
    grammar: Grammar,
    facts: BTreeMap<ExprId, Facts>,
}

/// What a parser expects, the next first. Persistent: tails are shared.
pub(crate) type Stack = Option<Arc<Cell>>;

/// The first symbol of a [`Stack`] and sums over all of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    symbol: Symbol,
    next: Stack,
    /// d_cost: the sum of D over all symbols.
    least: u32,
    is_nullable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbol {
    Expr(ExprId),
    /// A repetition of which so many copies were read (no more are counted than matter).
    More {
        repeat: ExprId,
        n_read: u32,
    },
}

/// d_cost of a stack.
pub(crate) fn least(stack: &Stack) -> u32 {
    stack.as_ref().map_or(0, |cell| cell.least)
}

/// Whether the text may end here.
pub(crate) fn is_nullable(stack: &Stack) -> bool {
    stack.as_ref().is_none_or(|cell| cell.is_nullable)
}

impl Ll1 {
    /// The tables, with `costs[a]` the least number of tokens of terminal a.
    ///
    /// # Errors
    /// If the grammar is not LL(1).
    pub(crate) fn new(grammar: Grammar, costs: &[u32]) -> Result<Ll1, TruncProofError> {
        let mut facts = BTreeMap::new();
        let mut open = vec![(grammar.body(grammar.start()), grammar.start().index())];
        while let Some((id, rule)) = open.pop() {
            if facts.contains_key(&id) {
                continue;
            }
            let empty = BTreeSet::new();
            let fact =
                Facts { rule, is_nullable: false, first: empty, follow: BTreeSet::new(), least: NEVER };
            facts.insert(id, fact);
            match grammar.pool().get(id) {
                Expr::Rule(callee) => open.push((grammar.body(*callee), callee.index())),
                Expr::Shuffle(_) => return Err(Kind::Shuffle { rule: name(&grammar, rule) }.into()),
                _ => open.extend(grammar.pool().children(id).into_iter().map(|child| (child, rule))),
            }
        }
        let mut tables = Ll1 { grammar, facts };
        while tables.improve(costs) {}
        tables.refuse_left_recursion()?;
        tables.refuse_empty_repetitions()?;
        while tables.improve_follow() {}
        tables.refuse_conflicts()?;
        Ok(tables)
    }

    /// The stack before any text.
    pub(crate) fn start(&self) -> Stack {
        self.push(Symbol::Expr(self.grammar.body(self.grammar.start())), None)
    }

    /// The terminals that can come next.
    pub(crate) fn next(&self, stack: &Stack) -> BTreeSet<TerminalId> {
        let mut terminals = BTreeSet::new();
        let mut at = stack;
        while let Some(cell) = at {
            match cell.symbol {
                Symbol::Expr(id) => terminals.extend(&self.facts[&id].first),
                Symbol::More { repeat, n_read } => {
                    let (inner, _, max) = self.repetition(repeat);
                    if max.is_none_or(|max| n_read < max) {
                        terminals.extend(&self.facts[&inner].first);
                    }
                }
            }
            if !self.can_skip(cell.symbol) {
                break;
            }
            at = &cell.next;
        }
        terminals
    }

    /// The stack after one of the terminals that can come next; `None` for another terminal.
    pub(crate) fn advance(&self, stack: &Stack, terminal: TerminalId) -> Option<Stack> {
        let mut at = stack.clone();
        loop {
            let cell = at?;
            let next = cell.next.clone();
            let begins = |id: ExprId| self.facts[&id].first.contains(&terminal);
            at = match cell.symbol {
                Symbol::Expr(id) if !begins(id) => {
                    if !self.can_skip(cell.symbol) {
                        return None;
                    }
                    next
                }
                Symbol::Expr(id) => match self.grammar.pool().get(id) {
                    Expr::Terminal(_) => return Some(next),
                    Expr::Rule(rule) => self.push(Symbol::Expr(self.grammar.body(*rule)), next),
                    Expr::Seq(first, second) => {
                        let rest = self.push(Symbol::Expr(*second), next);
                        self.push(Symbol::Expr(*first), rest)
                    }
                    Expr::Alt(members) => {
                        let member = members.iter().find(|&&member| begins(member))?;
                        self.push(Symbol::Expr(*member), next)
                    }
                    Expr::Repeat { .. } => self.push(Symbol::More { repeat: id, n_read: 0 }, next),
                    Expr::Never | Expr::Epsilon | Expr::Shuffle(_) => return None,
                },
                Symbol::More { repeat, n_read } => {
                    let (inner, min, max) = self.repetition(repeat);
                    if begins(inner) && max.is_none_or(|max| n_read < max) {
                        // Beyond the minimum a repetition without end forgets how often it was read.
                        let n_read = if max.is_none() { (n_read + 1).min(min) } else { n_read + 1 };
                        let rest = self.push(Symbol::More { repeat, n_read }, next);
                        self.push(Symbol::Expr(inner), rest)
                    } else if self.can_skip(cell.symbol) {
                        next
                    } else {
                        return None;
                    }
                }
            };
        }
    }

    fn push(&self, symbol: Symbol, next: Stack) -> Stack {
        let own = match symbol {
            Symbol::Expr(id) => self.facts[&id].least,
            Symbol::More { repeat, n_read } => {
                let (inner, min, _) = self.repetition(repeat);
                self.facts[&inner].least.saturating_mul(min.saturating_sub(n_read))
            }
        };
        let least = own.saturating_add(least(&next));
        let is_nullable = self.can_skip(symbol) && is_nullable(&next);
        Some(Arc::new(Cell { symbol, next, least, is_nullable }))
    }

    fn can_skip(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Expr(id) => self.facts[&id].is_nullable,
            Symbol::More { repeat, n_read } => n_read >= self.repetition(repeat).1,
        }
    }

    /// Inner expression and bounds of a repetition; an expression of another kind is its own single copy.
    fn repetition(&self, id: ExprId) -> (ExprId, u32, Option<u32>) {
        match self.grammar.pool().get(id) {
            Expr::Repeat { inner, min, max } => (*inner, *min, *max),
            _ => (id, 1, Some(1)),
        }
    }

    /// One round of nullability, FIRST and D over all expressions; whether anything changed.
    fn improve(&mut self, costs: &[u32]) -> bool {
        let ids: Vec<ExprId> = self.facts.keys().copied().collect();
        let mut is_changed = false;
        for id in ids {
            let of = |id: &ExprId| &self.facts[id];
            let (is_nullable, first, least) = match self.grammar.pool().get(id) {
                Expr::Never | Expr::Shuffle(_) => (false, BTreeSet::new(), NEVER),
                Expr::Epsilon => (true, BTreeSet::new(), 0),
                Expr::Terminal(terminal) => (false, [*terminal].into(), costs[terminal.index()]),
                Expr::Rule(rule) => {
                    let body = of(&self.grammar.body(*rule));
                    (body.is_nullable, body.first.clone(), body.least)
                }
                Expr::Seq(first, second) => {
                    let (first, second) = (of(first), of(second));
                    let mut set = first.first.clone();
                    if first.is_nullable {
                        set.extend(&second.first);
                    }
                    let least = first.least.saturating_add(second.least);
                    (first.is_nullable && second.is_nullable, set, least)
                }
                Expr::Alt(members) => (
                    members.iter().any(|member| of(member).is_nullable),
                    members.iter().flat_map(|member| of(member).first.iter().copied()).collect(),
                    members.iter().map(|member| of(member).least).min().unwrap_or(NEVER),
                ),
                Expr::Repeat { inner, min, .. } => {
                    let inner = of(inner);
                    let least = if *min == 0 { 0 } else { inner.least.saturating_mul(*min) };
                    (*min == 0 || inner.is_nullable, inner.first.clone(), least)
                }
            };
            if let Some(facts) = self.facts.get_mut(&id) {
                is_changed |=
                    facts.is_nullable != is_nullable || facts.first != first || facts.least != least;
                *facts = Facts { is_nullable, first, least, ..facts.clone() };
            }
        }
        is_changed
    }

    /// One round of FOLLOW; whether anything changed.
    fn improve_follow(&mut self) -> bool {
        let mut additions: Vec<(ExprId, BTreeSet<Option<TerminalId>>)> = Vec::new();
        additions.push((self.grammar.body(self.grammar.start()), [None].into()));
        let some = |set: &BTreeSet<TerminalId>| set.iter().copied().map(Some).collect::<BTreeSet<_>>();
        for (&id, facts) in &self.facts {
            let follow = &facts.follow;
            match self.grammar.pool().get(id) {
                Expr::Rule(rule) => additions.push((self.grammar.body(*rule), follow.clone())),
                Expr::Seq(first, second) => {
                    let after = &self.facts[second];
                    let mut set = some(&after.first);
                    if after.is_nullable {
                        set.extend(follow);
                    }
                    additions.extend([(*first, set), (*second, follow.clone())]);
                }
                Expr::Alt(members) => {
                    additions.extend(members.iter().map(|&member| (member, follow.clone())));
                }
                Expr::Repeat { inner, .. } => {
                    let mut set = some(&self.facts[inner].first);
                    set.extend(follow);
                    additions.push((*inner, set));
                }
                Expr::Never | Expr::Epsilon | Expr::Terminal(_) | Expr::Shuffle(_) => {}
            }
        }
        let mut is_changed = false;
        for (id, set) in additions {
            if let Some(facts) = self.facts.get_mut(&id) {
                let n_before = facts.follow.len();
                facts.follow.extend(set);
                is_changed |= facts.follow.len() != n_before;
            }
        }
        is_changed
    }

    /// The terminals that decide for the member `id` of an alternative that `follow` comes after. Not what
    /// follows `id` itself: equal expressions are one, and the empty one is followed by everything.
    fn predict(&self, id: ExprId, follow: &BTreeSet<Option<TerminalId>>) -> BTreeSet<Option<TerminalId>> {
        let facts = &self.facts[&id];
        let mut set: BTreeSet<_> = facts.first.iter().copied().map(Some).collect();
        if facts.is_nullable {
            set.extend(follow);
        }
        set
    }

    fn refuse_empty_repetitions(&self) -> Result<(), TruncProofError> {
        for (&id, facts) in &self.facts {
            if let Expr::Repeat { inner, .. } = self.grammar.pool().get(id)
                && self.facts[inner].is_nullable
            {
                return Err(Kind::EmptyRepetition { rule: name(&self.grammar, facts.rule) }.into());
            }
        }
        Ok(())
    }

    fn refuse_conflicts(&self) -> Result<(), TruncProofError> {
        for (&id, facts) in &self.facts {
            let rule = || name(&self.grammar, facts.rule);
            match self.grammar.pool().get(id) {
                Expr::Alt(members) => {
                    let mut seen = BTreeSet::new();
                    for terminal in members.iter().flat_map(|&member| self.predict(member, &facts.follow)) {
                        if !seen.insert(terminal) {
                            return Err(Kind::Conflict { rule: rule() }.into());
                        }
                    }
                }
                Expr::Repeat { inner, min, max } => {
                    let inner = &self.facts[inner];
                    let is_fixed = *max == Some(*min);
                    if !is_fixed && inner.first.iter().any(|&first| facts.follow.contains(&Some(first))) {
                        return Err(Kind::Conflict { rule: rule() }.into());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes away, again and again, expressions that nothing left can begin with; what remains is a cycle.
    fn refuse_left_recursion(&self) -> Result<(), TruncProofError> {
        let begins = |id: ExprId| -> Vec<ExprId> {
            match self.grammar.pool().get(id) {
                Expr::Rule(rule) => vec![self.grammar.body(*rule)],
                Expr::Seq(first, second) if self.facts[first].is_nullable => vec![*first, *second],
                Expr::Seq(first, _) => vec![*first],
                Expr::Alt(members) => members.to_vec(),
                Expr::Repeat { inner, .. } => vec![*inner],
                Expr::Never | Expr::Epsilon | Expr::Terminal(_) | Expr::Shuffle(_) => Vec::new(),
            }
        };
        let mut n_users: BTreeMap<ExprId, usize> = self.facts.keys().map(|&id| (id, 0)).collect();
        for child in self.facts.keys().flat_map(|&id| begins(id)) {
            *n_users.entry(child).or_default() += 1;
        }
        let mut free: Vec<ExprId> =
            n_users.iter().filter(|(_, n_users)| **n_users == 0).map(|(&id, _)| id).collect();
        while let Some(id) = free.pop() {
            n_users.remove(&id);
            for child in begins(id) {
                if let Some(n_users) = n_users.get_mut(&child) {
                    *n_users -= 1;
                    if *n_users == 0 {
                        free.push(child);
                    }
                }
            }
        }
        match n_users.keys().next() {
            Some(id) => Err(Kind::LeftRecursion { rule: name(&self.grammar, self.facts[id].rule) }.into()),
            None => Ok(()),
        }
    }
}

fn name(grammar: &Grammar, rule: usize) -> String {
    grammar.rules().nth(rule).map_or_else(String::new, |rule| grammar.name(rule).to_owned())
}

#[cfg(test)]
mod tests {
    use maskwright_grammar::GrammarBuilder;

    use super::*;

    /// Algorithm 2 as the paper has it: a shortest-path search over sentential forms.
    fn algorithm_2(grammar: &Grammar, start: ExprId, costs: &[u32]) -> u32 {
        let mut queue = BTreeSet::from([(0, vec![start])]);
        while let Some((cost, mut form)) = queue.pop_first() {
            let Some(leftmost) = form.pop() else { return cost };
            let with = |cost, more: &[ExprId]| (cost, form.iter().chain(more).copied().collect::<Vec<_>>());
            match grammar.pool().get(leftmost) {
                Expr::Never | Expr::Shuffle(_) => {}
                Expr::Epsilon => queue.extend([with(cost, &[])]),
                Expr::Terminal(a) => queue.extend([with(cost + costs[a.index()], &[])]),
                Expr::Rule(rule) => queue.extend([with(cost, &[grammar.body(*rule)])]),
                Expr::Seq(first, second) => queue.extend([with(cost, &[*second, *first])]),
                Expr::Alt(members) => queue.extend(members.iter().map(|&member| with(cost, &[member]))),
                // More than the least number of copies never costs less.
                Expr::Repeat { inner, min, .. } => {
                    queue.extend([with(cost, &vec![*inner; *min as usize])]);
                }
            }
        }
        NEVER
    }

    /// Numbers in brackets, `[n; n; …]`, nested, with an optional name in front.
    fn nested() -> Grammar {
        let mut builder = GrammarBuilder::new();
        let [name, open, close, semicolon, number] =
            ["name", "[", "]", ";", "12"].map(|word| builder.literal(word));
        let value = builder.declare("value");
        let inner = builder.rule(value);
        let more = builder.seq(&[semicolon, inner]);
        let more = builder.repeat(more, 0, None);
        let twice = builder.repeat(inner, 2, Some(3));
        let list = builder.seq(&[open, twice, more, close]);
        let name = builder.optional(name);
        let number = builder.seq(&[name, number]);
        let body = builder.alt(&[list, number]);
        builder.define(value, body);
        builder.finish(value).unwrap()
    }

    #[test]
    fn estimates_are_those_of_the_search() {
        let grammar = nested();
        for seed in 0..50 {
            let costs: Vec<u32> = (0..5).map(|index| 1 + (seed * 7 + index * index * 3) % 5).collect();
            let tables = Ll1::new(grammar.clone(), &costs).unwrap();
            for (&id, facts) in &tables.facts {
                assert_eq!(facts.least, algorithm_2(&grammar, id, &costs), "{id:?} {costs:?}");
            }
        }
    }

    #[test]
    fn parses_what_the_grammar_says() {
        let tables = Ll1::new(nested(), &[1; 5]).unwrap();
        let reads = |terminals: &[usize]| {
            let mut stack = tables.start();
            for &terminal in terminals {
                let terminal = TerminalId::from_index(terminal);
                let is_next = tables.next(&stack).contains(&terminal);
                let after = tables.advance(&stack, terminal);
                assert_eq!(is_next, after.is_some());
                match after {
                    Some(after) => stack = after,
                    None => return None,
                }
            }
            Some((is_nullable(&stack), least(&stack)))
        };
        assert_eq!(reads(&[]), Some((false, 1)));
        assert_eq!(reads(&[4]), Some((true, 0)));
        assert_eq!(reads(&[0]), Some((false, 1)));
        assert_eq!(reads(&[1]), Some((false, 3)));
        assert_eq!(reads(&[1, 4]), Some((false, 2)));
        assert_eq!(reads(&[1, 4, 2]), None);
        assert_eq!(reads(&[1, 4, 4, 2]), Some((true, 0)));
        assert_eq!(reads(&[1, 4, 4, 4, 4]), None, "at most three");
        assert_eq!(reads(&[1, 4, 4, 4, 3, 0, 4, 3]), Some((false, 2)));
    }

    #[test]
    fn other_grammars_are_refused() {
        let refused = |make: fn(&mut GrammarBuilder, ExprId) -> ExprId| {
            let mut builder = GrammarBuilder::new();
            let rule = builder.declare("this");
            let own = builder.rule(rule);
            let body = make(&mut builder, own);
            builder.define(rule, body);
            Ll1::new(builder.finish(rule).unwrap(), &[1; 5]).unwrap_err().to_string()
        };
        let conflict = "rule `this` is not LL(1): the next terminal does not decide between alternatives";
        assert_eq!(
            refused(|builder, own| {
                let x = builder.literal("x");
                let more = builder.seq(&[own, x]);
                builder.alt(&[more, x])
            }),
            "rule `this` is not LL(1): it is left-recursive"
        );
        assert_eq!(
            refused(|builder, own| {
                let (x, y) = (builder.literal("x"), builder.literal("y"));
                let then = builder.seq(&[x, y]);
                let other = builder.seq(&[x, own]);
                builder.alt(&[then, other])
            }),
            conflict
        );
        assert_eq!(
            refused(|builder, _| {
                let x = builder.literal("x");
                let many = builder.repeat(x, 0, None);
                builder.seq(&[many, x])
            }),
            conflict
        );
        assert_eq!(
            refused(|builder, _| {
                let (x, y) = (builder.literal("x"), builder.literal("y"));
                let (x, y) = (builder.optional(x), builder.optional(y));
                let both = builder.seq(&[x, y]);
                builder.repeat(both, 0, None)
            }),
            "rule `this` is not LL(1): it repeats what can be empty"
        );
    }
}
