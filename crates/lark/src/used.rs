//! What of a grammar is used, as Lark sees it: unused terminals do not compete in the lexer.
//!
//! Lark removes rules that no other remaining rule uses, again and again, and keeps the terminals of what
//! remains. So rules that only use each other stay, and their terminals with them. A repetition counts as a
//! rule of its own, as Lark makes one of it. Linear time.

use crate::rules::{RuleExpr, Rules};

/// From this number of repetitions on Lark makes rules of `x ~ n`; fewer are written out.
const REPEAT_RULE: u32 = 50;

/// Whether each of the terminals, and after them each of the sets of tokens, is in a rule that Lark keeps, if
/// `start` is the start rule.
pub(crate) fn used_terminals(rules: &Rules, start: usize) -> Vec<bool> {
    let n_terminals = rules.terminals.len();
    let mut graph = Graph { nodes: vec![Uses::default(); rules.rules.len()], n_terminals };
    for (at, (_, expr)) in rules.rules.iter().enumerate() {
        graph.add(expr, at);
    }
    let mut n_users = vec![0u32; graph.nodes.len()];
    n_users[start] = 1;
    for uses in &graph.nodes {
        for &used in &uses.rules {
            n_users[used] += 1;
        }
    }
    let mut is_kept = vec![true; graph.nodes.len()];
    let mut unused: Vec<usize> = (0..graph.nodes.len()).filter(|&node| n_users[node] == 0).collect();
    while let Some(node) = unused.pop() {
        is_kept[node] = false;
        for &used in &graph.nodes[node].rules {
            n_users[used] -= 1;
            if n_users[used] == 0 {
                unused.push(used);
            }
        }
    }
    let mut is_used = vec![false; n_terminals + rules.token_sets.len()];
    for (uses, _) in graph.nodes.iter().zip(&is_kept).filter(|&(_, &is_kept)| is_kept) {
        for &terminal in &uses.terminals {
            is_used[terminal] = true;
        }
    }
    is_used
}

/// What a rule's right-hand side names; a rule that names itself is not its own user.
#[derive(Clone, Default)]
struct Uses {
    rules: Vec<usize>,
    terminals: Vec<usize>,
}

struct Graph {
    nodes: Vec<Uses>,
    n_terminals: usize,
}

impl Graph {
    /// Adds what `expr`, a part of the right-hand side of `node`, uses.
    fn add(&mut self, expr: &RuleExpr, node: usize) {
        match expr {
            RuleExpr::Alternatives(parts) | RuleExpr::Sequence(parts) => {
                for part in parts {
                    self.add(part, node);
                }
            }
            RuleExpr::Repeat { max: Some(0), .. } => {}
            RuleExpr::Repeat { inner, max, .. } if max.is_some_and(|max| max < REPEAT_RULE) => {
                self.add(inner, node);
            }
            RuleExpr::Repeat { inner, .. } => {
                let own = self.nodes.len();
                self.nodes.push(Uses::default());
                self.nodes[node].rules.push(own);
                self.add(inner, own);
            }
            RuleExpr::Terminal(terminal) => self.nodes[node].terminals.push(*terminal),
            RuleExpr::Tokens(set) => self.nodes[node].terminals.push(self.n_terminals + set),
            RuleExpr::Declared(_) => {}
            RuleExpr::Rule(rule) if *rule == node => {}
            RuleExpr::Rule(rule) => self.nodes[node].rules.push(*rule),
        }
    }
}
