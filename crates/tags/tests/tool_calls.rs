//! Messages with calls, as the chat templates of the families render them.
//!
//! `testdata/tools` has the messages of each format: what its template (or the encoder of its vendor) writes
//! after the prompt, without the token that ends it. A case that is refused says why.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::EngineGrammar;
use maskwright_tags::{
    OnError, Reasons, TagError, ToolCallOptions, compile_tool_calls, formats_of_template,
    template_opens_reasoning, tool_formats,
};
use serde_json::{Value, json};
use support::Session;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tools");

fn document(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(format!("{FOLDER}/{name}.json")).unwrap()).unwrap()
}

/// The formats that have messages.
fn formats() -> impl Iterator<Item = String> {
    let names =
        std::fs::read_dir(FOLDER).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".json").filter(|&name| name != "tools").map(str::to_owned))
}

/// The grammars of a format for the messages of `testdata/tools`, by whether the model reasons.
struct Grammars<'s> {
    session: &'s Session,
    tools: String,
    format: String,
    tool_choice: &'static str,
    known: BTreeMap<String, Arc<EngineGrammar>>,
}

impl Grammars<'_> {
    fn new<'s>(session: &'s Session, format: &str, tool_choice: &'static str) -> Grammars<'s> {
        let tools = document("tools").to_string();
        Grammars { session, tools, format: format.to_owned(), tool_choice, known: BTreeMap::new() }
    }

    fn accept(&mut self, reasoning: &str, text: &str) -> bool {
        self.accept_pieces(reasoning, &text.into())
    }

    /// The same for a text in pieces, some of them tokens.
    fn accept_pieces(&mut self, reasoning: &str, text: &Value) -> bool {
        let grammar = self.known.entry(reasoning.to_owned()).or_insert_with(|| {
            let mut options = ToolCallOptions::new(&self.format);
            options.tool_choice = self.tool_choice.to_owned();
            options.reasoning = match reasoning {
                "always" => Reasons::Always,
                "maybe" => Reasons::Maybe,
                _ => Reasons::Never,
            };
            let (special, fuel) = (self.session.special(), Fuel::new(50_000_000));
            let compiled = compile_tool_calls(&self.tools, &options, &Default::default(), &special, &fuel);
            self.session.compile(compiled.unwrap().grammar)
        });
        self.session.is_text(grammar, text)
    }
}

fn compiled(tools: &str, options: &ToolCallOptions) -> Result<maskwright_tags::CompiledTag, TagError> {
    compile_tool_calls(tools, options, &Default::default(), &Default::default(), &Fuel::new(50_000_000))
}

/// Marks of the formats that vocabularies have as special tokens, or may have.
const MARKS: [&str; 33] = [
    "<tool_call>",
    "</tool_call>",
    "<|tool_call>",
    "<tool_call|>",
    "<|\"|>",
    "<|channel>",
    "<channel|>",
    "｜DSML｜",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "<|open|>",
    "<|close|>",
    "<|sep|>",
    "]<]minimax[>[",
    "<think>",
    "</think>",
    "<|channel|>",
    "<|message|>",
    "<|constrain|>",
    "<|call|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "</parameter>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<cofl:",
];

