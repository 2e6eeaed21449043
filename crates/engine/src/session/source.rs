//! What a grammar is compiled from, and its way to a machine.

use std::sync::Arc;

use maskwright_automata::{Fuel, Regex};
use maskwright_grammar::{Grammar, Layout, LexedGrammar, Network, TerminalId, reduce};
use maskwright_lexing::{
    LarkTerminal, TerminalSet, lark_contextual_terminals, lark_terminals, terminals_within,
};
use maskwright_scan::LexerTables;

use super::machine::Machine;
use crate::EngineError;
use crate::ground::{BLOCK, END_OF_BLOCK, END_OF_LINE, NamedTokens, shown};
use crate::reader::Terminals;
use crate::shared::Shared;

/// What a grammar is compiled from.
#[derive(Clone)]
pub(crate) enum Source {
    OverBytes(Box<Grammar>),
    WithLexer { grammar: Box<LexedGrammar<LarkTerminal>>, layout: Option<Layout>, is_contextual: bool },
}

impl Source {
    /// Whether the grammar names tokens.
    pub(crate) fn names_tokens(&self) -> bool {
        match self {
            Source::OverBytes(grammar) => grammar.terminals().iter().any(Regex::is_marked),
            Source::WithLexer { grammar, .. } => NamedTokens::are_in(grammar),
        }
    }

    /// The machine before any text, and the tokens that the grammar names.
    ///
    /// # Errors
    /// If no text is in the language, a terminal cannot be had, a limit is reached, or the work is cancelled
    /// through `fuel`.
    pub(crate) fn compile(
        self,
        shared: &Arc<Shared>,
        fuel: &Fuel,
    ) -> Result<(Machine, Option<NamedTokens>), EngineError> {
        match self {
            Source::OverBytes(grammar) => over_bytes(shared, *grammar, fuel),
            Source::WithLexer { grammar, layout, is_contextual } => {
                with_lexer(shared, *grammar, layout, is_contextual, fuel)
            }
        }
    }
}

fn over_bytes(
    shared: &Arc<Shared>,
    grammar: Grammar,
    fuel: &Fuel,
) -> Result<(Machine, Option<NamedTokens>), EngineError> {
    let (mut grammar, limits) = grammar.without_token_limits();
    if let Some(spelled) = &shared.spelled {
        grammar = grammar.within(&spelled.bytes);
    }
    let (grammar, named) = NamedTokens::over_bytes(grammar, &shared.vocabulary, fuel)?;
    let facts = shared.all_facts(grammar.terminals(), fuel)?;
    let grammar = reduce(grammar, |terminal: TerminalId| facts[terminal.index()], fuel)?;
    let mut network = Network::new(grammar, fuel)?;
    network.limit_tokens(limits);
    Ok((Machine::new(shared.clone(), network, &Terminals::Bytes)?, named))
}

fn with_lexer(
    shared: &Arc<Shared>,
    grammar: LexedGrammar<LarkTerminal>,
    layout: Option<Layout>,
    is_contextual: bool,
    fuel: &Fuel,
) -> Result<(Machine, Option<NamedTokens>), EngineError> {
    let (grammar, layout, named) = NamedTokens::with_lexer(grammar, layout, &shared.vocabulary, fuel)?;
    let LexedGrammar { rules, terminals, declared, ignored } = grammar;
    let not_given: TerminalSet = ignored.iter().map(|terminal| terminal.index() as u32).collect();
    let mut made = match is_contextual {
        true => lark_contextual_terminals(&terminals, &not_given, fuel)?,
        false => lark_terminals(&terminals, &not_given, fuel)?,
    };
    if let Some(spelled) = &shared.spelled {
        made = terminals_within(&made, &spelled.bytes);
    }
    let labels = labels(&terminals, &declared, layout.as_ref());
    let names = terminals.into_iter().map(|terminal| terminal.name).chain(declared).collect();
    let mut tables = LexerTables::new(made, names, ignored, layout, is_contextual, fuel)?;
    tables.labels = labels;
    let network = Network::new(reduce(rules, tables.facts(fuel)?, fuel)?, fuel)?;
    let terminals = Terminals::Lexed(Arc::new(tables));
    Ok((fuel.metered(|| Machine::new(shared.clone(), network, &terminals))?, named))
}

/// What messages call the terminals: strings by what they are, those of the layout by what they mean, others
/// by name.
fn labels(terminals: &[LarkTerminal], declared: &[String], layout: Option<&Layout>) -> Vec<String> {
    let label = |terminal: &LarkTerminal| match &terminal.string {
        Some(string) => shown(string.as_bytes()),
        None => terminal.name.clone(),
    };
    let mut labels: Vec<String> = terminals.iter().map(label).chain(declared.iter().cloned()).collect();
    if let Some(layout) = layout {
        labels[layout.newline.index()] = END_OF_LINE.to_owned();
        labels[layout.indent.index()] = BLOCK.to_owned();
        labels[layout.dedent.index()] = END_OF_BLOCK.to_owned();
    }
    labels
}
