//! Hugging Face's tokenizer.json, and the configuration files beside it.
//!
//! The ids of added tokens are those in the file. Library `tokenizers` numbers them by itself where the
//! model's vocabulary has ids beyond its size (deepseek-coder: `ü` is 32,009 in the file and 32,011 in the
//! library, which then gives `û` the id of the end of text); the file's ids are the rows of the model.

use std::path::Path;

use serde_json::Value;

use super::tokenizer_json::{TokenizerJson, VocabJson, find_type, is_space_replacement, type_of};
use super::tokens::Tokens;
use super::{Loaded, eos, read_limited};
use crate::encoder::added_tokens::AddedToken;
use crate::token_bytes::TokenStyle;
use crate::{TokenizerError, TokenizerOptions};

/// The largest file that is read; Gemma's has 34 MB.
const MAX_FILE_LEN: usize = 1 << 28;

/// Reads the tokens of a file; see [`Tokenizer::from_file`](crate::Tokenizer::from_file).
pub(crate) fn read_file(
    path: &Path,
    options: &TokenizerOptions,
) -> Result<Loaded<TokenizerJson>, TokenizerError> {
    let json = read_limited(path, MAX_FILE_LEN).map_err(|error| hinted(error, path))?;
    let (tokens, rest) = tokens(&json).map_err(|error| hinted(error, path))?;
    let eos = match &options.eos_token_ids {
        Some(ids) => ids.clone(),
        None => eos::beside(path, &tokens)?
            .map_or_else(|| eos::well_known(&tokens), Ok)
            .map_err(|error| error.at(path))?,
    };
    Ok(Loaded { tokens, eos, vocab_size: options.vocab_size, rest })
}

/// The error of a file that cannot be read, with a hint where another was probably meant.
fn hinted(error: TokenizerError, path: &Path) -> TokenizerError {
    const CONFIGURATION: [&str; 4] =
        ["tokenizer_config.json", "config.json", "generation_config.json", "special_tokens_map.json"];
    let error = error.at(path);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if path.is_dir() {
        let inside = path.join("tokenizer.json");
        error.with_hint(match inside.is_file() {
            true => format!("this is a folder: give {}, which is in it", inside.display()),
            false => "this is a folder: give the path of a tokenizer.json".to_owned(),
        })
    } else if CONFIGURATION.contains(&&*name) {
        error.with_hint(format!("{name} has settings only: give the tokenizer.json beside it"))
    } else if name.ends_with(".gguf") {
        error.with_hint("a GGUF file is read by from_gguf")
    } else {
        error
    }
}

/// Reads the tokens of a text; see [`Tokenizer::from_json`](crate::Tokenizer::from_json).
pub(crate) fn read_json(
    json: &[u8],
    options: &TokenizerOptions,
) -> Result<Loaded<TokenizerJson>, TokenizerError> {
    let (tokens, rest) = tokens(json)?;
    let eos = match &options.eos_token_ids {
        Some(ids) => ids.clone(),
        None => eos::well_known(&tokens)?,
    };
    Ok(Loaded { tokens, eos, vocab_size: options.vocab_size, rest })
}

/// The tokens, and the file without them.
fn tokens(json: &[u8]) -> Result<(Tokens, TokenizerJson), TokenizerError> {
    let mut file: TokenizerJson = serde_json::from_slice(json)?;
    let model = &mut file.model;
    if let Some(kind) = model.kind.as_deref().filter(|&kind| kind != "BPE") {
        return Err(TokenizerError::invalid(format!(
            "/model/type is {kind:?}; supported is \"BPE\", the model of generative language models"
        )));
    }
    for (key, value) in [
        ("continuing_subword_prefix", &model.continuing_subword_prefix),
        ("end_of_word_suffix", &model.end_of_word_suffix),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            return Err(TokenizerError::invalid(format!(
                "/model/{key} is {value:?}; supported is only \"\" or null"
            )));
        }
    }
    let vocab = match std::mem::take(&mut model.vocab) {
        VocabJson::Map(vocab) => vocab,
        VocabJson::Missing => return Err(TokenizerError::invalid("/model/vocab is missing")),
        VocabJson::List => {
            return Err(TokenizerError::invalid(
                "/model/vocab is a list; a BPE model has an object from tokens to ids",
            ));
        }
    };
    let unk_token = model.unk_token.take();
    let byte_fallback = model.byte_fallback.unwrap_or(false);
    let style = token_style(&file.normalizer, &file.pre_tokenizer, &file.decoder, byte_fallback)?;
    let added_tokens = std::mem::take(&mut file.added_tokens).into_iter().map(|token| AddedToken {
        id: token.id,
        content: token.content,
        special: token.special,
        single_word: token.single_word,
        lstrip: token.lstrip,
        rstrip: token.rstrip,
    });
    Ok((Tokens { vocab, unk_token, style, added_tokens: added_tokens.collect() }, file))
}

