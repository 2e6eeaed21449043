//! The row of a residue whose bounds show to few tokens.
//!
//! Hardly one token in a hundred is longer than 16 bytes, and only those see a bound that is further away. So
//! `maxLength: 60` has, for all other tokens, the row of a bound out of sight ([`Automaton::row_key`] for so
//! many bytes, with the proof), which is met again and again; a walk over the long tokens alone corrects it.
//! Rejected: two rows for every residue (each mask would then be a union of two).

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId};
use maskwright_vocabulary::{TokenId, Trie, Vocabulary};

use super::plain::{Exits, PlainRow};
use super::walk::{Found, walk};
use crate::ground::MaskBuilder;

/// The tokens of more than some number of bytes.
pub(crate) struct LongTokens {
    trie: Trie,
    /// Ascending.
    ids: Vec<u32>,
}

impl LongTokens {
    pub(crate) fn new(vocabulary: &Vocabulary, short_bytes: u32) -> LongTokens {
        let all = vocabulary.trie().subtree_tokens(Trie::ROOT).iter();
        let long: Vec<(&[u8], TokenId)> = all
            .filter_map(|&token| vocabulary.text(token).map(|bytes| (bytes, token)))
            .filter(|(bytes, _)| bytes.len() > short_bytes as usize)
            .collect();
        let mut ids: Vec<u32> = long.iter().map(|(_, token)| token.0).collect();
        ids.sort_unstable();
        LongTokens { trie: Trie::new(long.into_iter()), ids }
    }

    /// The row of `residue` from `near`, the row of its key without the long tokens; `None` if there are too
    /// many exits.
    pub(crate) fn row_from(
        &self,
        vocabulary: &Vocabulary,
        automaton: &Automaton,
        residue: StateId,
        near: &PlainRow,
        max_exits: usize,
    ) -> Result<Option<PlainRow>, AutomatonError> {
        let mut inside = MaskBuilder::new(vocabulary.n_words());
        inside.union_without(&near.inside, &self.ids);
        let Some(near_exits) = near.listed_exits() else { return Ok(None) };
        let short = near_exits.iter().filter(|(token, _)| !self.contains(*token)).copied().collect();
        let mut exits = Exits::of(vocabulary, short, ByteSet::FULL, max_exits);
        walk(&self.trie, automaton, residue, |found| match found {
            Found::Subtree(node) => inside.insert_all(self.trie.subtree_tokens(node)),
            Found::Node(node, depth, is_accepting) => {
                inside.insert_all(self.trie.tokens(node));
                if is_accepting {
                    exits.add(&self.trie, node, depth);
                }
            }
        })?;
        Ok((!exits.is_overfull()).then(|| PlainRow::with(inside.finish(), exits)))
    }

    fn contains(&self, token: TokenId) -> bool {
        self.ids.binary_search(&token.0).is_ok()
    }
}

/// Rows by a residue's own walk and from a near row are the same.
#[cfg(test)]
mod tests {
    use maskwright_automata::{AutomatonLimits, Fuel, Regex};

    use super::*;

    const SHORT: u32 = 16;

    #[test]
    fn a_near_row_corrected_is_the_row() {
        let letter = || Regex::bytes(ByteSet::range(b'a', b'c'));
        let space = || Regex::byte(b' ');
        let quote = || Regex::byte(b'"');
        let mut tokens: Vec<Vec<u8>> = Vec::new();
        for length in [1usize, 2, 3, 8, 15, 16, 17, 18, 19, 20, 24, 30, 40] {
            tokens.push(vec![b'a'; length]);
            tokens.push([&vec![b'b'; length - 1][..], b"\""].concat());
            tokens.push([&vec![b'c'; length][..], b"\", \""].concat());
            tokens.push(b"a ".iter().copied().cycle().take(length).collect());
            tokens.push(
                [&b"a ".iter().copied().cycle().take(length).collect::<Vec<u8>>()[..], b"a\"x"].concat(),
            );
        }
        let vocabulary =
            Vocabulary::from_tokens(tokens.iter().cloned().map(Some).collect(), &[], None).unwrap();
        let long = LongTokens::new(&vocabulary, SHORT);
        let words = || Regex::concat([letter(), space()]);
        let any = || Regex::union([letter(), space()]);
        let starts: [&[u8]; 4] = [b"", b"a", b"abc", b"ab bcabc"];
        let mut n_near = 0;
        for n in 1..45 {
            let regexes = [
                Regex::concat([letter().repeat(0, Some(n)), quote()]),
                Regex::concat([letter().repeat(n / 2, Some(n)), quote(), Regex::byte(b',')]),
                Regex::concat([words().repeat(0, Some(n)), letter(), quote()]),
                Regex::concat([
                    Regex::intersection([
                        Regex::union([letter(), space()]).repeat(0, Some(n)),
                        Regex::concat([words().repeat(0, Some(9)), letter().star()]),
                    ]),
                    quote(),
                ]),
                // A search, in the middle of what it looks for.
                Regex::concat([any().star(), letter().repeat(n, Some(n)), space(), any().star(), quote()]),
                Regex::concat([
                    Regex::union([any().star(), Regex::literal(b"a \"")]),
                    letter().repeat(n, Some(n)),
                    space(),
                    quote(),
                ]),
            ];
            for (regex, start) in regexes.iter().flat_map(|regex| starts.map(|start| (regex, start))) {
                let automaton =
                    Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap();
                let step = |state, &byte: &u8| automaton.step(state, byte).unwrap();
                let Some(residue) = start.iter().try_fold(automaton.start().unwrap(), step) else { continue };
                let near = automaton.row_key(residue, SHORT).unwrap();
                n_near += usize::from(near != residue);
                let near = PlainRow::new(&vocabulary, &automaton, near, 1_000).unwrap();
                let row = long.row_from(&vocabulary, &automaton, residue, &near, 1_000).unwrap().unwrap();
                let whole = PlainRow::new(&vocabulary, &automaton, residue, 1_000).unwrap();
                assert_eq!(row.inside.tokens(), whole.inside.tokens(), "{regex:?}");
                let sorted = |row: &PlainRow| {
                    let mut found = row.listed_exits().unwrap().to_vec();
                    found.sort_unstable();
                    found
                };
                assert_eq!(sorted(&row), sorted(&whole), "{regex:?}");
                assert_eq!(row.has_single_exits(), whole.has_single_exits());
            }
        }
        assert!(n_near > 300, "{n_near}");
    }
}
