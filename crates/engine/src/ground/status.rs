//! Numbers of tokens, and how sure an answer is.
//!
//! Every answer that a limit on work may cut short says so with a status.

use std::sync::Arc;

use super::mask_form::MaskForm;

/// A number of tokens that no text has: there is no such way.
pub(crate) const NEVER: u32 = u32::MAX;

/// This number of tokens, or more.
pub(crate) const MANY: u32 = NEVER - 1;

/// The sum of two numbers of tokens; [`NEVER`] if one of them is.
pub(crate) fn plus(a: u32, b: u32) -> u32 {
    if a == NEVER || b == NEVER { NEVER } else { a.saturating_add(b).min(MANY) }
}

/// Whether a number of tokens is the least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenCountStatus {
    /// No fewer tokens complete the text.
    Exact,
    /// So many tokens do complete it; fewer may.
    Upper,
}

/// Whether a mask has all tokens that are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MaskStatus {
    /// It has just those.
    Exact,
    /// All of its tokens are allowed; others may be too. A mask can be a bound for four reasons. Its work was
    /// limited ([`Limits::mask_work`](crate::Limits::mask_work)), and did not suffice. A limit on tokens is
    /// close: after some token no completion that fits is known, though there may be one. Where items or keys
    /// must differ, the search could not decide whether some token leaves a way to finish the text. With a
    /// lexer, it could not decide whether the words that the rules still need can be adjacent;
    /// [`Matcher::accept_token`](crate::Matcher::accept_token) refuses such a token too.
    Bound,
}

/// A mask and whether it is exact.
pub(crate) type MaskWithin = (Arc<MaskForm>, MaskStatus);

/// How many tokens complete a text.
///
/// # Example: a short completion
///
/// ```
/// # mod maskwright { pub use maskwright_engine::*; pub use maskwright_vocabulary::*; }
/// # use maskwright_automata::{Fuel, Regex};
/// # use maskwright_grammar::Grammar;
/// # let tokens = ["a", "b", "ab", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// # let vocabulary = maskwright::Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(3)], None).unwrap().shared();
/// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
/// # let grammar = compiler.compile(Grammar::from_regex(Regex::literal("aab")), &Fuel::new(1_000)).unwrap();
/// use maskwright::{Matcher, TokenCountStatus, TokenId};
/// // The grammar has the text `aab`; the tokens are `a`, `b`, `ab` and one that ends texts.
/// let mut matcher = Matcher::new(&grammar);
/// assert_eq!(matcher.tokens_to_finish().unwrap().n_tokens, 3, "`a`, `ab` and the end");
/// assert!(matcher.accept_token(TokenId(0)).unwrap() && matcher.accept_token(TokenId(2)).unwrap());
/// let least = matcher.tokens_to_finish().unwrap();
/// assert_eq!((least.n_tokens, least.status), (1, TokenCountStatus::Exact));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TokensToFinish {
    /// How many, an end-of-sequence token included.
    pub n_tokens: usize,
    /// Whether fewer could do.
    pub status: TokenCountStatus,
}

impl From<TokenCountStatus> for MaskStatus {
    fn from(status: TokenCountStatus) -> MaskStatus {
        match status {
            TokenCountStatus::Exact => MaskStatus::Exact,
            TokenCountStatus::Upper => MaskStatus::Bound,
        }
    }
}
