//! Reads a schema without the parts that are left out ([`crate::lenient::loose`]), and reports those parts.
//!
//! A part that is left out is not compiled, but its form is checked: a mistake in it is still an error.

use std::borrow::Cow;

use maskwright_automata::Regex;
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use super::keywords::Keywords;
use crate::SchemaError;
use crate::forms::shape::Shape;
use crate::graph::Graph;
use crate::lenient::loose::{Loss, Side};
use crate::numbers::decimal::Multiple;
use crate::numbers::multiples::Dfa;
use crate::report::{Entry, PlaceId, Status, Step};
use crate::source::document::{address, pointer_to};
use crate::source::json_types::Types;
use crate::source::keyword::{Holds, Keyword};

/// By keyword: those that mean more, or nothing, without it.
const COMPANIONS: &[(&str, &[&str])] = &[
    ("patternProperties", &["additionalProperties"]),
    ("if", &["then", "else"]),
    ("contains", &["minContains", "maxContains"]),
    ("minContains", &["contains", "maxContains"]),
    ("maxContains", &["contains", "minContains"]),
    ("minimum", &["exclusiveMinimum"]),
    ("maximum", &["exclusiveMaximum"]),
    ("properties", &["additionalProperties"]),
    ("prefixItems", &["items"]),
    ("items", &["additionalItems"]),
];

impl<'a> Graph<'a> {
    /// Whether a schema is left out as a whole.
    pub(crate) fn is_left_out(&self, schema: &Value) -> bool {
        self.loose.as_ref().is_some_and(|loose| loose.losses.schemas.contains_key(&address(schema)))
    }

