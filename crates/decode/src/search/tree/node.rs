//! The tree of a search: prefixes, what the model said after them, what trials found below them.

use maskwright_vocabulary::TokenId;

use super::super::{ExploredToken, row::Row};
use crate::generate::FinishReason;

/// A prefix in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(u32);

/// What is known of the texts after a prefix.
#[derive(Debug)]
pub(super) enum Content {
    /// Nothing yet; or forgotten, since it was decided otherwise.
    Unknown,
    /// The likeliest allowed tokens, likelier first; at least one.
    Position(Vec<Candidate>),
    /// The text has ended.
    End(FinishReason),
}

/// A token that may come next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    id: TokenId,
    log_probability: f64,
    prior: f64,
    child: Option<NodeId>,
}

#[derive(Debug)]
struct Node {
    parent: Option<NodeId>,
    token: TokenId,
    n_tokens: usize,
    log_likelihood: f64,
    content: Content,
    /// Whether trials go on to its children. If not, it is a leaf.
    is_expanded: bool,
    n_visits: u32,
    /// The largest value of a text through it; 0 at first.
    best: f64,
}

/// All nodes. Those that are known but not expanded are remembered completions.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// The empty text.
    pub(super) const ROOT: NodeId = NodeId(0);

    pub(super) fn new() -> Tree {
        let mut tree = Tree { nodes: Vec::new() };
        tree.add(None, TokenId(0), 0, 0.0);
        tree
    }

    fn add(
        &mut self,
        parent: Option<NodeId>,
        token: TokenId,
        n_tokens: usize,
        log_likelihood: f64,
    ) -> NodeId {
        let id = u32::try_from(self.nodes.len()).expect("memory ends before 2^32 nodes of 70 bytes");
        self.nodes.push(Node {
            parent,
            token,
            n_tokens,
            log_likelihood,
            content: Content::Unknown,
            is_expanded: false,
            n_visits: 0,
            best: 0.0,
        });
        NodeId(id)
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    pub(super) fn content(&self, id: NodeId) -> &Content {
        &self.node(id).content
    }

    pub(super) fn token(&self, id: NodeId) -> TokenId {
        self.node(id).token
    }

    pub(super) fn n_tokens(&self, id: NodeId) -> usize {
        self.node(id).n_tokens
    }

    pub(super) fn log_likelihood(&self, id: NodeId) -> f64 {
        self.node(id).log_likelihood
    }

    /// The tokens between two nodes, of which `from` is above `id` or `id` itself.
    pub(super) fn path(&self, from: NodeId, id: NodeId) -> Vec<TokenId> {
        let mut tokens = Vec::new();
        let mut at = id;
        while at != from {
            tokens.push(self.node(at).token);
            match self.node(at).parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        tokens.reverse();
        tokens
    }

    pub(super) fn end(&mut self, id: NodeId, reason: FinishReason) {
        self.node_mut(id).content = Content::End(reason);
    }

    /// Makes `id` known: its `n_children` likeliest tokens, and the prior over all that are allowed.
    pub(super) fn know(&mut self, id: NodeId, row: &Row<'_>, prior_temperature: f64, n_children: usize) {
        let likeliest = row.likeliest(n_children);
        let largest = likeliest.first().map_or(0.0, |first| first.1);
        let weight = |log_probability: f64| ((log_probability - largest) / prior_temperature).exp();
        let total: f64 = row.allowed().map(|(_, log_probability)| weight(log_probability)).sum();
        let candidate = |(id, log_probability)| Candidate {
            id,
            log_probability,
            prior: weight(log_probability) / total,
            child: None,
        };
        self.node_mut(id).content = Content::Position(likeliest.into_iter().map(candidate).collect());
    }

    /// The node after the candidate of this rank, made if need be; `None` if there is none.
    pub(super) fn child(&mut self, id: NodeId, rank: usize) -> Option<NodeId> {
        let node = self.node(id);
        let Content::Position(candidates) = &node.content else { return None };
        let candidate = *candidates.get(rank)?;
        if candidate.child.is_some() {
            return candidate.child;
        }
        let log_likelihood = node.log_likelihood + candidate.log_probability;
        let child = self.add(Some(id), candidate.id, node.n_tokens + 1, log_likelihood);
        if let Content::Position(candidates) = &mut self.node_mut(id).content {
            candidates[rank].child = Some(child);
        }
        Some(child)
    }

    /// Goes down from `root` by equation 6 to a leaf, and counts a visit to every node below `root` on the
    /// way. Of equal tokens the likelier is taken.
    pub(super) fn select(&mut self, root: NodeId, exploration: f64) -> NodeId {
        let mut at = root;
        while self.node(at).is_expanded
            && let Some(rank) = self.best_rank(at, exploration)
            && let Some(child) = self.child(at, rank)
        {
            self.node_mut(child).n_visits += 1;
            at = child;
        }
        at
    }

    fn best_rank(&self, id: NodeId, exploration: f64) -> Option<usize> {
        let Content::Position(candidates) = &self.node(id).content else { return None };
        let below = |candidate: &Candidate| candidate.child.map(|child| self.node(child));
        let n_visits: u32 = candidates.iter().filter_map(below).map(|child| child.n_visits).sum();
        let root = f64::from(n_visits).sqrt();
        let mut best: Option<(usize, f64)> = None;
        for (rank, candidate) in candidates.iter().enumerate() {
            let (value, n) = below(candidate).map_or((0.0, 0), |child| (child.best, child.n_visits));
            let score = value + exploration * candidate.prior * root / (1.0 + f64::from(n));
            if best.is_none_or(|(_, largest)| score > largest) {
                best = Some((rank, score));
            }
        }
        best.map(|(rank, _)| rank)
    }

    /// Takes back the visits of a selection that ended at `leaf`.
    pub(super) fn unselect(&mut self, root: NodeId, leaf: NodeId) {
        let mut at = leaf;
        while at != root {
            let node = self.node_mut(at);
            node.n_visits -= 1;
            match node.parent {
                Some(parent) => at = parent,
                None => return,
            }
        }
    }

    /// Trials go on below `id` from now on.
    pub(super) fn expand(&mut self, id: NodeId) {
        self.node_mut(id).is_expanded = true;
    }

    /// All tokens that trials went through, the forgotten ones too.
    pub(super) fn explored(&self) -> Vec<ExploredToken> {
        let token = |node: &Node| ExploredToken {
            // The root comes first, and is no token.
            parent: node.parent.and_then(|NodeId(parent)| (parent as usize).checked_sub(1)),
            id: node.token,
            log_likelihood: node.log_likelihood,
            ended: if let Content::End(reason) = node.content { Some(reason) } else { None },
        };
        self.nodes[1..].iter().map(token).collect()
    }

    /// Counts the value of a text for all its prefixes.
    pub(super) fn back_up(&mut self, end: NodeId, value: f64) {
        let mut at = Some(end);
        while let Some(id) = at {
            let node = self.node_mut(id);
            node.best = node.best.max(value);
            at = node.parent;
        }
    }

    /// The child of largest value, the likelier of equal ones; all that is known below the others is
    /// forgotten. `None` if `root` has no child yet.
    pub(super) fn decide(&mut self, root: NodeId) -> Option<NodeId> {
        let Content::Position(candidates) =
            std::mem::replace(&mut self.node_mut(root).content, Content::Unknown)
        else {
            return None;
        };
        let children: Vec<NodeId> = candidates.iter().filter_map(|candidate| candidate.child).collect();
        let mut chosen = *children.first()?;
        for &child in &children[1..] {
            if self.node(child).best > self.node(chosen).best {
                chosen = child;
            }
        }
        let mut forgotten: Vec<NodeId> = children.into_iter().filter(|&child| child != chosen).collect();
        while let Some(id) = forgotten.pop() {
            let node = self.node_mut(id);
            if let Content::Position(candidates) = &mut node.content {
                let candidates = std::mem::take(candidates);
                node.content = Content::Unknown;
                forgotten.extend(candidates.iter().filter_map(|candidate| candidate.child));
            }
        }
        Some(chosen)
    }
}
