//! Loading grammars from files, and a recogniser of token sequences.

#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "shared by test programs, each of which uses a part; a test stops at what it did not expect"
)]

mod text;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use maskwright_automata::Fuel;
use maskwright_grammar::{Expr, ExprId, Grammar, LexedGrammar, TerminalId};
use maskwright_lark::{
    ImportRequest, ImportedGrammar, Indentation, LarkConfig, LarkGrammar, SyntaxError, parse_lark,
};
use maskwright_lexing::LarkTerminal;
pub(crate) use text::Checker;

/// The folder of this crate's test grammars.
pub(crate) fn testdata() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/lark")).to_owned()
}

/// Reads a grammar file; relative imports are read from beside it.
pub(crate) fn load(path: &Path, indentation: Option<Indentation>) -> Result<LarkGrammar, SyntaxError> {
    let text = std::fs::read_to_string(path).unwrap();
    let resolver = |request: &ImportRequest<'_>| {
        let path = Path::new(request.from?).parent()?.join(request.path);
        let text = std::fs::read_to_string(&path).ok()?;
        Some(ImportedGrammar { name: path.to_string_lossy().into_owned(), text })
    };
    let config = LarkConfig { indentation, resolver: Some(&resolver), ..LarkConfig::default() };
    parse_lark(&text, &path.to_string_lossy(), &config, &Fuel::new(1 << 24))
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Symbol {
    Terminal(usize),
    Rule(usize),
}

/// A textbook Earley recogniser over the terminals' names.
pub(crate) struct Recognizer {
    names: HashMap<String, usize>,
    start: usize,
    /// The right-hand sides of each rule; expressions that are no sequence are rules of their own.
    rules: Vec<Vec<Vec<Symbol>>>,
    nullable: Vec<bool>,
}

impl Recognizer {
    pub(crate) fn new(grammar: &LexedGrammar<LarkTerminal>) -> Recognizer {
        let lexed = grammar.terminals.iter().map(|terminal| &terminal.name);
        let names = lexed.chain(&grammar.declared).enumerate().map(|(id, name)| (name.clone(), id)).collect();
        let mut rules = Flat {
            grammar: &grammar.rules,
            rules: Vec::new(),
            of_rule: HashMap::new(),
            of_expr: HashMap::new(),
        };
        let start = rules.rule(grammar.rules.start());
        let rules = rules.rules;
        let mut nullable = vec![false; rules.len()];
        loop {
            let is_nullable = |right: &Vec<Symbol>| {
                right.iter().all(|symbol| matches!(symbol, Symbol::Rule(rule) if nullable[*rule]))
            };
            let next: Vec<bool> = rules.iter().map(|rights| rights.iter().any(is_nullable)).collect();
            if next == nullable {
                return Recognizer { names, start, rules, nullable };
            }
            nullable = next;
        }
    }

    /// Whether the terminals of these names are a text of the grammar.
    pub(crate) fn accepts(&self, tokens: &[&str]) -> bool {
        let ids: Option<Vec<TerminalId>> =
            tokens.iter().map(|name| self.names.get(*name).map(|&id| TerminalId::from_index(id))).collect();
        ids.is_some_and(|ids| self.accepts_ids(&ids))
    }

    /// Whether these terminals are a text of the grammar.
    pub(crate) fn accepts_ids(&self, tokens: &[TerminalId]) -> bool {
        // An item is a rule, one of its right-hand sides, a place in it, and where it started.
        type Item = (usize, usize, usize, usize);
        let mut waiting: Vec<HashMap<usize, Vec<Item>>> = Vec::new();
        let mut current: Vec<Item> =
            (0..self.rules[self.start].len()).map(|right| (self.start, right, 0, 0)).collect();
        for at in 0..=tokens.len() {
            let token = tokens.get(at).map(|token| token.index());
            let mut seen: HashSet<Item> = current.iter().copied().collect();
            let mut next = Vec::new();
            waiting.push(HashMap::new());
            let mut done = 0;
            while let Some(&(rule, right, dot, start)) = current.get(done) {
                done += 1;
                let mut found = Vec::new();
                match self.rules[rule][right].get(dot) {
                    None => {
                        let callers = waiting[start].get(&rule).cloned().unwrap_or_default();
                        found.extend(
                            callers
                                .into_iter()
                                .map(|(rule, right, dot, start)| (rule, right, dot + 1, start)),
                        );
                    }
                    Some(Symbol::Terminal(terminal)) => {
                        if token == Some(*terminal) {
                            next.push((rule, right, dot + 1, start));
                        }
                    }
                    Some(Symbol::Rule(called)) => {
                        waiting[at].entry(*called).or_default().push((rule, right, dot, start));
                        found.extend((0..self.rules[*called].len()).map(|right| (*called, right, 0, at)));
                        if self.nullable[*called] {
                            found.push((rule, right, dot + 1, start));
                        }
                    }
                }
                current.extend(found.into_iter().filter(|item| seen.insert(*item)));
            }
            if at == tokens.len() {
                return current.iter().any(|&(rule, right, dot, start)| {
                    (rule, start) == (self.start, 0) && dot == self.rules[rule][right].len()
                });
            }
            current = next;
        }
        false
    }
}

struct Flat<'a> {
    grammar: &'a Grammar,
    rules: Vec<Vec<Vec<Symbol>>>,
    of_rule: HashMap<usize, usize>,
    of_expr: HashMap<ExprId, usize>,
}

impl Flat<'_> {
    fn rule(&mut self, rule: maskwright_grammar::RuleId) -> usize {
        if let Some(&known) = self.of_rule.get(&rule.index()) {
            return known;
        }
        self.rules.push(Vec::new());
        let at = self.rules.len() - 1;
        self.of_rule.insert(rule.index(), at);
        self.rules[at] = self.rights(self.grammar.body(rule));
        at
    }

    fn rights(&mut self, expr: ExprId) -> Vec<Vec<Symbol>> {
        match self.grammar.pool().get(expr).clone() {
            Expr::Never => Vec::new(),
            Expr::Alt(parts) => parts.iter().flat_map(|&part| self.rights(part)).collect(),
            _ => vec![self.sequence(expr)],
        }
    }

    fn sequence(&mut self, expr: ExprId) -> Vec<Symbol> {
        match self.grammar.pool().get(expr).clone() {
            Expr::Epsilon => Vec::new(),
            Expr::Terminal(terminal) => vec![Symbol::Terminal(terminal.index())],
            Expr::Rule(rule) => vec![Symbol::Rule(self.rule(rule))],
            Expr::Seq(first, second) => {
                let first = self.sequence(first);
                first.into_iter().chain(self.sequence(second)).collect()
            }
            _ => vec![Symbol::Rule(self.expression(expr))],
        }
    }

    fn expression(&mut self, expr: ExprId) -> usize {
        if let Some(&known) = self.of_expr.get(&expr) {
            return known;
        }
        self.rules.push(Vec::new());
        let at = self.rules.len() - 1;
        self.of_expr.insert(expr, at);
        self.rules[at] = match self.grammar.pool().get(expr).clone() {
            Expr::Repeat { inner, min, max } => {
                let inner = self.sequence(inner);
                let copies =
                    |n: u32| inner.iter().copied().cycle().take(inner.len() * n as usize).collect::<Vec<_>>();
                match max {
                    Some(max) => (min..=max).map(copies).collect(),
                    None => vec![copies(min), [vec![Symbol::Rule(at)], inner.clone()].concat()],
                }
            }
            _ => self.rights(expr),
        };
        at
    }
}
