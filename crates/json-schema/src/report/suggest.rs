//! Unknown keywords and formats: which are nearly a known one, and what users are told.
//!
//! By the specification both are annotations without effect, and vendors have many of their own (`x-order`,
//! `markdownDescription`). A misspelt keyword is an annotation too, so texts that it was meant to refuse are
//! accepted silently. Keywords close to one that has an effect are therefore warned about, and so are all
//! formats that are not checked.

use std::fmt;

use maskwright_syntax::nearest_name;

use crate::formats;
use crate::source::draft::Draft;
use crate::source::keyword::Keyword;

/// Keywords that some draft or OpenAPI has, though not the schema's draft, and annotations that resemble
/// others.
const OF_OTHERS: &[&str] =
    &["id", "extends", "disallow", "divisibleBy", "nullable", "example", "xml", "discriminator"];

/// Whether a field of a schema is a keyword of JSON Schema, of any draft, or of OpenAPI.
///
/// ```
/// assert!(maskwright_json_schema::is_keyword("minLength") && !maskwright_json_schema::is_keyword("city"));
/// ```
pub fn is_keyword(name: &str) -> bool {
    Keyword::named(name).is_some() || OF_OTHERS.contains(&name)
}

/// Names of formats that people use for another, too far from it for a comparison.
const OTHER_NAMES: &[(&str, &str)] = &[("url", "uri"), ("ip", "ipv4"), ("timestamp", "date-time")];

/// Formats that validators and languages have besides JSON Schema's, and that mean something of their own.
const OTHER_FORMATS: &[&str] = &[
    "base64",
    "base64url",
    "binary",
    "byte",
    "cidrv4",
    "cidrv6",
    "cuid",
    "cuid2",
    "double",
    "e164",
    "emoji",
    "file-path",
    "float",
    "int32",
    "int64",
    "jwt",
    "ksuid",
    "lowercase",
    "nanoid",
    "password",
    "path",
    "regexp",
    "ulid",
    "uppercase",
    "uuid4",
    "xid",
];

/// The names of types.
const TYPES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];

/// What other languages call the types.
const OTHER_TYPES: &[(&str, &str)] = &[
    ("bigint", "\"integer\""),
    ("regexp", "\"string\" with `pattern`"),
    ("uint8array", "\"string\""),
    ("any", "all seven, which is what a schema without `type` takes"),
    ("bool", "\"boolean\""),
    ("date", "\"string\" with `format`"),
    ("datetime", "\"string\" with `format`"),
    ("dict", "\"object\""),
    ("double", "\"number\""),
    ("enum", "the keyword `enum`"),
    ("float", "\"number\""),
    ("int", "\"integer\""),
    ("list", "\"array\""),
    ("map", "\"object\""),
    ("nil", "\"null\""),
    ("none", "\"null\""),
    ("str", "\"string\""),
    ("text", "\"string\""),
    ("tuple", "\"array\" with `prefixItems`"),
    ("undefined", "\"null\""),
];

/// Objects that are not schemas, by their `type`.
const OTHER_OBJECTS: &[(&str, &str)] = &[
    ("function", "this is a tool of an API: the schema of its arguments is in its `parameters`"),
    (
        "json_object",
        "this is the response format of an API for any JSON object: as a schema, {\"type\": \"object\"}",
    ),
    (
        "json_schema",
        "this is the response format of an API: the schema is what stands in `json_schema`, under `schema`",
    ),
    (
        "structural_tag",
        "this is a structural tag: compile_structural_tag in Python, --structural-tag on the command line",
    ),
];

/// Something in a schema that has no effect and was probably meant to have one.
///
/// `Display` gives one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The JSON pointer of the first schema with the keyword.
    pub pointer: String,
    /// The keyword: an unknown one, or `format`.
    pub keyword: String,
    /// The name of the format, if `keyword` is `format`.
    pub format: Option<String>,
    /// What was probably meant.
    pub suggestion: Option<&'static str>,
    /// How to say it, if another name does not help.
    pub advice: Option<&'static str>,
    /// How many schemas have the same.
    pub n_places: usize,
    /// The name of the tool that has the first schema, if the schemas are those of tools.
    pub tool: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tool) = &self.tool {
            write!(f, "in the tool {tool:?}, ")?;
        }
        match &self.format {
            Some(format) => write!(f, "the format \"{format}\" ")?,
            None => write!(f, "`{}` ", self.keyword)?,
        }
        match self.pointer.as_str() {
            "" => write!(f, "at the root")?,
            pointer => write!(f, "at {pointer}")?,
        }
        match self.n_places {
            0 | 1 => {}
            2 => write!(f, " and one more place")?,
            n => write!(f, " and {} more places", n - 1)?,
        }
        match self.format {
            Some(_) => write!(f, " is not known, so it is not checked")?,
            None => write!(f, " is no keyword of JSON Schema, so it has no effect")?,
        }
        match (self.suggestion, &self.format) {
            (Some(suggestion), Some(_)) => write!(f, ": did you mean \"{suggestion}\"?"),
            (Some(suggestion), None) => write!(f, ": did you mean `{suggestion}`?"),
            (None, _) => match self.advice {
                Some(advice) => write!(f, ": {advice}"),
                None => Ok(()),
            },
        }
    }
}

