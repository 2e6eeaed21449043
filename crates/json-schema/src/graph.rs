//! The schemas of one document as a lazily resolved graph of canonical forms.
//!
//! Nodes are schemas of the document (one for each place that is read, found by address, so that all
//! references to it share it), constants, and intersections and complements of other nodes. [`Graph::shape`]
//! resolves a node one step deep. An intersection is keyed by the flat list of what it intersects, so
//! intersecting recursive schemas ends: there are finitely many lists. What it costs is counted in fuel, and
//! alternatives are limited, since multiplying out `anyOf`s is exponential in the worst case.
//!
//! What a graph does is in the files of its folder:
//!
//! | files | |
//! |---|---|
//! | [`resolve`] | a node to its form |
//! | [`keywords`], [`left_out`] | a schema object to typed fields, without the parts that are left out |
//! | [`read`], [`read_object`], [`applicators`], [`unevaluated`] | typed fields to a form |
//! | [`mod@reference`] | where `$ref` leads |
//! | [`intersect`], [`object_meet`], [`complement`] | forms of intersections and complements |
//! | [`logic`] | which intersections and complements are the same |
//! | [`empty`] | whether a form has no value |
//! | [`notes`], [`blame`] | errors, the report, what to leave out |

mod applicators;
mod blame;
mod complement;
mod empty;
mod intersect;
mod keywords;
pub(crate) mod left_out;
mod logic;
mod notes;
mod object_meet;
mod read;
mod read_object;
mod reference;
mod resolve;
mod unevaluated;

use std::borrow::Cow;
use std::rc::Rc;

use maskwright_automata::{Fuel, Regex};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::error::Kind;
use crate::forms::meanings::Meanings;
use crate::forms::node_id::NodeId;
use crate::forms::shape::Shape;
use crate::lenient::loose::{Loose, Losses, Side};
use crate::report::{Entry, Place, PlaceId, Step};
use crate::source::document::address;
use crate::source::documents::Documents;
use crate::source::draft::Draft;
use crate::source::json_types::kind_of;
use crate::source::resources::Resources;
use crate::strings::excluded::Surroundings;
use crate::strings::words::{Matcher, Size};
use crate::{SchemaConfig, SchemaError};

pub(crate) struct Graph<'a> {
    pub(crate) config: &'a SchemaConfig,
    pub(crate) fuel: &'a Fuel,
    pub(crate) draft: Draft,
    /// The latest draft that a part of the schema names: keywords of later ones have no effect.
    pub(crate) latest_draft: Draft,
    pub(crate) root: &'a Value,
    pub(crate) documents: &'a Documents,
    /// Made when the first reference is met.
    pub(crate) resources: Option<Resources<'a>>,
    nodes: Nodes<'a>,
    pub(crate) found: Findings<'a>,
    known: Known<'a>,
    reading: Reading,
    /// What the text around the values asks of them.
    pub(crate) surroundings: Surroundings<'a>,
    /// `None`: everything is enforced, or refused.
    pub(crate) loose: Option<Loose<'a>>,
}

#[derive(Default)]
struct Nodes<'a> {
    list: Vec<Node<'a>>,
    /// By the address of their schema in the document.
    schemas: FxHashMap<(usize, Side), NodeId>,
    /// By the address of their constant in the document.
    constants: FxHashMap<usize, NodeId>,
    intersections: FxHashMap<Rc<[NodeId]>, NodeId>,
    complements: FxHashMap<NodeId, NodeId>,
    meanings: Meanings<'a>,
}

/// What is said of the schema: where its parts are, what is enforced, what was probably not meant.
pub(crate) struct Findings<'a> {
    pub(crate) places: Vec<Place<Cow<'a, str>>>,
    pub(crate) entries: Vec<Entry<Cow<'a, str>>>,
    /// Where the keys of objects may repeat, and it was noted.
    repeated_keys: FxHashSet<PlaceId>,
    /// The names of formats that are not known, by the place of their schema.
    pub(crate) unknown_formats: FxHashMap<PlaceId, &'a str>,
    /// The first contradictions found, for the message if nothing satisfies the schema.
    pub(crate) conflicts: Vec<(PlaceId, &'static str, String)>,
}

