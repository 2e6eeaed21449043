//! A schema's reasons, in its own words: where a text is, what holds there, and why it cannot go on with
//! something.
//!
//! The grammar decides; this only looks for the words. So it reads the schema as a person would, along the
//! path of the text: `properties`, `items`, `$ref` within the document, `allOf`. What it cannot follow
//! (`patternProperties`, other documents) it is silent about. Below `anyOf` and the like a keyword counts
//! only if no text can choose another alternative: then it says nothing either.

mod place;
mod refusal;
mod walk;

use serde_json::Value;

use crate::PropertyOrder;
use place::{Place, Spot, pointer, shortened, string_of};
use walk::{Applied, applied};

/// A keyword that holds of the value at a place.
///
/// ```
/// use maskwright_json_schema::{PropertyOrder, SchemaWords};
/// let schema = serde_json::json!({"properties": {"age": {"maximum": 120}}});
/// let words = SchemaWords::new(&schema, PropertyOrder::Schema);
/// let limits = words.limits(br#"{"age": 1"#);
/// assert_eq!((limits[0].keyword.as_str(), limits[0].value.as_str()), ("maximum", "120"));
/// assert_eq!(limits[0].pointer, "/properties/age");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeywordLimit {
    /// The keyword.
    pub keyword: String,
    /// Its value, as JSON.
    pub value: String,
    /// The JSON pointer to the schema that has it.
    pub pointer: String,
}

/// See the module.
///
/// ```
/// use maskwright_json_schema::{PropertyOrder, SchemaWords};
/// let schema = serde_json::json!({"properties": {"age": {"type": "integer", "maximum": 120}}});
/// let words = SchemaWords::new(&schema, PropertyOrder::Schema);
/// assert_eq!(words.path(br#"{"age": 20"#), "/age");
/// let why = words.refusal(br#"{"age": 20"#, b"0}").unwrap();
/// assert_eq!(why, r#"at /age: 200 is above "maximum": 120"#);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SchemaWords<'s> {
    schema: &'s Value,
    order: PropertyOrder,
}

impl<'s> SchemaWords<'s> {
    /// The words of a schema document whose properties are written in an order.
    pub fn new(schema: &'s Value, order: PropertyOrder) -> SchemaWords<'s> {
        SchemaWords { schema, order }
    }

    /// Where a text is, as a JSON pointer into the value that it writes: to the value in progress, or that is
    /// next; of a key, to the object that has it. Empty at the top.
    pub fn path(&self, text: &[u8]) -> String {
        pointer(&Place::after(text).path())
    }

    /// The keywords that limit the value in progress, or that is next.
    pub fn limits(&self, text: &[u8]) -> Vec<KeywordLimit> {
        let place = Place::after(text);
        let is_over = place.open.is_empty() && place.spot == Spot::After;
        let is_wanted = |keyword: &str| match place.spot {
            _ if is_over => false,
            Spot::Value(_) | Spot::Colon => VALUE_KEYWORDS.contains(&keyword),
            Spot::Key(_) | Spot::After => CONTAINER_KEYWORDS.contains(&keyword),
        };
        let mut limits = Vec::new();
        for Applied { schema, pointer, .. } in applied(self.schema, &place.path()) {
            for (keyword, value) in schema.as_object().into_iter().flatten() {
                if is_wanted(keyword) {
                    let value = shortened(&value.to_string());
                    limits.push(KeywordLimit { keyword: keyword.clone(), value, pointer: pointer.clone() });
                }
            }
        }
        limits
    }

    /// What must still come before the value in progress can end, in words.
    pub fn hint(&self, text: &[u8]) -> Option<String> {
        let place = Place::after(text);
        let Spot::Value(begin) = place.spot else { return None };
        let written = text.get(begin..).filter(|written| written.first() == Some(&b'"'))?;
        let n_characters = string_of(written)?.chars().count() as u64;
        let schemas = applied(self.schema, &place.path());
        // What may come next says more there.
        let finer = ["enum", "const", "pattern", "format"];
        if schemas.iter().any(|applied| finer.iter().any(|keyword| applied.schema.get(keyword).is_some())) {
            return None;
        }
        let least = schemas.iter().filter_map(|applied| applied.schema.get("minLength")?.as_u64()).max()?;
        match least.saturating_sub(n_characters) {
            0 => None,
            1 => Some("at least 1 more character".to_owned()),
            n => Some(format!("at least {n} more characters")),
        }
    }

    /// Why `next` cannot follow `text`: the grammar has read the text and refuses the first byte of `next`.
    /// `None` if no keyword is known to be the reason.
    pub fn refusal(&self, text: &[u8], next: &[u8]) -> Option<String> {
        refusal::refusal(self.schema, self.order, text, next)
    }
}

/// Keywords of values that are shown; of arrays and objects, where these may go on or end.
const VALUE_KEYWORDS: [&str; 15] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "contentEncoding",
    "minItems",
    "maxItems",
];
const CONTAINER_KEYWORDS: [&str; 7] = [
    "required",
    "minProperties",
    "maxProperties",
    "additionalProperties",
    "minItems",
    "maxItems",
    "uniqueItems",
];
