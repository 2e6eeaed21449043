//! What `$ref` names, in the document and in the documents that the caller gives.
//!
//! A reference is a URI; what comes before `#` names a schema [resource](crate::resources), what comes after a place in it.

use std::borrow::Cow;

use serde_json::Value;

use crate::SchemaError;
use crate::document::pointer_to;
use crate::error::{Kind, MissingDocument};
use crate::graph::Graph;
use crate::json_types::kind_of;
use crate::node_id::NodeId;
use crate::report::{self, PlaceId, Step};
use crate::resources::Resources;
use crate::uri::{self, percent_decode};

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
        let resources =
            self.resources.get_or_insert_with(|| Resources::new(root, self.documents, self.draft));
        let home = resources.home(holder);
        let Some((absolute, home)) = resources.resource(&home, uri, self.documents) else {
            return Err(SchemaError::lacking(vec![MissingDocument {
                uri: uri::resolve(&home.document, uri),
                name: uri.to_owned(),
                reference: reference.to_owned(),
                pointer: report::pointer(&self.places, place),
                keyword,
            }]));
        };
        let fragment = percent_decode(fragment);
        let target = if fragment.is_empty() {
            Some(home)
        } else if fragment.starts_with('/') {
            home.pointer(&fragment)
        } else {
            resources.anchored(&absolute, &fragment)
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
}
