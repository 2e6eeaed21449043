//! The walk of a residue over a token trie.
//!
//! Two thirds of a vocabulary's tokens are words of letters, and most of the rest is text of other scripts.
//! Where a residue goes on as freely as before after any letter, or after any character that a first byte can
//! begin, a subtree of nothing else is one step: inside a string, a walk comes to a few thousand nodes
//! instead of hundreds of thousands. "As freely" is more than "as before": a residue that searches for a word
//! has another one after each of the word's letters, but all of them go on with any text. What is known about
//! a residue is kept for the walk by a number of its own, so that most steps are one table read.

mod spell;

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId, Steps, Utf8Rest, meter};
use maskwright_vocabulary::{Trie, TrieNodeId};
use rustc_hash::FxHashMap;

use spell::Spell;

/// What a walk comes to.
pub(crate) enum Found {
    /// A node whose path keeps the residue alive, its depth in bytes, and whether the residue accepts there.
    Node(TrieNodeId, usize, bool),
    /// A node whose whole subtree keeps the residue alive and never accepts, the node itself included.
    Subtree(TrieNodeId),
}

/// Visits every node of `trie` but the root whose path keeps `residue` alive, subtrees as one where that is
/// easily seen.
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
        meter::spend(trie.n_children(node) as u64)?;
        for (byte, child) in trie.children(node) {
            if states.takes_all(trie, state, byte, child)?
                || states.takes_for_a_while(trie, state, byte, child)?
            {
                visit(Found::Subtree(child));
            } else if let Some(next) = states.step(state, byte)? {
                if states.takes_below(trie, next, byte, child)? {
                    visit(Found::Subtree(child));
                    continue;
                }
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
pub(super) struct States<'a> {
    pub(super) automaton: &'a Automaton,
    pub(super) states: Vec<State<'a>>,
    numbers: FxHashMap<StateId, usize>,
    /// The transitions of each from its first cell on, by class.
    cells: Vec<u32>,
}

pub(super) struct State<'a> {
    pub(super) residue: StateId,
    steps: Steps<'a>,
    /// By byte, its class: bytes of one class lead to one state.
    class_of: &'a [u8; 256],
    first_cell: usize,
    pub(super) is_accepting: bool,
    /// How many nodes of the trie were below those that it was met at.
    pub(super) n_walked: usize,
    /// The number of the residue's core and the bytes that it ends with; made when first asked for.
    core: Option<Option<(usize, ByteSet)>>,
    /// Bytes after which, in any number and order, a residue is alive and does not accept.
    free: Option<ByteSet>,
    /// The same of texts: of bytes that are characters, first bytes of characters and bytes that go on in
    /// one.
    free_in_texts: Option<ByteSet>,
    characters: Option<Box<Characters>>,
    /// Where most bytes lead to.
    usual: Option<u32>,
    spell: Option<Box<Spell>>,
}

/// By first byte less 0xC0: the state after any of its characters, if there is one such state and none on the
/// way accepts; else [`DEAD`].
type Characters = [u32; 64];

