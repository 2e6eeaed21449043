//! A grammar whose texts pass through few states, as a table over classes of tokens.
//!
//! Tokens that lead to the same state from every state are one class: all tokens of three letters, where only
//! the length of a text matters. There are some thousand classes of 128,000 tokens, so a step from a state
//! looks at that many numbers at most.

use std::ops::Range;

use maskwright_automata::meter;
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, Vocabulary};
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::parser::ConfigId;
use crate::reader::Reader;

/// The most states, and the work on all of them together: nodes of the trie that are visited, and entries of
/// the table.
const MAX_STATES: usize = 1_024;
const MAX_VISITS: usize = 200_000_000;
const MAX_ENTRIES: usize = 8_000_000;

/// No state.
const DEAD: u32 = u32::MAX;

/// The configurations that the bytes of texts lead to from one of them, found one after the other.
pub(crate) struct Closure {
    configs: Vec<ConfigId>,
    states: FxHashMap<ConfigId, u32>,
    explored: Vec<Explored>,
}

/// What follows a configuration.
struct Explored {
    /// By byte.
    next: Box<[u32; 256]>,
    /// Where the next token begins, if one ends here.
    begin: u32,
    is_accepting: bool,
}

impl Closure {
    pub(crate) fn new(start: ConfigId) -> Closure {
        Closure { configs: vec![start], states: FxHashMap::from_iter([(start, 0)]), explored: Vec::new() }
    }

    /// Explores one configuration more: whether there may be others. `None` if there are too many, or it was
    /// not decided what follows one of them.
    ///
    /// # Errors
    /// If a limit is reached; then nothing has changed.
    pub(crate) fn explore(&mut self, reader: &mut Reader) -> Result<Option<bool>, EngineError> {
        let Some(&config) = self.configs.get(self.explored.len()) else { return Ok(Some(false)) };
        let begin = reader.begin_token(config)?;
        let bytes = reader.next_bytes(config)?;
        let mut after = Vec::with_capacity(bytes.len());
        for byte in bytes.iter() {
            match reader.step(config, byte)? {
                Some(to) => after.push((byte, to)),
                // With a lexer, a search may have given up here.
                None => return Ok(None),
            }
        }
        let begin = self.state(begin);
        let mut next = Box::new([DEAD; 256]);
        for (byte, to) in after {
            next[usize::from(byte)] = self.state(to);
        }
        self.explored.push(Explored { next, begin, is_accepting: reader.is_accepting(config) });
        Ok((self.configs.len() <= MAX_STATES).then_some(true))
    }

    /// The configuration that is explored next.
    pub(crate) fn next(&self) -> Option<ConfigId> {
        self.configs.get(self.explored.len()).copied()
    }

    fn state(&mut self, config: ConfigId) -> u32 {
        *self.states.entry(config).or_insert_with(|| {
            self.configs.push(config);
            self.configs.len() as u32 - 1
        })
    }

    /// Calls `visit` with what can be read of `trie` from `state`: the tokens that end at a node and the
    /// state after them. Returns how many nodes were looked at.
    fn walk(&self, trie: &Trie, state: u32, mut visit: impl FnMut(&[TokenId], u32)) -> usize {
        let mut stack: Vec<(TrieNodeId, u32)> = vec![(Trie::ROOT, state)];
        let mut n_visits = 0;
        while let Some((node, state)) = stack.pop() {
            let next = &self.explored[state as usize].next;
            for (byte, child) in trie.children(node) {
                n_visits += 1;
                let to = next[usize::from(byte)];
                if to == DEAD {
                    continue;
                }
                let tokens = trie.tokens(child);
                if !tokens.is_empty() {
                    visit(tokens, self.explored[to as usize].begin);
                }
                if trie.n_children(child) > 0 {
                    stack.push((child, to));
                }
            }
        }
        n_visits
    }
}

/// What leads from a state to another one.
struct Edges {
    to: u32,
    /// A range of [`TokenAutomaton::classes`].
    classes: Range<u32>,
}

/// The states of texts between their tokens, and the classes of tokens that lead from one to the next.
pub(crate) struct TokenAutomaton {
    /// Those between tokens, by configuration. Others are numbered too, but have no edges.
    states: FxHashMap<ConfigId, u32>,
    pub(crate) is_accepting: Vec<bool>,
    /// The tokens that some state allows, ascending, each with its class.
    tokens: Vec<(TokenId, u32)>,
    /// By class.
    first_tokens: Vec<TokenId>,
    /// By state.
    edges: Vec<Box<[Edges]>>,
    classes: Vec<u32>,
}

