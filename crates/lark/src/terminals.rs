//! Named terminals: their trees to the texts of regular expressions, composed as Lark composes them.
//!
//! Inside a terminal, alternatives are tried by width (the widest first), then by length of text, since
//! Python's `re` takes the first that leads to a match. So every set of alternatives is parsed for its
//! widths; what a text costs is its length times the nesting of alternatives, and [`Fuel`] pays for it.

use std::cmp::Reverse;

use maskwright_automata::Fuel;
use maskwright_lexing::{Flags, Pattern, parse_python};

use crate::definitions::Definitions;
use crate::error::Fault;
use crate::pattern_text::PatternText;
use crate::source::Span;
use crate::tree::{BodyId, Node, Times, Tree};

/// How deeply terminals may be made of terminals, their groups included.
const MAX_DEPTH: usize = 250;

/// The longest text of one terminal, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// A terminal with its text.
#[derive(Clone, Debug)]
pub(crate) struct NamedText {
    pub(crate) name: String,
    pub(crate) priority: i32,
    pub(crate) text: PatternText,
    /// Where it is defined or, for one without a name, first used.
    pub(crate) span: Span,
    /// Its right-hand side, for the places of errors; none for one without a name.
    pub(crate) body: Option<BodyId>,
}

/// The texts of all terminals that are defined, but those that are JSON Schemas, in the order of their
/// definition.
///
/// # Errors
/// Where a terminal contains itself, a rule, an alias or a template, or nothing at all; where one of its
/// alternatives is no regular expression.
pub(crate) fn named_texts(definitions: &Definitions, fuel: &Fuel) -> Result<Vec<NamedText>, Fault> {
    let mut composer =
        Composer { definitions, fuel, texts: vec![Progress::Waiting; definitions.bodies.len()], depth: 0 };
    let mut texts = Vec::new();
    for entry in definitions.entries.iter().filter(|entry| entry.name.is_terminal) {
        let Some(body) = entry.body else { continue };
        if definitions.body(body).as_schema().is_some() {
            continue;
        }
        texts.push(NamedText {
            name: entry.name.text.clone(),
            priority: entry.priority,
            text: composer.definition(body, entry.name.span)?,
            span: entry.name.span,
            body: Some(body),
        });
    }
    Ok(texts)
}

/// The pattern of a terminal's text.
///
/// # Errors
/// If the text is not a regular expression of Python's `re` that this library can run.
pub(crate) fn parse(text: &PatternText, span: Span, fuel: &Fuel) -> Result<Pattern, Fault> {
    let regexp = text.to_regexp();
    fuel.spend(1 + regexp.len() as u64).map_err(|error| Fault::fuel(span, error))?;
    parse_python(&regexp, Flags::default(), fuel).map_err(|error| {
        let message = match error.is_limit() {
            true => error.to_string(),
            false => format!("{error} of the pattern /{}/", shortened(&regexp)),
        };
        Fault::caused(span, message, error.is_cancelled(), error.is_limit())
    })
}

/// The same error, told of the one literal in the terminal's definition that is wrong by itself, if there is
/// one.
pub(crate) fn located(fault: Fault, body: Option<BodyId>, definitions: &Definitions, fuel: &Fuel) -> Fault {
    let Some(body) = body else { return fault };
    let mut found = None;
    definitions.body(body).visit(&mut |tree| {
        if let (Node::Literal(literal), None) = (&tree.node, &found) {
            found = PatternText::of_literal(literal, tree.span)
                .and_then(|text| parse(&text, tree.span, fuel))
                .err();
        }
    });
    found.unwrap_or(fault)
}

/// The start of a long text, for messages.
fn shortened(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[derive(Clone)]
enum Progress {
    Waiting,
    Running,
    Done(PatternText),
}

struct Composer<'a> {
    definitions: &'a Definitions,
    fuel: &'a Fuel,
    texts: Vec<Progress>,
    depth: usize,
}

