//! What a compiled schema enforces.
//!
//! Entries keep their place as a link to the schema above, so that noting thousands of keywords costs no
//! text; pointers are rendered when asked for.

pub(crate) mod innermost;
pub(crate) mod missing;
pub(crate) mod order;
pub(crate) mod remedy;
pub(crate) mod suggest;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use crate::report::suggest::Warning;

/// What became of each keyword that the compiler met, in the order of the schema's text; other documents
/// follow.
///
/// Annotations that the specification names (`title`, `default`, …) are not listed, except what is said about
/// the content of strings (`contentEncoding`, …). A schema that several references lead to is listed once.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(crate) places: Vec<Place<Box<str>>>,
    pub(crate) entries: Vec<Entry<Box<str>>>,
    /// The names of formats that are not known, by the place of their schema.
    pub(crate) unknown_formats: HashMap<PlaceId, Box<str>>,
    /// The names of tools, by the JSON pointer of each in a list of tools.
    pub(crate) tools: HashMap<Box<str>, Box<str>>,
}

/// One keyword of the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportEntry<'r> {
    /// The JSON pointer of the schema that has the keyword.
    pub pointer: String,
    /// The keyword.
    pub keyword: &'r str,
    /// What became of it.
    pub status: &'r Status,
    /// For a keyword or format that is not known: the known one that was probably meant.
    pub suggestion: Option<&'static str>,
    /// The name of the tool that has the schema, if it is that of a tool's arguments.
    pub tool: Option<&'r str>,
}

