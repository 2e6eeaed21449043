//! What a text says while it is written: `maskwright.Event`, `Capture`, and `Message` with its `ToolCall`s.

use maskwright::PathPart;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::arguments::{Int, List, OfCall, TextBytes, vocabulary_ids};
use crate::errors::OrRaise;
use crate::interrupt::stoppable;

/// Something that a text has said. `kind` says what; fields that a kind does not use are None.
///
/// * "text": more free text, `delta`. `tag`: what the tag of a structural tag is called in which it stands.
/// * "reasoning": more reasoning, `delta`.
/// * "tool": a call begins: `index` in the message, `name`, and `id` if the model has given one by then.
///   `is_custom`: whether it is a custom tool, which is given a text.
/// * "argument": more of the arguments of the call `index`, or of the value of a JSON Schema (`index` is
///   None): `delta` is what it adds to them as compact JSON, `raw` the text as it is written, `path` the
///   place.
/// * "input": more of the text that a custom tool is given: `index`, `delta`.
/// * "end": the call `index` has ended, with its `id` if it has one; of the whole text `index` is None.
#[pyclass(frozen, module = "maskwright", eq, hash, get_all)]
#[derive(PartialEq, Eq, Hash, Default)]
pub(crate) struct Event {
    /// "text", "reasoning", "tool", "argument", "input" or "end".
    kind: &'static str,
    /// What is added.
    delta: Option<String>,
    /// The same as it is written, of an "argument".
    raw: Option<String>,
    /// The number of the call in the message, from 0.
    index: Option<usize>,
    /// The tool's name.
    name: Option<String>,
    /// The call's id, if the model gave it one.
    id: Option<String>,
    /// The path of a value: keys and indices.
    path: Option<Vec<Step>>,
    /// The tag in which a text stands.
    tag: Option<String>,
    /// Whether a tool is given a text, and no arguments.
    is_custom: Option<bool>,
}

/// A key or an index.
#[derive(PartialEq, Eq, Hash, Clone, IntoPyObject)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Event {
    pub(crate) fn new(event: &maskwright::Event) -> Event {
        use maskwright::Event as E;
        let none = Event::default();
        match event.clone() {
            E::Text { delta, tag, .. } => Event { kind: "text", delta: Some(delta), tag, ..none },
            E::Reasoning { delta, .. } => Event { kind: "reasoning", delta: Some(delta), ..none },
            E::Tool { index, name, is_custom, id, .. } => {
                let (index, is_custom) = (Some(index), Some(is_custom));
                Event { kind: "tool", index, name: Some(name), id, is_custom, ..none }
            }
            E::Argument { index, path, raw, json, .. } => {
                let path = path.into_iter().map(|part| match part {
                    PathPart::Key(key) => Step::Key(key),
                    PathPart::Index(index) => Step::Index(index),
                    other => Step::Key(format!("{other:?}")),
                });
                let path = Some(path.collect());
                Event { kind: "argument", index, path, raw: Some(raw), delta: Some(json), ..none }
            }
            E::Input { index, delta, .. } => {
                Event { kind: "input", index: Some(index), delta: Some(delta), ..none }
            }
            E::End { index, id, .. } => Event { kind: "end", index, id, ..none },
            // A kind that this version does not know.
            _ => Event { kind: "unknown", ..none },
        }
    }
}

#[pymethods]
impl Event {
    fn __repr__(&self) -> String {
        let mut fields = vec![format!("kind={:?}", self.kind)];
        let texts = [
            ("delta", &self.delta),
            ("raw", &self.raw),
            ("name", &self.name),
            ("id", &self.id),
            ("tag", &self.tag),
        ];
        fields.extend(self.index.map(|index| format!("index={index}")));
        fields.extend(texts.iter().filter_map(|(name, text)| Some(format!("{name}={:?}", text.as_ref()?))));
        let step = |step: &Step| match step {
            Step::Key(key) => format!("{key:?}"),
            Step::Index(index) => index.to_string(),
        };
        let path = self.path.iter().map(|path| path.iter().map(step).collect::<Vec<_>>().join(", "));
        fields.extend(path.map(|path| format!("path=[{path}]")));
        fields.extend(self.is_custom.filter(|is_custom| *is_custom).map(|_| "is_custom=True".to_owned()));
        format!("Event({})", fields.join(", "))
    }
}