/// Answers about languages and nodes that were worked out before.
#[derive(Default)]
struct Known<'a> {
    /// Which languages are empty, of those that had to be searched.
    empties: FxHashMap<Regex, bool>,
    sizes: FxHashMap<Regex, Size>,
    /// Which nodes are seen to be empty, by how far was looked.
    empty_nodes: FxHashMap<(NodeId, usize), bool>,
    patterns: FxHashMap<&'a str, Regex>,
    matchers: FxHashMap<Regex, Matcher>,
}

/// Where the reading of schemas is.
struct Reading {
    depth: usize,
    /// The least depth of the schemas being read that a branch without a step leads back to.
    loops_to: usize,
    /// Of schemas at less than this depth nothing may be assumed.
    whole_from: usize,
    /// What is assumed of the schemas that are being read, where it is not an error that one leads back to
    /// them.
    assumed: Option<Assumed>,
    /// Branches of `oneOf`, by the place of its schema and their number, that are a schema around them: they
    /// add no value, so they do not exclude those of the others either.
    adding: FxHashSet<(PlaceId, usize)>,
    /// The schemas that lead back to themselves without a step, through others.
    looping: FxHashSet<PlaceId>,
}

struct Node<'a> {
    source: Source<'a>,
    place: PlaceId,
    state: State<'a>,
}

