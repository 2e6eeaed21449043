//! Free text: any text in which some strings, the needles, do not occur.
//!
//! A needle is a trigger, after which something else follows, or is excluded. Free text before a trigger ends
//! where the first needle of the whole text ends, even if the needle began before the trigger does. With w·t
//! for a free text w before a trigger t, that is: no needle occurs in w, and w does not end with any q for
//! which some needle is q·p and p is a prefix of t. (For the trigger `aab` no such q exists, so `a`, `aa` and
//! `aaa` may all stand before it. For `aa`, q is `a`.) These q are found by walking the suffixes of all
//! needles in the trie of the triggers.
//!
//! Of two triggers that end at the same place the longer one counts. A trigger that has another one in it
//! elsewhere is refused, since it is ambiguous or never reached. One that has an excluded string in it is
//! never reached: it is excluded itself.
//!
//! Takes time in the sum of the squares of the needles' lengths at worst (`aaaa…`), all of it paid in fuel;
//! for needles in use, it is linear.
//!
//! Rejected: the automaton of Aho and Corasick as rules or as terminals, one for each trigger. The former
//! makes a terminal of each byte, the latter as many automata as there are triggers.

use std::collections::BTreeMap;

use maskwright_automata::{ByteSet, Fuel, Regex};

use crate::TagError;

/// A string after which something else than free text follows, and its JSON pointer.
pub(crate) type Trigger<'a> = (&'a str, &'a str);

/// What free text and the triggers after it look like.
pub(crate) struct Plan<'a> {
    /// Free text.
    pub(crate) free: Regex,
    /// The triggers that can be reached, in groups.
    pub(crate) groups: Vec<Group<'a>>,
}

/// Triggers that begin alike and may stand after the same free texts.
pub(crate) struct Group<'a> {
    /// The free text before the trigger.
    pub(crate) before: Regex,
    /// What all triggers of the group begin with: at least one character.
    pub(crate) prefix: &'a str,
    /// The triggers, by their number.
    pub(crate) triggers: Vec<usize>,
}

/// Any text in which none of the needles occurs, and which ends with none of `ends`.
pub(crate) fn free_text(needles: &[&str], ends: &[&[u8]]) -> Regex {
    // The complement is of texts in any case, and is seen to be empty after a needle if all bytes may follow
    // one.
    let any = Regex::bytes(ByteSet::FULL).star();
    let words = Regex::words(needles.iter().map(|needle| needle.as_bytes()));
    let containing = Regex::concat([any.clone(), words, any.clone()]);
    let ending = Regex::concat([any, Regex::words(ends.iter().copied())]);
    Regex::union([containing, ending]).complement()
}

/// The prefixes of `end` after which `end` overlaps itself.
pub(crate) fn overlaps(end: &str) -> impl Iterator<Item = &[u8]> {
    let end = end.as_bytes();
    (1..end.len()).filter(|&by| end[by..] == end[..end.len() - by]).map(|by| &end[..by])
}

/// The longest needle, in bytes. Those in use have some dozens.
const MAX_NEEDLE: usize = 1024;

/// Refuses a needle that is too long; `at` is the JSON pointer that the error has.
pub(crate) fn check_length(needle: &str, at: &str) -> Result<(), TagError> {
    if needle.len() <= MAX_NEEDLE {
        return Ok(());
    }
    let n = needle.len();
    let message =
        format!("a string of {n} bytes is looked for in free text, more than the limit of {MAX_NEEDLE}");
    Err(TagError::limit(at, message))
}

/// What can follow free text. `triggers` are distinct; no string is empty.
///
/// # Errors
/// If a trigger has another trigger in it, or `fuel` ends.
pub(crate) fn plan<'a>(
    triggers: &[Trigger<'a>],
    excludes: &[&'a str],
    fuel: &Fuel,
) -> Result<Plan<'a>, TagError> {
    let excluded = excluded(triggers, excludes, fuel)?;
    let mut trie = Trie::new(triggers.iter().map(|(text, _)| *text), fuel).map_err(at(triggers))?;
    for (number, &(text, pointer)) in triggers.iter().enumerate() {
        trie.note(text, fuel, |inner, is_suffix| {
            if inner == number || is_suffix {
                return Ok(());
            }
            let message = format!(
                "the trigger {text:?} has the trigger {:?} in it, so it is not clear which of the two is meant",
                triggers[inner].0
            );
            Err(TagError::malformed(pointer, message))
        })?;
    }
    for text in excludes {
        trie.note(text, fuel, |_, _| Ok(()))?;
    }
    let needles: Vec<&str> = triggers.iter().map(|(text, _)| *text).chain(excludes.iter().copied()).collect();
    let mut groups: BTreeMap<(char, Vec<&[u8]>), Group<'a>> = BTreeMap::new();
    for (number, &(text, _)) in triggers.iter().enumerate().filter(|&(number, _)| !excluded[number]) {
        let first = text.chars().next().expect("no trigger is empty");
        let before = trie.before(text);
        let group = groups.entry((first, before)).or_insert_with_key(|(_, before)| Group {
            before: free_text(&needles, before),
            prefix: text,
            triggers: Vec::new(),
        });
        group.prefix = common_prefix(group.prefix, text);
        group.triggers.push(number);
    }
    Ok(Plan { free: free_text(&needles, &[]), groups: groups.into_values().collect() })
}

