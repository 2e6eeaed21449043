//! Conditions that no context-free language states, kept by the session beside the grammar.
//!
//! "The items of this array all differ" needs a memory of what was there. A front end that has such a
//! condition gives the grammar a [`Watch`], and [marks](Mark) the terminals at which the condition speaks. A session
//! then has, beside its configuration, a [`Watching`]: it reads the same bytes and says where terminals marked
//! [`Mark::Parts`] may not be entered. The language is the set of texts that have a derivation none of whose
//! marked terminals begins where the watch refuses it. What a watch knows of the text it reads itself, so the
//! engine stays ignorant of syntax, and of grammars without a watch nothing changes.
//!
//! **What a front end owes.** For all texts of the language of the grammar alone, what the watch reads out of
//! a text depends on the text alone, not on its derivation. From a text that is not [at
//! risk](Watching::is_at_risk) and goes on by the grammar, some completion satisfies the condition.
//!
//! Rejected: seen items as part of the states of the network (every prefix of an item would be a state of its
//! own, never met again, in tables that live as long as the grammar).

use std::fmt::Debug;
use std::sync::Arc;

use maskwright_automata::ByteSet;

use crate::TerminalId;

/// What a terminal is to the [`Watch`] of its grammar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mark {
    /// Something to watch begins.
    Opens,
    /// Something watched ends here: the terminal is not entered where the watch refuses it.
    Parts,
}

/// A condition on texts.
pub trait Watch: Debug + Send + Sync {
    /// The watch before any text.
    fn start(&self) -> Box<dyn Watching>;

    /// Bytes of which at least one is in every word of a terminal marked [`Mark::Parts`].
    fn parting_bytes(&self) -> ByteSet;
}

/// What a [`Watch`] remembers of a text.
pub trait Watching: Debug + Send + Sync {
    /// Reads one byte, before which a terminal marked [`Mark::Opens`] could come or go on iff `opens`.
    /// Whether anything has changed.
    fn read(&mut self, byte: u8, opens: bool) -> bool;

    /// Whether no terminal marked [`Mark::Parts`] may begin here.
    fn refuses(&self) -> bool;

    /// Whether the condition might leave no completion although the grammar has one. May err on the side of
    /// risk, then a search decides.
    fn is_at_risk(&self) -> bool;

    /// A copy.
    fn boxed_clone(&self) -> Box<dyn Watching>;
}

impl Clone for Box<dyn Watching> {
    fn clone(&self) -> Box<dyn Watching> {
        self.boxed_clone()
    }
}

/// The watch of a grammar and the marks of its terminals.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The condition.
    pub watch: Arc<dyn Watch>,
    pub(crate) marks: Vec<Option<Mark>>,
}

impl Watched {
    /// The mark of a terminal.
    pub fn mark(&self, terminal: TerminalId) -> Option<Mark> {
        self.marks.get(terminal.index()).copied().flatten()
    }
}
