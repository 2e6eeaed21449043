//! Finds the string literals in a grammar's text, for checks outside of compilation.

use std::ops::Range;

use crate::pattern_text::unescape;
use crate::token::{Token, tokens};

/// The strings in the rules and terminals of a grammar's text: the byte range of each, and its value. Empty
/// if the text cannot be split into tokens. Linear time.
///
/// ```
/// use maskwright_lark::lark_strings;
/// let found = lark_strings("start: \"a\\n\" B // \"c\"\nB: /\"/ \"d\"i\n");
/// assert_eq!(found, [(7..12, "a\n".to_owned()), (29..33, "d".to_owned())]);
/// ```
pub fn lark_strings(text: &str) -> Vec<(Range<usize>, String)> {
    let strings = tokens(text, 0).unwrap_or_default().into_iter().filter_map(|(token, span)| match token {
        Token::String { body, .. } => {
            let value = unescape(body).ok()?.replace("\\\\", "\\");
            Some((span.start as usize..span.end as usize, value))
        }
        _ => None,
    });
    strings.collect()
}
