//! A BPE tokenizer in the terms that tokenizer.json and GGUF share, and the tokenizer made of it.
//!
//! The bytes of an id are decided here. An id of the model's vocabulary has the bytes its style gives it. An added
//! token is literal text, unless the model also writes text with it, as Gemma does with `▁▁`; a special one has no
//! bytes. Merges that lead to a token without bytes are dropped, so that text never becomes a special token.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use tokenizers::models::bpe::BPE;

use crate::encoder::Encoder;
use crate::encoder::added_tokens::AddedToken;
use crate::encoder::pipeline::Pipeline;
use crate::token_bytes::TokenStyle;
use crate::{MAX_VOCABULARY, Tokenizer, TokenizerError, Vocabulary};

/// The longest token, in bytes of its text; the longest in use have some 1,000.
const MAX_TOKEN_LEN: usize = 1 << 14;

/// The most bytes of text in all tokens together; the widest vocabularies in use have 3 MB. A trie node takes
/// 25 bytes, so this bounds the trie at 0.8 GB.
const MAX_TOTAL_LEN: usize = 1 << 25;

/// What a BPE tokenizer file says.
pub(crate) struct Definition {
    /// The model's tokens with their ids.
    pub(crate) vocab: Vec<(String, u32)>,
    /// Pairs to merge, the first in rank first.
    pub(crate) merges: Vec<(String, String)>,
    /// A word that is a token is not cut.
    pub(crate) ignore_merges: bool,
    /// Unknown characters become `<0xNN>` tokens.
    pub(crate) byte_fallback: bool,
    /// Unknown characters in a row become one unknown token.
    pub(crate) fuse_unk: bool,
    /// The model's token for what it cannot write.
    pub(crate) unk_token: Option<String>,
    /// How the model's tokens stand for bytes.
    pub(crate) style: TokenStyle,
    /// Added tokens, special or not.
    pub(crate) added_tokens: Vec<AddedToken>,
    /// The `normalizer` stage as in tokenizer.json, or null.
    pub(crate) normalizer: Value,
    /// The `pre_tokenizer` stage as in tokenizer.json, or null.
    pub(crate) pre_tokenizer: Value,
}

impl Definition {
    /// The tokenizer of this definition. Takes time linear in the file, and that of building the trie.
    ///
    /// # Errors
    /// If the parts contradict one another or a limit on size is reached.
    pub(crate) fn build(self, eos: &[u32], vocab_size: Option<usize>) -> Result<Tokenizer, TokenizerError> {
        let tokens = self.token_bytes()?;
        let vocabulary = Vocabulary::from_tokens(tokens, eos, vocab_size)?;
        let mut added_tokens = self.added_tokens;
        added_tokens.sort_by_key(|token| token.id);
        let ids: FxHashMap<&str, u32> = self.vocab.iter().map(|(token, id)| (token.as_str(), *id)).collect();
        let merges = checked_merges(&ids, self.merges, &vocabulary)?;
        let mut model = BPE::builder()
            .ignore_merges(self.ignore_merges)
            .byte_fallback(self.byte_fallback)
            .fuse_unk(self.fuse_unk);
        if let Some(unk_token) = self.unk_token.filter(|token| ids.contains_key(token.as_str())) {
            model = model.unk_token(unk_token);
        }
        let model_vocab: tokenizers::models::bpe::Vocab = self.vocab.into_iter().collect();
        let model = model
            .vocab_and_merges(model_vocab, merges)
            .build()
            .map_err(|error| TokenizerError::invalid(format!("/model: {error}")))?;
        let pipeline = Pipeline::new(model, &self.normalizer, &self.pre_tokenizer)?;
        Ok(Tokenizer::new(vocabulary, Encoder::Pipeline(Box::new(pipeline)), added_tokens))
    }

    /// The bytes of each id, `None` where it has none.
    fn token_bytes(&self) -> Result<Vec<Option<Vec<u8>>>, TokenizerError> {
        let model = self.vocab.iter().map(|(token, id)| (token.as_str(), *id));
        let added = self.added_tokens.iter().map(|token| (token.content.as_str(), token.id));
        let mut n_tokens = 0;
        let mut total_len = 0;
        for (token, id) in model.chain(added) {
            if id as usize >= MAX_VOCABULARY {
                let what = format!("the token {token:?} has the id {id}");
                return Err(TokenizerError::limit(what, MAX_VOCABULARY - 1));
            }
            if token.len() > MAX_TOKEN_LEN {
                let what = format!("the token of id {id} has {} bytes", token.len());
                return Err(TokenizerError::limit(what, MAX_TOKEN_LEN));
            }
            n_tokens = n_tokens.max(id as usize + 1);
            total_len += token.len();
        }
        if total_len > MAX_TOTAL_LEN {
            return Err(TokenizerError::limit(format!("the tokens have {total_len} bytes"), MAX_TOTAL_LEN));
        }
        let mut texts: Vec<Option<&str>> = vec![None; n_tokens];
        let mut bytes: Vec<Option<Vec<u8>>> = vec![None; n_tokens];
        for (token, id) in &self.vocab {
            if let Some(other) = texts[*id as usize].replace(token) {
                return Err(TokenizerError::invalid(format!(
                    "/model/vocab: the id {id} is given to {other:?} and to {token:?}"
                )));
            }
            bytes[*id as usize] = Some(self.style.bytes(token));
        }
        let writes_spaces = matches!(self.style, TokenStyle::SentencePiece { .. });
        for added in &self.added_tokens {
            let index = added.id as usize;
            if added.special {
                bytes[index] = None;
            } else if !(writes_spaces && texts[index] == Some(added.content.as_str())) {
                bytes[index] = Some(added.content.clone().into_bytes());
            }
        }
        for (token, id) in &self.vocab {
            if self.unk_token.as_ref() == Some(token) {
                bytes[*id as usize] = None;
            }
        }
        Ok(bytes)
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
