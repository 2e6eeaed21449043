//! Labels: places of a right-hand side that a session says it has passed.
//!
//! A front end puts labels around the parts that somebody wants to be told of: a call, an argument, a rule by
//! its name. What a number means, the front end knows. Labels read nothing. They are terminals that no text
//! has, so no pass needs to know of them; who reads a labelled grammar steps over them. Masks are made from
//! the grammar without labels.

use maskwright_automata::Regex;

/// The byte before a label's number. It occurs in no UTF-8 text and, other than 0xFF, in no set of tokens.
const MARK: u8 = 0xFE;

/// The beginning or the end of a part with a number.
///
/// ```
/// use maskwright_grammar::{GrammarBuilder, Label};
/// let mut builder = GrammarBuilder::new();
/// let (begin, end) = (builder.label(Label::Begin(7)), builder.label(Label::End(7)));
/// let (word, start) = (builder.literal("yes"), builder.declare("start"));
/// let body = builder.seq(&[begin, word, end]);
/// builder.define(start, body);
/// let grammar = builder.finish(start).unwrap();
/// let labels: Vec<_> = grammar.terminals().iter().map(Label::of).collect();
/// assert_eq!(labels, [Some(Label::Begin(7)), Some(Label::End(7)), None]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Label {
    /// The part begins.
    Begin(u32),
    /// The part ends.
    End(u32),
}

impl Label {
    /// The number of the part.
    pub fn number(self) -> u32 {
        let (Label::Begin(number) | Label::End(number)) = self;
        number
    }

    /// The label that a terminal is, if it is one.
    pub fn of(terminal: &Regex) -> Option<Label> {
        let word = terminal.as_literal()?;
        let &[MARK, is_end, ref number @ ..] = &word[..] else { return None };
        let number = u32::from_be_bytes(number.try_into().ok()?);
        Some(if is_end == 0 { Label::Begin(number) } else { Label::End(number) })
    }

    pub(crate) fn regex(self) -> Regex {
        let is_end = u8::from(matches!(self, Label::End(_)));
        Regex::literal([&[MARK, is_end], &self.number().to_be_bytes()[..]].concat())
    }
}
