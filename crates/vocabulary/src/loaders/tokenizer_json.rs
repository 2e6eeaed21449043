//! The shape of a tokenizer.json, typed as far as the format is.
//!
//! What only the encoder needs is read with the feature `tokenizers`.
//!
//! Rejected: reading everything into a `serde_json::Value` first, which triples the time for the 17 MB of
//! Gemma's file; and `tokenizers::Tokenizer::from_file`, see `encoder/pipeline.rs`.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A tokenizer.json.
#[derive(Deserialize)]
pub(crate) struct TokenizerJson {
    #[serde(default)]
    pub(crate) added_tokens: Vec<AddedTokenJson>,
    #[serde(default)]
    pub(crate) normalizer: Value,
    #[serde(default)]
    pub(crate) pre_tokenizer: Value,
    #[serde(default)]
    pub(crate) decoder: Value,
    pub(crate) model: ModelJson,
}

/// An entry of `added_tokens`.
#[derive(Deserialize)]
pub(crate) struct AddedTokenJson {
    pub(crate) id: u32,
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) single_word: bool,
    #[serde(default)]
    pub(crate) lstrip: bool,
    #[serde(default)]
    pub(crate) rstrip: bool,
    #[serde(default)]
    pub(crate) special: bool,
}

/// The `model`. Old files leave out the type of a BPE model.
#[derive(Deserialize)]
pub(crate) struct ModelJson {
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    #[serde(default)]
    pub(crate) vocab: VocabJson,
    #[cfg(feature = "tokenizers")]
    #[serde(default)]
    pub(crate) merges: Option<Vec<MergeJson>>,
    #[serde(default)]
    pub(crate) unk_token: Option<String>,
    #[serde(default)]
    pub(crate) continuing_subword_prefix: Option<String>,
    #[serde(default)]
    pub(crate) end_of_word_suffix: Option<String>,
    #[serde(default)]
    pub(crate) byte_fallback: Option<bool>,
    #[cfg(feature = "tokenizers")]
    #[serde(default)]
    pub(crate) fuse_unk: Option<bool>,
    #[cfg(feature = "tokenizers")]
    #[serde(default)]
    pub(crate) ignore_merges: Option<bool>,
}

/// `vocab`, by the shape it has.
#[derive(Default)]
pub(crate) enum VocabJson {
    /// None at all.
    #[default]
    Missing,
    /// From token to id, in the order of the file.
    Map(Vec<(String, u32)>),
    /// A list, as Unigram models have it; its entries are not read.
    List,
}

impl<'de> Deserialize<'de> for VocabJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct VocabVisitor;
        impl<'de> Visitor<'de> for VocabVisitor {
            type Value = VocabJson;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from tokens to ids")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<VocabJson, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(VocabJson::Map(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<VocabJson, A::Error> {
                while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
                Ok(VocabJson::List)
            }
        }
        deserializer.deserialize_any(VocabVisitor)
    }
}

/// A merge: `"a b"` in older files, `["a", "b"]` in newer ones.
#[cfg(feature = "tokenizers")]
pub(crate) struct MergeJson(pub(crate) String, pub(crate) String);

#[cfg(feature = "tokenizers")]
impl<'de> Deserialize<'de> for MergeJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;

        struct MergeVisitor;
        impl<'de> Visitor<'de> for MergeVisitor {
            type Value = MergeJson;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a merge, as \"a b\" or [\"a\", \"b\"]")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<MergeJson, E> {
                match text.split_once(' ') {
                    Some((left, right)) if !right.contains(' ') => Ok(MergeJson(left.into(), right.into())),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<MergeJson, A::Error> {
                let left = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
                let right = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
                match seq.next_element::<serde::de::IgnoredAny>()? {
                    None => Ok(MergeJson(left, right)),
                    Some(_) => Err(A::Error::invalid_length(3, &self)),
                }
            }
        }
        deserializer.deserialize_any(MergeVisitor)
    }
}

/// The `type` of a stage.
pub(crate) fn type_of(stage: &Value) -> Option<&str> {
    stage.get("type").and_then(Value::as_str)
}

/// The first stage of the given type, `stage` itself or inside a sequence. The depth is bounded by the JSON
/// reader's.
pub(crate) fn find_type<'v>(stage: &'v Value, wanted: &str) -> Option<&'v Value> {
    if type_of(stage) == Some(wanted) {
        return Some(stage);
    }
    ["normalizers", "pretokenizers", "decoders"]
        .iter()
        .filter_map(|key| stage.get(key)?.as_array())
        .flatten()
        .find_map(|inner| find_type(inner, wanted))
}

/// Whether a stage replaces spaces by `▁`.
pub(crate) fn is_space_replacement(stage: &Value) -> bool {
    type_of(stage) == Some("Replace")
        && stage.pointer("/pattern/String").and_then(Value::as_str) == Some(" ")
        && stage.get("content").and_then(Value::as_str) == Some("\u{2581}")
}
