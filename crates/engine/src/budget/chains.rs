//! Texts as chains of words, and the fewest tokens that spell them.
//!
//! An example: `]`, behind which comes `}`. Beside each byte stands the fewest tokens that spell the text
//! from there, so a token `]}` makes this text one token long. Words are put before what comes behind them,
//! so texts that end alike share their ends.

use maskwright_automata::meter;
use maskwright_vocabulary::Trie;

use super::words::Word;
use crate::EngineError;
use crate::ground::{NEVER, plus};

/// Units of work that a node of the token trie takes.
const UNITS_PER_NODE: u64 = 1;
/// Texts of more bytes are not made.
pub(super) const MAX_BYTES: u32 = 1 << 18;

/// A fingerprint of a text, the same however its parts are grouped. Two texts with one fingerprint are taken
/// for equal: then an answer could depend on what was asked before, but would still be right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Print {
    hash: u64,
    /// What a hash in front of the text is multiplied by.
    scale: u64,
}

impl Print {
    pub(super) const EMPTY: Print = Print { hash: 0, scale: 1 };

    pub(super) fn of(text: &[u8]) -> Print {
        let of_byte = |byte: &u8| Print { hash: u64::from(*byte) + 1, scale: 0x9E37_79B9_7F4A_7C15 };
        text.iter().map(of_byte).fold(Print::EMPTY, Print::then)
    }

    /// That of this text with another behind it.
    pub(super) fn then(self, rest: Print) -> Print {
        Print {
            hash: self.hash.wrapping_mul(rest.scale).wrapping_add(rest.hash),
            scale: self.scale.wrapping_mul(rest.scale),
        }
    }
}

/// A text: a word, and what comes behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct RestId(u32);

impl RestId {
    /// Nothing.
    pub(super) const END: RestId = RestId(0);
}

struct Rest {
    /// None where the word depends on what was there, and only its length is known.
    word: Option<Word>,
    /// The fewest tokens that spell the text, by the place in the word; for such a word one number.
    fewest: Box<[u32]>,
    behind: RestId,
    /// All of it.
    n_bytes: u32,
    print: Print,
}

impl Rest {
    fn bytes(&self) -> &[u8] {
        self.word.as_ref().map_or(&[], Word::bytes)
    }
}

/// All texts that were made.
pub(super) struct Chains {
    /// By number; the first one is [`RestId::END`].
    all: Vec<Rest>,
    n_bytes: usize,
}

impl Chains {
    /// Only the end.
    pub(super) fn new() -> Chains {
        let end =
            Rest { word: None, fewest: [0].into(), behind: RestId::END, n_bytes: 0, print: Print::EMPTY };
        Chains { all: vec![end], n_bytes: 0 }
    }

    /// The fewest tokens that spell a text; [`NEVER`] if none do.
    pub(super) fn number(&self, rest: RestId) -> u32 {
        self.all[rest.0 as usize].fewest[0]
    }

    pub(super) fn print(&self, rest: RestId) -> Print {
        self.all[rest.0 as usize].print
    }

    /// Writes a text, up to the first word that is not known; whether that is all of it.
    pub(super) fn write(&self, mut rest: RestId, text: &mut Vec<u8>) -> bool {
        while rest != RestId::END {
            let Rest { word, behind, .. } = &self.all[rest.0 as usize];
            let Some(word) = word else { return false };
            text.extend_from_slice(word.bytes());
            rest = *behind;
        }
        true
    }

    /// A word before a text; `None` if that is too long.
    ///
    /// # Errors
    /// If the call is out of work.
    pub(super) fn put(
        &mut self,
        trie: &Trie,
        word: Word,
        print: Print,
        behind: RestId,
    ) -> Result<Option<RestId>, EngineError> {
        let fewest = self.fewest(trie, word.bytes(), behind)?;
        let n_bytes = word.bytes().len() as u32;
        Ok(self.push(Some(word), fewest, n_bytes, print, behind))
    }

    /// A word that takes so many tokens before a text; `None` if that is too long.
    pub(super) fn put_some(&mut self, n_tokens: u32, print: Print, behind: RestId) -> Option<RestId> {
        let fewest = [plus(n_tokens, self.number(behind))].into();
        self.push(None, fewest, n_tokens, print, behind)
    }

    fn push(
        &mut self,
        word: Option<Word>,
        fewest: Box<[u32]>,
        n_bytes: u32,
        print: Print,
        behind: RestId,
    ) -> Option<RestId> {
        let after = &self.all[behind.0 as usize];
        let n_bytes = n_bytes.saturating_add(after.n_bytes);
        if n_bytes > MAX_BYTES {
            return None;
        }
        let print = print.then(after.print);
        self.n_bytes += fewest.len() * 4 + size_of::<Rest>();
        self.all.push(Rest { word, fewest, behind, n_bytes, print });
        Some(RestId(self.all.len() as u32 - 1))
    }

    /// The fewest tokens that spell a word with a text behind it, from each place in the word.
    ///
    /// # Errors
    /// If the call is out of work.
    pub(super) fn fewest(&self, trie: &Trie, word: &[u8], behind: RestId) -> Result<Box<[u32]>, EngineError> {
        let mut fewest = vec![NEVER; word.len()];
        for start in (0..word.len()).rev() {
            let (mut node, mut n_nodes) = (Trie::ROOT, 0);
            let (mut bytes, mut at, mut numbers) = (word, start, None);
            let mut behind = behind;
            loop {
                let Some(&byte) = bytes.get(at) else {
                    let rest = &self.all[behind.0 as usize];
                    if behind == RestId::END || rest.word.is_none() {
                        break;
                    }
                    (bytes, at, numbers, behind) = (rest.bytes(), 0, Some(&rest.fewest), rest.behind);
                    continue;
                };
                let Some(child) = trie.child(node, byte) else { break };
                (node, at, n_nodes) = (child, at + 1, n_nodes + 1);
                if !trie.tokens(node).is_empty() {
                    let own: &[u32] = numbers.map_or(&fewest, |numbers| numbers);
                    let after = own.get(at).copied().unwrap_or_else(|| self.number(behind));
                    fewest[start] = fewest[start].min(plus(after, 1));
                }
            }
            meter::spend(UNITS_PER_NODE * (n_nodes + 1))?;
        }
        Ok(fewest.into())
    }

    /// Approximate memory, in bytes, without the words.
    pub(super) fn memory_usage(&self) -> usize {
        self.n_bytes
    }
}
