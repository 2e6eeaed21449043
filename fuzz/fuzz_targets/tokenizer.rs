//! Tokenizer files: a `tokenizer.json`, and a text to cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maskwright::{Tokenizer, TokenizerOptions, Vocabulary};
use maskwright_fuzz::tokenizers::{check_same, check_tokenizer, check_vocabulary};
use maskwright_fuzz::{parts, proper};

fuzz_target!(|data: &[u8]| {
    let Some((_, parts)) = parts(data, 0) else { return };
    let text = parts.get(1).copied().unwrap_or_default();
    let options = TokenizerOptions::default();
    let vocabulary = proper(Vocabulary::from_json(parts[0], &options));
    let tokenizer = proper(Tokenizer::from_json(parts[0], &options));
    if let Some(vocabulary) = &vocabulary {
        check_vocabulary(vocabulary, text);
    }
    if let Some(tokenizer) = tokenizer {
        let vocabulary = vocabulary.expect("a tokenizer has a vocabulary");
        check_same(&vocabulary, tokenizer.vocabulary());
        check_tokenizer(&tokenizer, text);
    }
});
