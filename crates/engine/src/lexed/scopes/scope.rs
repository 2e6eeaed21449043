//! The rules restricted to some of the terminals.
//!
//! A [`Scope`] says what the parser can still read and finish if only some terminals can come. Whether a
//! thread has a completion is asked of the scope of the terminals that its hypothesis can still read.
//!
//! An example: in Java, after `/*` was read as two operators, the guard of that reading forbids `*/` for
//! good, and with it all that needs a later comment. Its scope has the other terminals. If the rules can
//! finish the text without `*/`, and the boundaries of tokens are good within the scope
//! ([`viability`](super::viability)), the thread has a completion; if the rules cannot, it has none.
//!
//! Answers about stack nodes are kept by node: a node can be finished if one of its frames can be
//! ([`can_finish`](Scope::can_finish)), and it always finishes if all can
//! ([`always_finishes`](Scope::always_finishes)).

use maskwright_grammar::{ExprId, Network};
use maskwright_scan::bits::{Bits, contains, insert, remove};
use maskwright_scan::{Hypotheses, HypothesisId, LexerTables};

use super::answers::Answers;
use super::restriction::{Restriction, uses};
use super::viability::{Adjacency, Viability};
use crate::EngineError;
use crate::parser::{ConfigId, Frame, NodeId, Parser};

/// The rules restricted to a set of terminals, and what is known of hypotheses under that.
pub(in super::super) struct Scope {
    pub(in super::super) viability: Viability,
    rules: Restriction,
    is_everything: bool,
    /// Whether it has all terminals that can come where it is asked; otherwise doubtful ones are left out.
    pub(in super::super) is_complete: bool,
    /// By parser configuration: the terminals that it can read and then finish within the scope.
    readable: Readable,
    /// By stack node: whether some stack of it can be finished within the scope.
    nodes: Answers,
    /// By stack node: whether all of its stacks can.
    finishing: Answers,
    /// The same by parser configuration.
    all_finishing: Answers,
}

impl Scope {
    /// The rules restricted to `terminals`, and those that indentation makes.
    pub(super) fn new(
        tables: &LexerTables,
        network: &mut Network,
        mut terminals: Bits,
        doubtful: &Bits,
        is_everything: bool,
    ) -> Scope {
        if let Some(layout) = &tables.layout {
            insert(&mut terminals, layout.indent.index());
            insert(&mut terminals, layout.dedent.index());
        }
        // The parser gets none of those, though rules may ask for them.
        let mut misses_some = false;
        for terminal in &tables.ignored {
            remove(&mut terminals, terminal.index());
            misses_some |= is_everything && uses(network, *terminal);
        }
        let rules = Restriction::new(network, terminals);
        let followers = rules.followers(network, tables.n_terminals);
        Scope {
            viability: Viability::new(Adjacency::new(tables, &followers, doubtful)),
            rules,
            is_everything: is_everything && !misses_some,
            is_complete: is_everything,
            readable: Readable::default(),
            nodes: Answers::default(),
            finishing: Answers::default(),
            all_finishing: Answers::default(),
        }
    }

    /// The terminals that the parser can read in `config` and then finish within the scope.
    pub(in super::super) fn readable(&mut self, parser: &mut Parser, config: ConfigId) -> &[u64] {
        if !self.readable.has(config) {
            let mut readable: Bits = vec![0; self.rules.terminals.len()].into();
            for index in 0..parser.configs.threads(config).len() {
                let thread = parser.configs.threads(config)[index];
                if contains(&readable, thread.terminal.index()) {
                    continue;
                }
                if self.is_everything
                    || (contains(&self.rules.terminals, thread.terminal.index())
                        && self.rules.is_productive(&mut parser.network, thread.next)
                        && self.can_finish(parser, thread.node))
                {
                    insert(&mut readable, thread.terminal.index());
                }
            }
            self.readable.insert(config, &readable);
        }
        self.readable.get(config, self.rules.terminals.len())
    }

    /// What a hypothesis reads next, and what the parser in `config` can read and then finish.
    pub(in super::super) fn reads_and_readable(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        hypotheses: &mut Hypotheses,
        hypothesis: HypothesisId,
        regime: usize,
    ) -> Result<(&[u64], &[u64]), EngineError> {
        self.readable(parser, config);
        let readable = self.readable.get(config, self.rules.terminals.len());
        Ok((self.viability.reads(hypotheses, hypothesis, regime)?, readable))
    }

    /// Whether the rest of a rule has a sentence within the scope.
    pub(in super::super) fn is_productive(&mut self, parser: &mut Parser, state: ExprId) -> bool {
        self.is_everything || self.rules.is_productive(&mut parser.network, state)
    }

