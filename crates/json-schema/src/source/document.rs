//! Reading the text of a schema document, and finding values of it again.
//!
//! A repeated key is refused: which of its values counts depends on the reader, and a schema that is read in
//! two ways is enforced in neither. `serde_json::Value` drops all but the last silently, so the keys are
//! checked by a pass of their own.

use std::collections::HashSet;
use std::fmt;

use maskwright_syntax::{PATH_HINT, SyntaxError, is_like_a_path};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::SchemaError;

/// The document of a JSON text. `name`: what messages call it. Linear in the text.
///
/// # Errors
/// If the text is not JSON, nested more than 127 deep, or an object in it repeats a key; with line and
/// column.
///
/// ```
/// let error = maskwright_json_schema::parse_document("[1,]", "list.json").unwrap_err();
/// assert_eq!((error.line(), error.column()), (Some(1), Some(4)));
/// assert!(error.to_string().contains("trailing comma") && error.to_string().contains("list.json:1:4"));
/// ```
pub fn parse_document(text: &str, name: &str) -> Result<Value, SchemaError> {
    parse_json(text, name).map_err(SchemaError::not_json)
}

/// The same for a document that is no schema.
///
/// # Errors
/// As [`parse_document`].
#[doc(hidden)]
pub fn parse_json(text: &str, name: &str) -> Result<Value, SyntaxError> {
    let syntax = |error: serde_json::Error| located(&error, text, name);
    serde_json::from_str::<DistinctKeys>(text).map_err(syntax)?;
    serde_json::from_str(text).map_err(syntax)
}

/// The error with its place marked in the text, and with a hint where the mistake is a usual one.
fn located(error: &serde_json::Error, text: &str, name: &str) -> SyntaxError {
    let told = error.to_string();
    // The place is told by the frame, and counted in characters there.
    let message = told.rsplit_once(" at line ").map_or(&*told, |(message, _)| message);
    let line_start = match error.line() {
        0 | 1 => 0,
        line => text.match_indices('\n').nth(line - 2).map_or(0, |(newline, _)| newline + 1),
    };
    // Columns are counted in bytes from 1; 0 is the end of the line before.
    let offset = match error.is_eof() {
        true => text.trim_end().len(),
        false => (line_start + error.column().saturating_sub(1)).min(text.len()),
    };
    let lone = match message {
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            lone_surrogate(text, offset)
        }
        _ => None,
    };
    let (message, hint) = match (lone, message) {
        (Some(escape), _) => (
            format!("the escape {escape} is half of a surrogate pair, not a character"),
            Some("UTF-8 cannot encode it, so no token contains it; remove it"),
        ),
        (_, "trailing comma") => (message.into(), Some("JSON has no comma after the last item or member")),
        (_, "recursion limit exceeded") => (message.into(), Some("values may be nested 127 deep")),
        _ if text.starts_with('\u{feff}') => {
            let hint = "the text begins with a byte order mark, which JSON does not have: remove it (in Python, read the \
                 file with encoding=\"utf-8-sig\")";
            ("a byte order mark before the value".into(), Some(hint))
        }
        _ if !text.contains(['{', '[']) && is_like_a_path(text, &ENDINGS) => {
            (message.into(), Some(PATH_HINT))
        }
        _ => (message.into(), None),
    };
    SyntaxError::new(text, name, offset..offset + 1, message, hint)
}

/// The escape of half a surrogate pair that ends at or shortly before `offset`.
fn lone_surrogate(text: &str, offset: usize) -> Option<&str> {
    // What follows the escape is read before it is known that the other half is missing.
    let near = text.get(..(offset + 1).min(text.len()))?;
    let start = near.rfind("\\u").filter(|start| offset - start <= 12)?;
    let escapes = [Some(start), near[..start].rfind("\\u").filter(|before| start - before == 6)];
    escapes.into_iter().flatten().find_map(|start| {
        let code = u32::from_str_radix(text.get(start + 2..start + 6)?, 16).ok()?;
        (0xd800..0xe000).contains(&code).then(|| &text[start..start + 6])
    })
}

/// How the names of files with schemas end.
const ENDINGS: [&str; 6] = [".json", ".jsonc", ".yaml", ".yml", ".toml", ".schema"];

/// Any value, of which no object repeats a key.
struct DistinctKeys;

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DistinctKeys, D::Error> {
        deserializer.deserialize_any(DistinctKeysVisitor)
    }
}

struct DistinctKeysVisitor;

