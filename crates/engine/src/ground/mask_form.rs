//! Masks as data: the form in which a computed mask is kept.
//!
//! Most masks are a row's inside and a few tokens more or less. Such a mask is kept as a difference from the
//! row's set, which all grammars of a compiler share: a hundred bytes instead of sixteen thousand, and what
//! is copied when it is written is in the processor's cache already. Rows of a few hundred tokens (white
//! space, numbers) are kept both ways, as a list and packed, so that they are a base of such differences, and
//! need not be sorted among the others.

use std::sync::Arc;

use maskwright_vocabulary::TokenId;

/// The most tokens that are kept as a list, as a fraction of the words of a dense mask.
const SPARSE_PER_WORD: usize = 2;

/// The fewest tokens of a row's list that is packed too, as a fraction of the words of a dense mask.
const LISTED_PER_WORD: usize = 32;

/// Longer lists are sorted by way of a packed set.
const MAX_SORTED: usize = 1_024;

/// A set of tokens, as a sorted list, packed, or as a difference, whichever is smaller by far. Equal forms
/// are equal sets; equal sets may have different forms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum MaskForm {
    /// The ids in ascending order.
    Sparse(Arc<[u32]>),
    /// The ids in ascending order, and the same packed.
    Listed(Arc<[u32]>, Arc<[u32]>),
    /// 32 tokens to a word.
    Dense(Arc<[u32]>),
    /// `base` without `removed` and with `added`: both ascending, `removed` in `base` and `added` not.
    Delta { base: Arc<[u32]>, removed: Box<[u32]>, added: Box<[u32]> },
}

impl MaskForm {
    /// The same set, in a form that differences can be kept from, if it is of a row; `n_words` are those of
    /// the vocabulary.
    pub(crate) fn into_base(self, n_words: usize) -> MaskForm {
        match self {
            MaskForm::Sparse(tokens) if tokens.len() > n_words / LISTED_PER_WORD => {
                let mut words = vec![0; n_words];
                set_all(&mut words, &tokens);
                MaskForm::Listed(tokens, words.into())
            }
            other => other,
        }
    }

    /// The set of `tokens`, which are ascending; `n_words` are those of the vocabulary.
    pub(crate) fn of_sorted(tokens: Vec<u32>, n_words: usize) -> MaskForm {
        if tokens.len() <= n_words / SPARSE_PER_WORD {
            return MaskForm::Sparse(tokens.into());
        }
        let mut words = vec![0; n_words];
        set_all(&mut words, &tokens);
        MaskForm::Dense(words.into())
    }

    /// Writes the set over `words`; words past the vocabulary's are cleared, and ids that have no place in
    /// `words` left out.
    pub(crate) fn write(&self, words: &mut [u32]) {
        match self {
            MaskForm::Sparse(tokens) => {
                words.fill(0);
                set_all(words, tokens);
            }
            MaskForm::Listed(_, packed) | MaskForm::Dense(packed) => copy(packed, words),
            MaskForm::Delta { base, removed, added } => {
                copy(base, words);
                clear_all(words, removed);
                set_all(words, added);
            }
        }
    }

    /// Adds the set to what is in `words`; ids that have no place there are left out.
    pub(crate) fn add_to(&self, words: &mut [u32]) {
        match self {
            MaskForm::Sparse(tokens) | MaskForm::Listed(tokens, _) => set_all(words, tokens),
            MaskForm::Dense(packed) => {
                words.iter_mut().zip(packed.iter()).for_each(|(word, more)| *word |= more);
            }
            MaskForm::Delta { base, .. } => {
                let mut set = vec![0; base.len()];
                self.write(&mut set);
                words.iter_mut().zip(set).for_each(|(word, more)| *word |= more);
            }
        }
    }

    /// Whether the token is in the set. No token beyond its words is.
    pub(crate) fn contains(&self, TokenId(token): TokenId) -> bool {
        match self {
            MaskForm::Sparse(tokens) => tokens.binary_search(&token).is_ok(),
            MaskForm::Listed(_, words) | MaskForm::Dense(words) => is_set(words, token),
            MaskForm::Delta { base, removed, added } => {
                let is_left = is_set(base, token) && removed.binary_search(&token).is_err();
                is_left || added.binary_search(&token).is_ok()
            }
        }
    }

    /// The tokens of the set, ascending.
    pub(crate) fn tokens(&self) -> Vec<TokenId> {
        self.first_tokens(usize::MAX)
    }

