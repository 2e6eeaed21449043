//! The row by walking the token trie.
//!
//! A residue that accepts nearly everywhere has nearly every token at nearly every place as an exit. Such
//! rows keep exits only for the first bytes that the grammar at hand can read ([`PlainRow::exits_on`]); where
//! even those are too many, the mask is found by walking the token trie with the whole configuration.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId};
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, Vocabulary};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::walk::{Found, walk};
use crate::ground::{MaskBuilder, MaskForm};

/// Exits that were asked for so many times are worth rows of their own: those of plain strings are asked for
/// by all grammars, those of a place in a pattern by one, and once.
const KNOWN_USES: u32 = 16;

/// What an exit takes in a trie, in bytes: about one node; 17 after numbers, 125 after white space.
const BYTES_PER_EXIT: usize = 64;

/// Lists of fewer exits are not shared.
const MIN_SHARED_EXITS: usize = 256;

/// With so many lists, those no longer in use are dropped.
const MAX_EXIT_LISTS: usize = 1 << 14;

/// A row with nothing left out.
pub(crate) struct PlainRow {
    pub(crate) inside: MaskForm,
    /// All exits, unless there are too many.
    exits: Option<Arc<AllExits>>,
    n_exit_uses: AtomicU32,
    /// Exits by the set of first bytes that they were asked for.
    limited: Mutex<Vec<(ByteSet, LimitedExits)>>,
}

/// Exits that begin with some bytes, or `None` where they are still too many. Locked while they are looked
/// for, so that one thread does for all.
type LimitedExits = Arc<Mutex<Option<Option<Arc<Trie>>>>>;

impl PlainRow {
    /// The row of `residue`: one walk over the part of the token trie that the residue can read.
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        automaton: &Automaton,
        residue: StateId,
        max_exits: usize,
    ) -> Result<PlainRow, AutomatonError> {
        let mut inside = Inside::new(vocabulary);
        let mut exits = Exits::new(vocabulary, ByteSet::FULL, max_exits);
        let trie = vocabulary.trie();
        walk(trie, automaton, residue, |found| match found {
            Found::Subtree(node) => inside.insert(trie.subtree_places(node)),
            Found::Node(node, depth, is_accepting) => {
                inside.insert(trie.token_places(node));
                if is_accepting {
                    exits.add(trie, node, depth);
                }
            }
        })?;
        Ok(PlainRow::with(inside.finish(), exits))
    }

    /// The row with this inside and all of these exits.
    pub(super) fn with(inside: MaskForm, exits: Exits<'_>) -> PlainRow {
        let inside = inside.into_base(exits.vocabulary.n_words());
        PlainRow::from_parts(inside, (!exits.is_overfull).then(|| Arc::new(AllExits::new(exits.found))))
    }

    /// The row with this inside, in the form of a base, and these exits, or too many.
    pub(super) fn from_parts(inside: MaskForm, exits: Option<Arc<AllExits>>) -> PlainRow {
        PlainRow { inside, n_exit_uses: AtomicU32::new(0), exits, limited: Mutex::default() }
    }

    /// Shares the list of exits with the rows that have the same one.
    pub(super) fn share_exits(&mut self, lists: &ExitLists) {
        self.exits = self.exits.take().map(|exits| lists.shared(exits));
    }

    /// All exits, unless there are too many, each with the length of the part before its remainder.
    pub(super) fn listed_exits(&self) -> Option<&[(TokenId, u32)]> {
        self.exits.as_ref().map(|exits| &*exits.list)
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
    ) -> Result<Option<Arc<Trie>>, AutomatonError> {
        if let Some(exits) = self.all_exits(vocabulary) {
            return Ok(Some(exits));
        }
        let exits = self.limited_to(follow);
        let mut exits = exits.lock();
        if let Some(known) = &*exits {
            return Ok(known.clone());
        }
        let mut found = Exits::new(vocabulary, follow, max_exits);
        walk(vocabulary.trie(), automaton, residue, |place| {
            if let Found::Node(node, depth, true) = place {
                found.add(vocabulary.trie(), node, depth);
            }
        })?;
        Ok(exits.insert(found.finish()).clone())
    }

    /// Whether [`exits_on`](PlainRow::exits_on) has its answer already.
    pub(crate) fn knows_exits_on(&self, follow: ByteSet) -> bool {
        match &self.exits {
            Some(exits) => exits.trie.get().is_some(),
            None => self.limited_to(follow).try_lock().is_some_and(|exits| exits.is_some()),
        }
    }

    fn limited_to(&self, follow: ByteSet) -> LimitedExits {
        let mut limited = self.limited.lock();
        match limited.iter().find(|(bytes, _)| *bytes == follow) {
            Some((_, exits)) => exits.clone(),
            None => {
                let exits = LimitedExits::default();
                limited.push((follow, exits.clone()));
                exits
            }
        }
    }

    /// All exits, unless there are too many.
    pub(crate) fn all_exits(&self, vocabulary: &Vocabulary) -> Option<Arc<Trie>> {
        self.exits.as_ref().map(|exits| exits.trie(vocabulary))
    }

    /// Whether there are not too many exits to list them all.
    pub(crate) fn lists_all_exits(&self) -> bool {
        self.exits.is_some()
    }

    /// Notes that the exits are asked for; whether they often were before.
    pub(crate) fn note_exit_use(&self) -> bool {
        self.n_exit_uses.fetch_add(1, Ordering::Relaxed) >= KNOWN_USES
    }

    /// Whether all exits are listed, and every token is listed at one place at most.
    pub(crate) fn has_single_exits(&self) -> bool {
        self.exits.as_ref().is_some_and(|exits| exits.are_single())
    }

    /// Approximate memory, in bytes; the same as long as the row lives, so without the exits that are listed
    /// later.
    pub(crate) fn memory_usage(&self) -> usize {
        self.inside.memory_usage() + self.exits.as_ref().map_or(0, |exits| exits.memory_usage()) + 128
    }
}

