//! The chart: the lattice and the grammar, intersected from the left.
//!
//! *Facts* are items and ends. The item (c, s, v) says: in call c (a rule begun at a node), reading from the call's
//! node to node v leads to state s of the network. The end (c, v) says: the call can be over at v, at least one byte
//! behind its beginning. A residue at a boundary is a call as well: its ends are the places where the terminal can
//! end, shared by all that come to the boundary within that residue. Each fact keeps its *backs*, the ways in which it
//! follows from others, for the pass backwards (`derivation`).
//!
//! Facts are made position by position (a *phase* for each), and nothing in the phases before i depends on what
//! piece i is. So when a position changes, everything from its phase on is dropped and made again, and what is
//! to the left of it stays. Everything grows at the end of vectors, so dropping is truncating.
//!
//! Complexity: with n nodes and g states of the network, O(g n²) facts and O(g² n³) backs in the worst case, for
//! unambiguous grammars as many backs as facts. Rejected: sets of residues as calls (fewer facts, but then what is
//! useful must be separated again, see `scan`); parsing from both sides to a meeting point (the grammar's left
//! contexts restrict the right half a lot, and without them it holds far more).

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, RuleId};
use rustc_hash::FxHashMap;

use crate::InfillError;
use crate::lattice::{Node, Step};
use crate::tables::{ResidueId, Tables};

/// An index that stands for nothing.
pub(crate) const NONE: u32 = u32::MAX;

/// Something that holds of the lattice's texts up to a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fact {
    /// `is_begun`: at least one byte of the call was read.
    Item { call: u32, state: ExprId, node: Node, is_begun: bool },
    /// The call ends at the node.
    End { call: u32, node: Node },
}

/// Something that is read from a node on, once for all that want it there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CallKey {
    /// The start rule, from the lattice's first boundary.
    Top,
    Rule(RuleId, Node),
    /// A terminal that is within itself at a boundary.
    Residue(ResidueId, u32),
}

/// Who goes on where a call ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiter {
    /// The item `pred` goes on in state `next`; the call's own first token came by `crossing`.
    Item { pred: u32, next: ExprId, crossing: u32 },
    /// The residue's call ends there as well.
    Tail { call: u32, crossing: u32 },
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) key: CallKey,
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) ends: Vec<u32>,
}

/// One way in which `fact` follows: `pred`, then `crossing`, then `end`, of which any may be missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Back {
    fact: u32,
    /// The back of the same fact that was found before.
    pub(crate) before: u32,
    pub(crate) pred: u32,
    pub(crate) crossing: u32,
    pub(crate) end: u32,
}

/// A step over a place where the text is not known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Crossing {
    /// `residue` reads a token's rest from the node on, to the token's end; `target` is what is left of the
    /// terminal, `None` if it ends there.
    Token { node: Node, residue: ResidueId, target: Option<ResidueId> },
    /// `residue` reads some text in free piece `position`.
    Text { position: u32, residue: ResidueId, target: Option<ResidueId> },
    /// The way round piece `position` is taken.
    Skip { position: u32 },
}

/// How long everything was when a phase began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub(crate) facts: usize,
    pub(crate) calls: usize,
    pub(crate) backs: usize,
    pub(crate) crossings: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Chart {
    pub(crate) steps: Vec<Step>,
    pub(crate) facts: Vec<Fact>,
    fact_ids: FxHashMap<Fact, u32>,
    /// By fact: the back that it was made by, and the last one found.
    pub(crate) first_backs: Vec<u32>,
    pub(crate) last_backs: Vec<u32>,
    pub(crate) backs: Vec<Back>,
    pub(crate) calls: Vec<Call>,
    call_ids: FxHashMap<CallKey, u32>,
    pub(crate) crossings: Vec<Crossing>,
    crossing_ids: FxHashMap<Crossing, u32>,
    /// By position: the items at its nodes, and the residues at its boundary.
    pub(crate) items_at: Vec<Vec<u32>>,
    pub(crate) residues_at: Vec<Vec<u32>>,
    /// By phase that is done: the state before it, and how many bytes of its fixed text something read.
    pub(crate) marks: Vec<Mark>,
    pub(crate) furthest: Vec<u32>,
}

/// A fact to be made, with a way in which it follows.
pub(crate) struct Todo {
    pub(crate) fact: Fact,
    pub(crate) pred: u32,
    pub(crate) crossing: u32,
    pub(crate) end: u32,
}

impl Chart {
    /// Makes this the chart of the lattice of `steps`, whole, keeping what is left of the first difference.
    ///
    /// # Errors
    /// If a limit is reached; then the chart is that of the empty lattice.
    pub(crate) fn update(
        &mut self,
        steps: &[Step],
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        if self.is_of(steps) {
            return Ok(());
        }
        let n_same = self.steps.iter().zip(steps).take_while(|(old, new)| old == new).count();
        self.truncate(n_same);
        self.steps.truncate(n_same);
        self.steps.extend_from_slice(&steps[n_same..]);
        self.items_at.resize_with(steps.len() + 1, Vec::new);
        self.residues_at.resize_with(steps.len() + 1, Vec::new);
        let done = self.run(tables, fuel);
        if done.is_err() {
            *self = Chart::default();
        }
        done
    }

    /// Whether this is the chart of the lattice of `steps`, whole.
    pub(crate) fn is_of(&self, steps: &[Step]) -> bool {
        self.marks.len() == steps.len() + 1 && self.steps == steps
    }

