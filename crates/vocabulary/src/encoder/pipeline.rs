//! The stages of a tokenizer.json: normalizer, pre-tokenizer, model.
//!
//! There are two variants of the first two stages. The *prompt* stages are the file's own. The *exact* stages
//! are what is left of them without everything that changes the text: Unicode normal forms, lower case, the
//! space that SentencePiece models put in front. The text of a constrained generation must keep its bytes,
//! and it continues a prompt, so it begins in the middle of a text, where there is no such space.
//!
//! Merges that lead to a token without bytes are dropped, so that text never becomes a special token.
//!
//! Rejected: `tokenizers::Tokenizer` as it is. It numbers added tokens by itself, from the size of the
//! model's vocabulary on, which contradicts the ids in the file where those have gaps; and it loads merges
//! without checking them, so that a broken file ends in a panic. Rejected: encoding `x` + text and dropping
//! the tokens of `x`, since merges may cross the border.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{
    Model, NormalizedString, Normalizer, NormalizerWrapper, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer, PreTokenizerWrapper,
};

use super::Encoder;
use super::saved::{SavedBpe, SavedEncoder};
use crate::loaders::bpe::Bpe;
use crate::loaders::tokenizer_json::{find_type, is_space_replacement, type_of};
use crate::loaders::tokens::Tokens;
use crate::token_bytes::{SPACE_MARK, TokenStyle};
use crate::{TokenId, TokenizerError, Vocabulary};

/// The stages of a tokenizer.json.
pub(crate) struct Pipeline {
    exact: Stages,
    prompt: Stages,
    /// Whether the prompt's dummy space comes at the start of the prompt only, not after each added token.
    prefix_first_only: bool,
    reserved_char: Option<char>,
    model: BPE,
    /// What the model does not give back, to be saved.
    origin: Origin,
}

/// What a pipeline is made of besides its model.
struct Origin {
    /// How tokens stand for bytes.
    style: TokenStyle,
    /// The model's merges by the ids of their parts, the first in rank first.
    merges: Vec<(u32, u32)>,
    /// The `normalizer` stage as in tokenizer.json, or null.
    normalizer: Value,
    /// The `pre_tokenizer` stage as in tokenizer.json, or null.
    pre_tokenizer: Value,
}

#[derive(Debug)]
struct Stages {
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
}

impl Pipeline {
    /// The pipeline of a tokenizer file, for the vocabulary made of its tokens. Takes time linear in the
    /// file.
    ///
    /// # Errors
    /// If the parts contradict one another, or a stage is not one that the format knows.
    pub(crate) fn new(tokens: Tokens, bpe: Bpe, vocabulary: &Vocabulary) -> Result<Pipeline, TokenizerError> {
        let ids: FxHashMap<&str, u32> =
            tokens.vocab.iter().map(|(token, id)| (token.as_str(), *id)).collect();
        let merges = checked_merges(&ids, bpe.merges, vocabulary)?;
        let by_id = merges.iter().map(|(left, right)| (ids[left.as_str()], ids[right.as_str()])).collect();
        let mut model = BPE::builder()
            .ignore_merges(bpe.ignore_merges)
            .byte_fallback(bpe.byte_fallback)
            .fuse_unk(bpe.fuse_unk);
        if let Some(unk_token) = tokens.unk_token.filter(|token| ids.contains_key(token.as_str())) {
            model = model.unk_token(unk_token);
        }
        let model_vocab: Vocab = tokens.vocab.into_iter().collect();
        let model = model
            .vocab_and_merges(model_vocab, merges)
            .build()
            .map_err(|error| TokenizerError::invalid(format!("/model: {error}")))?;
        let origin = Origin {
            style: tokens.style,
            merges: by_id,
            normalizer: bpe.normalizer,
            pre_tokenizer: bpe.pre_tokenizer,
        };
        Pipeline::of_model(model, origin)
    }

    /// The pipeline of a model and the file's stages.
    fn of_model(model: BPE, origin: Origin) -> Result<Pipeline, TokenizerError> {
        let Origin { normalizer, pre_tokenizer, .. } = &origin;
        let mut prompt_normalizers = Vec::new();
        flatten_normalizers(normalizer, &mut prompt_normalizers);
        let exact_normalizers: Vec<&Value> =
            prompt_normalizers.iter().copied().filter(|&stage| keeps_bytes(stage)).collect();
        let marks_spaces = prompt_normalizers.iter().any(|&stage| is_space_replacement(stage))
            || find_type(pre_tokenizer, "Metaspace").is_some();
        let prefix_first_only = find_type(pre_tokenizer, "Metaspace")
            .is_some_and(|stage| stage.get("prepend_scheme").and_then(Value::as_str) == Some("first"));
        let mut exact_pre_tokenizer = pre_tokenizer.clone();
        drop_prefix_space(&mut exact_pre_tokenizer);
        Ok(Pipeline {
            exact: Stages::new(&exact_normalizers, &exact_pre_tokenizer)?,
            prompt: Stages::new(&prompt_normalizers, pre_tokenizer)?,
            prefix_first_only,
            reserved_char: marks_spaces.then_some(SPACE_MARK),
            model,
            origin,
        })
    }
}

