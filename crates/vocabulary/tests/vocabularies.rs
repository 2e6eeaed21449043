//! Vocabularies are read from tokenizer files without any feature of this crate, and are the ones that
//! tokenizers have.

mod support;

use maskwright_vocabulary::{TokenId, TokenizerOptions, Vocabulary};
use support::{shared, small_byte_level};

#[test]
fn a_small_tokenizer_json_and_its_eos() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    let json = small_byte_level().to_string();
    std::fs::write(&path, &json).unwrap();
    let mut options = TokenizerOptions::default();
    let from_json = Vocabulary::from_json(json.as_bytes(), &options).unwrap();
    assert_eq!((from_json.n_vocab(), from_json.eos_token_ids()), (265, &[TokenId(262)][..]));
    assert_eq!(from_json.token_bytes(TokenId(260)), Some(&b" hello"[..]));
    assert_eq!(from_json.token_bytes(TokenId(262)), None);
    std::fs::write(folder.path().join("generation_config.json"), r#"{"eos_token_id": 263}"#).unwrap();
    assert_eq!(Vocabulary::from_file(&path, &options).unwrap().eos_token_ids(), [TokenId(263)]);
    options.vocab_size = Some(3);
    let error = Vocabulary::from_file(&path, &options).unwrap_err();
    assert!(error.to_string().contains("tokenizer.json: the vocabulary size 3"), "{error}");
}

/// Encoding needs merges and the name of a pre-tokenizer; the tokens do not.
#[test]
fn what_only_the_encoder_needs_is_not_asked_for() {
    let mut json = small_byte_level();
    json["model"].as_object_mut().unwrap().remove("merges");
    json["pre_tokenizer"] = serde_json::json!({ "type": "ByteLevel", "unheard": "of" });
    let vocabulary =
        Vocabulary::from_json(json.to_string().as_bytes(), &TokenizerOptions::default()).unwrap();
    assert_eq!(vocabulary.n_vocab(), 265);
}

#[test]
fn the_vocabularies_of_tokenizer_json_and_gguf_are_equal() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("models/stories260K");
    let options = TokenizerOptions::default();
    let gguf = Vocabulary::from_gguf(&folder.join("stories260K-f32.gguf"), &options).unwrap();
    let json = Vocabulary::from_file(&folder.join("tokenizer.json"), &options).unwrap();
    assert_same(&gguf, &json);
}

#[test]
#[cfg(feature = "tokenizers")]
fn vocabularies_are_those_of_tokenizers() {
    let Some(shared) = shared() else { return };
    for name in support::TOKENIZERS {
        let path = shared.join("tokenizers").join(name).join("tokenizer.json");
        let options = TokenizerOptions::default();
        let tokenizer = maskwright_vocabulary::Tokenizer::from_file(&path, &options).unwrap();
        assert_same(&Vocabulary::from_file(&path, &options).unwrap(), tokenizer.vocabulary());
    }
}

fn assert_same(a: &Vocabulary, b: &Vocabulary) {
    assert_eq!((a.n_vocab(), a.eos_token_ids()), (b.n_vocab(), b.eos_token_ids()));
    for id in (0..a.n_vocab() as u32).map(TokenId) {
        assert_eq!(a.token_bytes(id), b.token_bytes(id), "{id:?}");
    }
}

#[test]
fn the_fewest_tokens_are_counted_from_either_end() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut n_spelled = 0;
    for _ in 0..300 {
        let n_tokens = 1 + random(5);
        let tokens = (0..n_tokens).map(|_| (0..1 + random(4)).map(|_| b'a' + random(2) as u8).collect());
        let tokens: Vec<Option<Vec<u8>>> = tokens.map(Some).collect();
        let vocabulary = Vocabulary::from_tokens(tokens, &[], None).unwrap();
        for _ in 0..20 {
            let text: Vec<u8> = (0..random(12)).map(|_| b'a' + random(2) as u8).collect();
            let fewest = vocabulary.fewest_tokens(&text)[0].map(|fewest| fewest as usize);
            assert_eq!(vocabulary.n_fewest_tokens(&text), Ok(fewest), "{text:?}");
            n_spelled += usize::from(fewest.is_some());
        }
    }
    assert!(n_spelled > 1000, "{n_spelled}");
}
