//! Algorithm 1: for every state of an automaton, the least number of tokens that take it to an end, and which
//! tokens lead how near.
//!
//! One walk of the token trie for each state finds where the tokens lead; the numbers follow by breadth-first
//! search from the accepting states, backwards, which gives what the paper's search from each state gives.
//! Tokens are then kept as masks by the number that remains after them, so that a mask under a limit is a
//! union of few.

use std::collections::HashMap;

use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex, StateId};
use maskwright_vocabulary::{TokenId, Trie, Vocabulary, mask_insert, mask_words};

use crate::error::{Kind, TruncProofError};
use crate::ll1::NEVER;

/// The most states of one automaton.
const MAX_STATES: usize = 10_000;

/// An automaton with the numbers of all its states.
pub(crate) struct Costs {
    automaton: Automaton,
    states: HashMap<StateId, Ahead>,
}

/// What a state has ahead.
struct Ahead {
    /// C: the least number of tokens to an accepting state; 0 if it is one.
    least: u32,
    /// For each number, ascending, the tokens after which so many remain.
    by_rest: Vec<(u32, Vec<u32>)>,
}

impl Costs {
    /// States × trie nodes at worst; a token's branch is left as soon as the automaton dies.
    ///
    /// # Errors
    /// If there are too many states, or the automaton reaches a limit.
    pub(crate) fn new(regex: &Regex, vocabulary: &Vocabulary) -> Result<Costs, TruncProofError> {
        let automaton = Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited())?;
        let states = reachable(&automaton)?;
        let mut moves = Vec::with_capacity(states.len());
        for &state in &states {
            moves.push(tokens_from(&automaton, state, vocabulary)?);
        }
        let least = distances(&automaton, &states, &moves);
        let n_words = mask_words(vocabulary.n_vocab());
        let ahead = |moves: Vec<(TokenId, StateId)>, own: u32| {
            let mut by_rest: Vec<(u32, Vec<u32>)> = Vec::new();
            for (token, target) in moves {
                let rest = least[&target];
                if rest == NEVER {
                    continue;
                }
                let place = by_rest.binary_search_by_key(&rest, |(rest, _)| *rest).unwrap_or_else(|place| {
                    by_rest.insert(place, (rest, vec![0; n_words]));
                    place
                });
                mask_insert(&mut by_rest[place].1, token);
            }
            Ahead { least: own, by_rest }
        };
        let states = states.iter().zip(moves).map(|(&state, moves)| (state, ahead(moves, least[&state])));
        let states = states.collect();
        Ok(Costs { automaton, states })
    }

    /// Where a remainder leads; `None` if nowhere.
    pub(crate) fn run(&self, remainder: &[u8]) -> Result<Option<StateId>, TruncProofError> {
        let mut state = self.automaton.start();
        for &byte in remainder {
            match state {
                Some(at) => state = self.automaton.step(at, byte)?,
                None => return Ok(None),
            }
        }
        Ok(state)
    }

    pub(crate) fn step(&self, state: StateId, byte: u8) -> Result<Option<StateId>, TruncProofError> {
        Ok(self.automaton.step(state, byte)?)
    }

    pub(crate) fn start(&self) -> Option<StateId> {
        self.automaton.start()
    }

    pub(crate) fn is_accepting(&self, state: StateId) -> bool {
        self.automaton.is_accepting(state)
    }

    /// C of a state.
    pub(crate) fn least(&self, state: StateId) -> u32 {
        self.states.get(&state).map_or(NEVER, |ahead| ahead.least)
    }

    /// Sets the bits of all tokens after which at most `most` tokens remain.
    pub(crate) fn allow(&self, state: StateId, most: u32, mask: &mut [u32]) {
        let Some(ahead) = self.states.get(&state) else { return };
        for (_, tokens) in ahead.by_rest.iter().take_while(|(rest, _)| *rest <= most) {
            mask.iter_mut().zip(tokens).for_each(|(word, more)| *word |= more);
        }
    }
}

/// All states, the start first.
fn reachable(automaton: &Automaton) -> Result<Vec<StateId>, TruncProofError> {
    let mut states: Vec<StateId> = automaton.start().into_iter().collect();
    let mut seen: HashMap<StateId, ()> = states.iter().map(|&state| (state, ())).collect();
    let mut next = 0;
    while let Some(&state) = states.get(next) {
        next += 1;
        for byte in automaton.next_bytes(state)?.iter() {
            let Some(target) = automaton.step(state, byte)? else { continue };
            if seen.insert(target, ()).is_none() {
                states.push(target);
            }
        }
        if states.len() > MAX_STATES {
            return Err(Kind::TooManyStates { limit: MAX_STATES }.into());
        }
    }
    Ok(states)
}