    /// Whether some stack of `node` can be finished. Nodes have no cycles.
    pub(in super::super) fn can_finish(&mut self, parser: &mut Parser, node: NodeId) -> bool {
        if self.is_everything {
            return true;
        }
        let mut work = vec![node];
        while let Some(&top) = work.last() {
            if self.nodes.get(top.0).is_some() {
                work.pop();
                continue;
            }
            let mut answer = Some(false);
            for index in 0..parser.stacks.frames(top).len() {
                let frame = parser.stacks.frames(top)[index];
                // Nothing is cut off but what can always be finished (`always_finishes`).
                if frame == Frame::BOTTOM || frame == Frame::HOLE {
                    answer = Some(true);
                    break;
                }
                if !self.rules.is_productive(&mut parser.network, frame.ret) {
                    continue;
                }
                match self.nodes.get(frame.parent.0) {
                    Some(true) => {
                        answer = Some(true);
                        break;
                    }
                    Some(false) => {}
                    None => {
                        work.push(frame.parent);
                        answer = None;
                        break;
                    }
                }
            }
            if let Some(answer) = answer {
                self.nodes.set(top.0, answer);
                work.pop();
            }
        }
        self.nodes.get(node.0).unwrap_or(false)
    }

    /// Whether all stacks of `node` can be finished, wherever they are returned to.
    pub(in super::super) fn always_finishes(&mut self, parser: &mut Parser, node: NodeId) -> bool {
        if self.is_everything {
            return true;
        }
        let mut work = vec![node];
        while let Some(&top) = work.last() {
            if self.finishing.get(top.0).is_some() {
                work.pop();
                continue;
            }
            let mut answer = Some(true);
            for index in 0..parser.stacks.frames(top).len() {
                let frame = parser.stacks.frames(top)[index];
                if frame == Frame::BOTTOM || frame == Frame::HOLE {
                    continue;
                }
                let is_productive = self.rules.is_productive(&mut parser.network, frame.ret);
                match self.finishing.get(frame.parent.0) {
                    _ if !is_productive => answer = Some(false),
                    Some(false) => answer = Some(false),
                    Some(true) => continue,
                    None => {
                        work.push(frame.parent);
                        answer = None;
                    }
                }
                break;
            }
            if let Some(answer) = answer {
                self.finishing.set(top.0, answer);
                work.pop();
            }
        }
        self.finishing.get(node.0).unwrap_or(false)
    }

    /// Whether that is so for all threads of a configuration.
    pub(in super::super) fn all_always_finish(&mut self, parser: &mut Parser, config: ConfigId) -> bool {
        if self.is_everything {
            return true;
        }
        if let Some(known) = self.all_finishing.get(config.0) {
            return known;
        }
        let all = (0..parser.configs.threads(config).len()).all(|index| {
            let node = parser.configs.threads(config)[index].node;
            self.always_finishes(parser, node)
        });
        self.all_finishing.set(config.0, all);
        all
    }

    pub(super) fn clear_memo(&mut self) {
        self.readable = Readable::default();
        self.nodes.clear();
        self.finishing.clear();
        self.all_finishing.clear();
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.viability.memory_usage()
            + self.readable.memory_usage()
            + self.nodes.memory_usage()
            + self.finishing.memory_usage()
            + self.all_finishing.memory_usage()
            + self.rules.memory_usage()
    }
}

/// Sets of terminals by parser configuration.
#[derive(Default)]
struct Readable {
    /// By configuration, one more than the number of its set; 0 where that is not known.
    numbers: Vec<u32>,
    sets: Vec<u64>,
    n_sets: u32,
}

impl Readable {
    #[inline]
    fn has(&self, config: ConfigId) -> bool {
        self.numbers.get(config.0 as usize).is_some_and(|&number| number > 0)
    }

    /// The set of a configuration that has one, of `n_words` words.
    #[inline]
    fn get(&self, config: ConfigId, n_words: usize) -> &[u64] {
        let start = (self.numbers[config.0 as usize] as usize - 1) * n_words;
        &self.sets[start..start + n_words]
    }

    fn insert(&mut self, config: ConfigId, set: &[u64]) {
        let index = config.0 as usize;
        if self.numbers.len() <= index {
            self.numbers.resize(index + 1, 0);
        }
        self.n_sets += 1;
        self.numbers[index] = self.n_sets;
        self.sets.extend_from_slice(set);
    }

    fn memory_usage(&self) -> usize {
        self.numbers.capacity() * 4 + self.sets.capacity() * 8
    }
}
