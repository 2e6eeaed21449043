//! `maskwright.Tokenizer`: a vocabulary with its way to cut text into tokens.

use std::collections::BTreeMap;

use maskwright::{TokenId, TokenizerOptions};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString, PyType};

use crate::arguments::{
    Count, FilePath, Int, Item, List, OfTokenizer, Reduced, Saved, Text, TextBytes, ints, is_path,
    vocabulary_ids, wrong_type, wrong_type_but,
};
use crate::errors::{LimitError, OrRaise, TokenizerError};
use crate::interrupt::aside;
use crate::work::detached;

/// The most tokens that are taken from a `tiktoken.Encoding`; the widest models have some 260,000.
const MAX_TOKENS: usize = 1 << 22;

/// A model's vocabulary, and how it splits text into tokens. Immutable.
///
/// Made by `from_file`, `from_hf`, `from_tiktoken`, `from_gguf` or `from_tokens`. Unless the ids that end a
/// text are given, they are read from the tokenizer's files or found by their well-known names.
///
/// >>> tokenizer = Tokenizer.from_tokens([b"a", b"ab", b"b", b"</s>"], eos_token_ids=[3])
/// >>> tokenizer.encode("abba")
/// [1, 2, 0]
#[pyclass(frozen, module = "maskwright")]
pub(crate) struct Tokenizer(pub(crate) maskwright::Tokenizer);

/// A text of so many bytes takes long to encode.
const LONG_TEXT: usize = 1 << 18;

#[pymethods]
impl Tokenizer {
    /// Reads a Hugging Face `tokenizer.json`.
    ///
    /// * `eos_token_ids`: the ids that end a text. By default they come from `generation_config.json` or
    ///   `tokenizer_config.json` beside the file, or are the tokens with a well-known name.
    /// * `vocab_size`: the width of the model's logits, if it is larger than the tokenizer's vocabulary.
    ///
    /// Raises TokenizerError if the file cannot be read or understood, or no id ends a text.
    #[classmethod]
    #[pyo3(signature = (path, *, eos_token_ids=None, vocab_size=None))]
    fn from_file(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        path: FilePath<OfTokenizer>,
        eos_token_ids: Option<List<Int>>,
        vocab_size: Option<Count>,
    ) -> PyResult<Tokenizer> {
        let options = options(eos_token_ids, vocab_size)?;
        aside(py, move || maskwright::Tokenizer::from_file(&path.0, &options))?.or_raise().map(Tokenizer)
    }

    /// Takes a fast tokenizer of `transformers`, or a `tokenizers.Tokenizer`.
    ///
    /// * `model`: the model of `transformers` that the tokenizer is for, or its config. `vocab_size` and the
    ///   ids that end a text are the model's: those at which `generate` stops, and the width of its logits.
    /// * `eos_token_ids`: by default the model's, or else the tokenizer's `eos_token_id`, if it has one.
    ///
    /// Raises TypeError for another object, TokenizerError if no id ends a text.
    #[classmethod]
    #[pyo3(signature = (tokenizer, *, model=None, eos_token_ids=None, vocab_size=None))]
    fn from_hf(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        tokenizer: &Bound<'_, PyAny>,
        model: Option<&Bound<'_, PyAny>>,
        eos_token_ids: Option<List<Int>>,
        vocab_size: Option<Count>,
    ) -> PyResult<Tokenizer> {
        let mut options = options(eos_token_ids, vocab_size)?;
        if tokenizer.is_instance_of::<PyString>() || is_path(tokenizer)? {
            let name = tokenizer.str()?;
            let instead = format!(
                "load it with transformers.AutoTokenizer.from_pretrained({0:?}), or read a tokenizer.json with \
                 Tokenizer.from_file",
                name.to_string_lossy()
            );
            return Err(wrong_type_but(tokenizer, "a tokenizer", &instead));
        }
        if let Some(model) = model {
            add_options_of(model, &mut options)?;
        }
        if options.eos_token_ids.is_none() {
            options.eos_token_ids = own_eos_token_ids(tokenizer)?;
        }
        let backend = tokenizer.getattr_opt("backend_tokenizer")?.unwrap_or_else(|| tokenizer.clone());
        let Some(to_str) = backend.getattr_opt("to_str")? else {
            let instead = match tokenizer.hasattr("_mergeable_ranks")? {
                true => "Tokenizer.from_tiktoken takes an Encoding of tiktoken",
                false if tokenizer.is_instance_of::<Tokenizer>() => "it is a Tokenizer already",
                false if tokenizer.hasattr("convert_tokens_to_ids")? => {
                    "slow tokenizers cannot be read; load it with use_fast=True"
                }
                false => "",
            };
            let expected = "a fast tokenizer of transformers or a tokenizers.Tokenizer";
            return Err(wrong_type_but(tokenizer, expected, instead));
        };
        let json: Text<OfTokenizer> = to_str.call0()?.extract()?;
        let template = match tokenizer.getattr_opt("chat_template")? {
            Some(template) => {
                py.import("maskwright._tools")?.call_method1("template", (template,))?.extract()?
            }
            None => None,
        };
        let made =
            aside(py, move || maskwright::Tokenizer::from_json(json.0.as_bytes(), &options))?.or_raise()?;
        Ok(Tokenizer(made.with_chat_template(template)))
    }

