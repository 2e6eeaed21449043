//! Which way to the end of a rule is taken where a text is to be completed, by state.
//!
//! An example: from the start of `"[" [value ("," value)*] "]"` the way is `[`, then `]`, of two words; from
//! behind the comma it is a value, then `]`.
//!
//! The way is one of those whose words take the fewest tokens, each word spelled by itself. Such a way need
//! not have the fewest tokens when it is spelled as a whole (`rests`), but is near to it (`research/limits`
//! compares). It is found by a shortest-path search in which a rule that is called is searched once for all
//! its callers ([`Search`]), so of a large grammar only ways are looked at that are no longer than the
//! answer.
//!
//! **One answer.** Ties go to the way whose text has the least [`Print`]. States and their numbers depend on
//! what was asked before, texts do not. So the choice is a function of the grammar. It can be made because
//! all ties are known when it is: every step costs something, so what is on a shortest way is taken from the
//! queue before its end is.
//!
//! **Lists in any order** are read as they are listed, as far as members must come: 2^n orders are not tried.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use maskwright_automata::{ByteSet, meter};
use maskwright_grammar::{ExprId, ExprPool, Mark, Symbol, TerminalId};
use maskwright_vocabulary::Vocabulary;
use rustc_hash::FxHashMap;

use super::Ways;
use super::chains::{MAX_BYTES, Print};
use super::far::KEPT_BITS;
use super::spelled::fewest_alone;
use super::words::{Word, Words};
use crate::EngineError;
use crate::ground::NEVER;
use crate::parser::Parser;

/// Units of work that an item of a search takes, and an edge.
const UNITS_PER_ITEM: u64 = 32;
const UNITS_PER_EDGE: u64 = 8;
/// Ways of more tokens are not looked for: texts have no more bytes.
const MAX_TOKENS: u64 = MAX_BYTES as u64;
/// What a byte counts in a word that no tokens spell by itself: as part of the text around it they may.
const TOKENS_PER_LOST_BYTE: u64 = 1 << 12;

/// Of lists in any order with more sets of items than this, one order is looked at even if only one member
/// must come.
const MAX_SETS: u32 = 256;

/// What a way costs: tokens in the upper half, steps in the lower.
type Cost = u64;

const STEP: Cost = 1;
const TOKEN: Cost = 1 << 32;

/// The first step of a way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The rule ends here.
    End,
    /// A terminal, and the state after it.
    Terminal(TerminalId, ExprId),
    /// The way from another state to its end, such as of a rule that is called, and the state after that.
    Part(ExprId, ExprId),
    /// On from another state.
    Branch(ExprId),
}

/// The way that is taken from a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) step: Step,
    cost: Cost,
    print: Print,
}

const END: Choice = Choice { step: Step::End, cost: 0, print: Print::EMPTY };

/// What completions write for a terminal.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Word(Word),
    /// Some word of at most so many bytes, each of which is a token: which one depends on what was there. See
    /// [`rests_but`](maskwright_automata::Regex::rests_but).
    Some(u32),
}

/// The choices of one grammar.
pub(super) struct Choices {
    ways: Ways,
    pub(super) words: Words,
    terminals: FxHashMap<TerminalId, Option<(Written, Cost, Print)>>,
    /// `None` where there is no way, or none of few tokens.
    known: FxHashMap<ExprId, Option<Choice>>,
    /// The search that a call has left unfinished, and the state that it is for.
    unfinished: Option<(ExprId, Box<Search>)>,
    single_bytes: Option<ByteSet>,
}

impl Choices {
    pub(super) fn new(ways: Ways, vocabulary: &Vocabulary) -> Choices {
        Choices {
            ways,
            words: Words::new(vocabulary),
            terminals: FxHashMap::default(),
            known: FxHashMap::default(),
            unfinished: None,
            single_bytes: None,
        }
    }

