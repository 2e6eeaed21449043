//! From regions of a text to events.

use maskwright_grammar::Label;
use maskwright_json_schema::{ElementPart, Style};
use maskwright_tags::{Region, Regions};

use super::value::{ValueReader, escaped, quoted};
use super::{Event, MAX_PATH, PathPart, Pieces};

/// Makes events of the regions that a text passes.
#[derive(Clone, Default)]
pub(super) struct Speaker {
    /// How many bytes of the text were read, and how many labels were passed.
    n_read: usize,
    n_passed: usize,
    is_ended: bool,
    call: Option<Call>,
    n_calls: usize,
    /// What the text is in.
    within: Vec<Within>,
}

/// A call that has begun.
#[derive(Clone)]
struct Call {
    name: String,
    id: Option<String>,
    is_told: bool,
}

/// A region that has begun.
#[derive(Clone)]
enum Within {
    Text(Option<String>),
    Reasoning,
    Call,
    Mark,
    Id(String),
    /// A value in a notation like JSON.
    Value(ValueReader),
    /// Arguments as elements.
    Elements(Elements),
    /// The text of a custom tool, as a string of JSON if there is a reader.
    Input(Option<ValueReader>),
}

/// Arguments that are elements.
#[derive(Clone)]
struct Elements {
    style: Style,
    levels: Vec<Level>,
    part: Part,
}

/// An object or array that is open.
#[derive(Clone)]
enum Level {
    Object { n_members: usize, key: Option<String> },
    List(usize),
}

/// The part of an element that the text is in.
#[derive(Clone)]
enum Part {
    Between,
    Name(String),
    Text,
    Json(ValueReader),
}

impl Speaker {
    /// How many labels were passed.
    pub(super) fn n_passed(&self) -> usize {
        self.n_passed
    }

    /// The number of the call that the text is in.
    fn index(&self) -> Option<usize> {
        self.call.as_ref().and(self.n_calls.checked_sub(1))
    }

