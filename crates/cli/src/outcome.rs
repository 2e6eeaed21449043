//! How a command ends: exit codes, and errors as the user sees them.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// How a command that ran to its end has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done: exit code 0.
    Done,
    /// The text is not in the language or could not be generated, or the schema is not enforced in full: exit
    /// code 1.
    Failed,
    /// Bad usage or bad input: exit code 2.
    BadInput,
    /// Ended by Ctrl-C: exit code 130, as a shell says it.
    Interrupted,
    /// Whoever read the output has closed it: exit code 141, as a shell says it of programs that a closed
    /// pipe ends.
    OutputClosed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Done => 0,
            Outcome::Failed => 1,
            Outcome::BadInput => 2,
            Outcome::Interrupted => 130,
            Outcome::OutputClosed => 141,
        })
    }
}

/// An error that is not the fault of the input: something could not be generated or fetched.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// The exit code of an error: bad input, unless it is marked as a [`Failure`].
pub(crate) fn of_error(error: &anyhow::Error) -> Outcome {
    if error.downcast_ref::<Failure>().is_some() { Outcome::Failed } else { Outcome::BadInput }
}

/// Whether the error is that a reader of the output has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.into_iter().any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

/// Writes an error and its causes to standard error; a cause of several lines (a source frame) gets its own.
pub(crate) fn report(error: &anyhow::Error) {
    let mut message = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if message.ends_with(&cause) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&cause);
    }
    let style = anstyle::Style::new().fg_color(Some(anstyle::AnsiColor::Red.into())).bold();
    say(format_args!("{style}error:{style:#} {message}"));
}

/// Writes a remark to standard error.
pub(crate) fn note(message: impl std::fmt::Display) {
    let style = anstyle::Style::new().bold();
    say(format_args!("{style}note:{style:#} {message}"));
}

/// Writes to standard error what is probably a mistake.
pub(crate) fn warning(message: impl std::fmt::Display) {
    let style = anstyle::Style::new().fg_color(Some(anstyle::AnsiColor::Yellow.into())).bold();
    say(format_args!("{style}warning:{style:#} {message}"));
}

/// Writes a line to standard error; that it cannot be written is nothing to fail for.
pub(crate) fn say(message: impl std::fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{message}");
}

/// Writes a JSON value and a line end to standard output.
pub(crate) fn print_json(value: &serde_json::Value) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{value}")?;
    stdout.flush()
}
