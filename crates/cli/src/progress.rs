//! Progress: bars over tokens, and downloads: where from and where to, then bars on a terminal, else a line for each stage.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use maskwright_models::{PullConfig, PullProgress, PullStage, model_source};

use crate::outcome::{note, say};

/// Shows what `pull` reports.
pub(crate) struct Progress {
    name: String,
    stage: Option<PullStage>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Progress of fetching the model `name`; nothing is shown before the first report.
    pub(crate) fn new(name: &str) -> Progress {
        Progress { name: name.to_owned(), stage: None, bar: None }
    }

    /// Shows a report.
    pub(crate) fn update(&mut self, progress: PullProgress) {
        let PullProgress { stage, n_done, n_total } = progress;
        if self.stage != Some(stage) {
            self.finish();
            if self.stage.is_none()
                && let Ok(Some(source)) = model_source(&self.name, &PullConfig::default())
            {
                let (name, origin, kept_in) = (&self.name, source.origin, source.kept_in.display());
                note(format_args!("fetching {name} from {origin}; it is kept in {kept_in}"));
            }
            self.stage = Some(stage);
            let title = format!("{} {}", stage.describe(), self.name);
            if std::io::stderr().is_terminal() {
                self.bar = Some(bar(stage, title));
            } else {
                say(title);
            }
        }
        if let Some(bar) = &self.bar {
            bar.set_length(n_total);
            bar.set_position(n_done);
        }
    }

    /// Ends the bar of the last stage, which stays on the screen.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish();
        }
    }
}

/// A bar over tokens, in the form of `template`; hidden where standard error is no terminal.
pub(crate) fn token_bar(template: &str, n_tokens: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    styled(template, n_tokens as u64)
}

fn styled(template: &str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style)
}

/// The bar of a stage, on standard error.
fn bar(stage: PullStage, title: String) -> ProgressBar {
    let counts = match stage {
        PullStage::Download | PullStage::Unpack => "{bytes}/{total_bytes}",
        PullStage::Requantize => "{pos}/{len} tensors",
    };
    styled(&format!("{{msg:24}} {{bar:32}} {counts} {{elapsed}}"), 1).with_message(title)
}
