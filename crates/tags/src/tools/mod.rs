//! Calls of tools, in the format of each family of models: from a request's list of tools to a structural
//! tag.
//!
//! request → [`Tool`]s and a [`Choice`]; a [`Family`] lays them out as a tag; the tag is compiled like any
//! other. Schemas keep the place that they have in the request, so errors and reports name it and the tool.

mod argument;
mod custom;
mod family;
mod layout;
mod request;

use std::collections::HashMap;

use maskwright_automata::Fuel;
use maskwright_grammar::SpecialNames;
use maskwright_json_schema::{Report, SchemaConfig, Status, Style, parse_json};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::argument::argument_path;
pub(crate) use self::custom::{ToolText, tool_text};
use self::family::{Family, families};
use self::layout::Note;
use self::request::{Choice, HowOften, LeftOut, Tool, read_choice, read_tools, unknown};
use crate::format::{Format, Kind};
use crate::region::{Region, Regions};
use crate::{CompiledTag, LabelledTag, TagError, compile_with};

/// How a model calls tools.
///
/// # Example: one call, which must be there
///
/// ```
/// # mod maskwright { pub use maskwright_tags as tool_calls; }
/// use maskwright::tool_calls::ToolCallOptions;
/// let mut options = ToolCallOptions::new("qwen_3");
/// options.tool_choice = "required".to_owned();
/// options.is_parallel = false;
/// ```
///
/// # Example: text, calls and reasoning
///
/// ```
/// # mod maskwright { pub use maskwright_tags as tool_calls; }
/// use maskwright::tool_calls::{Reasons, ToolCallOptions};
/// let mut options = ToolCallOptions::new("qwen_3");
/// assert!(options.tool_choice == "auto" && options.is_parallel && options.has_text);
/// options.reasoning = Reasons::Maybe;
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCallOptions {
    /// The name of the format: one of [`tool_formats`].
    pub format: String,
    /// Which tools may be called and whether one must be: `auto` (the default), `none`, `required`, the name
    /// of a tool, or the JSON of an object of OpenAI's or Anthropic's interfaces.
    pub tool_choice: String,
    /// Whether a message may have several calls, if the family can write them. On by default.
    pub is_parallel: bool,
    /// Whether the model reasons first. Off by default.
    pub reasoning: Reasons,
    /// Whether a message with calls may have text beside them, if the family can write it. On by default.
    pub has_text: bool,
    /// What becomes of a tool whose schema cannot be compiled or enforced.
    pub on_error: OnError,
}

impl ToolCallOptions {
    /// The usual options, in a format.
    pub fn new(format: impl Into<String>) -> ToolCallOptions {
        ToolCallOptions {
            format: format.into(),
            tool_choice: "auto".to_owned(),
            is_parallel: true,
            reasoning: Reasons::Never,
            has_text: true,
            on_error: OnError::Raise,
        }
    }
}

impl ToolCallOptions {
    /// The options, with what the choice says besides which tools may be called.
    fn for_choice(&self, choice: &Choice) -> ToolCallOptions {
        ToolCallOptions { is_parallel: self.is_parallel && !choice.is_one, ..self.clone() }
    }
}

/// Whether a message begins with reasoning.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Reasons {
    /// It does not.
    #[default]
    Never,
    /// It does: the text begins where the family's own chat template ends its prompt.
    Always,
    /// The model chooses.
    Maybe,
    /// It does, and the prompt has opened the reasoning: the text begins within
    /// ([`template_opens_reasoning`]).
    Open,
}

impl Reasons {
    /// Whether the message has reasoning in any case.
    fn is_certain(self) -> bool {
        matches!(self, Reasons::Always | Reasons::Open)
    }
}

/// What becomes of a tool whose schema cannot be compiled or enforced.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum OnError {
    /// The whole is an error.
    #[default]
    Raise,
    /// The tool cannot be called.
    LeaveOut,
    /// Its arguments are any JSON object. A tool that cannot be written so either cannot be called.
    AnyJson,
}

/// A format in which a family of models writes calls.
///
/// # Example: all of them
///
/// ```
/// # mod maskwright { pub use maskwright_tags as tool_calls; }
/// use maskwright::tool_calls::tool_formats;
/// for format in tool_formats() {
///     println!("{}: {}", format.name, format.models.join(", "));
/// }
/// assert!(tool_formats().any(|format| format.name == "qwen_3"));
/// ```
///
/// # Example: the one of a chat template
///
/// ```
/// # mod maskwright { pub use maskwright_tags as tool_calls; }
/// use maskwright::tool_calls::formats_of_template;
/// let template = "{% for call in message.tool_calls %}[TOOL_CALLS]{{ call.name }}[ARGS]{{ call.arguments }}{% endfor %}";
/// assert!(formats_of_template(template).contains(&"mistral_v13"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolFormat {
    /// What it is called.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [String],
    /// Models that write so.
    pub models: &'static [String],
    /// What its description was written from, with versions.
    pub sources: &'static [String],
    /// Why no message of a chat template was at hand to check the description with; `None` if some were.
    pub unrendered: Option<&'static str>,
}

