//! Tokenizers as bytes, for another process.
//!
//! What is saved is what the loaders read from a file, and it is read back by the same checks.

use serde::{Deserialize, Serialize};

#[cfg(feature = "tiktoken")]
use crate::TokenizerOptions;
use crate::encoder::NoEncoder;
use crate::encoder::added_tokens::AddedToken;
#[cfg(feature = "tokenizers")]
use crate::loaders::{Loaded, bpe::Bpe, tokens::Tokens};
use crate::saved::{self, Magic};
use crate::token_bytes::TokenStyle;
use crate::{Error, TokenId, Tokenizer, TokenizerError, Vocabulary};

const MAGIC: Magic = *b"mwtoken\x02";

/// The most bytes that the merges' texts may take; Gemma's take 5 MB.
#[cfg(feature = "tokenizers")]
const MAX_MERGES_LEN: usize = 1 << 28;

/// A tokenizer, written down.
#[derive(Serialize, Deserialize)]
struct SavedTokenizer {
    /// The width of the logits.
    n_vocab: usize,
    eos: Vec<u32>,
    /// The bytes of each id, if the encoder does not say them.
    tokens: Vec<Option<Vec<u8>>>,
    added_tokens: Vec<AddedToken>,
    encoder: SavedEncoder,
    chat_template: Option<String>,
}

/// An encoder, written down.
#[derive(Serialize, Deserialize)]
pub(crate) enum SavedEncoder {
    /// There is none.
    None,
    /// The name of one of OpenAI's encodings.
    Tiktoken(String),
    /// The model and the stages of a tokenizer file.
    Bpe(Box<SavedBpe>),
}

/// The model and the stages of a tokenizer file.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedBpe {
    pub(crate) vocab: Vec<(String, u32)>,
    pub(crate) unk_token: Option<String>,
    pub(crate) style: TokenStyle,
    pub(crate) merges: Vec<(u32, u32)>,
    pub(crate) ignore_merges: bool,
    pub(crate) byte_fallback: bool,
    pub(crate) fuse_unk: bool,
    /// JSON.
    pub(crate) normalizer: String,
    /// JSON.
    pub(crate) pre_tokenizer: String,
}

/// Saving.
impl Tokenizer {
    /// The tokenizer as bytes, for [`deserialize`](Tokenizer::deserialize).
    ///
    /// ```
    /// # use maskwright_vocabulary as maskwright;
    /// use maskwright::{TokenId, Tokenizer};
    /// let tokens = ["a", "ab", "b", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let saved = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)]).unwrap().serialize();
    /// let tokenizer = Tokenizer::deserialize(&saved).unwrap();
    /// assert_eq!(tokenizer.encode("abba").unwrap(), [1, 2, 0].map(TokenId));
    /// assert!(Tokenizer::deserialize(&saved[1..]).is_err());
    /// ```
    pub fn serialize(&self) -> Vec<u8> {
        let encoder = self.save_encoder();
        let mut tokens = Vec::new();
        if matches!(encoder, SavedEncoder::None) {
            let ids = (0..self.n_vocab() as u32).map(TokenId);
            let bytes = |id| self.vocabulary().token_bytes(id).map(<[u8]>::to_vec);
            // A token that ends a text has a name in place of its bytes.
            let name = |id| self.vocabulary().name(id).filter(|_| self.vocabulary().is_eos(id));
            tokens = ids.map(|id| bytes(id).or_else(|| name(id).map(Into::into))).collect();
        }
        let tokenizer = SavedTokenizer {
            n_vocab: self.n_vocab(),
            eos: self.eos_token_ids().iter().map(|id| id.0).collect(),
            tokens,
            added_tokens: self.added_tokens().to_vec(),
            encoder,
            chat_template: self.chat_template().map(str::to_owned),
        };
        saved::write(&MAGIC, &tokenizer).expect("lists, texts and numbers can always be written")
    }

