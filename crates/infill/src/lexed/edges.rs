//! A lexer's graph as a chart parses it.

use std::ops::Range;

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, Network, RuleId, TerminalId};

use crate::chart::{ContextId, Contexts, Edges, NodeIndex, START_NODE};
use crate::ground::InfillError;
use crate::lexed::graph::Graph;
use crate::lexed::tables::LexedTables;

/// See the module.
pub(crate) struct LexedEdges<'e> {
    pub(crate) graph: &'e Graph,
    pub(crate) tables: &'e mut LexedTables,
    pub(crate) fuel: &'e Fuel,
}

impl LexedEdges<'_> {
    /// Whether a rule that is being read, with `state` left of it, can be read on from a node to the end.
    fn may_go_on(&self, node: NodeIndex, rule: RuleId, state: ExprId) -> bool {
        let future = self.graph.futures.get(node as usize);
        future.is_none_or(|&future| self.tables.grammar.may_go_on(future, rule, state))
    }
}

impl Edges for LexedEdges<'_> {
    fn network(&mut self) -> &mut Network {
        &mut self.tables.grammar.network
    }

    fn fuel(&self) -> &Fuel {
        self.fuel
    }

    fn position(&self, node: NodeIndex) -> u32 {
        self.graph.nodes[node as usize].0.position
    }

    fn progress(&self, node: NodeIndex) -> u32 {
        self.graph.progress[node as usize]
    }

    fn is_boundary(&self, node: NodeIndex) -> bool {
        self.graph.is_boundary[node as usize]
    }

    fn is_goal(&self, node: NodeIndex) -> bool {
        self.graph.goals.contains(&node)
    }

    fn edges(&mut self, node: NodeIndex) -> Result<Range<u32>, InfillError> {
        let (start, end) = self.graph.out[node as usize];
        Ok(start..end)
    }

    fn way(&self, edge: u32) -> (NodeIndex, Option<TerminalId>) {
        let edge = self.graph.edges[edge as usize];
        (edge.to, edge.label)
    }

    fn is_dead(&self, edge: u32) -> bool {
        self.graph.ahead[self.graph.edges[edge as usize].to as usize].is_none()
    }

    fn ends_terminal(&self, edge: u32) -> bool {
        self.graph.edges[edge as usize].label.is_some()
    }

    fn can_start(&self) -> bool {
        let rule = self.tables.grammar.network.start();
        let state = self.tables.grammar.network.body(rule);
        self.graph.ahead[START_NODE as usize].is_some() && self.may_go_on(START_NODE, rule, state)
    }

    fn can_begin(&mut self, rule: RuleId, node: NodeIndex) -> Result<bool, InfillError> {
        let Some(ahead) = &self.graph.ahead[node as usize] else { return Ok(false) };
        let state = self.tables.grammar.network.body(rule);
        Ok(self.tables.grammar.rule_first(rule, self.fuel)?.intersects(&ahead.next)
            && self.may_go_on(node, rule, state))
    }

    fn can_go_on(&mut self, rule: RuleId, state: ExprId, node: NodeIndex) -> Result<bool, InfillError> {
        let Some(ahead) = &self.graph.ahead[node as usize] else { return Ok(false) };
        Ok((self.tables.grammar.first(state, self.fuel)?.all.intersects(&ahead.next)
            || self.tables.grammar.network.is_nullable(state))
            && self.may_go_on(node, rule, state))
    }

    fn can_read_on(
        &mut self,
        rule: RuleId,
        state: ExprId,
        node: NodeIndex,
        may_skip: bool,
    ) -> Result<bool, InfillError> {
        let Some(ahead) = &self.graph.ahead[node as usize] else { return Ok(false) };
        Ok((ahead.may_be_ignored && may_skip
            || self.tables.grammar.first(state, self.fuel)?.direct.intersects(&ahead.current))
            && self.may_go_on(node, rule, state))
    }

    fn is_in_line(&self, rule: RuleId) -> bool {
        self.tables.grammar.is_in_line[rule.index()]
    }

    fn is_usual_width(&self, width: u32) -> bool {
        self.graph.is_usual_width(width)
    }

    fn behind(
        &self,
        contexts: &mut Contexts,
        context: ContextId,
        node: NodeIndex,
        label: Option<TerminalId>,
    ) -> Option<ContextId> {
        let Some(layout) = self.tables.hypotheses.tables().layout.as_ref() else { return Some(context) };
        let indent = self.tables.hypotheses.indent(self.graph.nodes[node as usize].1);
        contexts.after(context, (indent, self.graph.widths[node as usize]), label, layout)
    }
}
