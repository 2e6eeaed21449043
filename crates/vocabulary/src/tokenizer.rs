//! A vocabulary with a model's own way to write text in it.
//!
//! Masks need only the [`Vocabulary`]. Encoding serves prompts, jump-forward and tests. Its contract is about
//! bytes: what [`Tokenizer::encode`] returns spells exactly the text given, whatever the tokenizer file says
//! about normal forms or spaces in front, and special tokens are never read out of text. Where a prompt
//! should be read as the model was trained to, there is [`Tokenizer::encode_with_special`].

mod saved;

#[cfg(feature = "tokenizers")]
use std::path::Path;
use std::sync::Arc;

#[cfg(any(feature = "tokenizers", feature = "tiktoken"))]
use crate::TokenizerOptions;
use crate::encoder::added_tokens::{AddedToken, AddedTokenMatcher, Piece};
#[cfg(feature = "tokenizers")]
use crate::encoder::pipeline::Pipeline;
use crate::encoder::segment::segment;
#[cfg(feature = "tiktoken")]
use crate::encoder::tiktoken::Encoding;
use crate::encoder::{Encoder, NoEncoder};
#[cfg(any(feature = "tokenizers", feature = "tiktoken"))]
use crate::loaders;
#[cfg(feature = "tiktoken")]
use crate::loaders::tiktoken::LoadedEncoding;
#[cfg(feature = "tokenizers")]
use crate::loaders::{Loaded, bpe::Bpe, tokens::Tokens};
use crate::{Error, TokenId, TokenizerError, Vocabulary};

/// A model's vocabulary and its way to cut text into tokens. Immutable and cheap to clone.
///
/// # Example: from a list of tokens
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::{TokenId, Tokenizer};
/// let tokens = ["a", "ab", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)]).unwrap();
/// assert_eq!(tokenizer.encode("abba").unwrap(), [1, 2, 0].map(TokenId));
/// assert_eq!(tokenizer.decode(&[1, 2, 0, 3].map(TokenId)), b"abba");
/// assert_eq!(tokenizer.token_bytes(TokenId(3)), None, "EOS is not text");
/// ```
///
/// # Example: special tokens
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::{TokenId, Tokenizer};
/// let tokens = ["a", "<think>", "</s>"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens_with_special(tokens.to_vec(), &[TokenId(2)], &[TokenId(1)]).unwrap();
/// assert_eq!(tokenizer.special_token_id("<think>"), Some(TokenId(1)));
/// assert_eq!(tokenizer.token_bytes(TokenId(1)), None, "it is no text");
/// assert_eq!(tokenizer.encode_with_special("<think>aa").unwrap(), [1, 0, 0].map(TokenId));
/// ```
#[derive(Clone)]
pub struct Tokenizer {
    vocabulary: Arc<Vocabulary>,
    inner: Arc<Inner>,
    chat_template: Option<Arc<str>>,
}

struct Inner {
    encoder: Box<dyn Encoder>,
    /// Added tokens that are text.
    literal_tokens: AddedTokenMatcher,
    /// All added tokens.
    all_tokens: AddedTokenMatcher,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer")
            .field("n_vocab", &self.n_vocab())
            .field("eos_token_ids", &self.eos_token_ids())
            .finish_non_exhaustive()
    }
}

/// Loading.
impl Tokenizer {
    /// Reads a Hugging Face `tokenizer.json`: its tokens, as [`Vocabulary::from_file`] does, and how it cuts
    /// text. (Feature `tokenizers`.)
    ///
    /// # Errors
    /// As for [`Vocabulary::from_file`], and if the file has merges or stages that it cannot have.
    #[cfg(feature = "tokenizers")]
    pub fn from_file(path: &Path, options: &TokenizerOptions) -> Result<Tokenizer, Error> {
        let file = loaders::hugging_face::read_file(path, options)?;
        let tokenizer =
            Tokenizer::of_file(file, loaders::hugging_face::bpe).map_err(|error| error.at(path))?;
        Ok(tokenizer.with_chat_template(loaders::chat_template::beside(path)))
    }

    /// Reads the text of a Hugging Face `tokenizer.json`; as [`Tokenizer::from_file`] with no files beside
    /// it. (Feature `tokenizers`.)
    ///
    /// # Errors
    /// As for [`Tokenizer::from_file`].
    #[cfg(feature = "tokenizers")]
    pub fn from_json(json: &[u8], options: &TokenizerOptions) -> Result<Tokenizer, Error> {
        let file = loaders::hugging_face::read_json(json, options)?;
        Ok(Tokenizer::of_file(file, loaders::hugging_face::bpe)?)
    }

