//! `cargo xtask audit`: licences, bans and sources of all dependencies, by `cargo deny` and `deny.toml`.

use std::process::Stdio;

use anyhow::bail;

use crate::commands::{cargo, run};

/// Runs `cargo deny`, if it is installed.
pub(crate) fn run_deny() -> anyhow::Result<()> {
    let probe = cargo().args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        bail!(
            "cargo-deny is not installed; `cargo install --locked cargo-deny` installs it, in some minutes, \
             and so do the packages of many systems"
        );
    }
    run(cargo().args(["deny", "--locked", "--all-features", "check", "licenses", "bans", "sources"]))
}
