//! Sets of tokens, and of nodes of the token trie.

mod node_sets;
mod token_set;

pub(crate) use node_sets::{NodeSetId, NodeSets};
pub(crate) use token_set::TokenSet;
