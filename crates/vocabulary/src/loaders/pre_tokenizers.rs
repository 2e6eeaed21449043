//! The pre-tokenizers that GGUF files name, written as the stages of a tokenizer.json.
//!
//! A GGUF has no regular expressions, only a name (`tokenizer.ggml.pre`) that stands for what the model's
//! original tokenizer.json says. The names are llama.cpp's; the stages are those of the models' own files.
//! The name does not touch the bytes of tokens, so masks never depend on it; the way a prompt is cut does.

use serde_json::{Value, json};

/// What a name of a pre-tokenizer stands for.
pub(crate) struct PreTokenizer {
    /// The `normalizer` stage.
    pub(crate) normalizer: Value,
    /// The `pre_tokenizer` stage.
    pub(crate) pre_tokenizer: Value,
    /// The model's `ignore_merges`.
    pub(crate) ignore_merges: bool,
}

/// Names, and the family each belongs to.
const NAMES: [(&str, Family); 18] = [
    ("default", Family::Gpt2),
    ("gpt-2", Family::Gpt2),
    ("phi-2", Family::Gpt2),
    ("olmo", Family::Gpt2),
    ("mpt", Family::Gpt2),
    ("smollm", Family::Gpt2SingleDigits),
    ("starcoder", Family::Gpt2SingleDigits),
    ("refact", Family::Gpt2SingleDigits),
    ("command-r", Family::Gpt2SingleDigits),
    ("codeshell", Family::Gpt2SingleDigits),
    ("llama-bpe", Family::Llama3),
    ("llama3", Family::Llama3),
    ("llama-v3", Family::Llama3),
    ("qwen2", Family::Qwen2),
    ("deepseek-r1-qwen", Family::Qwen2),
    ("gpt-4o", Family::O200k),
    ("llama4", Family::O200k),
    ("deepseek-coder", Family::DeepSeekCoder),
];

#[derive(Clone, Copy)]
enum Family {
    Gpt2,
    Gpt2SingleDigits,
    Llama3,
    Qwen2,
    O200k,
    DeepSeekCoder,
}

/// The names there are.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name)
}

/// The pre-tokenizer of the given name.
pub(crate) fn named(name: &str) -> Option<PreTokenizer> {
    let (_, family) = NAMES.iter().find(|(known, _)| *known == name)?;
    let byte_level = |use_regex: bool| json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex });
    let digits = json!({ "type": "Digits", "individual_digits": true });
    let split = |pattern: &str| json!({ "type": "Split", "pattern": { "Regex": pattern }, "behavior": "Isolated", "invert": false });
    let parts = match family {
        Family::Gpt2 => vec![byte_level(true)],
        Family::Gpt2SingleDigits => vec![digits, byte_level(true)],
        Family::Llama3 => vec![split(&modern_pattern(r"\p{N}{1,3}")), byte_level(false)],
        Family::Qwen2 => vec![split(&modern_pattern(r"\p{N}")), byte_level(false)],
        Family::O200k => vec![split(O200K_PATTERN), byte_level(false)],
        Family::DeepSeekCoder => vec![
            split(r"[\r\n]"),
            split(r"\s?\p{L}+"),
            split(r"\s?\p{P}+"),
            split("[\u{4e00}-\u{9fa5}\u{800}-\u{4e00}\u{ac00}-\u{d7ff}]+"),
            digits,
            byte_level(false),
        ],
    };
    Some(PreTokenizer {
        normalizer: if matches!(family, Family::Qwen2) { json!({ "type": "NFC" }) } else { Value::Null },
        pre_tokenizer: json!({ "type": "Sequence", "pretokenizers": parts }),
        ignore_merges: matches!(family, Family::Llama3),
    })
}

/// The pattern of Llama 3 and Qwen 2 (after OpenAI's cl100k_base), which differ in how many digits stay
/// together.
fn modern_pattern(number: &str) -> String {
    format!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{number}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
}

/// The pattern of OpenAI's o200k_base.
const O200K_PATTERN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
);
