//! The order and the keywords of Lark's lexers.
//!
//! Facts from Lark 1.3.1, `lark/lexer.py`: terminals are tried by priority, then by their greatest width, then by
//! the length of their source, then by name. A string terminal that a regular expression of the same priority
//! matches as a whole is a keyword of it: it is decided by comparing the text that was matched, and need not be
//! tried itself if its flags are among those of the regular expression.

use std::cmp::Reverse;

use maskwright_automata::Fuel;

use crate::{Flags, Keyword, LexError, LexerTerminal, Pattern, find_prefix};

/// A terminal as a Lark grammar defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LarkTerminal {
    /// Its name.
    pub name: String,
    /// What it matches, its flags applied.
    pub pattern: Pattern,
    /// How many characters its source has, between the quotes or slashes, escapes as Lark keeps them.
    pub source_length: usize,
    /// Of a string terminal, the string.
    pub string: Option<String>,
    /// The flags written after it.
    pub flags: Flags,
    /// Its priority; 0 is the rule.
    pub priority: i32,
}

/// The indices of `terminals` in the order in which Lark's lexers try them.
///
/// ```
/// use maskwright_lexing::{Flags, LarkTerminal, Pattern, lark_order};
/// let string = |name: &str, text: &str| LarkTerminal {
///     name: name.to_owned(),
///     pattern: Pattern::literal(text.as_bytes()),
///     source_length: text.len(),
///     string: Some(text.to_owned()),
///     flags: Flags::default(),
///     priority: 0,
/// };
/// let terminals = [string("PLUS", "+"), string("INC", "++"), string("MINUS", "-")];
/// assert_eq!(lark_order(&terminals), [1, 2, 0]);
/// ```
pub fn lark_order(terminals: &[LarkTerminal]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..terminals.len()).collect();
    order.sort_by_key(|&index| {
        let terminal = &terminals[index];
        let width = match &terminal.string {
            Some(string) => Some(string.chars().count() as u64),
            None => terminal.pattern.max_width(),
        };
        // No bound is the greatest width.
        let width = (width.is_none(), width);
        (Reverse(terminal.priority), Reverse(width), Reverse(terminal.source_length), &terminal.name)
    });
    order
}

/// The terminals as a [`Lexer`](crate::Lexer) takes them: in Lark's order, keywords taken out of it. Ids are
/// indices of `terminals`.
///
/// # Errors
/// Comparing strings with regular expressions needs more than `fuel`.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Flags, LarkTerminal, Pattern, lark_terminals, parse_python};
/// let fuel = Fuel::new(10_000);
/// let name = LarkTerminal {
///     name: "NAME".to_owned(),
///     pattern: parse_python("[a-z]+", Flags::default(), &fuel)?,
///     source_length: 6,
///     string: None,
///     flags: Flags::default(),
///     priority: 0,
/// };
/// let keyword = LarkTerminal {
///     name: "IF".to_owned(),
///     pattern: Pattern::literal(b"if"),
///     source_length: 2,
///     string: Some("if".to_owned()),
///     ..name.clone()
/// };
/// let terminals = lark_terminals(&[keyword, name], &fuel)?;
/// assert_eq!((terminals.len(), terminals[0].id, terminals[0].keywords[0].terminal), (1, 1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lark_terminals(terminals: &[LarkTerminal], fuel: &Fuel) -> Result<Vec<LexerTerminal>, LexError> {
    let order = lark_order(terminals);
    let mut is_embedded = vec![false; terminals.len()];
    let mut result = Vec::new();
    for &index in &order {
        let terminal = &terminals[index];
        let mut made =
            LexerTerminal::new(index as u32, terminal.pattern.clone()).with_priority(terminal.priority);
        if terminal.string.is_none() {
            for &other_index in &order {
                let other = &terminals[other_index];
                let Some(string) = &other.string else { continue };
                let is_match = other.priority == terminal.priority
                    && find_prefix(&terminal.pattern, string.as_bytes(), 0, fuel)? == Some(string.len());
                if is_match {
                    is_embedded[other_index] |= other.flags.is_subset(terminal.flags);
                    made.keywords
                        .push(Keyword { pattern: other.pattern.clone(), terminal: other_index as u32 });
                }
            }
        }
        result.push(made);
    }
    result.retain(|terminal| !is_embedded[terminal.id as usize]);
    Ok(result)
}

/// The terminals as a [`Lexer`](crate::Lexer) under [`LongestMatch`](crate::Discipline::LongestMatch) takes them that
/// is told at each place which compete: each by itself, strings before regular expressions, as a string that a regular
/// expression matches too is a keyword, and otherwise in Lark's order. Ids are indices of `terminals`.
///
/// Strings of punctuation are operators.
///
/// ```
/// use maskwright_lexing::{Flags, LarkTerminal, Pattern, lark_contextual_terminals};
/// let string = |name: &str, text: &str| LarkTerminal {
///     name: name.to_owned(),
///     pattern: Pattern::literal(text.as_bytes()),
///     source_length: text.len(),
///     string: Some(text.to_owned()),
///     flags: Flags::default(),
///     priority: 0,
/// };
/// let terminals = lark_contextual_terminals(&[string("MORE", ">"), string("SHIFT", ">>"), string("IN", "in")]);
/// let ids: Vec<(u32, bool)> = terminals.iter().map(|terminal| (terminal.id, terminal.is_operator)).collect();
/// assert_eq!(ids, [(2, false), (1, true), (0, true)]);
/// ```
pub fn lark_contextual_terminals(terminals: &[LarkTerminal]) -> Vec<LexerTerminal> {
    let mut order = lark_order(terminals);
    order.sort_by_key(|&index| terminals[index].string.is_none());
    let is_punctuation = |string: &String| {
        string.chars().all(|char| !(char.is_alphanumeric() || char == '_' || char.is_whitespace()))
    };
    let made = order.into_iter().map(|index| {
        let LarkTerminal { pattern, priority, string, .. } = &terminals[index];
        let mut made = LexerTerminal::new(index as u32, pattern.clone()).with_priority(*priority);
        made.is_operator = string.as_ref().is_some_and(is_punctuation);
        made
    });
    made.collect()
}
