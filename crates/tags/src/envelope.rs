//! What stands around a format: the envelope of structural tags, and the two forms that came before it.
//!
//! * `{"type": "structural_tag", "format": F}`; `type` may be left out.
//! * `{"type": "structural_tag", "structures": [S, …], "triggers": [T, …]}`, the old form, in which each S is
//!   `{"begin": B, "schema": J, "end": E}`. It means `triggered_tags` with tags of JSON Schemas.
//! * `{"tags": [S, …], "triggers": [T, …]}`: the same as the arguments of `from_legacy_structural_tag`.

use std::borrow::Cow;

use maskwright_json_schema::{Style, parse_json};
use serde_json::Value;

use crate::TagError;
use crate::fields::{Fields, below, shown, text};
use crate::format::{Begin, End, Format, How, Kind, Schema, Tag, Triggered};
use crate::read::{self, Reader, TYPES};

const WHAT: &str = "a structural tag";

/// The format of a document.
///
/// # Errors
/// If it is not in one of the three forms, or the format in it is wrong.
pub(crate) fn read<'a>(document: &'a Value, reader: &mut Reader<'a, '_>) -> Result<Format<'a>, TagError> {
    let has = |name: &str| document.get(name).is_some();
    let (structures, known): (_, &[&str]) = match (has("format"), has("structures"), has("tags")) {
        (false, true, _) => (Some("structures"), &["type", "structures", "triggers"]),
        (false, false, true) if !has_format_type(document) => (Some("tags"), &["type", "tags", "triggers"]),
        _ => (None, &["type", "format"]),
    };
    if has_format_type(document) && !has("format") {
        let message = "the document is a format alone, expected it in the envelope of structural tags";
        return Err(TagError::malformed("", message)
            .with_hint("write {\"type\": \"structural_tag\", \"format\": …} around it"));
    }
    let fields = Fields::new(document, "", WHAT, known)?;
    match fields.get("type") {
        None => {}
        Some(Value::String(name)) if name == "structural_tag" => {}
        Some(other) => {
            let given = other.as_str().map_or_else(|| shown(other), |name| format!("`{name}` is given"));
            return Err(TagError::malformed("/type", format!("{given}, expected `structural_tag`")));
        }
    }
    match structures {
        Some(name) => legacy(&fields, name, reader),
        None => reader.format(fields.required("format")?, &fields.below("format")),
    }
}

/// Whether the type of the document is one of a format.
fn has_format_type(document: &Value) -> bool {
    document.get("type").and_then(Value::as_str).is_some_and(|name| TYPES.contains(&name))
}

/// The old forms: tags of JSON Schemas after triggers.
fn legacy<'a>(
    fields: &Fields<'a>,
    structures: &str,
    reader: &Reader<'a, '_>,
) -> Result<Format<'a>, TagError> {
    let tags = fields.some_list(structures)?.into_iter().map(|(value, at)| structure(value, &at, reader));
    let triggered = Triggered {
        tags: tags.collect::<Result<_, _>>()?,
        triggers: read::triggers(fields)?,
        excludes: Vec::new(),
        how: How { at_least_one: false, stop_after_first: false },
    };
    Ok(Format { at: String::new(), kind: Kind::Triggered(triggered), region: None })
}

fn structure<'a>(value: &'a Value, at: &str, reader: &Reader<'a, '_>) -> Result<Tag<'a>, TagError> {
    reader.spend(at)?;
    let fields = Fields::new(value, at, "a structure", &["begin", "schema", "end"])?;
    let schema_at = fields.below("schema");
    let schema = match fields.required("schema")? {
        schema @ (Value::Object(_) | Value::Bool(_)) => Cow::Borrowed(schema),
        Value::String(text) => {
            Cow::Owned(parse_json(text, "schema").map_err(|error| TagError::syntax(&schema_at, error))?)
        }
        other => {
            let message = format!("{}, expected a JSON Schema or its text", shown(other));
            return Err(TagError::malformed(schema_at, message));
        }
    };
    let (any_order, max_whitespace) = (false, None);
    let schema = Schema {
        schema,
        at: schema_at.clone(),
        style: Style::Json,
        any_order,
        max_whitespace,
        shown_at: None,
        is_one_line: false,
        excludes: Vec::new(),
        ends: Vec::new(),
    };
    Ok(Tag {
        at: at.to_owned(),
        begin: Begin::Text(fields.text("begin")?),
        begin_at: fields.below("begin"),
        content: Format { at: schema_at, kind: Kind::Schema(schema), region: None },
        end: End::Texts(vec![text(fields.required("end")?, &below(at, "end"), "a string")?]),
        end_at: fields.below("end"),
        region: None,
    })
}