/// A text with the marks in it as special tokens: of those that begin at a place, the longest.
fn with_tokens(text: &str) -> Value {
    let mut pieces: Vec<Value> = Vec::new();
    let (mut rest, mut plain) = (text, String::new());
    while let Some(first) = rest.chars().next() {
        let mark = MARKS.into_iter().filter(|mark| rest.starts_with(mark)).max_by_key(|mark| mark.len());
        match mark {
            Some(mark) => {
                pieces.push(std::mem::take(&mut plain).into());
                pieces.push(json!([mark]));
                rest = &rest[mark.len()..];
            }
            None => {
                plain.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    pieces.push(plain.into());
    pieces.into()
}

#[test]
fn marks_are_the_special_tokens_of_their_names_in_arguments_too() {
    let session = Session::with_special(&MARKS);
    let (mut n_cases, mut wrong) = (0, Vec::new());
    for format in formats() {
        let mut grammars = Grammars::new(&session, &format, "auto");
        for case in document(&format)["cases"].as_array().unwrap() {
            let (name, reasoning) = (case["name"].as_str().unwrap(), case["reasoning"].as_str().unwrap());
            // Marks that are data, or of reasoning that is not asked for, are text alone.
            let has_other_marks =
                name.starts_with("marker") || name.starts_with("reasoning") && reasoning == "never";
            if case["refused"].is_string() || has_other_marks {
                continue;
            }
            n_cases += 1;
            let text = case["text"].as_str().unwrap();
            for text in [text.into(), with_tokens(text)] {
                if !grammars.accept_pieces(reasoning, &text) {
                    wrong.push(format!("{format} {name} {reasoning}: {text}"));
                }
            }
        }
    }
    assert!(n_cases > 300 && wrong.is_empty(), "{} of {n_cases}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn strings_of_json_hide_the_mark_that_ends_the_call() {
    let session = Session::new(&[]);
    for (format, begin, end) in [
        ("qwen_3", "<tool_call>\n{\"name\": \"f\", \"arguments\": ", "}\n</tool_call>"),
        ("functionary_v3_1", "<function=f>", "</function>"),
        ("hunyuan", "<tool_calls>[{\"name\": \"f\", \"arguments\": ", "}]</tool_calls>"),
        ("harmony", " to=functions.f<|channel|>commentary json<|message|>", "<|call|>"),
    ] {
        let mark = end.trim_start_matches(['}', ']', '\n']);
        let mut options = ToolCallOptions::new(format);
        options.tool_choice = "required".to_owned();
        let hidden = match mark.split_once('/') {
            Some((before, after)) => format!("{before}\\/{after}"),
            None => mark.replacen('<', "\\u003c", 1),
        };
        for (schema, key, value) in [
            (json!({"type": "string"}), "a", "x{}y"),
            (json!({"type": "string", "minLength": 2, "maxLength": 30}), "a", "x{}y"),
            (json!({"type": "array", "items": {"type": "string"}}), "a", "x{}y"),
            (json!({}), "a", "{}{}"),
            (json!({"enum": ["other", format!("x{mark}y")]}), "a", "x{}y"),
            (json!({"const": [format!("x{mark}y")]}), "a", "x{}y"),
            (json!({"type": "string", "pattern": "^x"}), "a", "x{}y"),
            (json!({"type": "string"}), "b", "x{}y"),
            (json!({"type": "object"}), "a", "x{}y"),
            (json!({"type": "object", "properties": {(format!("x{mark}y")): {}}}), "a", "x{}y"),
        ] {
            let parameters = match key {
                "a" => json!({"type": "object", "properties": {"a": schema}, "required": ["a"]}),
                _ => json!({"type": "object"}),
            };
            let tools = json!([{"name": "f", "parameters": parameters}]).to_string();
            let grammar = session.compile(compiled(&tools, &options).unwrap().grammar);
            let is_taken = |mark: &str| {
                let value = format!("\"{}\"", value.replace("{}", mark));
                let value = match (&schema["type"], &schema["const"]) {
                    (Value::String(kind), _) if kind == "array" => format!("[{value}]"),
                    (Value::String(kind), _) if kind == "object" => format!("{{{value}: 1}}"),
                    (_, Value::Array(_)) => format!("[{value}]"),
                    _ => value,
                };
                session.is_text(&grammar, &format!("{begin}{{\"{key}\": {value}}}{end}").into())
            };
            assert!(!is_taken(mark), "{format} {schema}");
            assert!(is_taken(&hidden), "{format} {schema}");
            assert!(is_taken("other") || schema.to_string().contains(mark), "{format} {schema}");
        }
    }
}

#[test]
fn messages_of_templates_are_accepted() {
    let session = Session::new(&[]);
    let (mut n_cases, mut wrong) = (0, Vec::new());
    for format in formats() {
        let mut grammars = Grammars::new(&session, &format, "auto");
        for case in document(&format)["cases"].as_array().unwrap() {
            let (reasoning, text) = (case["reasoning"].as_str().unwrap(), case["text"].as_str().unwrap());
            n_cases += 1;
            // A case says why it is refused.
            if grammars.accept(reasoning, text) == case["refused"].is_string() {
                wrong.push(format!("{format} {} {} {reasoning}: {text:?}", case["template"], case["name"]));
            }
        }
    }
    assert!(n_cases > 900, "{n_cases}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A format has at least eight messages, or says why it has none.
#[test]
fn each_format_was_checked_with_messages_or_says_why_not() {
    let known: Vec<String> = formats().collect();
    for format in tool_formats() {
        let n_cases = match known.iter().any(|name| name == format.name) {
            true => document(format.name)["cases"].as_array().unwrap().len(),
            false => 0,
        };
        assert!(
            if format.unrendered.is_some() { n_cases == 0 } else { n_cases >= 8 },
            "{}: {n_cases}",
            format.name
        );
    }
}

/// Where a call is required, text without one is refused, and so is a call of no tool, with wrong arguments,
/// or with a damaged mark.
#[test]
fn damaged_calls_are_refused() {
    let session = Session::new(&[]);
    let (mut n_damaged, mut wrong) = (0, Vec::new());
    for format in formats() {
        let mut grammars = Grammars::new(&session, &format, "required");
        for case in document(&format)["cases"].as_array().unwrap() {
            let name = case["name"].as_str().unwrap().split('/').next().unwrap();
            let (reasoning, text) = (case["reasoning"].as_str().unwrap(), case["text"].as_str().unwrap());
            let mut check = |text: &str, is_right: bool| {
                if grammars.accept(reasoning, text) != is_right {
                    wrong.push(format!("{format} {} {name} {reasoning}: {text:?}", case["template"]));
                }
            };
            match name {
                "no_call" | "reasoning_no_call" => check(text, false),
                "one_call" if text.contains("get_weather") => {
                    check(text, true);
                    let call = text.rfind("get_weather").unwrap();
                    let (before, after) = text.split_at(call);
                    let mut damaged = vec![
                        format!("{before}getweather{}", &after["get_weather".len()..]),
                        format!("{before}{}", after.replacen('3', "three", 1)),
                        format!("{before}{}", after.replacen("city", "town", 1)),
                    ];
                    // Without one of the characters of the last mark before the name, or the last of the
                    // message.
                    if let Some((mark, _)) = before.trim_end().char_indices().next_back() {
                        let kept = before.char_indices().filter(|&(at, _)| at != mark).map(|(_, c)| c);
                        damaged.push(format!("{}{after}", kept.collect::<String>()));
                    }
                    let mut cut = text.trim_end().to_owned();
                    cut.pop();
                    damaged.push(cut);
                    n_damaged += damaged.len();
                    damaged.iter().for_each(|text| check(text, false));
                }
                _ => {}
            }
        }
    }
    assert!(n_damaged > 260, "{n_damaged}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_format_compiles_with_each_option() {
    let session = Session::new(&[]);
    let tools = document("tools").to_string();
    assert!(tool_formats().len() >= 25);
    for format in tool_formats() {
        assert!(!format.models.is_empty() && !format.sources.is_empty(), "{}", format.name);
        for choice in ["auto", "none", "required", "now"] {
            for (is_parallel, has_text) in [(true, true), (false, true), (true, false), (false, false)] {
                let mut options = ToolCallOptions::new(format.name);
                options.tool_choice = choice.to_owned();
                (options.is_parallel, options.has_text) = (is_parallel, has_text);
                let tag =
                    compiled(&tools, &options).unwrap_or_else(|error| panic!("{}: {error}", format.name));
                session.compile(tag.grammar);
            }
        }
    }
}

/// A template fits one format at most.
#[test]
fn reasoning_that_the_prompt_opened_ends_with_its_mark() {
    let session = Session::new(&[]);
    let tools = document("tools").to_string();
    let call = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";
    for (format, end, call) in [
        ("qwen_3", "\n</think>\n\n", call),
        (
            "kimi_k2",
            "</think>",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Rome\"}<|tool_call_end|><|tool_calls_section_end|>",
        ),
        ("mistral_v13", "[/THINK]", "[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Rome\"}"),
    ] {
        let mut options = ToolCallOptions::new(format);
        options.reasoning = Reasons::Open;
        let grammar = session.compile(compiled(&tools, &options).unwrap().grammar);
        let is_taken = |text: String| session.is_text(&grammar, &text.into());
        assert!(is_taken(format!("I think{end}{call}")), "{format}");
        assert!(is_taken(format!("I think{end}It rains.")), "{format}");
        // Without its end, all of it would be reasoning.
        assert!(!is_taken(format!("I think.{call}")) && !is_taken("I think.".to_owned()), "{format}");
    }
}

#[test]
fn templates_show_whether_the_prompt_opens_the_reasoning() {
    // The ends of templates: Qwen3-4B-Thinking-2507, Qwen 3 (which opens and closes it), Qwen 2.5, Kimi K2.6,
    // DeepSeek V3.1.
    for (format, end, opens) in [
        (
            "qwen_3",
            r"{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}",
            true,
        ),
        (
            "qwen_3",
            r"{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}{%- endif %}",
            false,
        ),
        (
            "qwen_3",
            r#"<think> {%- if add_generation_prompt %}{{- "<|im_start|>assistant\n" }}{%- endif %}"#,
            false,
        ),
        (
            "kimi_k2",
            "{%- if add_generation_prompt -%}<|im_assistant|>assistant<|im_middle|>{%- if thinking is defined and thinking is false -%}<think></think>{%- else -%}<think>{%- endif -%}{%- endif -%}",
            true,
        ),
        (
            "deepseek_v3_1",
            "{%- if add_generation_prompt and ns.is_last_user %}{{'<｜Assistant｜>'}}{%- if not thinking %}{{'</think>'}}{%- else %}{{'<think>'}}{%- endif %}{% endif %}",
            true,
        ),
        ("llama", "{%- if add_generation_prompt %}{{- '<think>' }}{%- endif %}", false),
    ] {
        assert_eq!(template_opens_reasoning(format, end), opens, "{end}");
    }
}

#[test]
fn templates_tell_formats_apart() {
    for format in tool_formats() {
        assert!(formats_of_template(format.name).is_empty());
    }
    let qwen = "{{ '<tool_call>' }} {\"name\": 1, \"arguments\": 2}";
    assert_eq!(formats_of_template(qwen), ["qwen_3"]);
    assert_eq!(formats_of_template("<tool_call> <function=x> <parameter=y>"), ["qwen_3_coder"]);
    assert!(formats_of_template("{{ messages }}").is_empty());
}

#[test]
fn tools_of_all_interfaces_mean_the_same() {
    let session = Session::new(&[]);
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let openai = json!([{"type": "function", "function": {"name": "f", "parameters": schema}}]);
    let responses = json!([{"type": "function", "name": "f", "parameters": schema, "strict": null}]);
    let anthropic = json!({"tools": [{"name": "f", "input_schema": schema}]});
    let mcp = json!({"tools": [{"name": "f", "inputSchema": schema, "annotations": {}}], "nextCursor": "x"});
    let choices = [
        "f",
        "required",
        r#"{"type": "function", "function": {"name": "f"}}"#,
        r#"{"type": "tool", "name": "f"}"#,
        r#"{"type": "any"}"#,
        r#"{"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}"#,
    ];
    for tools in [openai, responses, anthropic, mcp] {
        for choice in choices {
            let mut options = ToolCallOptions::new("llama");
            options.tool_choice = choice.to_owned();
            let grammar = session.compile(compiled(&tools.to_string(), &options).unwrap().grammar);
            let is_text = |text: &str| session.is_text(&grammar, &text.into());
            assert!(is_text(r#"{"name": "f", "parameters": {"a": 1}}"#), "{tools} {choice}");
            assert!(
                !is_text(r#"{"name": "f", "parameters": {"a": "1"}}"#) && !is_text("no"),
                "{tools} {choice}"
            );
        }
    }
}

#[test]
fn errors_name_the_tool_and_its_place() {
    let tool = |name: &str, schema: Value| json!({"name": name, "inputSchema": schema});
    let bad = json!({"type": "object", "properties": {"x": {"type": "text"}}});
    let tools = json!([tool("good", json!({"type": "object"})), tool("bad", bad)]).to_string();
    let mut options = ToolCallOptions::new("qwen_3");
    let error = compiled(&tools, &options).unwrap_err();
    assert_eq!(error.pointer(), "/1/inputSchema/properties/x");
    assert!(error.to_string().contains("the tool \"bad\""), "{error}");
    let session = Session::new(&[]);
    let call =
        |name: &str| format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{}}}}\n</tool_call>");
    for (on_error, can_call) in [(OnError::LeaveOut, false), (OnError::AnyJson, true)] {
        options.on_error = on_error;
        let compiled = compiled(&tools, &options).unwrap();
        let entry = compiled.report.entries().find(|entry| entry.keyword == "inputSchema").unwrap();
        assert_eq!((entry.pointer.as_str(), entry.tool), ("/1", Some("bad")));
        let grammar = session.compile(compiled.grammar);
        options.tool_choice = "required".to_owned();
        assert!(session.is_text(&grammar, &call("good").into()));
        assert_eq!(session.is_text(&grammar, &call("bad").into()), can_call);
        options.tool_choice = "auto".to_owned();
    }
    for (tools, choice, pointer) in [
        (json!(3), "auto", ""),
        (json!([3]), "auto", "/0"),
        (json!([{"type": "web_search"}]), "auto", "/0"),
        (json!([{"name": 3}]), "auto", "/0/name"),
        (json!([{"name": "a"}, {"name": "a"}]), "auto", "/1"),
        (json!([{"name": "a", "parameters": 3}]), "auto", "/0/parameters"),
        (json!([{"name": "a", "parameters": {"type": "string"}}]), "auto", "/0/parameters/type"),
        (json!([{"name": "a"}]), "b", "/tool_choice"),
        (json!([]), "required", "/tool_choice"),
        (json!([{"name": "a"}]), r#"{"type": "x"}"#, "/tool_choice"),
    ] {
        let mut options = ToolCallOptions::new("qwen_3");
        options.tool_choice = choice.to_owned();
        let error = compiled(&tools.to_string(), &options).unwrap_err();
        assert_eq!(error.pointer(), pointer, "{tools} {choice}: {error}");
    }
    // What is no tool can be left out too.
    options.on_error = OnError::LeaveOut;
    let mixed =
        json!([{"type": "web_search"}, tool("good", json!({"type": "object"})), tool("good", json!({}))]);
    let left = compiled(&mixed.to_string(), &options).unwrap();
    let told: Vec<String> = left
        .report
        .entries()
        .filter(|entry| matches!(entry.status, maskwright_json_schema::Status::NotEnforced { .. }))
        .map(|entry| entry.pointer)
        .collect();
    assert_eq!(told[..2], ["/0", "/2"]);
    assert!(session.is_text(&session.compile(left.grammar), &call("good").into()));
    // A required call of a tool that is left out is no text.
    options.tool_choice = "bad".to_owned();
    assert_eq!(compiled(&tools, &options).unwrap_err().pointer(), "/1/inputSchema/properties/x");
    let error = compiled("[]", &ToolCallOptions::new("qwen3")).unwrap_err();
    assert!(error.hint().unwrap().contains("qwen_3"), "{error}");
}

/// Sessions watch the arguments of calls where all readings agree on where they begin.
#[test]
fn arguments_of_json_are_watched() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true}}});
    let tools =
        json!([{"name": "f", "inputSchema": schema}, {"name": "g", "inputSchema": schema}]).to_string();
    let mut unwatched = Vec::new();
    for format in tool_formats() {
        let mut options = ToolCallOptions::new(format.name);
        options.tool_choice = "required".to_owned();
        let mut config = maskwright_json_schema::SchemaConfig::default();
        config.strict = false;
        let compiled =
            compile_tool_calls(&tools, &options, &config, &Default::default(), &Fuel::new(50_000_000))
                .unwrap();
        if !compiled.report.is_complete() {
            unwatched.push(format.name);
        }
    }
    for format in
        ["qwen_3", "harmony", "llama", "hunyuan", "deepseek_r1", "deepseek_v3_1", "phi_4", "nemotron"]
    {
        assert!(!unwatched.contains(&format), "{format} is not watched");
    }
}

/// A tool that takes all the work that is allowed costs that tool.
#[test]
fn a_tool_that_takes_too_much_work_is_named() {
    let words: Vec<String> = (0..50_000).map(|n| format!("w{n}")).collect();
    let heavy = json!({"type": "object", "properties": {"word": {"enum": words}}});
    let light = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    let tool = |name: &str, schema: &Value| json!({"name": name, "parameters": schema});
    let tools = json!([tool("first", &light), tool("heavy", &heavy), tool("last", &light)]).to_string();
    let compile = |on_error| {
        let mut options = ToolCallOptions::new("qwen_3");
        options.on_error = on_error;
        compile_tool_calls(&tools, &options, &Default::default(), &Default::default(), &Fuel::new(30_000))
    };
    let error = compile(OnError::Raise).unwrap_err();
    assert!(error.is_limit() && error.to_string().contains("the tool \"heavy\""), "{error}");
    let left = compile(OnError::LeaveOut).unwrap();
    let told = left.report.entries().find(|entry| entry.tool == Some("heavy")).unwrap();
    assert_eq!(told.keyword, "parameters");
    let session = Session::new(&[]);
    let grammar = session.compile(left.grammar);
    let call = |name: &str| {
        format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{}}}}\n</tool_call>").into()
    };
    assert!(session.is_text(&grammar, &call("last")) && !session.is_text(&grammar, &call("heavy")));
}

