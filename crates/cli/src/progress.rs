//! Progress: bars on a terminal, else lines. Long work prints a line every few seconds. A download first says
//! where it comes from and goes to, then prints a line for each stage.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

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

/// Does what may take seconds and cannot say how far it is: after two of them, says now and then that it is
/// still at work.
pub(crate) fn waiting<T>(work: impl FnOnce() -> T) -> T {
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let started = Instant::now();
            let mut next = Meter::FIRST_LINE;
            // The sender is dropped where the work ends, also by a panic.
            while is_done.recv_timeout(next) == Err(RecvTimeoutError::Timeout) {
                say(format_args!(
                    "looking for a text that fills the holes, {} s",
                    started.elapsed().as_secs()
                ));
                next = Meter::BETWEEN_LINES;
            }
        });
        let _done = done;
        work()
    })
}

/// Shows how far some work is, until it is dropped.
pub(crate) struct Meter {
    title: &'static str,
    unit: &'static str,
    /// The text between the number done and the total.
    of: &'static str,
    /// `None` where standard error is no terminal: there are lines then.
    bar: Option<ProgressBar>,
    started: Instant,
    next_line: Duration,
}

impl Meter {
    /// When the first line is written.
    const FIRST_LINE: Duration = Duration::from_secs(2);
    /// The time between two lines.
    const BETWEEN_LINES: Duration = Duration::from_secs(5);

    /// Shows what is done (`title`) and how much of it, in numbers of `unit`. Nothing is shown before the
    /// first update.
    pub(crate) fn new(title: &'static str, unit: &'static str) -> Meter {
        Meter::with_separator(title, unit, "/")
    }

    /// The same for work that may end before the total is reached.
    pub(crate) fn at_most(title: &'static str, unit: &'static str) -> Meter {
        Meter::with_separator(title, unit, " of at most ")
    }

    fn with_separator(title: &'static str, unit: &'static str, of: &'static str) -> Meter {
        let template = format!("{title} {{bar:32}} {{pos}}{of}{{len}} {unit}{{msg}}, {{elapsed}}");
        let bar = std::io::stderr().is_terminal().then(|| styled(&template, 0));
        Meter { title, unit, of, bar, started: Instant::now(), next_line: Meter::FIRST_LINE }
    }

    /// Shows that `n_done` of `n_total` are done, and `more`.
    pub(crate) fn update(&mut self, n_done: usize, n_total: usize, more: &str) {
        let elapsed = self.started.elapsed();
        if let Some(bar) = &self.bar {
            bar.set_length(n_total as u64);
            bar.set_position(n_done as u64);
            bar.set_message(more.to_owned());
        } else if elapsed >= self.next_line {
            let Meter { title, unit, of, .. } = self;
            say(format_args!("{title}: {n_done}{of}{n_total} {unit}{more}, {} s", elapsed.as_secs()));
            self.next_line = elapsed + Meter::BETWEEN_LINES;
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
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
