//! `cargo xtask site`: the documentation site, built from `docs/` into `target/site`.
//!
//! The playground is part of it if `cargo xtask js` has built it: `docs/.site/hooks.py` takes it in. Not part
//! of `.ci/run`, since MkDocs is installed from the network. Links, and the way to each page, are tested
//! without it, by `python/tests/test_site.py`.

use std::process::Command;

use crate::commands::{root, run};
use crate::js;
use crate::python_env::Environment;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Serve it on this machine, and build it again whenever a page changes.
    #[arg(long)]
    serve: bool,
    /// Then try it in headless Chromium: the search, and pages wide and narrow, light and dark.
    #[arg(long, conflicts_with = "serve")]
    check: bool,
}

/// Builds the site, or serves it.
#[allow(clippy::print_stderr, reason = "where the site is, and what it lacks")]
pub(crate) fn run_site(arguments: &Arguments) -> anyhow::Result<()> {
    let environment = Environment::with("site-env", &["-r", "docs/.site/requirements.txt"])?;
    let mut mkdocs = Command::new(environment.python());
    // Links that lead nowhere are errors (`strict` in mkdocs.yml), but not while one writes.
    let task: &[&str] = if arguments.serve { &["serve", "--no-strict"] } else { &["build"] };
    mkdocs.args(["-m", "mkdocs"]).args(task);
    // A note of Material's about its successor.
    run(mkdocs.env("NO_MKDOCS_2_WARNING", "1"))?;
    let site = root().join("target/site");
    eprintln!("site: {}", site.join("index.html").display());
    if !root().join("target/playground/index.html").exists() {
        eprintln!("site: without the playground, which `cargo xtask js` builds");
    }
    if arguments.check {
        js::test_in_browser("site.test.mjs")?;
    }
    Ok(())
}