    /// The least tokens of the set, ascending; at most `most`.
    pub(crate) fn first_tokens(&self, most: usize) -> Vec<TokenId> {
        let listed = |words: &[u32]| {
            let bits = |(index, &word): (usize, &u32)| {
                let first = index as u32 * 32;
                (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| TokenId(first + bit))
            };
            words.iter().enumerate().flat_map(bits).take(most).collect()
        };
        match self {
            MaskForm::Sparse(tokens) | MaskForm::Listed(tokens, _) => {
                tokens.iter().take(most).map(|&token| TokenId(token)).collect()
            }
            MaskForm::Dense(words) => listed(words),
            MaskForm::Delta { base, .. } => {
                let mut words = vec![0; base.len()];
                self.write(&mut words);
                listed(&words)
            }
        }
    }

    /// The least token of the set.
    pub(crate) fn first(&self) -> Option<TokenId> {
        match self {
            MaskForm::Sparse(tokens) | MaskForm::Listed(tokens, _) => {
                tokens.first().map(|&token| TokenId(token))
            }
            MaskForm::Dense(_) | MaskForm::Delta { .. } => self.first_tokens(1).first().copied(),
        }
    }

    /// How many tokens are in the set.
    pub(crate) fn len(&self) -> usize {
        let count = |words: &[u32]| words.iter().map(|word| word.count_ones() as usize).sum();
        match self {
            MaskForm::Sparse(tokens) | MaskForm::Listed(tokens, _) => tokens.len(),
            MaskForm::Dense(words) => count(words),
            MaskForm::Delta { base, removed, added } => {
                let n_base: usize = count(base);
                n_base - removed.len() + added.len()
            }
        }
    }

    /// Whether all of `n_vocab` tokens are in the set.
    pub(crate) fn is_full(&self, n_vocab: usize) -> bool {
        match self {
            MaskForm::Sparse(tokens) | MaskForm::Listed(tokens, _) => tokens.len() == n_vocab,
            MaskForm::Dense(words) => lacks(words, n_vocab, 0) == 0,
            MaskForm::Delta { base, removed, added } => {
                removed.is_empty() && lacks(base, n_vocab, added.len()) == added.len()
            }
        }
    }

    /// What it takes by itself, in bytes; a base is a row's.
    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            MaskForm::Sparse(tokens) => tokens.len() * 4,
            MaskForm::Listed(tokens, words) => (tokens.len() + words.len()) * 4,
            MaskForm::Dense(words) => words.len() * 4,
            MaskForm::Delta { removed, added, .. } => (removed.len() + added.len()) * 4,
        }
    }
}

/// How many of `n_vocab` tokens are not in the packed set; any number above `enough` if there are more than
/// that.
fn lacks(words: &[u32], n_vocab: usize, enough: usize) -> usize {
    let mut n_lacking = 0;
    for (index, word) in words.iter().enumerate().take(n_vocab.div_ceil(32)) {
        let n_bits = (n_vocab - index * 32).min(32);
        n_lacking += n_bits - word.count_ones() as usize;
        if n_lacking > enough {
            break;
        }
    }
    n_lacking
}

fn copy(from: &[u32], words: &mut [u32]) {
    let (own, rest) = words.split_at_mut(from.len().min(words.len()));
    own.copy_from_slice(&from[..own.len()]);
    rest.fill(0);
}

fn set_all(words: &mut [u32], tokens: &[u32]) {
    for &token in tokens {
        if let Some(word) = words.get_mut(token as usize / 32) {
            *word |= 1 << (token % 32);
        }
    }
}

fn clear_all(words: &mut [u32], tokens: &[u32]) {
    for &token in tokens {
        if let Some(word) = words.get_mut(token as usize / 32) {
            *word &= !(1 << (token % 32));
        }
    }
}

fn is_set(words: &[u32], token: u32) -> bool {
    words.get(token as usize / 32).is_some_and(|word| word >> (token % 32) & 1 != 0)
}

/// A mask under construction: (`packed` without `removed`) and `tokens`.
#[derive(Debug)]
pub(crate) struct MaskBuilder {
    n_words: usize,
    /// In any order, each any number of times.
    tokens: Vec<u32>,
    packed: Packed,
}

#[derive(Debug)]
enum Packed {
    Nothing,
    /// The set `base` of others, but for `removed` (ascending, all in it).
    Shared {
        base: Arc<[u32]>,
        removed: Vec<u32>,
        /// The set as a list, if it is short.
        list: Option<Arc<[u32]>>,
    },
    Own(Box<[u32]>),
}

impl MaskBuilder {
    pub(crate) fn new(n_words: usize) -> MaskBuilder {
        MaskBuilder { n_words, tokens: Vec::new(), packed: Packed::Nothing }
    }

    #[inline]
    pub(crate) fn insert_all(&mut self, tokens: &[TokenId]) {
        self.tokens.extend(tokens.iter().map(|token| token.0));
        self.flush_many();
    }

    pub(crate) fn union(&mut self, other: &MaskForm) {
        self.union_without(other, &[]);
    }

