//! What to tell a model that is to write a text of a grammar.
//!
//! A model that is not told what is expected wants to write something else, and a mask only forbids that. The
//! text made here goes into the prompt: what the grammar allows, in a notation that models know, and a short
//! example that the grammar accepts.

mod example;
mod short;

use std::fmt::Write as _;

use maskwright_json_schema::Style;
use maskwright_tags::callable_tools;
use serde_json::Value;

use crate::Error;
use crate::describe::example::example;
use crate::describe::short::{json, short};
use crate::source::{GrammarSource, Notation};

/// Of longer choices, so many are listed.
const MAX_LISTED: usize = 100;

/// What to tell a model in the prompt, so that it wants to write a text of this grammar: the schema in
/// short, the grammar, or the tools and how a call of them is written. It is in English.
///
/// `has_example`: whether a short text that the grammar accepts follows. `None` leaves it out after a
/// schema, a pattern or choices, which say it all: a small model copies the values of an example. Takes
/// time in the source, which is compiled for single bytes if there is an example.
///
/// # Errors
/// If the source cannot be compiled.
///
/// ```
/// use maskwright::{GrammarSource, describe};
/// let schema = r#"{"type": "object", "properties": {
///     "age": {"type": "integer", "minimum": 0, "description": "in years"},
///     "born": {"type": "string", "format": "date"}
/// }, "required": ["age"], "additionalProperties": false}"#;
/// let schema = GrammarSource::json_schema(schema, Default::default());
/// let expected = r#"Answer only with JSON of this type (? marks what may be left out):
///
/// {
///   "age": integer, // at least 0; in years
///   "born"?: string // date
/// }
///
/// For example:
///
/// {"age":1,"born":"2026-01-31"}"#;
/// assert_eq!(describe(&schema, Some(true))?, expected);
/// assert_eq!(
///     describe(&GrammarSource::choice(["yes", "no"]), None)?,
///     "Answer only with one of these texts:\n\nyes\nno"
/// );
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn describe(source: &GrammarSource, has_example: Option<bool>) -> Result<String, Error> {
    let mut text = match &source.notation {
        Notation::Choice(choices) => {
            let listed = choices[..choices.len().min(MAX_LISTED)].join("\n");
            let more = if choices.len() > MAX_LISTED { "\n…" } else { "" };
            return Ok(format!("Answer only with one of these texts:\n\n{listed}{more}"));
        }
        Notation::Regex { pattern, .. } => {
            format!("Answer only with a text that this regular expression matches:\n\n{pattern}")
        }
        Notation::Gbnf(grammar) => of_rules("GBNF", "root", grammar),
        Notation::Lark { text, options } => of_rules("Lark", &options.start, text),
        Notation::Built(grammar) => of_rules("BNF", "the first", &grammar.to_string()),
        Notation::Builtin(name) => of_builtin(name),
        Notation::JsonSchema { text, config } => {
            let form = if config.style == Style::Json { "JSON" } else { "arguments" };
            format!("Answer only with {form} of this type{}", of_type(&json(text)))
        }
        Notation::StructuralTag { text, .. } => of_tag(&json(text)),
        Notation::ToolCalls { tools, options, .. } => {
            let tools = callable_tools(tools, options)?;
            if tools.is_empty() {
                return Ok("Answer with text; no tool can be called.".to_owned());
            }
            let mut text = String::from("You can call these tools:\n\n");
            for tool in &tools {
                let about = tool.description.iter().flat_map(|about| [": ", about.trim()]);
                let _ = writeln!(text, "{}{}", tool.name, about.collect::<String>());
                let _ = match &tool.grammar {
                    Some(grammar) => {
                        writeln!(text, "takes a text of this grammar:\n{}\n", grammar.trim())
                    }
                    None => writeln!(text, "takes {}\n", short(&tool.parameters)),
                };
            }
            let is_free = options.tool_choice == "auto";
            text + if is_free { "To call a tool, write:" } else { "Answer with a call of a tool." }
        }
    };
    let says_all = matches!(source.notation, Notation::Regex { .. } | Notation::JsonSchema { .. });
    let says_how = text.ends_with("write:");
    if has_example.unwrap_or(!says_all)
        && let Some(example) = example(source)?
    {
        let _ = write!(text, "\n\n{}{example}", if says_how { "" } else { "For example:\n\n" });
    }
    Ok(text)
}

fn of_rules(notation: &str, start: &str, rules: &str) -> String {
    format!(
        "Answer only with a text of this grammar, in {notation} notation; the start rule is {start}:\n\n{}",
        rules.trim()
    )
}

fn of_builtin(name: &str) -> String {
    let what = match name {
        "arithmetic" => "an arithmetic expression",
        "cpp" => "a program in C++",
        "json" => "JSON",
        "python" => "a program in Python",
        "smiles" => "a molecule in SMILES notation",
        "sql" => "a statement in SQL",
        name => name,
    };
    format!("Answer only with {what}.")
}

/// A type after a word, with what its marks mean.
fn of_type(schema: &Value) -> String {
    let short = short(schema);
    let legend = if short.contains("\"?: ") { " (? marks what may be left out)" } else { "" };
    format!("{legend}:\n\n{short}")
}

/// The marks of a structural tag, and what stands between them.
fn of_tag(tag: &Value) -> String {
    let mut marks = Vec::new();
    let mut work = vec![tag];
    while let Some(value) = work.pop() {
        let schema = value.get("json_schema").map(short);
        if let (Some(begin), Some(content)) = (value.get("begin"), value.get("content")) {
            let end = value.get("end").unwrap_or(&Value::Null);
            let end = end.get(0).unwrap_or(end);
            let inner = content.get("json_schema").map_or_else(|| "…".to_owned(), short);
            marks.push(format!("{}{inner}{}", mark(begin), mark(end)));
            if content.get("json_schema").is_some() {
                continue;
            }
        }
        if let Some(schema) = schema {
            marks.push(schema);
            continue;
        }
        // The last comes first off the stack.
        match value {
            Value::Array(items) => work.extend(items.iter().rev()),
            Value::Object(members) => work.extend(members.values().rev()),
            _ => {}
        }
    }
    marks.dedup();
    format!("The answer may have these parts, with their marks:\n\n{}", marks.join("\n\n"))
}

/// A mark: a text, or the name of a token.
fn mark(given: &Value) -> &str {
    given.as_str().or_else(|| given.get("token")?.as_str()).unwrap_or_default()
}
