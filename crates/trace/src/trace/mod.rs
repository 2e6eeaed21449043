//! What a trace holds. How it is shown is in the modules inside.

mod cost;
mod page;
mod page_data;
mod shown;
mod terminal;

pub use page::escape_html;
use serde::Serialize;

/// How many tokens that the model wanted a step is meant to have, and how many allowed ones.
pub const N_CANDIDATES: usize = 5;

/// What happened in a generation.
///
/// A trace may hold any of three kinds of generation, or several: [`steps`](Self::steps) that write token by
/// token, [`frames`](Self::frames) that fill a canvas, and the [`tree`](Self::tree) of a search.
///
/// # Examples
/// ```
/// use maskwright_trace::{Step, Trace};
/// let step = Step { token: 5, text: b"42".to_vec(), allowed_mass: Some(0.5), ..Step::default() };
/// let trace = Trace { title: "An answer".to_owned(), steps: vec![step], ..Trace::default() };
/// assert_eq!(trace.cost_nats(), Some(std::f64::consts::LN_2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trace {
    /// The heading of the page.
    pub title: String,
    /// The model's name.
    pub model: Option<String>,
    /// The grammar's name, or the grammar itself.
    pub grammar: Option<String>,
    /// The text that the model was given.
    pub prompt: Option<String>,
    /// The tokens written, in order.
    pub steps: Vec<Step>,
    /// Parts of the text that have a meaning, such as a tool's call. They may nest.
    pub regions: Vec<Region>,
    /// The states of a canvas, in order.
    pub frames: Vec<Frame>,
    /// The branches of a search; each comes after its parent.
    pub tree: Vec<Branch>,
    /// How many more branches the search had, which are not in the tree.
    pub n_left_out: usize,
    /// Whether the text is complete in its grammar; `None` if that is not known.
    pub is_complete: Option<bool>,
}

/// One token written.
///
/// # Examples
/// ```
/// use maskwright_trace::Step;
/// let comma = Step { token: 11, text: b",".to_vec(), is_forced: true, ..Step::default() };
/// assert_eq!(comma.cost_nats(), None);
/// let word = Step { token: 12, text: b" but".to_vec(), allowed_mass: Some(1.0), ..Step::default() };
/// assert_eq!(word.cost_nats(), Some(0.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Step {
    /// The token's id.
    pub token: u32,
    /// The token's bytes. They may be a part of a character.
    pub text: Vec<u8>,
    /// Whether it was the only token allowed, so that the model was not asked.
    pub is_forced: bool,
    /// Whether the token ends the text.
    pub is_end: bool,
    /// The name of a special token. It is shown instead of the token's bytes.
    pub name: Option<String>,
    /// The probability that the model gave to all allowed tokens together, from 0 to 1; `None` if not
    /// measured.
    pub allowed_mass: Option<f64>,
    /// How many tokens were allowed.
    pub n_allowed: Option<u64>,
    /// The tokens that the model itself found likeliest, the best first: at most five are usual.
    pub wanted: Vec<Candidate>,
    /// The likeliest allowed tokens, the best first. Their probabilities are those among the allowed tokens.
    pub allowed: Vec<Candidate>,
    /// Where the token stands in the text's structure: `at /hobbies/2`, or `in statement > call`.
    pub path: Option<String>,
    /// The time to find the allowed tokens, in microseconds.
    pub mask_us: Option<f64>,
    /// How many more tokens the text may have after this one.
    pub tokens_left: Option<u64>,
}

/// A token that could have been written.
///
/// # Examples
/// ```
/// use maskwright_trace::Candidate;
/// let refused = Candidate {
///     token: 7,
///     text: b"Sure".to_vec(),
///     probability: 0.75,
///     is_allowed: false,
///     why: Some("a JSON object begins with {".to_owned()),
///     ..Candidate::default()
/// };
/// assert_eq!(refused.name, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Candidate {
    /// The token's id.
    pub token: u32,
    /// The token's bytes.
    pub text: Vec<u8>,
    /// The name of a special token.
    pub name: Option<String>,
    /// Its probability, from 0 to 1.
    pub probability: f64,
    /// Whether the grammar allowed it.
    pub is_allowed: bool,
    /// Why the grammar refused it.
    pub why: Option<String>,
}

/// A part of the text that has a meaning: a tag, a tool's call, an argument.
///
/// Its offsets count the bytes of all tokens' [`text`](Step::text)s, one after the other.
///
/// # Examples
/// ```
/// use maskwright_trace::Region;
/// let argument = Region { kind: "argument".to_owned(), name: Some("city".to_owned()), start: 9, end: Some(17) };
/// assert!(argument.end.is_some_and(|end| argument.start < end));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Region {
    /// What kind of part it is. Regions of a kind have the same colour.
    pub kind: String,
    /// Its name, such as that of the tool.
    pub name: Option<String>,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends, in bytes; `None` if the text stopped before it did.
    pub end: Option<usize>,
}

/// The canvas after one step of filling it.
///
/// # Examples
/// ```
/// use maskwright_trace::{Cell, Frame};
/// let frame = Frame { positions: vec![Cell::default(), Cell { text: Some(b"}".to_vec()), ..Cell::default() }] };
/// assert_eq!(frame.positions[0].text, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frame {
    /// The positions of the canvas, from left to right.
    pub positions: Vec<Cell>,
}

/// One position of a canvas.
///
/// # Examples
/// ```
/// use maskwright_trace::Cell;
/// let cell = Cell { text: Some(b"name".to_vec()), is_new: true, probability: Some(0.9), ..Cell::default() };
/// assert!(!cell.is_known);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cell {
    /// The bytes of its token; `None` while it is masked.
    pub text: Option<Vec<u8>>,
    /// Whether this step filled it.
    pub is_new: bool,
    /// Whether the user gave it.
    pub is_known: bool,
    /// The probability of its token, from 0 to 1.
    pub probability: Option<f64>,
    /// The probability that the model gave to all allowed tokens together, from 0 to 1.
    pub allowed_mass: Option<f64>,
}

/// One branch of a search: a piece of text after its parent's.
///
/// # Examples
/// ```
/// use maskwright_trace::{Branch, Outcome};
/// let root = Branch { text: b"{".to_vec(), ..Branch::default() };
/// let child = Branch { parent: Some(0), text: b"}".to_vec(), outcome: Outcome::Chosen, ..Branch::default() };
/// assert_eq!(root.outcome, Outcome::Open);
/// assert_eq!(child.parent, Some(0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Branch {
    /// The index of an earlier branch; `None` at the beginning of the text. A parent that is not earlier
    /// counts as none.
    pub parent: Option<usize>,
    /// The bytes that this branch adds.
    pub text: Vec<u8>,
    /// The natural logarithm of the probability of the whole text up to the end of this branch.
    pub log_probability: Option<f64>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a branch.
///
/// # Examples
/// ```
/// use maskwright_trace::Outcome;
/// assert_eq!(Outcome::default(), Outcome::Open);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was continued, or could still be.
    #[default]
    Open,
    /// It was given up.
    Dropped,
    /// It reached a complete text.
    Finished,
    /// It is part of the text that the search returned.
    Chosen,
}
