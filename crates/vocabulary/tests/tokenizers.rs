//! Every tokenizer of the shared folder: bytes of tokens, round trips, and agreement with crate `tokenizers`.
//!
//! `MASKWRIGHT_FULL=1` runs 10,000 real lines through each instead of 1,000.

#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod support;

use std::path::Path;

use maskwright_vocabulary::{TokenId, Tokenizer, TokenizerOptions};
use support::{AWKWARD_TEXTS, TOKENIZERS, n_lines, real_lines, shared, small_byte_level};

fn load(shared: &Path, name: &str) -> Tokenizer {
    let path = shared.join("tokenizers").join(name).join("tokenizer.json");
    Tokenizer::from_file(&path, &TokenizerOptions::default()).unwrap()
}

/// The tokens' bytes, put together; panics on a token without bytes.
fn spelled(tokenizer: &Tokenizer, ids: &[TokenId]) -> Vec<u8> {
    ids.iter()
        .flat_map(|&id| tokenizer.token_bytes(id).expect("a token of text has bytes"))
        .copied()
        .collect()
}

fn assert_round_trip(tokenizer: &Tokenizer, name: &str, text: &str) {
    let ids = tokenizer.encode(text).unwrap_or_else(|error| panic!("{name}: {text:?}: {error}"));
    assert_eq!(spelled(tokenizer, &ids), text.as_bytes(), "{name}: {text:?} gives {ids:?}");
}

#[test]
fn encode_spells_exactly_the_text() {
    let Some(shared) = shared() else { return };
    let lines = real_lines(&shared, n_lines());
    assert_eq!(lines.len(), n_lines());
    assert!(lines.iter().filter(|line| !line.is_ascii()).count() > 20);
    for name in TOKENIZERS {
        let tokenizer = load(&shared, name);
        for text in lines.iter().map(String::as_str).chain(AWKWARD_TEXTS) {
            assert_round_trip(&tokenizer, name, text);
        }
    }
    for name in ["gpt2", "p50k_base", "cl100k_base", "o200k_base", "o200k_harmony"] {
        let tokenizer = Tokenizer::from_tiktoken(name, &TokenizerOptions::default()).unwrap();
        for text in lines.iter().map(String::as_str).chain(AWKWARD_TEXTS) {
            assert_round_trip(&tokenizer, name, text);
        }
    }
}

/// Where a tokenizer changes nothing, ours gives its ids; prompts get its ids always.
#[test]
fn agrees_with_the_reference_library() {
    let Some(shared) = shared() else { return };
    let lines = real_lines(&shared, n_lines());
    for name in TOKENIZERS {
        let ours = load(&shared, name);
        let mut reference = reference(&shared, name);
        for text in lines.iter().map(String::as_str).chain(AWKWARD_TEXTS) {
            // It numbers the added tokens of this file by itself, from 32,002 on.
            if name == "deepseek_coder"
                && ours.encode_with_special(text).unwrap().iter().any(|id| id.0 >= 32_000)
            {
                continue;
            }
            reference.set_encode_special_tokens(false);
            let prompt = reference.encode_fast(text, false).unwrap();
            assert_eq!(ours.encode_with_special(text).unwrap(), tokens(&prompt), "{name}: prompt {text:?}");
            // Llama 2 puts a space in front, so ours gets one; ours leaves `▁`, other normal forms and
            // `<0x41>` as they are.
            let (text, ours_text) =
                if name == "llama2" { (text, format!(" {text}")) } else { (text, text.to_owned()) };
            reference.set_encode_special_tokens(true);
            let expected = reference.encode_fast(text, false).unwrap();
            let ids = tokens(&expected);
            let spells = ids.iter().all(|&id| ours.token_bytes(id).is_some())
                && spelled(&ours, &ids) == ours_text.as_bytes();
            if !text.is_empty() && spells {
                assert_eq!(ours.encode(&ours_text).unwrap(), ids, "{name}: {text:?}");
            } else {
                assert!(!lines.contains(&text.to_owned()) || !text.is_ascii(), "{name} changes {text:?}");
            }
        }
    }
}

