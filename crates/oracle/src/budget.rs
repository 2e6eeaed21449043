//! The reference for token budgets: the least number of tokens that complete a text.
//!
//! Bar-Hillel, Perles and Shamir (1961) with weights. The texts that matter are those that begin with the
//! given one and go on as tokens; an automaton with costs reads them: a chain for the given text, then the
//! trie of the vocabulary, where reaching the end of a token may lead back to the root at cost 1. The least
//! cost of every (state, nonterminal, state) is the least solution of the grammar's equations; items are
//! corrected until nothing changes. No bound, no order, no pruning.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use maskwright_vocabulary::{TokenId, Trie, Vocabulary};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Oracle;
use crate::cfg::{Cfg, Symbol};

/// A production with a dot, begun in one state of the automaton and read up to another.
type Item = (usize, usize, usize, usize, usize);

impl Oracle {
    /// The least number of tokens, an EOS included, that complete `text`; `None` if no word starts with it or
    /// no tokens spell the rest of any. Where the vocabulary has no EOS, the end costs nothing.
    pub fn tokens_to_finish(&self, vocabulary: &Vocabulary, text: &[u8]) -> Option<usize> {
        let costs = Costs { text, trie: vocabulary.trie() };
        let n_tokens = costs.solve(self.cfg())?;
        Some(n_tokens + usize::from(!vocabulary.eos_token_ids().is_empty()))
    }

    /// By token id, whether the text can be completed after the token if `n_left` tokens are left before it:
    /// an EOS id iff `text` is a word and one is left.
    pub fn mask_within(&self, vocabulary: &Vocabulary, text: &[u8], n_left: usize) -> Vec<bool> {
        let mut known: FxHashMap<Vec<u8>, bool> = FxHashMap::default();
        (0..vocabulary.n_vocab())
            .map(|id| {
                let token = TokenId(u32::try_from(id).expect("a vocabulary has fewer ids"));
                match vocabulary.token_bytes(token) {
                    _ if vocabulary.is_eos(token) => n_left > 0 && self.is_word(text),
                    Some(bytes) => *known.entry(bytes.to_vec()).or_insert_with(|| {
                        let longer = [text, bytes].concat();
                        self.is_prefix(&longer)
                            && self.tokens_to_finish(vocabulary, &longer).is_some_and(|least| least < n_left)
                    }),
                    None => false,
                }
            })
            .collect()
    }
}

/// The automaton with costs: states below the text's length are places in it, the others are trie nodes.
struct Costs<'a> {
    text: &'a [u8],
    trie: &'a Trie,
}