    /// Adds `other` but for the `without` (ascending) tokens.
    pub(crate) fn union_without(&mut self, other: &MaskForm, without: &[u32]) {
        match other {
            MaskForm::Listed(tokens, words) if self.has_no_base_but(words) => {
                let removed = without.iter().copied().filter(|&token| is_set(words, token)).collect();
                self.union_packed(words, removed, Some(tokens));
            }
            MaskForm::Sparse(tokens) | MaskForm::Listed(tokens, _) => self.insert_listed(tokens, without),
            MaskForm::Dense(words) => {
                let removed = without.iter().copied().filter(|&token| is_set(words, token)).collect();
                self.union_packed(words, removed, None);
            }
            MaskForm::Delta { base, removed, added } => {
                let mut removed = removed.to_vec();
                if !without.is_empty() {
                    removed.extend(without.iter().filter(|&&token| is_set(base, token)));
                    removed.sort_unstable();
                    removed.dedup();
                }
                self.union_packed(base, removed, None);
                self.insert_listed(added, without);
            }
        }
    }

    /// Adds `tokens` but for `without` (ascending) one by one.
    fn insert_listed(&mut self, tokens: &[u32], without: &[u32]) {
        match &mut self.packed {
            _ if !without.is_empty() => {
                self.tokens.extend(tokens.iter().filter(|token| without.binary_search(token).is_err()));
            }
            Packed::Own(words) => set_all(words, tokens),
            _ => self.tokens.extend_from_slice(tokens),
        }
        self.flush_many();
    }

    /// Whether `words` can be the base, or are it.
    fn has_no_base_but(&self, words: &Arc<[u32]>) -> bool {
        match &self.packed {
            Packed::Nothing => true,
            Packed::Shared { base, .. } => Arc::ptr_eq(base, words),
            Packed::Own(_) => false,
        }
    }

    /// Adds `words` (`list` as a list, if it is short) but for `removed` (ascending, all in `words`).
    fn union_packed(&mut self, words: &Arc<[u32]>, removed: Vec<u32>, list: Option<&Arc<[u32]>>) {
        match &mut self.packed {
            // (B − r) ∪ (B − s) = B − (r ∩ s)
            Packed::Shared { base, removed: known, .. } if Arc::ptr_eq(base, words) => {
                known.retain(|token| removed.binary_search(token).is_ok());
                return;
            }
            // The larger set is the better base.
            Packed::Shared { removed: without, list: Some(tokens), .. } if list.is_none() => {
                let (tokens, without) = (tokens.clone(), std::mem::take(without));
                self.packed = Packed::Nothing;
                self.insert_listed(&tokens, &without);
            }
            _ => {}
        }
        match &mut self.packed {
            Packed::Nothing => {
                self.packed = Packed::Shared { base: words.clone(), removed, list: list.cloned() };
            }
            _ => {
                let own = self.own();
                let stays: Vec<bool> = removed.iter().map(|&token| is_set(own, token)).collect();
                own.iter_mut().zip(&**words).for_each(|(word, other)| *word |= other);
                for (&token, _) in removed.iter().zip(stays).filter(|(_, stays)| !stays) {
                    own[token as usize / 32] &= !(1 << (token % 32));
                }
            }
        }
    }

    /// The packed part, as one that nobody shares.
    fn own(&mut self) -> &mut Box<[u32]> {
        let own = match std::mem::replace(&mut self.packed, Packed::Nothing) {
            Packed::Nothing => vec![0; self.n_words].into(),
            Packed::Shared { base, removed, .. } => {
                let mut own: Box<[u32]> = (&*base).into();
                clear_all(&mut own, &removed);
                own
            }
            Packed::Own(own) => own,
        };
        self.packed = Packed::Own(own);
        match &mut self.packed {
            Packed::Own(own) => own,
            _ => unreachable!("it was just stored"),
        }
    }

