//! The walk of a residue over a token trie.
//!
//! Two thirds of a vocabulary's tokens are words of letters, and most of the rest is text of other scripts. Where a residue
//! goes on as before after any letter, or after any character that a first byte can begin, a subtree of nothing else
//! is one step: inside a string, a walk comes to a few thousand nodes instead of hundreds of thousands. What is known
//! about a residue is kept for the walk by a number of its own, so that most steps are one table read.

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId, Utf8Rest};
use maskwright_vocabulary::{Trie, TrieNodeId};
use rustc_hash::FxHashMap;

/// What a walk comes to.
pub(crate) enum Found {
    /// A node whose path keeps the residue alive, its depth in bytes, and whether the residue accepts there.
    Node(TrieNodeId, usize, bool),
    /// A node whose whole subtree keeps the residue alive and never accepts, the node itself included.
    Subtree(TrieNodeId),
}

/// Visits every node of `trie` but the root whose path keeps `residue` alive, subtrees as one where that is easily seen.
///
/// # Errors
/// If a limit of the automaton is reached.
pub(crate) fn walk(
    trie: &Trie,
    automaton: &Automaton,
    residue: StateId,
    mut visit: impl FnMut(Found),
) -> Result<(), AutomatonError> {
    let mut states =
        States { automaton, states: Vec::new(), numbers: FxHashMap::default(), cells: Vec::new() };
    let start = states.number(residue, automaton.is_accepting(residue))?;
    let mut stack = vec![(Trie::ROOT, start, 0usize)];
    while let Some((node, state, depth)) = stack.pop() {
        for (byte, child) in trie.children(node) {
            if states.takes_all(trie, state, byte, child)? {
                visit(Found::Subtree(child));
            } else if let Some(next) = states.step(state, byte)? {
                visit(Found::Node(child, depth + 1, states.states[next].is_accepting));
                if trie.n_children(child) > 0 {
                    stack.push((child, next, depth + 1));
                }
            }
        }
    }
    Ok(())
}

/// A transition that was not asked for yet.
const UNKNOWN: u32 = u32::MAX;
/// No transition.
const DEAD: u32 = u32::MAX - 1;

/// The residues that a walk has met, by number.
struct States<'a> {
    automaton: &'a Automaton,
    states: Vec<State>,
    numbers: FxHashMap<StateId, usize>,
    /// 256 transitions for each.
    cells: Vec<u32>,
}

struct State {
    residue: StateId,
    is_accepting: bool,
    /// Bytes that lead back. Empty where the residue accepts.
    loops: ByteSet,
    characters: Option<Box<Characters>>,
}

/// What whole characters of several bytes do.
struct Characters {
    /// By first byte less 0xC0: the state after any of its characters, if there is one such state and none on the
    /// way accepts; else [`DEAD`].
    targets: [u32; 64],
    /// Bytes of texts that lead back as wholes: single bytes that do, first bytes of characters that do, and all
    /// bytes that go on in a character.
    loops: ByteSet,
}

