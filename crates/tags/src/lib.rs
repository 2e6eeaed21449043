//! The front end for structural tags: the JSON of xgrammar's format in, typed grammar and report out.
//!
//! A structural tag describes a whole answer of a model: free text, reasoning between `<think>` and
//! `</think>`, calls of tools with arguments by a JSON Schema. Servers make them of the tools of a request.
//! The formats are those of [xgrammar's
//! documents](https://xgrammar.mlc.ai/docs/structural_tag/structural_tag); the same document means the same
//! texts here, with these differences:
//!
//! * Nothing is ignored. An unknown field, and what cannot be enforced, is an error, or with `strict: false`
//!   an entry of the report. Sessions enforce `uniqueItems` and distinct keys in schemas that all readings of
//!   a text have at the same place (`anchors`): after the `begin` of a tag, for example. Elsewhere
//!   `uniqueItems` is enforced only if rules can express it, and keys that a schema does not name may occur
//!   twice (and count twice for `minProperties`); the report says so.
//! * `max_tokens` of `any_text` counts the tokens that begin in the text, as xgrammar does; but a character
//!   that the last of them has begun is completed ([`at_most_tokens`](maskwright_grammar::at_most_tokens)).
//! * A trigger that has another trigger or an excluded string in it is an error: it is ambiguous, or never
//!   reached.
//! * Objects are open unless their schema closes them, as the specification of JSON Schema says. `any_order`
//!   still checks that required properties are there and that none is there twice.
//! * White space in JSON is that of [`SchemaConfig::whitespace`] unless the format has a
//!   `max_whitespace_cnt`.
//! * A tag and its trigger must both be written as names of tokens, or both as ids.
//!
//! Between JSON and the grammar layer; it knows the front ends of the parts, nothing of vocabularies or the
//! engine:
//!
//! document → envelope → `Format` (typed, with JSON pointers) → [`Grammar`].
//!
//! Strings of a tag and of the grammars in it match text. With the [`SpecialNames`] of a vocabulary they also
//! match the tokens that they name, as in xgrammar and as servers mean them. Schemas, patterns and free text
//! match only text.
//!
//! Free text is exact, see `needles`. Tokens are named in the grammar and looked up by the engine
//! ([`TokenSet`]). Compilation is linear in the document for usual tags; everything else that
//! can grow is paid for in [`Fuel`] and limited.

mod anchors;
mod dispatch;
mod embedded;
mod envelope;
mod error;
mod fields;
mod format;
mod labels;
mod lower;
mod needles;
mod read;
mod region;
mod tools;

use std::collections::HashSet;

use maskwright_automata::Fuel;
use maskwright_grammar::{Grammar, SpecialNames, TokenSet};
use maskwright_json_schema::{Report, SchemaConfig, parse_json};
use serde_json::Value;

pub use error::TagError;
pub use region::{Region, Regions};
pub use tools::{
    CallableTool, OnError, Reasons, ToolCallOptions, ToolFormat, callable_tools, compile_labelled_calls,
    compile_tool_calls, formats_of_template, template_opens_reasoning, tool_call_tag, tool_formats,
};

use crate::anchors::anchored;
use crate::format::Format;
use crate::read::Reader;

/// A structural tag as a grammar, and what of it is enforced.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_tags::compile_str;
/// let tag = r#"{"type": "structural_tag", "format": {"type": "sequence", "elements": [
///     {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
///     {"type": "json_schema", "json_schema": {"type": "integer"}}
/// ]}}"#;
/// let compiled = compile_str(tag, "tag", &Default::default(), &Default::default(), &Fuel::unlimited()).unwrap();
/// assert!(compiled.report.is_complete());
/// assert!(compiled.grammar.rules().len() > 0);
/// ```
#[derive(Clone, Debug)]
pub struct CompiledTag {
    /// The texts of the tag.
    pub grammar: Grammar,
    /// What became of each keyword of the schemas in the tag, and of fields that are not enforced. Pointers
    /// are in the whole document.
    pub report: Report,
}

