//! What a caller may say about a tokenizer file, for all formats.

use crate::TokenId;

/// What the caller knows better than the tokenizer's files.
///
/// # Example: logits that are wider than the vocabulary
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::TokenizerOptions;
/// let mut options = TokenizerOptions::default();
/// options.vocab_size = Some(151_936);
/// ```
///
/// # Example: what ends a text
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::{TokenId, TokenizerOptions, Vocabulary};
/// let json = br#"{"added_tokens": [{"id": 1, "content": "<end>", "special": true}], "decoder": {"type": "ByteLevel"},
///     "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}"#;
/// assert!(Vocabulary::from_json(json, &TokenizerOptions::default()).is_err(), "no id is known to end a text");
/// let mut options = TokenizerOptions::default();
/// options.eos_token_ids = Some(vec![TokenId(1)]);
/// let vocabulary = Vocabulary::from_json(json, &options).unwrap();
/// assert!(vocabulary.is_eos(TokenId(1)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenizerOptions {
    /// The ids that end a text. `None`: from the files, see
    /// [`Vocabulary::from_file`](crate::Vocabulary::from_file).
    pub eos_token_ids: Option<Vec<TokenId>>,
    /// The width of the model's logits, where it is more than the tokenizer's largest id plus one.
    pub vocab_size: Option<usize>,
}
