//! One schema object, read into typed fields.
//!
//! The first stage: the only place that looks at keywords as names. It checks the form of their values,
//! refuses or reports those that are not enforced, and knows the trivial uses that constrain nothing
//! (`"uniqueItems": false`).

use maskwright_automata::Regex;
use serde_json::{Map, Number, Value};

use crate::SchemaError;
use crate::decimal::Decimal;
use crate::draft::Draft;
use crate::error::Kind;
use crate::formats;
use crate::graph::Graph;
use crate::json_types::{Types, kind_of};
use crate::report::PlaceId;
use crate::suggest;

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
    /// The types that keywords constrain which are left out ([`crate::loose`]).
    pub(crate) lost: Types,
    /// Whether a keyword is left out that evaluates properties or items.
    pub(crate) loses_evaluation: bool,
    /// Whether `oneOf` is taken as `anyOf`.
    pub(crate) may_overlap: bool,
}

/// Draft 4 makes `minimum` exclusive by a flag, later drafts have a bound of its own.
pub(crate) enum Exclusive {
    Flag(bool),
    Bound(Decimal),
}

impl Keywords<'_> {
    /// Whether there is any keyword that [`Graph::own_shape`] looks at.
    pub(crate) fn constrains(&self) -> bool {
        self.types.is_some()
            || self.has_number_keyword()
            || self.has_string_keyword()
            || self.has_container_keyword()
    }

    pub(crate) fn has_number_keyword(&self) -> bool {
        self.minimum.is_some()
            || self.maximum.is_some()
            || self.exclusive_minimum.is_some()
            || self.exclusive_maximum.is_some()
            || self.multiple_of.is_some()
    }

    pub(crate) fn has_string_keyword(&self) -> bool {
        self.min_length.is_some()
            || self.max_length.is_some()
            || self.pattern.is_some()
            || self.format.is_some()
    }

    pub(crate) fn has_container_keyword(&self) -> bool {
        self.items.is_some()
            || self.prefix_items.is_some()
            || self.min_items.is_some()
            || self.max_items.is_some()
            || self.has_unique_items
            || self.properties.is_some()
            || self.required.is_some()
            || self.additional_properties.is_some()
            || self.min_properties.is_some()
            || self.contains.is_some()
            || self.pattern_properties.is_some()
            || self.property_names.is_some()
            || self.max_properties.is_some()
    }
}