    /// One of OpenAI's encodings, which are built in: `gpt2`, `r50k_base`, `p50k_base`, `cl100k_base`,
    /// `o200k_base`, `o200k_harmony`. (Feature `tiktoken`.)
    ///
    /// # Errors
    /// If there is no such encoding, or the options contradict it.
    #[cfg(feature = "tiktoken")]
    pub fn from_tiktoken(encoding: &str, options: &TokenizerOptions) -> Result<Tokenizer, Error> {
        Ok(Tokenizer::of_encoding(encoding, options)?)
    }

    /// Reads the tokenizer inside a GGUF file: its tokens, as [`Vocabulary::from_gguf`] does, and how it cuts
    /// text. (Feature `tokenizers`.)
    ///
    /// # Errors
    /// As for [`Vocabulary::from_gguf`], and if the merges are missing or the name of the pre-tokenizer is
    /// not known.
    #[cfg(feature = "tokenizers")]
    pub fn from_gguf(path: &Path, options: &TokenizerOptions) -> Result<Tokenizer, Error> {
        let tokenizer = loaders::gguf::read(path, options).and_then(|file| {
            let template = file.rest.chat_template();
            Ok(Tokenizer::of_file(file, loaders::gguf_bpe::bpe)?.with_chat_template(template))
        });
        Ok(tokenizer.map_err(|error| error.at(path))?)
    }

    /// A vocabulary of the given byte strings, cut greedily. Tokens that end a text, and empty ones, never
    /// match as text.
    ///
    /// # Errors
    /// As for [`Vocabulary::from_tokens`].
    pub fn from_tokens(tokens: Vec<Vec<u8>>, eos: &[TokenId]) -> Result<Tokenizer, Error> {
        Tokenizer::from_tokens_with_special(tokens, eos, &[])
    }

    /// The same; the tokens with an id in `special` never match as text, and are called by what would be
    /// their bytes.
    ///
    /// # Errors
    /// As for [`Vocabulary::from_tokens`], and if such an id is out of range or its name is not UTF-8.
    ///
    /// ```
    /// # use maskwright_vocabulary as maskwright;
    /// use maskwright::{TokenId, Tokenizer};
    /// let tokens = ["a", "<think>", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let (eos, special) = ([TokenId(2)], [TokenId(1)]);
    /// let tokenizer = Tokenizer::from_tokens_with_special(tokens.to_vec(), &eos, &special).unwrap();
    /// assert_eq!(tokenizer.special_token_id("<think>"), Some(TokenId(1)));
    /// assert_eq!(tokenizer.encode_with_special("a<think>a").unwrap(), [0, 1, 0].map(TokenId));
    /// ```
    pub fn from_tokens_with_special(
        tokens: Vec<Vec<u8>>,
        eos: &[TokenId],
        special: &[TokenId],
    ) -> Result<Tokenizer, Error> {
        let n_tokens = tokens.len();
        let mut tokens: Vec<Option<Vec<u8>>> = tokens.into_iter().map(Some).collect();
        let mut added_tokens: Vec<AddedToken> = Vec::new();
        let mut special = special.to_vec();
        special.sort_unstable();
        special.dedup();
        for TokenId(id) in special {
            let token = tokens.get_mut(id as usize).ok_or_else(|| {
                TokenizerError::invalid(format!("no token has the id {id}; there are {n_tokens} tokens"))
            })?;
            let content = token.take().map(String::from_utf8);
            let Some(Ok(content)) = content.filter(|name| name.as_ref().is_ok_and(|name| !name.is_empty()))
            else {
                let message = format!("special token {id} needs a name: UTF-8 that is not empty");
                return Err(TokenizerError::invalid(message).into());
            };
            added_tokens.push(AddedToken::special(id, content));
        }
        let names = added_tokens.iter().map(AddedToken::named);
        let vocabulary = Vocabulary::of_tokens(tokens, names, eos, None)?;
        Ok(Tokenizer::new(vocabulary, Box::new(NoEncoder), added_tokens))
    }

    /// A vocabulary without an encoder: text is cut greedily, so not as the model's own tokenizer cuts it.
    ///
    /// ```
    /// # use maskwright_vocabulary as maskwright;
    /// use maskwright::{TokenId, Tokenizer, TokenizerOptions, Vocabulary};
    /// let json = r#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    ///     "decoder": {"type": "ByteLevel"}, "added_tokens": [{"id": 3, "content": "</s>", "special": true}]}"#;
    /// let vocabulary = Vocabulary::from_json(json.as_bytes(), &TokenizerOptions::default()).unwrap();
    /// let tokenizer = Tokenizer::from_vocabulary(vocabulary);
    /// assert_eq!(tokenizer.encode("abb").unwrap(), [2, 1].map(TokenId));
    /// assert_eq!(tokenizer.special_token_id("</s>"), Some(TokenId(3)));
    /// ```
    pub fn from_vocabulary(vocabulary: Vocabulary) -> Tokenizer {
        let names = vocabulary.names().map(|(id, name)| AddedToken::special(id.0, name.to_owned()));
        let added_tokens = names.collect();
        Tokenizer::new(vocabulary, Box::new(NoEncoder), added_tokens)
    }

