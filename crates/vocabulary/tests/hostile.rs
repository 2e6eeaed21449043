//! Broken and hostile files: a clear error that names the file and the place, never a panic, and never memory
//! or time out of proportion to the file.

#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod support;

use std::path::Path;

use maskwright_vocabulary::{Error, TokenId, Tokenizer, TokenizerOptions};
use serde_json::{Value, json};
use support::{shared, small_byte_level};

fn load(json: &str) -> Result<Tokenizer, Error> {
    Tokenizer::from_json(json.as_bytes(), &TokenizerOptions::default())
}

/// The error of the small tokenizer with the value at `pointer` replaced (`None`: removed).
fn error_with(pointer: &str, value: Option<Value>) -> Error {
    let mut json = small_byte_level();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = json.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => parent.insert(key.to_owned(), value),
        None => parent.remove(key),
    };
    load(&json.to_string()).expect_err(pointer)
}

fn assert_says(error: &Error, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn every_truncation_of_a_file_is_an_error() {
    let json = small_byte_level().to_string();
    assert!(load(&json).is_ok());
    for end in (0..json.len()).filter(|&end| json.is_char_boundary(end)) {
        assert!(load(&json[..end]).is_err(), "truncated at {end}");
    }
    assert_says(&load("").unwrap_err(), &["line 1 column 0"]);
    assert_says(&load("[1]").unwrap_err(), &["line 1 column"]);
    assert!(Tokenizer::from_json(b"{\"model\xff\": 1}", &TokenizerOptions::default()).is_err());
}

#[test]
fn wrong_and_missing_parts_are_named() {
    assert_says(&error_with("/model", None), &["missing field `model`"]);
    assert_says(&error_with("/model", Some(json!(7))), &["ModelJson", "line 1 column"]);
    assert_says(&error_with("/model/vocab", None), &["/model/vocab is missing"]);
    assert_says(&error_with("/model/merges", None), &["/model/merges is missing"]);
    assert_says(&error_with("/model/vocab", Some(json!([["a", -1.5]]))), &["/model/vocab is a list"]);
    assert_says(&error_with("/model/type", Some(json!("Unigram"))), &["/model/type", "Unigram", "BPE"]);
    assert_says(
        &error_with("/model/end_of_word_suffix", Some(json!("</w>"))),
        &["end_of_word_suffix", "</w>"],
    );
    assert_says(&error_with("/model/merges", Some(json!(["a b c"]))), &["a b c", "merge"]);
    assert_says(&error_with("/model/merges", Some(json!([["a", "b", "c"]]))), &["merge"]);
    assert_says(&error_with("/added_tokens", Some(json!([{ "id": 1 }]))), &["content"]);
    assert_says(&error_with("/pre_tokenizer", Some(json!({ "type": "Nonsense" }))), &["/pre_tokenizer"]);
    assert_says(&error_with("/normalizer", Some(json!({ "type": "Replace" }))), &["/normalizer"]);
    let broken =
        json!({ "type": "Split", "pattern": { "Regex": "(" }, "behavior": "Isolated", "invert": false });
    assert_says(&error_with("/pre_tokenizer", Some(broken)), &["/pre_tokenizer"]);
    assert_says(&error_with("/added_tokens", Some(json!([]))), &["eos_token_ids"]);
}

#[test]
fn ids_out_of_all_proportion() {
    for id in [json!(1e12), json!(1_000_000_000_000u64), json!(-1), json!("1"), json!(null), json!(0.5)] {
        assert_says(&error_with("/model/vocab/hello", Some(id)), &["line 1 column"]);
    }
    for id in [1u32 << 22, u32::MAX] {
        let error = error_with("/model/vocab/hello", Some(json!(id)));
        assert!(error.is_limit(), "{error}");
        assert_says(&error, &["hello", &id.to_string(), "4194303"]);
    }
    assert_says(&error_with("/model/vocab/hello", Some(json!(256))), &["256", "hello", "he"]);
    let options = |eos, vocab_size| {
        let mut options = TokenizerOptions::default();
        options.eos_token_ids = Some(vec![TokenId(eos)]);
        options.vocab_size = vocab_size;
        options
    };
    let json = small_byte_level().to_string();
    let error = Tokenizer::from_json(json.as_bytes(), &options(4_000_000_000, None)).unwrap_err();
    assert_says(&error, &["4000000000"]);
    let error = Tokenizer::from_json(json.as_bytes(), &options(1, Some(1 << 40))).unwrap_err();
    assert!(error.is_limit(), "{error}");
}

/// The reference library indexes a buffer by the lengths in a merge, and trusts that its result exists.
#[test]
fn merges_that_lead_nowhere() {
    for (merge, part) in [
        (["x", "y"], "xy"),
        (["hello", "hello"], "hellohello"),
        (["hello", "nonsense"], "nonsense"),
        (["", "a"], "\"\""),
    ] {
        assert_says(&error_with("/model/merges", Some(json!([merge]))), &["/model/merges/0", part]);
    }
}

/// Merges that undo and repeat one another, and the same merge twice: legal, and they end.
#[test]
fn merges_in_a_circle() {
    let mut json = small_byte_level();
    json["model"]["merges"] = json!([["h", "e"], ["l", "l"], ["h", "e"], ["he", "ll"], ["l", "l"]]);
    let tokenizer = load(&json.to_string()).unwrap();
    assert_eq!(tokenizer.decode(&tokenizer.encode("hellhellhell").unwrap()), b"hellhellhell");
}

#[test]
fn a_merge_never_makes_a_special_token() {
    let mut json = small_byte_level();
    json["added_tokens"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "id": 259, "content": "hello", "special": true }));
    let tokenizer = load(&json.to_string()).unwrap();
    assert_eq!(tokenizer.token_bytes(TokenId(259)), None);
    assert_eq!(tokenizer.decode(&tokenizer.encode("hello").unwrap()), b"hello");
    assert_eq!(tokenizer.encode_with_special("hello").unwrap(), [TokenId(259)]);
}