/// All exits of a row, or of several. Many rows are never asked for them, so the trie is made when it first
/// is.
pub(super) struct AllExits {
    /// Tokens, each with the length of the part before its remainder.
    list: Box<[(TokenId, u32)]>,
    trie: OnceLock<Arc<Trie>>,
    are_single: OnceLock<bool>,
}

impl AllExits {
    /// All of `list` have a remainder.
    pub(super) fn new(list: Vec<(TokenId, u32)>) -> AllExits {
        AllExits { list: list.into(), trie: OnceLock::new(), are_single: OnceLock::new() }
    }

    fn trie(&self, vocabulary: &Vocabulary) -> Arc<Trie> {
        self.trie.get_or_init(|| remainders(&self.list, vocabulary)).clone()
    }

    /// Whether every token is listed at one place at most.
    fn are_single(&self) -> bool {
        *self.are_single.get_or_init(|| {
            let mut tokens: Vec<TokenId> = self.list.iter().map(|&(token, _)| token).collect();
            tokens.sort_unstable();
            tokens.windows(2).all(|pair| pair[0] != pair[1])
        })
    }

    /// Approximate memory, in bytes, the same whether the trie is made yet or not.
    fn memory_usage(&self) -> usize {
        size_of_val(&*self.list) + self.list.len() * BYTES_PER_EXIT
    }
}

/// The lists of exits in use, by their hashes. Rows that differ only in how much more may come have equal
/// ones, such as those after each digit of a number.
#[derive(Default)]
pub(super) struct ExitLists(Mutex<FxHashMap<u64, Weak<AllExits>>>);

impl ExitLists {
    /// The list that is equal to `exits` and in use, or else `exits`.
    fn shared(&self, exits: Arc<AllExits>) -> Arc<AllExits> {
        if exits.list.len() < MIN_SHARED_EXITS {
            return exits;
        }
        let mut lists = self.0.lock();
        if lists.len() >= MAX_EXIT_LISTS {
            lists.retain(|_, list| list.strong_count() > 0);
        }
        let known = lists.entry(FxBuildHasher.hash_one(&exits.list)).or_default();
        match known.upgrade().filter(|known| known.list == exits.list) {
            Some(known) => known,
            None => {
                *known = Arc::downgrade(&exits);
                exits
            }
        }
    }
}

/// The trie of the tokens' remainders after these lengths.
fn remainders(exits: &[(TokenId, u32)], vocabulary: &Vocabulary) -> Arc<Trie> {
    let remainder = |(token, depth): &(TokenId, u32)| {
        vocabulary.text(*token).map(|bytes| (&bytes[*depth as usize..], *token))
    };
    Arc::new(Trie::new(exits.iter().filter_map(remainder)))
}

