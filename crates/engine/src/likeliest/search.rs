//! The best path through states, one layer for each position.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::hash_map::Entry;
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

    /// Adds tokens that may stand at `position` after `state`: for each next state, at least the best one
    /// that leads to it. Returns a bound on the scores of those that are left out; minus infinity if none
    /// are.
    ///
    /// # Errors
    /// If a limit is reached.
    fn edges(
        &mut self,
        state: &Self::State,
        position: usize,
        wanted: Wanted,
        edges: &mut Vec<Edge<Self::State>>,
    ) -> Result<f64, EngineError>;

    /// Whether the positions from `position` on can be filled after `state`; `None` if that is not found out.
    ///
    /// # Errors
    /// If a limit is reached.
    fn can_be_filled(&mut self, state: &Self::State, position: usize) -> Result<Option<bool>, EngineError>;
}

/// One in so many of the states that may be kept are few.
const FEW: usize = 4;

/// Which edges are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// None with a lower score.
    pub(crate) floor: f64,
    /// So many of the best, more where that takes no work.
    pub(crate) most: usize,
    /// Only those after which the rest can be filled.
    pub(crate) is_checked: bool,
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

impl Node {
    /// Whether this path is the better one to a state. Parents are in the order of their tokens, so of equal
    /// paths the first one is.
    fn is_before(&self, other: &Node) -> bool {
        match self.score.total_cmp(&other.score) {
            Equal => (self.parent, self.token) < (other.parent, other.token),
            order => order == Greater,
        }
    }
}

/// A state that a path of the present layer ends at.
struct Reached<S> {
    state: S,
    node: Node,
}

/// The best path from `start` through all positions, of those with a score of at least `least`. `ahead` says
/// the most that the positions from each one on can give. Of each layer at most `width` states are kept. Of
/// several best paths the first one in the order of their tokens is found, where they lead to the same state.
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
    for position in 0..ahead.len() - 1 {
        let rest = ahead[position + 1];
        // Whether the rest can be filled is a search in some grammars. So it is asked of the best states
        // only, and of all where these are too few.
        let mut next = Layer::default();
        for is_checked in [false, true] {
            next = Layer::after(paths, &layer, position, (least - rest, width, is_checked))?;
            let n_open = if position + 2 < ahead.len() { width.div_ceil(2) } else { 0 };
            if next.keep_best(paths, position + 1, (width, n_open))? {
                break;
            }
        }
        left_out = left_out.max(next.left_out + rest);
        next.reached.sort_unstable_by_key(|reached| (reached.node.parent, reached.node.token));
        let last = std::mem::replace(&mut layer, next.reached);
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

/// The states after one position more.
struct Layer<S> {
    reached: Vec<Reached<S>>,
    /// A bound on the scores of paths that are left out.
    left_out: f64,
}

impl<S> Default for Layer<S> {
    fn default() -> Layer<S> {
        Layer { reached: Vec::new(), left_out: f64::NEG_INFINITY }
    }
}

impl<S> Layer<S> {
    /// The best path to each state after `layer`, if its score is not below `least`. See [`Wanted`] for the
    /// rest.
    fn after<P: Paths<State = S>>(
        paths: &mut P,
        layer: &[Reached<S>],
        position: usize,
        (least, most, is_checked): (f64, usize, bool),
    ) -> Result<Layer<S>, EngineError> {
        let mut next = Layer::default();
        let mut places: FxHashMap<P::Key, usize> = FxHashMap::default();
        let mut edges = Vec::new();
        for (parent, Reached { state, node: Node { score: so_far, .. } }) in layer.iter().enumerate() {
            let wanted = Wanted { floor: least - so_far, most, is_checked };
            let beyond = paths.edges(state, position, wanted, &mut edges)?;
            meter::spend(1 + edges.len() as u64)?;
            next.left_out = next.left_out.max(so_far + beyond);
            for Edge { token, score, to } in edges.drain(..) {
                let node = Node { parent: parent as u32, token, score: so_far + score };
                if score < wanted.floor {
                    next.left_out = next.left_out.max(node.score);
                    continue;
                }
                match places.entry(paths.key(&to)) {
                    Entry::Vacant(vacant) => {
                        vacant.insert(next.reached.len());
                        next.reached.push(Reached { state: to, node });
                    }
                    Entry::Occupied(occupied) => {
                        let known = &mut next.reached[*occupied.get()].node;
                        if node.is_before(known) {
                            *known = node;
                        }
                    }
                }
            }
        }
        Ok(next)
    }

    /// Keeps the best `width` states from which the rest can be filled, and up to `max_open` for which that
    /// is not known. False if few are kept because others cannot be completed.
    fn keep_best<P: Paths<State = S>>(
        &mut self,
        paths: &mut P,
        position: usize,
        (width, max_open): (usize, usize),
    ) -> Result<bool, EngineError> {
        self.reached.sort_unstable_by(|a, b| if a.node.is_before(&b.node) { Less } else { Greater });
        let (mut n_lost, mut n_open) = (0, 0);
        let mut kept = Vec::with_capacity(width.min(self.reached.len()));
        for reached in std::mem::take(&mut self.reached) {
            let score = reached.node.score;
            match kept.len() - n_open == width {
                true => self.left_out = self.left_out.max(score),
                false => match paths.can_be_filled(&reached.state, position)? {
                    Some(true) => kept.push(reached),
                    Some(false) => n_lost += 1,
                    None if n_open < max_open => {
                        n_open += 1;
                        kept.push(reached);
                    }
                    None => {
                        n_lost += 1;
                        self.left_out = self.left_out.max(score);
                    }
                },
            }
        }
        self.reached = kept;
        Ok(n_lost == 0 || self.reached.len() >= width.div_ceil(FEW))
    }
}
