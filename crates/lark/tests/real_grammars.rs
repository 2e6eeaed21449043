//! Published grammars load as they stand, quickly, with the terminals that Lark's lexer has.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it did"
)]

mod common;

use common::load;
use maskwright_lark::Indentation;
use maskwright_oracle::shared_folder;

/// How many terminals Lark's basic lexer has for each.
const TERMINALS: [(&str, usize); 9] = [
    ("c", 32),
    ("calc", 8),
    ("go", 84),
    ("java", 101),
    ("json", 13),
    ("python", 94),
    ("sql", 79),
    ("truncproof_c", 29),
    ("truncproof_json", 14),
];

#[test]
fn every_published_grammar_loads() {
    let Some(shared) = shared_folder("data/grammars") else { return };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(shared.join("data/grammars")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "lark") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let indentation = (name == "python").then(Indentation::python);
        let start = std::time::Instant::now();
        let grammar = load(&path, indentation).unwrap_or_else(|error| panic!("{name}: {error}"));
        let rules = grammar.lexed.rules.rules().len();
        let terminals = grammar.lexed.terminals.len();
        eprintln!("{name}: {rules} rules, {terminals} terminals, {:?}", start.elapsed());
        names.push((name, terminals));
    }
    names.sort();
    let expected: Vec<(String, usize)> = TERMINALS.iter().map(|&(name, n)| (name.to_owned(), n)).collect();
    assert_eq!(names, expected);
}

#[test]
fn python_has_its_indentation() {
    let Some(shared) = shared_folder("data/grammars") else { return };
    let grammar = load(&shared.join("data/grammars/python.lark"), Some(Indentation::python())).unwrap();
    let indentation = grammar.indentation.unwrap();
    let name = |id: maskwright_grammar::TerminalId| &*grammar.lexed.terminals[id.index()].name;
    assert_eq!(name(indentation.newline), "_NL");
    assert_eq!(grammar.lexed.declared, ["_INDENT", "_DEDENT"]);
    assert_eq!(grammar.lexed.declared_id("_DEDENT"), Some(indentation.dedent));
    let mut open: Vec<&str> = indentation.open.iter().map(|&id| name(id)).collect();
    open.sort_unstable();
    assert_eq!(open, ["LBRACE", "LPAR", "LSQB"]);
    assert_eq!(indentation.close.len(), 3);
}
