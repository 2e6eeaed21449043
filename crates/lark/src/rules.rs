//! Rules: templates are instantiated, strings and patterns in rules become terminals.
//!
//! A string or pattern in a rule is a terminal without a definition, unless a defined terminal is that very
//! string or pattern (flags included); then it is that terminal. Such terminals get the names that Lark
//! gives them (`LPAR` for `(`, the word itself for a word, else `__ANON_3`), as Lark orders terminals that
//! are otherwise equal by name, and indentation knows brackets by name. So they are visited in Lark's order:
//! rule by rule, what is nested deepest first.

use std::cmp::Reverse;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use maskwright_automata::Fuel;
use maskwright_grammar::TokenSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::definitions::{Definitions, Entry};
use crate::error::Fault;
use crate::pattern_text::PatternText;
use crate::source::Span;
use crate::terminals::NamedText;
use crate::tree::{BodyId, Name, Node, Schema, Times, Tree};

/// How many instances of templates a grammar may have.
const MAX_INSTANCES: usize = 10_000;

/// The longest name of an instance, in bytes; instances in instances without end come to it.
const MAX_INSTANCE_NAME: usize = 2_000;

/// A rule's right-hand side, all names found.
#[derive(Clone, Debug)]
pub(crate) enum RuleExpr {
    /// Any of them.
    Alternatives(Vec<RuleExpr>),
    /// All of them in turn.
    Sequence(Vec<RuleExpr>),
    /// At least `min` and at most `max` in a row.
    Repeat { inner: Box<RuleExpr>, min: u32, max: Option<u32> },
    /// A terminal of [`Rules::terminals`].
    Terminal(usize),
    /// A terminal of [`Rules::declared`].
    Declared(usize),
    /// A token of one of [`Rules::token_sets`].
    Tokens(usize),
    /// A rule of [`Rules::rules`].
    Rule(usize),
}

/// All rules that are no templates, the instances included, and all terminals.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) rules: Vec<(String, RuleExpr)>,
    pub(crate) terminals: Vec<NamedText>,
    /// The terminals that have no pattern: those that are only declared, then one for each of `schemas`.
    pub(crate) declared: Vec<String>,
    pub(crate) schemas: Vec<NestedSchema>,
    pub(crate) token_sets: Vec<(TokenSet, Span)>,
}

/// A JSON Schema in a grammar.
#[derive(Debug)]
pub(crate) struct NestedSchema {
    pub(crate) text: Arc<str>,
    /// Where it is used first.
    pub(crate) span: Span,
}

/// What a template's parameter stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Argument {
    name: String,
    is_terminal: bool,
}

/// A rule to be translated.
struct Waiting {
    name: String,
    body: BodyId,
    arguments: FxHashMap<String, Argument>,
}

/// Translates all rules; `terminals` are the defined ones.
///
/// # Errors
/// Where a literal means nothing, a template is used without arguments or instantiated without end.
pub(crate) fn translate(
    definitions: &Definitions,
    terminals: Vec<NamedText>,
    fuel: &Fuel,
) -> Result<Rules, Fault> {
    let mut names: FxHashSet<String> = terminals.iter().map(|terminal| terminal.name.clone()).collect();
    let declared = definitions
        .entries
        .iter()
        .filter(|entry| entry.name.is_terminal && entry.body.is_none())
        .map(|entry| entry.name.text.clone())
        .collect();
    names.shrink_to_fit();
    let mut translator = Translator {
        definitions,
        fuel,
        by_text: terminals.iter().enumerate().map(|(at, terminal)| (terminal.text.clone(), at)).collect(),
        terminal_ids: terminals
            .iter()
            .enumerate()
            .map(|(at, terminal)| (terminal.name.clone(), at))
            .collect(),
        terminals,
        declared,
        schemas: Vec::new(),
        schema_ids: FxHashMap::default(),
        token_sets: IndexMap::default(),
        terminal_names: names,
        n_unnamed: 0,
        waiting: Vec::new(),
        rule_ids: FxHashMap::default(),
        n_instances: 0,
    };
    for entry in definitions.entries.iter() {
        if let (false, true, Some(body)) = (entry.name.is_terminal, entry.parameters.is_empty(), entry.body) {
            translator.enqueue(entry.name.text.clone(), body, FxHashMap::default());
        }
    }
    let mut rules = Vec::new();
    // The queue grows while it is worked off: instances come after the rules that use them.
    while rules.len() < translator.waiting.len() {
        rules.push(translator.rule(rules.len())?);
    }
    let Translator { terminals, declared, schemas, token_sets, .. } = translator;
    let declared = declared.into_iter().collect();
    let token_sets = token_sets.into_values().collect();
    Ok(Rules { rules, terminals, declared, schemas, token_sets })
}

