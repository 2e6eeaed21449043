//! Floors: a lower bound on the tokens of the vocabulary that the rest of a rule or text takes.
//!
//! A search with a bound leaves alone what cannot end within it (A*, Hart, Nilsson and Raphael 1968); [`Floors`] tells it. An
//! example: if no token of the vocabulary contains the ends of two keywords, the rest `"in" "not"` takes two tokens.
//!
//! A terminal ends in the same token of the vocabulary as the one before it, or a token must be begun for it. Which terminals can
//! share a token is known ([`neighbours`](super::neighbours)). The floor of a state is the least number of tokens begun over all
//! its strings of terminals.
//!
//! The control state of this small system is a *context*: the set of terminals that may end without a new token. A
//! table (state, context) holds the least cost for each context after it; the tables are the least solution of
//!
//! * a move over terminal a: to the context after a, at 0 if a is in the context, at 1 otherwise;
//! * a move over a rule: to the contexts after its body, at the costs of its table.
//!
//! They are made when asked for, by iteration until nothing changes.

use maskwright_automata::meter;
use maskwright_grammar::{ExprId, ExprPool, Symbol, TerminalId};
use maskwright_scan::bits::{Bits, contains};
use maskwright_scan::{HypothesisId, Points};
use rustc_hash::FxHashMap;

use super::ends::Explored;
use super::neighbours::Neighbours;
use crate::EngineError;
use crate::parser::{Frame, NodeId, Parser};
use crate::spelling::{FutureId, Futures};

/// Units of work that a move of a table takes.
const UNITS_PER_MOVE: u64 = 32;

/// With more tables than this nothing more is found out: floors are 0.
const MAX_TABLES: usize = 100_000;
/// What no terminal string of a table costs so far.
const UNKNOWN: u32 = u32::MAX;

/// A set of terminals that may end without a new token, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ContextId(u32);

impl ContextId {
    /// No token is in progress.
    pub(super) const ROOT: ContextId = ContextId(0);
    /// A token may be in progress anywhere.
    pub(super) const ANY: ContextId = ContextId(1);
}

/// The floors of one grammar.
#[derive(Default)]
pub(super) struct Floors {
    known: Option<Known>,
    of_nodes: FxHashMap<(NodeId, ContextId), u32>,
}

struct Known {
    /// None share a token if it is not there.
    neighbours: Option<Neighbours>,
    /// The terminals that are no text.
    made: Vec<TerminalId>,
    contexts: Vec<Bits>,
    context_ids: FxHashMap<Bits, ContextId>,
    of_terminal: Vec<ContextId>,
    of_spot: FxHashMap<(HypothesisId, FutureId), ContextId>,
    tables: Vec<Table>,
    table_ids: FxHashMap<(ExprId, ContextId), u32>,
    /// Tables still to be made anew. Until there are none, tables say too much.
    unsolved: Vec<u32>,
}

/// What reading the rest of a rule costs.
struct Table {
    state: ExprId,
    context: ContextId,
    is_nullable: bool,
    /// The contexts after what is not empty, each with its cost.
    exits: Vec<(ContextId, u32)>,
    /// The tables that are made of this one.
    used_by: Vec<u32>,
    /// Whether it is to be made anew.
    is_due: bool,
}

impl Table {
    fn floor(&self) -> u32 {
        if self.is_nullable { 0 } else { self.exits.iter().map(|&(_, cost)| cost).min().unwrap_or(UNKNOWN) }
    }
}