impl TokenAutomaton {
    /// The automaton of all that was explored. `None` if it would take too much.
    ///
    /// # Errors
    /// If the call is to stop.
    pub(crate) fn new(
        closure: &Closure,
        vocabulary: &Vocabulary,
    ) -> Result<Option<TokenAutomaton>, EngineError> {
        let n_vocab = vocabulary.n_vocab();
        // Tokens with the same sum over all states lead to the same states, but for a chance of 2^-100 or so;
        // a session reads each answer.
        let mut sums = vec![0u128; n_vocab];
        let mut is_between = vec![false; closure.explored.len()];
        let mut between = vec![0];
        is_between[0] = true;
        let mut n_visits = 0;
        let mut at = 0;
        while let Some(&state) = between.get(at) {
            at += 1;
            let n_visited = closure.walk(vocabulary.trie(), state, |tokens, to| {
                let mixed = mix(state, to);
                for token in tokens.iter().filter(|token| token.index() < n_vocab) {
                    sums[token.index()] = sums[token.index()].wrapping_add(mixed);
                }
                if !std::mem::replace(&mut is_between[to as usize], true) {
                    between.push(to);
                }
            });
            meter::spend(n_visited as u64)?;
            n_visits += n_visited;
            if n_visits > MAX_VISITS {
                return Ok(None);
            }
        }
        let mut by_sum: FxHashMap<u128, u32> = FxHashMap::default();
        let mut first_tokens: Vec<TokenId> = Vec::new();
        let mut tokens = Vec::new();
        for (id, sum) in sums.into_iter().enumerate().filter(|&(_, sum)| sum != 0) {
            let token = TokenId(id as u32);
            let class = *by_sum.entry(sum).or_insert_with(|| {
                first_tokens.push(token);
                first_tokens.len() as u32 - 1
            });
            tokens.push((token, class));
        }
        let texts = first_tokens.iter().enumerate();
        let texts =
            texts.filter_map(|(class, &token)| Some((vocabulary.text(token)?, TokenId(class as u32))));
        let trie = Trie::new(texts);
        let mut edges: Vec<Box<[Edges]>> = closure.explored.iter().map(|_| Box::default()).collect();
        let mut classes = Vec::new();
        for state in between {
            let mut to_class = Vec::new();
            let add = |tokens: &[TokenId], to| to_class.extend(tokens.iter().map(|class| (to, class.0)));
            meter::spend(closure.walk(&trie, state, add) as u64)?;
            to_class.sort_unstable();
            if classes.len() + to_class.len() > MAX_ENTRIES {
                return Ok(None);
            }
            let mut groups = Vec::new();
            for group in to_class.chunk_by(|a, b| a.0 == b.0) {
                let begin = classes.len() as u32;
                classes.extend(group.iter().map(|&(_, class)| class));
                groups.push(Edges { to: group[0].0, classes: begin..classes.len() as u32 });
            }
            edges[state as usize] = groups.into();
        }
        // Where tokens never end there are no edges, so nothing is known of the texts from there.
        let states = closure.states.iter().filter(|&(_, &state)| is_between[state as usize]);
        let states = states.map(|(&config, &state)| (config, state)).collect();
        Ok(Some(TokenAutomaton {
            states,
            is_accepting: closure.explored.iter().map(|explored| explored.is_accepting).collect(),
            tokens,
            first_tokens,
            edges,
            classes,
        }))
    }

    /// The state of a configuration between two tokens.
    pub(crate) fn state(&self, config: ConfigId) -> Option<u32> {
        self.states.get(&config).copied()
    }

    pub(crate) fn n_states(&self) -> usize {
        self.edges.len()
    }

    pub(crate) fn n_classes(&self) -> usize {
        self.first_tokens.len()
    }

    /// The token of each class with the least id.
    pub(crate) fn first_tokens(&self) -> impl Iterator<Item = TokenId> {
        self.first_tokens.iter().copied()
    }

    /// The class of a token, if some state allows it.
    pub(crate) fn class(&self, token: TokenId) -> Option<usize> {
        let at = self.tokens.binary_search_by_key(&token, |&(token, _)| token).ok()?;
        Some(self.tokens[at].1 as usize)
    }

    /// The tokens that some state allows, ascending, each with its class.
    pub(crate) fn tokens(&self) -> &[(TokenId, u32)] {
        &self.tokens
    }

    /// Where a state leads, and the classes of tokens that lead there.
    pub(crate) fn edges(&self, state: u32) -> impl Iterator<Item = (u32, &[u32])> {
        let edges = self.edges[state as usize].iter();
        edges.map(|Edges { to, classes }| (*to, &self.classes[classes.start as usize..classes.end as usize]))
    }

    /// By state: the least number of tokens that complete a text there, the end-of-sequence token not
    /// counted; `u32::MAX` if none do.
    pub(crate) fn tokens_to_end(&self) -> Vec<u32> {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.n_states()];
        for state in 0..self.n_states() as u32 {
            self.edges(state).for_each(|(to, _)| before[to as usize].push(state));
        }
        let mut least = vec![u32::MAX; self.n_states()];
        let accepting = (0..self.n_states()).filter(|&state| self.is_accepting[state]);
        let mut layer: Vec<u32> = accepting.map(|state| state as u32).collect();
        layer.iter().for_each(|&state| least[state as usize] = 0);
        let mut n_tokens = 0;
        while !layer.is_empty() {
            n_tokens += 1;
            let mut next = Vec::new();
            for &from in layer.iter().flat_map(|&to| &before[to as usize]) {
                if least[from as usize] == u32::MAX {
                    least[from as usize] = n_tokens;
                    next.push(from);
                }
            }
            layer = next;
        }
        least
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let n_groups: usize = self.edges.iter().map(|edges| edges.len()).sum();
        8 * self.tokens.len()
            + 4 * (self.classes.len() + self.first_tokens.len())
            + 12 * n_groups
            + 64 * self.n_states()
    }
}

/// A number for a state and where a token leads from it, as if drawn at random.
fn mix(from: u32, to: u32) -> u128 {
    let half = |seed: u64| {
        // The finalizer of SplitMix64.
        let mut bits = (u64::from(from) << 32 | u64::from(to)).wrapping_add(seed);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    };
    u128::from(half(0x9e37_79b9_7f4a_7c15)) << 64 | u128::from(half(0x3c6e_f372_fe94_f82a))
}