struct Translator<'a> {
    definitions: &'a Definitions,
    fuel: &'a Fuel,
    terminals: Vec<NamedText>,
    by_text: FxHashMap<PatternText, usize>,
    terminal_ids: FxHashMap<String, usize>,
    declared: IndexSet<String, FxBuildHasher>,
    schemas: Vec<NestedSchema>,
    /// The places in `declared` of schemas by their text.
    schema_ids: FxHashMap<Arc<str>, usize>,
    /// By how messages call the set.
    token_sets: IndexMap<String, (TokenSet, Span), FxBuildHasher>,
    terminal_names: FxHashSet<String>,
    n_unnamed: usize,
    waiting: Vec<Waiting>,
    rule_ids: FxHashMap<String, usize>,
    n_instances: usize,
}

impl Translator<'_> {
    fn enqueue(&mut self, name: String, body: BodyId, arguments: FxHashMap<String, Argument>) {
        self.rule_ids.insert(name.clone(), self.waiting.len());
        self.waiting.push(Waiting { name, body, arguments });
    }

    fn rule(&mut self, at: usize) -> Result<(String, RuleExpr), Fault> {
        let Waiting { name, body, arguments } = &self.waiting[at];
        let (name, body) = (name.clone(), self.definitions.body(*body));
        let arguments = arguments.clone();
        let mut nested: Vec<(usize, &Tree)> = Vec::new();
        collect(body, 0, &mut nested);
        self.fuel.spend(1 + nested.len() as u64).map_err(|error| Fault::fuel(body.span, error))?;
        nested.sort_by_key(|&(depth, _)| Reverse(depth));
        for &(_, tree) in &nested {
            self.literal(tree)?;
        }
        for &(_, tree) in &nested {
            if let Node::Instance(template, parts) = &tree.node {
                self.instance(template, parts, &arguments)?;
            }
        }
        Ok((name, self.expr(body, &arguments)?))
    }

    fn expr(&mut self, tree: &Tree, arguments: &FxHashMap<String, Argument>) -> Result<RuleExpr, Fault> {
        let all = |this: &mut Self, parts: &[Tree]| {
            parts.iter().map(|part| this.expr(part, arguments)).collect::<Result<Vec<_>, _>>()
        };
        self.fuel.spend(1).map_err(|error| Fault::fuel(tree.span, error))?;
        Ok(match &tree.node {
            Node::Alternatives(parts) => RuleExpr::Alternatives(all(self, parts)?),
            Node::Sequence(parts) => RuleExpr::Sequence(all(self, parts)?),
            Node::Alias(inner) => self.expr(inner, arguments)?,
            Node::Maybe(inner) => {
                RuleExpr::Repeat { inner: self.expr(inner, arguments)?.into(), min: 0, max: Some(1) }
            }
            Node::Repeat(inner, times) => {
                let (min, max) = match *times {
                    Times::Optional => (0, Some(1)),
                    Times::Star => (0, None),
                    Times::Plus => (1, None),
                    Times::Exactly(n) => (n, Some(n)),
                    Times::Between(min, max) => (min, Some(max)),
                    Times::AtLeast(min) => (min, None),
                };
                RuleExpr::Repeat { inner: self.expr(inner, arguments)?.into(), min, max }
            }
            Node::Schema(schema) => RuleExpr::Declared(self.schema(schema, tree.span)),
            Node::Tokens(set) => RuleExpr::Tokens(self.token_set(set, tree.span)),
            Node::Symbol(_) | Node::Literal(_) | Node::Range(..) | Node::Instance(..) => {
                let symbol = self.value(tree, arguments)?;
                self.symbol(&symbol, tree.span)?
            }
        })
    }

    /// The place in `declared` of what stands for a schema.
    fn schema(&mut self, schema: &Schema, span: Span) -> usize {
        let Schema::Text(text) = schema else { unreachable!("files are read with the definitions") };
        if let Some(&at) = self.schema_ids.get(text) {
            return at;
        }
        let at = self.declared.insert_full(format!("%json:{}", self.schemas.len())).0;
        self.schemas.push(NestedSchema { text: text.clone(), span });
        self.schema_ids.insert(text.clone(), at);
        at
    }

    /// The place in `token_sets` of a set.
    fn token_set(&mut self, set: &TokenSet, span: Span) -> usize {
        let entry = self.token_sets.entry(set.to_string());
        let at = entry.index();
        entry.or_insert_with(|| (set.clone(), span));
        at
    }

    /// The expression for a rule or terminal.
    fn symbol(&mut self, symbol: &Argument, span: Span) -> Result<RuleExpr, Fault> {
        if symbol.is_terminal {
            if let Some(&at) = self.terminal_ids.get(&symbol.name) {
                return Ok(RuleExpr::Terminal(at));
            }
            if let Some(at) = self.declared.get_index_of(&symbol.name) {
                return Ok(RuleExpr::Declared(at));
            }
            if let Some(at) = self.token_sets.get_index_of(&symbol.name) {
                return Ok(RuleExpr::Tokens(at));
            }
            // A terminal that is a schema.
            let definitions = self.definitions;
            let body = definitions.entries.get(&symbol.name).and_then(|entry| entry.body);
            if let Some((body, schema)) =
                body.map(|body| definitions.body(body)).and_then(|body| Some((body, body.as_schema()?)))
            {
                return Ok(RuleExpr::Declared(self.schema(schema, body.span)));
            }
        } else if let Some(&at) = self.rule_ids.get(&symbol.name) {
            return Ok(RuleExpr::Rule(at));
        }
        // Names were validated: what is not here is a template.
        Err(Fault::new(span, format!("the template `{}` without arguments", symbol.name)))
    }

    /// The rule or terminal that a symbol, literal or instance stands for.
    fn value(&mut self, tree: &Tree, arguments: &FxHashMap<String, Argument>) -> Result<Argument, Fault> {
        match &tree.node {
            Node::Symbol(symbol) => Ok(substituted(&symbol.name, arguments)),
            Node::Instance(template, parts) => self.instance(template, parts, arguments),
            Node::Schema(schema) => {
                let at = self.schema(schema, tree.span);
                Ok(Argument { name: self.declared[at].clone(), is_terminal: true })
            }
            Node::Tokens(set) => {
                self.token_set(set, tree.span);
                Ok(Argument { name: set.to_string(), is_terminal: true })
            }
            _ => {
                let at = self.literal(tree)?.expect("a value is a symbol, an instance or a literal");
                Ok(Argument { name: self.terminals[at].name.clone(), is_terminal: true })
            }
        }
    }

    /// The rule of a template's instance, which is made if it is new.
    fn instance(
        &mut self,
        template: &Name,
        parts: &[Tree],
        arguments: &FxHashMap<String, Argument>,
    ) -> Result<Argument, Fault> {
        let template_name = substituted(template, arguments).name;
        let values = parts.iter().map(|part| self.value(part, arguments)).collect::<Result<Vec<_>, _>>()?;
        let shown: Vec<&str> = values.iter().map(|value| value.name.as_str()).collect();
        let name = format!("{template_name}{{{}}}", shown.join(","));
        if !self.rule_ids.contains_key(&name) {
            let Some(&Entry { ref parameters, body: Some(body), .. }) =
                self.definitions.entries.get(&template_name)
            else {
                return Err(Fault::new(template.span, format!("`{template_name}` is no template")));
            };
            if parameters.len() != values.len() {
                let message =
                    format!("`{template_name}` with {} arguments, it has {}", values.len(), parameters.len());
                return Err(Fault::new(template.span, message));
            }
            self.n_instances += 1;
            if self.n_instances > MAX_INSTANCES || name.len() > MAX_INSTANCE_NAME {
                return Err(Fault::limit(template.span, "more instances of templates than can be made")
                    .with_hint("does a template use itself with ever larger arguments?"));
            }
            let arguments = parameters.iter().cloned().zip(values).collect();
            self.enqueue(name.clone(), body, arguments);
        }
        Ok(Argument { name, is_terminal: false })
    }

    /// The terminal of a literal or range, which is made if it is new; `None` for other nodes.
    fn literal(&mut self, tree: &Tree) -> Result<Option<usize>, Fault> {
        let text = match &tree.node {
            Node::Literal(literal) => PatternText::of_literal(literal, tree.span)?,
            Node::Range(first, last) => PatternText::of_range(first, last, tree.span)?,
            _ => return Ok(None),
        };
        if let Some(&at) = self.by_text.get(&text) {
            return Ok(Some(at));
        }
        let name = self.name_for(&text);
        let at = self.terminals.len();
        self.terminal_names.insert(name.clone());
        self.terminal_ids.insert(name.clone(), at);
        self.by_text.insert(text.clone(), at);
        self.terminals.push(NamedText { name, priority: 0, text, span: tree.span, body: None });
        Ok(Some(at))
    }

    /// The name that Lark gives to a terminal without a definition.
    fn name_for(&mut self, text: &PatternText) -> String {
        let mut name = None;
        if text.is_string {
            name = sign_name(&text.value).map(str::to_owned).or_else(|| {
                let mut chars = text.value.chars();
                let starts = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
                (starts && chars.all(|c| c.is_alphanumeric() || c == '_')).then(|| text.value.to_uppercase())
            });
        }
        match name.filter(|name| !self.terminal_names.contains(name)) {
            Some(name) => name,
            None => {
                self.n_unnamed += 1;
                format!("__ANON_{}", self.n_unnamed - 1)
            }
        }
    }
}

