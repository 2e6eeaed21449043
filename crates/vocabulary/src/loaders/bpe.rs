//! How a BPE model merges tokens, in the terms that tokenizer.json and GGUF share.

use serde_json::Value;

/// What a tokenizer file says about encoding.
pub(crate) struct Bpe {
    /// Pairs to merge, the first in rank first.
    pub(crate) merges: Vec<(String, String)>,
    /// A word that is a token is not cut.
    pub(crate) ignore_merges: bool,
    /// Unknown characters become `<0xNN>` tokens.
    pub(crate) byte_fallback: bool,
    /// Unknown characters in a row become one unknown token.
    pub(crate) fuse_unk: bool,
    /// The `normalizer` stage as in tokenizer.json, or null.
    pub(crate) normalizer: Value,
    /// The `pre_tokenizer` stage as in tokenizer.json, or null.
    pub(crate) pre_tokenizer: Value,
}
