//! Which part of a schema to leave out for an error.
//!
//! A [loose](crate::lenient::loose) pass that fails is repeated without one more part: the keyword that the
//! error names, one that multiplies alternatives, or the whole schema.

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use crate::SchemaError;
use crate::error::Blame;
use crate::forms::node_id::NodeId;
use crate::graph::Graph;
use crate::report::PlaceId;
use crate::source::document::address;

/// The keywords that multiply alternatives, to blame if the error names no keyword.
const MULTIPLYING: [&str; 4] = ["oneOf", "if", "not", "anyOf"];

/// How many schemas are searched for the keyword to blame.
const MAX_SEARCHED: usize = 10_000;

impl<'a> Graph<'a> {
    /// Blames what a node is made of for `error`, unless something inside is blamed already.
    pub(crate) fn blame(&mut self, error: SchemaError, node: NodeId) -> SchemaError {
        if !self.is_to_be_blamed(&error) {
            return error;
        }
        let schemas = self.schemas_of(node);
        let keywords = error.keyword().into_iter().chain(MULTIPLYING);
        for keyword in keywords {
            for &schema in &schemas {
                if let Some(holder) = self.find_keyword(schema, keyword) {
                    return blamed(error, holder, Some(keyword));
                }
            }
        }
        let losses = &self.loose.as_ref().expect("it is to be blamed").losses.schemas;
        match schemas.iter().find(|schema| !losses.contains_key(&address(schema))) {
            Some(schema) => blamed(error, schema, None),
            None => error,
        }
    }

    /// Blames a part of `schema`: the keyword `at`, or the one that the error names.
    pub(crate) fn blame_part(
        &mut self,
        error: SchemaError,
        schema: &'a Value,
        at: Option<&'static str>,
    ) -> SchemaError {
        if !self.is_to_be_blamed(&error) {
            return error;
        }
        let losses = &self.loose.as_ref().expect("it is to be blamed").losses;
        let keyword = [at, error.keyword(), Some("patternProperties")]
            .into_iter()
            .flatten()
            .find(|keyword| schema.get(*keyword).is_some() && !losses.has_all_of(address(schema), keyword));
        blamed(error, schema, keyword)
    }

    /// Blames a keyword of the schema at `place`.
    pub(crate) fn blame_keyword(
        &mut self,
        error: SchemaError,
        place: PlaceId,
        keyword: &'static str,
    ) -> SchemaError {
        if !self.is_to_be_blamed(&error) {
            return error;
        }
        match self.schema_at(place) {
            Some(schema) => blamed(error, schema, Some(keyword)),
            None => error,
        }
    }

    fn is_to_be_blamed(&self, error: &SchemaError) -> bool {
        self.loose.is_some() && error.may_be_loosened() && !error.is_blamed()
    }

    /// The first schema with a keyword that is not left out yet, from `schema` on without a step into the
    /// instance.
    fn find_keyword(&mut self, schema: &'a Value, keyword: &'static str) -> Option<&'a Value> {
        let mut seen = FxHashSet::default();
        let mut work = std::collections::VecDeque::from([schema]);
        while let Some(schema) = work.pop_front() {
            let Some(object) = schema.as_object().filter(|_| seen.insert(address(schema))) else { continue };
            let losses = &self.loose.as_ref()?.losses;
            if losses.schemas.contains_key(&address(schema)) {
                continue;
            }
            if object.contains_key(keyword) && !losses.has_all_of(address(schema), keyword) {
                return Some(schema);
            }
            if seen.len() > MAX_SEARCHED {
                return None;
            }
            for (name, value) in object {
                match name.as_str() {
                    "allOf" | "anyOf" | "oneOf" => work.extend(value.as_array().into_iter().flatten()),
                    "not" | "if" | "then" | "else" => work.push_back(value),
                    "dependencies" | "dependentSchemas" => {
                        work.extend(value.as_object().into_iter().flat_map(Map::values));
                    }
                    "$ref" => {
                        let reference = value.as_str();
                        let target = reference.map(|reference| self.resolve(reference, "$ref", schema, 0));
                        work.extend(target.and_then(Result::ok).map(|(_, target)| target));
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

/// The error, for which `keyword` of `schema` (`None`: all of it) is to blame.
fn blamed(error: SchemaError, schema: &Value, keyword: Option<&'static str>) -> SchemaError {
    let blame = Blame { schema: address(schema), keyword, reason: error.reason() };
    error.blamed(blame)
}
