//! Texts that commands take: an argument, a file, or standard input.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, bail};

/// A text and what to call it: `text` itself, else the file, else standard input. `what` it is, for messages, and the
/// `option` that gives it.
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
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        bail!("no {what} is given: name a file, use {option}, or pipe it into standard input");
    }
    let mut text = Vec::new();
    stdin.read_to_end(&mut text).context("standard input cannot be read")?;
    Ok(("standard input".to_owned(), text))
}

/// The bytes without the line end after the last line; `None` if there is no such line end.
pub(crate) fn without_line_end(text: &[u8]) -> Option<&[u8]> {
    [&b"\r\n"[..], b"\n"].into_iter().find_map(|end| text.strip_suffix(end))
}
