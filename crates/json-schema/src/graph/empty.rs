//! When a form is seen to be empty.
//!
//! Looking a few steps into the instance decides which alternatives of a product are kept, and whether
//! branches of `oneOf` exclude each other. `false` may be wrong (the grammar's own analysis is exact), `true`
//! may not.

use std::rc::Rc;

use maskwright_automata::Regex;

use crate::SchemaError;
use crate::forms::array::ArraySet;
use crate::forms::node_id::NodeId;
use crate::forms::object::{Names, ObjectSet};
use crate::forms::shape::{Shape, StringConstraint, StringSet};
use crate::graph::Graph;
use crate::numbers::number::NumberSet;
use crate::report::PlaceId;
use crate::strings::words::{self, Size};

/// How many sets of objects are compared with each other.
const MAX_ABSORBED: usize = 1024;

/// The least number of alternatives at which empty ones are searched for.
const MANY_ALTERNATIVES: usize = 16;

/// How far into the instance a product is looked at.
const PRODUCT_DEPTH: usize = 2;

impl<'a> Graph<'a> {
    /// The values in both, without the alternatives that are seen to be empty where there are many: of a
    /// product of `if`s, say, most contradict each other.
    pub(crate) fn product(
        &mut self,
        left: &Shape<'a>,
        right: &Shape<'a>,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        let both = self.intersect(left, right, place)?;
        let n = both.n_alternatives();
        if n < MANY_ALTERNATIVES || n <= left.n_alternatives().max(right.n_alternatives()) {
            return Ok(both);
        }
        self.drop_empty(both, PRODUCT_DEPTH)
    }

