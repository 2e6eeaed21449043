//! A right-hand side while a front end reads it: a regular language as long as no rule is named in it, else
//! an expression.
//!
//! Regular parts that stand next to each other become one terminal, so that the engine sees few and long
//! ones.

use maskwright_automata::Regex;

use crate::{ExprId, GrammarBuilder};

/// A part of a right-hand side.
///
/// ```
/// use maskwright_automata::Regex;
/// use maskwright_grammar::{GrammarBuilder, Item};
/// let mut builder = GrammarBuilder::new();
/// let parts = ["a", "b"].map(|word| Item::Regular(Regex::literal(word)));
/// assert!(matches!(Item::seq(parts.to_vec(), &mut builder), Item::Regular(both) if both == Regex::literal("ab")));
/// ```
#[derive(Clone, Debug)]
pub enum Item {
    /// No rule is named in it.
    Regular(Regex),
    /// It names a rule.
    Expr(ExprId),
}

impl Item {
    /// The empty text.
    pub fn epsilon() -> Item {
        Item::Regular(Regex::epsilon())
    }

    /// The expression; a regular part becomes one terminal.
    #[must_use]
    pub fn into_expr(self, builder: &mut GrammarBuilder) -> ExprId {
        match self {
            Item::Regular(regex) => builder.terminal(regex),
            Item::Expr(expr) => expr,
        }
    }

    /// One after the other. Regular neighbours are joined to one terminal.
    #[must_use]
    pub fn seq(items: Vec<Item>, builder: &mut GrammarBuilder) -> Item {
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
    #[must_use]
    pub fn alt(mut items: Vec<Item>, builder: &mut GrammarBuilder) -> Item {
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
    #[must_use]
    pub fn repeat(self, min: u32, max: Option<u32>, builder: &mut GrammarBuilder) -> Item {
        match self {
            Item::Regular(regex) => Item::Regular(regex.repeat(min, max)),
            Item::Expr(expr) => Item::Expr(builder.repeat(expr, min, max)),
        }
    }
}
