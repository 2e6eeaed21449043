//! What a text says while it is written: text, reasoning, calls of tools and their arguments.
//!
//! A grammar knows in which call, at which argument a text is. So nobody needs to read the text a second
//! time. The labels of the grammar ([`PassedLabels`]) say where regions begin and end, as far as all readings
//! agree. A [`Speaker`] makes events of them, step by step. So events are a function of the accepted tokens:
//! the same whenever they are asked for, more with more tokens, and fewer after a rollback.
//!
//! An example: tools in Qwen 3's format, and the text is `I'll look.<tool_call>\n{"name": "get_weather",
//! "arguments": {"city": "Ro`. The events are the text `I'll look.`, the tool `get_weather`, and
//! `{"city":"Ro` of its arguments. After `I'll look.<tool` there was the text alone, without `<tool`.

mod captures;
mod message;
mod speaker;
mod value;

use std::sync::{Arc, OnceLock};

use maskwright_automata::{ByteSet, Fuel, Regex, meter};
use maskwright_engine::{EngineGrammar, LabelledGrammar, Matcher, PassedLabels, TextRegion};
use maskwright_grammar::{Grammar, GrammarBuilder, Label, TokenSet};
use maskwright_json_schema::Style;
use maskwright_tags::{Region, Regions};

use crate::Error;
pub use captures::Capture;
pub(crate) use captures::{Captures, Rules};
pub use message::{Message, ToolCall};
use speaker::Speaker;

/// A step of the path of a value.
///
/// # Example: where a number is
///
/// ```
/// use maskwright::{CompileOptions, Compiler, Event, GrammarSource, PathPart, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let schema = GrammarSource::json_schema(r#"{"type": "object"}"#, Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&schema, &CompileOptions::default())?;
/// let mut matcher = grammar.matcher();
/// assert!(matcher.accept_bytes(br#"{"at": [3, 5"#)?);
/// let mut events = grammar.events()?;
/// let Some(Event::Argument { path, .. }) = events.of(&matcher)?.last() else { panic!("it has a value") };
/// assert_eq!(path[..], [PathPart::Key("at".to_owned()), PathPart::Index(1)]);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: as a JSON pointer
///
/// ```
/// use maskwright::PathPart;
/// let path = [PathPart::Key("at".to_owned()), PathPart::Index(1)];
/// let pointer: String = path
///     .iter()
///     .map(|part| match part {
///         PathPart::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
///         PathPart::Index(index) => format!("/{index}"),
///         _ => String::new(),
///     })
///     .collect();
/// assert_eq!(pointer, "/at/1");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathPart {
    /// The member of an object with this key.
    Key(String),
    /// The item of an array with this number, from 0.
    Index(usize),
}

/// Something that a text has said.
///
/// # Example: a call while it is written
///
/// ```
/// use maskwright::tool_calls::ToolCallOptions;
/// use maskwright::{CompileOptions, Compiler, Event, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let tools = r#"[{"name": "look_up", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}}}]"#;
/// let source = GrammarSource::tool_calls(tools, ToolCallOptions::new("qwen_3"), Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;
/// let mut matcher = grammar.matcher();
/// assert!(matcher.accept_bytes(b"Well.\n<tool_call>\n{\"name\": \"look_up\", \"arguments\": {\"word\": \"ma")?);
/// let mut shown = String::new();
/// for event in grammar.events()?.of(&matcher)? {
///     match event {
///         Event::Text { delta, .. } => shown.push_str(delta),
///         Event::Tool { name, .. } => shown.push_str(name),
///         Event::Argument { json, .. } => shown.push_str(json),
///         _ => {}
///     }
/// }
/// assert_eq!(shown, "Well.\nlook_up{\"word\":\"ma");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: the end of a text
///
/// ```
/// use maskwright::{CompileOptions, Compiler, Event, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["1", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(1)])?);
/// let schema = GrammarSource::json_schema(r#"{"type": "integer"}"#, Default::default());
/// let grammar = compiler.compile(&schema, &CompileOptions::default())?;
/// let mut matcher = grammar.matcher();
/// assert_eq!(matcher.accept_tokens(&[TokenId(0), TokenId(1)])?, 2);
/// assert!(matches!(grammar.events()?.of(&matcher)?.last(), Some(Event::End { index: None, .. })));
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// More free text.
    #[non_exhaustive]
    Text {
        /// The text.
        delta: String,
        /// What the tag of a structural tag is called in which it stands, if it stands in one.
        tag: Option<String>,
    },
    /// More reasoning.
    #[non_exhaustive]
    Reasoning {
        /// The text.
        delta: String,
    },
    /// A call begins.
    #[non_exhaustive]
    Tool {
        /// Its number in the message, from 0.
        index: usize,
        /// The tool's name.
        name: String,
        /// Whether it is given a text, and no arguments.
        is_custom: bool,
        /// The id that the model gave the call, if it stands before the arguments.
        id: Option<String>,
    },
    /// More of the arguments of a call, or of the value of a JSON Schema.
    #[non_exhaustive]
    Argument {
        /// The number of the call; `None` where the whole text is a value.
        index: Option<usize>,
        /// Where in the arguments or in the value: the first 32 steps, if there are more.
        path: Vec<PathPart>,
        /// The text as it is written.
        raw: String,
        /// What it adds to the arguments or the value as compact JSON.
        json: String,
    },
    /// More of the text that a custom tool is given; the first may be empty.
    #[non_exhaustive]
    Input {
        /// The number of the call.
        index: usize,
        /// The text.
        delta: String,
    },
    /// A call has ended, or the whole text.
    #[non_exhaustive]
    End {
        /// The number of the call; `None` of the whole text.
        index: Option<usize>,
        /// The id of the call, if the model gave it one.
        id: Option<String>,
    },
}