    /// Drops phase `n_phases` and all after it.
    fn truncate(&mut self, n_phases: usize) {
        let Some(&mark) = self.marks.get(n_phases) else { return };
        self.marks.truncate(n_phases);
        self.furthest.truncate(n_phases);
        for fact in self.facts.drain(mark.facts..) {
            self.fact_ids.remove(&fact);
        }
        for call in self.calls.drain(mark.calls..) {
            self.call_ids.remove(&call.key);
        }
        for crossing in self.crossings.drain(mark.crossings..) {
            self.crossing_ids.remove(&crossing);
        }
        self.first_backs.truncate(mark.facts);
        self.last_backs.truncate(mark.facts);
        while self.backs.len() > mark.backs {
            if let Some(back) = self.backs.pop()
                && let Some(last) = self.last_backs.get_mut(back.fact as usize)
            {
                *last = back.before;
            }
        }
        // Each list grows in the order of its members' numbers.
        let (n_facts, n_calls) = (mark.facts as u32, mark.calls as u32);
        let cut = |list: &mut Vec<u32>, end: u32| list.truncate(list.partition_point(|&id| id < end));
        for call in &mut self.calls {
            cut(&mut call.ends, n_facts);
            while call.waiters.last().is_some_and(|waiter| match *waiter {
                Waiter::Item { pred, .. } => pred >= n_facts,
                Waiter::Tail { call, .. } => call >= n_calls,
            }) {
                call.waiters.pop();
            }
        }
        self.items_at.iter_mut().for_each(|list| cut(list, n_facts));
        self.residues_at.iter_mut().for_each(|list| cut(list, n_calls));
    }

    /// The end of the start rule at boundary `position`.
    pub(crate) fn goal(&self, position: usize) -> Option<u32> {
        let node = Node::boundary(position as u32);
        self.fact_ids.get(&Fact::End { call: 0, node }).copied()
    }

    /// Whether anything was read up to piece `position`.
    pub(crate) fn is_reached(&self, position: usize) -> bool {
        !self.items_at[position].is_empty() || !self.residues_at[position].is_empty()
    }

    /// The call of a key, made if it is new (second: whether it is).
    pub(crate) fn call(&mut self, key: CallKey) -> (u32, bool) {
        let next = self.calls.len() as u32;
        let id = *self.call_ids.entry(key).or_insert(next);
        if id == next {
            self.calls.push(Call { key, waiters: Vec::new(), ends: Vec::new() });
            if let CallKey::Residue(_, position) = key {
                self.residues_at[position as usize].push(id);
            }
        }
        (id, id == next)
    }

    /// The number of a crossing.
    pub(crate) fn crossing(&mut self, crossing: Crossing) -> u32 {
        let next = self.crossings.len() as u32;
        let id = *self.crossing_ids.entry(crossing).or_insert(next);
        if id == next {
            self.crossings.push(crossing);
        }
        id
    }

    /// Makes a fact and all that follows from it at once: ends of calls, and items behind them.
    pub(crate) fn add(&mut self, todo: Todo, tables: &mut Tables, fuel: &Fuel) -> Result<(), InfillError> {
        let mut todos = vec![todo];
        while let Some(Todo { fact, pred, crossing, end }) = todos.pop() {
            let (Fact::Item { node, .. } | Fact::End { node, .. }) = fact;
            fuel.spend(1).map_err(|error| InfillError::work(node.position as usize, error))?;
            let next = self.facts.len() as u32;
            let id = *self.fact_ids.entry(fact).or_insert(next);
            let is_new = id == next;
            let back = self.backs.len() as u32;
            if is_new {
                self.facts.push(fact);
                self.first_backs.push(back);
                self.last_backs.push(NONE);
            }
            let before = std::mem::replace(&mut self.last_backs[id as usize], back);
            self.backs.push(Back { fact: id, before, pred, crossing, end });
            if !is_new {
                continue;
            }
            match fact {
                Fact::Item { call, state, is_begun, .. } => {
                    self.items_at[node.position as usize].push(id);
                    let is_over = match self.calls[call as usize].key {
                        // The empty text is the whole of a lattice, never of a part.
                        CallKey::Top if !is_begun => tables.network.is_rule_nullable(tables.network.start()),
                        _ => is_begun && tables.network.is_nullable(state),
                    };
                    if is_over {
                        let fact = Fact::End { call, node };
                        todos.push(Todo { fact, pred: id, crossing: NONE, end: NONE });
                    }
                }
                Fact::End { call, node } => {
                    let call = &mut self.calls[call as usize];
                    call.ends.push(id);
                    for &waiter in &call.waiters {
                        todos.push(follow(&self.facts, waiter, id, node));
                    }
                }
            }
        }
        Ok(())
    }

    /// Lets `waiter` go on where `call` ends, now and later.
    pub(crate) fn wait(
        &mut self,
        call: u32,
        waiter: Waiter,
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        self.calls[call as usize].waiters.push(waiter);
        // What follows can add ends to this very call; those find the waiter by themselves.
        let n_ends = self.calls[call as usize].ends.len();
        for index in 0..n_ends {
            let end = self.calls[call as usize].ends[index];
            let (Fact::Item { node, .. } | Fact::End { node, .. }) = self.facts[end as usize];
            self.add(follow(&self.facts, waiter, end, node), tables, fuel)?;
        }
        Ok(())
    }
}

/// What follows for `waiter` from the end `end` at `node`.
fn follow(facts: &[Fact], waiter: Waiter, end: u32, node: Node) -> Todo {
    match waiter {
        Waiter::Item { pred, next, crossing } => {
            let (Fact::Item { call, .. } | Fact::End { call, .. }) = facts[pred as usize];
            Todo { fact: Fact::Item { call, state: next, node, is_begun: true }, pred, crossing, end }
        }
        Waiter::Tail { call, crossing } => Todo { fact: Fact::End { call, node }, pred: NONE, crossing, end },
    }
}
