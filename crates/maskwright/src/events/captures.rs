//! The texts of rules that a caller has named.

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{EngineGrammar, LabelledGrammar, Matcher};
use maskwright_grammar::{Grammar, Label};
use maskwright_lark::LarkGrammar;

use crate::Error;

/// The text that a captured rule has matched.
///
/// # Example: the rules of a whole text
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let source = GrammarSource::gbnf("root ::= name \"=\" value\nname ::= [a-z]+\nvalue ::= [0-9]+").capture(["name", "value"]);
/// let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;
/// let captures = grammar.parse(b"width=640")?.captures;
/// let found: Vec<_> = captures.iter().map(|capture| (&*capture.name, &*capture.text)).collect();
/// assert_eq!(found, [("name", "width"), ("value", "640")]);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: while a text is written
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let source = GrammarSource::gbnf("root ::= name \"=\" value\nname ::= [a-z]+\nvalue ::= [0-9]+").capture(["value"]);
/// let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;
/// let mut matcher = grammar.matcher();
/// assert!(matcher.accept_bytes(b"width=6")?);
/// let captures = grammar.captures(&matcher)?;
/// assert_eq!((&*captures[0].text, captures[0].start, captures[0].end), ("6", 6, None), "it may go on");
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Capture {
    /// The rule.
    pub name: String,
    /// What it has matched. While the end is not certain, all of the text from its beginning.
    pub text: String,
    /// The byte of the text where it begins.
    pub start: usize,
    /// The byte after its last; `None` while it is not certain.
    pub end: Option<usize>,
}

/// What captures the texts of rules.
#[derive(Clone)]
pub(crate) struct Captures {
    grammar: Arc<LabelledGrammar>,
    names: Arc<[String]>,
}

/// The rules of a grammar, to be captured.
pub(crate) enum Rules {
    OverBytes(Box<Grammar>),
    Lexed(Box<LarkGrammar>),
}

impl Captures {
    /// Those of the rules of these names, in texts of `sessions`.
    pub(crate) fn new(
        sessions: &EngineGrammar,
        rules: Rules,
        names: &[String],
        fuel: &Fuel,
    ) -> Result<Captures, Error> {
        let grammar = match rules {
            Rules::OverBytes(grammar) => sessions.labelled(*grammar, names, fuel)?,
            Rules::Lexed(lark) => {
                let LarkGrammar { lexed, indentation, .. } = *lark;
                sessions.labelled_lexed(lexed, indentation, names, fuel)?
            }
        };
        Ok(Captures { grammar, names: names.into() })
    }

    /// The captures in a session's text, which ends here if `is_whole`; in the order of their beginnings.
    pub(crate) fn of(&self, matcher: &Matcher, is_whole: bool) -> Result<Vec<Capture>, Error> {
        let mut captures: Vec<Capture> = Vec::new();
        let mut open = Vec::new();
        for (label, at) in matcher.passed(&self.grammar, is_whole)? {
            match label {
                Label::Begin(number) => {
                    open.push(captures.len());
                    let name = self.names[number as usize].clone();
                    captures.push(Capture { name, text: String::new(), start: at, end: None });
                }
                Label::End(_) => {
                    if let Some(capture) = open.pop() {
                        let start = captures[capture].start;
                        captures[capture].end = Some(at.max(start));
                    }
                }
            }
        }
        let text = matcher.text();
        for capture in &mut captures {
            let own = text.get(capture.start..capture.end.unwrap_or(text.len()));
            capture.text = String::from_utf8_lossy(own.unwrap_or_default()).into_owned();
        }
        Ok(captures)
    }
}
