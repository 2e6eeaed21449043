//! The reference for the contextual discipline: which texts can be split into tokens that win where they
//! stand.
//!
//! **Language.** A text is in it iff it is the texts of tokens one after the other such that
//!
//! 1. the tokens that are not ignored, with what indentation makes of them, are a sentence of the rules;
//! 2. each token wins. At its place those terminals *compete* that can come next in a sentence which begins
//!    with the tokens before it; the ignored ones; and that of line ends inside of brackets, which drop it.
//!    Each has at most one match there, that which Python's `re` finds for it alone. A match wins iff its
//!    terminal competes and no competitor has a longer match, or one of the same length that is preferred: by
//!    priority, then strings before regular expressions (what both match is a keyword), then in Lark's order.
//!    But no string of punctuation loses to a longer one of its kind.
//!
//! So a text has one split at most, apart from punctuation: `>>` may be one operator or two brackets,
//! whatever can be read at the first, and the rules decide. That is maximal munch with all the lookahead it
//! needs: `1..2` is a number and a range if the number `1.` needs a digit behind its point, and `"""` is an
//! empty string and the beginning of another if no long string is closed further on.
//!
//! What can come next is asked of the sequence of tokens, not of one way to parse it: `else` is a keyword
//! after a statement that may go on with it, also in the reading that is not an `if`.
//!
//! Here this is done as it is said, with nothing made ahead.

use maskwright_grammar::TerminalId;
use maskwright_lexing::LexerTerminal;

use crate::LexedOracle;
use crate::lexed::{find, token};

/// A token that the parser gets, and its text.
type Token<'t> = (TerminalId, &'t [u8]);

impl LexedOracle {
    /// Whether the text from `at` on can be split such that, behind `tokens`, it is a word.
    pub(crate) fn is_split<'t>(
        &self,
        text: &'t [u8],
        at: usize,
        tokens: &mut Vec<Token<'t>>,
        terminals: &[LexerTerminal],
    ) -> bool {
        let Some((mut sentence, n_open)) = self.sentence(tokens) else { return false };
        if at == text.len() {
            let dedent = self.layout.as_ref().map(|layout| layout.dedent);
            sentence.extend(dedent.into_iter().cycle().take(n_open));
            return self.rules.is_word(&self.words_of(&sentence));
        }
        if !self.rules.is_prefix(&self.words_of(&sentence)) {
            return false;
        }
        // Best first, as `terminals` are.
        let mut matches: Vec<(&LexerTerminal, usize)> = Vec::new();
        for terminal in terminals {
            let id = TerminalId::from_index(terminal.id as usize);
            let is_newline = self.layout.as_ref().is_some_and(|layout| {
                let is = |list: &[TerminalId], (terminal, _): &&Token<'_>| list.contains(terminal);
                let n_opened = tokens.iter().filter(|token| is(&layout.open, token)).count();
                let n_closed = tokens.iter().filter(|token| is(&layout.close, token)).count();
                layout.newline == id && n_opened > n_closed
            });
            let mut longer = sentence.clone();
            longer.push(id);
            if (is_newline || self.ignored.contains(&id) || self.rules.is_prefix(&self.words_of(&longer)))
                && let Some(end) = find(&terminal.pattern, text, at)
            {
                matches.push((terminal, end));
            }
        }
        matches.iter().enumerate().any(|(place, &(terminal, end))| {
            let loses = matches.iter().enumerate().any(|(other_place, &(other, other_end))| {
                if other_end == end {
                    other_place < place
                } else {
                    other_end > end && !(terminal.is_operator && other.is_operator)
                }
            });
            if loses {
                return false;
            }
            let id = token(terminal, &text[at..end]);
            let is_read = !self.ignored.contains(&id);
            if is_read {
                tokens.push((id, &text[at..end]));
            }
            let is_word = self.is_split(text, end, tokens, terminals);
            if is_read {
                tokens.pop();
            }
            is_word
        })
    }
}
