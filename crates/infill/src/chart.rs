//! The chart: the lattice and the grammar, intersected.
//!
//! *Facts* are items and ends. The item (c, s, v) says: in call c (a rule begun at a node), reading from the call's
//! node to node v leads to state s of the network. The end (c, v) says: the call can be over at v, at least one byte
//! after its beginning. A residue at a boundary is a call as well: its ends are the places where the terminal can
//! end, shared by all that reach the boundary within that residue. Each fact keeps its *backs*, the ways in which it
//! follows from others, for the backward pass (`derivation`).
//!
//! Facts may be found in any order: an end and an item that waits for it are combined when the later of the two is
//! made.
//! The best facts are expanded first ([`WEIGHTS`]), so one text is found long before the chart is complete.
//! [`Chart::search`] stops there, and [`Chart::finish`] goes to the end.
//!
//! Complexity: with n nodes and g states of the network, O(g n²) facts and O(g² n³) backs in the worst case, for
//! unambiguous grammars as many backs as facts. Rejected: sets of residues as calls (fewer facts, but then what is
//! useful must be separated again, see `scan`); parsing from both sides to a meeting point (the grammar's left
//! contexts restrict the right half a lot, and without them it holds far more).

use std::collections::BinaryHeap;

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, RuleId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::InfillError;
use crate::lattice::{BYTES_OF_TOKEN, Lattice, Node, Piece, Step};
use crate::tables::{ResidueId, Tables};

/// An index that stands for nothing.
pub(crate) const NONE: u32 = u32::MAX;

/// The most facts and backs of a chart, so that it takes some three gigabytes at most.
const MAX_FACTS: usize = 10_000_000;
const MAX_BACKS: usize = 4 * MAX_FACTS;

/// Something that holds of the lattice's texts up to a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fact {
    /// `is_begun`: at least one byte of the call was read.
    Item { call: u32, state: ExprId, node: Node, is_begun: bool },
    /// The call ends at the node.
    End { call: u32, node: Node },
}

/// Something that is read from a node on, once for all items that need it there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CallKey {
    /// The start rule, from the lattice's first boundary.
    Top,
    Rule(RuleId, Node),
    /// A terminal that is within itself at a boundary.
    Residue(ResidueId, u32),
}

/// What continues where a call ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiter {
    /// The item `pred` continues in state `next`; the call's own first token came by `crossing`.
    Item { pred: u32, next: ExprId, crossing: u32 },
    /// The residue's call ends there as well.
    Tail { call: u32, crossing: u32 },
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) key: CallKey,
    /// How many calls it was first made within.
    pub(crate) depth: u32,
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) ends: Vec<u32>,
}

/// One way in which `fact` follows: `pred`, then `crossing`, then `end`, of which any may be missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Back {
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

/// A fact is the better the more of the text is before it, and less so by one of these weights for each call around it: what is
/// open must be closed. Neither weight is best for all texts, so they take turns.
const WEIGHTS: [i64; 2] = [2, 16];

impl Crossing {
    /// The piece that it crosses.
    fn position(self) -> u32 {
        match self {
            Crossing::Token { node, .. } => node.position,
            Crossing::Text { position, .. } | Crossing::Skip { position } => position,
        }
    }
}

