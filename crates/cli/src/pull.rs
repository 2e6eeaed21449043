//! `maskwright pull`: a model's weights onto this machine.

use std::io::Write;

use crate::arguments::Pull;
use crate::model;
use crate::outcome::Outcome;

/// Fetches the model and prints its path.
pub(crate) fn run(arguments: &Pull) -> anyhow::Result<Outcome> {
    let path = model::fetch(&arguments.name)?;
    writeln!(std::io::stdout(), "{}", path.display())?;
    Ok(Outcome::Done)
}
