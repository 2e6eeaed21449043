//! The message of a family, with calls of some tools in it, as a structural tag.
//!
//! A message is, in this order: reasoning, if it is asked for; text, if the family has it beside calls and
//! the request wants it; calls. Or an answer in place of the last two. Free text never contains the trigger
//! of a call, so all readings of a message agree on where its calls are.

use std::collections::HashMap;

use maskwright_json_schema::{Style, is_python_name};
use serde_json::{Value, json};

use super::family::{Family, NameForm, Part, Text, TextPlace};
use super::request::{HowOften, Tool};
use super::{Reasons, ToolCallOptions};
use crate::TagError;

/// The field of calls and of the format of arguments that says which tool they belong to, until
/// [`take_notes`].
const OWNER: &str = "tool";

/// The field of formats that says what they are, until [`take_notes`].
const REGION: &str = "region";

/// What a layout notes of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Note {
    /// The number of the tool that it belongs to.
    OfTool(usize),
    Text,
    Reasoning,
    /// The id of a call.
    Id,
    /// A mark that could be text.
    Mark,
}

impl Note {
    /// The tool that the format belongs to, if it belongs to one.
    pub(crate) fn tool(self, tools: &[Tool]) -> Option<&Tool> {
        if let Note::OfTool(tool) = self { tools.get(tool) } else { None }
    }
}

/// Makes the tag of a message that may call `tools`, each with its schema.
pub(crate) fn layout(
    family: &Family,
    tools: &[Tool],
    how: HowOften,
    options: &ToolCallOptions,
) -> Result<Value, TagError> {
    let layouts = Layouts { family, tools, options };
    let mut parts = Vec::new();
    layouts.reasoning(&mut parts)?;
    parts.push(match how {
        HowOften::Maybe | HowOften::Required if !tools.is_empty() => {
            layouts.message(how == HowOften::Required)?
        }
        _ => layouts.answer(),
    });
    parts.push(string(&family.end));
    Ok(json!({"type": "structural_tag", "format": sequence(parts)}))
}

struct Layouts<'f> {
    family: &'f Family,
    tools: &'f [Tool],
    options: &'f ToolCallOptions,
}

