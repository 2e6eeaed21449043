//! Freedom for a while: what a residue that counts can read without counting.
//!
//! After nine letters of `[a-z]{9}"` comes the quote, and before it anything goes: a subtree of the token
//! trie that has letters alone, and no string of more than nine, is one step. A residue's *spell* is a set of
//! bytes and the number of them after which it is certainly still alive and has not accepted, in whatever
//! order they come. It is found by going from the set of states after n bytes to that after n+1, as far as
//! strings are long; where the states come again, there is no end to it (`([a-z]{4})*`).
//!
//! Rejected: 16 or 32 states after a byte instead of 8. The rows of one pattern were 40% faster, others as
//! much slower.

use maskwright_automata::{AutomatonError, ByteSet};
use maskwright_vocabulary::{Trie, TrieNodeId};

use super::States;

/// See the module's description.
pub(super) struct Spell {
    bytes: ByteSet,
    /// The states after no byte, one, and so on, each list sorted.
    layers: Vec<Vec<usize>>,
    /// That there are no more, or that there is no end.
    end: Option<End>,
}

impl Spell {
    /// How many bytes are known to be free.
    fn length(&self) -> usize {
        self.layers.len() - 1
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Here,
    Never,
}

/// For a state that fewer nodes are to be walked from, no spell is looked for.
const WORTH: usize = 512;

/// Smaller subtrees are walked.
const MIN_SUBTREE: usize = 4;

/// The most states after some number of bytes.
const MAX_LAYER: usize = 8;

impl States<'_> {
    /// Whether all that goes on from `child` by `byte` is within the state's spell.
    #[inline]
    pub(super) fn takes_for_a_while(
        &mut self,
        trie: &Trie,
        state: usize,
        byte: u8,
        child: TrieNodeId,
    ) -> Result<bool, AutomatonError> {
        let known = &self.states[state];
        if known.n_walked < WORTH || known.is_accepting || trie.subtree_nodes(child) < MIN_SUBTREE {
            return Ok(false);
        }
        let spell = match &known.spell {
            Some(spell) => spell,
            None => self.begin_spell(state)?,
        };
        if !spell.bytes.contains(byte) || !trie.bytes_below(child).is_subset(&spell.bytes) {
            return Ok(false);
        }
        let Some(height) = trie.height(child) else { return Ok(false) };
        Ok(height < spell.length() || self.is_free_for(state, height + 1)?)
    }

    #[cold]
    fn begin_spell(&mut self, state: usize) -> Result<&Spell, AutomatonError> {
        let bytes = self.spell_bytes(state)?;
        let end = bytes.is_empty().then_some(End::Here);
        let spell = Spell { bytes, layers: vec![vec![state]], end };
        Ok(self.states[state].spell.insert(Box::new(spell)))
    }

    /// Bytes after each of which all of them can come again: of those that the state can read, the ones are
    /// dropped after which the most of the others cannot come, until there are none such.
    fn spell_bytes(&mut self, state: usize) -> Result<ByteSet, AutomatonError> {
        let mut candidates: Vec<(ByteSet, ByteSet)> = Vec::new();
        for (bytes, target) in self.targets(state, ByteSet::FULL)? {
            if let Some(target) = target.filter(|&target| !self.states[target].is_accepting) {
                candidates.push((bytes, self.automaton.next_bytes(self.states[target].residue)?));
            }
        }
        loop {
            let all = candidates.iter().fold(ByteSet::EMPTY, |all, (bytes, _)| all.union(bytes));
            let missing = candidates.iter().map(|(_, next)| all.len() - all.intersection(next).len());
            match missing.enumerate().max_by_key(|&(_, n_missing)| n_missing) {
                Some((worst, 1..)) => candidates.swap_remove(worst),
                _ => return Ok(all),
            };
        }
    }