    /// Takes the name of one of OpenAI's encodings (`gpt2`, `r50k_base`, `p50k_base`, `cl100k_base`,
    /// `o200k_base`, `o200k_harmony`; they are built in) or a `tiktoken.Encoding`.
    ///
    /// For an Encoding of another name, `encode` takes the longest token that fits at each place: the bytes
    /// are the same, the tokens may differ from tiktoken's.
    #[classmethod]
    #[pyo3(signature = (encoding, *, eos_token_ids=None, vocab_size=None))]
    fn from_tiktoken(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        encoding: &Bound<'_, PyAny>,
        eos_token_ids: Option<List<Int>>,
        vocab_size: Option<Count>,
    ) -> PyResult<Tokenizer> {
        const BUILT_IN: [&str; 6] =
            ["gpt2", "r50k_base", "p50k_base", "cl100k_base", "o200k_base", "o200k_harmony"];
        let is_name = encoding.is_instance_of::<PyString>();
        if !is_name && !encoding.hasattr("_mergeable_ranks")? {
            return Err(wrong_type(encoding, "the name of an encoding, or a tiktoken.Encoding"));
        }
        let name = if is_name { encoding.clone() } else { encoding.getattr("name")? };
        let name = name.extract::<Text<OfTokenizer>>()?.0;
        let options = options(eos_token_ids, vocab_size)?;
        if is_name || BUILT_IN.contains(&name.as_str()) {
            return aside(py, move || maskwright::Tokenizer::from_tiktoken(&name, &options))?
                .or_raise()
                .map(Tokenizer);
        }
        from_ranks(py, encoding, options)
    }

    /// Reads the vocabulary inside a GGUF file.
    ///
    /// Raises TokenizerError if the file cannot be read or understood, or no id ends a text.
    #[classmethod]
    #[pyo3(signature = (path, *, eos_token_ids=None, vocab_size=None))]
    fn from_gguf(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        path: FilePath<OfTokenizer>,
        eos_token_ids: Option<List<Int>>,
        vocab_size: Option<Count>,
    ) -> PyResult<Tokenizer> {
        let options = options(eos_token_ids, vocab_size)?;
        aside(py, move || maskwright::Tokenizer::from_gguf(&path.0, &options))?.or_raise().map(Tokenizer)
    }

    /// Makes a vocabulary of the given byte strings; token `i` is `tokens[i]`. An empty string is a token
    /// that never matches. `encode` takes the longest token that fits at each place. `eos_token_ids`, for
    /// which `eos` is another name, are the ids that end a text; there may be none. The tokens of
    /// `special_token_ids` never match as text; a grammar can name them by what would be their bytes.
    ///
    /// Raises TokenizerError if an id is out of range, or the name of a special token is not UTF-8.
    #[classmethod]
    #[pyo3(signature = (tokens, eos_token_ids=None, special_token_ids=None, *, eos=None))]
    fn from_tokens(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        tokens: List<TokenBytes>,
        eos_token_ids: Option<List<Int>>,
        special_token_ids: Option<List<Int>>,
        eos: Option<List<Int>>,
    ) -> PyResult<Tokenizer> {
        let (Some(eos), None) = (eos_token_ids.clone().or(eos.clone()), eos_token_ids.and(eos)) else {
            return Err(PyTypeError::new_err("expected the ids that end a text, once, as eos_token_ids"));
        };
        let (eos, special) = (vocabulary_ids(eos)?, vocabulary_ids(special_token_ids.unwrap_or_default())?);
        let tokens = tokens.0.into_iter().map(|token| token.0).collect();
        let make = move || maskwright::Tokenizer::from_tokens_with_special(tokens, &eos, &special);
        let made = aside(py, make)?;
        made.or_raise().map(Tokenizer)
    }

