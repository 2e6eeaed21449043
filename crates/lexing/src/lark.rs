//! The order and the keywords of Lark's lexers.
//!
//! Facts from Lark 1.3.1, `lark/lexer.py`: terminals are tried by priority, then by their greatest width,
//! then by the length of their source, then by name. A string terminal that a regular expression of the same
//! priority matches as a whole is a keyword of it: it is decided by comparing the text that was matched, and
//! need not be tried itself if its flags are among those of the regular expression.
//!
//! Whether a token is ignored is decided before that, by the terminal that was tried. So what an ignored
//! regular expression matches is ignored, keyword or not; and an ignored string that is matched as a keyword
//! of a regular expression is a token for the parser. Such a string is two terminals of one name here: the
//! ignored one is tried, the other is only a keyword ([`ignored_keywords`] finds the strings that need that).

use std::cmp::Reverse;

use maskwright_automata::Fuel;
use rustc_hash::FxHashSet;

use crate::{Flags, Keyword, LexError, LexerTerminal, Pattern, TerminalSet, find_prefix};

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

/// Whether `string` is a keyword of `regexp`: a string that this regular expression of the same priority
/// matches as a whole.
fn is_keyword(string: &LarkTerminal, regexp: &LarkTerminal, fuel: &Fuel) -> Result<bool, LexError> {
    let (Some(text), None) = (&string.string, &regexp.string) else { return Ok(false) };
    Ok(string.priority == regexp.priority
        && find_prefix(&regexp.pattern, text.as_bytes(), 0, fuel)? == Some(text.len()))
}

/// The indices of the `ignored` strings that are keywords of regular expressions which are not ignored. For
/// the functions here, each of them should be two terminals of one name, one ignored and the other not.
///
/// # Errors
/// Comparing strings with regular expressions needs more than `fuel`.
pub fn ignored_keywords(
    terminals: &[LarkTerminal],
    ignored: &TerminalSet,
    fuel: &Fuel,
) -> Result<Vec<usize>, LexError> {
    let mut keywords = Vec::new();
    for index in ignored.iter().map(|index| index as usize).filter(|&index| index < terminals.len()) {
        for (other, regexp) in terminals.iter().enumerate() {
            if !ignored.contains(other as u32) && is_keyword(&terminals[index], regexp, fuel)? {
                keywords.push(index);
                break;
            }
        }
    }
    Ok(keywords)
}

/// Which terminals are only keywords: they share the name of an ignored one and are not ignored.
fn are_keywords_only(terminals: &[LarkTerminal], ignored: &TerminalSet) -> Vec<bool> {
    let is_ignored = |index: usize| ignored.contains(index as u32);
    let names: FxHashSet<&str> = (0..terminals.len())
        .filter(|&index| is_ignored(index))
        .map(|index| terminals[index].name.as_str())
        .collect();
    let names = |(index, terminal): (usize, &LarkTerminal)| {
        !is_ignored(index) && names.contains(terminal.name.as_str())
    };
    terminals.iter().enumerate().map(names).collect()
}

/// The terminals as a [`Lexer`](crate::Lexer) takes them: in Lark's order, keywords taken out of it. An
/// ignored regular expression has no keywords. Ids are indices of `terminals`.
///
/// # Errors
/// Comparing strings with regular expressions needs more than `fuel`.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Flags, LarkTerminal, Pattern, TerminalSet, lark_terminals, parse_python};
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
/// let terminals = lark_terminals(&[keyword, name], &TerminalSet::new(), &fuel)?;
/// assert_eq!((terminals.len(), terminals[0].id, terminals[0].keywords[0].terminal), (1, 1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lark_terminals(
    terminals: &[LarkTerminal],
    ignored: &TerminalSet,
    fuel: &Fuel,
) -> Result<Vec<LexerTerminal>, LexError> {
    let order = lark_order(terminals);
    let mut is_embedded = are_keywords_only(terminals, ignored);
    let mut result = Vec::new();
    for &index in &order {
        let terminal = &terminals[index];
        let mut made =
            LexerTerminal::new(index as u32, terminal.pattern.clone()).with_priority(terminal.priority);
        for &other_index in &order {
            let other = &terminals[other_index];
            if !is_keyword(other, terminal, fuel)? {
                continue;
            }
            is_embedded[other_index] |= other.flags.is_subset(terminal.flags);
            if !ignored.contains(index as u32) && !ignored.contains(other_index as u32) {
                made.keywords.push(Keyword { pattern: other.pattern.clone(), terminal: other_index as u32 });
            }
        }
        result.push(made);
    }
    result.retain(|terminal| !is_embedded[terminal.id as usize]);
    Ok(result)
}

