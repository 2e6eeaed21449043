//! `cargo xtask experiment NAME`: a campaign, in a release build.

use std::ffi::OsString;

use crate::commands::{cargo, run};

/// Runs the campaigns' program with these arguments. The network gets one thread unless the environment says
/// otherwise: with more, a small network on a busy machine falls to a fraction of its speed.
pub(crate) fn run_campaign(arguments: &[OsString]) -> anyhow::Result<()> {
    let mut command = cargo();
    command.args(["run", "--release", "--quiet", "--package", "maskwright-campaigns", "--"]).args(arguments);
    if std::env::var_os("RAYON_NUM_THREADS").is_none() {
        command.env("RAYON_NUM_THREADS", "1");
    }
    run(&mut command)
}
