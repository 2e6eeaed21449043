//! GBNF, the grammar language of llama.cpp: from text to [`Grammar`].
//!
//! A rule is `name ::= alternatives`; a rule ends where the next begins or at the end of the line, unless the
//! line ends inside parentheses or next to `|`. `root` is the start. Items are `"literal"`, `[class]`, `.`,
//! names and groups, with `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}`. Classes and `.` are over Unicode scalar
//! values. `<[1000]>` and `<think>` are one token of the vocabulary, by its id or name, and `!<think>` is any
//! other one ([`TokenSet::of_written`](maskwright_grammar::TokenSet::of_written)). A line may begin with `|`,
//! which llama.cpp does not allow. The reference is llama.cpp's `grammars/README.md` and its parser
//! `src/llama-grammar.cpp`. Further escapes come from xgrammar's EBNF: `\f \v \0 \a \e \b \' \?`, and
//! punctuation in classes.
//!
//! What stands next to each other without a rule between is one terminal: a run of literals and classes with
//! their repetitions becomes one `Regex`, so that the engine sees few and long terminals.
//!
//! Linear in the source; recursion is on parentheses only, at most [`MAX_DEPTH`] deep.

mod lexer;

use std::collections::HashMap;
use std::ops::Range;

use maskwright_automata::Fuel;
use maskwright_grammar::{Grammar, GrammarBuilder, Item, RuleId, SpecialNames};

use self::lexer::{Lexer, Token};
use crate::error::Fault;
use crate::{MAX_DEPTH, MAX_SOURCE, PATH_HINT, SyntaxError, is_like_a_path, nearest_name};

/// How many repetitions may follow one item (`x{2}{3}` has two): each is a level of nesting.
const MAX_REPEATS: usize = 8;

/// Parses a GBNF grammar; `source_name` (a file name, say) stands in errors.
///
/// # Errors
/// If the text is malformed, a rule is undefined or defined twice, there is no rule `root`, or a limit is
/// reached.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_syntax::parse_gbnf;
/// let source = "root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= [0-9]+ | root\n";
/// let grammar = parse_gbnf(source, "list.gbnf", &Fuel::unlimited()).unwrap();
/// assert_eq!(grammar.name(grammar.start()), "root");
/// ```
pub fn parse_gbnf(source: &str, source_name: &str, fuel: &Fuel) -> Result<Grammar, SyntaxError> {
    parse_gbnf_with_names(source, source_name, &SpecialNames::default(), fuel)
}

/// The same, with quoted strings that also match the special tokens in `special` that they name.
///
/// # Errors
/// As [`parse_gbnf`], and if names overlap in a string in too many ways.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_grammar::{SpecialNames, TokenSet};
/// use maskwright_syntax::parse_gbnf_with_names;
/// let names = SpecialNames::new(["<end_of_turn>"]);
/// let source = "root ::= [a-z]+ \"<end_of_turn>\"";
/// let grammar = parse_gbnf_with_names(source, "turn.gbnf", &names, &Fuel::unlimited()).unwrap();
/// assert_eq!(grammar.token_sets(), [TokenSet::spelled("<end_of_turn>")]);
/// ```
pub fn parse_gbnf_with_names(
    source: &str,
    source_name: &str,
    special: &SpecialNames,
    fuel: &Fuel,
) -> Result<Grammar, SyntaxError> {
    if source.len() > MAX_SOURCE {
        let message = format!("the grammar has {} bytes, more than the limit of {MAX_SOURCE}", source.len());
        return Err(Fault::limit(0..0, message).place("", source_name));
    }
    parse(source, special, fuel).map_err(|fault| {
        let fault = match misread(source) {
            Some(hint) => fault.with_hint(hint),
            None => fault,
        };
        fault.place(source, source_name)
    })
}

/// What a text without a single rule probably is.
fn misread(source: &str) -> Option<&'static str> {
    let text = source.trim();
    if text.contains("::=") {
        return None;
    }
    if is_like_a_path(text, &[".gbnf", ".ebnf", ".lark", ".txt"]) {
        return Some(PATH_HINT);
    }
    let is_rule_of_lark = |line: &str| {
        let name = line.split_once(':').map(|(name, _)| name.trim_start_matches(['?', '!']).trim());
        name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
    };
    let looks_like_lark = text.lines().any(is_rule_of_lark);
    looks_like_lark
        .then_some("this looks like a grammar in Lark's language; in GBNF, a rule is written `name ::= ...`")
}

