//! What a schema states about the members of objects.

use std::borrow::Cow;

use maskwright_automata::Regex;
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::keywords::Keywords;
use crate::SchemaError;
use crate::forms::node_id::NodeId;
use crate::forms::object::{KeyClass, ObjectSet, Property, missing};
use crate::graph::Graph;
use crate::report::{PlaceId, Step};

impl<'a> Graph<'a> {
    /// The objects that a schema's own keywords allow; `Err` as [`Graph::intersect_objects`].
    pub(crate) fn object_set(
        &mut self,
        keywords: &Keywords<'a>,
        place: PlaceId,
    ) -> Result<Result<ObjectSet<'a>, &'a str>, SchemaError> {
        let additional = match keywords.additional_properties {
            Some(schema) => self.schema_node(schema, place, Step::Keyword("additionalProperties"))?,
            None => NodeId::ANY,
        };
        let mut patterns: Vec<(Regex, NodeId)> = Vec::new();
        let mut classes: Vec<KeyClass> = Vec::new();
        for (pattern, schema) in keywords.pattern_properties.into_iter().flatten() {
            let step = Step::Member("patternProperties", Cow::Borrowed(pattern.as_str()));
            let schema = self.schema_node(schema, place, step)?;
            let Some(language) = self.pattern_of_keys(pattern, place)? else { continue };
            classes = self.refine_classes(&classes, &language, schema, place)?;
            patterns.push((language, schema));
        }
        classes.retain(|class| class.schema != additional);
        let declared = keywords.properties.map_or(0, serde_json::Map::len);
        let required = keywords.required.unwrap_or_default();
        let mut properties = Vec::with_capacity(declared + required.len());
        for (name, schema) in keywords.properties.into_iter().flatten() {
            let step = Step::Member("properties", Cow::Borrowed(name.as_str()));
            let mut schema = self.schema_node(schema, place, step)?;
            for (pattern, also) in &patterns {
                if self.is_word(pattern, name, place)? {
                    schema = self.meet(schema, *also);
                }
            }
            properties.push(Property { name, schema, is_required: false, is_declared: true });
        }
        let mut set = ObjectSet {
            properties,
            classes,
            additional,
            witnesses: Vec::new(),
            min: keywords.min_properties.unwrap_or(0),
            max: keywords.max_properties,
        };
        if !required.is_empty() {
            self.require(&mut set, required, place, "required")?;
        }
        if let Some(missing) = missing(&set.properties) {
            return Ok(Err(missing));
        }
        if !set.settle_counts() {
            return Ok(Err(""));
        }
        match keywords.property_names {
            None => Ok(Ok(set)),
            Some(schema) => {
                let names = self.schema_node(schema, place, Step::Keyword("propertyNames"))?;
                let names = self.named(names, place)?;
                self.intersect_objects(&set, &names, place)
            }
        }
    }

    /// Makes properties required; those that are not named are added.
    pub(crate) fn require(
        &mut self,
        set: &mut ObjectSet<'a>,
        names: &'a [Value],
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<(), SchemaError> {
        let mut positions: FxHashMap<&str, usize> =
            set.properties.iter().enumerate().map(|(i, property)| (property.name, i)).collect();
        for name in names {
            let name = self.text(name, place, keyword)?;
            match positions.get(name) {
                Some(&i) => set.properties[i].is_required = true,
                None => {
                    positions.insert(name, set.properties.len());
                    let schema = self.schema_of_unnamed(set, name, place)?;
                    set.properties.push(Property { name, schema, is_required: true, is_declared: false });
                }
            }
        }
        Ok(())
    }

    /// The objects whose keys are all strings of `node`.
    fn named(&mut self, node: NodeId, place: PlaceId) -> Result<ObjectSet<'a>, SchemaError> {
        let shape = self.shape(node)?;
        let keys = self.language_of(&shape.strings, place)?;
        if keys == Regex::any_text() {
            return Ok(ObjectSet::any());
        }
        let denied = KeyClass { keys: keys.complement(), schema: NodeId::NEVER };
        Ok(ObjectSet { classes: vec![denied], ..ObjectSet::any() })
    }
}
