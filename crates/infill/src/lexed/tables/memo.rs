//! What is kept of the lexer and the vocabulary, since no position or text changes it.

use std::sync::Arc;

use maskwright_grammar::TerminalId;
use maskwright_scan::HypothesisId;
use maskwright_vocabulary::{TokenId, TrieNodeId};
use rustc_hash::FxHashMap;

use crate::lexed::hypotheses::CLEAR;
use crate::tokens::{NodeSetId, TokenSet};

/// See the module.
#[derive(Default)]
pub(super) struct Memo {
    pub(super) scans: FxHashMap<(NodeSetId, HypothesisId), Arc<TokenScan>>,
    /// By node next to the trie's root.
    pub(super) parts: FxHashMap<(TrieNodeId, HypothesisId), Arc<Part>>,
    pub(super) tokens: FxHashMap<(NodeSetId, HypothesisId), Arc<[TokenSet]>>,
    pub(super) free_scans: FxHashMap<(HypothesisId, Option<u32>), Arc<FreeScan>>,
    /// The most blanks of a token.
    pub(super) most_blanks: Option<u32>,
    /// By boundary, the one without guards that something ignored leads to, and that.
    pub(super) separators: FxHashMap<HypothesisId, Option<Parted>>,
    pub(super) walks: FxHashMap<HypothesisId, Arc<Walks>>,
    pub(super) clear: Option<Arc<Clear>>,
}

/// What the parser gets on the way, and the hypothesis after it.
pub(crate) type Leap = (Option<TerminalId>, HypothesisId);

/// Where a hypothesis can be after at least one byte. The lists are sorted and distinct.
#[derive(Debug, Default)]
pub(crate) struct TokenScan {
    /// A token of the lexer ends, and the token of the vocabulary continues from one of the nodes.
    pub(crate) exits: Vec<(Leap, NodeSetId)>,
    /// The token of the vocabulary ends, and one of the lexer with it or not.
    pub(crate) ends: Vec<Leap>,
}

/// Where a hypothesis can be after any text of at least one byte. The lists are sorted and distinct.
#[derive(Debug)]
pub(crate) struct FreeScan {
    /// A token of the lexer ends, at a boundary; each with the boundary before what is ignored, if the leap
    /// has that.
    pub(crate) exits: Vec<(Leap, HypothesisId)>,
    /// The token continues.
    pub(crate) inside: Vec<HypothesisId>,
}

/// What was found below one of the nodes next to the trie's root, where a token of the lexer was in progress.
/// Hypotheses that differ in what they watch differ no more after a byte or two, so parts are met again and
/// again, by many hypotheses.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) exits: Vec<(Leap, Box<[TrieNodeId]>)>,
    pub(super) ends: Vec<(Leap, Box<[TokenId]>)>,
}

/// An unguarded boundary, and what is ignored and leads there.
pub(crate) type Parted = (HypothesisId, Arc<[u8]>);

/// The terminals of a token, and the hypothesis after it.
pub(crate) type Walk = (Box<[TerminalId]>, HypothesisId);

/// Walks from one hypothesis, as trees of their terminals.
#[derive(Debug, Default)]
pub(crate) struct Walks {
    /// Those to [`CLEAR`] and to what can continue without limit.
    pub(crate) inner: WalkTree,
    /// The same, and into the middle of characters, and into tokens that a guard watches while they continue.
    pub(crate) open: WalkTree,
    /// The same, but to each of the boundaries that the clear one stands for.
    pub(crate) near: WalkTree,
    /// All of them.
    pub(crate) last: WalkTree,
}

/// Walks that begin with the same terminals share a node; node 0 is the root.
#[derive(Debug, Default)]
pub(crate) struct WalkTree {
    pub(crate) nodes: Vec<WalkNode>,
}

/// A node of a [`WalkTree`], after some of the terminals.
#[derive(Debug, Default)]
pub(crate) struct WalkNode {
    /// Another terminal, with more of the token after it.
    pub(crate) exits: Vec<(TerminalId, u32)>,
    /// The end of the token, and the terminal that ends with it.
    pub(crate) ends: Vec<Leap>,
}

/// The clear boundary (`clear`).
#[derive(Debug)]
pub(crate) struct Clear {
    /// Those that it stands for; sorted.
    pub(super) members: Vec<HypothesisId>,
    /// Whether a text may end at each of the members.
    pub(super) ends_here: bool,
    /// What each of the members can do; sorted.
    pub(super) walks: Vec<Walk>,
}

impl Clear {
    /// Whether it stands for a boundary.
    pub(super) fn contains(&self, boundary: HypothesisId) -> bool {
        boundary == CLEAR || self.members.binary_search(&boundary).is_ok()
    }
}