/// The terminals as a [`Lexer`](crate::Lexer) under [`LongestMatch`](crate::Discipline::LongestMatch) takes
/// them that is told at each place which compete: each by itself, strings before regular expressions, as a
/// string that a regular expression matches too is a keyword, and otherwise in Lark's order. Ids are indices
/// of `terminals`.
///
/// As in Lark, `ignored` is decided before keywords. An ignored regular expression comes before its keywords,
/// unless one that is not ignored matches them too and is tried first. An ignored string that is a keyword
/// comes last, after the regular expressions that make it a token, and no rule may read that token. (One
/// order serves all sets of competing terminals. If only some sets try the other regular expression first,
/// the string is a token wherever rules can read it.)
///
/// Strings of punctuation are operators.
///
/// # Errors
/// Comparing strings with regular expressions needs more than `fuel`.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Flags, LarkTerminal, Pattern, TerminalSet, lark_contextual_terminals};
/// let string = |name: &str, text: &str| LarkTerminal {
///     name: name.to_owned(),
///     pattern: Pattern::literal(text.as_bytes()),
///     source_length: text.len(),
///     string: Some(text.to_owned()),
///     flags: Flags::default(),
///     priority: 0,
/// };
/// let terminals = [string("MORE", ">"), string("SHIFT", ">>"), string("IN", "in")];
/// let terminals = lark_contextual_terminals(&terminals, &TerminalSet::new(), &Fuel::new(100))?;
/// let ids: Vec<(u32, bool)> = terminals.iter().map(|terminal| (terminal.id, terminal.is_operator)).collect();
/// assert_eq!(ids, [(2, false), (1, true), (0, true)]);
/// # Ok::<(), maskwright_lexing::LexError>(())
/// ```
pub fn lark_contextual_terminals(
    terminals: &[LarkTerminal],
    ignored: &TerminalSet,
    fuel: &Fuel,
) -> Result<Vec<LexerTerminal>, LexError> {
    let (strings, regexps): (Vec<usize>, Vec<usize>) =
        lark_order(terminals).into_iter().partition(|&index| terminals[index].string.is_some());
    let is_ignored = |index: usize| ignored.contains(index as u32);
    let is_keyword_only = are_keywords_only(terminals, ignored);
    let mut keywords: Vec<Vec<Keyword>> = vec![Vec::new(); terminals.len()];
    // Its place, whether it is a regular expression, and its index. Strings go before the regular expression
    // of their place.
    let mut order: Vec<(usize, bool, usize)> = Vec::with_capacity(terminals.len());
    order.extend(regexps.iter().enumerate().map(|(place, &regexp)| (place, true, regexp)));
    for string in strings {
        let mut before = None;
        let mut is_after_ignored = false;
        for (at, &regexp) in regexps.iter().enumerate() {
            if !is_keyword(&terminals[string], &terminals[regexp], fuel)? {
                continue;
            }
            if is_ignored(regexp) {
                is_after_ignored |= before.is_none();
                continue;
            }
            before.get_or_insert(at);
            if is_keyword_only[string] {
                let pattern = terminals[string].pattern.clone();
                keywords[regexp].push(Keyword { pattern, terminal: string as u32 });
            }
        }
        let place = match before {
            _ if is_ignored(string) => {
                if before.is_some() {
                    regexps.len()
                } else {
                    0
                }
            }
            _ if !is_after_ignored => 0,
            before => before.unwrap_or(regexps.len()),
        };
        if !is_keyword_only[string] {
            order.push((place, false, string));
        }
    }
    // Stable: strings of one place stay in Lark's order.
    order.sort_by_key(|&(place, is_regexp, _)| (place, is_regexp));
    let is_punctuation = |string: &String| {
        string.chars().all(|char| !(char.is_alphanumeric() || char == '_' || char.is_whitespace()))
    };
    let made = order.into_iter().map(|(_, _, index)| {
        let LarkTerminal { pattern, priority, string, .. } = &terminals[index];
        let mut made = LexerTerminal::new(index as u32, pattern.clone()).with_priority(*priority);
        made.is_operator = string.as_ref().is_some_and(is_punctuation);
        made.keywords = std::mem::take(&mut keywords[index]);
        made
    });
    Ok(made.collect())
}
