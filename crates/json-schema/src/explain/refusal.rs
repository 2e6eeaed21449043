//! Why a text cannot go on with something, by the keyword that refuses it.

use serde_json::Value;

use super::place::{Open, Place, Spot, pointer, scalar_length, shortened, string_of};
use super::walk::{Applied, applied};

/// How many names are listed.
const MAX_NAMES: usize = 8;

/// Why `text` cannot go on with `next`.
pub(super) fn refusal(document: &Value, text: &[u8], next: &[u8]) -> Option<String> {
    // White space before what matters changes nothing.
    let n_blanks = next.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let place = Place::after(text);
    let is_within = matches!(place.spot, Spot::Value(begin) | Spot::Key(begin) if begin < text.len());
    let next = if is_within { next } else { &next[n_blanks..] };
    let first = *next.first()?;
    let path = place.path();
    let schemas = applied(document, &path);
    let reason = match place.spot {
        Spot::Value(begin) => {
            let is_end = begin >= text.len() && matches!(first, b']' | b'}');
            if is_end {
                // An array that is to have an item.
                let outer = &path[..path.len().saturating_sub(1)];
                let why = ends_too_early(&place, first, &applied(document, outer))?;
                return Some(at(&pointer(outer), &why));
            }
            let written: Vec<u8> = text[begin.min(text.len())..].iter().chain(next).copied().collect();
            let length = scalar_length(&written);
            let value =
                Written { text: &written[..length.unwrap_or(written.len())], is_over: length.is_some() };
            schemas.iter().find_map(|schema| value.refused_by(schema.schema))
        }
        Spot::Key(_) if first == b'}' => ends_too_early(&place, first, &schemas),
        Spot::Key(begin) => {
            let written: Vec<u8> = text[begin.min(text.len())..].iter().chain(next).copied().collect();
            let length = scalar_length(&written);
            let key = string_of(&written[..length.unwrap_or(written.len())]);
            key_refused(&place, &key, length.is_some(), &schemas)
        }
        Spot::Behind if matches!(first, b']' | b'}') => ends_too_early(&place, first, &schemas),
        Spot::Behind if first == b',' => goes_on_too_long(&place, &schemas),
        Spot::Behind | Spot::Colon => None,
    };
    reason.map(|reason| at(&pointer(&path), &reason))
}

fn at(path: &str, reason: &str) -> String {
    if path.is_empty() { format!("at the top: {reason}") } else { format!("at {path}: {reason}") }
}

/// A scalar, or the beginning of a value.
struct Written<'t> {
    text: &'t [u8],
    is_over: bool,
}

