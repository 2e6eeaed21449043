//! The documents that the references of a schema may lead to, besides its own.
//!
//! A document is known by the URI where it was found, which may be the path of a file, and by the identifier
//! (`$id`) that it gives itself. Nothing is read here: the caller says what there is, and
//! [`referred`](Documents::referred) says what more could be needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::source::uri;
use crate::{SchemaError, parse_document};

/// Documents that references may lead to. Cheap to clone: clones share the documents.
///
/// Invariant: the values of `by_name` are keys of `by_uri`.
///
/// ```
/// use maskwright_json_schema::{Documents, parse_document};
/// let mut documents = Documents::default();
/// documents.insert("common/name.json", parse_document("true", "name.json")?);
/// assert!(documents.contains("common/name.json"));
/// # Ok::<(), maskwright_json_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "SavedDocuments", try_from = "SavedDocuments")]
pub struct Documents {
    base: String,
    by_uri: BTreeMap<String, Arc<Value>>,
    by_name: BTreeMap<String, String>,
}

impl Documents {
    /// Adds the document found at `uri`, in place of one that was found there before.
    pub fn insert(&mut self, uri: impl Into<String>, document: impl Into<Arc<Value>>) {
        self.by_uri.insert(uri.into(), document.into());
    }

    /// Adds the document found at `uri`, which references may call `name` where no other document is meant by
    /// that. The first one of a name keeps it.
    pub fn insert_named(&mut self, name: &str, uri: &str, document: impl Into<Arc<Value>>) {
        self.insert(uri, document);
        self.by_name.entry(name.to_owned()).or_insert_with(|| uri.to_owned());
    }

    /// Says where the schema itself was found; its relative references are looked for beside it.
    pub fn set_base(&mut self, uri: impl Into<String>) {
        self.base = uri.into();
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_uri.is_empty()
    }

    /// Approximate memory, in bytes.
    pub fn memory_usage(&self) -> usize {
        /// A value of a document, with its place in an array or object.
        const VALUE: usize = 128;
        let mut n_bytes = 0;
        let mut work: Vec<&Value> = self.by_uri.values().map(|document| &**document).collect();
        while let Some(value) = work.pop() {
            n_bytes += VALUE;
            match value {
                Value::String(text) => n_bytes += text.capacity(),
                Value::Array(items) => work.extend(items),
                Value::Object(members) => {
                    n_bytes += members.keys().map(String::capacity).sum::<usize>();
                    work.extend(members.values());
                }
                _ => {}
            }
        }
        n_bytes
    }

    /// Whether a document was found at `uri`.
    pub fn contains(&self, uri: &str) -> bool {
        self.by_uri.contains_key(uri)
    }

    /// Whether some document may be called `name`.
    pub fn has_name(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The URI of the file at `path`, which has `/` between its names: characters that mean something in a
    /// URI are escaped.
    pub fn uri_of_path(path: &str) -> String {
        let mut uri = String::with_capacity(path.len());
        for c in path.chars() {
            match c {
                '%' => uri.push_str("%25"),
                '#' => uri.push_str("%23"),
                '?' => uri.push_str("%3F"),
                ':' => uri.push_str("%3A"),
                c => uri.push(c),
            }
        }
        uri::resolve("", &uri)
    }

    /// The path of the file at `uri`; `None` if it is a URI with a scheme or a host.
    pub fn path_of_uri(uri: &str) -> Option<String> {
        uri::is_path(uri).then(|| uri::percent_decode(uri).into_owned())
    }

    /// Where the documents are that the relative references of `document`, found at `uri`, lead to: URIs
    /// without fragments, and each reference as it is written. Linear in the document.
    pub fn referred(document: &Value, uri: &str) -> BTreeSet<(String, String)> {
        let mut referred = BTreeSet::new();
        let mut work = vec![document];
        while let Some(value) = work.pop() {
            match value {
                Value::Array(items) => work.extend(items),
                Value::Object(members) => {
                    for reference in ["$ref", "$dynamicRef"].into_iter().filter_map(|key| members.get(key)) {
                        let name = reference.as_str().map_or("", |text| text.split('#').next().unwrap_or(""));
                        if !name.is_empty() && uri::is_path(name) {
                            referred.insert((uri::resolve(uri, name), name.to_owned()));
                        }
                    }
                    work.extend(members.values());
                }
                _ => {}
            }
        }
        referred
    }

    /// Where the schema itself was found; empty if unknown.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The URI of the document that may be called `name`.
    pub(crate) fn named(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(String::as_str)
    }

    /// All of them, by URI.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.by_uri.iter().map(|(uri, document)| (uri.as_str(), &**document))
    }
}

/// Documents, written down: as JSON texts.
#[derive(Serialize, Deserialize)]
struct SavedDocuments {
    base: String,
    by_uri: BTreeMap<String, String>,
    by_name: BTreeMap<String, String>,
}

impl From<Documents> for SavedDocuments {
    fn from(documents: Documents) -> SavedDocuments {
        let Documents { base, by_uri, by_name } = documents;
        let by_uri = by_uri.into_iter().map(|(uri, document)| (uri, document.to_string())).collect();
        SavedDocuments { base, by_uri, by_name }
    }
}

impl TryFrom<SavedDocuments> for Documents {
    type Error = SchemaError;

    fn try_from(saved: SavedDocuments) -> Result<Documents, SchemaError> {
        let mut documents = Documents { base: saved.base, ..Documents::default() };
        for (uri, text) in saved.by_uri {
            let document = parse_document(&text, &uri)?;
            documents.insert(uri, document);
        }
        documents.by_name = saved.by_name;
        documents.by_name.retain(|_, uri| documents.by_uri.contains_key(uri));
        Ok(documents)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_become_uris_and_paths_again() {
        for path in ["a.json", "a b/c#1%.json", "../x?.json", "/etc/a.json", "C:/a.json"] {
            let uri = Documents::uri_of_path(path);
            assert!(!uri.contains(['#', '?', ':']), "{uri}");
            assert_eq!(Documents::path_of_uri(&uri).as_deref(), Some(path));
        }
        assert_eq!(Documents::uri_of_path("./a/../b.json"), "b.json");
        assert_eq!(Documents::path_of_uri("https://a/b.json"), None);
    }

    #[test]
    fn relative_references_are_listed_by_where_they_lead() {
        let schema = json!({"anyOf": [{"$ref": "b.json#/x"}, {"$ref": "../c.json"}, {"$ref": "#/x"},
            {"$ref": "https://x.test/d.json"}, {"$ref": "//x.test/d.json"}, {"$ref": 1}]});
        let told: Vec<_> = Documents::referred(&schema, "d/a.json").into_iter().map(|(uri, _)| uri).collect();
        assert_eq!(told, ["c.json", "d/b.json"]);
        let told: Vec<_> = Documents::referred(&schema, "a.json").into_iter().map(|(uri, _)| uri).collect();
        assert_eq!(told, ["../c.json", "b.json"]);
    }
}