/// The text that a captured rule has matched.
#[pyclass(frozen, module = "maskwright", eq, hash, get_all)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Capture {
    /// The rule.
    name: String,
    /// What it has matched. While the end is not certain, all of the text from its beginning.
    text: String,
    /// The byte of the text where it begins.
    start: usize,
    /// The byte after its last; None while it is not certain.
    end: Option<usize>,
}

impl Capture {
    pub(crate) fn new(capture: maskwright::Capture) -> Capture {
        let maskwright::Capture { name, text, start, end, .. } = capture;
        Capture { name, text, start, end }
    }
}

#[pymethods]
impl Capture {
    fn __repr__(&self) -> String {
        let end = self.end.map_or_else(|| "None".to_owned(), |end| end.to_string());
        format!("Capture(name={:?}, text={:?}, start={}, end={end})", self.name, self.text, self.start)
    }
}

/// What a whole text says.
#[pyclass(frozen, module = "maskwright", get_all)]
pub(crate) struct Message {
    /// The free text.
    text: String,
    /// The reasoning.
    reasoning: String,
    /// The calls, in the order of the text.
    calls: Vec<Py<ToolCall>>,
    /// The value of a JSON Schema; None for other grammars.
    value: Py<PyAny>,
    /// The texts of captured rules, in the order of their beginnings.
    captures: Vec<Py<Capture>>,
}

/// A call of a tool.
#[pyclass(frozen, module = "maskwright", get_all)]
pub(crate) struct ToolCall {
    /// The tool's name.
    name: String,
    /// The id that the model gave the call; None if it gave none.
    id: Option<String>,
    /// The arguments, a dict; None of a custom tool.
    arguments: Py<PyAny>,
    /// The arguments as compact JSON, numbers as the model wrote them; None of a custom tool.
    arguments_json: Option<String>,
    /// The text that a custom tool is given; None of other tools.
    input: Option<String>,
}

impl Message {
    pub(crate) fn new(py: Python<'_>, message: maskwright::Message) -> PyResult<Message> {
        let read = |json: Option<&str>| match json {
            Some(json) => Ok(py.import("json")?.call_method1("loads", (json,))?.unbind()),
            None => PyResult::Ok(py.None()),
        };
        let calls = message.calls.into_iter().map(|call| {
            let json = call.input.is_none().then_some(call.arguments);
            let arguments = read(json.as_deref())?;
            let call =
                ToolCall { name: call.name, id: call.id, arguments, arguments_json: json, input: call.input };
            Py::new(py, call)
        });
        let captures = message.captures.into_iter().map(|capture| Py::new(py, Capture::new(capture)));
        Ok(Message {
            captures: captures.collect::<PyResult<_>>()?,
            calls: calls.collect::<PyResult<_>>()?,
            value: read(message.value.as_deref())?,
            text: message.text,
            reasoning: message.reasoning,
        })
    }
}

/// What a whole text says, given as str, bytes or token ids.
pub(crate) fn parse(
    py: Python<'_>,
    grammar: &maskwright::CompiledGrammar,
    text: &Bound<'_, PyAny>,
) -> PyResult<Message> {
    let message = if text.is_instance_of::<PyString>() || text.is_instance_of::<PyBytes>() {
        let text: TextBytes<OfCall> = text.extract()?;
        stoppable(py, || grammar.parse(&text.0))?
    } else {
        let ids = vocabulary_ids(text.extract::<List<Int>>()?)?;
        stoppable(py, || grammar.parse_tokens(&ids))?
    };
    Message::new(py, message.or_raise()?)
}

#[pymethods]
impl Message {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let calls = PyTuple::new(py, &self.calls)?.repr()?;
        Ok(format!(
            "Message(text={:?}, reasoning={:?}, calls={calls}, value={})",
            self.text,
            self.reasoning,
            self.value.bind(py).repr()?
        ))
    }
}

#[pymethods]
impl ToolCall {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let given = match &self.input {
            Some(input) => format!("input={input:?}"),
            None => format!("arguments={}", self.arguments.bind(py).repr()?),
        };
        let id = self.id.as_ref().map(|id| format!(", id={id:?}")).unwrap_or_default();
        Ok(format!("ToolCall(name={:?}, {given}{id})", self.name))
    }
}