impl<'de> Visitor<'de> for DistinctKeysVisitor {
    type Value = DistinctKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<DistinctKeys, E> {
        Ok(DistinctKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<DistinctKeys, A::Error> {
        while items.next_element::<DistinctKeys>()?.is_some() {}
        Ok(DistinctKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<DistinctKeys, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = members.next_key::<String>()? {
            // With exact numbers, `serde_json` presents a number as an object with this one key.
            if key == "$serde_json::private::Number" {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            if keys.contains(&key) {
                return Err(A::Error::custom(format_args!("the key \"{key}\" is repeated")));
            }
            members.next_value::<DistinctKeys>()?;
            keys.insert(key);
        }
        Ok(DistinctKeys)
    }
}

/// A value's address, which tells the values of one document apart.
pub(crate) fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// The JSON pointer of `target` in `root`, if it is there. Iterative, linear in the size of the document.
pub(crate) fn pointer_to(root: &Value, target: &Value) -> Option<String> {
    let mut steps: Vec<(usize, String)> = vec![(0, String::new())];
    let mut stack = vec![(root, 0)];
    while let Some((value, at)) = stack.pop() {
        if std::ptr::eq(value, target) {
            let mut parts = Vec::new();
            let mut at = at;
            while at != 0 {
                parts.push(steps[at].1.as_str());
                at = steps[at].0;
            }
            return Some(parts.into_iter().rev().fold(String::new(), |pointer, part| pointer + "/" + part));
        }
        let mut add = |name: String, member| {
            steps.push((at, name));
            stack.push((member, steps.len() - 1));
        };
        match value {
            Value::Array(items) => items.iter().enumerate().for_each(|(i, item)| add(i.to_string(), item)),
            Value::Object(members) => members
                .iter()
                .for_each(|(name, member)| add(name.replace('~', "~0").replace('/', "~1"), member)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_can_be_read_in_two_ways_are_refused() {
        assert!(
            parse_document(r#"{"a": {"b": 1, "c": [1.5e3, -2, null, true, "x"]}, "b": {}}"#, "x").is_ok()
        );
        for (text, says) in [
            ("{\"a\": 1,\n \"a\": 2}", "the key \"a\" is repeated at line 2 column 4"),
            (r#"[{"x": {"a": 1, "b": 2, "a": 3}}]"#, "the key \"a\" is repeated"),
            (r#"{"a": }"#, "line 1 column 7"),
            ("", "EOF while parsing a value at line 1 column 1"),
            (r#"{"type": "null"} x"#, "trailing characters at line 1 column 18"),
        ] {
            let error = parse_document(text, "x").unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let nested = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(parse_document(&nested, "x").unwrap_err().to_string().contains("recursion limit"));
    }

    /// A schema's text with a comma too many was refused with a line and a column, but nothing to see there.
    #[test]
    fn text_that_is_not_json_is_shown_with_its_place() {
        let text = "{\n  \"title\": \"é\", \"required\": [\"ä\",]\n}";
        let error = parse_document(text, "person.json").unwrap_err();
        assert_eq!((error.line(), error.column()), (Some(2), Some(34)));
        let told = error.to_string();
        assert!(told.starts_with("the schema is not JSON: trailing comma at line 2 column 34\n"), "{told}");
        assert!(told.contains("person.json:2:34") && told.contains("[\"ä\",]"), "{told}");
        assert!(error.hint().is_some_and(|hint| hint.contains("comma")));
    }

    /// The name of a file in the place of its content.
    #[test]
    fn the_name_of_a_file_is_recognised() {
        for (text, is_path) in [
            ("person.schema.json", true),
            ("schemas/person", true),
            (r"C:\schemas\person.json", true),
            ("{\"type\": \"a.json", false),
            ("type: object", false),
            ("", false),
        ] {
            let error = parse_document(text, "x").unwrap_err();
            let says_so = error.hint().is_some_and(|hint| hint.contains("pathlib"));
            assert_eq!(says_so, is_path, "{text}: {error}");
        }
    }

    /// `"\ud800"` alone was "unexpected end of hex escape".
    #[test]
    fn half_a_surrogate_pair_is_named() {
        for text in
            [r#"{"const": "\ud800"}"#, r#"{"const": "\uD83D\u0041"}"#, r#"["\udc00"]"#, r#""\ud800 x""#]
        {
            let error = parse_document(text, "x").unwrap_err().to_string();
            assert!(error.contains("half of a surrogate pair"), "{error}");
        }
        assert!(parse_document(r#""\ud83d\ude00""#, "x").is_ok());
        let other = parse_document(r#"["\u00e9", x]"#, "x").unwrap_err().to_string();
        assert!(!other.contains("surrogate"), "{other}");
    }
}