/// What became of a keyword.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Every text of the grammar satisfies it.
    Enforced,
    /// Every text that a session of the grammar lets through satisfies it: the session remembers what was
    /// there (`maskwright_grammar::Watch`).
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
    /// Approximate memory, in bytes.
    pub fn memory_usage(&self) -> usize {
        // A name is a word or two.
        const NAME: usize = 16;
        self.places.capacity() * (size_of::<Place<Box<str>>>() + NAME)
            + self.entries.capacity() * (size_of::<Entry<Box<str>>>() + NAME)
            + self.unknown_formats.capacity() * (size_of::<(usize, Box<str>)>() + NAME)
            + self.tools.capacity() * (size_of::<(Box<str>, Box<str>)>() + 2 * NAME)
    }

    /// All entries.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = ReportEntry<'_>> {
        self.entries.iter().map(|entry| {
            let pointer = pointer(&self.places, entry.place);
            ReportEntry {
                keyword: &entry.keyword,
                status: &entry.status,
                suggestion: self.meant(entry).1,
                tool: self.tool_at(&pointer),
                pointer,
            }
        })
    }

    /// Names the tool at `pointer` of a list of tools.
    #[doc(hidden)]
    pub fn name_tool(&mut self, pointer: &str, name: &str) {
        self.tools.insert(pointer.into(), name.into());
    }

    /// The tool in which a place is: the index in the list is among its first two steps.
    fn tool_at(&self, pointer: &str) -> Option<&str> {
        if self.tools.is_empty() {
            return None;
        }
        let mut ends = pointer.match_indices('/').map(|(at, _)| at).skip(1).chain([pointer.len()]).take(2);
        ends.find_map(|end| self.tools.get(&pointer[..end]).map(|name| &**name))
    }

    /// What has no effect and was probably meant to have one: keywords that are nearly a known one, and
    /// unknown formats, in the order of the schema's text. The same in several places is one warning; at most
    /// twenty are given.
    ///
    /// ```
    /// // The report of a schema with a misspelt keyword:
    /// let schema = r#"{"type": "string", "minLenght": 3, "x-hint": 1}"#;
    /// # let fuel = maskwright_automata::Fuel::unlimited();
    /// # let report = maskwright_json_schema::compile_str(schema, &Default::default(), &fuel).unwrap().report;
    /// let warnings = report.warnings();
    /// assert_eq!(warnings.len(), 1);
    /// assert!(warnings[0].to_string().ends_with("did you mean `minLength`?"));
    /// ```
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = Vec::new();
        let is_at_root = |entry: &Entry<Box<str>>| matches!(self.places[entry.place].step, Step::Root);
        let of_root = self.entries.iter().filter(|entry| is_at_root(entry));
        let has_only_unknown = of_root.clone().all(|entry| entry.status == Status::Annotation);
        let of_root: Option<Vec<&str>> =
            has_only_unknown.then(|| of_root.map(|entry| &*entry.keyword).collect());
        // By the name of a keyword or format: the warning about it, if there is one.
        let mut known: HashMap<(&str, Option<&str>), Option<usize>> = HashMap::new();
        for entry in self.entries.iter().filter(|entry| entry.status == Status::Annotation) {
            let name = (&*entry.keyword, self.unknown_format(entry));
            if let Some(&warning) = known.get(&name) {
                if let Some(i) = warning {
                    warnings[i].n_places += 1;
                }
                continue;
            }
            if warnings.len() == MAX_WARNINGS {
                continue;
            }
            let (format, suggestion) = self.meant(entry);
            let advice = suggest::advice(&entry.keyword, is_at_root(entry), of_root.as_deref());
            let is_told = format.is_some() || suggestion.is_some() || advice.is_some();
            known.insert(name, is_told.then_some(warnings.len()));
            if is_told {
                let pointer = pointer(&self.places, entry.place);
                warnings.push(Warning {
                    tool: self.tool_at(&pointer).map(str::to_owned),
                    pointer,
                    keyword: entry.keyword.to_string(),
                    format: format.map(str::to_owned),
                    suggestion,
                    advice,
                    n_places: 1,
                });
            }
        }
        warnings
    }

    /// Adds what became of `keyword` of the value at `pointer`, which is no schema of this report.
    #[doc(hidden)]
    pub fn add(&mut self, pointer: &str, keyword: &str, status: Status) {
        let place = self.place_at(pointer.into());
        self.entries.push(Entry { place, keyword: keyword.into(), status });
    }

    /// Adds the report of a schema at `pointer` of a larger document. If sessions do not run its grammar's
    /// watch, `unwatched` is the reason that such keywords are not enforced.
    #[doc(hidden)]
    pub fn embed(&mut self, pointer: &str, inner: Report, unwatched: Option<&'static str>) {
        let offset = self.places.len();
        self.places.extend(inner.places.into_iter().map(|Place { parent, step }| {
            let step = match step {
                Step::Root => Step::Pointer(pointer.into()),
                // What is in another document has its address in front.
                Step::Pointer(own) if own.is_empty() || own.starts_with('/') => {
                    Step::Pointer(format!("{pointer}{own}").into())
                }
                step => step,
            };
            Place { parent: offset + parent, step }
        }));
        self.entries.extend(inner.entries.into_iter().map(|Entry { place, keyword, status }| {
            let status = match (status, unwatched) {
                (Status::EnforcedBySession, Some(why)) => Status::NotEnforced { reason: why.into() },
                (status, _) => status,
            };
            Entry { place: offset + place, keyword, status }
        }));
        let formats = inner.unknown_formats.into_iter();
        self.unknown_formats.extend(formats.map(|(place, name)| (offset + place, name)));
    }

    /// A new place that is not below another.
    fn place_at(&mut self, pointer: Box<str>) -> usize {
        self.places.push(Place { parent: self.places.len(), step: Step::Pointer(pointer) });
        self.places.len() - 1
    }

    /// Whether no entry is [`Status::NotEnforced`].
    pub fn is_complete(&self) -> bool {
        !self.entries.iter().any(|entry| matches!(entry.status, Status::NotEnforced { .. }))
    }

    /// Of an annotation: the name of the format, if it is one that is not known, and what was probably meant
    /// by the keyword or format. Compares the name with all known ones.
    fn meant(&self, entry: &Entry<Box<str>>) -> (Option<&str>, Option<&'static str>) {
        match (&entry.status, &*entry.keyword) {
            (Status::Annotation, "format") => {
                let format = self.unknown_format(entry);
                (format, format.and_then(suggest::format))
            }
            (Status::Annotation, keyword) => (None, suggest::keyword(keyword)),
            _ => (None, None),
        }
    }

    /// The name of the format that an entry is about, if it is one that is not known.
    fn unknown_format(&self, entry: &Entry<Box<str>>) -> Option<&str> {
        let is_format = &*entry.keyword == "format";
        is_format.then(|| self.unknown_formats.get(&entry.place).map(|name| &**name)).flatten()
    }
}

/// An entry, with the place as an index.
#[derive(Clone, Debug)]
pub(crate) struct Entry<N> {
    pub(crate) place: PlaceId,
    pub(crate) keyword: N,
    pub(crate) status: Status,
}

/// An index into a list of [places](Place).
pub(crate) type PlaceId = usize;

/// Where a schema stands: how it is reached from the schema at `parent`. The root is its own parent.
#[derive(Clone, Debug)]
pub(crate) struct Place<N> {
    pub(crate) parent: PlaceId,
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
pub(crate) fn pointer<N: AsRef<str>>(places: &[Place<N>], place: PlaceId) -> String {
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
