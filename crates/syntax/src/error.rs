//! What can be wrong with a source text, shown with its place.

use std::fmt;
use std::ops::Range;

use ariadne::{CharSet, Config, Label, Report, ReportKind, Source};
use maskwright_automata::FuelError;
use maskwright_error::{Error, ErrorKind, Place};

/// The longest line that is shown whole; of a longer one, a window around the place is shown.
const FRAME_WIDTH: usize = 160;

/// How many lines before the shown one are rendered, empty.
const MAX_PADDING: usize = 100_000;

/// Why a source text (a pattern, a grammar, a list of choices) is refused, and where.
///
/// `Display` gives the message and, once, a source frame with the place marked; the accessors give the parts.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_syntax::regex::{self, Dialect};
/// let error = regex::parse("a(b", Dialect::Ecma, &Fuel::unlimited()).unwrap_err();
/// assert_eq!((error.line(), error.column(), error.offset()), (1, 2, 1));
/// assert!(error.to_string().contains(error.message()));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SyntaxError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: Kind,
    message: String,
    hint: Option<String>,
    source_name: String,
    offset: usize,
    line: usize,
    column: usize,
    /// The source frame with the hint, without the message above it.
    frame: String,
}

/// What sort of trouble it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Malformed,
    Unsupported,
    Limit,
    Cancelled,
}

/// An error before it is placed in its source: parsers make these, the public functions
/// [place](Fault::place) them.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Fault {
    kind: Kind,
    span: Range<usize>,
    message: String,
    hint: Option<String>,
}

impl Fault {
    /// The text itself is wrong at `span` (bytes).
    pub fn new(span: Range<usize>, message: impl Into<String>) -> Fault {
        Fault { kind: Kind::Malformed, span, message: message.into(), hint: None }
    }

    /// What stands at `span` (bytes) has a meaning, in this dialect or another, but is not supported.
    pub fn unsupported(span: Range<usize>, message: impl Into<String>) -> Fault {
        Fault { kind: Kind::Unsupported, span, message: message.into(), hint: None }
    }

    /// A limit on work or size was reached at `span` (bytes).
    pub fn limit(span: Range<usize>, message: impl Into<String>) -> Fault {
        Fault { kind: Kind::Limit, span, message: message.into(), hint: None }
    }

    /// The supply of work ended at `span` (bytes).
    pub fn fuel(span: Range<usize>, error: FuelError) -> Fault {
        let kind = match error {
            FuelError::Exhausted { .. } | FuelError::Memory { .. } => Kind::Limit,
            FuelError::Cancelled => Kind::Cancelled,
        };
        Fault { kind, span, message: error.to_string(), hint: None }
    }

    /// Whether it is a construct that is not supported.
    pub(crate) fn is_unsupported(&self) -> bool {
        self.kind == Kind::Unsupported
    }

    /// Whether a limit was reached, or the caller cancelled the work.
    pub fn is_out_of_work(&self) -> bool {
        self.is_cancelled() || matches!(self.kind, Kind::Limit)
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.kind, Kind::Cancelled)
    }

    /// The same error, with what to do about it, in lowercase.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// The error, with its place in `source`. Takes time in the length of `source`.
    pub fn place(self, source: &str, source_name: &str) -> SyntaxError {
        let offset = floor_char_boundary(source, self.span.start);
        let end = floor_char_boundary(source, self.span.end).max(offset);
        let before = &source[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[offset..].find('\n').map_or(source.len(), |length| offset + length);
        let line = before.matches('\n').count() + 1;
        let column = source[line_start..offset].chars().count() + 1;
        let width = source[offset..end.min(line_end)].chars().count();
        let hint = self.hint.as_deref();
        let frame = frame(&source[line_start..line_end], source_name, line, column, width, hint);
        SyntaxError(Box::new(Inner {
            kind: self.kind,
            message: self.message,
            hint: self.hint,
            source_name: source_name.to_owned(),
            offset,
            line,
            column,
            frame,
        }))
    }
}