#[derive(Clone)]
enum Source<'a> {
    Schema(&'a Value, Side),
    Constant(&'a Value),
    Intersection(Rc<[NodeId]>),
    Complement(NodeId),
}

/// See [`Graph::between`].
#[derive(Clone, Copy)]
struct Assumed {
    /// Of those at less than this depth.
    depth: usize,
    /// That they have all values; else none.
    has_all: bool,
}

enum State<'a> {
    Pending,
    /// Being read, at this depth.
    Active(usize),
    Ready(Rc<Shape<'a>>),
}

impl<'a> Graph<'a> {
    pub(crate) fn new(
        root: &'a Value,
        documents: &'a Documents,
        config: &'a SchemaConfig,
        fuel: &'a Fuel,
    ) -> Graph<'a> {
        let latest_draft = documents.iter().fold(Draft::latest(root), |draft, (_, document)| {
            draft.max(document.get("$schema").map_or(draft, |_| Draft::latest(document)))
        });
        Graph::empty(root, documents, config, fuel, latest_draft)
    }

    fn empty(
        root: &'a Value,
        documents: &'a Documents,
        config: &'a SchemaConfig,
        fuel: &'a Fuel,
        latest_draft: Draft,
    ) -> Graph<'a> {
        let fixed = |shape| Node {
            source: Source::Intersection(Rc::new([])),
            place: 0,
            state: State::Ready(Rc::new(shape)),
        };
        Graph {
            config,
            fuel,
            draft: Draft::of(root),
            latest_draft,
            root,
            documents,
            resources: None,
            nodes: Nodes { list: vec![fixed(Shape::any()), fixed(Shape::default())], ..Nodes::default() },
            found: Findings {
                places: vec![Place { parent: 0, step: Step::Root }],
                entries: Vec::new(),
                repeated_keys: FxHashSet::default(),
                unknown_formats: FxHashMap::default(),
                conflicts: Vec::new(),
            },
            known: Known::default(),
            reading: Reading {
                depth: 0,
                loops_to: usize::MAX,
                whole_from: 0,
                assumed: None,
                adding: FxHashSet::default(),
                looping: FxHashSet::default(),
            },
            surroundings: Surroundings::default(),
            loose: None,
        }
    }

    /// A graph for another pass over the schema, without `losses`. What does not depend on them is kept.
    pub(crate) fn next_pass(self, losses: Losses<'a>) -> Graph<'a> {
        Graph {
            resources: self.resources,
            known: Known { patterns: self.known.patterns, ..Known::default() },
            loose: Some(Loose::new(losses)),
            surroundings: self.surroundings,
            ..Graph::empty(self.root, self.documents, self.config, self.fuel, self.latest_draft)
        }
    }

    /// Where schemas are seen from.
    pub(crate) fn side(&self) -> Side {
        self.loose.as_ref().map_or(Side::Above, |loose| loose.side)
    }

    /// Turns to another side, and returns the one before.
    pub(crate) fn turn_to(&mut self, side: Side) -> Side {
        self.loose.as_mut().map_or(Side::Above, |loose| std::mem::replace(&mut loose.side, side))
    }

    /// The node of a schema of the document, which stands `step` below `parent`.
    pub(crate) fn schema_node(
        &mut self,
        schema: &'a Value,
        parent: PlaceId,
        step: Step<Cow<'a, str>>,
    ) -> Result<NodeId, SchemaError> {
        match schema {
            Value::Bool(true) => return Ok(NodeId::ANY),
            Value::Bool(false) => return Ok(NodeId::NEVER),
            Value::Object(object) if object.is_empty() => return Ok(NodeId::ANY),
            _ => {}
        }
        let side = self.side();
        if let Some(&node) = self.nodes.schemas.get(&(address(schema), side)) {
            return Ok(node);
        }
        self.spend(parent, 1)?;
        let place = match (step, self.nodes.schemas.get(&(address(schema), side.other()))) {
            (_, Some(&twin)) => self.place(twin),
            (Step::Root, None) => 0,
            (step, None) => self.place_below(parent, step),
        };
        if !schema.is_object() {
            return Err(self.no_schema(schema, place));
        }
        Ok(self.new_schema_node(schema, side, place))
    }

    /// The error for a value that stands where a schema must.
    pub(crate) fn no_schema(&self, value: &Value, place: PlaceId) -> SchemaError {
        let message = format!("a schema must be an object or a boolean, but it is {}", kind_of(value));
        self.error(place, None, Kind::Malformed { message })
    }

    fn new_schema_node(&mut self, schema: &'a Value, side: Side, place: PlaceId) -> NodeId {
        let node = self.push(Source::Schema(schema, side), place);
        self.nodes.schemas.insert((address(schema), side), node);
        node
    }

    /// The same node from the other [side](Side). Where everything is enforced, it is `node` itself.
    pub(crate) fn other_side(&mut self, node: NodeId) -> NodeId {
        if self.loose.is_none() || node == NodeId::ANY || node == NodeId::NEVER {
            return node;
        }
        match self.nodes.list[node.index()].source.clone() {
            Source::Constant(_) => node,
            Source::Schema(schema, side) => match self.nodes.schemas.get(&(address(schema), side.other())) {
                Some(&twin) => twin,
                None => self.new_schema_node(schema, side.other(), self.place(node)),
            },
            Source::Intersection(members) => members.iter().fold(NodeId::ANY, |all, &member| {
                let member = self.other_side(member);
                self.meet(all, member)
            }),
            Source::Complement(denied) => {
                let denied = self.other_side(denied);
                self.complement_node(denied)
            }
        }
    }

    /// The node of what does not satisfy the schema of `node`. Negation turns the side: what is left out of a
    /// set that is too large is too little.
    pub(crate) fn denial_node(&mut self, node: NodeId) -> NodeId {
        let other = self.other_side(node);
        self.complement_node(other)
    }

    /// The schemas of the document that a node is made of, the last one first.
    pub(crate) fn schemas_of(&self, node: NodeId) -> Vec<&'a Value> {
        let (mut found, mut work) = (Vec::new(), vec![node]);
        while let Some(node) = work.pop() {
            match &self.nodes.list[node.index()].source {
                Source::Schema(schema, _) => found.push(*schema),
                Source::Constant(_) => {}
                Source::Intersection(members) => work.extend(members.iter()),
                Source::Complement(denied) => work.push(*denied),
            }
        }
        found
    }

    /// The schema that stands at a place, if it was read.
    pub(crate) fn schema_at(&self, place: PlaceId) -> Option<&'a Value> {
        self.nodes.list.iter().find_map(|node| match node.source {
            Source::Schema(schema, _) if node.place == place => Some(schema),
            _ => None,
        })
    }

    /// The node of one value.
    fn constant_node(&mut self, value: &'a Value, place: PlaceId) -> Result<NodeId, SchemaError> {
        if let Some(&node) = self.nodes.constants.get(&address(value)) {
            return Ok(node);
        }
        self.spend(place, 1)?;
        let node = self.push(Source::Constant(value), place);
        self.nodes.constants.insert(address(value), node);
        Ok(node)
    }

    /// The node of what satisfies both.
    pub(crate) fn meet(&mut self, left: NodeId, right: NodeId) -> NodeId {
        match (left, right) {
            (NodeId::NEVER, _) | (_, NodeId::NEVER) => return NodeId::NEVER,
            (NodeId::ANY, node) | (node, NodeId::ANY) => return node,
            _ if left == right => return left,
            _ => {}
        }
        let mut members: Vec<NodeId> = Vec::new();
        for node in [left, right] {
            match &self.nodes.list[node.index()].source {
                Source::Intersection(inner) => members.extend(inner.iter().copied()),
                _ => members.push(node),
            }
        }
        // The order is kept: it decides the order of properties.
        let mut seen = FxHashSet::default();
        members.retain(|&member| seen.insert(member));
        if let [single] = members[..] {
            return single;
        }
        self.charge(1 + members.len() as u64 / 8);
        let members: Rc<[NodeId]> = members.into();
        if let Some(&node) = self.nodes.intersections.get(&members) {
            return node;
        }
        let node = self.node_of_both((left, right), &members, |graph| {
            let place = graph.nodes.list[left.index()].place;
            graph.push(Source::Intersection(members.clone()), place)
        });
        self.nodes.intersections.insert(members, node);
        node
    }

    /// The node of the values that are not in `node`, exactly. Of a schema's negation, see
    /// [`Graph::denial_node`].
    pub(crate) fn complement_node(&mut self, node: NodeId) -> NodeId {
        match node {
            NodeId::ANY => return NodeId::NEVER,
            NodeId::NEVER => return NodeId::ANY,
            _ => {}
        }
        if let Some(&known) = self.nodes.complements.get(&node) {
            return known;
        }
        let complement = self.node_of_others(node, |graph| {
            let place = graph.nodes.list[node.index()].place;
            graph.push(Source::Complement(node), place)
        });
        self.nodes.complements.insert(node, complement);
        self.nodes.complements.entry(complement).or_insert(node);
        complement
    }

    fn push(&mut self, source: Source<'a>, place: PlaceId) -> NodeId {
        // With its entries in tables by which it is found.
        let more = match &source {
            Source::Schema(..) | Source::Constant(_) => 128,
            Source::Complement(_) => 320,
            Source::Intersection(members) => 480 + 2 * size_of_val(&**members),
        };
        self.fuel.hold(size_of::<Node<'_>>() + more);
        self.nodes.list.push(Node { source, place, state: State::Pending });
        NodeId::from_index(self.nodes.list.len() - 1)
    }

    /// The schemas of the documents that were read, by address, with their places.
    pub(crate) fn schema_places(&self) -> impl Iterator<Item = (usize, PlaceId)> {
        self.nodes.schemas.iter().map(|(&(address, _), &node)| (address, self.place(node)))
    }

    /// The schemas of the documents that were read, each with its side and place.
    pub(crate) fn schemas_read(&self) -> impl Iterator<Item = (&'a Value, Side, PlaceId)> {
        self.nodes.list.iter().filter_map(|node| match (&node.source, &node.state) {
            (&Source::Schema(schema, side), State::Ready(_)) => Some((schema, side, node.place)),
            _ => None,
        })
    }

    /// Where a node's schema stands.
    pub(crate) fn place(&self, node: NodeId) -> PlaceId {
        self.nodes.list[node.index()].place
    }

    /// How many nodes there are.
    pub(crate) fn n_nodes(&self) -> usize {
        self.nodes.list.len()
    }

    /// The last step to a node's place, as a name for people.
    pub(crate) fn name(&self, node: NodeId) -> &str {
        match &self.found.places[self.place(node)].step {
            Step::Root => "schema",
            Step::Pointer(name) | Step::Member(_, name) => name,
            Step::Keyword(keyword) | Step::Item(keyword, _) => keyword,
        }
    }

    /// The place `step` below another.
    pub(crate) fn place_below(&mut self, parent: PlaceId, step: Step<Cow<'a, str>>) -> PlaceId {
        self.fuel.hold(2 * size_of::<Place<Cow<'a, str>>>());
        self.found.places.push(Place { parent, step });
        self.found.places.len() - 1
    }
}
