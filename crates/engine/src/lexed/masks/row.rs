//! Rows of lexed grammars: what one hypothesis says about the whole vocabulary.
//!
//! A mask is made from rows, so that the parser is asked once per sequence of terminals, not once per token.
//! Tokens whose readings are the same are a *class*. A [`LexedRow`] holds the tokens of each class and, as a
//! trie over sequences of terminals ([`SequenceTree`]), how the classes can be read.
//!
//! An example: in Python, from the beginning of a statement, the tokens `x`, `foo` and `bar` are one class:
//! no terminal has ended, and a name is in progress. The tokens `x =` and `foo =` are another: they are read
//! as `NAME` with a begun `=`, and as `NAME`, `"="`.
//!
//! (Paper 2's inverse token spanner table, section 3.3, for lexers that look ahead: an entry keeps the
//! hypothesis after its sequence.)

use std::ops::Range;

use maskwright_grammar::TerminalId;
use maskwright_scan::HypothesisId;
use maskwright_vocabulary::{Trie, Vocabulary};
use rustc_hash::{FxHashMap, FxHashSet};

use super::parts::{Parts, stays_below};
use super::readings::{Context, Readings, SequenceId, SetId, Symbol};
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm};

/// What one hypothesis says about the vocabulary.
pub(super) struct LexedRow {
    /// The tokens of each class.
    pub(super) classes: Vec<MaskForm>,
    /// The ends of tokens within which no terminal ends.
    pub(super) inside: Vec<End>,
    /// All others.
    pub(super) tree: SequenceTree,
    /// The class of tokens that have too many readings to list.
    pub(super) unread: Option<u32>,
}

/// Where the tokens of a class can end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct End {
    /// The hypothesis, or one after which the same texts have a completion.
    pub(super) hypothesis: HypothesisId,
    pub(super) class: u32,
    /// Whether it is the end of a free reading, so that the tokens of the class may not be readable so.
    pub(super) is_free: bool,
}

/// Sequences of terminals with the ends after each, in preorder.
#[derive(Default)]
pub(super) struct SequenceTree {
    pub(super) nodes: Vec<SequenceNode>,
    ends: Vec<End>,
    /// By first terminal, ascending, where its sequences are.
    firsts: Vec<(TerminalId, Range<u32>)>,
}

/// A sequence, by its last symbol.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequenceNode {
    pub(super) symbol: Symbol,
    /// How many symbols it has; not 0.
    pub(super) length: u32,
    /// One more than the index of the last sequence that begins with this one.
    pub(super) subtree_end: u32,
    ends_start: u32,
    ends_end: u32,
}

impl SequenceTree {
    /// The ends after a sequence. Equal hypotheses are neighbours, with strict readings first.
    pub(super) fn ends(&self, node: &SequenceNode) -> &[End] {
        &self.ends[node.ends_start as usize..node.ends_end as usize]
    }

    /// The indices of the sequences that begin with a terminal.
    pub(super) fn beginning_with(&self, terminal: TerminalId) -> Range<usize> {
        match self.firsts.binary_search_by_key(&terminal, |&(first, _)| first) {
            Ok(place) => {
                let Range { start, end } = self.firsts[place].1;
                start as usize..end as usize
            }
            Err(_) => 0..0,
        }
    }

    /// Adds a sequence after the others; its subtree is closed by [`SequenceTree::close`].
    fn push(&mut self, symbol: Symbol, length: u32, ends: &[End]) -> usize {
        let ends_start = self.ends.len() as u32;
        self.ends.extend_from_slice(ends);
        let ends_end = self.ends.len() as u32;
        self.nodes.push(SequenceNode { symbol, length, subtree_end: 0, ends_start, ends_end });
        self.nodes.len() - 1
    }

    fn close(&mut self, index: usize) {
        let end = self.nodes.len() as u32;
        let node = &mut self.nodes[index];
        node.subtree_end = end;
        if node.length > 1 {
            return;
        }
        let terminal = node.symbol.terminal;
        match self.firsts.last_mut() {
            Some((last, range)) if *last == terminal => range.end = end,
            _ => self.firsts.push((terminal, index as u32..end)),
        }
    }

    /// The part of the tree with the given ends of some nodes, by ascending index, and what leads there.
    pub(super) fn part(&self, kept: &[(u32, End)]) -> SequenceTree {
        let mut part = SequenceTree::default();
        let mut open: Vec<(usize, u32)> = Vec::new();
        let mut position = 0;
        let mut index = 0u32;
        while position < kept.len() {
            let (target, _) = kept[position];
            let node = &self.nodes[index as usize];
            if target >= node.subtree_end {
                index = node.subtree_end;
                continue;
            }
            while open.last().is_some_and(|&(_, end)| end <= index) {
                open.pop().into_iter().for_each(|(made, _)| part.close(made));
            }
            let n_here = kept[position..].iter().take_while(|(at, _)| *at == index).count();
            let ends: Vec<End> = kept[position..position + n_here].iter().map(|&(_, end)| end).collect();
            open.push((part.push(node.symbol, node.length, &ends), node.subtree_end));
            position += n_here;
            index += 1;
        }
        while let Some((made, _)) = open.pop() {
            part.close(made);
        }
        part
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.nodes.capacity() * size_of::<SequenceNode>() + self.ends.capacity() * size_of::<End>()
    }
}

