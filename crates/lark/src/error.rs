//! What can be wrong with a grammar text, before it is placed in its source.

use maskwright_automata::FuelError;
use maskwright_syntax::{SyntaxError, nearest_name};

use crate::source::{Sources, Span};

/// An error before it is placed in its source: the passes make these, [`parse_lark`](crate::parse_lark)
/// places them.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    /// Which of the [`Sources`].
    source: u32,
    fault: maskwright_syntax::Fault,
}

impl Fault {
    /// The grammar is wrong at `span`.
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Fault {
        Fault { source: span.source, fault: maskwright_syntax::Fault::new(bytes(span), message) }
    }

    /// A limit on work or size was reached at `span`.
    pub(crate) fn limit(span: Span, message: impl Into<String>) -> Fault {
        Fault { source: span.source, fault: maskwright_syntax::Fault::limit(bytes(span), message) }
    }

    /// The supply of work ended at `span`.
    pub(crate) fn fuel(span: Span, error: FuelError) -> Fault {
        Fault { source: span.source, fault: maskwright_syntax::Fault::fuel(bytes(span), error) }
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
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Fault {
        Fault { fault: self.fault.with_hint(hint), ..self }
    }

    /// The same error, with "did you mean" the nearest of `candidates` as its hint where one is near.
    pub(crate) fn suggesting<'a>(self, given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Fault {
        match nearest_name(given, candidates) {
            Some((_, candidate)) => self.with_hint(format!("did you mean `{candidate}`?")),
            None => self,
        }
    }

    /// The error, with its place. Takes time in the length of the source.
    pub(crate) fn place(self, sources: &Sources) -> SyntaxError {
        let (name, source) = sources.get(self.source);
        self.fault.place(source, name)
    }
}

fn bytes(span: Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
}
