//! The items of a chart without their place: what a call has left to read, and what is open around it.
//!
//! A [`Sweep`](crate::lexed::sweep::Sweep) keeps sets of beginnings by item. So items have numbers, and what can be
//! done with each is computed once.

use std::ops::Range;

use maskwright_grammar::{ExprId, RuleId, Symbol, TerminalId};
use maskwright_lexing::TerminalSet;
use rustc_hash::FxHashMap;

use crate::chart::{ContextId, Contexts, Edges, NodeIndex};
use crate::ground::InfillError;
use crate::lexed::edges::LexedEdges;
use crate::lexed::graph::Ahead;
use crate::lexed::tables::LexedTables;

/// The number of an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ItemId(u32);

impl ItemId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Item {
    rule: RuleId,
    /// What is left to read.
    state: ExprId,
    /// Whether at least one terminal of the call was read.
    is_begun: bool,
    /// Whether the call is that of the text as a whole.
    is_top: bool,
    context: ContextId,
}

/// What can be done with an item.
#[derive(Debug)]
struct Ways {
    /// The item that its call begins with.
    call: ItemId,
    /// Whether the call may be over.
    may_end: bool,
    /// Whether it goes past what is ignored. Calls begin where their callers' items are, and those pass by that themselves.
    may_skip: bool,
    /// Whether the whole text may be what is ignored.
    is_empty: bool,
    /// Whether the state may be over.
    is_nullable: bool,
    /// The terminals that the state reads itself, and those with the ones that its rules begin with.
    direct: TerminalSet,
    first: TerminalSet,
    /// The number of the rule and the state in the grammar's approximation, if it has them.
    state: Option<u32>,
    /// Places in [`Items::reads`] and [`Items::calls`].
    reads: Range<u32>,
    calls: Range<u32>,
}

/// All items of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Items {
    list: Vec<Item>,
    ids: FxHashMap<Item, ItemId>,
    ways: Vec<Option<Ways>>,
    /// A terminal, and the item after it in the same context.
    reads: Vec<(TerminalId, ItemId)>,
    /// What a called rule begins with, and the item after the call.
    calls: Vec<(ItemId, ItemId)>,
    contexts: Contexts,
}

impl Items {
    /// The item that a text begins with.
    pub(crate) fn top(&mut self, edges: &mut LexedEdges<'_>) -> Result<ItemId, InfillError> {
        let rule = edges.tables.network.start();
        let state = edges.tables.network.body(rule);
        let context = Contexts::START;
        let top = self.intern(Item { rule, state, is_begun: false, is_top: true, context });
        self.learn(top, edges)?;
        Ok(top)
    }

    /// The item that the call of an item begins with.
    pub(crate) fn call_of(&self, item: ItemId) -> ItemId {
        self.ways(item).call
    }

    /// Whether calls begin with an item, and only they: that of the text as a whole also continues with it.
    pub(crate) fn is_call(&self, item: ItemId) -> bool {
        let item = self.list[item.index()];
        !item.is_begun && !item.is_top
    }

    /// Whether the call of an item may be over.
    pub(crate) fn may_end(&self, item: ItemId) -> bool {
        self.ways(item).may_end
    }

    /// The calls that an item can make: places for [`Items::call_at`].
    pub(crate) fn calls(&self, item: ItemId) -> Range<u32> {
        self.ways(item).calls.clone()
    }

    /// What a call begins with, and the item after it.
    pub(crate) fn call_at(&self, place: u32) -> (ItemId, ItemId) {
        self.calls[place as usize]
    }

    /// Whether a call of `item` can begin at a node.
    pub(crate) fn can_begin(
        &mut self,
        item: ItemId,
        node: NodeIndex,
        edges: &mut LexedEdges<'_>,
    ) -> Result<bool, InfillError> {
        self.learn(item, edges)?;
        let Some(ahead) = &edges.graph.ahead[node as usize] else { return Ok(false) };
        let rule = self.list[item.index()].rule;
        Ok(edges.tables.rule_first(rule, edges.fuel)?.intersects(&ahead.next)
            && self.may_go_on(item, node, edges))
    }

    /// Whether an item at a boundary has a next terminal that can follow on the lattice, or may be over; and may go on from there as far
    /// as the grammar's approximation says.
    pub(crate) fn can_go_on(
        &mut self,
        item: ItemId,
        node: NodeIndex,
        edges: &mut LexedEdges<'_>,
    ) -> Result<bool, InfillError> {
        self.learn(item, edges)?;
        let Some(ahead) = &edges.graph.ahead[node as usize] else { return Ok(false) };
        Ok(self.has_future(item, node, ahead, edges))
    }

