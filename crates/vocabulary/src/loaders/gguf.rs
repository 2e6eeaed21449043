//! The vocabulary inside a GGUF file.
//!
//! `tokenizer.ggml.model` is `gpt2` (byte-level BPE with merges, as in tokenizer.json) or `llama` (SentencePiece
//! BPE with scores). Scores become merges as in Hugging Face's converter (`SentencePieceExtractor`): every cut of a
//! token into two tokens is a merge, ranked by the token's score.

use std::cmp::Reverse;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::definition::Definition;
use super::gguf_reader::{GgufValue, read_metadata};
use super::{eos, pre_tokenizers};
use crate::encoder::added_tokens::AddedToken;
use crate::token_bytes::TokenStyle;
use crate::{Tokenizer, TokenizerError, TokenizerOptions};

/// Token types (`llama_token_type`).
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;

/// The most work for making merges of scores, in bytes hashed; Llama 2's 32,000 tokens take 4 million.
const MAX_MERGE_WORK: usize = 1 << 30;

/// See [`Tokenizer::from_gguf`].
pub(crate) fn from_file(path: &Path, options: &TokenizerOptions) -> Result<Tokenizer, TokenizerError> {
    let load = || {
        let mut metadata = Metadata(read_metadata(path, "tokenizer.")?);
        let eos = metadata.eos()?;
        let definition = definition(&mut metadata)?;
        let eos = match &options.eos_token_ids {
            Some(ids) => ids.clone(),
            None if eos.is_empty() => eos::well_known(&definition)?,
            None => eos,
        };
        definition.build(&eos, options.vocab_size)
    };
    load().map_err(|error: TokenizerError| error.at(path))
}

struct Metadata(FxHashMap<String, GgufValue>);

impl Metadata {
    fn take(&mut self, name: &str) -> Option<GgufValue> {
        self.0.remove(&format!("tokenizer.ggml.{name}"))
    }

    fn wrong(name: &str, expected: &str) -> TokenizerError {
        TokenizerError::invalid(format!("tokenizer.ggml.{name} is missing or not {expected}"))
    }

    fn string(&mut self, name: &str) -> Result<Option<String>, TokenizerError> {
        match self.take(name) {
            None => Ok(None),
            Some(GgufValue::String(value)) => Ok(Some(value)),
            Some(_) => Err(Metadata::wrong(name, "a string")),
        }
    }

    fn strings(&mut self, name: &str) -> Result<Vec<String>, TokenizerError> {
        match self.take(name) {
            Some(GgufValue::Strings(value)) => Ok(value),
            _ => Err(Metadata::wrong(name, "an array of strings")),
        }
    }

    fn flag(&mut self, name: &str, default: bool) -> Result<bool, TokenizerError> {
        match self.take(name) {
            None => Ok(default),
            Some(GgufValue::Bool(value)) => Ok(value),
            Some(_) => Err(Metadata::wrong(name, "a boolean")),
        }
    }

    /// The ids that end a text, a turn or a message.
    fn eos(&mut self) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = Vec::new();
        for name in ["eos_token_id", "eot_token_id", "eom_token_id"] {
            match self.take(name) {
                None => {}
                Some(GgufValue::Integer(id)) if u32::try_from(id).is_ok() => ids.push(id as u32),
                Some(_) => return Err(Metadata::wrong(name, "a token id")),
            }
        }
        Ok(ids)
    }
}

fn definition(metadata: &mut Metadata) -> Result<Definition, TokenizerError> {
    let model = metadata.string("model")?.ok_or_else(|| {
        TokenizerError::invalid("tokenizer.ggml.model is missing: the file has no vocabulary inside")
    })?;
    let tokens = metadata.strings("tokens")?;
    let types = match metadata.take("token_type") {
        None => vec![1; tokens.len()],
        Some(GgufValue::Integers(types)) if types.len() == tokens.len() => types,
        Some(_) => return Err(Metadata::wrong("token_type", "an array of integers, one for each token")),
    };
    let added_tokens = tokens
        .iter()
        .zip(&types)
        .enumerate()
        .filter(|(_, (_, token_type))| [UNKNOWN, CONTROL, USER_DEFINED, UNUSED].contains(token_type))
        .map(|(id, (token, &token_type))| AddedToken {
            id: id as u32,
            content: token.clone(),
            special: token_type != USER_DEFINED,
            single_word: false,
            lstrip: false,
            rstrip: false,
        })
        .collect();
    match model.as_str() {
        "gpt2" => byte_level(metadata, tokens, added_tokens),
        "llama" => sentence_piece(metadata, tokens, added_tokens),
        _ => Err(TokenizerError::invalid(format!(
            "tokenizer.ggml.model is {model:?}; supported are \"llama\" and \"gpt2\""
        ))),
    }
}

