//! A whole message, put together from its events.

use super::{Capture, Event};

/// What a whole text says.
///
/// # Example: a call of a tool
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// use maskwright::tool_calls::ToolCallOptions;
/// let compiler = Compiler::new(&Tokenizer::from_tokens(vec![b"</s>".to_vec()], &[TokenId(0)])?);
/// let tools = r#"[{"name": "get_weather", "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}]"#;
/// let source = GrammarSource::tool_calls(tools, ToolCallOptions::new("qwen_3"), Default::default());
/// let grammar = compiler.compile(&source, &CompileOptions::default())?;
/// let text = "I'll look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";
/// let message = grammar.parse(text.as_bytes())?;
/// assert_eq!(message.text, "I'll look.\n");
/// assert_eq!((&*message.calls[0].name, &*message.calls[0].arguments), ("get_weather", r#"{"city":"Rome"}"#));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: a value
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let schema = GrammarSource::json_schema(r#"{"type": "array"}"#, Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&schema, &CompileOptions::default())?;
/// let message = grammar.parse(b"[1, {\"a\": null}]")?;
/// assert_eq!(message.value.as_deref(), Some(r#"[1,{"a":null}]"#));
/// assert!(message.text.is_empty() && message.calls.is_empty());
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Message {
    /// The free text.
    pub text: String,
    /// The reasoning.
    pub reasoning: String,
    /// The calls, in the order of the text.
    pub calls: Vec<ToolCall>,
    /// The value of a JSON Schema, as compact JSON.
    pub value: Option<String>,
    /// The texts of captured rules, in the order of their beginnings.
    pub captures: Vec<Capture>,
}

/// A call of a tool.
///
/// # Example: the name and the arguments
///
/// ```
/// use maskwright::tool_calls::ToolCallOptions;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let tools = r#"[{"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}}]"#;
/// let source = GrammarSource::tool_calls(tools, ToolCallOptions::new("mistral_v13"), Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;
/// let message = grammar.parse(br#"[TOOL_CALLS]add[ARGS]{"a": 1}"#)?;
/// assert_eq!((&*message.calls[0].name, &*message.calls[0].arguments), ("add", r#"{"a":1}"#));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: a custom tool, which takes a text
///
/// ```
/// use maskwright::tool_calls::ToolCallOptions;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let tools = r#"[{"type": "custom", "name": "dial",
///     "format": {"type": "grammar", "syntax": "regex", "definition": "\\+[0-9]{6,15}"}}]"#;
/// let source = GrammarSource::tool_calls(tools, ToolCallOptions::new("gpt_oss"), Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;
/// let message = grammar.parse(b"<|channel|>commentary to=functions.dial<|message|>+4912345<|call|>")?;
/// assert_eq!(message.calls[0].input.as_deref(), Some("+4912345"));
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct ToolCall {
    /// The tool.
    pub name: String,
    /// The id that the model gave the call, if it gave one.
    pub id: Option<String>,
    /// The arguments, as compact JSON; empty of a custom tool.
    pub arguments: String,
    /// What a custom tool is given.
    pub input: Option<String>,
}

impl Message {
    /// The message that the events tell, as far as they go.
    pub fn of(events: &[Event]) -> Message {
        let mut message = Message::default();
        for event in events {
            match event {
                Event::Text { delta, .. } => message.text.push_str(delta),
                Event::Reasoning { delta } => message.reasoning.push_str(delta),
                Event::Tool { name, id, .. } => {
                    let call = ToolCall { name: name.clone(), id: id.clone(), ..ToolCall::default() };
                    message.calls.push(call);
                }
                Event::Argument { index: None, json, .. } => {
                    message.value.get_or_insert_default().push_str(json);
                }
                Event::Argument { index: Some(index), json, .. } => {
                    if let Some(call) = message.calls.get_mut(*index) {
                        call.arguments.push_str(json);
                    }
                }
                Event::Input { index, delta } => {
                    if let Some(call) = message.calls.get_mut(*index) {
                        call.input.get_or_insert_default().push_str(delta);
                    }
                }
                Event::End { index, id } => {
                    let call = index.and_then(|index| message.calls.get_mut(index));
                    if let (Some(call), Some(_)) = (call, id) {
                        call.id.clone_from(id);
                    }
                }
            }
        }
        message
    }
}
