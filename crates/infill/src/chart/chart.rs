//! The chart: a grammar over a graph, by Earley's algorithm on a graph instead of a string.
//!
//! The *item* (c, s, v) says: in call c (a rule begun at a node), some path from the call's node to node v
//! leads to state s of the network. At a node within a terminal, that is the state before the terminal if an
//! edge's label says later which one it is, and the state after it otherwise ([`Edges`]). (With indentation,
//! a call and an item have a context too, see [`contexts`](crate::chart::contexts).) The end (c, v) says: the
//! call can be over at v. Along edges without a label items move unchanged, and along labelled edges their
//! state makes a step. Each fact keeps the ways in which it follows from others, its *backs*. The facts of
//! its first way are older than it.
//!
//! Theorem. A fact is *marked* iff it is part of a derivation of a whole text; so a token of the vocabulary
//! is in a position's mask iff a marked edge of the position reads it.
//!
//! Proof. Backs are exactly the last steps of partial derivations, and all calls are made where their
//! callers' items are, so a chain of backs from a goal down to the beginning, with one for each end on the
//! way, is a derivation; conversely each derivation is such a chain. That an edge's tokens are those of the
//! mask is said where edges are made: `bytes/tables/scan.rs` and `lexed/tables/scan.rs`. ∎
//!
//! Facts are made only where the next terminal can follow on the lattice. Complexity: O(g n²) facts for n
//! nodes and g states, and O(g² n³) backs in the worst case; for unambiguous grammars as many backs as facts.
//!
//! Facts may be found in any order: a completed call and an item that waits for it are combined when the
//! later of the two is made. The best facts are expanded first ([`MERITS`]), so a text is found, if there are
//! many, long before the chart is complete. [`Chart::search`] stops there, and [`Chart::finish`] completes
//! the chart.
//!
//! Rejected: one call for a terminal in progress at a boundary, whoever began it. Its ends are as many as
//! pairs of positions, for each terminal that can be within itself there; items that move through it are
//! fewer. Parsing from both sides to a meeting point: the grammar's left contexts restrict the right half a
//! lot, and without them it holds far more.

use std::collections::BinaryHeap;

use maskwright_grammar::{ExprId, RuleId, Symbol};
use rustc_hash::FxHashMap;

use crate::chart::contexts::{Around, ContextId, Contexts};
use crate::chart::edges::{Edges, NodeIndex, START_NODE};
use crate::chart::focus::{Focus, N_ORDERS};
use crate::ground::InfillError;

/// An index that stands for nothing.
const NONE: u32 = u32::MAX;

/// The call of the start rule.
const TOP: u32 = 0;

/// A fact is the better the further it has come in the text, less so much for each call that it is within,
/// for each terminal that was read since the position began, and for each [`CROWD`] of facts at its position:
/// of what masked positions can be, little opens something, what was opened must be closed, and any text is
/// best short. Where many facts have not led further, something before them was wrong. None of the orders is
/// best for all texts.
const MERITS: [(i32, i32, i32); N_ORDERS] = [(2, 0, 0), (16, 0, 0), (0, 16, 0), (2, 0, 1)];

/// Work units of a fact that is kept, and of each way in which it follows: it is looked up in a large table.
const UNITS_PER_FACT: u64 = 32;
const UNITS_PER_WAY: u64 = 8;

/// The same where the chart is made from one position outwards: a fact is marked, looked for again and
/// followed in turns.
const UNITS_PER_FOCUSED_FACT: u64 = 56;

/// How many facts at one position make a crowd.
const CROWD: i32 = 16;

/// How much less is expected within a block of a width that nobody would choose.
const UNUSUAL: i32 = 64;

/// How many facts after the position are followed for each fact before it.
const PATIENCE: usize = 256;

/// The edges that are known are looked for each time so many facts before the position were followed.
const STOCK: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Fact {
    /// `is_begun`: at least one terminal of the call was read, or is in progress.
    Item {
        call: u32,
        state: ExprId,
        node: NodeIndex,
        /// What is open around it.
        context: ContextId,
        is_begun: bool,
    },
    End {
        call: u32,
        node: NodeIndex,
    },
}

#[derive(Debug)]
struct Call {
    rule: RuleId,
    /// What is around it.
    context: ContextId,
    /// Where it begins.
    start: NodeIndex,
    /// How many calls it was first made within.
    depth: u32,
    waiters: Vec<Waiter>,
    ends: Vec<u32>,
}

/// An item that continues where a call ends, in the given state.
type Waiter = (u32, ExprId);

