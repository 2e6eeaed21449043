//! The cases of `testdata/hostile/cases.jsonl`, read and run: by the test of their outcomes, and by the
//! campaign that measures their time and memory.
//!
//! A case has a `name`, a `kind` (what its `source` is), and either `error`: the parts that the error's
//! message must have (at the latest where the texts of `reads` are read), or the texts that it `accepts` and
//! `refuses`. Sources and texts are written as parts: a string, or a list of strings, `{"repeat", "times"}`,
//! `{"each", "between", "count"}` (with `{}` for the number, from 0) and `{"bytes"}`.

use std::path::PathBuf;
use std::sync::Arc;

use maskwright::json_schema::SchemaConfig;
use maskwright::lark::{Indentation, LarkOptions, LexerKind};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Matcher, Tokenizer, TokenizerOptions,
    mask_contains, mask_words,
};
use serde_json::Value;

/// A bad input, and what shall come of it.
pub(crate) struct Case {
    /// One of a kind.
    pub(crate) name: String,
    kind: String,
    source: Vec<u8>,
    expected: Expected,
}

enum Expected {
    /// The message has these parts; it comes at the latest where these texts are read.
    Error { parts: Vec<String>, reads: Vec<String> },
    /// It compiles, and its language has these texts, and not those.
    Language { accepts: Vec<String>, refuses: Vec<String> },
}

/// All cases, sources not yet written out.
pub(crate) fn read() -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/hostile/cases.jsonl");
    let text = std::fs::read_to_string(&path).expect("the cases are part of the source tree");
    text.lines().map(|line| serde_json::from_str(line).expect("every line is a case")).collect()
}

/// The name of a case.
pub(crate) fn name(case: &Value) -> &str {
    case["name"].as_str().expect("a case has a name")
}

impl Case {
    /// Writes out the sources and texts of a case.
    pub(crate) fn new(case: &Value) -> Case {
        let list = |key: &str| case[key].as_array().cloned().unwrap_or_default();
        let texts = |key: &str| -> Vec<String> {
            let text = |parts| String::from_utf8(written(parts)).expect("texts of cases are UTF-8");
            list(key).iter().map(text).collect()
        };
        let expected = match case.get("error") {
            Some(_) => Expected::Error { parts: texts("error"), reads: texts("reads") },
            None => Expected::Language { accepts: texts("accepts"), refuses: texts("refuses") },
        };
        let kind = case["kind"].as_str().expect("a case has a kind").to_owned();
        Case { name: name(case).to_owned(), kind, source: written(&case["source"]), expected }
    }

    /// Runs it with the vocabulary of `tokenizer`; in words what is not as it should be.
    pub(crate) fn run(&self, tokenizer: &Tokenizer) -> Result<(), String> {
        match &self.expected {
            Expected::Error { parts, reads } => {
                let verdicts = self.compile(tokenizer).and_then(|grammar| {
                    reads.iter().try_for_each(|text| is_read(grammar.as_ref(), tokenizer, text).map(drop))
                });
                let Err(error) = verdicts else { return Err("taken without an error".to_owned()) };
                let message = error.to_string();
                let missing: Vec<&String> = parts.iter().filter(|part| !message.contains(*part)).collect();
                if missing.is_empty() {
                    return Ok(());
                }
                Err(format!("the error does not say {missing:?}: {}", beginning(&message)))
            }
            Expected::Language { accepts, refuses } => {
                let refused = |error: Error| format!("an error: {}", beginning(&error.to_string()));
                let grammar = self.compile(tokenizer).map_err(refused)?;
                let verdicts = accepts.iter().map(|text| (text, true));
                for (text, expected) in verdicts.chain(refuses.iter().map(|text| (text, false))) {
                    if is_read(grammar.as_ref(), tokenizer, text).map_err(refused)? != expected {
                        let verdict = if expected { "not accepted" } else { "accepted" };
                        return Err(format!("{verdict}: {}", beginning(text)));
                    }
                }
                Ok(())
            }
        }
    }