fn parse(source: &str, special: &SpecialNames, fuel: &Fuel) -> Result<Grammar, Fault> {
    let is_defined = |name: &str| {
        source.match_indices(name).any(|(at, _)| source[at + name.len()..].trim_start().starts_with("::="))
    };
    let mut parser = Parser {
        source,
        macros: MACROS.into_iter().filter(|(name, _)| !is_defined(name)).collect(),
        lexer: Lexer::new(source, special),
        fuel,
        builder: GrammarBuilder::new(),
        names: HashMap::new(),
        rules: Vec::new(),
        depth: 0,
    };
    loop {
        parser.skip_newlines()?;
        match parser.lexer.peek()? {
            Token::End => break,
            _ => parser.rule()?,
        }
    }
    let nearest_rule = |name: &str| {
        let defined = parser.rules.iter().filter(|rule| parser.builder.is_defined(rule.rule));
        nearest_name(name, defined.map(|rule| &source[rule.first_use.clone()])).map(|(_, rule)| rule)
    };
    for name in &parser.rules {
        if !parser.builder.is_defined(name.rule) {
            let used = &source[name.first_use.clone()];
            let fault = Fault::new(name.first_use.clone(), format!("rule `{used}` is used but not defined"));
            return Err(match nearest_rule(used) {
                Some(meant) => fault.with_hint(format!("did you mean `{meant}`?")),
                None => fault,
            });
        }
    }
    match parser.names.get("root").copied() {
        Some(root) => {
            fuel.hold(parser.builder.memory_usage());
            parser.builder.finish(root).map_err(|error| Fault::new(0..source.len(), error.to_string()))
        }
        None => {
            let end = source.len()..source.len();
            let fault = Fault::new(end, "there is no rule `root`, where the text would start");
            Err(match nearest_rule("root") {
                Some(meant) => fault.with_hint(format!("did you mean `root` where `{meant}` is?")),
                None => fault.with_hint("call the rule of whole texts `root`"),
            })
        }
    }
}

/// A rule that was named, and where first.
struct Name {
    rule: RuleId,
    first_use: Range<usize>,
}

struct Parser<'a> {
    source: &'a str,
    /// The [`MACROS`] that are not names of rules in this grammar.
    macros: Vec<(&'static str, &'static str)>,
    lexer: Lexer<'a>,
    fuel: &'a Fuel,
    builder: GrammarBuilder,
    names: HashMap<&'a str, RuleId>,
    rules: Vec<Name>,
    /// How many parentheses are open.
    depth: usize,
}

/// What a part of an expression takes while it is read, in bytes.
const BY_NODE: usize = 80;

impl<'a> Parser<'a> {
    fn spend(&self, span: &Range<usize>) -> Result<(), Fault> {
        self.fuel.hold(BY_NODE);
        self.fuel.spend(1).map_err(|error| Fault::fuel(span.clone(), error))
    }

    fn skip_newlines(&mut self) -> Result<(), Fault> {
        while self.lexer.peek()? == Token::Newline {
            self.lexer.next()?;
        }
        Ok(())
    }

    /// The rule of that name, declared at its first use.
    fn named(&mut self, name: &'a str, span: Range<usize>) -> RuleId {
        if let Some(&rule) = self.names.get(name) {
            return rule;
        }
        let rule = self.builder.declare(name);
        self.names.insert(name, rule);
        self.rules.push(Name { rule, first_use: span });
        rule
    }

    /// `name ::= alternatives`, up to the end of its last line.
    fn rule(&mut self) -> Result<(), Fault> {
        let (token, span) = self.lexer.next()?;
        let Token::Name(name) = token else {
            return Err(unexpected(&token, span, "a rule's name"));
        };
        self.skip_newlines()?;
        let rule = self.named(name, span.clone());
        let (token, sign_span) = self.lexer.next()?;
        if token != Token::Define {
            return Err(unexpected(&token, sign_span, "`::=` after a rule's name"));
        }
        if self.builder.is_defined(rule) {
            return Err(Fault::new(span, format!("rule `{name}` is defined twice")));
        }
        // A rule's first item may stand on the line after its `::=`.
        if self.lexer.peek()? == Token::Newline && !self.rule_follows()? {
            self.skip_newlines()?;
        }
        let body = self.alternatives()?;
        let body = body.into_expr(&mut self.builder);
        self.builder.define(rule, body);
        match self.lexer.next()? {
            (Token::Newline | Token::End, _) => Ok(()),
            (Token::Define, span) => {
                Err(Fault::new(span, "`::=` inside a rule; the next rule starts on a line of its own"))
            }
            (token, span) => Err(unexpected(&token, span, "an item, `|` or the end of the line")),
        }
    }

    /// Whether, behind line ends, a rule's head or the end of the source stands.
    fn rule_follows(&self) -> Result<bool, Fault> {
        let mut ahead = self.lexer.clone();
        while ahead.peek()? == Token::Newline {
            ahead.next()?;
        }
        Ok(match ahead.next()?.0 {
            Token::End => true,
            Token::Name(_) => ahead.peek()? == Token::Define,
            _ => false,
        })
    }