/// All formats, in the order of their names.
pub fn tool_formats() -> impl ExactSizeIterator<Item = ToolFormat> {
    families().iter().map(|family| ToolFormat {
        name: &family.name,
        aliases: &family.aliases,
        models: &family.models,
        sources: &family.sources,
        unrendered: family.unrendered.as_deref(),
    })
}

/// The formats of which a chat template may be.
pub fn formats_of_template(template: &str) -> Vec<&'static str> {
    let fitting = families().iter().filter(|family| family.has_template(template));
    fitting.map(|family| &*family.name).collect()
}

/// Whether the prompt that a chat template makes may end within the reasoning of a format: as far as its text
/// shows, it writes the mark that begins the reasoning last, where it asks for an answer. False for formats
/// that are not known.
///
/// ```
/// # mod maskwright { pub use maskwright_tags as tool_calls; }
/// use maskwright::tool_calls::template_opens_reasoning;
/// let template = "...{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}";
/// assert!(template_opens_reasoning("qwen_3", template));
/// let template = "...{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
/// assert!(!template_opens_reasoning("qwen_3", template));
/// ```
pub fn template_opens_reasoning(format: &str, template: &str) -> bool {
    family(format).is_ok_and(|family| family.opens_reasoning(template))
}

/// Compiles the messages in which a model may call `tools`: a list in OpenAI's, Anthropic's or MCP's form, or
/// an object that has one under `tools`. `config` is for the schemas of the arguments. Pointers of the report
/// are in `tools`; for a tool that is left out or takes any JSON, an entry says why.
///
/// # Errors
/// If the tools, the choice or an option is wrong, the format is not known, or a schema cannot be compiled;
/// with the JSON pointer of the place in `tools`.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_tags::{ToolCallOptions, compile_tool_calls};
/// let tools = r#"[{"name": "now", "inputSchema": {"type": "object", "additionalProperties": false}}]"#;
/// let options = ToolCallOptions::new("qwen_3");
/// let compiled = compile_tool_calls(tools, &options, &Default::default(), &Default::default(), &Fuel::unlimited())?;
/// assert!(compiled.report.is_complete());
/// # Ok::<(), maskwright_tags::TagError>(())
/// ```
pub fn compile_tool_calls(
    tools: &str,
    options: &ToolCallOptions,
    config: &SchemaConfig,
    special: &SpecialNames,
    fuel: &Fuel,
) -> Result<CompiledTag, TagError> {
    Ok(compile_calls(tools, options, config, special, false, fuel)?.0)
}

/// The same messages as a grammar with labels around its regions.
///
/// # Errors
/// As [`compile_tool_calls`].
pub fn compile_labelled_calls(
    tools: &str,
    options: &ToolCallOptions,
    config: &SchemaConfig,
    special: &SpecialNames,
    fuel: &Fuel,
) -> Result<LabelledTag, TagError> {
    let (tag, regions) = compile_calls(tools, options, config, special, true, fuel)?;
    Ok(LabelledTag { grammar: tag.grammar, regions })
}

fn compile_calls(
    tools: &str,
    options: &ToolCallOptions,
    config: &SchemaConfig,
    special: &SpecialNames,
    has_labels: bool,
    fuel: &Fuel,
) -> Result<(CompiledTag, Regions), TagError> {
    let Request { family, tools, left_out, choice } = read(tools, options).map_err(TagError::in_tools)?;
    let options = &options.for_choice(&choice);
    let how = choice.how;
    let compile = |tools: &[Tool], fuel: &Fuel| {
        let tag = layout::layout(family, tools, how, options)?;
        compile_once(tag, family, tools, config, special, has_labels, fuel)
    };
    let mut request = Faulty { tools, faults: Vec::new(), on_error: options.on_error, how };
    let (mut supply, mut was_shared, mut was_divided) = (None, false, false);
    loop {
        let error = match compile(&request.tools, supply.as_ref().unwrap_or(fuel)) {
            Ok((mut compiled, regions)) => {
                note_tools(&mut compiled.report, &request, left_out);
                return Ok((compiled, regions));
            }
            Err(error) => error,
        };
        let is_raised = options.on_error == OnError::Raise && !error.is_limit();
        let is_known = if error.is_limit() { was_divided } else { was_shared };
        if is_raised || is_known || error.is_cancelled() {
            request.blame(error)?;
            continue;
        }
        // Each tool alone: one compilation finds all that are at fault. Where all take too much work
        // together, each gets an equal part of it, so that the one which takes the most is found.
        supply = Some(fuel.renewed(1));
        let shared = (!error.is_limit()).then(|| fuel.renewed(1));
        (was_shared, was_divided) = (was_shared || shared.is_some(), was_divided || shared.is_none());
        let tools = request.tools.clone();
        let n_faults = request.faults.len();
        for tool in &tools {
            let part = fuel.renewed(tools.len() as u64);
            match compile(std::slice::from_ref(tool), shared.as_ref().unwrap_or(&part)) {
                Err(fault) if shared.is_some() && fault.is_limit() => break,
                Err(fault) => request.blame(fault)?,
                Ok(_) => {}
            }
        }
        if request.faults.len() == n_faults {
            request.blame(error)?;
        }
    }
}

