//! Texts that commands take: an argument, a file, or standard input.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, bail};
pub(crate) use maskwright::debug::without_line_end;

/// A text and what to call it: `text` itself, else the file, else standard input. `what` it is, for messages,
/// and the `option` that gives it.
pub(crate) fn read(
    what: &str,
    option: &str,
    text: Option<&str>,
    file: Option<&Path>,
) -> anyhow::Result<(String, Vec<u8>)> {
    if let Some(text) = text {
        return Ok((format!("the {what}"), text.as_bytes().to_vec()));
    }
    if let Some(path) = file {
        let name = path.display().to_string();
        let text = std::fs::read(path).with_context(|| name.clone())?;
        return Ok((name, text));
    }
    let text = read_piped(what, &format!("name a file, use {option}"))?;
    Ok((STDIN.to_owned(), text))
}

/// What standard input is called in messages.
pub(crate) const STDIN: &str = "standard input";

/// All of standard input, which must not be a terminal. `what` it is, and what to do `instead` of piping.
pub(crate) fn read_piped(what: &str, instead: &str) -> anyhow::Result<Vec<u8>> {
    if std::io::stdin().is_terminal() {
        bail!("no {what} is given: {instead}, or pipe it into standard input");
    }
    read_stdin(what).with_context(|| format!("no {what} is given: {instead}"))
}

/// All of standard input. It can be one thing only.
pub(crate) fn read_stdin(what: &str) -> anyhow::Result<Vec<u8>> {
    static READ_AS: OnceLock<String> = OnceLock::new();
    if let Err(what) = READ_AS.set(what.to_owned()) {
        let first = READ_AS.get().map_or("", String::as_str);
        bail!("standard input was read as the {first}, so it is not the {what} too");
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
    Ok(bytes)
}