impl LexedRow {
    /// The row of the hypothesis that `start` holds: one walk over the token trie. `alike` says which
    /// hypothesis stands for another at the end of a token.
    // Inlined, its loops take a seventh more instructions.
    #[inline(never)]
    pub(super) fn new(
        vocabulary: &Vocabulary,
        parts: &mut Parts,
        context: &mut Context<'_>,
        start: SetId,
        mut alike: impl FnMut(&mut Context<'_>, HypothesisId) -> Result<HypothesisId, EngineError>,
    ) -> Result<LexedRow, EngineError> {
        let n_words = vocabulary.n_words();
        // By set, one more than the number of its class; 0 where it has none.
        let mut numbers: Vec<u32> = Vec::new();
        let mut classes: Vec<(SetId, MaskBuilder)> = Vec::new();
        let mut number_of = |set: SetId, classes: &mut Vec<(SetId, MaskBuilder)>| {
            if numbers.len() <= set.index() {
                numbers.resize(set.index() + 1, 0);
            }
            let number = &mut numbers[set.index()];
            if *number == 0 {
                classes.push((set, MaskBuilder::new(n_words)));
                *number = classes.len() as u32;
            }
            *number as usize - 1
        };
        let trie = vocabulary.trie();
        let tokens = trie.subtree_tokens(Trie::ROOT);
        for (byte, child) in trie.children(Trie::ROOT) {
            let Some(next) = parts.readings.step(context, start, byte)? else { continue };
            if stays_below(&mut parts.readings, context, trie, child, next)? {
                let class = number_of(next, &mut classes);
                classes[class].1.insert_all(trie.subtree_tokens(child));
                continue;
            }
            if !trie.tokens(child).is_empty() {
                let class = number_of(next, &mut classes);
                classes[class].1.insert_all(trie.tokens(child));
            }
            if trie.n_children(child) == 0 {
                continue;
            }
            for (set, runs) in parts.part(context, trie, child, next)?.sets() {
                let class = number_of(set, &mut classes);
                for run in runs {
                    classes[class].1.insert_all(&tokens[run.start as usize..run.end as usize]);
                }
            }
        }
        let mut ends: FxHashMap<SequenceId, Vec<End>> = FxHashMap::default();
        for (class, (set, _)) in classes.iter().enumerate() {
            for reading in parts.readings.get(*set) {
                let is_free = context.points.hypotheses.is_free(reading.hypothesis);
                let end =
                    End { hypothesis: alike(context, reading.hypothesis)?, class: class as u32, is_free };
                ends.entry(reading.sequence).or_default().push(end);
            }
        }
        for list in ends.values_mut() {
            list.sort_unstable();
            // Free ends come after strict ones that say as much.
            list.dedup_by_key(|end| (end.hypothesis, end.class));
        }
        let inside = ends.remove(&SequenceId::EMPTY).unwrap_or_default();
        let tree = tree(&parts.readings, &ends);
        let unread = classes.iter().position(|&(set, _)| set == SetId::TOO_MANY).map(|class| class as u32);
        let classes = classes.into_iter().map(|(_, tokens)| tokens.finish()).collect();
        Ok(LexedRow { classes, inside, tree, unread })
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.classes.iter().map(|class| class.memory_usage() + size_of::<MaskForm>()).sum::<usize>()
            + self.inside.len() * size_of::<End>()
            + self.tree.memory_usage()
    }
}

/// The tree of the given sequences.
fn tree(readings: &Readings, ends: &FxHashMap<SequenceId, Vec<End>>) -> SequenceTree {
    let mut children: FxHashMap<SequenceId, Vec<(Symbol, SequenceId)>> = FxHashMap::default();
    let mut seen: FxHashSet<SequenceId> = FxHashSet::default();
    for &sequence in ends.keys() {
        let mut sequence = sequence;
        while let Some((before, symbol)) = readings.last(sequence)
            && seen.insert(sequence)
        {
            children.entry(before).or_default().push((symbol, sequence));
            sequence = before;
        }
    }
    enum Visit {
        Open(Symbol, SequenceId, u32),
        Close(usize),
    }
    let mut tree = SequenceTree::default();
    let mut work = Vec::new();
    let push_children = |work: &mut Vec<Visit>, sequence: SequenceId, length: u32| {
        let mut list = children.get(&sequence).cloned().unwrap_or_default();
        list.sort_unstable();
        work.extend(list.into_iter().rev().map(|(symbol, child)| Visit::Open(symbol, child, length)));
    };
    push_children(&mut work, SequenceId::EMPTY, 1);
    while let Some(visit) = work.pop() {
        match visit {
            Visit::Open(symbol, sequence, length) => {
                let ends = ends.get(&sequence).map_or(&[][..], Vec::as_slice);
                work.push(Visit::Close(tree.push(symbol, length, ends)));
                push_children(&mut work, sequence, length + 1);
            }
            Visit::Close(index) => tree.close(index),
        }
    }
    tree
}
