//! Runs the program, as its users do.

// Each test binary uses its own part of this.
#![allow(dead_code, reason = "shared by several test binaries")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the program did.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Run {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Fails unless standard error contains all of these.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Run {
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in: {}", self.stderr);
        }
        self
    }
}

/// Runs the program with nothing on its standard input.
pub(crate) fn maskwright(arguments: &[&str]) -> Run {
    maskwright_with(arguments, b"")
}

/// Runs the program with `stdin` on its standard input.
pub(crate) fn maskwright_with(arguments: &[&str], stdin: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_maskwright"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that does not read its input may have ended already.
    let _ = child.stdin.take().expect("it was piped").write_all(stdin);
    let output = child.wait_with_output().expect("the program ends");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
    }
}

/// A file in the examples folder.
pub(crate) fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).display().to_string()
}

/// A file of the data that lies beside the project, if it is there.
pub(crate) fn shared(name: &str) -> Option<String> {
    maskwright_oracle::shared(name).map(|path| path.display().to_string())
}

/// The small network that the tests generate with.
pub(crate) fn stories() -> Option<String> {
    shared("models/stories260K/stories260K-f32.gguf")
}
