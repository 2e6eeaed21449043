//! What a compiled schema enforces.
//!
//! Entries keep their place as a link to the schema above, so that noting thousands of keywords costs no
//! text; pointers are rendered when asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::fmt::Write as _;

use crate::suggest::{Unknown, Warning};

/// What became of each keyword that the compiler met, in the order of the schema's text; other documents follow.
///
/// Annotations that the specification names (`title`, `default`, …) are not listed, except what is said about the content of
/// strings (`contentEncoding`, …). A schema that several references lead to is listed once.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_json_schema::{SchemaConfig, compile_str};
/// let schema = r#"{"type": "string", "x-hint": 1}"#;
/// let compiled = compile_str(schema, &SchemaConfig::default(), &Fuel::unlimited()).unwrap();
/// let keywords: Vec<_> = compiled.report.entries().map(|entry| entry.keyword.to_string()).collect();
/// assert_eq!(keywords, ["type", "x-hint"]);
/// assert!(compiled.report.is_complete());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) places: Vec<Place<Box<str>>>,
    pub(crate) entries: Vec<Entry<Box<str>>>,
    /// By place and keyword, what is to be said about some annotations.
    pub(crate) unknown: HashMap<(usize, Box<str>), Unknown<Box<str>>>,
}

/// One keyword of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportEntry<'r> {
    /// The JSON pointer of the schema that has the keyword.
    pub pointer: String,
    /// The keyword.
    pub keyword: &'r str,
    /// What became of it.
    pub status: &'r Status,
    /// For a keyword or format that is not known: the known one that was probably meant.
    pub suggestion: Option<&'static str>,
}

/// What became of a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Every text of the grammar satisfies it.
    Enforced,
    /// Every text that a session of the grammar lets through satisfies it: the session remembers what was there
    /// (`maskwright_grammar::Watch`).
    EnforcedBySession,
    /// Not a keyword of the draft that the schema is written for, so without effect by the specification.
    Annotation,
    /// Some texts of the grammar may not satisfy it.
    NotEnforced {
        /// Why.
        reason: Cow<'static, str>,
    },
}

/// The most warnings that are given; a schema of many unknown formats has no more to say.
const MAX_WARNINGS: usize = 20;

impl Report {
    /// All entries.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = ReportEntry<'_>> {
        self.entries.iter().map(|entry| ReportEntry {
            pointer: pointer(&self.places, entry.place),
            keyword: &entry.keyword,
            status: &entry.status,
            suggestion: self.unknown(entry).and_then(|unknown| unknown.suggestion),
        })
    }

    /// What has no effect and was probably meant to have one: keywords that are nearly a known one, and unknown formats, in
    /// the order of the schema's text. The same in several places is one warning; at most twenty are given.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_json_schema::{SchemaConfig, compile_str};
    /// let schema = r#"{"type": "string", "minLenght": 3, "x-hint": 1}"#;
    /// let compiled = compile_str(schema, &SchemaConfig::default(), &Fuel::unlimited()).unwrap();
    /// let warnings = compiled.report.warnings();
    /// assert_eq!(warnings.len(), 1);
    /// assert!(warnings[0].to_string().ends_with("did you mean `minLength`?"));
    /// ```
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = Vec::new();
        let mut known: HashMap<(&str, Option<&str>), usize> = HashMap::new();
        if self.unknown.is_empty() {
            return warnings;
        }
        for entry in &self.entries {
            let Some(unknown) = self.unknown(entry) else { continue };
            match known.entry((&entry.keyword, unknown.format.as_deref())) {
                Slot::Occupied(slot) => warnings[*slot.get()].n_places += 1,
                Slot::Vacant(slot) if warnings.len() < MAX_WARNINGS => {
                    slot.insert(warnings.len());
                    warnings.push(Warning {
                        pointer: pointer(&self.places, entry.place),
                        keyword: entry.keyword.to_string(),
                        format: unknown.format.as_deref().map(str::to_owned),
                        suggestion: unknown.suggestion,
                        n_places: 1,
                    });
                }
                Slot::Vacant(_) => {}
            }
        }
        warnings
    }

    /// Whether no entry is [`Status::NotEnforced`].
    pub fn is_complete(&self) -> bool {
        !self.entries.iter().any(|entry| matches!(entry.status, Status::NotEnforced { .. }))
    }

    /// What is to be said about an annotation.
    fn unknown(&self, entry: &Entry<Box<str>>) -> Option<&Unknown<Box<str>>> {
        if entry.status != Status::Annotation || self.unknown.is_empty() {
            return None;
        }
        self.unknown.get(&(entry.place, entry.keyword.clone()))
    }
}

/// An entry, with the place as an index.
#[derive(Clone, Debug)]
pub(crate) struct Entry<N> {
    pub(crate) place: usize,
    pub(crate) keyword: N,
    pub(crate) status: Status,
}

/// Where a schema stands: how it is reached from the schema at `parent`. The root is its own parent.
#[derive(Clone, Debug)]
pub(crate) struct Place<N> {
    pub(crate) parent: usize,
    pub(crate) step: Step<N>,
}

#[derive(Clone, Debug)]
pub(crate) enum Step<N> {
    Root,
    /// The target of a reference: its whole pointer.
    Pointer(N),
    Keyword(&'static str),
    Member(&'static str, N),
    Item(&'static str, usize),
}

impl<N: AsRef<str>> Place<N> {
    pub(crate) fn to_owned(&self) -> Place<Box<str>> {
        let step = match &self.step {
            Step::Root => Step::Root,
            Step::Pointer(pointer) => Step::Pointer(pointer.as_ref().into()),
            Step::Keyword(keyword) => Step::Keyword(keyword),
            Step::Member(keyword, name) => Step::Member(keyword, name.as_ref().into()),
            Step::Item(keyword, index) => Step::Item(keyword, *index),
        };
        Place { parent: self.parent, step }
    }
}

/// The JSON pointer of a place. Linear in its length.
pub(crate) fn pointer<N: AsRef<str>>(places: &[Place<N>], place: usize) -> String {
    let mut steps = Vec::new();
    let mut at = place;
    loop {
        match &places[at].step {
            Step::Root => break,
            step @ Step::Pointer(_) => {
                steps.push(step);
                break;
            }
            step => steps.push(step),
        }
        at = places[at].parent;
    }
    let mut text = String::new();
    for step in steps.into_iter().rev() {
        match step {
            Step::Root => {}
            Step::Pointer(pointer) => text.push_str(pointer.as_ref()),
            Step::Keyword(keyword) => {
                text.push('/');
                text.push_str(keyword);
            }
            Step::Member(keyword, name) => {
                text.push('/');
                text.push_str(keyword);
                text.push('/');
                text.push_str(&name.as_ref().replace('~', "~0").replace('/', "~1"));
            }
            Step::Item(keyword, index) => {
                write!(text, "/{keyword}/{index}").expect("writing to a string does not fail");
            }
        }
    }
    text
}
