//! The texts that have the shape of a question, as a finite automaton over bytes.
//!
//! A *lattice* is a sequence of pieces; *boundary* k is the place before piece k, and boundary n is the end.
//! A [`Node`] is a boundary or a place inside a piece: after some bytes of a fixed text, or inside a token.
//! Inside a token it is a *set* of nodes of the token trie, those that the text can be at after the same
//! terminals.

/// About how many bytes tokens of the vocabulary have.
pub(crate) const BYTES_OF_TOKEN: u32 = 4;

/// Work units of a node and of an edge of what is read of a lattice. They are kept, so they cost what they
/// take in memory, some ten bytes a unit.
pub(crate) const UNITS_PER_NODE: u64 = 32;
pub(crate) const UNITS_PER_EDGE: u64 = 4;

/// One part of a lattice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Piece {
    /// This text, which is not empty.
    Bytes(Box<[u8]>),
    /// Exactly one token of the vocabulary.
    Token,
    /// Any text, the empty one included.
    Free,
    /// Any text, with lines of any width. Only lattices with more texts have it.
    Rough,
    /// No text at all passes here.
    Stop,
}

/// A piece and the way round it: the boundary (greater than its own) that its text may be left out for.
pub(crate) type Step = (Piece, Option<u32>);

/// The texts of a sequence of pieces that end at one of some boundaries.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Lattice {
    pub(crate) steps: Vec<Step>,
    pub(crate) ends: Vec<usize>,
    /// The piece that the question is about, if it is about one. Changes no answer: a search looks more
    /// closely there.
    pub(crate) focus: Option<usize>,
    /// Whether known text must not become part of a comment or string that unknown text before it begins.
    pub(crate) keeps_text: bool,
}

/// A place of a lattice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct Node {
    /// The piece it is in, or at the beginning of.
    pub(crate) position: u32,
    /// 0 at the boundary; else the bytes of a fixed text that are read, or the number of the set of trie
    /// nodes.
    pub(crate) inner: u32,
}

impl Node {
    /// The boundary before piece `position`.
    pub(crate) fn boundary(position: u32) -> Node {
        Node { position, inner: 0 }
    }
}
