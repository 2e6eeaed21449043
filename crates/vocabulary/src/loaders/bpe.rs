//! How a BPE model merges tokens, in the terms that tokenizer.json and GGUF share, and the tokenizer made of it.
//!
//! Merges that lead to a token without bytes are dropped, so that text never becomes a special token.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use tokenizers::models::bpe::BPE;

use super::tokens::Tokens;
use crate::encoder::pipeline::{Origin, Pipeline};
use crate::{Tokenizer, TokenizerError, Vocabulary};

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

impl Bpe {
    /// The tokenizer of this model, for a vocabulary made of `tokens`. Takes time linear in the file.
    ///
    /// # Errors
    /// If the parts contradict one another.
    pub(crate) fn tokenizer(
        self,
        tokens: Tokens,
        vocabulary: Vocabulary,
    ) -> Result<Tokenizer, TokenizerError> {
        let mut added_tokens = tokens.added_tokens;
        added_tokens.sort_by_key(|token| token.id);
        let ids: FxHashMap<&str, u32> =
            tokens.vocab.iter().map(|(token, id)| (token.as_str(), *id)).collect();
        let merges = checked_merges(&ids, self.merges, &vocabulary)?;
        let by_id = merges.iter().map(|(left, right)| (ids[left.as_str()], ids[right.as_str()])).collect();
        let mut model = BPE::builder()
            .ignore_merges(self.ignore_merges)
            .byte_fallback(self.byte_fallback)
            .fuse_unk(self.fuse_unk);
        if let Some(unk_token) = tokens.unk_token.filter(|token| ids.contains_key(token.as_str())) {
            model = model.unk_token(unk_token);
        }
        let model_vocab: tokenizers::models::bpe::Vocab = tokens.vocab.into_iter().collect();
        let model = model
            .vocab_and_merges(model_vocab, merges)
            .build()
            .map_err(|error| TokenizerError::invalid(format!("/model: {error}")))?;
        let origin = Origin {
            style: tokens.style,
            merges: by_id,
            normalizer: self.normalizer,
            pre_tokenizer: self.pre_tokenizer,
        };
        let pipeline = Pipeline::new(model, origin)?;
        Ok(Tokenizer::new(vocabulary, Box::new(pipeline), added_tokens))
    }
}

/// The merges whose result is text. The library indexes by them without a check, so all are checked here.
fn checked_merges(
    ids: &FxHashMap<&str, u32>,
    mut merges: Vec<(String, String)>,
    vocabulary: &Vocabulary,
) -> Result<Vec<(String, String)>, TokenizerError> {
    let mut merged = String::new();
    let mut not_text = FxHashSet::default();
    for (rank, (left, right)) in merges.iter().enumerate() {
        merged.clear();
        merged.push_str(left);
        merged.push_str(right);
        for part in [left, right, &merged] {
            if !ids.contains_key(part.as_str()) {
                return Err(TokenizerError::invalid(format!(
                    "/model/merges/{rank}: {part:?}, of the merge of {left:?} and {right:?}, is not in the vocabulary"
                )));
            }
        }
        if vocabulary.token_bytes(crate::TokenId(ids[merged.as_str()])).is_none() {
            not_text.insert(rank);
        }
    }
    let mut rank = 0;
    merges.retain(|_| {
        rank += 1;
        !not_text.contains(&(rank - 1))
    });
    Ok(merges)
}