    /// What is chosen at a state; `None` if no way of few tokens leads to the end of its rule.
    ///
    /// # Errors
    /// If the call is out of work (the next one goes on from there), or must be made again.
    pub(super) fn of(&mut self, parser: &mut Parser, state: ExprId) -> Result<Option<Choice>, EngineError> {
        if state == ExprPool::EPSILON {
            return Ok(Some(END));
        }
        if let Some(&known) = self.known.get(&state) {
            return Ok(known);
        }
        let unfinished = self.unfinished.take().filter(|(of, _)| *of == state);
        let mut search = unfinished.map_or_else(|| Box::new(Search::new(state)), |(_, search)| search);
        if let Err(error) = search.run(self, parser) {
            self.unfinished = Some((state, search));
            return Err(error);
        }
        search.choose(self);
        Ok(*self.known.entry(state).or_insert(None))
    }

    /// What is written for a terminal that begins; `None` if that is not known.
    ///
    /// # Errors
    /// As [`of`](Choices::of).
    pub(super) fn written(
        &mut self,
        parser: &mut Parser,
        terminal: TerminalId,
    ) -> Result<Option<(Written, Cost, Print)>, EngineError> {
        if let Some(known) = self.terminals.get(&terminal) {
            return Ok(known.clone());
        }
        let written = self.find_written(parser, terminal)?;
        self.terminals.insert(terminal, written.clone());
        Ok(written)
    }

    fn find_written(
        &mut self,
        parser: &mut Parser,
        terminal: TerminalId,
    ) -> Result<Option<(Written, Cost, Print)>, EngineError> {
        let watched = parser.network.watched().filter(|_| self.ways == Ways::Safe);
        if let Some(watched) = watched
            && let Some(mark) = watched.mark(terminal).filter(|mark| mark.begins())
        {
            let (Mark::Begins, Some(apart)) = (mark, watched.watch.apart()) else { return Ok(None) };
            let bytes = *self.single_bytes.get_or_insert_with(|| parser.shared.vocabulary.single_bytes());
            let rests = parser.network.terminals()[terminal.index()].rests_but(KEPT_BITS, &bytes, &apart);
            let most = rests.and_then(|rests| u32::try_from(rests.shortest).ok());
            return Ok(most.map(|most| {
                let print = Print::of(&most.to_le_bytes());
                (Written::Some(most), u64::from(most).min(MAX_TOKENS) * TOKEN, print)
            }));
        }
        let Some(start) = parser.terminal_start(terminal)? else { return Ok(None) };
        let Some(word) = self.words.of(parser, terminal, start)? else { return Ok(None) };
        let trie = parser.shared.vocabulary.trie();
        let n_tokens = match fewest_alone(trie, word.bytes())? {
            NEVER => TOKENS_PER_LOST_BYTE.saturating_mul(word.bytes().len() as u64),
            n_tokens => u64::from(n_tokens),
        };
        let print = Print::of(word.bytes());
        Ok(Some((Written::Word(word), n_tokens.min(MAX_TOKENS + 1) * TOKEN, print)))
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        let unfinished = self.unfinished.as_ref().map_or(0, |(_, search)| search.items.len() * 128);
        self.words.memory_usage() + self.known.len() * 64 + self.terminals.len() * 80 + unfinished
    }
}

/// The search for one state's choice. Its items are pairs of a part, which is a state whose way to the end is
/// looked for, and a state on that way.
///
/// Items are taken by the cost since the beginning of their part. A part that is called at cost c begins at
/// 0, but serves its caller at c or more. So whatever is taken is final (Knuth 1977).
struct Search {
    parts: Vec<Part>,
    /// Where each begins.
    states: Vec<ExprId>,
    ids: FxHashMap<ExprId, u32>,
    items: FxHashMap<(u32, ExprId), Item>,
    queue: BinaryHeap<Reverse<Queued>>,
}

struct Part {
    /// What it costs to come to the end.
    end: Option<Cost>,
    /// The states that are the last on a way of that cost.
    lasts: Vec<ExprId>,
    /// Where it is called: the part, the state, the state after it.
    callers: Vec<(u32, ExprId, ExprId)>,
}

#[derive(Default)]
struct Item {
    cost: Cost,
    is_taken: bool,
    /// The states before it on the cheapest ways known, with the steps.
    before: Vec<(ExprId, Step)>,
}

/// What is to be looked at, in order: the cost, the part, a state, and whether its part ends with it at that
/// cost.
type Queued = (Cost, u32, ExprId, bool);

