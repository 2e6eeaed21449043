//! The path of the argument that a place in a schema describes, as a user would write it.

/// The path of an argument: `filters.tags[]` for `/properties/filters/properties/tags/items`. `None` if the
/// place is not in a named property, or a keyword on the way does not say which values it is about.
pub(crate) fn argument_path(pointer: &str) -> Option<String> {
    let mut path = String::new();
    let mut steps = pointer.split('/').skip(1);
    while let Some(keyword) = steps.next() {
        match keyword {
            "properties" => {
                let name = steps.next()?.replace("~1", "/").replace("~0", "~");
                if !path.is_empty() {
                    path.push('.');
                }
                path += &name;
            }
            "items" => path += "[]",
            "prefixItems" => path += &format!("[{}]", steps.next()?),
            // They are about the same value.
            "allOf" | "anyOf" | "oneOf" => drop(steps.next()?),
            "not" | "if" | "then" | "else" => {}
            _ => return None,
        }
    }
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_values() {
        for (pointer, path) in [
            ("/properties/a", Some("a")),
            ("/properties/a/properties/b~1c/items", Some("a.b/c[]")),
            ("/properties/a/anyOf/1/prefixItems/2", Some("a[2]")),
            ("/properties/items/items/properties/properties", Some("items[].properties")),
            ("", None),
            ("/anyOf/0", None),
            ("/$defs/A/properties/b", None),
            ("/properties/a/additionalProperties", None),
            ("/properties", None),
        ] {
            assert_eq!(argument_path(pointer).as_deref(), path, "{pointer}");
        }
    }
}
