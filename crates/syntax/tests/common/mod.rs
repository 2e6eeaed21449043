//! What the tests share: a naive matcher, a word generator, the data folders.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::HashMap;
use std::path::PathBuf;

use maskwright_automata::{Node, Regex};

/// Whether `text` is in the language, by the textbook: for each node and start, all ends of its matches.
pub(crate) fn matches(regex: &Regex, text: &[u8]) -> bool {
    Matcher { text, ends: HashMap::new() }.ends(regex, 0)[text.len()]
}

pub(crate) struct Matcher<'a> {
    text: &'a [u8],
    /// By the node's address, which is stable while the expression lives, and the start.
    ends: HashMap<(*const Node, usize), Vec<bool>>,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Matcher<'a> {
        Matcher { text, ends: HashMap::new() }
    }

    /// For each place, whether a word of `regex` stands between `start` and it.
    pub(crate) fn ends(&mut self, regex: &Regex, start: usize) -> Vec<bool> {
        let key = (std::ptr::from_ref(regex.node()), start);
        if let Some(ends) = self.ends.get(&key) {
            return ends.clone();
        }
        let n = self.text.len() + 1;
        let mut ends = vec![false; n];
        let text = self.text;
        let rest = &text[start..];
        match regex.node() {
            Node::Empty => {}
            Node::Epsilon => ends[start] = true,
            Node::Bytes(set) => {
                if rest.first().is_some_and(|byte| set.contains(*byte)) {
                    ends[start + 1] = true;
                }
            }
            Node::Literal(word) => {
                if rest.starts_with(word) {
                    ends[start + word.len()] = true;
                }
            }
            Node::Words(words) => {
                for word in words.iter().filter(|word| rest.starts_with(word)) {
                    ends[start + word.len()] = true;
                }
            }
            Node::Concat(parts) => {
                ends[start] = true;
                for part in parts {
                    ends = self.step(part, &ends);
                }
            }
            Node::Union(parts) => {
                for part in parts {
                    let more = self.ends(part, start);
                    ends.iter_mut().zip(more).for_each(|(end, more)| *end |= more);
                }
            }
            Node::Intersection(parts) => {
                ends = vec![true; n];
                for part in parts {
                    let also = self.ends(part, start);
                    ends.iter_mut().zip(also).for_each(|(end, also)| *end &= also);
                }
            }
            Node::Complement(inner) => {
                let inner = self.ends(inner, start);
                for end in start..n {
                    ends[end] = !inner[end] && std::str::from_utf8(&text[start..end]).is_ok();
                }
            }
            Node::Repeat { inner, min, max } => {
                let mut now = vec![false; n];
                now[start] = true;
                let mut copies = 0;
                loop {
                    if copies >= *min {
                        ends.iter_mut().zip(&now).for_each(|(end, now)| *end |= now);
                    }
                    let next = self.step(inner, &now);
                    if *max == Some(copies) || !next.contains(&true) {
                        break;
                    }
                    if next == now {
                        ends.iter_mut().zip(&now).for_each(|(end, now)| *end |= now);
                        break;
                    }
                    // A nullable part can make the places grow for ever by no more than their number.
                    if copies > *min && copies > min + n as u32 {
                        break;
                    }
                    now = next;
                    copies += 1;
                }
            }
        }
        self.ends.insert(key, ends.clone());
        ends
    }

    fn step(&mut self, part: &Regex, from: &[bool]) -> Vec<bool> {
        let mut to = vec![false; from.len()];
        for start in (0..from.len()).filter(|start| from[*start]) {
            let more = self.ends(part, start);
            to.iter_mut().zip(more).for_each(|(end, more)| *end |= more);
        }
        to
    }
}

/// A small generator of pseudo-random numbers (xorshift64*), the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }
}

/// A word that is in the language if no intersection or complement is involved; then, perhaps not.
pub(crate) fn word(regex: &Regex, random: &mut Random, word: &mut Vec<u8>) {
    if word.len() > 200 {
        return;
    }
    match regex.node() {
        Node::Empty | Node::Epsilon | Node::Complement(_) => {}
        Node::Bytes(set) => {
            // Mostly printable ASCII where that is possible.
            let all: Vec<u8> = set.iter().collect();
            let plain: Vec<u8> = set.iter().filter(|byte| (b' '..=b'~').contains(byte)).collect();
            let from = if plain.is_empty() || random.below(20) == 0 { &all } else { &plain };
            word.push(from[random.below(from.len())]);
        }
        Node::Literal(literal) => word.extend_from_slice(literal),
        Node::Words(words) => word.extend_from_slice(&words[random.below(words.len())]),
        Node::Concat(parts) => parts.iter().for_each(|part| self::word(part, random, word)),
        Node::Union(parts) => self::word(&parts[random.below(parts.len())], random, word),
        Node::Intersection(parts) => {
            let simple: Vec<&Regex> =
                parts.iter().filter(|part| !matches!(part.node(), Node::Complement(_))).collect();
            if !simple.is_empty() {
                self::word(simple[random.below(simple.len())], random, word);
            }
        }
        Node::Repeat { inner, min, max } => {
            let more = random.below(4) as u32;
            for _ in 0..(min + more).min(max.unwrap_or(u32::MAX)).min(40) {
                self::word(inner, random, word);
            }
        }
    }
}

/// Texts to try on a pattern: words of its language, their mutations, and random texts of its own letters.
pub(crate) fn texts(pattern: &str, languages: &[&Regex], n: usize, random: &mut Random) -> Vec<String> {
    let mut alphabet: Vec<char> = pattern.chars().filter(|c| !c.is_control()).collect();
    alphabet.extend("aZ09_-. /\n\té中\u{2028}\u{FEFF}😀".chars());
    let mut texts = vec![String::new()];
    for idx in 0..n {
        let mut bytes = Vec::new();
        word(languages[idx % languages.len()], random, &mut bytes);
        let generated: Vec<char> = String::from_utf8_lossy(&bytes).chars().take(60).collect();
        texts.push(generated.iter().collect());
        let mut mutated = generated.clone();
        for _ in 0..=random.below(2) {
            let letter = alphabet[random.below(alphabet.len())];
            let place = random.below(mutated.len() + 1);
            match random.below(3) {
                0 => mutated.insert(place, letter),
                1 if place < mutated.len() => drop(mutated.remove(place)),
                _ if place < mutated.len() => mutated[place] = letter,
                _ => mutated.push(letter),
            }
        }
        texts.push(mutated.into_iter().collect());
        let length = random.below(6);
        texts.push((0..length).map(|_| alphabet[random.below(alphabet.len())]).collect());
    }
    texts.sort();
    texts.dedup();
    texts
}

/// A file of the data that is not part of the project, if it is there.
pub(crate) fn shared(file: &str) -> Option<PathBuf> {
    maskwright_oracle::shared(file)
}

/// The project's own test data.
pub(crate) fn testdata(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/syntax")).join(file)
}
