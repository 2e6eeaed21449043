//! The keywords of JSON Schema, from `testdata/reference/json-schema.jsonl`: each is compiled in every draft,
//! and texts are judged.

use std::collections::BTreeMap;

use maskwright::json_schema::{SchemaConfig, Status};
use maskwright::{CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource};
use serde_json::{Value, json};

use crate::notations::{accepts, all_shown, cases, field, list, refusal, tokenizer};
use crate::page::{Blocks, code, message, table};

/// The drafts, as `$schema` names them and as the page does.
const DRAFTS: [(&str, &str); 5] = [
    ("http://json-schema.org/draft-04/schema#", "4"),
    ("http://json-schema.org/draft-06/schema#", "6"),
    ("http://json-schema.org/draft-07/schema#", "7"),
    ("https://json-schema.org/draft/2019-09/schema", "2019-09"),
    ("https://json-schema.org/draft/2020-12/schema", "2020-12"),
];

fn compiled(compiler: &Compiler, schema: Value) -> Result<std::sync::Arc<CompiledGrammar>, Error> {
    let source = GrammarSource::json_schema(schema, SchemaConfig::default());
    compiler.compile(&source, &CompileOptions::default())
}

/// What becomes of a keyword in a compiled schema.
fn status(grammar: &CompiledGrammar, keyword: &str) -> Option<Status> {
    let mut entries = grammar.report()?.entries();
    entries.find(|entry| entry.keyword == keyword).map(|entry| entry.status.clone())
}

#[test]
fn keywords_of_json_schema() {
    let compiler = Compiler::new(&tokenizer());
    let mut sections: BTreeMap<(usize, String), Vec<Vec<String>>> = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    for case in cases("json-schema.jsonl") {
        let (keyword, schema) = (field(&case, "keyword"), case["schema"].clone());
        let names_draft = schema["$schema"].is_string();
        let outcome = compiled(&compiler, schema.clone());
        let (mut verdict, mut drafts) = (String::new(), String::new());
        match (&outcome, case["error"].as_str()) {
            (Err(error), Some(expected)) => {
                assert!(error.to_string().contains(expected), "{keyword}: {error}");
                verdict = refusal(error);
            }
            (Err(error), None) => panic!("{keyword}: {error}"),
            (Ok(_), Some(_)) => panic!("{keyword} compiles"),
            (Ok(grammar), None) => {
                for text in list(&case, "yes") {
                    assert!(accepts(grammar, text), "{keyword}: {text} is refused");
                }
                for text in list(&case, "no") {
                    assert!(!accepts(grammar, text), "{keyword}: {text} is accepted");
                }
                let how = status(grammar, keyword);
                verdict.push_str(match how {
                    Some(Status::Enforced) => "enforced",
                    Some(Status::EnforcedBySession) => "by the session",
                    other => panic!("{keyword}: {other:?}"),
                });
                let works = DRAFTS.map(|(uri, _)| {
                    let mut in_draft = schema.clone();
                    in_draft["$schema"] = json!(uri);
                    // Forms that only a later draft has are errors in an earlier one.
                    let grammar = compiled(&compiler, in_draft).ok();
                    grammar.is_some_and(|grammar| {
                        let how = status(&grammar, keyword);
                        matches!(how, Some(Status::Enforced | Status::EnforcedBySession))
                    })
                });
                let names = DRAFTS.map(|(_, name)| name);
                let first = works.iter().position(|works| *works).expect("some draft has it");
                let last = works.iter().rposition(|works| *works).expect("some draft has it");
                assert!(works[first..=last].iter().all(|works| *works), "{keyword}: {works:?}");
                drafts = match (first, last) {
                    (0, 4) => "all".to_owned(),
                    (first, 4) => format!("from {}", names[first]),
                    (0, last) => format!("to {}", names[last]),
                    (first, last) if first == last => names[first].to_owned(),
                    (first, last) => format!("{} to {}", names[first], names[last]),
                };
            }
        }
        let mut shown = schema;
        if names_draft {
            shown.as_object_mut().expect("it has a member").shift_remove("$schema");
        }
        let section = field(&case, "section").to_owned();
        let place = names.iter().position(|name| *name == section).unwrap_or_else(|| {
            names.push(section.clone());
            names.len() - 1
        });
        let texts = |name: &str, label: &str| match list(&case, name) {
            [] => String::new(),
            texts => format!("<br>{label} {}", all_shown(texts)),
        };
        let note = field(&case, "note");
        let note = if note.is_empty() { String::new() } else { format!("<br>*{}*", message(note)) };
        let drafts = if drafts.is_empty() { drafts } else { format!("<br>drafts: {drafts}") };
        sections.entry((place, section)).or_default().push(vec![
            code(keyword),
            message(field(&case, "means")) + &note,
            verdict + &drafts,
            code(&shown.to_string()) + &texts("yes", "allows") + &texts("no", "refuses"),
        ]);
    }
    let mut blocks = Blocks::default();
    let head = ["keyword", "what it asks for", "here", "example"];
    for ((_, section), rows) in &sections {
        blocks.add(&section.to_lowercase(), &table(&head, rows));
    }
    blocks.check("json-schema.md");
}
