//! The schemas of one document as a lazily resolved graph of canonical forms.
//!
//! Nodes are schemas of the document (one for each place that is read, found by address, so that all
//! references to it share it), constants, and intersections of other nodes. [`Graph::shape`] resolves a node
//! one step deep. An intersection is keyed by the flat list of what it intersects, so intersecting recursive
//! schemas ends: there are finitely many lists. What it costs is counted in fuel, and alternatives are
//! limited, since multiplying out `anyOf`s is exponential in the worst case.

use std::borrow::Cow;
use std::rc::Rc;

use maskwright_automata::{Fuel, FuelError, Regex};
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::draft::Draft;
use crate::error::Kind;
use crate::number::{NumberSet, NumberValue};
use crate::reference::Resources;
use crate::report::{self, Entry, Place, Status, Step};
use crate::shape::{ArraySet, NodeId, ObjectSet, Property, Shape, StringSet};
use crate::words::Matcher;
use crate::{SchemaConfig, SchemaError};

/// An index into [`Graph::places`].
pub(crate) type PlaceId = usize;

pub(crate) struct Graph<'a> {
    pub(crate) config: &'a SchemaConfig,
    pub(crate) fuel: &'a Fuel,
    pub(crate) draft: Draft,
    pub(crate) root: &'a Value,
    /// Made when the first reference is met.
    pub(crate) resources: Option<Resources<'a>>,
    nodes: Vec<Node<'a>>,
    places: Vec<Place<Cow<'a, str>>>,
    entries: Vec<Entry<Cow<'a, str>>>,
    /// Nodes by the address of their schema in the document.
    schemas: FxHashMap<usize, NodeId>,
    /// Nodes by the address of their constant in the document.
    constants: FxHashMap<usize, NodeId>,
    intersections: FxHashMap<Rc<[NodeId]>, NodeId>,
    patterns: FxHashMap<&'a str, Regex>,
    matchers: FxHashMap<Regex, Matcher>,
    depth: usize,
    /// The first contradiction met, for the message if nothing satisfies the schema.
    conflict: Option<(PlaceId, &'static str, String)>,
}

struct Node<'a> {
    source: Source<'a>,
    place: PlaceId,
    state: State<'a>,
}