/// Whether each trigger has an excluded string in it.
fn excluded(triggers: &[Trigger<'_>], excludes: &[&str], fuel: &Fuel) -> Result<Vec<bool>, TagError> {
    let trie = Trie::new(excludes.iter().copied(), fuel).map_err(at(triggers))?;
    let mut excluded = vec![false; triggers.len()];
    for (is_excluded, (text, _)) in excluded.iter_mut().zip(triggers) {
        trie.walk(text, fuel, |_, found| {
            *is_excluded |= matches!(found, Found::Word { .. });
            Ok(())
        })?;
    }
    Ok(excluded)
}

/// The error for fuel that ends, with a place.
fn at(triggers: &[Trigger<'_>]) -> impl Fn(maskwright_automata::FuelError) -> TagError {
    let pointer = triggers.first().map_or("", |&(_, pointer)| pointer).to_owned();
    move |error| TagError::fuel(pointer.clone(), error)
}

/// The longest prefix of both, in whole characters.
fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let pairs = one.char_indices().zip(other.chars());
    let length = pairs.take_while(|((_, a), b)| a == b).last().map_or(0, |((at, a), _)| at + a.len_utf8());
    &one[..length]
}

/// A tree of words by their bytes. Nodes are numbered from the root, 0.
struct Trie<'a> {
    nodes: Vec<TrieNode<'a>>,
}

#[derive(Default)]
struct TrieNode<'a> {
    next: BTreeMap<u8, usize>,
    /// The word that ends here, by its number.
    word: Option<usize>,
    /// Those q for which some needle is q·p, where p leads here.
    before: Vec<&'a [u8]>,
}

/// What a walk along a suffix of a text finds in a trie.
enum Found {
    /// A word; `is_suffix` if it ends where the text does.
    Word { word: usize, is_suffix: bool },
    /// The whole suffix leads to this node.
    Suffix(usize),
}

impl<'a> Trie<'a> {
    fn new(
        words: impl Iterator<Item = &'a str>,
        fuel: &Fuel,
    ) -> Result<Trie<'a>, maskwright_automata::FuelError> {
        let mut nodes = vec![TrieNode::default()];
        for (number, word) in words.enumerate() {
            fuel.spend(word.len() as u64)?;
            let mut node = 0;
            for &byte in word.as_bytes() {
                let new = nodes.len();
                node = *nodes[node].next.entry(byte).or_insert(new);
                if node == new {
                    nodes.push(TrieNode::default());
                }
            }
            nodes[node].word.get_or_insert(number);
        }
        Ok(Trie { nodes })
    }

    /// Walks along each suffix of `text`, as far as the trie goes; `found` gets the place where the suffix
    /// starts.
    fn walk(
        &self,
        text: &str,
        fuel: &Fuel,
        mut found: impl FnMut(usize, Found) -> Result<(), TagError>,
    ) -> Result<(), TagError> {
        let bytes = text.as_bytes();
        for start in 0..bytes.len() {
            let mut node = 0;
            let mut end = start;
            while let Some(&next) = bytes.get(end).and_then(|byte| self.nodes[node].next.get(byte)) {
                fuel.spend(1).map_err(|error| TagError::fuel("", error))?;
                (node, end) = (next, end + 1);
                if let Some(word) = self.nodes[node].word {
                    found(start, Found::Word { word, is_suffix: start > 0 && end == bytes.len() })?;
                }
            }
            if end == bytes.len() {
                found(start, Found::Suffix(node))?;
            }
        }
        Ok(())
    }

    /// Notes what of `needle` may stand before the words; `found` judges the words in it.
    fn note(
        &mut self,
        needle: &'a str,
        fuel: &Fuel,
        mut found: impl FnMut(usize, bool) -> Result<(), TagError>,
    ) -> Result<(), TagError> {
        let mut marks = Vec::new();
        self.walk(needle, fuel, |start, what| match what {
            Found::Word { word, is_suffix } => found(word, is_suffix),
            Found::Suffix(node) => {
                marks.push((node, start));
                Ok(())
            }
        })?;
        // The whole needle is no q before anything.
        for (node, start) in marks.into_iter().filter(|&(_, start)| start > 0) {
            self.nodes[node].before.push(&needle.as_bytes()[..start]);
        }
        Ok(())
    }

    /// The strings that text before `word` must not end with, sorted.
    fn before(&self, word: &str) -> Vec<&'a [u8]> {
        let mut all = Vec::new();
        let mut node = 0;
        for byte in word.as_bytes() {
            node = self.nodes[node].next[byte];
            all.extend(self.nodes[node].before.iter().copied());
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}