/// Ids by token. Of equal tokens the encoder writes the last; the others are read all the same.
fn vocab(tokens: Vec<String>) -> Vec<(String, u32)> {
    tokens.into_iter().zip(0..).collect()
}

fn byte_level(
    metadata: &mut Metadata,
    tokens: Vec<String>,
    added_tokens: Vec<AddedToken>,
) -> Result<Definition, TokenizerError> {
    let name = metadata.string("pre")?.unwrap_or_else(|| "default".to_owned());
    let stages = pre_tokenizers::named(&name).ok_or_else(|| {
        let known: Vec<&str> = pre_tokenizers::names().collect();
        TokenizerError::invalid(format!(
            "tokenizer.ggml.pre is {name:?}; supported are {}. The model's own tokenizer.json works as well",
            known.join(", ")
        ))
    })?;
    let merges = metadata.strings("merges")?;
    let merges = merges.iter().enumerate().map(|(rank, merge)| match merge.split_once(' ') {
        Some((left, right)) => Ok((left.to_owned(), right.to_owned())),
        None => Err(TokenizerError::invalid(format!(
            "tokenizer.ggml.merges[{rank}] is {merge:?}; expected is \"a b\""
        ))),
    });
    Ok(Definition {
        merges: merges.collect::<Result<_, _>>()?,
        vocab: vocab(tokens),
        ignore_merges: stages.ignore_merges,
        byte_fallback: false,
        fuse_unk: false,
        unk_token: None,
        style: TokenStyle::ByteLevel,
        added_tokens,
        normalizer: stages.normalizer,
        pre_tokenizer: stages.pre_tokenizer,
    })
}

fn sentence_piece(
    metadata: &mut Metadata,
    tokens: Vec<String>,
    added_tokens: Vec<AddedToken>,
) -> Result<Definition, TokenizerError> {
    let scores = match metadata.take("scores") {
        Some(GgufValue::Floats(scores)) if scores.len() == tokens.len() => scores,
        _ => return Err(Metadata::wrong("scores", "an array of numbers, one for each token")),
    };
    let mut normalizers = Vec::new();
    if metadata.flag("add_space_prefix", true)? {
        normalizers.push(json!({ "type": "Prepend", "prepend": "\u{2581}" }));
    }
    normalizers.push(json!({ "type": "Replace", "pattern": { "String": " " }, "content": "\u{2581}" }));
    let unk_token = match metadata.take("unknown_token_id") {
        Some(GgufValue::Integer(id)) => usize::try_from(id).ok().and_then(|id| tokens.get(id)).cloned(),
        _ => None,
    };
    Ok(Definition {
        merges: merges_by_score(&tokens, &scores)?,
        vocab: vocab(tokens),
        ignore_merges: false,
        byte_fallback: true,
        fuse_unk: true,
        unk_token,
        style: TokenStyle::SentencePiece { byte_fallback: true },
        added_tokens,
        normalizer: json!({ "type": "Sequence", "normalizers": normalizers }),
        pre_tokenizer: Value::Null,
    })
}

/// Merges in order of rank: by the score of their result, then by the lengths of their parts in characters, longer
/// first; what is still equal stays in the order of tokens, and within a token by the ids of the parts.
fn merges_by_score(tokens: &[String], scores: &[f32]) -> Result<Vec<(String, String)>, TokenizerError> {
    let work: usize =
        tokens.iter().map(|token| token.len().saturating_mul(token.len())).fold(0, usize::saturating_add);
    if work > MAX_MERGE_WORK {
        return Err(TokenizerError::limit(format!("making merges takes {work} steps"), MAX_MERGE_WORK));
    }
    let ids: FxHashMap<&str, u32> = tokens.iter().map(String::as_str).zip(0..).collect();
    let mut merges = Vec::new();
    for (token, &score) in tokens.iter().zip(scores) {
        let n_chars = token.chars().count();
        let first = merges.len();
        for (left_len, (cut, _)) in token.char_indices().enumerate().skip(1) {
            let (left, right) = token.split_at(cut);
            if let (Some(&left_id), Some(&right_id)) = (ids.get(left), ids.get(right)) {
                merges.push(Merge { score, left_len, right_len: n_chars - left_len, left_id, right_id });
            }
        }
        merges[first..].sort_by_key(|merge| (merge.left_id, merge.right_id));
    }
    merges.sort_by(|a, b| {
        let lengths = |merge: &Merge| Reverse((merge.left_len, merge.right_len));
        b.score.total_cmp(&a.score).then_with(|| lengths(a).cmp(&lengths(b)))
    });
    let text = |id: u32| tokens[id as usize].clone();
    Ok(merges.iter().map(|merge| (text(merge.left_id), text(merge.right_id))).collect())
}

struct Merge {
    score: f32,
    left_len: usize,
    right_len: usize,
    left_id: u32,
    right_id: u32,
}
