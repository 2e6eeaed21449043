//! The row of counted units: one for all counts.
//!
//! `maxLength` makes a residue of every count, and near its bound each has a mask of its own. But for a
//! [`Window`] into counted units only three things matter about a token: how
//! many units it begins, whether it comes to the suffix, and what follows. So one walk over the token trie
//! notes the number of units of every token, and the masks of all counts and all bounds are comparisons of
//! numbers. Exact because units are a prefix code: the bytes determine the units.

use std::sync::{Arc, OnceLock};

use maskwright_automata::{CountedFamily, UnitStep, Window};
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, Vocabulary};
use rustc_hash::FxHashMap;

use crate::ground::{MaskBuilder, MaskForm};

/// Tokens inside, tokens that end, and exits, as [`CountedRow::from_lists`] has them.
type Lists = (Vec<Vec<u32>>, Vec<(u32, u32)>, Vec<(u32, u32, u32)>);

/// What a unit and a suffix, from one state within the unit, say about the vocabulary.
pub(crate) struct CountedRow {
    n_words: usize,
    /// Tokens that stay within the units, by the number of units they begin (or go on with).
    inside: Vec<Vec<TokenId>>,
    /// The union of `inside[..=n]`, by n; made when first asked for.
    up_to: Vec<OnceLock<MaskForm>>,
    /// Tokens that end within or at the end of the suffix, with their number of units.
    ending: Vec<(TokenId, u32)>,
    /// Tokens that go on after the suffix, by what they go on with.
    exits: Arc<Trie>,
    exit_units: FxHashMap<TokenId, u32>,
    /// The least and the greatest number of units before an exit.
    exit_range: (u32, u32),
}

/// How many units a token may complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct UnitBounds {
    pub(crate) min: u32,
    /// `u32::MAX`: any number.
    pub(crate) max: u32,
}

impl From<Window> for UnitBounds {
    fn from(window: Window) -> UnitBounds {
        UnitBounds { min: window.min_left, max: window.max_left.unwrap_or(u32::MAX) }
    }
}

impl UnitBounds {
    fn contains(self, n_units: u32) -> bool {
        (self.min..=self.max).contains(&n_units)
    }
}

impl CountedRow {
    /// The row of `family` from `unit_state`: one walk over the token trie.
    pub(crate) fn new(vocabulary: &Vocabulary, family: &CountedFamily, unit_state: u8) -> CountedRow {
        let trie = vocabulary.trie();
        let mut inside: Vec<Vec<TokenId>> = Vec::new();
        let mut ending = Vec::new();
        let mut exits: Vec<(TokenId, usize, u32)> = Vec::new();
        // (node, state within the unit, units begun, length in bytes)
        let mut stack = vec![(Trie::ROOT, unit_state, u32::from(unit_state != 0), 0usize)];
        while let Some((node, unit_state, n_units, depth)) = stack.pop() {
            for (byte, child) in trie.children(node) {
                let (next, n_units) = match family.step(unit_state, byte) {
                    UnitStep::Dead => continue,
                    UnitStep::Within(next) => (next, n_units + u32::from(unit_state == 0)),
                    UnitStep::Suffix => {
                        read_suffix(trie, family, child, depth + 1, |node, depth, is_complete| {
                            ending.extend(trie.tokens(node).iter().map(|&token| (token, n_units)));
                            if is_complete {
                                let own = trie.tokens(node).len();
                                let beyond = &trie.subtree_tokens(node)[own..];
                                exits.extend(beyond.iter().map(|&token| (token, depth, n_units)));
                            }
                        });
                        continue;
                    }
                };
                let tokens = trie.tokens(child);
                if !tokens.is_empty() {
                    let index = n_units as usize;
                    if inside.len() <= index {
                        inside.resize_with(index + 1, Vec::new);
                    }
                    inside[index].extend_from_slice(tokens);
                }
                if trie.n_children(child) > 0 {
                    stack.push((child, next, n_units, depth + 1));
                }
            }
        }
        CountedRow::from_lists(vocabulary, inside, ending, exits)
    }

    /// The row with these lists: tokens inside by number of units, tokens that end in the suffix with theirs,
    /// and exits with the length of the part before the remainder and the number of units.
    pub(super) fn from_lists(
        vocabulary: &Vocabulary,
        inside: Vec<Vec<TokenId>>,
        ending: Vec<(TokenId, u32)>,
        exits: Vec<(TokenId, usize, u32)>,
    ) -> CountedRow {
        let remainders = exits
            .iter()
            .filter_map(|&(token, depth, _)| vocabulary.text(token).map(|bytes| (&bytes[depth..], token)));
        let exit_trie = Arc::new(Trie::new(remainders));
        let exit_range = exits
            .iter()
            .fold((u32::MAX, 0), |(least, most), &(_, _, n_units)| (least.min(n_units), most.max(n_units)));
        CountedRow {
            n_words: vocabulary.n_words(),
            up_to: inside.iter().map(|_| OnceLock::new()).collect(),
            inside,
            ending,
            exits: exit_trie,
            exit_units: exits.into_iter().map(|(token, _, n_units)| (token, n_units)).collect(),
            exit_range,
        }
    }

