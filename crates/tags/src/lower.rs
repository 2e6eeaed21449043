//! From formats to a grammar.
//!
//! Parts without rules stay one regular language as long as possible ([`Item`]): `<think>`, free text and
//! `</think>` are one terminal. For the same reason what comes after a format is handed down to it (`after`):
//! the end of a tag becomes part of the free text's terminal, which then ends in few places instead of
//! everywhere.
//!
//! Strings of a tag match their text and the special tokens that they name ([`Lowering::string`]). Strings
//! that free text excludes are only text, because free text contains no special tokens.
//!
//! Free text with triggers is a rule: free text and then `after`; or free text, a trigger, what comes after
//! the trigger, and the rule again. So lists of calls of any length take no stack.

use std::collections::HashSet;
use std::sync::Arc;

use maskwright_automata::{Fuel, Regex};
use maskwright_grammar::{Grammar, GrammarBuilder, Item, Label, SpecialNames, TokenSet, at_most_tokens};
use maskwright_json_schema::{Distinct, Report, SchemaConfig};

use crate::TagError;
use crate::format::{AnyText, Begin, End, Format, How, Kind, Separated, Tag, Token};
use crate::needles::{check_length, free_text, overlaps};
use crate::region::{Region, Regions};
use crate::tools::tool_text;

/// The grammar of `format`, and the report on what is enforced. Strings also match the tokens in `special`
/// that they name, and sessions watch the schemas at the JSON pointers `anchored`.
///
/// # Errors
/// If a schema, pattern or grammar in it is wrong, triggers are ambiguous, something cannot be enforced and
/// `config` is strict, or a limit is reached.
pub(crate) fn lower(
    format: &Format<'_>,
    config: &SchemaConfig,
    special: &SpecialNames,
    anchored: HashSet<String>,
    labels: Option<Regions>,
    fuel: &Fuel,
) -> Result<(Grammar, Report, Option<Regions>), TagError> {
    let builder = GrammarBuilder::new();
    let report = Report::default();
    let mut lowering = Lowering { builder, config, special, anchored, watch: None, report, labels, fuel };
    let start = lowering.builder.declare("start");
    let text = lowering.format(format, Ends::None, Item::epsilon())?;
    let body = text.into_expr(&mut lowering.builder);
    lowering.builder.define(start, body);
    if let Some(watch) = lowering.watch {
        lowering.builder.set_watch(Arc::new(watch));
    }
    let grammar = lowering.builder.finish(start).expect("every rule is defined where it is declared");
    Ok((grammar, lowering.report, lowering.labels))
}

pub(crate) struct Lowering<'f> {
    pub(crate) builder: GrammarBuilder,
    pub(crate) config: &'f SchemaConfig,
    pub(crate) special: &'f SpecialNames,
    /// The JSON pointers of the schemas that sessions watch.
    pub(crate) anchored: HashSet<String>,
    /// The watch of these schemas.
    pub(crate) watch: Option<Distinct>,
    pub(crate) report: Report,
    /// The regions of the grammar, if it has labels.
    pub(crate) labels: Option<Regions>,
    pub(crate) fuel: &'f Fuel,
}

/// What ends the nearest tag around a format. Free text of the format has none of it.
#[derive(Clone, Copy)]
pub(crate) enum Ends<'e> {
    None,
    Texts(&'e [&'e str]),
    Token(Token<'e>),
}

impl<'e> Ends<'e> {
    fn of(tag: &'e Tag<'_>) -> Ends<'e> {
        match &tag.end {
            End::Texts(texts) => Ends::Texts(texts),
            End::Token(token) => Ends::Token(*token),
        }
    }

    /// `excludes`, and the strings that end the tag. Empty ones are found everywhere, and exclude nothing.
    pub(crate) fn and<'s>(self, excludes: &[&'s str]) -> Vec<&'s str>
    where
        'e: 's,
    {
        let texts: &'e [&'e str] = if let Ends::Texts(texts) = self { texts } else { &[] };
        excludes.iter().copied().chain(texts.iter().copied().filter(|text| !text.is_empty())).collect()
    }

    /// Every token except `excludes` and those that end the tag. An end that is a name in `special` excludes
    /// the token too.
    pub(crate) fn all_but<'t>(
        self,
        excludes: impl IntoIterator<Item = Token<'t>>,
        special: &SpecialNames,
    ) -> TokenSet {
        let sets = excludes.into_iter().map(Token::set);
        let ends: Vec<TokenSet> = match self {
            Ends::None => Vec::new(),
            Ends::Token(token) => vec![token.set()],
            Ends::Texts(texts) => {
                let names = texts.iter().filter(|text| special.contains(text));
                names.map(|name| TokenSet::named(*name)).collect()
            }
        };
        sets.chain(ends).reduce(TokenSet::and).map_or_else(TokenSet::any, TokenSet::all_others)
    }
}

