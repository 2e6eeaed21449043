//! The tables by which `graph/logic.rs` finds nodes with the same values.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::forms::diagram::{Diagram, Diagrams};
use crate::forms::node_id::NodeId;
use crate::source::resources::Home;

#[derive(Default)]
pub(crate) struct Meanings<'a> {
    pub(crate) diagrams: Diagrams,
    /// By node, as far as they were asked for.
    pub(crate) of_nodes: Vec<Option<Diagram>>,
    /// By diagram, and the order of the schemas that give properties their order.
    pub(crate) nodes: FxHashMap<(Diagram, Rc<[Diagram]>), NodeId>,
    /// By the address of the schema that they stand for.
    pub(crate) variables: FxHashMap<usize, Diagram>,
    /// The schemas that stand for all with the same text, and references relative to the same.
    pub(crate) by_text: FxHashMap<(Home, String), &'a Value>,
}