impl Composer<'_> {
    /// The text of a terminal's right-hand side, which is used at `span`.
    fn definition(&mut self, body: BodyId, span: Span) -> Result<PatternText, Fault> {
        match &self.texts[body.0 as usize] {
            Progress::Done(text) => return Ok(text.clone()),
            Progress::Running => {
                return Err(Fault::new(span, "a terminal that contains itself")
                    .with_hint("only rules (lower case) may be recursive"));
            }
            Progress::Waiting => {}
        }
        self.texts[body.0 as usize] = Progress::Running;
        let tree = self.definitions.body(body);
        if is_empty(tree) {
            return Err(Fault::new(span, "a terminal without a pattern"));
        }
        let text = self.text(tree)?;
        self.fuel.spend(text.value.len() as u64).map_err(|error| Fault::fuel(span, error))?;
        self.texts[body.0 as usize] = Progress::Done(text.clone());
        Ok(text)
    }

    fn text(&mut self, tree: &Tree) -> Result<PatternText, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("terminals inside terminals, more than {MAX_DEPTH} deep");
            return Err(Fault::limit(tree.span, message));
        }
        let text = self.text_of_node(tree)?;
        self.depth -= 1;
        if text.value.len() > MAX_TEXT {
            let message = format!("a terminal whose pattern has more than {MAX_TEXT} bytes");
            return Err(Fault::limit(tree.span, message));
        }
        Ok(text)
    }

    fn text_of_node(&mut self, tree: &Tree) -> Result<PatternText, Fault> {
        let span = tree.span;
        match &tree.node {
            Node::Alternatives(parts) => self.alternatives(parts),
            Node::Sequence(parts) => match parts.as_slice() {
                [] => Ok(PatternText { value: String::new(), flags: String::new(), is_string: true }),
                [part] => self.text(part),
                parts => {
                    let mut value = String::new();
                    for part in parts {
                        value.push_str(&self.text(part)?.to_regexp());
                        if value.len() > MAX_TEXT {
                            break;
                        }
                    }
                    Ok(PatternText::regexp(value))
                }
            },
            Node::Maybe(inner) => Ok(repeated(&self.text(inner)?, "?")),
            Node::Repeat(inner, times) => {
                let operator = match times {
                    Times::Optional => "?".to_owned(),
                    Times::Star => "*".to_owned(),
                    Times::Plus => "+".to_owned(),
                    Times::Exactly(n) => format!("{{{n}}}"),
                    Times::Between(min, max) => format!("{{{min},{max}}}"),
                    Times::AtLeast(min) => format!("{{{min},}}"),
                };
                Ok(repeated(&self.text(inner)?, &operator))
            }
            Node::Symbol(symbol) => match symbol.target {
                Some(body) => self.definition(body, span),
                None => Err(Fault::new(span, format!("the rule `{}` inside a terminal", symbol.name.text))),
            },
            Node::Literal(literal) => PatternText::of_literal(literal, span),
            Node::Range(first, last) => PatternText::of_range(first, last, span),
            Node::Schema(_) => Err(Fault::new(span, "a JSON Schema as a part of a terminal")
                .with_hint("JSON texts nest: make it a rule (lower case)")),
            Node::Tokens(set) => {
                Err(Fault::new(span, format!("the token {set} of the vocabulary inside a terminal"))
                    .with_hint("name it in a rule (lower case): it is no text"))
            }
            Node::Alias(_) => Err(Fault::new(span, "an alias inside a terminal")
                .with_hint("aliases name the alternatives of rules (lower case)")),
            Node::Instance(name, _) => {
                Err(Fault::new(span, format!("the template `{}` inside a terminal", name.text))
                    .with_hint("templates make rules, not terminals"))
            }
        }
    }

    fn alternatives(&mut self, parts: &[Tree]) -> Result<PatternText, Fault> {
        if let [part] = parts {
            return self.text(part);
        }
        let mut keyed = Vec::with_capacity(parts.len());
        for part in parts {
            let text = self.text(part)?;
            let (min, max) = self.widths(&text, part.span)?;
            keyed.push(((Reverse(max), Reverse(min), Reverse(text.length())), text));
        }
        keyed.sort_by_key(|&(key, _)| key);
        let texts: Vec<String> = keyed.iter().map(|(_, text)| text.to_regexp()).collect();
        Ok(PatternText::regexp(format!("(?:{})", texts.join("|"))))
    }

    /// The least and the greatest number of characters that the text matches.
    fn widths(&self, text: &PatternText, span: Span) -> Result<(u64, u64), Fault> {
        if text.is_string {
            let length = text.length() as u64;
            return Ok((length, length));
        }
        let pattern = parse(text, span, self.fuel)?;
        Ok((pattern.min_width(), pattern.max_width().unwrap_or(u64::MAX)))
    }
}

/// The text with a repetition; what flags it had stand inside and outside, as in Lark.
fn repeated(inner: &PatternText, operator: &str) -> PatternText {
    PatternText {
        value: format!("(?:{}){operator}", inner.to_regexp()),
        flags: inner.flags.clone(),
        is_string: false,
    }
}

/// Whether the tree is one sequence of nothing.
fn is_empty(tree: &Tree) -> bool {
    match &tree.node {
        Node::Alternatives(parts) => matches!(parts.as_slice(), [part] if is_empty(part)),
        Node::Sequence(parts) => parts.is_empty(),
        _ => false,
    }
}