/// What the rest of a file says about encoding.
#[cfg(feature = "tokenizers")]
pub(crate) fn bpe(file: TokenizerJson, _: &Tokens) -> Result<super::bpe::Bpe, TokenizerError> {
    let TokenizerJson { normalizer, pre_tokenizer, model, .. } = file;
    let merges = model.merges.ok_or_else(|| TokenizerError::invalid("/model/merges is missing"))?;
    Ok(super::bpe::Bpe {
        merges: merges
            .into_iter()
            .map(|super::tokenizer_json::MergeJson(left, right)| (left, right))
            .collect(),
        ignore_merges: model.ignore_merges.unwrap_or(false),
        byte_fallback: model.byte_fallback.unwrap_or(false),
        fuse_unk: model.fuse_unk.unwrap_or(false),
        normalizer,
        pre_tokenizer,
    })
}

/// How the tokens stand for bytes: what the decoder undoes, or else what the stages before the model do.
fn token_style(
    normalizer: &Value,
    pre_tokenizer: &Value,
    decoder: &Value,
    byte_fallback: bool,
) -> Result<TokenStyle, TokenizerError> {
    let stages = [normalizer, pre_tokenizer, decoder];
    if stages.iter().any(|stage| find_type(stage, "ByteLevel").is_some()) {
        return Ok(TokenStyle::ByteLevel);
    }
    let mut decoders = Vec::new();
    flatten_decoders(decoder, &mut decoders);
    for stage in &decoders {
        let is_known = match type_of(stage) {
            Some("ByteFallback" | "Fuse" | "Strip" | "Metaspace") => true,
            Some("Replace") => is_space_decoder(stage),
            _ => false,
        };
        if !is_known {
            return Err(TokenizerError::invalid(format!(
                "/decoder has the stage {stage}; supported are byte-level and SentencePiece tokens: ByteLevel, \
                 Metaspace, Replace of \"▁\" by \" \", ByteFallback, Fuse, Strip"
            )));
        }
    }
    let byte_fallback = byte_fallback || find_type(decoder, "ByteFallback").is_some();
    let marks_spaces =
        decoders.iter().any(|stage| type_of(stage) == Some("Metaspace") || is_space_decoder(stage))
            || find_type(pre_tokenizer, "Metaspace").is_some()
            || has_space_replacement(normalizer);
    if marks_spaces || byte_fallback {
        return Ok(TokenStyle::SentencePiece { byte_fallback });
    }
    if find_type(decoder, "Fuse").is_some() {
        return Ok(TokenStyle::Literal);
    }
    Err(TokenizerError::invalid(
        "the stages of the file do not tell how tokens stand for bytes; expected is ByteLevel, Metaspace, or Replace \
         of \"▁\" in /decoder, /pre_tokenizer or /normalizer",
    ))
}

fn flatten_decoders<'v>(stage: &'v Value, parts: &mut Vec<&'v Value>) {
    if type_of(stage) == Some("Sequence") {
        for inner in stage.get("decoders").and_then(Value::as_array).into_iter().flatten() {
            flatten_decoders(inner, parts);
        }
    } else if !stage.is_null() {
        parts.push(stage);
    }
}

fn is_space_decoder(stage: &Value) -> bool {
    type_of(stage) == Some("Replace")
        && stage.pointer("/pattern/String").and_then(Value::as_str) == Some("\u{2581}")
        && stage.get("content").and_then(Value::as_str) == Some(" ")
}

fn has_space_replacement(normalizer: &Value) -> bool {
    is_space_replacement(normalizer)
        || normalizer
            .get("normalizers")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .any(has_space_replacement)
}
