//! The intersection of sets of objects.
//!
//! Named properties are met name by name, key classes language by language: a product of which only the
//! parts are kept that have a key. Most objects have no classes, and pay nothing for them.

use maskwright_automata::Regex;

use crate::SchemaError;
use crate::error::Kind;
use crate::forms::array::least;
use crate::forms::node_id::NodeId;
use crate::forms::object::{KeyClass, Names, ObjectSet, Property, all_keys, missing};
use crate::graph::Graph;
use crate::report::PlaceId;

impl<'a> Graph<'a> {
    /// The objects in both. Declared properties keep the order of `left`, then those of `right` follow, then
    /// those that are only required. `Err` names a property that is required and cannot be there, or is
    /// empty if the number of members is contradictory. Linear in the number of properties.
    pub(crate) fn intersect_objects(
        &mut self,
        left: &ObjectSet<'a>,
        right: &ObjectSet<'a>,
        place: PlaceId,
    ) -> Result<Result<ObjectSet<'a>, &'a str>, SchemaError> {
        let (of_left, of_right) = (Names::new(&left.properties), Names::new(&right.properties));
        let mut properties = Vec::with_capacity(left.properties.len().max(right.properties.len()));
        let mut undeclared = Vec::new();
        for property in &left.properties {
            let (other, same) = match of_right.find(property.name) {
                Some(same) => (same.schema, Some(same)),
                None => (self.schema_of_unnamed(right, property.name, place)?, None),
            };
            let schema = self.meet(property.schema, other);
            let is_required = property.is_required || same.is_some_and(|same| same.is_required);
            let both = Property { schema, is_required, ..*property };
            if property.is_declared {
                properties.push(both);
            } else if !same.is_some_and(|same| same.is_declared) {
                undeclared.push(both);
            }
        }
        for property in &right.properties {
            match of_left.find(property.name) {
                Some(same) if same.is_declared || !property.is_declared => {}
                Some(same) => properties.push(Property {
                    schema: self.meet(same.schema, property.schema),
                    is_required: same.is_required || property.is_required,
                    ..*property
                }),
                None => {
                    let other = self.schema_of_unnamed(left, property.name, place)?;
                    let both = Property { schema: self.meet(other, property.schema), ..*property };
                    if property.is_declared { properties.push(both) } else { undeclared.push(both) }
                }
            }
        }
        properties.append(&mut undeclared);
        if let Some(missing) = missing(&properties) {
            return Ok(Err(missing));
        }
        let mut witnesses = left.witnesses.clone();
        witnesses.extend(right.witnesses.iter().filter(|more| !left.witnesses.contains(more)).cloned());
        let mut both = ObjectSet {
            properties,
            classes: self.intersect_classes(left, right, place)?,
            additional: self.meet(left.additional, right.additional),
            witnesses,
            min: left.min.max(right.min),
            max: least(left.max, right.max),
        };
        Ok(if both.settle_counts() { Ok(both) } else { Err("") })
    }

    /// The schema of the values of a key that is not named.
    pub(crate) fn schema_of_unnamed(
        &mut self,
        set: &ObjectSet<'a>,
        name: &str,
        place: PlaceId,
    ) -> Result<NodeId, SchemaError> {
        for class in &set.classes {
            if self.is_word(&class.keys, name, place)? {
                return Ok(class.schema);
            }
        }
        Ok(set.additional)
    }

    fn intersect_classes(
        &mut self,
        left: &ObjectSet<'a>,
        right: &ObjectSet<'a>,
        place: PlaceId,
    ) -> Result<Vec<KeyClass>, SchemaError> {
        let is_same = left.classes.len() == right.classes.len()
            && left.classes.iter().zip(&right.classes).all(|(a, b)| a.keys == b.keys);
        let mut classes = Vec::new();
        if is_same {
            for (a, b) in left.classes.iter().zip(&right.classes) {
                let schema = self.meet(a.schema, b.schema);
                classes.push(KeyClass { keys: a.keys.clone(), schema });
            }
            return Ok(classes);
        }
        for a in &left.classes {
            for b in &right.classes {
                let keys = Regex::intersection([a.keys.clone(), b.keys.clone()]);
                self.add_class(&mut classes, keys, |graph| graph.meet(a.schema, b.schema), place)?;
            }
            let keys = a.keys.difference(&all_keys(&right.classes));
            self.add_class(&mut classes, keys, |graph| graph.meet(a.schema, right.additional), place)?;
        }
        for b in &right.classes {
            let keys = b.keys.difference(&all_keys(&left.classes));
            self.add_class(&mut classes, keys, |graph| graph.meet(left.additional, b.schema), place)?;
        }
        Ok(classes)
    }

    fn add_class(
        &mut self,
        classes: &mut Vec<KeyClass>,
        keys: Regex,
        schema: impl FnOnce(&mut Self) -> NodeId,
        place: PlaceId,
    ) -> Result<(), SchemaError> {
        if self.is_empty_language(&keys, place)? {
            return Ok(());
        }
        let schema = schema(self);
        match classes.iter_mut().find(|class| class.schema == schema) {
            Some(same) => same.keys = Regex::union([same.keys.clone(), keys]),
            None => classes.push(KeyClass { keys, schema }),
        }
        Ok(())
    }

    /// Refines disjoint classes by one more pattern: all values of its keys are of `schema` too.
    pub(crate) fn refine_classes(
        &mut self,
        classes: &[KeyClass],
        pattern: &Regex,
        schema: NodeId,
        place: PlaceId,
    ) -> Result<Vec<KeyClass>, SchemaError> {
        let mut refined = Vec::with_capacity(classes.len() + 1);
        for class in classes {
            let inside = Regex::intersection([class.keys.clone(), pattern.clone()]);
            self.add_class(&mut refined, inside, |graph| graph.meet(class.schema, schema), place)?;
            let outside = class.keys.difference(pattern);
            self.add_class(&mut refined, outside, |_| class.schema, place)?;
        }
        let new = pattern.difference(&all_keys(classes));
        self.add_class(&mut refined, new, |_| schema, place)?;
        Ok(refined)
    }

    /// The same objects as a union of sets whose witnesses are not named: each is a named property or none.
    pub(crate) fn spread_witnesses(
        &mut self,
        set: &ObjectSet<'a>,
        place: PlaceId,
    ) -> Result<Vec<ObjectSet<'a>>, SchemaError> {
        let mut done = vec![ObjectSet { witnesses: Vec::new(), ..set.clone() }];
        let names = set.names();
        for witness in &set.witnesses {
            let mut next = Vec::new();
            for known in done {
                for (i, property) in known.properties.iter().enumerate() {
                    if !self.is_word(&witness.keys, property.name, place)? {
                        continue;
                    }
                    let schema = self.meet(property.schema, witness.schema);
                    if schema != NodeId::NEVER {
                        let mut with = known.clone();
                        with.properties[i] = Property { schema, is_required: true, ..*property };
                        next.push(with);
                    }
                }
                let keys = witness.keys.difference(&names);
                if !self.is_empty_language(&keys, place)? {
                    let mut with = known;
                    with.witnesses.push(KeyClass { keys, schema: witness.schema });
                    next.push(with);
                }
            }
            done = next;
            self.spend(place, done.len() as u64)?;
            let limit = self.config.limits.max_alternatives;
            if done.len() > limit {
                let message = format!("the members that must be there have more than {limit} places");
                return Err(self.error(place, Some("not"), Kind::Limit { message }));
            }
        }
        Ok(done)
    }
}
