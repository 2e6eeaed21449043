//! From `--model` and `--tokenizer` to files, networks and vocabularies.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use maskwright::{TokenId, Tokenizer, TokenizerOptions};
use maskwright_decode::LanguageModel;
use maskwright_models::{LlamaModel, ModelsError, PullConfig, known_models, pull, resolve_model};
use maskwright_syntax::nearest_name;

use crate::arguments::VocabularyArguments;
use crate::interrupt::Interrupt;
use crate::outcome::Failure;
use crate::progress::Progress;
use crate::reading::Reading;

/// The file of a model; fetched, with its progress shown, if it is not on this machine.
pub(crate) fn locate(name: &str) -> anyhow::Result<PathBuf> {
    let config = PullConfig::default();
    let mut progress = Progress::new(name);
    let mut result = resolve_model(name, &config, &mut |report| progress.update(report));
    if result.as_ref().is_err_and(ModelsError::is_not_pulled) {
        result = pull(name, &config, &mut |report| progress.update(report));
    }
    progress.finish();
    result.map_err(|error| fetch_error(name, error))
}

/// Fetches a model; returns its file.
pub(crate) fn fetch(name: &str) -> anyhow::Result<PathBuf> {
    let mut progress = Progress::new(name);
    let result = pull(name, &PullConfig::default(), &mut |report| progress.update(report));
    progress.finish();
    result.map_err(|error| fetch_error(name, error))
}

/// Where the name is a known one, its download failed; else the name is at fault.
fn fetch_error(name: &str, error: ModelsError) -> anyhow::Error {
    let is_failure = known_models().any(|known| known == name);
    let error = anyhow::Error::new(error);
    if is_failure {
        return anyhow::Error::new(Failure(format!("{error:#}")));
    }
    match nearest_name(name, known_models()) {
        Some((_, meant)) => anyhow!("{error:#}\nHelp: did you mean `{meant}`?"),
        None => error,
    }
}

/// The network of a model, whose reading Ctrl-C ends, and its tokenizer.
pub(crate) fn load(name: &str, interrupt: &Interrupt) -> anyhow::Result<(Reading<LlamaModel>, Tokenizer)> {
    let path = locate(name)?;
    let pressed = interrupt.clone();
    let model = Reading::new(LlamaModel::from_gguf(&path)?, move || pressed.is_pressed());
    let tokenizer = Tokenizer::from_gguf(&path, &TokenizerOptions::default())?;
    if tokenizer.n_vocab() > model.n_vocab() {
        let (n_tokens, n_logits) = (tokenizer.n_vocab(), model.n_vocab());
        bail!("{}: its vocabulary has {n_tokens} tokens, its network {n_logits} logits", path.display());
    }
    Ok((model, tokenizer))
}

/// A tokenizer by its file (`.gguf`, else tokenizer.json), or by the name of one that is built in.
pub(crate) fn load_tokenizer(name: &str) -> anyhow::Result<Tokenizer> {
    let path = Path::new(name);
    let options = TokenizerOptions::default();
    let is_gguf = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"));
    if is_gguf {
        return Ok(Tokenizer::from_gguf(path, &options)?);
    }
    // Names of encodings have no separator and no extension; what looks like a path is one.
    let looks_like_path = path.exists() || path.extension().is_some() || path.components().count() > 1;
    if looks_like_path {
        let path = if path.is_dir() { path.join("tokenizer.json") } else { path.to_path_buf() };
        return Ok(Tokenizer::from_file(&path, &options)?);
    }
    Tokenizer::from_tiktoken(name, &options).with_context(|| format!("{name:?} is no file"))
}

/// The tokenizer that the arguments name; `None` if they name none.
pub(crate) fn tokenizer_of(arguments: &VocabularyArguments) -> anyhow::Result<Option<Tokenizer>> {
    Ok(match (&arguments.tokenizer, &arguments.model) {
        (Some(tokenizer), _) => Some(load_tokenizer(tokenizer)?),
        (None, Some(name)) => Some(Tokenizer::from_gguf(&locate(name)?, &TokenizerOptions::default())?),
        (None, None) => None,
    })
}

/// A vocabulary of the 256 bytes, for questions about texts alone; its last id ends a text.
pub(crate) fn byte_tokenizer() -> anyhow::Result<Tokenizer> {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.push(Vec::new());
    Ok(Tokenizer::from_tokens(tokens, &[TokenId(256)])?)
}

/// Starts this program anew with one thread for the network, unless the user has said how many.
///
/// The network reads the number of its threads from the environment when it first runs, and changing the
/// environment of a running process is unsafe. With more than one thread a small network on a busy machine
/// falls to a fraction of its speed. Where a program cannot be replaced (outside Unix), nothing is done.
pub(crate) fn ensure_one_thread() {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        const THREADS: &str = "RAYON_NUM_THREADS";
        if std::env::var_os(THREADS).is_none()
            && std::env::var_os("CANDLE_NUM_THREADS").is_none()
            && let Ok(program) = std::env::current_exe()
        {
            // Returns only if it failed; then the network runs with its own number of threads.
            let _ = std::process::Command::new(program)
                .args(std::env::args_os().skip(1))
                .env(THREADS, "1")
                .exec();
        }
    }
}
