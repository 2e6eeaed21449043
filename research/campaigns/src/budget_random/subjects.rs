//! What texts are written for: schemas of MaskBench, or Lark grammars.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use maskwright::json_schema::SchemaConfig;
use maskwright::lark::{Indentation, LarkOptions, LexerKind};
use maskwright::{CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher};
use serde_json::json;

use crate::data::{Record, python_dumps};
use crate::judge::Judge;
use crate::random_logits::hash;

/// A grammar, who judges its texts, and some known ones.
pub(super) struct Subject {
    pub(super) id: String,
    pub(super) grammar: Arc<CompiledGrammar>,
    judge: Option<Judge>,
    pub(super) texts: Vec<String>,
}

impl Subject {
    /// Why `text` is not one of the grammar's; `None` if it is. Of Lark grammars a session without a limit
    /// judges, byte by byte, which knows nothing of tokens.
    pub(super) fn objection(&self, text: &[u8]) -> anyhow::Result<Option<String>> {
        if let Some(judge) = &self.judge {
            return Ok(judge.objection(text));
        }
        let mut matcher = Matcher::new(&self.grammar);
        if !matcher.accept_bytes(text)? {
            return Ok(Some(format!("refused from byte {}", matcher.validate_bytes(text)?)));
        }
        Ok((!matcher.is_accepting()).then(|| "not complete".to_owned()))
    }
}

/// The schema of any JSON, then the first records in the order of a hash of their ids, `n_wanted` in all.
pub(super) fn of_schemas(mut records: Vec<Record>, n_wanted: usize, compiler: &Compiler) -> Vec<Subject> {
    records.sort_by_key(|record| hash(record.id.as_bytes()));
    let any = Record { id: "any JSON".to_owned(), schema: json!({}), tests: Vec::new(), gold: None };
    let subject = |record: Record| {
        let schema = record.schema.to_string();
        let compiled = compiler
            .compile(
                &GrammarSource::json_schema(&schema, SchemaConfig::default()),
                &CompileOptions::default(),
            )
            .ok()?;
        let judge = Judge::new(&record.schema).ok()?;
        Matcher::new(&compiled).tokens_to_finish().ok()?;
        let valid = record.tests.into_iter().filter(|test| test.valid);
        let texts = valid.map(|test| python_dumps(&test.data)).collect();
        Some(Subject { id: record.id, grammar: compiled, judge: Some(judge), texts })
    };
    std::iter::once(any).chain(records).filter_map(subject).take(n_wanted).collect()
}

/// The Lark grammar of the shared folder `shared` that is called `name`, with the programs in it that Lark
/// accepts.
///
/// # Errors
/// If something cannot be read, or the grammar is refused.
pub(super) fn of_grammar(name: &str, shared: &Path, compiler: &Compiler) -> anyhow::Result<Subject> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
    };
    let path = shared.join("data/grammars").join(format!("{name}.lark"));
    let mut options = LarkOptions::default();
    options.lexer = LexerKind::Basic;
    options.indentation = (name == "python").then(Indentation::python);
    let grammar = compiler
        .compile(&GrammarSource::lark(read(&path)?, options).file(&path), &CompileOptions::default())?;
    let programs = shared.join("data/programs");
    let verdicts = programs.join("syncode_lark_verdicts.tsv");
    let mut texts = Vec::new();
    if verdicts.exists() {
        for line in read(&verdicts)?.lines() {
            let row: Vec<&str> = line.split('\t').collect();
            if let [language, folder, file, "accept", ..] = row[..]
                && language == name
            {
                // Lark's own verdict is on a text that ends with the end of a line.
                let end = if name == "python" { "\n" } else { "" };
                texts.push(read(&programs.join(language).join(folder).join(file))? + end);
            }
        }
    }
    Ok(Subject { id: name.to_owned(), grammar, judge: None, texts })
}
