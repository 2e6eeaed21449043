//! Random small vocabularies and texts made of allowed tokens.

use std::sync::Arc;

use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{ALPHABET, Oracle};

/// A random vocabulary over [`ALPHABET`], ids in any order: each byte as a token, longer tokens of up to six
/// bytes (some twice, some that cut characters, some with other characters), one or two EOS ids (whose bytes
/// must not match as text), a special token without bytes, sometimes an empty one, and padding.
pub fn arb_vocabulary() -> impl Strategy<Value = Arc<Vocabulary>> {
    let piece = || {
        prop_oneof![
            12 => select(vec![&b"a"[..], b"b", b"c", "é".as_bytes()]),
            2 => select(vec![&b"\xc3"[..], b"\xa9"]),
            1 => select(vec![&b"x"[..], "€".as_bytes(), b"\xe2\x82", b"\xac", b"\xff", b"\xf0\x9f"]),
        ]
    };
    let token = vec(piece(), 1..=6).prop_map(|pieces| {
        let mut bytes = pieces.concat();
        bytes.truncate(6);
        bytes
    });
    let tokens =
        (vec(token, 4..=24), vec(any::<prop::sample::Index>(), 0..=3)).prop_map(|(tokens, copies)| {
            let copied: Vec<Vec<u8>> = copies.iter().map(|index| index.get(&tokens).clone()).collect();
            let singles = ALPHABET.iter().map(|&byte| vec![byte]);
            singles.chain(tokens).chain(copied).map(|bytes| (Some(bytes), false)).collect::<Vec<_>>()
        });
    let eos = vec(select(vec![Some(b"ab".to_vec()), Some(b"</s>".to_vec()), None]), 1..=2);
    let special = select(vec![vec![None], vec![None, Some(Vec::new())]]);
    let all = (tokens, eos, special).prop_map(|(mut tokens, eos, special)| {
        tokens.extend(eos.into_iter().map(|bytes| (bytes, true)));
        tokens.extend(special.into_iter().map(|bytes| (bytes, false)));
        tokens
    });
    (all.prop_shuffle(), 0usize..40).prop_map(|(tokens, padding)| {
        let eos = (0u32..).zip(&tokens).filter(|(_, (_, is_eos))| *is_eos).map(|(id, _)| TokenId(id));
        let eos: Vec<TokenId> = eos.collect();
        // Most vocabularies are as wide as their tokens.
        let width = tokens.len() + padding.saturating_sub(30);
        let tokens = tokens.into_iter().map(|(bytes, _)| bytes).collect();
        Vocabulary::from_tokens(tokens, &eos, Some(width)).expect("ids in range and few").shared()
    })
}

/// The choices of a random walk through the allowed tokens, to be made against any grammar and vocabulary.
///
/// ```
/// use maskwright_automata::Regex;
/// use maskwright_grammar::Grammar;
/// use maskwright_oracle::{Oracle, TextWalk};
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["a", "b", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(2)], None).unwrap();
/// let oracle = Oracle::new(&Grammar::from_regex(Regex::literal("abab")));
/// let walk = TextWalk::new(vec![7, 7, 7]);
/// assert_eq!(walk.tokens(&oracle, &vocabulary), [TokenId(0), TokenId(1), TokenId(0)]);
/// ```
#[derive(Clone, Debug)]
pub struct TextWalk {
    choices: Vec<u16>,
}

impl TextWalk {
    /// A walk of at most as many tokens as there are choices; each picks one of the tokens allowed.
    pub fn new(choices: Vec<u16>) -> TextWalk {
        TextWalk { choices }
    }

    /// The tokens of the walk: each allowed after those before it, none of them EOS. Ends early where no
    /// token with bytes is allowed.
    pub fn tokens(&self, oracle: &Oracle, vocabulary: &Vocabulary) -> Vec<TokenId> {
        let mut tokens = Vec::new();
        let mut text = Vec::new();
        for &choice in &self.choices {
            let Some(mask) = oracle.mask(vocabulary, &text) else { break };
            let allowed: Vec<(TokenId, &[u8])> = (0u32..)
                .zip(mask)
                .filter(|&(_, is_allowed)| is_allowed)
                .filter_map(|(id, _)| Some((TokenId(id), vocabulary.token_bytes(TokenId(id))?)))
                .collect();
            if allowed.is_empty() {
                break;
            }
            let (token, bytes) = allowed[usize::from(choice) % allowed.len()];
            tokens.push(token);
            text.extend_from_slice(bytes);
        }
        tokens
    }

    /// The bytes of the walk's tokens.
    pub fn text(&self, oracle: &Oracle, vocabulary: &Vocabulary) -> Vec<u8> {
        let bytes = |token| vocabulary.token_bytes(token).expect("a walk takes tokens with bytes");
        self.tokens(oracle, vocabulary).into_iter().flat_map(bytes).copied().collect()
    }
}

/// A random [`TextWalk`] of at most eight tokens.
pub fn arb_text_walk() -> impl Strategy<Value = TextWalk> {
    vec(any::<u16>(), 0..=8).prop_map(TextWalk::new)
}