    /// The width of the model's logits, in tokens.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.n_vocab()
    }

    /// The model's chat template, if the tokenizer's files or the tokenizer of `transformers` have one; else
    /// None.
    #[getter]
    fn chat_template(&self) -> Option<&str> {
        self.0.chat_template()
    }

    /// The ids that end a text, in ascending order.
    #[getter]
    fn eos_token_ids(&self) -> Vec<u32> {
        ints(self.0.eos_token_ids().iter().copied())
    }

    /// The names and ids of the special tokens, which never match as text: those of the file, or of
    /// `special_token_ids`.
    #[getter]
    fn special_tokens(&self) -> BTreeMap<&str, u32> {
        self.0.special_tokens().map(|(id, name)| (name, id.0)).collect()
    }

    /// The bytes of a token, or None for special tokens and unused ids, which never match as text.
    ///
    /// Raises IndexError if `token_id` is not within `vocab_size`.
    fn token_bytes<'py>(&self, py: Python<'py>, token_id: Int) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Int(id) = token_id;
        match u32::try_from(id) {
            Ok(id) if (id as usize) < self.0.n_vocab() => {
                Ok(self.0.token_bytes(TokenId(id)).map(|bytes| PyBytes::new(py, bytes)))
            }
            _ => Err(PyIndexError::new_err(format!(
                "token {id} is not in a vocabulary of {} tokens",
                self.0.n_vocab()
            ))),
        }
    }

    /// The tokens of a text (str or bytes). They spell exactly the text: special tokens are neither
    /// recognised in it nor added.
    ///
    /// Raises TokenizerError if no tokens spell it.
    fn encode(&self, py: Python<'_>, text: TextBytes<OfTokenizer>) -> PyResult<Vec<u32>> {
        let encoded = match text.0.len() {
            0..LONG_TEXT => detached(py, || self.0.encode_bytes(&text.0))?,
            _ => {
                let tokenizer = self.0.clone();
                aside(py, move || tokenizer.encode_bytes(&text.0))?
            }
        };
        encoded.or_raise().map(ints)
    }

    /// The bytes of tokens, joined. Special tokens have none.
    ///
    /// Raises TokenizerError for what cannot be a token, such as -1.
    fn decode<'py>(&self, py: Python<'py>, token_ids: List<Int>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.decode(&vocabulary_ids(token_ids)?)))
    }

    /// What turns tokens into text as they come, for output that is shown while it is written. A character
    /// whose bytes are in several tokens appears with the last of them.
    ///
    /// >>> decoder = Tokenizer.from_tokens([b"caf", b"\xc3", b"\xa9"], []).decoder()
    /// >>> [decoder.feed(token) for token in [0, 1, 2]]
    /// ['caf', '', 'é']
    fn decoder<'py>(this: &Bound<'py, Tokenizer>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("maskwright._decoder")?.getattr("Decoder")?.call1((this,))
    }

    /// The tokenizer as bytes, for `deserialize`.
    fn serialize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &detached(py, || self.0.serialize())?))
    }

    /// Reads what `serialize` wrote. The bytes need not be trusted.
    ///
    /// Raises TokenizerError if they are no saved tokenizer, damaged or of another version, or what they say
    /// is wrong.
    #[staticmethod]
    fn deserialize(py: Python<'_>, saved: Saved) -> PyResult<Tokenizer> {
        aside(py, move || maskwright::Tokenizer::deserialize(&saved.0))?.or_raise().map(Tokenizer)
    }

    fn __reduce__<'py>(this: &Bound<'py, Tokenizer>) -> Reduced<'py, (Bound<'py, PyBytes>,)> {
        Ok((this.get_type().getattr("deserialize")?, (this.get().serialize(this.py())?,)))
    }

    /// The same: a tokenizer does not change.
    fn __copy__(this: Py<Tokenizer>) -> Py<Tokenizer> {
        this
    }

    /// The same: a tokenizer does not change.
    fn __deepcopy__(this: Py<Tokenizer>, _memo: &Bound<'_, PyAny>) -> Py<Tokenizer> {
        this
    }

    fn __repr__(&self) -> String {
        format!("Tokenizer(vocab_size={}, eos_token_ids={:?})", self.0.n_vocab(), self.eos_token_ids())
    }
}

/// Casts an argument to a tokenizer.
///
/// # Errors
/// TypeError, which says how to make one, for any other type.
pub(crate) fn own_tokenizer<'a, 'py>(given: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Tokenizer>> {
    if let Ok(tokenizer) = given.cast::<Tokenizer>() {
        return Ok(tokenizer);
    }
    let instead = if given.is_instance_of::<PyString>() || is_path(given)? {
        "Tokenizer.from_file reads a tokenizer.json, Tokenizer.from_gguf a GGUF file"
    } else if given.hasattr("_mergeable_ranks")? {
        "Tokenizer.from_tiktoken makes one of an Encoding of tiktoken"
    } else if given.hasattr("backend_tokenizer")? || given.hasattr("to_str")? {
        "Tokenizer.from_hf makes one of a tokenizer of transformers or tokenizers"
    } else {
        "Tokenizer.from_file, from_hf, from_tiktoken, from_gguf and from_tokens make one"
    };
    Err(wrong_type_but(given, "a Tokenizer", instead))
}

/// The bytes of a token.
struct TokenBytes(Vec<u8>);

impl Item for TokenBytes {
    const LIST: &'static str = "a list of tokens, each as bytes";
}

impl<'py> FromPyObject<'_, 'py> for TokenBytes {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<TokenBytes> {
        if object.is_instance_of::<PyString>() {
            return Err(wrong_type_but(&object, "each token as bytes", "write b\"a\", or \"a\".encode()"));
        }
        object.extract().map(TokenBytes).map_err(|_| wrong_type(&object, "each token as bytes"))
    }
}