fn tokens(encoding: &tokenizers::Encoding) -> Vec<TokenId> {
    encoding.get_ids().iter().map(|&id| TokenId(id)).collect()
}

fn reference(shared: &Path, name: &str) -> tokenizers::Tokenizer {
    let path = shared.join("tokenizers").join(name).join("tokenizer.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    json["decoder"] = serde_json::Value::Null;
    json["post_processor"] = serde_json::Value::Null;
    tokenizers::Tokenizer::from_bytes(json.to_string()).unwrap()
}

#[test]
fn known_facts() {
    let Some(shared) = shared() else { return };
    let eos_and_width = [
        ("gpt2", vec![50256], 50257),
        ("llama2", vec![2], 32000),
        ("llama3_1", vec![128009], 128256),
        ("qwen2_5", vec![151645], 151665),
        ("gemma2", vec![1], 256000),
        ("gpt4o", vec![199999], 200019),
        ("smollm2", vec![2], 49152),
        ("dream", vec![151643, 151645], 151667),
        ("deepseek_coder", vec![32014, 32021], 32022),
    ];
    for (name, eos, n_vocab) in eos_and_width {
        let eos: Vec<TokenId> = eos.into_iter().map(TokenId).collect();
        let tokenizer = load(&shared, name);
        assert_eq!((tokenizer.eos_token_ids(), tokenizer.n_vocab()), (&eos[..], n_vocab), "{name}");
    }

    let gpt4o = load(&shared, "gpt4o");
    for hole in [199_998, 200_000, 200_017].map(TokenId) {
        assert_eq!(gpt4o.token_bytes(hole), None);
    }
    assert_eq!(gpt4o.special_token_id("<|endofprompt|>"), Some(TokenId(200_018)));

    let deepseek = load(&shared, "deepseek_coder");
    assert_eq!(deepseek.token_bytes(TokenId(32_009)), Some("ü".as_bytes()));
    assert_eq!(deepseek.encode("ü").unwrap(), [TokenId(32_009)]);
    assert_eq!(deepseek.token_bytes(TokenId(32_018)), Some(&b"<pad>"[..]), "declared not special");

    let llama2 = load(&shared, "llama2");
    assert_eq!(llama2.token_bytes(TokenId(13)), Some(&b"\n"[..]));
    assert_eq!(llama2.token_bytes(TokenId(29_871)), Some(&b" "[..]));
    assert_eq!(llama2.decode(&llama2.encode("</s>").unwrap()), b"</s>");
    assert!(llama2.encode_with_special("a</s>").unwrap().ends_with(&[TokenId(2)]));
    assert_eq!((0..3).map(|id| llama2.token_bytes(TokenId(id))).collect::<Vec<_>>(), [None; 3]);

    let gemma2 = load(&shared, "gemma2");
    assert_eq!(
        gemma2.token_bytes(TokenId(139)),
        Some(&b"  "[..]),
        "an added token that the model writes spaces with"
    );

    let path = shared.join("tokenizers/qwen2_5/tokenizer.json");
    let mut padded = TokenizerOptions::default();
    padded.vocab_size = Some(151_936);
    let qwen = Tokenizer::from_file(&path, &padded).unwrap();
    assert_eq!(qwen.n_vocab(), 151_936);
    assert_eq!(qwen.token_bytes(TokenId(151_935)), None);
    let mut narrow = TokenizerOptions::default();
    narrow.vocab_size = Some(151_643);
    let error = Tokenizer::from_file(&path, &narrow).unwrap_err().to_string();
    assert!(error.contains("151643") && error.contains("151665"), "{error}");
}

/// No special token is ever read out of text, under any name.
#[test]
fn special_tokens_are_not_text() {
    let Some(shared) = shared() else { return };
    for name in TOKENIZERS {
        let tokenizer = load(&shared, name);
        assert!(tokenizer.special_tokens().count() > 0);
        for (id, content) in tokenizer.special_tokens() {
            assert_eq!(tokenizer.encode_with_special(content).unwrap(), [id], "{name}: {content}");
            assert_round_trip(&tokenizer, name, content);
            assert_round_trip(&tokenizer, name, &format!("a{content} {content}"));
        }
    }
}

/// The two sources of the same encoding give the same bytes and cut text alike.
#[test]
fn tiktoken_is_the_published_tokenizer() {
    let Some(shared) = shared() else { return };
    let lines = real_lines(&shared, n_lines());
    for (encoding, name) in [("gpt2", "gpt2"), ("o200k_base", "gpt4o")] {
        let ours = Tokenizer::from_tiktoken(encoding, &TokenizerOptions::default()).unwrap();
        let published = load(&shared, name);
        assert_eq!(ours.n_vocab(), published.n_vocab());
        assert_eq!(ours.eos_token_ids(), published.eos_token_ids());
        for id in (0..ours.n_vocab() as u32).map(TokenId) {
            assert_eq!(ours.token_bytes(id), published.token_bytes(id), "{encoding}: {id:?}");
        }
        for line in &lines {
            assert_eq!(ours.encode(line).unwrap(), published.encode(line).unwrap(), "{encoding}: {line:?}");
        }
    }
}

#[test]
fn the_vocabulary_inside_a_gguf_is_its_tokenizer_json() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("models/stories260K");
    let options = TokenizerOptions::default();
    let gguf = Tokenizer::from_gguf(&folder.join("stories260K-f32.gguf"), &options).unwrap();
    let json = Tokenizer::from_file(&folder.join("tokenizer.json"), &options).unwrap();
    assert_same(&gguf, &json, &real_lines(&shared, n_lines()));
}

