//! The grammar over the lexer's terminals: its network, and what is known of its rules.

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, Layout, Network, RuleId, Symbol};
use maskwright_lexing::TerminalSet;
use rustc_hash::FxHashMap;

use crate::ground::InfillError;
use crate::rules::{Approximation, StatesId, check_pairs, rules_in_line};

/// See the module.
pub(crate) struct GrammarTables {
    pub(crate) network: Network,
    pub(crate) n_terminals: usize,
    /// By rule, whether it is part of one line outside of brackets; none where nothing counts widths.
    pub(crate) is_in_line: Vec<bool>,
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

impl GrammarTables {
    /// Of a grammar whose rules open and close blocks and brackets as `layout` says, and where widths of
    /// lines matter if it `has_widths`.
    ///
    /// # Errors
    /// If they are not in pairs, or a limit is reached.
    pub(super) fn new(
        mut network: Network,
        n_terminals: usize,
        (layout, has_widths): (Option<&Layout>, bool),
        fuel: &Fuel,
    ) -> Result<GrammarTables, InfillError> {
        if let Some(layout) = layout {
            check_pairs(&mut network, layout, fuel)?;
        }
        let is_in_line = match layout {
            Some(layout) if has_widths => rules_in_line(&mut network, layout, fuel)?,
            _ => vec![false; network.n_rules()],
        };
        Ok(GrammarTables {
            rule_first: vec![None; network.n_rules()],
            network,
            n_terminals,
            is_in_line,
            approximation: None,
            state_first: FxHashMap::default(),
        })
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
