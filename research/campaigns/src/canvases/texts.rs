//! The languages, their texts, and the judges of a filled canvas.
//!
//! Texts and grammars of programs and molecules are those of [`crate::lark_verdicts`]. A JSON text is the
//! wanted record of a line of json-mode-eval, and its grammar is the schema of that line.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use anyhow::ensure;
use clap::ValueEnum;
use maskwright::json_schema::SchemaConfig;
use maskwright::lark::LexerKind;
use maskwright::{CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, TokenId};
use serde::{Deserialize, Serialize};

use crate::data;
use crate::judge::Judge;
use crate::lark_verdicts::{LarkJudge, Subject, python_with_lark};
use crate::numbers::Numbers;
use crate::random_logits::hash;

#[derive(ValueEnum, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub(super) enum Language {
    /// Programs under the built-in grammar
    Cpp,
    /// Programs under the built-in grammar
    Python,
    /// Queries under the built-in grammar
    Sql,
    /// Python programs under the published grammar
    PublishedPython,
    /// Programs under the published grammar
    Go,
    /// Records of json-mode-eval, each under its own schema
    Json,
    /// Molecules under the built-in grammar
    Smiles,
}

/// A text of a language.
pub(super) struct Text {
    pub(super) name: String,
    pub(super) tokens: Vec<TokenId>,
    pub(super) grammar: Arc<CompiledGrammar>,
    /// The validator of a JSON text.
    judge: Option<Judge>,
}

/// The texts that canvases of a language are made of.
pub(super) struct Texts {
    pub(super) chosen: Vec<Text>,
    /// How many texts were passed over because a judge refuses them, or their schema is not taken.
    pub(super) n_refused: usize,
    /// The judge of programs beside the session. It is asked one text at a time.
    lark: Option<RefCell<LarkJudge>>,
}

/// A text as the data have it.
struct Candidate {
    name: String,
    text: String,
    /// Compiles the grammar of the text.
    source: Source,
    /// Whether Lark is on record as accepting it.
    is_listed: bool,
}

enum Source {
    Shared(Arc<CompiledGrammar>),
    Schema(serde_json::Value),
}

/// Which texts of a language are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// How many.
    pub(super) n: usize,
    /// How many tokens one has: more than the first number, and at most the second.
    pub(super) lengths: (usize, usize),
    /// Gives the order in which they are looked at.
    pub(super) seed: u64,
}

impl Language {
    pub(super) fn title(self) -> &'static str {
        match self {
            Language::Cpp => "cpp",
            Language::Python => "python",
            Language::Sql => "sql",
            Language::PublishedPython => "published python",
            Language::Go => "go",
            Language::Json => "json",
            Language::Smiles => "smiles",
        }
    }

    /// The name of its grammar.
    pub(super) fn grammar(self) -> &'static str {
        if self == Language::PublishedPython { "python" } else { self.title() }
    }

    /// The texts of this language that `choice` wants. Under a published grammar, programs are also judged by
    /// Lark, with `python` or an environment of its own.
    ///
    /// # Errors
    /// If the data cannot be read, Lark cannot be started, a grammar does not compile, or a session refuses a
    /// text that Lark accepts.
    pub(super) fn texts(
        self,
        compiler: &Compiler,
        choice: Choice,
        python: Option<&Path>,
    ) -> anyhow::Result<Texts> {
        let (mut candidates, lark) = match self {
            Language::Json => (records()?, None),
            _ => {
                let mut subject = Subject::read(self.grammar())?;
                if self == Language::Python {
                    // What Lark is on record as saying is of the published grammar.
                    subject.file = None;
                    subject.texts.iter_mut().for_each(|text| text.listed = None);
                }
                let lark = match &subject.file {
                    None => None,
                    Some(file) => {
                        let python = python_with_lark(python)?;
                        Some(RefCell::new(LarkJudge::start(&python, file, subject.is_indented())?))
                    }
                };
                (programs(subject, compiler)?, lark)
            }
        };
        let place = |name: &str| Numbers((choice.seed ^ hash(name.as_bytes())) | 1).below(1 << 40);
        candidates.sort_by_cached_key(|candidate| place(&candidate.name));
        let mut texts = Texts { chosen: Vec::new(), n_refused: 0, lark };
        for Candidate { name, text, source, is_listed } in candidates {
            if texts.chosen.len() == choice.n {
                break;
            }
            let tokens = compiler.tokenizer().encode_bytes(text.as_bytes())?;
            if !(choice.lengths.0 + 1..=choice.lengths.1).contains(&tokens.len()) {
                continue;
            }
            // A schema that the compiler or the validator does not take.
            let Ok((grammar, judge)) = source.compile(compiler) else {
                texts.n_refused += 1;
                continue;
            };
            let text = Text { name, tokens, grammar, judge };
            match texts.objection(&text, &text.tokens)? {
                None => texts.chosen.push(text),
                Some(objection) => {
                    ensure!(!is_listed, "Lark is on record as accepting {}, but: {objection}", text.name);
                    texts.n_refused += 1;
                }
            }
        }
        Ok(texts)
    }
}