#[derive(Clone)]
enum Source<'a> {
    Schema(&'a Value),
    Constant(&'a Value),
    Intersection(Rc<[NodeId]>),
}

enum State<'a> {
    Pending,
    Active,
    Ready(Rc<Shape<'a>>),
}

impl<'a> Graph<'a> {
    pub(crate) fn new(root: &'a Value, config: &'a SchemaConfig, fuel: &'a Fuel) -> Graph<'a> {
        let fixed = |shape| Node {
            source: Source::Intersection(Rc::new([])),
            place: 0,
            state: State::Ready(Rc::new(shape)),
        };
        Graph {
            config,
            fuel,
            draft: Draft::of(root),
            root,
            resources: None,
            nodes: vec![fixed(Shape::any()), fixed(Shape::default())],
            places: vec![Place { parent: 0, step: Step::Root }],
            entries: Vec::new(),
            schemas: FxHashMap::default(),
            constants: FxHashMap::default(),
            intersections: FxHashMap::default(),
            patterns: FxHashMap::default(),
            matchers: FxHashMap::default(),
            depth: 0,
            conflict: None,
        }
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
        if let Some(&node) = self.schemas.get(&address(schema)) {
            return Ok(node);
        }
        self.spend(parent, 1)?;
        let place = match step {
            Step::Root => 0,
            step => {
                self.places.push(Place { parent, step });
                self.places.len() - 1
            }
        };
        if !schema.is_object() {
            let message = format!("a schema must be an object or a boolean, but it is {}", kind_of(schema));
            return Err(self.error(place, None, Kind::Malformed { message }));
        }
        let node = self.push(Source::Schema(schema), place);
        self.schemas.insert(address(schema), node);
        Ok(node)
    }

    /// The node of one value.
    fn constant_node(&mut self, value: &'a Value, place: PlaceId) -> Result<NodeId, SchemaError> {
        if let Some(&node) = self.constants.get(&address(value)) {
            return Ok(node);
        }
        self.spend(place, 1)?;
        let node = self.push(Source::Constant(value), place);
        self.constants.insert(address(value), node);
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
            match &self.nodes[node.index()].source {
                Source::Intersection(inner) => members.extend(inner.iter().copied()),
                _ => members.push(node),
            }
        }
        // The order is kept: it decides the order of properties.
        let mut kept = Vec::with_capacity(members.len());
        for member in members {
            if !kept.contains(&member) {
                kept.push(member);
            }
        }
        if let [single] = kept[..] {
            return single;
        }
        let members: Rc<[NodeId]> = kept.into();
        if let Some(&node) = self.intersections.get(&members) {
            return node;
        }
        let place = self.nodes[left.index()].place;
        let node = self.push(Source::Intersection(members.clone()), place);
        self.intersections.insert(members, node);
        node
    }

    fn push(&mut self, source: Source<'a>, place: PlaceId) -> NodeId {
        self.nodes.push(Node { source, place, state: State::Pending });
        NodeId::from_index(self.nodes.len() - 1)
    }

    /// Where a node's schema stands.
    pub(crate) fn place(&self, node: NodeId) -> PlaceId {
        self.nodes[node.index()].place
    }

    /// How many nodes there are.
    pub(crate) fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The last step to a node's place, as a name for people.
    pub(crate) fn name(&self, node: NodeId) -> &str {
        match &self.places[self.place(node)].step {
            Step::Root => "schema",
            Step::Pointer(name) | Step::Member(_, name) => name,
            Step::Keyword(keyword) | Step::Item(keyword, _) => keyword,
        }
    }

    /// The canonical form of a node.
    ///
    /// # Errors
    /// Whatever is wrong with its schema; that it leads back to itself without a step into the instance.
    pub(crate) fn shape(&mut self, node: NodeId) -> Result<Rc<Shape<'a>>, SchemaError> {
        let place = self.place(node);
        match &self.nodes[node.index()].state {
            State::Ready(shape) => return Ok(shape.clone()),
            State::Active => {
                return Err(self.error(place, Some("$ref"), Kind::Loop));
            }
            State::Pending => {}
        }
        if self.depth >= self.config.limits.max_depth {
            let message = format!(
                "references and combinations follow each other more than {} deep",
                self.config.limits.max_depth
            );
            return Err(self.error(place, None, Kind::Limit { message }));
        }
        self.nodes[node.index()].state = State::Active;
        self.depth += 1;
        let n_entries = self.entries.len();
        let shape = self.resolve_shape(node, place);
        self.depth -= 1;
        self.nodes[node.index()].state = match &shape {
            Ok(shape) => State::Ready(shape.clone()),
            Err(_) => {
                // The caller may go on, and come back to this node.
                self.entries.truncate(n_entries);
                State::Pending
            }
        };
        shape
    }

    fn resolve_shape(&mut self, node: NodeId, place: PlaceId) -> Result<Rc<Shape<'a>>, SchemaError> {
        match self.nodes[node.index()].source.clone() {
            Source::Schema(schema) => self.read_schema(schema, place),
            Source::Constant(value) => self.constant_shape(value, place),
            Source::Intersection(members) => {
                let mut shape = self.shape(members[0])?;
                for &member in &members[1..] {
                    let other = self.shape(member)?;
                    shape = Rc::new(self.intersect(&shape, &other, place)?);
                }
                Ok(shape)
            }
        }
    }

    /// The form of exactly one value.
    fn constant_shape(&mut self, value: &'a Value, place: PlaceId) -> Result<Rc<Shape<'a>>, SchemaError> {
        let mut shape = Shape::default();
        self.add_constants(&mut shape, std::slice::from_ref(value), place, "const")?;
        Ok(Rc::new(shape))
    }

    /// Adds the given values, and no others, to `shape`.
    pub(crate) fn add_constants(
        &mut self,
        shape: &mut Shape<'a>,
        values: &'a [Value],
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<(), SchemaError> {
        self.spend(place, values.len() as u64)?;
        let mut words = Vec::new();
        let mut numbers = Vec::new();
        for value in values {
            match value {
                Value::Null => shape.has_null = true,
                Value::Bool(true) => shape.has_true = true,
                Value::Bool(false) => shape.has_false = true,
                Value::String(text) => words.push(text.as_str()),
                Value::Number(number) => {
                    let value = Rc::new(self.decimal(number, place, keyword)?);
                    numbers.push(NumberValue { value, text: number.as_str() });
                }
                Value::Array(items) => {
                    let prefix: Result<Vec<_>, _> =
                        items.iter().map(|item| self.constant_node(item, place)).collect();
                    let length = items.len() as u64;
                    let set =
                        ArraySet { prefix: prefix?, rest: NodeId::NEVER, min: length, max: Some(length) };
                    shape.arrays.push(Rc::new(set));
                }
                Value::Object(members) => {
                    let mut properties = Vec::with_capacity(members.len());
                    for (name, value) in members {
                        let schema = self.constant_node(value, place)?;
                        properties.push(Property { name, schema, is_required: true, is_declared: true });
                    }
                    shape.objects.push(Rc::new(ObjectSet { properties, additional: NodeId::NEVER }));
                }
            }
        }
        if !words.is_empty() {
            shape.strings.push(StringSet::Words(words.into()));
        }
        if !numbers.is_empty() {
            shape.numbers.push(NumberSet::Values(numbers.into()));
        }
        Ok(())
    }

    /// The values in both; in objects, the order of properties of `left` comes first.
    pub(crate) fn intersect(
        &mut self,
        left: &Shape<'a>,
        right: &Shape<'a>,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        let mut shape = Shape {
            has_null: left.has_null && right.has_null,
            has_true: left.has_true && right.has_true,
            has_false: left.has_false && right.has_false,
            ..Shape::default()
        };
        for (a, b) in pairs(&left.numbers, &right.numbers) {
            self.spend(place, 1)?;
            shape.numbers.extend(a.intersect(b));
        }
        for (a, b) in pairs(&left.strings, &right.strings) {
            self.spend(place, 1)?;
            shape.strings.extend(self.intersect_strings(a, b, place)?);
        }
        for (a, b) in pairs(&left.arrays, &right.arrays) {
            self.spend(place, 1 + a.prefix.len().max(b.prefix.len()) as u64)?;
            shape.arrays.extend(a.intersect(b, |a, b| self.meet(a, b)).map(Rc::new));
        }
        for (a, b) in pairs(&left.objects, &right.objects) {
            self.spend(place, 1 + (a.properties.len() + b.properties.len()) as u64)?;
            match a.intersect(b, |a, b| self.meet(a, b)) {
                Ok(set) => shape.objects.push(Rc::new(set)),
                Err(name) => self.note_conflict(place, "required", || {
                    format!("the property \"{name}\" is required, but no value of it is allowed")
                }),
            }
        }
        // Only a product is refused: a long list of constants, for one, costs what it is long.
        if shape.n_alternatives() > left.n_alternatives().max(right.n_alternatives()) {
            self.check_alternatives(&shape, place)?;
        }
        Ok(shape)
    }

    fn intersect_strings(
        &mut self,
        left: &StringSet<'a>,
        right: &StringSet<'a>,
        place: PlaceId,
    ) -> Result<Option<StringSet<'a>>, SchemaError> {
        let (words, kept) = match (left, right) {
            (StringSet::Constrained(left), StringSet::Constrained(right)) => {
                return Ok(left.intersect(right).map(StringSet::Constrained));
            }
            (StringSet::Words(words), StringSet::Constrained(constraint))
            | (StringSet::Constrained(constraint), StringSet::Words(words)) => {
                if constraint.is_any() {
                    return Ok(Some(StringSet::Words(words.clone())));
                }
                let mut kept: Vec<&'a str> =
                    words.iter().copied().filter(|word| constraint.allows_length(word)).collect();
                for pattern in &constraint.patterns {
                    kept = self.matching(pattern, kept, place)?;
                }
                (words, kept)
            }
            (StringSet::Words(left), StringSet::Words(right)) => {
                self.spend(place, (left.len() + right.len()) as u64)?;
                let mut sorted: Vec<&str> = right.to_vec();
                sorted.sort_unstable();
                let kept = left.iter().copied().filter(|word| sorted.binary_search(word).is_ok()).collect();
                (left, kept)
            }
        };
        Ok(match kept.len() {
            0 => None,
            n if n == words.len() => Some(StringSet::Words(words.clone())),
            _ => Some(StringSet::Words(kept.into())),
        })
    }

    /// Those of `words` that are in the language of `pattern`.
    fn matching(
        &mut self,
        pattern: &Regex,
        words: Vec<&'a str>,
        place: PlaceId,
    ) -> Result<Vec<&'a str>, SchemaError> {
        let mut matcher = self.matchers.remove(pattern).unwrap_or_else(|| Matcher::new(pattern));
        let mut kept = Vec::with_capacity(words.len());
        for word in words {
            match matcher.matches(word, self.fuel) {
                Ok(true) => kept.push(word),
                Ok(false) => {}
                Err(kind) => return Err(self.error(place, Some("pattern"), kind)),
            }
        }
        self.matchers.insert(pattern.clone(), matcher);
        Ok(kept)
    }

    /// The language of a pattern.
    pub(crate) fn pattern(&mut self, pattern: &'a str, place: PlaceId) -> Result<Regex, SchemaError> {
        if let Some(regex) = self.patterns.get(pattern) {
            return Ok(regex.clone());
        }
        let parsed = maskwright_syntax::regex::parse_search(
            pattern,
            maskwright_syntax::regex::Dialect::Ecma,
            self.fuel,
        );
        match parsed {
            Ok(regex) => {
                self.patterns.insert(pattern, regex.clone());
                Ok(regex)
            }
            Err(error) => Err(self.error(place, Some("pattern"), Kind::of_syntax(&error))),
        }
    }

    /// Whether it is seen, at most `depth` steps into the instance, that no value has this form.
    pub(crate) fn is_seen_empty(&mut self, shape: &Shape<'a>, depth: usize) -> Result<bool, SchemaError> {
        let has_scalar = shape.has_null || shape.has_true || shape.has_false;
        if has_scalar || !shape.numbers.is_empty() || !shape.strings.is_empty() {
            return Ok(false);
        }
        for set in &shape.objects {
            let mut is_empty = false;
            for property in set.properties.iter().filter(|property| property.is_required) {
                is_empty = is_empty || self.is_node_seen_empty(property.schema, depth)?;
            }
            if !is_empty {
                return Ok(false);
            }
        }
        for set in &shape.arrays {
            let mut is_empty = false;
            let n_certain = usize::try_from(set.min).unwrap_or(usize::MAX);
            for &item in set.prefix.iter().take(n_certain) {
                is_empty = is_empty || self.is_node_seen_empty(item, depth)?;
            }
            if n_certain > set.prefix.len() {
                is_empty = is_empty || self.is_node_seen_empty(set.rest, depth)?;
            }
            if !is_empty {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_node_seen_empty(&mut self, node: NodeId, depth: usize) -> Result<bool, SchemaError> {
        if depth == 0 || node == NodeId::ANY {
            return Ok(false);
        }
        self.spend(self.place(node), 1)?;
        let shape = match self.shape(node) {
            Ok(shape) => shape,
            // It leads to a schema that is being read right now: nothing is seen of it yet.
            Err(error) if error.is_loop() => return Ok(false),
            Err(error) => return Err(error),
        };
        self.is_seen_empty(&shape, depth - 1)
    }

    // Errors and the report.

    pub(crate) fn spend(&self, place: PlaceId, units: u64) -> Result<(), SchemaError> {
        self.fuel.spend(units).map_err(|error| self.fuel_error(place, error))
    }

    pub(crate) fn fuel_error(&self, place: PlaceId, error: FuelError) -> SchemaError {
        self.error(place, None, Kind::Fuel(error))
    }

    pub(crate) fn error(&self, place: PlaceId, keyword: Option<&'static str>, kind: Kind) -> SchemaError {
        SchemaError::new(report::pointer(&self.places, place), keyword, kind)
    }

    pub(crate) fn check_alternatives(&self, shape: &Shape<'a>, place: PlaceId) -> Result<(), SchemaError> {
        let limit = self.config.limits.max_alternatives;
        let n = shape.n_alternatives();
        if n <= limit {
            return Ok(());
        }
        let message = format!("multiplied out, the alternatives are {n}, more than the limit of {limit}");
        Err(self.error(place, None, Kind::Limit { message }))
    }

    /// Notes that a keyword is enforced.
    pub(crate) fn note(&mut self, place: PlaceId, keyword: &'static str) {
        self.entries.push(Entry { place, keyword: Cow::Borrowed(keyword), status: Status::Enforced });
    }

    pub(crate) fn note_annotation(&mut self, place: PlaceId, keyword: &'a str) {
        self.entries.push(Entry { place, keyword: Cow::Borrowed(keyword), status: Status::Annotation });
    }

    /// A keyword that is not enforced: an error if the caller is strict, else noted.
    pub(crate) fn refuse(
        &mut self,
        place: PlaceId,
        keyword: &'static str,
        reason: impl Into<Cow<'static, str>>,
    ) -> Result<(), SchemaError> {
        let reason = reason.into();
        if self.config.strict {
            return Err(self.error(place, Some(keyword), Kind::Unsupported { message: reason.into_owned() }));
        }
        let status = Status::NotEnforced { reason };
        self.entries.push(Entry { place, keyword: Cow::Borrowed(keyword), status });
        Ok(())
    }

    /// Remembers a contradiction, unless one is known already.
    pub(crate) fn note_conflict(
        &mut self,
        place: PlaceId,
        keyword: &'static str,
        message: impl FnOnce() -> String,
    ) {
        if self.conflict.is_none() {
            self.conflict = Some((place, keyword, message()));
        }
    }

    /// The error for a schema without any text.
    pub(crate) fn unsatisfiable(&self, root: PlaceId) -> SchemaError {
        match &self.conflict {
            Some((place, keyword, message)) => {
                let message = format!("no value satisfies the schema: {message}");
                self.error(*place, Some(keyword), Kind::Unsatisfiable { message })
            }
            None => {
                let message = "no finite value satisfies it".into();
                self.error(root, None, Kind::Unsatisfiable { message })
            }
        }
    }

    pub(crate) fn into_report(self) -> report::Report {
        report::Report {
            places: self.places.iter().map(Place::to_owned).collect(),
            entries: self
                .entries
                .into_iter()
                .map(|entry| Entry {
                    place: entry.place,
                    keyword: entry.keyword.into(),
                    status: entry.status,
                })
                .collect(),
        }
    }
}

/// Every alternative of `left` with every one of `right`.
fn pairs<'s, T>(left: &'s [T], right: &'s [T]) -> impl Iterator<Item = (&'s T, &'s T)> {
    left.iter().flat_map(move |a| right.iter().map(move |b| (a, b)))
}

/// A value's address, which tells the values of one document apart.
pub(crate) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The JSON type of a value, for messages.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
