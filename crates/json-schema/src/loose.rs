//! Compiles a schema without the keywords that cannot be enforced (`strict: false`).
//!
//! A schema is compiled exactly first. Only where that fails, for a keyword that is not supported or a limit on
//! size, is it compiled *loosely*: what fails is left out, and the report says so. The texts of a loose grammar
//! include all texts of the schema.
//!
//! # Why they do
//! A keyword that is left out makes the schema around it larger, but what stands below a `not` smaller. So a
//! loose graph reads schemas from two [sides](Side): from above, where a keyword that is left out allows every
//! value, and from below, where it allows none of the types that it constrains. What is negated (`not`, the
//! other branches of `oneOf`, the condition of `else`, items that are too many for `maxContains`) is read from
//! the other side. Unions and intersections are monotone, and negation is the only operation that is not, so by
//! induction over the instance each schema lies between its two sides; the grammar is the root from above.
//!
//! # How the parts to leave out are found
//! A pass over the document leaves out what it cannot read where it stands (a pattern, a divisor). Where something
//! larger fails, the product of two unions, say, the innermost schema that was being read is *blamed*, by
//! keyword if one is known, and a new pass begins without it. Each pass leaves out more than the one before, and
//! all of them share the fuel of the caller: what is too much work stays an error.
//!
//! Rejected: leaving out the outermost assertion below a negation. It needs no sides, but it drops the whole of
//! `not` where most of it could be kept, and what a schema shared by `$ref` means would depend on who refers
//! to it anyway.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};

use crate::SchemaError;
use crate::error::Blame;
use crate::graph::{Graph, PlaceId, address};
use crate::node_id::NodeId;

/// Which bound of a schema is computed when a part of it is left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Side {
    /// At least its values.
    Above,
    /// At most its values.
    Below,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Above => Side::Below,
            Side::Below => Side::Above,
        }
    }
}

/// What a loose pass knows.
pub(crate) struct Loose<'a> {
    side: Side,
    pub(crate) losses: Losses<'a>,
}

/// What is left out: keywords by the address of their schema, and whole schemas.
#[derive(Default)]
pub(crate) struct Losses<'a> {
    pub(crate) keywords: FxHashMap<(usize, &'a str), Loss>,
    pub(crate) schemas: FxHashMap<usize, String>,
}

#[derive(Clone)]
pub(crate) struct Loss {
    pub(crate) reason: String,
    /// Of `oneOf`: whether its branches are still there, and may hold together.
    pub(crate) may_overlap: bool,
}

impl<'a> Losses<'a> {
    /// Whether nothing of a keyword is left.
    pub(crate) fn has_all_of(&self, schema: usize, keyword: &str) -> bool {
        self.keywords.get(&(schema, keyword)).is_some_and(|loss| !loss.may_overlap)
    }

    /// Leaves out what failed.
    pub(crate) fn add(&mut self, blame: Blame) {
        let Blame { schema, keyword, reason } = blame;
        match keyword {
            Some(keyword) => {
                let may_overlap = keyword == "oneOf" && !self.keywords.contains_key(&(schema, keyword));
                self.keywords.insert((schema, keyword), Loss { reason, may_overlap });
            }
            None => {
                self.schemas.insert(schema, reason);
            }
        }
    }
}

impl<'a> Loose<'a> {
    /// At the beginning of a pass.
    pub(crate) fn new(losses: Losses<'a>) -> Loose<'a> {
        Loose { side: Side::Above, losses }
    }
}

/// The keywords that multiply alternatives, to blame if the error names no keyword.
const MULTIPLYING: [&str; 4] = ["oneOf", "if", "not", "anyOf"];

/// How many schemas are searched for the keyword to blame.
const MAX_SEARCHED: usize = 10_000;

/// Blaming.
impl<'a> Graph<'a> {
    /// Where schemas are seen from.
    pub(crate) fn side(&self) -> Side {
        self.loose.as_ref().map_or(Side::Above, |loose| loose.side)
    }

    /// Turns to another side, and returns the one before.
    pub(crate) fn turn_to(&mut self, side: Side) -> Side {
        self.loose.as_mut().map_or(Side::Above, |loose| std::mem::replace(&mut loose.side, side))
    }

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