impl Source {
    fn compile(self, compiler: &Compiler) -> anyhow::Result<(Arc<CompiledGrammar>, Option<Judge>)> {
        match self {
            Source::Shared(grammar) => Ok((grammar, None)),
            Source::Schema(schema) => {
                let source = GrammarSource::json_schema(schema.to_string(), SchemaConfig::default());
                let grammar = compiler.compile(&source, &CompileOptions::default())?;
                Ok((grammar, Some(Judge::new(&schema)?)))
            }
        }
    }
}

/// The texts of a grammar, without those that Lark is on record as refusing.
fn programs(subject: Subject, compiler: &Compiler) -> anyhow::Result<Vec<Candidate>> {
    let grammar = subject.compile(compiler, LexerKind::Basic)?;
    let texts = subject.texts.into_iter();
    let accepted = texts.filter(|text| text.listed.as_deref().is_none_or(|verdict| verdict == "accept"));
    Ok(accepted
        .map(|text| Candidate {
            name: text.name,
            text: text.text,
            source: Source::Shared(grammar.clone()),
            is_listed: text.listed.is_some(),
        })
        .collect())
}

fn records() -> anyhow::Result<Vec<Candidate>> {
    let records = data::read_records(&data::shared().join("data/json-mode-eval.jsonl"))?;
    let candidate = |record: data::Record| {
        let text = data::python_dumps(&record.gold?);
        let source = Source::Schema(record.schema);
        Some(Candidate { name: record.id, text, source, is_listed: false })
    };
    Ok(records.into_iter().filter_map(candidate).collect())
}

impl Texts {
    /// Why the tokens that fill a canvas of `text` are not a text of its language; `None` if they are one.
    ///
    /// # Errors
    /// If the session reaches a limit, or the process of Lark has ended.
    pub(super) fn objection(&self, text: &Text, filled: &[TokenId]) -> anyhow::Result<Option<String>> {
        let vocabulary = text.grammar.vocabulary();
        let end = filled.iter().position(|&token| vocabulary.is_eos(token)).unwrap_or(filled.len());
        if filled[end..].iter().any(|&token| !vocabulary.is_eos(token)) {
            return Ok(Some(format!("the text ends at token {end}, and something follows that is no end")));
        }
        let mut session = Matcher::new(&text.grammar);
        let n_read = session.accept_tokens(&filled[..end])?;
        if n_read < end {
            return Ok(Some(format!("a session refuses token {n_read} of {end}")));
        }
        if !session.is_accepting() {
            return Ok(Some("a session says that the text is not whole".to_owned()));
        }
        let bytes = filled[..end].iter().flat_map(|&id| vocabulary.token_bytes(id).unwrap_or_default());
        let bytes: Vec<u8> = bytes.copied().collect();
        if let Some(judge) = &text.judge {
            return Ok(judge.objection(&bytes));
        }
        let Some(lark) = &self.lark else { return Ok(None) };
        let Ok(program) = std::str::from_utf8(&bytes) else {
            return Ok(Some("the text is not UTF-8".to_owned()));
        };
        let verdicts = lark.borrow_mut().judge(program)?;
        Ok((!verdicts.is_accepting()).then(|| format!("Lark refuses the text: {verdicts:?}")))
    }
}

#[cfg(test)]
impl Texts {
    /// One text, which need not be of its built-in grammar.
    pub(super) fn of(language: Language, compiler: &Compiler, text: &str) -> Texts {
        let source = GrammarSource::builtin(language.grammar());
        let grammar = compiler.compile(&source, &CompileOptions::default()).unwrap();
        let tokens = compiler.tokenizer().encode_bytes(text.as_bytes()).unwrap();
        let text = Text { name: text.to_owned(), tokens, grammar, judge: None };
        Texts { chosen: vec![text], n_refused: 0, lark: None }
    }
}
