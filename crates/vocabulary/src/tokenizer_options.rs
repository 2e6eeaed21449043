//! What a caller may say about a tokenizer file, for all formats.

use crate::TokenId;

/// What the caller knows better than the tokenizer's files.
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::TokenizerOptions;
/// let mut options = TokenizerOptions::default();
/// options.vocab_size = Some(151_936);
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
