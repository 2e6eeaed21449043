//! What a text says while it is written: text, reasoning, calls of tools and their arguments.
//!
//! A grammar knows in which call, at which argument a text is. So nobody needs to read the text a second
//! time. The labels of the grammar ([`PassedLabels`]) say where regions begin and end, as far as all readings
//! agree. A [`Speaker`] makes events of them. Events are a function of the accepted tokens: with more tokens
//! there are more of them, after a rollback fewer.
//!
//! An example: tools in Qwen 3's format, and the text is `I'll look.<tool_call>\n{"name": "get_weather",
//! "arguments": {"city": "Ro`. The events are the text `I'll look.`, the tool `get_weather`, and
//! `{"city":"Ro` of its arguments. After `I'll look.<tool` there was the text alone, without `<tool`.

mod message;
mod speaker;
mod value;

use std::sync::Arc;

use maskwright_automata::{ByteSet, Fuel, Regex};
use maskwright_engine::{EngineGrammar, LabelledGrammar, Matcher, PassedLabels};
use maskwright_grammar::{Grammar, GrammarBuilder, Label};
use maskwright_tags::{Region, Regions};

use crate::Error;
pub use message::{Message, ToolCall};
use speaker::Speaker;

/// A step of the path of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathPart {
    /// The member of an object with this key.
    Key(String),
    /// The item of an array with this number, from 0.
    Index(usize),
}

/// Something that a text has said.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// More free text.
    Text {
        /// The text.
        delta: String,
        /// What the tag of a structural tag is called in which it stands, if it stands in one.
        tag: Option<String>,
    },
    /// More reasoning.
    Reasoning {
        /// The text.
        delta: String,
    },
    /// A call begins.
    Tool {
        /// Its number in the message, from 0.
        index: usize,
        /// The tool's name.
        name: String,
        /// The id that the model gave the call, if it stands before the arguments.
        id: Option<String>,
    },
    /// More of the arguments of a call, or of the value of a JSON Schema.
    Argument {
        /// The number of the call; `None` where the whole text is a value.
        index: Option<usize>,
        /// Where in the arguments or in the value.
        path: Vec<PathPart>,
        /// The text as it is written.
        raw: String,
        /// What it adds to the arguments or the value as compact JSON.
        json: String,
    },
    /// More of the text that a custom tool is given.
    Input {
        /// The number of the call.
        index: usize,
        /// The text.
        delta: String,
    },
    /// A call has ended, or the whole text.
    End {
        /// The number of the call; `None` of the whole text.
        index: Option<usize>,
        /// The id of the call, if the model gave it one.
        id: Option<String>,
    },
}

/// Text that is added to values at their paths, until it becomes events.
#[derive(Clone, Default, Debug)]
struct Pieces {
    list: Vec<(Vec<PathPart>, String, String)>,
    has_changed: bool,
}

impl Pieces {
    /// Adds text as it is written, and JSON text.
    fn put(&mut self, path: impl FnOnce() -> Vec<PathPart>, raw: &str, json: &str) {
        if self.has_changed || self.list.is_empty() {
            self.has_changed = false;
            let path = path();
            if self.list.last().is_none_or(|(last, ..)| *last != path) {
                self.list.push((path, String::new(), String::new()));
            }
        }
        if let Some((_, all_raw, all_json)) = self.list.last_mut() {
            all_raw.push_str(raw);
            all_json.push_str(json);
        }
    }

    /// The path is another from now on.
    fn changed(&mut self) {
        self.has_changed = true;
    }
}

/// A grammar whose texts tell what they say.
#[derive(Clone)]
pub(crate) struct Labelled {
    grammar: Arc<LabelledGrammar>,
    regions: Arc<Regions>,
}

impl Labelled {
    /// Those of `grammar`, which is that of `sessions` with labels.
    pub(crate) fn new(
        sessions: &EngineGrammar,
        (grammar, regions): (Grammar, Regions),
        fuel: &Fuel,
    ) -> Result<Labelled, Error> {
        Ok(Labelled { grammar: sessions.labelled(grammar, fuel)?, regions: Arc::new(regions) })
    }
}

/// The grammar of all texts, which are one region.
pub(crate) fn whole(region: Region) -> (Grammar, Regions) {
    let mut regions = Regions::default();
    let number = regions.number(&region);
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("text");
    let any = builder.terminal(Regex::bytes(ByteSet::FULL).star());
    let body = builder.labelled(number, any);
    builder.define(start, body);
    (builder.finish(start).expect("its one rule is defined"), regions)
}

/// What the text of a session says, in the order in which it says it.
///
/// ```
/// use maskwright::{CompileOptions, Compiler, Event, GrammarSource, TokenId, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens(vec![b"</s>".to_vec()], &[TokenId(0)])?);
/// let schema = GrammarSource::json_schema(r#"{"type": "array", "items": {"type": "integer"}}"#, Default::default());
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// let mut matcher = grammar.matcher();
/// let mut events = grammar.events()?;
/// assert!(matcher.accept_bytes(b"[1, 2")?);
/// let json = |events: &[Event]| events.iter().filter_map(|event| match event {
///     Event::Argument { json, .. } => Some(json.clone()),
///     _ => None,
/// }).collect::<String>();
/// assert_eq!(json(events.of(&matcher)?), "[1,2");
/// # Ok::<(), maskwright::Error>(())
/// ```
pub struct Events {
    labels: PassedLabels,
    regions: Arc<Regions>,
    speaker: Speaker,
    /// The labels that were spoken of.
    spoken: Vec<(Label, usize)>,
    is_ended: bool,
}

impl Events {
    pub(crate) fn new(labelled: &Labelled) -> Result<Events, Error> {
        Ok(Events {
            labels: PassedLabels::new(&labelled.grammar)?,
            regions: labelled.regions.clone(),
            speaker: Speaker::default(),
            spoken: Vec::new(),
            is_ended: false,
        })
    }

    /// The events of what `matcher` has accepted, which is a session of the same grammar. An event is there
    /// once every reading of the text agrees on it. Takes time in what is new since the last call.
    ///
    /// # Errors
    /// If the text has too many readings, or another limit is reached.
    pub fn of(&mut self, matcher: &Matcher) -> Result<&[Event], Error> {
        self.labels.follow(matcher)?;
        self.speak(matcher.is_terminated());
        Ok(self.speaker.events())
    }

    /// The same where the text is whole, although no token has ended it.
    ///
    /// # Errors
    /// As [`of`](Events::of).
    pub fn of_whole(&mut self, matcher: &Matcher) -> Result<&[Event], Error> {
        self.labels.follow(matcher)?;
        if !matcher.is_terminated() {
            self.labels.end()?;
        }
        self.speak(true);
        Ok(self.speaker.events())
    }

    fn speak(&mut self, is_ended: bool) {
        let passed = self.labels.passed();
        let is_shorter = !passed.starts_with(&self.spoken)
            || self.labels.n_agreed() < self.speaker.n_read()
            || self.is_ended && !is_ended;
        if is_shorter {
            self.speaker = Speaker::default();
            self.spoken.clear();
            self.is_ended = false;
        }
        let text = self.labels.text();
        for &(label, at) in &passed[self.spoken.len()..] {
            self.speaker.read_to(text, at);
            self.speaker.pass(label, &self.regions);
        }
        self.spoken.extend_from_slice(&passed[self.spoken.len()..]);
        self.speaker.read_to(text, self.labels.n_agreed());
        if is_ended && !self.is_ended {
            self.is_ended = true;
            self.speaker.end();
        }
    }
}