/// `MASKWRIGHT_GGUF=FILE=NAME` compares a GGUF with the shared tokenizer of that name.
#[test]
fn a_gguf_of_your_choice() {
    let Some(choice) = std::env::var("MASKWRIGHT_GGUF").ok() else {
        eprintln!("no MASKWRIGHT_GGUF=FILE=NAME to compare; done");
        return;
    };
    let shared = shared().expect("MASKWRIGHT_GGUF compares with the shared folder");
    let (path, name) = choice.rsplit_once('=').expect("MASKWRIGHT_GGUF is FILE=NAME");
    let gguf = Tokenizer::from_gguf(Path::new(path), &TokenizerOptions::default()).unwrap();
    assert_same(&gguf, &load(&shared, name), &real_lines(&shared, n_lines()));
}

fn assert_same(a: &Tokenizer, b: &Tokenizer, lines: &[String]) {
    assert_eq!(a.n_vocab(), b.n_vocab());
    assert_eq!(a.eos_token_ids(), b.eos_token_ids());
    for id in (0..a.n_vocab() as u32).map(TokenId) {
        assert_eq!(a.token_bytes(id), b.token_bytes(id), "{id:?}");
    }
    for text in lines.iter().map(String::as_str).chain(AWKWARD_TEXTS) {
        assert_eq!(a.encode(text).unwrap(), b.encode(text).unwrap(), "{text:?}");
        assert_eq!(a.encode_with_special(text).unwrap(), b.encode_with_special(text).unwrap(), "{text:?}");
    }
}

