//! Finds the schemas of a tag whose start all readings of a text agree on.
//!
//! A session that watches a schema (no key twice, all items different) reads the schema's part of the text
//! itself ([`Watch`](maskwright_grammar::Watch)). That is correct only if all readings agree on where the
//! schema begins: otherwise it would refuse a text that another reading allows. Such a schema is *anchored*.
//! Other schemas are not watched, which is reported or refused.
//!
//! The analysis is one walk over the formats. For each place it computes whether all readings of the text are
//! there ([`Known::Here`]), or will be once the string or token that begins the next part is read
//! ([`Known::Begun`]). Parts are distinguished by these strings and tokens, none of which may be a prefix of
//! another ([`Leads`]). Free text is distinct from its end, its triggers and what it excludes, because it
//! contains none of them. Everything else is unknown, which is safe. Linear in the document, apart from
//! sorting.

use std::collections::HashSet;

use maskwright_grammar::SpecialNames;
use maskwright_json_schema::Style;

use crate::format::{AnyText, Begin, End, Format, How, Kind, Schema, Separated, Tag, Token};

/// What is known about the readings of a text at a place of a format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Known {
    /// Other readings may be elsewhere.
    Nothing,
    /// All readings will be there once the string or token that begins the next part is read.
    Begun,
    /// All readings are here.
    Here,
}

/// The strings and tokens with which a part of a text may begin.
#[derive(Clone, Default, Debug)]
struct Leads<'a> {
    texts: Vec<&'a str>,
    tokens: Vec<Token<'a>>,
    /// Whether it may also begin with something else, which cannot be distinguished.
    is_open: bool,
    /// Whether it may be empty.
    can_be_empty: bool,
    /// Whether the free text of the nearest tag contains none of these strings, and its `any_tokens` none of
    /// these tokens.
    are_excluded: bool,
}

