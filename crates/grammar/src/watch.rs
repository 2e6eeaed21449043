//! Conditions that no context-free language states, kept by the session beside the grammar.
//!
//! "The items of this array all differ" needs a memory of what was there, and so does "no key occurs twice".
//! A front end that has such a condition gives the grammar a [`Watch`], and [marks](Mark) the terminals at
//! which the condition speaks. A session then has, beside its configuration, a [`Watching`]: it reads the
//! same bytes and says where terminals marked [`Mark::Parts`], [`Mark::Separates`] or [`Mark::Names`] may not
//! be entered. The language is the set of texts that have a derivation none of whose marked terminals begins
//! where the watch refuses it. What a watch knows of the text it reads itself, so the engine stays ignorant
//! of syntax, and of grammars without a watch nothing changes.
//!
//! **What a front end owes.** For all texts of the language of the grammar alone, what the watch reads out of
//! a text depends on the text alone, not on its derivation. (So a schema within a larger text is watched only
//! if all readings agree on where it begins: `maskwright_tags`.) From a text that is not [at
//! risk](Watching::is_at_risk) and goes on by the grammar, some completion satisfies the condition. Where a
//! text is not at risk and goes on by a token that reads into no terminal that [parts](Mark::parts), the same
//! is true of the text after it, unless the token is [doubtful](Watch::doubt); and that text is not at risk
//! either, unless the token may [begin](Watch::begins) something. From a text that is not at risk, whatever
//! completes it without terminals marked [`Mark::Begins`] or [`Mark::Separates`] satisfies the condition.
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
    /// The same, and something more to watch comes after it.
    Separates,
    /// Something that the watch could refuse at its end begins here. It says nothing to sessions; completions
    /// that enter no such terminal, and none that separates, are refused nothing (see the promise above).
    Begins,
    /// As [`Mark::Parts`], where refusals are foreseen by [risk](Watching::is_at_risk) and
    /// [doubt](Watch::doubt), so that tokens need not be listed by whether they read into the terminal.
    Names,
    /// An object opens that contains marked terminals.
    Holds,
}

impl Mark {
    /// Whether tokens that read into the terminal must be listed, since they could be refused.
    pub fn parts(self) -> bool {
        matches!(self, Mark::Parts | Mark::Separates)
    }

    /// Whether a terminal is not entered where the watch refuses.
    pub fn can_be_refused(self) -> bool {
        self.parts() || self == Mark::Names
    }

    /// Whether what comes after it could be refused later.
    pub fn begins(self) -> bool {
        matches!(self, Mark::Begins | Mark::Separates)
    }
}

/// The marks of the terminals that could be read at a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Marks(u8);

impl Marks {
    /// Whether a terminal with `mark` is among them.
    #[inline]
    pub fn contains(self, mark: Mark) -> bool {
        self.0 & (1 << mark as u8) != 0
    }

    /// Whether some terminal is not entered where the watch refuses.
    #[inline]
    pub fn can_refuse(self) -> bool {
        self.0 & (1 << Mark::Parts as u8 | 1 << Mark::Separates as u8 | 1 << Mark::Names as u8) != 0
    }
}

impl Extend<Mark> for Marks {
    fn extend<I: IntoIterator<Item = Mark>>(&mut self, marks: I) {
        for mark in marks {
            self.0 |= 1 << mark as u8;
        }
    }
}

impl FromIterator<Mark> for Marks {
    fn from_iter<I: IntoIterator<Item = Mark>>(marks: I) -> Marks {
        let mut all = Marks::default();
        all.extend(marks);
        all
    }
}

/// Where a token that reads into no terminal that [parts](Mark::parts) could lead from a text that is not at
/// risk to one that has no completion, or is at risk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Doubt {
    /// Nowhere.
    Never,
    /// Where the watch [keeps](Watching::is_idle) something.
    Kept,
    /// Anywhere.
    Always,
}

/// A condition on texts.
pub trait Watch: Debug + Send + Sync {
    /// The watch before any text.
    fn start(&self) -> Arc<dyn Watching>;

    /// Bytes of which at least one is in every word of a terminal that [parts](Mark::parts).
    fn parting_bytes(&self) -> ByteSet;

    /// What is known of a token by its bytes alone.
    fn doubt(&self, token: &[u8]) -> Doubt;

    /// Whether a token that reads into no terminal that [parts](Mark::parts) could lead from a text that is
    /// not at risk to one that is.
    fn begins(&self, token: &[u8]) -> Doubt;

    /// Bytes that tell apart what terminals marked [`Mark::Begins`] read, if nothing else is refused: of any
    /// words that complete such a terminal at some place and differ in those bytes, and of which one is
    /// completed to a whole text, the watch refuses no more than as many as it [has kept](Watching::n_kept)
    /// or reads on the way. `None` where it makes no such promise.
    fn apart(&self) -> Option<ByteSet> {
        None
    }

    /// A name for all watches that say the same of all tokens, which is then asked for once a vocabulary.
    fn family(&self) -> &'static str;
}

/// What a [`Watch`] remembers of a text.
pub trait Watching: Debug + Send + Sync {
    /// Reads one byte, before which terminals with these marks could begin or go on. Whether anything has
    /// changed.
    fn read(&mut self, byte: u8, marks: Marks) -> bool;

    /// Whether reading `byte` changes nothing, whatever the marks. May err on the side of no.
    fn ignores(&self, byte: u8) -> bool;

    /// Whether no terminal with a mark that [can be refused](Mark::can_be_refused) may begin here.
    fn refuses(&self) -> bool;

    /// Whether the condition might leave no completion although the grammar has one. May err on the side of
    /// risk, then a search decides.
    fn is_at_risk(&self) -> bool;

    /// At a text at risk, bytes such that any other one, where the grammar reads it, leads out of risk.
    fn risky_bytes(&self) -> ByteSet;

    /// Whether nothing is kept that could make a difference to a token of no [doubt](Watch::doubt).
    fn is_idle(&self) -> bool;

    /// Whether something is kept that could make a difference to a token that reads into a terminal that
    /// [parts](Mark::parts).
    fn keeps_parts(&self) -> bool;

    /// An upper bound on the number of keys and items kept, of those that a [watched](Mark::Begins) terminal
    /// reads.
    fn n_kept(&self) -> usize {
        usize::MAX
    }

    /// A copy.
    fn copied(&self) -> Arc<dyn Watching>;
}

impl dyn Watching {
    /// What `shared` holds, which is copied if others have it too.
    pub fn make_mut(shared: &mut Arc<dyn Watching>) -> &mut dyn Watching {
        if Arc::get_mut(shared).is_none() {
            *shared = shared.copied();
        }
        Arc::get_mut(shared).expect("it is shared no more")
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

    /// By terminal, whether what comes after it [could be refused later](Mark::begins).
    pub fn beginning(&self) -> Vec<bool> {
        self.marks.iter().map(|mark| mark.is_some_and(Mark::begins)).collect()
    }

    /// Whether some terminal has this mark.
    pub fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&Some(mark))
    }
}