/// Text before a call does not contain its mark, so sessions know where the arguments begin and watch them.
#[test]
fn items_and_keys_of_arguments_differ() {
    let session = Session::new(&[]);
    let list = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
    let schema = json!({"type": "object", "properties": {"a": list}});
    let tools =
        json!([{"name": "f", "inputSchema": schema}, {"name": "ff", "inputSchema": schema}]).to_string();
    for choice in ["auto", "required"] {
        let mut options = ToolCallOptions::new("qwen_3");
        options.tool_choice = choice.to_owned();
        let compiled = compiled(&tools, &options).unwrap();
        assert!(compiled.report.is_complete());
        let grammar = session.compile(compiled.grammar);
        let call = |name: &str, arguments: &str| {
            format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
        };
        let is_text = |text: String| session.is_text(&grammar, &text.into());
        let good = r#"{"a": ["x", "y"], "b": 1}"#;
        let two = format!("hello <tool_call {}\n{}", call("f", good), call("ff", good));
        assert!(is_text(two), "each call has its own memory");
        for bad in [r#"{"a": ["x", "x"]}"#, r#"{"b": 1, "b": 2}"#] {
            assert!(!is_text(format!("hello {}", call("ff", bad))), "{bad}");
            assert!(!is_text(format!("{}\n{}", call("f", good), call("f", bad))), "{bad}");
        }
        // A message is either one call or text.
        options.format = "llama".to_owned();
        let compiled = self::compiled(&tools, &options).unwrap();
        assert!(compiled.report.is_complete());
        let grammar = session.compile(compiled.grammar);
        let is_text = |arguments: &str| {
            session.is_text(&grammar, &format!("{{\"name\": \"f\", \"parameters\": {arguments}}}").into())
        };
        assert!(is_text(good) && !is_text(r#"{"a": ["x", "x"]}"#));
    }
}

/// A schema in another place or under another name was passed over, and the arguments were any object.
#[test]
fn tools_are_read_or_refused_and_never_taken_for_any_object() {
    let schema = r#"{"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}"#;
    let parameters = r#""parameters": {"type": "object"}"#;
    // SCHEMA is a schema of the arguments. A place and what is said there, or nothing, if the schema is
    // taken.
    let cases = [
        (r#"{"name": "x", "parameters": SCHEMA}"#, None),
        (r#"{"name": "x", "input_schema": SCHEMA, "parameters": null}"#, None),
        (r#"{"name": "x", "parametersJsonSchema": SCHEMA}"#, None),
        (r#"{"name": "x", "parameters_json_schema": SCHEMA}"#, None),
        (r#"{"name": "x", "inputSchema": {"json": SCHEMA}}"#, None),
        (
            r#"{"name": "x", "inputSchema": SCHEMA, "outputSchema": {"type": "string"}, "annotations": {}}"#,
            None,
        ),
        (r#"{"type": "function", "function": {"name": "x", "parameters": SCHEMA}, "strict": null}"#, None),
        (
            r#"{"name": "x", "parameter_definitions": SCHEMA}"#,
            Some(("/0/parameter_definitions", "did you mean")),
        ),
        (r#"{"name": "x", "schema": SCHEMA}"#, Some(("/0/schema", "did you mean `parameters`"))),
        (r#"{"name": "x", "args_schema": SCHEMA}"#, Some(("/0/args_schema", "did you mean"))),
        (r#"{"name": "x", "arguments": SCHEMA}"#, Some(("/0/arguments", "did you mean"))),
        (r#"{"name": "x", "parameter": SCHEMA}"#, Some(("/0/parameter", "did you mean"))),
        (r#"{"name": "x", "Parameters": SCHEMA}"#, Some(("/0/Parameters", "did you mean"))),
        (r#"{"name": "x", "inputschema": SCHEMA}"#, Some(("/0/inputschema", "did you mean"))),
        (r#"{"name": "x", "paramters": SCHEMA}"#, Some(("/0/paramters", "did you mean `parameters`"))),
        (
            r#"{"type": "function", "function": {"name": "x", "inputs": SCHEMA}}"#,
            Some(("/0/function/inputs", "did you")),
        ),
        (
            r#"{"type": "function", "function": {"name": "x"}, "parameters": SCHEMA}"#,
            Some(("/0/parameters", "must stand in")),
        ),
        (
            r#"{"name": "x", "type": "object", "properties": {"q": {}}}"#,
            Some(("/0", "of the type \"object\"")),
        ),
        (
            r#"{"name": "x", "properties": {"q": {}}, "required": ["q"]}"#,
            Some(("/0/properties", "must stand in the schema")),
        ),
        (
            r#"{"function": {"name": "x", "properties": {"q": {}}}}"#,
            Some(("/0/function/properties", "must stand in")),
        ),
        (
            r#"{"name": "x", "parameters": {}, "input_schema": SCHEMA}"#,
            Some(("/0/input_schema", "two schemas")),
        ),
        (
            r#"{"name": "x", "parameters": {"q": {"type": "string"}}}"#,
            Some(("/0/parameters", "the properties themselves")),
        ),
        (
            r#"{"function": {"name": "x", "strict": true}, "strict": false}"#,
            Some(("/0/strict", "in one place")),
        ),
        (r#"{"type": "fuction", "name": "x"}"#, Some(("/0", "did you mean `function`"))),
        (r#"{"type": "custom", "name": "x", "parameters": SCHEMA}"#, Some(("/0/parameters", "custom tool"))),
        (
            r#"{"type": "custom", "custom": {"name": "x", "strict": true}}"#,
            Some(("/0/custom/strict", "custom tool")),
        ),
    ];
    let session = Session::new(&[]);
    let mut options = ToolCallOptions::new("qwen_3");
    (options.has_text, options.tool_choice) = (false, "required".to_owned());
    for (tool, expected) in cases {
        let compiled = compiled(&format!("[{}]", tool.replace("SCHEMA", schema)), &options);
        match (compiled, expected) {
            (Ok(compiled), None) => {
                let grammar = session.compile(compiled.grammar);
                for (arguments, is_right) in [(r#"{"q": "a"}"#, true), (r#"{"z": [1]}"#, false)] {
                    let text =
                        format!("<tool_call>\n{{\"name\": \"x\", \"arguments\": {arguments}}}\n</tool_call>");
                    assert_eq!(session.is_text(&grammar, &text.into()), is_right, "{tool}: {arguments}");
                }
            }
            (Err(error), Some((at, says))) => {
                let said = format!("{error} {}", error.hint().unwrap_or_default());
                assert!(
                    said.contains(says) && error.pointer() == at,
                    "{tool}: {said} at {:?}",
                    error.pointer()
                );
            }
            (Ok(_), Some(_)) => panic!("{tool} is taken"),
            (Err(error), None) => panic!("{tool}: {error}"),
        }
    }
    assert!(compiled(&format!(r#"[{{"name": "x", {parameters}}}]"#), &options).is_ok());
}

#[test]
fn choices_are_read_as_the_interfaces_mean_them() {
    let tools = r#"[{"name": "auto"}, {"name": "none"}, {"name": "x"}]"#;
    let message = |calls: &[&str]| {
        let call =
            |name: &&str| format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{}}}}\n</tool_call>");
        calls.iter().map(call).collect::<Vec<_>>().join("\n")
    };
    let session = Session::new(&[]);
    let of = |choice: &str| {
        let mut options = ToolCallOptions::new("qwen_3");
        options.tool_choice = choice.to_owned();
        compiled(tools, &options)
    };
    for (choice, one, two, other) in [
        ("auto", true, true, true),
        ("x", true, true, false),
        (r#"{"type": "any"}"#, true, true, true),
        (r#"{"type": "any", "disable_parallel_tool_use": true}"#, true, false, true),
        (r#"{"type": "auto", "disable_parallel_tool_use": true}"#, true, false, true),
        (r#"{"type": "tool", "name": "none"}"#, false, false, true),
        (r#"{"type": "allowed_tools", "mode": "auto", "tools": []}"#, false, false, false),
    ] {
        let compiled = of(choice).unwrap_or_else(|error| panic!("{choice}: {error}"));
        let grammar = session.compile(compiled.grammar);
        for (calls, is_right) in [(&["x"][..], one), (&["x", "x"], two), (&["none"], other)] {
            let text = message(calls);
            assert_eq!(session.is_text(&grammar, &text.into()), is_right, "{choice}: {calls:?}");
        }
    }
    for (choice, says) in [
        ("none", "as well as a choice"),
        (r#"{"type": "allowed_tools", "mode": "required", "tools": []}"#, "there are no tools"),
        (r#"{"type": "any", "disable_parallel_tool_use": "yes"}"#, "true or false"),
    ] {
        let error = of(choice).err().unwrap_or_else(|| panic!("{choice} is taken"));
        assert!(error.to_string().contains(says), "{choice}: {error}");
    }
}
