//! Resolving references: RFC 3986, section 5.2.
//!
//! Rejected: the crates `fluent-uri`, `iri-string`, `oxiri` and `url`. They resolve against absolute URIs
//! only and refuse text that is not a URI. Here the base is mostly the path of a file, a `..` may lead out of
//! it, and a reference is whatever the schema's author wrote.

use std::borrow::Cow;

/// The parts of a URI reference without its fragment.
struct Parts<'t> {
    scheme: Option<&'t str>,
    authority: Option<&'t str>,
    path: &'t str,
    query: Option<&'t str>,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Parts<'t> {
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        let (scheme, rest) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, text),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
            None => (None, rest),
        };
        Parts { scheme, authority, path, query }
    }
}

/// What `reference` means in a document at `base`; both without fragments. Linear.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.into();
    }
    let (base, given) = (Parts::of(base), Parts::of(reference));
    let (scheme, authority, path, query) = if given.scheme.is_some() {
        (given.scheme, given.authority, without_dots(given.path), given.query)
    } else if given.authority.is_some() {
        (base.scheme, given.authority, without_dots(given.path), given.query)
    } else if given.path.is_empty() {
        (base.scheme, base.authority, base.path.into(), given.query.or(base.query))
    } else if given.path.starts_with('/') {
        (base.scheme, base.authority, without_dots(given.path), given.query)
    } else {
        let folder = match base.path.rfind('/') {
            Some(end) => &base.path[..=end],
            None if base.authority.is_some() => "/",
            None => "",
        };
        (base.scheme, base.authority, without_dots(&format!("{folder}{}", given.path)), given.query)
    };
    let mut text = String::new();
    if let Some(scheme) = scheme {
        text = text + scheme + ":";
    }
    if let Some(authority) = authority {
        text = text + "//" + authority;
    }
    text += &path;
    if let Some(query) = query {
        text = text + "?" + query;
    }
    text
}

/// Whether a URI reference is a path alone, without a scheme or a host.
pub(crate) fn is_path(reference: &str) -> bool {
    let parts = Parts::of(reference);
    parts.scheme.is_none() && parts.authority.is_none() && parts.query.is_none()
}

/// A path without the segments `.` and `..`. A relative path keeps `..` at its beginning, because it points
/// outside the base.
fn without_dots(path: &str) -> String {
    if !path.contains("./") && !path.ends_with('.') {
        return path.into();
    }
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').collect();
    for (i, &segment) in segments.iter().enumerate() {
        let is_last = i + 1 == segments.len();
        match segment {
            "." if is_last => kept.push(""),
            "." => {}
            ".." if !path.starts_with('/') && kept.iter().all(|&kept| kept == "..") => kept.push(".."),
            ".." => {
                if kept.len() > 1 || kept.first().is_some_and(|first| !first.is_empty()) {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    kept.join("/")
}

/// A URI without its percent escapes; what is no escape, or no UTF-8 then, stays as it is.
pub(crate) fn percent_decode(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 3986, section 5.4, that have no fragment.
    #[test]
    fn references_are_resolved_as_the_standard_says() {
        for (reference, target) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
        ] {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference), target, "{reference}");
        }
        assert_eq!(resolve("", "item.json"), "item.json");
        assert_eq!(resolve("folder/a.json", "b.json"), "folder/b.json");
        assert_eq!(resolve("folder/a.json", "../b.json"), "b.json");
        assert_eq!(resolve("folder/a.json", "../../b.json"), "../b.json");
        assert_eq!(resolve("../a.json", "../b.json"), "../../b.json");
        assert_eq!(resolve("a.json", "./b/../../c.json"), "../c.json");
    }

    #[test]
    fn what_is_no_escape_stays() {
        for (text, decoded) in
            [("a%20%C3%BC", "a ü"), ("%zz%4%", "%zz%4%"), ("%41%ff", "%41%ff"), ("ü%2F", "ü/")]
        {
            assert_eq!(percent_decode(text), decoded);
        }
    }
}