/// Compiles a structural tag. `config` is for the JSON Schemas in it, as far as their formats do not say
/// otherwise, and says whether something may be left unenforced. Strings also match the tokens in `special`
/// that they name. Linear in the document for usual tags; all work spends `fuel`.
///
/// # Errors
/// If the tag or a schema, pattern or grammar in it is wrong, something in it is not enforced (and `config`
/// is strict), a limit is reached, or the work is cancelled; with the JSON pointer of the place.
pub fn compile(
    tag: &Value,
    config: &SchemaConfig,
    special: &SpecialNames,
    fuel: &Fuel,
) -> Result<CompiledTag, TagError> {
    Ok(compile_with(tag, config, special, false, fuel, |_| ())?.0)
}

/// [Compiles](compile) a tag to a grammar with labels around its regions.
///
/// # Errors
/// As [`compile_str`].
pub fn compile_labelled(
    tag: &str,
    name: &str,
    config: &SchemaConfig,
    special: &SpecialNames,
    fuel: &Fuel,
) -> Result<LabelledTag, TagError> {
    let tag = parse_json(tag, name).map_err(TagError::not_json)?;
    let (tag, regions) = compile_with(&tag, config, special, true, fuel, labels::find_regions)?;
    Ok(LabelledTag { grammar: tag.grammar, regions })
}

/// A structural tag as a grammar with labels around its regions.
#[derive(Clone, Debug)]
pub struct LabelledTag {
    /// The texts of the tag, with labels.
    pub grammar: Grammar,
    /// What the labels' numbers mean.
    pub regions: Regions,
}

/// [Compiles](compile) a tag after `adjust` was let at what was read; with its regions, if it has labels.
fn compile_with(
    tag: &Value,
    config: &SchemaConfig,
    special: &SpecialNames,
    has_labels: bool,
    fuel: &Fuel,
    adjust: impl FnOnce(&mut Format<'_>),
) -> Result<(CompiledTag, Regions), TagError> {
    let mut reader = Reader::new(fuel);
    let mut format = envelope::read(tag, &mut reader)?;
    adjust(&mut format);
    // Masks cannot combine a watch with limits on the tokens of terminals.
    let anchored = if reader.has_token_limits { HashSet::new() } else { anchored(&format, special) };
    let labels = has_labels.then(Regions::default);
    let (grammar, report, regions) = lower::lower(&format, config, special, anchored, labels, fuel)?;
    Ok((CompiledTag { grammar, report }, regions.unwrap_or_default()))
}

/// The tokens that a document names, each with its JSON pointer: a vocabulary may lack some.
///
/// # Errors
/// If the document is not JSON or no structural tag, or `fuel` ends.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_grammar::TokenSet;
/// let tag = r#"{"format": {"type": "any_tokens", "exclude_tokens": ["</think>"]}}"#;
/// let tokens = maskwright_tags::named_tokens(tag, &Fuel::unlimited()).unwrap();
/// assert_eq!(tokens, [(TokenSet::named("</think>"), "/format/exclude_tokens/0".to_owned())]);
/// ```
pub fn named_tokens(tag: &str, fuel: &Fuel) -> Result<Vec<(TokenSet, String)>, TagError> {
    let tag = parse_json(tag, "tag").map_err(TagError::not_json)?;
    let mut reader = Reader::new(fuel);
    envelope::read(&tag, &mut reader)?;
    Ok(reader.tokens.into_iter().map(|(token, at)| (token.set(), at)).collect())
}

/// Parses a document and [compiles](compile) it. `name`: what messages call it.
///
/// # Errors
/// As [`compile`]; and if the document is not JSON, is nested more than 127 deep, repeats a key or has a
/// string with a lone surrogate, with line and column.
pub fn compile_str(
    tag: &str,
    name: &str,
    config: &SchemaConfig,
    special: &SpecialNames,
    fuel: &Fuel,
) -> Result<CompiledTag, TagError> {
    compile(&parse_json(tag, name).map_err(TagError::not_json)?, config, special, fuel)
}
