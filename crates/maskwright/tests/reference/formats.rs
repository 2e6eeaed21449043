//! The formats of tool calls, with a message each.

use std::fmt::Write;
use std::sync::Arc;

use maskwright::tool_calls::{OnError, Reasons, ToolCallOptions, tool_formats};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Matcher, TokenId, Tokenizer,
};
use serde_json::{Value, json};

use crate::page::{self, Blocks, code, table};

/// One token for each byte, and one that ends texts.
pub(crate) fn bytes() -> Tokenizer {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let tokens = bytes.chain([b"(end of text)".to_vec()]).collect();
    Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap()
}

struct Format<'c> {
    compiler: &'c Compiler,
    name: &'static str,
}

impl Format<'_> {
    fn compile(
        &self,
        tools: &str,
        set: impl FnOnce(&mut ToolCallOptions),
    ) -> Result<Arc<CompiledGrammar>, Error> {
        let mut options = ToolCallOptions::new(self.name);
        set(&mut options);
        let source = GrammarSource::tool_calls(tools, options, Default::default());
        self.compiler.compile(&source, &CompileOptions::default())
    }

    /// What the library reads about the family.
    fn description(&self) -> Value {
        let path = page::path(&format!("crates/tags/families/{}.json", self.name));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// A message: the richest that a chat template of the family wrote, or one that the grammar completes.
    fn example(&self) -> (String, Vec<Value>) {
        let path = page::path(&format!("testdata/tools/{}.json", self.name));
        let Ok(recorded) = std::fs::read_to_string(path) else { return self.completed() };
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        let tools = std::fs::read_to_string(page::path("testdata/tools/tools.json")).unwrap();
        for name in ["text_and_two_calls", "two_calls", "text_and_call", "one_call"] {
            for (reasoning, reasons) in
                [("never", Reasons::Never), ("maybe", Reasons::Maybe), ("always", Reasons::Always)]
            {
                let case = recorded["cases"].as_array().unwrap().iter().find(|case| {
                    case["name"].as_str().unwrap().split('/').next() == Some(name)
                        && case["reasoning"] == reasoning
                        && case["refused"].is_null()
                });
                let Some(text) = case.and_then(|case| case["text"].as_str()) else { continue };
                // The end of the prompt, in messages of Command R.
                let text = text.trim_start_matches("CHATBOT_TOKEN|>");
                let grammar = self.compile(&tools, |options| options.reasoning = reasons).unwrap();
                return (text.to_owned(), calls(&grammar, text));
            }
        }
        panic!("no message of {} is recorded", self.name);
    }

    /// The shortest message with a call of a tool that has one text only.
    fn completed(&self) -> (String, Vec<Value>) {
        let grammar =
            self.compile(&one_call(), |options| options.tool_choice = "required".to_owned()).unwrap();
        let text = self.shortest(&grammar);
        let calls = calls(&grammar, &text);
        (text, calls)
    }

    fn shortest(&self, grammar: &CompiledGrammar) -> String {
        let tokens = grammar.matcher().finish().unwrap();
        let text = tokens.iter().filter(|token| token.0 < 256).map(|token| token.0 as u8).collect();
        String::from_utf8(text).unwrap()
    }

    /// Whether a message may have several calls: whether it may continue in another way where only one is
    /// allowed.
    fn has_several(&self) -> bool {
        let compile = |is_parallel| {
            let set = |options: &mut ToolCallOptions| {
                options.tool_choice = "required".to_owned();
                options.has_text = false;
                options.is_parallel = is_parallel;
            };
            self.compile(&one_call(), set).unwrap()
        };
        let (with, without) = (compile(true), compile(false));
        let (mut with, mut other) = (with.matcher(), without.matcher());
        for byte in self.shortest(&without).bytes() {
            let byte = TokenId(u32::from(byte));
            if is_apart(&with, &other, 0) {
                return true;
            }
            assert!(with.accept_token(byte).unwrap() && other.accept_token(byte).unwrap());
        }
        is_apart(&with, &other, 4)
    }

    /// How it writes the text of a custom tool.
    fn custom(&self) -> &'static str {
        let tool = json!([{
            "type": "custom", "name": "dial",
            "format": {"type": "grammar", "syntax": "regex", "definition": "[+]49"},
        }]);
        let grammar = self.compile(&tool.to_string(), |options| options.tool_choice = "required".to_owned());
        match grammar.map(|grammar| self.shortest(&grammar)) {
            Ok(text) if text.contains("\"+49\"") => "JSON string",
            Ok(text) if text.contains("+49") => "as it is",
            Ok(text) => panic!("{text}"),
            Err(_) => "no",
        }
    }
}

