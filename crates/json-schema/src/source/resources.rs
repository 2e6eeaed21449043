//! The schema resources that a reference can name: those of the document, and of the documents that the
//! caller gives.
//!
//! A schema with an `$id` inside a document is a resource of its own, whose URI is its identifier resolved
//! against that of the resource around it. [`Resources`] finds those once; most documents have none. A
//! document that no identifier names is looked for beside the document with the reference, by where both were
//! found ([`Documents`]).

use std::rc::Rc;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::source::document::address;
use crate::source::documents::Documents;
use crate::source::draft::Draft;
use crate::source::keyword::{Holds, Keyword};
use crate::source::uri;

/// The schema resources of all documents.
#[derive(Default)]
pub(crate) struct Resources<'a> {
    /// By URI, without a fragment.
    by_uri: FxHashMap<Rc<str>, &'a Value>,
    /// Anchors: names of places, with the URI of the resource they are in.
    anchors: FxHashMap<(Rc<str>, &'a str), &'a Value>,
    /// Where each schema with a reference is.
    homes: FxHashMap<usize, Home>,
    /// The URI that a document gives itself, by where it was found, if those differ.
    identifiers: FxHashMap<Rc<str>, Rc<str>>,
    /// The dynamic anchors, by name, with the URIs of the resources that have one; `""` is the name of
    /// `$recursiveAnchor`.
    dynamic: FxHashMap<&'a str, Vec<(Rc<str>, &'a Value)>>,
}

/// What the references of a schema are relative to.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Home {
    /// The URI of its resource.
    resource: Rc<str>,
    /// Where its document was found.
    pub(crate) document: Rc<str>,
}

impl<'a> Resources<'a> {
    /// Those of the schema itself and of other documents.
    pub(crate) fn new(root: &'a Value, documents: &'a Documents, draft: Draft) -> Resources<'a> {
        let mut resources = Resources::default();
        resources.add(root, documents.base(), draft);
        resources.by_uri.insert("".into(), root);
        for (uri, document) in documents.iter() {
            resources.add(document, uri, draft);
        }
        resources
    }

    /// What the references of a schema are relative to.
    pub(crate) fn home(&self, schema: &Value) -> Home {
        self.homes.get(&address(schema)).cloned().unwrap_or_default()
    }

    /// The schema with this anchor, in the resource with this URI.
    pub(crate) fn anchored(&self, uri: &Rc<str>, anchor: &str) -> Option<&'a Value> {
        self.anchors.get(&(uri.clone(), anchor)).copied()
    }

    /// The resource that `reference`, without a fragment, names at `home`, and its URI. Tried in order: the
    /// resource with that URI (as specified), the document found at that path relative to the referring
    /// document, the document given under that name.
    pub(crate) fn resource(
        &self,
        home: &Home,
        reference: &str,
        documents: &Documents,
    ) -> Option<(Rc<str>, &'a Value)> {
        let known = |uri: &str| self.by_uri.get_key_value(uri).map(|(uri, &value)| (uri.clone(), value));
        let (uri, value) = known(&uri::resolve(&home.resource, reference))
            .or_else(|| known(&uri::resolve(&home.document, reference)))
            .or_else(|| known(documents.named(reference)?))?;
        Some((self.identifiers.get(&uri).cloned().unwrap_or(uri), value))
    }

    /// Walks a whole document. Iterative, linear in its size.
    fn add(&mut self, root: &'a Value, uri: &str, default_draft: Draft) {
        let draft = match root.get("$schema") {
            Some(_) => Draft::of(root),
            None => default_draft,
        };
        let document: Rc<str> = uri.into();
        self.by_uri.insert(document.clone(), root);
        // Schemas, and values that are none: an unknown keyword's, say, where `$id` means nothing. A `$ref`
        // that is reached there by its pointer still has a resource around it.
        let mut stack = vec![(root, document.clone(), true)];
        while let Some((value, outer, is_schema)) = stack.pop() {
            let mut home = outer;
            match value {
                Value::Array(items) => stack.extend(items.iter().map(|item| (item, home.clone(), is_schema))),
                Value::Object(members) => {
                    if is_schema {
                        home = self.identify(value, members, home, draft);
                    }
                    if std::ptr::eq(value, root) && home != document {
                        self.identifiers.insert(document.clone(), home.clone());
                    }
                    let refers = |keyword| members.get(keyword).is_some_and(Value::is_string);
                    if refers("$ref") || refers("$dynamicRef") || refers("$recursiveRef") {
                        let home = Home { resource: home.clone(), document: document.clone() };
                        self.homes.insert(address(value), home);
                    }
                    for (keyword, member) in members {
                        let held = if is_schema { Keyword::held_by(keyword) } else { Holds::Nothing };
                        match (held, member) {
                            (Holds::SchemasByName, Value::Object(schemas)) => {
                                stack.extend(schemas.values().map(|schema| (schema, home.clone(), true)));
                            }
                            _ => stack.push((member, home.clone(), held == Holds::Schemas)),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes what a schema is called, and returns the URI of the resource it is in.
    fn identify(
        &mut self,
        schema: &'a Value,
        members: &'a Map<String, Value>,
        outer: Rc<str>,
        draft: Draft,
    ) -> Rc<str> {
        let mut home = outer;
        let text = |keyword: &str| members.get(keyword).and_then(Value::as_str);
        let has_ref = members.get("$ref").is_some_and(Value::is_string);
        if let Some(id) = text(draft.id_keyword())
            && !(has_ref && draft.ignores_siblings_of_ref())
        {
            if let Some(name) = id.strip_prefix('#') {
                self.anchors.entry((home.clone(), name)).or_insert(schema);
            } else {
                home = uri::resolve(&home, id.trim_end_matches('#')).into();
                self.by_uri.entry(home.clone()).or_insert(schema);
            }
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = text(keyword) {
                self.anchors.entry((home.clone(), name)).or_insert(schema);
            }
        }
        let dynamic = match members.get("$recursiveAnchor") {
            Some(Value::Bool(true)) => Some(""),
            _ => text("$dynamicAnchor"),
        };
        if let Some(name) = dynamic {
            self.dynamic.entry(name).or_default().push((home.clone(), schema));
        }
        home
    }

    /// Where a dynamic reference leads whose target, as a plain one, is `target`; `None` if that depends on
    /// how it was reached. The document itself is the outermost resource of every dynamic scope.
    pub(crate) fn dynamic_target(
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
