//! What a chart parses: the nodes of a lattice, and the edges between them that its texts can take.

use std::ops::Range;

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, Network, RuleId, TerminalId};

use crate::chart::contexts::{ContextId, Contexts};
use crate::ground::InfillError;

/// A node's number.
pub(crate) type NodeIndex = u32;

/// The node where all texts begin.
pub(crate) const START_NODE: NodeIndex = 0;

/// See the module. A node is a *boundary*, or within a terminal. Over bytes, a chart asks for the edges that
/// read one terminal ([`Edges::reading`]). Over a lexer's tokens, the label of the edge that ends a terminal
/// says which one it was.
///
/// Nodes, edges and answers never change once they are given. An error is a limit that is reached.
pub(crate) trait Edges {
    /// The grammar.
    fn network(&mut self) -> &mut Network;

    /// What pays for the work.
    fn fuel(&self) -> &Fuel;

    /// The piece that a node is in.
    fn position(&self, node: NodeIndex) -> u32;

    /// How much of the text is before a node, in tokens as they are mostly long.
    fn progress(&self, node: NodeIndex) -> u32;

    /// Whether no terminal is in progress at a node, so that rules can begin and end.
    fn is_boundary(&self, node: NodeIndex) -> bool;

    /// Whether a text may end at a node.
    fn is_goal(&self, node: NodeIndex) -> bool;

    /// The edges from a node.
    fn edges(&mut self, node: NodeIndex) -> Result<Range<u32>, InfillError>;

    /// Where an edge leads, and the terminal that ends there if the parser gets it by the edge.
    fn way(&self, edge: u32) -> (NodeIndex, Option<TerminalId>);

    /// Whether no text can be read on from where an edge leads.
    fn is_dead(&self, _edge: u32) -> bool {
        false
    }

    /// Whether a terminal ends with an edge.
    fn ends_terminal(&self, edge: u32) -> bool;

    /// The edges from a boundary that read a terminal, if labels do not say which edges these are.
    fn reading(&mut self, _node: NodeIndex, _terminal: TerminalId) -> Result<Range<u32>, InfillError> {
        Ok(0..0)
    }

    /// Whether any text can be read from the beginning.
    fn can_start(&self) -> bool {
        true
    }

    /// Whether a rule can begin at a boundary.
    fn can_begin(&mut self, rule: RuleId, node: NodeIndex) -> Result<bool, InfillError>;

    /// Whether a rule with `state` left of it can be over at a boundary, or read on from it.
    fn can_go_on(&mut self, _rule: RuleId, _state: ExprId, _node: NodeIndex) -> Result<bool, InfillError> {
        Ok(true)
    }

    /// Whether such a rule can read on from within a terminal, where what is ignored may be passed by or not.
    fn can_read_on(
        &mut self,
        _rule: RuleId,
        _state: ExprId,
        _node: NodeIndex,
        _may_skip: bool,
    ) -> Result<bool, InfillError> {
        Ok(true)
    }

    /// Whether a rule is part of one line outside of brackets, where widths matter.
    fn is_in_line(&self, _rule: RuleId) -> bool {
        false
    }

    /// Whether blocks are usually that wide.
    fn is_usual_width(&self, _width: u32) -> bool {
        true
    }

    /// The context after an edge from `node`; `None` if the edge is not for it.
    fn behind(
        &self,
        _contexts: &mut Contexts,
        context: ContextId,
        _node: NodeIndex,
        _label: Option<TerminalId>,
    ) -> Option<ContextId> {
        Some(context)
    }
}
