//! Why a schema is refused, and where.

use std::fmt;

use maskwright_automata::{AutomatonError, FuelError};
use maskwright_error::{Error, ErrorKind, Place};
use maskwright_syntax::SyntaxError;

/// Why a schema is refused: a message, a JSON pointer to the place, the keyword there and, where there is one, a hint.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_json_schema::{SchemaConfig, compile_str};
/// let schema = r#"{"properties": {"a": {"not": {"uniqueItems": true}}}}"#;
/// let error = compile_str(schema, &SchemaConfig::default(), &Fuel::unlimited()).unwrap_err();
/// assert_eq!((error.pointer(), error.keyword()), ("/properties/a/not", Some("uniqueItems")));
/// let error = compile_str("{\"type\": ]", &SchemaConfig::default(), &Fuel::unlimited()).unwrap_err();
/// assert_eq!((error.line(), error.column()), (Some(1), Some(10)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    pointer: String,
    keyword: Option<&'static str>,
    kind: Kind,
    hint: Option<String>,
    missing_document: Option<String>,
    /// Only within the compiler: no caller gets an error with one.
    blame: Option<Blame>,
}

/// The part of a schema that a pass fails for ([`crate::loose`]): the next pass leaves it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blame {
    /// The address of the schema.
    pub(crate) schema: usize,
    /// `None`: the whole schema.
    pub(crate) keyword: Option<&'static str>,
    /// What the report says.
    pub(crate) reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The document is not JSON.
    Syntax(SyntaxError),
    /// The keyword's value is no pattern that is known.
    Pattern(SyntaxError),
    /// A keyword's value is not what the specification says.
    Malformed {
        message: String,
    },
    /// The keyword cannot be enforced.
    Unsupported {
        message: String,
    },
    /// A reference leads nowhere.
    Reference {
        message: String,
    },
    /// A reference leads back to itself without a step into the instance.
    Loop,
    /// No text could satisfy the schema.
    Unsatisfiable {
        message: String,
    },
    /// A limit was reached.
    Limit {
        message: String,
    },
    Fuel(FuelError),
}

impl Kind {
    /// What is wrong with a pattern.
    pub(crate) fn of_syntax(error: &SyntaxError) -> Kind {
        if error.is_cancelled() { Kind::Fuel(FuelError::Cancelled) } else { Kind::Pattern(error.clone()) }
    }

    /// Why an automaton could not be made.
    pub(crate) fn of_automaton(error: &AutomatonError) -> Kind {
        if error.is_cancelled() {
            Kind::Fuel(FuelError::Cancelled)
        } else {
            Kind::Limit { message: error.to_string() }
        }
    }
}

impl SchemaError {
    pub(crate) fn new(pointer: String, keyword: Option<&'static str>, kind: Kind) -> SchemaError {
        let (hint, missing_document, blame) = (None, None, None);
        SchemaError(Box::new(Inner { pointer, keyword, kind, hint, missing_document, blame }))
    }

    /// The text of a document is not JSON.
    pub(crate) fn not_json(error: SyntaxError) -> SchemaError {
        SchemaError::new(String::new(), None, Kind::Syntax(error))
    }

    /// The same error for the lack of the document at `uri`, with what to do about it.
    pub(crate) fn lacking(mut self, uri: String, hint: String) -> SchemaError {
        self.0.missing_document = Some(uri);
        self.0.hint = Some(hint);
        self
    }

    /// The same error with another hint if it is one of a [missing document](Self::missing_document): what to do about
    /// it, in lowercase. Other errors stay as they are.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_json_schema::{SchemaConfig, compile_str};
    /// let schema = r#"{"$ref": "https://a.example/b.json"}"#;
    /// let error = compile_str(schema, &SchemaConfig::default(), &Fuel::unlimited()).unwrap_err();
    /// let error = error.with_hint_on_missing("ask the author");
    /// assert_eq!(error.hint(), Some("ask the author"));
    /// ```
    #[must_use]
    pub fn with_hint_on_missing(mut self, hint: impl Into<String>) -> SchemaError {
        if self.0.missing_document.is_some() {
            self.0.hint = Some(hint.into());
        }
        self
    }

    /// The same error about a schema that stands at the pointer `outer` in a larger document.
    #[must_use]
    #[doc(hidden)]
    pub fn within(mut self, outer: &str) -> SchemaError {
        // What is in another document has its address in front.
        if self.0.pointer.is_empty() || self.0.pointer.starts_with('/') {
            self.0.pointer.insert_str(0, outer);
        }
        self
    }

