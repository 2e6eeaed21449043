//! What sources and pages say: part of `cargo xtask tidy`.
//!
//! * Comment lines have at most [`MAX_COLUMNS`] columns.
//! * Paths of files that Markdown pages, module heads and comments name (`engine/src/lib.rs`) exist, at
//!   least as the end of a path.
//! * Links of Markdown pages to files of the project lead to one.

use std::collections::BTreeSet;

use crate::commands::{capture, root};

/// The most columns of a line of a comment.
const MAX_COLUMNS: usize = 110;
/// What the name of a file ends with, if it is one of ours.
const ENDINGS: [&str; 12] =
    [".rs", ".md", ".py", ".pyi", ".toml", ".json", ".jsonl", ".lark", ".gbnf", ".html", ".yml", ".svg"];
/// What paths begin with that are meant to be ours: folders of the project, of a crate, of the larger crates'
/// sources.
const FOLDERS: &str = "crates docs examples python research testdata xtask src tests automata bytes budget cli \
    decode engine infill json-schema lexed maskwright models oracle scan session tags";
/// Pages that speak of the past, or of other projects.
const FREE: [&str; 1] = ["CHANGELOG.md"];

/// Finds lines that are too long and paths that lead nowhere.
pub(crate) fn check(sources: &[(String, String)], findings: &mut Vec<String>) -> anyhow::Result<()> {
    let files: BTreeSet<String> =
        capture(std::process::Command::new("git").args(["ls-files"]).current_dir(root()))?
            .lines()
            .map(str::to_owned)
            .collect();
    for (path, source) in sources {
        let mut is_example = false;
        for (line, text) in (1..).zip(source.lines()) {
            let Some(comment) = text.trim_start().strip_prefix("//") else { continue };
            let comment = comment.trim_start_matches(['/', '!']).trim_start();
            if comment.starts_with("```") {
                is_example = !is_example;
            }
            let columns = text.chars().count();
            // Rows of tables and commands cannot be wrapped, nor what has no blank.
            let is_whole = comment.starts_with('|') || comment.starts_with('`') && comment.ends_with('`');
            if columns > MAX_COLUMNS && !is_example && !is_whole && comment.contains(' ') {
                findings
                    .push(format!("{path}:{line}: a comment of {columns} columns; {MAX_COLUMNS} at most"));
            }
            for named in paths(comment).filter(|named| !exists(&files, named)) {
                findings.push(format!("{path}:{line}: there is no file `{named}`"));
            }
        }
    }
    for page in files.iter().filter(|file| file.ends_with(".md") && !FREE.contains(&file.as_str())) {
        let text = std::fs::read_to_string(root().join(page))?;
        for (line, text) in (1..).zip(text.lines()) {
            for named in paths(text).filter(|named| !exists(&files, named)) {
                findings.push(format!("{page}:{line}: there is no file `{named}`"));
            }
            for link in links(text).filter(|link| !leads(&files, page, link)) {
                findings.push(format!("{page}:{line}: the link to {link} leads nowhere"));
            }
        }
    }
    Ok(())
}

/// The paths of files that a line names in backticks, from one of our [`FOLDERS`] on, without names that
/// stand for others.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|word| {
        let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
        let is_ours = word
            .split_once('/')
            .is_some_and(|(folder, _)| FOLDERS.split_whitespace().any(|ours| ours == folder));
        let is_name = |part: &str| part.len() > 2 && part == part.to_uppercase() && part != "README";
        let is_general = word.split(['/', '.']).any(is_name);
        is_plain && is_ours && !is_general && ENDINGS.iter().any(|end| word.ends_with(end))
    })
}

/// Whether some file's path is `named`, or ends with it.
fn exists(files: &BTreeSet<String>, named: &str) -> bool {
    files.contains(named)
        || files.iter().any(|file| file.strip_suffix(named).is_some_and(|rest| rest.ends_with('/')))
}

/// Where the links of a line of Markdown lead, but for web pages and places on the same page.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '#']).next());
    targets.filter(|target| !target.is_empty() && !target.contains([':', '`', '[', '\\']))
}

/// Whether a link of `page` leads to a file or folder of ours.
fn leads(files: &BTreeSet<String>, page: &str, link: &str) -> bool {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    let folder = path.clone() + "/";
    path.is_empty() || files.contains(&path) || files.iter().any(|file| file.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_links_are_found() {
        let files: BTreeSet<String> =
            ["crates/a/src/x.rs", "docs/b.md"].into_iter().map(str::to_owned).collect();
        let line = "See `src/x.rs`, `src/y.rs`, `x.rs`, `theirs/z.md`, `docs/NAME.md`, [b](../docs/b.md#top) and [c](c.md).";
        let (named, gone): (Vec<&str>, Vec<&str>) = paths(line).partition(|named| exists(&files, named));
        assert_eq!((named, gone), (vec!["src/x.rs"], vec!["src/y.rs"]));
        let (led, lost): (Vec<&str>, Vec<&str>) =
            links(line).partition(|link| leads(&files, "crates/r.md", link));
        assert_eq!((led, lost), (vec!["../docs/b.md"], vec!["c.md"]));
    }
}
