//! One schema object, read into typed fields.
//!
//! The first stage: it checks the form of their values, and refuses or reports those that are not enforced.
//! `source/keyword.rs` has what does not depend on the value.

use maskwright_automata::Regex;
use serde_json::{Map, Number, Value};

use crate::SchemaError;
use crate::error::Kind;
use crate::formats;
use crate::graph::Graph;
use crate::numbers::decimal::Decimal;
use crate::report::PlaceId;
use crate::report::suggest;
use crate::source::draft::Draft;
use crate::source::json_types::{Types, kind_of};
use crate::source::keyword::{Keyword, Role};

/// The enforced keywords of one schema; absent ones are `None`.
#[derive(Default)]
pub(crate) struct Keywords<'a> {
    pub(crate) types: Option<Types>,
    pub(crate) enumeration: Option<&'a [Value]>,
    pub(crate) constant: Option<&'a Value>,
    /// References, with their keywords.
    pub(crate) references: Vec<(&'static str, &'a str)>,
    pub(crate) all_of: Option<&'a [Value]>,
    pub(crate) any_of: Option<&'a [Value]>,
    pub(crate) one_of: Option<&'a [Value]>,
    pub(crate) not: Option<&'a Value>,
    pub(crate) condition: Option<&'a Value>,
    pub(crate) consequence: Option<&'a Value>,
    pub(crate) alternative: Option<&'a Value>,
    pub(crate) minimum: Option<Decimal>,
    pub(crate) maximum: Option<Decimal>,
    pub(crate) exclusive_minimum: Option<Exclusive>,
    pub(crate) exclusive_maximum: Option<Exclusive>,
    pub(crate) multiple_of: Option<Decimal>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<&'a str>,
    pub(crate) format: Option<Regex>,
    pub(crate) items: Option<&'a Value>,
    pub(crate) prefix_items: Option<&'a [Value]>,
    pub(crate) additional_items: Option<&'a Value>,
    pub(crate) contains: Option<&'a Value>,
    pub(crate) min_contains: Option<u64>,
    pub(crate) max_contains: Option<u64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) has_unique_items: bool,
    pub(crate) properties: Option<&'a Map<String, Value>>,
    pub(crate) required: Option<&'a [Value]>,
    pub(crate) additional_properties: Option<&'a Value>,
    pub(crate) pattern_properties: Option<&'a Map<String, Value>>,
    pub(crate) property_names: Option<&'a Value>,
    /// `dependencies`, `dependentRequired` and `dependentSchemas`, with their names.
    pub(crate) dependencies: Vec<(&'static str, &'a Map<String, Value>)>,
    pub(crate) unevaluated_properties: Option<&'a Value>,
    pub(crate) unevaluated_items: Option<&'a Value>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    /// The types that keywords constrain which are left out ([`crate::lenient::loose`]).
    pub(crate) lost: Types,
    /// Whether a keyword is left out that evaluates properties or items.
    pub(crate) loses_evaluation: bool,
    /// Whether there is any keyword that [`Graph::own_shape`] looks at.
    pub(crate) constrains: bool,
    /// Whether `oneOf` is taken as `anyOf`.
    pub(crate) may_overlap: bool,
}

/// Draft 4 makes `minimum` exclusive by a flag, later drafts have a bound of its own.
pub(crate) enum Exclusive {
    Flag(bool),
    Bound(Decimal),
}

const NOT_ENFORCED: &str = "this keyword is not enforced";

