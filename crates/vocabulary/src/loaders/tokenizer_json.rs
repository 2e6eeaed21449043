//! The shape of a tokenizer.json, typed as far as the format is.
//!
//! Rejected: reading everything into a `serde_json::Value` first, which triples the time for the 17 MB of Gemma's
//! file; and `tokenizers::Tokenizer::from_file`, see [`crate::encoder::pipeline`].

use std::fmt;

use serde::Deserialize;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
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
    #[serde(default)]
    pub(crate) fuse_unk: Option<bool>,
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
pub(crate) struct MergeJson(pub(crate) String, pub(crate) String);

impl<'de> Deserialize<'de> for MergeJson {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
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
