//! Why a schema is refused, and where.

use std::fmt;

use maskwright_automata::{AutomatonError, FuelError};
use maskwright_error::{Error, ErrorKind, Place};
use maskwright_syntax::SyntaxError;

/// Why a schema is refused: a message, a JSON pointer to the place, the keyword there and, where there is
/// one, a hint.
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
    /// In the order of the schema's text. The error is reported at the first.
    missing: Vec<MissingDocument>,
    /// What messages say instead of the pointer.
    shown: Option<String>,
    /// Only within the compiler: no caller gets an error with one.
    blame: Option<Blame>,
}

/// A document that a reference needs and that was not given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingDocument {
    /// The absolute URI of the document.
    pub uri: String,
    /// The reference without its fragment.
    pub name: String,
    /// The whole reference.
    pub reference: String,
    /// The JSON pointer of the first schema that refers to it.
    pub pointer: String,
    /// The keyword of that reference.
    pub keyword: &'static str,
}

/// The part of a schema that a pass fails for ([`crate::lenient::loose`]): the next pass leaves it out.
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
    /// A reference to no schema.
    Reference {
        message: String,
    },
    /// A reference leads back to itself without a step into the instance.
    Loop {
        /// Whether a negation lies between.
        is_negated: bool,
    },
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
        let (hint, missing, shown, blame) = (None, Vec::new(), None, None);
        SchemaError(Box::new(Inner { pointer, keyword, kind, hint, missing, shown, blame }))
    }

    /// The text of a document is not JSON.
    pub(crate) fn not_json(error: SyntaxError) -> SchemaError {
        SchemaError::new(String::new(), None, Kind::Syntax(error))
    }

    /// The error for at least one missing document, with a hint.
    pub(crate) fn lacking(missing: Vec<MissingDocument>) -> SchemaError {
        let first = &missing[0];
        let reference = &first.reference;
        let message =
            format!("the reference \"{reference}\" leads out of the document, to one that was not given");
        let kind = Kind::Unsupported { message };
        let mut error = SchemaError::new(first.pointer.clone(), Some(first.keyword), kind);
        error.0.hint = Some(hint_on_missing(&missing));
        error.0.missing = missing;
        error
    }

    /// The same error with a hint.
    #[must_use]
    #[doc(hidden)]
    pub fn hinted(mut self, hint: impl Into<String>) -> SchemaError {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same error with another hint if it is one of a [missing document](Self::missing_document): what to
    /// do about it, in lowercase. Other errors stay as they are.
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
        if !self.0.missing.is_empty() {
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
        for missing in &mut self.0.missing {
            if missing.pointer.is_empty() || missing.pointer.starts_with('/') {
                missing.pointer.insert_str(0, outer);
            }
        }
        self
    }

    /// The same error, whose message has `place` in place of the pointer.
    #[must_use]
    #[doc(hidden)]
    pub fn shown_at(mut self, place: String) -> SchemaError {
        self.0.shown = Some(place);
        self
    }

    /// The JSON pointer (RFC 6901) of the schema at fault; empty for the whole document. In another document
    /// than the schema's own, the document's URI, `#` and the pointer.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The keyword at fault, in the schema at [`pointer`](Self::pointer), if it is one.
    pub fn keyword(&self) -> Option<&'static str> {
        self.0.keyword
    }

    /// The line, from 1: in the text of a document that is not JSON ([`is_syntax`](Self::is_syntax)), or in
    /// the pattern that is the keyword's value.
    pub fn line(&self) -> Option<usize> {
        self.syntax().map(SyntaxError::line)
    }

    /// The column in characters, from 1; in the same text as [`line`](Self::line).
    pub fn column(&self) -> Option<usize> {
        self.syntax().map(SyntaxError::column)
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match self.0.kind {
            Kind::Fuel(error) if error.is_limit() => return Some(HINT_ON_FUEL),
            _ => {}
        }
        self.0.hint.as_deref().or_else(|| self.syntax()?.hint())
    }

    /// The URI of the first document that a reference needs and that was not given. See
    /// [`missing_documents`](Self::missing_documents) for all of them.
    pub fn missing_document(&self) -> Option<&str> {
        self.0.missing.first().map(|missing| missing.uri.as_str())
    }

    /// All documents that references need and that were not given, each once, in the order of the schema's
    /// text; at most
    /// 100. Empty for any other error.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_json_schema::{SchemaConfig, compile_str};
    /// let schema = r#"{"properties": {"a": {"$ref": "a.json"}, "b": {"$ref": "b.json#/x"}}}"#;
    /// let error = compile_str(schema, &SchemaConfig::default(), &Fuel::unlimited()).unwrap_err();
    /// let names: Vec<_> = error.missing_documents().iter().map(|missing| missing.name.as_str()).collect();
    /// assert_eq!(names, ["a.json", "b.json"]);
    /// ```
    pub fn missing_documents(&self) -> &[MissingDocument] {
        &self.0.missing
    }

    /// Whether the text of a document is not JSON.
    pub fn is_syntax(&self) -> bool {
        matches!(self.0.kind, Kind::Syntax(_))
    }

    /// Whether a limit on work or size was reached, rather than the schema being wrong.
    pub fn is_limit(&self) -> bool {
        match &self.0.kind {
            Kind::Limit { .. } => true,
            Kind::Fuel(error) => error.is_limit(),
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
        matches!(self.0.kind, Kind::Loop { .. })
    }

    /// Whether a schema leads back to itself by references alone, without a negation.
    pub(crate) fn is_plain_loop(&self) -> bool {
        self.0.kind == Kind::Loop { is_negated: false }
    }

    /// The same error of a schema that is negated.
    pub(crate) fn negated(mut self) -> SchemaError {
        if let Kind::Loop { is_negated } = &mut self.0.kind {
            *is_negated = true;
        }
        self
    }

    /// Whether the schema is valid, but uses a keyword that is not enforced, or a pattern that is not
    /// supported.
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
        let Inner { pointer, keyword, kind, hint, missing, shown, .. } = &*self.0;
        match kind {
            Kind::Syntax(error) => {
                let (line, column) = (error.line(), error.column());
                let message = error.message();
                writeln!(f, "the schema is not JSON: {message} at line {line} column {column}")?;
                return f.write_str(error.frame());
            }
            Kind::Fuel(FuelError::Cancelled) => return FuelError::Cancelled.fmt(f),
            _ => {}
        }
        match keyword {
            Some(keyword) => write!(f, "`{keyword}` ")?,
            None => write!(f, "the schema ")?,
        }
        match (shown, pointer.as_str()) {
            (Some(place), _) => write!(f, "{place}: ")?,
            (None, "") => write!(f, "at the root: ")?,
            (None, pointer) => write!(f, "at {pointer}: ")?,
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
            Kind::Loop { .. } => write!(
                f,
                "the schema leads back to itself without a step into a property or an item, so it says nothing"
            )?,
            Kind::Fuel(error) => write!(f, "{error}\nHelp: {}", self.hint().unwrap_or_default())?,
            // Said above, without a place.
            Kind::Syntax(_) => {}
        }
        for (i, other) in missing.iter().skip(1).take(MAX_TOLD).enumerate() {
            let comma = if i == 0 { "\nMissing too: " } else { ", " };
            write!(f, "{comma}\"{}\" ({})", other.name, other.pointer)?;
        }
        if missing.len() > MAX_TOLD + 1 {
            write!(f, " and {} more", missing.len() - MAX_TOLD - 1)?;
        }
        match hint {
            Some(hint) => write!(f, "\nHelp: {hint}"),
            None => Ok(()),
        }
    }
}

/// What to do if the schema takes too much work or memory.
const HINT_ON_FUEL: &str = "say the same with fewer branches, shorter lists and smaller counts";

/// How many missing documents a message names besides the first.
const MAX_TOLD: usize = 20;

/// What to do about missing documents, for each way to call the compiler.
fn hint_on_missing(missing: &[MissingDocument]) -> String {
    /// How many names an example has.
    const MAX_NAMES: usize = 3;
    let mut names: Vec<String> =
        missing.iter().take(MAX_NAMES).map(|missing| format!("\"{}\": ...", missing.name)).collect();
    if missing.len() > MAX_NAMES {
        names.push("...".into());
    }
    let (names, (them, they)) =
        (names.join(", "), if missing.len() == 1 { ("it", "it says") } else { ("them", "they say") });
    format!(
        "give {them} too, or let pass what {they}\n  in Python: documents={{{names}}}, or strict=False\n  on the \
         command line: --schema-dir FOLDER with {them} inside, or --lenient"
    )
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