/// Something that is to be expanded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Open {
    Item(u32),
    /// The call of a residue.
    Residue(u32),
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
    /// By position, the crossings of its piece.
    pub(crate) crossings_at: Vec<Vec<u32>>,
    /// By position, how much of the text is before it, in tokens.
    progress: Vec<u32>,
    /// By boundary, whether a text may end there.
    is_end: Vec<bool>,
    /// Ends of the start rule at such boundaries, in the order in which they were found.
    pub(crate) goals: Vec<(usize, u32)>,
    open: [BinaryHeap<(i64, Open)>; WEIGHTS.len()],
    /// Which of them is used next.
    turn: usize,
    is_expanded: FxHashSet<Open>,
    /// By position: whether anything begins there, and how many bytes of its fixed text something read.
    is_reached: Vec<bool>,
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
    /// The chart of a lattice, of which only the beginning is made.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn new(lattice: &Lattice, tables: &mut Tables, fuel: &Fuel) -> Result<Chart, InfillError> {
        let Lattice { steps, ends, .. } = lattice;
        let n_boundaries = steps.len() + 1;
        let mut chart = Chart {
            steps: steps.clone(),
            crossings_at: vec![Vec::new(); n_boundaries],
            progress: Vec::with_capacity(n_boundaries),
            is_end: (0..n_boundaries).map(|boundary| ends.contains(&boundary)).collect(),
            is_reached: vec![false; n_boundaries],
            furthest: vec![0; n_boundaries],
            ..Chart::default()
        };
        let mut progress = 0;
        for (piece, _) in steps {
            chart.progress.push(progress);
            progress += match piece {
                Piece::Bytes(bytes) => (bytes.len() as u32 / BYTES_OF_TOKEN).max(1),
                _ => 1,
            };
        }
        chart.progress.push(progress);
        let (top, _) = chart.call(CallKey::Top, 0);
        let state = tables.network.body(tables.network.start());
        let fact = Fact::Item { call: top, state, node: Node::boundary(0), is_begun: false };
        chart.add(Todo { fact, pred: NONE, crossing: NONE, end: NONE }, tables, fuel)?;
        Ok(chart)
    }

    /// Makes the chart until the start rule ends where a text may end, or nothing is left to do; or until there are about `n_facts`
    /// facts, then it is false.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn search(
        &mut self,
        n_facts: usize,
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        while self.goals.is_empty() {
            if self.facts.len() > n_facts {
                return Ok(false);
            }
            if !self.advance(tables, fuel)? {
                break;
            }
        }
        Ok(true)
    }

    /// Makes the whole chart, or about `n_facts` facts of it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn finish(
        &mut self,
        n_facts: usize,
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        while self.facts.len() <= n_facts && self.advance(tables, fuel)? {}
        Ok(())
    }

    /// Expands one item or residue; false if there is none left.
    fn advance(&mut self, tables: &mut Tables, fuel: &Fuel) -> Result<bool, InfillError> {
        self.turn = (self.turn + 1) % WEIGHTS.len();
        let Some((_, open)) = self.open[self.turn].pop() else {
            return Ok(self.open.iter().any(|open| !open.is_empty()));
        };
        if self.is_expanded.insert(open) {
            match open {
                Open::Item(item) => self.expand_item(item, tables, fuel)?,
                Open::Residue(call) => self.expand_residue(call, tables, fuel)?,
            }
        }
        Ok(true)
    }

    /// Schedules something at a node for expansion; it is within so many calls.
    fn open(&mut self, open: Open, node: Node, depth: u32) {
        self.is_reached[node.position as usize] = true;
        let within = match self.steps.get(node.position as usize) {
            None => return,
            Some((Piece::Bytes(_), _)) => node.inner / BYTES_OF_TOKEN,
            Some(_) => 0,
        };
        let progress = i64::from(self.progress[node.position as usize] + within);
        for (heap, weight) in self.open.iter_mut().zip(WEIGHTS) {
            heap.push((progress - weight * i64::from(depth), open));
        }
    }

    /// The last position at which anything begins to read.
    pub(crate) fn last_reached(&self) -> usize {
        self.is_reached[..self.steps.len()].iter().rposition(|&is_reached| is_reached).unwrap_or(0)
    }

    /// The call of a key, made within `depth` others if it is new (second: whether it is).
    pub(crate) fn call(&mut self, key: CallKey, depth: u32) -> (u32, bool) {
        let next = self.calls.len() as u32;
        let id = *self.call_ids.entry(key).or_insert(next);
        if id == next {
            self.calls.push(Call { key, depth, waiters: Vec::new(), ends: Vec::new() });
            if let CallKey::Residue(_, position) = key {
                self.open(Open::Residue(id), Node::boundary(position), depth);
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
            self.crossings_at[crossing.position() as usize].push(id);
        }
        id
    }

    /// Makes a fact and all that follows from it at once: ends of calls, and items after them.
    pub(crate) fn add(&mut self, todo: Todo, tables: &mut Tables, fuel: &Fuel) -> Result<(), InfillError> {
        let mut todos = vec![todo];
        while let Some(Todo { fact, pred, crossing, end }) = todos.pop() {
            let (Fact::Item { node, .. } | Fact::End { node, .. }) = fact;
            fuel.spend(1).map_err(|error| InfillError::work(node.position as usize, error))?;
            if self.facts.len() > MAX_FACTS || self.backs.len() > MAX_BACKS {
                return Err(InfillError::chart(node.position as usize, MAX_FACTS));
            }
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
            self.backs.push(Back { before, pred, crossing, end });
            if !is_new {
                continue;
            }
            match fact {
                Fact::Item { call, state, is_begun, .. } => {
                    self.open(Open::Item(id), node, self.calls[call as usize].depth);
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
                    if call == 0 && node.inner == 0 && self.is_end[node.position as usize] {
                        self.goals.push((node.position as usize, id));
                    }
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

    /// Continues `waiter` where `call` ends, now and later.
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
