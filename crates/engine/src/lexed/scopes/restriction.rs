//! Which parts of the rules have a sentence over a given set of terminals.
//!
//! A [`Restriction`] answers this for expressions of the rules, and says which terminals can follow which
//! ([`followers`](Restriction::followers)). [`Scope`](super::scope::Scope) asks it.
//!
//! An example: with the rule `stmt: "a" ";" | "a" "?" expr` and without the terminal `?`, the first
//! alternative still has a sentence and the second has none, so `;` is all that can follow `a`.
//!
//! Answers for the rules are fixpoints, computed once per set of terminals. Those for other expressions, the
//! rests of rules, are computed when asked for.

use maskwright_grammar::{Expr, ExprId, Network, RuleId, Seen, TerminalId};
use maskwright_scan::bits::{Bits, contains, insert, ones, unite};

/// Which expressions have a sentence over a set of terminals.
pub(super) struct Restriction {
    pub(super) terminals: Bits,
    rules: Vec<bool>,
    /// By expression: 0 unknown, 1 none, 2 some.
    states: Vec<u8>,
}

impl Restriction {
    pub(super) fn new(network: &Network, terminals: Bits) -> Restriction {
        let mut rules = vec![false; network.n_rules()];
        let order = expressions(network, &|_| true);
        let mut states = vec![0u8; network.pool().len()];
        loop {
            let mut has_changed = false;
            for &(rule, ref part) in &order {
                for &id in part {
                    if states[id.index()] != 2 && has_sentence(network, id, &terminals, &rules, &states) {
                        states[id.index()] = 2;
                        has_changed = true;
                    }
                }
                if !rules[rule.index()] && states[network.body(rule).index()] == 2 {
                    rules[rule.index()] = true;
                    has_changed = true;
                }
            }
            if !has_changed {
                break;
            }
        }
        for id in order.iter().flat_map(|(_, part)| part) {
            states[id.index()] = states[id.index()].max(1);
        }
        Restriction { terminals, rules, states }
    }

    /// Whether an expression has a sentence.
    pub(super) fn is_productive(&mut self, network: &mut Network, state: ExprId) -> bool {
        if self.states.len() < network.pool().len() {
            self.states.resize(network.pool().len(), 0);
        }
        if self.states[state.index()] == 0 {
            let mut seen = Seen::new();
            for id in network.pool().post_order(state, &mut seen) {
                if self.states[id.index()] == 0 {
                    let is = has_sentence(network, id, &self.terminals, &self.rules, &self.states);
                    self.states[id.index()] = 1 + u8::from(is);
                }
            }
        }
        self.states[state.index()] == 2
    }

