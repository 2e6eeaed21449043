//! How many lines of code each crate has: part of `cargo xtask tidy`.
//!
//! Weight only falls. A crate with more lines than `xtask/weight.json` allows fails the check; raising that
//! number is a commit of its own, which says what the lines buy. `cargo xtask weigh` prints the numbers and
//! lowers the record to them. Each is rounded up to a multiple of [`STEP`], so that small changes need no new
//! record.
//!
//! A line of code has something on it beside a comment. Tests do not count: neither those of `tests/`, nor
//! the module at the end of a file that begins with `#[cfg(test)]`.

use std::collections::BTreeMap;

use anyhow::Context;

use crate::commands::{collect_sources, root};

/// Numbers of the record are multiples of this.
const STEP: usize = 50;
/// Where the record is.
const RECORD: &str = "xtask/weight.json";
/// What Python users import, counted like a crate.
const PYTHON: &str = "python/python";

/// The lines of code of each crate, by its folder.
fn weights(sources: &[(String, String)]) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut weights = BTreeMap::new();
    for (path, source) in sources {
        if let Some((folder, _)) = path.split_once("/src/").filter(|_| !path.contains("/tests/")) {
            *weights.entry(folder.to_owned()).or_default() += code_lines(source, "//");
        }
    }
    let mut files = Vec::new();
    collect_sources(&root().join(PYTHON), "py", &mut files)?;
    for file in files {
        let source = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        *weights.entry(PYTHON.to_owned()).or_default() += code_lines(&source, "#");
    }
    Ok(weights)
}

/// The lines with code on them, up to the tests at the end.
fn code_lines(source: &str, comment: &str) -> usize {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with(comment);
    let product = match source.find("\n#[cfg(test)]\nmod ") {
        Some(tests) if source[tests..].contains('{') => &source[..tests],
        _ => source,
    };
    product.lines().filter(is_code).count()
}

fn record() -> anyhow::Result<BTreeMap<String, usize>> {
    let text = std::fs::read_to_string(root().join(RECORD)).context(RECORD)?;
    serde_json::from_str(&text).context(RECORD)
}

/// Finds the crates that are heavier than the record.
pub(crate) fn check(sources: &[(String, String)], findings: &mut Vec<String>) -> anyhow::Result<()> {
    let record = record()?;
    for (folder, weight) in weights(sources)? {
        let ceiling = record.get(&folder).copied().unwrap_or(0);
        if weight > ceiling {
            findings.push(format!(
                "{folder} has {weight} lines of code, more than {ceiling} of {RECORD}: take as many out, or raise the number in \
                 a commit of its own that says what they buy"
            ));
        }
    }
    Ok(())
}

/// Prints the lines of code of each crate, and lowers the record to them.
#[allow(clippy::print_stdout, reason = "the answer of the command")]
pub(crate) fn weigh(sources: &[(String, String)]) -> anyhow::Result<()> {
    let (mut record, weights) = (record()?, weights(sources)?);
    record.retain(|folder, _| weights.contains_key(folder));
    for (folder, &weight) in &weights {
        println!("{weight:>7} {folder}");
        let ceiling = record.entry(folder.clone()).or_insert(usize::MAX);
        *ceiling = weight.next_multiple_of(STEP).min(*ceiling);
    }
    println!("{:>7} in all", weights.values().sum::<usize>());
    let text = serde_json::to_string_pretty(&record)? + "\n";
    std::fs::write(root().join(RECORD), text).context(RECORD)
}

#[cfg(test)]
mod tests {
    use super::code_lines;

    #[test]
    fn comments_blanks_and_tests_do_not_count() {
        let source = "//! Head.\n\nfn f() {\n    // Why.\n    g(); // here\n}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n";
        assert_eq!(code_lines(source, "//"), 3);
        assert_eq!(
            code_lines("#[cfg(test)]\nmod hooks;\nfn f() {}\n", "//"),
            3,
            "modules that are files count there"
        );
        assert_eq!(code_lines("# Why.\nx = 1\n", "#"), 1);
    }
}