    /// Reads the text up to a place, but no part of a character.
    pub(super) fn read_to(&mut self, text: &[u8], to: usize, events: &mut Vec<Event>) {
        let new = &text[self.n_read.min(to)..to];
        let whole = match std::str::from_utf8(new) {
            Ok(all) => all,
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&new[..error.valid_up_to()]).unwrap_or_default()
            }
            // Grammars over bytes may write what is no text.
            Err(_) => {
                let shown = String::from_utf8_lossy(new).into_owned();
                self.n_read = to;
                return self.read(&shown, events);
            }
        };
        self.n_read += whole.len();
        if !whole.is_empty() {
            self.read(whole, events);
        }
    }

    fn read(&mut self, text: &str, events: &mut Vec<Event>) {
        let index = self.index();
        match self.within.last_mut() {
            Some(Within::Text(tag)) => {
                events.push(Event::Text { delta: text.to_owned(), tag: tag.clone() });
            }
            Some(Within::Reasoning) => events.push(Event::Reasoning { delta: text.to_owned() }),
            Some(Within::Id(id)) => id.push_str(text),
            Some(Within::Value(reader)) => {
                let mut out = Pieces::default();
                text.chars().for_each(|c| reader.push(c, &mut out));
                tell(events, index, out);
            }
            Some(Within::Elements(elements)) => {
                let mut out = Pieces::default();
                elements.read(text, &mut out);
                tell(events, index, out);
            }
            Some(Within::Input(reader)) => {
                let delta = match reader {
                    None => text.to_owned(),
                    Some(reader) => {
                        let mut out = Pieces::default();
                        text.chars().for_each(|c| reader.push(c, &mut out));
                        unquoted(&out.list.into_iter().map(|(_, _, json)| json).collect::<String>())
                    }
                };
                if let Some(index) = index.filter(|_| !delta.is_empty()) {
                    events.push(Event::Input { index, delta });
                }
            }
            Some(Within::Call | Within::Mark) | None => {}
        }
    }

    /// Passes a label.
    pub(super) fn pass(&mut self, label: Label, regions: &Regions, events: &mut Vec<Event>) {
        self.n_passed += 1;
        match (regions.get(label.number()), label) {
            (Some(region), Label::Begin(_)) => self.begin(region, events),
            (Some(_), Label::End(_)) => self.finish(events),
            (None, label) => {
                let part = ElementPart::ALL.get(label.number() as usize).copied();
                let is_begin = matches!(label, Label::Begin(_));
                let (index, mut out) = (self.index(), Pieces::default());
                if let (Some(Within::Elements(elements)), Some(part)) = (self.within.last_mut(), part) {
                    if is_begin { elements.begin(part, &mut out) } else { elements.finish(part, &mut out) }
                }
                tell(events, index, out);
            }
        }
    }

    fn begin(&mut self, region: &Region, events: &mut Vec<Event>) {
        let mut out = Pieces::default();
        let within = match region {
            Region::Text(tag) => Within::Text(tag.clone()),
            Region::Reasoning => Within::Reasoning,
            Region::Call { name, .. } => {
                self.n_calls += 1;
                self.call = Some(Call { name: name.clone(), id: None, is_told: false });
                Within::Call
            }
            Region::Mark | Region::Tag { .. } => Within::Mark,
            Region::Id => Within::Id(String::new()),
            Region::Arguments(style) => {
                self.tell_call(false, events);
                match style {
                    Style::Json | Style::Python | Style::PythonJson | Style::Gemma => {
                        Within::Value(ValueReader::new(*style, Vec::new(), &mut out))
                    }
                    style => Within::Elements(Elements::new(*style, &mut out)),
                }
            }
            Region::Input { is_json } => {
                self.tell_call(true, events);
                events.push(Event::Input { index: self.n_calls.saturating_sub(1), delta: String::new() });
                Within::Input(is_json.then(|| ValueReader::new(Style::Json, Vec::new(), &mut out)))
            }
            _ => return,
        };
        self.within.push(within);
        tell(events, self.index(), out);
    }

    fn finish(&mut self, events: &mut Vec<Event>) {
        let mut out = Pieces::default();
        match self.within.pop() {
            Some(Within::Id(id)) => {
                if let Some(call) = &mut self.call {
                    call.id = Some(id);
                }
            }
            Some(Within::Value(reader)) => reader.end(&mut out),
            Some(Within::Elements(elements)) => elements.end(&mut out),
            Some(Within::Call) => {
                self.tell_call(false, events);
                let id = self.call.take().and_then(|call| call.id);
                events.push(Event::End { index: self.n_calls.checked_sub(1), id });
            }
            _ => {}
        }
        tell(events, self.index(), out);
    }

    /// Tells that a call has begun, once.
    fn tell_call(&mut self, is_custom: bool, events: &mut Vec<Event>) {
        if let Some(call) = self.call.as_mut().filter(|call| !call.is_told) {
            call.is_told = true;
            let index = self.n_calls.saturating_sub(1);
            let (name, id) = (call.name.clone(), call.id.clone());
            events.push(Event::Tool { index, name, is_custom, id });
        }
    }

    /// The whole text has ended.
    pub(super) fn end(&mut self, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.is_ended, true) {
            events.push(Event::End { index: None, id: None });
        }
    }
}

/// Makes events of what was added to arguments.
fn tell(events: &mut Vec<Event>, index: Option<usize>, out: Pieces) {
    let pieces = out.list.into_iter().filter(|(_, raw, json)| !raw.is_empty() || !json.is_empty());
    events.extend(pieces.map(|(path, raw, json)| Event::Argument { index, path, raw, json }));
}

impl Elements {
    fn new(style: Style, out: &mut Pieces) -> Elements {
        out.put(Vec::new, "", "{");
        let levels = vec![Level::Object { n_members: 0, key: None }];
        Elements { style, levels, part: Part::Between }
    }