/// The most steps of a path that events tell. Values in deeper ones have the path of what they are in.
pub(crate) const MAX_PATH: usize = 32;

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
        Ok(Labelled { grammar: sessions.labelled(grammar, &[], fuel)?, regions: Arc::new(regions) })
    }
}

/// The same, made when it is first asked for.
pub(crate) struct LazyLabelled {
    make: Box<dyn Fn() -> Result<Labelled, Error> + Send + Sync>,
    made: OnceLock<Result<Labelled, Error>>,
}

impl LazyLabelled {
    pub(crate) fn new(make: impl Fn() -> Result<Labelled, Error> + Send + Sync + 'static) -> LazyLabelled {
        LazyLabelled { make: Box::new(make), made: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Result<Labelled, Error> {
        if let Some(known) = self.made.get() {
            return known.clone();
        }
        let made = (self.make)();
        // A call that somebody has stopped says nothing about the grammar.
        match &made {
            Err(error) if error.is_cancelled() || meter::left() == 0 => made,
            _ => self.made.get_or_init(|| made).clone(),
        }
    }
}

/// The grammar of all texts, which are one region.
pub(crate) fn whole(region: Region) -> (Grammar, Regions) {
    let mut regions = Regions::default();
    let number = regions.number(&region);
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("text");
    let any = Regex::union([Regex::bytes(ByteSet::FULL), TokenSet::any().regex()]);
    let any = builder.terminal(any.star());
    let body = builder.labelled(number, any);
    builder.define(start, body);
    (builder.finish(start).expect("its one rule is defined"), regions)
}

/// What the text of a session says, in the order in which it says it.
///
/// # Example: a value while it is written
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
///
/// # Example: what is new, and after a rollback
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let schema = GrammarSource::json_schema(r#"{"type": "array"}"#, Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&schema, &CompileOptions::default())?;
/// let (mut matcher, mut events) = (grammar.matcher(), grammar.events()?);
/// assert!(matcher.accept_bytes(b"[1,")?);
/// let n_told = events.of(&matcher)?.len();
/// assert!(matcher.accept_bytes(b"2,")?);
/// assert!(events.of(&matcher)?[n_told..].len() > 0, "those before stay as they are");
/// matcher.rollback(1)?;
/// assert_eq!(events.of(&matcher)?.len(), n_told);
/// # Ok::<(), maskwright::Error>(())
/// ```
pub struct Events {
    labels: PassedLabels,
    regions: Arc<Regions>,
    list: Vec<Event>,
    speaker: Speaker,
    /// How many steps were told of.
    n_told: usize,
    /// The speaker after some steps, and how many events there were: to go back to.
    kept: Vec<(usize, usize, Speaker)>,
}

/// After so many steps the speaker is kept once more.
const KEPT_EVERY: usize = 32;

impl Events {
    pub(crate) fn new(labelled: &Labelled) -> Result<Events, Error> {
        let mut events = Events {
            labels: PassedLabels::new(&labelled.grammar)?,
            regions: labelled.regions.clone(),
            list: Vec::new(),
            speaker: Speaker::default(),
            n_told: 0,
            kept: Vec::new(),
        };
        events.tell(0);
        Ok(events)
    }

    /// The events of what `matcher` has accepted, which is a session of the same grammar. An event is there
    /// once every reading of the text agrees on it. Takes time in what is new since the last call, and in
    /// what was taken back.
    ///
    /// # Errors
    /// If the text has too many readings, or another limit is reached.
    pub fn of(&mut self, matcher: &Matcher) -> Result<&[Event], Error> {
        let n_left = self.labels.go_back_to(matcher);
        if n_left < self.n_told {
            self.kept.retain(|&(n_steps, ..)| n_steps <= n_left);
            if let Some((n_steps, n_events, speaker)) = self.kept.last() {
                self.list.truncate(*n_events);
                (self.n_told, self.speaker) = (*n_steps, speaker.clone());
            }
        }
        let read = self.labels.follow(matcher);
        for n_steps in self.n_told + 1..=self.labels.n_steps() {
            self.tell(n_steps);
        }
        if matcher.is_terminated() && self.n_told == matcher.n_steps() {
            self.speaker.end(&mut self.list);
        }
        read.map(|()| self.list.as_slice())
    }

    /// The arguments in JSON that a text, with `more` after it, is within: the name of the call, where its
    /// schema is, and the byte where they begin.
    ///
    /// # Errors
    /// As [`of`](Events::of).
    pub(crate) fn arguments(
        &mut self,
        matcher: &Matcher,
        more: &[u8],
    ) -> Result<Option<(String, String, usize)>, Error> {
        self.of(matcher)?;
        self.labels.look_ahead(more)?;
        let passed = self.passed_regions();
        let mut open = passed.iter().rev().filter(|(_, _, end)| end.is_none());
        let Some((Region::Arguments(Style::Json), at, _)) = open.next() else { return Ok(None) };
        Ok(open.find_map(|(region, ..)| match region {
            Region::Call { name, schema: Some(schema), .. } => Some((name.clone(), schema.clone(), *at)),
            _ => None,
        }))
    }

    /// The tags, calls and arguments of a text, by where they begin. `call` is what a call is called.
    ///
    /// # Errors
    /// As [`of`](Events::of).
    pub(crate) fn regions(
        &mut self,
        matcher: &Matcher,
        call: &'static str,
    ) -> Result<Vec<TextRegion>, Error> {
        self.of(matcher)?;
        self.labels.look_ahead(&[])?;
        let (mut found, mut arguments) = (Vec::new(), Vec::new());
        for (region, at, end) in self.passed_regions() {
            let (kind, name, n_before) = match region {
                Region::Call { name, n_before, .. } => (call, name, n_before),
                Region::Tag { name, n_before } => ("tag", name, n_before),
                Region::Arguments(_) => {
                    arguments.last_mut().into_iter().for_each(|start| *start = at);
                    continue;
                }
                _ => continue,
            };
            arguments.extend(matches!(region, Region::Call { .. }).then_some(at));
            found.push(TextRegion { kind, name: name.clone(), start: at.saturating_sub(*n_before), end });
        }
        self.add_arguments(arguments, &mut found);
        found.sort_by_key(|region| region.start);
        Ok(found)
    }

    /// The regions of the text, in the order of their beginnings: where each begins, and ends if it has.
    fn passed_regions(&self) -> Vec<(&Region, usize, Option<usize>)> {
        let (mut found, mut open) = (Vec::new(), Vec::new());
        for &(label, at) in self.labels.passed() {
            match (label, self.regions.get(label.number())) {
                (Label::Begin(_), Some(region)) => {
                    open.push(found.len());
                    found.push((region, at, None));
                }
                (Label::End(_), Some(_)) => {
                    open.pop().into_iter().for_each(|begun: usize| found[begun].2 = Some(at));
                }
                _ => {}
            }
        }
        found
    }

    /// Adds the values of arguments. `starts`: where those of each call begin.
    fn add_arguments(&self, mut starts: Vec<usize>, found: &mut Vec<TextRegion>) {
        let mut open: Option<TextRegion> = None;
        for event in &self.list {
            let (index, path, raw) = match event {
                Event::Argument { index: Some(index), path, raw, .. } => {
                    (index, path.as_slice(), raw.as_str())
                }
                Event::End { index: Some(index), .. } => (index, &[][..], ""),
                _ => continue,
            };
            let Some(place) = starts.get_mut(*index) else { continue };
            let at = std::mem::replace(place, *place + raw.len());
            let key = if let Some(PathPart::Key(key)) = path.first() { Some(key) } else { None };
            if open.as_ref().map(|open| &open.name) != key {
                found.extend(open.take());
                open =
                    key.map(|key| TextRegion { kind: "argument", name: key.clone(), start: at, end: None });
            }
            // White space around a value is no part of it.
            let Some(open) = &mut open else { continue };
            if open.end.is_none() {
                open.start = at + raw.len() - raw.trim_start().len();
            }
            if !raw.trim().is_empty() {
                open.end = Some(at + raw.trim_end().len());
            }
        }
        found.extend(open.map(|open| TextRegion { end: None, ..open }));
    }

    /// The same for a text that is complete, even if no token has ended it.
    ///
    /// # Errors
    /// As [`of`](Events::of).
    pub fn of_whole(mut self, matcher: &Matcher) -> Result<Vec<Event>, Error> {
        self.of(matcher)?;
        if !matcher.is_terminated() {
            self.labels.end()?;
            self.tell(self.n_told + 1);
            self.speaker.end(&mut self.list);
        }
        Ok(self.list)
    }

    /// Tells what a step has said.
    fn tell(&mut self, n_steps: usize) {
        self.labels.look_at(n_steps);
        let (text, passed) = (self.labels.text(), self.labels.passed());
        for &(label, at) in &passed[self.speaker.n_passed()..] {
            self.speaker.read_to(text, at, &mut self.list);
            self.speaker.pass(label, &self.regions, &mut self.list);
        }
        self.speaker.read_to(text, self.labels.n_agreed(), &mut self.list);
        self.n_told = n_steps;
        if n_steps.is_multiple_of(KEPT_EVERY) {
            self.kept.push((n_steps, self.list.len(), self.speaker.clone()));
        }
    }
}
