//! Python's own parser and sqlite's, in one process of Python that judges all texts at once.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

const SCRIPT: &str = include_str!("judge.py");

/// A language that the judge knows.
#[derive(clap::ValueEnum, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Language {
    Python,
    Sql,
}

impl Language {
    /// The name of its built-in grammar.
    pub(super) fn name(self) -> &'static str {
        match self {
            Language::Python => "python",
            Language::Sql => "sql",
        }
    }
}

/// What the judge says.
#[derive(Deserialize, Debug)]
pub(super) struct Verdicts {
    pub(super) versions: Versions,
    /// Text by text.
    pub(super) verdicts: Vec<Verdict>,
}

/// What the judge says of a text.
#[derive(Deserialize, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Why it does not parse; `None` if it does.
    pub(super) objection: Option<String>,
    /// What sqlite does not know in it. In sqlite's words it parses.
    #[serde(default)]
    pub(super) beyond: Vec<String>,
}

/// Who judges.
#[derive(Deserialize, Debug)]
pub(super) struct Versions {
    /// Major and minor.
    pub(super) python: (u32, u32),
    pub(super) sqlite: String,
}

/// Asks `python` about these texts.
///
/// # Errors
/// If it cannot be started, or fails.
pub(super) fn judge(python: &Path, texts: &[(Language, &str)]) -> anyhow::Result<Verdicts> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} cannot be started", python.display()))?;
    let mut input = child.stdin.take().context("the judge has no standard input")?;
    // It reads all of its input before it writes, so neither waits for the other.
    input.write_all(serde_json::to_string(texts)?.as_bytes()).context("the judge does not read")?;
    drop(input);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the judge failed: {}", output.status);
    let verdicts: Verdicts = serde_json::from_slice(&output.stdout).context("what the judge says")?;
    ensure!(verdicts.verdicts.len() == texts.len(), "the judge has left out texts");
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_and_bad_texts_are_told_apart() {
        use Language::{Python, Sql};
        let good = [
            (Python, "def f(x):\n    return x + 1\n"),
            (Python, "return '\\d'\n"),
            (Sql, "SELECT a, sum(b) FROM t WHERE c = :c GROUP BY a;"),
            (Sql, "INSERT INTO t (a) VALUES (?)"),
            (Sql, "SELECT unheard(1), 'near'"),
            (Sql, "(SELECT a FROM b.c.d) UNION ((SELECT 1) EXCEPT VALUES (2)) LIMIT 3"),
            (Sql, "SELECT ((SELECT 1)) FROM t WHERE EXISTS ((SELECT 2)) AND c IN (SELECT f(')') FROM u)"),
        ];
        let bad = [
            (Python, "def f(x):\nreturn x\n"),
            (Python, "f() = 1\n"),
            (Python, "def f(a=1, b):\n    pass\n"),
            (Python, "x = f'{y'\n"),
            (Python, "if x:\n        y\n\tz\n"),
            (Sql, "SELECT FROM t"),
            (Sql, "SELECT a FROM nowhere WHERE"),
            (Sql, "SELECT a FROM nowhere; SELECT b"),
            (Sql, "SELECT index FROM t"),
            (Sql, "(SELECT a FROM t) UNION (SELECT)"),
            (Sql, "(1)"),
            (Sql, ""),
        ];
        let texts: Vec<(Language, &str)> = good.into_iter().chain(bad).collect();
        let answer = judge(Path::new("python3"), &texts).unwrap();
        assert!(answer.versions.python.0 == 3 && answer.versions.sqlite.starts_with('3'));
        for (index, (text, verdict)) in texts.iter().zip(&answer.verdicts).enumerate() {
            assert_eq!(verdict.objection.is_none(), index < good.len(), "{text:?}: {verdict:?}");
            let is_beyond = text.1.contains("EXISTS") || text.1.contains("LIMIT");
            assert_eq!(!verdict.beyond.is_empty(), is_beyond, "{text:?}: {verdict:?}");
        }
    }

    #[test]
    fn a_judge_that_is_not_there_is_an_error() {
        let error = judge(Path::new("no-such-python"), &[]).unwrap_err();
        assert!(error.to_string().contains("no-such-python"), "{error}");
    }
}