/// Every token of at least one byte that the automaton survives, and the state after it.
fn tokens_from(
    automaton: &Automaton,
    state: StateId,
    vocabulary: &Vocabulary,
) -> Result<Vec<(TokenId, StateId)>, TruncProofError> {
    let trie = vocabulary.trie();
    let mut moves = Vec::new();
    let mut open = vec![(Trie::ROOT, state)];
    while let Some((node, state)) = open.pop() {
        for (byte, child) in trie.children(node) {
            if let Some(target) = automaton.step(state, byte)? {
                moves.extend(trie.tokens(child).iter().map(|&token| (token, target)));
                open.push((child, target));
            }
        }
    }
    Ok(moves)
}

/// C of every state.
fn distances(
    automaton: &Automaton,
    states: &[StateId],
    moves: &[Vec<(TokenId, StateId)>],
) -> HashMap<StateId, u32> {
    let mut sources: HashMap<StateId, Vec<StateId>> = HashMap::new();
    for (&state, moves) in states.iter().zip(moves) {
        let mut targets: Vec<StateId> = moves.iter().map(|&(_, target)| target).collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            sources.entry(target).or_default().push(state);
        }
    }
    let mut least: HashMap<StateId, u32> = states.iter().map(|&state| (state, NEVER)).collect();
    let mut layer: Vec<StateId> =
        states.iter().copied().filter(|&state| automaton.is_accepting(state)).collect();
    let mut n_tokens = 0;
    while !layer.is_empty() {
        layer.retain(|state| {
            least.get_mut(state).is_some_and(|least| {
                let is_new = *least == NEVER;
                if is_new {
                    *least = n_tokens;
                }
                is_new
            })
        });
        layer = layer.iter().flat_map(|state| sources.get(state).into_iter().flatten().copied()).collect();
        n_tokens += 1;
    }
    least
}

#[cfg(test)]
mod tests {
    use maskwright_vocabulary::mask_contains;

    use super::*;

    /// Algorithm 1 for one state: the least number of tokens, by trying all of them.
    fn naive(automaton: &Automaton, tokens: &[&str], state: StateId, most: u32) -> u32 {
        if automaton.is_accepting(state) {
            return 0;
        }
        let after =
            |token: &&str| token.bytes().try_fold(state, |at, byte| automaton.step(at, byte).unwrap());
        let targets = tokens.iter().filter_map(after).filter(|_| most > 0);
        let least = targets.map(|target| naive(automaton, tokens, target, most - 1)).min();
        least.unwrap_or(NEVER).saturating_add(1)
    }

    #[test]
    fn numbers_are_those_of_trying_everything() {
        let tokens = ["a", "b", "ab", "bb", "abb", "ca"];
        let bytes = tokens.iter().map(|token| Some(token.as_bytes().to_vec())).collect();
        let vocabulary = Vocabulary::from_tokens(bytes, &[], None).unwrap();
        let [a, b, c] = ["a", "b", "c"].map(Regex::literal);
        let regexes = [
            Regex::literal("abbab"),
            Regex::concat([a.repeat(2, Some(4)), b.star(), Regex::literal("bba")]),
            Regex::union([Regex::concat([a.clone(), c.clone()]), Regex::literal("abcab")]),
            Regex::concat([Regex::union([a, b]).repeat(3, Some(5)), c]),
        ];
        for regex in regexes {
            let costs = Costs::new(&regex, &vocabulary).unwrap();
            for (&state, ahead) in &costs.states {
                let most = 6;
                let expected = naive(&costs.automaton, &tokens, state, most);
                let expected = if expected > most { NEVER } else { expected };
                assert_eq!(ahead.least, expected, "{regex:?} {state:?}");
                for rest in 0..4 {
                    let mut mask = [0];
                    costs.allow(state, rest, &mut mask);
                    for (id, token) in (0..).zip(tokens) {
                        let target =
                            token.bytes().try_fold(state, |at, byte| costs.automaton.step(at, byte).unwrap());
                        let is_allowed = target.is_some_and(|target| costs.least(target) <= rest);
                        assert_eq!(mask_contains(&mask, TokenId(id)), is_allowed);
                    }
                }
            }
        }
    }
}
