//! The constructs of Lark and GBNF, from `testdata/reference`: each is compiled, and its texts are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright::lark::{Indentation, LarkDialect, LarkOptions, LexerKind};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Matcher, TokenId, Tokenizer,
};
use serde_json::Value;

use crate::page::{self, Blocks, code, escaped, lines, message, prose, table};

/// Tokens after those of single bytes; the last one ends texts.
const SPECIAL: [&str; 5] = ["<think>", "</think>", "[TOOL_CALLS]", "a name", "</s>"];

pub(crate) fn tokenizer() -> Tokenizer {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let tokens = bytes.chain(SPECIAL.map(|name| name.as_bytes().to_vec())).collect();
    let special: Vec<TokenId> = (256..261).map(TokenId).collect();
    Tokenizer::from_tokens_with_special(tokens, &[TokenId(260)], &special).unwrap()
}

/// The lines of a file of `testdata/reference`.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    let path = page::path(&format!("testdata/reference/{name}"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

pub(crate) fn field<'c>(case: &'c Value, name: &str) -> &'c str {
    case[name].as_str().unwrap_or_default()
}

pub(crate) fn list<'c>(case: &'c Value, name: &str) -> &'c [Value] {
    case[name].as_array().map_or(&[], Vec::as_slice)
}

/// Whether a text is one of the grammar: a string; `{"text": "a", "times": 3}`; or a list of strings and of
/// ids of tokens.
pub(crate) fn accepts(grammar: &Arc<CompiledGrammar>, text: &Value) -> bool {
    let mut matcher = Matcher::new(grammar);
    let mut read = |piece: &Value| match piece {
        Value::String(text) => matcher.accept_bytes(text.as_bytes()).unwrap(),
        Value::Number(id) => matcher.accept_token(TokenId(id.as_u64().unwrap() as u32)).unwrap(),
        _ => matcher.accept_bytes(repeated(piece).as_bytes()).unwrap(),
    };
    let is_read = match text {
        Value::Array(pieces) => pieces.iter().all(read),
        text => read(text),
    };
    is_read && matcher.is_accepting()
}

fn repeated(piece: &Value) -> String {
    field(piece, "text").repeat(piece["times"].as_u64().unwrap() as usize)
}

/// A text as the page shows it.
pub(crate) fn shown(text: &Value) -> String {
    match text {
        Value::String(text) if text.is_empty() => "the empty text".to_owned(),
        Value::String(text) => code(text),
        Value::Array(pieces) => {
            let pieces = pieces.iter().map(|piece| match piece.as_u64() {
                None => shown(piece),
                Some(id) if id < 256 => format!("token {}", code(&char::from(id as u8).to_string())),
                Some(id) => format!("token {}", code(SPECIAL[id as usize - 256])),
            });
            pieces.collect::<Vec<_>>().join(" ")
        }
        _ => format!("{} {} times", code(field(text, "text")), text["times"]),
    }
}