    /// Looks on, if need be.
    #[cold]
    fn is_free_for(&mut self, state: usize, length: usize) -> Result<bool, AutomatonError> {
        let Some(mut spell) = self.states[state].spell.take() else { return Ok(false) };
        let result = self.extend(&mut spell, length);
        let is_free = spell.length() >= length || spell.end == Some(End::Never);
        self.states[state].spell = Some(spell);
        result.map(|()| is_free)
    }

    fn extend(&mut self, spell: &mut Spell, length: usize) -> Result<(), AutomatonError> {
        while spell.length() < length && spell.end.is_none() {
            let mut next: Vec<usize> = Vec::new();
            for &state in &spell.layers[spell.length()] {
                for (_, target) in self.targets(state, spell.bytes)? {
                    match target.filter(|&target| !self.states[target].is_accepting) {
                        Some(target) => next.push(target),
                        None => {
                            spell.end = Some(End::Here);
                            return Ok(());
                        }
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            if next.len() > MAX_LAYER {
                spell.end = Some(End::Here);
            } else if spell.layers.contains(&next) {
                spell.end = Some(End::Never);
            } else {
                spell.layers.push(next);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex, StateId};
    use maskwright_vocabulary::TokenId;

    use super::super::tests::agrees_with_steps;
    use super::*;

    /// All strings of a and b up to eight bytes, and the shorter ones with something else after them.
    fn strings() -> Vec<Vec<u8>> {
        let mut strings: Vec<Vec<u8>> = vec![Vec::new()];
        let mut first = 0;
        for _ in 0..8 {
            let last = strings.len();
            for index in first..last {
                for letter in [b'a', b'b'] {
                    strings.push([strings[index].as_slice(), &[letter]].concat());
                }
            }
            first = last;
        }
        strings.remove(0);
        for index in 0..60 {
            for end in [&b"\""[..], b"-", b"-a", b"-\"", b"\",", b".", b".b-"] {
                strings.push([strings[index].as_slice(), end].concat());
            }
        }
        strings
    }

    #[test]
    fn counts_are_seen_through_and_kept() {
        let strings = strings();
        let trie = Trie::new(strings.iter().zip(0..).map(|(string, i)| (string.as_slice(), TokenId(i))));
        let letter = || Regex::bytes(ByteSet::range(b'a', b'b'));
        let byte = Regex::byte;
        let dashed = || Regex::union([letter(), byte(b'-')]);
        let mut regexes = vec![
            Regex::concat([letter().repeat(4, Some(4)).star(), byte(b'"')]),
            Regex::concat([letter().repeat(3, Some(3)).star(), letter(), byte(b'-')]),
            Regex::concat([letter().repeat(4, None), byte(b'"')]),
            Regex::concat([
                Regex::union([letter().repeat(2, Some(7)), Regex::literal(b"a-a")]).star(),
                byte(b'"'),
            ]),
            Regex::concat([letter().repeat(0, Some(5)), byte(b'a'), byte(b'"')]),
        ];
        for n in 1..10 {
            regexes.push(Regex::concat([
                letter().repeat(n, Some(n)),
                byte(b'-'),
                letter().repeat(n / 2, None),
            ]));
            regexes.push(letter().repeat(n, Some(n + 1)));
            let label = || Regex::concat([letter(), dashed().repeat(0, Some(n)), letter()]);
            regexes.push(Regex::concat([label(), Regex::concat([byte(b'.'), label()]).star(), byte(b'"')]));
        }
        let mut n_taken = 0;
        for regex in &regexes {
            let automaton = Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap();
            for start in [&b""[..], b"a", b"ab", b"a-", b"ba."] {
                let run = |state: StateId, string: &[u8]| {
                    string.iter().try_fold(state, |state, &byte| automaton.step(state, byte).unwrap())
                };
                let Some(state) = run(automaton.start().unwrap(), start) else { continue };
                n_taken += agrees_with_steps(&trie, &strings, &automaton, state, 0);
            }
        }
        assert!(n_taken > 100, "{n_taken}");
    }
}