    /// For each terminal, what must be readable right after it: the terminals that begin the rest of some
    /// sentence there, if the whole rest is over the set; bit `n_terminals` is the end of the text. The text
    /// before may have any terminals, so only the rest must be over the set. A fixpoint over the expressions
    /// of the rules; rounds are few.
    pub(super) fn followers(&self, network: &mut Network, n_terminals: usize) -> Vec<Bits> {
        let n_words = self.terminals.len();
        let parts = expressions(network, &|_| true);
        let order: Vec<ExprId> = parts.into_iter().flat_map(|(_, part)| part).collect();
        // What sentences over the terminals begin with, and what the rests of sentences that are over the
        // terminals end with.
        let mut first = vec![0u64; network.pool().len() * n_words];
        let mut last = first.clone();
        let place = |id: ExprId| id.index() * n_words..(id.index() + 1) * n_words;
        // Adds the set of one expression to that of another.
        let join = |sets: &mut Vec<u64>, to: ExprId, from: ExprId| {
            let from = sets[place(from)].to_vec();
            unite(&mut sets[place(to)], &from)
        };
        for &id in &order {
            if let Expr::Terminal(terminal) = network.pool().get(id)
                && self.states[id.index()] == 2
            {
                insert(&mut first[place(id)], terminal.index());
                insert(&mut last[place(id)], terminal.index());
            }
        }
        loop {
            let mut has_changed = false;
            for &id in &order {
                let is_productive = self.states[id.index()] == 2;
                match network.pool().get(id).clone() {
                    Expr::Never | Expr::Epsilon | Expr::Terminal(_) => {}
                    Expr::Rule(rule) => {
                        let body = network.body(rule);
                        has_changed |= is_productive && join(&mut first, id, body);
                        has_changed |= join(&mut last, id, body);
                    }
                    Expr::Seq(head, tail) => {
                        has_changed |= is_productive && join(&mut first, id, head);
                        has_changed |= join(&mut last, id, tail);
                        if network.is_nullable(head) {
                            has_changed |= is_productive && join(&mut first, id, tail);
                        }
                        if network.is_nullable(tail) {
                            has_changed |= join(&mut last, id, head);
                        }
                    }
                    Expr::Alt(_) | Expr::Repeat { .. } | Expr::Shuffle(_) => {
                        for part in network.pool().children(id) {
                            has_changed |= is_productive && join(&mut first, id, part);
                            has_changed |= join(&mut last, id, part);
                        }
                    }
                }
            }
            if !has_changed {
                break;
            }
        }
        let mut followers = vec![Bits::from(vec![0; n_words]); n_terminals];
        let mut follow = |ends: &[u64], begins: &[u64]| {
            for terminal in ones(ends) {
                unite(&mut followers[terminal], begins);
            }
        };
        for &id in &order {
            match network.pool().get(id) {
                &Expr::Seq(head, tail) => follow(&last[place(head)], &first[place(tail)]),
                &Expr::Repeat { inner, max, .. } if max != Some(1) => {
                    follow(&last[place(inner)], &first[place(inner)]);
                }
                // No lexed grammar has one; if one had, its parts could come in any order.
                Expr::Shuffle(_) => follow(&last[place(id)], &first[place(id)]),
                _ => {}
            }
        }
        let mut end: Bits = vec![0; n_words].into();
        insert(&mut end, n_terminals);
        follow(&last[place(network.body(network.start()))], &end);
        followers
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.states.len()
    }
}

/// Whether a rule has `terminal`.
pub(super) fn uses(network: &Network, terminal: TerminalId) -> bool {
    let parts = expressions(network, &|_| true);
    let mut ids = parts.iter().flat_map(|(_, part)| part);
    ids.any(|&id| *network.pool().get(id) == Expr::Terminal(terminal))
}

fn has_sentence(network: &Network, id: ExprId, terminals: &[u64], rules: &[bool], states: &[u8]) -> bool {
    let known = |id: ExprId| states[id.index()] == 2;
    match network.pool().get(id) {
        Expr::Never => false,
        Expr::Epsilon => true,
        Expr::Terminal(terminal) => contains(terminals, terminal.index()),
        // The body of a rule that matches the empty word need not say so.
        Expr::Rule(rule) => rules[rule.index()] || network.is_rule_nullable(*rule),
        Expr::Seq(head, tail) => known(*head) && known(*tail),
        Expr::Alt(parts) => parts.iter().any(|&part| known(part)),
        Expr::Repeat { inner, min, .. } => *min == 0 || known(*inner),
        Expr::Shuffle(_) => network.pool().children(id).into_iter().all(known),
    }
}

/// The expressions reachable from kept ones, children first. They are listed by rule, callees first where
/// recursion allows.
pub(in super::super) fn expressions(
    network: &Network,
    keeps: &dyn Fn(ExprId) -> bool,
) -> Vec<(RuleId, Vec<ExprId>)> {
    let (mut seen, mut seen_rules) = (Seen::new(), Seen::new());
    let mut found = Vec::new();
    let mut rules: Vec<(RuleId, Option<Vec<ExprId>>)> = vec![(network.start(), None)];
    while let Some((rule, part)) = rules.pop() {
        if let Some(part) = part {
            found.push((rule, part));
            continue;
        }
        if !seen_rules.insert(rule.index()) {
            continue;
        }
        // (expression, whether its parts were visited)
        let mut part = Vec::new();
        let mut callees = Vec::new();
        let mut work = vec![(network.body(rule), false)];
        while let Some((id, is_done)) = work.pop() {
            if is_done {
                part.push(id);
            } else if keeps(id) && seen.insert(id.index()) {
                work.push((id, true));
                work.extend(network.pool().children(id).into_iter().map(|child| (child, false)));
                if let &Expr::Rule(callee) = network.pool().get(id) {
                    callees.push(callee);
                }
            }
        }
        rules.push((rule, Some(part)));
        rules.extend(callees.into_iter().map(|callee| (callee, None)));
    }
    found
}