impl States<'_> {
    fn number(&mut self, residue: StateId, is_accepting: bool) -> Result<usize, AutomatonError> {
        if let Some(&number) = self.numbers.get(&residue) {
            return Ok(number);
        }
        let loops = match is_accepting {
            true => ByteSet::EMPTY,
            false => self.automaton.loop_bytes(residue)?,
        };
        let number = self.states.len();
        self.states.push(State { residue, is_accepting, loops, characters: None });
        self.cells.resize(self.cells.len() + 256, UNKNOWN);
        self.numbers.insert(residue, number);
        Ok(number)
    }

    #[inline]
    fn step(&mut self, state: usize, byte: u8) -> Result<Option<usize>, AutomatonError> {
        match self.cells[state * 256 + usize::from(byte)] {
            UNKNOWN => self.fill(state, byte),
            DEAD => Ok(None),
            next => Ok(Some(next as usize)),
        }
    }

    #[cold]
    fn fill(&mut self, state: usize, byte: u8) -> Result<Option<usize>, AutomatonError> {
        let next = match self.automaton.steps(self.states[state].residue).next(byte)? {
            Some((next, is_accepting)) => Some(self.number(next, is_accepting)?),
            None => None,
        };
        self.cells[state * 256 + usize::from(byte)] = next.map_or(DEAD, |next| next as u32);
        Ok(next)
    }

    /// Whether all that goes on from `child` by `byte` keeps `state` alive and never accepts, as far as loops tell.
    #[inline]
    fn takes_all(
        &mut self,
        trie: &Trie,
        state: usize,
        byte: u8,
        child: TrieNodeId,
    ) -> Result<bool, AutomatonError> {
        let below = trie.bytes_below(child);
        let loops = &self.states[state].loops;
        let is_loop = loops.contains(byte);
        if is_loop && below.is_subset(loops) {
            return Ok(true);
        }
        // The state behind the first character.
        let target = match byte {
            // Looking at characters costs more than a small subtree.
            ..0x80 if is_loop && trie.subtree_nodes(child) >= MIN_SUBTREE && trie.is_text_from(child) => {
                state
            }
            0xC0.. if !self.states[state].is_accepting && trie.is_text_from(child) => {
                match self.characters(state)?.targets[usize::from(byte - 0xC0)] {
                    DEAD => return Ok(false),
                    target => target as usize,
                }
            }
            _ => return Ok(false),
        };
        Ok(below.is_subset(&self.characters(target)?.loops))
    }

    fn characters(&mut self, state: usize) -> Result<&Characters, AutomatonError> {
        if self.states[state].characters.is_none() {
            let mut targets = [DEAD; 64];
            let mut known = FxHashMap::default();
            if !self.states[state].is_accepting {
                for (lead, target) in (0xC0..=0xFFu8).zip(&mut targets) {
                    if let Some(rest) = Utf8Rest::after(lead)
                        && let Some(next) = self.step(state, lead)?
                    {
                        *target = self.end_of_character(next, rest, &mut known)?;
                    }
                }
            }
            let mut loops = self.states[state].loops.intersection(&ByteSet::range(0, 0x7F));
            loops = loops.union(&ByteSet::range(0x80, 0xBF));
            let back = (0xC0..=0xFFu8).zip(&targets).filter(|(_, target)| **target == state as u32);
            back.for_each(|(lead, _)| loops.insert(lead));
            self.states[state].characters = Some(Box::new(Characters { targets, loops }));
        }
        Ok(self.states[state].characters.as_deref().expect("made above"))
    }

    /// The one state after all ways to end a character from `state`, none accepting before it; [`DEAD`] if there is none.
    fn end_of_character(
        &mut self,
        state: usize,
        rest: Utf8Rest,
        known: &mut FxHashMap<(usize, Utf8Rest), u32>,
    ) -> Result<u32, AutomatonError> {
        if self.states[state].is_accepting {
            return Ok(DEAD);
        }
        if let Some(&target) = known.get(&(state, rest)) {
            return Ok(target);
        }
        let mut only = UNKNOWN;
        for byte in rest.range() {
            let target = match (self.step(state, byte)?, rest.next()) {
                (Some(next), Some(rest)) => self.end_of_character(next, rest, known)?,
                (Some(next), None) if !self.states[next].is_accepting => next as u32,
                _ => DEAD,
            };
            if target == DEAD || (only != UNKNOWN && only != target) {
                only = DEAD;
                break;
            }
            only = target;
        }
        known.insert((state, rest), only);
        Ok(only)
    }
}

/// Subtrees with fewer nodes are walked, unless single bytes take them.
const MIN_SUBTREE: usize = 4;

#[cfg(test)]
mod tests {
    use maskwright_automata::{AutomatonLimits, Fuel, Regex};
    use maskwright_vocabulary::TokenId;

    use super::*;

