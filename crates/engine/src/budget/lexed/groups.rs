//! The groups of tokens ([`grouping`](crate::budget::grouping)) of the configurations of a lexed grammar, as
//! they are made.

use maskwright_automata::ByteSet;
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::budget::by_tokens::TokenGroups;
use crate::budget::grouping::{Groupings, Steps};
use crate::lexed::{Settled, States};
use crate::parser::{ConfigId, Parser};

/// The tokens of one configuration's mask, in groups.
pub(super) struct Grouped {
    pub(super) list: TokenGroups,
    /// Whether the list has every token that some text continues with: no search for one was given up.
    pub(super) is_exact: bool,
    /// With more tokens left than this all are allowed, if that is known.
    pub(super) highest: Option<u32>,
}

impl Grouped {
    fn memory_usage(&self) -> usize {
        self.list.iter().map(|(_, tokens)| tokens.memory_usage() + 32).sum::<usize>() + 128
    }
}

/// The steps of the lexer. Where a token ends, the lexer must be able to finish the text.
struct Stepping<'a> {
    states: &'a mut States,
    parser: &'a mut Parser,
}

impl Steps for Stepping<'_> {
    fn next_bytes(&mut self, _config: ConfigId) -> Result<ByteSet, EngineError> {
        Ok(ByteSet::FULL)
    }

    fn step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError> {
        self.states.step_loosely(self.parser, config, byte)
    }

    fn end(&mut self, config: ConfigId, is_exact: &mut bool) -> Result<Option<ConfigId>, EngineError> {
        Ok(match self.states.settle(self.parser, config)? {
            Settled::Viable(next) => Some(next),
            Settled::Dead => None,
            Settled::Undecided => {
                *is_exact = false;
                None
            }
        })
    }
}

/// The groups made so far.
#[derive(Default)]
pub(super) struct Groups {
    known: FxHashMap<ConfigId, Grouped>,
    unfinished: Groupings,
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
            let vocabulary = parser.shared.vocabulary.clone();
            let (trie, n_words) = (vocabulary.trie(), vocabulary.n_words());
            let stepping = &mut Stepping { states, parser };
            let (list, is_exact) = self.unfinished.of(trie, n_words, config, stepping)?;
            let grouped = Grouped { list, is_exact, highest: None };
            self.n_bytes += grouped.memory_usage();
            self.known.insert(config, grouped);
        }
        Ok(self.known.get_mut(&config).expect("it was just made if it was not there"))
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.n_bytes + self.unfinished.memory_usage()
    }
}