impl Encoder for Pipeline {
    fn encode_exact(&self, text: &str) -> Option<Vec<TokenId>> {
        encode(&self.model, self.exact.normalizer.as_ref(), self.exact.pre_tokenizer.as_ref(), text).ok()
    }

    fn encode_prompt(&self, text: &str, start: usize) -> Result<Option<Vec<TokenId>>, TokenizerError> {
        let stages = if self.prefix_first_only && start > 0 { &self.exact } else { &self.prompt };
        encode(&self.model, self.prompt.normalizer.as_ref(), stages.pre_tokenizer.as_ref(), text)
            .map(Some)
            .map_err(|error| TokenizerError::invalid(format!("the prompt cannot be encoded: {error}")))
    }

    fn reserved_char(&self) -> Option<char> {
        self.reserved_char
    }

    fn save(&self) -> SavedEncoder {
        let mut vocab: Vec<(String, u32)> = self.model.get_vocab().into_iter().collect();
        vocab.sort_unstable_by_key(|&(_, id)| id);
        SavedEncoder::Bpe(Box::new(SavedBpe {
            vocab,
            unk_token: self.model.unk_token.clone(),
            style: self.origin.style,
            merges: self.origin.merges.clone(),
            ignore_merges: self.model.ignore_merges,
            byte_fallback: self.model.byte_fallback,
            fuse_unk: self.model.fuse_unk,
            normalizer: self.origin.normalizer.to_string(),
            pre_tokenizer: self.origin.pre_tokenizer.to_string(),
        }))
    }
}

impl Stages {
    fn new(normalizers: &[&Value], pre_tokenizer: &Value) -> Result<Stages, TokenizerError> {
        let normalizer = match normalizers {
            [] => None,
            stages => Some(json!({ "type": "Sequence", "normalizers": stages })),
        };
        let invalid = |stage: &str, error: serde_json::Error| {
            TokenizerError::invalid(format!("/{stage} is not supported by the tokenizers library: {error}"))
        };
        Ok(Stages {
            normalizer: normalizer
                .map(serde_json::from_value)
                .transpose()
                .map_err(|error| invalid("normalizer", error))?,
            pre_tokenizer: match pre_tokenizer {
                Value::Null => None,
                stage => Some(
                    serde_json::from_value(stage.clone()).map_err(|error| invalid("pre_tokenizer", error))?,
                ),
            },
        })
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
        if vocabulary.token_bytes(TokenId(ids[merged.as_str()])).is_none() {
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

fn encode(
    model: &BPE,
    normalizer: Option<&NormalizerWrapper>,
    pre_tokenizer: Option<&PreTokenizerWrapper>,
    text: &str,
) -> tokenizers::Result<Vec<TokenId>> {
    let mut normalized = NormalizedString::from(text);
    if let Some(normalizer) = normalizer {
        normalizer.normalize(&mut normalized)?;
    }
    let mut words = PreTokenizedString::from(normalized);
    if let Some(pre_tokenizer) = pre_tokenizer {
        pre_tokenizer.pre_tokenize(&mut words)?;
    }
    let mut ids = Vec::new();
    for (word, _, _) in words.get_splits(OffsetReferential::Normalized, OffsetType::Byte) {
        ids.extend(model.tokenize(word)?.iter().map(|token| TokenId(token.id)));
    }
    Ok(ids)
}

/// A stage's parts in order. Left out is `Precompiled`, SentencePiece's compiled character map: the library
/// reads it without checking its indices, and of the models at hand only Unigram ones have it.
fn flatten_normalizers<'v>(stage: &'v Value, parts: &mut Vec<&'v Value>) {
    match type_of(stage) {
        Some("Sequence") => {
            for inner in stage.get("normalizers").and_then(Value::as_array).into_iter().flatten() {
                flatten_normalizers(inner, parts);
            }
        }
        Some("Precompiled") => {}
        _ if stage.is_null() => {}
        _ => parts.push(stage),
    }
}

/// Whether a normalizer only writes the same bytes in another way.
fn keeps_bytes(stage: &Value) -> bool {
    type_of(stage) == Some("ByteLevel") || is_space_replacement(stage)
}

/// Switches off the dummy space of each pre-tokenizer.
fn drop_prefix_space(stage: &mut Value) {
    match type_of(stage) {
        Some("Metaspace") => {
            stage["prepend_scheme"] = json!("never");
            stage["add_prefix_space"] = json!(false);
        }
        Some("ByteLevel") => stage["add_prefix_space"] = json!(false),
        Some("Sequence") => {
            let parts = stage.get_mut("pretokenizers").and_then(Value::as_array_mut);
            parts.into_iter().flatten().for_each(drop_prefix_space);
        }
        _ => {}
    }
}
