//! The data-driven cases of `testdata/syntax`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it did"
)]

mod common;

use std::collections::HashMap;

use common::{Matcher, matches, testdata};
use maskwright_automata::Fuel;
use maskwright_grammar::{Expr, ExprId, Grammar};
use maskwright_syntax::regex::{Dialect, parse};
use maskwright_syntax::{gbnf_literals, parse_gbnf};

#[test]
fn regexes() {
    let cases = std::fs::read_to_string(testdata("regexes.jsonl")).unwrap();
    for (idx, case) in cases.lines().enumerate() {
        let case: serde_json::Value =
            serde_json::from_str(case).unwrap_or_else(|error| panic!("line {}: {error}", idx + 1));
        let pattern = case["pattern"].as_str().unwrap();
        let dialect = match case["dialect"].as_str().unwrap() {
            "rust" => Dialect::Rust,
            "ascii" => Dialect::RustAscii,
            "ecma" => Dialect::Ecma,
            "python" => Dialect::Python,
            other => panic!("no dialect {other}"),
        };
        let language = parse(pattern, dialect, &Fuel::new(1 << 20)).unwrap();
        for (key, expected) in [("yes", true), ("no", false)] {
            for text in case[key].as_array().unwrap() {
                let text = text.as_str().unwrap();
                assert_eq!(
                    matches(&language, text.as_bytes()),
                    expected,
                    "{pattern:?} on {text:?}: {language:?}"
                );
            }
        }
    }
}

/// The escapes of xgrammar's EBNF, which clients of servers send.
#[test]
fn escapes_of_control_characters() {
    let escapes = r"\f\v\0\a\e\b\'\?";
    let literals = gbnf_literals(&format!("root ::= \"{escapes}\" [{escapes}]"));
    assert_eq!(literals, [(9..27, "\x0C\x0B\0\x07\x1B\x08'?".to_owned())]);
    let parsed = |source: &str| format!("{:?}", parse_gbnf(source, "test", &Fuel::new(1 << 20)).unwrap());
    let class = parsed(&format!("root ::= [^{escapes}]"));
    assert_eq!(class, parsed(r"root ::= [^\x0C\x0B\x00\x07\x1B\x08\x27\x3F]"));
}

#[test]
fn grammars() {
    let mut n_texts = 0;
    for entry in std::fs::read_dir(testdata("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "gbnf") {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let grammar = parse_gbnf(&source, &name, &Fuel::new(1 << 20)).unwrap();
        for line in source.lines() {
            let case = [("#! yes: ", true), ("#! no: ", false)]
                .into_iter()
                .find_map(|(marker, expected)| Some((line.strip_prefix(marker)?, expected)));
            if let Some((text, expected)) = case {
                n_texts += 1;
                assert_eq!(derives(&grammar, text), expected, "{name} on {text:?}");
            }
        }
    }
    assert!(n_texts > 12);
}

#[test]
fn a_run_of_literals_and_classes_is_one_terminal() {
    let source = r#"root ::= [a-z] [a-z0-9]* ("=" [0-9]+)? (root | ";")"#;
    let grammar = parse_gbnf(source, "grammar", &Fuel::unlimited()).unwrap();
    assert_eq!(grammar.terminals().len(), 2);
}

/// Whether the grammar derives `text`: the least fixed point over all expressions and starts.
fn derives(grammar: &Grammar, text: &str) -> bool {
    let n = text.len() + 1;
    let order: Vec<ExprId> = (0..grammar.pool().len()).map(ExprId::from_index).collect();
    let mut terminals = Matcher::new(text.as_bytes());
    let mut ends: HashMap<(ExprId, usize), Vec<bool>> = HashMap::new();
    loop {
        let mut is_stable = true;
        for &id in &order {
            for start in 0..n {
                let known = |id: ExprId, start: usize| {
                    ends.get(&(id, start)).cloned().unwrap_or_else(|| vec![false; n])
                };
                let step = |id: ExprId, from: &[bool]| {
                    let mut to = vec![false; n];
                    for start in (0..n).filter(|start| from[*start]) {
                        known(id, start).iter().enumerate().for_each(|(end, is_end)| to[end] |= is_end);
                    }
                    to
                };
                let mut here = vec![false; n];
                here[start] = true;
                let new = match grammar.pool().get(id) {
                    Expr::Never => vec![false; n],
                    Expr::Epsilon => here,
                    Expr::Terminal(terminal) => terminals.ends(&grammar.terminals()[terminal.index()], start),
                    Expr::Rule(rule) => known(grammar.body(*rule), start),
                    Expr::Seq(first, second) => step(*second, &step(*first, &here)),
                    Expr::Alt(parts) => {
                        let mut all = vec![false; n];
                        for part in parts {
                            known(*part, start)
                                .iter()
                                .enumerate()
                                .for_each(|(end, is_end)| all[end] |= is_end);
                        }
                        all
                    }
                    Expr::Shuffle(_) => unreachable!("no notation has lists in any order"),
                    Expr::Repeat { inner, min, max } => {
                        let mut all = vec![false; n];
                        for copies in 0..=max.unwrap_or(min + n as u32) {
                            if copies >= *min {
                                here.iter().enumerate().for_each(|(end, is_end)| all[end] |= is_end);
                            }
                            here = step(*inner, &here);
                        }
                        all
                    }
                };
                if ends.get(&(id, start)) != Some(&new) {
                    is_stable = false;
                    ends.insert((id, start), new);
                }
            }
        }
        if is_stable {
            return ends.get(&(grammar.body(grammar.start()), 0)).is_some_and(|ends| ends[text.len()]);
        }
    }
}
