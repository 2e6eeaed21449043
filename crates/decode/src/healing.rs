//! Token healing: undoing the accident of where a prompt was cut.
//!
//! A prompt that ends in `http:` is tokenised with `:` as its last token, but the model has learnt `://` as
//! one token and finds `//` after a lone `:` unlikely. So the last tokens are taken back and their bytes
//! become a required prefix of the generated text ([`PrefixConstraint`](crate::PrefixConstraint)); the model
//! then picks the segmentation itself. The text is the same, byte for byte.
//!
//! Rejected: always taking back one token (guidance's first rule). It regenerates where nothing can be gained
//! and misses tokens that span two of the prompt's.

use maskwright_vocabulary::TokenId;

/// The bytes of each token, as decoding needs them.
///
/// # Examples
/// ```
/// use maskwright_decode::TokenText;
/// use maskwright_vocabulary::TokenId;
/// let tokens = vec![None, Some(b"ab".to_vec())];
/// assert_eq!(tokens.n_tokens(), 2);
/// assert_eq!([0, 1].map(|id| tokens.text(TokenId(id))), [None, Some(&b"ab"[..])]);
/// ```
pub trait TokenText {
    /// One more than the largest id.
    fn n_tokens(&self) -> usize;

    /// The bytes that a token stands for; `None` for special tokens, ids without a token, and ids out of
    /// range.
    fn text(&self, id: TokenId) -> Option<&[u8]>;
}

impl TokenText for Vec<Option<Vec<u8>>> {
    fn n_tokens(&self) -> usize {
        self.len()
    }

    fn text(&self, id: TokenId) -> Option<&[u8]> {
        self.get(id.index())?.as_deref()
    }
}

impl<T: TokenText + ?Sized> TokenText for &T {
    fn n_tokens(&self) -> usize {
        (**self).n_tokens()
    }

    fn text(&self, id: TokenId) -> Option<&[u8]> {
        (**self).text(id)
    }
}

/// A prompt whose end is to be generated anew.
///
/// # Examples
/// ```
/// use maskwright_decode::{HealedPrompt, heal_prompt};
/// use maskwright_vocabulary::TokenId;
/// let tokens: Vec<_> = ["http", ":", "://"].map(|text| Some(text.as_bytes().to_vec())).into();
/// let healed = heal_prompt(&[0, 1].map(TokenId), &tokens);
/// assert_eq!(healed, HealedPrompt { kept_ids: vec![TokenId(0)], prefix: b":".to_vec() });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealedPrompt {
    /// The tokens that stay: the model's prompt.
    pub kept_ids: Vec<TokenId>,
    /// The bytes of the tokens taken back, with which the generated text must begin; empty if nothing was.
    pub prefix: Vec<u8>,
}

/// Takes back the longest run of last tokens whose bytes, put together, are a proper prefix of some token.
///
/// Never takes back a special token or anything before one, nor the first token (a model needs something to
/// read). O(vocabulary × tokens that the longest token can span).
#[must_use]
pub fn heal_prompt(prompt_ids: &[TokenId], tokens: &dyn TokenText) -> HealedPrompt {
    let texts = || (0..tokens.n_tokens()).filter_map(|id| tokens.text(TokenId(u32::try_from(id).ok()?)));
    let longest = texts().map(<[u8]>::len).max().unwrap_or(0);
    let mut tail = Vec::new();
    let mut best = (prompt_ids.len(), Vec::new());
    for (position, &id) in prompt_ids.iter().enumerate().skip(1).rev() {
        let Some(text) = tokens.text(id) else { break };
        if tail.len() + text.len() >= longest {
            break;
        }
        tail.splice(0..0, text.iter().copied());
        if !tail.is_empty() && texts().any(|text| text.len() > tail.len() && text.starts_with(&tail)) {
            best = (position, tail.clone());
        }
    }
    let (n_kept, prefix) = best;
    HealedPrompt { kept_ids: prompt_ids[..n_kept].to_vec(), prefix }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(texts: &[Option<&str>]) -> Vec<Option<Vec<u8>>> {
        texts.iter().map(|text| text.map(|text| text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn takes_back_as_many_as_one_token_can_span() {
        let tokens = tokens(&[Some("a"), Some("b"), Some("c"), Some("bcd"), Some("x")]);
        let healed = heal_prompt(&[0, 1, 2].map(TokenId), &tokens);
        assert_eq!(healed, HealedPrompt { kept_ids: vec![TokenId(0)], prefix: b"bc".to_vec() });
        // "c" alone starts no longer token, and "xc" neither.
        assert_eq!(heal_prompt(&[0, 4, 2].map(TokenId), &tokens).prefix, b"");
        assert_eq!(
            heal_prompt(&[0, 1].map(TokenId), &tokens),
            HealedPrompt { kept_ids: vec![TokenId(0)], prefix: b"b".to_vec() }
        );
    }

    #[test]
    fn stops_at_special_tokens_and_at_the_first() {
        let tokens = tokens(&[None, Some("b"), Some("c"), Some("bcd"), Some("cd")]);
        assert_eq!(heal_prompt(&[1, 0, 2].map(TokenId), &tokens).kept_ids, [1, 0].map(TokenId));
        assert_eq!(
            heal_prompt(&[1, 2].map(TokenId), &tokens),
            HealedPrompt { kept_ids: vec![TokenId(1)], prefix: b"c".to_vec() }
        );
        assert_eq!(heal_prompt(&[2].map(TokenId), &tokens).kept_ids, [2].map(TokenId));
        assert_eq!(heal_prompt(&[2, 0].map(TokenId), &tokens).kept_ids, [2, 0].map(TokenId));
        assert_eq!(heal_prompt(&[2, 99].map(TokenId), &tokens).kept_ids, [2, 99].map(TokenId));
        assert_eq!(heal_prompt(&[], &tokens).kept_ids, []);
    }
}
