//! OpenAI's encodings, from crate `tiktoken-rs`, which embeds them.

use tiktoken_rs::{
    CoreBPE, cl100k_base_singleton, o200k_base_singleton, o200k_harmony_singleton, p50k_base_singleton,
    r50k_base_singleton,
};

use crate::encoder::added_tokens::AddedToken;
use crate::encoder::tiktoken::Encoding;
use crate::{TokenId, Tokenizer, TokenizerError, TokenizerOptions, Vocabulary};

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

/// See [`Tokenizer::from_tiktoken`].
pub(crate) fn from_encoding(name: &str, options: &TokenizerOptions) -> Result<Tokenizer, TokenizerError> {
    let Some(&(name, load, eos_names)) = ENCODINGS.iter().find(|(known, ..)| *known == name) else {
        let known: Vec<&str> = ENCODINGS.iter().map(|(known, ..)| *known).collect();
        return Err(TokenizerError::invalid(format!(
            "no tiktoken encoding is named {name:?}; there are {}",
            known.join(", ")
        )));
    };
    let encoding = load();
    let mut added_tokens: Vec<AddedToken> = encoding
        .special_tokens()
        .into_iter()
        .filter_map(|content| {
            let id = special_token_id(encoding, content)?;
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
    let names = added_tokens.iter().map(|token| (TokenId(token.id), token.content.clone()));
    let tokens = token_bytes(encoding, &added_tokens);
    let vocabulary = Vocabulary::of_tokens(tokens, names, &eos, options.vocab_size)?;
    Ok(Tokenizer::new(vocabulary, Box::new(Encoding { name, model: encoding }), added_tokens))
}

/// The id of a special token; the crate has no direct way to ask.
fn special_token_id(encoding: &CoreBPE, content: &str) -> Option<u32> {
    match encoding.encode(content, &[content].into()).ok()?.0[..] {
        [id] => Some(id),
        _ => None,
    }
}

/// The bytes of each id. Ranks are dense up to a few gaps just below the special tokens, so the search for the last
/// one ends after the largest special id and 1,000 ids without a token.
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