    /// Sequences with `|` between.
    fn alternatives(&mut self) -> Result<Item, Fault> {
        let mut alternatives = vec![self.sequence()?];
        loop {
            // A line may begin with `|`.
            if self.lexer.peek()? == Token::Newline {
                let mut ahead = self.lexer.clone();
                while ahead.peek()? == Token::Newline {
                    ahead.next()?;
                }
                if ahead.peek()? == Token::Bar {
                    self.lexer = ahead;
                }
            }
            if self.lexer.peek()? != Token::Bar {
                break;
            }
            self.lexer.next()?;
            if self.lexer.peek()? == Token::Newline && !self.rule_follows()? {
                self.skip_newlines()?;
            }
            alternatives.push(self.sequence()?);
        }
        Ok(Item::alt(alternatives, &mut self.builder))
    }

    /// Items up to `|`, `)` or the end of the line; line ends inside parentheses do not count.
    fn sequence(&mut self) -> Result<Item, Fault> {
        let mut items = Vec::new();
        loop {
            if self.depth > 0 {
                self.skip_newlines()?;
            }
            match self.lexer.peek()? {
                Token::Bar | Token::Close | Token::Newline | Token::End | Token::Define => break,
                _ => items.push(self.repeated()?),
            }
        }
        Ok(Item::seq(items, &mut self.builder))
    }

    /// An item with its repetitions.
    fn repeated(&mut self) -> Result<Item, Fault> {
        let mut item = self.item()?;
        let mut n_repeats = 0;
        while let Token::Repeat(min, max) = self.lexer.peek()? {
            let (_, span) = self.lexer.next()?;
            self.spend(&span)?;
            n_repeats += 1;
            if n_repeats > MAX_REPEATS {
                let message =
                    format!("more than {MAX_REPEATS} repetitions of one item in a row, which is the limit");
                return Err(Fault::limit(span, message));
            }
            item = item.repeat(min, max, &mut self.builder);
        }
        Ok(item)
    }

    fn item(&mut self) -> Result<Item, Fault> {
        let source = self.source;
        let (token, span) = self.lexer.next()?;
        self.spend(&span)?;
        match token {
            Token::Name(name) => {
                let is_called = || source[span.end..].trim_start_matches([' ', '\t']).starts_with('(');
                if let Some((_, remedy)) =
                    self.macros.iter().find(|(known, _)| *known == name).filter(|_| is_called())
                {
                    let message = format!("`{name}(...)` is of xgrammar's notation and not supported");
                    return Err(Fault::unsupported(span, message).with_hint(*remedy));
                }
                let rule = self.named(name, span);
                Ok(Item::Expr(self.builder.rule(rule)))
            }
            Token::Language(regex) => Ok(Item::Regular(regex)),
            Token::Tokens(set) => Ok(Item::Expr(self.builder.tokens(&set))),
            Token::Open => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    let message =
                        format!("parentheses are nested more than {MAX_DEPTH} deep, which is the limit");
                    return Err(Fault::limit(span, message));
                }
                let inner = self.alternatives()?;
                match self.lexer.next()? {
                    (Token::Close, _) => {}
                    (Token::End, _) => return Err(Fault::new(span, "unclosed parenthesis, `)` is missing")),
                    (token, span) => return Err(unexpected(&token, span, "an item, `|` or `)`")),
                }
                self.depth -= 1;
                Ok(inner)
            }
            Token::Repeat(..) => Err(Fault::new(span, "nothing to repeat, a repetition follows an item")),
            token => Err(unexpected(&token, span, "an item")),
        }
    }
}

/// The call-like forms of xgrammar's notation, each with a hint on what to write instead.
const MACROS: [(&str, &str); 5] = [
    (
        "TagDispatch",
        "a structural tag says where tags are read in free text: compile one with \"triggered_tags\"",
    ),
    (
        "TokenTagDispatch",
        "a structural tag says where tags are read in free text: compile one with \"token_triggered_tags\"",
    ),
    ("Token", "a token is written <[1000]> by its id, or <name>"),
    ("ExcludeToken", "any token but one is written !<[1000]> or !<name>"),
    ("Regex", "write the pattern as rules, or compile it as a regular expression"),
];

/// The literals of a grammar: the byte range of each, and its value. Stops at the first syntax error.
///
/// ```
/// use maskwright_syntax::gbnf_literals;
/// assert_eq!(gbnf_literals(r#"root ::= "a\x62" [c]"#), [(9..16, "ab".to_owned())]);
/// ```
pub fn gbnf_literals(source: &str) -> Vec<(Range<usize>, String)> {
    let special = SpecialNames::default();
    let mut lexer = Lexer::new(source, &special);
    let mut found = Vec::new();
    while let Ok((token, span)) = lexer.next() {
        match token {
            Token::End => break,
            Token::Language(regex) if source[span.start..].starts_with('"') => {
                let text = regex.as_literal().and_then(|text| String::from_utf8(text).ok());
                found.extend(text.map(|text| (span, text)));
            }
            _ => {}
        }
    }
    found
}

fn unexpected(token: &Token<'_>, span: Range<usize>, wanted: &str) -> Fault {
    Fault::new(span, format!("expected {wanted}, found {}", token.describe()))
}