/// The greatest boundary between characters that is at most `offset`.
fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The line with `width` characters from `column` (from 1) on marked, and the hint.
fn frame(text: &str, name: &str, line: usize, column: usize, width: usize, hint: Option<&str>) -> String {
    let start = column - 1;
    let skipped = if text.chars().count() > FRAME_WIDTH { start.saturating_sub(FRAME_WIDTH / 2) } else { 0 };
    // Characters that would break the frame (control characters, exotic line ends) are shown as `·`.
    let shown: String = text
        .chars()
        .skip(skipped)
        .take(FRAME_WIDTH)
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { '·' } else { c })
        .collect();
    let n_shown = shown.chars().count();
    // The renderer numbers lines from 1 in its margin, so the lines before are there, empty; a bound keeps
    // that cheap, and beyond it only the frame's head tells the line.
    let n_padding = (line - 1).min(MAX_PADDING);
    let from = start - skipped;
    let to = (from + width).clamp(from, n_shown.max(from));
    let span = n_padding + from..n_padding + to;
    let place = if skipped > 0 { format!("{name}, cut at column {}", skipped + 1) } else { name.to_owned() };
    let mut report = Report::build(ReportKind::Error, (place.clone(), span.clone()))
        .with_config(Config::default().with_color(false).with_char_set(CharSet::Ascii))
        .with_label(Label::new((place.clone(), span)).with_message("here"));
    report.with_helps(hint);
    let report = report.finish();
    let mut rendered = Vec::new();
    let text = "\n".repeat(n_padding) + &shown;
    let source = Source::from(text).with_display_line_offset(line - 1 - n_padding);
    match report.write((place, source), &mut rendered) {
        Ok(()) => {
            let rendered = String::from_utf8_lossy(&rendered);
            // The first line is the renderer's headline, which has no message here.
            let lines = rendered.lines().skip(1).map(str::trim_end).filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join("\n")
        }
        // Writing to memory does not fail; should it, the place is told without a frame.
        Err(_) => format!("at {name}:{line}:{column}"),
    }
}

impl SyntaxError {
    /// An error at `span` (bytes) of a source that another front end reads. `hint`: what to do about it, in
    /// lowercase. Takes time in the length of `source`.
    ///
    /// ```
    /// use maskwright_syntax::SyntaxError;
    /// let error = SyntaxError::new("[1,]", "list.json", 3..4, "trailing comma", Some("take it away"));
    /// assert_eq!((error.line(), error.column(), error.hint()), (1, 4, Some("take it away")));
    /// assert!(error.frame().contains("[1,]") && error.to_string().starts_with("trailing comma\n"));
    /// ```
    pub fn new(
        source: &str,
        source_name: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<&str>,
    ) -> SyntaxError {
        Fault { hint: hint.map(str::to_owned), ..Fault::new(span, message) }.place(source, source_name)
    }

    /// What is wrong: what was given and what is allowed; lowercase, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The source frame: the line with the place marked, and the hint. `Display` has it below the message.
    pub fn frame(&self) -> &str {
        &self.0.frame
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column in characters (Unicode scalar values), from 1.
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The place in bytes from the start of the source.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// What the source was called.
    pub fn source_name(&self) -> &str {
        &self.0.source_name
    }

    /// Whether the text uses what is not supported, such as a backreference, rather than being wrong.
    pub fn is_unsupported(&self) -> bool {
        self.0.kind == Kind::Unsupported
    }

    /// Whether a limit on work, size or nesting was reached, rather than the text being wrong.
    pub fn is_limit(&self) -> bool {
        self.0.kind == Kind::Limit
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        self.0.kind == Kind::Cancelled
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.0.message, self.frame())
    }
}

impl fmt::Debug for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, source_name, line, column, .. } = &*self.0;
        write!(f, "SyntaxError({message:?} at {source_name}:{line}:{column})")
    }
}

impl std::error::Error for SyntaxError {}

impl From<SyntaxError> for Error {
    fn from(error: SyntaxError) -> Error {
        let place = Place {
            line: Some(error.line()),
            column: Some(error.column()),
            hint: error.hint().map(str::to_owned),
            ..Place::default()
        };
        Error::new(ErrorKind::of(error.is_cancelled(), error.is_limit(), ErrorKind::Grammar), error).at(place)
    }
}

/// What to do where the name of a file is given instead of its content.
#[doc(hidden)]
pub const PATH_HINT: &str = "this looks like the name of a file: pass its content, or a pathlib.Path";

/// Whether a text that is not in its notation may be the name of a file, whose name may end in one of
/// `endings`.
#[doc(hidden)]
pub fn is_like_a_path(text: &str, endings: &[&str]) -> bool {
    const LONGEST: usize = 1024;
    let text = text.trim();
    let is_name = !text.is_empty() && text.len() <= LONGEST && !text.contains(['\n', '"']);
    let has_ending = || endings.iter().any(|ending| text.to_ascii_lowercase().ends_with(ending));
    is_name && (has_ending() || (text.contains(['/', '\\']) && !text.contains("://")))
}
