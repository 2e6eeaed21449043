//! What canvases and templates of one grammar and vocabulary share: the network, automata, first bytes,
//! scans.

pub(super) mod scan;

use std::sync::Arc;

use maskwright_automata::{
    Automaton, AutomatonError, AutomatonLimits, AutomatonStore, ByteSet, Fuel, Node, StateId,
};
use maskwright_grammar::{Grammar, Network, RuleId, Symbol, TerminalFacts, TerminalId, reduce};
use maskwright_vocabulary::Vocabulary;
use rustc_hash::FxHashMap;

use crate::ground::InfillError;
use crate::tokens::{NodeSetId, NodeSets, TokenSet};

/// A residue of some terminal: what is left of it after some bytes. Equal ids are equal residues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ResidueId(pub(crate) u32);

/// Where a residue can be after it read at least one byte, within a token or at its end.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The terminal ends within the token, which goes on. For any text: the terminal ends (`ROOT`).
    pub(crate) exits: Option<NodeSetId>,
    /// The terminal ends where the token ends.
    pub(crate) ends: bool,
    /// The token ends and the terminal can go on.
    pub(crate) entries: Box<[ResidueId]>,
}

/// The tokens after a [`Scan`]'s `ends` and `entries`.
#[derive(Debug)]
pub(crate) struct ScanTokens {
    ends: TokenSet,
    entries: FxHashMap<ResidueId, TokenSet>,
}

impl ScanTokens {
    /// The tokens that lead to `target`; `None`: to the end of the terminal.
    pub(crate) fn to(&self, target: Option<ResidueId>) -> Option<&TokenSet> {
        match target {
            None => Some(&self.ends),
            Some(residue) => self.entries.get(&residue),
        }
    }
}

/// See the module.
pub(crate) struct Tables {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) network: Network,
    store: AutomatonStore,
    automata: Vec<Option<Arc<Automaton>>>,
    residues: Vec<(Arc<Automaton>, StateId)>,
    residue_ids: FxHashMap<(u64, StateId), ResidueId>,
    starts: Vec<Option<ResidueId>>,
    rule_first: Vec<Option<ByteSet>>,
    pub(crate) node_sets: NodeSets,
    pub(crate) scans: FxHashMap<(NodeSetId, ResidueId), Arc<Scan>>,
    pub(crate) free_scans: FxHashMap<ResidueId, Arc<Scan>>,
    pub(crate) tokens: FxHashMap<(NodeSetId, ResidueId), Arc<ScanTokens>>,
}

impl Tables {
    pub(crate) fn new(
        grammar: Grammar,
        vocabulary: Arc<Vocabulary>,
        limits: &AutomatonLimits,
        fuel: &Fuel,
    ) -> Result<Tables, InfillError> {
        let store = AutomatonStore::new(*limits);
        let mut automata: Vec<Option<Arc<Automaton>>> = vec![None; grammar.terminals().len()];
        let mut facts = Vec::with_capacity(automata.len());
        for (regex, slot) in grammar.terminals().iter().zip(&mut automata) {
            if !regex.is_extended() {
                let has_proper_words = !matches!(regex.node(), Node::Empty);
                facts.push(TerminalFacts { is_nullable: regex.is_nullable(), has_proper_words });
                continue;
            }
            let located = |error| InfillError::automaton(format_args!("{regex:?}"), error);
            let automaton = store.automaton(regex, fuel).map_err(located)?;
            facts.push(match automaton.start() {
                None => TerminalFacts { is_nullable: false, has_proper_words: false },
                Some(start) => TerminalFacts {
                    is_nullable: automaton.is_accepting(start),
                    has_proper_words: !automaton.next_bytes(start).map_err(located)?.is_empty(),
                },
            });
            *slot = Some(Arc::new(automaton));
        }
        let grammar = reduce(grammar, |terminal: TerminalId| facts[terminal.index()], fuel)?;
        let network = Network::new(grammar, fuel)?;
        Ok(Tables {
            node_sets: NodeSets::new(vocabulary.trie()),
            vocabulary,
            starts: vec![None; automata.len()],
            rule_first: vec![None; network.n_rules()],
            network,
            store,
            automata,
            residues: Vec::new(),
            residue_ids: FxHashMap::default(),
            scans: FxHashMap::default(),
            free_scans: FxHashMap::default(),
            tokens: FxHashMap::default(),
        })
    }

