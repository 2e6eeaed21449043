//! Tools: their list becomes a grammar, the model writes a call, events tell it as it is written, and the
//! call is carried out.
//!
//! `cargo run -p maskwright --example tool_calls`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod stand_in;

use std::error::Error;

use maskwright::tool_calls::ToolCallOptions;
use maskwright::{CompileOptions, Compiler, Event, GrammarSource, TokenId, mask_words};
use serde_json::Value;
use stand_in::StandIn;

/// As MCP's `tools/list` gives them; OpenAI's and Anthropic's forms are read too.
const TOOLS: &str = r#"[{
    "name": "add",
    "description": "Adds numbers",
    "inputSchema": {
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "integer"}, "minItems": 2}},
        "required": ["numbers"],
        "additionalProperties": false
    }
}]"#;

const QUESTION: &str = "What is 19 + 23?\n";

/// What the model would like to say after the question. There is no tool of that name.
const SCRIPT: &str = r#"19 + 23?
Let me add these.
<tool_call>
{"name": "sum", "arguments": {"numbers": [19, 23]}}
</tool_call>"#;

/// What the tool does.
fn add(arguments: &Value) -> i64 {
    arguments["numbers"].as_array().into_iter().flatten().filter_map(Value::as_i64).sum()
}

/// Writes one message with a call, and carries it out.
pub fn main() -> Result<(), Box<dyn Error>> {
    let tokenizer = stand_in::bytes()?;
    let model = StandIn::new(SCRIPT);
    // The format is that of the model's family. `formats_of_template` finds it from a chat template.
    let source = GrammarSource::tool_calls(TOOLS, ToolCallOptions::new("qwen_3"), Default::default());
    let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;

    let mut matcher = grammar.matcher();
    let mut events = grammar.events()?;
    let mut n_told = 0;
    let mut mask = vec![0; mask_words(tokenizer.n_vocab())];
    let mut ids: Vec<TokenId> = tokenizer.encode(QUESTION)?;
    let n_prompt = ids.len();
    while !matcher.is_terminated() {
        let logits = model.logits(&ids);
        matcher.fill_mask(&mut mask)?;
        let token = stand_in::likeliest(&logits, &mask);
        assert!(matcher.accept_token(token)?);
        ids.push(token);
        // What the text says so far; what was told stays as it is.
        let all = events.of(&matcher)?;
        for event in &all[n_told..] {
            match event {
                Event::Text { delta, .. } => print!("{delta}"),
                Event::Tool { name, .. } => print!("[{name} "),
                Event::Argument { json, .. } => print!("{json}"),
                Event::End { index: Some(_), .. } => println!("]"),
                _ => {}
            }
        }
        n_told = all.len();
    }

    // The whole message, read by the same grammar.
    let message = grammar.parse_tokens(&ids[n_prompt..])?;
    let [call] = &message.calls[..] else { return Err("expected one call".into()) };
    let result = add(&serde_json::from_str(&call.arguments)?);
    println!("{}({}) = {result}", call.name, call.arguments);
    assert_eq!((&*call.name, &*call.arguments), ("add", r#"{"numbers":[19,23]}"#));
    assert_eq!((&*message.text, result), ("Let me add these.\n", 42));
    Ok(())
}
