//! Why a byte cannot follow a text, by the keyword that refuses it.
//!
//! The value is judged up to the refused byte, and shown as far as it is there.

use maskwright_automata::Fuel;
use maskwright_error::shown as readable;
use maskwright_syntax::regex::Dialect;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::place::{Open, Place, Spot, pointer, scalar_length, shortened, string_of};
use super::walk::{Applied, applied};
use crate::PropertyOrder;
use crate::strings::words::Matcher;

/// How many names are listed.
const MAX_NAMES: usize = 8;

/// Work units to find out whether a pattern is the reason.
const PATTERN_FUEL: u64 = 1_000_000;

/// Formats whose meaning is a matter of the string alone.
const FORMATS: [&str; 9] = ["date", "time", "date-time", "email", "uuid", "ipv4", "ipv6", "uri", "hostname"];

/// Why the first byte of `next` cannot follow `text`.
pub(super) fn refusal(document: &Value, order: PropertyOrder, text: &[u8], next: &[u8]) -> Option<String> {
    let place = Place::after(text);
    let begin = match place.spot {
        Spot::Value(begin) | Spot::Key(begin) => begin.min(text.len()),
        Spot::Colon | Spot::After => text.len(),
    };
    let is_begun = begin < text.len();
    // White space before what matters changes nothing.
    let n_blanks = next.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let next = if is_begun { next } else { &next[n_blanks..] };
    let first = *next.first()?;
    let path = place.path();
    let schemas = applied(document, &path);
    let written: Vec<u8> = text[begin..].iter().chain(next).copied().collect();
    if is_begun
        && text[begin] == b'"'
        && let Some(reason) = control_character(first)
    {
        return Some(at(&pointer(&path), &reason));
    }
    // What JSON refuses is refused whatever the schema says.
    if !begins_json(&[text, &next[..1]].concat()) {
        return None;
    }
    let reason = match place.spot {
        Spot::Value(_) if is_begun || !matches!(first, b']' | b'}' | b',') => {
            let value = Written::new(&written, text.len() - begin + 1);
            let reason = value.refused_by(&schemas).map(|reason| at(&pointer(&path), &reason));
            // A comma or closing bracket ends a number or word.
            let is_over = is_begun && text[begin] != b'"' && matches!(first, b',' | b']' | b'}');
            return reason.or_else(|| {
                let ended = [text, b" "].concat();
                is_over.then(|| refusal(document, order, &ended, next)).flatten()
            });
        }
        // An array that is to have an item.
        Spot::Value(_) if first == b']' && matches!(place.open.last(), Some(Open::Array { .. })) => {
            let outer = &path[..path.len().saturating_sub(1)];
            let why = ends_too_early(&place, first, &applied(document, outer))?;
            return Some(at(&pointer(outer), &why));
        }
        Spot::Key(_) if first == b'}' && !is_begun => ends_too_early(&place, first, &schemas),
        Spot::Key(_) => key_refused(&place, &written, text.len() - begin + 1, order, &schemas),
        Spot::After if matches!(first, b']' | b'}') => ends_too_early(&place, first, &schemas),
        Spot::After if first == b',' => goes_on_too_long(&place, &schemas),
        Spot::Value(_) | Spot::After | Spot::Colon => None,
    };
    reason.map(|reason| at(&pointer(&path), &reason))
}

/// Whether some JSON begins with a text, as far as it can be nested.
fn begins_json(text: &[u8]) -> bool {
    let is_begun = |text: &[u8]| match serde_json::from_slice::<IgnoredAny>(text) {
        Ok(_) => true,
        Err(error) => error.is_eof(),
    };
    // A number that is cut off is an error of its own there.
    is_begun(text) || is_begun(&[text, b"0"].concat())
}

fn at(path: &str, reason: &str) -> String {
    if path.is_empty() { format!("at the top: {reason}") } else { format!("at {}: {reason}", readable(path)) }
}

/// How a control character is written in a string, where it cannot stand as it is.
fn control_character(byte: u8) -> Option<String> {
    Some(match byte {
        b'\n' => "a line feed is written `\\n` in a string".to_owned(),
        b'\t' => "a tab is written `\\t` in a string".to_owned(),
        b'\r' => "a carriage return is written `\\r` in a string".to_owned(),
        0..0x20 => format!("the control character U+{byte:04X} is written `\\u{byte:04x}` in a string"),
        _ => return None,
    })
}

/// A scalar, or the beginning of a value.
struct Written<'t> {
    /// As far as it is there, and whether it is whole.
    shown: &'t [u8],
    is_whole: bool,
    /// Up to the refused byte, and whether it is over with that.
    judged: &'t [u8],
    is_over: bool,
}

