//! A regular language that contains all sentences of the grammar: a cheap test of what may still lead to the
//! end.
//!
//! The grammar's network becomes a finite automaton in which a rule that is over returns to *any* place that
//! calls it (Nederhof 2000, "Practical experiments with regular approximation of context-free languages", the
//! method of recursive transition networks). It counts no brackets, but otherwise knows all sequences of
//! terminals. A pass from the end of a lexer's graph to its beginning finds, for each node, the states that
//! can read some rest of the text. That is a lookahead over the whole lattice, and facts of a chart are made
//! only for these states. A pass from the beginning to the end removes the edges that are on no path. Sets of
//! states, and steps between them, are interned, so each is made once.
//!
//! Theorem. A fact that is part of a derivation of a whole text has a state that can read a rest of the text
//! from its node.
//!
//! Proof. What follows the fact in the derivation is a path of the automaton over the rest of the text,
//! because each return to the right place is one of the returns to any. ∎
//!
//! Rejected: states together with the number of open brackets (in C++ round, square and curly ones are
//! recognised as brackets from the rules). A pass over a graph of 135,000 nodes takes 0.1 s, but it refutes
//! none of the tokens that are left in doubt at the hardest positions (269, 320, 374): masked positions
//! inside comments may open whatever is closed later.

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, Network, RuleId, Symbol, TerminalId};
use rustc_hash::FxHashMap;

use crate::ground::InfillError;

/// Grammars with more states are not approximated.
const MAX_STATES: usize = 8_192;

/// A set of states, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct StatesId(u32);

impl StatesId {
    /// No states.
    pub(crate) const NONE: StatesId = StatesId(0);
}

type Bits = Box<[u64]>;

/// See the module. Sets are interned, so there may be any number of questions.
#[derive(Debug)]
pub(crate) struct Approximation {
    /// A rule that is being read, and what is left of it.
    ids: FxHashMap<(RuleId, ExprId), u32>,
    /// By terminal: each state after it, with the states that it leads from.
    before: Vec<Vec<(u32, Bits)>>,
    /// The state before the text, and those that can be over with it.
    start: StatesId,
    ends: StatesId,
    sets: Vec<Bits>,
    set_ids: FxHashMap<Bits, StatesId>,
    steps_back: FxHashMap<(TerminalId, StatesId), StatesId>,
    steps: FxHashMap<(TerminalId, StatesId), StatesId>,
    unions: FxHashMap<(StatesId, StatesId), StatesId>,
}

impl Approximation {
    /// The state before the text.
    pub(crate) fn start(&self) -> StatesId {
        self.start
    }

    /// The states that can be over with the text.
    pub(crate) fn ends(&self) -> StatesId {
        self.ends
    }

    /// The number of a rule that is being read, with `state` left of it.
    pub(crate) fn number(&self, rule: RuleId, state: ExprId) -> Option<u32> {
        self.ids.get(&(rule, state)).copied()
    }

    /// Whether the state of a number is in a set.
    pub(crate) fn contains(&self, set: StatesId, number: u32) -> bool {
        is_in(&self.sets[set.0 as usize], number)
    }

    /// The states from which `terminal` leads to a state of `set`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn step_back(
        &mut self,
        terminal: TerminalId,
        set: StatesId,
        fuel: &Fuel,
    ) -> Result<StatesId, InfillError> {
        if let Some(&known) = self.steps_back.get(&(terminal, set)) {
            return Ok(known);
        }
        let behind = &self.sets[set.0 as usize];
        let mut all: Bits = vec![0; behind.len()].into();
        for (state, before) in &self.before[terminal.index()] {
            if is_in(behind, *state) {
                all.iter_mut().zip(before).for_each(|(to, from)| *to |= from);
            }
        }
        fuel.spend(1 + self.before[terminal.index()].len() as u64 / 16)?;
        let stepped = self.intern(all, fuel)?;
        self.steps_back.insert((terminal, set), stepped);
        Ok(stepped)
    }

    /// The states that `terminal` leads to from a state of `set`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn step(
        &mut self,
        terminal: TerminalId,
        set: StatesId,
        fuel: &Fuel,
    ) -> Result<StatesId, InfillError> {
        if let Some(&known) = self.steps.get(&(terminal, set)) {
            return Ok(known);
        }
        let from = &self.sets[set.0 as usize];
        let mut all: Bits = vec![0; from.len()].into();
        for (state, before) in &self.before[terminal.index()] {
            if before.iter().zip(from).any(|(before, from)| before & from != 0) {
                all[*state as usize / 64] |= 1 << (state % 64);
            }
        }
        fuel.spend(1 + self.before[terminal.index()].len() as u64 / 16)?;
        let stepped = self.intern(all, fuel)?;
        self.steps.insert((terminal, set), stepped);
        Ok(stepped)
    }

    /// Whether some state of `reached` can read on where the states of `future` can.
    pub(crate) fn meet(&self, reached: StatesId, future: StatesId) -> bool {
        let [reached, future] = [reached, future].map(|set| &self.sets[set.0 as usize]);
        reached.iter().zip(future).any(|(reached, future)| reached & future != 0)
    }

    /// The states of either.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn union(
        &mut self,
        left: StatesId,
        right: StatesId,
        fuel: &Fuel,
    ) -> Result<StatesId, InfillError> {
        if left == right || right == StatesId::NONE {
            return Ok(left);
        }
        if left == StatesId::NONE {
            return Ok(right);
        }
        let key = if left.0 < right.0 { (left, right) } else { (right, left) };
        if let Some(&known) = self.unions.get(&key) {
            return Ok(known);
        }
        let right = &self.sets[key.1.0 as usize];
        let all = self.sets[key.0.0 as usize].iter().zip(right).map(|(left, right)| left | right).collect();
        let union = self.intern(all, fuel)?;
        self.unions.insert(key, union);
        Ok(union)
    }

    /// Sets are kept, so they cost what they take in memory.
    fn intern(&mut self, bits: Bits, fuel: &Fuel) -> Result<StatesId, InfillError> {
        if let Some(&known) = self.set_ids.get(&bits) {
            return Ok(known);
        }
        fuel.spend(bits.len() as u64 * 2)?;
        let id = StatesId(self.sets.len() as u32);
        self.sets.push(bits.clone());
        self.set_ids.insert(bits, id);
        Ok(id)
    }
}

