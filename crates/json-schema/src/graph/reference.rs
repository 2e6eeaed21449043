//! What `$ref` names, in the document and in the documents that the caller gives.
//!
//! A reference is a URI; what comes before `#` names a schema [resource](crate::source::resources), what
//! comes after a place in it.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value;

use crate::SchemaError;
use crate::error::{Kind, MissingDocument};
use crate::forms::node_id::NodeId;
use crate::graph::Graph;
use crate::report::{self, PlaceId, Step};
use crate::source::document::pointer_to;
use crate::source::json_types::kind_of;
use crate::source::resources::{Home, Resources};
use crate::source::uri::{self, percent_decode};

/// What a reference names.
struct Named<'r, 'a> {
    /// The URI of its resource.
    absolute: Rc<str>,
    resource: &'a Value,
    /// What comes after `#`, decoded.
    fragment: Cow<'r, str>,
    target: Option<&'a Value>,
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
        let Named { absolute, resource: home, fragment, target } = match self.lookup(reference, holder) {
            Ok(named) => named,
            Err(home) => {
                let (uri, _) = reference.split_once('#').unwrap_or((reference, ""));
                return Err(SchemaError::lacking(vec![MissingDocument {
                    uri: uri::resolve(&home.document, uri),
                    name: uri.to_owned(),
                    reference: reference.to_owned(),
                    pointer: report::pointer(&self.found.places, place),
                    keyword,
                }]));
            }
        };
        let target = match (target, keyword) {
            (Some(target), "$dynamicRef" | "$recursiveRef") => {
                let resources = self.resources();
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
            let message = format!("the reference \"{reference}\" points to nothing in the schema");
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
            match pointer_to(root, target) {
                Some(pointer) => Step::Pointer(Cow::Owned(pointer)),
                None => Step::Pointer(Cow::Owned(format!("{absolute}#{fragment}"))),
            }
        };
        Ok((self.schema_node(target, place, step)?, target))
    }
    /// The schema that a `$ref` of `holder` leads to, if there is one.
    pub(crate) fn target(&mut self, reference: &str, holder: &Value) -> Option<&'a Value> {
        self.lookup(reference, holder).ok()?.target
    }

    /// What the references of a schema are relative to.
    pub(crate) fn home(&mut self, holder: &Value) -> Home {
        self.resources().home(holder)
    }

    fn resources(&mut self) -> &Resources<'a> {
        self.resources.get_or_insert_with(|| Resources::new(self.root, self.documents, self.draft))
    }

    /// What a reference of `holder` names, before any dynamic scope is looked at. `Err`: no resource is known
    /// by its URI.
    fn lookup<'r>(&mut self, reference: &'r str, holder: &Value) -> Result<Named<'r, 'a>, Home> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let documents = self.documents;
        let resources = self.resources();
        let home = resources.home(holder);
        let Some((absolute, resource)) = resources.resource(&home, uri, documents) else { return Err(home) };
        let fragment = percent_decode(fragment);
        let target = if fragment.is_empty() {
            Some(resource)
        } else if fragment.starts_with('/') {
            resource.pointer(&fragment)
        } else {
            resources.anchored(&absolute, &fragment)
        };
        Ok(Named { absolute, resource, fragment, target })
    }
}
