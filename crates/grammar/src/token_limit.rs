//! Terminals with a limit on tokens.
//!
//! How many tokens a terminal's text takes depends on how a model splits it, so no rule says it. A session
//! counts the tokens that begin in such a terminal. A token that begins before the terminal and reaches into
//! it does not count. After the last token the terminal ends. If it cannot end there (inside a character, for
//! example), further tokens may complete what was begun.
//!
//! As with sets of tokens ([`TokenSet`](crate::TokenSet)), the limit is written into the terminal's
//! expression between two bytes 0xFF until the grammar is compiled.

use maskwright_automata::{Node, Regex};

use crate::{Grammar, TerminalId};

const MARK: u8 = 0xFF;

/// `regex` with a limit: at most `max_tokens` tokens may begin in it. All prefixes of its words that end
/// where a token can end should be words, or completed by few bytes.
///
/// ```
/// use maskwright_automata::Regex;
/// use maskwright_grammar::{Grammar, at_most_tokens};
/// let grammar = Grammar::from_regex(at_most_tokens(Regex::any_text(), 5));
/// let (grammar, limits) = grammar.without_token_limits();
/// assert_eq!(limits.iter().map(|(_, limit)| *limit).collect::<Vec<_>>(), [5]);
/// assert_eq!(grammar.terminals(), [Regex::any_text()]);
/// ```
pub fn at_most_tokens(regex: Regex, max_tokens: u32) -> Regex {
    let mark = [&[MARK, b'@'], max_tokens.to_string().as_bytes(), &[MARK]].concat();
    Regex::concat([Regex::literal(mark), regex])
}

/// The limit that is written at the beginning of `regex`, and the expression without it.
fn split(regex: &Regex) -> Option<(u32, Regex)> {
    let (first, rest) = match regex.node() {
        Node::Literal(word) => (&**word, &[][..]),
        Node::Concat(parts) => match parts[0].node() {
            Node::Literal(word) => (&**word, &parts[1..]),
            _ => return None,
        },
        _ => return None,
    };
    let inside = first.strip_prefix(&[MARK, b'@'])?;
    let end = inside.iter().position(|&byte| byte == MARK)?;
    let limit = std::str::from_utf8(&inside[..end]).ok()?.parse().ok()?;
    let first = Regex::literal(&inside[end + 1..]);
    Some((limit, Regex::concat([first].into_iter().chain(rest.iter().cloned()))))
}

impl Grammar {
    /// The same grammar without [limits on tokens](at_most_tokens), and these.
    #[must_use]
    pub fn without_token_limits(mut self) -> (Grammar, Vec<(TerminalId, u32)>) {
        let mut limits = Vec::new();
        for (index, terminal) in self.terminals.iter_mut().enumerate().filter(|(_, regex)| regex.is_marked())
        {
            if let Some((limit, regex)) = split(terminal) {
                *terminal = regex;
                limits.push((TerminalId::from_index(index), limit));
            }
        }
        (self, limits)
    }
}
