//! What canvases and templates of one lexed grammar and vocabulary share: network, lexer, scans, walks.

pub(super) mod clear;
pub(super) mod scan;
pub(super) mod separators;
pub(super) mod walks;
pub(super) mod wide_lines;

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, Layout, LexedGrammar, Network, RuleId, Symbol, TerminalId, reduce};
use maskwright_lexing::{LarkTerminal, TerminalSet, lark_contextual_terminals, lark_terminals};
use maskwright_scan::{HypothesisId, Indent, LexerTables, Outcome};
use maskwright_vocabulary::{TrieNodeId, Vocabulary};
use rustc_hash::FxHashMap;

use crate::ground::InfillError;
use crate::lexed::hypotheses::{CLEAR, Hypotheses, LexerForm};
use crate::lexed::tables::clear::Clear;
use crate::lexed::tables::scan::{FreeScan, Part, TokenScan};
use crate::lexed::tables::walks::Walks;
use crate::rules::{Approximation, StatesId, check_pairs, inline_single, rules_in_line};
use crate::tokens::{NodeSetId, NodeSets, TokenSet};

/// The most scans of any text that are kept.
pub(crate) const MAX_FREE_SCANS: usize = 1 << 14;

/// An unguarded boundary, and what is ignored and leads there.
pub(crate) type Parted = (HypothesisId, Arc<[u8]>);

/// See the module.
pub(crate) struct LexedTables {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) network: Network,
    /// By rule, whether it is part of one line outside of brackets; none where nothing counts widths.
    pub(crate) is_in_line: Vec<bool>,
    pub(crate) hypotheses: Hypotheses,
    pub(crate) node_sets: NodeSets,
    pub(crate) n_terminals: usize,
    /// Whether nodes of a graph with the same future are made one.
    pub(crate) merge_alike: bool,
    pub(crate) scans: FxHashMap<(NodeSetId, HypothesisId), Arc<TokenScan>>,
    /// By node next to the trie's root.
    pub(crate) parts: FxHashMap<(TrieNodeId, HypothesisId), Arc<Part>>,
    pub(crate) tokens: FxHashMap<(NodeSetId, HypothesisId), Arc<[TokenSet]>>,
    pub(crate) free_scans: FxHashMap<(HypothesisId, Option<u32>), Arc<FreeScan>>,
    /// The most blanks of a token, once computed.
    pub(crate) most_blanks: Option<u32>,
    /// By boundary, the one without guards that something ignored leads to, and that.
    pub(crate) separators: FxHashMap<HypothesisId, Option<Parted>>,
    pub(crate) walks: FxHashMap<HypothesisId, Arc<Walks>>,
    pub(crate) clear: Option<Arc<Clear>>,
    /// Made when a first graph is.
    approximation: Option<Option<Box<Approximation>>>,
    /// By rule and by state: the terminals that its sentences begin with.
    rule_first: Vec<Option<TerminalSet>>,
    state_first: FxHashMap<ExprId, Firsts>,
}

/// The terminals that what is left of a rule can begin with.
#[derive(Clone, Debug)]
pub(crate) struct Firsts {
    /// Those that the state reads itself.
    pub(crate) direct: TerminalSet,
    /// Those with the ones that its rules begin with.
    pub(crate) all: TerminalSet,
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
        let mut tables = LexedTables {
            node_sets: NodeSets::new(vocabulary.trie()),
            vocabulary,
            rule_first: vec![None; network.n_rules()],
            is_in_line: vec![false; network.n_rules()],
            network,
            n_terminals: lexer.n_terminals,
            hypotheses: Hypotheses::new(Arc::new(lexer), form, merge_alike)?,
            merge_alike,
            scans: FxHashMap::default(),
            parts: FxHashMap::default(),
            tokens: FxHashMap::default(),
            free_scans: FxHashMap::default(),
            most_blanks: None,
            separators: FxHashMap::default(),
            walks: FxHashMap::default(),
            clear: None,
            approximation: None,
            state_first: FxHashMap::default(),
        };
        if let Some(pairs) = pairs {
            check_pairs(&mut tables.network, pairs, fuel)?;
            if tables.hypotheses.tables().layout.is_some() {
                tables.is_in_line = rules_in_line(&mut tables.network, pairs, fuel)?;
            }
        }
        Ok(tables)
    }

    /// A regular language around the grammar's, if the grammar is not too large for that.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn approximation(&mut self, fuel: &Fuel) -> Result<Option<&mut Approximation>, InfillError> {
        if self.approximation.is_none() {
            let made = Approximation::of(&mut self.network, self.n_terminals, fuel)?;
            self.approximation = Some(made.map(Box::new));
        }
        Ok(self.approximation.as_mut().and_then(Option::as_deref_mut))
    }

    /// Whether a rule that is being read, with `state` left of it, can be read on to the end where the states
    /// of `future` can.
    pub(crate) fn may_go_on(&self, future: StatesId, rule: RuleId, state: ExprId) -> bool {
        let approximation = self.approximation.as_ref().and_then(Option::as_deref);
        approximation.is_none_or(|known| {
            known.number(rule, state).is_some_and(|number| known.contains(future, number))
        })
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

    /// The terminals that can be next in a state.
    pub(crate) fn first(&mut self, state: ExprId, fuel: &Fuel) -> Result<&Firsts, InfillError> {
        if !self.state_first.contains_key(&state) {
            let mut direct = TerminalSet::new();
            let mut rules = Vec::new();
            for index in self.network.moves(state) {
                match self.network.move_at(index).symbol {
                    Symbol::Terminal(terminal) => {
                        direct.insert(terminal.index() as u32);
                    }
                    Symbol::Rule(rule) => rules.push(rule),
                }
            }
            let mut all = direct.clone();
            for rule in rules {
                all.union_with(self.rule_first(rule, fuel)?);
            }
            self.state_first.insert(state, Firsts { direct, all });
        }
        Ok(&self.state_first[&state])
    }

    /// The terminals that a rule's sentences begin with. Without left recursion, the rules that a rule can
    /// begin with are never that rule again.
    pub(crate) fn rule_first(&mut self, rule: RuleId, fuel: &Fuel) -> Result<&TerminalSet, InfillError> {
        let mut stack = vec![rule];
        while let Some(&top) = stack.last() {
            if self.rule_first[top.index()].is_some() {
                stack.pop();
                continue;
            }
            let body = self.network.body(top);
            let moves = self.network.moves(body);
            fuel.spend(moves.len() as u64 + 1)?;
            let mut first = TerminalSet::new();
            let n_known = stack.len();
            for index in moves {
                match self.network.move_at(index).symbol {
                    Symbol::Terminal(terminal) => {
                        first.insert(terminal.index() as u32);
                    }
                    Symbol::Rule(callee) => match &self.rule_first[callee.index()] {
                        Some(known) => {
                            first.union_with(known);
                        }
                        None => stack.push(callee),
                    },
                }
            }
            if stack.len() == n_known {
                self.rule_first[top.index()] = Some(first);
            }
        }
        Ok(self.rule_first[rule.index()].get_or_insert_default())
    }
}
