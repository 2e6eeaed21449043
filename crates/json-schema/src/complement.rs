//! `not`, where its complement is a canonical form.
//!
//! The forms of strings, of null and booleans and of named properties have complements; those of arrays
//! ("some item is not …"), of additional properties and of number ranges' multiples do not, yet. A schema is
//! complemented keyword by keyword: what it denies is that all of them hold, so the complement is the union
//! of the keywords' complements. Each keyword speaks of one JSON type and holds for all others.

use std::rc::Rc;

use maskwright_automata::Regex;
use serde_json::Value;

use crate::SchemaError;
use crate::graph::{Graph, PlaceId};
use crate::keywords::Types;
use crate::number::NumberSet;
use crate::report::Step;
use crate::shape::{NodeId, ObjectSet, Property, Shape, StringConstraint, StringSet};

/// How deep `not` is followed into `not`, `allOf` and `anyOf`.
const MAX_DEPTH: usize = 16;

impl<'a> Graph<'a> {
    /// The form of what does not satisfy the schema at `place`; `None` if it has none that is known.
    pub(crate) fn complement(
        &mut self,
        schema: &'a Value,
        place: PlaceId,
        depth: usize,
    ) -> Result<Option<Shape<'a>>, SchemaError> {
        let object = match schema {
            Value::Bool(true) => return Ok(Some(Shape::default())),
            Value::Bool(false) => return Ok(Some(Shape::any())),
            Value::Object(object) if depth < MAX_DEPTH => object,
            _ => return Ok(None),
        };
        let mut union = Shape::default();
        for (keyword, value) in object {
            self.spend(place, 1)?;
            let part = match (keyword.as_str(), value) {
                ("title" | "description" | "$comment" | "default" | "examples", _) => continue,
                ("type", value) => complement_of_types(self.types(value, place)?),
                ("const", value) => self.complement_of_constants(std::slice::from_ref(value), place)?,
                ("enum", Value::Array(values)) => self.complement_of_constants(values, place)?,
                ("pattern", Value::String(pattern)) => {
                    let pattern = self.pattern(pattern, place)?.complement();
                    Some(strings(StringConstraint { patterns: vec![pattern], ..StringConstraint::default() }))
                }
                ("required", Value::Array(names)) => {
                    let mut lacking = Shape::default();
                    for name in names {
                        let name = self.text(name, place, "required")?;
                        lacking.objects.push(Rc::new(ObjectSet {
                            properties: vec![Property {
                                name,
                                schema: NodeId::NEVER,
                                is_required: false,
                                is_declared: false,
                            }],
                            additional: NodeId::ANY,
                        }));
                    }
                    Some(lacking)
                }
                ("not", inner) => {
                    let node = self.schema_node(inner, place, Step::Keyword("not"))?;
                    Some((*self.shape(node)?).clone())
                }
                ("allOf", Value::Array(branches)) => {
                    let mut some = Some(Shape::default());
                    for (i, branch) in branches.iter().enumerate() {
                        let below = self.place_below(place, Step::Item("allOf", i));
                        let part = self.complement(branch, below, depth + 1)?;
                        some = some.zip(part).map(|(mut some, part)| {
                            some.add(&part);
                            some
                        });
                    }
                    some
                }
                ("anyOf", Value::Array(branches)) => {
                    let mut all = Some(Shape::any());
                    for (i, branch) in branches.iter().enumerate() {
                        let below = self.place_below(place, Step::Item("anyOf", i));
                        let part = self.complement(branch, below, depth + 1)?;
                        all = match all.zip(part) {
                            Some((all, part)) => Some(self.intersect(&all, &part, place)?),
                            None => None,
                        };
                    }
                    all
                }
                _ => None,
            };
            match part {
                Some(part) => union.add(&part),
                None => return Ok(None),
            }
        }
        Ok(Some(union))
    }

    /// All values but the given ones, which must be strings, null or booleans.
    fn complement_of_constants(
        &mut self,
        values: &'a [Value],
        place: PlaceId,
    ) -> Result<Option<Shape<'a>>, SchemaError> {
        self.spend(place, values.len() as u64)?;
        let mut shape = Shape::any();
        let mut words: Vec<&str> = Vec::new();
        for value in values {
            match value {
                Value::Null => shape.has_null = false,
                Value::Bool(true) => shape.has_true = false,
                Value::Bool(false) => shape.has_false = false,
                Value::String(word) => words.push(word),
                Value::Number(_) | Value::Array(_) | Value::Object(_) => return Ok(None),
            }
        }
        if !words.is_empty() {
            let pattern = Regex::words(words.into_iter().map(|word| word.as_bytes())).complement();
            shape.strings =
                strings(StringConstraint { patterns: vec![pattern], ..StringConstraint::default() }).strings;
        }
        Ok(Some(shape))
    }
}

fn strings<'a>(constraint: StringConstraint) -> Shape<'a> {
    Shape { strings: vec![StringSet::Constrained(constraint)], ..Shape::default() }
}

/// The values of all other types; `None` where that would be the numbers that are not integers.
fn complement_of_types<'a>(types: Types) -> Option<Shape<'a>> {
    if types.has(Types::INTEGER) && !types.has(Types::NUMBER) {
        return None;
    }
    let any = Shape::any();
    Some(Shape {
        has_null: !types.has(Types::NULL),
        has_true: !types.has(Types::BOOLEAN),
        has_false: !types.has(Types::BOOLEAN),
        numbers: if types.has(Types::NUMBER) { Vec::new() } else { vec![NumberSet::any()] },
        strings: if types.has(Types::STRING) { Vec::new() } else { any.strings },
        arrays: if types.has(Types::ARRAY) { Vec::new() } else { any.arrays },
        objects: if types.has(Types::OBJECT) { Vec::new() } else { any.objects },
    })
}
