//! The fewest terminals that finish a text, by the rules alone.
//!
//! [`Distances`] ignores the lexer, so it gives a lower bound. It guides the search for a completion (A*,
//! Hart, Nilsson and Raphael 1968).
//!
//! An example: for `list: "[" (NUMBER ("," NUMBER)*)? "]"`, the distance is 1 after `[` and 2 after `[1,`.
//! Terminals without text of their own, those that indentation makes, cost nothing.
//!
//! Distances of the rules are a fixpoint over their expressions, computed once per grammar; those of stack
//! nodes and configurations are computed when asked for.

use std::sync::Arc;

use maskwright_grammar::{Expr, ExprId, Network, Seen, TerminalId};
use maskwright_scan::LexerTables;
use maskwright_scan::bits::{Bits, contains, insert, n_words};
use rustc_hash::FxHashMap;

use super::super::scopes::expressions;
use crate::parser::{ConfigId, Frame, NodeId, Parser};

/// The distance of an expression without a sentence.
pub(super) const NEVER: u32 = u32::MAX;

/// The fewest terminals of expressions and of stacks.
#[derive(Default)]
pub(super) struct Distances {
    /// Whether the distances of the rules are known.
    is_made: bool,
    /// The terminals without text of their own, which cost nothing.
    free: Bits,
    /// The terminals that the parser never gets.
    ignored: Bits,
    rules: Vec<u32>,
    /// By expression: the distance plus one, or 0 if it is not known yet.
    states: Vec<u32>,
    nodes: FxHashMap<NodeId, u32>,
    configs: FxHashMap<ConfigId, After>,
    /// Those of `configs`, about.
    n_bytes: usize,
}

/// What is known of a configuration.
#[derive(Clone, Default)]
pub(super) struct After {
    /// The fewest terminals that finish a text; [`NEVER`] if nothing does.
    pub(super) least: u32,
    /// By the terminals that can come next, the fewest after them; the nearest first.
    pub(super) terminals: Arc<[(u32, TerminalId)]>,
}

impl Distances {
    /// Nothing is known yet.
    pub(super) fn new(tables: &LexerTables) -> Distances {
        let n_words = n_words(tables.n_terminals);
        let [mut free, mut ignored]: [Bits; 2] = [(); 2].map(|()| vec![0; n_words].into());
        for terminal in tables.layout.iter().flat_map(|layout| [layout.indent, layout.dedent]) {
            insert(&mut free, terminal.index());
        }
        for terminal in &tables.ignored {
            insert(&mut ignored, terminal.index());
        }
        Distances { free, ignored, ..Distances::default() }
    }

    /// The fewest terminals that finish a text from `config`; [`NEVER`] if nothing does.
    pub(super) fn of_config(&mut self, parser: &mut Parser, config: ConfigId) -> u32 {
        match self.configs.get(&config) {
            Some(known) => known.least,
            None => self.after(parser, config).least,
        }
    }

    /// The same, and by the terminals that can come next.
    pub(super) fn after(&mut self, parser: &mut Parser, config: ConfigId) -> After {
        if let Some(known) = self.configs.get(&config) {
            return known.clone();
        }
        let mut nearest: FxHashMap<TerminalId, u32> = FxHashMap::default();
        for index in 0..parser.configs.threads(config).len() {
            let thread = parser.configs.threads(config)[index];
            if contains(&self.ignored, thread.terminal.index()) {
                continue;
            }
            let rest = self.of_state(&mut parser.network, thread.next);
            let rest = rest.saturating_add(self.of_node(parser, thread.node));
            let known = nearest.entry(thread.terminal).or_insert(NEVER);
            *known = rest.min(*known);
        }
        let with_own = |(terminal, rest): (&TerminalId, &u32)| {
            rest.saturating_add(u32::from(!contains(&self.free, terminal.index())))
        };
        let least = match parser.configs.is_accepting(config) {
            true => 0,
            false => nearest.iter().map(with_own).min().unwrap_or(NEVER),
        };
        let mut terminals: Vec<(u32, TerminalId)> =
            nearest.into_iter().map(|(terminal, rest)| (rest, terminal)).collect();
        terminals.sort_unstable();
        let after = After { least, terminals: terminals.into() };
        self.n_bytes += 64 + after.terminals.len() * 8;
        self.configs.insert(config, after.clone());
        after
    }