fn options(eos_token_ids: Option<List<Int>>, vocab_size: Option<Count>) -> PyResult<TokenizerOptions> {
    let eos_token_ids = eos_token_ids.map(vocabulary_ids).transpose()?;
    let mut options = TokenizerOptions::default();
    options.eos_token_ids = eos_token_ids;
    options.vocab_size = vocab_size.map(|Count(size)| size);
    Ok(options)
}

/// Sets what `options` leaves open to what a model of transformers, or its config, says.
///
/// `generate` stops at the ids of the generation config, if it names any. A model of text and images keeps
/// the width of its logits in a config of its own for text.
fn add_options_of(model: &Bound<'_, PyAny>, options: &mut TokenizerOptions) -> PyResult<()> {
    let config = model.getattr_opt("config")?.unwrap_or_else(|| model.clone());
    let of_text = match config.getattr_opt("get_text_config")? {
        Some(get) => get.call0()?,
        None => config.clone(),
    };
    if options.vocab_size.is_none() {
        let Some(width) = of_text.getattr_opt("vocab_size")?.filter(|width| !width.is_none()) else {
            return Err(PyTypeError::new_err(format!(
                "expected a model of transformers or its config as `model`, not {}: it has no vocab_size",
                model.get_type().name()?
            )));
        };
        options.vocab_size = Some(width.extract::<Count>()?.0);
    }
    let generation_config = model.getattr_opt("generation_config")?;
    for source in generation_config.iter().chain([&config, &of_text]) {
        if options.eos_token_ids.is_none() {
            options.eos_token_ids = own_eos_token_ids(source)?;
        }
    }
    Ok(())
}

/// The `eos_token_id` that a tokenizer or a config of transformers has: an id, a list of ids, or None.
fn own_eos_token_ids(owner: &Bound<'_, PyAny>) -> PyResult<Option<Vec<TokenId>>> {
    match owner.getattr_opt("eos_token_id")? {
        None => Ok(None),
        Some(ids) if ids.is_none() => Ok(None),
        Some(ids) => {
            let ids = match ids.extract::<Int>() {
                Ok(id) => List(vec![id]),
                Err(error) if ids.is_instance_of::<PyInt>() => return Err(error),
                Err(_) => ids.extract()?,
            };
            vocabulary_ids(ids).map(Some)
        }
    }
}

/// The tokens of a `tiktoken.Encoding` that is not built in. Its end-of-text token is `<|endoftext|>`, unless
/// the options say otherwise.
fn from_ranks(py: Python<'_>, encoding: &Bound<'_, PyAny>, options: TokenizerOptions) -> PyResult<Tokenizer> {
    let ranks = encoding.getattr("_mergeable_ranks")?;
    let n_tokens = options.vocab_size.map_or_else(|| encoding.getattr("n_vocab")?.extract(), Ok)?;
    if n_tokens > MAX_TOKENS {
        return Err(LimitError::new_err(format!(
            "a vocabulary of {n_tokens} tokens is more than the limit of {MAX_TOKENS}"
        )));
    }
    let mut tokens = vec![Vec::new(); n_tokens];
    for (bytes, id) in ranks.cast::<PyDict>()? {
        let id: usize = id.extract()?;
        let Some(token) = tokens.get_mut(id) else {
            return Err(TokenizerError::new_err(format!(
                "the encoding has token {id}, more than its vocabulary of {} tokens allows",
                tokens.len()
            )));
        };
        *token = bytes.extract()?;
    }
    let eos = match options.eos_token_ids {
        Some(ids) => ids,
        None => encoding
            .getattr("_special_tokens")?
            .get_item("<|endoftext|>")
            .and_then(|id| Ok(vec![TokenId(id.extract()?)]))
            .map_err(|_| {
                TokenizerError::new_err(
                    "the encoding has no <|endoftext|>; name the ids that end a text in eos_token_ids",
                )
            })?,
    };
    aside(py, move || maskwright::Tokenizer::from_tokens(tokens, &eos))?.or_raise().map(Tokenizer)
}
