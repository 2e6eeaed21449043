//! Where a source names a token that the vocabulary lacks, for messages.
//!
//! Whether a token exists is known when the grammar is compiled for a vocabulary, and by then its place in
//! the source is not. So the place is looked up when that fails.

use std::ops::Range;

use maskwright_automata::Fuel;
use maskwright_error::{ErrorKind, Place, nearest_name};
use maskwright_grammar::{TokenItem, TokenSet};
use maskwright_syntax::SyntaxError;
use maskwright_vocabulary::Vocabulary;

use crate::Error;

/// Whether a message says that one of the tokens that `set` names is lacking.
fn is_told_of(message: &str, set: &TokenSet) -> bool {
    set.items().iter().any(|item| match item {
        TokenItem::Name(name) => message.contains(&format!("no token named `{name}`")),
        TokenItem::Ids(_, last) => message.contains(&format!("no token has the id {last}:")),
    })
}

/// Whether the vocabulary lacks one of the tokens that `set` names.
fn is_lacking(set: &TokenSet, vocabulary: &Vocabulary) -> bool {
    set.items().iter().any(|item| match item {
        TokenItem::Name(name) => vocabulary.named(name).is_empty(),
        TokenItem::Ids(_, last) => *last as usize >= vocabulary.n_vocab(),
    })
}

/// The error of compiling a structural tag, with the JSON pointer of a token that the vocabulary lacks.
pub(crate) fn in_tag(error: Error, text: &str, vocabulary: &Vocabulary, fuel: &Fuel) -> Error {
    let tokens = maskwright_tags::named_tokens(text, fuel).unwrap_or_default();
    let message = error.to_string();
    let is_meant = |set: &TokenSet| is_lacking(set, vocabulary) && is_told_of(&message, set);
    let lacking = tokens.into_iter().find(|(set, _)| is_meant(set));
    let Some((_, pointer)) = lacking.filter(|_| error.kind() == ErrorKind::Grammar) else { return error };
    let hint = error.hint().map(str::to_owned);
    Error::message(error.kind(), format!("the structural tag at {pointer}: {error}")).at(Place {
        pointer: Some(pointer),
        hint,
        ..Place::default()
    })
}

/// The error of compiling a grammar in GBNF or Lark's language, with the line and column of a token that the
/// vocabulary lacks.
pub(crate) fn in_rules(error: Error, text: &str, name: &str, vocabulary: &Vocabulary) -> Error {
    let message = error.to_string();
    // The error that names the token is about it.
    let is_meant = |set: &TokenSet| is_lacking(set, vocabulary) && is_told_of(&message, set);
    let lacking =
        written(text).filter(|(_, set, _)| is_meant(set)).min_by_key(|&(.., is_doubtful)| is_doubtful);
    let Some((span, set, _)) = lacking else { return error };
    let hint = set.items().iter().find_map(|item| match item {
        TokenItem::Name(name) => meant(name, vocabulary),
        TokenItem::Ids(..) => None,
    });
    SyntaxError::new(text, name, span, error.to_string(), hint.as_deref().or(error.hint())).into()
}

/// A hint on what to write instead of the token `name`, which the vocabulary lacks.
fn meant(name: &str, vocabulary: &Vocabulary) -> Option<String> {
    let inside = name.strip_prefix('<').and_then(|inside| inside.strip_suffix('>')).unwrap_or(name);
    let without_signs = vocabulary.names().map(|(_, known)| known).find(|&known| known == inside);
    let nearest = || nearest_name(name, vocabulary.names().map(|(_, known)| known)).map(|(_, known)| known);
    let known = without_signs.or_else(nearest)?;
    let written = TokenSet::written(known);
    Some(if written == known {
        format!("did you mean `{known}`?")
    } else {
        format!("did you mean `{known}`? It is written {written}")
    })
}

/// What looks like the tokens that the rules name: `<name>`, or `<[1,3-5]>` with the greatest id alone. It is
/// doubtful where it seems to be in a string or a comment; quotes and `#` stand in sets and patterns too.
fn written(text: &str) -> impl Iterator<Item = (Range<usize>, TokenSet, bool)> + '_ {
    let starts = text.match_indices('<').map(|(start, _)| start);
    starts.filter_map(|start| {
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        let before = text[line..start].replace("\\\\", "").replace("\\\"", "");
        let n_quotes = before.matches('"').count();
        let is_doubtful = before.contains('#') || before.contains("//") || !n_quotes.is_multiple_of(2);
        let end = start + TokenSet::end_of_written(&text[start..])?;
        let set = TokenSet::of_written(&text[start..end]).ok()?;
        let last = set.items().iter().filter_map(|item| match item {
            TokenItem::Ids(_, last) => Some(*last),
            TokenItem::Name(_) => None,
        });
        let set = last.max().map_or_else(|| set.clone(), |last| TokenSet::ids(last, last));
        Some((start..end, set, is_doubtful))
    })
}
