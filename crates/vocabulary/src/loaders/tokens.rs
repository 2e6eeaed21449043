//! The tokens of a tokenizer file, in the terms that tokenizer.json and GGUF share.
//!
//! The bytes of an id are decided here. An id of the model's vocabulary has the bytes its style gives it. An
//! added token is literal text, unless the model also writes text with it, as Gemma does with `▁▁`; a special
//! one has no bytes.

use crate::encoder::added_tokens::AddedToken;
use crate::token_bytes::TokenStyle;
use crate::{MAX_VOCABULARY, TokenId, TokenizerError};

/// The longest token, in bytes of its text; the longest in use have some 1,000.
const MAX_TOKEN_LEN: usize = 1 << 14;

/// The most bytes of text in all tokens together; the widest vocabularies in use have 3 MB. A trie node takes
/// 25 bytes, so this bounds the trie at 0.8 GB.
const MAX_TOTAL_LEN: usize = 1 << 25;

/// The tokens of a tokenizer file.
pub(crate) struct Tokens {
    /// The model's tokens with their ids.
    pub(crate) vocab: Vec<(String, u32)>,
    /// The model's token for what it cannot write.
    pub(crate) unk_token: Option<String>,
    /// How the model's tokens stand for bytes.
    pub(crate) style: TokenStyle,
    /// Added tokens, special or not.
    pub(crate) added_tokens: Vec<AddedToken>,
}

impl Tokens {
    /// What the file calls tokens that may have no bytes. Of two names for an id the later one counts.
    pub(crate) fn names(&self) -> impl Iterator<Item = (TokenId, String)> + '_ {
        let unk = self.vocab.iter().filter(|(token, _)| self.unk_token.as_ref() == Some(token));
        let unk = unk.map(|(token, id)| (TokenId(*id), token.clone()));
        unk.chain(self.added_tokens.iter().map(AddedToken::named))
    }

    /// The bytes of each id, `None` where it has none. Takes time linear in the file.
    ///
    /// # Errors
    /// If the tokens contradict one another or a limit on size is reached.
    pub(crate) fn bytes(&self) -> Result<Vec<Option<Vec<u8>>>, TokenizerError> {
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