impl<'t> Written<'t> {
    /// The value at the start of `text`. The grammar refuses its byte `n_judged - 1`.
    fn new(text: &'t [u8], n_judged: usize) -> Written<'t> {
        let length = scalar_length(text);
        let judged = &text[..n_judged.min(text.len())];
        let over = scalar_length(judged);
        Written {
            shown: &text[..length.unwrap_or(text.len())],
            is_whole: length.is_some(),
            judged: &judged[..over.unwrap_or(judged.len())],
            is_over: over.is_some(),
        }
    }

    /// Why some schema does not have the value.
    fn refused_by(&self, schemas: &[Applied<'_>]) -> Option<String> {
        let first = *self.judged.first()?;
        let of_kind = |schema: &Value| match first {
            b'"' => self.wrong_length(schema),
            b'-' | b'0'..=b'9' => self.wrong_number(schema),
            _ => None,
        };
        // What is certain comes first, whichever schema says it.
        let certain = schemas.iter().map(|applied| applied.schema).find_map(|schema| {
            if schema == &Value::Bool(false) {
                return Some("the schema there is false, which no value fits".to_owned());
            }
            self.wrong_type(schema).or_else(|| self.not_listed(schema)).or_else(|| of_kind(schema))
        });
        certain.or_else(|| self.does_not_fit(schemas).filter(|_| first == b'"'))
    }

    /// The value as it is shown.
    fn shown(&self) -> String {
        let text = shortened(&String::from_utf8_lossy(self.shown));
        if self.is_whole || text.ends_with('…') { text } else { format!("{text}…") }
    }

    fn wrong_type(&self, schema: &Value) -> Option<String> {
        let types = schema.get("type")?;
        let is_allowed = |name: &str| match types {
            Value::String(only) => only == name,
            Value::Array(several) => several.iter().any(|one| one == name),
            _ => true,
        };
        let (name, is_right) = match self.judged.first()? {
            b'"' => ("a string", is_allowed("string")),
            b'{' => ("an object", is_allowed("object")),
            b'[' => ("an array", is_allowed("array")),
            b't' | b'f' => ("a boolean", is_allowed("boolean")),
            b'n' => ("null", is_allowed("null")),
            b'-' | b'0'..=b'9' => {
                let is_plain = !self.judged.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
                if !is_plain && !is_allowed("number") && is_allowed("integer") {
                    return Some("an integer is written without a fraction or an exponent".to_owned());
                }
                ("a number", is_allowed("number") || is_allowed("integer"))
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
        let (own, first) = (String::from_utf8_lossy(self.judged), *self.judged.first()?);
        let string = if first == b'"' { Some(string_of(self.judged)?) } else { None };
        let fits = |value: &Value| match (value, &string) {
            (Value::String(text), Some(own)) => {
                if self.is_over {
                    text == own
                } else {
                    text.starts_with(own.as_str())
                }
            }
            (Value::Object(_), None) => first == b'{',
            (Value::Array(_), None) => first == b'[',
            // One number has several spellings.
            (Value::Number(_), None) => matches!(first, b'-' | b'0'..=b'9'),
            (other @ (Value::Bool(_) | Value::Null), None) => other.to_string().starts_with(&*own),
            _ => false,
        };
        if listed.iter().any(fits) {
            return None;
        }
        let all = shortened(&schema.get(keyword).map(Value::to_string).unwrap_or_default());
        let verb = if keyword == "enum" { "is not one of" } else { "is not" };
        Some(format!("{} {verb} \"{keyword}\": {all}", self.shown()))
    }

    fn wrong_length(&self, schema: &Value) -> Option<String> {
        let n_judged = string_of(self.judged)?.chars().count() as f64;
        let n_shown = string_of(self.shown)?.chars().count();
        let characters =
            if n_shown == 1 { "1 character".to_owned() } else { format!("{n_shown} characters") };
        if let Some(most) = number(schema, "maxLength").filter(|&most| n_judged > most) {
            return Some(format!("{} has {characters}, more than \"maxLength\": {most}", self.shown()));
        }
        let least = number(schema, "minLength").filter(|&least| self.is_over && n_judged < least)?;
        Some(format!("{} has {characters}, fewer than \"minLength\": {least}", self.shown()))
    }

    /// The one keyword that says which strings fit, if nothing else can be the reason.
    fn does_not_fit(&self, schemas: &[Applied<'_>]) -> Option<String> {
        let others = ["not", "anyOf", "oneOf", "if", "contentEncoding", "enum", "const"];
        let has_other =
            schemas.iter().any(|applied| others.iter().any(|other| applied.schema.get(other).is_some()));
        // What is no part of a string in JSON is refused for that.
        let is_text =
            std::str::from_utf8(self.judged).is_ok_and(|judged| !judged.contains(|c| c < ' ' || c == '\\'));
        if has_other || !is_text {
            return None;
        }
        let keywords = ["pattern", "format"];
        let mut limits = schemas.iter().flat_map(|applied| {
            keywords.iter().filter_map(|&keyword| Some((keyword, applied.schema.get(keyword)?.as_str()?)))
        });
        let (keyword, value) = limits.next()?;
        let is_meant = keyword == "pattern" || FORMATS.contains(&value);
        if !is_meant || limits.next().is_some() {
            return None;
        }
        let value_shown = shortened(&format!("{value:?}"));
        let lengths = ["minLength", "maxLength"].into_iter().flat_map(|keyword| {
            let of =
                move |applied: &Applied<'_>| Some(format!("\"{keyword}\": {}", applied.schema.get(keyword)?));
            schemas.iter().filter_map(of)
        });
        let others: Vec<String> = lengths.collect();
        let is_refused = match keyword {
            "pattern" => self.is_outside(value)?,
            _ => others.is_empty(),
        };
        // What fits the pattern, but is too long or too short however it goes on, does not fit both.
        match (is_refused, others.split_last()) {
            (true, _) => Some(format!("{} does not fit \"{keyword}\": {value_shown}", self.shown())),
            (false, None) => None,
            (false, Some((last, before))) => {
                let before: String = before.iter().map(|other| format!(", {other}")).collect();
                Some(format!(
                    "{} does not fit \"{keyword}\": {value_shown}{before} and {last} together",
                    self.shown()
                ))
            }
        }
    }

    /// Whether no string of a pattern begins like this one, or this one, if it is over, is none of them;
    /// `None` if that takes too much work.
    fn is_outside(&self, pattern: &str) -> Option<bool> {
        let fuel = Fuel::new(PATTERN_FUEL);
        let regex = maskwright_syntax::regex::parse_search(pattern, Dialect::Ecma, &fuel).ok()?;
        let found = Matcher::new(&regex).read(&string_of(self.judged)?, &fuel).ok()?;
        Some(if self.is_over { found != Some(true) } else { found.is_none() })
    }

    fn wrong_number(&self, schema: &Value) -> Option<String> {
        let judged = std::str::from_utf8(self.judged).ok()?;
        let digits = judged.trim_start_matches('-');
        // A zero is followed by no digit in JSON.
        if digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit() {
            return None;
        }
        let value: f64 = judged.parse().ok()?;
        // A number that goes on moves away from zero.
        let is_negative = judged.starts_with('-');
        let bound = |keyword: &str| number(schema, keyword);
        let outside = [
            ("maximum", "above", bound("maximum").is_some_and(|most| value > most), !is_negative),
            ("minimum", "below", bound("minimum").is_some_and(|least| value < least), is_negative),
            (
                "exclusiveMaximum",
                "not below",
                bound("exclusiveMaximum").is_some_and(|most| value >= most),
                !is_negative,
            ),
            (
                "exclusiveMinimum",
                "not above",
                bound("exclusiveMinimum").is_some_and(|least| value <= least),
                is_negative,
            ),
        ];
        for (keyword, word, is_outside, stays_so) in outside {
            if is_outside && (self.is_over || stays_so) {
                let shown = shortened(&String::from_utf8_lossy(self.shown));
                return Some(format!("{shown} is {word} \"{keyword}\": {}", schema[keyword]));
            }
        }
        let step = bound("multipleOf").filter(|_| self.is_over)?;
        let quotient = value / step;
        let is_multiple = (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0);
        (!is_multiple)
            .then(|| format!("{judged} is not a multiple of \"multipleOf\": {}", schema["multipleOf"]))
    }
}

fn number(schema: &Value, keyword: &str) -> Option<f64> {
    schema.get(keyword)?.as_f64()
}

/// Why a key cannot be written, of which byte `n_judged - 1` is refused.
fn key_refused(
    place: &Place,
    written: &[u8],
    n_judged: usize,
    order: PropertyOrder,
    schemas: &[Applied<'_>],
) -> Option<String> {
    let Some(Open::Object { keys }) = place.open.last() else { return None };
    let Written { shown, is_whole, judged, is_over } = Written::new(written, n_judged);
    let (shown, key) = (string_of(shown)?, string_of(judged)?);
    // Up to the refused byte it may be another; as a whole it is this one.
    let is_there = is_whole && keys.contains(&shown);
    let shown =
        if is_whole { format!("\"{}\"", readable(&shown)) } else { format!("\"{}…\"", readable(&shown)) };
    if is_there {
        return Some(format!("the key {shown} is there already"));
    }
    let is_other = |name: &&String| if is_over { **name != key } else { !name.starts_with(&key) };
    for Applied { schema, .. } in schemas {
        if schema.get("propertyNames").is_some() || schema.get("patternProperties").is_some() {
            return None;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let names: Vec<&String> = properties.into_iter().flatten().map(|(name, _)| name).collect();
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        if is_closed && names.iter().all(is_other) {
            let names = listed(&names.iter().map(|name| name.as_str()).collect::<Vec<_>>());
            return Some(match names.is_empty() {
                true => {
                    format!("{shown} cannot be there, as no property can (\"additionalProperties\": false)")
                }
                false => {
                    format!("{shown} is none of the properties {names} (\"additionalProperties\": false)")
                }
            });
        }
        if order != PropertyOrder::Schema {
            continue;
        }
        let fits = |(_, name): &(usize, &&String)| !is_other(name) && !keys.contains(name);
        let mut fitting = names.iter().enumerate().filter(fits);
        let (Some((at, name)), None) = (fitting.next(), fitting.next()) else { continue };
        let missing = missing(schema, keys);
        let is_before = |other: &&str| names[..at].iter().any(|name| name.as_str() == *other);
        if let Some(first) = missing.iter().find(|name| is_before(name)) {
            return Some(format!(
                "\"{first}\" is \"required\" and comes before \"{name}\", in the schema's order"
            ));
        }
        if let Some(last) = keys.last().filter(|last| names[at + 1..].contains(last)) {
            return Some(format!("\"{name}\" comes before \"{last}\", in the schema's order"));
        }
    }
    None
}

/// Why an array or object cannot end yet.
fn ends_too_early(place: &Place, end: u8, schemas: &[Applied<'_>]) -> Option<String> {
    match place.open.last()? {
        Open::Object { keys } if end == b'}' => {
            let mut names: Vec<&str> = Vec::new();
            for name in schemas.iter().flat_map(|applied| missing(applied.schema, keys)) {
                if names.len() <= MAX_NAMES && !names.contains(&name) {
                    names.push(name);
                }
            }
            match names.len() {
                0 => too_few(schemas, "minProperties", keys.len(), ["property", "properties"]),
                1 => Some(format!("{} is \"required\" and missing", listed(&names))),
                _ => Some(format!("{} are \"required\" and missing", listed(&names))),
            }
        }
        Open::Array { n_items } if end == b']' => too_few(schemas, "minItems", *n_items, ["item", "items"]),
        _ => None,
    }
}

fn too_few(schemas: &[Applied<'_>], keyword: &str, n: usize, words: [&str; 2]) -> Option<String> {
    schemas.iter().find_map(|applied| {
        let least = number(applied.schema, keyword).filter(|&least| (n as f64) < least)?;
        Some(format!("{n} {}, fewer than \"{keyword}\": {least}", words[usize::from(n != 1)]))
    })
}

/// Why no member or item can follow.
fn goes_on_too_long(place: &Place, schemas: &[Applied<'_>]) -> Option<String> {
    let (n, keyword, words) = match place.open.last()? {
        Open::Object { keys } => (keys.len(), "maxProperties", ["property is", "properties are"]),
        Open::Array { n_items } => (*n_items, "maxItems", ["item is", "items are"]),
    };
    schemas.iter().find_map(|applied| {
        let most = number(applied.schema, keyword).filter(|&most| n as f64 >= most)?;
        Some(format!("{n} {} there, as many as \"{keyword}\": {most}", words[usize::from(n != 1)]))
    })
}

/// The required keys that an object lacks.
fn missing<'s>(schema: &'s Value, keys: &[String]) -> Vec<&'s str> {
    let keys: std::collections::HashSet<&str> = keys.iter().map(String::as_str).collect();
    let required = schema.get("required").and_then(Value::as_array);
    required.into_iter().flatten().filter_map(Value::as_str).filter(|name| !keys.contains(name)).collect()
}

/// Names in quotes, not too many.
fn listed(names: &[&str]) -> String {
    let mut shown: Vec<String> =
        names.iter().take(MAX_NAMES).map(|name| format!("\"{}\"", readable(name))).collect();
    match names.len() {
        0..=MAX_NAMES => {}
        n => shown.push(format!("{} more", n - MAX_NAMES)),
    }
    match shown.pop() {
        Some(last) if !shown.is_empty() => format!("{} and {last}", shown.join(", ")),
        last => last.unwrap_or_default(),
    }
}