fn is_in(bits: &[u64], id: u32) -> bool {
    bits[id as usize / 64] >> (id % 64) & 1 == 1
}

/// The automaton of a network.
#[derive(Default)]
struct Automaton {
    ids: FxHashMap<(RuleId, ExprId), u32>,
    states: Vec<(RuleId, ExprId)>,
    /// By state, the states and hubs that lead to it without a terminal. Hubs are numbered after the states:
    /// one for each rule that is over, from which all its callers continue.
    reached_from: Vec<Vec<u32>>,
    /// A state, a terminal, and the state after it.
    reads: Vec<(u32, TerminalId, u32)>,
    /// The states that may be over.
    nullable: Vec<u32>,
}

impl Automaton {
    fn state(&mut self, rule: RuleId, state: ExprId) -> u32 {
        let next = self.states.len() as u32;
        let id = *self.ids.entry((rule, state)).or_insert(next);
        if id == next {
            self.states.push((rule, state));
        }
        id
    }

    /// The states that lead to one of `to` without a terminal, and those themselves.
    fn closure(&self, to: &[u32]) -> Bits {
        let mut is_met = vec![false; self.reached_from.len()];
        let mut bits: Bits = vec![0; self.states.len().div_ceil(64)].into();
        let mut stack = to.to_vec();
        while let Some(at) = stack.pop() {
            if std::mem::replace(&mut is_met[at as usize], true) {
                continue;
            }
            if (at as usize) < self.states.len() {
                bits[at as usize / 64] |= 1 << (at % 64);
            }
            stack.extend(&self.reached_from[at as usize]);
        }
        bits
    }
}

impl Approximation {
    /// The approximation of a grammar; `None` if the grammar is too large for that.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn of(
        network: &mut Network,
        n_terminals: usize,
        fuel: &Fuel,
    ) -> Result<Option<Approximation>, InfillError> {
        let mut automaton = Automaton::default();
        let start = network.start();
        let body = network.body(start);
        automaton.state(start, body);
        // (from, to), where `from` may be a rule that is over.
        let mut calls: Vec<(u32, u32)> = Vec::new();
        let mut returns: Vec<(RuleId, u32)> = Vec::new();
        let mut at = 0;
        while let Some(&(rule, state)) = automaton.states.get(at) {
            if automaton.states.len() > MAX_STATES {
                return Ok(None);
            }
            if network.is_nullable(state) {
                automaton.nullable.push(at as u32);
            }
            let moves = network.moves(state);
            fuel.spend(moves.len() as u64 + 1)?;
            for index in moves {
                let step = network.move_at(index);
                let behind = automaton.state(rule, step.next);
                match step.symbol {
                    Symbol::Terminal(terminal) => automaton.reads.push((at as u32, terminal, behind)),
                    Symbol::Rule(callee) => {
                        let body = network.body(callee);
                        calls.push((at as u32, automaton.state(callee, body)));
                        returns.push((callee, behind));
                    }
                }
            }
            at += 1;
        }
        let n_states = automaton.states.len();
        automaton.reached_from = vec![Vec::new(); n_states + network.n_rules()];
        for (from, to) in calls {
            automaton.reached_from[to as usize].push(from);
        }
        for (callee, to) in returns {
            automaton.reached_from[to as usize].push((n_states + callee.index()) as u32);
        }
        for &state in &automaton.nullable {
            let (rule, _) = automaton.states[state as usize];
            automaton.reached_from[n_states + rule.index()].push(state);
        }
        // The empty text is none that its rule says is over.
        let mut ends = vec![(n_states + start.index()) as u32];
        ends.extend(network.is_rule_nullable(start).then_some(0));
        let ends = automaton.closure(&ends);
        let mut before: Vec<FxHashMap<u32, Bits>> = vec![FxHashMap::default(); n_terminals];
        let mut closures: FxHashMap<u32, Bits> = FxHashMap::default();
        for &(from, terminal, to) in &automaton.reads {
            fuel.spend(n_states as u64 / 64 + 1)?;
            let closure = closures.entry(from).or_insert_with(|| automaton.closure(&[from])).clone();
            before[terminal.index()]
                .entry(to)
                .and_modify(|known| known.iter_mut().zip(&closure).for_each(|(to, from)| *to |= from))
                .or_insert(closure);
        }
        let mut first: Bits = vec![0; n_states.div_ceil(64)].into();
        first[0] = 1;
        let none: Bits = vec![0; n_states.div_ceil(64)].into();
        let mut approximation = Approximation {
            ids: automaton.ids,
            before: before.into_iter().map(|before| before.into_iter().collect()).collect(),
            start: StatesId::NONE,
            ends: StatesId::NONE,
            sets: vec![none.clone()],
            set_ids: FxHashMap::from_iter([(none, StatesId::NONE)]),
            steps_back: FxHashMap::default(),
            steps: FxHashMap::default(),
            unions: FxHashMap::default(),
        };
        approximation.start = approximation.intern(first, fuel)?;
        approximation.ends = approximation.intern(ends, fuel)?;
        Ok(Some(approximation))
    }
}