pub(crate) fn all_shown(texts: &[Value]) -> String {
    texts.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Why a grammar is refused, as the page shows it.
pub(crate) fn refusal(error: &Error) -> String {
    let text = error.to_string();
    let first = message(text.lines().next().unwrap_or_default());
    match error.hint() {
        Some(hint) if !text.lines().next().unwrap_or_default().contains(hint) => {
            format!("**refused:** {first}. *{}*", message(hint))
        }
        _ => format!("**refused:** {first}"),
    }
}

/// The tables of a page by section, made of the cases; `compile` reads a grammar.
fn tables(
    name: &str,
    original: &str,
    compile: impl Fn(&Value) -> Result<Arc<CompiledGrammar>, Error>,
) -> Blocks {
    let mut sections: Vec<(&str, Vec<Vec<String>>)> = Vec::new();
    let all = cases(name);
    let mut failures = Vec::new();
    for case in &all {
        let given = field(case, "name");
        let result = match (compile(case), case["error"].as_str()) {
            (Ok(grammar), None) => {
                for (texts, is_one) in [("yes", true), ("no", false)] {
                    for text in list(case, texts).iter().filter(|text| accepts(&grammar, text) != is_one) {
                        failures.push(format!(
                            "{given}: {text} is {} text of it",
                            if is_one { "no" } else { "a" }
                        ));
                    }
                }
                let yes = all_shown(list(case, "yes"));
                match list(case, "no") {
                    [] => format!("takes {yes}"),
                    no => format!("takes {yes}; not {}", all_shown(no)),
                }
            }
            (Err(error), Some(expected)) => {
                if !error.to_string().starts_with(expected) {
                    failures.push(format!("{given}: {error}"));
                }
                refusal(&error)
            }
            (Ok(_), Some(_)) => {
                failures.push(format!("{given} is taken"));
                continue;
            }
            (Err(error), None) => {
                failures.push(format!("{given} is refused: {error}"));
                continue;
            }
        };
        let written = match field(case, "written") {
            "" => prose(given),
            written => code(written),
        };
        let row = vec![
            written,
            prose(field(case, "means")),
            grammar_shown(case),
            result,
            prose(field(case, "differs")),
        ];
        match sections.last_mut() {
            Some((section, rows)) if *section == field(case, "section") => rows.push(row),
            _ => sections.push((field(case, "section"), vec![row])),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let mut blocks = Blocks::default();
    for (section, rows) in sections {
        let original = if section.ends_with("llguidance") { "Unlike llguidance" } else { original };
        let head = ["Written", "Means", "Example", "What it takes", original];
        blocks.add(section, &table(&head, &rows));
    }
    blocks
}

/// The grammar, the files that it imports, and its options.
fn grammar_shown(case: &Value) -> String {
    let mut shown = lines(field(case, "grammar"));
    for (files, given) in [("files", ""), ("grammars", "@")] {
        for (name, text) in case[files].as_object().into_iter().flatten() {
            shown += &format!("<br>{}: {}", code(&format!("{given}{name}")), lines(text.as_str().unwrap()));
        }
    }
    let options = ["lexer", "start", "indentation"].into_iter().filter(|name| !field(case, name).is_empty());
    let options = options.map(|name| code(&format!("{name}=\"{}\"", field(case, name))));
    let options: Vec<String> = options.collect();
    if !options.is_empty() {
        shown += &format!("<br>with {}", options.join(", "));
    }
    shown
}

fn source(case: &Value, source: GrammarSource) -> GrammarSource {
    let captured = list(case, "capture").iter().filter_map(Value::as_str);
    source.special_tokens_in_text(case["special"] == true).capture(captured)
}

#[test]
fn gbnf() {
    let compiler = Compiler::new(&tokenizer());
    let compile = |case: &Value| {
        let source = source(case, GrammarSource::gbnf(field(case, "grammar")));
        compiler.compile(&source, &CompileOptions::default())
    };
    tables("gbnf.jsonl", "Unlike llama.cpp", compile).check("gbnf.md");
}

#[test]
fn lark() {
    let compiler = Compiler::new(&tokenizer());
    let compile = |case: &Value| {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().join("main.lark");
        for (name, text) in case["files"].as_object().into_iter().flatten() {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.as_str().unwrap()).unwrap();
        }
        let mut options = LarkOptions::default();
        options.import_paths = vec![folder.path().to_path_buf()];
        options.lexer = match field(case, "lexer") {
            "basic" => LexerKind::Basic,
            "dynamic_complete" => LexerKind::DynamicComplete,
            _ => LexerKind::Contextual,
        };
        if field(case, "dialect") == "llguidance" {
            options.dialect = LarkDialect::Llguidance;
        }
        if !field(case, "start").is_empty() {
            options.start = field(case, "start").to_owned();
        }
        options.indentation = (field(case, "indentation") == "python").then(Indentation::python);
        let given = case["grammars"].as_object().into_iter().flatten();
        options.grammars = given
            .map(|(name, text)| (name.clone(), text.as_str().unwrap().to_owned()))
            .collect::<BTreeMap<_, _>>();
        let has_files = !case["files"].is_null();
        let grammar = GrammarSource::lark(field(case, "grammar"), options);
        let grammar = source(case, if has_files { grammar.file(main) } else { grammar });
        compiler.compile(&grammar, &CompileOptions::default())
    };
    tables("lark.jsonl", "Unlike Lark", compile).check("lark.md");
}

/// Names in cells are text.
#[test]
fn signs_of_markdown_are_escaped() {
    assert_eq!(escaped("a|b <c>"), "a&#124;b &#60;c&#62;");
    assert_eq!(escaped("a_b _c_ [d]\\"), "a_b \\_c\\_ \\[d\\]\\\\");
    assert_eq!(code("a|b"), "<code>a&#124;b</code>");
    assert_eq!(code(" `x`\n"), "`` ␣`x`⏎ ``");
    assert_eq!(prose("a *b* `c|d`"), "a *b* <code>c&#124;d</code>");
    assert_eq!(message("rule `a|b` <x>"), "rule <code>a&#124;b</code> &#60;x&#62;");
}
