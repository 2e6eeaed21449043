//! The complement of canonical forms.
//!
//! What is not in a union is outside each of its alternatives, so the complements of the alternatives are
//! multiplied out, type by type. What is not in an alternative violates some part of it: a string is too
//! short, too long or outside a pattern; an array too short, too long, or one of its items is not of its
//! schema; an object lacks a property, has a member that must not be, or too few or too many of them. The
//! schemas of items and members are complemented lazily, as nodes, so recursive schemas have complements.

use std::rc::Rc;

use maskwright_automata::Regex;

use crate::SchemaError;
use crate::error::Kind;
use crate::forms::array::{ArraySet, ItemCount};
use crate::forms::node_id::NodeId;
use crate::forms::object::{KeyClass, ObjectSet, all_keys};
use crate::forms::shape::{Shape, StringConstraint, StringSet};
use crate::graph::Graph;
use crate::numbers::decimal::Multiple;
use crate::numbers::number::{Bound, NumberRange, NumberSet};
use crate::report::PlaceId;

/// How far into the instance it is looked whether an alternative is empty.
const PRUNING_DEPTH: usize = 2;

impl<'a> Graph<'a> {
    /// The values that are not of this form.
    pub(crate) fn complement(&mut self, shape: &Shape<'a>, place: PlaceId) -> Result<Shape<'a>, SchemaError> {
        let mut rest = Shape {
            has_null: !shape.has_null,
            has_true: !shape.has_true,
            has_false: !shape.has_false,
            ..Shape::any()
        };
        for set in &shape.numbers {
            let parts = self.complement_of_numbers(set, place)?;
            let known = std::mem::take(&mut rest.numbers);
            for (a, b) in known.iter().flat_map(|a| parts.iter().map(move |b| (a, b))) {
                rest.numbers.extend(a.intersect(b));
            }
            self.check_work(&rest, place)?;
        }
        if !shape.strings.is_empty() {
            rest.strings = self.complement_of_strings(&shape.strings, place)?;
        }
        for set in &shape.arrays {
            let parts = self.complement_of_arrays(set, place)?;
            rest =
                self.keep_arrays_and_objects(rest, Shape { arrays: parts, ..Shape::default() }, true, place)?;
        }
        for set in &shape.objects {
            let parts = self.complement_of_objects(set, place)?;
            rest = self.keep_arrays_and_objects(
                rest,
                Shape { objects: parts, ..Shape::default() },
                false,
                place,
            )?;
        }
        Ok(rest)
    }

    /// `rest` with its arrays, or objects, intersected with those of `parts`.
    fn keep_arrays_and_objects(
        &mut self,
        mut rest: Shape<'a>,
        parts: Shape<'a>,
        of_arrays: bool,
        place: PlaceId,
    ) -> Result<Shape<'a>, SchemaError> {
        let known = match of_arrays {
            true => Shape { arrays: std::mem::take(&mut rest.arrays), ..Shape::default() },
            false => Shape { objects: std::mem::take(&mut rest.objects), ..Shape::default() },
        };
        let both = self.intersect(&known, &parts, place)?;
        let both = self.without_empty(both, PRUNING_DEPTH)?;
        rest.add(&both);
        self.check_work(&rest, place)?;
        Ok(rest)
    }

    fn check_work(&self, shape: &Shape<'a>, place: PlaceId) -> Result<(), SchemaError> {
        self.spend(place, shape.n_alternatives() as u64)?;
        self.check_alternatives(shape, place)
    }

