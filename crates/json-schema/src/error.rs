//! Why a schema is refused, and where.

use std::fmt;

use maskwright_automata::{AutomatonError, FuelError};
use maskwright_syntax::SyntaxError;

/// Why a schema is refused: a message, a JSON pointer to the place and the keyword there.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_json_schema::{SchemaConfig, compile_str};
/// let schema = r#"{"properties": {"a": {"not": {"uniqueItems": true}}}}"#;
/// let error = compile_str(schema, &SchemaConfig::default(), &Fuel::unlimited()).unwrap_err();
/// assert_eq!((error.pointer(), error.keyword()), ("/properties/a/not", Some("uniqueItems")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    pointer: String,
    keyword: Option<&'static str>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The document is not JSON.
    Syntax {
        message: String,
    },
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
        let message = format!("column {}: {}", error.column(), error.message());
        if error.is_cancelled() {
            Kind::Fuel(FuelError::Cancelled)
        } else if error.is_limit() {
            Kind::Limit { message }
        } else {
            Kind::Malformed { message }
        }
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
        SchemaError(Box::new(Inner { pointer, keyword, kind }))
    }

    /// The JSON pointer (RFC 6901) of the schema at fault; empty for the whole document.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// The keyword at fault, in the schema at [`pointer`](Self::pointer), if it is one.
    pub fn keyword(&self) -> Option<&'static str> {
        self.0.keyword
    }

    /// Whether a limit on work or size was reached, rather than the schema being wrong.
    pub fn is_limit(&self) -> bool {
        matches!(self.0.kind, Kind::Limit { .. } | Kind::Fuel(FuelError::Exhausted { .. }))
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0.kind, Kind::Fuel(FuelError::Cancelled))
    }

    /// Whether the schema is well-formed, but nothing satisfies it.
    pub fn is_unsatisfiable(&self) -> bool {
        matches!(self.0.kind, Kind::Unsatisfiable { .. })
    }

    pub(crate) fn is_loop(&self) -> bool {
        self.0.kind == Kind::Loop
    }

    /// Whether the schema is valid, but uses a keyword that is not enforced.
    pub fn is_unsupported(&self) -> bool {
        matches!(self.0.kind, Kind::Unsupported { .. })
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { pointer, keyword, kind } = &*self.0;
        match kind {
            Kind::Syntax { message } => return write!(f, "the schema is not JSON: {message}"),
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
            | Kind::Limit { message }
            | Kind::Syntax { message } => write!(f, "{message}"),
            Kind::Loop => write!(
                f,
                "the schema leads back to itself without a step into a property or an item, so it says nothing"
            ),
            Kind::Fuel(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SchemaError {}