#[test]
fn a_small_byte_level_tokenizer() {
    let json = small_byte_level().to_string();
    let tokenizer = Tokenizer::from_json(json.as_bytes(), &TokenizerOptions::default()).unwrap();
    assert_eq!(tokenizer.n_vocab(), 265);
    assert_eq!(tokenizer.eos_token_ids(), [TokenId(262)]);
    assert_eq!(tokenizer.token_bytes(TokenId(261)), None, "a hole");
    assert_eq!(tokenizer.token_bytes(TokenId(252)), Some(&[252][..]));
    assert_eq!(tokenizer.token_bytes(TokenId(264)), Some("ü".as_bytes()));
    assert_eq!(tokenizer.encode("hello hello<tool>ü").unwrap(), [259, 260, 263, 264].map(TokenId));
    assert_eq!(tokenizer.encode_with_special("hello<|endoftext|>").unwrap(), [259, 262].map(TokenId));
    assert_eq!(tokenizer.decode(&[259, 262, 261, 9999, 260].map(TokenId)), b"hello hello");
    for text in AWKWARD_TEXTS {
        assert_round_trip(&tokenizer, "small", text);
    }
    // NFC for prompts, bytes kept in text.
    assert_eq!(tokenizer.decode(&tokenizer.encode("e\u{301}").unwrap()), "e\u{301}".as_bytes());
    assert_eq!(tokenizer.decode(&tokenizer.encode_with_special("e\u{301}").unwrap()), "\u{e9}".as_bytes());
}

#[test]
fn bytes_that_are_not_utf8() {
    let json = small_byte_level().to_string();
    let tokenizer = Tokenizer::from_json(json.as_bytes(), &TokenizerOptions::default()).unwrap();
    let bytes = b"hello\xff hello\xe2\x96 \xf0\x9f";
    assert_eq!(spelled(&tokenizer, &tokenizer.encode_bytes(bytes).unwrap()), bytes);
    // A token that spans the border of a broken character.
    let tokens = vec![b"a\xe2".to_vec(), b"\x96".to_vec()];
    let tokenizer = Tokenizer::from_tokens(tokens, &[]).unwrap();
    assert_eq!(tokenizer.encode_bytes(b"a\xe2\x96").unwrap(), [0, 1].map(TokenId));
    let error = tokenizer.encode_bytes(b"a\xe2\x96\x97").unwrap_err().to_string();
    assert!(error.contains("from byte 3 on"), "{error}");
}

/// A million spaces end tiktoken's regular expression in a panic, were it asked.
#[test]
fn long_runs_of_white_space() {
    let text = format!("a{}b", " ".repeat(1_200_000));
    let tokenizer = Tokenizer::from_tiktoken("gpt2", &TokenizerOptions::default()).unwrap();
    assert_round_trip(&tokenizer, "gpt2", &text);
    assert!(!tokenizer.encode_with_special(&text).unwrap().is_empty());
    let json = small_byte_level().to_string();
    let tokenizer = Tokenizer::from_json(json.as_bytes(), &TokenizerOptions::default()).unwrap();
    assert_round_trip(&tokenizer, "small", &text);
}

/// `generation_config.json` before `tokenizer_config.json` before well-known names.
#[test]
fn eos_comes_from_the_files_beside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    std::fs::write(&path, small_byte_level().to_string()).unwrap();
    let eos = |options: &TokenizerOptions| {
        Tokenizer::from_file(&path, options).map(|tokenizer| tokenizer.eos_token_ids().to_vec())
    };
    let default = TokenizerOptions::default();
    assert_eq!(eos(&default).unwrap(), [TokenId(262)]);
    let config = folder.path().join("tokenizer_config.json");
    std::fs::write(&config, r#"{"eos_token": {"content": "<tool>"}}"#).unwrap();
    assert_eq!(eos(&default).unwrap(), [TokenId(263)]);
    std::fs::write(&config, r#"{"eos_token": "hello"}"#).unwrap();
    assert_eq!(eos(&default).unwrap(), [TokenId(259)]);
    std::fs::write(&config, r#"{"eos_token": "</s>"}"#).unwrap();
    let error = eos(&default).unwrap_err().to_string();
    assert!(error.contains("tokenizer_config.json") && error.contains("</s>"), "{error}");
    std::fs::write(folder.path().join("generation_config.json"), r#"{"eos_token_id": [263, 262]}"#).unwrap();
    assert_eq!(eos(&default).unwrap(), [262, 263].map(TokenId));
    let mut given = default;
    given.eos_token_ids = Some(vec![TokenId(260)]);
    assert_eq!(eos(&given).unwrap(), [TokenId(260)]);
}
