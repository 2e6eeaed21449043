//! A parsed right-hand side: a regular language as long as no rule is named in it, else an expression.

use maskwright_automata::Regex;
use maskwright_grammar::{ExprId, GrammarBuilder};

/// A part of a right-hand side.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// No rule is named in it.
    Regular(Regex),
    /// It names a rule.
    Expr(ExprId),
}

impl Item {
    /// The expression; a regular part becomes one terminal.
    pub(super) fn into_expr(self, builder: &mut GrammarBuilder) -> ExprId {
        match self {
            Item::Regular(regex) => builder.terminal(regex),
            Item::Expr(expr) => expr,
        }
    }

    /// One after the other. Regular neighbours are joined to one terminal.
    pub(super) fn seq(items: Vec<Item>, builder: &mut GrammarBuilder) -> Item {
        let mut parts: Vec<ExprId> = Vec::new();
        let mut run: Vec<Regex> = Vec::new();
        for item in items {
            match item {
                Item::Regular(regex) => run.push(regex),
                Item::Expr(expr) => {
                    if !run.is_empty() {
                        parts.push(builder.terminal(Regex::concat(run.drain(..))));
                    }
                    parts.push(expr);
                }
            }
        }
        if parts.is_empty() {
            return Item::Regular(Regex::concat(run));
        }
        if !run.is_empty() {
            parts.push(builder.terminal(Regex::concat(run)));
        }
        Item::Expr(builder.seq(&parts))
    }

    /// Any of them. Regular ones are joined to one terminal, literal words as a list of words.
    pub(super) fn alt(mut items: Vec<Item>, builder: &mut GrammarBuilder) -> Item {
        if items.len() == 1 {
            return items.swap_remove(0);
        }
        let mut words: Vec<Vec<u8>> = Vec::new();
        let mut regular: Vec<Regex> = Vec::new();
        let mut parts: Vec<ExprId> = Vec::new();
        for item in items {
            match item {
                Item::Expr(expr) => parts.push(expr),
                Item::Regular(regex) => match regex.as_literal() {
                    Some(word) => words.push(word),
                    None => regular.push(regex),
                },
            }
        }
        regular.push(Regex::words(words));
        let regular = Regex::union(regular);
        if parts.is_empty() {
            return Item::Regular(regular);
        }
        parts.push(builder.terminal(regular));
        Item::Expr(builder.alt(&parts))
    }

    /// At least `min` and at most `max` copies.
    pub(super) fn repeat(self, min: u32, max: Option<u32>, builder: &mut GrammarBuilder) -> Item {
        match self {
            Item::Regular(regex) => Item::Regular(regex.repeat(min, max)),
            Item::Expr(expr) => Item::Expr(builder.repeat(expr, min, max)),
        }
    }
}
