//! What tokens can still spell where others end the text.
//!
//! A stop token that is text cannot be used within a text. If no other tokens spell its bytes, some texts of the grammar
//! cannot be written any more, and a mask that looks no further than its token would lead into them. So sessions with such stop
//! tokens have another grammar: the texts that the tokens which are left spell.
//!
//! * A byte that no token has is in no text. The grammar is compiled with terminals that have only the other bytes
//!   ([`Regex::within`](maskwright_automata::Regex::within), [`terminals_within`](maskwright_lexing::terminals_within)), and
//!   masks are exact as they are for every grammar, at no cost.
//! * A byte that only longer tokens have ([`Spelled::rare`]) is in texts where the bytes around it fit. Whether some text is
//!   left is then a question of limits on tokens ([`budget`](crate::budget)), without a limit:
//!   [`EngineGrammar::must_spell`](crate::EngineGrammar::must_spell).
//!
//! Where a limit on work keeps that from being found out before the first token, texts with such a byte are left out, and every
//! mask is a bound.
//!
//! Nothing of this is needed if each stop token can be spelled by others, which is so for most vocabularies and stop tokens:
//! they have a token for each byte.
//!
//! Rejected: the second way for all. A lexed grammar that needs a line feed, which no token has, is searched without an end.

use maskwright_automata::ByteSet;
use maskwright_vocabulary::{TokenId, Vocabulary};

/// The bytes of texts that a vocabulary can spell.
#[derive(Clone, Debug)]
pub(crate) struct Spelled {
    /// Those of all tokens.
    pub(crate) bytes: ByteSet,
    /// Those that are no token by themselves.
    pub(crate) rare: ByteSet,
    /// Whether texts are left out that could be spelled.
    pub(crate) is_bound: bool,
}

impl Spelled {
    /// What `after` can spell, if that is less than `before`, which has no more tokens that end a text than `stops`.
    pub(crate) fn after_stops(before: &Vocabulary, after: &Vocabulary, stops: &[u32]) -> Option<Spelled> {
        let is_lost = |&stop: &u32| {
            let text = before.text(TokenId(stop));
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
