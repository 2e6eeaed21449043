//! How instances are written; shared by the tests that replay values.

use serde_json::Value;
use serde_json::ser::Formatter;

/// Separators `, ` and `: `, as Python's `json.dumps` writes them.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

/// A value as common writers write it: Python's `json.dumps(v)`, also with `separators=(",", ":")` and with
/// `indent`, and JavaScript's `JSON.stringify(v, null, n)`.
#[allow(dead_code, reason = "not every test writes in all ways")]
pub(crate) fn spellings(value: &Value) -> Vec<String> {
    let mut texts = vec![value.to_string(), written(value)];
    for indent in [&b""[..], b" ", b"  ", b"    ", b"\t"] {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        serde::Serialize::serialize(value, &mut serializer).expect("a value can be written");
        texts.push(String::from_utf8(bytes).expect("JSON is text"));
    }
    texts
}

/// The text of an instance.
#[allow(dead_code, reason = "not every test writes in this way")]
pub(crate) fn written(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    serde::Serialize::serialize(value, &mut serializer).expect("a value can be written");
    String::from_utf8(bytes).expect("JSON is text")
}
