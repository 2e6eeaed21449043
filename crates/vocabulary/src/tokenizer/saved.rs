//! Tokenizers as bytes, for another process.
//!
//! What is saved is what the loaders read from a file, and it is read back by the same checks.

use serde::{Deserialize, Serialize};

#[cfg(feature = "tiktoken")]
use crate::TokenizerOptions;
use crate::encoder::NoEncoder;
use crate::encoder::added_tokens::AddedToken;
use crate::encoder::saved::SavedEncoder;
#[cfg(feature = "tokenizers")]
use crate::loaders::Loaded;
use crate::saved::{self, Magic};
use crate::{Error, TokenId, Tokenizer, TokenizerError, Vocabulary};

const MAGIC: Magic = *b"mwtoken\x02";

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
        let encoder = self.inner.encoder.save();
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
            added_tokens: self.inner.all_tokens.tokens().to_vec(),
            encoder,
            chat_template: self.chat_template().map(str::to_owned),
        };
        saved::write(&MAGIC, &tokenizer).expect("lists, texts and numbers can always be written")
    }

    /// Reads what [`serialize`](Tokenizer::serialize) wrote. The bytes need not be trusted.
    ///
    /// # Errors
    /// If the bytes are no tokenizer, are damaged or of another version, or need a feature of this crate that
    /// is off; and as for a tokenizer's file.
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
                let names = self.added_tokens.iter().map(AddedToken::named);
                let vocabulary = Vocabulary::of_tokens(self.tokens, names, &eos, Some(self.n_vocab))?;
                Ok(Tokenizer::new(vocabulary, Box::new(NoEncoder), self.added_tokens))
            }
            #[cfg(feature = "tiktoken")]
            SavedEncoder::Tiktoken(name) => {
                let options = TokenizerOptions { eos_token_ids: Some(eos), vocab_size: Some(self.n_vocab) };
                Tokenizer::of_encoding(&name, &options)
            }
            #[cfg(feature = "tokenizers")]
            SavedEncoder::Bpe(bpe) => {
                let (tokens, bpe) = bpe.parts(self.added_tokens)?;
                let loaded = Loaded { tokens, eos, vocab_size: Some(self.n_vocab), rest: bpe };
                Tokenizer::of_file(loaded, |bpe, _| Ok(bpe))
            }
            #[cfg(not(all(feature = "tokenizers", feature = "tiktoken")))]
            _ => Err(TokenizerError::invalid(
                "the saved tokenizer needs the feature `tokenizers` or `tiktoken`, which this program lacks",
            )),
        }
    }
}