impl Floors {
    /// The floors of the grammar of `lexed`.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn new(
        points: &mut Points,
        futures: &Futures,
        explored: &Explored,
    ) -> Result<Floors, EngineError> {
        let neighbours = Neighbours::new(points, futures, explored)?;
        Ok(Floors::of(points, Some(neighbours)))
    }

    /// The floors where a token of the vocabulary must end where one of the lexer does.
    pub(super) fn aligned(points: &Points) -> Floors {
        Floors::of(points, None)
    }

    fn of(points: &Points, neighbours: Option<Neighbours>) -> Floors {
        let n_words = points.tables.n_terminals.div_ceil(64);
        let mut known = Known {
            neighbours,
            made: points
                .tables
                .layout
                .as_ref()
                .map_or(Vec::new(), |layout| vec![layout.indent, layout.dedent]),
            contexts: Vec::new(),
            context_ids: FxHashMap::default(),
            of_terminal: Vec::new(),
            of_spot: FxHashMap::default(),
            tables: Vec::new(),
            table_ids: FxHashMap::default(),
            unsolved: Vec::new(),
        };
        known.context(vec![0; n_words].into());
        known.context(vec![u64::MAX; n_words].into());
        for index in 0..points.tables.n_terminals {
            let neighbours = known.neighbours.as_ref();
            let after = neighbours.map(|known| known.of_terminal(TerminalId::from_index(index)).clone());
            let context = after.map_or(ContextId::ROOT, |after| known.context(after));
            known.of_terminal.push(context);
        }
        Floors { known: Some(known), of_nodes: FxHashMap::default() }
    }

    /// Drops what is known of stacks and of places in texts.
    pub(super) fn clear_places(&mut self) {
        self.of_nodes = FxHashMap::default();
        if let Some(known) = &mut self.known {
            known.of_spot = FxHashMap::default();
            known.neighbours.iter_mut().for_each(Neighbours::clear_spots);
        }
    }

    /// The context inside a token at a hypothesis.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn inside(
        &mut self,
        points: &mut Points,
        futures: &Futures,
        spot: (HypothesisId, FutureId),
    ) -> Result<ContextId, EngineError> {
        if spot.1 == futures.root() {
            return Ok(ContextId::ROOT);
        }
        let Some(known) = &mut self.known else { return Ok(ContextId::ANY) };
        if let Some(&context) = known.of_spot.get(&spot) {
            return Ok(context);
        }
        let Some(neighbours) = &mut known.neighbours else { return Ok(ContextId::ROOT) };
        let set = neighbours.of_spot(points, futures, spot)?;
        let context = known.context(set);
        known.of_spot.insert(spot, context);
        Ok(context)
    }

    /// The context after a terminal.
    pub(super) fn after(&self, terminal: TerminalId) -> ContextId {
        self.known.as_ref().map_or(ContextId::ANY, |known| known.of_terminal[terminal.index()])
    }

    /// The floor of a state in a context.
    ///
    /// # Errors
    /// If the call is out of work.
    pub(super) fn of_state(
        &mut self,
        parser: &mut Parser,
        state: ExprId,
        context: ContextId,
    ) -> Result<u32, EngineError> {
        let table = self.table(parser, state, context)?;
        Ok(self.floor_of(table))
    }

    /// The floor of a rule by its body in a context, and the least floor of `next` after it.
    ///
    /// # Errors
    /// If the call is out of work.
    pub(super) fn of_call(
        &mut self,
        parser: &mut Parser,
        (body, next): (ExprId, ExprId),
        context: ContextId,
    ) -> Result<(u32, u32), EngineError> {
        let inside = self.table(parser, body, context)?;
        let mut least: Option<u32> = None;
        for (after, _) in self.exits_of(inside) {
            let floor = self.of_state(parser, next, after)?;
            least = Some(least.map_or(floor, |least| least.min(floor)));
        }
        Ok((self.floor_of(inside), least.unwrap_or(0)))
    }

    /// The floor of the rest of the text, after a state and below a node.
    ///
    /// # Errors
    /// If the call is out of work.
    pub(super) fn of_place(
        &mut self,
        parser: &mut Parser,
        (state, node): (ExprId, NodeId),
        context: ContextId,
    ) -> Result<u32, EngineError> {
        let table = self.table(parser, state, context)?;
        if self.known.is_none() {
            return Ok(0);
        }
        let mut least = if table.is_none() || self.is_nullable(table) {
            self.of_node(parser, node, context)?
        } else {
            UNKNOWN
        };
        for (after, cost) in self.exits_of(table) {
            if cost < least {
                least = least.min(cost.saturating_add(self.of_node(parser, node, after)?));
            }
        }
        Ok(least)
    }

    /// The least floor of the rest of the text below a node, however a state ends.
    ///
    /// # Errors
    /// If the call is out of work.
    pub(super) fn below(
        &mut self,
        parser: &mut Parser,
        (state, node): (ExprId, NodeId),
        context: ContextId,
    ) -> Result<u32, EngineError> {
        let table = self.table(parser, state, context)?;
        if self.known.is_none() {
            return Ok(0);
        }
        let mut least = if self.is_nullable(table) { self.of_node(parser, node, context)? } else { UNKNOWN };
        for (after, _) in self.exits_of(table) {
            least = least.min(self.of_node(parser, node, after)?);
        }
        Ok(least)
    }

    /// The floor of the rest of the text below a node.
    fn of_node(&mut self, parser: &mut Parser, node: NodeId, context: ContextId) -> Result<u32, EngineError> {
        let mut stack = vec![(node, context)];
        while let Some(&top) = stack.last() {
            if self.of_nodes.contains_key(&top) {
                stack.pop();
                continue;
            }
            let n_open = stack.len();
            let (node, context) = top;
            let mut least = UNKNOWN;
            for frame in parser.stacks.frames(node).to_vec() {
                if frame == Frame::BOTTOM {
                    least = 0;
                    continue;
                }
                let table = self.table(parser, frame.ret, context)?;
                let mut ways = self.exits_of(table);
                if table.is_none() || self.is_nullable(table) {
                    ways.push((context, 0));
                }
                for (after, cost) in ways {
                    match self.of_nodes.get(&(frame.parent, after)) {
                        Some(below) => least = least.min(cost.saturating_add(*below)),
                        None => stack.push((frame.parent, after)),
                    }
                }
            }
            if stack.len() == n_open {
                self.of_nodes.insert(top, least);
                stack.pop();
            }
        }
        Ok(self.of_nodes.get(&(node, context)).copied().unwrap_or(0))
    }

    /// The table of a state; `None` for what takes nothing, or if nothing is known.
    fn table(
        &mut self,
        parser: &mut Parser,
        state: ExprId,
        context: ContextId,
    ) -> Result<Option<u32>, EngineError> {
        if state == ExprPool::EPSILON {
            return Ok(None);
        }
        let Some(known) = &mut self.known else { return Ok(None) };
        if known.unsolved.is_empty()
            && let Some(&table) = known.table_ids.get(&(state, context))
        {
            return Ok(Some(table));
        }
        let mut unsolved = std::mem::take(&mut known.unsolved);
        let table = known.table(parser, state, context, &mut unsolved);
        match known.solve(parser, &mut unsolved) {
            Ok(true) => Ok(Some(table)),
            Ok(false) => {
                self.known = None;
                self.of_nodes = FxHashMap::default();
                Ok(None)
            }
            Err(error) => {
                known.unsolved = unsolved;
                Err(error)
            }
        }
    }

    fn floor_of(&self, table: Option<u32>) -> u32 {
        match (&self.known, table) {
            (Some(known), Some(table)) => known.tables[table as usize].floor(),
            _ => 0,
        }
    }

    fn exits_of(&self, table: Option<u32>) -> Vec<(ContextId, u32)> {
        match (&self.known, table) {
            (Some(known), Some(table)) => known.tables[table as usize].exits.clone(),
            _ => Vec::new(),
        }
    }

    fn is_nullable(&self, table: Option<u32>) -> bool {
        match (&self.known, table) {
            (Some(known), Some(table)) => known.tables[table as usize].is_nullable,
            _ => true,
        }
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        let known = self.known.as_ref().map_or(0, |known| {
            let tables =
                known.tables.iter().map(|table| table.exits.len() * 8 + table.used_by.len() * 4 + 120);
            tables.sum::<usize>()
                + known.neighbours.as_ref().map_or(0, Neighbours::memory_usage)
                + known.of_spot.len() * 24
                + known.contexts.len() * 128
        });
        known + self.of_nodes.len() * 24
    }
}

