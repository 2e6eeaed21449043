//! The data that campaigns read: records of schemas with instances, tokenizers, models.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use maskwright::{Tokenizer, TokenizerOptions};
use maskwright_models::{ModelsError, PullConfig, pull, resolve_model};
use serde::Deserialize;
use serde_json::Value;

/// A schema and, in MaskBench, texts to judge; in tasks for models, the value wanted.
#[derive(Deserialize, Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) schema: Value,
    #[serde(default)]
    pub(crate) tests: Vec<Instance>,
    #[serde(default)]
    pub(crate) gold: Option<Value>,
}

/// A value, and whether it satisfies its schema.
#[derive(Deserialize, Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) valid: bool,
    pub(crate) data: Value,
}

/// The root of the workspace that this program was built in.
pub(crate) fn workspace() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root.pop();
    root
}

/// The folder of shared data: `MASKWRIGHT_SHARED`, else `shared` beside the workspace.
pub(crate) fn shared() -> PathBuf {
    match std::env::var_os("MASKWRIGHT_SHARED") {
        Some(folder) => folder.into(),
        None => workspace().join("../shared"),
    }
}

/// The records of a file of JSON lines, or of all `.jsonl` files of a folder; sorted by their ids.
///
/// # Errors
/// If something cannot be read, with file and line, or there are no records.
pub(crate) fn read_records(path: &Path) -> anyhow::Result<Vec<Record>> {
    let unreadable = || format!("{} cannot be read", path.display());
    let mut files = Vec::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).with_context(unreadable)? {
            let file = entry.with_context(unreadable)?.path();
            files.extend(file.extension().is_some_and(|extension| extension == "jsonl").then_some(file));
        }
    } else {
        files.push(path.to_path_buf());
    }
    let mut records = Vec::new();
    for file in files {
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        for (index, line) in text.lines().enumerate() {
            let place = || format!("{}, line {}", file.display(), index + 1);
            records.push(serde_json::from_str::<Record>(line).with_context(place)?);
        }
    }
    if records.is_empty() {
        bail!("{} has no records: a .jsonl file or a folder of them is needed", path.display());
    }
    records.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(records)
}

/// A value as Python's `json.dumps(…, ensure_ascii=False)` writes it: how MaskBench spells its instances.
pub(crate) fn python_dumps(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

/// Recursion is bounded by that of the parser that made the value.
fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            text.push('{');
            for (index, (key, value)) in members.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(": ");
                write_value(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index > 0 { ", " } else { "" });
                write_value(item, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// A tokenizer by its file (`tokenizer.json`, its folder, `.gguf`), by its name among the shared ones, or by
/// that of a built-in encoding.
///
/// # Errors
/// If there is none such, or it cannot be read.
pub(crate) fn load_tokenizer(name: &str) -> anyhow::Result<Tokenizer> {
    let options = TokenizerOptions::default();
    let path = Path::new(name);
    let among_shared = shared().join("tokenizers").join(name);
    let file = match (path.is_file(), path.is_dir(), among_shared.is_dir()) {
        (true, _, _) => path.to_path_buf(),
        (_, true, _) => path.join("tokenizer.json"),
        (_, _, true) => among_shared.join("tokenizer.json"),
        _ => return Ok(Tokenizer::from_tiktoken(name, &options)?),
    };
    if file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf")) {
        return Ok(Tokenizer::from_gguf(&file, &options)?);
    }
    Ok(Tokenizer::from_file(&file, &options)?)
}

/// The file of a model, pulled if it is not on this machine.
///
/// # Errors
/// If there is no such model, or it cannot be fetched.
pub(crate) fn locate_model(name: &str) -> anyhow::Result<PathBuf> {
    let config = PullConfig::default();
    match resolve_model(name, &config, &mut |_| ()) {
        Err(error) if ModelsError::is_not_pulled(&error) => {
            eprintln!("pulling {name}");
            Ok(pull(name, &config, &mut |_| ())?)
        }
        result => Ok(result?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_as_python_does() {
        let value: Value = serde_json::from_str(r#"{"b":[1.50,"é\n"],"a":{},"c":[]}"#).unwrap();
        assert_eq!(python_dumps(&value), r#"{"b": [1.50, "é\n"], "a": {}, "c": []}"#);
    }

    #[test]
    fn records_of_a_folder_are_sorted_and_errors_have_their_line() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_records(folder.path()).unwrap_err().to_string().contains("has no records"));
        std::fs::write(folder.path().join("x.jsonl"), "{\"id\": \"b\", \"schema\": true}\n").unwrap();
        std::fs::write(folder.path().join("y.jsonl"), "{\"id\": \"a\", \"schema\": {}}\n").unwrap();
        let ids: Vec<String> =
            read_records(folder.path()).unwrap().into_iter().map(|record| record.id).collect();
        assert_eq!(ids, ["a", "b"]);
        std::fs::write(folder.path().join("x.jsonl"), "{\"id\": \"b\", \"schema\": true}\n{").unwrap();
        assert!(read_records(folder.path()).unwrap_err().to_string().ends_with("x.jsonl, line 2"));
    }
}
