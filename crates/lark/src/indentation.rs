//! Looks up the terminals of indentation by their names.

use maskwright_grammar::{Layout, TerminalId};
use maskwright_lexing::LarkTerminal;
use rustc_hash::FxHashMap;

use crate::config::Indentation;
use crate::error::Fault;
use crate::rules::Rules;
use crate::source::TOP;

/// The most names that a hint lists.
const MAX_NAMES: usize = 4;

/// The terminal that ends lines: the first of `names` that is kept or, if none is, the first that is defined.
pub(crate) fn newline(names: &[String], rules: &Rules, kept: &[bool]) -> Option<usize> {
    let named = |name: &String| rules.terminals.iter().position(|terminal| terminal.name == *name);
    let found: Vec<usize> = names.iter().filter_map(named).collect();
    found.iter().copied().find(|&at| kept[at]).or_else(|| found.first().copied())
}

/// The terminals of indentation; `newline` is the one that ends lines.
pub(crate) fn layout(
    indentation: &Indentation,
    newline: Option<usize>,
    ids: &FxHashMap<&str, usize>,
    terminals: &[LarkTerminal],
    declared: &[String],
) -> Result<Layout, Fault> {
    let lexed = |name: &str| ids.get(name).map(|&id| TerminalId::from_index(id));
    let newline = newline.ok_or_else(|| no_newline(indentation, terminals))?;
    let made = |name: &str| {
        let at = declared.iter().position(|declared| declared == name);
        let at = at.ok_or_else(|| not_declared(name, indentation, declared))?;
        Ok(TerminalId::from_index(terminals.len() + at))
    };
    let brackets = |names: &[String]| {
        let mut brackets: Vec<TerminalId> = names.iter().filter_map(|name| lexed(name)).collect();
        brackets.sort_unstable();
        brackets
    };
    Ok(Layout {
        newline: TerminalId::from_index(newline),
        indent: made(&indentation.indent)?,
        dedent: made(&indentation.dedent)?,
        open: brackets(&indentation.open),
        close: brackets(&indentation.close),
        tabs: indentation.tabs,
    })
}

/// The error if no terminal ends lines.
fn no_newline(indentation: &Indentation, terminals: &[LarkTerminal]) -> Fault {
    let wanted = listed(indentation.newline.iter().map(String::as_str), " or ");
    let message = format!("indentation needs the terminal {wanted}, which is not defined");
    let ends_lines = |terminal: &&LarkTerminal| {
        [b'\n', b'\r'].iter().any(|&byte| terminal.pattern.first_bytes().contains(byte))
    };
    let is_named = |terminal: &&LarkTerminal| !terminal.name.starts_with("__ANON");
    let candidates: Vec<&str> =
        terminals.iter().filter(is_named).filter(ends_lines).map(|terminal| terminal.name.as_str()).collect();
    let first = indentation.newline.first().map_or("_NEWLINE", String::as_str);
    let example = format!("`{first}: /(\\r?\\n[\\t ]*)+/`");
    Fault::new(TOP, message).with_hint(if candidates.is_empty() {
        format!("define it as the ends of lines and the blanks after them: {example}")
    } else {
        format!(
            "the terminals of the grammar that can begin with a line feed are {}; name the one that ends a line and takes the \
             blanks after it, in the grammar or in the indentation",
            listed(candidates.into_iter(), ", ")
        )
    })
}

/// The error if the terminal `name`, the start or end of a block, is not declared.
fn not_declared(name: &str, indentation: &Indentation, declared: &[String]) -> Fault {
    let message = format!("indentation needs the terminal `{name}`, which is not declared");
    let add = format!("add `%declare {} {}`", indentation.indent, indentation.dedent);
    Fault::new(TOP, message).with_hint(if declared.is_empty() {
        add
    } else {
        let declared = listed(declared.iter().map(String::as_str), ", ");
        format!("the grammar declares {declared}; name these in the indentation, or {add}")
    })
}

/// Lists up to [`MAX_NAMES`] names in backticks.
fn listed<'n>(names: impl Iterator<Item = &'n str>, between: &str) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.len() <= MAX_NAMES {
        return names.join(between);
    }
    format!("{} and {} more", names[..MAX_NAMES].join(between), names.len() - MAX_NAMES)
}
