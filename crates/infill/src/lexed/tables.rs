//! What canvases and templates of one lexed grammar and vocabulary share: network, lexer, scans, walks.

pub(super) mod clear;
pub(super) mod grammar;
pub(super) mod memo;
mod scan;
mod separators;
mod walks;
pub(super) mod wide_lines;

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_grammar::{Layout, LexedGrammar, Network, TerminalId, reduce};
use maskwright_lexing::{LarkTerminal, lark_contextual_terminals, lark_terminals};
use maskwright_scan::{HypothesisId, Indent, LexerTables, Outcome};
use maskwright_vocabulary::Vocabulary;

use crate::ground::InfillError;
use crate::lexed::hypotheses::{CLEAR, Hypotheses, LexerForm};
use crate::lexed::tables::grammar::GrammarTables;
use crate::lexed::tables::memo::Memo;
use crate::rules::inline_single;
use crate::tokens::NodeSets;

/// See the module.
pub(crate) struct LexedTables {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) grammar: GrammarTables,
    pub(crate) hypotheses: Hypotheses,
    pub(crate) node_sets: NodeSets,
    /// Whether nodes of a graph with the same future are made one.
    pub(crate) merge_alike: bool,
    memo: Memo,
}

impl LexedTables {
    pub(crate) fn new(
        grammar: &LexedGrammar<LarkTerminal>,
        (layout, form): (Option<&Layout>, LexerForm),
        vocabulary: Arc<Vocabulary>,
        merge_alike: bool,
        fuel: &Fuel,
    ) -> Result<LexedTables, InfillError> {
        let made = |layout: &Layout| [layout.indent, layout.dedent].map(TerminalId::index);
        let made = layout.map(made).unwrap_or([usize::MAX; 2]);
        let mut declared = grammar.declared.iter().zip(grammar.terminals.len()..);
        if let Some((name, _)) = declared.find(|(_, id)| !made.contains(id)) {
            return Err(InfillError::grammar(format!(
                "terminal `{name}` is declared and nothing says what makes it: infilling has only terminals that are found \
                 in the text, and those of indentation"
            )));
        }
        // Where the lexer drops the ends of lines, there are no blocks; brackets are in pairs all the same.
        let pairs = layout;
        let layout = layout.filter(|layout| !grammar.ignored.contains(&layout.newline));
        let ignored = grammar.ignored.iter().map(|terminal| terminal.index() as u32).collect();
        let is_contextual = form != LexerForm::Basic;
        let terminals = match is_contextual {
            true => lark_contextual_terminals(&grammar.terminals, &ignored, fuel)?,
            false => lark_terminals(&grammar.terminals, &ignored, fuel)?,
        };
        let names = grammar.terminals.iter().map(|terminal| terminal.name.clone());
        let names = names.chain(grammar.declared.iter().cloned()).collect();
        let lexer = LexerTables::new(
            terminals,
            names,
            grammar.ignored.clone(),
            layout.cloned(),
            is_contextual,
            fuel,
        )?;
        let rules = if merge_alike { inline_single(&grammar.rules, fuel)? } else { grammar.rules.clone() };
        let network = Network::new(reduce(rules, lexer.facts(fuel)?, fuel)?, fuel)?;
        let n_terminals = lexer.n_terminals;
        let hypotheses = Hypotheses::new(Arc::new(lexer), form, merge_alike)?;
        let grammar = GrammarTables::new(network, n_terminals, (pairs, layout.is_some()), fuel)?;
        let node_sets = NodeSets::new(vocabulary.trie());
        Ok(LexedTables { vocabulary, grammar, hypotheses, node_sets, merge_alike, memo: Memo::default() })
    }

    /// What the parser gets by an outcome: the terminal of the token that ends, but for those that are
    /// ignored and ends of lines within brackets.
    pub(crate) fn label(&self, outcome: Outcome) -> Option<TerminalId> {
        let terminal = outcome.terminal?;
        let is_dropped = self.is_ignored(terminal) || self.hypotheses.indent(outcome.next) == Indent::Within;
        (!is_dropped).then_some(terminal)
    }

    /// Whether the parser never gets a terminal's tokens.
    pub(crate) fn is_ignored(&self, terminal: TerminalId) -> bool {
        self.hypotheses.tables().is_ignored(terminal, false)
    }

    /// Whether a text may end at a hypothesis, or at all that the clear boundary stands for; blocks are
    /// closed after that.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn may_end(&mut self, hypothesis: HypothesisId, fuel: &Fuel) -> Result<bool, InfillError> {
        if hypothesis == CLEAR {
            return Ok(self.clear(fuel)?.ends_here);
        }
        Ok(self.hypotheses.ends_here(hypothesis))
    }
}
