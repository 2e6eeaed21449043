//! The grammar over the lexer's graph, by Earley's algorithm on a graph instead of a string.
//!
//! The *item* (c, s, v) says: in call c (a rule begun at a node), some path from the call's node to node v leads to
//! state s of the network. (With indentation, a call and an item have a context too, see `contexts`.) The end (c, v)
//! says: the call can be over at v. Along edges without a label items move unchanged, and along labelled edges their
//! state makes a step. They move only into tokens that they can read or that may be ignored. Each fact keeps the ways
//! in which it follows from others. The facts of its first way are older than it.
//!
//! A fact is *marked* iff it is part of a derivation of a whole text; so a token of the vocabulary is in a position's
//! mask iff a marked edge of the position reads it. The proof is that of [`crate::derivation`].
//!
//! Facts are made only where the next terminal can follow on the lattice. Complexity: O(g n²) facts for n nodes and g
//! states.
//!
//! Facts may be found in any order: a completed call and an item that waits for it are combined when the later of the
//! two is made. The best facts are expanded first ([`MERITS`]), so a text is found, if there are many, long before
//! the chart is complete. [`Earley::search`] stops there, and [`Earley::finish`] completes the chart.

use std::collections::BinaryHeap;

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, RuleId, Symbol};
use rustc_hash::FxHashMap;

use crate::InfillError;
use crate::lexed::contexts::{Around, ContextId, Contexts};
use crate::lexed::focus::Focus;
use crate::lexed::graph::{Edge, Graph, NodeIndex};
use crate::lexed::tables::LexedTables;

/// An index that stands for nothing.
const NONE: u32 = u32::MAX;

/// The call of the start rule.
const TOP: u32 = 0;

/// A fact is the better the further it has come in the text, less so much for each call that it is within, and for each terminal
/// that was read since the position began: of what masked positions can be, little opens something, what was opened must be
/// closed, and any text is best short. None of them is best for all texts.
const MERITS: [(i64, i64); N_ORDERS] = [(2, 0), (16, 0), (0, 16)];

/// How much less is expected within a block of a width that nobody would choose.
const UNUSUAL: i64 = 64;

/// In how many orders facts are followed, in turns.
pub(crate) const N_ORDERS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Fact {
    /// `is_begun`: at least one terminal of the call was read.
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
    /// Items that continue where the call ends, each in the given state.
    waiters: Vec<(u32, ExprId)>,
    ends: Vec<u32>,
}

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

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Earley {
    pub(crate) facts: Vec<Fact>,
    /// The facts of which it is not known what follows, in each order of [`MERITS`]; some are followed already.
    open: [BinaryHeap<(i64, u32)>; N_ORDERS],
    /// Which of them is used next.
    turn: usize,
    /// The position that the chart is made for, if it is one; then nothing is open but what it has.
    pub(crate) focus: Option<Focus>,
    is_followed: Vec<bool>,
    /// By fact, how many terminals were read since its position began, on the way on which it was found.
    n_read: Vec<u32>,
    /// The fact that is being followed.
    followed: u32,
    /// By fact and by edge: whether it is part of a derivation that ends in a goal, as far as the chart is made.
    is_marked: Vec<bool>,
    is_edge_marked: Vec<bool>,
    n_marked: usize,
    fact_ids: FxHashMap<Fact, u32>,
    first_backs: Vec<u32>,
    last_backs: Vec<u32>,
    backs: Vec<Back>,
    calls: Vec<Call>,
    call_ids: FxHashMap<(RuleId, NodeIndex, ContextId), u32>,
    contexts: Contexts,
}

impl Earley {
    /// The chart of `graph`, of which nothing is made yet but its beginning.
    pub(crate) fn new(graph: &Graph, tables: &LexedTables) -> Earley {
        let is_edge_marked = vec![false; graph.edges.len()];
        let rule = tables.network.start();
        let mut chart = Earley { is_edge_marked, ..Earley::default() };
        let (context, start) = (Contexts::START, Graph::START);
        chart.calls.push(Call { rule, context, start, depth: 0, waiters: Vec::new(), ends: Vec::new() });
        let state = tables.network.body(rule);
        if graph.ahead[Graph::START as usize].is_some() && graph.may_go_on(Graph::START, rule, state, tables)
        {
            chart.add(Fact::Item { call: TOP, state, node: start, context, is_begun: false }, START, graph);
        }
        chart
    }