impl Layouts<'_> {
    /// Adds the part where the model reasons.
    fn reasoning(&self, parts: &mut Vec<Value>) -> Result<(), TagError> {
        let family = self.family;
        let reasoning = match (&family.reasoning, self.options.reasoning) {
            (Some(reasoning), Reasons::Never) => {
                parts.extend(reasoning.none.as_deref().map(|none| optional(mark(none))));
                return Ok(());
            }
            (None, Reasons::Never) => return Ok(()),
            (None, _) => {
                let message = format!("models of the format {} have no marks around reasoning", family.name);
                return Err(TagError::malformed("/reasoning", message).with_hint("leave reasoning off"));
            }
            (Some(reasoning), _) => reasoning,
        };
        let mut excludes = self.excluded();
        excludes.push(reasoning.mark.clone().unwrap_or_else(|| reasoning.end.trim().to_owned()));
        let content = json!({"type": "any_text", "excludes": excludes, REGION: "reasoning"});
        let block =
            |begin: &str| json!({"type": "tag", "begin": begin, "content": content, "end": reasoning.end});
        match self.options.reasoning {
            Reasons::Maybe => {
                let ways = [Some(block(&reasoning.begin)), reasoning.none.as_deref().map(mark)];
                parts.push(optional(choice(ways.into_iter().flatten().collect())));
            }
            Reasons::Open => parts.push(block("")),
            _ => parts.push(block(if reasoning.is_open { "" } else { &reasoning.begin })),
        }
        Ok(())
    }

    /// Text without calls.
    fn answer(&self) -> Value {
        let Family { answer, text, .. } = self.family;
        if text.is_always_there { self.text() } else { self.free_text(&answer.begin, &answer.end) }
    }

    /// Text beside calls.
    fn text(&self) -> Value {
        let Text { around, is_open, .. } = &self.family.text;
        self.free_text(if *is_open { "" } else { &around.begin }, &around.end)
    }

    /// Text that holds no call, between two marks. It does not contain the second.
    fn free_text(&self, begin: &str, end: &str) -> Value {
        let mut excludes = self.excluded();
        let bare_end = end.trim();
        if !bare_end.is_empty() && bare_end != end {
            excludes.push(bare_end.to_owned());
        }
        // Text that begins like reasoning, or as if there were none, would be taken for that.
        if let Some(reasoning) = &self.family.reasoning {
            let is_maybe = self.options.reasoning == Reasons::Maybe;
            excludes.extend(is_maybe.then(|| reasoning.begin.trim().to_owned()));
            let none = reasoning.none.as_deref().filter(|_| !self.options.reasoning.is_certain());
            excludes.extend(none.map(|none| none.trim().to_owned()));
        }
        let text = json!({"type": "any_text", "excludes": excludes, REGION: "text"});
        match end {
            "" => sequence(vec![string(begin), text]),
            _ => json!({"type": "tag", "begin": begin, "content": text, "end": end}),
        }
    }

    /// What neither text nor reasoning holds.
    fn excluded(&self) -> Vec<String> {
        let trigger = &self.family.calls.trigger;
        let mut excluded: Vec<String> = match trigger.contains("{name}") {
            true => self.tools.iter().map(|tool| trigger.replace("{name}", &tool.name)).collect(),
            // Where marks around all text say where it ends, calls need none.
            false if trigger.is_empty() => Vec::new(),
            false => vec![trigger.clone()],
        };
        excluded.extend(self.family.text.excludes.iter().cloned());
        excluded
    }

    /// A message with calls, or one that may have some.
    fn message(&self, is_required: bool) -> Result<Value, TagError> {
        let Family { text, .. } = self.family;
        let has_text = self.options.has_text;
        if text.is_always_there {
            let calls = self.calls()?;
            return Ok(match (has_text, is_required) {
                (true, true) => sequence(vec![self.text(), calls]),
                (true, false) => sequence(vec![self.text(), optional(calls)]),
                (false, _) => {
                    let begin = if text.is_open { "" } else { &text.around.begin };
                    let calls = sequence(vec![string(begin), string(&text.around.end), calls]);
                    if is_required { calls } else { choice(vec![calls, self.answer()]) }
                }
            });
        }
        let has_marks = !(text.around.begin.is_empty() && text.around.end.is_empty());
        if !has_text || text.place == TextPlace::Nowhere {
            return self.calls_or_answer(is_required);
        }
        if has_marks {
            let how_often = if text.may_repeat { "star" } else { "optional" };
            let before = json!({"type": how_often, "content": self.text()});
            return Ok(sequence(vec![before, self.calls_or_answer(is_required)?]));
        }
        let mut calls = self.calls()?;
        if text.place == TextPlace::Around {
            calls = sequence(vec![calls, self.text()]);
        }
        Ok(sequence(vec![self.text(), if is_required { calls } else { optional(calls) }]))
    }

    /// Calls, or text alone if they are not required.
    fn calls_or_answer(&self, is_required: bool) -> Result<Value, TagError> {
        let calls = self.calls()?;
        Ok(if is_required { calls } else { choice(vec![calls, self.answer()]) })
    }

    /// The calls, with what stands around them.
    fn calls(&self) -> Result<Value, TagError> {
        let calls = &self.family.calls;
        let list = json!({
            "type": "tags_with_separator", "tags": self.call_tags()?, "separator": calls.separator,
            "at_least_one": true, "stop_after_first": self.is_one(),
        });
        let mut parts = Vec::new();
        parts.extend(calls.begin.iter().map(around));
        parts.push(list);
        parts.extend(calls.end.iter().map(around));
        Ok(sequence(parts))
    }

    fn is_one(&self) -> bool {
        self.family.calls.is_one || !self.options.is_parallel
    }

    /// A call of each tool in each form.
    fn call_tags(&self) -> Result<Vec<Value>, TagError> {
        let calls = &self.family.calls;
        let tools = self.tools.iter().enumerate();
        let tags = tools.flat_map(|(at, tool)| {
            let has_own_forms = tool.custom.is_some() && !calls.custom_forms.is_empty();
            let forms = if has_own_forms { &calls.custom_forms } else { &calls.forms };
            forms.iter().map(move |form| self.call_tag(at, tool, form))
        });
        tags.collect()
    }

    /// A call of a tool: a tag that begins with all up to its name and ends with the last string.
    fn call_tag(&self, at: usize, tool: &Tool, form: &[Part]) -> Result<Value, TagError> {
        let mut begin = String::new();
        let mut content: Vec<Value> = Vec::new();
        for part in form {
            let text = match part {
                Part::Text(text) => text.clone(),
                Part::Name(name_form) => self.name(tool, *name_form)?,
                Part::Arguments(style) => {
                    content.push(self.arguments(at, tool, *style)?);
                    continue;
                }
                Part::Id(pattern) => {
                    content.push(json!({"type": "regex", "pattern": pattern, REGION: "id"}));
                    continue;
                }
                Part::Input(()) => {
                    content.push(json!({"type": "any_text", "excludes": [], OWNER: at}));
                    continue;
                }
                other => {
                    content.push(around(other));
                    continue;
                }
            };
            match content.is_empty() {
                true => begin += &text,
                false => content.push(string(&text)),
            }
        }
        let end = match content.last() {
            Some(last) if last["type"] == "const_string" && content.len() > 1 => {
                let end = last["value"].clone();
                content.pop();
                end
            }
            _ => json!(""),
        };
        Ok(json!({"type": "tag", "begin": begin, "content": sequence(content), "end": end, OWNER: at}))
    }

    /// The arguments of a call.
    fn arguments(&self, at: usize, tool: &Tool, style: Style) -> Result<Value, TagError> {
        if style == Style::MinimaxM3Xml && !tool.is_strict {
            let message = format!(
                "arguments of any names cannot be written in the format {}, and the tool is not strict",
                self.family.name
            );
            return Err(TagError::malformed(&tool.at, message)
                .with_hint("leave the tool out: on_error=\"leave_out\""));
        }
        if tool.custom.is_some() && style != Style::Json {
            let message = format!(
                "a custom tool takes a text, and the arguments of a call in the format {} have names",
                self.family.name
            );
            return Err(TagError::malformed(&tool.at, message).with_hint(
                "make it a function with one argument, a string; or leave it out: on_error=\"leave_out\"",
            ));
        }
        let mut arguments =
            json!({"type": "json_schema", "json_schema": tool.schema(), "style": style, OWNER: at});
        if self.family.calls.is_any_order {
            arguments["any_order"] = json!(true);
        }
        Ok(arguments)
    }

    /// A tool's name, unless the format cannot write it.
    fn name_if(&self, is_right: bool, tool: &Tool, right: &str) -> Result<String, TagError> {
        if is_right {
            return Ok(tool.name.clone());
        }
        let message = format!(
            "the name {:?} cannot be written in the format {}, which has {right}",
            tool.name, self.family.name
        );
        Err(TagError::malformed(&tool.at, message))
    }

    /// A tool's name as a call has it.
    fn name(&self, tool: &Tool, form: NameForm) -> Result<String, TagError> {
        let name = &tool.name;
        match form {
            NameForm::Json => {
                let quoted = Value::from(name.as_str()).to_string();
                Ok(quoted[1..quoted.len() - 1].to_owned())
            }
            NameForm::Plain => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
                let is_right = name.chars().all(is_plain);
                self.name_if(is_right, tool, "names of letters, digits and `_-.:/`")
            }
            NameForm::Word => {
                let is_word = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
                self.name_if(name.chars().all(is_word), tool, "names of letters, digits and `_-.`")
            }
            NameForm::Python => self.name_if(is_python_name(name), tool, "names of functions in Python"),
            NameForm::DottedPython => {
                let is_right = name.split('.').all(is_python_name);
                self.name_if(is_right, tool, "names of functions in Python, with dots between them")
            }
        }
    }
}