/// A hint for an unknown type: what was probably meant.
pub(crate) fn hint_on_type(name: &str) -> Option<String> {
    if let Some((_, hint)) = OTHER_OBJECTS.iter().find(|(other, _)| *other == name) {
        return Some((*hint).to_owned());
    }
    let other = OTHER_TYPES.iter().find(|(other, _)| name.eq_ignore_ascii_case(other));
    let meant = other.map(|(_, meant)| (*meant).to_owned());
    let meant = meant.or_else(|| nearest(name, TYPES.iter().copied()).map(|known| format!("\"{known}\"")));
    meant.map(|meant| format!("did you mean {meant}?"))
}

/// Advice on a keyword of another language, or on an object around the schema. `of_root`: the keywords of the
/// root, if all of them are unknown.
pub(crate) fn advice(name: &str, is_at_root: bool, of_root: Option<&[&str]>) -> Option<&'static str> {
    let has = |name: &str| of_root.is_some_and(|names| names.contains(&name));
    match name {
        "nullable" => {
            Some("it is OpenAPI's; JSON Schema lists the types, as in \"type\": [\"string\", \"null\"]")
        }
        "schema" if is_at_root && (has("name") || has("strict")) => {
            Some("this looks like the object around a schema in a request; give the value of `schema`")
        }
        "json_schema" if is_at_root && of_root.is_some() => {
            Some("this looks like the response format of a request; give the value of `schema` in it")
        }
        "parameters" | "input_schema" if is_at_root && has("name") => Some(
            "this looks like a tool; give the value of this keyword, which is the schema of its arguments",
        ),
        _ => None,
    }
}

/// The keyword that `name`, which is none, was probably meant to be.
pub(crate) fn keyword(name: &str) -> Option<&'static str> {
    let is_extension = name.starts_with(['_', '@', '/']) || name.starts_with("x-");
    if is_extension || OF_OTHERS.contains(&name) || Keyword::draft_of(name) > Draft::Draft3 {
        return None;
    }
    nearest(name, Keyword::names_with_effect())
}

/// The format that `name`, which is none, was probably meant to be.
pub(crate) fn format(name: &str) -> Option<&'static str> {
    if OTHER_FORMATS.contains(&name) {
        return None;
    }
    let other = OTHER_NAMES.iter().find(|(other, _)| name.eq_ignore_ascii_case(other));
    other.map(|&(_, known)| known).or_else(|| nearest(name, formats::names()))
}

/// The nearest of `known`, if so few letters are different that it is hardly another word: unknown names are
/// no errors.
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let (distance, known) = nearest_name(name, known)?;
    // Of short words nearly all are near to each other.
    let is_near = match name.len().min(known.len()) {
        _ if distance == 0 => true,
        0..4 => false,
        4..7 => distance == 1,
        _ => distance <= 2,
    };
    is_near.then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_keywords_are_recognised() {
        for (given, meant) in [
            ("propertes", "properties"),
            ("minLenght", "minLength"),
            ("min_length", "minLength"),
            ("anyof", "anyOf"),
            ("ref", "$ref"),
            ("$def", "$defs"),
            ("enums", "enum"),
            ("require", "required"),
            ("additionalProperites", "additionalProperties"),
            ("item", "items"),
        ] {
            assert_eq!(keyword(given), Some(meant), "{given}");
        }
    }

    /// Words that are nobody's misspelling: annotations of vendors, and keywords of other drafts.
    #[test]
    fn extensions_are_left_alone() {
        for name in [
            "x-order",
            "x-format",
            "markdownDescription",
            "enumNames",
            "example",
            "id",
            "note",
            "name",
            "label",
            "order",
            "options",
            "optional",
            "version",
            "extends",
            "prefixItems",
            "_comment",
            "tsType",
            "unit",
            "hint",
            "nullable",
            "errorMessage",
            "defaultSnippets",
            "enumDescriptions",
            "comment",
        ] {
            assert_eq!(keyword(name), None, "{name}");
        }
        assert_eq!(keyword(&"properties".repeat(100_000)), None);
    }

    #[test]
    fn misspelt_formats_are_recognised() {
        for (given, meant) in [
            ("emial", Some("email")),
            ("datetime", Some("date-time")),
            ("guid", Some("uuid")),
            ("url", Some("uri")),
            ("int32", None),
            ("color", None),
            ("double", None),
            ("ulid", None),
            ("cuid", None),
        ] {
            assert_eq!(format(given), meant, "{given}");
        }
    }
}
