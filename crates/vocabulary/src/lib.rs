//! A model's vocabulary.
//!
//! What a token is: an index in the model's logits and its bytes. This layer knows no grammar. It holds the
//! [`Vocabulary`] with its [`Trie`], the packed [`Mask`], and the loaders for tokenizer files.
//!
//! Masks need only a [`Vocabulary`]. It comes from a `tokenizer.json`, a GGUF file or a list of tokens, with
//! no other crate. A [`Tokenizer`] also cuts text into tokens. For that it needs the model's own encoder,
//! which two features bring, both on by default:
//!
//! * `tokenizers`: `Tokenizer::from_file`, `from_json` and `from_gguf`, on the crate of that name;
//! * `tiktoken`: `Tokenizer::from_tiktoken`, on the crate `tiktoken-rs`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod encoder;
mod error;
pub mod gguf;
mod loaders;
mod mask;
#[doc(hidden)]
pub mod saved;
mod text_below;
mod token_bytes;
mod token_id;
mod tokenizer;
mod tokenizer_error;
mod tokenizer_options;
mod trie;
mod vocabulary;

pub(crate) use error::VocabularyError;
pub use mask::{Mask, mask_contains, mask_insert, mask_remove, mask_words};
pub use maskwright_error::{Error, ErrorKind};
pub use token_id::{MAX_VOCABULARY, TokenId};
pub use tokenizer::Tokenizer;
pub(crate) use tokenizer_error::TokenizerError;
pub use tokenizer_options::TokenizerOptions;
pub use trie::{Trie, TrieNodeId};
pub use vocabulary::{N_SYMBOLS, Vocabulary, symbol_text};