impl<'a> Leads<'a> {
    /// The end of the text.
    fn end() -> Leads<'a> {
        Leads { are_excluded: true, ..Leads::default() }
    }

    fn open(can_be_empty: bool) -> Leads<'a> {
        Leads { is_open: true, can_be_empty, ..Leads::default() }
    }

    fn text(text: &'a str) -> Leads<'a> {
        match text {
            "" => Leads { can_be_empty: true, ..Leads::default() },
            _ => Leads { texts: vec![text], ..Leads::default() },
        }
    }

    fn token(token: Token<'a>) -> Leads<'a> {
        Leads { tokens: vec![token], ..Leads::default() }
    }

    /// The leads of either part.
    fn or(mut self, other: &Leads<'a>) -> Leads<'a> {
        self.texts.extend_from_slice(&other.texts);
        self.tokens.extend_from_slice(&other.tokens);
        Leads {
            is_open: self.is_open || other.is_open,
            can_be_empty: self.can_be_empty || other.can_be_empty,
            are_excluded: false,
            ..self
        }
    }

    /// The leads of a part and, if it may be empty, of what comes after it.
    fn then(self, after: &Leads<'a>) -> Leads<'a> {
        match (self.can_be_empty, self.texts.is_empty() && self.tokens.is_empty() && !self.is_open) {
            (false, _) => self,
            (true, true) => after.clone(),
            (true, false) => {
                let can_be_empty = after.can_be_empty;
                Leads { can_be_empty, ..self.or(after) }
            }
        }
    }

    /// Whether nothing can come.
    fn is_end(&self) -> bool {
        self.texts.is_empty() && self.tokens.is_empty() && !self.is_open
    }

    /// Whether the leads identify the part that begins: all differ, and none is a prefix of another.
    fn are_distinct(&self) -> bool {
        if self.is_open {
            return false;
        }
        let is_name = |token: &Token<'_>| matches!(token, Token::Name(_));
        let names = self.tokens.iter().filter(|token| is_name(token)).count();
        if names > 0 && names < self.tokens.len()
            || names == 0 && !self.tokens.is_empty() && !self.texts.is_empty()
        {
            // Without a vocabulary, a name and an id may be the same token.
            return false;
        }
        let mut ids: Vec<u32> = Vec::new();
        let mut texts = self.texts.clone();
        for token in &self.tokens {
            match token {
                Token::Name(name) => texts.push(name),
                Token::Id(id) => ids.push(*id),
            }
        }
        ids.sort_unstable();
        texts.sort_unstable();
        // In sorted order, all strings between a string and one that it is a prefix of have that prefix too.
        texts.windows(2).all(|pair| !pair[1].starts_with(pair[0]))
            && ids.windows(2).all(|pair| pair[0] != pair[1])
    }
}

/// The JSON pointers of the anchored schemas of a document, whose strings also match the tokens in `special`
/// that they name.
pub(crate) fn anchored(format: &Format<'_>, special: &SpecialNames) -> HashSet<String> {
    let mut anchors = Anchors { special, found: Vec::new() };
    anchors.visit(format, Known::Here, &Leads::end());
    anchors.found.into_iter().collect()
}

struct Anchors<'s> {
    special: &'s SpecialNames,
    found: Vec<String>,
}

impl Anchors<'_> {
    /// Finds the anchored schemas of `format`, given what is known before it and what may come after it.
    /// Returns what is known after it.
    fn visit<'a>(&mut self, format: &Format<'a>, known: Known, after: &Leads<'a>) -> Known {
        // If nothing follows, the end need not be known.
        let at_end = if after.is_end() { Known::Begun } else { Known::Nothing };
        match &format.kind {
            _ if known == Known::Nothing => Known::Nothing,
            Kind::Text("") => known,
            Kind::Text(_) | Kind::Token(_) => Known::Here,
            Kind::Tokens { min: 1, max: Some(1), .. } if known == Known::Here => Known::Here,
            Kind::Tokens { .. } if after.are_excluded && after.texts.is_empty() => Known::Begun,
            Kind::AnyText(_) if after.are_excluded && after.tokens.is_empty() => Known::Begun,
            Kind::AnyText(any) if self.excludes_leads(any, after) => Known::Begun,
            Kind::Pattern(_) | Kind::Grammar(_) | Kind::ToolText(_) => at_end,
            Kind::Tokens { .. } | Kind::AnyText(_) => at_end,
            Kind::Schema(schema) => self.schema(schema, known, after).max(at_end),
            Kind::Sequence(parts) => self.sequence(parts, known, after),
            Kind::Choice(parts) => match &parts[..] {
                [only] => self.visit(only, known, after),
                _ => self.choice(parts, after, at_end),
            },
            Kind::Repeat { max: Some(0), .. } => known,
            Kind::Repeat { min: 1, max: Some(1), content } => self.visit(content, known, after),
            Kind::Repeat { max, content, .. } => {
                let again = leads_of(content).or(after);
                match !again.can_be_empty && again.are_distinct() {
                    true => {
                        let n_found = self.found.len();
                        let next = if *max == Some(1) { after } else { &again };
                        let end = self.visit(content, Known::Begun, next);
                        self.kept_if(end > Known::Nothing, n_found, Known::Begun)
                    }
                    false => at_end,
                }
            }
            Kind::Tag(tag) => self.tag(tag, known, after),
            Kind::Separated(separated) => self.separated(separated, after, at_end),
            Kind::Triggered(triggered) => {
                if !self.are_told_by_tokens(&begins_of(&triggered.tags).texts) {
                    return at_end;
                }
                let ends_apart = after.are_excluded && after.tokens.is_empty();
                self.triggered(&triggered.tags, triggered.how, known == Known::Here && ends_apart, after)
                    .unwrap_or(at_end)
            }
            Kind::Dispatch(dispatch) => {
                let patterns = dispatch.rules.iter().map(|(pattern, _, _)| *pattern).collect();
                let patterns = Leads { texts: patterns, ..Leads::default() };
                let can_be_told = known == Known::Here && after.is_end();
                if !can_be_told || !patterns.are_distinct() || !self.are_told_by_tokens(&patterns.texts) {
                    return at_end;
                }
                self.after_triggers(
                    dispatch.rules.iter().map(|(_, _, content)| content),
                    dispatch.is_loop,
                    after,
                )
            }
            Kind::TokenTriggered(triggered) => {
                let ends_apart = after.are_excluded && after.texts.is_empty();
                self.triggered(&triggered.tags, triggered.how, known == Known::Here && ends_apart, after)
                    .unwrap_or(at_end)
            }
            Kind::TokenDispatch(dispatch) => {
                let tokens = dispatch.rules.iter().map(|(token, _, _)| *token).collect();
                let tokens = Leads { tokens, ..Leads::default() };
                if known != Known::Here || !after.is_end() || !tokens.are_distinct() {
                    return at_end;
                }
                self.after_triggers(
                    dispatch.rules.iter().map(|(_, _, content)| content),
                    dispatch.is_loop,
                    after,
                )
            }
        }
    }

    /// Whether free text ends where one of `leads` begins, because it excludes how all of them begin. That
    /// string must not overlap with itself, or there could be two places where it first occurs.
    fn excludes_leads(&self, any: &AnyText<'_>, leads: &Leads<'_>) -> bool {
        let is_mark = |part: &&str| {
            let has_border =
                (1..part.len()).any(|length| part.as_bytes().ends_with(&part.as_bytes()[..length]));
            !has_border && leads.texts.iter().all(|text| text.starts_with(part))
        };
        let has_texts_only = !leads.is_open && leads.tokens.is_empty() && !leads.texts.is_empty();
        has_texts_only && any.excludes.iter().any(is_mark) && self.are_told_by_tokens(&leads.texts)
    }

    /// Visits the contents after triggers, which are distinct; if `is_loop`, free text or other tokens may
    /// follow them.
    fn after_triggers<'f, 'a: 'f>(
        &mut self,
        contents: impl Iterator<Item = &'f Format<'a>>,
        is_loop: bool,
        after: &Leads<'a>,
    ) -> Known {
        let inner = if is_loop { Leads::open(true) } else { after.clone() };
        let n_found = self.found.len();
        let end = self.each(contents, |anchors, content| anchors.visit(content, Known::Here, &inner));
        self.kept_if(end == Known::Here || !is_loop && end > Known::Nothing, n_found, Known::Begun)
    }

    /// Parts of which the text has one.
    fn choice<'a>(&mut self, parts: &[Format<'a>], after: &Leads<'a>, at_end: Known) -> Known {
        // Free text is not one of the other parts if it excludes how they begin.
        let is_free = |part: &&Format<'_>| matches!(part.kind, Kind::AnyText(_));
        let others = || parts.iter().filter(|part| !is_free(part));
        let leads = others().map(leads_of).reduce(|leads, other| leads.or(&other)).unwrap_or_default();
        let are_told = parts.iter().all(|part| match &part.kind {
            Kind::AnyText(any) => self.excludes_leads(any, &leads),
            _ => true,
        });
        if leads.can_be_empty || !leads.are_distinct() || !are_told {
            return at_end;
        }
        let end = self.each(others(), |anchors, part| anchors.visit(part, Known::Begun, after));
        if parts.iter().any(|part| is_free(&part)) { end.min(at_end) } else { end }
    }

    fn separated<'a>(&mut self, separated: &Separated<'a>, after: &Leads<'a>, at_end: Known) -> Known {
        let begins = begins_of(&separated.tags);
        let How { at_least_one, stop_after_first } = separated.how;
        let between = match (stop_after_first, separated.bare_separator(), separated.separator) {
            (true, _, _) => after.clone(),
            (false, "", "") => begins.clone().or(after),
            (false, "", space) => Leads::text(space).or(&begins).or(after),
            (false, separator, _) => Leads::text(separator).or(after),
        };
        let first = if at_least_one { begins } else { begins.or(after) };
        if !first.are_distinct() || !between.are_distinct() || first.can_be_empty {
            return at_end;
        }
        let n_found = self.found.len();
        let tags = separated.tags.iter();
        let end = self.each(tags, |anchors, tag| anchors.tag(tag, Known::Begun, &between));
        self.kept_if(end > Known::Nothing, n_found, Known::Begun)
    }

    /// Tags in free text or among free tokens, if there may be any besides them; `None` if readings cannot be
    /// told apart. `are_free_told`: whether what is free is told from the tags and from what comes after.
    fn triggered<'a>(
        &mut self,
        tags: &[Tag<'a>],
        How { at_least_one, stop_after_first }: How,
        are_free_told: bool,
        after: &Leads<'a>,
    ) -> Option<Known> {
        let is_free = !(at_least_one && stop_after_first);
        if is_free && !are_free_told || !begins_of(tags).are_distinct() {
            return None;
        }
        let inner = if stop_after_first { after.clone() } else { Leads::open(true) };
        let n_found = self.found.len();
        let end = self.each(tags.iter(), |anchors, tag| anchors.tag(tag, Known::Begun, &inner));
        let is_kept = if stop_after_first { end > Known::Nothing } else { end == Known::Here };
        Some(self.kept_if(is_kept, n_found, Known::Begun))
    }

    /// Visits all parts. Returns the least that is known after any of them.
    fn each<T>(
        &mut self,
        parts: impl Iterator<Item = T>,
        mut visit: impl FnMut(&mut Self, T) -> Known,
    ) -> Known {
        parts.map(|part| visit(self, part)).min().unwrap_or(Known::Nothing)
    }

    /// `known` if the condition holds; otherwise, drops the schemas found from `n_found` on.
    fn kept_if(&mut self, holds: bool, n_found: usize, known: Known) -> Known {
        if holds {
            return known;
        }
        self.found.truncate(n_found);
        Known::Nothing
    }

    fn schema(&mut self, schema: &Schema<'_>, known: Known, after: &Leads<'_>) -> Known {
        if schema.style != Style::Json {
            return Known::Nothing;
        }
        if known == Known::Here {
            self.found.push(schema.at.clone());
        }
        // A number or a word may continue; all other values mark their own end.
        let goes_on = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphanumeric() || matches!(first, '.' | '+' | '-'))
        };
        let is_told = !after.is_open && !after.texts.iter().any(|text| goes_on(text));
        if known == Known::Here && is_told { Known::Begun } else { Known::Nothing }
    }

    fn sequence<'a>(&mut self, parts: &[Format<'a>], known: Known, after: &Leads<'a>) -> Known {
        // What comes after each part, from the last on.
        let mut later = vec![after.clone()];
        for part in parts.iter().skip(1).rev() {
            let next = leads_of(part).then(&later[later.len() - 1]);
            later.push(next);
        }
        parts
            .iter()
            .zip(later.iter().rev())
            .fold(known, |known, (part, after)| self.visit(part, known, after))
    }

    fn tag<'a>(&mut self, tag: &Tag<'a>, known: Known, after: &Leads<'a>) -> Known {
        let begun = match &tag.begin {
            Begin::Text("") => known,
            _ if known == Known::Nothing => Known::Nothing,
            _ => Known::Here,
        };
        let mut ends = match &tag.end {
            End::Texts(texts) => {
                let texts = texts.iter().map(|text| Leads::text(text)).reduce(|ends, other| ends.or(&other));
                texts.unwrap_or_default()
            }
            End::Token(token) => Leads::token(*token),
        };
        ends.are_excluded = true;
        if ends.texts.is_empty() && ends.tokens.is_empty() {
            let after = Leads { are_excluded: after.is_end(), ..after.clone() };
            return self.visit(&tag.content, begun, &after);
        }
        if ends.can_be_empty || !ends.are_distinct() {
            self.visit(&tag.content, begun, &Leads::open(true));
            return Known::Nothing;
        }
        match self.visit(&tag.content, begun, &ends) {
            Known::Nothing => Known::Nothing,
            Known::Begun | Known::Here => Known::Here,
        }
    }

    /// Whether special tokens in begins distinguish them as their text does: no two begins have the same
    /// token after texts of which one is a suffix of the other.
    fn are_told_by_tokens(&self, begins: &[&str]) -> bool {
        let mut before: Vec<(&str, &str)> = Vec::new();
        for begin in begins {
            let found = self.special.found_in(begin);
            before.extend(found.into_iter().map(|name| (&begin[name.clone()], &begin[..name.start])));
        }
        before.sort_unstable();
        before.dedup();
        before.chunk_by(|one, other| one.0 == other.0).all(|same| {
            same.len() == 1
                || same.iter().all(|(_, text)| {
                    let is_end = |(_, other): &(&str, &str)| other != text && other.ends_with(*text);
                    !same.iter().any(is_end)
                })
        })
    }
}

