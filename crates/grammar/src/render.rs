//! Grammars as text, for `debug ir`, snapshots and messages.

use std::fmt;

use crate::{Expr, ExprId, Grammar, TerminalId, TokenSet};

/// The most of one right-hand side that is written, in characters.
const MAX_BODY: usize = 4_000;

impl fmt::Display for Grammar {
    /// One line a rule: `name ::= body`, terminals in the notation of `Regex`'s `Debug`; long right-hand
    /// sides are cut with `…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_with(|terminal| {
            let regex = &self.terminals[terminal.index()];
            TokenSet::of_regex(regex).map_or_else(|| format!("{regex:?}"), |set| set.to_string())
        }))
    }
}

impl Grammar {
    /// The grammar as its `Display` writes it, with `show`'s words for the terminals.
    ///
    /// ```
    /// # mod maskwright { pub mod grammar { pub use maskwright_automata::*; pub use maskwright_grammar::*; } }
    /// use maskwright::grammar::{Grammar, Regex};
    /// let grammar = Grammar::from_regex(Regex::literal("a"));
    /// assert_eq!(grammar.show_with(|_| "LETTER".to_owned()), "*start ::= LETTER\n");
    /// ```
    pub fn show_with(&self, show: impl Fn(TerminalId) -> String) -> String {
        let mut shown = String::new();
        for rule in self.rules() {
            shown.push_str(if rule == self.start { "*" } else { " " });
            shown.push_str(self.name(rule));
            shown.push_str(" ::= ");
            let mut body = String::new();
            write_expr(self, &show, self.body(rule), 0, &mut body);
            shown.push_str(&body);
            shown.push('\n');
        }
        shown
    }
}

fn write_expr(
    grammar: &Grammar,
    show: &dyn Fn(TerminalId) -> String,
    id: ExprId,
    depth: usize,
    out: &mut String,
) {
    use fmt::Write;
    if out.len() > MAX_BODY || depth > 100 {
        if !out.ends_with('…') {
            out.push('…');
        }
        return;
    }
    match grammar.pool.get(id) {
        Expr::Never => out.push('∅'),
        Expr::Epsilon => out.push('ε'),
        Expr::Terminal(terminal) => {
            out.push_str(&show(*terminal));
        }
        Expr::Rule(rule) => out.push_str(grammar.name(*rule)),
        &Expr::Seq(head, tail) => {
            write_expr(grammar, show, head, depth + 1, out);
            let mut rest = tail;
            while let &Expr::Seq(head, tail) = grammar.pool.get(rest) {
                out.push(' ');
                write_expr(grammar, show, head, depth + 1, out);
                rest = tail;
                if out.len() > MAX_BODY {
                    break;
                }
            }
            out.push(' ');
            write_expr(grammar, show, rest, depth + 1, out);
        }
        Expr::Alt(parts) => {
            out.push('(');
            for (i, &part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push_str(" | ");
                }
                if out.len() > MAX_BODY {
                    out.push('…');
                    break;
                }
                write_expr(grammar, show, part, depth + 1, out);
            }
            out.push(')');
        }
        Expr::Repeat { inner, min, max } => {
            out.push('(');
            write_expr(grammar, show, *inner, depth + 1, out);
            match max {
                None if *min == 0 => out.push_str(")*"),
                None => write!(out, "){{{min},}}").expect("a String takes all writes"),
                Some(max) => write!(out, "){{{min},{max}}}").expect("a String takes all writes"),
            }
        }
        Expr::Shuffle(place) => {
            let list = grammar.pool.shuffle_list(place);
            out.push_str("any order of (");
            for item in &list.items {
                if out.len() > MAX_BODY {
                    out.push('…');
                    break;
                }
                write_expr(grammar, show, item.expr, depth + 1, out);
                out.push_str(if item.is_required { " & " } else { "? & " });
            }
            write_expr(grammar, show, list.others, depth + 1, out);
            out.push_str("*) with ");
            write_expr(grammar, show, list.separator, depth + 1, out);
            if list.min > 0 || list.max.is_some() {
                let max = list.max.map_or(String::new(), |max| max.to_string());
                write!(out, " {{{},{max}}}", list.min).expect("a String takes all writes");
            }
        }
    }
}
