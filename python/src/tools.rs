//! Tools that a model may call, and how it calls them, as arguments.

use maskwright::tool_calls::{OnError, Reasons, ToolCallOptions};
use pyo3::prelude::*;

use crate::arguments::{GrammarText, OfCall, Text};
use crate::errors::invalid;
use crate::tokenizer::Tokenizer;

/// The tools as JSON text, and the options of their calls. What is None is found from the chat template of
/// the tokenizer.
pub(crate) fn request(
    tools: &Bound<'_, PyAny>,
    format: Option<Text<OfCall>>,
    tool_choice: Option<&Bound<'_, PyAny>>,
    reasoning: Option<&Bound<'_, PyAny>>,
    tokenizer: &Py<Tokenizer>,
) -> PyResult<(GrammarText, ToolCallOptions)> {
    let module = tools.py().import("maskwright._tools")?;
    let (tools, tool_choice): (GrammarText, String) =
        module.call_method1("request", (tools, tool_choice))?.extract()?;
    let format = match format {
        Some(format) => format.0,
        None => module.call_method1("format_of", (tokenizer,))?.extract()?,
    };
    let reasoning = module.call_method1("reasoning", (reasoning, &*format, tokenizer))?;
    let mut options = ToolCallOptions::new(format);
    options.tool_choice = tool_choice;
    options.reasoning = match reasoning.extract()? {
        "always" => Reasons::Always,
        "auto" => Reasons::Maybe,
        "open" => Reasons::Open,
        _ => Reasons::Never,
    };
    Ok((tools, options))
}

/// What becomes of a tool that cannot be compiled.
pub(crate) fn on_error(given: &str) -> PyResult<OnError> {
    match given {
        "raise" => Ok(OnError::Raise),
        "leave_out" => Ok(OnError::LeaveOut),
        "any_json" => Ok(OnError::AnyJson),
        other => {
            Err(invalid(format!("on_error is {other:?}, expected \"raise\", \"leave_out\" or \"any_json\"")))
        }
    }
}