/// The structural tag of the messages that [`compile_tool_calls`] compiles, as it is before tools are left
/// out: what stands before and after each call. The formats of arguments have the name of their tool as
/// `tool`.
///
/// # Errors
/// If the tools, the choice or an option is wrong, or the format is not known.
pub fn tool_call_tag(tools: &str, options: &ToolCallOptions) -> Result<Value, TagError> {
    let Request { family, tools, choice, .. } = read(tools, options).map_err(TagError::in_tools)?;
    let mut tag = layout::layout(family, &tools, choice.how, &options.for_choice(&choice))?;
    layout::name_owners(&mut tag, &tools);
    Ok(tag)
}

/// A tool that a model may call, for a prompt.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallableTool {
    /// Its name.
    pub name: String,
    /// What it is for, in the words of the request.
    pub description: Option<String>,
    /// A JSON Schema of its arguments; of a custom tool, of its text.
    pub parameters: Value,
    /// The grammar of a custom tool's text.
    pub grammar: Option<String>,
}

/// The tools of a request that may be called; none if its choice is that none is.
///
/// # Errors
/// As [`tool_call_tag`].
pub fn callable_tools(tools: &str, options: &ToolCallOptions) -> Result<Vec<CallableTool>, TagError> {
    let document = parse_json(tools, "tools").map_err(TagError::not_json)?;
    let Request { mut tools, choice, .. } = read(tools, options).map_err(TagError::in_tools)?;
    if choice.how == HowOften::Never {
        tools.clear();
    }
    let description = |tool: &Tool| {
        let places = ["/description", "/function/description", "/custom/description"];
        let given = places.iter().find_map(|place| document.pointer(&format!("{}{place}", tool.at)));
        given.and_then(Value::as_str).map(str::to_owned)
    };
    let callable = |tool: Tool| CallableTool {
        description: description(&tool),
        parameters: tool.schema(),
        grammar: tool.grammar().map(|grammar| grammar.definition.clone()),
        name: tool.name,
    };
    Ok(tools.into_iter().map(callable).collect())
}

/// A request, without the tools that were found to be at fault.
struct Faulty {
    tools: Vec<Tool>,
    faults: Vec<(Tool, TagError)>,
    on_error: OnError,
    how: HowOften,
}

impl Faulty {
    /// Leaves out the tool of an error, or its schema. The error, if that is not asked for or not possible.
    fn blame(&mut self, error: TagError) -> Result<(), TagError> {
        let Some(faulty) = self.tools.iter().position(|tool| tool.has(error.pointer())) else {
            return Err(error.in_tools());
        };
        let tool = self.tools[faulty].clone();
        let error = error.in_tool(&tool.name, &tool.schema_at);
        let is_last = self.tools.len() == 1 && self.how == HowOften::Required;
        match self.on_error {
            OnError::AnyJson if tool.is_strict => self.tools[faulty].is_strict = false,
            OnError::Raise => return Err(error),
            // A call is required, and none would be left.
            OnError::LeaveOut | OnError::AnyJson if is_last => return Err(error),
            OnError::LeaveOut | OnError::AnyJson => drop(self.tools.remove(faulty)),
        }
        self.faults.push((tool, error));
        Ok(())
    }
}

/// What is asked for.
struct Request {
    family: &'static Family,
    /// The tools that may be called.
    tools: Vec<Tool>,
    left_out: Vec<LeftOut>,
    choice: Choice,
}

fn read(tools: &str, options: &ToolCallOptions) -> Result<Request, TagError> {
    let family = family(&options.format)?;
    let tools = parse_json(tools, "tools").map_err(TagError::not_json)?;
    let (mut tools, left_out) = read_tools(&tools, options.on_error)?;
    let choice = match options.tool_choice.starts_with('{') {
        true => parse_json(&options.tool_choice, "tool_choice").map_err(TagError::not_json)?,
        false => Value::from(options.tool_choice.as_str()),
    };
    let choice = read_choice(&choice, &tools)?;
    if let Some(names) = &choice.names {
        tools.retain(|tool| names.contains(&tool.name));
    }
    Ok(Request { family, tools, left_out, choice })
}

