//! The examples on the pages of `maskwright` name no other crate of this workspace.
//!
//! rustdoc shows what `maskwright` re-exports on pages of its own, with the examples that the defining crate
//! has. These are compiled in the defining crate, which does not know `maskwright`. So they call that crate
//! by the name that a user knows, in a hidden line (`# use maskwright_vocabulary as maskwright;`), and the
//! lines that are shown can be copied. Examples that compile a grammar stand at the `pub use` in `maskwright`
//! itself.
//!
//! The check reads the sources, which takes no build: which names `maskwright` re-exports, and for each
//! example the item at which it stands. Shown lines may not name an internal crate, and a path
//! `maskwright::...` in them must exist. Rejected: reading rustdoc's pages, which takes a build of the
//! documentation.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;

use crate::commands::root;

/// The fewest examples on the pages; if there are fewer, this check overlooks some.
const MIN_EXAMPLES: usize = 60;

/// How the lines of outermost items begin.
const BEGINNINGS: [&str; 10] =
    ["pub", "impl", "struct ", "enum ", "trait ", "type ", "const fn ", "const ", "fn ", "mod "];

/// Checks the sources `files` of the crates in the folders `crates`, and returns the number of examples on
/// the pages.
pub(crate) fn check(
    files: &[(String, String)],
    crates: &[&str],
    findings: &mut Vec<String>,
) -> anyhow::Result<usize> {
    let facade = Facade::read(&root().join("crates/maskwright/src"))?;
    let mut n_examples = 0;
    for (path, source) in files {
        let Some((folder, file)) = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        if folder == "maskwright" || crates.contains(&folder) {
            let is_whole = folder == "maskwright" || facade.has_module(file);
            n_examples += check_source(&facade, path, source, is_whole, findings);
        }
    }
    if n_examples < MIN_EXAMPLES {
        findings
            .push(format!("{n_examples} examples on the pages of `maskwright`, fewer than {MIN_EXAMPLES}"));
    }
    Ok(n_examples)
}

/// What the crate `maskwright` shows.
#[derive(Default, Debug)]
struct Facade {
    /// The modules, by path.
    modules: BTreeSet<String>,
    /// All other items, by path; a module of another crate is one of them.
    items: BTreeSet<String>,
    /// The names that come from other crates.
    reexported: BTreeSet<String>,
}

impl Facade {
    /// Reads `lib.rs` and the files of the public modules.
    fn read(folder: &Path) -> anyhow::Result<Facade> {
        let mut facade = Facade::default();
        let mut files = vec![("lib.rs".to_owned(), String::new())];
        while let Some((file, module)) = files.pop() {
            let source = std::fs::read_to_string(folder.join(&file))
                .with_context(|| format!("{file} cannot be read"))?;
            let names = facade.add(&source, &module);
            files.extend(names.into_iter().map(|name| (format!("{name}.rs"), name)));
        }
        Ok(facade)
    }

    /// Adds the public items of a source file; returns its public modules with a file of their own.
    fn add(&mut self, source: &str, module: &str) -> Vec<String> {
        let mut with_file = Vec::new();
        // The module in braces that a line is in, and whether it is shown.
        let mut inner: Option<(&str, bool)> = None;
        let mut is_hidden = false;
        let mut lines = source.lines();
        while let Some(line) = lines.next() {
            let text = line.trim_start();
            if text.starts_with("#[doc(hidden)]") {
                is_hidden = true;
            } else if line == "}" {
                inner = None;
            } else if let Some(name) = line.strip_prefix("pub mod ") {
                let name = name.trim_end_matches([';', '{', ' ']);
                if line.ends_with('{') {
                    inner = Some((name, !is_hidden));
                }
                if !is_hidden {
                    self.modules.insert(name.to_owned());
                    with_file.extend(line.ends_with(';').then(|| name.to_owned()));
                }
                is_hidden = false;
            } else if let Some(public) = text.strip_prefix("pub ") {
                let (module, is_shown) = inner.unwrap_or((module, true));
                let mut uses = public.to_owned();
                while uses.starts_with("use ") && !uses.contains(';') {
                    uses.push_str(lines.next().unwrap_or(";"));
                }
                let paths = match uses.strip_prefix("use ") {
                    Some(tree) => expand(tree),
                    // Fields and methods are indented.
                    None if line == text => {
                        item_name(line).map(|name| vec![name.to_owned()]).into_iter().collect()
                    }
                    None => Vec::new(),
                };
                for path in paths.iter().filter(|_| is_shown && !is_hidden) {
                    let Some(name) = path.last() else { continue };
                    let is_ours = path[0].starts_with("maskwright_");
                    self.reexported.extend(is_ours.then(|| name.clone()));
                    self.items.insert(if module.is_empty() {
                        name.clone()
                    } else {
                        format!("{module}::{name}")
                    });
                }
                is_hidden = false;
            }
        }
        with_file
    }

