//! The keywords of JSON Schema, a row each: its first draft, the types whose values it may refuse, and the
//! schemas in its value.
//!
//! To add a keyword that has an effect: "A keyword of JSON Schema" in `CONTRIBUTING.md` has the steps.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::source::draft::Draft;
use crate::source::json_types::Types;

/// What does not depend on a keyword's value.
pub(crate) struct Keyword {
    pub(crate) name: &'static str,
    /// Its first draft; draft 3 stands for all.
    pub(crate) since: Draft,
    pub(crate) role: Role,
    /// The types whose values it may refuse.
    pub(crate) types: Types,
    pub(crate) holds: Holds,
    /// Whether it evaluates properties or items, by itself or by a schema below it.
    pub(crate) evaluates: bool,
}

/// What a keyword is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It refuses values.
    Constraint,
    /// It says where schemas are, and what they are called.
    Place,
    /// It says nothing about values.
    Annotation,
    /// It says what a string holds, which the specification leaves to applications.
    Content,
}

/// The schemas in the value of a keyword.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    Nothing,
    /// The value is a schema, or a list of schemas.
    Schemas,
    /// The members of the value are schemas.
    SchemasByName,
}

const ALL: Types = Types::ALL;
const ARRAY: Types = Types::ARRAY;
const NUMBER: Types = Types::INTEGER.union(Types::NUMBER);
const OBJECT: Types = Types::OBJECT;
const STRING: Types = Types::STRING;

static KEYWORDS: &[Keyword] = &[
    other("$anchor", Role::Place),
    other("$comment", Role::Annotation),
    other("$defs", Role::Place).with_schemas_by_name(),
    other("$dynamicAnchor", Role::Place),
    constraint("$dynamicRef", ALL).since(Draft::Draft2020).evaluating(),
    other("$id", Role::Place),
    other("$recursiveAnchor", Role::Place),
    constraint("$recursiveRef", ALL).since(Draft::Draft2019).evaluating(),
    constraint("$ref", ALL).evaluating(),
    other("$schema", Role::Place),
    other("$vocabulary", Role::Annotation),
    constraint("additionalItems", ARRAY).with_schemas().evaluating(),
    constraint("additionalProperties", OBJECT).with_schemas().evaluating(),
    constraint("allOf", ALL).with_schemas().evaluating(),
    constraint("anyOf", ALL).with_schemas().evaluating(),
    constraint("const", ALL).since(Draft::Draft6),
    constraint("contains", ARRAY).since(Draft::Draft6).with_schemas().evaluating(),
    other("contentEncoding", Role::Content),
    other("contentMediaType", Role::Content),
    other("contentSchema", Role::Content).with_schemas(),
    other("default", Role::Annotation),
    other("definitions", Role::Place).with_schemas_by_name(),
    constraint("dependencies", OBJECT).with_schemas_by_name().evaluating(),
    constraint("dependentRequired", OBJECT).since(Draft::Draft2019),
    constraint("dependentSchemas", OBJECT).since(Draft::Draft2019).with_schemas_by_name().evaluating(),
    other("deprecated", Role::Annotation),
    other("description", Role::Annotation),
    constraint("else", ALL).since(Draft::Draft7).with_schemas().evaluating(),
    constraint("enum", ALL),
    other("examples", Role::Annotation),
    constraint("exclusiveMaximum", NUMBER),
    constraint("exclusiveMinimum", NUMBER),
    constraint("format", STRING),
    constraint("if", ALL).since(Draft::Draft7).with_schemas().evaluating(),
    constraint("items", ARRAY).with_schemas().evaluating(),
    constraint("maxContains", ARRAY).since(Draft::Draft2019),
    constraint("maxItems", ARRAY),
    constraint("maxLength", STRING),
    constraint("maxProperties", OBJECT),
    constraint("maximum", NUMBER),
    constraint("minContains", ARRAY).since(Draft::Draft2019),
    constraint("minItems", ARRAY),
    constraint("minLength", STRING),
    constraint("minProperties", OBJECT),
    constraint("minimum", NUMBER),
    constraint("multipleOf", NUMBER),
    constraint("not", ALL).with_schemas(),
    constraint("oneOf", ALL).with_schemas().evaluating(),
    constraint("pattern", STRING),
    constraint("patternProperties", OBJECT).with_schemas_by_name().evaluating(),
    constraint("prefixItems", ARRAY).since(Draft::Draft2020).with_schemas().evaluating(),
    constraint("properties", OBJECT).with_schemas_by_name().evaluating(),
    constraint("propertyNames", OBJECT).since(Draft::Draft6).with_schemas(),
    other("readOnly", Role::Annotation),
    constraint("required", OBJECT),
    constraint("then", ALL).since(Draft::Draft7).with_schemas().evaluating(),
    other("title", Role::Annotation),
    constraint("type", ALL),
    constraint("unevaluatedItems", ARRAY).since(Draft::Draft2019).with_schemas(),
    constraint("unevaluatedProperties", OBJECT).since(Draft::Draft2019).with_schemas(),
    constraint("uniqueItems", ARRAY),
    other("writeOnly", Role::Annotation),
];

static BY_NAME: LazyLock<FxHashMap<&str, &Keyword>> =
    LazyLock::new(|| KEYWORDS.iter().map(|keyword| (keyword.name, keyword)).collect());

const fn constraint(name: &'static str, types: Types) -> Keyword {
    Keyword { types, ..other(name, Role::Constraint) }
}

/// A keyword that refuses nothing.
const fn other(name: &'static str, role: Role) -> Keyword {
    Keyword { name, since: Draft::Draft3, role, types: ALL, holds: Holds::Nothing, evaluates: false }
}

impl Keyword {
    const fn since(self, since: Draft) -> Keyword {
        Keyword { since, ..self }
    }

    const fn with_schemas(self) -> Keyword {
        Keyword { holds: Holds::Schemas, ..self }
    }

    const fn with_schemas_by_name(self) -> Keyword {
        Keyword { holds: Holds::SchemasByName, ..self }
    }

    const fn evaluating(self) -> Keyword {
        Keyword { evaluates: true, ..self }
    }

    /// The keyword of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Keyword> {
        BY_NAME.get(name).copied()
    }

    /// The names of the keywords that change which texts are valid.
    pub(crate) fn names_with_effect() -> impl Iterator<Item = &'static str> {
        let has_effect = |keyword: &&Keyword| matches!(keyword.role, Role::Constraint | Role::Place);
        KEYWORDS.iter().filter(has_effect).map(|keyword| keyword.name)
    }

    /// The first draft of a keyword; draft 3 if the name is no keyword.
    pub(crate) fn draft_of(name: &str) -> Draft {
        Keyword::named(name).map_or(Draft::Draft3, |keyword| keyword.since)
    }

    /// The types whose values a keyword may refuse; all if the name is no keyword.
    pub(crate) fn types_of(name: &str) -> Types {
        Keyword::named(name).map_or(ALL, |keyword| keyword.types)
    }

    /// The schemas in the value of a keyword.
    pub(crate) fn held_by(name: &str) -> Holds {
        Keyword::named(name).map_or(Holds::Nothing, |keyword| keyword.holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_keyword_has_two_rows() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a.name < b.name));
    }
}
