//! The bytes that texts can use when stop tokens are excluded.
//!
//! A stop token that is text cannot be used within a text. If no other tokens spell its bytes, some texts of
//! the grammar cannot be written, and a mask that checks only its own token would lead into them. So sessions
//! with such stop tokens get a narrower grammar, of only the texts that the remaining tokens spell.
//!
//! * A byte that no remaining token contains is in no text. The grammar is compiled with terminals over the
//!   other bytes ([`Regex::within`](maskwright_automata::Regex::within),
//!   [`terminals_within`](maskwright_lexing::terminals_within)), and masks are exact at no extra cost.
//! * A byte that occurs only in longer tokens ([`Spelled::rare`]) is in a text only if the bytes around it
//!   fit such a token. Whether a text can be completed is then decided as with a limit on tokens
//!   ([`budget`](crate::budget)), but without the limit:
//!   [`EngineGrammar::must_spell`](crate::EngineGrammar::must_spell).
//!
//! If a limit on work prevents that decision before the first token, texts with rare bytes are left out, and
//! every mask is a bound.
//!
//! None of this is needed if other tokens can spell each stop token. That holds for most vocabularies and
//! stop tokens, because they have a token for each byte.
//!
//! Rejected: the second way for all bytes. A lexed grammar that needs a line feed, which no token has, is
//! searched without end.

use maskwright_automata::ByteSet;
use maskwright_vocabulary::{TokenId, Vocabulary};

/// The bytes of texts that a vocabulary can spell.
#[derive(Clone, Debug)]
pub(crate) struct Spelled {
    /// Those of all tokens.
    pub(crate) bytes: ByteSet,
    /// Those that are not a token by themselves.
    pub(crate) rare: ByteSet,
    /// Whether some texts that could be spelled are left out.
    pub(crate) is_bound: bool,
}

impl Spelled {
    /// The bytes that `after` can spell, if `stops` exclude some of the texts that `before` spells; `after`
    /// is `before` with `stops` as tokens that end a text.
    pub(crate) fn after_stops(before: &Vocabulary, after: &Vocabulary, stops: &[TokenId]) -> Option<Spelled> {
        let is_lost = |&stop: &TokenId| {
            let text = before.text(stop);
            text.is_some_and(|text| after.fewest_tokens(text)[0].is_none())
        };
        if !stops.iter().any(is_lost) {
            return None;
        }
        let (mut bytes, mut single) = (ByteSet::EMPTY, ByteSet::EMPTY);
        for token in (0..after.n_vocab() as u32).map(TokenId) {
            let text = after.text(token).unwrap_or_default();
            text.iter().for_each(|&byte| bytes.insert(byte));
            if let [byte] = text {
                single.insert(*byte);
            }
        }
        Some(Spelled { bytes, rare: bytes.intersection(&single.complement()), is_bound: false })
    }

    /// Without the rare bytes, so that every text can be spelled byte by byte.
    pub(crate) fn without_rare(&self) -> Spelled {
        let bytes = self.bytes.intersection(&self.rare.complement());
        Spelled { bytes, rare: ByteSet::EMPTY, is_bound: true }
    }
}
