//! Which nodes have the same values by logic alone.
//!
//! Intersections and complements are functions of the truth values of schemas, so each has a [`Diagram`], and
//! those with the same one are one node. Without that, a schema that is intersected with its own complement
//! below itself makes new nodes without an end: x ∩ ¬x, then that without x, and so on.
//!
//! Schemas that say the same have one variable: a schema that only refers to another is that one, and small
//! schemas with references that have the same text are one.

use std::rc::Rc;

use serde_json::Value;

use super::{Graph, Source};
use crate::forms::diagram::{Diagram, Diagrams};
use crate::forms::node_id::NodeId;
use crate::source::resources::Home;

/// How many schemas an intersection may have before it counts as one that is like no other.
const MAX_DEPTH: u32 = 64;

/// Steps of one conjunction; beyond them it counts as one that is like no other.
const MAX_WORK: u32 = 4_096;

/// How many references are followed to find what a schema stands for.
const MAX_REFERENCES: usize = 32;

/// How many values a schema may have to be compared by its text.
const MAX_VALUES: usize = 64;

impl<'a> Graph<'a> {
    /// The node of the values that are in both of `left` and `right`, which are all of `members`: one that is
    /// known, or a new one that `push` makes.
    pub(crate) fn node_of_both(
        &mut self,
        (left, right): (NodeId, NodeId),
        members: &[NodeId],
        push: impl FnOnce(&mut Self) -> NodeId,
    ) -> NodeId {
        let (a, b) = (self.meaning(left), self.meaning(right));
        let both = self.conjunction(a, b).unwrap_or_else(|| self.nodes.meanings.diagrams.new_variable());
        let mut order = Vec::new();
        for &member in members {
            if self.is_schema(member) {
                order.push(self.meaning(member));
            }
        }
        self.node_with(both, order.into(), push)
    }

    /// The node of the values that are not in `node`: one that is known, or a new one that `push` makes.
    pub(crate) fn node_of_others(&mut self, node: NodeId, push: impl FnOnce(&mut Self) -> NodeId) -> NodeId {
        let others = !self.meaning(node);
        self.node_with(others, Rc::new([]), push)
    }

    /// Whether all values of `inner` are in `outer` by logic alone.
    pub(crate) fn is_node_within(&mut self, inner: NodeId, outer: NodeId) -> bool {
        if inner == outer || outer == NodeId::ANY || inner == NodeId::NEVER {
            return true;
        }
        if inner == NodeId::ANY || outer == NodeId::NEVER {
            return false;
        }
        let (inner, outer) = (self.meaning(inner), self.meaning(outer));
        self.conjunction(inner, !outer) == Some(Diagram::FALSE)
    }

    /// `None` if it is too large.
    fn conjunction(&mut self, a: Diagram, b: Diagram) -> Option<Diagram> {
        let diagrams = &mut self.nodes.meanings.diagrams;
        let size = diagrams.size();
        let both = diagrams.both(a, b, MAX_DEPTH, MAX_WORK);
        let n_new = diagrams.size() - size;
        self.charge(n_new as u64);
        self.fuel.hold(n_new * Diagrams::BYTES);
        both
    }

    fn node_with(
        &mut self,
        meaning: Diagram,
        order: Rc<[Diagram]>,
        push: impl FnOnce(&mut Self) -> NodeId,
    ) -> NodeId {
        match meaning {
            Diagram::TRUE => return NodeId::ANY,
            Diagram::FALSE => return NodeId::NEVER,
            _ => {}
        }
        if let Some(&node) = self.nodes.meanings.nodes.get(&(meaning, order.clone())) {
            return node;
        }
        let node = push(self);
        self.keep(node, meaning, order);
        node
    }

    fn keep(&mut self, node: NodeId, meaning: Diagram, order: Rc<[Diagram]>) {
        let meanings = &mut self.nodes.meanings.of_nodes;
        if meanings.len() <= node.index() {
            meanings.resize(node.index() + 1, None);
        }
        meanings[node.index()] = Some(meaning);
        self.nodes.meanings.nodes.entry((meaning, order)).or_insert(node);
    }

    fn meaning(&mut self, node: NodeId) -> Diagram {
        if let Some(&Some(known)) = self.nodes.meanings.of_nodes.get(node.index()) {
            return known;
        }
        let meaning = match &self.nodes.list[node.index()].source {
            &Source::Schema(schema, _) if self.loose.is_none() => {
                let stands_for = std::ptr::from_ref(self.stands_for(schema)) as usize;
                match self.nodes.meanings.variables.get(&stands_for) {
                    Some(&known) => known,
                    None => {
                        let made = self.nodes.meanings.diagrams.new_variable();
                        self.nodes.meanings.variables.insert(stands_for, made);
                        made
                    }
                }
            }
            // Of two schemas with the same text one may be left out. Others are kept when they are made.
            _ => self.nodes.meanings.diagrams.new_variable(),
        };
        self.keep(node, meaning, Rc::new([meaning]));
        meaning
    }

    fn is_schema(&self, node: NodeId) -> bool {
        matches!(self.nodes.list[node.index()].source, Source::Schema(..) | Source::Constant(_))
    }

    /// The schema that stands for all those that say the same.
    fn stands_for(&mut self, mut schema: &'a Value) -> &'a Value {
        for _ in 0..MAX_REFERENCES {
            let Some(object) = schema.as_object().filter(|object| object.len() == 1) else { break };
            let next = match object.iter().next() {
                Some((keyword, Value::String(reference))) if keyword == "$ref" => {
                    self.target(reference, schema)
                }
                Some((keyword, Value::Array(branches)))
                    if matches!(keyword.as_str(), "allOf" | "anyOf" | "oneOf") && branches.len() == 1 =>
                {
                    branches.first()
                }
                _ => None,
            };
            let Some(next) = next.filter(|next| next.is_object()) else { break };
            schema = next;
        }
        let mut n_values = MAX_VALUES;
        let Some(home) = self.home_of_references(schema, &mut n_values).flatten() else { return schema };
        let text = schema.to_string();
        self.fuel.hold(text.len());
        self.nodes.meanings.by_text.entry((home, text)).or_insert(schema)
    }

    /// What the references in a small schema are relative to; `None` if it is not small, or has a name, by
    /// which it may be meant.
    fn home_of_references(&mut self, schema: &'a Value, n_left: &mut usize) -> Option<Option<Home>> {
        *n_left = n_left.checked_sub(1)?;
        let mut home = None;
        match schema {
            Value::Array(items) => {
                for item in items {
                    home = self.home_of_references(item, n_left)?.or(home);
                }
            }
            Value::Object(members) => {
                for (keyword, member) in members {
                    match keyword.as_str() {
                        "$ref" => home = Some(self.home(schema)),
                        "id" | "$id" | "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$recursiveRef"
                        | "$recursiveAnchor" | "$schema" => return None,
                        _ => {}
                    }
                    home = self.home_of_references(member, n_left)?.or(home);
                }
            }
            _ => {}
        }
        Some(home)
    }
}
