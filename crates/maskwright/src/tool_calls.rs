//! How families of models write calls of tools: the options of
//! [`GrammarSource::tool_calls`](crate::GrammarSource::tool_calls).

/// What a tool costs whose schema cannot be enforced.
///
/// # Example: the tool is left out
///
/// ```
/// use maskwright::tool_calls::{OnError, ToolCallOptions};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let tools = r#"[{"name": "now"}, {"name": "draw", "inputSchema": {"properties": {"at": {"pattern": "(a)\\1"}}}}]"#;
/// let mut options = ToolCallOptions::new("qwen_3");
/// let source = GrammarSource::tool_calls(tools, options.clone(), Default::default());
/// assert!(compiler.compile(&source, &CompileOptions::default()).is_err(), "no pattern has backreferences");
/// options.on_error = OnError::LeaveOut;
/// let source = GrammarSource::tool_calls(tools, options, Default::default());
/// let grammar = compiler.compile(&source, &CompileOptions::default())?;
/// assert!(grammar.matcher().accept_bytes(b"<tool_call>\n{\"name\": \"now\"")?);
/// assert!(!grammar.matcher().accept_bytes(b"<tool_call>\n{\"name\": \"draw\"")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: its arguments are any object, and the report says so
///
/// ```
/// use maskwright::tool_calls::{OnError, ToolCallOptions};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let tools = r#"[{"name": "draw", "inputSchema": {"properties": {"at": {"pattern": "(a)\\1"}}}}]"#;
/// let mut options = ToolCallOptions::new("qwen_3");
/// options.on_error = OnError::AnyJson;
/// let source = GrammarSource::tool_calls(tools, options, Default::default());
/// let grammar = compiler.compile(&source, &CompileOptions::default())?;
/// assert!(grammar.matcher().accept_bytes(b"<tool_call>\n{\"name\": \"draw\", \"arguments\": {\"at\": 5}}")?);
/// assert!(!grammar.report().unwrap().is_complete());
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_tags::OnError;
/// When a message has reasoning before its text and calls.
///
/// # Example: the model chooses
///
/// ```
/// use maskwright::tool_calls::{Reasons, ToolCallOptions};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut options = ToolCallOptions::new("qwen_3");
/// options.reasoning = Reasons::Maybe;
/// let source = GrammarSource::tool_calls(r#"[{"name": "now"}]"#, options, Default::default());
/// let grammar = compiler.compile(&source, &CompileOptions::default())?;
/// let message = grammar.parse(b"<think>\nEasy.\n</think>\n\nIt is noon.")?;
/// assert_eq!((message.reasoning.trim(), message.text.trim()), ("Easy.", "It is noon."));
/// assert!(grammar.parse(b"It is noon.")?.reasoning.is_empty());
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: the prompt has begun it
///
/// ```
/// use maskwright::tool_calls::{Reasons, ToolCallOptions};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let mut options = ToolCallOptions::new("qwen_3");
/// options.reasoning = Reasons::Open;
/// let source = GrammarSource::tool_calls(r#"[{"name": "now"}]"#, options, Default::default());
/// let grammar = compiler.compile(&source, &CompileOptions::default())?;
/// let message = grammar.parse(b"Easy.\n</think>\n\nIt is noon.")?;
/// assert_eq!((message.reasoning.trim(), message.text.trim()), ("Easy.", "It is noon."));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_tags::Reasons;
pub use maskwright_tags::{
    ToolCallOptions, ToolFormat, formats_of_template, template_opens_reasoning, tool_formats,
};