impl Written<'_> {
    /// Why a schema does not have the value.
    fn refused_by(&self, schema: &Value) -> Option<String> {
        if schema == &Value::Bool(false) {
            return Some("the schema there is false: no value fits".to_owned());
        }
        self.wrong_type(schema).or_else(|| self.not_listed(schema)).or_else(|| match self.text.first()? {
            b'"' => self.wrong_string(schema),
            b'-' | b'0'..=b'9' => self.wrong_number(schema),
            _ => None,
        })
    }

    /// The value as it is shown.
    fn shown(&self) -> String {
        let text = shortened(&String::from_utf8_lossy(self.text));
        if self.is_over || text.ends_with('…') { text } else { format!("{text}…") }
    }

    fn wrong_type(&self, schema: &Value) -> Option<String> {
        let types = schema.get("type")?;
        let is_allowed = |name: &str| match types {
            Value::String(only) => only == name,
            Value::Array(several) => several.iter().any(|one| one == name),
            _ => true,
        };
        let (name, is_right) = match self.text.first()? {
            b'"' => ("a string", is_allowed("string")),
            b'{' => ("an object", is_allowed("object")),
            b'[' => ("an array", is_allowed("array")),
            b't' | b'f' => ("a boolean", is_allowed("boolean")),
            b'n' => ("null", is_allowed("null")),
            b'-' | b'0'..=b'9' => {
                let is_whole = !self.text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
                let is_right = is_allowed("number") || is_allowed("integer") && is_whole;
                (if is_whole { "a number" } else { "a number that is not whole" }, is_right)
            }
            _ => return None,
        };
        (!is_right).then(|| format!("{name} is not of \"type\": {types}"))
    }

    /// Why none of the listed values is meant.
    fn not_listed(&self, schema: &Value) -> Option<String> {
        let (keyword, listed) = match (schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(listed)), _) => ("enum", listed.as_slice()),
            (None, Some(only)) => ("const", std::slice::from_ref(only)),
            _ => return None,
        };
        let fits = |value: &Value| match value {
            Value::String(text) => {
                let own = string_of(self.text);
                self.text.first() == Some(&b'"')
                    && if self.is_over { *text == own } else { text.starts_with(&own) }
            }
            Value::Object(_) => self.text.first() == Some(&b'{'),
            Value::Array(_) => self.text.first() == Some(&b'['),
            other => {
                let (own, other) = (String::from_utf8_lossy(self.text), other.to_string());
                if self.is_over { other == own } else { other.starts_with(&*own) }
            }
        };
        if listed.iter().any(fits) {
            return None;
        }
        let all = schema.get(keyword).map(Value::to_string).unwrap_or_default();
        Some(match keyword {
            "enum" => format!("{} is not one of \"enum\": {}", self.shown(), shortened(&all)),
            _ => format!("{} is not \"const\": {}", self.shown(), shortened(&all)),
        })
    }

    fn wrong_string(&self, schema: &Value) -> Option<String> {
        let n_characters = string_of(self.text).chars().count() as u64;
        let characters = |n: u64| if n == 1 { "1 character".to_owned() } else { format!("{n} characters") };
        let (least, most) = (number(schema, "minLength"), number(schema, "maxLength"));
        if let Some(most) = most.filter(|&most| n_characters as f64 > most) {
            return Some(format!(
                "{} has {}, more than \"maxLength\": {most}",
                self.shown(),
                characters(n_characters)
            ));
        }
        if let Some(least) = least.filter(|&least| self.is_over && (n_characters as f64) < least) {
            return Some(format!(
                "{} has {}, fewer than \"minLength\": {least}",
                self.shown(),
                characters(n_characters)
            ));
        }
        // What these say is not asked here; but nothing else limits the string.
        let limits =
            ["pattern", "format"].iter().filter_map(|&keyword| Some((keyword, schema.get(keyword)?)));
        let limits: Vec<String> = limits
            .map(|(keyword, value)| format!("\"{keyword}\": {}", shortened(&value.to_string())))
            .collect();
        (!limits.is_empty()).then(|| format!("{} does not fit {}", self.shown(), limits.join(" and ")))
    }

    fn wrong_number(&self, schema: &Value) -> Option<String> {
        let shown = String::from_utf8_lossy(self.text);
        let value: f64 = shown.parse().ok()?;
        // A number that goes on becomes greater, or smaller below zero.
        let is_negative = shown.starts_with('-');
        let over = [
            ("maximum", value > number(schema, "maximum").unwrap_or(f64::INFINITY), !is_negative),
            (
                "exclusiveMaximum",
                value >= number(schema, "exclusiveMaximum").unwrap_or(f64::INFINITY),
                !is_negative,
            ),
        ];
        let under = [
            ("minimum", value < number(schema, "minimum").unwrap_or(f64::NEG_INFINITY), is_negative),
            (
                "exclusiveMinimum",
                value <= number(schema, "exclusiveMinimum").unwrap_or(f64::NEG_INFINITY),
                is_negative,
            ),
        ];
        for (list, word) in [(over, "above"), (under, "below")] {
            for (keyword, is_outside, stays_so) in list {
                if is_outside && (self.is_over || stays_so) {
                    let word = if keyword.starts_with("exclusive") { "not within" } else { word };
                    return Some(format!("{shown} is {word} \"{keyword}\": {}", schema[keyword]));
                }
            }
        }
        let step = number(schema, "multipleOf")?;
        let quotient = value / step;
        let is_multiple = (quotient - quotient.round()).abs() < 1e-9;
        (self.is_over && !is_multiple)
            .then(|| format!("{shown} is not a multiple of \"multipleOf\": {}", schema["multipleOf"]))
    }
}

fn number(schema: &Value, keyword: &str) -> Option<f64> {
    schema.get(keyword)?.as_f64()
}

