//! Sorted word lists, walked as tries by binary search.
//!
//! A residue of a list is a range of it, so residues of different lists are different nodes even if the words
//! are the same; but for short rests of few words, which are found by their content. Names that many schemas
//! have come to the same residue so. (Comparing all contents would make walking a long word quadratic.)

use super::{Arena, EMPTY, EPSILON, Node, NodeId};
use crate::{AutomatonError, ByteSet, Node as RegexNode, Regex};

/// The words of one `Literal` or `Words` expression, which it shares.
pub(crate) struct WordList {
    /// Its outermost operation is `Literal` or `Words`.
    regex: Regex,
    /// A tree of the least and greatest lengths of ranges of words: leaf i at n + i, the parent of 2k and
    /// 2k+1 at k.
    lengths: Box<[(u32, u32)]>,
}

impl WordList {
    fn new(regex: &Regex) -> Result<WordList, AutomatonError> {
        let n_words = match regex.node() {
            RegexNode::Words(words) => words.len(),
            _ => 1,
        };
        let mut list = WordList { regex: regex.clone(), lengths: Box::default() };
        let mut lengths = vec![(u32::MAX, 0); 2 * n_words];
        for (i, length) in lengths[n_words..].iter_mut().enumerate() {
            let word = list.word(i as u32);
            let n_bytes = u32::try_from(word.len())
                .map_err(|_| AutomatonError::limit("bytes in one word", u64::from(u32::MAX)))?;
            *length = (n_bytes, n_bytes);
        }
        for parent in (1..n_words).rev() {
            lengths[parent] = widest(lengths[2 * parent], lengths[2 * parent + 1]);
        }
        list.lengths = lengths.into();
        Ok(list)
    }

    /// How many words there are.
    pub(crate) fn len(&self) -> usize {
        self.lengths.len() / 2
    }

    /// The word of number `i`.
    pub(crate) fn word(&self, i: u32) -> &[u8] {
        match self.regex.node() {
            RegexNode::Literal(word) => word,
            RegexNode::Words(words) => &words[i as usize],
            _ => &[],
        }
    }

    /// About how many bytes the words and their lengths take.
    fn memory(&self) -> usize {
        let words: usize = (0..self.len()).map(|i| self.word(i as u32).len() + size_of::<Box<[u8]>>()).sum();
        words + self.lengths.len() * size_of::<(u32, u32)>() + size_of::<WordList>()
    }

    /// The bytes that stand at `depth` in the words `low..high`, which agree before. O(k log n) for k bytes.
    pub(super) fn bytes_at(&self, low: u32, high: u32, depth: u32) -> ByteSet {
        let at = |word: u32| self.word(word).get(depth as usize).copied();
        let (mut word, mut bytes) = (low, ByteSet::EMPTY);
        while word < high {
            let byte = at(word);
            if let Some(byte) = byte {
                bytes.insert(byte);
            }
            // The first word with another byte there: words are sorted, and most ranges are small.
            let mut width = 1;
            while word + width < high && at(word + width) == byte {
                width = width.saturating_mul(2).min(high - word);
            }
            let (mut known, mut end) = (word + width / 2, (word + width).min(high));
            while known < end {
                let middle = known + (end - known) / 2;
                if at(middle) == byte { known = middle + 1 } else { end = middle }
            }
            word = known;
        }
        bytes
    }

    /// The words `low..high` from `depth` on, if they are few and short: each with its length before it,
    /// which has one way to read it.
    fn short_rest(&self, low: u32, high: u32, depth: u32) -> Option<Vec<u8>> {
        if high - low > MAX_RESTS {
            return None;
        }
        let rests = (low..high).map(|word| &self.word(word)[depth as usize..]);
        if rests.clone().map(<[u8]>::len).sum::<usize>() > MAX_REST_BYTES {
            return None;
        }
        let mut content = Vec::with_capacity(MAX_REST_BYTES + MAX_RESTS as usize);
        for rest in rests {
            content.push(rest.len() as u8);
            content.extend_from_slice(rest);
        }
        Some(content)
    }

