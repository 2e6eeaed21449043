//! Ctrl-C as a flag.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use maskwright::CancelToken;

use crate::outcome::{Outcome, say};

/// Whether the user has pressed Ctrl-C, since [`Interrupt::watch`].
#[derive(Clone)]
pub(crate) struct Interrupt {
    pressed: Arc<AtomicBool>,
    cancel: CancelToken,
}

impl Interrupt {
    /// From now on the first Ctrl-C sets the flag and ends a compilation, and the second ends the process.
    pub(crate) fn watch() -> anyhow::Result<Interrupt> {
        let interrupt = Interrupt { pressed: Arc::default(), cancel: CancelToken::default() };
        let watcher = interrupt.clone();
        let on_signal = move || {
            if watcher.pressed.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            watcher.cancel.cancel();
        };
        ctrlc::set_handler(on_signal).context("Ctrl-C cannot be watched")?;
        Ok(interrupt)
    }

    /// One that has been pressed.
    #[cfg(test)]
    pub(crate) fn pressed() -> Interrupt {
        Interrupt { pressed: Arc::new(AtomicBool::new(true)), cancel: CancelToken::default() }
    }

    /// Whether it has been pressed.
    pub(crate) fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::SeqCst)
    }

    /// How a command ends. What Ctrl-C broke off (a compilation, a download) may call itself an error.
    pub(crate) fn conclude(&self, result: anyhow::Result<Outcome>) -> anyhow::Result<Outcome> {
        if result.is_err() && self.is_pressed() {
            say("interrupted");
            return Ok(Outcome::Interrupted);
        }
        result
    }

    /// What ends a compilation.
    pub(crate) fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }
}