/// What stands beside the calls or in them.
fn around(part: &Part) -> Value {
    match part {
        Part::Text(text) => string(text),
        Part::Regex(pattern) => json!({"type": "regex", "pattern": pattern}),
        Part::Id(pattern) => json!({"type": "regex", "pattern": pattern, REGION: "id"}),
        Part::Optional(parts) => optional(sequence(parts.iter().map(around).collect())),
        Part::Choice(rows) => {
            choice(rows.iter().map(|parts| sequence(parts.iter().map(around).collect())).collect())
        }
        // Only the forms of calls have these.
        Part::Name(_) | Part::Arguments(_) | Part::Input(()) => string(""),
    }
}

/// Takes what the layout noted out of a tag, by the places of the formats.
pub(crate) fn take_notes(part: &mut Value, at: String, notes: &mut HashMap<String, Note>) {
    match part {
        Value::Object(fields) => {
            let owner = fields.remove(OWNER);
            let note = match fields.remove(REGION).as_ref().and_then(Value::as_str) {
                Some("text") => Some(Note::Text),
                Some("reasoning") => Some(Note::Reasoning),
                Some("mark") => Some(Note::Mark),
                Some(_) => Some(Note::Id),
                None => owner.and_then(|owner| owner.as_u64()).map(|owner| Note::OfTool(owner as usize)),
            };
            notes.extend(note.map(|note| (at.clone(), note)));
            // A schema is not the layout's.
            let inner = fields.iter_mut().filter(|(name, _)| *name != "json_schema");
            inner.for_each(|(name, field)| take_notes(field, format!("{at}/{name}"), notes));
        }
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(i, item)| take_notes(item, format!("{at}/{i}"), notes));
        }
        _ => {}
    }
}

/// Writes the names of the tools that the formats of arguments belong to in the place of their numbers, and
/// takes other notes out.
pub(crate) fn name_owners(part: &mut Value, tools: &[Tool]) {
    match part {
        Value::Object(fields) => {
            fields.remove(REGION);
            let owner = fields.remove(OWNER).and_then(|owner| owner.as_u64());
            let tool = owner.and_then(|at| tools.get(at as usize));
            if let Some(tool) = tool.filter(|_| !fields.contains_key("begin")) {
                fields.insert(OWNER.to_owned(), json!(tool.name));
            }
            let inner = fields.iter_mut().filter(|(name, _)| *name != "json_schema");
            inner.for_each(|(_, field)| name_owners(field, tools));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_owners(item, tools)),
        _ => {}
    }
}

fn choice(elements: Vec<Value>) -> Value {
    json!({"type": "or", "elements": elements})
}

fn optional(content: Value) -> Value {
    json!({"type": "optional", "content": content})
}

fn string(text: &str) -> Value {
    json!({"type": "const_string", "value": text})
}

/// A string that the text after it could begin with as well.
fn mark(text: &str) -> Value {
    json!({"type": "const_string", "value": text, REGION: "mark"})
}

/// The parts one after the other, without those that are empty.
fn sequence(parts: Vec<Value>) -> Value {
    let mut parts: Vec<Value> = parts.into_iter().filter(|part| *part != string("")).collect();
    match parts.len() {
        0 => string(""),
        1 => parts.swap_remove(0),
        _ => json!({"type": "sequence", "elements": parts}),
    }
}
