//! Reading the text of a schema document.
//!
//! A repeated key is refused: which of its values counts depends on the reader, and a schema that is read in
//! two ways is enforced in neither. `serde_json::Value` drops all but the last silently, so the keys are
//! checked by a pass of their own.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::SchemaError;
use crate::error::Kind;

/// The document of a JSON text.
///
/// # Errors
/// If the text is not JSON, nested more than 127 deep, or an object in it repeats a key; with line and
/// column.
pub(crate) fn parse(text: &str) -> Result<Value, SchemaError> {
    let syntax = |error: serde_json::Error| {
        SchemaError::new(String::new(), None, Kind::Syntax { message: error.to_string() })
    };
    serde_json::from_str::<DistinctKeys>(text).map_err(syntax)?;
    serde_json::from_str(text).map_err(syntax)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_can_be_read_in_two_ways_are_refused() {
        assert!(parse(r#"{"a": {"b": 1, "c": [1.5e3, -2, null, true, "x"]}, "b": {}}"#).is_ok());
        for (text, says) in [
            ("{\"a\": 1,\n \"a\": 2}", "the key \"a\" is repeated at line 2 column 4"),
            (r#"[{"x": {"a": 1, "b": 2, "a": 3}}]"#, "the key \"a\" is repeated"),
            (r#"{"a": }"#, "line 1 column 7"),
            ("", "EOF while parsing a value at line 1 column 0"),
            (r#"{"type": "null"} x"#, "trailing characters at line 1 column 18"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let nested = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(parse(&nested).unwrap_err().to_string().contains("recursion limit"));
    }
}
