//! The schemas that hold of a value, by its path.

use serde_json::Value;

use super::place::Step;

/// How many schemas are looked at for one place.
const MAX_APPLIED: usize = 64;

/// A schema that holds of a value whatever the rest of the text is.
#[derive(Clone, Debug)]
pub(crate) struct Applied<'s> {
    pub(crate) schema: &'s Value,
    pub(crate) pointer: String,
}

/// The schemas that hold of the value at `path`.
pub(crate) fn applied<'s>(document: &'s Value, path: &[Step]) -> Vec<Applied<'s>> {
    let mut here = Vec::new();
    add(document, Applied { schema: document, pointer: String::new() }, &mut here);
    for step in path {
        let mut below = Vec::new();
        for schema in &here {
            if let Some(child) = child(schema, step) {
                add(document, child, &mut below);
            }
        }
        here = below;
    }
    here
}

/// Adds a schema, and those that hold wherever it does.
fn add<'s>(document: &'s Value, schema: Applied<'s>, all: &mut Vec<Applied<'s>>) {
    let is_known = all.iter().any(|known| std::ptr::eq(known.schema, schema.schema));
    if is_known || all.len() >= MAX_APPLIED {
        return;
    }
    all.push(schema.clone());
    let Applied { schema, pointer } = schema;
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
        && let Some(within) = reference.strip_prefix('#')
        && let Some(target) = document.pointer(within)
    {
        add(document, Applied { schema: target, pointer: within.to_owned() }, all);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(keyword).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // One of several alternatives need not hold.
        if keyword != "allOf" && parts.len() != 1 {
            continue;
        }
        for (index, part) in parts.iter().enumerate() {
            let pointer = format!("{pointer}/{keyword}/{index}");
            add(document, Applied { schema: part, pointer }, all);
        }
    }
}

/// What a schema says of a value's member or item.
fn child<'s>(parent: &Applied<'s>, step: &Step) -> Option<Applied<'s>> {
    let Applied { schema, pointer } = parent;
    match step {
        Step::Key(key) => {
            if let Some(child) = schema.get("properties").and_then(|properties| properties.get(key)) {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                return Some(Applied { schema: child, pointer: format!("{pointer}/properties/{escaped}") });
            }
            // Which patterns a key fits is not asked here.
            let is_other = schema.get("patternProperties").is_none();
            let others = schema.get("additionalProperties").filter(|_| is_other)?;
            Some(Applied { schema: others, pointer: format!("{pointer}/additionalProperties") })
        }
        Step::Item(index) => {
            let lists = [schema.get("prefixItems"), schema.get("items")];
            for (list, keyword) in lists.into_iter().zip(["prefixItems", "items"]) {
                if let Some(child) = list.and_then(Value::as_array).and_then(|list| list.get(*index)) {
                    return Some(Applied { schema: child, pointer: format!("{pointer}/{keyword}/{index}") });
                }
            }
            let (keyword, others) = match schema.get("items") {
                Some(Value::Array(_)) => ("additionalItems", schema.get("additionalItems")?),
                items => ("items", items?),
            };
            Some(Applied { schema: others, pointer: format!("{pointer}/{keyword}") })
        }
    }
}
