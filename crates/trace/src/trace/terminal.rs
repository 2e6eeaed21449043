//! The trace as text: plain, or coloured for a terminal.

use std::fmt::Write;

use anstyle::{Ansi256Color, Color, Style};

use super::cost::probability;
use super::shown::{Piece, Shown, visible};
use super::{Branch, Candidate, Cell, Outcome, Step, Trace};

/// How many characters of a text one line of [`Trace::to_text`] quotes.
const MOST_QUOTED: usize = 60;

impl Trace {
    /// The trace as plain text: one line per token, with the probability that the model gave to the allowed
    /// tokens (or `forced`), the token that the model wanted if it was refused, and the path.
    ///
    /// Regions, frames and branches follow. A long text is cut, and its length told.
    ///
    /// # Examples
    /// ```
    /// use maskwright_trace::{Step, Trace};
    /// let step = Step { text: b"{".to_vec(), is_forced: true, ..Step::default() };
    /// let trace = Trace { title: "A person".to_owned(), steps: vec![step], ..Trace::default() };
    /// assert_eq!(trace.to_text(), "A person\n1 token, 1 forced\n\n1 \"{\" forced\n");
    /// ```
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.text_without_tree();
        // Writing to a string cannot fail.
        let _ = self.write_tree(&mut text);
        text
    }

    /// The same without the branches of a search.
    pub(super) fn text_without_tree(&self) -> String {
        let mut text = String::new();
        let _ = self.write_text(&mut text);
        text
    }

    fn write_text(&self, to: &mut String) -> std::fmt::Result {
        writeln!(to, "{}", one_line(&self.title))?;
        let about = [("model", &self.model), ("grammar", &self.grammar), ("prompt", &self.prompt)];
        for (label, value) in about.into_iter().filter_map(|(label, value)| Some((label, value.as_ref()?))) {
            writeln!(to, "{label}: {}", shortened(&one_line(value)))?;
        }
        if let Some(is_complete) = self.is_complete {
            writeln!(to, "{}", if is_complete { "complete" } else { "not complete" })?;
        }
        if let Some(cost) = self.cost_nats() {
            writeln!(to, "probability cut off: {cost:.3} nats")?;
        }
        if !self.steps.is_empty() {
            let tokens = if self.steps.len() == 1 { "token" } else { "tokens" };
            writeln!(to, "{} {tokens}, {} forced\n", self.steps.len(), self.n_forced())?;
        }
        let width = self.steps.len().to_string().len();
        for (index, step) in self.steps.iter().enumerate() {
            write!(to, "{:width$} {}", index + 1, quoted_step(step))?;
            if step.is_forced {
                write!(to, " forced")?;
            }
            if let Some(mass) = step.allowed_mass.and_then(probability) {
                write!(to, " allowed {}", percent(mass))?;
            }
            if let Some(favourite) = refused_favourite(step) {
                write!(to, " wanted {}", quoted_candidate(favourite))?;
            }
            if let Some(path) = &step.path {
                write!(to, " {}", shortened(&one_line(path)))?;
            }
            writeln!(to)?;
        }
        for (index, region) in self.regions.iter().enumerate() {
            let name = region.name.as_deref().map(|name| format!(" {}", one_line(name))).unwrap_or_default();
            let end = region.end.map_or_else(|| "open".to_owned(), |end| end.to_string());
            let gap = if index == 0 { "\n" } else { "" };
            writeln!(
                to,
                "{gap}region {}{} bytes {}..{end}",
                shortened(&one_line(&region.kind)),
                shortened(&name),
                region.start
            )?;
        }
        self.write_frames(to)
    }

    fn write_tree(&self, to: &mut String) -> std::fmt::Result {
        for (index, branch) in self.tree.iter().enumerate() {
            let gap = if index == 0 && !to.is_empty() { "\n" } else { "" };
            writeln!(to, "{gap}{}", branch_line(index, branch))?;
        }
        if self.n_left_out > 0 {
            writeln!(to, "{} more branches are left out", self.n_left_out)?;
        }
        Ok(())
    }

    fn write_frames(&self, to: &mut String) -> std::fmt::Result {
        for (index, frame) in self.frames.iter().enumerate() {
            let gap = if index == 0 && !to.is_empty() { "\n" } else { "" };
            writeln!(to, "{gap}frame {}: {}", index + 1, canvas(&frame.positions))?;
        }
        Ok(())
    }

    /// The trace as text for a terminal: the tokens, coloured by the probability that the model gave to the
    /// allowed tokens, then what the colours mean, the cost, and how many branches a search tried. Frames
    /// follow as in [`to_text`](Self::to_text).
    ///
    /// Control characters of the texts do not reach the terminal. Colours are always written; strip them
    /// where they are not wanted.
    ///
    /// # Examples
    /// ```
    /// use maskwright_trace::{Step, Trace};
    /// let step = Step { text: b"\x1b[2J".to_vec(), ..Step::default() };
    /// let trace = Trace { steps: vec![step], ..Trace::default() };
    /// assert!(trace.to_ansi().contains("␛[2J"));
    /// ```
    #[must_use]
    pub fn to_ansi(&self) -> String {
        let mut text = String::new();
        let pieces = self.steps.iter().map(Piece::of);
        for (step, shown) in self.steps.iter().zip(Shown::of(pieces, &[]).texts) {
            push_styled(&mut text, &shown, style(step));
        }
        if !self.steps.is_empty() {
            text.push_str("\n\n");
            push_legend(&mut text);
        }
        if let Some(cost) = self.cost_nats() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "probability cut off: {cost:.3} nats");
        }
        if !self.tree.is_empty() {
            let n = |outcome| self.tree.iter().filter(|branch| branch.outcome == outcome).count();
            let (finished, dropped) = (n(Outcome::Finished), n(Outcome::Dropped));
            let (n_shown, n_left_out) = (self.tree.len(), self.n_left_out);
            let of_which = match n_left_out {
                0 => String::new(),
                _ => format!(" of the {n_shown} that are shown"),
            };
            let _ = writeln!(
                text,
                "{} branches tried:{of_which} {dropped} dropped, {finished} others finished",
                n_shown + n_left_out
            );
        }
        let _ = self.write_frames(&mut text);
        text
    }
}