    /// The tokens of a file with their encoder, which `read_bpe` reads from the rest of the file.
    #[cfg(feature = "tokenizers")]
    fn of_file<R>(
        file: Loaded<R>,
        read_bpe: impl FnOnce(R, &Tokens) -> Result<Bpe, TokenizerError>,
    ) -> Result<Tokenizer, TokenizerError> {
        let vocabulary = Vocabulary::of_file(&file)?;
        let bpe = read_bpe(file.rest, &file.tokens)?;
        let mut tokens = file.tokens;
        let mut added_tokens = std::mem::take(&mut tokens.added_tokens);
        added_tokens.sort_by_key(|token| token.id);
        let pipeline = Pipeline::new(tokens, bpe, &vocabulary)?;
        Ok(Tokenizer::new(vocabulary, Box::new(pipeline), added_tokens))
    }

    /// One of OpenAI's encodings.
    #[cfg(feature = "tiktoken")]
    fn of_encoding(name: &str, options: &TokenizerOptions) -> Result<Tokenizer, TokenizerError> {
        let LoadedEncoding { name, model, tokens, added_tokens, eos } =
            loaders::tiktoken::read(name, options)?;
        let names = added_tokens.iter().map(AddedToken::named);
        let vocabulary = Vocabulary::of_tokens(tokens, names, &eos, options.vocab_size)?;
        Ok(Tokenizer::new(vocabulary, Box::new(Encoding { name, model }), added_tokens))
    }

    /// A tokenizer from its parts.
    fn new(vocabulary: Vocabulary, encoder: Box<dyn Encoder>, added_tokens: Vec<AddedToken>) -> Tokenizer {
        // An added token that the model also writes text with (Gemma's `▁▁`, two spaces) is not found
        // literally.
        let literal = added_tokens
            .iter()
            .filter(|token| vocabulary.token_bytes(TokenId(token.id)) == Some(token.content.as_bytes()))
            .cloned()
            .collect();
        let inner = Inner {
            encoder,
            literal_tokens: AddedTokenMatcher::new(literal),
            all_tokens: AddedTokenMatcher::new(added_tokens),
        };
        Tokenizer { vocabulary: vocabulary.shared(), inner: Arc::new(inner), chat_template: None }
    }
}

/// Reading.
impl Tokenizer {
    /// The tokens and their bytes.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The model's chat template, if the tokenizer's files have one. It is not run.
    pub fn chat_template(&self) -> Option<&str> {
        self.chat_template.as_deref()
    }

    /// The same tokenizer with this chat template.
    #[must_use]
    pub fn with_chat_template(mut self, template: Option<String>) -> Tokenizer {
        self.chat_template = template.map(Arc::from);
        self
    }

    /// The width of the model's logits, in tokens.
    pub fn n_vocab(&self) -> usize {
        self.vocabulary.n_vocab()
    }

    /// The ids that end a text, in ascending order.
    pub fn eos_token_ids(&self) -> &[TokenId] {
        self.vocabulary.eos_token_ids()
    }

    /// The bytes of a token that matches as text; `None` for special tokens and for ids without a token.
    pub fn token_bytes(&self, id: TokenId) -> Option<&[u8]> {
        self.vocabulary.token_bytes(id)
    }

    /// The added tokens that never match as text, with their names, in ascending order of their ids.
    pub fn special_tokens(&self) -> impl Iterator<Item = (TokenId, &str)> + '_ {
        let tokens = self.inner.all_tokens.tokens().iter();
        let named = tokens.map(|token| (TokenId(token.id), &*token.content));
        named.filter(|&(id, _)| self.token_bytes(id).is_none())
    }

    /// The id of the special token with the given name. Takes time linear in their number.
    pub fn special_token_id(&self, name: &str) -> Option<TokenId> {
        self.special_tokens().find(|&(_, content)| content == name).map(|(id, _)| id)
    }

    /// The bytes of all the tokens; special tokens and unknown ids have none.
    pub fn decode(&self, ids: &[TokenId]) -> Vec<u8> {
        ids.iter().filter_map(|&id| self.token_bytes(id)).flatten().copied().collect()
    }
}

