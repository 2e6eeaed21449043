//! Data that lies beside the project: real tokenizers, schemas, programs and models, too large to be part of
//! it.

use std::io::Write;
use std::path::PathBuf;

/// The variable that names the folder of the data; by default it is `shared` beside the project.
const FOLDER: &str = "MASKWRIGHT_SHARED";

/// The variable that names the file in which skipped tests are listed. `cargo xtask test` sets it, and prints
/// their number.
const LIST: &str = "MASKWRIGHT_SKIPPED";

/// The path of an outside file or folder, or `None` if it is absent: then the calling test is skipped, or
/// runs on small data of its own. It is counted either way.
///
/// # Panics
/// If the list of skipped tests can't be written.
///
/// ```no_run
/// let Some(tokenizer) = maskwright_oracle::shared("tokenizers/gpt2/tokenizer.json") else { return };
/// ```
pub fn shared(name: &str) -> Option<PathBuf> {
    shared_folder(name).map(|folder| folder.join(name))
}

/// How many random cases a property test takes: as many as `PROPTEST_CASES` says, or `whole` where the long
/// run is asked for (`cargo xtask test --long` sets `MASKWRIGHT_LONG`), or a third of them.
pub fn cases(whole: u32) -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok().and_then(|given| given.parse().ok());
    let is_long = || std::env::var_os("MASKWRIGHT_LONG").is_some();
    given.unwrap_or_else(|| if is_long() { whole } else { whole.div_ceil(3) })
}

/// The folder of outside data, or `None` if it lacks `name`; counts as [`shared()`] does.
///
/// # Panics
/// If the list of skipped tests can't be written.
pub fn shared_folder(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER).map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let path = folder.join(name);
    if path.exists() {
        return Some(folder);
    }
    count_skipped(&path.display().to_string());
    None
}

/// Whether a program that a test runs can be started. If not, the test is skipped, and counted.
///
/// # Panics
/// If the list of skipped tests can't be written.
pub fn has_program(name: &str) -> bool {
    let is_there = std::process::Command::new(name).arg("--version").output().is_ok();
    if !is_there {
        count_skipped(name);
    }
    is_there
}

/// Lists a test that lacks something.
fn count_skipped(what: &str) {
    if let Some(list) = std::env::var_os(LIST) {
        // A test runs on a thread of its name. One line is one write, so lines of parallel tests don't mix.
        let program = std::env::args().next().unwrap_or_default();
        let line = format!("{program} {}\t{what}\n", std::thread::current().name().unwrap_or_default());
        let file = std::fs::OpenOptions::new().create(true).append(true).open(list);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the list of skipped tests is writable");
    }
}