/// The token that the model wanted most, if it was refused.
fn refused_favourite(step: &Step) -> Option<&Candidate> {
    step.wanted.first().filter(|favourite| !favourite.is_allowed)
}

fn quoted_step(step: &Step) -> String {
    quoted(&step.text, step.name.as_deref())
}

fn quoted_candidate(candidate: &Candidate) -> String {
    quoted(&candidate.text, candidate.name.as_deref())
}

/// A token's name, or its text in quotes.
fn quoted(text: &[u8], name: Option<&str>) -> String {
    match name {
        Some(name) => shortened(&one_line(name)),
        None => format!("\"{}\"", shortened(&escaped(text))),
    }
}

/// A visible text on one line.
fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// A text without line ends and quotation marks. Bytes that are no UTF-8 are hexadecimal: `\xff`.
fn escaped(text: &[u8]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for character in visible(chunk.valid()).chars() {
            match character {
                '\\' => escaped.push_str("\\\\"),
                '"' => escaped.push_str("\\\""),
                '\n' => escaped.push_str("\\n"),
                '\t' => escaped.push_str("\\t"),
                _ => escaped.push(character),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\x{byte:02x}");
        }
    }
    escaped
}

/// The beginning of a text, with the length of the whole if that is longer.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

fn percent(probability: f64) -> String {
    if probability > 0.0 && probability < 0.0005 {
        format!("{:.0e}%", probability * 100.0)
    } else {
        format!("{:.1}%", probability * 100.0)
    }
}

fn canvas(cells: &[Cell]) -> String {
    let shown = cells.iter().map(|cell| match &cell.text {
        Some(text) => shortened(&escaped(text)),
        None => "░".to_owned(),
    });
    shown.collect()
}

fn branch_line(index: usize, branch: &Branch) -> String {
    let parent = branch.parent.map_or_else(String::new, |parent| format!(" after {parent}"));
    let probability = branch.log_probability.filter(|value| value.is_finite());
    let probability = probability.map_or_else(String::new, |value| format!(" log probability {value:.3}"));
    let outcome = match branch.outcome {
        Outcome::Open => "",
        Outcome::Dropped => " dropped",
        Outcome::Finished => " finished",
        Outcome::Chosen => " chosen",
    };
    format!("branch {index}{parent} {}{probability}{outcome}", quoted(&branch.text, None))
}

const fn colours(background: u8, text: u8) -> Style {
    Style::new()
        .bg_color(Some(Color::Ansi256(Ansi256Color(background))))
        .fg_color(Some(Color::Ansi256(Ansi256Color(text))))
}

/// The colour of forced tokens.
const FORCED: Style = Style::new().fg_color(Some(Color::Ansi256(Ansi256Color(244))));

/// Styles of tokens, and the allowed probability from which they are used.
const SCALE: [(f64, &str, Style); 5] = [
    (0.9, "90% and more", Style::new()),
    (0.5, "50%", colours(230, 16)),
    (0.1, "10%", colours(220, 16)),
    (0.01, "1%", colours(208, 16)),
    (0.0, "less", colours(124, 231).bold()),
];

/// The style of a step. The token that the model wanted most was refused where it is underlined.
fn style(step: &Step) -> Style {
    let mass = step.allowed_mass.and_then(probability);
    let style = match mass {
        _ if step.is_forced => FORCED,
        Some(mass) => {
            SCALE.into_iter().find(|&(from, ..)| mass >= from).map_or_else(Style::new, |(.., style)| style)
        }
        None => Style::new(),
    };
    if refused_favourite(step).is_some() { style.underline() } else { style }
}

/// A text in a style that does not cross line ends.
fn push_styled(to: &mut String, text: &str, style: Style) {
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            to.push('\n');
        }
        if !line.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(to, "{style}{line}{style:#}");
        }
    }
}

fn push_legend(to: &mut String) {
    to.push_str("allowed by the model:");
    for (_, label, style) in SCALE {
        to.push(' ');
        push_styled(to, label, style);
    }
    to.push_str("  ");
    push_styled(to, "forced", FORCED);
    to.push_str("  ");
    push_styled(to, "favourite refused", Style::new().underline());
    to.push('\n');
}
