//! What the tests of this crate share: where the outside data lies, lines of real text, and small files.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "these are parts of tests")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The folder with outside data, if it is there.
pub(crate) fn shared() -> Option<PathBuf> {
    maskwright_oracle::shared_folder("tokenizers")
}

/// The names of the tokenizers in the shared folder.
pub(crate) const TOKENIZERS: [&str; 9] =
    ["gpt2", "llama2", "llama3_1", "qwen2_5", "gemma2", "gpt4o", "smollm2", "dream", "deepseek_coder"];

/// How many real lines to run each tokenizer over: 10,000 with `MASKWRIGHT_FULL=1`, else a sample.
pub(crate) fn n_lines() -> usize {
    if std::env::var_os("MASKWRIGHT_FULL").is_some_and(|value| value == "1") { 10_000 } else { 1_000 }
}

/// At most `n` different lines of real text, evenly from programs in six languages, SQL, SMILES, JSON
/// instances and regular expressions, each at most 4,000 bytes.
pub(crate) fn real_lines(shared: &Path, n: usize) -> Vec<String> {
    let data = shared.join("data");
    let mut sources: Vec<Vec<String>> = Vec::new();
    for language in ["go", "java", "python", "cpp", "js", "rust"] {
        sources.push(
            files(&data.join("programs").join(language).join("full"))
                .iter()
                .flat_map(|path| lines(path))
                .collect(),
        );
    }
    sources.push(lines(&data.join("smiles.txt")));
    sources.push(lines(&data.join("sql.jsonl")));
    sources.push(lines(&data.join("regexes.jsonl")));
    for path in files(&data.join("maskbench")) {
        let instances = lines(&path).into_iter().flat_map(|line| {
            let entry: Value = serde_json::from_str(&line).expect("a line of MaskBench is JSON");
            let tests = entry["tests"].as_array().cloned().unwrap_or_default();
            tests.into_iter().map(|test| test["data"].to_string()).chain([entry["schema"].to_string()])
        });
        let (ascii, unicode): (Vec<String>, Vec<String>) = instances.partition(|text| text.is_ascii());
        sources.push(ascii);
        sources.push(unicode);
    }
    for source in &mut sources {
        source.retain(|line| !line.is_empty() && line.len() <= 4_000);
        source.reverse();
    }
    let mut seen = std::collections::HashSet::new();
    let mut chosen = Vec::new();
    while chosen.len() < n && sources.iter().any(|source| !source.is_empty()) {
        for source in &mut sources {
            if let Some(line) = source.pop()
                && chosen.len() < n
                && seen.insert(line.clone())
            {
                chosen.push(line);
            }
        }
    }
    chosen
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// Texts that tokenizers are tempted to change.
pub(crate) const AWKWARD_TEXTS: [&str; 30] = [
    "",
    " ",
    "  two",
    " \n\t\r\n  ",
    "trailing   ",
    "caf\u{e9} cafe\u{301}",
    "\u{212b} \u{c5} A\u{30a}",
    "\u{1112}\u{1161}\u{11ab} \u{d55c}",
    "\u{fb01}ne \u{2167} \u{ff21}",
    "\u{958} \u{915}\u{93c}",
    "▁▁ already marked ▁",
    "a▁b",
    "<0x41> <0x0A>",
    "</s><s><unk>",
    "<|endoftext|> <|im_start|>user<|im_end|>",
    "<bos><start_of_turn>user<end_of_turn><eos>",
    "<｜end▁of▁sentence｜><|EOT|>",
    "ü õ ÷ Á ý À ÿ ø ú þ ù ö û",
    "\0\u{1}\u{7f}\u{80}\u{9f}",
    "\u{feff}bom \u{fffd} \u{ffff}",
    "\u{a0}\u{2003}\u{3000}wide spaces",
    "👩‍👩‍👧‍👦 🇩🇪 ☺️",
    "日本語のテキスト、中文，한국어",
    "مرحبا بالعالم שלום",
    "naïve façade — “quotes” … ‘x’",
    "1234567 12 ٣٤٥ ²³",
    "don't can'T I'LL we're",
    "x=y+z;\r\n\tif (a&&b) {}\r\n",
    "https://example.org/?q=%20#frag",
    "\u{10ffff}\u{e000}",
];

/// A small byte-level tokenizer.json: the 256 bytes, a few merges, an added word, two special tokens, and a
/// hole.
pub(crate) fn small_byte_level() -> Value {
    let mut vocab = serde_json::Map::new();
    for (id, character) in byte_characters().into_iter().enumerate() {
        vocab.insert(character.to_string(), json!(id));
    }
    for (token, id) in [("he", 256), ("ll", 257), ("hell", 258), ("hello", 259), ("Ġhello", 260)] {
        vocab.insert(token.to_owned(), json!(id));
    }
    let added = |id: u32, content: &str, special: bool| {
        json!({ "id": id, "content": content, "special": special, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false })
    };
    json!({
        "version": "1.0",
        "added_tokens": [added(262, "<|endoftext|>", true), added(263, "<tool>", false), added(264, "ü", false)],
        "normalizer": { "type": "NFC" },
        "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true },
        "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
        "model": {
            "type": "BPE",
            "vocab": vocab,
            "merges": [["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"], ["Ġ", "hello"]],
        },
    })
}

/// GPT-2's characters for the bytes 0 to 255, by its published rule, written apart from the library's.
pub(crate) fn byte_characters() -> Vec<char> {
    let printable = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let mut n_others = 0;
    (0..256)
        .map(|byte| {
            let code = if printable(byte) {
                byte
            } else {
                n_others += 1;
                255 + n_others
            };
            char::from_u32(code).unwrap()
        })
        .collect()
}
