//! The grammars, and the texts that each is held against.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use maskwright::lark::{Indentation, LarkOptions, LexerKind};
use maskwright::{CompileOptions, CompiledGrammar, Compiler, GrammarSource};
use serde_json::Value;

use crate::data;

/// Published grammars, which Lark takes as well.
pub(super) const PUBLISHED: [&str; 3] = ["go", "java", "python"];
/// Built-in grammars, written so that all these texts but a few are in their languages.
pub(super) const BUILT_IN: [&str; 3] = ["sql", "smiles", "cpp"];

/// Texts of the data that are not in the language of a built-in grammar, as they should not: grammar, text,
/// why.
const REFUSED: &str = include_str!("../../../../testdata/lark/refused.tsv");

/// A text of the data.
pub(crate) struct Text {
    /// Its file or line.
    pub(crate) name: String,
    pub(crate) text: String,
    /// What the list of verdicts says of it: `accept`, or `reject:` and the name of what Lark raises.
    pub(crate) listed: Option<String>,
}

/// A grammar with its texts.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    /// The file of a published grammar.
    pub(crate) file: Option<PathBuf>,
    pub(crate) texts: Vec<Text>,
}

impl Subject {
    /// Reads the texts of `name`.
    ///
    /// # Errors
    /// If something cannot be read.
    pub(crate) fn read(name: &'static str) -> anyhow::Result<Subject> {
        let data = data::shared().join("data");
        let file = PUBLISHED.contains(&name).then(|| data.join("grammars").join(format!("{name}.lark")));
        let texts = match name {
            "smiles" => lines(&data.join("smiles.txt"))?,
            "sql" => queries(&data.join("sql.jsonl"))?,
            _ if file.is_some() => listed_programs(&data.join("programs"), name)?,
            _ => programs(&data.join("programs"), name)?,
        };
        ensure!(!texts.is_empty(), "there are no texts of {name}");
        Ok(Subject { name, file, texts })
    }

    /// Whether Python's indentation is part of the grammar.
    pub(crate) fn is_indented(&self) -> bool {
        self.name == "python"
    }

    /// Compiles the grammar; a built-in one has the basic lexer.
    ///
    /// # Errors
    /// If it is not taken.
    pub(crate) fn compile(
        &self,
        compiler: &Compiler,
        lexer: LexerKind,
    ) -> anyhow::Result<Arc<CompiledGrammar>> {
        let options = CompileOptions::default();
        let Some(file) = &self.file else {
            return Ok(compiler.compile(&GrammarSource::builtin(self.name), &options)?);
        };
        let indentation = self.is_indented().then(Indentation::python);
        let mut lark = LarkOptions::default();
        lark.lexer = lexer;
        lark.indentation = indentation;
        Ok(compiler.compile(&GrammarSource::lark(read(file)?, lark).file(file), &options)?)
    }
}

/// Why the built-in grammar `subject` should not have the text `name` of the data; `None` if it should.
pub(super) fn reason_to_refuse(subject: &str, name: &str) -> Option<&'static str> {
    let rows = REFUSED.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    rows.filter(|row| row.len() == 3).find(|row| row[0] == subject && row[1] == name).map(|row| row[2])
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}

/// The programs of a language that Lark has judged; those of Python get a line end at their end.
fn listed_programs(folder: &Path, language: &str) -> anyhow::Result<Vec<Text>> {
    let end = if language == "python" { "\n" } else { "" };
    let mut texts = Vec::new();
    for line in read(&folder.join("syncode_lark_verdicts.tsv"))?.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[of, kind, file, verdict] = &fields[..] else {
            anyhow::bail!("the list of verdicts has the line {line:?}");
        };
        if of == language {
            let text = read(&folder.join(language).join(kind).join(file))? + end;
            texts.push(Text { name: format!("{kind}/{file}"), text, listed: Some(verdict.to_owned()) });
        }
    }
    Ok(texts)
}

/// All programs of a language.
fn programs(folder: &Path, language: &str) -> anyhow::Result<Vec<Text>> {
    let mut texts = Vec::new();
    for kind in ["full", "solution"] {
        let folder = folder.join(language).join(kind);
        let unreadable = || format!("{} cannot be read", folder.display());
        for entry in std::fs::read_dir(&folder).with_context(unreadable)? {
            let file = entry.with_context(unreadable)?;
            let name = format!("{kind}/{}", file.file_name().to_string_lossy());
            texts.push(Text { name, text: read(&file.path())?, listed: None });
        }
    }
    texts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(texts)
}

fn lines(file: &Path) -> anyhow::Result<Vec<Text>> {
    let text = read(file)?;
    let line = |(index, line): (usize, &str)| Text {
        name: format!("line {}", index + 1),
        text: line.to_owned(),
        listed: None,
    };
    Ok(text.lines().enumerate().map(line).collect())
}

fn queries(file: &Path) -> anyhow::Result<Vec<Text>> {
    let mut texts = lines(file)?;
    for text in &mut texts {
        let record: Value = serde_json::from_str(&text.text).with_context(|| text.name.clone())?;
        text.text = record["query"].as_str().with_context(|| format!("{}: no query", text.name))?.to_owned();
    }
    Ok(texts)
}
