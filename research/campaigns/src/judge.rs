//! The judge of finished texts: a JSON parser and a schema validator that share nothing with ours.

use anyhow::anyhow;
use serde_json::Value;

/// A schema, as the crate `jsonschema` understands it, formats asserted.
pub(crate) struct Judge {
    validator: jsonschema::Validator,
}

impl Judge {
    /// # Errors
    /// If the validator does not take the schema.
    pub(crate) fn new(schema: &Value) -> anyhow::Result<Judge> {
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(schema).map_err(|error| anyhow!("{error}"))?;
        Ok(Judge { validator })
    }

    /// Why `text` is not JSON that satisfies the schema; `None` if it is.
    pub(crate) fn objection(&self, text: &[u8]) -> Option<String> {
        let value: Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            Err(error) => return Some(format!("not JSON: {error}")),
        };
        let error = self.validator.validate(&value).err()?;
        Some(format!("at {:?}: {error}", error.instance_path().as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_to_what_is_wrong_and_nothing_else() {
        let judge = Judge::new(&json!({"type": "object", "properties": {"a": {"maxLength": 1}}})).unwrap();
        assert_eq!(judge.objection(br#"{"a": "x"}"#), None);
        assert!(judge.objection(br#"{"a": "xy"}"#).unwrap().starts_with("at \"/a\""));
        assert!(judge.objection(br#"{"a": "x""#).unwrap().starts_with("not JSON"));
        assert!(judge.objection(b"{\"a\": \"\xff\"}").is_some());
        let dated = Judge::new(&json!({"format": "date"})).unwrap();
        assert!(dated.objection(br#""2024-02-30""#).is_some());
        assert!(Judge::new(&json!({"type": 7})).is_err());
    }
}
