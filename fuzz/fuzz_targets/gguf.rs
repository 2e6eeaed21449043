//! GGUF files: what is read of the metadata, the tensors and the tokenizer, and a text to cut.
//!
//! The first byte is the length of the text, which comes next. The loaders take paths, so each input is
//! written to a file of this process.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use maskwright::{Tokenizer, TokenizerOptions, Vocabulary};
use maskwright_fuzz::proper;
use maskwright_fuzz::tokenizers::{check_same, check_tokenizer, check_vocabulary};
use maskwright_vocabulary::gguf::GgufFile;

/// In memory where the system has such a folder.
static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let shared = PathBuf::from("/dev/shm");
    let folder = if shared.is_dir() { shared } else { std::env::temp_dir() };
    folder.join(format!("maskwright-fuzz-{}.gguf", std::process::id()))
});

/// Keys whose arrays are read, of any type.
const KEYS: [&str; 4] =
    ["tokenizer.ggml.tokens", "tokenizer.ggml.merges", "tokenizer.ggml.token_type", "tokenizer.ggml.scores"];

fuzz_target!(|data: &[u8]| {
    let Some((&n, rest)) = data.split_first() else { return };
    let Some((text, file)) = rest.split_at_checked(usize::from(n)) else { return };
    std::fs::write(&*PATH, file).expect("a temporary file can be written");
    let is_read = GgufFile::open(&PATH).map(read).is_ok();
    let options = TokenizerOptions::default();
    let vocabulary = proper(Vocabulary::from_gguf(&PATH, &options));
    let tokenizer = proper(Tokenizer::from_gguf(&PATH, &options));
    assert!(is_read || vocabulary.is_none() && tokenizer.is_none(), "what cannot be opened has no tokens");
    if let Some(vocabulary) = &vocabulary {
        check_vocabulary(vocabulary, text);
    }
    if let Some(tokenizer) = tokenizer {
        let vocabulary = vocabulary.expect("a tokenizer has a vocabulary");
        check_same(&vocabulary, tokenizer.vocabulary());
        check_tokenizer(&tokenizer, text);
    }
});

/// Reads all there is; nothing of it is larger than the file allows.
fn read(mut file: GgufFile) {
    let n_bytes = file.n_bytes();
    assert!(file.metadata().1.end <= n_bytes);
    if let Ok(tensors) = file.tensors() {
        assert!(tensors.alignment.is_power_of_two());
        for tensor in tensors.entries {
            assert!((1..=4).contains(&tensor.shape.len()));
            // Whatever a tensor says of itself.
            let end = tensor.shape.iter().fold(tensor.offset, |end, &n| end.saturating_add(n));
            let bytes = file.bytes(tensor.offset..end);
            assert!(bytes.is_err() || end <= n_bytes.max(tensor.offset));
        }
    }
    for key in KEYS {
        let texts = file.texts(key).ok().flatten();
        if let Some(texts) = &texts {
            let last = texts.len() as u64;
            assert_eq!(file.text_at(key, last).ok().flatten(), None);
            if let Some(text) = texts.last() {
                assert_eq!(file.text_at(key, last - 1).ok().flatten().as_ref(), Some(text));
            }
        }
        let (integers, floats) = (file.integers(key).ok().flatten(), file.floats(key).ok().flatten());
        let kinds = [texts.is_some(), integers.is_some(), floats.is_some()];
        let is_empty = texts.is_none_or(|texts| texts.is_empty())
            && integers.is_none_or(|numbers| numbers.is_empty())
            && floats.is_none_or(|numbers| numbers.is_empty());
        assert!(is_empty || kinds.iter().filter(|&&is_of| is_of).count() == 1, "{key} is of one kind");
    }
}
