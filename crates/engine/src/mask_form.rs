//! Masks as data: the form in which a computed mask is kept.

use maskwright_vocabulary::TokenId;

/// The most tokens that are kept as a list, as a fraction of the words of a dense mask.
const SPARSE_PER_WORD: usize = 2;

/// A set of tokens, as a sorted list or packed, whichever is smaller by far.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum MaskForm {
    /// The ids in ascending order.
    Sparse(Box<[u32]>),
    /// 32 tokens to a word.
    Dense(Box<[u32]>),
}

impl MaskForm {
    /// Writes the set over `words`; words past the vocabulary's are cleared.
    pub(crate) fn write(&self, words: &mut [u32]) {
        match self {
            MaskForm::Sparse(tokens) => {
                words.fill(0);
                for &token in tokens {
                    words[token as usize / 32] |= 1 << (token % 32);
                }
            }
            MaskForm::Dense(dense) => {
                let (own, rest) = words.split_at_mut(dense.len());
                own.copy_from_slice(dense);
                rest.fill(0);
            }
        }
    }

    /// The tokens of the set, ascending.
    pub(crate) fn tokens(&self) -> Vec<TokenId> {
        match self {
            MaskForm::Sparse(tokens) => tokens.iter().map(|&token| TokenId(token)).collect(),
            MaskForm::Dense(words) => {
                let bits = |(index, &word): (usize, &u32)| {
                    let base = index as u32 * 32;
                    (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| TokenId(base + bit))
                };
                words.iter().enumerate().flat_map(bits).collect()
            }
        }
    }

    /// How many tokens are in the set.
    pub(crate) fn len(&self) -> usize {
        match self {
            MaskForm::Sparse(tokens) => tokens.len(),
            MaskForm::Dense(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Whether all of `n_vocab` tokens are in the set.
    pub(crate) fn is_full(&self, n_vocab: usize) -> bool {
        match self {
            MaskForm::Sparse(tokens) => tokens.len() == n_vocab,
            MaskForm::Dense(words) => {
                let n_whole = n_vocab / 32;
                words[..n_whole].iter().all(|&word| word == u32::MAX)
                    && words[n_whole..].iter().all(|&word| word == (1 << (n_vocab % 32)) - 1)
            }
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            MaskForm::Sparse(words) | MaskForm::Dense(words) => words.len() * 4,
        }
    }
}

/// A mask under construction: a list until something dense comes in.
#[derive(Debug)]
pub(crate) struct MaskBuilder {
    n_words: usize,
    tokens: Vec<u32>,
    dense: Option<Box<[u32]>>,
}

impl MaskBuilder {
    pub(crate) fn new(n_words: usize) -> MaskBuilder {
        MaskBuilder { n_words, tokens: Vec::new(), dense: None }
    }

    #[inline]
    pub(crate) fn insert_all(&mut self, tokens: &[TokenId]) {
        self.tokens.extend(tokens.iter().map(|token| token.0));
        if self.tokens.len() > self.n_words {
            self.flush();
        }
    }

    pub(crate) fn union(&mut self, other: &MaskForm) {
        match other {
            MaskForm::Sparse(tokens) => {
                self.tokens.extend_from_slice(tokens);
                if self.tokens.len() > self.n_words {
                    self.flush();
                }
            }
            MaskForm::Dense(words) => match &mut self.dense {
                Some(dense) => dense.iter_mut().zip(words).for_each(|(word, other)| *word |= other),
                None => self.dense = Some(words.clone()),
            },
        }
    }

    /// Adds `other` but for the `removed` (sorted) tokens.
    pub(crate) fn union_without(&mut self, other: &MaskForm, removed: &[u32]) {
        match other {
            MaskForm::Sparse(tokens) => {
                let kept = tokens.iter().filter(|token| removed.binary_search(token).is_err());
                self.tokens.extend(kept);
                if self.tokens.len() > self.n_words {
                    self.flush();
                }
            }
            MaskForm::Dense(_) => {
                let was_set: Vec<bool> = match &self.dense {
                    Some(dense) => removed.iter().map(|&token| is_set(dense, token)).collect(),
                    None => vec![false; removed.len()],
                };
                self.union(other);
                let dense = self.dense.as_mut().expect("a dense mask was just added");
                for (&token, was_set) in removed.iter().zip(was_set) {
                    if !was_set {
                        dense[token as usize / 32] &= !(1 << (token % 32));
                    }
                }
            }
        }
    }

    /// Moves the list into the packed words.
    fn flush(&mut self) {
        let dense = self.dense.get_or_insert_with(|| vec![0; self.n_words].into());
        for token in self.tokens.drain(..) {
            dense[token as usize / 32] |= 1 << (token % 32);
        }
    }

    pub(crate) fn finish(mut self) -> MaskForm {
        if self.dense.is_none() {
            self.tokens.sort_unstable();
            self.tokens.dedup();
            if self.tokens.len() <= self.n_words / SPARSE_PER_WORD {
                return MaskForm::Sparse(self.tokens.into());
            }
        }
        self.flush();
        MaskForm::Dense(self.dense.expect("flushing makes it"))
    }
}

fn is_set(words: &[u32], token: u32) -> bool {
    words[token as usize / 32] >> (token % 32) & 1 != 0
}