    /// Moves the list into the packed words if it is as large as they are.
    fn flush_many(&mut self) {
        if self.tokens.len() > self.n_words {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let tokens = std::mem::take(&mut self.tokens);
        set_all(self.own(), &tokens);
        self.tokens = tokens;
        self.tokens.clear();
    }

    /// Sorts the list, and leaves each token in it once.
    fn sort(&mut self) {
        if self.tokens.len() <= MAX_SORTED {
            // It is a few ascending lists, one after the other, which this sort makes use of.
            self.tokens.sort();
            self.tokens.dedup();
            return;
        }
        let mut words = vec![0; self.n_words];
        set_all(&mut words, &self.tokens);
        self.tokens.clear();
        for (index, &word) in words.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                self.tokens.push(index as u32 * 32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }

    pub(crate) fn finish(mut self) -> MaskForm {
        if !matches!(self.packed, Packed::Own(_)) {
            self.sort();
        }
        let most = self.n_words / SPARSE_PER_WORD;
        match &self.packed {
            Packed::Nothing if self.tokens.len() <= most => return MaskForm::Sparse(self.tokens.into()),
            Packed::Shared { base, removed, .. } if self.tokens.len() + removed.len() <= most => {
                let removed = removed.iter().copied();
                let removed = removed.filter(|token| self.tokens.binary_search(token).is_err()).collect();
                let added = self.tokens.iter().copied().filter(|&token| !is_set(base, token)).collect();
                return MaskForm::Delta { base: base.clone(), removed, added };
            }
            _ => {}
        }
        self.flush();
        MaskForm::Dense((&**self.own()).into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const N_WORDS: usize = 6;
    const N_VOCAB: usize = 180;

    fn set_of(words: &[u32]) -> BTreeSet<u32> {
        (0..words.len() as u32 * 32).filter(|&token| is_set(words, token)).collect()
    }

    fn written(form: &MaskForm) -> BTreeSet<u32> {
        let mut words = vec![u32::MAX; N_WORDS + 1];
        form.write(&mut words);
        set_of(&words)
    }

    fn any_tokens(size: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u32>> {
        proptest::collection::btree_set(0..N_VOCAB as u32, size).prop_map(|set| set.into_iter().collect())
    }

    fn packed(tokens: &[u32]) -> Arc<[u32]> {
        let mut words = vec![0; N_WORDS];
        set_all(&mut words, tokens);
        words.into()
    }

    fn dense(tokens: &[u32]) -> MaskForm {
        MaskForm::Dense(packed(tokens))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        /// Whatever is united in whatever order, and in whatever form it is kept, it is the union of the
        /// sets.
        #[test]
        fn builders_unite_sets(
            bases in proptest::collection::vec(any_tokens(0..180), 1..3),
            lists in proptest::collection::vec(any_tokens(0..9), 0..3),
            parts in proptest::collection::vec((0usize..9, any_tokens(0..5), any_tokens(0..5)), 0..6),
        ) {
            let listed = |tokens: &[u32]| MaskForm::Listed(tokens.into(), packed(tokens));
            let mut bases: Vec<MaskForm> = bases.iter().map(|tokens| dense(tokens)).collect();
            bases.extend(lists.iter().map(|tokens| listed(tokens)));
            let mut builder = MaskBuilder::new(N_WORDS);
            let mut expected = BTreeSet::new();
            for (kind, tokens, without) in parts {
                let base = &bases[kind % bases.len()];
                let form = match kind {
                    0 => MaskForm::Sparse(tokens.clone().into()),
                    1 | 2 => base.clone(),
                    // A difference, made as the engine makes them.
                    _ => {
                        let mut inner = MaskBuilder::new(N_WORDS);
                        inner.union_without(base, &tokens);
                        inner.insert_all(&[TokenId(kind as u32 * 7)]);
                        inner.finish()
                    }
                };
                builder.union_without(&form, &without);
                expected.extend(written(&form).into_iter().filter(|token| !without.contains(token)));
                builder.insert_all(&[TokenId(kind as u32)]);
                expected.insert(kind as u32);
            }
            let form = builder.finish();
            prop_assert_eq!(written(&form), expected.clone());
            prop_assert_eq!(form.len(), expected.len());
            prop_assert_eq!(form.tokens(), expected.iter().copied().map(TokenId).collect::<Vec<_>>());
            prop_assert_eq!(form.is_full(N_VOCAB), expected.len() == N_VOCAB);
            for token in 0..N_VOCAB as u32 {
                prop_assert_eq!(form.contains(TokenId(token)), expected.contains(&token));
            }
        }
    }

    /// Longer lists than are sorted come out sorted too.
    #[test]
    fn long_lists() {
        let mut builder = MaskBuilder::new(4 * MAX_SORTED);
        let tokens: Vec<u32> = (0..2 * MAX_SORTED as u32).map(|token| token * 7).collect();
        for _ in 0..2 {
            tokens.iter().rev().for_each(|&token| builder.insert_all(&[TokenId(token)]));
        }
        assert_eq!(builder.finish(), MaskForm::Sparse(tokens.into()));
    }

    #[test]
    fn a_full_difference_is_full() {
        let mut builder = MaskBuilder::new(N_WORDS);
        builder.union(&dense(&(0..N_VOCAB as u32 - 1).collect::<Vec<_>>()));
        builder.insert_all(&[TokenId(N_VOCAB as u32 - 1)]);
        let form = builder.finish();
        assert!(matches!(form, MaskForm::Delta { .. }) && form.is_full(N_VOCAB));
    }
}
