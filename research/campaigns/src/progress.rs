//! Progress: a bar on a terminal, nothing elsewhere (the log tells).

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over `n_total` units of work, `n_done` of them done before.
pub(crate) fn bar(title: &'static str, n_done: usize, n_total: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:16} {bar:32} {pos}/{len} {elapsed} (left: {eta})");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(n_total as u64).with_style(style).with_message(title).with_position(n_done as u64)
}