/// Why a key cannot be written.
fn key_refused(place: &Place, key: &str, is_over: bool, schemas: &[Applied<'_>]) -> Option<String> {
    let Some(Open::Object { keys }) = place.open.last() else { return None };
    let shown = if is_over { format!("\"{key}\"") } else { format!("\"{key}…") };
    if is_over && keys.iter().any(|known| known == key) {
        return Some(format!("the key {shown} is there already"));
    }
    for Applied { schema, .. } in schemas {
        let properties = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&String> = properties.into_iter().flatten().map(|(name, _)| name).collect();
        let fits = |name: &&&String| if is_over { name.as_str() == key } else { name.starts_with(key) };
        let others = ["additionalProperties", "unevaluatedProperties"];
        let closed = others.iter().find(|keyword| schema.get(**keyword) == Some(&Value::Bool(false)));
        if let Some(keyword) = closed
            && schema.get("patternProperties").is_none()
            && !names.iter().any(|name| fits(&name))
        {
            let listed = listed(names.iter().map(|name| name.as_str()));
            return Some(format!("{shown} is none of the properties {listed} (\"{keyword}\": false)"));
        }
        let missing = missing(schema, keys);
        if let Some(name) = names.iter().find(fits)
            && let Some(place) = names.iter().position(|known| known == name)
        {
            let is_before = |other: &str| names[..place].iter().any(|name| name.as_str() == other);
            if let Some(first) = missing.iter().find(|name| is_before(name)) {
                return Some(format!(
                    "\"{first}\" is \"required\" and comes before \"{name}\", in the schema's order"
                ));
            }
            let is_behind = |known: &&String| names[place..].contains(known);
            if let Some(last) = keys.last().filter(is_behind) {
                return Some(format!("\"{name}\" comes before \"{last}\", in the schema's order"));
            }
        }
    }
    None
}

/// Why an array or object cannot end yet.
fn ends_too_early(place: &Place, end: u8, schemas: &[Applied<'_>]) -> Option<String> {
    match place.open.last()? {
        Open::Object { keys } if end == b'}' => {
            let names = schemas.iter().flat_map(|applied| missing(applied.schema, keys));
            let names: Vec<&str> = names.collect();
            if let [first, ..] = names[..] {
                let is_one = names.len() == 1;
                let verb = if is_one { "is" } else { "are" };
                let all = if is_one { format!("\"{first}\"") } else { listed(names.into_iter()) };
                return Some(format!("{all} {verb} \"required\" and missing"));
            }
            too_few(schemas, "minProperties", keys.len(), ["property", "properties"])
        }
        Open::Array { n_items } if end == b']' => too_few(schemas, "minItems", *n_items, ["item", "items"]),
        _ => None,
    }
}

fn too_few(schemas: &[Applied<'_>], keyword: &str, n: usize, [one, many]: [&str; 2]) -> Option<String> {
    schemas.iter().find_map(|applied| {
        let least = number(applied.schema, keyword).filter(|&least| (n as f64) < least)?;
        let word = if n == 1 { one } else { many };
        Some(format!("{n} {word}, fewer than \"{keyword}\": {least}"))
    })
}

/// Why no member or item can follow.
fn goes_on_too_long(place: &Place, schemas: &[Applied<'_>]) -> Option<String> {
    let (n, keyword, words) = match place.open.last()? {
        Open::Object { keys } => (keys.len(), "maxProperties", ["property", "properties"]),
        Open::Array { n_items } => (*n_items, "maxItems", ["item", "items"]),
    };
    schemas.iter().find_map(|applied| {
        let most = number(applied.schema, keyword).filter(|&most| n as f64 >= most)?;
        Some(format!("{n} {} are there, as many as \"{keyword}\": {most}", words[usize::from(n != 1)]))
    })
}

/// The required keys that an object lacks.
fn missing<'s>(schema: &'s Value, keys: &[String]) -> Vec<&'s str> {
    let required = schema.get("required").and_then(Value::as_array);
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| !keys.iter().any(|key| key == name)).collect()
}

/// Names in quotes, not too many.
fn listed<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let n_more = names.len().saturating_sub(MAX_NAMES);
    let mut shown: Vec<String> = names.take(MAX_NAMES).map(|name| format!("\"{name}\"")).collect();
    if n_more > 0 {
        shown.push(format!("{n_more} more"));
    }
    shown.join(", ")
}