    /// The least and the greatest length of the words `low..high`. O(log n).
    pub(crate) fn lengths(&self, low: u32, high: u32) -> (u32, u32) {
        let n = self.len();
        let (mut low, mut high, mut all) = (low as usize + n, high as usize + n, (u32::MAX, 0));
        while low < high {
            if low % 2 == 1 {
                all = widest(all, self.lengths[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                all = widest(all, self.lengths[high]);
            }
            low /= 2;
            high /= 2;
        }
        all
    }
}

/// The least range of lengths around two.
fn widest(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// Rests of at most this many words, and bytes in all, are found by their content.
const MAX_RESTS: u32 = 4;
const MAX_REST_BYTES: usize = 64;

impl Arena {
    /// The node of a `Literal` or `Words` expression.
    pub(super) fn word_list(&mut self, regex: &Regex) -> Result<NodeId, AutomatonError> {
        let list = match self.list_ids.get(regex) {
            Some(&list) => list,
            None => {
                let words = WordList::new(regex)?;
                self.charge(words.memory())?;
                let list = self.lists.len() as u32;
                self.lists.push(words);
                self.list_ids.insert(regex.clone(), list);
                list
            }
        };
        let high = self.lists[list as usize].len() as u32;
        self.words(list, 0, high, 0)
    }

    /// The words `low..high` of a list without their first `depth` bytes.
    pub(super) fn words(
        &mut self,
        list: u32,
        low: u32,
        high: u32,
        depth: u32,
    ) -> Result<NodeId, AutomatonError> {
        if low >= high {
            return Ok(EMPTY);
        }
        if high - low == 1 {
            match self.lists[list as usize].word(low)[depth as usize..] {
                [] => return Ok(EPSILON),
                [byte] => return self.bytes(ByteSet::singleton(byte)),
                _ => {}
            }
        }
        let node = Node::Words { list, low, high, depth };
        let Some(rest) = self.lists[list as usize].short_rest(low, high, depth) else {
            return self.intern(node);
        };
        if let Some(&known) = self.rests.get(rest.as_slice()) {
            return Ok(known);
        }
        let id = self.intern(node)?;
        self.charge(2 * size_of::<(Box<[u8]>, NodeId)>() + rest.len())?;
        self.rests.insert(rest.into(), id);
        Ok(id)
    }

    /// The words of such a range that go on with `byte`, without it. O(log n).
    pub(super) fn words_derivative(
        &mut self,
        (list, low, high, depth): (u32, u32, u32, u32),
        byte: u8,
    ) -> Result<NodeId, AutomatonError> {
        let words = &self.lists[list as usize];
        // Words that end here sort first, as `None`.
        let first = |target: Option<u8>, after: bool| {
            let (mut low, mut high) = (low, high);
            while low < high {
                let middle = low + (high - low) / 2;
                let next = words.word(middle).get(depth as usize).copied();
                if next < target || (after && next == target) { low = middle + 1 } else { high = middle }
            }
            low
        };
        let (low, high) = (first(Some(byte), false), first(Some(byte), true));
        self.words(list, low, high, depth + 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_of_words_know_their_bytes_and_lengths(
            words in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..4), 2..80),
            depth in 0usize..3,
        ) {
            let regex = Regex::words(words);
            let RegexNode::Words(words) = regex.node() else { return Ok(()) };
            let list = WordList::new(&regex).unwrap();
            for same in words.chunk_by(|a, b| a.get(..depth) == b.get(..depth)) {
                let low = words.iter().position(|word| *word == same[0]).unwrap();
                let high = (low + same.len()) as u32;
                let bytes: ByteSet = same.iter().filter_map(|word| word.get(depth).copied()).collect();
                prop_assert_eq!(list.bytes_at(low as u32, high, depth as u32), bytes);
                let lengths = || same.iter().map(|word| word.len() as u32);
                let expected = (lengths().min().unwrap(), lengths().max().unwrap());
                prop_assert_eq!(list.lengths(low as u32, high), expected);
            }
        }
    }
}