    /// Whether an item gets past what gives the parser nothing, to node `to`.
    pub(crate) fn can_pass(&self, item: ItemId, to: NodeIndex, edges: &LexedEdges<'_>) -> bool {
        let Some(ahead) = &edges.graph.ahead[to as usize] else { return false };
        let ways = self.ways(item);
        if edges.is_boundary(to) {
            return ways.may_skip && (ways.is_empty || self.has_future(item, to, ahead, edges));
        }
        (ahead.may_be_ignored && ways.may_skip || ways.direct.intersects(&ahead.current))
            && self.may_go_on(item, to, edges)
    }

    /// What is open around an item after an edge from `node`; `None` if the edge is not for it.
    pub(crate) fn behind(
        &mut self,
        item: ItemId,
        node: NodeIndex,
        label: Option<TerminalId>,
        edges: &LexedEdges<'_>,
    ) -> Option<ContextId> {
        let context = self.list[item.index()].context;
        edges.behind(&mut self.contexts, context, node, label)
    }

    /// An item in another context.
    pub(crate) fn within(
        &mut self,
        item: ItemId,
        context: ContextId,
        edges: &mut LexedEdges<'_>,
    ) -> Result<ItemId, InfillError> {
        let known = self.list[item.index()];
        if known.context == context {
            return Ok(item);
        }
        let within = self.intern(Item { context, ..known });
        self.learn(within, edges)?;
        Ok(within)
    }

    /// The terminals that an item reads: places for [`Items::read_at`].
    pub(crate) fn reads(&self, item: ItemId) -> Range<u32> {
        self.ways(item).reads.clone()
    }

    /// A terminal, and the item after it in the same context.
    pub(crate) fn read_at(&self, place: u32) -> (TerminalId, ItemId) {
        self.reads[place as usize]
    }

    /// Finds out what can be done with an item.
    pub(crate) fn learn(&mut self, item: ItemId, edges: &mut LexedEdges<'_>) -> Result<(), InfillError> {
        if self.ways[item.index()].is_some() {
            return Ok(());
        }
        let known @ Item { rule, state, is_begun, is_top, context } = self.list[item.index()];
        let moves = edges.tables.network.moves(state);
        edges.fuel.spend(1 + moves.len() as u64).map_err(|error| InfillError::work(0, error))?;
        let outer = self.contexts.outermost(context);
        let begin = |rule: RuleId, context: ContextId, tables: &LexedTables| {
            let state = tables.network.body(rule);
            Item { rule, state, is_begun: false, is_top: false, context }
        };
        let call = self.intern(Item { is_top, ..begin(rule, outer, edges.tables) });
        let (n_reads, n_calls) = (self.reads.len() as u32, self.calls.len() as u32);
        let inner = self.contexts.around(context);
        let inner = [false, true].map(|is_in_line| self.contexts.begin(inner, is_in_line));
        for index in moves {
            let step = edges.tables.network.move_at(index);
            let next = self.intern(Item { state: step.next, is_begun: true, ..known });
            match step.symbol {
                Symbol::Terminal(terminal) => self.reads.push((terminal, next)),
                Symbol::Rule(callee) => {
                    let inner = inner[usize::from(edges.tables.is_in_line[callee.index()])];
                    let callee = self.intern(begin(callee, inner, edges.tables));
                    self.calls.push((callee, next));
                }
            }
        }
        let is_nullable = edges.tables.network.is_nullable(state);
        let is_empty =
            is_top && !is_begun && edges.tables.network.is_rule_nullable(edges.tables.network.start());
        let number = edges.tables.number_in_approximation(rule, state);
        let firsts = edges.tables.first(state, edges.fuel)?;
        self.ways[item.index()] = Some(Ways {
            call,
            may_end: is_empty || is_begun && is_nullable,
            may_skip: is_begun || is_top,
            is_empty,
            is_nullable,
            direct: firsts.direct.clone(),
            first: firsts.all.clone(),
            state: number,
            reads: n_reads..self.reads.len() as u32,
            calls: n_calls..self.calls.len() as u32,
        });
        Ok(())
    }

    /// The same as [`Items::can_go_on`] for an item that was learnt.
    fn has_future(&self, item: ItemId, node: NodeIndex, ahead: &Ahead, edges: &LexedEdges<'_>) -> bool {
        let ways = self.ways(item);
        (ways.is_nullable || ways.first.intersects(&ahead.next)) && self.may_go_on(item, node, edges)
    }

    fn may_go_on(&self, item: ItemId, node: NodeIndex, edges: &LexedEdges<'_>) -> bool {
        let future = edges.graph.futures.get(node as usize);
        future.is_none_or(|&future| edges.tables.may_go_on_in(future, self.ways(item).state))
    }

    #[allow(clippy::expect_used, reason = "an item is learnt before it is asked about")]
    fn ways(&self, item: ItemId) -> &Ways {
        self.ways[item.index()].as_ref().expect("what an item can do is known")
    }

    fn intern(&mut self, item: Item) -> ItemId {
        let next = ItemId(self.list.len() as u32);
        let id = *self.ids.entry(item).or_insert(next);
        if id == next {
            self.list.push(item);
            self.ways.push(None);
        }
        id
    }
}
