//! What can be wrong with a grammar text, shown with its place and, where there is one, a hint.

use std::fmt;

use ariadne::{CharSet, Config, Label, Report, ReportKind};
use maskwright_automata::FuelError;
use maskwright_error::{Error, ErrorKind};
use maskwright_syntax::nearest_name;

use crate::source::{Sources, Span};

/// The longest line that is shown whole; of a longer one, a window around the place is shown.
const FRAME_WIDTH: usize = 160;

/// How many lines before the shown one are rendered, empty.
const MAX_PADDING: usize = 100_000;

/// Why a grammar in Lark's language is refused, and where.
///
/// `Display` gives the message, a source frame with the place marked, and a hint where there is one; the
/// accessors give the parts.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lark::{LarkConfig, parse_lark};
/// let source = "start: itm+\nitem: \"x\"\n";
/// let error = parse_lark(source, "list.lark", &LarkConfig::default(), &Fuel::unlimited()).unwrap_err();
/// assert_eq!((error.line(), error.column()), (1, 8));
/// assert_eq!(error.hint(), Some("did you mean `item`?"));
/// assert!(error.to_string().contains("start: itm+"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct LarkError(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: Kind,
    message: String,
    hint: Option<String>,
    source_name: String,
    offset: usize,
    line: usize,
    column: usize,
    frame: String,
}

/// What sort of trouble it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Malformed,
    Limit,
    Cancelled,
}

/// An error before it is placed in its source: the passes make these, [`parse_lark`](crate::parse_lark)
/// places them.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    kind: Kind,
    span: Span,
    message: String,
    hint: Option<String>,
}

impl Fault {
    /// The grammar is wrong at `span`.
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Fault {
        Fault { kind: Kind::Malformed, span, message: message.into(), hint: None }
    }

    /// A limit on work or size was reached at `span`.
    pub(crate) fn limit(span: Span, message: impl Into<String>) -> Fault {
        Fault { kind: Kind::Limit, ..Fault::new(span, message) }
    }

    /// The supply of work ended at `span`.
    pub(crate) fn fuel(span: Span, error: FuelError) -> Fault {
        let kind = match error {
            FuelError::Exhausted { .. } | FuelError::Memory { .. } => Kind::Limit,
            FuelError::Cancelled => Kind::Cancelled,
        };
        Fault { kind, ..Fault::new(span, error.to_string()) }
    }

    /// What another part of the work failed of at `span`.
    pub(crate) fn caused(
        span: Span,
        message: impl Into<String>,
        is_cancelled: bool,
        is_limit: bool,
    ) -> Fault {
        match (is_cancelled, is_limit) {
            (true, _) => Fault::fuel(span, FuelError::Cancelled),
            (false, true) => Fault::limit(span, message),
            (false, false) => Fault::new(span, message),
        }
    }

    /// The same error with a hint: what to do about it, in lowercase.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// The same error, with "did you mean" the nearest of `candidates` as its hint where one is near.
    pub(crate) fn suggesting<'a>(self, given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Fault {
        match nearest_name(given, candidates) {
            Some((_, candidate)) => self.with_hint(format!("did you mean `{candidate}`?")),
            None => self,
        }
    }

    /// The error, with its place. Takes time in the length of the source.
    pub(crate) fn place(self, sources: &Sources) -> LarkError {
        let (source_name, source) = sources.get(self.span.source);
        let offset = floor_char_boundary(source, self.span.start as usize);
        let end = floor_char_boundary(source, self.span.end as usize).max(offset);
        let before = &source[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[offset..].find('\n').map_or(source.len(), |length| offset + length);
        let place = Place {
            line: before.matches('\n').count() + 1,
            column: source[line_start..offset].chars().count() + 1,
            width: source[offset..end.min(line_end).max(offset)].chars().count(),
        };
        let text = source[line_start..line_end].trim_end_matches('\r');
        let frame = frame(text, source_name, &place, &self.message, self.hint.as_deref());
        LarkError(Box::new(Inner {
            kind: self.kind,
            message: self.message,
            hint: self.hint,
            source_name: source_name.to_owned(),
            offset,
            line: place.line,
            column: place.column,
            frame,
        }))
    }
}

/// Where the trouble starts and how many characters it has on its first line.
struct Place {
    line: usize,
    column: usize,
    width: usize,
}

/// The greatest boundary between characters that is at most `offset`.
fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The message, the line with the place marked, and the hint.
fn frame(text: &str, name: &str, place: &Place, message: &str, hint: Option<&str>) -> String {
    let Place { line, column, width } = *place;
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
    let shown_name =
        if skipped > 0 { format!("{name}, cut at column {}", skipped + 1) } else { name.to_owned() };
    let mut report = Report::build(ReportKind::Error, (shown_name.clone(), span.clone()))
        .with_config(Config::default().with_color(false).with_char_set(CharSet::Ascii))
        .with_message(message)
        .with_label(Label::new((shown_name.clone(), span)).with_message("here"));
    if let Some(hint) = hint {
        report = report.with_help(hint);
    }
    let mut rendered = Vec::new();
    let text = "\n".repeat(n_padding) + &shown;
    let source = ariadne::Source::from(text).with_display_line_offset(line - 1 - n_padding);
    match report.finish().write((shown_name, source), &mut rendered) {
        Ok(()) => {
            let rendered = String::from_utf8_lossy(&rendered);
            let rendered = rendered.strip_prefix("Error: ").unwrap_or(&rendered);
            rendered.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
        }
        // Writing to memory does not fail; should it, the place is told without a frame.
        Err(_) => format!("{message}, at {name}:{line}:{column}"),
    }
}

impl LarkError {
    /// What is wrong: what was given and what is allowed; lowercase, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
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

    /// What the source was called; an imported grammar has its own name.
    pub fn source_name(&self) -> &str {
        &self.0.source_name
    }

    /// Whether a limit on work, size or nesting was reached, rather than the grammar being wrong.
    pub fn is_limit(&self) -> bool {
        self.0.kind == Kind::Limit
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        self.0.kind == Kind::Cancelled
    }
}

impl fmt::Display for LarkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.frame)
    }
}

impl fmt::Debug for LarkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, source_name, line, column, .. } = &*self.0;
        write!(f, "LarkError({message:?} at {source_name}:{line}:{column})")
    }
}

impl std::error::Error for LarkError {}

impl From<LarkError> for Error {
    /// Without a path: whether the [name](LarkError::source_name) of the source is one, only the caller
    /// knows.
    fn from(error: LarkError) -> Error {
        let place = maskwright_error::Place {
            line: Some(error.line()),
            column: Some(error.column()),
            hint: error.hint().map(str::to_owned),
            ..maskwright_error::Place::default()
        };
        Error::new(ErrorKind::of(error.is_cancelled(), error.is_limit(), ErrorKind::Grammar), error).at(place)
    }
}