    /// The automaton that a residue is a state of.
    pub(crate) fn residue(&self, residue: ResidueId) -> (&Arc<Automaton>, StateId) {
        let (automaton, state) = &self.residues[residue.0 as usize];
        (automaton, *state)
    }

    /// The residue of a state.
    pub(crate) fn intern(&mut self, automaton: &Arc<Automaton>, state: StateId) -> ResidueId {
        let next = ResidueId(self.residues.len() as u32);
        let id = *self.residue_ids.entry(automaton.residue_key(state)).or_insert(next);
        if id == next {
            self.residues.push((automaton.clone(), state));
        }
        id
    }

    /// The residue before the first byte of a terminal that the network has.
    pub(crate) fn start(&mut self, terminal: TerminalId, fuel: &Fuel) -> Result<ResidueId, InfillError> {
        if let Some(start) = self.starts[terminal.index()] {
            return Ok(start);
        }
        let regex = &self.network.terminals()[terminal.index()];
        let automaton = match &self.automata[terminal.index()] {
            Some(automaton) => automaton.clone(),
            None => {
                let made = self.store.automaton(regex, fuel);
                Arc::new(made.map_err(|error| InfillError::automaton(format_args!("{regex:?}"), error))?)
            }
        };
        self.automata[terminal.index()] = Some(automaton.clone());
        let state = automaton.start().expect("`reduce` removed terminals without words");
        let start = self.intern(&automaton, state);
        self.starts[terminal.index()] = Some(start);
        Ok(start)
    }

    /// The bytes that a residue goes on with.
    pub(crate) fn next_bytes(&self, residue: ResidueId) -> Result<ByteSet, InfillError> {
        let (automaton, state) = self.residue(residue);
        automaton.next_bytes(state).map_err(|error| self.located(residue, error))
    }

    /// An automaton's error with its terminal.
    pub(crate) fn located(&self, residue: ResidueId, error: AutomatonError) -> InfillError {
        InfillError::automaton(format_args!("{:?}", self.residue(residue).0.regex()), error)
    }

    /// The bytes that the non-empty words of a symbol begin with.
    pub(crate) fn first(&mut self, symbol: Symbol, fuel: &Fuel) -> Result<ByteSet, InfillError> {
        match symbol {
            Symbol::Terminal(terminal) => {
                let start = self.start(terminal, fuel)?;
                self.next_bytes(start)
            }
            Symbol::Rule(rule) => self.rule_first(rule, fuel),
        }
    }

    /// Without left recursion, the rules that a rule can begin with are never that rule again.
    fn rule_first(&mut self, rule: RuleId, fuel: &Fuel) -> Result<ByteSet, InfillError> {
        let mut stack = vec![rule];
        while let Some(&rule) = stack.last() {
            if self.rule_first[rule.index()].is_some() {
                stack.pop();
                continue;
            }
            let body = self.network.body(rule);
            let moves = self.network.moves(body);
            fuel.spend(moves.len() as u64 + 1)?;
            let mut bytes = ByteSet::EMPTY;
            let n_known = stack.len();
            for index in moves {
                match self.network.move_at(index).symbol {
                    Symbol::Rule(callee) => match &self.rule_first[callee.index()] {
                        Some(first) => bytes = bytes.union(first),
                        None => stack.push(callee),
                    },
                    terminal => bytes = bytes.union(&self.first(terminal, fuel)?),
                }
            }
            if stack.len() == n_known {
                self.rule_first[rule.index()] = Some(bytes);
            }
        }
        Ok(self.rule_first[rule.index()].unwrap_or(ByteSet::EMPTY))
    }
}