/// Whether one of two texts may continue in a way in which the other one may not, within so many bytes more.
fn is_apart(one: &Matcher, other: &Matcher, n_more: usize) -> bool {
    let (mut one, mut other) = (one.fork(), other.fork());
    let (mask, others) = (one.mask().unwrap(), other.mask().unwrap());
    let bytes: Vec<TokenId> = mask.iter().filter(|token| token.0 < 256).collect();
    if mask.iter().ne(others.iter()) {
        return true;
    }
    n_more > 0
        && bytes.into_iter().any(|byte| {
            let (mut one, mut other) = (one.fork(), other.fork());
            assert!(one.accept_token(byte).unwrap() && other.accept_token(byte).unwrap());
            is_apart(&one, &other, n_more - 1)
        })
}

fn one_call() -> String {
    json!([{"name": "get_weather", "inputSchema": {
        "type": "object", "properties": {"city": {"const": "Rome"}, "days": {"const": 3}},
        "required": ["city", "days"], "additionalProperties": false,
    }}])
    .to_string()
}

/// The calls of a message, as the grammar that takes it reads them.
fn calls(grammar: &CompiledGrammar, text: &str) -> Vec<Value> {
    let message = grammar.parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let calls = message.calls.iter().map(|call| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        json!({"name": call.name, "arguments": arguments})
    });
    calls.collect()
}

fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.to_owned()
}

#[test]
fn formats() {
    let compiler = Compiler::new(&bytes());
    let mut rows = Vec::new();
    let mut messages = String::new();
    for described in tool_formats() {
        let format = Format { compiler: &compiler, name: described.name };
        let names: Vec<String> = described.aliases.iter().map(|name| code(name)).collect();
        let reasons = format.compile(&one_call(), |options| options.reasoning = Reasons::Always);
        rows.push(vec![
            format!("[`{0}`](#{0})", described.name),
            names.join(", "),
            yes(format.description()["text"]["place"] != "nowhere"),
            yes(format.has_several()),
            yes(reasons.is_ok()),
            format.custom().to_owned(),
        ]);
        assert_eq!(
            format.has_several(),
            format.description()["calls"]["is_one"] != true,
            "{}",
            described.name
        );
        let (text, calls) = format.example();
        assert!(
            calls.iter().all(|call| call["name"] == "get_weather" || call["name"] == "search"),
            "{calls:?}"
        );
        assert_eq!(calls[0]["arguments"], json!({"city": "Rome", "days": 3}), "{}", described.name);
        let fence = if text.contains("```") { "````" } else { "```" };
        let checked = match described.unrendered {
            None => "The message is one that a chat template of the family wrote.".to_owned(),
            Some(why) => format!("{} The message is the shortest that the grammar completes.", why.trim()),
        };
        write!(
            messages,
            "### {}\n\n{}. {checked}\n\n{fence}text\n{text}\n{fence}\n\n",
            described.name,
            described.models.join(", "),
        )
        .unwrap();
    }
    let head = ["format", "also called", "text beside calls", "several calls", "reasoning", "custom tools"];
    let mut blocks = Blocks::default();
    blocks.add("Formats", &table(&head, &rows));
    blocks.add("Messages", &messages);
    blocks.check("tool-formats.md");
}

/// Every alias is a name.
#[test]
fn other_names_are_taken() {
    let compiler = Compiler::new(&bytes());
    for format in tool_formats() {
        for alias in format.aliases {
            let mut options = ToolCallOptions::new(alias.as_str());
            options.on_error = OnError::LeaveOut;
            let source = GrammarSource::tool_calls(one_call(), options, Default::default());
            assert!(compiler.compile(&source, &CompileOptions::default()).is_ok(), "{alias}");
        }
    }
}
