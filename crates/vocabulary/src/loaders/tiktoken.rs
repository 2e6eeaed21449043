//! OpenAI's encodings, from crate `tiktoken-rs`, which embeds them.

use tiktoken_rs::{
    CoreBPE, cl100k_base_singleton, o200k_base_singleton, o200k_harmony_singleton, p50k_base_singleton,
    r50k_base_singleton,
};

use crate::encoder::added_tokens::AddedToken;
use crate::{TokenId, TokenizerError, TokenizerOptions};

/// A name, its encoding, and the special tokens that end a text.
type Entry = (&'static str, fn() -> &'static CoreBPE, &'static [&'static str]);

/// The encodings there are. `gpt2` is `r50k_base`. Harmony's ends of text are those of gpt-oss's
/// generation_config.json.
const ENCODINGS: [Entry; 6] = [
    ("gpt2", r50k_base_singleton, &["<|endoftext|>"]),
    ("r50k_base", r50k_base_singleton, &["<|endoftext|>"]),
    ("p50k_base", p50k_base_singleton, &["<|endoftext|>"]),
    ("cl100k_base", cl100k_base_singleton, &["<|endoftext|>"]),
    ("o200k_base", o200k_base_singleton, &["<|endoftext|>"]),
    ("o200k_harmony", o200k_harmony_singleton, &["<|return|>", "<|call|>", "<|endoftext|>"]),
];

/// An encoding whose tokens have been read.
pub(crate) struct LoadedEncoding {
    pub(crate) name: &'static str,
    pub(crate) model: &'static CoreBPE,
    /// The bytes of each id, `None` where it has none.
    pub(crate) tokens: Vec<Option<Vec<u8>>>,
    /// The special tokens, in ascending order of their ids.
    pub(crate) added_tokens: Vec<AddedToken>,
    /// The ids that end a text.
    pub(crate) eos: Vec<TokenId>,
}

/// Reads the tokens of an encoding; see [`Tokenizer::from_tiktoken`](crate::Tokenizer::from_tiktoken).
pub(crate) fn read(name: &str, options: &TokenizerOptions) -> Result<LoadedEncoding, TokenizerError> {
    let Some(&(name, load, eos_names)) = ENCODINGS.iter().find(|(known, ..)| *known == name) else {
        let known: Vec<&str> = ENCODINGS.iter().map(|(known, ..)| *known).collect();
        return Err(TokenizerError::invalid(format!(
            "no tiktoken encoding is named {name:?}; there are {}",
            known.join(", ")
        )));
    };
    let model = load();
    let mut added_tokens: Vec<AddedToken> = model
        .special_tokens()
        .into_iter()
        .filter_map(|content| {
            let id = special_token_id(model, content)?;
            let content = content.to_owned();
            Some(AddedToken { id, content, special: true, single_word: false, lstrip: false, rstrip: false })
        })
        .collect();
    added_tokens.sort_by_key(|token| token.id);
    let eos = match &options.eos_token_ids {
        Some(ids) => ids.clone(),
        None => {
            let ends = added_tokens.iter().filter(|token| eos_names.contains(&token.content.as_str()));
            ends.map(|token| TokenId(token.id)).collect()
        }
    };
    let tokens = token_bytes(model, &added_tokens);
    Ok(LoadedEncoding { name, model, tokens, added_tokens, eos })
}

/// The id of a special token; the crate has no direct way to ask.
fn special_token_id(encoding: &CoreBPE, content: &str) -> Option<u32> {
    match encoding.encode(content, &[content].into()).ok()?.0[..] {
        [id] => Some(id),
        _ => None,
    }
}

/// The bytes of each id. Ranks are dense up to a few gaps just below the special tokens, so the search for
/// the last one ends after the largest special id and 1,000 ids without a token.
fn token_bytes(encoding: &CoreBPE, special: &[AddedToken]) -> Vec<Option<Vec<u8>>> {
    let n_special = special.last().map_or(0, |token| token.id + 1);
    let mut tokens = Vec::new();
    let mut n_tokens = n_special as usize;
    for id in 0.. {
        let bytes = encoding.decode_bytes(&[id]).ok();
        if bytes.is_some() {
            n_tokens = n_tokens.max(id as usize + 1);
        } else if id as usize > n_tokens + 1000 {
            break;
        }
        tokens.push(bytes);
    }
    tokens.truncate(n_tokens);
    for token in special {
        tokens[token.id as usize] = None;
    }
    tokens
}