impl Costs<'_> {
    /// The ways on from a state: the byte read, the state behind it, the cost.
    fn edges(&self) -> Vec<Vec<(u8, usize, usize)>> {
        let n = self.text.len();
        let mut edges: Vec<Vec<(u8, usize, usize)>> =
            self.text.iter().enumerate().map(|(place, &byte)| vec![(byte, place + 1, 0)]).collect();
        edges.resize(n + self.trie.n_nodes(), Vec::new());
        let mut nodes = vec![Trie::ROOT];
        while let Some(node) = nodes.pop() {
            for (byte, child) in self.trie.children(node) {
                edges[n + node.index()].push((byte, n + child.index(), 0));
                if !self.trie.tokens(child).is_empty() {
                    edges[n + node.index()].push((byte, n, 1));
                }
                nodes.push(child);
            }
        }
        edges
    }

    /// The least cost from the first state to the trie's root through a word.
    fn solve(&self, cfg: &Cfg) -> Option<usize> {
        let edges = self.edges();
        let mut costs: FxHashMap<Item, usize> = FxHashMap::default();
        // By cost: what an item leads to costs as much or more, so the cheapest one is final.
        let mut agenda: BinaryHeap<Reverse<(usize, Item)>> = BinaryHeap::new();
        // By nonterminal and first state: the items that wait for it, and the costs to each last state.
        let mut waiting: FxHashMap<(usize, usize), FxHashSet<Item>> = FxHashMap::default();
        let mut solved: FxHashMap<(usize, usize), FxHashMap<usize, usize>> = FxHashMap::default();
        let relax = |costs: &mut FxHashMap<Item, usize>, agenda: &mut BinaryHeap<_>, item: Item, cost| {
            let known = costs.entry(item).or_insert(usize::MAX);
            if cost < *known {
                *known = cost;
                agenda.push(Reverse((cost, item)));
            }
        };
        for production in 0..cfg.productions[0].len() {
            relax(&mut costs, &mut agenda, (0, production, 0, 0, 0), 0);
        }
        while let Some(Reverse((cost, item))) = agenda.pop() {
            if costs[&item] < cost {
                continue;
            }
            let (nonterminal, production, dot, from, to) = item;
            match cfg.productions[nonterminal][production].get(dot) {
                Some(Symbol::Bytes(set)) => {
                    for &(byte, next, extra) in &edges[to] {
                        if set.contains(byte) {
                            let item = (nonterminal, production, dot + 1, from, next);
                            relax(&mut costs, &mut agenda, item, cost + extra);
                        }
                    }
                }
                Some(&Symbol::Nonterminal(callee)) => {
                    if waiting.entry((callee, to)).or_default().insert(item) {
                        for production in 0..cfg.productions[callee].len() {
                            relax(&mut costs, &mut agenda, (callee, production, 0, to, to), 0);
                        }
                    }
                    for (&end, &extra) in solved.entry((callee, to)).or_default().iter() {
                        let item = (nonterminal, production, dot + 1, from, end);
                        relax(&mut costs, &mut agenda, item, cost + extra);
                    }
                }
                None => {
                    let ends = solved.entry((nonterminal, from)).or_default();
                    let known = ends.entry(to).or_insert(usize::MAX);
                    if cost < *known {
                        *known = cost;
                        for &waiter in waiting.entry((nonterminal, from)).or_default().iter() {
                            let (waiting_nonterminal, production, dot, first, _) = waiter;
                            let item = (waiting_nonterminal, production, dot + 1, first, to);
                            let sum = costs[&waiter] + cost;
                            relax(&mut costs, &mut agenda, item, sum);
                        }
                    }
                }
            }
        }
        solved.get(&(0, 0))?.get(&self.text.len()).copied()
    }
}

#[cfg(test)]
mod tests {
    use maskwright_automata::Regex;
    use maskwright_grammar::Grammar;

    use super::*;

    #[test]
    fn counts_tokens_that_span_terminals() {
        let tokens = ["a", "b", "ab", "ba", "</s>"].map(|token| Some(token.as_bytes().to_vec())).to_vec();
        let vocabulary = Vocabulary::from_tokens(tokens, &[TokenId(4)], None).unwrap();
        let oracle = Oracle::new(&Grammar::from_regex(Regex::literal("aba")));
        assert_eq!(oracle.tokens_to_finish(&vocabulary, b""), Some(3));
        assert_eq!(oracle.tokens_to_finish(&vocabulary, b"ab"), Some(2));
        assert_eq!(oracle.tokens_to_finish(&vocabulary, b"aba"), Some(1));
        assert_eq!(oracle.tokens_to_finish(&vocabulary, b"b"), None);
        assert_eq!(oracle.mask_within(&vocabulary, b"a", 2), [false, false, false, true, false]);
        assert_eq!(oracle.mask_within(&vocabulary, b"a", 3), [false, true, false, true, false]);
    }

    /// A byte that no token has cannot be completed.
    #[test]
    fn no_tokens_no_completion() {
        let tokens = ["a", "</s>"].map(|token| Some(token.as_bytes().to_vec())).to_vec();
        let vocabulary = Vocabulary::from_tokens(tokens, &[TokenId(1)], None).unwrap();
        let oracle = Oracle::new(&Grammar::from_regex(Regex::literal("ab")));
        assert_eq!(oracle.tokens_to_finish(&vocabulary, b""), None);
        assert_eq!(oracle.tokens_to_finish(&vocabulary, b"ab"), Some(1));
    }
}