    /// Whether a file, by its path in `src`, is a module that is shown as a whole.
    fn has_module(&self, file: &str) -> bool {
        let name = file.rsplit('/').next().and_then(|name| name.strip_suffix(".rs"));
        name.is_some_and(|name| self.reexported.contains(name))
    }

    /// Whether a path in `maskwright` exists, as far as modules and names in them tell.
    fn has(&self, path: &[String]) -> bool {
        let is_item = |n| self.items.contains(&path[..n].join("::"));
        (1..=path.len()).any(is_item) || self.modules.contains(&path.join("::"))
    }
}

/// Checks the examples of a source file, and returns how many are shown; all are if `is_whole`.
fn check_source(
    facade: &Facade,
    path: &str,
    source: &str,
    is_whole: bool,
    findings: &mut Vec<String>,
) -> usize {
    let lines: Vec<&str> = source.lines().collect();
    let mut n_examples = 0;
    let mut at = 0;
    while at < lines.len() {
        let begin = at;
        at += 1;
        if !doc_text(lines[begin]).is_some_and(|text| text.starts_with("```")) {
            continue;
        }
        let mut shown = String::new();
        while let Some(text) = lines.get(at).and_then(|line| doc_text(line)) {
            at += 1;
            if text.starts_with("```") {
                break;
            }
            if text != "#" && !text.starts_with("# ") {
                shown.push_str(text);
                shown.push('\n');
            }
        }
        let is_shown = is_whole || owner(&lines, at).is_some_and(|name| facade.reexported.contains(name));
        if !is_shown {
            continue;
        }
        n_examples += 1;
        let place = format!("{path}:{}", begin + 1);
        for name in internal_crates(&shown) {
            findings.push(format!(
                "{place}: this example is on a page of `maskwright` and names `{name}`: see xtask/src/examples.rs"
            ));
        }
        for (found, _) in shown.match_indices("maskwright::") {
            let paths = expand(&shown[found + "maskwright::".len()..]);
            for path in paths.iter().filter(|path| !facade.has(path)) {
                let path = path.join("::");
                findings
                    .push(format!("{place}: this example names `maskwright::{path}`, which does not exist"));
            }
        }
    }
    n_examples
}

/// The text of a line of documentation.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

/// The name of the outermost item that the documentation ending before line `at` is part of: of the type, for
/// a method. `None` if that is not shown.
fn owner<'s>(lines: &[&'s str], at: usize) -> Option<&'s str> {
    let mut at = at;
    let mut is_in_attribute = false;
    loop {
        let text = lines.get(at)?.trim();
        if text.contains("doc(hidden)") {
            return None;
        }
        is_in_attribute |= text.starts_with("#[");
        if !is_in_attribute && !text.is_empty() && doc_text(text).is_none() {
            break;
        }
        is_in_attribute &= !text.ends_with(']');
        at += 1;
    }
    let is_outermost = |line: &&&str| BEGINNINGS.iter().any(|beginning| line.starts_with(beginning));
    item_name(lines[..=at].iter().rev().find(is_outermost)?)
}