    /// What [`from_lists`](CountedRow::from_lists) makes the row from, the tokens inside ascending.
    pub(super) fn listed(&self, vocabulary: &Vocabulary) -> Lists {
        let ids = |tokens: &Vec<TokenId>| {
            let mut ids: Vec<u32> = tokens.iter().map(|token| token.0).collect();
            ids.sort_unstable();
            ids
        };
        let exits = listed_exits(&self.exits, vocabulary)
            .into_iter()
            .map(|(token, depth)| (token.0, depth, self.exit_units.get(&token).copied().unwrap_or_default()));
        let ending = self.ending.iter().map(|&(token, n_units)| (token.0, n_units));
        (self.inside.iter().map(ids).collect(), ending.collect(), exits.collect())
    }

    pub(crate) fn add_inside(&self, bounds: UnitBounds, mask: &mut MaskBuilder) {
        let most = (bounds.max as usize).min(self.inside.len().saturating_sub(1));
        if let Some(form) = self.inside_up_to(most) {
            mask.union(form);
        }
        for &(token, n_units) in &self.ending {
            if bounds.contains(n_units) {
                mask.insert_all(&[token]);
            }
        }
    }

    /// The union of `inside[..=most]`; `None` if there is no such list.
    fn inside_up_to(&self, most: usize) -> Option<&MaskForm> {
        let form = self.up_to.get(most)?;
        if let Some(known) = form.get() {
            return Some(known);
        }
        let last = self.inside.len() - 1;
        let (below, above) = self.inside.split_at(most + 1);
        let count = |lists: &[Vec<TokenId>]| lists.iter().map(Vec::len).sum::<usize>();
        let mut mask = MaskBuilder::new(self.n_words);
        // Most tokens begin few units: away from zero, those left out are fewer than those within.
        match (count(above) < count(below) && most < last).then(|| self.inside_up_to(last)).flatten() {
            Some(all) => {
                let mut without: Vec<u32> = above.iter().flatten().map(|token| token.0).collect();
                without.sort_unstable();
                mask.union_without(all, &without);
            }
            None => below.iter().for_each(|tokens| mask.insert_all(tokens)),
        }
        Some(form.get_or_init(|| mask.finish().into_base(self.n_words)))
    }

    pub(crate) fn exits(&self) -> &Arc<Trie> {
        &self.exits
    }

    pub(crate) fn allows_all_exits(&self, bounds: UnitBounds) -> bool {
        bounds.min <= self.exit_range.0 && self.exit_range.1 <= bounds.max
    }

    pub(crate) fn allows_exit(&self, token: TokenId, bounds: UnitBounds) -> bool {
        self.exit_units.get(&token).is_some_and(|&n_units| bounds.contains(n_units))
    }

    pub(crate) fn memory_usage(&self) -> usize {
        // The masks of all counts, made or not, as words and lists: their number is small and they come soon.
        let made = self.up_to.len() * self.n_words * 6;
        let listed: usize = self.inside.iter().map(|tokens| tokens.capacity() * 4).sum();
        made + listed + self.exits.memory_usage() + self.exit_units.capacity() * 9 + 128
    }
}

/// Exits by remainder, as tokens, each with the length of the part before its remainder.
fn listed_exits(exits: &Trie, vocabulary: &Vocabulary) -> Vec<(TokenId, u32)> {
    let mut found = Vec::new();
    let mut stack = vec![(Trie::ROOT, 0)];
    while let Some((node, depth)) = stack.pop() {
        let length = |token| vocabulary.text(token).map_or(0, <[u8]>::len);
        found.extend(exits.tokens(node).iter().map(|&token| (token, (length(token) - depth) as u32)));
        stack.extend(exits.children(node).map(|(_, child)| (child, depth + 1)));
    }
    found
}

/// Follows the suffix, whose first byte led to `node`; calls `visit` at each node on the way with its depth
/// in bytes and whether the suffix is complete there.
fn read_suffix(
    trie: &Trie,
    family: &CountedFamily,
    mut node: TrieNodeId,
    mut depth: usize,
    mut visit: impl FnMut(TrieNodeId, usize, bool),
) {
    let suffix = family.suffix();
    for n_read in 1..=suffix.len() {
        visit(node, depth, n_read == suffix.len());
        let next = suffix.get(n_read).and_then(|&byte| trie.child(node, byte));
        match next {
            Some(child) => node = child,
            None => return,
        }
        depth += 1;
    }
}
