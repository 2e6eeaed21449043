//! The conformance runner: MaskBench and the official JSON Schema test suite, in both property orders.
//!
//! The work is done by the `conformance` example of `maskwright-json-schema`, built with optimisations; this
//! task knows no front end. Deliberate deviations are listed in `testdata/json-schema/deviations.md`.

use std::path::Path;

use anyhow::{Context, ensure};

use crate::commands::{cargo, run};

/// Runs the conformance suites found in `folder`; lists every miss if asked.
pub(crate) fn run_conformance(folder: &Path, shows_misses: bool) -> anyhow::Result<()> {
    let folder = folder.canonicalize().with_context(|| format!("no folder {}", folder.display()))?;
    ensure!(folder.is_dir(), "{} is not a folder", folder.display());
    for order in ["any", "schema"] {
        let mut command = cargo();
        command.args(["run", "--quiet", "--release", "-p", "maskwright-json-schema"]);
        command.args(["--example", "conformance", "--"]);
        command.arg(&folder).arg(order);
        if shows_misses {
            command.arg("--misses");
        }
        run(&mut command)?;
    }
    Ok(())
}
