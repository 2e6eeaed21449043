//! The tokens of a configuration's mask, grouped by the configuration after them.
//!
//! Texts that lead to the same configuration have the same completions, so a mask of some thousand tokens
//! takes some hundred questions. An example: after `x = ` in Python, all tokens that are a whole name lead to
//! one configuration and are one group.
//!
//! The groups are made by one walk over the token trie, and kept by configuration in [`Groups`].

use std::sync::Arc;

use maskwright_automata::meter;
use maskwright_vocabulary::Trie;
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm};
use crate::lexed::{Settled, States};
use crate::parser::{ConfigId, Parser};

/// The tokens of one configuration's mask, in groups.
pub(super) struct Grouped {
    pub(super) list: Arc<[(ConfigId, MaskForm)]>,
    /// Whether the list has every token that some text continues with: no search for one was given up.
    pub(super) is_exact: bool,
    /// With more tokens left than this all are allowed, if that is known.
    pub(super) highest: Option<u32>,
}

impl Grouped {
    fn new(states: &mut States, parser: &mut Parser, config: ConfigId) -> Result<Grouped, EngineError> {
        let vocabulary = parser.shared.vocabulary.clone();
        let n_words = vocabulary.n_words();
        let mut groups: FxHashMap<ConfigId, MaskBuilder> = FxHashMap::default();
        let trie = vocabulary.trie();
        let mut is_exact = true;
        let mut stack = vec![(Trie::ROOT, config)];
        while let Some((node, config)) = stack.pop() {
            meter::spend(trie.n_children(node) as u64)?;
            for (byte, child) in trie.children(node) {
                let Some(next) = states.step_loosely(parser, config, byte)? else { continue };
                if !trie.tokens(child).is_empty() {
                    match states.settle(parser, next)? {
                        Settled::Viable(next) => {
                            let group = groups.entry(next).or_insert_with(|| MaskBuilder::new(n_words));
                            group.insert_all(trie.tokens(child));
                        }
                        Settled::Dead => continue,
                        Settled::Undecided => is_exact = false,
                    }
                }
                if trie.n_children(child) > 0 {
                    stack.push((child, next));
                }
            }
        }
        let mut list: Vec<(ConfigId, MaskForm)> =
            groups.into_iter().map(|(config, tokens)| (config, tokens.finish())).collect();
        // Numbers of configurations depend on what was asked before.
        list.sort_unstable_by_key(|(_, tokens)| tokens.first());
        Ok(Grouped { list: list.into(), is_exact, highest: None })
    }

    fn memory_usage(&self) -> usize {
        self.list.iter().map(|(_, tokens)| tokens.memory_usage() + 32).sum::<usize>() + 128
    }
}

/// The groups made so far.
#[derive(Default)]
pub(super) struct Groups {
    known: FxHashMap<ConfigId, Grouped>,
    n_bytes: usize,
}

impl Groups {
    /// The tokens of a configuration's mask, grouped by the configuration after them.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn of(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<&mut Grouped, EngineError> {
        if !self.known.contains_key(&config) {
            let grouped = Grouped::new(states, parser, config)?;
            self.n_bytes += grouped.memory_usage();
            self.known.insert(config, grouped);
        }
        Ok(self.known.get_mut(&config).expect("it was just made if it was not there"))
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.n_bytes
    }
}
