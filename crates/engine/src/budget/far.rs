//! Limits that are far: every token fits, and nothing need be known of single ones.
//!
//! **Bound.** After any token from a configuration, let each terminal be finished by a short word, byte by
//! byte, and each rule by the fewest such bytes. That takes at most r + u + p + s bytes, and a token for the
//! end, where r is the most that is left of any terminal ([`rests`](maskwright_automata::Regex::rests)), u of
//! any rule, s of the rules on the configuration's stack, and p of the callers of the rules that the token
//! begins: with a byte a terminal may begin, and with that nested rules, whose callers have bytes left; p is
//! the largest sum of these over the bytes of a token. If every byte is a token, that many tokens complete
//! the text. So where more are left, the mask is the one without a limit.
//!
//! An example: a text within `{"a": [1, 2` needs at most `]` and `}`, and a token may open some more
//! brackets. With 500 tokens left nobody need count.
//!
//! Proof. A token's bytes go on in a terminal that was begun or begin others. What is on the stack after them
//! is part of what was there, or was put there at one of those places; the rule on top is in some state, and
//! some terminal is in the middle of something. ∎
//!
//! **Watches.** What a watch [tells apart](maskwright_grammar::Watch::apart) it refuses no more often than it
//! has kept something, so where a terminal begins what it watches, words are counted that are long enough to
//! leave one ([`rests_but`](maskwright_automata::Regex::rests_but)). Then every text that can be completed at
//! all has a completion within the bound, and again the mask is the one without a limit.
//!
//! The bound is some hundred tokens for JSON, where the least number is some ten; it takes a number for each
//! stack node.

use std::collections::VecDeque;

use maskwright_automata::{Automaton, ByteSet, Rests, StateId, meter};
use maskwright_grammar::{ExprId, Mark, Symbol, TerminalId, Watching};
use maskwright_vocabulary::TokenId;
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::ground::NEVER;
use crate::parser::{ConfigId, Frame, NodeId, Parser};

/// Grammars of more states have no bound.
const MAX_STATES: usize = 1_024;
/// Nor do those of more moves.
const MAX_MOVES: usize = 20_000;
/// What a watch may have kept, in bits, for there to be a bound.
pub(crate) const KEPT_BITS: u32 = 16;
/// The largest terminal whose residues are looked at one by one, and how many of all terminals are.
const MAX_SIZE: u64 = 2_000;
const MAX_RESIDUES: usize = 512;
/// How often all states are gone over.
const MAX_ROUNDS: usize = 64;

/// What bounds are made of.
#[derive(Default)]
pub(crate) enum Far {
    #[default]
    Unknown,
    /// There is no bound.
    Unbounded,
    Known(Box<Parts>),
}

/// See the module.
pub(crate) struct Parts {
    /// r + u + p, and a token for the end.
    top: u32,
    /// The fewest bytes that are left of a rule, by state.
    rests: FxHashMap<ExprId, u32>,
    /// The same of all rules on a stack.
    below: FxHashMap<NodeId, u32>,
}

impl Far {
    /// Whether what bounds are made of has been looked for.
    pub(crate) fn is_known(&self) -> bool {
        !matches!(self, Far::Unknown)
    }

    /// Whether every token that the grammar allows, and the watch if there is one, can be completed within
    /// `n_left` tokens, the token itself and EOS included; if not, that is not known.
    pub(crate) fn is_far(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        watching: Option<&dyn Watching>,
        n_left: u32,
    ) -> bool {
        // A watch counts what is kept, and what a completion may add.
        if watching.is_some_and(|watching| watching.n_kept() >= 1 << (KEPT_BITS - 1)) {
            return false;
        }
        let mut parts = match std::mem::take(self) {
            Far::Known(parts) => parts,
            Far::Unbounded => {
                *self = Far::Unbounded;
                return false;
            }
            Far::Unknown => match parts(parser) {
                Some(parts) => Box::new(parts),
                // It may be found out by a call that has more work to spend.
                None if meter::left() == 0 => return false,
                None => {
                    *self = Far::Unbounded;
                    return false;
                }
            },
        };
        let mut below = (n_left > parts.top).then_some(0);
        for thread in parser.configs.threads(config) {
            below = below.and_then(|below| Some(below.max(parts.below(parser, thread.node)?)));
        }
        // The token itself is one of those that are left.
        let is_far = below.is_some_and(|below| {
            n_left > parts.top.saturating_add(below) && (watching.is_none() || below < 1 << (KEPT_BITS - 2))
        });
        *self = Far::Known(parts);
        is_far
    }