const NOT_YET: &str = "this keyword is not enforced";

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
        if self.latest_draft < Draft::that_brought(keyword) {
            self.note_annotation(place, keyword);
            return Ok(());
        }
        // Each arm reads its keyword and leaves its static name, to be noted as enforced.
        let enforced = match keyword {
            "type" => {
                read.types = Some(self.types(value, place)?);
                "type"
            }
            "enum" => {
                read.enumeration = Some(self.list(value, place, "enum")?);
                "enum"
            }
            "const" => {
                read.constant = Some(value);
                "const"
            }
            "$ref" => {
                read.references.push(("$ref", self.text(value, place, "$ref")?));
                "$ref"
            }
            "$dynamicRef" => {
                read.references.push(("$dynamicRef", self.text(value, place, "$dynamicRef")?));
                "$dynamicRef"
            }
            "$recursiveRef" => {
                read.references.push(("$recursiveRef", self.text(value, place, "$recursiveRef")?));
                "$recursiveRef"
            }
            "allOf" => {
                read.all_of = Some(self.list(value, place, "allOf")?);
                "allOf"
            }
            "anyOf" => {
                read.any_of = Some(self.list(value, place, "anyOf")?);
                "anyOf"
            }
            "oneOf" => {
                read.one_of = Some(self.list(value, place, "oneOf")?);
                "oneOf"
            }
            "not" => {
                read.not = Some(value);
                "not"
            }
            "if" => {
                read.condition = Some(value);
                "if"
            }
            "then" => {
                read.consequence = Some(value);
                "then"
            }
            "else" => {
                read.alternative = Some(value);
                "else"
            }
            "contains" => {
                read.contains = Some(value);
                "contains"
            }
            "minContains" => {
                read.min_contains = Some(self.count(value, place, "minContains")?);
                "minContains"
            }
            "maxContains" => {
                read.max_contains = Some(self.count(value, place, "maxContains")?);
                "maxContains"
            }
            "patternProperties" => {
                read.pattern_properties = Some(self.members(value, place, "patternProperties")?);
                "patternProperties"
            }
            "propertyNames" => {
                read.property_names = Some(value);
                "propertyNames"
            }
            "dependencies" => {
                read.dependencies.push(("dependencies", self.members(value, place, "dependencies")?));
                "dependencies"
            }
            "dependentRequired" => {
                read.dependencies
                    .push(("dependentRequired", self.members(value, place, "dependentRequired")?));
                "dependentRequired"
            }
            "dependentSchemas" => {
                read.dependencies.push(("dependentSchemas", self.members(value, place, "dependentSchemas")?));
                "dependentSchemas"
            }
            "minimum" => {
                read.minimum = Some(self.bound(value, place, "minimum")?);
                "minimum"
            }
            "maximum" => {
                read.maximum = Some(self.bound(value, place, "maximum")?);
                "maximum"
            }
            "exclusiveMinimum" => {
                read.exclusive_minimum = Some(self.exclusive(value, place, "exclusiveMinimum")?);
                "exclusiveMinimum"
            }
            "exclusiveMaximum" => {
                read.exclusive_maximum = Some(self.exclusive(value, place, "exclusiveMaximum")?);
                "exclusiveMaximum"
            }
            "multipleOf" => {
                let divisor = self.bound(value, place, "multipleOf")?;
                if divisor.is_zero() || divisor.is_negative() {
                    return Err(self.malformed(place, "multipleOf", "a number greater than zero", value));
                }
                read.multiple_of = Some(divisor);
                "multipleOf"
            }
            "minLength" => {
                read.min_length = Some(self.count(value, place, "minLength")?);
                "minLength"
            }
            "maxLength" => {
                read.max_length = Some(self.count(value, place, "maxLength")?);
                "maxLength"
            }
            "pattern" => {
                read.pattern = Some(self.text(value, place, "pattern")?);
                "pattern"
            }
            "items" => {
                read.items = Some(value);
                "items"
            }
            "prefixItems" => {
                read.prefix_items = Some(self.list(value, place, "prefixItems")?);
                "prefixItems"
            }
            "additionalItems" => {
                read.additional_items = Some(value);
                "additionalItems"
            }
            "minItems" => {
                read.min_items = Some(self.count(value, place, "minItems")?);
                "minItems"
            }
            "maxItems" => {
                read.max_items = Some(self.count(value, place, "maxItems")?);
                "maxItems"
            }
            "uniqueItems" => {
                // Whether it constrains anything depends on `maxItems`.
                read.has_unique_items = self.flag(value, place, "uniqueItems")?;
                return Ok(());
            }
            "properties" => {
                read.properties = Some(self.members(value, place, "properties")?);
                "properties"
            }
            "required" => {
                read.required = Some(self.list(value, place, "required")?);
                "required"
            }
            "additionalProperties" => {
                read.additional_properties = Some(value);
                "additionalProperties"
            }
            "unevaluatedProperties" => {
                read.unevaluated_properties = Some(value);
                "unevaluatedProperties"
            }
            "unevaluatedItems" => {
                read.unevaluated_items = Some(value);
                "unevaluatedItems"
            }
            "minProperties" => {
                read.min_properties = Some(self.count(value, place, "minProperties")?);
                "minProperties"
            }
            "maxProperties" => {
                read.max_properties = Some(self.count(value, place, "maxProperties")?);
                "maxProperties"
            }
            _ => return self.read_unenforced(read, keyword, value, place),
        };
        self.note(place, enforced);
        Ok(())
    }

    /// Keywords that constrain nothing, or that are not enforced when they do.
    fn read_unenforced(
        &mut self,
        read: &mut Keywords<'a>,
        keyword: &'a str,
        value: &'a Value,
        place: PlaceId,
    ) -> Result<(), SchemaError> {
        let name = match keyword {
            "$schema" => {
                if self.draft == Draft::Draft3 && place == 0 {
                    self.refuse(
                        place,
                        "$schema",
                        "draft 3 is not supported; drafts 4, 6, 7, 2019-09 and 2020-12 are",
                    )?;
                }
                return Ok(());
            }
            // Annotations and places for definitions.
            "$id" | "$anchor" | "$comment" | "$vocabulary" | "$defs" | "definitions" | "title"
            | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly"
            | "$recursiveAnchor" | "$dynamicAnchor" => return Ok(()),
            // The specification leaves the content of strings to applications.
            "contentEncoding" | "contentMediaType" | "contentSchema" => {
                self.note_annotation(place, keyword);
                return Ok(());
            }
            "id" if self.draft <= Draft::Draft4 => return Ok(()),
            "format" => {
                // What the specification does not define is an annotation by it.
                let draft = self.draft;
                match value.as_str().and_then(|name| formats::language(name, draft)) {
                    Some(language) => {
                        read.format = Some(language);
                        self.note(place, "format");
                    }
                    None => self.note_unknown_format(place, value.as_str()),
                }
                return Ok(());
            }
            "extends" if self.draft == Draft::Draft3 => "extends",
            "disallow" if self.draft == Draft::Draft3 => "disallow",
            "divisibleBy" if self.draft == Draft::Draft3 => "divisibleBy",
            _ => {
                self.note_annotation(place, keyword);
                return Ok(());
            }
        };
        Err(self.error(place, Some(name), Kind::Unsupported { message: NOT_YET.into() }))
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
