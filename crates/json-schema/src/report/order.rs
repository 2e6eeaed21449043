//! Puts the entries of a report in the order of the schema's text.
//!
//! Schemas are read lazily, in the order in which the grammar needs them. At the end, one walk over the
//! documents numbers the keywords as they are written, and the entries are sorted by number. Entries of other
//! documents come last.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::graph::Graph;
use crate::report::{Entry, PlaceId, Status};
use crate::source::document::address;

/// Sorts the entries as the documents are written. A keyword that was noted several times, because its schema
/// was read from both sides or lowered by parts, keeps one entry: the one that promises least. Linear in the
/// documents, for as far as it takes to find all entries, and n log n in their number.
pub(crate) fn sort_entries(graph: &mut Graph<'_>) {
    let entries = std::mem::take(&mut graph.found.entries);
    let numbers = numbers(graph, &entries);
    let numbers: Vec<u32> = entries.iter().map(|entry| numbers[&(entry.place, &*entry.keyword)]).collect();
    let mut numbered: Vec<_> = numbers.into_iter().zip(entries).collect();
    numbered.sort_by_key(|&(number, _)| number);
    graph.found.entries = numbered.into_iter().map(|(_, entry)| entry).collect();
    graph.found.entries.dedup_by(|next, kept| {
        let is_same = (next.place, &next.keyword) == (kept.place, &kept.keyword);
        if is_same && rank(&kept.status) < rank(&next.status) {
            std::mem::swap(&mut kept.status, &mut next.status);
        }
        is_same
    });
}

/// The number of each keyword of an entry.
fn numbers<'a, 'e>(
    graph: &Graph<'a>,
    entries: &'e [Entry<Cow<'a, str>>],
) -> FxHashMap<(PlaceId, &'e str), u32> {
    let mut numbers: FxHashMap<(PlaceId, &str), u32> =
        entries.iter().map(|entry| ((entry.place, &*entry.keyword), u32::MAX)).collect();
    let places: FxHashMap<usize, PlaceId> = graph.schema_places().collect();
    let mut n_open = numbers.len();
    let mut next = 0;
    for document in std::iter::once(graph.root).chain(graph.documents.iter().map(|(_, document)| document)) {
        // A value, and the keyword whose value it is of a schema that was read.
        let mut work: Vec<(Option<(PlaceId, &str)>, &Value)> = vec![(None, document)];
        while let Some((keyword, value)) = work.pop() {
            if let Some(number) = keyword.and_then(|keyword| numbers.get_mut(&keyword))
                && *number == u32::MAX
            {
                *number = next;
                next += 1;
                n_open -= 1;
            }
            match value {
                Value::Array(items) => work.extend(items.iter().rev().map(|item| (None, item))),
                Value::Object(members) => {
                    let place = places.get(&address(value));
                    let members = members.iter().rev();
                    work.extend(
                        members.map(|(key, value)| (place.map(|&place| (place, key.as_str())), value)),
                    );
                }
                _ => {}
            }
        }
        if n_open == 0 {
            break;
        }
    }
    numbers
}

/// How little a status promises.
fn rank(status: &Status) -> u8 {
    match status {
        Status::Annotation => 0,
        Status::Enforced => 1,
        Status::EnforcedBySession => 2,
        Status::NotEnforced { .. } => 3,
    }
}