/// One way in which a fact follows: `pred`, then `edge`, then `end`, of which any may be missing.
#[derive(Clone, Copy, Debug)]
struct Back {
    /// The way of the same fact that was found before.
    before: u32,
    pred: u32,
    edge: u32,
    end: u32,
}

const START: Back = Back { before: NONE, pred: NONE, edge: NONE, end: NONE };

/// The ways in which facts follow.
#[derive(Debug, Default)]
struct Backs {
    list: Vec<Back>,
    /// By fact, the one that was found first, and the one that was found last.
    first: Vec<u32>,
    last: Vec<u32>,
}

impl Backs {
    /// Adds one to those of a fact, which may be new.
    #[inline]
    fn add(&mut self, fact: u32, back: Back) {
        let number = self.list.len() as u32;
        if fact as usize == self.first.len() {
            self.first.push(number);
            self.last.push(NONE);
        }
        let before = std::mem::replace(&mut self.last[fact as usize], number);
        self.list.push(Back { before, ..back });
    }
}

/// By fact and by edge: whether it is part of a derivation that ends in a goal, as far as the chart is made.
#[derive(Debug, Default)]
struct Marks {
    facts: Vec<bool>,
    edges: Vec<bool>,
    /// How many facts and edges are marked.
    n: usize,
}

impl Marks {
    /// Marks a fact and all that it follows from. Takes time linear in what is marked for the first time.
    fn mark(&mut self, fact: u32, backs: &Backs) {
        let mut stack = vec![fact];
        while let Some(fact) = stack.pop() {
            if fact == NONE || std::mem::replace(&mut self.facts[fact as usize], true) {
                continue;
            }
            self.n += 1;
            let mut index = backs.last[fact as usize];
            while index != NONE {
                let back = backs.list[index as usize];
                self.mark_edge(back.edge);
                stack.extend([back.pred, back.end]);
                index = back.before;
            }
        }
    }

    fn mark_edge(&mut self, edge: u32) {
        if edge == NONE {
            return;
        }
        if self.edges.len() <= edge as usize {
            self.edges.resize(edge as usize + 1, false);
        }
        if !std::mem::replace(&mut self.edges[edge as usize], true) {
            self.n += 1;
        }
    }
}

/// In which order facts are followed.
#[derive(Debug, Default)]
struct Agenda {
    /// The facts of which it is not known what follows, in each order of [`MERITS`]; some are followed
    /// already.
    open: [BinaryHeap<(i32, u32)>; N_ORDERS],
    /// Which of them is used next.
    turn: usize,
    /// The position that the chart is made for, if it is one; then nothing is open but what it has.
    focus: Option<Focus>,
    is_followed: Vec<bool>,
    /// By fact, how many terminals were read since its position began, on the way on which it was found.
    n_read: Vec<u32>,
    /// By position, how many facts are there.
    n_at: Vec<i32>,
    /// The fact that is being followed.
    followed: u32,
}

