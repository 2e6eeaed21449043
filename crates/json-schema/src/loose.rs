//! What is left out of a schema that cannot be enforced as a whole (`strict: false`).
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
//! # How it is found what to leave out
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
use crate::graph::{Graph, PlaceId, address};
use crate::shape::NodeId;

/// From where a schema is seen of which something is left out.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Side {
    /// At least its values.
    #[default]
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
#[derive(Default)]
pub(crate) struct Loose<'a> {
    side: Side,
    pub(crate) losses: Losses<'a>,
    /// What made this pass fail.
    blame: Option<Blame<'a>>,
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

struct Blame<'a> {
    schema: usize,
    keyword: Option<&'a str>,
    reason: String,
}

impl<'a> Losses<'a> {
    /// Whether nothing of a keyword is left.
    pub(crate) fn has_all_of(&self, schema: usize, keyword: &str) -> bool {
        self.keywords.get(&(schema, keyword)).is_some_and(|loss| !loss.may_overlap)
    }

    /// Leaves out what failed.
    fn add(&mut self, blame: Blame<'a>) {
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
    /// The next pass after one that failed; `None` if it is not known what to leave out.
    pub(crate) fn next(mut self) -> Option<Loose<'a>> {
        let blame = self.blame.take()?;
        self.losses.add(blame);
        Some(Loose { losses: self.losses, ..Loose::default() })
    }
}

/// Keywords to blame where an error names none that can be found: what multiplies.
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
                    self.set_blame(&error, holder, Some(keyword));
                    return error;
                }
            }
        }
        let losses = &self.loose.as_ref().expect("it is to be blamed").losses.schemas;
        if let Some(schema) = schemas.iter().find(|schema| !losses.contains_key(&address(schema))) {
            self.set_blame(&error, schema, None);
        }
        error
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
        self.set_blame(&error, schema, keyword);
        error
    }

    /// Blames a keyword of the schema at `place`.
    pub(crate) fn blame_keyword(
        &mut self,
        error: SchemaError,
        place: PlaceId,
        keyword: &'static str,
    ) -> SchemaError {
        if self.is_to_be_blamed(&error)
            && let Some(schema) = self.schema_at(place)
        {
            self.set_blame(&error, schema, Some(keyword));
        }
        error
    }

    /// After an error that needs no answer.
    pub(crate) fn forget_blame(&mut self) {
        if let Some(loose) = &mut self.loose {
            loose.blame = None;
        }
    }

    fn is_to_be_blamed(&self, error: &SchemaError) -> bool {
        error.may_be_loosened() && self.loose.as_ref().is_some_and(|loose| loose.blame.is_none())
    }

    fn set_blame(&mut self, error: &SchemaError, schema: &Value, keyword: Option<&'static str>) {
        let blame = Blame { schema: address(schema), keyword, reason: error.reason() };
        self.loose.as_mut().expect("it is to be blamed").blame = Some(blame);
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