    /// The JSON pointer (RFC 6901) of the schema at fault; empty for the whole document. In another document than the
    /// schema's own, the document's URI, `#` and the pointer.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The keyword at fault, in the schema at [`pointer`](Self::pointer), if it is one.
    pub fn keyword(&self) -> Option<&'static str> {
        self.0.keyword
    }

    /// The line, from 1: in the text of a document that is not JSON ([`is_syntax`](Self::is_syntax)), or in the
    /// pattern that is the keyword's value.
    pub fn line(&self) -> Option<usize> {
        self.syntax().map(SyntaxError::line)
    }

    /// The column in characters, from 1; in the same text as [`line`](Self::line).
    pub fn column(&self) -> Option<usize> {
        self.syntax().map(SyntaxError::column)
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref().or_else(|| self.syntax()?.hint())
    }

    /// Where the document would have been that a reference needs and that was not given: a URI.
    pub fn missing_document(&self) -> Option<&str> {
        self.0.missing_document.as_deref()
    }

    /// Whether the text of a document is not JSON.
    pub fn is_syntax(&self) -> bool {
        matches!(self.0.kind, Kind::Syntax(_))
    }

    /// Whether a limit on work or size was reached, rather than the schema being wrong.
    pub fn is_limit(&self) -> bool {
        match &self.0.kind {
            Kind::Limit { .. } | Kind::Fuel(FuelError::Exhausted { .. }) => true,
            Kind::Pattern(error) => error.is_limit(),
            _ => false,
        }
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0.kind, Kind::Fuel(FuelError::Cancelled))
    }

    /// Whether the schema is well-formed, but nothing satisfies it.
    pub fn is_unsatisfiable(&self) -> bool {
        matches!(self.0.kind, Kind::Unsatisfiable { .. })
    }

    /// Whether leaving something out of the schema may help: neither is it malformed, nor is the work spent.
    pub(crate) fn may_be_loosened(&self) -> bool {
        self.is_unsupported() || (self.is_limit() && !matches!(self.0.kind, Kind::Fuel(_)))
    }

    /// The same error with the part of the schema that is to blame.
    pub(crate) fn blamed(mut self, blame: Blame) -> SchemaError {
        self.0.blame = Some(blame);
        self
    }

    /// Whether it is known which part of the schema is to blame.
    pub(crate) fn is_blamed(&self) -> bool {
        self.0.blame.is_some()
    }

    /// Takes the blame from the error.
    pub(crate) fn take_blame(&mut self) -> Option<Blame> {
        self.0.blame.take()
    }

    /// What is wrong, without the place.
    pub(crate) fn reason(&self) -> String {
        match &self.0.kind {
            Kind::Unsupported { message } | Kind::Limit { message } => message.clone(),
            Kind::Pattern(error) => format!("column {}: {}", error.column(), error.message()),
            _ => self.to_string(),
        }
    }

    pub(crate) fn is_loop(&self) -> bool {
        self.0.kind == Kind::Loop
    }

    /// Whether the schema is valid, but uses a keyword that is not enforced, or a pattern that is not supported.
    pub fn is_unsupported(&self) -> bool {
        match &self.0.kind {
            Kind::Unsupported { .. } => true,
            Kind::Pattern(error) => error.is_unsupported(),
            _ => false,
        }
    }

    /// The error in a text, if it is one.
    fn syntax(&self) -> Option<&SyntaxError> {
        match &self.0.kind {
            Kind::Syntax(error) | Kind::Pattern(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { pointer, keyword, kind, hint, .. } = &*self.0;
        match kind {
            Kind::Syntax(error) => {
                let (line, column) = (error.line(), error.column());
                let message = error.message();
                writeln!(f, "the schema is not JSON: {message} at line {line} column {column}")?;
                return f.write_str(error.frame());
            }
            Kind::Fuel(error) => return error.fmt(f),
            _ => {}
        }
        match keyword {
            Some(keyword) => write!(f, "`{keyword}` ")?,
            None => write!(f, "the schema ")?,
        }
        match pointer.as_str() {
            "" => write!(f, "at the root: ")?,
            pointer => write!(f, "at {pointer}: ")?,
        }
        match kind {
            Kind::Malformed { message }
            | Kind::Unsupported { message }
            | Kind::Reference { message }
            | Kind::Unsatisfiable { message }
            | Kind::Limit { message } => write!(f, "{message}")?,
            Kind::Pattern(error) => {
                write!(f, "column {}: {}\n{}", error.column(), error.message(), error.frame())?;
            }
            Kind::Loop => write!(
                f,
                "the schema leads back to itself without a step into a property or an item, so it says nothing"
            )?,
            // Said above, without a place.
            Kind::Syntax(_) | Kind::Fuel(_) => {}
        }
        match hint {
            Some(hint) => write!(f, "\nHelp: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SchemaError {}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Error {
        let has_pointer = !error.is_syntax() && !error.is_cancelled();
        let place = Place {
            pointer: has_pointer.then(|| error.pointer().to_owned()),
            keyword: error.keyword(),
            line: error.line(),
            column: error.column(),
            hint: error.hint().map(str::to_owned),
            ..Place::default()
        };
        Error::new(ErrorKind::of(error.is_cancelled(), error.is_limit(), ErrorKind::Schema), error).at(place)
    }
}
