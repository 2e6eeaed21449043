//! Whether a grammar has any text.

use maskwright_automata::{Node, Regex};
use maskwright_grammar::{Expr, ExprId, Grammar};

use crate::SchemaError;
use crate::graph::Graph;
use crate::report::PlaceId;
use crate::strings::names::IDENTIFIER;
use crate::strings::terminals::CANONICAL_STRING;
use crate::strings::words;

/// Whether the grammar has any text. The least fixed point over expressions; those below another have
/// smaller ids, so each round is one pass, and there are as many rounds as rules wait for later ones.
pub(crate) fn is_productive(
    grammar: &Grammar,
    graph: &Graph<'_>,
    place: PlaceId,
) -> Result<bool, SchemaError> {
    let pool = grammar.pool();
    let mut empty_terminals = vec![false; grammar.terminals().len()];
    for (is_empty, terminal) in empty_terminals.iter_mut().zip(grammar.terminals()) {
        // Only what intersections and complements make can be empty without being seen to be.
        if terminal.is_extended() && !terminal.is_nullable() && !is_additional_key(terminal) {
            *is_empty =
                words::is_empty(terminal, graph.fuel).map_err(|kind| graph.error(place, None, kind))?;
        }
    }
    let mut rules = vec![false; grammar.rules().len()];
    let mut exprs = vec![false; pool.len()];
    loop {
        graph.spend(place, pool.len() as u64)?;
        for index in 0..pool.len() {
            exprs[index] = match pool.get(ExprId::from_index(index)) {
                Expr::Never => false,
                Expr::Epsilon => true,
                Expr::Terminal(terminal) => !empty_terminals[terminal.index()],
                Expr::Rule(rule) => rules[rule.index()],
                Expr::Seq(head, tail) => exprs[head.index()] && exprs[tail.index()],
                Expr::Alt(parts) => parts.iter().any(|part| exprs[part.index()]),
                Expr::Repeat { inner, min, .. } => *min == 0 || exprs[inner.index()],
                Expr::Shuffle(place) => pool.shuffle_list(place).is_productive(|part| exprs[part.index()]),
            };
        }
        let mut has_grown = false;
        for rule in grammar.rules() {
            if !rules[rule.index()] && exprs[grammar.body(rule).index()] {
                rules[rule.index()] = true;
                has_grown = true;
            }
        }
        if rules[grammar.start().index()] {
            return Ok(true);
        }
        if !has_grown {
            return Ok(false);
        }
    }
}

/// Whether a terminal is all strings but some: never empty, since only finitely many are left out.
fn is_additional_key(terminal: &Regex) -> bool {
    match terminal.node() {
        Node::Intersection(parts) => {
            let is_endless = |part: &Regex| part.ptr_eq(&CANONICAL_STRING) || part.ptr_eq(&IDENTIFIER);
            let mut endless = parts.iter().filter(|part| is_endless(part));
            let is_some_endless = endless.next().is_some() && endless.next().is_none();
            is_some_endless && parts.iter().all(|part| is_endless(part) || leaves_out_few(part))
        }
        _ => false,
    }
}

/// Whether an expression is the complement of finitely many words.
fn leaves_out_few(regex: &Regex) -> bool {
    match regex.node() {
        Node::Complement(inner) => {
            matches!(inner.node(), Node::Words(_) | Node::Literal(_) | Node::Bytes(_) | Node::Epsilon)
        }
        _ => false,
    }
}
