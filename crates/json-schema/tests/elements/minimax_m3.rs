//! `minimax_m3_xml`: elements that end with their name, and no JSON but for numbers, booleans and null.

use serde_json::{Map, Value};

use super::{Read, SPACE, Unread, arrays, is_plain, objects};

/// What tags begin with.
pub(super) const MARK: &str = "]<]minimax[>[";

/// The members of an object, with white space at some places.
pub(super) fn text(members: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_all(&named(members), &mut text);
    text
}

fn named(members: &Map<String, Value>) -> Vec<(&str, &Value)> {
    members.iter().map(|(name, value)| (&name[..], value)).collect()
}

fn write_all(elements: &[(&str, &Value)], text: &mut String) {
    if elements.is_empty() {
        return;
    }
    for (name, value) in elements {
        write_space(text);
        *text += &format!("{MARK}<{name}>");
        match value {
            Value::String(string) => *text += string,
            Value::Array(items) => {
                write_all(&items.iter().map(|item| ("item", item)).collect::<Vec<_>>(), text);
            }
            Value::Object(members) => write_all(&named(members), text),
            scalar => *text += &scalar.to_string(),
        }
        *text += &format!("{MARK}</{name}>");
    }
    write_space(text);
}

/// White space that depends on what is before.
fn write_space(text: &mut String) {
    *text += ["\n  ", "", " ", "", ""][text.len() % 5];
}

/// The objects that a text could be of. There are none where a name is there twice.
pub(super) fn read(text: &str) -> Result<Vec<Value>, Unread> {
    if text.is_empty() {
        return Ok(vec![Value::Object(Map::new())]);
    }
    let (members, rest) = read_all(text)?;
    match rest {
        "" if are_different(&members) => Ok(objects(&members)),
        _ => Err(Unread::Broken),
    }
}

/// At least one element with white space around each, and what follows.
fn read_all(text: &str) -> Result<(Vec<Read>, &str), Unread> {
    let mut all = Vec::new();
    let mut rest = text.trim_start_matches(SPACE);
    while rest.starts_with(MARK) && !rest[MARK.len()..].starts_with("</") {
        let (element, after) = read_element(&rest[MARK.len()..])?;
        all.push(element);
        rest = after.trim_start_matches(SPACE);
    }
    if all.is_empty() { Err(Unread::Broken) } else { Ok((all, rest)) }
}

/// An element without the mark before it, and what follows.
fn read_element(text: &str) -> Result<(Read, &str), Unread> {
    let (name, body) = text.strip_prefix('<').and_then(|tag| tag.split_once('>')).ok_or(Unread::Broken)?;
    let (raw, after) = body.split_once(MARK).ok_or(Unread::Broken)?;
    if !is_plain(name) {
        return Err(Unread::Broken);
    }
    let (values, rest) = if after.starts_with("</") {
        (scalars(raw), &body[raw.len()..])
    } else {
        let (parts, rest) = read_all(body)?;
        let mut values = Vec::new();
        if parts.iter().all(|(name, _)| name == "item") {
            values.extend(arrays(parts.iter().map(|(_, values)| values)));
        }
        if are_different(&parts) {
            values.extend(objects(&parts));
        }
        (values, rest)
    };
    let rest = rest.strip_prefix(MARK).and_then(|rest| rest.strip_prefix("</")).ok_or(Unread::Broken)?;
    let rest = rest.strip_prefix(name).and_then(|rest| rest.strip_prefix('>')).ok_or(Unread::Broken)?;
    Ok(((name.to_owned(), values), rest))
}

fn are_different(members: &[Read]) -> bool {
    (1..members.len()).all(|i| members[..i].iter().all(|(name, _)| *name != members[i].0))
}

/// The values of an element without elements in it.
fn scalars(raw: &str) -> Vec<Value> {
    let mut values = vec![Value::from(raw)];
    if raw.is_empty() {
        values.extend([Value::Array(Vec::new()), Value::Object(Map::new())]);
    }
    let is_bare = !raw.starts_with(SPACE) && !raw.ends_with(SPACE);
    let scalar = serde_json::from_str(raw).ok().filter(|_| is_bare);
    values.extend(scalar.filter(|value: &Value| value.is_null() || value.is_boolean() || value.is_number()));
    values
}
