//! From the keywords of one schema to its canonical form.
//!
//! The second stage. A schema is the conjunction of its parts: the constraints it states itself, the list of
//! its constants, what its reference and each `allOf` branch say, and the unions that are `anyOf` and
//! `oneOf`. Each part becomes a shape, and the shapes are intersected.

use std::rc::Rc;

use serde_json::Value;

use super::keywords::{Exclusive, Keywords};
use crate::SchemaError;
use crate::error::Kind;
use crate::forms::array::{ArraySet, ItemCount};
use crate::forms::node_id::NodeId;
use crate::forms::shape::{Shape, StringConstraint, StringSet};
use crate::graph::Graph;
use crate::lenient::loose::Side;
use crate::numbers::decimal::{Decimal, Multiple};
use crate::numbers::number::{Bound, NumberRange, NumberSet};
use crate::report::{PlaceId, Step};
use crate::source::json_types::Types;

impl<'a> Graph<'a> {
    /// The canonical form of a schema object.
    pub(crate) fn read_schema(
        &mut self,
        schema: &'a Value,
        place: PlaceId,
    ) -> Result<Rc<Shape<'a>>, SchemaError> {
        if let Some(shape) = self.left_out(schema, place)? {
            return Ok(Rc::new(shape));
        }
        let keywords = self.read_keywords(schema, place)?;
        // Which keyword an error is about, if it is about one.
        let mut at = None;
        let shape = self.read_parts(schema, &keywords, place, &mut at);
        let mut shape = shape.map_err(|error| self.blame_part(error, schema, at))?;
        if self.side() == Side::Below && keywords.lost != Types::NONE {
            Rc::make_mut(&mut shape).remove(keywords.lost);
        }
        Ok(shape)
    }

    fn read_parts(
        &mut self,
        schema: &'a Value,
        keywords: &Keywords<'a>,
        place: PlaceId,
        at: &mut Option<&'static str>,
    ) -> Result<Rc<Shape<'a>>, SchemaError> {
        let mut shape: Option<Rc<Shape<'a>>> = None;
        if let Some(values) = keywords.enumeration {
            *at = Some("enum");
            let mut constants = Shape::default();
            self.add_constants(&mut constants, values, place, "enum")?;
            self.conjoin(&mut shape, Rc::new(constants), place)?;
        }
        if let Some(value) = keywords.constant {
            *at = Some("const");
            let mut constants = Shape::default();
            self.add_constants(&mut constants, std::slice::from_ref(value), place, "const")?;
            self.conjoin(&mut shape, Rc::new(constants), place)?;
        }
        if keywords.constrains {
            *at = None;
            let own = self.own_shape(keywords, place)?;
            self.conjoin(&mut shape, Rc::new(own), place)?;
        }
        for &(keyword, reference) in &keywords.references {
            *at = Some(keyword);
            let (target, _) = self.resolve(reference, keyword, schema, place)?;
            let target = self.shape(target)?;
            self.conjoin(&mut shape, target, place)?;
        }
        for (i, branch) in keywords.all_of.unwrap_or_default().iter().enumerate() {
            *at = Some("allOf");
            let branch = self.schema_node(branch, place, Step::Item("allOf", i))?;
            let known = self.shape(branch)?;
            let both = self.conjoin(&mut shape, known, place);
            both.map_err(|error| self.blame(error, branch))?;
        }
        for (keyword, dependencies) in &keywords.dependencies {
            *at = Some(keyword);
            for (name, needed) in *dependencies {
                let dependency = self.dependency(keyword, name, needed, keywords.properties, place)?;
                self.conjoin(&mut shape, Rc::new(dependency), place)?;
            }
        }
        if let Some(denied) = keywords.not {
            *at = Some("not");
            let denied = self.schema_node(denied, place, Step::Keyword("not"))?;
            let rest = self.denial_node(denied);
            let rest = self.shape(rest)?;
            self.conjoin(&mut shape, rest, place)?;
        }
        if let Some(condition) = keywords.condition
            && (keywords.consequence.is_some() || keywords.alternative.is_some())
        {
            *at = Some("if");
            let choice = self.conditional(condition, keywords, place)?;
            self.conjoin(&mut shape, Rc::new(choice), place)?;
        }
        if let Some(branches) = keywords.any_of {
            *at = Some("anyOf");
            let union = self.union(branches, "anyOf", place)?;
            self.conjoin(&mut shape, Rc::new(union), place)?;
        }
        if let Some(branches) = keywords.one_of {
            *at = Some("oneOf");
            if keywords.may_overlap {
                let union = self.union(branches, "oneOf", place)?;
                self.conjoin(&mut shape, Rc::new(union), place)?;
            } else {
                let union = self.exclusive_union(branches, shape.as_deref(), place)?;
                shape = Some(Rc::new(union));
            }
        }
        let shape = shape.unwrap_or_else(|| Rc::new(Shape::any()));
        if keywords.unevaluated_properties.is_some() || keywords.unevaluated_items.is_some() {
            let is_about_properties = keywords.unevaluated_properties.is_some();
            *at = Some(if is_about_properties { "unevaluatedProperties" } else { "unevaluatedItems" });
            return self.restrict_unevaluated(shape, schema, keywords, place);
        }
        Ok(shape)
    }

    /// Intersects what is known so far (`None`: nothing) with one more part.
    fn conjoin(
        &mut self,
        known: &mut Option<Rc<Shape<'a>>>,
        part: Rc<Shape<'a>>,
        place: PlaceId,
    ) -> Result<(), SchemaError> {
        *known = Some(match known.take() {
            None => part,
            Some(known) => Rc::new(self.product(&known, &part, place)?),
        });
        Ok(())
    }

    fn union(
        &mut self,
        branches: &'a [Value],
        keyword: &'static str,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        let mut union = Shape::default();
        let (mut leads_back, mut has_branch) = (None, false);
        for (i, branch) in branches.iter().enumerate() {
            let branch = self.schema_node(branch, place, Step::Item(keyword, i))?;
            let Some(branch) = self.branch_shape(branch, &mut leads_back)? else { continue };
            has_branch = true;
            self.spend(place, branch.shape.n_alternatives() as u64)?;
            union.add(&branch.shape);
        }
        match leads_back {
            Some(error) if !has_branch => Err(error),
            _ => Ok(union),
        }
    }

    /// The form of what a schema states by its own keywords, type by type.
    fn own_shape(&mut self, keywords: &Keywords<'a>, place: PlaceId) -> Result<Shape<'a>, SchemaError> {
        let types = keywords.types.unwrap_or(Types::ALL);
        let mut shape = Shape {
            has_null: types.has(Types::NULL),
            has_true: types.has(Types::BOOLEAN),
            has_false: types.has(Types::BOOLEAN),
            ..Shape::default()
        };
        if types.has(Types::INTEGER) || types.has(Types::NUMBER) {
            let range = self.number_range(keywords, !types.has(Types::NUMBER), place)?;
            if range.is_none() {
                self.note_conflict(place, "minimum", || bounds(keywords));
            }
            shape.numbers.extend(range.map(NumberSet::Range));
        }
        if types.has(Types::STRING) {
            let mut constraint = StringConstraint {
                min: keywords.min_length.unwrap_or(0),
                max: keywords.max_length,
                patterns: Vec::new(),
            };
            if let Some(pattern) = keywords.pattern {
                constraint.patterns.push(self.pattern(pattern, place)?);
            }
            constraint.patterns.extend(keywords.format.clone());
            if constraint.max.is_none_or(|max| constraint.min <= max) {
                shape.strings.push(StringSet::Constrained(constraint));
            } else {
                let (min, max) = (constraint.min, constraint.max.unwrap_or_default());
                self.note_conflict(place, "minLength", || {
                    format!("it is {min}, greater than `maxLength`, which is {max}")
                });
            }
        }
        if types.has(Types::ARRAY) {
            match self.array_set(keywords, place)? {
                Some(set) => shape.arrays.push(Rc::new(set)),
                None => {
                    self.note_conflict(place, "minItems", || match (keywords.min_items, keywords.max_items) {
                        (Some(min), Some(max)) if min > max => {
                            format!("it is {min}, greater than `maxItems`, which is {max}")
                        }
                        _ => "no array may be that long".into(),
                    })
                }
            }
        }
        if types.has(Types::OBJECT) {
            match self.object_set(keywords, place)? {
                Ok(set) => shape.objects.push(Rc::new(set)),
                Err(name) => self.note_missing(place, name),
            }
        }
        Ok(shape)
    }

    fn number_range(
        &mut self,
        keywords: &Keywords<'a>,
        is_integer: bool,
        place: PlaceId,
    ) -> Result<Option<NumberRange>, SchemaError> {
        let bound = |inclusive: &Option<_>, exclusive: &Option<Exclusive>| {
            let bound = |value: &_, is_exclusive| NumberRange {
                lower: Some(Bound { value: Rc::new(Clone::clone(value)), is_exclusive }),
                ..NumberRange::default()
            };
            let is_flagged = matches!(exclusive, Some(Exclusive::Flag(true)));
            let inclusive =
                inclusive.as_ref().map(|value| bound(value, is_flagged).lower).unwrap_or_default();
            let exclusive = match exclusive {
                Some(Exclusive::Bound(value)) => bound(value, true).lower,
                _ => None,
            };
            (inclusive, exclusive)
        };
        let (lower, exclusive_lower) = bound(&keywords.minimum, &keywords.exclusive_minimum);
        let (upper, exclusive_upper) = bound(&keywords.maximum, &keywords.exclusive_maximum);
        let multiples = match &keywords.multiple_of {
            None => Vec::new(),
            Some(divisor) => vec![Multiple::new(divisor).ok_or_else(|| {
                let message = "the divisor has more digits than 64 bits hold".into();
                self.error(place, Some("multipleOf"), Kind::Limit { message })
            })?],
        };
        let first = NumberRange { lower, upper, multiples, non_multiples: Vec::new(), is_integer };
        let second = NumberRange { lower: exclusive_lower, upper: exclusive_upper, ..NumberRange::default() };
        Ok(first.intersect(&second))
    }

    fn array_set(
        &mut self,
        keywords: &Keywords<'a>,
        place: PlaceId,
    ) -> Result<Option<ArraySet>, SchemaError> {
        let mut prefix = Vec::new();
        for (i, item) in keywords.prefix_items.unwrap_or_default().iter().enumerate() {
            prefix.push(self.schema_node(item, place, Step::Item("prefixItems", i))?);
        }
        let rest = match keywords.items {
            // Before 2020-12, a list of schemas; `additionalItems` are the others then, and ignored else.
            Some(Value::Array(items)) => {
                for (i, item) in items.iter().enumerate() {
                    prefix.push(self.schema_node(item, place, Step::Item("items", i))?);
                }
                match keywords.additional_items {
                    Some(schema) => self.schema_node(schema, place, Step::Keyword("additionalItems"))?,
                    None => NodeId::ANY,
                }
            }
            Some(schema) => self.schema_node(schema, place, Step::Keyword("items"))?,
            None => NodeId::ANY,
        };
        let mut counts = Vec::new();
        if let Some(schema) = keywords.contains {
            let schema = self.schema_node(schema, place, Step::Keyword("contains"))?;
            let min = keywords.min_contains.unwrap_or(1);
            match keywords.max_contains {
                // What counts as too many is seen from the other side.
                Some(max) if self.loose.is_some() => {
                    let other = self.other_side(schema);
                    counts.push(ItemCount { schema, from: 0, min, max: None });
                    counts.push(ItemCount { schema: other, from: 0, min: 0, max: Some(max) });
                }
                max => counts.push(ItemCount { schema, from: 0, min, max }),
            }
        }
        let set = ArraySet {
            prefix,
            rest,
            min: keywords.min_items.unwrap_or(0),
            max: keywords.max_items,
            counts,
            unique: keywords.has_unique_items.then_some(place),
        }
        .normal();
        if keywords.has_unique_items && set.as_ref().is_none_or(|set| set.unique.is_none()) {
            self.note(place, "uniqueItems");
        }
        Ok(set)
    }
}

/// The bounds that leave no number between them, in words.
fn bounds(keywords: &Keywords<'_>) -> String {
    const MAX_DIGITS: usize = 40;
    let of = |keyword: &str, value: &Option<Decimal>| {
        let value = value.as_ref()?.plain(MAX_DIGITS);
        Some(format!("`{keyword}` {}", value.as_deref().unwrap_or("a number of many digits")))
    };
    let exclusive = |keyword: &str, bound: &Option<Exclusive>| match bound {
        Some(Exclusive::Bound(value)) => of(keyword, &Some(value.clone())),
        Some(Exclusive::Flag(flag)) => Some(format!("`{keyword}` {flag}")),
        None => None,
    };
    let told: Vec<String> = [
        of("minimum", &keywords.minimum),
        exclusive("exclusiveMinimum", &keywords.exclusive_minimum),
        of("maximum", &keywords.maximum),
        exclusive("exclusiveMaximum", &keywords.exclusive_maximum),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!("the bounds leave no number between them: {}", told.join(", "))
}