    /// Makes the chart until the start rule ends in one of the graph's goals, or nothing is left to do; or until there are
    /// about `patience` facts, then it is false.
    ///
    /// # Errors
    /// If a limit is reached; then the rest can still be made.
    pub(crate) fn search(
        &mut self,
        patience: usize,
        graph: &Graph,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        while self.n_marked == 0 {
            if self.n_facts() > patience {
                return Ok(false);
            }
            if !self.advance(graph, tables, fuel)? {
                break;
            }
        }
        Ok(true)
    }

    /// Makes all of the chart.
    ///
    /// # Errors
    /// If a limit is reached; then the rest can still be made.
    pub(crate) fn finish(
        &mut self,
        graph: &Graph,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        while self.advance(graph, tables, fuel)? {}
        Ok(())
    }

    /// Makes what follows from one fact at once; false if there is none left.
    fn advance(&mut self, graph: &Graph, tables: &mut LexedTables, fuel: &Fuel) -> Result<bool, InfillError> {
        self.turn = (self.turn + 1) % N_ORDERS;
        let Some((merit, index)) = self.open[self.turn].pop() else { return Ok(!self.is_done()) };
        let followed = self.follow_once(index, graph, tables, fuel);
        if followed.is_err() {
            self.open[self.turn].push((merit, index));
        }
        followed.map(|()| true)
    }

    /// Makes what follows from a fact at once, if that was not done.
    pub(crate) fn follow_once(
        &mut self,
        fact: u32,
        graph: &Graph,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        if std::mem::replace(&mut self.is_followed[fact as usize], true) {
            return Ok(());
        }
        self.followed = fact;
        let followed = self.follow_fact(fact, graph, tables, fuel);
        self.is_followed[fact as usize] = followed.is_ok();
        followed
    }

    fn is_done(&self) -> bool {
        self.open.iter().all(BinaryHeap::is_empty)
    }

    fn follow_fact(
        &mut self,
        index: u32,
        graph: &Graph,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let Fact::End { call, node } = self.facts[index as usize] else {
            return self.expand(index, graph, tables, fuel);
        };
        // Waiters that come later find the end by themselves.
        for waiter in 0..self.calls[call as usize].waiters.len() {
            let (pred, state) = self.calls[call as usize].waiters[waiter];
            self.follow(pred, state, index, node, graph, tables, fuel)?;
        }
        Ok(())
    }

    /// The end of the start rule at a node.
    pub(crate) fn goal(&self, node: NodeIndex) -> Option<u32> {
        self.fact_ids.get(&Fact::End { call: TOP, node }).copied()
    }

    /// The nodes where something is.
    pub(crate) fn reached(&self) -> impl Iterator<Item = NodeIndex> {
        self.facts.iter().map(|fact| match *fact {
            Fact::Item { node, .. } | Fact::End { node, .. } => node,
        })
    }

    /// Whether an edge is known to be part of a derivation of a whole text.
    pub(crate) fn is_edge_marked(&self, edge: u32) -> bool {
        self.is_edge_marked[edge as usize]
    }

    /// Whether a fact is known to be part of a derivation of a whole text.
    pub(crate) fn is_marked(&self, fact: u32) -> bool {
        self.is_marked[fact as usize]
    }

    /// Where the call of a fact begins.
    pub(crate) fn begins_at(&self, fact: u32) -> NodeIndex {
        let (Fact::Item { call, .. } | Fact::End { call, .. }) = self.facts[fact as usize];
        self.calls[call as usize].start
    }

    /// How many facts and edges are marked.
    pub(crate) fn n_marked(&self) -> usize {
        self.n_marked
    }

    /// How many facts there are.
    pub(crate) fn n_facts(&self) -> usize {
        self.facts.len()
    }