impl Agenda {
    /// Takes in a new fact, by how far it has come in the text, how many calls it is within, and how many
    /// terminals were read.
    fn add(&mut self, fact: u32, position: u32, (progress, depth, n_read): (i32, u32, u32)) {
        self.is_followed.push(false);
        self.n_read.push(n_read);
        if self.n_at.len() <= position as usize {
            self.n_at.resize(position as usize + 1, 0);
        }
        let n_here = &mut self.n_at[position as usize];
        let crowd = *n_here / CROWD;
        *n_here += 1;
        let merits = MERITS.map(|(by_depth, by_length, by_crowd)| {
            progress - by_depth * depth as i32 - by_length * n_read as i32 - by_crowd * crowd
        });
        match &mut self.focus {
            Some(focus) => focus.push(fact, position, merits),
            None => self.open.iter_mut().zip(merits).for_each(|(open, merit)| open.push((merit, fact))),
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Chart {
    facts: Vec<Fact>,
    fact_ids: FxHashMap<Fact, u32>,
    backs: Backs,
    agenda: Agenda,
    marks: Marks,
    /// Ends of the start rule where a text may end, in the order in which they were found.
    goals: Vec<u32>,
    calls: Vec<Call>,
    call_ids: FxHashMap<(RuleId, NodeIndex, ContextId), u32>,
    contexts: Contexts,
}

impl Chart {
    /// A chart of which nothing is made yet but its beginning.
    pub(crate) fn new(edges: &mut impl Edges) -> Chart {
        let rule = edges.network().start();
        let mut chart = Chart::default();
        let (context, start) = (Contexts::START, START_NODE);
        chart.calls.push(Call { rule, context, start, depth: 0, waiters: Vec::new(), ends: Vec::new() });
        let state = edges.network().body(rule);
        if edges.can_start() {
            let item = Fact::Item { call: TOP, state, node: start, context, is_begun: false };
            chart.add(item, START, edges);
        }
        chart
    }

    /// Makes the chart until the start rule ends where a text may end, or nothing is left to do; or until
    /// there are about `patience` facts, then it is false.
    ///
    /// # Errors
    /// If a limit is reached; then the rest can still be made.
    pub(crate) fn search(&mut self, patience: usize, edges: &mut impl Edges) -> Result<bool, InfillError> {
        while self.goals.is_empty() {
            if self.n_facts() > patience {
                return Ok(false);
            }
            if !self.advance(edges)? {
                break;
            }
        }
        Ok(true)
    }

    /// Makes all of the chart, or about `patience` facts of it.
    ///
    /// # Errors
    /// If a limit is reached; then the rest can still be made.
    pub(crate) fn finish(&mut self, patience: usize, edges: &mut impl Edges) -> Result<(), InfillError> {
        while self.n_facts() <= patience && self.advance(edges)? {}
        Ok(())
    }

    /// Makes what follows from one fact at once; false if there is none left.
    fn advance(&mut self, edges: &mut impl Edges) -> Result<bool, InfillError> {
        self.agenda.turn = (self.agenda.turn + 1) % N_ORDERS;
        let Some((merit, index)) = self.agenda.open[self.agenda.turn].pop() else {
            return Ok(self.agenda.open.iter().any(|open| !open.is_empty()));
        };
        let followed = self.follow_once(index, edges);
        if followed.is_err() {
            self.agenda.open[self.agenda.turn].push((merit, index));
        }
        followed.map(|()| true)
    }

    /// Makes what follows from a fact at once, if that was not done.
    fn follow_once(&mut self, fact: u32, edges: &mut impl Edges) -> Result<(), InfillError> {
        if std::mem::replace(&mut self.agenda.is_followed[fact as usize], true) {
            return Ok(());
        }
        self.agenda.followed = fact;
        let (n_facts, n_backs) = (self.facts.len(), self.backs.list.len());
        let followed = match self.facts[fact as usize] {
            Fact::Item { .. } => self.expand(fact, edges),
            Fact::End { call, .. } => self.end(fact, call, edges),
        };
        // Facts and their ways are kept, so they cost what they take in memory, as a graph's nodes and edges
        // do.
        let (n_new, n_ways) = (self.facts.len() - n_facts, self.backs.list.len() - n_backs);
        let per_fact = if self.agenda.focus.is_some() { UNITS_PER_FOCUSED_FACT } else { UNITS_PER_FACT };
        let followed = followed.and_then(|()| {
            spend(self.node(fact), per_fact * n_new as u64 + UNITS_PER_WAY * n_ways as u64, edges)
        });
        self.agenda.is_followed[fact as usize] = followed.is_ok();
        followed
    }

    /// Continues what waits for a call where it ends.
    fn end(&mut self, end: u32, call: u32, edges: &mut impl Edges) -> Result<(), InfillError> {
        // Waiters that come later find the end by themselves.
        for index in 0..self.calls[call as usize].waiters.len() {
            self.follow(self.calls[call as usize].waiters[index], end, edges)?;
        }
        Ok(())
    }

    /// The first end of a whole text that was found, and its node.
    pub(crate) fn goal(&self) -> Option<(u32, NodeIndex)> {
        self.goals.first().map(|&goal| (goal, self.node(goal)))
    }

    /// The nodes where something is.
    pub(crate) fn reached(&self) -> impl Iterator<Item = NodeIndex> {
        (0..self.facts.len() as u32).map(|fact| self.node(fact))
    }

    /// Whether an edge is known to be part of a derivation of a whole text.
    pub(crate) fn is_edge_marked(&self, edge: u32) -> bool {
        self.marks.edges.get(edge as usize).copied().unwrap_or(false)
    }

    /// The node that a fact is about.
    fn node(&self, fact: u32) -> NodeIndex {
        let (Fact::Item { node, .. } | Fact::End { node, .. }) = self.facts[fact as usize];
        node
    }

    /// Where the call of a fact begins.
    fn begins_at(&self, fact: u32) -> NodeIndex {
        let (Fact::Item { call, .. } | Fact::End { call, .. }) = self.facts[fact as usize];
        self.calls[call as usize].start
    }

    /// How many facts and edges are marked.
    pub(crate) fn n_marked(&self) -> usize {
        self.marks.n
    }

    /// How many facts there are.
    pub(crate) fn n_facts(&self) -> usize {
        self.facts.len()
    }

    /// The edges of some derivation that ends in `goal`, in the order of the text.
    pub(crate) fn path(&self, goal: u32) -> Vec<u32> {
        let mut edges = Vec::new();
        // A fact, or an edge.
        let mut stack = vec![(goal, NONE)];
        while let Some((fact, edge)) = stack.pop() {
            if edge != NONE {
                edges.push(edge);
            } else if fact != NONE {
                let back = self.backs.list[self.backs.first[fact as usize] as usize];
                stack.extend([(back.end, NONE), (NONE, back.edge), (back.pred, NONE)]);
            }
        }
        edges
    }

    /// What is innermost around a fact.
    fn around(&self, fact: Fact) -> Around {
        self.contexts.around(match fact {
            Fact::Item { context, .. } => context,
            Fact::End { call, .. } => self.calls[call as usize].context,
        })
    }

    /// How many terminals were read at `position` where a new fact follows from the one that is being
    /// followed.
    fn n_read_behind(&self, back: Back, position: u32, edges: &impl Edges) -> u32 {
        let Some(&n_before) = self.agenda.n_read.get(self.agenda.followed as usize) else { return 0 };
        if edges.position(self.node(self.agenda.followed)) != position {
            return 0;
        }
        n_before + u32::from(back.edge != NONE && edges.ends_terminal(back.edge))
    }

    /// Adds a way in which a fact follows.
    fn add(&mut self, fact: Fact, back: Back, edges: &impl Edges) {
        let next = self.facts.len() as u32;
        let id = *self.fact_ids.entry(fact).or_insert(next);
        if id == next {
            let (Fact::Item { call, node, .. } | Fact::End { call, node }) = fact;
            let position = edges.position(node);
            self.facts.push(fact);
            self.marks.facts.push(false);
            let is_unusual = match self.around(fact) {
                Around::Block(width) => !edges.is_usual_width(width),
                Around::Line | Around::Brackets => false,
            };
            let progress = edges.progress(node) as i32 - UNUSUAL * i32::from(is_unusual);
            let n_read = self.n_read_behind(back, position, edges);
            let begun = &mut self.calls[call as usize];
            self.agenda.add(id, position, (progress, begun.depth, n_read));
            if let Fact::End { .. } = fact {
                begun.ends.push(id);
            }
        }
        self.backs.add(id, back);
        if self.marks.facts[id as usize] {
            self.marks.mark_edge(back.edge);
            self.marks.mark(back.pred, &self.backs);
            self.marks.mark(back.end, &self.backs);
        } else if let Fact::End { call: TOP, node } = fact
            && edges.is_goal(node)
        {
            self.goals.push(id);
            self.marks.mark(id, &self.backs);
        }
    }

    /// An item continues where a call that it waits for has ended.
    fn follow(&mut self, waiter: Waiter, end: u32, edges: &mut impl Edges) -> Result<(), InfillError> {
        let ((pred, state), node) = (waiter, self.node(end));
        spend(node, 1, edges)?;
        let Fact::Item { call, context, .. } = self.facts[pred as usize] else { return Ok(()) };
        if edges.can_go_on(self.calls[call as usize].rule, state, node)? {
            let item = Fact::Item { call, state, node, context, is_begun: true };
            self.add(item, Back { pred, end, ..START }, edges);
        }
        Ok(())
    }

    /// All that follows from an item at once.
    fn expand(&mut self, item: u32, edges: &mut impl Edges) -> Result<(), InfillError> {
        let Fact::Item { call, state, node, context, is_begun } = self.facts[item as usize] else {
            return Ok(());
        };
        let rule = self.calls[call as usize].rule;
        // The empty sentence is the whole of a text, never of a part.
        let start = edges.network().start();
        let is_empty = call == TOP && !is_begun && edges.network().is_rule_nullable(start);
        if edges.is_boundary(node) {
            if is_empty || is_begun && edges.network().is_nullable(state) {
                self.add(Fact::End { call, node }, Back { pred: item, ..START }, edges);
            }
            for index in edges.network().moves(state) {
                spend(node, 1, edges)?;
                let step = edges.network().move_at(index);
                match step.symbol {
                    Symbol::Rule(rule) => self.begin(rule, (item, step.next), edges)?,
                    Symbol::Terminal(terminal) => {
                        for edge in edges.reading(node, terminal)? {
                            spend(node, 1, edges)?;
                            let (to, _) = edges.way(edge);
                            let read =
                                Fact::Item { call, state: step.next, node: to, context, is_begun: true };
                            self.add(read, Back { pred: item, edge, ..START }, edges);
                        }
                    }
                }
            }
        }
        // Calls begin where their callers' items are, and those pass by what is ignored, and take the ways
        // round, themselves.
        let is_free_to_skip = is_begun || call == TOP;
        for edge in edges.edges(node)? {
            if edges.is_dead(edge) || self.agenda.focus.as_ref().is_some_and(|focus| focus.skips(edge)) {
                continue;
            }
            spend(node, 1, edges)?;
            let (to, label) = edges.way(edge);
            let back = Back { pred: item, edge, ..START };
            let Some(context) = edges.behind(&mut self.contexts, context, node, label) else { continue };
            if let Some(terminal) = label {
                for index in edges.network().moves(state) {
                    let step = edges.network().move_at(index);
                    if step.symbol == Symbol::Terminal(terminal) && edges.can_go_on(rule, step.next, to)? {
                        let state = step.next;
                        let item = Fact::Item { call, state, node: to, context, is_begun: true };
                        self.add(item, back, edges);
                    }
                }
                continue;
            }
            let can_move = if edges.is_boundary(to) {
                is_free_to_skip && (is_empty || edges.can_go_on(rule, state, to)?)
            } else {
                edges.can_read_on(rule, state, to, is_free_to_skip)?
            };
            if can_move {
                self.add(Fact::Item { call, state, node: to, context, is_begun }, back, edges);
            }
        }
        Ok(())
    }

    /// Begins a rule where an item is that then waits for the rule's end.
    fn begin(&mut self, rule: RuleId, waiter: Waiter, edges: &mut impl Edges) -> Result<(), InfillError> {
        let item = self.facts[waiter.0 as usize];
        let Fact::Item { call: caller, node, context, .. } = item else { return Ok(()) };
        if !edges.can_begin(rule, node)? {
            return Ok(());
        }
        let new = self.calls.len() as u32;
        let context = self.contexts.begin(self.contexts.around(context), edges.is_in_line(rule));
        let call = *self.call_ids.entry((rule, node, context)).or_insert(new);
        if call == new {
            let depth = self.calls[caller as usize].depth + 1;
            let start = node;
            self.calls.push(Call { rule, context, start, depth, waiters: Vec::new(), ends: Vec::new() });
            let state = edges.network().body(rule);
            self.add(Fact::Item { call, state, node, context, is_begun: false }, START, edges);
        }
        self.calls[call as usize].waiters.push(waiter);
        for index in 0..self.calls[call as usize].ends.len() {
            self.follow(waiter, self.calls[call as usize].ends[index], edges)?;
        }
        Ok(())
    }

    /// Makes the chart outwards from one position from now on, unless it is already.
    pub(crate) fn focus_on(&mut self, position: usize, edges: &impl Edges) {
        if self.agenda.focus.is_some() {
            return;
        }
        let mut focus = Focus::new(position);
        for fact in 0..self.facts.len() as u32 {
            focus.push(fact, edges.position(self.node(fact)), [0; N_ORDERS]);
        }
        self.agenda.focus = Some(focus);
    }

    /// Leaves out the edges from `first_edge` on that are known, of the position that the chart is made for.
    pub(crate) fn skip(&mut self, first_edge: usize, is_known: Vec<bool>) {
        if let Some(focus) = &mut self.agenda.focus {
            focus.skip(first_edge, is_known);
        }
    }

    /// Follows some facts; false if there are none left.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn advance_focus(&mut self, edges: &mut impl Edges) -> Result<bool, InfillError> {
        for turn in 0..STOCK {
            let Some(focus) = &mut self.agenda.focus else { return Ok(false) };
            let position = focus.position;
            if focus.is_done() {
                return Ok(false);
            }
            focus.generation += 1;
            if let Some((_, fact)) = focus.before[turn % N_ORDERS].pop() {
                self.follow_once(fact, edges)?;
            }
            for turn in 0..PATIENCE {
                let Some(focus) = &mut self.agenda.focus else { return Ok(false) };
                let Some((_, _, fact)) = focus.behind[turn % N_ORDERS].pop() else {
                    if focus.behind.iter().all(BinaryHeap::is_empty) {
                        break;
                    }
                    continue;
                };
                let begins_behind = edges.position(self.begins_at(fact)) > position;
                if begins_behind || !self.marks.facts[fact as usize] {
                    self.follow_once(fact, edges)?;
                }
            }
        }
        Ok(true)
    }
}

/// Pays for work at a node.
fn spend(node: NodeIndex, units: u64, edges: &impl Edges) -> Result<(), InfillError> {
    let located = |error| InfillError::work(edges.position(node) as usize, error);
    edges.fuel().spend(units).map_err(located)
}
