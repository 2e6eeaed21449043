//! Why a structural tag is refused, and where.

use std::fmt;

use maskwright_automata::FuelError;
use maskwright_error::{Error, ErrorKind, Place};
use maskwright_json_schema::SchemaError;
use maskwright_syntax::{SyntaxError, nearest_name};

use crate::tools::argument_path;

/// Why a structural tag is refused: a message, a JSON pointer to the place and, where there is one, a hint.
///
/// Errors in a JSON Schema, a pattern or a grammar inside of a tag also have their place there.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_tags::compile_str;
/// let tag = r#"{"type": "structural_tag", "format": {"type": "const_sting", "value": "yes"}}"#;
/// let error = compile_str(tag, "tag", &Default::default(), &Default::default(), &Fuel::unlimited()).unwrap_err();
/// assert_eq!(error.pointer(), "/format/type");
/// assert_eq!(error.hint(), Some("did you mean `const_string`?"));
/// let tag = r#"{"format": {"type": "grammar", "grammar": "root ::= word"}}"#;
/// let error = compile_str(tag, "tag", &Default::default(), &Default::default(), &Fuel::unlimited()).unwrap_err();
/// assert_eq!((error.pointer(), error.line(), error.column()), ("/format/grammar", Some(1), Some(10)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    pointer: String,
    kind: Kind,
    hint: Option<String>,
    subject: Subject,
}

/// What an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Subject {
    Tag,
    /// A request's list of tools.
    Tools,
    /// The tool of this name in it.
    Tool(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Tag => f.write_str("the structural tag"),
            Subject::Tools => f.write_str("the tools"),
            Subject::Tool(name) => write!(f, "the tool {name:?}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// The text is not JSON.
    NotJson(SyntaxError),
    /// A value is not what the format says.
    Malformed(String),
    /// A field that cannot be enforced.
    Unsupported(&'static str, String),
    /// A limit was reached.
    Limit(String),
    Fuel(FuelError),
    /// In the pattern or grammar at the place.
    Syntax(SyntaxError),
    /// In a JSON Schema, with its place in the whole document.
    Schema(SchemaError),
}

impl TagError {
    fn new(pointer: impl Into<String>, kind: Kind) -> TagError {
        TagError(Box::new(Inner { pointer: pointer.into(), kind, hint: None, subject: Subject::Tag }))
    }

    /// The text of the tag is not JSON.
    pub(crate) fn not_json(error: SyntaxError) -> TagError {
        TagError::new("", Kind::NotJson(error))
    }

    /// What stands at `pointer` is wrong.
    pub(crate) fn malformed(pointer: impl Into<String>, message: impl Into<String>) -> TagError {
        TagError::new(pointer, Kind::Malformed(message.into()))
    }

    /// What `keyword` says at `pointer` cannot be enforced.
    pub(crate) fn unsupported(
        pointer: impl Into<String>,
        keyword: &'static str,
        message: impl Into<String>,
    ) -> TagError {
        TagError::new(pointer, Kind::Unsupported(keyword, message.into()))
    }

    /// A limit was reached at `pointer`.
    pub(crate) fn limit(pointer: impl Into<String>, message: impl Into<String>) -> TagError {
        TagError::new(pointer, Kind::Limit(message.into()))
    }

    /// The supply of work ended at `pointer`.
    pub(crate) fn fuel(pointer: impl Into<String>, error: FuelError) -> TagError {
        TagError::new(pointer, Kind::Fuel(error))
    }

    /// The pattern or grammar at `pointer` is wrong.
    pub(crate) fn syntax(pointer: impl Into<String>, error: SyntaxError) -> TagError {
        TagError::new(pointer, Kind::Syntax(error))
    }

    /// The schema at `pointer` is wrong.
    pub(crate) fn schema(pointer: &str, error: SchemaError) -> TagError {
        let error = error.within(pointer);
        TagError::new(error.pointer().to_owned(), Kind::Schema(error))
    }

    /// The same error about a tool. `schema_at`: the pointer of its schema.
    pub(crate) fn in_tool(mut self, name: &str, schema_at: &str) -> TagError {
        self.0.subject = Subject::Tool(name.to_owned());
        if let Kind::Schema(error) = self.0.kind {
            self.0.kind = Kind::Schema(told_of_tool(error, schema_at));
        }
        self
    }

    /// The same error about a list of tools, unless it is about one tool.
    pub(crate) fn in_tools(mut self) -> TagError {
        if self.0.subject == Subject::Tag {
            self.0.subject = Subject::Tools;
        }
        self
    }

    /// The name of the tool that it is about, if it is one.
    pub(crate) fn tool(&self) -> Option<&str> {
        match &self.0.subject {
            Subject::Tool(name) => Some(name),
            _ => None,
        }
    }

    /// The same error with what to do about it, in lowercase.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> TagError {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with a hint at the one of `known` that `given` is nearly, if there is one.
    pub(crate) fn suggesting<'n>(self, given: &str, known: impl IntoIterator<Item = &'n str>) -> TagError {
        match nearest_name(given, known) {
            Some((_, meant)) => self.with_hint(format!("did you mean `{meant}`?")),
            None => self,
        }
    }

    /// The JSON pointer (RFC 6901) of the value at fault, in the whole document; empty for the document
    /// itself.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The keyword at fault, in the JSON Schema at [`pointer`](Self::pointer), or the field of the format
    /// there that cannot be enforced.
    pub fn keyword(&self) -> Option<&'static str> {
        match &self.0.kind {
            Kind::Schema(error) => error.keyword(),
            Kind::Unsupported(keyword, _) => Some(keyword),
            _ => None,
        }
    }

    /// The line, from 1: in the text of a tag that is not JSON, or in the pattern or grammar at
    /// [`pointer`](Self::pointer).
    pub fn line(&self) -> Option<usize> {
        match &self.0.kind {
            Kind::Schema(error) => error.line(),
            _ => self.source().map(SyntaxError::line),
        }
    }

    /// The column in characters, from 1; in the same text as [`line`](Self::line).
    pub fn column(&self) -> Option<usize> {
        match &self.0.kind {
            Kind::Schema(error) => error.column(),
            _ => self.source().map(SyntaxError::column),
        }
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match &self.0.kind {
            Kind::Schema(error) => error.hint(),
            _ => self.0.hint.as_deref().or_else(|| self.source()?.hint()),
        }
    }

    /// Whether the text of the tag is not JSON.
    pub fn is_syntax(&self) -> bool {
        matches!(self.0.kind, Kind::NotJson(_))
    }

    /// Whether the tag is well-formed, but asks for what is not enforced.
    pub fn is_unsupported(&self) -> bool {
        match &self.0.kind {
            Kind::Unsupported(..) => true,
            Kind::Schema(error) => error.is_unsupported(),
            Kind::Syntax(error) => error.is_unsupported(),
            _ => false,
        }
    }

    /// Whether a limit on work or size was reached, rather than the tag being wrong.
    pub fn is_limit(&self) -> bool {
        match &self.0.kind {
            Kind::Limit(_) => true,
            Kind::Fuel(error) => error.is_limit(),
            Kind::Schema(error) => error.is_limit(),
            Kind::Syntax(error) => error.is_limit(),
            _ => false,
        }
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        match &self.0.kind {
            Kind::Fuel(error) => *error == FuelError::Cancelled,
            Kind::Schema(error) => error.is_cancelled(),
            Kind::Syntax(error) => error.is_cancelled(),
            _ => false,
        }
    }

    /// The error in a text, if it is one.
    fn source(&self) -> Option<&SyntaxError> {
        match &self.0.kind {
            Kind::NotJson(error) | Kind::Syntax(error) => Some(error),
            _ => None,
        }
    }
}