impl Known {
    fn context(&mut self, set: Bits) -> ContextId {
        let fresh = ContextId(self.contexts.len() as u32);
        let id = *self.context_ids.entry(set.clone()).or_insert(fresh);
        if id == fresh {
            self.contexts.push(set);
        }
        id
    }

    /// The number of a table; if it is new, it is added to `work`.
    fn table(&mut self, parser: &mut Parser, state: ExprId, context: ContextId, work: &mut Vec<u32>) -> u32 {
        let fresh = self.tables.len() as u32;
        let id = *self.table_ids.entry((state, context)).or_insert(fresh);
        if id == fresh {
            let is_nullable = parser.network.is_nullable(state);
            let (exits, used_by) = (Vec::new(), Vec::new());
            self.tables.push(Table { state, context, is_nullable, exits, used_by, is_due: true });
            work.push(id);
        }
        id
    }

    /// Makes tables anew until none changes; whether there are not too many.
    ///
    /// # Errors
    /// If the call is out of work; then `work` is what is still to be done.
    fn solve(&mut self, parser: &mut Parser, work: &mut Vec<u32>) -> Result<bool, EngineError> {
        while let Some(&id) = work.last() {
            if self.tables.len() > MAX_TABLES {
                return Ok(false);
            }
            let n_moves = parser.network.moves(self.tables[id as usize].state).len();
            meter::spend(UNITS_PER_MOVE * (1 + n_moves as u64))?;
            work.pop();
            let table = &mut self.tables[id as usize];
            table.is_due = false;
            let (state, context) = (table.state, table.context);
            let mut exits = Vec::new();
            for index in parser.network.moves(state) {
                let step = parser.network.move_at(index);
                let ways = match step.symbol {
                    Symbol::Terminal(terminal) => {
                        let is_free = self.made.contains(&terminal)
                            || contains(&self.contexts[context.0 as usize], terminal.index());
                        vec![(self.of_terminal[terminal.index()], u32::from(!is_free))]
                    }
                    Symbol::Rule(rule) => {
                        let body = parser.network.body(rule);
                        self.use_table(parser, id, (body, context), work)
                    }
                };
                for (after, cost) in ways {
                    if parser.network.is_nullable(step.next) {
                        exits.push((after, cost));
                    }
                    if step.next != ExprPool::EPSILON {
                        meter::charge(UNITS_PER_MOVE);
                        let rest = self.use_table(parser, id, (step.next, after), work);
                        exits
                            .extend(rest.into_iter().map(|(after, more)| (after, cost.saturating_add(more))));
                    }
                }
            }
            exits.sort_unstable();
            exits.dedup_by_key(|&mut (after, _)| after);
            let table = &mut self.tables[id as usize];
            if table.exits != exits {
                table.exits = exits;
                for user in table.used_by.clone() {
                    if !std::mem::replace(&mut self.tables[user as usize].is_due, true) {
                        work.push(user);
                    }
                }
            }
        }
        Ok(true)
    }

    /// The exits of a table so far, for `user`, which is told when there are more.
    fn use_table(
        &mut self,
        parser: &mut Parser,
        user: u32,
        (state, context): (ExprId, ContextId),
        work: &mut Vec<u32>,
    ) -> Vec<(ContextId, u32)> {
        let used = self.table(parser, state, context, work);
        let table = &mut self.tables[used as usize];
        if !table.used_by.contains(&user) {
            table.used_by.push(user);
        }
        table.exits.clone()
    }
}
