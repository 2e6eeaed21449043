//! Why a grammar cannot be handled by the method.

use std::fmt;

use maskwright_automata::AutomatonError;

/// Why a grammar is outside the method, or a limit was reached.
///
/// # Examples
/// ```
/// use maskwright_grammar::GrammarBuilder;
/// use maskwright_truncproof::TruncProof;
/// use maskwright_vocabulary::Vocabulary;
/// let mut builder = GrammarBuilder::new();
/// let start = builder.declare("start");
/// let (one, two, x) = (builder.literal("1"), builder.literal("2"), builder.literal("x"));
/// let alternatives = [builder.seq(&[x, one]), builder.seq(&[x, two])];
/// let body = builder.alt(&alternatives);
/// builder.define(start, body);
/// let vocabulary = Vocabulary::from_tokens(vec![Some(b"x".to_vec())], &[], None).unwrap().shared();
/// let error = TruncProof::new(builder.finish(start).unwrap(), &vocabulary).unwrap_err();
/// assert!(error.to_string().contains("not LL(1)"));
/// ```
#[derive(Debug)]
pub struct TruncProofError(Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    Conflict { rule: String },
    LeftRecursion { rule: String },
    EmptyRepetition { rule: String },
    Shuffle { rule: String },
    EmptyTerminal { index: usize },
    Unspellable,
    LimitTooSmall { given: usize, least: u32 },
    TooManyStates { limit: usize },
    TooManyReadings { limit: usize },
    Automaton(AutomatonError),
}

impl From<Kind> for TruncProofError {
    fn from(kind: Kind) -> Self {
        TruncProofError(kind)
    }
}

impl From<AutomatonError> for TruncProofError {
    fn from(error: AutomatonError) -> Self {
        TruncProofError(Kind::Automaton(error))
    }
}

impl fmt::Display for TruncProofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Conflict { rule } => {
                write!(
                    f,
                    "rule `{rule}` is not LL(1): the next terminal does not decide between alternatives"
                )
            }
            Kind::LeftRecursion { rule } => write!(f, "rule `{rule}` is not LL(1): it is left-recursive"),
            Kind::EmptyRepetition { rule } => {
                write!(f, "rule `{rule}` is not LL(1): it repeats what can be empty")
            }
            Kind::Shuffle { rule } => write!(f, "rule `{rule}` is not LL(1): it has a list in any order"),
            Kind::EmptyTerminal { index } => {
                write!(f, "terminal {index} matches the empty text, which the method excludes")
            }
            Kind::Unspellable => write!(f, "no tokens of the vocabulary spell any text"),
            Kind::LimitTooSmall { given, least } => {
                write!(f, "the limit is {given} tokens, the shortest text is estimated at {least}")
            }
            Kind::TooManyStates { limit } => write!(f, "an automaton has more than {limit} states"),
            Kind::TooManyReadings { limit } => write!(f, "the text can be split in more than {limit} ways"),
            Kind::Automaton(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TruncProofError {}
