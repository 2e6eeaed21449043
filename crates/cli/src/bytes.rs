//! Bytes made readable.

pub(crate) use maskwright::debug::quoted;
use serde_json::{Value, json};

/// A member `text` where the bytes are UTF-8, else a member `bytes` with their values.
pub(crate) fn json_member(bytes: &[u8]) -> (&'static str, Value) {
    match std::str::from_utf8(bytes) {
        Ok(text) => ("text", json!(text)),
        Err(_) => ("bytes", json!(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_readable_and_other_bytes_stay_exact() {
        assert_eq!(quoted("é\n\"".as_bytes()), r#""é\n\"""#);
        assert_eq!(quoted(b"a\xC3"), r#""a\xc3""#);
        assert_eq!(json_member(b"\xC3"), ("bytes", json!([195])));
    }
}
