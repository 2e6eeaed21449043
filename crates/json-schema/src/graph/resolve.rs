//! From a node of the graph to its canonical form, one step deep.
//!
//! A node is resolved when it is first asked for. While its schema is read it is *active*, at a depth.
//!
//! **Schemas that lead back to themselves** without a step into the instance. For one value, whether it is
//! valid is then a truth value that depends on itself, s = f(s). Where f says the same for both, the other
//! keywords decide; else nothing does, a validator may not end, and the value is not taken: the least set
//! that satisfies the schema is meant. Both are found by reading the schema with the assumption that s is
//! false, and turning the assumption around below each negation: what is valid then is valid whatever s is.
//!
//! Only branches of `anyOf` and `oneOf` are read in this way, as what a schema adds to others. Elsewhere it
//! is an error, if any value depends on it.

use std::rc::Rc;

use serde_json::Value;

use super::{Assumed, Graph, Source, State};
use crate::SchemaError;
use crate::error::Kind;
use crate::forms::array::ArraySet;
use crate::forms::node_id::NodeId;
use crate::forms::object::{ObjectSet, Property};
use crate::forms::shape::{Shape, StringSet};
use crate::numbers::number::{NumberSet, NumberValue};
use crate::report::PlaceId;

/// What it costs to read a schema again.
const REREAD: u64 = 1_000;

/// A branch of `anyOf` or `oneOf`.
pub(crate) struct Branch<'a> {
    /// The values that it has in any case; below a negation, those that it may have.
    pub(crate) shape: Rc<Shape<'a>>,
    /// The other way round: what others lose where it excludes them.
    pub(crate) most: Rc<Shape<'a>>,
    /// Whether both are the same.
    pub(crate) is_whole: bool,
}

