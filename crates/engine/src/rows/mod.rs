//! Rows: what one residue says about the whole vocabulary.
//!
//! For a residue r the row holds *inside*, the tokens whose bytes all keep r alive, and *exits*: for every
//! token p·u where r accepts p (neither part empty), the remainder u, in a trie with the tokens at its nodes.
//! A mask is then the union of the insides of the live residues and of the exits whose remainder the rest of
//! the grammar can read. A row depends on a terminal and a vocabulary only, never on a grammar, so all
//! grammars of a compiler share it. (Paper 2's inverse token spanner table, section 3.3, by residue instead
//! of by lexer state, and lazily.)
//!
//! An example: the terminal is `[0-9]+`, the text so far ends within it, and the vocabulary has `1`, `42`,
//! `7,` and `x`. The row says: `1` and `42` are inside; `7,` exits with the remainder `,`; `x` is in no part
//! of the row. Where the grammar reads a comma next, the mask is `1`, `42`, `7,`.
//!
//! Walking the whole token trie takes milliseconds, so a row is made that way only where nothing nearby is
//! known:
//!
//! * [`PlainRow`] (`plain`): the walk (`walk`).
//! * The walk of the long tokens alone (`near`): a residue whose bounds the others cannot see.
//! * [`MinusRow`] (`minus`): a language without a few words ("any key but these names"), as the row of the
//!   language with them and the tokens that differ.
//! * [`CountedRow`] (`counted`): counted units (`maxLength`), as one row for all counts and a number for each
//!   token.
//!
//! What terminals say about the exits of a row, one after the other, is kept like rows (`beyond`).
//!
//! The rows of a compiler are kept, and made once however many threads ask (`cache`, `once`). They can be
//! written down for the next process (`saved`).
//!
//! Rejected: rows made while compiling (p99.9 of masks 11% better, median of compiling 2.5 times worse); rows
//! of the formats of JSON Schema made with the compiler, and rows after the last byte of a key (no gain that
//! could be measured).

mod beyond;
mod cache;
mod counted;
mod minus;
mod near;
mod once;
mod plain;
mod saved;
mod walk;

use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId};
use maskwright_vocabulary::{TokenId, Trie, Vocabulary};

pub(crate) use beyond::{BeyondExits, BeyondRow};
pub(crate) use cache::{KnownRow, Lookup, Rows};
pub(crate) use counted::{CountedRow, UnitBounds};
use minus::MinusRow;
use near::LongTokens;
pub(crate) use once::{OncePerKey, Weigh};
use plain::PlainRow;
pub(crate) use saved::{CountedKey, MAX_RESIDUE, MAX_TREE, ReadRow, SavedError, SavedRows, Writer};

use crate::ground::MaskBuilder;

/// What one residue says about the vocabulary.
#[derive(Clone)]
pub(crate) enum Row {
    Plain(Arc<PlainRow>),
    Minus(Arc<MinusRow>),
    Counted(Arc<CountedRow>, UnitBounds),
}

/// Exits to be walked, and which of their tokens count.
pub(crate) struct Exits {
    pub(crate) trie: Arc<Trie>,
    /// Whether they were asked for often before, by this grammar or others.
    pub(crate) are_known: bool,
    filter: ExitFilter,
}

enum ExitFilter {
    All,
    Minus(Arc<MinusRow>),
    Counted(Arc<CountedRow>, UnitBounds),
}

impl Row {
    /// Adds the tokens that stay inside the residue.
    pub(crate) fn add_inside(&self, mask: &mut MaskBuilder) {
        match self {
            Row::Plain(row) => mask.union(&row.inside),
            Row::Minus(row) => mask.union_without(&row.base.inside, &row.removed_inside),
            Row::Counted(row, bounds) => row.add_inside(*bounds, mask),
        }
    }

    /// Makes what is otherwise made when a mask first asks for it.
    pub(crate) fn prepare(&self, vocabulary: &Vocabulary) {
        if let Row::Plain(row) = self {
            row.all_exits(vocabulary);
        }
    }

    /// Whether exits are listed whatever follows.
    pub(crate) fn lists_all_exits(&self) -> bool {
        match self {
            Row::Plain(row) => row.lists_all_exits(),
            Row::Minus(_) | Row::Counted(..) => true,
        }
    }

    /// Whether [`exits_on`](Row::exits_on) has its answer already.
    pub(crate) fn knows_exits_on(&self, follow: ByteSet) -> bool {
        match self {
            Row::Plain(row) => row.knows_exits_on(follow),
            Row::Minus(row) => row.base.knows_exits_on(follow),
            Row::Counted(..) => true,
        }
    }

    /// The exits whose remainder begins with a byte of `follow` (others may be there too); `None` if there
    /// are too many to list.
    pub(crate) fn exits_on(
        &self,
        follow: ByteSet,
        vocabulary: &Vocabulary,
        automaton: &Automaton,
        residue: StateId,
        max_exits: usize,
    ) -> Result<Option<Exits>, AutomatonError> {
        Ok(match self {
            Row::Plain(row) => row
                .exits_on(follow, vocabulary, automaton, residue, max_exits)?
                .map(|trie| Exits { trie, are_known: row.note_exit_use(), filter: ExitFilter::All }),
            Row::Minus(row) => row.base.all_exits(vocabulary).map(|trie| Exits {
                trie,
                are_known: row.base.note_exit_use(),
                filter: ExitFilter::Minus(row.clone()),
            }),
            Row::Counted(row, bounds) => Some(Exits {
                trie: row.exits().clone(),
                are_known: true,
                filter: if row.allows_all_exits(*bounds) {
                    ExitFilter::All
                } else {
                    ExitFilter::Counted(row.clone(), *bounds)
                },
            }),
        })
    }

    /// Approximate memory, in bytes, what is shared with other rows left out.
    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            Row::Plain(row) => row.memory_usage(),
            Row::Minus(row) => row.memory_usage(),
            Row::Counted(row, _) => row.memory_usage(),
        }
    }
}

impl Exits {
    /// How many exits there are.
    pub(crate) fn len(&self) -> usize {
        let mut tokens = self.trie.subtree_tokens(Trie::ROOT).to_vec();
        self.keep(&mut tokens);
        tokens.len()
    }

    /// Of `tokens`, found at readable remainders, those that are exits.
    pub(crate) fn keep(&self, tokens: &mut Vec<TokenId>) {
        match &self.filter {
            ExitFilter::All => {}
            ExitFilter::Minus(row) => {
                tokens.retain(|token| row.removed_exits.binary_search(&token.0).is_err())
            }
            ExitFilter::Counted(row, bounds) => tokens.retain(|token| row.allows_exit(*token, *bounds)),
        }
    }
}
