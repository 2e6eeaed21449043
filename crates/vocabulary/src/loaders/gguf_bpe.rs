//! How the tokenizer inside a GGUF file encodes.
//!
//! Byte-level BPE has its merges in the file. SentencePiece BPE has scores, which become merges as in Hugging
//! Face's converter (`SentencePieceExtractor`): every cut of a token into two tokens is a merge, ranked by
//! the token's score.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::bpe::Bpe;
use super::gguf::{Metadata, wrong};
use super::pre_tokenizers;
use super::tokens::Tokens;
use crate::TokenizerError;
use crate::gguf::GgufValue;
use crate::token_bytes::TokenStyle;

/// The most work for making merges of scores, in bytes hashed; Llama 2's 32,000 tokens take 4 million.
const MAX_MERGE_WORK: usize = 1 << 30;

/// Reads how `tokens` are merged.
pub(crate) fn bpe(mut metadata: Metadata, tokens: &Tokens) -> Result<Bpe, TokenizerError> {
    match tokens.style {
        TokenStyle::ByteLevel => byte_level(&mut metadata),
        _ => sentence_piece(&mut metadata, tokens),
    }
}

fn byte_level(metadata: &mut Metadata) -> Result<Bpe, TokenizerError> {
    let name = metadata.string("pre")?.unwrap_or("default");
    let stages = pre_tokenizers::named(name).ok_or_else(|| {
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
    Ok(Bpe {
        merges: merges.collect::<Result<_, _>>()?,
        ignore_merges: stages.ignore_merges,
        byte_fallback: false,
        fuse_unk: false,
        normalizer: stages.normalizer,
        pre_tokenizer: stages.pre_tokenizer,
    })
}

fn sentence_piece(metadata: &mut Metadata, tokens: &Tokens) -> Result<Bpe, TokenizerError> {
    let scores = match metadata.floats("scores")? {
        Some(scores) if scores.len() == tokens.vocab.len() => scores,
        _ => return Err(wrong("scores", "an array of numbers, one for each token")),
    };
    let adds_space = match metadata.value("add_space_prefix") {
        None => true,
        Some(&GgufValue::Bool(value)) => value,
        Some(_) => return Err(wrong("add_space_prefix", "a boolean")),
    };
    let mut normalizers = Vec::new();
    if adds_space {
        normalizers.push(json!({ "type": "Prepend", "prepend": "\u{2581}" }));
    }
    normalizers.push(json!({ "type": "Replace", "pattern": { "String": " " }, "content": "\u{2581}" }));
    Ok(Bpe {
        merges: merges_by_score(&tokens.vocab, &scores)?,
        ignore_merges: false,
        byte_fallback: true,
        fuse_unk: true,
        normalizer: json!({ "type": "Sequence", "normalizers": normalizers }),
        pre_tokenizer: Value::Null,
    })
}

/// Merges in order of rank: by the score of their result, then by the lengths of their parts in characters,
/// longer first; what is still equal stays in the order of tokens, and within a token by the ids of the
/// parts.
fn merges_by_score(
    tokens: &[(String, u32)],
    scores: &[f32],
) -> Result<Vec<(String, String)>, TokenizerError> {
    let work: usize = tokens
        .iter()
        .map(|(token, _)| token.len().saturating_mul(token.len()))
        .fold(0, usize::saturating_add);
    if work > MAX_MERGE_WORK {
        return Err(TokenizerError::limit(format!("making merges takes {work} steps"), MAX_MERGE_WORK));
    }
    let ids: FxHashMap<&str, u32> = tokens.iter().map(|(token, id)| (token.as_str(), *id)).collect();
    let mut merges = Vec::new();
    for ((token, _), &score) in tokens.iter().zip(scores) {
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
    let text = |id: u32| tokens[id as usize].0.clone();
    Ok(merges.iter().map(|merge| (text(merge.left_id), text(merge.right_id))).collect())
}

struct Merge {
    score: f32,
    left_len: usize,
    right_len: usize,
    left_id: u32,
    right_id: u32,
}
