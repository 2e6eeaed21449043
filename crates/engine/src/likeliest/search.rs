//! The best path through states, one layer for each position.

use std::hash::Hash;

use maskwright_automata::meter;
use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use crate::EngineError;

/// A token that leads to a state, with its score.
pub(crate) struct Edge<S> {
    pub(crate) token: TokenId,
    pub(crate) score: f64,
    pub(crate) to: S,
}

/// States, and what leads from one to the next.
pub(crate) trait Paths {
    type State: Clone;
    /// Equal where the same tokens can follow.
    type Key: Eq + Hash;

    fn key(&self, state: &Self::State) -> Self::Key;

    /// The tokens that may stand at `position` after `state`, so that the rest can be filled: to each state the best one at least, if its score is not
    /// below `floor`. At least the best `most` of them. Returns a bound on the scores of those that are left out; minus infinity if none are.
    ///
    /// # Errors
    /// If a limit is reached.
    fn edges(
        &mut self,
        state: &Self::State,
        position: usize,
        floor: f64,
        most: usize,
        edges: &mut Vec<Edge<Self::State>>,
    ) -> Result<f64, EngineError>;
}

/// What a search has found.
pub(crate) struct Found {
    /// The best path: its tokens and its score.
    pub(crate) best: Option<(Vec<TokenId>, f64)>,
    /// No path that was left out has a higher score.
    pub(crate) left_out: f64,
}

/// The end of a path of one layer.
struct Node {
    /// In the layer before.
    parent: u32,
    token: TokenId,
    score: f64,
}

/// A state that a path of the present layer ends at.
struct Reached<S> {
    state: S,
    node: Node,
}

/// The best path from `start` through all positions, of those with a score of at least `least`. `ahead` says the most that the positions from each one on
/// can give. Of each layer at most `width` states are kept. Of several best paths the first one in the order of their tokens is found,
/// where they lead to the same state.
///
/// # Errors
/// If a limit is reached.
pub(crate) fn search<P: Paths>(
    paths: &mut P,
    start: P::State,
    ahead: &[f64],
    width: usize,
    least: f64,
) -> Result<Found, EngineError> {
    let mut left_out = f64::NEG_INFINITY;
    // The first layer has no token; its node is never asked for.
    let mut layer = vec![Reached { state: start, node: Node { parent: 0, token: TokenId(0), score: 0.0 } }];
    let mut before: Vec<Vec<Node>> = Vec::with_capacity(ahead.len());
    let mut edges = Vec::new();
    for position in 0..ahead.len() - 1 {
        let rest = ahead[position + 1];
        let mut next: Vec<Reached<P::State>> = Vec::new();
        let mut places: FxHashMap<P::Key, usize> = FxHashMap::default();
        for (parent, reached) in layer.iter().enumerate() {
            let so_far = reached.node.score;
            let floor = least - so_far - rest;
            edges.clear();
            let beyond = paths.edges(&reached.state, position, floor, width, &mut edges)?;
            meter::spend(1 + edges.len() as u64)?;
            left_out = left_out.max(so_far + beyond + rest);
            for Edge { token, score, to } in edges.drain(..) {
                if score < floor {
                    left_out = left_out.max(so_far + score + rest);
                    continue;
                }
                let node = Node { parent: parent as u32, token, score: so_far + score };
                match places.entry(paths.key(&to)) {
                    std::collections::hash_map::Entry::Vacant(vacant) => {
                        vacant.insert(next.len());
                        next.push(Reached { state: to, node });
                    }
                    std::collections::hash_map::Entry::Occupied(occupied) => {
                        let known = &mut next[*occupied.get()].node;
                        // Parents are in the order of their tokens.
                        if node.score > known.score
                            || node.score == known.score
                                && (node.parent, node.token) < (known.parent, known.token)
                        {
                            *known = node;
                        }
                    }
                }
            }
        }
        if next.len() > width {
            let order = |a: &Reached<P::State>, b: &Reached<P::State>| {
                let (a, b) = (&a.node, &b.node);
                b.score.total_cmp(&a.score).then((a.parent, a.token).cmp(&(b.parent, b.token)))
            };
            next.sort_unstable_by(order);
            left_out = left_out.max(next[width].node.score + rest);
            next.truncate(width);
        }
        next.sort_unstable_by_key(|reached| (reached.node.parent, reached.node.token));
        let last = std::mem::replace(&mut layer, next);
        before.push(last.into_iter().map(|reached| reached.node).collect());
        if layer.is_empty() {
            break;
        }
    }
    let best = layer.into_iter().max_by(|a, b| {
        // Of equal ones the first.
        let order = a.node.score.total_cmp(&b.node.score);
        order.then((b.node.parent, b.node.token).cmp(&(a.node.parent, a.node.token)))
    });
    let best = best.map(|Reached { node, .. }| {
        let score = node.score;
        let mut tokens = vec![node.token];
        let mut parent = node.parent;
        for layer in before[1..].iter().rev() {
            let node = &layer[parent as usize];
            tokens.push(node.token);
            parent = node.parent;
        }
        tokens.reverse();
        (tokens, score)
    });
    Ok(Found { best, left_out })
}
