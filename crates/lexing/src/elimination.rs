//! Automata as expressions: Kleene's theorem by the elimination of states (Brzozowski and McCluskey 1963).
//!
//! A state is taken out by joining each way into it with each way out of it; the cheapest one goes next,
//! measured by the expressions that this makes longer. Equal states are merged first (Moore), as each costs.

use maskwright_automata::{ByteSet, Fuel, Regex};
use rustc_hash::FxHashMap;

use crate::LexError;
use crate::merge::{classes, representatives};

/// The greatest size, in [`Regex::size`] units, of all expressions on the way together.
const MAX_SIZE: u64 = 200_000;

/// The states that sets of bytes lead to.
pub(crate) type Edges = Vec<(usize, ByteSet)>;

/// Adds that `byte` leads to `to`.
pub(crate) fn add_edge(edges: &mut Edges, to: usize, byte: u8) {
    match edges.iter_mut().find(|edge| edge.0 == to) {
        Some((_, set)) => set.insert(byte),
        None => edges.push((to, ByteSet::singleton(byte))),
    }
}

/// A deterministic automaton; the first state is where it starts.
#[derive(Default)]
pub(crate) struct Graph {
    is_final: Vec<bool>,
    /// By state, its edges.
    edges: Vec<Edges>,
}

impl Graph {
    /// Adds the next state; its edges may lead to states that are yet to be added.
    pub(crate) fn add(&mut self, is_final: bool, edges: Edges) {
        self.is_final.push(is_final);
        self.edges.push(edges);
    }

    /// The automaton's words.
    ///
    /// # Errors
    /// The expression is too large, or `fuel` is exceeded.
    pub(crate) fn into_regex(self, fuel: &Fuel) -> Result<Regex, LexError> {
        let merged = self.merged(fuel)?;
        let n_states = merged.edges.len();
        // The last two nodes are before the start and after the end.
        let (entry, exit) = (n_states, n_states + 1);
        let mut out: Vec<FxHashMap<usize, Regex>> = merged
            .edges
            .iter()
            .map(|edges| edges.iter().map(|&(to, set)| (to, Regex::bytes(set))).collect())
            .collect();
        for (state, _) in merged.is_final.iter().enumerate().filter(|&(_, &is_final)| is_final) {
            out[state].insert(exit, Regex::epsilon());
        }
        out.push(FxHashMap::from_iter([(0, Regex::epsilon())]));
        let mut left: Vec<usize> = (0..n_states).collect();
        while !left.is_empty() {
            let mut into: Vec<Vec<(usize, u64)>> = vec![Vec::new(); n_states + 2];
            for (from, edges) in out.iter().enumerate() {
                for (&to, regex) in edges.iter().filter(|&(&to, _)| to != from) {
                    into[to].push((from, regex.size()));
                }
            }
            fuel.spend(into.iter().map(Vec::len).sum::<usize>() as u64 + left.len() as u64)?;
            let cost = |&state: &usize| {
                let others = || out[state].iter().filter(|&(&to, _)| to != state);
                let (n_in, n_out) = (into[state].len() as u64, others().count() as u64);
                let around = out[state].get(&state).map_or(0, Regex::size);
                let ways_in: u64 = into[state].iter().map(|&(_, size)| size).sum();
                let ways_out: u64 = others().map(|(_, regex)| regex.size()).sum();
                (ways_in * n_out + ways_out * n_in + around * n_in * n_out, state)
            };
            let at = (0..left.len()).min_by_key(|&at| cost(&left[at])).expect("states are left");
            let state = left.swap_remove(at);
            let mut ways_out = std::mem::take(&mut out[state]);
            let around = ways_out.remove(&state).map_or_else(Regex::epsilon, |regex| regex.star());
            // In the order of the states, so that equal automata have equal expressions.
            let mut ways_out: Vec<(usize, Regex)> = ways_out.into_iter().collect();
            ways_out.sort_unstable_by_key(|&(to, _)| to);
            fuel.spend((into[state].len() * ways_out.len()) as u64)?;
            for &(from, _) in &into[state] {
                let way_in = out[from].remove(&state).expect("it was among the ways in");
                for (to, way_out) in &ways_out {
                    let way = Regex::concat([way_in.clone(), around.clone(), way_out.clone()]);
                    let known = out[from].entry(*to).or_insert_with(Regex::empty);
                    *known = Regex::union([std::mem::replace(known, Regex::empty()), way]);
                }
            }
            let size =
                out.iter().flat_map(|edges| edges.values()).map(Regex::size).fold(0, u64::saturating_add);
            if size > MAX_SIZE {
                return Err(LexError::limit(
                    "nodes of an expression for one terminal whose order of matching matters",
                    MAX_SIZE,
                ));
            }
        }
        Ok(out[entry].remove(&exit).unwrap_or_else(Regex::empty))
    }

    /// The same words with one state for all states that have the same words after them.
    fn merged(&self, fuel: &Fuel) -> Result<Graph, LexError> {
        let cost = |state: usize| 1 + self.edges[state].len() as u64;
        let classes = classes(&self.is_final, fuel, cost, |state, classes| self.edges_by(state, classes))?;
        let mut merged = Graph::default();
        for state in representatives(&classes) {
            merged.add(self.is_final[state], self.edges_by(state, &classes));
        }
        Ok(merged)
    }

    /// The edges of a state to classes, sorted.
    fn edges_by(&self, state: usize, classes: &[u32]) -> Edges {
        let mut edges: Edges =
            self.edges[state].iter().map(|&(to, set)| (classes[to] as usize, set)).collect();
        edges.sort_unstable();
        edges.dedup_by(|from, into| {
            let is_same = from.0 == into.0;
            if is_same {
                into.1 = into.1.union(&from.1);
            }
            is_same
        });
        edges
    }
}