impl Lowering<'_> {
    pub(crate) fn spend(&self, at: &str, units: u64) -> Result<(), TagError> {
        self.fuel.spend(units).map_err(|error| TagError::fuel(at, error))
    }

    pub(crate) fn seq<const N: usize>(&mut self, parts: [Item; N]) -> Item {
        Item::seq(parts.into(), &mut self.builder)
    }

    pub(crate) fn alt(&mut self, parts: Vec<Item>) -> Item {
        Item::alt(parts, &mut self.builder)
    }

    /// The labels of the beginning and the end of a region; nothing where there are none.
    pub(crate) fn labels(&mut self, region: Option<&Region>) -> (Item, Item) {
        let (Some(region), Some(regions)) = (region, &mut self.labels) else {
            return (Item::epsilon(), Item::epsilon());
        };
        let number = regions.number(region);
        let label = |label| Item::Expr(self.builder.label(label));
        [Label::Begin(number), Label::End(number)].map(label).into()
    }

    /// The texts of `format`, and `after` each.
    pub(crate) fn format(
        &mut self,
        format: &Format<'_>,
        ends: Ends<'_>,
        after: Item,
    ) -> Result<Item, TagError> {
        // Free text with triggers has labels around its pieces.
        if let Kind::Triggered(_) | Kind::Dispatch(_) | Kind::TokenTriggered(_) | Kind::TokenDispatch(_) =
            format.kind
        {
            return self.unlabelled(format, ends, after);
        }
        let (begin, end) = self.labels(format.region.as_ref());
        let after = self.seq([end, after]);
        let text = self.unlabelled(format, ends, after)?;
        Ok(self.seq([begin, text]))
    }

    fn unlabelled(&mut self, format: &Format<'_>, ends: Ends<'_>, after: Item) -> Result<Item, TagError> {
        self.spend(&format.at, 1)?;
        let text = match &format.kind {
            Kind::Sequence(parts) => {
                return parts.iter().rev().try_fold(after, |after, part| self.format(part, ends, after));
            }
            Kind::Tag(tag) => return self.tag(tag, after),
            Kind::Triggered(triggered) => return self.triggered(format, triggered, ends, after),
            Kind::Dispatch(dispatch) => return self.dispatch(format, dispatch, ends, after),
            Kind::TokenTriggered(triggered) => return self.token_triggered(format, triggered, ends, after),
            Kind::TokenDispatch(dispatch) => return self.token_dispatch(format, dispatch, ends, after),
            Kind::Text(text) => self.string(&format.at, text)?,
            Kind::Pattern(pattern) => self.pattern(&format.at, pattern)?,
            Kind::Grammar(grammar) => self.grammar(&format.at, grammar)?,
            Kind::Schema(schema) => self.schema(schema)?,
            Kind::ToolText(text) => tool_text(self, text, ends)?,
            Kind::AnyText(any) => self.any_text(&format.at, any, ends)?,
            Kind::Choice(parts) => {
                let parts = parts.iter().map(|part| self.format(part, ends, Item::epsilon()));
                let parts = parts.collect::<Result<_, _>>()?;
                self.alt(parts)
            }
            Kind::Repeat { min, max, content } => {
                let content = self.format(content, ends, Item::epsilon())?;
                content.repeat(*min, *max, &mut self.builder)
            }
            Kind::Separated(separated) => self.separated(&format.at, separated)?,
            Kind::Token(token) => Item::Expr(self.builder.tokens(&token.set())),
            Kind::Tokens { excludes, min, max } => {
                let set = ends.all_but(excludes.iter().copied(), self.special);
                Item::Expr(self.builder.tokens(&set)).repeat(*min, *max, &mut self.builder)
            }
        };
        Ok(self.seq([text, after]))
    }

    /// A string of the tag: its text and its readings with special tokens.
    pub(crate) fn string(&self, at: &str, text: &str) -> Result<Item, TagError> {
        self.spend(at, text.len() as u64)?;
        let regex = self.special.regex(text);
        regex.map(Item::Regular).map_err(|error| TagError::limit(at, error.to_string()))
    }

    /// Pays for strings that free text does not have, and checks them.
    pub(crate) fn check_needles(&self, at: &str, needles: &[&str]) -> Result<(), TagError> {
        needles.iter().try_for_each(|needle| {
            self.spend(at, needle.len() as u64)?;
            check_length(needle, at)
        })
    }

    fn any_text(&mut self, at: &str, any: &AnyText<'_>, ends: Ends<'_>) -> Result<Item, TagError> {
        let excludes = ends.and(&any.excludes);
        self.check_needles(at, &excludes)?;
        let ends = if any.is_up_to_end { ends.and(&[]) } else { Vec::new() };
        let overlaps: Vec<&[u8]> = ends.into_iter().flat_map(overlaps).collect();
        let free = free_text(&excludes, &overlaps);
        let text = match any.max_chars {
            None => free,
            Some(max) => Regex::intersection([free, Regex::any_char().repeat(0, Some(max))]),
        };
        Ok(match any.max_tokens {
            // Without tokens there is no text.
            Some(0) => Item::epsilon(),
            // Sessions count the tokens of a terminal, so it is one of its own.
            Some(max) => Item::Expr(self.builder.terminal(at_most_tokens(text, max))),
            None => Item::Regular(text),
        })
    }

    fn tag(&mut self, tag: &Tag<'_>, after: Item) -> Result<Item, TagError> {
        let (label, end) = self.labels(tag.region.as_ref());
        let after = self.seq([end, after]);
        let begin = match &tag.begin {
            Begin::Text(text) => self.string(&tag.begin_at, text)?,
            Begin::Token(token) => Item::Expr(self.builder.tokens(&token.set())),
        };
        let rest = self.rest_of_tag(tag, after)?;
        Ok(self.seq([label, begin, rest]))
    }

    /// A tag without its begin.
    pub(crate) fn rest_of_tag(&mut self, tag: &Tag<'_>, after: Item) -> Result<Item, TagError> {
        let end = match &tag.end {
            End::Token(token) => Item::Expr(self.builder.tokens(&token.set())),
            End::Texts(texts) => {
                let is_unlimited = tag.content.is_unlimited() && !tag.content.has_excludes();
                if is_unlimited && texts.iter().all(|text| text.is_empty()) {
                    let message = "the end is empty after content without limit, so the tag would never end";
                    return Err(TagError::malformed(&tag.end_at, message)
                        .with_hint("give a string that ends it, or `excludes` for the content"));
                }
                let texts = texts.iter().map(|text| self.string(&tag.end_at, text));
                let texts = texts.collect::<Result<_, _>>()?;
                self.alt(texts)
            }
        };
        let after = self.seq([end, after]);
        self.format(&tag.content, Ends::of(tag), after)
    }

    fn separated(&mut self, at: &str, separated: &Separated<'_>) -> Result<Item, TagError> {
        let tags = separated.tags.iter().map(|tag| self.tag(tag, Item::epsilon()));
        let tags = tags.collect::<Result<_, _>>()?;
        let one = self.alt(tags);
        let How { at_least_one, stop_after_first } = separated.how;
        let some = match stop_after_first {
            true => one,
            false => {
                let bare = separated.bare_separator();
                let space = self.string(at, &separated.separator[bare.len()..])?;
                let may_lack = u32::from(!separated.may_lack_space);
                let space = space.repeat(may_lack, Some(1), &mut self.builder);
                let separator = self.string(at, bare)?;
                let separator = self.seq([separator, space]);
                let more = self.seq([separator, one.clone()]).repeat(0, None, &mut self.builder);
                self.seq([one, more])
            }
        };
        Ok(if at_least_one { some } else { some.repeat(0, Some(1), &mut self.builder) })
    }
}
