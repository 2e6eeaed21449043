//! Errors by kind, each as it is printed.

use std::fmt::Write;

use maskwright::infill::{Hole, Part};
use maskwright::lark::LarkOptions;
use maskwright::tool_calls::ToolCallOptions;
use maskwright::{
    CancelToken, CompileOptions, Compiler, Error, ErrorKind, GrammarSource, Limits, Matcher, MatcherConfig,
    Template, TokenId, Tokenizer, bindings,
};
use serde_json::json;

use crate::formats::bytes;
use crate::page::{self, Blocks, code, prose, table};

/// A kind, its exception in Python, what is wrong, and what to do.
type Row = (ErrorKind, &'static str, &'static str, &'static str);

const KINDS: [Row; 10] = [
    (
        ErrorKind::Grammar,
        "GrammarError",
        "The regular expression, GBNF, Lark grammar or choice is wrong or matches no text; or the call is not supported \
         for grammars of its kind.",
        "Correct the grammar at `line` and `column`. The pages of the notations list what is taken.",
    ),
    (
        ErrorKind::Schema,
        "SchemaError",
        "The JSON Schema is wrong, no value satisfies it, or it has a keyword that cannot be enforced. The same for \
         structural tags and tools.",
        "Correct the schema at `pointer`, or compile it with `strict=False`: what cannot be enforced is left out, and \
         reported.",
    ),
    (
        ErrorKind::Tokenizer,
        "TokenizerError",
        "The tokenizer's file is wrong, or a text cannot be written with it.",
        "Load the file that the model comes with.",
    ),
    (
        ErrorKind::Limit,
        "LimitError",
        "A limit on work or size was reached.",
        "Make the grammar smaller, or raise the limit: see [limits](limits.md).",
    ),
    (
        ErrorKind::Cancelled,
        "WorkCancelled",
        "The caller's token cancelled the work.",
        "Nothing: it was asked for. In Python it is no `ValueError`.",
    ),
    (
        ErrorKind::MaxTokensTooSmall,
        "MaxTokensTooSmall",
        "No text of the grammar is known to fit the limit on tokens.",
        "Give at least `needed` tokens.",
    ),
    (
        ErrorKind::NoText,
        "Error",
        "No text of the grammar can be written: not with this vocabulary, these stop tokens, scores or known positions.",
        "Take the tokenizer of the model; allow more tokens or other stop tokens.",
    ),
    (
        ErrorKind::Argument,
        "Error",
        "What the call was given is wrong: a buffer is too short, a token, position or hole does not exist, a text is \
         none of the grammar.",
        "Correct the call.",
    ),
    (
        ErrorKind::State,
        "Error",
        "The call does not fit what was done before: a rollback beyond the beginning, a hole that is filled already.",
        "Correct the order of calls.",
    ),
    (
        ErrorKind::Internal,
        "InternalError",
        "A bug in Maskwright: an earlier call of the session panicked.",
        "Report it. `reset` the session or make a new one; other sessions are not affected. In Python it is a \
         `RuntimeError`, in JavaScript an `EnginePanic`.",
    ),
];

/// An error that is shown: what was asked, and what came of it.
struct Example {
    title: &'static str,
    asked: String,
    error: Error,
}

fn compile(compiler: &Compiler, source: &GrammarSource) -> Error {
    compiler.compile(source, &CompileOptions::default()).err().unwrap()
}

fn examples(kind: ErrorKind) -> Vec<Example> {
    let tokenizer = bytes();
    let compiler = Compiler::new(&tokenizer);
    let of_source = |title, asked: &str, source: GrammarSource| Example {
        title,
        asked: asked.to_owned(),
        error: compile(&compiler, &source),
    };
    let schema =
        |title, asked: &str| of_source(title, asked, GrammarSource::json_schema(asked, Default::default()));
    let session = |asked: &str, call: &dyn Fn(&mut Matcher) -> Option<Error>| {
        let grammar = compiler.compile(&GrammarSource::regex("[a-z]+"), &CompileOptions::default()).unwrap();
        (asked.to_owned(), call(&mut Matcher::new(&grammar)).unwrap())
    };
    let called = |title, (asked, error)| Example { title, asked, error };
    match kind {
        ErrorKind::Grammar => {
            let gbnf =
                "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= [0-9]+ | strin\nstring ::= \"x\"\n";
            let lark = "start: NAME \"=\" VALUE\nNAME: /[a-z]+/\n";
            vec![
                of_source("a name that is not defined", gbnf, GrammarSource::gbnf(gbnf).file("list.gbnf")),
                of_source("the same in Lark", lark, GrammarSource::lark(lark, LarkOptions::default())),
                of_source("what is not regular", "([ab])\\1", GrammarSource::regex("([ab])\\1")),
                of_source("no text", "root ::= \"a\" root", GrammarSource::gbnf("root ::= \"a\" root")),
                of_source("no such grammar", "builtin: pyton", GrammarSource::builtin("pyton")),
            ]
        }
        ErrorKind::Schema => {
            let tools =
                json!([{"name": "draw", "inputSchema": {"properties": {"at": {"pattern": "(a)\\1"}}}}])
                    .to_string();
            vec![
                schema(
                    "a value that the keyword does not take",
                    r#"{"properties": {"age": {"type": "int"}}}"#,
                ),
                schema(
                    "a keyword that cannot be enforced",
                    r#"{"properties": {"code": {"pattern": "^(a|b)\\1$"}}}"#,
                ),
                schema("no value", r#"{"type": "integer", "minimum": 3, "maximum": 2}"#),
                schema("a reference that leads nowhere", r##"{"$ref": "#/$defs/person"}"##),
                schema("what is not JSON", "{\"type\": \"object\",\n \"properties\": {\"a\": }}"),
                of_source(
                    "a tool",
                    &tools,
                    GrammarSource::tool_calls(
                        tools.clone(),
                        ToolCallOptions::new("qwen_3"),
                        Default::default(),
                    ),
                ),
            ]
        }
        ErrorKind::Tokenizer => {
            let tokens = || vec![b"a".to_vec(), b"b".to_vec()];
            vec![Example {
                title: "an id that no token has",
                asked: "Tokenizer::from_tokens([\"a\", \"b\"], eos: [5])".to_owned(),
                error: Tokenizer::from_tokens(tokens(), &[TokenId(5)]).unwrap_err(),
            }]
        }
        ErrorKind::Limit => {
            let mut limits = Limits::default();
            limits.compile_work = 100;
            let error = compile(&Compiler::with_limits(&tokenizer, limits), &GrammarSource::builtin("json"));
            vec![Example {
                title: "too much work",
                asked: "builtin: json, compile_work: 100".to_owned(),
                error,
            }]
        }
        ErrorKind::Cancelled => {
            let cancel = CancelToken::new();
            cancel.cancel();
            let mut options = CompileOptions::default();
            options.cancel = Some(cancel);
            let error = compiler.compile(&GrammarSource::builtin("json"), &options).err().unwrap();
            vec![Example {
                title: "a cancelled compilation",
                asked: "builtin: json, cancelled".to_owned(),
                error,
            }]
        }
        ErrorKind::MaxTokensTooSmall => {
            let source = GrammarSource::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}");
            let grammar = compiler.compile(&source, &CompileOptions::default()).unwrap();
            let error = grammar.matcher_with(&MatcherConfig::with_max_tokens(5)).err().unwrap();
            let asked = "regex: [0-9]{4}-[0-9]{2}-[0-9]{2}, max_tokens: 5".to_owned();
            vec![Example { title: "a date in five tokens", asked, error }]
        }
        ErrorKind::NoText => {
            let stops = |pattern: &str| {
                let grammar =
                    compiler.compile(&GrammarSource::regex(pattern), &CompileOptions::default()).unwrap();
                let mut config = MatcherConfig::default();
                config.stop_tokens = vec![TokenId(u32::from(b'b'))];
                grammar.matcher_with(&config).err().unwrap()
            };
            let tokens = ["a", "b", "(end of text)"].map(|token| token.as_bytes().to_vec());
            let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)]).unwrap();
            let grammar = Compiler::new(&tokenizer)
                .compile(&GrammarSource::choice(["cab"]), &CompileOptions::default())
                .unwrap();
            vec![
                Example {
                    title: "stop tokens that the text needs",
                    asked: "regex: ab+, stop tokens: b".to_owned(),
                    error: stops("ab+"),
                },
                Example {
                    title: "a vocabulary without a letter",
                    asked: "choice: cab, with the tokens a and b: finish".to_owned(),
                    error: grammar.matcher().finish().err().unwrap(),
                },
            ]
        }
        ErrorKind::Argument => {
            let asked = "stop tokens: 999999, of a vocabulary with 257 tokens";
            let no_token = session(asked, &|matcher| {
                let mut config = MatcherConfig::default();
                config.stop_tokens = vec![TokenId(999_999)];
                Matcher::with_config(matcher.grammar(), &config).err()
            });
            vec![
                called("no such token", no_token),
                called(
                    "a buffer that is too short",
                    session("fill_mask of 1 word", &|matcher| matcher.fill_mask(&mut [0]).err()),
                ),
                {
                    let grammar = compiler
                        .compile(&GrammarSource::regex("[a-z]+"), &CompileOptions::default())
                        .unwrap();
                    let error = grammar.parse(b"abc1").err().unwrap();
                    Example {
                        title: "a text that is none of the grammar",
                        asked: "regex: [a-z]+, parse: abc1".to_owned(),
                        error,
                    }
                },
            ]
        }
        ErrorKind::State => {
            let grammar =
                compiler.compile(&GrammarSource::regex("[a-z]+"), &CompileOptions::default()).unwrap();
            let mut template: Template = grammar.template(vec![Part::Hole(Hole::Exactly(1))]).unwrap();
            let token = [TokenId(u32::from(b'a'))];
            template.fix(0, &token).unwrap();
            let error = template.fix(0, &token).err().unwrap();
            let asked = "a template with one hole, filled twice".to_owned();
            vec![
                called(
                    "a rollback beyond the beginning",
                    session("rollback(2) after no token", &|matcher| matcher.rollback(2).err()),
                ),
                Example { title: "a hole that is filled", asked, error },
            ]
        }
        _ => Vec::new(),
    }
}

