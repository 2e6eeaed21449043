//! Lark itself, in a process of Python, asked text by text.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::data::workspace;

/// The version of Lark that judges.
pub(super) const PACKAGE: &str = "lark==1.3.1";

const SCRIPT: &str = include_str!("judge.py");

/// What somebody says of a text.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    Accepts,
    /// And why.
    Refuses(String),
    /// A limit on work was reached first.
    GivesUp(String),
}

impl Verdict {
    pub(super) fn is_accepting(&self) -> bool {
        *self == Verdict::Accepts
    }
}

/// Lark's parsers, both with the basic lexer.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq, Eq)]
pub(crate) struct LarkVerdicts {
    /// `None` if the LALR parser cannot be made of the grammar.
    pub(super) lalr: Option<Verdict>,
    /// Of the Earley parser; `None` where the LALR parser settles it: where that accepts, and where no token
    /// matches.
    pub(super) earley: Option<Verdict>,
}

impl LarkVerdicts {
    /// Whether the text is in the language.
    pub(crate) fn is_accepting(&self) -> bool {
        [&self.lalr, &self.earley].into_iter().flatten().any(Verdict::is_accepting)
    }

    /// Whether only the Earley parser accepts, because the LALR parser has resolved a conflict in silence.
    pub(super) fn is_conflict(&self) -> bool {
        self.lalr.as_ref().is_some_and(|lalr| !lalr.is_accepting()) && self.is_accepting()
    }
}

/// A running process.
pub(crate) struct LarkJudge {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl LarkJudge {
    /// Starts `python` with a grammar, which gets Python's indentation if `is_indented`.
    ///
    /// # Errors
    /// If it does not start, or Lark does not take the grammar.
    pub(crate) fn start(python: &Path, grammar: &Path, is_indented: bool) -> anyhow::Result<LarkJudge> {
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .arg(grammar)
            .arg(if is_indented { "python" } else { "none" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} cannot be started", python.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the process of Lark has no pipes");
        };
        let mut judge = LarkJudge { child, input, output: BufReader::new(output) };
        let version = judge.answer()?;
        let wanted = PACKAGE.rsplit('=').next().unwrap_or_default();
        ensure!(version["version"] == wanted, "Lark {wanted} is wanted to judge, this is {version:?}");
        Ok(judge)
    }

    pub(crate) fn judge(&mut self, text: &str) -> anyhow::Result<LarkVerdicts> {
        writeln!(self.input, "{}", json!({"text": text})).context("the process of Lark has ended")?;
        let answer = self.answer()?;
        let verdict = |key: &str| {
            answer.get(key).map(|objection| {
                objection.as_str().map_or(Verdict::Accepts, |name| Verdict::Refuses(name.to_owned()))
            })
        };
        Ok(LarkVerdicts { lalr: verdict("lalr"), earley: verdict("earley") })
    }

    fn answer(&mut self) -> anyhow::Result<Map<String, Value>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the process of Lark says {line:?}"))
    }
}

impl Drop for LarkJudge {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Python that has Lark: `given`, or that of a virtual environment under `target/`, made if it is not
/// there.
///
/// # Errors
/// If none can be made.
pub(crate) fn python_with_lark(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given.to_path_buf());
    }
    let folder = workspace().join("target/lark-env");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    }
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    run(Command::new(&python).args(install))?;
    Ok(python)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{command:?} cannot be started"))?;
    ensure!(status.success(), "{command:?} failed: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_parsers_differ_the_earley_parser_is_right() {
        let refuses = || Some(Verdict::Refuses("UnexpectedToken".to_owned()));
        let both = LarkVerdicts { lalr: refuses(), earley: refuses() };
        assert!(!both.is_accepting() && !both.is_conflict());
        let one = LarkVerdicts { lalr: refuses(), earley: Some(Verdict::Accepts) };
        assert!(one.is_accepting() && one.is_conflict());
        let lalr = LarkVerdicts { lalr: Some(Verdict::Accepts), earley: None };
        assert!(lalr.is_accepting() && !lalr.is_conflict());
        let only_earley = LarkVerdicts { lalr: None, earley: Some(Verdict::Accepts) };
        assert!(only_earley.is_accepting() && !only_earley.is_conflict());
    }

    #[test]
    fn a_process_that_is_not_lark_is_an_error() {
        let error = LarkJudge::start(Path::new("no-such-python"), Path::new("x.lark"), false).err().unwrap();
        assert!(error.to_string().contains("no-such-python"), "{error}");
    }
}