#[test]
fn tokens_out_of_all_proportion() {
    let mut json = small_byte_level();
    json["model"]["vocab"]["x".repeat(1 << 20)] = json!(300);
    assert!(load(&json.to_string()).unwrap_err().is_limit());
    let mut json = small_byte_level();
    for id in 0..3_000 {
        json["model"]["vocab"][format!("{id:04}{}", "x".repeat(16_000))] = json!(300 + id);
    }
    assert!(load(&json.to_string()).unwrap_err().is_limit());
}

#[test]
fn stages_nested_deeply() {
    let depth = 100_000;
    let nested = format!("{}{}", r#"{"type":"Sequence","normalizers":["#.repeat(depth), "]}".repeat(depth));
    let json = small_byte_level().to_string().replace(r#"{"type":"NFC"}"#, &nested);
    assert_says(&load(&json).unwrap_err(), &["recursion limit"]);
}

/// A pattern that backtracks without end costs a bounded time, and the bytes are kept.
#[test]
fn a_pattern_that_backtracks() {
    let mut json = small_byte_level();
    json["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [
        { "type": "Split", "pattern": { "Regex": r"(?=a)(a|a)*(?!a)b|(a+)+\1c" }, "behavior": "Removed", "invert": false },
        json["pre_tokenizer"],
    ]});
    let tokenizer = load(&json.to_string()).unwrap();
    let text = format!("{}x", "a".repeat(2_000));
    assert_eq!(tokenizer.decode(&tokenizer.encode(&text).unwrap()), text.as_bytes());
}

#[test]
fn files_that_are_not_there() {
    let options = TokenizerOptions::default();
    let missing = Path::new("no-such-folder/tokenizer.json");
    assert_says(&Tokenizer::from_file(missing, &options).unwrap_err(), &["no-such-folder", "cannot read"]);
    assert_says(&Tokenizer::from_gguf(missing, &options).unwrap_err(), &["no-such-folder", "cannot read"]);
    let folder = tempfile::tempdir().unwrap();
    assert!(Tokenizer::from_file(folder.path(), &options).is_err());
    assert!(Tokenizer::from_gguf(folder.path(), &options).is_err());
    assert_says(&Tokenizer::from_tiktoken("gpt5", &options).unwrap_err(), &["gpt5", "cl100k_base"]);
}

/// Writes the bytes to a file and reads it as a GGUF.
fn gguf(bytes: &[u8]) -> Result<Tokenizer, Error> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    Tokenizer::from_gguf(file.path(), &TokenizerOptions::default())
}

#[derive(Default)]
struct GgufBytes {
    /// Keys, and the bytes of their values with the type.
    pairs: Vec<(String, Vec<u8>)>,
}

impl GgufBytes {
    /// With this value for the key, and no other.
    fn pair(mut self, key: &str, value_type: u32, value: &[u8]) -> GgufBytes {
        self.pairs.retain(|(known, _)| known != key);
        self.and(key, value_type, value)
    }