impl<'a> Graph<'a> {
    /// The canonical form of a node.
    ///
    /// # Errors
    /// Whatever is wrong with its schema; that it leads back to itself without a step into the instance.
    pub(crate) fn shape(&mut self, node: NodeId) -> Result<Rc<Shape<'a>>, SchemaError> {
        let place = self.place(node);
        match &self.nodes.list[node.index()].state {
            State::Ready(shape) => return Ok(shape.clone()),
            &State::Active(depth) => {
                self.reading.loops_to = self.reading.loops_to.min(depth);
                let is_assumed =
                    |assumed: &Assumed| (self.reading.whole_from..assumed.depth).contains(&depth);
                if let Some(assumed) = self.reading.assumed.filter(is_assumed) {
                    return Ok(Rc::new(if assumed.has_all { Shape::any() } else { Shape::default() }));
                }
                return Err(self.error(place, Some("$ref"), Kind::Loop { is_negated: false }));
            }
            State::Pending => {}
        }
        if self.reading.depth >= self.config.limits.max_depth {
            let message = format!(
                "references and combinations follow each other more than {} deep",
                self.config.limits.max_depth
            );
            return Err(self.error(place, None, Kind::Limit { message }));
        }
        if self.reading.looping.contains(&place) {
            // What is read again may have others in it that are.
            self.spend(place, REREAD)?;
        }
        self.nodes.list[node.index()].state = State::Active(self.reading.depth);
        self.reading.depth += 1;
        let n_entries = self.found.entries.len();
        let mut shape = self.resolve_shape(node, place);
        if shape.as_ref().is_err_and(SchemaError::is_loop) && self.reading.loops_to == self.reading.depth - 1
        {
            // It leads back here. That is no error if it does not matter.
            let (least, most) = self.between(|graph| graph.resolve_shape(node, place));
            if let (Ok(least), Ok(most)) = (least, most)
                && least == most
            {
                shape = Ok(least);
            }
        }
        self.reading.depth -= 1;
        let is_whole = self.reading.loops_to >= self.reading.depth;
        if is_whole {
            self.reading.loops_to = usize::MAX;
        }
        self.nodes.list[node.index()].state = match &shape {
            // It lacks a branch that refers to an enclosing schema, and is read again once that schema is
            // done.
            Ok(_) if !is_whole => {
                self.reading.looping.insert(place);
                State::Pending
            }
            Ok(shape) => {
                self.fuel.hold(shape.n_bytes());
                State::Ready(shape.clone())
            }
            Err(_) => {
                // The caller may go on, and come back to this node.
                self.found.entries.truncate(n_entries);
                State::Pending
            }
        };
        shape
    }

    /// The form of a node, without any assumption about the schemas that are being read.
    ///
    /// # Errors
    /// As [`shape`](Graph::shape); if one of them is a part of it.
    pub(crate) fn whole_shape(&mut self, node: NodeId) -> Result<Rc<Shape<'a>>, SchemaError> {
        let before = (self.reading.loops_to, self.reading.assumed.take(), self.reading.whole_from);
        self.reading.whole_from = self.reading.depth;
        let shape = self.shape(node);
        (self.reading.loops_to, self.reading.assumed, self.reading.whole_from) = before;
        shape
    }

    /// What is read if the schemas that are being read have no values, and if they have all; below a negation
    /// it is the other way round.
    fn between<T>(&mut self, mut read: impl FnMut(&mut Graph<'a>) -> T) -> (T, T) {
        let before = self.reading.assumed;
        let mut assuming = |has_all| {
            self.reading.assumed = Some(Assumed { depth: self.reading.depth, has_all });
            read(self)
        };
        let both = (assuming(false), assuming(true));
        self.reading.assumed = before;
        both
    }

    /// Turns what is assumed around.
    fn negate_assumed(&mut self) {
        if let Some(assumed) = &mut self.reading.assumed {
            assumed.has_all = !assumed.has_all;
        }
    }

    /// A branch of `anyOf` or `oneOf`. If it leads back to a schema that is being read, without a step into
    /// the instance: it is what it is whatever that schema has. `None` if it has no values then; `leads_back`
    /// is the first error of such a branch.
    pub(crate) fn branch_shape(
        &mut self,
        branch: NodeId,
        leads_back: &mut Option<SchemaError>,
    ) -> Result<Option<Branch<'a>>, SchemaError> {
        let before = std::mem::replace(&mut self.reading.loops_to, usize::MAX);
        let shape = self.shape(branch);
        let loops_to = self.reading.loops_to;
        let is_whole = loops_to == usize::MAX;
        self.reading.loops_to = loops_to.min(before);
        let error = match shape {
            Err(error) if error.is_loop() && loops_to >= self.reading.whole_from => Some(error),
            Err(error) => return Err(error),
            Ok(_) if !is_whole && self.reading.assumed.is_some() => None,
            Ok(shape) => return Ok(Some(Branch { most: shape.clone(), shape, is_whole: true })),
        };
        let (least, most) = self.between(|graph| graph.shape(branch));
        let (mut shape, mut most) = (least?, most?);
        if self.reading.assumed.is_some_and(|assumed| assumed.has_all) {
            std::mem::swap(&mut shape, &mut most);
        }
        let Some(error) = error.filter(|_| *shape == Shape::default()) else {
            return Ok(Some(Branch { shape, most, is_whole: false }));
        };
        if !error.is_plain_loop() {
            return Err(error);
        }
        leads_back.get_or_insert(error);
        Ok(None)
    }

    fn resolve_shape(&mut self, node: NodeId, place: PlaceId) -> Result<Rc<Shape<'a>>, SchemaError> {
        match self.nodes.list[node.index()].source.clone() {
            Source::Schema(schema, side) => {
                let around = self.turn_to(side);
                let shape = self.read_schema(schema, place);
                self.turn_to(around);
                shape
            }
            Source::Constant(value) => self.constant_shape(value, place),
            Source::Intersection(members) => {
                // One more member than an intersection that is known: long ones grow by one.
                let (last, before) = members.split_last().expect("an intersection has members");
                let known =
                    self.nodes.intersections.get(before).map(|node| &self.nodes.list[node.index()].state);
                let (mut shape, rest) = match known {
                    Some(State::Ready(shape)) => (shape.clone(), std::slice::from_ref(last)),
                    _ => {
                        let first = self.shape(members[0]);
                        (first.map_err(|error| self.blame(error, members[0]))?, &members[1..])
                    }
                };
                for &member in rest {
                    let other = self.shape_within(&shape, member, place);
                    let other = other.map_err(|error| self.blame(error, member))?;
                    let both = self.product(&shape, &other, place);
                    shape = Rc::new(both.map_err(|error| self.blame(error, member))?);
                }
                Ok(shape)
            }
            Source::Complement(denied) => {
                self.negate_assumed();
                let shape = self.shape(denied).map_err(SchemaError::negated);
                self.negate_assumed();
                let shape = shape?;
                Ok(Rc::new(self.complement(&shape, place)?))
            }
        }
    }

    /// The form of a node, restricted to what matters for values of `known`. If all arrays of `known` have
    /// different items, it does not matter whether those of a complement must, so `uniqueItems` can be
    /// complemented.
    fn shape_within(
        &mut self,
        known: &Shape<'a>,
        node: NodeId,
        place: PlaceId,
    ) -> Result<Rc<Shape<'a>>, SchemaError> {
        if let Source::Complement(denied) = self.nodes.list[node.index()].source
            && known.has_only_unique_arrays()
        {
            self.negate_assumed();
            let shape = self.shape(denied);
            self.negate_assumed();
            let shape = shape?;
            if shape.has_unique_arrays() {
                return Ok(Rc::new(self.complement(&shape.with_any_items(), place)?));
            }
        }
        self.shape(node)
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
                    numbers.push(NumberValue { value, text: number.as_str(), is_integer: false });
                }
                Value::Array(items) => {
                    let prefix: Result<Vec<_>, _> =
                        items.iter().map(|item| self.constant_node(item, place)).collect();
                    let length = items.len() as u64;
                    let set = ArraySet {
                        prefix: prefix?,
                        rest: NodeId::NEVER,
                        min: length,
                        max: Some(length),
                        ..ArraySet::any()
                    };
                    shape.arrays.push(Rc::new(set));
                }
                Value::Object(members) => {
                    let mut properties = Vec::with_capacity(members.len());
                    for (name, value) in members {
                        let schema = self.constant_node(value, place)?;
                        properties.push(Property { name, schema, is_required: true, is_declared: true });
                    }
                    shape.objects.push(Rc::new(ObjectSet {
                        properties,
                        additional: NodeId::NEVER,
                        ..ObjectSet::any()
                    }));
                }
            }
        }
        if !words.is_empty() {
            shape.strings.reserve_exact(1);
            shape.strings.push(StringSet::Words(words.into()));
        }
        if !numbers.is_empty() {
            shape.numbers.reserve_exact(1);
            shape.numbers.push(NumberSet::Values(numbers.into()));
        }
        Ok(())
    }
}
