//! Which draft of JSON Schema a document is written for.

use serde_json::Value;

/// A draft, as far as the drafts differ in what this crate does.
///
/// The drafts agree on most keywords. One of a later draft than the document and its parts name has no
/// effect, by the specification, and the report says so; one that a later draft has given up goes on.
/// Besides, it depends on the draft whether the siblings of `$ref` count, whether `1.0` is an integer, and
/// which keyword names a schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Draft {
    Draft3,
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

impl Draft {
    /// The draft that `$schema` names; the latest if it names none that is known.
    pub(crate) fn of(root: &Value) -> Draft {
        let Some(name) = root.get("$schema").and_then(Value::as_str) else { return Draft::Draft2020 };
        let name = name.trim_end_matches('#');
        [
            ("draft-03/schema", Draft::Draft3),
            ("draft-04/schema", Draft::Draft4),
            ("draft-06/schema", Draft::Draft6),
            ("draft-07/schema", Draft::Draft7),
            ("draft/2019-09/schema", Draft::Draft2019),
        ]
        .into_iter()
        .find(|(suffix, _)| name.ends_with(suffix))
        .map_or(Draft::Draft2020, |(_, draft)| draft)
    }

    /// The latest draft that a document or a part of it names. Linear in its size where the document names
    /// another.
    pub(crate) fn latest(root: &Value) -> Draft {
        let mut latest = Draft::of(root);
        let mut work = vec![root];
        while let Some(value) = work.pop().filter(|_| latest < Draft::Draft2020) {
            match value {
                Value::Array(items) => work.extend(items),
                Value::Object(members) => {
                    if members.get("$schema").is_some_and(Value::is_string) {
                        latest = latest.max(Draft::of(value));
                    }
                    work.extend(members.values());
                }
                _ => {}
            }
        }
        latest
    }

    /// Whether keywords beside `$ref` are ignored.
    pub(crate) fn ignores_siblings_of_ref(self) -> bool {
        self <= Draft::Draft7
    }

    /// Whether `1.0` is an integer.
    pub(crate) fn has_fractional_integers(self) -> bool {
        self >= Draft::Draft6
    }

    /// The keyword that gives a schema its address.
    pub(crate) fn id_keyword(self) -> &'static str {
        if self <= Draft::Draft4 { "id" } else { "$id" }
    }
}