impl States<'_> {
    fn number(&mut self, residue: StateId, is_accepting: bool) -> Result<usize, AutomatonError> {
        if let Some(&number) = self.numbers.get(&residue) {
            return Ok(number);
        }
        let number = self.states.len();
        let steps = self.automaton.steps(residue);
        self.states.push(State {
            residue,
            steps,
            class_of: steps.class_of(),
            first_cell: self.cells.len(),
            is_accepting,
            n_walked: 0,
            core: None,
            free: None,
            free_in_texts: None,
            characters: None,
            usual: None,
            spell: None,
        });
        self.cells.resize(self.cells.len() + steps.n_classes(), UNKNOWN);
        self.numbers.insert(residue, number);
        Ok(number)
    }

    #[inline]
    fn step(&mut self, state: usize, byte: u8) -> Result<Option<usize>, AutomatonError> {
        let State { class_of, first_cell, .. } = &self.states[state];
        match self.cells[first_cell + usize::from(class_of[usize::from(byte)])] {
            UNKNOWN => self.fill(state, byte),
            DEAD => Ok(None),
            next => Ok(Some(next as usize)),
        }
    }

    #[cold]
    fn fill(&mut self, state: usize, byte: u8) -> Result<Option<usize>, AutomatonError> {
        let State { steps, class_of, first_cell, .. } = self.states[state];
        let next = match steps.next(byte)? {
            Some((next, is_accepting)) => Some(self.number(next, is_accepting)?),
            None => None,
        };
        self.cells[first_cell + usize::from(class_of[usize::from(byte)])] =
            next.map_or(DEAD, |next| next as u32);
        Ok(next)
    }

    /// Whether all that goes on from `child` by `byte` keeps `state` alive and never accepts, as far as is
    /// easily seen.
    #[inline]
    fn takes_all(
        &mut self,
        trie: &Trie,
        state: usize,
        byte: u8,
        child: TrieNodeId,
    ) -> Result<bool, AutomatonError> {
        if trie.n_children(child) == 0 {
            return Ok(false);
        }
        if !self.is_worth_it(state, trie.subtree_nodes(child)) {
            return Ok(false);
        }
        let below = trie.bytes_below(child);
        if let Some((core, ends)) = self.core(state)? {
            return Ok(!ends.contains(byte)
                && below.intersection(&ends).is_empty()
                && self.takes_by_itself(trie, core, byte, child)?);
        }
        self.takes_by_itself(trie, state, byte, child)
    }

    /// The same, without the state's core.
    #[inline]
    fn takes_by_itself(
        &mut self,
        trie: &Trie,
        state: usize,
        byte: u8,
        child: TrieNodeId,
    ) -> Result<bool, AutomatonError> {
        let below = trie.bytes_below(child);
        let free = self.free(state)?;
        let is_free = free.contains(byte);
        if is_free && below.is_subset(&free) {
            return Ok(true);
        }
        match byte {
            // Looking at characters costs more than a small subtree. The set of states that texts do not
            // leave may be another one than that which bytes do not leave, so the first byte must stay in it
            // too.
            ..0x80 if is_free && trie.subtree_nodes(child) >= MIN_SUBTREE && trie.is_text_from(child) => {
                let in_texts = self.free_in_texts(state)?;
                Ok(in_texts.contains(byte) && below.is_subset(&in_texts))
            }
            0xC0.. if !self.states[state].is_accepting && trie.is_text_from(child) => {
                match self.characters(state)?[usize::from(byte - 0xC0)] {
                    DEAD => Ok(false),
                    behind => Ok(below.is_subset(&self.free_in_texts(behind as usize)?)),
                }
            }
            _ => Ok(false),
        }
    }

    /// Whether all that goes on below `child`, which is reached in `state` by `byte`, keeps the state alive
    /// and never accepts: where what goes on by other bytes from the node above it does not.
    #[inline]
    fn takes_below(
        &mut self,
        trie: &Trie,
        state: usize,
        byte: u8,
        child: TrieNodeId,
    ) -> Result<bool, AutomatonError> {
        let &State { is_accepting, n_walked, .. } = &self.states[state];
        if is_accepting || n_walked < WORTH || trie.subtree_nodes(child) < MIN_SUBTREE {
            return Ok(false);
        }
        let below = trie.bytes_below(child);
        let state = match self.core(state)? {
            Some((_, ends)) if below.intersects(&ends) => return Ok(false),
            Some((core, _)) => core,
            None => state,
        };
        if below.is_subset(&self.free(state)?) {
            return Ok(true);
        }
        Ok(byte < 0x80 && trie.is_text_from(child) && below.is_subset(&self.free_in_texts(state)?))
    }

    /// Whether what was to be walked from a state so far is more than what it takes to know where it is free.
    #[inline]
    fn is_worth_it(&mut self, state: usize, n_nodes: usize) -> bool {
        let known = &mut self.states[state];
        known.n_walked += n_nodes;
        known.n_walked >= WORTH
    }

    /// A residue with the same freedom of which less is to be known.
    #[inline]
    fn core(&mut self, state: usize) -> Result<Option<(usize, ByteSet)>, AutomatonError> {
        match self.states[state].core {
            Some(known) => Ok(known),
            None => self.find_core(state),
        }
    }

    #[cold]
    fn find_core(&mut self, state: usize) -> Result<Option<(usize, ByteSet)>, AutomatonError> {
        let residue = self.states[state].residue;
        let core = match self.automaton.core(residue)? {
            // A loop over some of the bytes says less than looking around.
            Some((core, ends)) if self.is_as_wide(core, residue, &ends)? => {
                let is_accepting = self.automaton.is_accepting(core);
                Some((self.number(core, is_accepting)?, ends)).filter(|&(core, _)| core != state)
            }
            _ => None,
        };
        self.states[state].core = Some(core);
        Ok(core)
    }

    /// Whether `core` goes on with all bytes that `residue` does, but for some of `ends`.
    fn is_as_wide(&self, core: StateId, residue: StateId, ends: &ByteSet) -> Result<bool, AutomatonError> {
        let within = self.automaton.next_bytes(core)?.union(ends);
        Ok(self.automaton.next_bytes(residue)?.is_subset(&within))
    }

    #[inline]
    fn free(&mut self, state: usize) -> Result<ByteSet, AutomatonError> {
        match self.states[state].free {
            Some(known) => Ok(known),
            None => self.find_free(state, false),
        }
    }

    #[inline]
    fn free_in_texts(&mut self, state: usize) -> Result<ByteSet, AutomatonError> {
        match self.states[state].free_in_texts {
            Some(known) => Ok(known),
            None => self.find_free(state, true),
        }
    }

    /// Looks for a set of states around `root` that bytes (and characters, if it is for `texts`) do not
    /// leave: of those that can read at least what `root` can, and do not accept. If it gets large, as where
    /// bytes are counted, `root` stays alone. The bytes that stay in the set hold for all states in it that
    /// read what `root` reads.
    #[cold]
    fn find_free(&mut self, root: usize, texts: bool) -> Result<ByteSet, AutomatonError> {
        if self.states[root].is_accepting {
            self.note_free(root, texts, ByteSet::EMPTY);
            return Ok(ByteSet::EMPTY);
        }
        let mut set = self.around(root, texts)?;
        if set.len() > MAX_AROUND {
            set = vec![root];
        }
        let free = self.bytes_within(&set, texts)?;
        self.note_free(root, texts, free);
        let alive = self.automaton.next_bytes(self.states[root].residue)?;
        for &state in &set {
            // Some way out of the set may be one that this state alone does not have.
            if self.automaton.next_bytes(self.states[state].residue)? == alive
                && self.bytes_within(&[state], texts)?.is_subset(&free)
            {
                self.note_free(state, texts, free);
            }
        }
        Ok(free)
    }

    fn note_free(&mut self, state: usize, texts: bool, free: ByteSet) {
        let state = &mut self.states[state];
        let known = if texts { &mut state.free_in_texts } else { &mut state.free };
        known.get_or_insert(free);
    }

    /// The states that `root` leads to, that are as free as it is, and that mostly lead to themselves or back
    /// into the set: so it is with searches for a word, before and after it. Counts never lead back.
    fn around(&mut self, root: usize, texts: bool) -> Result<Vec<usize>, AutomatonError> {
        let alive = self.automaton.next_bytes(self.states[root].residue)?;
        let mut set = vec![root];
        let center = self.usual(root)?;
        if center == DEAD || self.usual(center as usize)? != center {
            return Ok(set);
        }
        let center = center as usize;
        if center != root {
            if !self.is_as_free(center, &alive)? {
                return Ok(set);
            }
            set.push(center);
        }
        let mut next = 0;
        while next < set.len() && set.len() <= MAX_AROUND {
            let mut targets: Vec<usize> = Vec::new();
            for (_, target) in self.targets(set[next], alive)? {
                targets.extend(target.filter(|target| targets.last() != Some(target)));
            }
            if texts {
                let known = self.characters(set[next])?.iter().filter(|&&target| target != DEAD);
                targets.extend(known.map(|&target| target as usize));
            }
            for target in targets {
                if set.contains(&target) || !self.is_as_free(target, &alive)? {
                    continue;
                }
                let usual = self.usual(target)? as usize;
                if usual == target || set.contains(&usual) {
                    set.push(target);
                }
            }
            next += 1;
        }
        Ok(set)
    }

    /// Whether `state` does not accept, and goes on with all of `bytes`.
    fn is_as_free(&self, state: usize, bytes: &ByteSet) -> Result<bool, AutomatonError> {
        let &State { residue, is_accepting, .. } = &self.states[state];
        Ok(!is_accepting && bytes.is_subset(&self.automaton.next_bytes(residue)?))
    }

    /// Where each of `bytes` leads to.
    pub(super) fn targets(
        &mut self,
        state: usize,
        bytes: ByteSet,
    ) -> Result<Vec<(ByteSet, Option<usize>)>, AutomatonError> {
        let mut targets = Vec::new();
        for class in self.states[state].steps.classes() {
            let class = class.intersection(&bytes);
            if let Some(byte) = class.first() {
                targets.push((class, self.step(state, byte)?));
            }
        }
        Ok(targets)
    }

    /// Where most bytes lead to; [`DEAD`] if there are none.
    fn usual(&mut self, state: usize) -> Result<u32, AutomatonError> {
        if let Some(known) = self.states[state].usual {
            return Ok(known);
        }
        let mut counts: Vec<(u32, usize)> = Vec::new();
        for (bytes, target) in self.targets(state, ByteSet::FULL)? {
            if let Some(target) = target {
                match counts.iter_mut().find(|(known, _)| *known == target as u32) {
                    Some((_, count)) => *count += bytes.len(),
                    None => counts.push((target as u32, bytes.len())),
                }
            }
        }
        let usual = counts.iter().max_by_key(|(_, count)| *count).map_or(DEAD, |&(target, _)| target);
        self.states[state].usual = Some(usual);
        Ok(usual)
    }

    /// The bytes that lead from each of `set` to one of them: as themselves or, in `texts`, as characters.
    fn bytes_within(&mut self, set: &[usize], texts: bool) -> Result<ByteSet, AutomatonError> {
        let mut bytes = ByteSet::FULL;
        for &state in set {
            let mut stays = ByteSet::EMPTY;
            for (bytes, target) in self.targets(state, bytes)? {
                if target.is_some_and(|target| set.contains(&target)) {
                    stays = stays.union(&bytes);
                }
            }
            if texts {
                stays = stays.intersection(&ByteSet::range(0, 0x7F)).union(&ByteSet::range(0x80, 0xBF));
                let targets = (0xC0..=0xFFu8).zip(self.characters(state)?);
                let back = targets.filter(|(_, target)| set.contains(&(**target as usize)));
                back.for_each(|(lead, _)| stays.insert(lead));
            }
            bytes = bytes.intersection(&stays);
        }
        Ok(bytes)
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
            self.states[state].characters = Some(Box::new(targets));
        }
        Ok(self.states[state].characters.as_deref().expect("made above"))
    }

    /// The one state after all ways to end a character from `state`, none accepting before it; [`DEAD`] if
    /// there is none.
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
        for (_, target) in self.targets(state, ByteSet::range(*rest.range().start(), *rest.range().end()))? {
            let target = match (target, rest.next()) {
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

/// The most states that a set without a way out is looked for in; a search for a word has one for each of its
/// bytes.
const MAX_AROUND: usize = 64;

/// For a state that fewer nodes are to be walked from, no free bytes are looked for.
const WORTH: usize = 256;

/// Subtrees with fewer nodes are walked, unless single bytes take them.
const MIN_SUBTREE: usize = 4;

#[cfg(test)]
pub(super) mod tests {
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

    /// What a walk says, without subtrees: the tokens alive, and those of them that were seen as nodes that
    /// accept.
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

    /// Compares a walk with steps along each of the trie's strings, whose tokens are their places, and
    /// returns how many subtrees of more than `min_nodes` nodes were taken as one.
    pub(in crate::rows) fn agrees_with_steps(
        trie: &Trie,
        strings: &[Vec<u8>],
        automaton: &Automaton,
        state: StateId,
        min_nodes: usize,
    ) -> u32 {
        let end = |string: &[u8]| {
            string.iter().try_fold(state, |state, &byte| automaton.step(state, byte).unwrap())
        };
        let tokens = |is: &dyn Fn(StateId) -> bool| -> Vec<TokenId> {
            let found = strings.iter().zip(0..).filter(|(string, _)| end(string).is_some_and(is));
            found.map(|(_, token)| TokenId(token)).collect()
        };
        let (alive, accepting) = seen(trie, automaton, state);
        let what = automaton.describe(state);
        assert!(alive == tokens(&|_| true), "alive: {what}");
        assert!(accepting == tokens(&|state| automaton.is_accepting(state)), "accepting: {what}");
        let mut n_subtrees = 0;
        walk(trie, automaton, state, |found| {
            n_subtrees +=
                u32::from(matches!(found, Found::Subtree(node) if trie.subtree_nodes(node) > min_nodes));
        })
        .unwrap();
        n_subtrees
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
        let ab = || Regex::bytes(ByteSet::range(b'a', b'b'));
        let regexes = [
            Regex::concat([but('"').star(), quote()]),
            Regex::concat([any().star(), Regex::literal("é"), any().star(), quote()]),
            Regex::concat([but('é').star(), quote()]),
            Regex::concat([but('€').star(), Regex::byte(b'b')]),
            Regex::concat([but('😀').star(), Regex::byte(b'b')]),
            Regex::concat([any().repeat(0, Some(2)), quote()]),
            any().star(),
            any().plus(),
            Regex::bytes(ByteSet::FULL).plus(),
            Regex::concat([quote(), but('"').star()]),
            Regex::concat([any(), any().plus(), Regex::union([Regex::literal(b" a"), Regex::literal(b"")])]),
            Regex::concat([Regex::bytes(ByteSet::FULL).star(), quote()]),
            Regex::bytes(ByteSet::FULL).star().complement(),
            Regex::concat([Regex::union([but('a'), Regex::literal("ab")]).star(), quote()]),
            Regex::concat([Regex::concat([but(' ').star(), Regex::byte(b' ')]).star(), quote()]),
            Regex::concat([but('"').star(), Regex::literal(b"a b"), but('"').star(), quote()]),
            Regex::concat([
                but('"').star(),
                Regex::words(["a€".as_bytes(), b"ab", b" b"]),
                but('"').star(),
                quote(),
            ]),
            Regex::intersection([
                Regex::concat([but('"').star(), quote()]),
                Regex::concat([any().star(), Regex::literal(b"ab"), any().star()]).complement(),
            ]),
            // Searches with more states than are looked around.
            Regex::concat([but('"').star(), ab().repeat(9, Some(12)), but('"').star(), quote()]),
            Regex::concat([
                but('"').star(),
                Regex::union([ab(), Regex::literal("é")]).repeat(2, Some(2)),
                but('"').star(),
                quote(),
            ]),
            Regex::concat([any().star(), ab().repeat(2, Some(3)), any().star(), quote()]),
            Regex::concat([ab().star(), Regex::union([any().star(), ab().plus()]), quote()]),
            Regex::concat([
                Regex::union([Regex::literal("a\""), Regex::literal("b"), but('"')]).star(),
                ab().repeat(2, Some(2)),
                quote(),
            ]),
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
                n_subtrees += agrees_with_steps(&trie, &strings, &automaton, state, 8);
            }
        }
        assert!(n_subtrees > 20);
    }

    /// What texts may lead to is more than is looked at, what bytes may lead to is not.
    #[test]
    fn bytes_and_texts_have_sets_of_their_own() {
        let letters = || b'b'..=b'z';
        let mut strings: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        strings.extend(letters().flat_map(|x| letters().map(move |y| vec![b'a', x, y])));
        strings.extend(["aé", "ażx"].map(|text| text.as_bytes().to_vec()));
        let trie = Trie::new(strings.iter().zip(0..).map(|(string, i)| (string.as_slice(), TokenId(i))));
        let but_quote = || Regex::char_class(&[('\0', '!'), ('#', char::MAX)]).star();
        for n in [3, 30, 64, 66, 70, 100] {
            let cyrillic = Regex::char_class(&[('\u{400}', '\u{43f}')]).repeat(n, Some(n));
            let words = Regex::union([Regex::literal(b"abc"), cyrillic]);
            let search = Regex::concat([but_quote(), words, but_quote()]);
            let regex = Regex::concat([but_quote().difference(&search), Regex::byte(b'"')]);
            let automaton = Automaton::new(&regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap();
            agrees_with_steps(&trie, &strings, &automaton, automaton.start().unwrap(), 0);
        }
    }
}
