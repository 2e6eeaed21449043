//! Minimal automata, by splitting classes of states until no class splits (Moore 1956).

use std::hash::Hash;

use maskwright_automata::Fuel;
use rustc_hash::FxHashMap;

use crate::LexError;

/// By state, its class: states of one class have the same output after all the same inputs. Classes are
/// numbered by their first states. `row` makes of a state and the classes so far the classes that its inputs
/// lead to: rows are equal iff these are. A row takes `cost` of `fuel`. At worst there are O(states) rounds,
/// each with one row for every state.
pub(crate) fn classes<T: Hash + Eq, K: Hash + Eq>(
    outputs: &[T],
    fuel: &Fuel,
    cost: impl Fn(usize) -> u64,
    row: impl Fn(usize, &[u32]) -> K,
) -> Result<Vec<u32>, LexError> {
    let mut ids: FxHashMap<&T, u32> = FxHashMap::default();
    let mut classes: Vec<u32> = Vec::with_capacity(outputs.len());
    for output in outputs {
        let new = ids.len() as u32;
        classes.push(*ids.entry(output).or_insert(new));
    }
    let mut n_classes = ids.len();
    loop {
        let mut ids: FxHashMap<(u32, K), u32> = FxHashMap::default();
        let mut finer = Vec::with_capacity(classes.len());
        for (state, &class) in classes.iter().enumerate() {
            fuel.spend(cost(state))?;
            let new = ids.len() as u32;
            finer.push(*ids.entry((class, row(state, &classes))).or_insert(new));
        }
        classes = finer;
        if ids.len() == n_classes {
            return Ok(classes);
        }
        n_classes = ids.len();
    }
}

/// The first state of each class.
pub(crate) fn representatives(classes: &[u32]) -> Vec<usize> {
    let mut first = Vec::new();
    for (state, &class) in classes.iter().enumerate() {
        if class as usize == first.len() {
            first.push(state);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_with_the_same_future_are_one() {
        // 1 and 2 differ in numbers only; 3 has another output; 4 leads to 3 where 1 leads to 2.
        let next = [[1, 2], [2, 0], [1, 0], [3, 3], [3, 0]];
        let row = |state: usize, classes: &[u32]| next[state].map(|to| classes[to]);
        let merged = classes(&[0, 0, 0, 1, 0], &Fuel::unlimited(), |_| 1, row).unwrap();
        assert_eq!(merged, [0, 0, 0, 1, 2]);
        assert_eq!(representatives(&merged), [0, 3, 4]);
    }
}
