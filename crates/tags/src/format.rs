//! The formats of structural tags as typed values: what xgrammar's documents describe, without their
//! notation.

use std::borrow::Cow;
use std::fmt;

use maskwright_grammar::TokenSet;
use maskwright_json_schema::Style;
use serde_json::Value;

use crate::region::Region;
use crate::tools::ToolText;

/// A part of the text, and where the document describes it.
#[derive(Debug)]
pub(crate) struct Format<'a> {
    /// The JSON pointer of its object.
    pub(crate) at: String,
    pub(crate) kind: Kind<'a>,
    /// What it is to those who are told of the parts of a text.
    pub(crate) region: Option<Region>,
}

#[derive(Debug)]
pub(crate) enum Kind<'a> {
    /// `const_string`.
    Text(&'a str),
    /// `regex`.
    Pattern(&'a str),
    /// `grammar`.
    Grammar(&'a str),
    Schema(Schema<'a>),
    /// What a call gives to a custom tool; no structural tag has it.
    ToolText(ToolText<'a>),
    AnyText(AnyText<'a>),
    Sequence(Vec<Format<'a>>),
    /// `or`.
    Choice(Vec<Format<'a>>),
    /// `optional`, `plus`, `star` and `repeat`.
    Repeat {
        min: u32,
        max: Option<u32>,
        content: Box<Format<'a>>,
    },
    Tag(Box<Tag<'a>>),
    /// `triggered_tags`.
    Triggered(Triggered<'a>),
    /// `tags_with_separator`.
    Separated(Separated<'a>),
    Dispatch(Dispatch<'a>),
    Token(Token<'a>),
    /// `exclude_token` and `any_tokens`.
    Tokens {
        excludes: Vec<Token<'a>>,
        min: u32,
        max: Option<u32>,
    },
    /// `token_triggered_tags`.
    TokenTriggered(TokenTriggered<'a>),
    TokenDispatch(TokenDispatch<'a>),
}

/// `json_schema` and `qwen_xml_parameter`.
#[derive(Debug)]
pub(crate) struct Schema<'a> {
    pub(crate) schema: Cow<'a, Value>,
    /// The JSON pointer of the schema.
    pub(crate) at: String,
    pub(crate) style: Style,
    pub(crate) any_order: bool,
    pub(crate) max_whitespace: Option<u32>,
    /// What messages say instead of `at`: where the request has the schema.
    pub(crate) shown_at: Option<String>,
    /// What no string and no name contains.
    pub(crate) excludes: Vec<&'a str>,
    /// Marks at which readers of the tag end the values, whatever stands around them.
    pub(crate) ends: Vec<&'a str>,
    /// Whether the text has no line feeds between values, whatever is asked for.
    pub(crate) is_one_line: bool,
}

#[derive(Debug)]
pub(crate) struct AnyText<'a> {
    pub(crate) excludes: Vec<&'a str>,
    pub(crate) max_tokens: Option<u32>,
    pub(crate) max_chars: Option<u32>,
    /// Whether the text must not end with a prefix of the end mark, as `>` before `>>>`: readers would find
    /// the mark too early.
    pub(crate) is_up_to_end: bool,
}

#[derive(Debug)]
pub(crate) struct Tag<'a> {
    /// The JSON pointer of its object.
    pub(crate) at: String,
    pub(crate) begin: Begin<'a>,
    /// The JSON pointer of `begin`.
    pub(crate) begin_at: String,
    pub(crate) content: Format<'a>,
    pub(crate) end: End<'a>,
    /// The JSON pointer of `end`.
    pub(crate) end_at: String,
    /// What the tag as a whole is to those who are told of the parts of a text.
    pub(crate) region: Option<Region>,
}

#[derive(Debug)]
pub(crate) enum Begin<'a> {
    Text(&'a str),
    Token(Token<'a>),
}

#[derive(Debug)]
pub(crate) enum End<'a> {
    /// Any of them.
    Texts(Vec<&'a str>),
    Token(Token<'a>),
}

#[derive(Debug)]
pub(crate) struct Triggered<'a> {
    /// With the JSON pointer of each.
    pub(crate) triggers: Vec<(&'a str, String)>,
    pub(crate) tags: Vec<Tag<'a>>,
    pub(crate) excludes: Vec<&'a str>,
    pub(crate) how: How,
}

/// How many tags there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) at_least_one: bool,
    pub(crate) stop_after_first: bool,
}

#[derive(Debug)]
pub(crate) struct Separated<'a> {
    pub(crate) tags: Vec<Tag<'a>>,
    pub(crate) separator: &'a str,
    /// Whether the white space at the end of the separator may be missing.
    pub(crate) may_lack_space: bool,
    pub(crate) how: How,
}

impl<'a> Separated<'a> {
    /// The part of the separator that is always there.
    pub(crate) fn bare_separator(&self) -> &'a str {
        if self.may_lack_space { self.separator.trim_end() } else { self.separator }
    }
}

#[derive(Debug)]
pub(crate) struct Dispatch<'a> {
    /// The pattern, with its JSON pointer, and what comes after it.
    pub(crate) rules: Vec<(&'a str, String, Format<'a>)>,
    /// Whether free text comes again after the content of a rule.
    pub(crate) is_loop: bool,
    pub(crate) excludes: Vec<&'a str>,
}

#[derive(Debug)]
pub(crate) struct TokenTriggered<'a> {
    /// With the JSON pointer of each.
    pub(crate) triggers: Vec<(Token<'a>, String)>,
    pub(crate) tags: Vec<Tag<'a>>,
    pub(crate) excludes: Vec<Token<'a>>,
    pub(crate) how: How,
}

#[derive(Debug)]
pub(crate) struct TokenDispatch<'a> {
    /// The token, with its JSON pointer, and what comes after it.
    pub(crate) rules: Vec<(Token<'a>, String, Format<'a>)>,
    /// Whether other tokens come again after the content of a rule.
    pub(crate) is_loop: bool,
    pub(crate) excludes: Vec<Token<'a>>,
}

/// A token of the vocabulary, which is not known here.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Token<'a> {
    Id(u32),
    /// As the tokenizer writes it.
    Name(&'a str),
}

impl Token<'_> {
    /// The token alone.
    pub(crate) fn set(self) -> TokenSet {
        match self {
            Token::Id(id) => TokenSet::ids(id, id),
            Token::Name(name) => TokenSet::named(name),
        }
    }
}

/// As messages show it.
impl fmt::Debug for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Id(id) => write!(f, "the token {id}"),
            Token::Name(name) => write!(f, "the token {name:?}"),
        }
    }
}

impl Format<'_> {
    /// Whether the text has no greatest length but for what comes after it, as xgrammar counts it: limits of
    /// `any_text` are not considered.
    pub(crate) fn is_unlimited(&self) -> bool {
        match &self.kind {
            Kind::Text(_) | Kind::Pattern(_) | Kind::Grammar(_) | Kind::Schema(_) | Kind::ToolText(_) => {
                false
            }
            Kind::Token(_) | Kind::Tag(_) => false,
            // Of `exclude_token` there is exactly one.
            Kind::Tokens { min, .. } => *min == 0,
            Kind::AnyText(_) | Kind::Triggered(_) | Kind::Separated(_) | Kind::Dispatch(_) => true,
            Kind::TokenTriggered(_) | Kind::TokenDispatch(_) => true,
            Kind::Sequence(parts) | Kind::Choice(parts) => {
                parts.iter().any(|part| part.is_unlimited() && !part.has_excludes())
            }
            Kind::Repeat { max, content, .. } => max.is_none_or(|max| max > 0 && content.is_unlimited()),
        }
    }

    /// Whether the format itself says what its free text does not have.
    pub(crate) fn has_excludes(&self) -> bool {
        match &self.kind {
            Kind::AnyText(any) => !any.excludes.is_empty(),
            Kind::Triggered(triggered) => !triggered.excludes.is_empty(),
            Kind::Dispatch(dispatch) => !dispatch.excludes.is_empty(),
            Kind::Tokens { excludes, .. } => !excludes.is_empty(),
            Kind::TokenTriggered(triggered) => !triggered.excludes.is_empty(),
            Kind::TokenDispatch(dispatch) => !dispatch.excludes.is_empty(),
            _ => false,
        }
    }
}