    /// Strings of letters, of characters of two to four bytes, cut off, and of bytes that are no text.
    fn strings() -> Vec<Vec<u8>> {
        let parts: [&[u8]; 16] = [
            b"a",
            b"b",
            b" ",
            b"\"",
            "é".as_bytes(),
            "ß".as_bytes(),
            "\u{a0}".as_bytes(),
            "€".as_bytes(),
            "日".as_bytes(),
            "😀".as_bytes(),
            b"\xC3",
            b"\xE2\x82",
            b"\xF0\x9F",
            b"\xA9",
            b"\x82\xAC",
            b"\xC0",
        ];
        let mut strings: Vec<Vec<u8>> = parts.iter().map(|part| part.to_vec()).collect();
        for a in parts {
            for b in parts {
                strings.push([a, b].concat());
                strings.extend(parts.iter().map(|c| [a, b, c].concat()));
            }
        }
        // Below this letter is nothing but text without ends.
        let text = &parts[4..10];
        for a in text {
            strings.extend(text.iter().map(|b| ["ж".as_bytes(), a, b].concat()));
        }
        strings
    }

    /// What a walk says, without subtrees: the tokens alive, and those of them that were seen as nodes that accept.
    fn seen(trie: &Trie, automaton: &Automaton, residue: StateId) -> (Vec<TokenId>, Vec<TokenId>) {
        let (mut alive, mut accepting) = (Vec::new(), Vec::new());
        walk(trie, automaton, residue, |found| match found {
            Found::Subtree(node) => alive.extend(trie.subtree_tokens(node)),
            Found::Node(node, _, is_accepting) => {
                alive.extend(trie.tokens(node));
                accepting.extend(trie.tokens(node).iter().filter(|_| is_accepting));
            }
        })
        .unwrap();
        alive.sort_unstable();
        accepting.sort_unstable();
        (alive, accepting)
    }

    #[test]
    fn a_walk_sees_what_steps_see() {
        let strings = strings();
        let trie = Trie::new(strings.iter().enumerate().map(|(i, s)| (s.as_slice(), TokenId(i as u32))));
        let any = Regex::any_char;
        let but = |c: char| {
            let before = char::from_u32(c as u32 - 1).unwrap();
            Regex::char_class(&[('\0', before), (char::from_u32(c as u32 + 1).unwrap(), char::MAX)])
        };
        let quote = || Regex::byte(b'"');
        let regexes = [
            Regex::concat([but('"').star(), quote()]),
            Regex::concat([any().star(), Regex::literal("é"), any().star(), quote()]),
            Regex::concat([but('é').star(), quote()]),
            Regex::concat([but('€').star(), Regex::byte(b'b')]),
            Regex::concat([but('😀').star(), Regex::byte(b'b')]),
            Regex::concat([any().repeat(0, Some(2)), quote()]),
            any().star(),
            Regex::concat([Regex::bytes(ByteSet::FULL).star(), quote()]),
            Regex::bytes(ByteSet::FULL).star().complement(),
            Regex::concat([Regex::union([but('a'), Regex::literal("ab")]).star(), quote()]),
            Regex::concat([Regex::concat([but(' ').star(), Regex::byte(b' ')]).star(), quote()]),
        ];
        let mut n_subtrees = 0;
        for regex in &regexes {
            let automaton = Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap();
            let starts = strings.iter().take(16).map(Vec::as_slice).chain([&b""[..]]);
            for start in starts {
                let run = |state: StateId, string: &[u8]| {
                    string.iter().try_fold(state, |state, &byte| automaton.step(state, byte).unwrap())
                };
                let Some(state) = automaton.start().and_then(|state| run(state, start)) else { continue };
                let end = |string: &[u8]| run(state, string);
                let tokens = || (0..).map(TokenId).zip(&strings);
                let alive: Vec<TokenId> =
                    tokens().filter(|(_, string)| end(string).is_some()).map(|(token, _)| token).collect();
                let accepting: Vec<TokenId> = tokens()
                    .filter(|(_, string)| end(string).is_some_and(|state| automaton.is_accepting(state)))
                    .map(|(token, _)| token)
                    .collect();
                assert_eq!(
                    seen(&trie, &automaton, state),
                    (alive, accepting),
                    "{regex:?} after {start:02X?}"
                );
                walk(&trie, &automaton, state, |found| {
                    n_subtrees +=
                        u32::from(matches!(found, Found::Subtree(node) if trie.subtree_nodes(node) > 8));
                })
                .unwrap();
            }
        }
        assert!(n_subtrees > 20);
    }
}
