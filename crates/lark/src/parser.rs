//! Tokens to statements, by recursive descent. Linear time; recursion is limited by [`MAX_DEPTH`].

use std::collections::BTreeMap;

use maskwright_automata::Fuel;
use maskwright_grammar::TokenSet;

use crate::error::Fault;
use crate::source::Span;
use crate::token::{Token, tokens};
use crate::tree::{Definition, Import, Literal, Name, Node, Schema, Statement, Symbol, Times, Tree};

/// How deeply groups may nest.
const MAX_DEPTH: usize = 200;

/// What a token and its part of the tree take, in bytes.
const BY_TOKEN: usize = 300;

/// The statements of `text`, which is source number `source`.
///
/// # Errors
/// Where the text is not in Lark's grammar language, and beyond the limits of size and nesting.
pub(crate) fn parse(text: &str, source: u32, fuel: &Fuel) -> Result<Vec<Statement>, Fault> {
    let tokens = tokens(text, source)?;
    let units = tokens.len() as u64;
    fuel.hold(tokens.len() * BY_TOKEN);
    fuel.spend(units).map_err(|error| Fault::fuel(tokens[0].1, error))?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, grammars: BTreeMap::new() };
    let mut statements = Vec::new();
    while parser.at < tokens.len() {
        if !parser.eat(&Token::Newline) {
            statements.push(parser.statement()?);
        }
    }
    let used = parser.grammars.into_iter().map(|(name, span)| {
        let start = Name { text: START.to_owned(), span, is_terminal: false };
        let names = vec![(start, format!("@{name}"))];
        Statement::Import(Import { span, is_relative: false, is_at: true, path: vec![name], names })
    });
    statements.extend(used);
    Ok(statements)
}

/// The set of tokens that is written `<name>`, `<[1,3-5]>`, `<[^1,3-5]>` or `<[*]>`, as in llguidance, or
/// `<"any name">`.
fn token_set(written: &str, span: Span) -> Result<TokenSet, Fault> {
    TokenSet::of_written(written).map_err(|(message, hint)| Fault::new(span, message).with_hint(hint))
}

/// The rule that `@name` stands for.
const START: &str = "start";

/// Options of llguidance, and whether they may be on. Those that may be on have no effect here: they are
/// about how tokens are forced, or allow what Lark allows.
const OPTIONS: [(&str, bool); 4] = [
    ("no_forcing", true),
    ("allow_initial_skip", true),
    ("allow_invalid_utf8", false),
    ("ignore_once", false),
];

/// Reads the options behind `%llguidance`.
fn llguidance_options(options: &str, span: Span) -> Result<(), Fault> {
    let options: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(options).map_err(|error| Fault::new(span, format!("the options: {error}")))?;
    for (name, value) in options {
        let is_supported = OPTIONS.iter().find(|(known, _)| *known == name).map(|&(_, may_be_on)| may_be_on);
        match (is_supported, value.as_bool()) {
            (Some(_), Some(false)) | (Some(true), Some(true)) => {}
            (Some(true), None) => {
                return Err(Fault::new(span, format!("the option \"{name}\" is {value}, not true or false")));
            }
            _ => {
                let known = OPTIONS.map(|(name, _)| name);
                let message = format!("the option \"{name}\": {value} of llguidance is not supported");
                return Err(Fault::new(span, message).suggesting(&name, known));
            }
        }
    }
    Ok(())
}

struct Parser<'t, 's> {
    /// Ends with a newline.
    tokens: &'t [(Token<'s>, Span)],
    at: usize,
    depth: usize,
    /// The grammars that stand in rules as `@name`, each where it does first.
    grammars: BTreeMap<String, Span>,
}

