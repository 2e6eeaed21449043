//! Regular expressions by dialect, from `testdata/reference/regex.jsonl`: each is compiled in all of them.

use std::collections::BTreeMap;

use maskwright::json_schema::SchemaConfig;
use maskwright::lark::LarkOptions;
use maskwright::{CompileOptions, Compiler, GrammarSource};
use serde_json::{Value, json};

use crate::notations::{accepts, all_shown, cases, field, list, refusal, shown, tokenizer};
use crate::page::{Blocks, code, prose, table};

/// The names of the dialects in the data, and on the page.
const DIALECTS: [(&str, &str); 5] = [
    ("default", "default"),
    ("rust", "`rust`"),
    ("ecma", "`ecma`"),
    ("python", "`python`"),
    ("lark", "Lark terminal"),
];

fn source(dialect: &str, pattern: &str) -> GrammarSource {
    match dialect {
        "default" => GrammarSource::regex(pattern),
        "rust" => GrammarSource::rust_regex(pattern),
        "ecma" => GrammarSource::ecma_regex(pattern),
        "python" => GrammarSource::python_regex(pattern),
        _ => {
            let escaped = pattern.replace('/', "\\/");
            GrammarSource::lark(format!("start: A\nA: /{escaped}/\n"), LarkOptions::default())
        }
    }
}

/// What a case says of a dialect: which texts match, or why the pattern is refused.
struct Said<'c> {
    yes: &'c [Value],
    no: &'c [Value],
    error: Option<&'c str>,
    /// Whether the engine that the dialect is named after takes the pattern; otherwise it does what the
    /// dialect does.
    is_in_engine: Option<bool>,
}

fn said<'c>(case: &'c Value, dialect: &str) -> Said<'c> {
    let own = &case["but"][dialect];
    let texts = |name| if own[name].is_null() { list(case, name) } else { list(own, name) };
    let error = own["error"].as_str();
    Said { yes: texts("yes"), no: texts("no"), error, is_in_engine: own["engine"].as_bool() }
}

#[test]
fn regex() {
    let compiler = Compiler::new(&tokenizer());
    let compile = |source: &GrammarSource| compiler.compile(source, &CompileOptions::default());
    let all = cases("regex.jsonl");
    let mut sections: Vec<(&str, Vec<Vec<String>>)> = Vec::new();
    // By message, the patterns and dialects that it refuses.
    let mut refusals: BTreeMap<String, (String, Vec<&str>)> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in &all {
        let pattern = field(case, "pattern");
        let mut row = vec![code(pattern), prose(field(case, "means")), all_shown(list(case, "yes"))];
        for (dialect, title) in DIALECTS {
            let said = said(case, dialect);
            row.push(match (compile(&source(dialect, pattern)), said.error) {
                (Ok(grammar), None) => {
                    for (texts, is_one) in [(said.yes, true), (said.no, false)] {
                        for text in texts.iter().filter(|text| accepts(&grammar, text) != is_one) {
                            let verdict = if is_one { "not matched" } else { "matched" };
                            failures.push(format!("{dialect} {pattern}: {text} is {verdict}"));
                        }
                    }
                    cell(case, &said)
                }
                (Err(error), Some(expected)) if error.to_string().contains(expected) => {
                    // A Lark terminal's messages are Python's, with the pattern in them.
                    if dialect != "lark" {
                        let entry = refusals.entry(refusal(&error)).or_insert((code(pattern), Vec::new()));
                        if entry.0 == code(pattern) {
                            entry.1.push(title);
                        }
                    }
                    if said.is_in_engine == Some(true) { "**refused**".to_owned() } else { "–".to_owned() }
                }
                (Ok(_), Some(_)) => {
                    failures.push(format!("{dialect} {pattern} is taken"));
                    String::new()
                }
                (Err(error), _) => {
                    failures.push(format!("{dialect} {pattern}: {error}"));
                    String::new()
                }
            });
        }
        row.push(prose(field(case, "note")));
        match sections.last_mut() {
            Some((section, rows)) if *section == field(case, "section") => rows.push(row),
            _ => sections.push((field(case, "section"), vec![row])),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let mut blocks = Blocks::default();
    let head: Vec<&str> = ["Written", "Means", "Matches"]
        .into_iter()
        .chain(DIALECTS.map(|(_, title)| title))
        .chain(["Note"])
        .collect();
    for (section, rows) in sections {
        blocks.add(section, &table(&head, &rows));
    }
    let rows = refusals.into_iter().map(|(message, (pattern, dialects))| {
        let message = message.strip_prefix("**refused:** ").unwrap_or(&message).to_owned();
        vec![pattern, dialects.join(", "), message]
    });
    blocks.add("Messages", &table(&["Pattern", "Dialect", "Message"], &rows.collect::<Vec<_>>()));
    blocks.check("regex.md");
}

/// What is different about a dialect that takes the pattern.
fn cell(case: &Value, said: &Said<'_>) -> String {
    let (yes, no) = (list(case, "yes"), list(case, "no"));
    let more: Vec<String> = said.yes.iter().filter(|text| !yes.contains(text)).map(shown).collect();
    let fewer: Vec<String> = said.no.iter().filter(|text| !no.contains(text)).map(shown).collect();
    let mut cell = if said.is_in_engine == Some(false) { "lenient" } else { "yes" }.to_owned();
    if !more.is_empty() {
        cell += &format!(", {} too", more.join(", "));
    }
    if !fewer.is_empty() {
        cell += &format!(", not {}", fewer.join(", "));
    }
    cell
}

/// `pattern` in a JSON Schema is the dialect `ecma`, found anywhere in the string.
#[test]
fn schemas_read_the_same_patterns() {
    let compiler = Compiler::new(&tokenizer());
    let mut n_texts = 0;
    for case in cases("regex.jsonl") {
        let (pattern, said) = (field(&case, "pattern"), said(&case, "ecma"));
        let schema = json!({"type": "string", "pattern": pattern}).to_string();
        let schema = GrammarSource::json_schema(schema, SchemaConfig::default());
        let compiled = compiler.compile(&schema, &CompileOptions::default());
        // What no whole text matches may be found within one.
        if said.error.is_some_and(|error| error.contains("matches no text")) {
            continue;
        }
        assert_eq!(compiled.is_err(), said.error.is_some(), "{pattern}: {:?}", compiled.err());
        let Ok(grammar) = compiled else { continue };
        for text in said.yes {
            assert!(accepts(&grammar, &json!(text.to_string())), "{pattern}: {text}");
            n_texts += 1;
        }
    }
    assert!(n_texts > 80, "{n_texts} texts");
}
