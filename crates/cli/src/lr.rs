//! `maskwright debug lr`: the LALR(1) states of a grammar's rules and their conflicts, as information.

use std::io::{self, Write};

use maskwright::debug::{LrSymbol, LrTable};

/// A table with the names of its terminals.
pub(crate) struct NamedTable {
    pub(crate) table: LrTable,
    pub(crate) terminals: Vec<String>,
}

impl NamedTable {
    /// Prints the productions, at most `limit` states, and all conflicts.
    pub(crate) fn print(&self, limit: usize, out: &mut impl Write) -> io::Result<()> {
        let table = &self.table;
        for index in 0..table.productions.len() {
            writeln!(out, "production {index} {}", self.item(index, None))?;
        }
        for (index, state) in table.states.iter().take(limit).enumerate() {
            writeln!(out, "state {index}")?;
            for &(production, dot) in &state.kernel {
                writeln!(out, "  {}", self.item(production, Some(dot)))?;
            }
            for (&symbol, next) in &state.moves {
                writeln!(out, "    {} -> {next}", self.symbol(symbol))?;
            }
            for (production, behind) in &state.reductions {
                let behind: Vec<&str> =
                    behind.iter().map(|terminal| self.lookahead(terminal.map(|id| id.index()))).collect();
                writeln!(out, "    production {production} ends before {}", behind.join(" "))?;
            }
        }
        if table.states.len() > limit {
            writeln!(out, "{} states more than {limit} (--limit)", table.states.len() - limit)?;
        }
        for conflict in &table.conflicts {
            let lookahead = self.lookahead(conflict.lookahead.map(|terminal| terminal.index()));
            let read = conflict.is_read.then(|| format!("read {lookahead}"));
            let ends = conflict
                .reductions
                .iter()
                .map(|&production| format!("end production {production} ({})", self.item(production, None)));
            let ways: Vec<String> = read.into_iter().chain(ends).collect();
            writeln!(out, "conflict in state {} before {lookahead}: {}", conflict.state, ways.join(", or "))?;
            let example: Vec<&str> =
                conflict.example.iter().map(|terminal| self.terminals[terminal.index()].as_str()).collect();
            writeln!(out, "  example: {} . {lookahead}", example.join(" "))?;
        }
        let n_conflicts = table.conflicts.len();
        writeln!(out, "{} states, {n_conflicts} conflicts; all of them are followed", table.states.len())
    }

    /// A production, with a dot before its symbol `dot`.
    fn item(&self, production: usize, dot: Option<usize>) -> String {
        let production = &self.table.productions[production];
        let mut text = format!("{} ::=", self.table.nonterminals[production.left]);
        for (place, &symbol) in production.right.iter().enumerate() {
            text += if dot == Some(place) { " . " } else { " " };
            text += self.symbol(symbol);
        }
        if dot == Some(production.right.len()) {
            text += " .";
        }
        text
    }

    fn symbol(&self, symbol: LrSymbol) -> &str {
        match symbol {
            LrSymbol::Terminal(terminal) => &self.terminals[terminal.index()],
            LrSymbol::Nonterminal(index) => &self.table.nonterminals[index],
        }
    }

    fn lookahead(&self, terminal: Option<usize>) -> &str {
        terminal.map_or("the end", |index| &self.terminals[index])
    }
}