fn substituted(name: &Name, arguments: &FxHashMap<String, Argument>) -> Argument {
    arguments
        .get(&name.text)
        .cloned()
        .unwrap_or_else(|| Argument { name: name.text.clone(), is_terminal: name.is_terminal })
}

/// The literals, ranges and instances in a tree with their depth, from left to right, parents first.
fn collect<'t>(tree: &'t Tree, depth: usize, found: &mut Vec<(usize, &'t Tree)>) {
    if matches!(tree.node, Node::Literal(_) | Node::Range(..) | Node::Instance(..)) {
        found.push((depth, tree));
    }
    for part in tree.parts() {
        collect(part, depth + 1, found);
    }
}

/// Lark's names for signs.
fn sign_name(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "." => "DOT",
        "," => "COMMA",
        ":" => "COLON",
        ";" => "SEMICOLON",
        "+" => "PLUS",
        "-" => "MINUS",
        "*" => "STAR",
        "/" => "SLASH",
        "\\" => "BACKSLASH",
        "|" => "VBAR",
        "?" => "QMARK",
        "!" => "BANG",
        "@" => "AT",
        "#" => "HASH",
        "$" => "DOLLAR",
        "%" => "PERCENT",
        "^" => "CIRCUMFLEX",
        "&" => "AMPERSAND",
        "_" => "UNDERSCORE",
        "<" => "LESSTHAN",
        ">" => "MORETHAN",
        "=" => "EQUAL",
        "\"" => "DBLQUOTE",
        "'" => "QUOTE",
        "`" => "BACKQUOTE",
        "~" => "TILDE",
        "(" => "LPAR",
        ")" => "RPAR",
        "{" => "LBRACE",
        "}" => "RBRACE",
        "[" => "LSQB",
        "]" => "RSQB",
        "\n" => "NEWLINE",
        "\r\n" => "CRLF",
        "\t" => "TAB",
        " " => "SPACE",
        _ => return None,
    })
}
