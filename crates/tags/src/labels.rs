//! The regions of a structural tag that somebody wrote: what is free is text, and a tag with one schema is a
//! call. Lists of tools say themselves what their parts are ([`tools`](crate::tools)).

use crate::format::{Begin, Format, Kind, Tag, Token};
use crate::region::Region;

/// Says what the parts of a structural tag are.
pub(crate) fn find_regions(format: &mut Format<'_>) {
    find(format, None, false);
}

/// `within`: what the tag around it is called. `is_call`: whether that is a call.
fn find(format: &mut Format<'_>, within: Option<&str>, is_call: bool) {
    let text = || Some(Region::Text(within.map(str::to_owned)));
    match &mut format.kind {
        Kind::AnyText(_) | Kind::Tokens { .. } => format.region = text(),
        Kind::Schema(schema) if is_call => format.region = Some(Region::Arguments(schema.style)),
        Kind::Schema(_) | Kind::Pattern(_) | Kind::Grammar(_) if !is_call => format.region = text(),
        Kind::Sequence(parts) | Kind::Choice(parts) => {
            parts.iter_mut().for_each(|part| find(part, within, is_call));
        }
        Kind::Repeat { content, .. } => find(content, within, is_call),
        Kind::Tag(tag) => find_in_tag(tag, false),
        Kind::Separated(separated) => separated.tags.iter_mut().for_each(|tag| find_in_tag(tag, false)),
        Kind::Triggered(triggered) => {
            format.region = text();
            triggered.tags.iter_mut().for_each(|tag| find_in_tag(tag, true));
        }
        Kind::TokenTriggered(triggered) => {
            format.region = text();
            triggered.tags.iter_mut().for_each(|tag| find_in_tag(tag, true));
        }
        Kind::Dispatch(dispatch) => {
            format.region = text();
            dispatch.rules.iter_mut().for_each(|(_, _, content)| find(content, within, is_call));
        }
        Kind::TokenDispatch(dispatch) => {
            format.region = text();
            dispatch.rules.iter_mut().for_each(|(_, _, content)| find(content, within, is_call));
        }
        _ => {}
    }
}

fn find_in_tag(tag: &mut Tag<'_>, is_triggered: bool) {
    let (name, n_bytes) = match &tag.begin {
        Begin::Text(begin) => (name_in(begin), begin.len()),
        Begin::Token(Token::Name(name)) => ((*name).to_owned(), name.len()),
        Begin::Token(token) => (format!("{token:?}"), 0),
    };
    let n_before = if is_triggered { n_bytes } else { 0 };
    let is_call = n_schemas(&tag.content) == (1, 1);
    find(&mut tag.content, Some(&name), is_call);
    tag.region = Some(match is_call {
        true => Region::Call { name, schema: only_schema(&tag.content), n_before },
        false => Region::Tag { name, n_before },
    });
}

/// The JSON pointer of the schema of a format with one, if no choice has several.
fn only_schema(format: &Format<'_>) -> Option<String> {
    match &format.kind {
        Kind::Schema(schema) => Some(schema.at.clone()),
        Kind::Sequence(parts) => parts.iter().find_map(only_schema),
        Kind::Repeat { content, .. } => only_schema(content),
        _ => None,
    }
}

/// The fewest and the most schemas of a text of a format, of more than one 2. What is a call by itself counts
/// as 2.
fn n_schemas(format: &Format<'_>) -> (usize, usize) {
    let (least, most) = match &format.kind {
        Kind::Schema(_) => (1, 1),
        Kind::Sequence(parts) => {
            let all = parts.iter().map(n_schemas);
            all.fold((0, 0), |(least, most), part| (least + part.0, most + part.1))
        }
        Kind::Choice(parts) => {
            let all = || parts.iter().map(n_schemas);
            (all().map(|part| part.0).min().unwrap_or(0), all().map(|part| part.1).max().unwrap_or(0))
        }
        Kind::Tag(tag) => match n_schemas(&tag.content) {
            (1, 1) => (2, 2),
            other => other,
        },
        Kind::Repeat { content, min, max } => {
            let (least, most) = n_schemas(content);
            (least * *min as usize, most * max.unwrap_or(2).min(2) as usize)
        }
        Kind::Separated(_)
        | Kind::Triggered(_)
        | Kind::TokenTriggered(_)
        | Kind::Dispatch(_)
        | Kind::TokenDispatch(_) => (0, 2),
        _ => (0, 0),
    };
    (least.min(2), most.min(2))
}

/// What a tag is called: the name in its beginning if it has one as JSON or as `=name>`, else the beginning.
fn name_in(begin: &str) -> String {
    let quoted = begin.split_once("\"name\"").and_then(|(_, rest)| rest.split('"').nth(1));
    let tagged = begin.split_once('=').and_then(|(_, rest)| rest.split('>').next());
    quoted.or(tagged).filter(|name| !name.is_empty()).unwrap_or(begin).trim().to_owned()
}
