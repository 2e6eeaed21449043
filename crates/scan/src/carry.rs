//! What a hypothesis carries besides the lexer's state.
//!
//! Bytes change it, and no parser does, so hypotheses that carry the same are one. The engine's carry nothing
//! (`()`): it keeps the layout of a text itself, beside its parser. Those of infilling carry an
//! [`Indent`](crate::Indent), since a canvas has many texts at once.

use std::fmt::Debug;
use std::hash::Hash;

use maskwright_grammar::Layout;

/// See the module.
pub trait Carry: Copy + Eq + Hash + Debug {
    /// What is carried before any text.
    const START: Self;

    /// Whether blanks and newline characters matter to it, even if they are alike to the lexer.
    const COUNTS_BLANKS: bool;

    /// Whether the lexer can read on from here.
    fn is_read_on(self) -> bool;

    /// Whether a text may end here.
    fn may_end(self) -> bool;

    /// What is carried after one more byte within a token, which may become one that ends a line or not: the
    /// possibilities.
    fn within(self, byte: u8, layout: Option<&Layout>, may_end_line: bool) -> Vec<Self>;

    /// What is carried after a token that ends with `byte`, and that ends a line or not: the possibilities.
    fn after(self, byte: u8, layout: Option<&Layout>, ends_line: bool) -> Vec<Self>;

    /// After the end of a line: whether this is carried if brackets drop the line end, or if they do not.
    fn is_for(self, is_dropped: bool) -> bool;
}

/// Nothing.
impl Carry for () {
    const START: () = ();
    const COUNTS_BLANKS: bool = false;

    fn is_read_on(self) -> bool {
        true
    }

    fn may_end(self) -> bool {
        true
    }

    fn within(self, _: u8, _: Option<&Layout>, _: bool) -> Vec<()> {
        vec![()]
    }

    fn after(self, _: u8, _: Option<&Layout>, _: bool) -> Vec<()> {
        vec![()]
    }

    fn is_for(self, _: bool) -> bool {
        true
    }
}