    fn path(&self) -> Vec<PathPart> {
        let parts = self.levels.iter().filter_map(|level| match level {
            Level::Object { key, .. } => key.clone().map(PathPart::Key),
            Level::List(n_items) => Some(PathPart::Index(n_items.saturating_sub(1))),
        });
        parts.take(MAX_PATH).collect()
    }

    fn put(&self, out: &mut Pieces, raw: &str, json: &str) {
        out.put(|| self.path(), raw, json);
    }

    fn read(&mut self, text: &str, out: &mut Pieces) {
        match &mut self.part {
            Part::Between => self.put(out, text, ""),
            Part::Name(name) => {
                name.push_str(text);
                self.put(out, text, "");
            }
            Part::Text => self.put(out, text, &escaped(text)),
            Part::Json(reader) => text.chars().for_each(|c| reader.push(c, out)),
        }
    }

    /// A value begins: the next item, if it is one.
    fn begin_value(&mut self, out: &mut Pieces) {
        if let Some(Level::List(n_items)) = self.levels.last_mut() {
            *n_items += 1;
            let comma = if *n_items > 1 { "," } else { "" };
            out.changed();
            self.put(out, "", comma);
        }
    }

    fn begin(&mut self, part: ElementPart, out: &mut Pieces) {
        match part {
            ElementPart::Name => {
                if let Some(Level::Object { key, .. }) = self.levels.last_mut() {
                    *key = None;
                    out.changed();
                }
                self.part = Part::Name(String::new());
            }
            ElementPart::Text => {
                self.begin_value(out);
                self.put(out, "", "\"");
                self.part = Part::Text;
            }
            ElementPart::Json => {
                self.begin_value(out);
                self.part = Part::Json(ValueReader::new(Style::Json, self.path(), out));
            }
            ElementPart::List => {
                self.begin_value(out);
                self.put(out, "", "[");
                self.levels.push(Level::List(0));
                out.changed();
            }
            ElementPart::Object => {
                self.begin_value(out);
                self.put(out, "", "{");
                self.levels.push(Level::Object { n_members: 0, key: None });
                out.changed();
            }
        }
    }

    fn finish(&mut self, part: ElementPart, out: &mut Pieces) {
        match (part, std::mem::replace(&mut self.part, Part::Between)) {
            (_, Part::Name(name)) => {
                let name = match self.style {
                    Style::CohereXml | Style::KimiK3Xml => unescaped(&name),
                    _ => name,
                };
                let Some(Level::Object { n_members, .. }) = self.levels.last_mut() else { return };
                *n_members += 1;
                let comma = if *n_members > 1 { "," } else { "" };
                self.put(out, "", &format!("{comma}{}:", quoted(&name)));
                if let Some(Level::Object { key, .. }) = self.levels.last_mut() {
                    *key = Some(name);
                    out.changed();
                }
            }
            (_, Part::Text) => self.put(out, "", "\""),
            (_, Part::Json(reader)) => reader.end(out),
            (ElementPart::List | ElementPart::Object, Part::Between) => {
                self.levels.pop();
                out.changed();
                self.put(out, "", if part == ElementPart::List { "]" } else { "}" });
            }
            _ => {}
        }
        // What follows is no part of the value.
        if let (true, Some(Level::Object { key, .. })) = (part != ElementPart::Name, self.levels.last_mut()) {
            *key = None;
            out.changed();
        }
    }

    fn end(mut self, out: &mut Pieces) {
        self.levels.clear();
        out.changed();
        self.put(out, "", "}");
    }
}

/// The text of a piece of a string of JSON, which has its escapes whole and may have its quotes.
fn unquoted(json: &str) -> String {
    let json = json.strip_prefix('"').unwrap_or(json);
    let n_escapes = |text: &str| text.len() - text.trim_end_matches('\\').len();
    let json = json.strip_suffix('"').filter(|text| n_escapes(text) % 2 == 0).unwrap_or(json);
    serde_json::from_str(&format!("\"{json}\"")).unwrap_or_default()
}

/// A name in an attribute of XML.
fn unescaped(name: &str) -> String {
    name.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