/// Tokens inside being collected, as a packed set of places among the trie's tokens.
struct Inside<'a> {
    vocabulary: &'a Vocabulary,
    places: Vec<u64>,
    n_tokens: usize,
}

impl<'a> Inside<'a> {
    fn new(vocabulary: &'a Vocabulary) -> Inside<'a> {
        let n_places = vocabulary.trie().subtree_tokens(Trie::ROOT).len();
        Inside { vocabulary, places: vec![0; n_places.div_ceil(64)], n_tokens: 0 }
    }

    /// Adds places that were not there.
    #[inline]
    fn insert(&mut self, places: Range<u32>) {
        if places.is_empty() {
            return;
        }
        self.n_tokens += places.len();
        let (first, last) = (places.start as usize, places.end as usize - 1);
        let (from_first, to_last) = (u64::MAX << (first % 64), u64::MAX >> (63 - last % 64));
        if first / 64 == last / 64 {
            self.places[first / 64] |= from_first & to_last;
        } else {
            self.places[first / 64] |= from_first;
            self.places[first / 64 + 1..last / 64].fill(u64::MAX);
            self.places[last / 64] |= to_last;
        }
    }

    /// Inside a string are most tokens; then it is those outside that are gone through.
    fn finish(self) -> MaskForm {
        let all = self.vocabulary.trie().subtree_tokens(Trie::ROOT);
        let has_most = self.n_tokens * 2 > all.len();
        // The rarer kind.
        let listed = self.places.iter().enumerate().flat_map(|(index, &word)| {
            let mut left = if has_most { !word } else { word };
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(index * 64 + bit)
            })
        });
        // The last word has places after the last token.
        let listed = listed.filter_map(|place| all.get(place).copied());
        if has_most {
            let mut words = self.vocabulary.in_trie().to_vec();
            listed.for_each(|token| words[token.index() / 32] &= !(1 << (token.0 % 32)));
            return MaskForm::Dense(words.into());
        }
        let mut inside = MaskBuilder::new(self.vocabulary.n_words());
        listed.for_each(|token| inside.insert_all(&[token]));
        inside.finish()
    }
}

/// Exits being collected.
pub(super) struct Exits<'a> {
    vocabulary: &'a Vocabulary,
    follow: ByteSet,
    max_exits: usize,
    /// A token and the length of its part p.
    found: Vec<(TokenId, u32)>,
    is_overfull: bool,
}

impl<'a> Exits<'a> {
    fn new(vocabulary: &'a Vocabulary, follow: ByteSet, max_exits: usize) -> Exits<'a> {
        Exits::of(vocabulary, Vec::new(), follow, max_exits)
    }

    /// As [`new`](Exits::new), with some found already.
    pub(super) fn of(
        vocabulary: &'a Vocabulary,
        found: Vec<(TokenId, u32)>,
        follow: ByteSet,
        max_exits: usize,
    ) -> Exits<'a> {
        Exits { vocabulary, follow, max_exits, found, is_overfull: false }
    }

    /// Adds the tokens of `trie` that go on from `node`, which is `depth` bytes deep.
    pub(super) fn add(&mut self, trie: &Trie, node: TrieNodeId, depth: usize) {
        if self.is_overfull {
            return;
        }
        for (byte, child) in trie.children(node) {
            if self.follow.contains(byte) {
                self.found.extend(trie.subtree_tokens(child).iter().map(|&token| (token, depth as u32)));
            }
        }
        if self.found.len() > self.max_exits {
            self.is_overfull = true;
            self.found = Vec::new();
        }
    }

    pub(super) fn is_overfull(&self) -> bool {
        self.is_overfull
    }

    fn finish(self) -> Option<Arc<Trie>> {
        (!self.is_overfull).then(|| remainders(&self.found, self.vocabulary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_are_kept_once() {
        let lists = ExitLists::default();
        let list = |length: u32| Arc::new(AllExits::new((0..length).map(|id| (TokenId(id), 1)).collect()));
        let first = lists.shared(list(1_000));
        assert!(Arc::ptr_eq(&first, &lists.shared(list(1_000))));
        assert!(!Arc::ptr_eq(&first, &lists.shared(list(1_001))));
        assert!(!Arc::ptr_eq(&lists.shared(list(10)), &lists.shared(list(10))), "too short to be worth it");
        drop(first);
        assert_eq!(lists.shared(list(1_000)).list.len(), 1_000, "one that is gone is made again");
    }
}