impl Search {
    fn new(state: ExprId) -> Search {
        let mut search = Search {
            parts: Vec::new(),
            states: Vec::new(),
            ids: FxHashMap::default(),
            items: FxHashMap::default(),
            queue: BinaryHeap::new(),
        };
        search.part(state);
        search
    }

    /// The number of the part that begins at a state.
    fn part(&mut self, state: ExprId) -> u32 {
        let next = self.parts.len() as u32;
        let part = *self.ids.entry(state).or_insert(next);
        if part == next {
            self.states.push(state);
            self.parts.push(Part { end: None, lasts: Vec::new(), callers: Vec::new() });
            self.items.insert((part, state), Item::default());
            self.queue.push(Reverse((0, part, state, false)));
        }
        part
    }

    /// Goes on until the way is found and all that are as cheap.
    fn run(&mut self, choices: &mut Choices, parser: &mut Parser) -> Result<(), EngineError> {
        while let Some(Reverse(first)) = self.queue.pop() {
            if self.parts[0].end.is_some_and(|end| end < first.0) {
                // Whatever is left is dearer.
                self.queue.push(Reverse(first));
                break;
            }
            if let Err(error) = self.take(choices, parser, first) {
                // Taking it twice is as good as once.
                self.queue.push(Reverse(first));
                return Err(error);
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        choices: &mut Choices,
        parser: &mut Parser,
        (cost, part, state, is_last): Queued,
    ) -> Result<(), EngineError> {
        meter::spend(UNITS_PER_ITEM)?;
        let end = &mut self.parts[part as usize];
        if end.end.is_some_and(|end| end < cost) {
            return Ok(());
        }
        if is_last {
            end.lasts.push(state);
            if end.end.is_none() {
                end.end = Some(cost);
                for (caller, from, next) in end.callers.clone() {
                    self.come_back(caller, from, (self.state_of(part), next), cost);
                }
            }
            return Ok(());
        }
        let item = self.items.entry((part, state)).or_default();
        if item.cost < cost || item.is_taken {
            return Ok(());
        }
        self.expand(choices, parser, (cost, part, state))?;
        self.items.entry((part, state)).or_default().is_taken = true;
        Ok(())
    }

    /// Follows all steps of a state.
    fn expand(
        &mut self,
        choices: &mut Choices,
        parser: &mut Parser,
        (cost, part, state): (Cost, u32, ExprId),
    ) -> Result<(), EngineError> {
        if state == ExprPool::EPSILON || parser.network.is_nullable(state) {
            self.queue.push(Reverse((cost, part, state, true)));
            return Ok(());
        }
        match choices.known.get(&state) {
            Some(None) => return Ok(()),
            Some(Some(known)) => {
                self.queue.push(Reverse((cost.saturating_add(known.cost), part, state, true)));
                return Ok(());
            }
            None => {}
        }
        if let Some(behind) = parser.network.behind_list(state) {
            // A member that need not come makes no way cheaper.
            self.offer(cost + STEP, part, (state, Step::Branch(behind)), behind);
            return Ok(());
        }
        if let Some((list, place)) = parser.network.list_at(state) {
            let left = list.left(place);
            let must_come = left.n_required == 1 && left.n_needed(list) == 1;
            if must_come || left.n_required > 1 || left.n_sets(list) > MAX_SETS {
                if let Some((member, next)) = parser.network.next_member(state) {
                    self.call(choices, (cost, part, state), (member, next));
                }
                return Ok(());
            }
        }
        meter::spend(UNITS_PER_EDGE * parser.network.n_parts(state) as u64)?;
        let branches = parser.network.branches(state);
        if !branches.is_empty() {
            branches
                .into_iter()
                .for_each(|branch| self.offer(cost + STEP, part, (state, Step::Branch(branch)), branch));
            return Ok(());
        }
        let moves = parser.network.moves(state);
        meter::spend(UNITS_PER_EDGE * moves.len() as u64)?;
        for index in moves {
            let step = parser.network.move_at(index);
            match step.symbol {
                Symbol::Terminal(terminal) => {
                    if let Some((_, more, _)) = choices.written(parser, terminal)? {
                        let before = (state, Step::Terminal(terminal, step.next));
                        self.offer(cost.saturating_add(more + STEP), part, before, step.next);
                    }
                }
                Symbol::Rule(rule) => {
                    let body = parser.network.body(rule);
                    self.call(choices, (cost, part, state), (body, step.next));
                }
            }
        }
        Ok(())
    }

    /// Calls a part from a state, after which comes `next`.
    fn call(
        &mut self,
        choices: &Choices,
        (cost, part, state): (Cost, u32, ExprId),
        (body, next): (ExprId, ExprId),
    ) {
        match choices.known.get(&body) {
            Some(None) => {}
            Some(Some(known)) => {
                let before = (state, Step::Part(body, next));
                self.offer(cost.saturating_add(known.cost + STEP), part, before, next);
            }
            None => {
                let callee = self.part(body);
                self.parts[callee as usize].callers.push((part, state, next));
                if let Some(end) = self.parts[callee as usize].end {
                    self.come_back(part, state, (body, next), end);
                }
            }
        }
    }

    /// Goes on in a part that has called another, which takes so much.
    fn come_back(&mut self, part: u32, state: ExprId, (body, next): (ExprId, ExprId), more: Cost) {
        let Some(item) = self.items.get(&(part, state)) else { return };
        let cost = item.cost.saturating_add(more + STEP);
        self.offer(cost, part, (state, Step::Part(body, next)), next);
    }

    /// Adds an item to the queue, unless there is a cheaper way to it.
    fn offer(&mut self, cost: Cost, part: u32, before: (ExprId, Step), state: ExprId) {
        meter::charge(UNITS_PER_EDGE);
        if cost / TOKEN > MAX_TOKENS {
            return;
        }
        let item = self.items.entry((part, state)).or_insert(Item { cost: Cost::MAX, ..Item::default() });
        if cost < item.cost {
            item.cost = cost;
            item.before.clear();
            self.queue.push(Reverse((cost, part, state, false)));
        }
        if cost == item.cost {
            item.before.push(before);
        }
    }

    fn state_of(&self, part: u32) -> ExprId {
        self.states[part as usize]
    }

    /// Keeps what is chosen at the states of all parts whose ways are found, from their ends on.
    fn choose(mut self, choices: &mut Choices) {
        let next = self.queue.peek().map_or(Cost::MAX, |Reverse(first)| first.0);
        let found = |part: &Part| part.end.filter(|&end| end < next);
        let mut parts: Vec<(Cost, u32)> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            parts.extend(found(part).map(|end| (end, number as u32)));
        }
        // What a part calls takes less than the part itself.
        parts.sort_unstable();
        for (end, part) in parts {
            let mut chosen: FxHashMap<ExprId, Choice> = FxHashMap::default();
            let mut queue: BinaryHeap<(Cost, ExprId)> = BinaryHeap::new();
            for state in std::mem::take(&mut self.parts[part as usize].lasts) {
                let choice = choices.known.get(&state).copied().flatten().unwrap_or(END);
                if chosen.insert(state, choice).is_none() {
                    queue.push((end - choice.cost, state));
                }
            }
            while let Some((at, state)) = queue.pop() {
                let rest = chosen[&state];
                for &(before, step) in self.items.get(&(part, state)).map_or(&[][..], |item| &item.before) {
                    let Some(cost) = self.items.get(&(part, before)).map(|item| item.cost) else { continue };
                    let print = match step {
                        Step::End | Step::Branch(_) => Some(Print::EMPTY),
                        Step::Terminal(terminal, _) => {
                            choices.terminals.get(&terminal).and_then(|written| Some(written.as_ref()?.2))
                        }
                        Step::Part(body, _) => {
                            choices.known.get(&body).and_then(|known| Some(known.as_ref()?.print))
                        }
                    };
                    let Some(print) = print else { continue };
                    debug_assert!(cost < at);
                    let choice = Choice { step, cost: end - cost, print: print.then(rest.print) };
                    chosen
                        .entry(before)
                        .and_modify(|known| {
                            if choice.print < known.print {
                                *known = choice;
                            }
                        })
                        .or_insert_with(|| {
                            queue.push((cost, before));
                            choice
                        });
                }
            }
            for (state, choice) in chosen {
                choices.known.entry(state).or_insert(Some(choice));
            }
        }
    }
}