/// The leads of the tags.
fn begins_of<'a>(tags: &[Tag<'a>]) -> Leads<'a> {
    let begins = tags.iter().map(|tag| match &tag.begin {
        Begin::Text("") => Leads::open(false),
        Begin::Text(text) => Leads::text(text),
        Begin::Token(token) => Leads::token(*token),
    });
    begins.reduce(|begins, other| begins.or(&other)).unwrap_or_default()
}

/// The leads of a format.
fn leads_of<'a>(format: &Format<'a>) -> Leads<'a> {
    match &format.kind {
        Kind::Text(text) => Leads::text(text),
        Kind::Token(token) => Leads::token(*token),
        Kind::Sequence(parts) => {
            let nothing = Leads { can_be_empty: true, ..Leads::default() };
            parts.iter().rev().fold(nothing, |after, part| match leads_of(part) {
                leads if leads.can_be_empty => leads.then(&after),
                leads => leads,
            })
        }
        Kind::Choice(parts) => {
            parts.iter().map(leads_of).reduce(|leads, other| leads.or(&other)).unwrap_or_default()
        }
        Kind::Repeat { min, content, .. } => {
            let leads = leads_of(content);
            Leads { can_be_empty: leads.can_be_empty || *min == 0, ..leads }
        }
        Kind::Tag(tag) => begins_of(std::slice::from_ref(tag)),
        Kind::Separated(separated) => {
            let begins = begins_of(&separated.tags);
            Leads { can_be_empty: !separated.how.at_least_one, ..begins }
        }
        Kind::Triggered(triggered) if triggered.how.at_least_one => begins_of(&triggered.tags),
        Kind::TokenTriggered(triggered) if triggered.how.at_least_one => begins_of(&triggered.tags),
        Kind::Schema(_) => Leads::open(false),
        _ => Leads::open(true),
    }
}