/// The name of the public item that begins on a line; of an `impl`, its type.
fn item_name(line: &str) -> Option<&str> {
    let name = match line.strip_prefix("impl") {
        Some(rest) => match rest.split_once(" for ") {
            Some((_, name)) => name,
            None if rest.starts_with('<') => rest.split_once("> ")?.1,
            None => rest.trim_start(),
        },
        None => {
            let rest = line.strip_prefix("pub ")?;
            let kind = BEGINNINGS[2..].iter().find(|&&kind| rest.starts_with(kind))?;
            &rest[kind.len()..]
        }
    };
    Some(&name[..name.find(|c: char| !is_of_name(c)).unwrap_or(name.len())])
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The crates of this workspace that a text names.
fn internal_crates(text: &str) -> BTreeSet<&str> {
    let names = text.split(|c: char| !is_of_name(c));
    names.filter(|name| name.starts_with("maskwright_")).collect()
}

/// The paths of the tree of a `use`, or the path, that a text begins with.
fn expand(text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    // The path so far at each open brace.
    let mut open: Vec<Vec<String>> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut rest = text;
    loop {
        let n_bytes = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        if n_bytes > 0 {
            path.push(rest[..n_bytes].to_owned());
            rest = &rest[n_bytes..];
        }
        if let Some(more) = rest.strip_prefix("::") {
            rest = more;
        } else if let Some(more) = rest.strip_prefix('{') {
            open.push(path.clone());
            rest = more.trim_start();
        } else {
            if path.len() > open.last().map_or(0, Vec::len) {
                paths.push(path);
            }
            // What follows `as` is not a path.
            let Some(end) = rest.find([',', '}']).filter(|_| !open.is_empty()) else { return paths };
            if rest[end..].starts_with('}') {
                open.pop();
            }
            path = open.last().cloned().unwrap_or_default();
            rest = rest[end + 1..].trim_start();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "
mod compiler;
pub mod lark;
pub use compiler::{CompileOptions, Compiler};
/// Docs.
pub use maskwright_engine::{
    Matcher, inspect,
};
pub mod grammar {
    pub use maskwright_automata::Regex;
}
#[doc(hidden)]
pub mod debug {
    pub use maskwright_lark::LarkGrammar;
}
pub use maskwright_error::Error;
";

    fn facade() -> Facade {
        let mut facade = Facade::default();
        assert_eq!(facade.add(LIB, ""), ["lark"]);
        assert!(facade.add("pub struct LarkOptions {\n    pub start: String,\n}\n", "lark").is_empty());
        facade
    }

    fn findings(source: &str) -> (usize, Vec<String>) {
        let mut findings = Vec::new();
        let n_examples = check_source(&facade(), "file.rs", source, false, &mut findings);
        (n_examples, findings)
    }

    #[test]
    fn names_of_the_library() {
        let facade = facade();
        let items = ["CompileOptions", "Compiler", "Error", "Matcher", "grammar::Regex", "inspect"];
        let items: BTreeSet<String> =
            items.into_iter().chain(["lark::LarkOptions"]).map(str::to_owned).collect();
        assert_eq!(facade.items, items);
        let reexported = ["Error", "Matcher", "Regex", "inspect"].map(str::to_owned);
        assert_eq!(facade.reexported, BTreeSet::from(reexported));
        assert!(facade.has_module("session/inspect.rs") && !facade.has_module("lexed/mod.rs"));
        let has = |path: &str| facade.has(&expand(path)[0]);
        assert!(has("grammar") && has("grammar::Regex::literal(") && has("inspect::RowView"));
        assert!(!has("Regex") && !has("debug") && !has("debug::LarkGrammar") && !has("infill"));
    }

    #[test]
    fn trees_of_uses() {
        let paths = |text| expand(text).iter().map(|path| path.join("::")).collect::<Vec<_>>();
        assert_eq!(paths("a::{B, c::{D as E, F},\n    g::H};"), ["a::B", "a::c::D", "a::c::F", "a::g::H"]);
        assert_eq!(paths("Error>(())"), ["Error"]);
    }

    #[test]
    fn examples_on_pages_of_the_library() {
        let method = |line: &str, kind: &str| {
            format!(
                "impl<T> Matcher {{\n    /// It.\n    ///\n    /// ```\n    /// {line}\n    /// ```\n    #[must_use]\n    {kind} fn it(&self) {{}}\n}}\n"
            )
        };
        let (n_examples, found) = findings(&method("use maskwright_engine::Matcher;", "pub"));
        assert_eq!((n_examples, found.len()), (1, 1));
        assert!(found[0].starts_with("file.rs:4: ") && found[0].contains("`maskwright_engine`"), "{found:?}");
        assert_eq!(findings(&method("# use maskwright_engine as maskwright;", "pub")), (1, vec![]));
        assert_eq!(findings(&method("use maskwright::Matcher;", "pub")), (1, vec![]));
        let (_, found) = findings(&method("use maskwright::{Matcher, Regex};", "pub"));
        assert!(found[0].contains("`maskwright::Regex`, which does not exist"), "{found:?}");
        assert_eq!(findings(&method("use maskwright_engine::Matcher;", "#[doc(hidden)] pub")), (0, vec![]));
        let other = method("use maskwright_engine::Matcher;", "pub").replace("> Matcher", "> Machine");
        assert_eq!(findings(&other), (0, vec![]));
        let (_, found) = findings(
            "/// ```\n/// maskwright_error::f();\n/// ```\n#[derive(Clone)]\npub struct Error(u8);\n",
        );
        assert_eq!(found.len(), 1);
        let trait_impl = "impl From<u8> for Error {\n    /// ```\n    /// maskwright_error::f();\n    /// ```\n    fn from(n: u8) {}\n}\n";
        assert_eq!(findings(trait_impl).1.len(), 1);
        let field = "pub enum Error {\n    /// ```\n    /// maskwright_error::f();\n    /// ```\n    A,\n}\n";
        assert_eq!(findings(field).1.len(), 1);
    }
}