/// Encoding.
impl Tokenizer {
    /// Tokens whose bytes are exactly the bytes of `text`, cut as the model's own tokenizer would cut it in
    /// the middle of a text.
    ///
    /// Special tokens are neither parsed nor added. No normal form is applied and no space put in front;
    /// where the model's tokenizer changes the text nevertheless, the text is cut into the longest tokens
    /// instead.
    ///
    /// # Errors
    /// If no sequence of tokens spells the text.
    pub fn encode(&self, text: &str) -> Result<Vec<TokenId>, Error> {
        let mut ids = Vec::new();
        for piece in self.inner.literal_tokens.split(text, false) {
            match piece {
                Piece::Token(id) => ids.push(id),
                Piece::Text { text: piece, start } => self.encode_piece(piece, start, &mut ids)?,
            }
        }
        Ok(ids)
    }

    /// Tokens whose bytes are exactly `bytes`, which need not be UTF-8: the parts that are go through
    /// [`Tokenizer::encode`], the rest is cut into the longest tokens.
    ///
    /// # Errors
    /// If no sequence of tokens spells the bytes.
    pub fn encode_bytes(&self, bytes: &[u8]) -> Result<Vec<TokenId>, Error> {
        let mut ids = Vec::new();
        let mut position = 0;
        for chunk in bytes.utf8_chunks() {
            let (valid, invalid) = (chunk.valid(), chunk.invalid());
            let ends = (self.encode(valid), segment(&self.vocabulary, invalid));
            let (Ok(head), Ok(tail)) = ends else {
                // A token may span the border, so the rest is tried as a whole.
                let rest = segment(&self.vocabulary, &bytes[position..])
                    .map_err(|offset| TokenizerError::not_encodable(position + offset))?;
                ids.extend(rest);
                return Ok(ids);
            };
            ids.extend(head);
            ids.extend(tail);
            position += valid.len() + invalid.len();
        }
        Ok(ids)
    }

    /// Tokens for a prompt, as the model was trained to read it: special tokens are parsed, the tokenizer's
    /// normal form and its space in front are applied. Nothing is added at the start or the end: a chat
    /// template has written what belongs there.
    ///
    /// # Errors
    /// If the vocabulary has no tokens for a part of the text.
    pub fn encode_with_special(&self, text: &str) -> Result<Vec<TokenId>, Error> {
        let mut ids = Vec::new();
        for piece in self.inner.all_tokens.split(text, true) {
            match piece {
                Piece::Token(id) => ids.push(id),
                Piece::Text { text: piece, start } => {
                    match self.inner.encoder.encode_prompt(piece, start)? {
                        Some(piece_ids) => ids.extend(piece_ids),
                        None => self.encode_piece(piece, start, &mut ids)?,
                    }
                }
            }
        }
        Ok(ids)
    }

    /// Encodes text between added tokens that begins at byte `start` of the whole.
    fn encode_piece(&self, text: &str, start: usize, ids: &mut Vec<TokenId>) -> Result<(), TokenizerError> {
        let Some(reserved) = self.inner.encoder.reserved_char() else {
            return self.encode_plain(text, start, ids);
        };
        let mut position = 0;
        for part in text.split_inclusive(reserved) {
            let plain = part.strip_suffix(reserved).unwrap_or(part);
            self.encode_plain(plain, start + position, ids)?;
            self.segment_into(&part.as_bytes()[plain.len()..], start + position + plain.len(), ids)?;
            position += part.len();
        }
        Ok(())
    }

    /// Encodes text without reserved characters.
    fn encode_plain(&self, text: &str, start: usize, ids: &mut Vec<TokenId>) -> Result<(), TokenizerError> {
        match self.inner.encoder.encode_exact(text) {
            Some(encoded) if self.spells(&encoded, text.as_bytes()) => {
                ids.extend(encoded);
                Ok(())
            }
            _ => self.segment_into(text.as_bytes(), start, ids),
        }
    }

    fn segment_into(&self, bytes: &[u8], start: usize, ids: &mut Vec<TokenId>) -> Result<(), TokenizerError> {
        let segmented = segment(&self.vocabulary, bytes);
        ids.extend(segmented.map_err(|offset| TokenizerError::not_encodable(start + offset))?);
        Ok(())
    }

    /// Whether the tokens' bytes are exactly `bytes`.
    fn spells(&self, ids: &[TokenId], mut bytes: &[u8]) -> bool {
        for &id in ids {
            match self.token_bytes(id).and_then(|token| bytes.strip_prefix(token)) {
                Some(rest) => bytes = rest,
                None => return false,
            }
        }
        bytes.is_empty()
    }
}