    /// The fewest terminals that the stacks of a node still need. Nodes have no cycles.
    fn of_node(&mut self, parser: &mut Parser, node: NodeId) -> u32 {
        let mut work = vec![node];
        while let Some(&top) = work.last() {
            if self.nodes.contains_key(&top) {
                work.pop();
                continue;
            }
            let n_open = work.len();
            let mut least = NEVER;
            for index in 0..parser.stacks.frames(top).len() {
                let frame = parser.stacks.frames(top)[index];
                if frame == Frame::BOTTOM || frame == Frame::HOLE {
                    least = 0;
                    continue;
                }
                match self.nodes.get(&frame.parent) {
                    Some(&below) => {
                        let here = self.of_state(&mut parser.network, frame.ret);
                        least = least.min(here.saturating_add(below));
                    }
                    None => work.push(frame.parent),
                }
            }
            if work.len() == n_open {
                self.nodes.insert(top, least);
                work.pop();
            }
        }
        self.nodes.get(&node).copied().unwrap_or(0)
    }

    fn of_state(&mut self, network: &mut Network, state: ExprId) -> u32 {
        if !self.is_made {
            self.make(network);
        }
        if self.states.len() < network.pool().len() {
            self.states.resize(network.pool().len(), 0);
        }
        if self.states[state.index()] == 0 {
            let mut seen = Seen::new();
            for id in network.pool().post_order(state, &mut seen) {
                if self.states[id.index()] == 0 {
                    self.states[id.index()] = self.least(network, id).saturating_add(1);
                }
            }
        }
        match self.states[state.index()] {
            u32::MAX => NEVER,
            known => known - 1,
        }
    }

    fn make(&mut self, network: &Network) {
        self.is_made = true;
        self.rules = vec![NEVER; network.n_rules()];
        self.states = vec![u32::MAX; network.pool().len()];
        let order = expressions(network, &|_| true);
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for (rule, part) in &order {
                for &id in part {
                    let least = self.least(network, id).saturating_add(1);
                    has_changed |= least < self.states[id.index()];
                    self.states[id.index()] = least;
                }
                self.rules[rule.index()] = match self.states[network.body(*rule).index()] {
                    u32::MAX => NEVER,
                    known => known - 1,
                };
            }
        }
        // Expressions outside of the rules are computed on demand.
        let mut is_known = vec![false; self.states.len()];
        order.iter().flat_map(|(_, part)| part).for_each(|id| is_known[id.index()] = true);
        for (state, is_known) in self.states.iter_mut().zip(is_known) {
            *state = if is_known { *state } else { 0 };
        }
    }

    /// The distance of an expression, from those of its parts.
    fn least(&self, network: &Network, id: ExprId) -> u32 {
        let known = |id: ExprId| match self.states[id.index()] {
            0 | u32::MAX => NEVER,
            known => known - 1,
        };
        match network.pool().get(id) {
            Expr::Never => NEVER,
            Expr::Epsilon => 0,
            Expr::Terminal(terminal) if contains(&self.ignored, terminal.index()) => NEVER,
            Expr::Terminal(terminal) => u32::from(!contains(&self.free, terminal.index())),
            Expr::Rule(rule) if network.is_rule_nullable(*rule) => 0,
            Expr::Rule(rule) => self.rules[rule.index()],
            Expr::Seq(head, tail) => known(*head).saturating_add(known(*tail)),
            Expr::Alt(parts) => parts.iter().map(|&part| known(part)).min().unwrap_or(NEVER),
            Expr::Repeat { min: 0, .. } => 0,
            Expr::Repeat { inner, min, .. } => known(*inner).saturating_mul(*min),
            // Lexed grammars have no shuffles.
            Expr::Shuffle(_) => 0,
        }
    }

    /// Forgets the distances of stacks and configurations.
    pub(super) fn clear(&mut self) {
        self.nodes = FxHashMap::default();
        self.configs = FxHashMap::default();
        self.n_bytes = 0;
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        (self.states.capacity() + self.rules.capacity()) * 4 + self.nodes.capacity() * 9 + self.n_bytes
    }
}
