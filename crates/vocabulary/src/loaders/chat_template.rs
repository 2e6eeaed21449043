//! The chat template that a tokenizer's files have.
//!
//! It is only looked at, to find out how a model calls tools; so a file that cannot be read has none.

use std::path::Path;

use serde_json::Value;

use super::{MAX_CONFIG_LEN, read_limited};

/// That of the files beside a `tokenizer.json`: `chat_template.jinja`, or what `tokenizer_config.json` has.
pub(crate) fn beside(path: &Path) -> Option<String> {
    let read = |name: &str| read_limited(&path.with_file_name(name), MAX_CONFIG_LEN).ok();
    if let Some(template) = read("chat_template.jinja").and_then(|bytes| String::from_utf8(bytes).ok()) {
        return Some(template);
    }
    let config: Value = serde_json::from_slice(&read("tokenizer_config.json")?).ok()?;
    of(config.get("chat_template")?)
}

/// A template, or that for tools in a list of several.
fn of(value: &Value) -> Option<String> {
    match value {
        Value::String(template) => Some(template.clone()),
        Value::Array(templates) => {
            let named = |name: &str| templates.iter().find(|template| template["name"] == name);
            let chosen = named("tool_use").or_else(|| named("default")).or_else(|| templates.first());
            chosen?.get("template")?.as_str().map(str::to_owned)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_template_for_tools_is_preferred() {
        let named = |name: &str| json!({"name": name, "template": format!("{name}!")});
        for (value, template) in [
            (json!("a"), Some("a")),
            (json!([named("default"), named("tool_use")]), Some("tool_use!")),
            (json!([named("rag"), named("default")]), Some("default!")),
            (json!([named("rag")]), Some("rag!")),
            (json!([]), None),
            (json!([1]), None),
            (json!({"a": "b"}), None),
        ] {
            assert_eq!(of(&value).as_deref(), template, "{value}");
        }
    }

    #[test]
    fn files_beside_are_read() {
        let folder = std::env::temp_dir().join(format!("maskwright-chat-template-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("tokenizer.json");
        assert_eq!(beside(&path), None);
        std::fs::write(folder.join("tokenizer_config.json"), r#"{"chat_template": "old"}"#).unwrap();
        assert_eq!(beside(&path).as_deref(), Some("old"));
        std::fs::write(folder.join("chat_template.jinja"), "new").unwrap();
        assert_eq!(beside(&path).as_deref(), Some("new"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
