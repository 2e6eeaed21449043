//! Where `$ref` leads, within the document and those that the caller gives.
//!
//! A reference is a URI; what comes before `#` names a schema resource, what comes after a place in it. A
//! schema with an `$id` inside a document is a resource of its own, whose URI is its identifier resolved
//! against that of the resource around it. [`Resources`] finds those once; most documents have none.

use std::borrow::Cow;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::SchemaError;
use crate::draft::Draft;
use crate::error::Kind;
use crate::graph::{Graph, PlaceId, address, kind_of};
use crate::report::Step;
use crate::shape::NodeId;
use crate::uri;

/// The schema resources of all documents.
#[derive(Default)]
pub(crate) struct Resources<'a> {
    /// By URI, without a fragment.
    by_uri: FxHashMap<Rc<str>, &'a Value>,
    /// Anchors: names of places, with the URI of the resource they are in.
    anchors: FxHashMap<(Rc<str>, &'a str), &'a Value>,
    /// The URI of the resource of each schema with a reference.
    homes: FxHashMap<usize, Rc<str>>,
    /// The dynamic anchors, by name, with the URIs of the resources that have one; `""` is the name of
    /// `$recursiveAnchor`.
    dynamic: FxHashMap<&'a str, Vec<(Rc<str>, &'a Value)>>,
}

impl<'a> Resources<'a> {
    /// Walks a whole document. Iterative, linear in its size.
    fn add(&mut self, root: &'a Value, uri: &str, default_draft: Draft) {
        let draft = match root.get("$schema") {
            Some(_) => Draft::of(root),
            None => default_draft,
        };
        let uri: Rc<str> = uri.into();
        self.by_uri.insert(uri.clone(), root);
        let mut stack = vec![(root, uri)];
        while let Some((value, outer)) = stack.pop() {
            let mut home = outer;
            match value {
                Value::Array(items) => stack.extend(items.iter().map(|item| (item, home.clone()))),
                Value::Object(members) => {
                    let text = |keyword: &str| members.get(keyword).and_then(Value::as_str);
                    let has_ref = members.get("$ref").is_some_and(Value::is_string);
                    if let Some(id) = text(draft.id_keyword())
                        && !(has_ref && draft.ignores_siblings_of_ref())
                    {
                        if let Some(name) = id.strip_prefix('#') {
                            self.anchors.entry((home.clone(), name)).or_insert(value);
                        } else {
                            home = uri::resolve(&home, id.trim_end_matches('#')).into();
                            self.by_uri.entry(home.clone()).or_insert(value);
                        }
                    }
                    for keyword in ["$anchor", "$dynamicAnchor"] {
                        if let Some(name) = text(keyword) {
                            self.anchors.entry((home.clone(), name)).or_insert(value);
                        }
                    }
                    let dynamic = match members.get("$recursiveAnchor") {
                        Some(Value::Bool(true)) => Some(""),
                        _ => text("$dynamicAnchor"),
                    };
                    if let Some(name) = dynamic {
                        self.dynamic.entry(name).or_default().push((home.clone(), value));
                    }
                    let refers = |keyword| members.get(keyword).is_some_and(Value::is_string);
                    if has_ref || refers("$dynamicRef") || refers("$recursiveRef") {
                        self.homes.insert(address(value), home.clone());
                    }
                    // Constants are no schemas, whatever they look like.
                    let schemas = members.iter().filter(|(keyword, value)| {
                        *keyword != "const" && !(*keyword == "enum" && value.is_array())
                    });
                    stack.extend(schemas.map(|(_, member)| (member, home.clone())));
                }
                _ => {}
            }
        }
    }
}

impl<'a> Resources<'a> {
    /// Where a dynamic reference leads whose target, as a plain one, is `target`; `None` if that depends on
    /// how it was reached. The document itself is the outermost resource of every dynamic scope.
    fn dynamic_target(
        &self,
        home: &Rc<str>,
        fragment: &str,
        target: &'a Value,
        keyword: &str,
    ) -> Option<&'a Value> {
        let name = if keyword == "$recursiveRef" { "" } else { fragment };
        let anchored = self.dynamic.get(name).map_or(&[][..], Vec::as_slice);
        if !anchored.iter().any(|(uri, value)| uri == home && std::ptr::eq(*value, target)) {
            return Some(target);
        }
        let root = self.by_uri.get("")?;
        let of_root = anchored.iter().find(|(uri, _)| {
            uri.is_empty() || self.by_uri.get(uri).is_some_and(|resource| std::ptr::eq(*resource, *root))
        });
        match (of_root, anchored) {
            (Some((_, value)), _) => Some(value),
            (None, [_]) => Some(target),
            _ => None,
        }
    }
}

impl<'a> Graph<'a> {
    /// The node that the reference of `holder` leads to, and its schema.
    pub(crate) fn resolve(
        &mut self,
        reference: &'a str,
        keyword: &'static str,
        holder: &'a Value,
        place: PlaceId,
    ) -> Result<(NodeId, &'a Value), SchemaError> {
        let root = self.root;
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resources = match &mut self.resources {
            Some(resources) => resources,
            slot => {
                let mut resources = Resources::default();
                resources.add(root, "", self.draft);
                for (uri, document) in self.documents {
                    resources.add(document, uri, self.draft);
                }
                slot.insert(resources)
            }
        };
        let base = resources.homes.get(&address(holder)).cloned().unwrap_or_default();
        let absolute: Rc<str> = uri::resolve(&base, uri).into();
        let Some(&home) = resources.by_uri.get(&absolute) else {
            let message =
                format!("the reference \"{reference}\" leads out of the document, to one that was not given");
            return Err(self.error(place, Some(keyword), Kind::Unsupported { message }));
        };
        let fragment = percent_decode(fragment);
        let target = if fragment.is_empty() {
            Some(home)
        } else if fragment.starts_with('/') {
            home.pointer(&fragment)
        } else {
            resources.anchors.get(&(absolute.clone(), &*fragment)).copied()
        };
        let target = match (target, keyword) {
            (Some(target), "$dynamicRef" | "$recursiveRef") => {
                match resources.dynamic_target(&absolute, &fragment, target, keyword) {
                    Some(target) => Some(target),
                    None => {
                        let message = "where it leads depends on the references that led here; that is followed only where the outermost schema or a single one has the anchor".into();
                        return Err(self.error(place, Some(keyword), Kind::Unsupported { message }));
                    }
                }
            }
            (target, _) => target,
        };
        let Some(target) = target else {
            let message = format!("the reference \"{reference}\" leads nowhere in the document");
            return Err(self.error(place, Some(keyword), Kind::Reference { message }));
        };
        if !target.is_object() && !target.is_boolean() {
            let message =
                format!("the reference \"{reference}\" leads to {}, not to a schema", kind_of(target));
            return Err(self.error(place, Some(keyword), Kind::Reference { message }));
        }
        let step = if std::ptr::eq(target, root) {
            Step::Root
        } else if std::ptr::eq(home, root) && fragment.starts_with('/') {
            Step::Pointer(fragment)
        } else {
            match find(root, target) {
                Some(pointer) => Step::Pointer(Cow::Owned(pointer)),
                None => Step::Pointer(Cow::Owned(format!("{absolute}#{fragment}"))),
            }
        };
        Ok((self.schema_node(target, place, step)?, target))
    }
}

/// The JSON pointer of `target` in `root`, if it is there. Iterative, linear in the size of the document.
fn find(root: &Value, target: &Value) -> Option<String> {
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