    fn complement_of_numbers(
        &mut self,
        set: &NumberSet<'a>,
        place: PlaceId,
    ) -> Result<Vec<NumberSet<'a>>, SchemaError> {
        let below = |bound: Bound| NumberRange { upper: Some(bound), ..NumberRange::default() };
        let above = |bound: Bound| NumberRange { lower: Some(bound), ..NumberRange::default() };
        let mut parts = Vec::new();
        match set {
            NumberSet::Range(range) => {
                let turned =
                    |bound: &Bound| Bound { value: bound.value.clone(), is_exclusive: !bound.is_exclusive };
                parts.extend(range.lower.as_ref().map(|bound| below(turned(bound))));
                parts.extend(range.upper.as_ref().map(|bound| above(turned(bound))));
                let one = Multiple { mantissa: 1, exponent: 0 };
                let divisors = range.multiples.iter().copied().chain(range.is_integer.then_some(one));
                parts.extend(
                    divisors.map(|by| NumberRange { non_multiples: vec![by], ..NumberRange::default() }),
                );
                parts.extend(
                    range
                        .non_multiples
                        .iter()
                        .map(|&by| NumberRange { multiples: vec![by], ..NumberRange::default() }),
                );
            }
            NumberSet::Values(values) => {
                self.spend(place, values.len() as u64)?;
                let mut sorted: Vec<_> = values.iter().map(|value| value.value.clone()).collect();
                sorted.sort_unstable();
                sorted.dedup();
                let bound = |i: usize| Bound { value: sorted[i].clone(), is_exclusive: true };
                parts.push(below(bound(0)));
                for i in 1..sorted.len() {
                    parts.push(NumberRange { lower: Some(bound(i - 1)), ..below(bound(i)) });
                }
                parts.push(above(bound(sorted.len() - 1)));
            }
        }
        Ok(parts.into_iter().map(NumberSet::Range).collect())
    }

    fn complement_of_strings(
        &mut self,
        sets: &[StringSet<'a>],
        place: PlaceId,
    ) -> Result<Vec<StringSet<'a>>, SchemaError> {
        let mut rest = StringConstraint::default();
        for set in sets {
            let (min, max) = match set {
                StringSet::Constrained(set) if set.is_any() => return Ok(Vec::new()),
                StringSet::Constrained(StringConstraint { min, max: None, patterns })
                    if patterns.is_empty() =>
                {
                    (0, Some(min - 1))
                }
                StringSet::Constrained(StringConstraint { min: 0, max: Some(max), patterns })
                    if patterns.is_empty() =>
                {
                    (max.saturating_add(1), None)
                }
                set => {
                    let language = self.language_of(std::slice::from_ref(set), place)?;
                    rest.patterns.push(language.complement());
                    continue;
                }
            };
            let length = StringConstraint { min, max, patterns: Vec::new() };
            match rest.intersect(&length) {
                Some(both) => rest = both,
                None => return Ok(Vec::new()),
            }
        }
        Ok(vec![StringSet::Constrained(rest)])
    }

    /// The strings as one language, unescaped.
    pub(crate) fn language_of(
        &mut self,
        sets: &[StringSet<'a>],
        place: PlaceId,
    ) -> Result<Regex, SchemaError> {
        let mut members = Vec::new();
        for set in sets {
            members.push(match set {
                StringSet::Words(words) => {
                    self.spend(place, words.len() as u64)?;
                    Regex::words(words.iter().map(|word| word.as_bytes()))
                }
                StringSet::Constrained(set) => {
                    let mut parts = set.patterns.clone();
                    if set.min > 0 || set.max.is_some() || parts.is_empty() {
                        let min = u32::try_from(set.min).map_err(|_| {
                            let message = format!("{} is more than any text holds", set.min);
                            self.error(place, Some("minLength"), Kind::Limit { message })
                        })?;
                        let max = set.max.and_then(|max| u32::try_from(max).ok());
                        parts.push(Regex::any_char().repeat(min, max));
                    }
                    Regex::intersection(parts)
                }
            });
        }
        Ok(Regex::union(members))
    }

    fn complement_of_arrays(
        &mut self,
        set: &Rc<ArraySet>,
        place: PlaceId,
    ) -> Result<Vec<Rc<ArraySet>>, SchemaError> {
        let mut parts = Vec::new();
        if let Some(place) = set.unique {
            let message = "it is not enforced below `not` or beside branches that overlap".into();
            let error = self.error(place, Some("uniqueItems"), Kind::Unsupported { message });
            return Err(self.blame_keyword(error, place, "uniqueItems"));
        }
        if set.min > 0 {
            parts.push(ArraySet { max: Some(set.min - 1), ..ArraySet::any() });
        }
        if let Some(max) = set.max {
            parts.push(ArraySet { min: max.saturating_add(1), ..ArraySet::any() });
        }
        for (i, &item) in set.prefix.iter().enumerate() {
            if item != NodeId::ANY {
                let mut prefix = vec![NodeId::ANY; i];
                prefix.push(self.complement_node(item));
                parts.push(ArraySet { prefix, min: i as u64 + 1, ..ArraySet::any() });
            }
        }
        if set.rest != NodeId::ANY {
            let schema = self.complement_node(set.rest);
            let count = ItemCount { schema, from: set.prefix.len() as u64, min: 1, max: None };
            parts.push(ArraySet { counts: vec![count], ..ArraySet::any() });
        }
        for count in &set.counts {
            let less =
                (count.min > 0).then(|| ItemCount { min: 0, max: Some(count.min - 1), ..count.clone() });
            let more =
                count.max.map(|max| ItemCount { min: max.saturating_add(1), max: None, ..count.clone() });
            parts.extend([less, more].into_iter().flatten().map(|count| self.counted(count)));
        }
        self.spend(place, (1 + parts.len() * (1 + set.prefix.len())) as u64)?;
        Ok(parts.into_iter().filter_map(ArraySet::normal).map(Rc::new).collect())
    }

    /// The arrays that one count allows. That no item is of a schema is said of the items.
    fn counted(&mut self, count: ItemCount) -> ArraySet {
        if count.max == Some(0) && count.from <= 64 {
            let prefix = vec![NodeId::ANY; count.from as usize];
            return ArraySet { prefix, rest: self.complement_node(count.schema), ..ArraySet::any() };
        }
        ArraySet { counts: vec![count], ..ArraySet::any() }
    }

    fn complement_of_objects(
        &mut self,
        set: &Rc<ObjectSet<'a>>,
        place: PlaceId,
    ) -> Result<Vec<Rc<ObjectSet<'a>>>, SchemaError> {
        let mut parts = Vec::new();
        for property in &set.properties {
            if property.schema != NodeId::ANY {
                let denied = self.complement_node(property.schema);
                if denied != NodeId::NEVER {
                    parts.push(ObjectSet::with_property(property.name, denied, true));
                }
            }
            if property.is_required {
                parts.push(ObjectSet::with_property(property.name, NodeId::NEVER, false));
            }
        }
        let names = set.names();
        for class in set.classes.iter().filter(|class| class.schema != NodeId::ANY) {
            let witness =
                KeyClass { keys: class.keys.difference(&names), schema: self.complement_node(class.schema) };
            parts.push(ObjectSet { witnesses: vec![witness], ..ObjectSet::any() });
        }
        if set.additional != NodeId::ANY {
            let keys = Regex::union([names, all_keys(&set.classes)]).complement();
            let witness = KeyClass { keys, schema: self.complement_node(set.additional) };
            parts.push(ObjectSet { witnesses: vec![witness], ..ObjectSet::any() });
        }
        for witness in &set.witnesses {
            let denied =
                KeyClass { keys: witness.keys.clone(), schema: self.complement_node(witness.schema) };
            parts.push(ObjectSet { classes: vec![denied], ..ObjectSet::any() });
        }
        if set.min > 0 {
            parts.push(ObjectSet { max: Some(set.min - 1), ..ObjectSet::any() });
        }
        if let Some(max) = set.max {
            parts.push(ObjectSet { min: max.saturating_add(1), ..ObjectSet::any() });
        }
        self.spend(place, 1 + parts.len() as u64)?;
        Ok(parts.into_iter().map(Rc::new).collect())
    }
}