    /// Drops what is kept by stack.
    pub(crate) fn clear(&mut self) {
        if let Far::Known(parts) = self {
            parts.below = FxHashMap::default();
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        match self {
            Far::Known(parts) => (parts.rests.len() + parts.below.len()) * 16,
            _ => 0,
        }
    }
}

impl Parts {
    /// The fewest bytes that are left of the rules on a stack, the most of all its stacks.
    fn below(&mut self, parser: &Parser, node: NodeId) -> Option<u32> {
        let mut work = vec![node];
        while let Some(&top) = work.last() {
            if self.below.contains_key(&top) {
                work.pop();
                continue;
            }
            let n_open = work.len();
            let mut most = 0;
            for &frame in parser.stacks.frames(top) {
                if frame == Frame::BOTTOM {
                    continue;
                }
                let rest = *self.rests.get(&frame.ret)?;
                match self.below.get(&frame.parent) {
                    Some(&below) => most = most.max(rest.saturating_add(below)),
                    None => work.push(frame.parent),
                }
            }
            if work.len() == n_open {
                self.below.insert(top, most);
                work.pop();
            }
        }
        self.below.get(&node).copied()
    }
}

/// What bounds are made of, if the grammar has one and is not too large to know.
fn parts(parser: &mut Parser) -> Option<Parts> {
    let vocabulary = parser.shared.vocabulary.clone();
    let is_token = vocabulary.single_bytes();
    let (states, steps) = steps(parser)?;
    let (moves, longest_rest) = ways(parser, steps, &is_token)?;
    let nullable: Vec<bool> = states.iter().map(|&state| parser.network.is_nullable(state)).collect();
    let n_states = states.len();
    let rests = settled(
        n_states,
        |rests: &[u32], state| {
            let ways = moves[state].iter().map(|(way, next)| match way {
                Way::Terminal { length, .. } => length.saturating_add(rests[*next]),
                Way::Rule { body } => rests[*body].saturating_add(rests[*next]),
            });
            if nullable[state] { 0 } else { ways.min().unwrap_or(u32::MAX).min(rests[state]) }
        },
        u32::MAX,
    )?;
    let first = settled(
        n_states,
        |first: &[ByteSet], state| {
            moves[state].iter().fold(first[state], |all, (way, _)| match way {
                Way::Terminal { first, .. } => all.union(first),
                Way::Rule { body } => all.union(&first[*body]),
            })
        },
        ByteSet::EMPTY,
    )?;
    // By byte, what the callers have left to do that are begun with it.
    let none: Begun = [0; 256];
    let begun = settled(
        n_states,
        |begun: &[Begun], state| {
            let mut all = none;
            for (way, next) in &moves[state] {
                let Way::Rule { body } = way else { continue };
                // Calls at the last position leave nothing.
                for byte in first[*body].iter().map(usize::from) {
                    all[byte] = all[byte].max(begun[*body][byte].saturating_add(rests[*next]));
                }
            }
            all
        },
        none,
    )?;
    let mut most_begun = none;
    for begun in &begun {
        most_begun.iter_mut().zip(begun).for_each(|(most, its)| *most = (*most).max(*its));
    }
    let of_token = |bytes: &[u8]| {
        bytes.iter().fold(0, |all: u32, &byte| all.saturating_add(most_begun[usize::from(byte)]))
    };
    let tokens = (0..vocabulary.n_vocab()).map(|id| TokenId(id as u32));
    let token = tokens.filter_map(|token| vocabulary.text(token)).map(of_token).max().unwrap_or(0);
    let longest_rule = rests.iter().copied().max().unwrap_or(0);
    let end = u32::from(!vocabulary.eos_token_ids().is_empty());
    let top = token.saturating_add(longest_rule).saturating_add(longest_rest).saturating_add(end);
    let rests = states.into_iter().zip(rests).collect();
    // No more is added to what a watch has kept than a completion has bytes.
    (top < 1 << (KEPT_BITS - 2)).then(|| Parts { top, rests, below: FxHashMap::default() })
}

/// The states that the network can come to, the start's first, and by state its moves.
fn steps(parser: &mut Parser) -> Option<(Vec<ExprId>, Moves<Read>)> {
    let body = parser.network.body(parser.network.start());
    let mut states: Vec<ExprId> = vec![body];
    let mut ids: FxHashMap<ExprId, usize> = FxHashMap::from_iter([(body, 0)]);
    let mut steps: Moves<Read> = Vec::new();
    let mut n_moves = 0;
    while let Some(&state) = states.get(steps.len()) {
        let range = parser.network.moves(state);
        n_moves += range.len();
        if states.len() > MAX_STATES || n_moves > MAX_MOVES {
            return None;
        }
        let mut its = Vec::new();
        for index in range {
            let step = parser.network.move_at(index);
            let mut id = |state: ExprId| {
                let next = states.len();
                let id = *ids.entry(state).or_insert(next);
                if id == next {
                    states.push(state);
                }
                id
            };
            let next = id(step.next);
            its.push(match step.symbol {
                Symbol::Rule(rule) => (Read::Rule { body: id(parser.network.body(rule)) }, next),
                Symbol::Terminal(terminal) => (Read::Terminal(terminal), next),
            });
        }
        steps.push(its);
    }
    Some((states, steps))
}

/// The moves with what is known of their terminals, and the longest rest of one.
fn ways(parser: &mut Parser, steps: Moves<Read>, is_token: &ByteSet) -> Option<(Moves<Way>, u32)> {
    let mut terminals: FxHashMap<TerminalId, Rests> = FxHashMap::default();
    let (mut longest_rest, mut n_residues) = (0, MAX_RESIDUES);
    let mut moves: Moves<Way> = Vec::new();
    for its in steps {
        let mut ways = Vec::with_capacity(its.len());
        for (read, next) in its {
            let way = match read {
                Read::Rule { body } => Way::Rule { body },
                Read::Terminal(terminal) => {
                    let rests = match terminals.get(&terminal) {
                        Some(&known) => known,
                        None => {
                            let rests = rests(parser, terminal, is_token, &mut n_residues)?;
                            longest_rest = longest_rest.max(bounded(rests.longest));
                            terminals.insert(terminal, rests);
                            rests
                        }
                    };
                    Way::Terminal { length: bounded(rests.shortest), first: rests.first }
                }
            };
            ways.push((way, next));
        }
        moves.push(ways);
    }
    Some((moves, longest_rest))
}

/// Bounds on what completes a terminal's words; `n_residues` may still be looked at one by one.
fn rests(
    parser: &mut Parser,
    terminal: TerminalId,
    is_token: &ByteSet,
    n_residues: &mut usize,
) -> Option<Rests> {
    let regex = &parser.network.terminals()[terminal.index()];
    if let Some(watched) = parser.network.watched() {
        let apart = watched.watch.apart()?;
        match watched.mark(terminal) {
            Some(Mark::Begins) => return regex.rests_but(KEPT_BITS, is_token, &apart),
            Some(Mark::Opens | Mark::Parts | Mark::Separates) => return None,
            None | Some(Mark::Names | Mark::Holds) => {}
        }
    }
    match regex.rests(is_token) {
        None if regex.size() <= MAX_SIZE => {
            let start = parser.terminal_start(terminal).ok()??;
            rests_of(parser.automaton(terminal), start, is_token, n_residues)
        }
        rests => rests,
    }
}

/// The most tokens that complete a terminal from one of its residues if each byte is one; [`NEVER`] if that
/// is not known.
///
/// # Errors
/// If the call is out of work.
pub(crate) fn longest_rest(parser: &mut Parser, terminal: TerminalId) -> Result<u32, EngineError> {
    let is_token = parser.shared.vocabulary.single_bytes();
    let regex = &parser.network.terminals()[terminal.index()];
    let mut rests = regex.rests(&is_token);
    if rests.is_none() && regex.size() <= MAX_SIZE {
        let start = parser.terminal_start(terminal).ok().flatten();
        let of = |start| rests_of(parser.automaton(terminal), start, &is_token, &mut { MAX_RESIDUES });
        rests = start.and_then(of);
        if rests.is_none() && meter::left() == 0 {
            // It may be found out by a call that has more work to spend.
            meter::spend(1)?;
        }
    }
    Ok(rests.map_or(NEVER, |rests| bounded(rests.longest)))
}

/// The bounds themselves, where an expression does not say: of an automaton with few states.
fn rests_of(
    automaton: &Automaton,
    start: StateId,
    is_token: &ByteSet,
    n_residues: &mut usize,
) -> Option<Rests> {
    let mut ids: FxHashMap<StateId, usize> = FxHashMap::from_iter([(start, 0)]);
    let mut states = vec![start];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut at = 0;
    while let Some(&state) = states.get(at) {
        *n_residues = n_residues.checked_sub(1)?;
        for byte in automaton.next_bytes(state).ok()?.iter() {
            let Some(next) = automaton.step(state, byte).ok()? else { continue };
            let n_states = states.len();
            let id = *ids.entry(next).or_insert(n_states);
            if id == n_states {
                states.push(next);
                before.push(Vec::new());
            }
            if is_token.contains(byte) && before[id].last() != Some(&at) {
                before[id].push(at);
            }
        }
        at += 1;
    }
    let mut rests = vec![u64::MAX; states.len()];
    let mut queue: VecDeque<usize> =
        (0..states.len()).filter(|&at| automaton.is_accepting(states[at])).collect();
    queue.iter().for_each(|&at| rests[at] = 0);
    while let Some(at) = queue.pop_front() {
        for &from in &before[at] {
            if rests[from] == u64::MAX {
                rests[from] = rests[at] + 1;
                queue.push_back(from);
            }
        }
    }
    let longest = *rests.iter().max()?;
    let first = automaton.next_bytes(start).ok()?;
    (longest < u64::MAX).then_some(Rests { shortest: rests[0], longest, first })
}

/// A bound as far as it matters.
fn bounded(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// By byte, a number of bytes.
type Begun = [u32; 256];

/// By state, its moves: what each reads, and the number of the state after it.
type Moves<T> = Vec<Vec<(T, usize)>>;

/// What a move reads.
enum Read {
    Terminal(TerminalId),
    /// The number of the state that the rule begins in.
    Rule {
        body: usize,
    },
}

/// The same with what matters of the terminal.
enum Way {
    /// Bytes of the shortest word, and those that words begin with.
    Terminal { length: u32, first: ByteSet },
    /// The number of the state that the rule begins in.
    Rule { body: usize },
}

/// The fixed point of `of`, from `start` in all places; none if it takes too long.
fn settled<T: Copy + PartialEq>(n: usize, of: impl Fn(&[T], usize) -> T, start: T) -> Option<Vec<T>> {
    let mut values = vec![start; n];
    for _ in 0..MAX_ROUNDS {
        let mut has_changed = false;
        // What is called is mostly numbered after its callers.
        for at in (0..n).rev() {
            let value = of(&values, at);
            has_changed |= value != values[at];
            values[at] = value;
        }
        if !has_changed {
            return Some(values);
        }
    }
    None
}