    /// With one more pair.
    fn and(mut self, key: &str, value_type: u32, value: &[u8]) -> GgufBytes {
        self.pairs.push((key.to_owned(), [&value_type.to_le_bytes(), value].concat()));
        self
    }

    fn file(&self) -> Vec<u8> {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend(0u64.to_le_bytes());
        file.extend((self.pairs.len() as u64).to_le_bytes());
        file.extend(self.pairs.iter().flat_map(|(key, value)| [string(key), value.clone()].concat()));
        file
    }
}

fn string(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes
}

fn array(element_type: u32, elements: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = element_type.to_le_bytes().to_vec();
    bytes.extend((elements.len() as u64).to_le_bytes());
    bytes.extend(elements.concat());
    bytes
}

fn integers(values: &[i32]) -> Vec<u8> {
    array(5, &values.iter().map(|value| value.to_le_bytes().to_vec()).collect::<Vec<_>>())
}

/// `<unk>`, `</s>`, `▁a`, `a`, `b`, `▁`, `ab`, an unused one, `<0x41>`.
fn small_sentence_piece() -> GgufBytes {
    let tokens = ["<unk>", "</s>", "▁a", "a", "b", "▁", "ab", "[gone]", "<0x41>"];
    let scores: Vec<Vec<u8>> = [0.0f32, 0.0, -1.0, -4.0, -4.0, -4.0, -2.0, 0.0, 0.0]
        .iter()
        .map(|score| score.to_le_bytes().to_vec())
        .collect();
    GgufBytes::default()
        .pair("general.name", 8, &string("small"))
        .pair("general.numbers", 9, &integers(&[1, 2, 3]))
        .pair("general.words", 9, &array(8, &[string("a"), string("b")]))
        .pair("tokenizer.ggml.model", 8, &string("llama"))
        .pair("tokenizer.ggml.tokens", 9, &array(8, &tokens.map(string)))
        .pair("tokenizer.ggml.scores", 9, &array(6, &scores))
        .pair("tokenizer.ggml.token_type", 9, &integers(&[2, 3, 1, 1, 1, 1, 1, 5, 6]))
        .pair("tokenizer.ggml.unknown_token_id", 4, &0u32.to_le_bytes())
}

#[test]
fn a_small_gguf_and_every_truncation_of_it() {
    let file = small_sentence_piece().pair("tokenizer.ggml.eos_token_id", 4, &1u32.to_le_bytes()).file();
    let tokenizer = gguf(&file).unwrap();
    assert_eq!(tokenizer.eos_token_ids(), [TokenId(1)]);
    assert_eq!([0, 1, 7].map(|id| tokenizer.token_bytes(TokenId(id))), [None; 3]);
    assert_eq!(tokenizer.token_bytes(TokenId(2)), Some(&b" a"[..]));
    assert_eq!(tokenizer.token_bytes(TokenId(8)), Some(&b"A"[..]));
    assert_eq!(tokenizer.encode("ab abA").unwrap(), [6, 2, 4, 8].map(TokenId));
    assert_eq!(tokenizer.encode_with_special("ab</s>").unwrap(), [2, 4, 1].map(TokenId));
    assert_says(&tokenizer.encode("abc").unwrap_err(), &["from byte 2 on"]);
    for end in 0..file.len() {
        assert!(gguf(&file[..end]).is_err(), "truncated at {end}");
    }
    // Without the id, the well-known name.
    assert_eq!(gguf(&small_sentence_piece().file()).unwrap().eos_token_ids(), [TokenId(1)]);
}

#[test]
fn gguf_lengths_out_of_all_proportion() {
    assert_says(&gguf(b"GGML").unwrap_err(), &["is not a GGUF file: it begins with \"GGML\""]);
    assert_says(&gguf(b"GGUF\x09\0\0\0").unwrap_err(), &["version 9"]);
    let mut many_pairs = b"GGUF\x03\0\0\0".to_vec();
    many_pairs.extend([0; 8]);
    many_pairs.extend([0xFF; 8]);
    assert!(gguf(&many_pairs).unwrap_err().is_limit());

    let huge = u64::MAX.to_le_bytes();
    let huge_array = |element_type: u32| [&element_type.to_le_bytes()[..], &huge].concat();
    for (value_type, value) in
        [(8, huge.to_vec()), (9, huge_array(8)), (9, huge_array(4)), (9, huge_array(0))]
    {
        for key in ["tokenizer.ggml.tokens", "general.name"] {
            let error = gguf(&GgufBytes::default().pair(key, value_type, &value).file()).unwrap_err();
            assert_says(&error, &[key, "18446744073709551615"]);
        }
    }
    let huge_key = [&b"GGUF\x03\0\0\0"[..], &[0; 8], &1u64.to_le_bytes(), &huge].concat();
    assert_says(&gguf(&huge_key).unwrap_err(), &["18446744073709551615"]);
}