impl<'a> Graph<'a> {
    /// Reads one schema object.
    pub(crate) fn read_keywords(
        &mut self,
        schema: &'a Value,
        place: PlaceId,
    ) -> Result<Keywords<'a>, SchemaError> {
        let mut read = Keywords::default();
        let object = schema.as_object().expect("only objects get a node");
        if self.draft.ignores_siblings_of_ref()
            && let Some((keyword, value)) = object.get_key_value("$ref")
            && value.is_string()
        {
            self.read_or_lose(&mut read, (keyword, value), schema, place)?;
            return Ok(read);
        }
        self.spend(place, object.len() as u64)?;
        for (keyword, value) in object {
            self.read_or_lose(&mut read, (keyword, value), schema, place)?;
        }
        self.lose_companions(&mut read, schema, place);
        Ok(read)
    }

    pub(crate) fn read_keyword(
        &mut self,
        read: &mut Keywords<'a>,
        keyword: &'a str,
        value: &'a Value,
        place: PlaceId,
    ) -> Result<(), SchemaError> {
        let Some(known) = Keyword::named(keyword) else { return self.read_unknown(keyword, place) };
        if self.latest_draft < known.since || known.role == Role::Content {
            self.note_annotation(place, keyword);
            return Ok(());
        }
        let name = known.name;
        match name {
            "type" => read.types = Some(self.types(value, place)?),
            "enum" => read.enumeration = Some(self.list(value, place, name)?),
            "const" => read.constant = Some(value),
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                read.references.push((name, self.text(value, place, name)?));
            }
            "allOf" => read.all_of = Some(self.list(value, place, name)?),
            "anyOf" => read.any_of = Some(self.list(value, place, name)?),
            "oneOf" => read.one_of = Some(self.list(value, place, name)?),
            "not" => read.not = Some(value),
            "if" => read.condition = Some(value),
            "then" => read.consequence = Some(value),
            "else" => read.alternative = Some(value),
            "contains" => read.contains = Some(value),
            "minContains" => read.min_contains = Some(self.count(value, place, name)?),
            "maxContains" => read.max_contains = Some(self.count(value, place, name)?),
            "patternProperties" => read.pattern_properties = Some(self.members(value, place, name)?),
            "propertyNames" => read.property_names = Some(value),
            "dependencies" | "dependentRequired" | "dependentSchemas" => {
                read.dependencies.push((name, self.members(value, place, name)?));
            }
            "minimum" => read.minimum = Some(self.bound(value, place, name)?),
            "maximum" => read.maximum = Some(self.bound(value, place, name)?),
            "exclusiveMinimum" => read.exclusive_minimum = Some(self.exclusive(value, place, name)?),
            "exclusiveMaximum" => read.exclusive_maximum = Some(self.exclusive(value, place, name)?),
            "multipleOf" => {
                let divisor = self.bound(value, place, name)?;
                if divisor.is_zero() || divisor.is_negative() {
                    return Err(self.malformed(place, name, "a number greater than zero", value));
                }
                read.multiple_of = Some(divisor);
            }
            "minLength" => read.min_length = Some(self.count(value, place, name)?),
            "maxLength" => read.max_length = Some(self.count(value, place, name)?),
            "pattern" => read.pattern = Some(self.text(value, place, name)?),
            "format" => match value.as_str().and_then(|name| formats::language(name, self.draft)) {
                Some(language) => read.format = Some(language),
                // What the specification does not define is an annotation by it.
                None => {
                    self.note_unknown_format(place, value.as_str());
                    return Ok(());
                }
            },
            "items" => read.items = Some(value),
            "prefixItems" => read.prefix_items = Some(self.list(value, place, name)?),
            "additionalItems" => read.additional_items = Some(value),
            "minItems" => read.min_items = Some(self.count(value, place, name)?),
            "maxItems" => read.max_items = Some(self.count(value, place, name)?),
            // Whether it constrains anything depends on `maxItems`; then it is noted.
            "uniqueItems" => read.has_unique_items = self.flag(value, place, name)?,
            "properties" => read.properties = Some(self.members(value, place, name)?),
            "required" => read.required = Some(self.list(value, place, name)?),
            "additionalProperties" => read.additional_properties = Some(value),
            "unevaluatedProperties" => read.unevaluated_properties = Some(value),
            "unevaluatedItems" => read.unevaluated_items = Some(value),
            "minProperties" => read.min_properties = Some(self.count(value, place, name)?),
            "maxProperties" => read.max_properties = Some(self.count(value, place, name)?),
            "$schema" if self.draft == Draft::Draft3 && place == 0 => {
                self.refuse(
                    place,
                    name,
                    "draft 3 is not supported; drafts 4, 6, 7, 2019-09 and 2020-12 are",
                )?;
            }
            // A row without an arm is not enforced, and never silently.
            _ if known.role == Role::Constraint => return self.refuse(place, name, NOT_ENFORCED),
            _ => {}
        }
        if known.role == Role::Constraint {
            read.constrains |= known.types != Types::ALL || name == "type";
            if name != "uniqueItems" {
                self.note(place, name);
            }
        }
        Ok(())
    }

    /// A keyword that no draft from 4 on has.
    fn read_unknown(&mut self, keyword: &'a str, place: PlaceId) -> Result<(), SchemaError> {
        if keyword == "id" && self.draft <= Draft::Draft4 {
            return Ok(());
        }
        let of_draft_3 = ["extends", "disallow", "divisibleBy"];
        if let Some(name) =
            of_draft_3.into_iter().find(|&name| name == keyword && self.draft == Draft::Draft3)
        {
            let message = NOT_ENFORCED.into();
            return Err(self.error(place, Some(name), Kind::Unsupported { message }));
        }
        self.note_annotation(place, keyword);
        Ok(())
    }

    pub(crate) fn types(&mut self, value: &'a Value, place: PlaceId) -> Result<Types, SchemaError> {
        const ALLOWED: &str = "one or a list of null, boolean, integer, number, string, array, object";
        let one = |name: &Value| name.as_str().and_then(Types::of_name);
        let types = match value {
            Value::Array(names) => {
                names.iter().map(one).try_fold(Types::NONE, |all, one| Some(all.union(one?)))
            }
            name => one(name),
        };
        types.ok_or_else(|| {
            let error = self.malformed(place, "type", ALLOWED, value);
            let names = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
            let unknown = names.iter().filter_map(Value::as_str).find(|name| Types::of_name(name).is_none());
            match unknown.and_then(suggest::hint_on_type) {
                Some(hint) => error.hinted(hint),
                None => error,
            }
        })
    }

    pub(crate) fn list(
        &self,
        value: &'a Value,
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<&'a [Value], SchemaError> {
        value.as_array().map(Vec::as_slice).ok_or_else(|| self.malformed(place, keyword, "an array", value))
    }

    fn members(
        &self,
        value: &'a Value,
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<&'a Map<String, Value>, SchemaError> {
        value.as_object().ok_or_else(|| self.malformed(place, keyword, "an object", value))
    }

    pub(crate) fn text(
        &self,
        value: &'a Value,
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<&'a str, SchemaError> {
        value.as_str().ok_or_else(|| self.malformed(place, keyword, "a string", value))
    }

    fn flag(&self, value: &'a Value, place: PlaceId, keyword: &'static str) -> Result<bool, SchemaError> {
        value.as_bool().ok_or_else(|| self.malformed(place, keyword, "a boolean", value))
    }

    /// A count: an integer of any notation, at least 0; beyond 64 bits, the greatest.
    fn count(&self, value: &'a Value, place: PlaceId, keyword: &'static str) -> Result<u64, SchemaError> {
        if let Some(count) = value.as_u64() {
            return Ok(count);
        }
        let count = self.bound(value, place, keyword)?;
        if !count.is_integer() || count.is_negative() {
            return Err(self.malformed(place, keyword, "an integer of at least 0", value));
        }
        Ok(count.plain(20).and_then(|text| text.parse().ok()).unwrap_or(u64::MAX))
    }

    fn exclusive(
        &self,
        value: &'a Value,
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<Exclusive, SchemaError> {
        match value {
            Value::Bool(flag) => Ok(Exclusive::Flag(*flag)),
            _ => self.bound(value, place, keyword).map(Exclusive::Bound),
        }
    }

    fn bound(&self, value: &'a Value, place: PlaceId, keyword: &'static str) -> Result<Decimal, SchemaError> {
        match value {
            Value::Number(number) => self.decimal(number, place, keyword),
            _ => Err(self.malformed(place, keyword, "a number", value)),
        }
    }

    pub(crate) fn decimal(
        &self,
        number: &Number,
        place: PlaceId,
        keyword: &'static str,
    ) -> Result<Decimal, SchemaError> {
        Decimal::parse(number.as_str()).ok_or_else(|| {
            let message = format!("the exponent of {number} is out of range");
            self.error(place, Some(keyword), Kind::Limit { message })
        })
    }

    pub(crate) fn malformed(
        &self,
        place: PlaceId,
        keyword: &'static str,
        allowed: &str,
        given: &Value,
    ) -> SchemaError {
        let mut given_text = given.to_string();
        if given_text.chars().count() > 40 {
            given_text = kind_of(given).into();
        }
        let message = format!("expected {allowed}, given {given_text}");
        self.error(place, Some(keyword), Kind::Malformed { message })
    }
}