    /// The form of a schema that is left out as a whole.
    pub(crate) fn left_out(
        &mut self,
        schema: &'a Value,
        place: PlaceId,
    ) -> Result<Option<Shape<'a>>, SchemaError> {
        let Some(loose) = &self.loose else { return Ok(None) };
        let Some(reason) = loose.losses.schemas.get(&address(schema)).cloned() else { return Ok(None) };
        for (keyword, value) in self.members_that_count(schema) {
            let n_entries = self.found.entries.len();
            let mut read = Keywords::default();
            match self.read_keyword(&mut read, keyword, value, place) {
                Err(error) if !error.may_be_loosened() => return Err(error),
                _ => {}
            }
            let is_enforced = |entry: &Entry<_>| entry.status == Status::Enforced;
            let is_constraint =
                self.found.entries[n_entries..].iter().any(is_enforced) || read.has_unique_items;
            if is_constraint {
                self.found.entries.truncate(n_entries);
                self.note_loss(place, keyword, reason.clone());
            }
        }
        self.check_unread(vec![schema], place)?;
        Ok(Some(match self.side() {
            Side::Above => Shape::any(),
            Side::Below => Shape::default(),
        }))
    }

    /// Reads one keyword of `holder`, or leaves it out.
    pub(crate) fn read_or_lose(
        &mut self,
        read: &mut Keywords<'a>,
        (keyword, value): (&'a str, &'a Value),
        holder: &'a Value,
        place: PlaceId,
    ) -> Result<(), SchemaError> {
        let Some(loose) = &self.loose else { return self.read_keyword(read, keyword, value, place) };
        let key = (address(holder), keyword);
        let Loss { reason, may_overlap } = match loose.losses.keywords.get(&key).cloned() {
            Some(loss) => loss,
            None => {
                let probed = self.probe(keyword, value, place);
                match probed.and_then(|()| self.read_keyword(read, keyword, value, place)) {
                    Err(error) if error.may_be_loosened() => {
                        let loss = Loss { reason: error.reason(), may_overlap: false };
                        let losses = &mut self.loose.as_mut().expect("it is loose").losses;
                        losses.keywords.insert(key, loss.clone());
                        loss
                    }
                    result => return result,
                }
            }
        };
        let n_entries = self.found.entries.len();
        if may_overlap {
            self.read_keyword(read, keyword, value, place)?;
            self.found.entries.truncate(n_entries);
            read.may_overlap = true;
            self.note_loss(place, keyword, format!("it is enforced as `anyOf` only: {reason}"));
        } else {
            let mut below = Vec::new();
            push_schemas(keyword, value, &mut below);
            self.check_unread(below, place)?;
            read.loses_evaluation |= Keyword::named(keyword).is_some_and(|keyword| keyword.evaluates);
            self.note_loss(place, keyword, reason);
        }
        read.lost = read.lost.union(Keyword::types_of(keyword));
        Ok(())
    }

    /// Leaves out the keywords that mean more, or nothing, without those that are left out.
    pub(crate) fn lose_companions(&mut self, read: &mut Keywords<'a>, schema: &'a Value, place: PlaceId) {
        let Some(loose) = &self.loose else { return };
        let mut lost: Vec<_> = COMPANIONS
            .iter()
            .filter(|(keyword, _)| loose.losses.has_all_of(address(schema), keyword))
            .collect();
        for pattern in read.pattern_properties.into_iter().flat_map(Map::keys) {
            if let Err(error) = self.pattern_of(pattern, place, "patternProperties")
                && error.may_be_loosened()
            {
                let reason = format!("the pattern {pattern:?} is left out: {}", error.reason());
                self.note_loss(place, "patternProperties", reason);
                read.lost = read.lost.union(Types::OBJECT);
                read.loses_evaluation = true;
                lost.extend(COMPANIONS.iter().find(|(keyword, _)| *keyword == "patternProperties"));
            }
        }
        for &(keyword, companions) in lost {
            for &companion in companions {
                let is_bound = companion.starts_with("exclusive");
                let Some(value) = schema.get(companion) else { continue };
                if !is_bound || value.is_boolean() {
                    self.note_loss(
                        place,
                        companion,
                        format!("`{keyword}`, which it goes with, is not enforced"),
                    );
                }
                match companion {
                    "additionalProperties" => read.additional_properties = None,
                    "items" => (read.items, read.additional_items) = (None, None),
                    "additionalItems" => read.additional_items = None,
                    "contains" => read.contains = None,
                    _ => {}
                }
                read.lost = read.lost.union(Keyword::types_of(companion));
                read.loses_evaluation |= Keyword::named(companion).is_some_and(|keyword| keyword.evaluates);
            }
        }
    }

    /// The language of a pattern of keys; `None` if it is left out.
    pub(crate) fn pattern_of_keys(
        &mut self,
        pattern: &'a str,
        place: PlaceId,
    ) -> Result<Option<Regex>, SchemaError> {
        match self.pattern_of(pattern, place, "patternProperties") {
            Err(error) if self.loose.is_some() && error.may_be_loosened() => Ok(None),
            language => language.map(Some),
        }
    }

    /// Fails if a keyword cannot be enforced wherever it stands.
    fn probe(&mut self, keyword: &str, value: &'a Value, place: PlaceId) -> Result<(), SchemaError> {
        match (keyword, value) {
            ("pattern", Value::String(pattern)) => self.pattern(pattern, place).map(drop),
            ("multipleOf", Value::Number(number)) => {
                let divisor = self.decimal(number, place, "multipleOf")?;
                let max_states = self.config.limits.max_remainders;
                let is_usable = divisor.is_zero()
                    || divisor.is_negative()
                    || Multiple::new(&divisor).is_some_and(|divisor| Dfa::fits(divisor, max_states));
                if is_usable {
                    return Ok(());
                }
                Err(self.too_many_remainders(place))
            }
            _ => Ok(()),
        }
    }

    /// Checks the form of schemas that are not read because something around them is left out, and of what
    /// they refer to. Iterative, linear in their size.
    fn check_unread(&mut self, mut work: Vec<&'a Value>, place: PlaceId) -> Result<(), SchemaError> {
        let n_entries = self.found.entries.len();
        let mut seen = FxHashSet::default();
        while let Some(schema) = work.pop() {
            if schema.is_boolean() || !seen.insert(address(schema)) {
                continue;
            }
            self.spend(place, 1)?;
            if let Err(error) = self.check_schema(schema, place, &mut work)
                && !error.may_be_loosened()
            {
                // The pointer takes a search, so it is found only for an error.
                let Some(pointer) = pointer_to(self.root, schema) else { return Err(error) };
                let place = self.place_below(0, Step::Pointer(Cow::Owned(pointer)));
                return self.check_schema(schema, place, &mut work);
            }
        }
        self.found.entries.truncate(n_entries);
        Ok(())
    }

    /// Checks the keywords of one schema, and adds those below and those it refers to.
    fn check_schema(
        &mut self,
        schema: &'a Value,
        place: PlaceId,
        work: &mut Vec<&'a Value>,
    ) -> Result<(), SchemaError> {
        if !schema.is_object() {
            return Err(self.no_schema(schema, place));
        }
        for (keyword, value) in self.members_that_count(schema) {
            let mut read = Keywords::default();
            let mut checked = self.read_keyword(&mut read, keyword, value, place);
            for pattern in read.pattern_properties.into_iter().flat_map(Map::keys) {
                checked =
                    checked.and_then(|()| self.pattern_of(pattern, place, "patternProperties").map(drop));
            }
            if let Some(pattern) = read.pattern {
                checked = checked.and_then(|()| self.pattern(pattern, place).map(drop));
            }
            for (keyword, reference) in read.references {
                match self.resolve(reference, keyword, schema, place) {
                    Ok((_, target)) => work.push(target),
                    Err(error) => checked = checked.and(Err(error)),
                }
            }
            match checked {
                Err(error) if !error.may_be_loosened() => return Err(error),
                _ => push_schemas(keyword, value, work),
            }
        }
        Ok(())
    }

    /// The members of a schema, but those that a `$ref` beside them puts out of effect.
    pub(crate) fn members_that_count(
        &self,
        schema: &'a Value,
    ) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        let is_reference =
            self.draft.ignores_siblings_of_ref() && schema.get("$ref").is_some_and(Value::is_string);
        let members = schema.as_object().into_iter().flatten();
        members.filter(move |(keyword, _)| !is_reference || *keyword == "$ref")
    }

    /// Notes that the `unevaluated…` keywords of a schema may let too much pass.
    pub(crate) fn note_unknown_evaluation(&mut self, keywords: &Keywords<'a>, place: PlaceId) {
        let reason = "what is evaluated is not known, since another keyword is not enforced";
        let properties = keywords.unevaluated_properties.map(|_| "unevaluatedProperties");
        for keyword in properties.into_iter().chain(keywords.unevaluated_items.map(|_| "unevaluatedItems")) {
            self.note_loss(place, keyword, reason.into());
        }
    }

    fn note_loss(&mut self, place: PlaceId, keyword: &'a str, reason: String) {
        self.enter(place, keyword, Status::NotEnforced { reason: Cow::Owned(reason) });
    }
}

/// The schemas that are the value of a keyword, or in it, if the keyword applies them.
fn push_schemas<'a>(keyword: &str, value: &'a Value, work: &mut Vec<&'a Value>) {
    match (keyword, Keyword::held_by(keyword), value) {
        // Checked only where something refers to them, or never.
        ("$defs" | "definitions" | "contentSchema", ..) => {}
        ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", _, Value::Array(schemas)) => {
            work.extend(schemas)
        }
        ("dependencies", _, Value::Object(schemas)) => {
            work.extend(schemas.values().filter(|needed| needed.is_object()));
        }
        (_, Holds::SchemasByName, Value::Object(schemas)) => work.extend(schemas.values()),
        (_, Holds::Schemas, schema) => work.push(schema),
        _ => {}
    }
}
