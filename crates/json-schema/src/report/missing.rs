//! Collects all documents that a schema needs and that were not given, for one error.
//!
//! A schema is read lazily, and reading fails at the first reference to a missing document. Only then does
//! this module look for the others.

use rustc_hash::FxHashSet;
use serde_json::Value;

use crate::SchemaError;
use crate::error::MissingDocument;
use crate::graph::Graph;
use crate::report;
use crate::source::document::address;
use crate::source::keyword::{Holds, Keyword};

/// How many missing documents are named.
const MAX_MISSING: usize = 100;

/// An error for all missing documents, in the order in which the schema's text first needs them; replaces an
/// error about the first one found. Linear in the schemas that references lead to. Spends fuel; if it runs
/// out, returns the error unchanged.
pub(crate) fn with_all_missing(graph: &mut Graph<'_>, error: SchemaError) -> SchemaError {
    match missing_documents(graph) {
        Ok(missing) if !missing.is_empty() => SchemaError::lacking(missing),
        _ => error,
    }
}

fn missing_documents<'a>(graph: &mut Graph<'a>) -> Result<Vec<MissingDocument>, SchemaError> {
    let mut missing: Vec<MissingDocument> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut work: Vec<(&'a Value, String)> = vec![(graph.root, String::new())];
    while let Some((schema, pointer)) = work.pop() {
        if !schema.is_object() || !seen.insert(address(schema)) {
            continue;
        }
        graph.spend(0, 1)?;
        let mut below = Vec::new();
        let members: Vec<_> = graph.members_that_count(schema).collect();
        for (keyword, value) in members {
            if graph.latest_draft < Keyword::draft_of(keyword) {
                continue;
            }
            let at =
                |step: &str| format!("{pointer}/{keyword}/{}", step.replace('~', "~0").replace('/', "~1"));
            match (keyword.as_str(), Keyword::held_by(keyword), value) {
                ("$ref", _, Value::String(reference)) => {
                    below.extend(follow(graph, reference, "$ref", schema, &pointer, &mut missing));
                }
                ("$dynamicRef", _, Value::String(reference)) => {
                    below.extend(follow(graph, reference, "$dynamicRef", schema, &pointer, &mut missing));
                }
                ("$defs" | "definitions" | "contentSchema", ..) => {}
                (_, Holds::SchemasByName, Value::Object(schemas)) => {
                    below.extend(schemas.iter().map(|(name, schema)| (schema, at(name))));
                }
                (_, Holds::Schemas, Value::Array(schemas)) => {
                    let items = schemas.iter().enumerate();
                    below.extend(items.map(|(i, schema)| (schema, at(&i.to_string()))));
                }
                (_, Holds::Schemas, schema) => below.push((schema, format!("{pointer}/{keyword}"))),
                _ => {}
            }
        }
        if missing.len() >= MAX_MISSING {
            break;
        }
        work.extend(below.into_iter().rev());
    }
    Ok(missing)
}

/// The schema that a reference of `holder`, at `pointer`, leads to. If its document is missing, adds it to
/// `missing`.
fn follow<'a>(
    graph: &mut Graph<'a>,
    reference: &'a str,
    keyword: &'static str,
    holder: &'a Value,
    pointer: &str,
    missing: &mut Vec<MissingDocument>,
) -> Option<(&'a Value, String)> {
    match graph.resolve(reference, keyword, holder, 0) {
        Ok((node, target)) => Some((target, report::pointer(&graph.found.places, graph.place(node)))),
        Err(error) => {
            let document = error.missing_documents().first().cloned();
            let document = document.filter(|new| missing.iter().all(|known| known.uri != new.uri));
            missing.extend(document.map(|new| MissingDocument { pointer: pointer.to_owned(), ..new }));
            None
        }
    }
}