    /// The form without the alternatives that are seen to be empty, or in another one.
    pub(crate) fn without_empty(&mut self, shape: Shape<'a>, depth: usize) -> Result<Shape<'a>, SchemaError> {
        let mut shape = self.drop_empty(shape, depth)?;
        self.absorb_objects(&mut shape.objects);
        Ok(shape)
    }

    fn drop_empty(&mut self, mut shape: Shape<'a>, depth: usize) -> Result<Shape<'a>, SchemaError> {
        let mut objects = Vec::with_capacity(shape.objects.len());
        for set in std::mem::take(&mut shape.objects) {
            if !self.is_object_seen_empty(&set, depth)? {
                objects.push(set);
            }
        }
        let mut arrays = Vec::with_capacity(shape.arrays.len());
        for set in std::mem::take(&mut shape.arrays) {
            if !self.is_array_seen_empty(&set, depth)? {
                arrays.push(set);
            }
        }
        Ok(Shape { objects, arrays, ..shape })
    }

    /// Drops objects that are seen to be in another set of the list: what products of complements make are
    /// mostly those.
    fn absorb_objects(&mut self, objects: &mut Vec<Rc<ObjectSet<'a>>>) {
        if objects.len() < 2 || objects.len() > MAX_ABSORBED {
            return;
        }
        let mut kept: Vec<Rc<ObjectSet<'a>>> = Vec::with_capacity(objects.len());
        for set in objects.drain(..) {
            self.charge(kept.len() as u64 / 8);
            if kept.iter().any(|known| self.is_seen_within(&set, known)) {
                continue;
            }
            kept.retain(|known| !self.is_seen_within(known, &set));
            kept.push(set);
        }
        *objects = kept;
    }

    /// Whether each object of `inner` is seen to be in `outer`.
    fn is_seen_within(&mut self, inner: &ObjectSet<'a>, outer: &ObjectSet<'a>) -> bool {
        let has_bounds = (outer.min == 0 || inner.min >= outer.min)
            && outer.max.is_none_or(|max| inner.max.is_some_and(|inner| inner <= max));
        if !has_bounds
            || !outer.witnesses.iter().all(|witness| inner.witnesses.contains(witness))
            || !self.is_node_within(inner.additional, outer.additional)
        {
            return false;
        }
        let has_classes = outer.classes.is_empty()
            && (outer.additional == NodeId::ANY
                || inner.classes.iter().all(|class| self.is_node_within(class.schema, outer.additional)));
        let has_same_classes = outer.classes.len() == inner.classes.len()
            && outer.classes.iter().zip(&inner.classes).all(|(outer, inner)| {
                outer.keys == inner.keys && self.is_node_within(inner.schema, outer.schema)
            });
        if !has_classes && !has_same_classes {
            return false;
        }
        self.charge(1 + (inner.properties.len() + outer.properties.len()) as u64 / 8);
        // Mostly both have the same names, or it is seen from the first.
        let mut names = None;
        let has_properties = outer.properties.iter().enumerate().all(|(i, property)| {
            let same = inner.properties.get(i).filter(|same| same.name == property.name);
            let same = same
                .or_else(|| names.get_or_insert_with(|| Names::new(&inner.properties)).find(property.name));
            let schema = match same {
                Some(same) => same.schema,
                None if inner.classes.is_empty() => inner.additional,
                None => NodeId::ANY,
            };
            self.is_node_within(schema, property.schema)
                && (!property.is_required || same.is_some_and(|same| same.is_required))
        });
        // What only the inner set names falls under the outer one's other keys.
        has_properties
            && (outer.additional == NodeId::ANY && outer.classes.is_empty()
                || inner
                    .properties
                    .iter()
                    .all(|property| outer.properties.iter().any(|known| known.name == property.name)))
    }

    /// Whether it is seen, at most `depth` steps into the instance, that no value has this form.
    pub(crate) fn is_seen_empty(&mut self, shape: &Shape<'a>, depth: usize) -> Result<bool, SchemaError> {
        if shape.has_null || shape.has_true || shape.has_false {
            return Ok(false);
        }
        if shape.numbers.iter().any(|set| !is_number_seen_empty(set)) {
            return Ok(false);
        }
        for set in &shape.strings {
            if !self.is_string_seen_empty(set)? {
                return Ok(false);
            }
        }
        for set in &shape.objects {
            if !self.is_object_seen_empty(set, depth)? {
                return Ok(false);
            }
        }
        for set in &shape.arrays {
            if !self.is_array_seen_empty(set, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_object_seen_empty(&mut self, set: &ObjectSet<'a>, depth: usize) -> Result<bool, SchemaError> {
        for property in set.properties.iter().filter(|property| property.is_required) {
            if self.is_node_seen_empty(property.schema, depth)? {
                return Ok(true);
            }
        }
        for witness in &set.witnesses {
            if !self.may_be_witnessed(set, &witness.keys, witness.schema, depth)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether some member may have a key of `keys` and a value of `schema`.
    fn may_be_witnessed(
        &mut self,
        set: &ObjectSet<'a>,
        keys: &Regex,
        schema: NodeId,
        depth: usize,
    ) -> Result<bool, SchemaError> {
        if set.properties.len() + set.classes.len() > 64 {
            return Ok(true);
        }
        let place = self.place(schema);
        for property in &set.properties {
            let both = self.meet(property.schema, schema);
            if !self.is_node_seen_empty(both, depth)? && self.is_word(keys, property.name, place)? {
                return Ok(true);
            }
        }
        for class in &set.classes {
            let both = self.meet(class.schema, schema);
            if !self.is_node_seen_empty(both, depth)? {
                return Ok(true);
            }
        }
        let both = self.meet(set.additional, schema);
        Ok(!self.is_node_seen_empty(both, depth)?)
    }

    fn is_array_seen_empty(&mut self, set: &ArraySet, depth: usize) -> Result<bool, SchemaError> {
        let n_certain = usize::try_from(set.min).unwrap_or(usize::MAX);
        for &item in set.prefix.iter().take(n_certain) {
            if self.is_node_seen_empty(item, depth)? {
                return Ok(true);
            }
        }
        if n_certain > set.prefix.len() && self.is_node_seen_empty(set.rest, depth)? {
            return Ok(true);
        }
        for count in set.counts.iter().filter(|count| count.min > 0) {
            let mut is_possible = false;
            let from = usize::try_from(count.from).unwrap_or(usize::MAX).min(set.prefix.len());
            for &item in set.prefix[from..].iter().chain([&set.rest]) {
                let both = self.meet(item, count.schema);
                if !self.is_node_seen_empty(both, depth)? {
                    is_possible = true;
                    break;
                }
            }
            if !is_possible {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_string_seen_empty(&mut self, set: &StringSet<'a>) -> Result<bool, SchemaError> {
        match set {
            StringSet::Words(_) => Ok(false),
            StringSet::Constrained(StringConstraint { patterns, .. })
                if patterns.len() < 2 && !patterns.iter().any(Regex::is_extended) =>
            {
                Ok(false)
            }
            set => {
                let language = self.language_of(std::slice::from_ref(set), 0)?;
                self.is_empty_language(&language, 0)
            }
        }
    }

    /// Whether no word is in a language. Exact; what is found is kept.
    pub(crate) fn is_empty_language(&mut self, regex: &Regex, place: PlaceId) -> Result<bool, SchemaError> {
        if !regex.is_extended() {
            return Ok(*regex == Regex::empty());
        }
        if let Some(&known) = self.known.empties.get(regex) {
            return Ok(known);
        }
        self.spend(place, 1)?;
        // The language can come of several keywords, so none is named.
        let is_empty = words::is_empty(regex, self.fuel).map_err(|kind| self.error(place, None, kind))?;
        self.known.empties.insert(regex.clone(), is_empty);
        Ok(is_empty)
    }

    /// How many words a language has.
    pub(crate) fn size(&mut self, regex: &Regex, place: PlaceId) -> Result<Size, SchemaError> {
        if let Some(&known) = self.known.sizes.get(regex) {
            return Ok(known);
        }
        self.spend(place, 1)?;
        let size = words::size(regex, self.fuel).map_err(|kind| self.error(place, None, kind))?;
        self.known.sizes.insert(regex.clone(), size);
        Ok(size)
    }

    /// The words of a language that has few.
    pub(crate) fn words(&mut self, regex: &Regex, place: PlaceId) -> Result<Vec<Vec<u8>>, SchemaError> {
        words::words(regex, self.fuel).map_err(|kind| self.error(place, None, kind))
    }

    fn is_node_seen_empty(&mut self, node: NodeId, depth: usize) -> Result<bool, SchemaError> {
        if node == NodeId::NEVER {
            return Ok(true);
        }
        if depth == 0 || node == NodeId::ANY {
            return Ok(false);
        }
        if let Some(&known) = self.known.empty_nodes.get(&(node, depth)) {
            return Ok(known);
        }
        self.spend(self.place(node), 1)?;
        let shape = match self.whole_shape(node) {
            Ok(shape) => shape,
            // A schema that is still being read is in it, so nothing is known about it.
            Err(error) if error.is_loop() => return Ok(false),
            // Whether it is needed is found out where it is.
            Err(error) if error.may_be_loosened() => {
                self.known.empty_nodes.insert((node, depth), false);
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let is_empty = self.is_seen_empty(&shape, depth - 1)?;
        self.known.empty_nodes.insert((node, depth), is_empty);
        Ok(is_empty)
    }
}

fn is_number_seen_empty(set: &NumberSet<'_>) -> bool {
    matches!(set, NumberSet::Values(values) if values.is_empty())
}
