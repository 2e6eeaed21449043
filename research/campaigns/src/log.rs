//! A campaign's log: lines of JSON, appended as results come, read again to go on.
//!
//! The first line holds the campaign's name and settings; a log is continued only with the same. Every start
//! adds a line with the version and the commit, so it is known which code made which entries. Opening is
//! linear in the log, appending in the entry.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Arguments that all campaigns have.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct LogArguments {
    /// Where results are kept [default: target/experiments/NAME.jsonl]
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Forget the results of earlier runs
    #[arg(long)]
    pub(crate) fresh: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<T> {
    Campaign { name: String, settings: Value },
    Started { version: String, commit: Option<String>, unix_time: u64 },
    Entry(T),
}

/// An open log of entries of type `T`.
pub(crate) struct Log<T> {
    file: File,
    path: PathBuf,
    entries: Vec<T>,
}

impl<T: Serialize + DeserializeOwned> Log<T> {
    /// Opens the log of a campaign with these settings, made if there is none.
    ///
    /// # Errors
    /// If the file cannot be read or written, or was made with other settings.
    pub(crate) fn open(name: &str, settings: &Value, arguments: &LogArguments) -> anyhow::Result<Log<T>> {
        let path = arguments.log.clone().unwrap_or_else(|| default_path(name));
        Self::open_at(&path, name, settings, arguments.fresh)
            .with_context(|| format!("the log {}", path.display()))
    }

    fn open_at(path: &Path, name: &str, settings: &Value, is_fresh: bool) -> anyhow::Result<Log<T>> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(is_fresh).open(path)?;
        let text = std::fs::read_to_string(path)?;
        let mut entries = Vec::new();
        let mut n_whole = 0;
        // A last line without its line end was torn off with its run.
        for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let place = || format!("line at byte {n_whole}");
            match serde_json::from_str(line).with_context(place)? {
                Line::Campaign { name: other, settings: others } => {
                    if other != name || &others != settings {
                        bail!(
                            "was made by `{other}` with {others}, this is `{name}` with {settings}: \
                             give another --log, or --fresh to start over"
                        );
                    }
                }
                Line::Started { .. } => {}
                Line::Entry(entry) => entries.push(entry),
            }
            n_whole += line.len();
        }
        file.set_len(n_whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        let mut log = Log { file, path: path.to_path_buf(), entries };
        if n_whole == 0 {
            log.write(&Line::Campaign { name: name.to_owned(), settings: settings.clone() })?;
        }
        let unix_time =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let version = env!("CARGO_PKG_VERSION").to_owned();
        log.write(&Line::Started { version, commit: commit(), unix_time })?;
        Ok(log)
    }

    /// What is known so far, oldest first.
    pub(crate) fn entries(&self) -> &[T] {
        &self.entries
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds an entry; it is on its way to the disk when this returns.
    pub(crate) fn append(&mut self, entry: T) -> anyhow::Result<()> {
        let line = Line::Entry(entry);
        self.write(&line)?;
        if let Line::Entry(entry) = line {
            self.entries.push(entry);
        }
        Ok(())
    }

    fn write(&mut self, line: &Line<T>) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).context("cannot be written")
    }
}

fn default_path(name: &str) -> PathBuf {
    crate::data::workspace().join("target/experiments").join(format!("{name}.jsonl"))
}

/// The commit of the source, marked if files were changed since; `None` outside a repository.
fn commit() -> Option<String> {
    let output = Command::new("git")
        .args(["describe", "--always", "--dirty", "--abbrev=12"])
        .current_dir(crate::data::workspace())
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| commit.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_log_goes_on_where_it_was_torn_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/log.jsonl");
        let settings = json!({"seed": 1});
        let mut log = Log::<u32>::open_at(&path, "test", &settings, false).unwrap();
        log.append(7).unwrap();
        log.append(8).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 3]).unwrap();
        let mut log = Log::<u32>::open_at(&path, "test", &settings, false).unwrap();
        assert_eq!(log.entries(), [7]);
        log.append(9).unwrap();
        assert_eq!(Log::<u32>::open_at(&path, "test", &settings, false).unwrap().entries(), [7, 9]);
        let error = Log::<u32>::open_at(&path, "test", &json!({"seed": 2}), false).err().unwrap();
        assert!(error.to_string().contains("--fresh"), "{error}");
        assert!(Log::<u32>::open_at(&path, "test", &json!({"seed": 2}), true).unwrap().entries().is_empty());
    }
}