impl<'s> Parser<'_, 's> {
    /// The next token; at the end the last one, a newline.
    fn peek(&self) -> (Token<'s>, Span) {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_second(&self) -> Option<Token<'s>> {
        self.tokens.get(self.at + 1).map(|&(token, _)| token)
    }

    fn next(&mut self) -> (Token<'s>, Span) {
        let next = self.peek();
        self.at += 1;
        next
    }

    fn eat(&mut self, token: &Token<'_>) -> bool {
        let is_next = self.peek().0 == *token;
        self.at += usize::from(is_next);
        is_next
    }

    /// That `allowed` was expected here.
    fn unexpected(&self, allowed: &str) -> Fault {
        let (token, span) = self.peek();
        Fault::new(span, format!("{} where {allowed} is expected", token.describe()))
    }

    fn expect(&mut self, sign: char, allowed: &str) -> Result<Span, Fault> {
        let span = self.peek().1;
        if self.eat(&Token::Sign(sign)) { Ok(span) } else { Err(self.unexpected(allowed)) }
    }

    fn end_of_line(&mut self, allowed: &str) -> Result<(), Fault> {
        if self.eat(&Token::Newline) { Ok(()) } else { Err(self.unexpected(allowed)) }
    }

    fn statement(&mut self) -> Result<Statement, Fault> {
        let (token, span) = self.peek();
        if let Token::Options(options) = token {
            self.at += 1;
            self.end_of_line("the end of the line")?;
            return llguidance_options(options, span).map(|()| Statement::Llguidance(span));
        }
        let Token::Directive(directive) = token else {
            return self.definition().map(Statement::Define);
        };
        self.at += 1;
        match directive {
            "override" => self.definition().map(Statement::Override),
            "extend" => self.definition().map(Statement::Extend),
            "ignore" => {
                let tree = self.alternatives()?;
                self.end_of_line("a terminal, a string or a pattern")?;
                Ok(Statement::Ignore(tree))
            }
            "declare" => {
                let mut names = vec![self.name("a terminal's name")?];
                while !self.eat(&Token::Newline) {
                    names.push(self.name("a terminal's name or the end of the line")?);
                }
                Ok(Statement::Declare(names))
            }
            _ => self.import(span).map(Statement::Import),
        }
    }

    fn name(&mut self, allowed: &str) -> Result<Name, Fault> {
        let (text, is_terminal) = match self.peek().0 {
            Token::Rule(text) => (text, false),
            Token::Terminal(text) => (text, true),
            _ => return Err(self.unexpected(allowed)),
        };
        let (_, span) = self.next();
        Ok(Name { text: text.to_owned(), span, is_terminal })
    }

    fn import(&mut self, start: Span) -> Result<Import, Fault> {
        let is_relative = self.eat(&Token::Sign('.'));
        let mut path = vec![self.name("the path of a grammar, such as `common.NUMBER`,")?];
        while self.eat(&Token::Sign('.')) {
            path.push(self.name("a name")?);
        }
        let span = start.to(path.last().map_or(start, |name| name.span));
        let mut names = Vec::new();
        if self.eat(&Token::Sign('(')) {
            loop {
                let name = self.name("the name of a rule or terminal")?;
                let alias = name.text.clone();
                names.push((name, alias));
                if !self.eat(&Token::Sign(',')) {
                    break;
                }
            }
            self.expect(')', "`,` or `)`")?;
        } else {
            let name = path.pop().expect("a path has at least one name");
            if path.is_empty() {
                return Err(Fault::new(
                    span,
                    format!("nothing is imported from the grammar `{}`", name.text),
                )
                .with_hint(format!(
                    "write `%import {}.NAME` or `%import {} (NAME, ...)`",
                    name.text, name.text
                )));
            }
            let alias =
                if self.eat(&Token::Arrow) { Some(self.name("the name to import it as")?) } else { None };
            if let Some(alias) = alias.as_ref().filter(|alias| alias.is_terminal != name.is_terminal) {
                return Err(Fault::new(
                    alias.span,
                    format!("`{}` is imported as `{}`", name.text, alias.text),
                )
                .with_hint("a rule stays a rule (lower case), a terminal a terminal (upper case)"));
            }
            let alias = alias.map_or_else(|| name.text.clone(), |alias| alias.text);
            names.push((name, alias));
        }
        self.end_of_line("the end of the line")?;
        let path = path.into_iter().map(|name| name.text).collect();
        Ok(Import { span, is_relative, is_at: false, path, names })
    }

    fn definition(&mut self) -> Result<Definition, Fault> {
        let is_modified = matches!(self.peek().0, Token::Sign('?' | '!'));
        if self.eat(&Token::Sign('!')) {
            self.eat(&Token::Sign('?'));
        } else if self.eat(&Token::Sign('?')) {
            self.eat(&Token::Sign('!'));
        }
        if is_modified && !matches!(self.peek().0, Token::Rule(_)) {
            return Err(self.unexpected("a rule's name"));
        }
        let name = self.name("a definition (`rule: ...`, `TERMINAL: ...`) or a directive (`%import ...`)")?;
        let mut parameters = Vec::new();
        if !name.is_terminal && self.eat(&Token::Sign('{')) {
            loop {
                let parameter = self.name("a parameter's name, in lower case,")?;
                if parameter.is_terminal {
                    self.at -= 1;
                    return Err(self.unexpected("a parameter's name, in lower case,"));
                }
                parameters.push(parameter);
                if !self.eat(&Token::Sign(',')) {
                    break;
                }
            }
            self.expect('}', "`,` or `}`")?;
        }
        let mut priority = 0;
        if self.eat(&Token::Sign('.')) {
            let (Token::Number(number), span) = self.peek() else {
                return Err(self.unexpected("a priority, a whole number,"));
            };
            self.at += 1;
            priority = i32::try_from(number)
                .map_err(|_| Fault::new(span, format!("the priority {number}, it must fit 32 bits")))?;
        }
        self.expect(':', "`:`")?;
        let body = self.alternatives()?;
        self.end_of_line("an expression, `|` or the end of the line")?;
        Ok(Definition { name, parameters, priority, body })
    }

    /// Sequences between bars.
    fn alternatives(&mut self) -> Result<Tree, Fault> {
        let start = self.peek().1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Fault::limit(start, format!("groups nested more than {MAX_DEPTH} deep")));
        }
        let mut parts = vec![self.sequence()?];
        while self.eat(&Token::Or) {
            parts.push(self.sequence()?);
        }
        self.depth -= 1;
        let span = parts.last().map_or(start, |last| start.to(last.span));
        Ok(Tree { span, node: Node::Alternatives(parts) })
    }

    /// Expressions in turn, and an alias.
    fn sequence(&mut self) -> Result<Tree, Fault> {
        let start = self.peek().1;
        let mut parts: Vec<Tree> = Vec::new();
        while let Some(part) = self.expression()? {
            parts.push(part);
        }
        let span = parts.last().map_or(Span { end: start.start, ..start }, |last| start.to(last.span));
        let sequence = Tree { span, node: Node::Sequence(parts) };
        if !self.eat(&Token::Arrow) {
            return Ok(sequence);
        }
        let alias = self.name("an alias, in lower case,")?;
        if alias.is_terminal {
            self.at -= 1;
            return Err(self.unexpected("an alias, in lower case,"));
        }
        Ok(Tree { span: span.to(alias.span), node: Node::Alias(Box::new(sequence)) })
    }

    /// One thing with its repetition; `None` where nothing starts that can be one.
    fn expression(&mut self) -> Result<Option<Tree>, Fault> {
        let start = self.peek().1;
        let atom = match self.peek().0 {
            Token::Sign('(') => {
                self.at += 1;
                let inner = self.alternatives()?;
                self.closing(')', start)?;
                inner
            }
            Token::Sign('[') => {
                self.at += 1;
                let inner = self.alternatives()?;
                let end = self.closing(']', start)?;
                Tree { span: start.to(end), node: Node::Maybe(Box::new(inner)) }
            }
            _ => match self.value()? {
                Some(value) => value,
                None => return Ok(None),
            },
        };
        let (operator, end) = self.peek();
        let times = match operator {
            Token::Sign('?') => Times::Optional,
            Token::Sign('*') => Times::Star,
            Token::Sign('+') => Times::Plus,
            Token::Sign('~') => {
                self.at += 1;
                let times = self.counts()?;
                return Ok(Some(self.repeated(atom, times, self.tokens[self.at - 1].1)));
            }
            Token::Sign('{') if self.begins_counts() => return self.braced(atom).map(Some),
            _ => return Ok(Some(atom)),
        };
        self.at += 1;
        if let (Token::Sign('?' | '*' | '+' | '~'), span) = self.peek() {
            return Err(Fault::new(span, "two repetitions of one thing")
                .with_hint("put the first into a group: (x?)*"));
        }
        Ok(Some(self.repeated(atom, times, end)))
    }

    /// Whether a brace with numbers comes, `{n}`, `{n,m}`, `{n,}` or `{,m}`, and not a template's arguments.
    fn begins_counts(&self) -> bool {
        matches!(self.peek_second(), Some(Token::Number(_) | Token::Sign(',')))
    }

    /// The repetition of `atom` whose brace comes.
    fn braced(&mut self, atom: Tree) -> Result<Tree, Fault> {
        let start = self.next().1;
        let min = if self.eat(&Token::Sign(',')) { None } else { Some(self.count()?) };
        let is_exact = min.is_some() && !self.eat(&Token::Sign(','));
        let max = match self.peek().0 {
            Token::Number(_) if !is_exact => Some(self.count()?),
            _ => None,
        };
        let end = self.expect('}', "a number of repetitions or `}`")?;
        let min = min.unwrap_or_default();
        let times = match max {
            _ if is_exact => Times::Exactly(min),
            Some(max) if max < min => {
                return Err(Fault::new(start.to(end), format!("{min} to {max} repetitions"))
                    .with_hint("the greater number stands last"));
            }
            Some(max) => Times::Between(min, max),
            None => Times::AtLeast(min),
        };
        Ok(self.repeated(atom, times, end))
    }

    fn repeated(&self, atom: Tree, times: Times, end: Span) -> Tree {
        Tree { span: atom.span.to(end), node: Node::Repeat(Box::new(atom), times) }
    }

    fn closing(&mut self, sign: char, open: Span) -> Result<Span, Fault> {
        let (token, span) = self.peek();
        if token == Token::Newline {
            let message = format!("a group without its closing `{sign}`");
            return Err(Fault::new(open, message)
                .with_hint("a group may go on in the next line only where that starts with `|`"));
        }
        self.expect(sign, &format!("an expression, `|` or `{sign}`"))?;
        Ok(span)
    }

    /// `n` or `n..m` after `~`.
    fn counts(&mut self) -> Result<Times, Fault> {
        let start = self.peek().1;
        let min = self.count()?;
        if !self.eat(&Token::DotDot) {
            return Ok(Times::Exactly(min));
        }
        let end = self.peek().1;
        let max = self.count()?;
        if max < min {
            return Err(Fault::new(start.to(end), format!("{min}..{max} repetitions"))
                .with_hint("the greater number stands last"));
        }
        Ok(Times::Between(min, max))
    }

    fn count(&mut self) -> Result<u32, Fault> {
        let (Token::Number(number), span) = self.peek() else {
            return Err(self.unexpected("a number of repetitions"));
        };
        self.at += 1;
        u32::try_from(number)
            .map_err(|_| Fault::new(span, format!("{number} repetitions, 0 to {} are allowed", u32::MAX)))
    }

    /// A symbol, a literal, a range or a template's instance; `None` where none starts.
    fn value(&mut self) -> Result<Option<Tree>, Fault> {
        let (token, span) = self.peek();
        let node = match token {
            Token::Rule(_) | Token::Terminal(_) => {
                let name = self.name("a name")?;
                if !name.is_terminal && !self.begins_counts() && self.eat(&Token::Sign('{')) {
                    return self.instance(name).map(Some);
                }
                Node::Symbol(Symbol { name, target: None })
            }
            Token::String { body, is_caseless: false } if self.peek_second() == Some(Token::DotDot) => {
                self.at += 2;
                let (Token::String { body: last, is_caseless: false }, end) = self.peek() else {
                    return Err(self.unexpected("the string of a range's last character"));
                };
                self.at += 1;
                return Ok(Some(Tree {
                    span: span.to(end),
                    node: Node::Range(body.to_owned(), last.to_owned()),
                }));
            }
            Token::String { body, is_caseless } => {
                self.at += 1;
                let flags = if is_caseless { "i" } else { "" };
                Node::Literal(Literal { body: body.to_owned(), flags: flags.to_owned(), is_string: true })
            }
            Token::Regexp { body, flags } => {
                self.at += 1;
                let mut flags: Vec<char> = flags.chars().collect();
                flags.sort_unstable();
                flags.dedup();
                Node::Literal(Literal {
                    body: body.to_owned(),
                    flags: flags.into_iter().collect(),
                    is_string: false,
                })
            }
            Token::Json(text) => {
                self.at += 1;
                Node::Schema(if text.starts_with('"') {
                    let path = serde_json::from_str(text)
                        .map_err(|error| Fault::new(span, format!("the name of a schema's file: {error}")))?;
                    Schema::File(path)
                } else {
                    Schema::Text(text.into())
                })
            }
            Token::Grammar(name) => {
                self.at += 1;
                self.grammars.entry(name.to_owned()).or_insert(span);
                let name = Name { text: format!("@{name}"), span, is_terminal: false };
                Node::Symbol(Symbol { name, target: None })
            }
            Token::Special(name) => {
                self.at += 1;
                Node::Tokens(token_set(name, span)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(Tree { span, node }))
    }

    /// The arguments of `name`, after the brace.
    fn instance(&mut self, name: Name) -> Result<Tree, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Fault::limit(name.span, format!("templates nested more than {MAX_DEPTH} deep")));
        }
        let mut arguments = Vec::new();
        loop {
            let argument = self.value()?;
            arguments.push(
                argument.ok_or_else(|| {
                    self.unexpected("an argument: a rule, a terminal, a string or a pattern,")
                })?,
            );
            if !self.eat(&Token::Sign(',')) {
                break;
            }
        }
        let end = self.expect('}', "`,` or `}`")?;
        self.depth -= 1;
        Ok(Tree { span: name.span.to(end), node: Node::Instance(name, arguments) })
    }
}
