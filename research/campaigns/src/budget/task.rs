//! The tasks: records with gold values, their prompts, their limits, and the grammar of JSON.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::Context;
use maskwright::grammar::{Grammar, GrammarBuilder};
use maskwright::{CompileOptions, GrammarSource, Tokenizer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::PromptKind;
use crate::prompt;

/// Goes up when the wording of prompts changes: texts of other prompts are other texts.
pub(super) const PROMPT_VERSION: u32 = 1;

/// A schema and the value wanted.
#[derive(Deserialize, Debug, Clone)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) schema: Value,
    pub(super) gold: Value,
}

/// A limit on tokens.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(into = "String", try_from = "String")]
pub(super) enum Limit {
    /// So many hundredths of the gold value's length.
    Percent(u32),
    Tokens(usize),
    /// The fewest tokens of any text of the grammar.
    Least,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        if text == "least" {
            return Ok(Limit::Least);
        }
        let wrong =
            |_| format!("`{text}` is no ratio such as 1.1, no number of tokens such as 400, and not `least`");
        if !text.contains('.') {
            return text.parse().map(Limit::Tokens).map_err(|_| wrong(()));
        }
        let ratio: f64 = text.parse().map_err(|_| wrong(()))?;
        if !(0.01..100.0).contains(&ratio) {
            return Err(wrong(()));
        }
        Ok(Limit::Percent((100.0 * ratio).round() as u32))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Percent(percent) if percent % 10 == 0 => {
                write!(f, "{}.{}", percent / 100, percent / 10 % 10)
            }
            Limit::Percent(percent) => write!(f, "{}.{:02}", percent / 100, percent % 100),
            Limit::Tokens(n_tokens) => n_tokens.fmt(f),
            Limit::Least => f.write_str("least"),
        }
    }
}

impl From<Limit> for String {
    fn from(limit: Limit) -> String {
        limit.to_string()
    }
}

impl TryFrom<String> for Limit {
    type Error = String;

    fn try_from(text: String) -> Result<Limit, String> {
        text.parse()
    }
}

/// The tasks of a file of JSON lines, in its order.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Task>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let place = |index: usize| format!("{}, line {}", path.display(), index + 1);
    let parse = |(index, line)| serde_json::from_str(line).with_context(|| place(index));
    text.lines().enumerate().map(parse).collect()
}

impl Task {
    /// The tokens of the gold value without white space, end of text included.
    pub(super) fn n_gold_tokens(&self, tokenizer: &Tokenizer) -> anyhow::Result<usize> {
        Ok(tokenizer.encode(&self.gold.to_string())?.len() + 1)
    }

    /// What the model is asked: the schema, and the gold value's facts one by one.
    pub(super) fn prompt(&self, kind: PromptKind) -> String {
        let mut prompt = prompt::of_facts(&self.schema, &self.gold);
        if kind == PromptKind::Compact {
            prompt.push_str(" Keep it compact: no spaces and no line breaks between its parts.");
        }
        prompt
    }
}

/// RFC 8259 with the terminals of paper 4, appendix B.3: structure takes the white space around it, numbers
/// have four parts. LL(1).
pub(super) fn json_grammar() -> anyhow::Result<Grammar> {
    let mut builder = GrammarBuilder::new();
    let terminal = |builder: &mut GrammarBuilder, pattern: &str| {
        let grammar = GrammarSource::regex(pattern).grammar(&CompileOptions::default())?;
        let regex = grammar.terminals().first().context("a pattern is one terminal")?.clone();
        anyhow::Ok(builder.terminal(regex))
    };
    let mut marks = Vec::new();
    for mark in [r"\{", r"\}", r"\[", r"\]", ":", ","] {
        marks.push(terminal(&mut builder, &format!(r"[ \t\n\r]*{mark}[ \t\n\r]*"))?);
    }
    let &[open, close, start, end, colon, comma] = marks.as_slice() else {
        unreachable!("one for each of six patterns")
    };
    let string = terminal(&mut builder, r#""(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*""#)?;
    let minus = terminal(&mut builder, "-")?;
    let integer = terminal(&mut builder, "0|[1-9][0-9]*")?;
    let fraction = terminal(&mut builder, r"\.[0-9]+")?;
    let exponent = terminal(&mut builder, "[eE][+-]?[0-9]+")?;
    let words = ["true", "false", "null"].map(|word| builder.literal(word));

    let optional = [minus, fraction, exponent].map(|part| builder.optional(part));
    let number = builder.seq(&[optional[0], integer, optional[1], optional[2]]);
    let value = builder.declare("value");
    let inner = builder.rule(value);
    let list = |builder: &mut GrammarBuilder, open, item, close| {
        let more = builder.seq(&[comma, item]);
        let more = builder.repeat(more, 0, None);
        let items = builder.seq(&[item, more]);
        let items = builder.optional(items);
        builder.seq(&[open, items, close])
    };
    let member = builder.seq(&[string, colon, inner]);
    let object = list(&mut builder, open, member, close);
    let array = list(&mut builder, start, inner, end);
    let body = builder.alt(&[object, array, string, number, words[0], words[1], words[2]]);
    builder.define(value, body);
    Ok(builder.finish(value).map_err(maskwright::Error::from)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use maskwright::{Compiler, Matcher, TokenId};
    use maskwright_truncproof::TruncProof;
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_read_and_written() {
        for (text, limit) in [
            ("1.1", Limit::Percent(110)),
            ("1.25", Limit::Percent(125)),
            ("400", Limit::Tokens(400)),
            ("least", Limit::Least),
        ] {
            assert_eq!(text.parse::<Limit>(), Ok(limit));
            assert_eq!(limit.to_string(), text);
        }
        assert!("x".parse::<Limit>().is_err() && "0.0".parse::<Limit>().is_err());
    }

    #[test]
    fn prompts_tell_every_fact() {
        let task = Task {
            id: "x".to_owned(),
            schema: json!({"type": "object"}),
            gold: json!({"a": "one", "b": [{"c": 2}, true], "d": {}}),
        };
        let prompt = task.prompt(PromptKind::Plain);
        assert!(prompt.contains("- a: one\n- b, item 1, c: 2\n- b, item 2: true\n- d: {}\n"), "{prompt}");
        assert!(task.prompt(PromptKind::Compact).starts_with(&prompt));
    }

    #[test]
    fn the_grammar_is_json_and_ll1() {
        let tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).chain([Vec::new()]).collect();
        let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap();
        let grammar = json_grammar().unwrap();
        assert_eq!(TruncProof::new(grammar.clone(), tokenizer.vocabulary()).unwrap().least(), 2);
        let compiled =
            Compiler::new(&tokenizer).compile(&grammar.into(), &CompileOptions::default()).unwrap();
        let is_json = |text: &str| {
            let mut matcher = Matcher::new(&Arc::clone(&compiled));
            matcher.accept_bytes(text.as_bytes()).unwrap() && matcher.is_accepting()
        };
        for text in ["{}", "[1, -2.50e+3 ,null]", r#" { "a\u00e9\n" : [ ] } "#, "\"é\"", "0", "{\"\":{}}"] {
            assert!(is_json(text) && serde_json::from_str::<Value>(text).is_ok(), "{text}");
        }
        for text in ["", "{,}", "[1,]", "01", "1.", "\"\n\"", "{\"a\":1", "tru", "[1 2]"] {
            assert!(!is_json(text) && serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }
}
