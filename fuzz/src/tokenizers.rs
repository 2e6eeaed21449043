//! What must hold of vocabularies and tokenizers, whatever file they come from.

use maskwright::{GrammarSource, TokenId, Tokenizer, Vocabulary};

use crate::{check_error, check_text, limits};

/// Tokens have the bytes that they are found by, and a text has a spelling or none.
pub fn check_vocabulary(vocabulary: &Vocabulary, text: &[u8]) {
    let n_vocab = vocabulary.n_vocab();
    for id in (0..n_vocab.min(300) as u32).map(TokenId) {
        let bytes = vocabulary.token_bytes(id);
        assert!(bytes.is_none_or(|bytes| !bytes.is_empty() && bytes.len() <= vocabulary.max_token_bytes()));
        assert!(bytes.is_none() || !vocabulary.is_eos(id), "a token that ends texts is no text");
        if let Some(name) = vocabulary.name(id) {
            assert!(vocabulary.named(name).contains(&id), "{id:?} is found by its name");
        }
    }
    assert_eq!(vocabulary.token_bytes(TokenId(u32::try_from(n_vocab).expect("ids are u32"))), None);
    assert!(vocabulary.eos_token_ids().iter().all(|id| id.index() < n_vocab));
    let spelled = vocabulary.spelled_by_fewest(text);
    let fewest = vocabulary.fewest_tokens(text);
    assert_eq!(spelled.as_ref().map(|tokens| tokens.len() as u32), fewest.first().copied().flatten());
    if let Some(tokens) = spelled {
        let bytes: Vec<u8> =
            tokens.iter().flat_map(|&id| vocabulary.token_bytes(id).unwrap_or(b"?")).copied().collect();
        assert_eq!(bytes, text);
    }
}

/// Both have the same tokens.
pub fn check_same(one: &Vocabulary, other: &Vocabulary) {
    assert_eq!(one.n_vocab(), other.n_vocab());
    assert_eq!(one.eos_token_ids(), other.eos_token_ids());
    for id in (0..one.n_vocab() as u32).map(TokenId) {
        assert_eq!((one.token_bytes(id), one.name(id)), (other.token_bytes(id), other.name(id)), "{id:?}");
    }
}

/// What is encoded is decoded to the same, there are tokens for a text if any spell it, and a tokenizer that
/// was saved is the same.
pub fn check_tokenizer(tokenizer: &Tokenizer, text: &[u8]) {
    let tokens = check_encoding(tokenizer, text);
    let saved = Tokenizer::deserialize(&tokenizer.serialize()).expect("it was just saved");
    check_same(saved.vocabulary(), tokenizer.vocabulary());
    assert_eq!(saved.chat_template(), tokenizer.chat_template());
    assert_eq!(check_encoding(&saved, text), tokens, "a saved tokenizer cuts as before");
    if let Ok(text) = std::str::from_utf8(text) {
        // As the model reads it; the bytes may be others.
        let _ = tokenizer.encode_with_special(text).inspect_err(check_error);
        let compiler = maskwright::Compiler::with_limits(tokenizer, limits());
        if tokens.is_some() && !text.is_empty() && tokenizer.n_vocab() <= 2_000 {
            match compiler.compile(&GrammarSource::choice([text]), &Default::default()) {
                Ok(grammar) => drop(check_text(&grammar, text.as_bytes())),
                Err(error) => check_error(&error),
            }
        }
    }
}

fn check_encoding(tokenizer: &Tokenizer, text: &[u8]) -> Option<Vec<TokenId>> {
    let tokens = tokenizer.encode_bytes(text).inspect_err(check_error).ok();
    match &tokens {
        Some(tokens) => assert_eq!(tokenizer.decode(tokens), text, "{tokens:?}"),
        None => assert_eq!(tokenizer.vocabulary().spelled_by_fewest(text), None),
    }
    tokens
}
