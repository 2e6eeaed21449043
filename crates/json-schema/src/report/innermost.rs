//! Finds the innermost schema that no value satisfies, for the error message.
//!
//! The search descends from the root into the first part that every value must satisfy and that is empty by
//! itself: the target of a reference, a member of `allOf`, a required property, a required item. It runs
//! once, for an error. Each step compiles the parts of one schema and spends fuel.

use std::borrow::Cow;

use rustc_hash::FxHashSet;
use serde_json::Value;

use crate::SchemaError;
use crate::error::Kind;
use crate::forms::node_id::NodeId;
use crate::graph::Graph;
use crate::lower;
use crate::report::remedy::short;
use crate::report::{PlaceId, Status, Step};
use crate::source::document::address;

/// How many keywords a message names.
const MAX_NAMED: usize = 6;

/// The error for a schema without any text: at the innermost part that is empty.
pub(crate) fn unsatisfiable(graph: &mut Graph<'_>, root: NodeId) -> SchemaError {
    // If the search fails, the error is at the root.
    let (at, is_endless) = innermost_empty(graph, root).unwrap_or_else(|_| (graph.place(root), false));
    if is_endless {
        let message =
            "no value satisfies it: each would need another one of this schema within it, without an end";
        return graph.error(at, None, Kind::Unsatisfiable { message: message.to_owned() });
    }
    let conflict = graph.found.conflicts.iter().find(|conflict| conflict.0 == at).or_else(|| {
        let first = graph.found.conflicts.first()?;
        is_below(graph, first.0, at).then_some(first)
    });
    match conflict {
        Some((place, keyword, message)) => {
            let message = format!("no value satisfies the schema: {message}");
            graph.error(*place, Some(keyword), Kind::Unsatisfiable { message })
        }
        None => {
            let error = graph.error(at, None, Kind::Unsatisfiable { message: String::new() });
            let schema = graph.root.pointer(error.pointer());
            let message = format!("no value satisfies it{}", of_keywords(graph, at, schema));
            graph.error(at, None, Kind::Unsatisfiable { message })
        }
    }
}

/// Whether `place` is `above` or below it.
fn is_below(graph: &Graph<'_>, mut place: PlaceId, above: PlaceId) -> bool {
    loop {
        match place == above || above == 0 {
            true => return true,
            false if matches!(graph.found.places[place].step, Step::Root | Step::Pointer(_)) => return false,
            false => place = graph.found.places[place].parent,
        }
    }
}

/// The keywords of the schema at a place with their values, if they are few.
fn of_keywords(graph: &Graph<'_>, place: PlaceId, schema: Option<&Value>) -> String {
    let at = |entry: &&crate::report::Entry<Cow<'_, str>>| {
        entry.place == place && entry.status == Status::Enforced
    };
    let mut names: Vec<String> = Vec::new();
    for entry in graph.found.entries.iter().filter(at) {
        let value = schema.and_then(|schema| schema.get(&*entry.keyword));
        // Schemas in it are told of at their own place.
        let value = value.filter(|value| !value.is_object()).map(|value| format!(" {}", short(value)));
        let name = format!("`{}`{}", entry.keyword, value.unwrap_or_default());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [single] => format!(": {single} allows none"),
        [names @ .., last] if names.len() < MAX_NAMED => {
            format!(": {} and {last} together allow none", names.join(", "))
        }
        _ => String::new(),
    }
}

/// Its place, and whether it is empty because it requires itself.
fn innermost_empty(graph: &mut Graph<'_>, root: NodeId) -> Result<(PlaceId, bool), SchemaError> {
    let Some(mut schema) = graph.schemas_of(root).first().copied() else {
        return Ok((graph.place(root), false));
    };
    let mut node = root;
    let mut seen = FxHashSet::from_iter([address(schema)]);
    loop {
        let mut inner = None;
        for (part, below) in needed(graph, schema, node)? {
            if seen.contains(&address(part)) {
                return Ok((graph.place(below), true));
            }
            if lower::is_empty(graph, below)? {
                inner = Some((part, below));
                break;
            }
        }
        let Some((part, below)) = inner else { return Ok((graph.place(node), false)) };
        seen.insert(address(part));
        (schema, node) = (part, below);
    }
}

/// The schemas that every value of `schema`, or a part of it, must satisfy.
fn needed<'a>(
    graph: &mut Graph<'a>,
    schema: &'a Value,
    node: NodeId,
) -> Result<Vec<(&'a Value, NodeId)>, SchemaError> {
    let place = graph.place(node);
    let mut needed = Vec::new();
    if graph.is_left_out(schema) || !schema.is_object() {
        return Ok(needed);
    }
    let n_entries = graph.found.entries.len();
    let keywords = graph.read_keywords(schema, place)?;
    graph.found.entries.truncate(n_entries);
    for &(keyword, reference) in &keywords.references {
        let (target, value) = graph.resolve(reference, keyword, schema, place)?;
        needed.push((value, target));
    }
    for (i, part) in keywords.all_of.unwrap_or_default().iter().enumerate() {
        needed.push((part, graph.schema_node(part, place, Step::Item("allOf", i))?));
    }
    for (keyword, branches) in [("anyOf", keywords.any_of), ("oneOf", keywords.one_of)] {
        if let Some([single]) = branches {
            needed.push((single, graph.schema_node(single, place, Step::Item(keyword, 0))?));
        }
    }
    let shape = graph.shape(node)?;
    for (name, value) in keywords.properties.into_iter().flatten() {
        let is_required = shape
            .objects
            .iter()
            .all(|set| set.properties.iter().any(|property| property.name == name && property.is_required));
        if is_required && !shape.objects.is_empty() {
            let step = Step::Member("properties", Cow::Borrowed(name.as_str()));
            needed.push((value, graph.schema_node(value, place, step)?));
        }
    }
    let Some(min) = shape.arrays.iter().map(|set| set.min).min() else { return Ok(needed) };
    let (keyword, prefix) = match (keywords.prefix_items, keywords.items) {
        (Some(prefix), _) => ("prefixItems", prefix),
        (None, Some(Value::Array(prefix))) => ("items", prefix.as_slice()),
        _ => ("prefixItems", &[][..]),
    };
    for (i, item) in prefix.iter().enumerate().filter(|(i, _)| (*i as u64) < min) {
        needed.push((item, graph.schema_node(item, place, Step::Item(keyword, i))?));
    }
    if let Some(rest) = keywords.items.filter(|rest| !rest.is_array() && min > prefix.len() as u64) {
        needed.push((rest, graph.schema_node(rest, place, Step::Keyword("items"))?));
    }
    if let Some(schema) = keywords.contains.filter(|_| keywords.min_contains != Some(0)) {
        needed.push((schema, graph.schema_node(schema, place, Step::Keyword("contains"))?));
    }
    Ok(needed)
}