/// The attributes that an error has.
fn attributes(error: &Error) -> String {
    let mut found = vec![format!("kind `{}`", bindings::kind(error.kind()))];
    let numbers = [("line", error.line()), ("column", error.column()), ("needed", error.needed())];
    let texts = [
        ("pointer", error.pointer().map(str::to_owned)),
        ("keyword", error.keyword().map(str::to_owned)),
        ("path", error.path().map(|path| path.display().to_string())),
        ("limit", error.limit().map(|(name, _)| name.to_owned())),
        ("hint", error.hint().map(str::to_owned)),
    ];
    let numbers = numbers.into_iter().filter_map(|(name, value)| Some(format!("`{name}` {}", value?)));
    let texts = texts.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let texts = texts.map(|(name, value)| match value.as_str() {
        "" => format!("`{name}` the empty text"),
        value => format!("`{name}` {}", code(value)),
    });
    found.extend(numbers.chain(texts));
    found.join(", ")
}

#[test]
fn errors() {
    let header = std::fs::read_to_string(page::path("crates/capi/include/maskwright.h")).unwrap();
    let python_source = std::fs::read_to_string(page::path("python/src/errors.rs")).unwrap();
    let rows = KINDS.map(|(kind, python, wrong, what_to_do)| {
        let name = bindings::kind(kind);
        let status = format!("MW_STATUS_{} = ", name.to_uppercase());
        let (_, number) = header.split_once(&status).unwrap_or_else(|| panic!("no {status}"));
        let number: String = number.chars().take_while(char::is_ascii_digit).collect();
        let status = format!("{} ({number})", code(status.trim_end_matches(" = ")));
        let raised = python_source.lines().find(|line| line.contains(&format!("ErrorKind::{kind:?} =>")));
        match raised {
            Some(line) => assert!(line.contains(&format!("{python}::new_err")), "{line}"),
            None => assert_eq!(python, "Error", "{kind:?}"),
        }
        let link = match kind {
            ErrorKind::Internal => name.to_owned(),
            _ => format!("[{name}](#{})", name.replace('_', "-")),
        };
        vec![link, code(&format!("{kind:?}")), code(python), status, prose(wrong), prose(what_to_do)]
    });
    let head = ["kind", "Rust: `ErrorKind::`", "Python", "C", "what is wrong", "what to do"];
    let mut blocks = Blocks::default();
    blocks.add("Kinds", &table(&head, &rows));
    let mut shown = String::new();
    for (kind, ..) in KINDS {
        let examples = examples(kind);
        if examples.is_empty() {
            assert_eq!(kind, ErrorKind::Internal, "each other kind has an example");
            continue;
        }
        writeln!(shown, "### {}\n", bindings::kind(kind).replace('_', " ")).unwrap();
        for Example { title, asked, error } in examples {
            assert_eq!(error.kind(), kind, "{error}");
            let text = error.to_string();
            let fence = if asked.contains("```") || text.contains("```") { "````" } else { "```" };
            writeln!(
                shown,
                "**{title}**\n\n{fence}text\n{}\n{fence}\n\n{fence}text\n{text}\n{fence}\n\n{}\n",
                asked.trim_end(),
                attributes(&error)
            )
            .unwrap();
        }
    }
    blocks.add("Examples", &shown);
    blocks.check("errors.md");
}
