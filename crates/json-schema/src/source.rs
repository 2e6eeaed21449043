//! The documents of a schema as they are given: JSON, drafts, keywords, addresses.

pub(crate) mod document;
pub(crate) mod documents;
pub(crate) mod draft;
pub(crate) mod json_types;
pub(crate) mod json_value;
pub(crate) mod keyword;
pub(crate) mod resources;
pub(crate) mod uri;
