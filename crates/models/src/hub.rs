//! Models on the Hugging Face hub, by the crate `hf-hub`, in the cache that all its tools share. Downloads
//! need the feature `hub`, whose client and encryption are a tenth of the program's build.

use std::path::{Component, Path, PathBuf};

use hf_hub::Cache;

use crate::{
    error::ModelsError,
    pull::{PullConfig, PullProgress},
    resolve::ModelSource,
};

/// A GGUF file of a repository; without a name, the only one or the one in Q8_0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HubFile {
    repository: String,
    file: Option<String>,
}

impl HubFile {
    /// Reads `organisation/repository` or `organisation/repository:file.gguf`; `None` if it is neither.
    pub(crate) fn parse(id: &str) -> Option<Self> {
        let (repository, file) = match id.split_once(':') {
            Some((repository, file)) => (repository, Some(file)),
            None => (id, None),
        };
        let (organisation, name) = repository.split_once('/')?;
        // Letters, digits and -_. as the hub allows them; so a path such as ./model is no id.
        let is_name = |part: &str| {
            part.starts_with(|first: char| first.is_ascii_alphanumeric())
                && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        let is_path = file.is_none() && name.to_ascii_lowercase().ends_with(".gguf");
        (is_name(organisation) && is_name(name) && !is_path && file.is_none_or(is_gguf))
            .then(|| HubFile { repository: repository.to_owned(), file: file.map(str::to_owned) })
    }
}

/// Whether this is a GGUF file inside a folder: a relative path that does not leave it.
fn is_gguf(file: &str) -> bool {
    let inside = Path::new(file).components().all(|part| matches!(part, Component::Normal(_)));
    inside && file.to_ascii_lowercase().ends_with(".gguf")
}

/// Where a file comes from and is kept.
pub(crate) fn source(file: &HubFile, config: &PullConfig) -> Result<ModelSource, ModelsError> {
    let origin = format!("{}/{}", endpoint(config), file.repository);
    Ok(ModelSource { origin, kept_in: cache(config)?.path().clone() })
}

/// The hub's address, without a slash at the end.
fn endpoint(config: &PullConfig) -> String {
    let endpoint = config.hub_endpoint.clone().or_else(|| std::env::var("HF_ENDPOINT").ok());
    endpoint.as_deref().unwrap_or("https://huggingface.co").trim_end_matches('/').to_owned()
}

fn cache(config: &PullConfig) -> Result<Cache, ModelsError> {
    let has_home = dirs::home_dir().is_some() || std::env::var_os("HF_HOME").is_some();
    match &config.hub_cache_dir {
        Some(folder) => Ok(Cache::new(folder.clone())),
        None if has_home => Ok(Cache::from_env()),
        None => Err(ModelsError::fetch("there is no folder for the hub's cache: set HF_HOME to one")),
    }
}

/// The file in the hub's cache, downloaded if it is not there.
pub(crate) fn fetch(
    file: &HubFile,
    config: &PullConfig,
    on_progress: &mut dyn FnMut(PullProgress),
) -> Result<PathBuf, ModelsError> {
    let cache = cache(config)?;
    let known = file.file.as_ref().and_then(|name| cache.model(file.repository.clone()).get(name));
    match known {
        Some(path) => Ok(path),
        None => download(file, &endpoint(config), cache, on_progress),
    }
}

#[cfg(feature = "hub")]
use download::download;

#[cfg(not(feature = "hub"))]
fn download(
    file: &HubFile,
    endpoint: &str,
    cache: Cache,
    _on_progress: &mut dyn FnMut(PullProgress),
) -> Result<PathBuf, ModelsError> {
    let HubFile { repository, file } = file;
    let file = file.as_deref().unwrap_or("FILE.gguf");
    Err(ModelsError::fetch(format!(
        "{repository}:{file} is not in the cache of the Hugging Face hub ({}), and this program is built without what \
         downloads from {endpoint}: build it with the feature `hub`, or `hf download {repository} {file}`",
        cache.path().display()
    )))
}

/// Downloads, by the blocking client of `hf-hub`.
#[cfg(feature = "hub")]
mod download {
    use hf_hub::api::{
        Progress,
        sync::{ApiBuilder, ApiRepo},
    };

    use super::*;
    use crate::pull::PullStage;

    /// The file, out of the cache or downloaded into it.
    pub(super) fn download(
        file: &HubFile,
        endpoint: &str,
        cache: Cache,
        on_progress: &mut dyn FnMut(PullProgress),
    ) -> Result<PathBuf, ModelsError> {
        let id = &file.repository;
        let failed = |what: &str, error| {
            ModelsError::fetch(format!("{what} {id} on the Hugging Face hub ({endpoint})")).because(error)
        };
        let builder =
            ApiBuilder::from_cache(cache.clone()).with_progress(false).with_endpoint(endpoint.to_owned());
        let api = builder.build().map_err(|error| failed("no connection can be made for", error))?;
        let repository = api.model(id.clone());
        let name = match &file.file {
            Some(name) => name.clone(),
            None => choose(id, &repository, endpoint)?,
        };
        if let Some(path) = cache.model(id.clone()).get(&name) {
            return Ok(path);
        }
        let progress = Reporter { on_progress, n_done: 0, n_total: 0 };
        let path = repository.download_with_progress(&name, progress);
        path.map_err(|error| failed(&format!("cannot get {name} of"), error))
    }

    /// The one GGUF file of a repository, or the one in Q8_0.
    fn choose(id: &str, repository: &ApiRepo, endpoint: &str) -> Result<String, ModelsError> {
        let info = repository.info().map_err(|error| {
            let message = format!("cannot list the files of {id} on the Hugging Face hub ({endpoint})");
            ModelsError::fetch(message).because(error)
        })?;
        let mut names: Vec<String> =
            info.siblings.into_iter().map(|file| file.rfilename).filter(|name| is_gguf(name)).collect();
        if names.len() > 1 {
            let in_q8_0: Vec<String> = names
                .iter()
                .filter(|name| name.to_ascii_lowercase().ends_with("q8_0.gguf"))
                .cloned()
                .collect();
            if in_q8_0.len() == 1 {
                names = in_q8_0;
            }
        }
        match names.len() {
            1 => Ok(names.remove(0)),
            0 => Err(ModelsError::fetch(format!("{id} on the Hugging Face hub has no .gguf file"))),
            _ => {
                let names = names.join(", ");
                Err(ModelsError::fetch(format!("{id} has several files, name one as {id}:FILE: {names}")))
            }
        }
    }

    /// Passes the hub's progress on.
    struct Reporter<'a> {
        on_progress: &'a mut dyn FnMut(PullProgress),
        n_done: u64,
        n_total: u64,
    }

    impl Reporter<'_> {
        fn report(&mut self) {
            let (n_done, n_total) = (self.n_done, self.n_total);
            (self.on_progress)(PullProgress { stage: PullStage::Download, n_done, n_total });
        }
    }

    impl Progress for Reporter<'_> {
        fn init(&mut self, size: usize, _filename: &str) {
            (self.n_done, self.n_total) = (0, size as u64);
            self.report();
        }

        fn update(&mut self, size: usize) {
            self.n_done += size as u64;
            self.report();
        }

        fn finish(&mut self) {
            self.report();
        }
    }
}
