//! The schemas that hold of a value, by its path.

use serde_json::Value;

use super::place::Step;

/// How many schemas are looked at for one place.
const MAX_APPLIED: usize = 64;

/// A schema that holds of a value whatever the rest of the text is.
#[derive(Clone, Debug)]
pub(super) struct Applied<'s> {
    pub(super) schema: &'s Value,
    pub(super) pointer: String,
    /// Whether it is of a resource of its own, whose references are not those of the document.
    is_embedded: bool,
    /// Whether its keywords count: beside a reference of an old draft none does.
    counts: bool,
}

/// The schemas that hold of the value at `path`.
pub(super) fn applied<'s>(document: &'s Value, path: &[Step]) -> Vec<Applied<'s>> {
    let mut here = Vec::new();
    add(
        document,
        Applied { schema: document, pointer: String::new(), is_embedded: false, counts: true },
        &mut here,
    );
    for step in path {
        let mut below = Vec::new();
        for schema in here.iter().filter(|applied| applied.counts) {
            if let Some(child) = child(schema, step) {
                add(document, child, &mut below);
            }
        }
        here = below;
    }
    here.retain(|applied| applied.counts);
    here
}

/// Whether what stands beside a reference is ignored, as up to draft 7.
fn ignores_siblings(document: &Value) -> bool {
    let draft = document.get("$schema").and_then(Value::as_str).unwrap_or_default();
    ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|old| draft.contains(old))
}

/// Adds a schema, and those that hold wherever it does.
fn add<'s>(document: &'s Value, schema: Applied<'s>, all: &mut Vec<Applied<'s>>) {
    let is_known = all.iter().any(|known| std::ptr::eq(known.schema, schema.schema));
    if is_known || all.len() >= MAX_APPLIED {
        return;
    }
    let Applied { schema, pointer, is_embedded, .. } = schema;
    let is_embedded = is_embedded || !pointer.is_empty() && schema.get("$id").is_some();
    let reference = schema.get("$ref").and_then(Value::as_str);
    let counts = reference.is_none() || !ignores_siblings(document);
    all.push(Applied { schema, pointer: pointer.clone(), is_embedded, counts });
    if let Some(within) = reference.and_then(|reference| reference.strip_prefix('#'))
        && !is_embedded
        && let Some(target) = document.pointer(within)
    {
        add(document, Applied { schema: target, pointer: within.to_owned(), is_embedded, counts }, all);
    }
    if !counts {
        return;
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(keyword).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // One of several alternatives need not hold.
        if keyword != "allOf" && parts.len() != 1 {
            continue;
        }
        for (index, part) in parts.iter().enumerate() {
            let pointer = format!("{pointer}/{keyword}/{index}");
            add(document, Applied { schema: part, pointer, is_embedded, counts }, all);
        }
    }
}

/// What a schema says of a value's member or item.
fn child<'s>(parent: &Applied<'s>, step: &Step) -> Option<Applied<'s>> {
    let &Applied { schema, ref pointer, is_embedded, .. } = parent;
    let at = |schema, pointer| Applied { schema, pointer, is_embedded, counts: true };
    match step {
        Step::Key(key) => {
            if let Some(child) = schema.get("properties").and_then(|properties| properties.get(key)) {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                return Some(at(child, format!("{pointer}/properties/{escaped}")));
            }
            // Which patterns a key fits is not asked here.
            let is_other = schema.get("patternProperties").is_none();
            let others = schema.get("additionalProperties").filter(|_| is_other)?;
            Some(at(others, format!("{pointer}/additionalProperties")))
        }
        Step::Item(index) => {
            let lists = [schema.get("prefixItems"), schema.get("items")];
            for (list, keyword) in lists.into_iter().zip(["prefixItems", "items"]) {
                if let Some(child) = list.and_then(Value::as_array).and_then(|list| list.get(*index)) {
                    return Some(at(child, format!("{pointer}/{keyword}/{index}")));
                }
            }
            let (keyword, others) = match schema.get("items") {
                Some(Value::Array(_)) => ("additionalItems", schema.get("additionalItems")?),
                items => ("items", items?),
            };
            Some(at(others, format!("{pointer}/{keyword}")))
        }
    }
}