/// Files that are as long as they say, and hold nothing but zeros.
#[test]
fn gguf_sizes_beyond_the_limits() {
    let limit_of = |head: &[u8]| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), head).unwrap();
        file.as_file().set_len(1 << 28).unwrap();
        let error = Tokenizer::from_gguf(file.path(), &TokenizerOptions::default()).unwrap_err();
        assert!(error.is_limit(), "{error}");
        error.to_string()
    };
    let text = ((1u64 << 26) + 1).to_le_bytes();
    let many = ((1u64 << 24) + 1).to_le_bytes();
    let file = |value_type, value: &[u8]| GgufBytes::default().pair("some.key", value_type, value).file();
    assert!(limit_of(&file(8, &text)).contains("some.key is 67108865 bytes long"));
    for element_type in [8u32, 9] {
        let array = [&element_type.to_le_bytes()[..], &many].concat();
        assert!(limit_of(&file(9, &array)).contains("some.key has 16777217 elements"));
    }
    let key = [&b"GGUF\x03\0\0\0"[..], &[0; 8], &1u64.to_le_bytes(), &text].concat();
    assert!(limit_of(&key).contains("67108865 bytes long"));
}

#[test]
fn gguf_values_of_the_wrong_kind() {
    let pair = |key: &str, value_type: u32, value: &[u8]| {
        gguf(&small_sentence_piece().pair(key, value_type, value).file())
    };
    assert_says(&pair("x", 13, &[]).unwrap_err(), &["x is of type 13"]);
    assert_says(&pair("x", 9, &array(13, &[])).unwrap_err(), &["x has elements of type 13"]);
    let twice = small_sentence_piece().and("general.name", 8, &string("other"));
    assert_says(&gguf(&twice.file()).unwrap_err(), &["two values for general.name"]);
    assert_says(&pair("tokenizer.ggml.tokens", 4, &[0; 4]).unwrap_err(), &["tokenizer.ggml.tokens"]);
    assert_says(&pair("tokenizer.ggml.scores", 9, &integers(&[1])).unwrap_err(), &["tokenizer.ggml.scores"]);
    assert_says(&pair("tokenizer.ggml.token_type", 9, &integers(&[1])).unwrap_err(), &["token_type"]);
    assert_says(&pair("tokenizer.ggml.model", 8, &string("t5")).unwrap_err(), &["t5", "llama", "gpt2"]);
    assert_says(
        &pair("tokenizer.ggml.eos_token_id", 5, &(-1i32).to_le_bytes()).unwrap_err(),
        &["eos_token_id"],
    );
    assert_says(&pair("tokenizer.ggml.eos_token_id", 4, &99u32.to_le_bytes()).unwrap_err(), &["99"]);
    assert_says(&gguf(&GgufBytes::default().file()).unwrap_err(), &["tokenizer.ggml.model"]);
    let bpe = small_sentence_piece().pair("tokenizer.ggml.model", 8, &string("gpt2"));
    assert_says(&gguf(&bpe.file()).unwrap_err(), &["tokenizer.ggml.merges"]);
    let bpe = bpe.pair("tokenizer.ggml.pre", 8, &string("unheard-of"));
    assert_says(&gguf(&bpe.file()).unwrap_err(), &["unheard-of", "llama-bpe"]);
}

/// Flips bytes of real files; whatever happens is a result.
#[test]
fn damaged_files() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("models/stories260K");
    let options = TokenizerOptions::default();
    let json = std::fs::read(folder.join("tokenizer.json")).unwrap();
    let mut header = std::fs::read(folder.join("stories260K-f32.gguf")).unwrap();
    header.truncate(40_000);
    let mut n_errors = 0;
    for round in 0..1_000usize {
        let flip = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            let position = round.wrapping_mul(7_919) % bytes.len();
            bytes[position] ^= 1 << (round % 8);
            bytes
        };
        n_errors += usize::from(Tokenizer::from_json(&flip(&json), &options).is_err());
        if round % 10 == 0 {
            n_errors += usize::from(gguf(&flip(&header)).is_err());
        }
    }
    assert!((100..1_100).contains(&n_errors), "{n_errors} errors");
}