/// Names the tools of a report, and adds those that are not enforced.
fn note_tools(report: &mut Report, request: &Faulty, left_out: Vec<LeftOut>) {
    for (at, error) in left_out {
        let keyword = error.pointer().strip_prefix(&*at).and_then(|rest| rest.split('/').next_back());
        let keyword = keyword.filter(|keyword| !keyword.is_empty()).unwrap_or("type").to_owned();
        if let Some(name) = error.tool() {
            report.name_tool(&at, name);
        }
        report.add(&at, &keyword, Status::NotEnforced { reason: error.to_string().into() });
    }
    for (tool, error) in &request.faults {
        report.name_tool(&tool.at, &tool.name);
        let (place, keyword) = tool.schema_at.rsplit_once('/').unwrap_or(("", &tool.schema_at));
        report.add(place, keyword, Status::NotEnforced { reason: error.to_string().into() });
    }
    for tool in &request.tools {
        report.name_tool(&tool.at, &tool.name);
    }
}

fn compile_once(
    mut tag: Value,
    family: &'static Family,
    tools: &[Tool],
    config: &SchemaConfig,
    special: &SpecialNames,
    has_labels: bool,
    fuel: &Fuel,
) -> Result<(CompiledTag, Regions), TagError> {
    let mut notes = HashMap::new();
    layout::take_notes(&mut tag, String::new(), &mut notes);
    let show = |format: &mut Format<'_>| adjust(format, family, tools, &notes);
    compile_with(&tag, config, special, has_labels, fuel, show)
}

/// Sets where messages locate each schema in the request, and what structural tags cannot express.
fn adjust(format: &mut Format<'_>, family: &'static Family, tools: &[Tool], notes: &HashMap<String, Note>) {
    let show = |format: &mut Format<'_>| adjust(format, family, tools, notes);
    let note = notes.get(&format.at);
    let owner = note.and_then(|note| note.tool(tools));
    let is_json = matches!(format.kind, Kind::Schema(_));
    format.region = match (note, owner, &format.kind) {
        (Some(Note::Text), _, _) => Some(Region::Text(None)),
        (Some(Note::Reasoning), _, _) => Some(Region::Reasoning),
        (Some(Note::Id), _, _) => Some(Region::Id),
        (Some(Note::Mark), _, _) => Some(Region::Mark),
        (_, Some(tool), _) if tool.custom.is_some() => Some(Region::Input { is_json }),
        (_, Some(_), Kind::Schema(schema)) => Some(Region::Arguments(schema.style)),
        _ => None,
    };
    if let Some(grammar) = owner.and_then(Tool::grammar) {
        let ends_in_json = is_json.then(|| family.calls.end_marks());
        format.kind = Kind::ToolText(ToolText { grammar: grammar.clone(), ends_in_json });
        return;
    }
    match &mut format.kind {
        Kind::Schema(schema) => {
            schema.is_one_line = family.calls.is_one_line;
            if schema.style == Style::Json {
                schema.ends = family.calls.end_marks();
            }
            schema.shown_at = owner.map(|tool| tool.schema_at.clone());
        }
        Kind::AnyText(any) => any.is_up_to_end = true,
        Kind::Sequence(parts) | Kind::Choice(parts) => parts.iter_mut().for_each(show),
        Kind::Repeat { content, .. } => show(content),
        Kind::Tag(tag) => show(&mut tag.content),
        Kind::Separated(separated) => {
            separated.may_lack_space = family.calls.may_lack_space;
            for tag in &mut separated.tags {
                show(&mut tag.content);
                let tool = notes.get(&tag.at).and_then(|note| note.tool(tools));
                let schema = |tool: &Tool| tool.custom.is_none().then(|| tool.schema_at.clone());
                tag.region = tool.map(|tool| Region::Call {
                    name: tool.name.clone(),
                    schema: schema(tool),
                    n_before: 0,
                });
            }
        }
        _ => {}
    }
}

fn family(name: &str) -> Result<&'static Family, TagError> {
    if let Some(family) = families().iter().find(|family| family.is_called(name)) {
        return Ok(family);
    }
    let aliases = families().iter().flat_map(|family| family.aliases.iter());
    let names: Vec<&str> =
        families().iter().map(|family| &family.name).chain(aliases).map(String::as_str).collect();
    Err(unknown("/format", format!("no format of tool calls has the name {name:?}"), name, &names))
}