    /// Reads what [`serialize`](Tokenizer::serialize) wrote. The bytes need not be trusted.
    ///
    /// # Errors
    /// If the bytes are no tokenizer, are damaged or of another version, or need a feature of this crate that is off; and
    /// as for a tokenizer's file.
    pub fn deserialize(bytes: &[u8]) -> Result<Tokenizer, Error> {
        let refused = |refused: saved::Refused| TokenizerError::invalid(refused.reason("saved tokenizers"));
        let mut tokenizer: SavedTokenizer = saved::read(&MAGIC, bytes).map_err(refused)?;
        let chat_template = tokenizer.chat_template.take();
        Ok(tokenizer.make()?.with_chat_template(chat_template))
    }
}

impl SavedTokenizer {
    fn make(self) -> Result<Tokenizer, TokenizerError> {
        let eos: Vec<TokenId> = self.eos.into_iter().map(TokenId).collect();
        match self.encoder {
            SavedEncoder::None => {
                let special =
                    self.added_tokens.iter().map(|token| (TokenId(token.id), token.content.clone()));
                let vocabulary = Vocabulary::of_tokens(self.tokens, special, &eos, Some(self.n_vocab))?;
                Ok(Tokenizer::new(vocabulary, Box::new(NoEncoder), self.added_tokens))
            }
            #[cfg(feature = "tiktoken")]
            SavedEncoder::Tiktoken(name) => {
                let options = TokenizerOptions { eos_token_ids: Some(eos), vocab_size: Some(self.n_vocab) };
                crate::loaders::tiktoken::from_encoding(&name, &options)
            }
            #[cfg(feature = "tokenizers")]
            SavedEncoder::Bpe(bpe) => {
                let (tokens, bpe) = bpe.parts(self.added_tokens)?;
                let loaded = Loaded { tokens, eos, vocab_size: Some(self.n_vocab), rest: bpe };
                loaded.tokenizer(|bpe, _| Ok(bpe))
            }
            #[cfg(not(all(feature = "tokenizers", feature = "tiktoken")))]
            _ => Err(TokenizerError::invalid(
                "the saved tokenizer needs the feature `tokenizers` or `tiktoken`, which this program lacks",
            )),
        }
    }
}

#[cfg(feature = "tokenizers")]
impl SavedBpe {
    /// What the loaders read from a file.
    fn parts(self, added_tokens: Vec<AddedToken>) -> Result<(Tokens, Bpe), TokenizerError> {
        let texts: rustc_hash::FxHashMap<u32, &String> =
            self.vocab.iter().map(|(token, id)| (*id, token)).collect();
        let text = |id: u32| {
            let text = texts.get(&id).map(|&text| text.clone());
            text.ok_or_else(|| {
                TokenizerError::invalid(format!("a merge has the token {id}, which does not exist"))
            })
        };
        // Every merge copies the texts of its tokens, and a long token can be in many merges.
        let mut n_bytes = 0;
        let merges = self.merges.iter().map(|&(left, right)| {
            let merge = (text(left)?, text(right)?);
            n_bytes += merge.0.len() + merge.1.len();
            match n_bytes > MAX_MERGES_LEN {
                true => Err(TokenizerError::limit("the merges are too long".to_owned(), MAX_MERGES_LEN)),
                false => Ok(merge),
            }
        });
        let bpe = Bpe {
            merges: merges.collect::<Result<_, TokenizerError>>()?,
            ignore_merges: self.ignore_merges,
            byte_fallback: self.byte_fallback,
            fuse_unk: self.fuse_unk,
            normalizer: serde_json::from_str(&self.normalizer)?,
            pre_tokenizer: serde_json::from_str(&self.pre_tokenizer)?,
        };
        let tokens = Tokens { vocab: self.vocab, unk_token: self.unk_token, style: self.style, added_tokens };
        Ok((tokens, bpe))
    }
}