    /// The grammar, if the case has one.
    fn compile(&self, tokenizer: &Tokenizer) -> Result<Option<Arc<CompiledGrammar>>, Error> {
        let compiler = Compiler::new(tokenizer);
        let options = CompileOptions::default();
        let source = || std::str::from_utf8(&self.source).expect("grammars of cases are UTF-8");
        let grammar = match self.kind.as_str() {
            "regex" => compiler.compile(&GrammarSource::regex(source()), &options)?,
            "gbnf" => compiler.compile(&GrammarSource::gbnf(source()), &options)?,
            "lark" | "lark basic" | "lark indented" => {
                let lexer = if self.kind == "lark" { LexerKind::Contextual } else { LexerKind::Basic };
                let indentation = (self.kind == "lark indented").then(Indentation::python);
                let mut lark = LarkOptions::default();
                lark.lexer = lexer;
                lark.indentation = indentation;
                compiler.compile(&GrammarSource::lark(source(), lark.clone()), &options)?
            }
            "schema" => {
                compiler.compile(&GrammarSource::json_schema(source(), SchemaConfig::default()), &options)?
            }
            "choice" => {
                let choices: Vec<&str> = source().lines().collect();
                compiler.compile(&GrammarSource::choice(&choices), &options)?
            }
            "tokenizer.json" | "gguf" => {
                let folder = tempfile::tempdir().expect("a temporary folder can be made");
                let path = folder.path().join(format!("broken.{}", self.kind));
                std::fs::write(&path, &self.source).expect("a temporary file can be written");
                load(&path, &self.kind)?;
                return Ok(None);
            }
            "missing tokenizer.json" | "missing gguf" => {
                load("no-such-folder/no-such-file".as_ref(), self.kind.trim_start_matches("missing "))?;
                return Ok(None);
            }
            kind => panic!("{}: {kind:?} is no kind of case", self.name),
        };
        // The first mask belongs to what a bad grammar may cost.
        Matcher::new(&grammar).mask()?;
        Ok(Some(grammar))
    }
}

fn load(path: &std::path::Path, kind: &str) -> Result<(), Error> {
    let options = TokenizerOptions::default();
    match kind {
        "gguf" => Tokenizer::from_gguf(path, &options)?,
        _ => Tokenizer::from_file(path, &options)?,
    };
    Ok(())
}

/// What a message shows of a text that may be long.
fn beginning(text: &str) -> String {
    text.chars().take(500).collect()
}

/// Whether a text is one of the grammar's, by its masks.
fn is_read(grammar: Option<&Arc<CompiledGrammar>>, tokenizer: &Tokenizer, text: &str) -> Result<bool, Error> {
    let grammar = grammar.expect("cases of files have no texts");
    let mut matcher = Matcher::new(grammar);
    let mut words = vec![0; mask_words(tokenizer.n_vocab())];
    for id in tokenizer.encode(text)? {
        matcher.fill_mask(&mut words)?;
        let is_allowed = mask_contains(&words, id);
        assert_eq!(matcher.accept_token(id)?, is_allowed, "mask and accept agree");
        if !is_allowed {
            return Ok(false);
        }
    }
    Ok(matcher.is_accepting())
}

/// Parts, written out.
fn written(parts: &Value) -> Vec<u8> {
    let number = |part: &Value, key: &str| part[key].as_u64().expect("a count is a number") as usize;
    match parts {
        Value::String(text) => text.clone().into_bytes(),
        Value::Array(parts) => parts.iter().flat_map(written).collect(),
        part if part.get("repeat").is_some() => written(&part["repeat"]).repeat(number(part, "times")),
        part if part.get("each").is_some() => {
            let (each, between) = (part["each"].as_str(), part["between"].as_str());
            let each = each.expect("`each` is a text");
            let items: Vec<String> =
                (0..number(part, "count")).map(|index| each.replace("{}", &index.to_string())).collect();
            items.join(between.unwrap_or_default()).into_bytes()
        }
        part => {
            let bytes = part["bytes"].as_array().expect("a part is one of those above");
            bytes.iter().map(|byte| byte.as_u64().expect("a byte is a number") as u8).collect()
        }
    }
}
