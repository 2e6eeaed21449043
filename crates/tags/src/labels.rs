//! The regions of a structural tag that somebody wrote: what is free is text, and a tag with one schema is a
//! call. Lists of tools say themselves what their parts are ([`tools`](crate::tools)).

use crate::format::{Begin, Format, Kind, Tag};
use crate::region::Region;

/// Says what the parts of a structural tag are: a tag with one schema is a call, and what is free is text.
pub(crate) fn find_regions(format: &mut Format<'_>, within: Option<&str>) {
    match &mut format.kind {
        Kind::AnyText(_) | Kind::Tokens { .. } => {
            format.region = Some(Region::Text(within.map(str::to_owned)));
        }
        Kind::Schema(schema) if within.is_some() => format.region = Some(Region::Arguments(schema.style)),
        Kind::Sequence(parts) | Kind::Choice(parts) => {
            parts.iter_mut().for_each(|part| find_regions(part, within));
        }
        Kind::Repeat { content, .. } => find_regions(content, within),
        Kind::Tag(tag) => find_in_tag(tag),
        Kind::Separated(separated) => separated.tags.iter_mut().for_each(find_in_tag),
        Kind::Triggered(triggered) => {
            format.region = Some(Region::Text(within.map(str::to_owned)));
            triggered.tags.iter_mut().for_each(find_in_tag);
        }
        Kind::TokenTriggered(triggered) => {
            format.region = Some(Region::Text(within.map(str::to_owned)));
            triggered.tags.iter_mut().for_each(find_in_tag);
        }
        Kind::Dispatch(dispatch) => {
            format.region = Some(Region::Text(within.map(str::to_owned)));
            dispatch.rules.iter_mut().for_each(|(_, _, content)| find_regions(content, within));
        }
        Kind::TokenDispatch(dispatch) => {
            format.region = Some(Region::Text(within.map(str::to_owned)));
            dispatch.rules.iter_mut().for_each(|(_, _, content)| find_regions(content, within));
        }
        Kind::Schema(_)
        | Kind::Text(_)
        | Kind::Pattern(_)
        | Kind::Grammar(_)
        | Kind::ToolText(_)
        | Kind::Token(_) => {}
    }
}

fn find_in_tag(tag: &mut Tag<'_>) {
    let name = match &tag.begin {
        Begin::Text(begin) => name_in(begin),
        Begin::Token(token) => format!("{token:?}"),
    };
    find_regions(&mut tag.content, Some(&name));
    if n_schemas(&tag.content) == 1 {
        tag.region = Some(Region::Call(name));
    }
}

/// How many schemas a text of a format has, at most 2.
fn n_schemas(format: &Format<'_>) -> usize {
    let n_schemas = match &format.kind {
        Kind::Schema(_) => 1,
        Kind::Sequence(parts) => parts.iter().map(n_schemas).sum(),
        Kind::Choice(parts) => parts.iter().map(n_schemas).max().unwrap_or(0),
        Kind::Tag(tag) => n_schemas(&tag.content),
        Kind::Repeat { content, max, .. } => n_schemas(content) * max.unwrap_or(2).min(2) as usize,
        Kind::Separated(_)
        | Kind::Triggered(_)
        | Kind::TokenTriggered(_)
        | Kind::Dispatch(_)
        | Kind::TokenDispatch(_) => 2,
        _ => 0,
    };
    n_schemas.min(2)
}

/// What a tag is called: the name in its beginning if it has one as JSON or as `=name>`, else the beginning.
fn name_in(begin: &str) -> String {
    let quoted = begin.split_once("\"name\"").and_then(|(_, rest)| rest.split('"').nth(1));
    let tagged = begin.split_once('=').and_then(|(_, rest)| rest.split('>').next());
    quoted.or(tagged).filter(|name| !name.is_empty()).unwrap_or(begin).trim().to_owned()
}
