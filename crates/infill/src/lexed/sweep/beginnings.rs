//! Sets of beginnings by item, as bits: for each item at a node, the nodes where calls begin that have it there.

use crate::lexed::sweep::items::ItemId;

/// By item, a set that is being made.
#[derive(Debug)]
pub(crate) struct Sets {
    n_words: usize,
    sets: Vec<Set>,
    /// The items whose sets have words in use.
    touched: Vec<ItemId>,
    /// How many words were made since that was last asked.
    n_made: usize,
}

/// All words of a set, of which those from `low` to `high` may be other than zero.
#[derive(Debug, Default)]
struct Set {
    words: Vec<u64>,
    low: usize,
    high: usize,
}

impl Sets {
    pub(crate) fn new(n_words: usize) -> Sets {
        Sets { n_words, sets: Vec::new(), touched: Vec::new(), n_made: 0 }
    }

    /// The items whose sets are not empty, in the order in which they became so.
    pub(crate) fn touched(&self) -> &[ItemId] {
        &self.touched
    }

    /// How many words were made since this was last asked.
    pub(crate) fn take_made(&mut self) -> usize {
        std::mem::take(&mut self.n_made)
    }

    /// Adds bits of a word, not none; those that are new.
    pub(crate) fn add(&mut self, item: ItemId, word: usize, bits: u64) -> u64 {
        if self.sets.len() <= item.index() {
            self.sets.resize_with(item.index() + 1, Set::default);
        }
        let set = &mut self.sets[item.index()];
        if set.low == set.high {
            self.touched.push(item);
            (set.low, set.high) = (word, word + 1);
            if set.words.is_empty() {
                set.words.resize(self.n_words, 0);
                self.n_made += self.n_words;
            }
        } else {
            (set.low, set.high) = (set.low.min(word), set.high.max(word + 1));
        }
        let new = bits & !set.words[word];
        set.words[word] |= bits;
        new
    }

    /// Takes the beginnings of a word out of a set.
    pub(crate) fn take_word(&mut self, item: ItemId, word: usize) -> u64 {
        self.sets.get_mut(item.index()).and_then(|set| set.words.get_mut(word)).map_or(0, std::mem::take)
    }

    /// A word of a set.
    pub(crate) fn word(&self, item: ItemId, word: usize) -> u64 {
        self.sets.get(item.index()).and_then(|set| set.words.get(word)).copied().unwrap_or(0)
    }

    /// Whether nothing was added to a set.
    pub(crate) fn is_empty(&self, item: ItemId) -> bool {
        self.sets.get(item.index()).is_none_or(|set| set.low == set.high)
    }

    /// The words of a set that may be other than zero, by number.
    pub(crate) fn words(&self, item: ItemId) -> impl Iterator<Item = (usize, u64)> {
        let set = self.sets.get(item.index());
        let words = set.map_or(&[][..], |set| &set.words[set.low..set.high]);
        let low = set.map_or(0, |set| set.low);
        words.iter().enumerate().map(move |(index, &word)| (low + index, word)).filter(|&(_, word)| word != 0)
    }

    /// Empties all sets.
    pub(crate) fn clear(&mut self) {
        for item in self.touched.drain(..) {
            let set = &mut self.sets[item.index()];
            set.words[set.low..set.high].fill(0);
            (set.low, set.high) = (0, 0);
        }
    }
}

/// A set of beginnings that is kept and only grows.
#[derive(Clone, Default, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn insert(&mut self, bit: u32) {
        self.unite(bit as usize / 64, 1 << (bit % 64));
    }

    pub(crate) fn unite(&mut self, word: usize, bits: u64) {
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bits;
    }

    pub(crate) fn word(&self, word: usize) -> u64 {
        self.0.get(word).copied().unwrap_or(0)
    }

    pub(crate) fn contains(&self, bit: u32) -> bool {
        self.word(bit as usize / 64) >> (bit % 64) & 1 == 1
    }

    /// The beginnings, the first ones first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().enumerate().flat_map(|(index, &word)| Bits::of_word(index, word))
    }

    /// The beginnings of a word.
    pub(crate) fn of_word(index: usize, mut word: u64) -> impl Iterator<Item = u32> {
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros();
            (word != 0).then(|| {
                word &= word - 1;
                index as u32 * 64 + bit
            })
        })
    }
}