    /// Marks a fact and all that it follows from. Takes time linear in what is marked for the first time.
    fn mark(&mut self, fact: u32) {
        let mut stack = vec![fact];
        while let Some(fact) = stack.pop() {
            if fact == NONE || std::mem::replace(&mut self.is_marked[fact as usize], true) {
                continue;
            }
            self.n_marked += 1;
            let mut index = self.last_backs[fact as usize];
            while index != NONE {
                let back = self.backs[index as usize];
                self.mark_edge(back.edge);
                stack.extend([back.pred, back.end]);
                index = back.before;
            }
        }
    }

    fn mark_edge(&mut self, edge: u32) {
        if edge != NONE && !std::mem::replace(&mut self.is_edge_marked[edge as usize], true) {
            self.n_marked += 1;
        }
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
                let back = self.backs[self.first_backs[fact as usize] as usize];
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

    /// How many terminals were read at `position` where a new fact follows from the one that is being followed.
    fn n_read_behind(&self, back: Back, position: u32, graph: &Graph) -> u32 {
        let Some(&n_before) = self.n_read.get(self.followed as usize) else { return 0 };
        let (Fact::Item { node, .. } | Fact::End { node, .. }) = self.facts[self.followed as usize];
        if graph.nodes[node as usize].0.position != position {
            return 0;
        }
        let is_read = back.edge != NONE && graph.edges[back.edge as usize].label.is_some();
        n_before + u32::from(is_read)
    }

    /// Adds a way in which a fact follows.
    fn add(&mut self, fact: Fact, back: Back, graph: &Graph) {
        let next = self.facts.len() as u32;
        let id = *self.fact_ids.entry(fact).or_insert(next);
        let number = self.backs.len() as u32;
        if id == next {
            self.facts.push(fact);
            self.is_followed.push(false);
            self.is_marked.push(false);
            let (Fact::Item { call, node, .. } | Fact::End { call, node }) = fact;
            let position = graph.nodes[node as usize].0.position;
            let depth = i64::from(self.calls[call as usize].depth);
            let n_read = self.n_read_behind(back, position, graph);
            self.n_read.push(n_read);
            let is_unusual = match self.around(fact) {
                Around::Block(width) => !graph.is_usual_width(width),
                Around::Line | Around::Brackets => false,
            };
            let place = i64::from(graph.progress[node as usize]) - UNUSUAL * i64::from(is_unusual);
            let merit = |(by_depth, by_length)| place - by_depth * depth - by_length * i64::from(n_read);
            let merits = MERITS.map(merit);
            match &mut self.focus {
                Some(focus) => focus.push(id, position, merits),
                None => self.open.iter_mut().zip(merits).for_each(|(open, merit)| open.push((merit, id))),
            }
            self.first_backs.push(number);
            self.last_backs.push(NONE);
            if let Fact::End { call, .. } = fact {
                self.calls[call as usize].ends.push(id);
            }
        }
        let before = std::mem::replace(&mut self.last_backs[id as usize], number);
        self.backs.push(Back { before, ..back });
        if self.is_marked[id as usize] {
            self.mark_edge(back.edge);
            self.mark(back.pred);
            self.mark(back.end);
        } else if let Fact::End { call: TOP, node } = fact
            && graph.goals.contains(&node)
        {
            self.mark(id);
        }
    }

    /// The item `pred` continues in `state` where a call that it waits for has ended.
    #[allow(clippy::too_many_arguments, reason = "what happened, and where that is known")]
    fn follow(
        &mut self,
        pred: u32,
        state: ExprId,
        end: u32,
        node: NodeIndex,
        graph: &Graph,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        fuel.spend(1)
            .map_err(|error| InfillError::work(graph.nodes[node as usize].0.position as usize, error))?;
        let Fact::Item { call, context, .. } = self.facts[pred as usize] else { return Ok(()) };
        if self.can_go_on(call, state, node, graph, tables, fuel)? {
            let item = Fact::Item { call, state, node, context, is_begun: true };
            self.add(item, Back { pred, end, ..START }, graph);
        }
        Ok(())
    }

    /// All that follows from an item at once.
    fn expand(
        &mut self,
        item: u32,
        graph: &Graph,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let Fact::Item { call, state, node, context, is_begun } = self.facts[item as usize] else {
            return Ok(());
        };
        let position = graph.nodes[node as usize].0.position as usize;
        let spend = || fuel.spend(1).map_err(|error| InfillError::work(position, error));
        // The empty sentence is the whole of a text, never of a part.
        let is_empty = call == TOP && !is_begun && tables.network.is_rule_nullable(tables.network.start());
        if graph.is_boundary[node as usize] {
            if is_empty || is_begun && tables.network.is_nullable(state) {
                self.add(Fact::End { call, node }, Back { pred: item, ..START }, graph);
            }
            for index in tables.network.moves(state) {
                spend()?;
                let step = tables.network.move_at(index);
                if let Symbol::Rule(rule) = step.symbol {
                    self.begin(item, rule, step.next, graph, tables, fuel)?;
                }
            }
        }
        let is_free_to_skip = is_begun || call == TOP;
        for (index, edge) in graph.edges_of(node) {
            if self.focus.as_ref().is_some_and(|focus| focus.skips(index)) {
                continue;
            }
            spend()?;
            let Edge { to, label, .. } = edge;
            let back = Back { pred: item, edge: index, ..START };
            let Some(context) = self.contexts.behind(context, node, label, graph, tables) else { continue };
            if let Some(terminal) = label {
                for index in tables.network.moves(state) {
                    let step = tables.network.move_at(index);
                    if step.symbol == Symbol::Terminal(terminal)
                        && self.can_go_on(call, step.next, to, graph, tables, fuel)?
                    {
                        let state = step.next;
                        let item = Fact::Item { call, state, node: to, context, is_begun: true };
                        self.add(item, back, graph);
                    }
                }
                continue;
            }
            let Some(ahead) = &graph.ahead[to as usize] else { continue };
            let can_move = if graph.is_boundary[to as usize] {
                // Calls begin where their callers' items are, and those pass by what is ignored themselves.
                is_free_to_skip && (is_empty || self.can_go_on(call, state, to, graph, tables, fuel)?)
            } else {
                (ahead.may_be_ignored && is_free_to_skip
                    || tables.first(state, fuel)?.direct.intersects(&ahead.current))
                    && graph.may_go_on(to, self.calls[call as usize].rule, state, tables)
            };
            if can_move {
                self.add(Fact::Item { call, state, node: to, context, is_begun }, back, graph);
            }
        }
        Ok(())
    }

    /// Begins a rule where an item is; the item continues in `next`.
    fn begin(
        &mut self,
        item: u32,
        rule: RuleId,
        next: ExprId,
        graph: &Graph,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let Fact::Item { call: caller, node, context, .. } = self.facts[item as usize] else { return Ok(()) };
        let Some(ahead) = &graph.ahead[node as usize] else { return Ok(()) };
        let state = tables.network.body(rule);
        if !tables.rule_first(rule, fuel)?.intersects(&ahead.next)
            || !graph.may_go_on(node, rule, state, tables)
        {
            return Ok(());
        }
        let new = self.calls.len() as u32;
        let context = self.contexts.begin(self.contexts.around(context), tables.is_in_line[rule.index()]);
        let call = *self.call_ids.entry((rule, node, context)).or_insert(new);
        if call == new {
            let depth = self.calls[caller as usize].depth + 1;
            self.calls.push(Call {
                rule,
                context,
                start: node,
                depth,
                waiters: Vec::new(),
                ends: Vec::new(),
            });
            self.add(Fact::Item { call, state, node, context, is_begun: false }, START, graph);
        }
        self.calls[call as usize].waiters.push((item, next));
        for index in 0..self.calls[call as usize].ends.len() {
            let end = self.calls[call as usize].ends[index];
            if let Fact::End { node, .. } = self.facts[end as usize] {
                self.follow(item, next, end, node, graph, tables, fuel)?;
            }
        }
        Ok(())
    }

    /// Whether a state of a call at a boundary has a next terminal that can follow on the lattice, or may be over; and may
    /// go on from there as far as the grammar's approximation says.
    fn can_go_on(
        &self,
        call: u32,
        state: ExprId,
        node: NodeIndex,
        graph: &Graph,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        let Some(ahead) = &graph.ahead[node as usize] else { return Ok(false) };
        Ok((tables.first(state, fuel)?.all.intersects(&ahead.next) || tables.network.is_nullable(state))
            && graph.may_go_on(node, self.calls[call as usize].rule, state, tables))
    }
}