/// An error in the schema of a tool, with its place and its remedies as the user of a tool sees them.
fn told_of_tool(error: SchemaError, schema_at: &str) -> SchemaError {
    let error = match error.missing_documents().first() {
        None => error,
        Some(missing) => {
            let name = missing.name.rsplit('/').next().unwrap_or_default().trim_end_matches(".json");
            let hint = format!(
                "copy that schema into the tool's `$defs` and refer to it as \"#/$defs/{name}\", or leave it unenforced: strict=False in \
                 Python, --lenient on the command line"
            );
            error.with_hint_on_missing(hint)
        }
    };
    let error = match error.hint() {
        Some(hint) if error.is_unsupported() => {
            let hint = format!("{hint}; or skip only this tool: on_error=\"leave_out\" or \"any_json\"");
            error.hinted(hint)
        }
        _ => error,
    };
    let Some(below) = error.pointer().strip_prefix(schema_at).map(str::to_owned) else { return error };
    let field = schema_at.rsplit('/').next().unwrap_or_default();
    let place = match argument_path(&below) {
        Some(path) => format!("of the argument `{path}`"),
        None if below.is_empty() => format!("of its `{field}`"),
        None => format!("at {below} of its `{field}`"),
    };
    error.shown_at(place)
}

impl fmt::Display for TagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { pointer, kind, hint, subject } = &*self.0;
        match kind {
            Kind::NotJson(error) => {
                let (line, column, message) = (error.line(), error.column(), error.message());
                writeln!(f, "{subject} is not JSON: {message} at line {line} column {column}")?;
                return f.write_str(error.frame());
            }
            Kind::Fuel(error) => return error.fmt(f),
            Kind::Schema(error) => {
                return match error.is_cancelled() {
                    true => error.fmt(f),
                    false => write!(f, "in {subject}, {error}"),
                };
            }
            Kind::Malformed(_) | Kind::Unsupported(..) | Kind::Limit(_) | Kind::Syntax(_) => {}
        }
        match pointer.as_str() {
            "" => write!(f, "{subject}: ")?,
            pointer => write!(f, "{subject} at {pointer}: ")?,
        }
        match kind {
            Kind::Malformed(message) | Kind::Limit(message) => f.write_str(message)?,
            Kind::Unsupported(keyword, message) => write!(f, "`{keyword}`: {message}")?,
            Kind::Syntax(error) => {
                let (line, column) = (error.line(), error.column());
                write!(f, "line {line} column {column}: {}\n{}", error.message(), error.frame())?;
            }
            // Said above.
            Kind::NotJson(_) | Kind::Fuel(_) | Kind::Schema(_) => {}
        }
        match hint {
            Some(hint) => write!(f, "\nHelp: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TagError {}

impl From<TagError> for Error {
    fn from(error: TagError) -> Error {
        let has_pointer = !error.is_syntax() && !error.is_cancelled();
        let place = Place {
            pointer: has_pointer.then(|| error.pointer().to_owned()),
            keyword: error.keyword(),
            line: error.line(),
            column: error.column(),
            hint: error.hint().map(str::to_owned),
            ..Place::default()
        };
        let kind = match error.0.kind {
            Kind::Schema(_) => ErrorKind::Schema,
            _ => ErrorKind::Grammar,
        };
        Error::new(ErrorKind::of(error.is_cancelled(), error.is_limit(), kind), error).at(place)
    }
}
