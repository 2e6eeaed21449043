//! Where a text is, in the words of the JSON Schema, structural tag or list of tools that its grammar was
//! compiled from.
//!
//! A JSON Schema has the whole text. In which tag or call another text is, the labels of its grammar say
//! ([`events`](crate::events)).

use std::fmt;
use std::sync::{Arc, LazyLock};

use maskwright_engine::{Matcher, StateKeyword, TextRegion, Words, WordsPlace, WordsSpeaker};
use maskwright_json_schema::{KeywordLimit, PropertyOrder, SchemaWords};
use serde_json::Value;

use crate::events::{Events, LazyLabelled};

/// What the rules are called that the compiler of structural tags makes.
const RULES_OF_TAGS: &[&str] = &["start", "text", "tokens", "schema"];

/// See the module.
pub(crate) struct SourceWords {
    pub(crate) kind: Schemas,
    /// The tools whose schemas are not enforced in full.
    pub(crate) unsure: Vec<String>,
    pub(crate) labelled: Arc<LazyLabelled>,
    /// The source as JSON, with the order of properties; read when words are first needed.
    pub(crate) document: LazyLock<Document, Box<dyn FnOnce() -> Document + Send>>,
}

type Document = Option<(Value, PropertyOrder)>;

/// How a source has schemas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Schemas {
    /// It is one.
    Whole,
    /// They are the contents of tags.
    OfTags,
    /// They are the parameters of tools.
    OfTools,
}

impl fmt::Debug for SourceWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceWords").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl SourceWords {
    /// The schema at a JSON pointer of the source.
    fn schema(&self, pointer: &str) -> Option<SchemaWords<'_>> {
        let (document, order) = self.document.as_ref()?;
        Some(SchemaWords::new(document.pointer(pointer)?, *order))
    }
}

impl Words for SourceWords {
    fn speaker(self: Arc<Self>) -> Box<dyn WordsSpeaker> {
        Box::new(Along { words: self, events: None })
    }

    fn own_rules(&self) -> Option<&'static [&'static str]> {
        (self.kind == Schemas::OfTags).then_some(RULES_OF_TAGS)
    }
}

/// Words along a session.
struct Along {
    words: Arc<SourceWords>,
    /// Made when they are first needed.
    events: Option<Events>,
}

impl Along {
    fn events(&mut self) -> Option<&mut Events> {
        if self.events.is_none() {
            self.events = Some(Events::new(&self.words.labelled.get().ok()?).ok()?);
        }
        self.events.as_mut()
    }

    /// The value that is being written after the text and `before`: what it is of, its schema, and its text
    /// so far.
    fn value(
        &mut self,
        session: &Matcher,
        before: &[u8],
    ) -> Option<(Option<String>, SchemaWords<'_>, Vec<u8>)> {
        let mut text = [&session.text(), before].concat();
        if self.words.kind == Schemas::Whole {
            return Some((None, self.words.schema("")?, text));
        }
        let (name, schema, start) = self.events()?.arguments(session, before).ok()??;
        if self.words.unsure.contains(&name) {
            return None;
        }
        let value = (start <= text.len()).then(|| text.split_off(start))?;
        Some((Some(name), self.words.schema(&schema)?, value))
    }
}

impl WordsSpeaker for Along {
    fn place(&mut self, session: &Matcher) -> Option<WordsPlace> {
        let (within, words, value) = self.value(session, &[])?;
        let keyword =
            |KeywordLimit { keyword: name, value, pointer }| StateKeyword::new(name, value, pointer);
        Some(WordsPlace {
            within,
            path: words.path(&value),
            keywords: words.limits(&value).into_iter().map(keyword).collect(),
            hint: words.hint(&value),
        })
    }

    fn refusal(&mut self, session: &Matcher, before: &[u8], next: &[u8]) -> Option<String> {
        let (within, words, value) = self.value(session, before)?;
        let why = words.refusal(&value, next)?;
        Some(within.map_or(why.clone(), |name| format!("in {name}, {why}")))
    }

    fn regions(&mut self, session: &Matcher) -> Vec<TextRegion> {
        let call = match self.words.kind {
            Schemas::Whole => return Vec::new(),
            Schemas::OfTags => "tag",
            Schemas::OfTools => "tool",
        };
        self.events().and_then(|events| events.regions(session, call).ok()).unwrap_or_default()
    }
}
