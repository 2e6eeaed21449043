//! Minimal automata, by splitting classes of states until none is left to split (Moore 1956).

use std::hash::Hash;

use maskwright_automata::Fuel;
use rustc_hash::FxHashMap;

use crate::LexError;

/// By state, its class: states of one class have the same output after all the same inputs. Each state leads somewhere
/// with every input. Classes are numbered by their first states. O(states² · inputs) at worst.
pub(super) fn classes<T: Hash + Eq>(
    outputs: &[T],
    next: &[Vec<u32>],
    fuel: &Fuel,
) -> Result<Vec<u32>, LexError> {
    let mut ids: FxHashMap<&T, u32> = FxHashMap::default();
    let mut classes: Vec<u32> = Vec::with_capacity(outputs.len());
    for output in outputs {
        let new = ids.len() as u32;
        classes.push(*ids.entry(output).or_insert(new));
    }
    let mut n_classes = ids.len();
    loop {
        let mut ids: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut finer = Vec::with_capacity(classes.len());
        for (&class, next) in classes.iter().zip(next) {
            fuel.spend(1 + next.len() as u64 / 16)?;
            let key = std::iter::once(class).chain(next.iter().map(|&to| classes[to as usize])).collect();
            let new = ids.len() as u32;
            finer.push(*ids.entry(key).or_insert(new));
        }
        classes = finer;
        if ids.len() == n_classes {
            return Ok(classes);
        }
        n_classes = ids.len();
    }
}

/// The first state of each class.
pub(super) fn representatives(classes: &[u32]) -> Vec<usize> {
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
        let next = [vec![1, 2], vec![2, 0], vec![1, 0], vec![3, 3], vec![3, 0]];
        let merged = classes(&[0, 0, 0, 1, 0], &next, &Fuel::unlimited()).unwrap();
        assert_eq!(merged, [0, 0, 0, 1, 2]);
        assert_eq!(representatives(&merged), [0, 3, 4]);
    }
}
