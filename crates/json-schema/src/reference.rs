//! Where `$ref` leads, within one document.
//!
//! A reference is a URI; what comes before `#` names a schema resource, what comes after a place in it. A
//! schema with an `$id` inside the document is a resource of its own: `#/definitions/x` below it starts at
//! it, not at the root. [`Resources`] finds those once per document; most have none.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::SchemaError;
use crate::draft::Draft;
use crate::error::Kind;
use crate::graph::{Graph, PlaceId, address, kind_of};
use crate::report::Step;
use crate::shape::NodeId;

/// The schema resources of a document.
pub(crate) struct Resources<'a> {
    /// By identifier, without an empty fragment.
    by_id: FxHashMap<&'a str, &'a Value>,
    /// Anchors: names of places, with the resource they are in.
    anchors: FxHashMap<(usize, &'a str), &'a Value>,
    /// The resource of each schema with a `$ref` that is not in the root's.
    homes: FxHashMap<usize, &'a Value>,
}

impl<'a> Resources<'a> {
    /// Walks the whole document. Iterative, linear in its size.
    fn new(root: &'a Value, draft: Draft) -> Resources<'a> {
        let mut resources = Resources {
            by_id: FxHashMap::default(),
            anchors: FxHashMap::default(),
            homes: FxHashMap::default(),
        };
        let mut stack = vec![(root, root)];
        while let Some((value, outer)) = stack.pop() {
            let mut home = outer;
            match value {
                Value::Array(items) => stack.extend(items.iter().map(|item| (item, home))),
                Value::Object(members) => {
                    let text = |keyword: &str| members.get(keyword).and_then(Value::as_str);
                    let has_ref = members.get("$ref").is_some_and(Value::is_string);
                    if let Some(id) = text(draft.id_keyword())
                        && !(has_ref && draft.ignores_siblings_of_ref())
                    {
                        if let Some(name) = id.strip_prefix('#') {
                            resources.anchors.entry((address(home), name)).or_insert(value);
                        } else {
                            home = value;
                            resources.by_id.entry(id.trim_end_matches('#')).or_insert(value);
                        }
                    }
                    if let Some(name) = text("$anchor") {
                        resources.anchors.entry((address(home), name)).or_insert(value);
                    }
                    if has_ref && !std::ptr::eq(home, root) {
                        resources.homes.insert(address(value), home);
                    }
                    stack.extend(members.values().map(|member| (member, home)));
                }
                _ => {}
            }
        }
        resources
    }
}

impl<'a> Graph<'a> {
    /// The node that the `$ref` of `holder` leads to.
    pub(crate) fn resolve(
        &mut self,
        reference: &'a str,
        holder: &'a Value,
        place: PlaceId,
    ) -> Result<NodeId, SchemaError> {
        let root = self.root;
        let draft = self.draft;
        let resources = self.resources.get_or_insert_with(|| Resources::new(root, draft));
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let home = match uri {
            "" => resources.homes.get(&address(holder)).copied().unwrap_or(root),
            uri => match resources.by_id.get(uri) {
                Some(home) => home,
                None => {
                    let message = format!(
                        "the reference \"{reference}\" leads out of the document; only references within it are followed"
                    );
                    return Err(self.error(place, Some("$ref"), Kind::Unsupported { message }));
                }
            },
        };
        let fragment = percent_decode(fragment);
        let target = if fragment.is_empty() {
            Some(home)
        } else if fragment.starts_with('/') {
            home.pointer(&fragment)
        } else {
            resources.anchors.get(&(address(home), &*fragment)).copied()
        };
        let Some(target) = target else {
            let message = format!("the reference \"{reference}\" leads nowhere in the document");
            return Err(self.error(place, Some("$ref"), Kind::Reference { message }));
        };
        if !target.is_object() && !target.is_boolean() {
            let message =
                format!("the reference \"{reference}\" leads to {}, not to a schema", kind_of(target));
            return Err(self.error(place, Some("$ref"), Kind::Reference { message }));
        }
        let step = if std::ptr::eq(target, root) {
            Step::Root
        } else if std::ptr::eq(home, root) && fragment.starts_with('/') {
            Step::Pointer(fragment)
        } else {
            Step::Pointer(Cow::Owned(find(root, target)))
        };
        self.schema_node(target, place, step)
    }
}

/// The JSON pointer of `target` in `root`. Iterative, linear in the size of the document.
fn find(root: &Value, target: &Value) -> String {
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
            return parts.into_iter().rev().fold(String::new(), |pointer, part| pointer + "/" + part);
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
    String::new()
}

/// A URI fragment without its percent escapes; what is no escape, or no UTF-8 then, stays as it is.
fn percent_decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let digit = |at: usize| bytes.get(at).and_then(|&byte| char::from(byte).to_digit(16));
        match (bytes[i], digit(i + 1), digit(i + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                i += 3;
            }
            (byte, _, _) => {
                decoded.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8(decoded).map_or(Cow::Borrowed(text), Cow::Owned)
}
