//! Budgets of grammars over the tokens of a lexer.
//!
//! The same problem as for scannerless grammars (`super`), with another control state: a hypothesis of the lexer, the
//! future of the vocabulary's token in progress, and the blocks around (`controls`). The stack is that of the parser
//! over terminals. It decomposes into
//!
//! * `runs`: from a hypothesis, inside a token of the vocabulary, to the end of the next token that the parser gets;
//! * `summaries`: from (state, control) to controls at the end of a rule;
//! * `floors`: lower bounds, from terminals alone (`neighbours`), on what the rest of a rule and of the text takes; `ends`:
//!   what a run can come to at all. A search leaves alone what cannot fit its bound;
//! * here: the least cost from (state, stack node, control) to the end of the text, and profiles.
//!
//! A reading of the text is a path of this system however it will turn out: hypotheses are guesses which
//! later bytes refute, and a refuted one has no way on. So the least cost over all paths is the
//! least number of tokens.
//!
//! **Lemma 1 (margin)** holds at one hypothesis and layout: what is read from there depends on nothing else. Other
//! hypotheses at the same place are told apart, since `1` may be forbidden to go on by what came before it.
//!
//! **Bounds.** There is no margin between hypotheses, so a search that stops by itself at some distance
//! behind the cheapest exit does not exist here. Instead the search is for completions of at most b tokens, for b =
//! 1, 2, …: all parts are complete up to a bound and go on where they stopped. So the work for an answer of n tokens is
//! what can be come to with n tokens, whatever lies beyond.
//!
//! **Indentation.** The width of a block that the completion opens is left open as long as it can be (`blocks`); those
//! of the text are in the control, so blocks of one width share their summaries, others do not.
//!
//! Where work is limited, tokens must end where the lexer's do; see `super`.

mod blocks;
mod controls;
mod ends;
mod floors;
mod neighbours;
mod runs;
mod summaries;
mod walks;

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright_grammar::{ExprId, ExprPool};
use maskwright_vocabulary::{TokenId, Trie, mask_words};
use rustc_hash::FxHashMap;

use super::futures::NEVER;
use super::profile::Profile;
use super::runs::Spelling;
use crate::EngineError;
use crate::compiler::lock;
use crate::configuration::{ConfigId, Thread};
use crate::lexed::Lexed;
use crate::machine::Machine;
use crate::mask_form::MaskBuilder;
use crate::stack::{Frame, NodeId};
use controls::{Control, ControlId};
use ends::{Ends, Explored};
use floors::Floors;
use runs::RunStart;
use summaries::{Parts, Summaries};

/// Items that the search for one answer may take before it settles for an upper bound.
const MAX_ITEMS: u64 = 400_000;
/// Bytes that the memoised answers may take before they are dropped.
const MAX_BYTES: usize = 128 << 20;
/// No completion of more tokens is looked for. Where nothing is left to be found, higher bounds take no time.
const MAX_BOUND: u32 = 1 << 20;

/// A place between tokens of the lexer: a state, the stack that it returns to, the control.
type Place = (ExprId, NodeId, ControlId);

/// What is known of a least number of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Least {
    Exactly(u32),
    MoreThan(u32),
}

impl Least {
    /// The number if it is at most `bound`, or that it is not; `None` if that is not known.
    fn within(self, bound: u32) -> Option<Option<u32>> {
        match self {
            Least::Exactly(least) => Some((least <= bound).then_some(least)),
            Least::MoreThan(known) => (known >= bound).then_some(None),
        }
    }
}

/// What is known about the budgets of one lexed grammar's texts.
pub(crate) struct LexedBudget {
    spelling: Arc<std::sync::Mutex<Spelling>>,
    summaries: Summaries,
    places: FxHashMap<Place, Least>,
    configs: FxHashMap<ConfigId, Least>,
    /// Whether the floors have been made.
    has_floors: bool,
    /// Each with the number of tokens left that it was made for: it tells apart what completes the text in fewer.
    profiles: FxHashMap<ConfigId, (u32, Arc<Profile>)>,
    profile_bytes: usize,
    eos_cost: u32,
}

impl LexedBudget {
    /// Nothing is known yet; `spelling` is what grammars share.
    pub(super) fn new(machine: &Machine) -> LexedBudget {
        LexedBudget {
            spelling: machine.shared.spelling(),
            summaries: Summaries::default(),
            places: FxHashMap::default(),
            configs: FxHashMap::default(),
            has_floors: false,
            profiles: FxHashMap::default(),
            profile_bytes: 0,
            eos_cost: u32::from(!machine.shared.vocabulary.eos_token_ids().is_empty()),
        }
    }

    /// Whether answers are upper bounds only.
    pub(super) fn is_upper(&self) -> bool {
        self.summaries.is_upper
    }

    /// Leaves out tokens that span those of the lexer from now on, so that every answer is an upper bound.
    pub(super) fn settle_for_upper(&mut self) {
        self.clear();
        self.summaries.is_upper = true;
    }

    /// Drops what is memoised if it has grown beyond the limit: the search before its answers.
    pub(super) fn trim(&mut self) {
        if self.search_bytes() > MAX_BYTES {
            self.clear_search();
        }
        if self.profile_bytes + self.configs.len() * 16 > MAX_BYTES {
            self.clear_answers();
        }
    }

    fn clear(&mut self) {
        self.clear_search();
        self.clear_answers();
    }

    fn clear_search(&mut self) {
        self.summaries.clear();
        self.places = FxHashMap::default();
    }

    fn clear_answers(&mut self) {
        self.configs = FxHashMap::default();
        self.profiles = FxHashMap::default();
        self.profile_bytes = 0;
    }

    fn search_bytes(&self) -> usize {
        self.summaries.memory_usage() + self.places.len() * 32
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.search_bytes() + self.configs.len() * 16 + self.profile_bytes
    }

    /// The least number of tokens, EOS included, that complete the text; [`NEVER`] if no tokens spell the
    /// rest of any.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn least(
        &mut self,
        lexed: &mut Lexed,
        machine: &mut Machine,
        config: ConfigId,
    ) -> Result<u32, EngineError> {
        Ok(self.least_within(lexed, machine, config, MAX_BOUND)?.unwrap_or(NEVER))
    }

    /// The same, if it is at most `limit`. Takes the time that an answer of at most `limit` takes.
    fn least_within(
        &mut self,
        lexed: &mut Lexed,
        machine: &mut Machine,
        config: ConfigId,
        limit: u32,
    ) -> Result<Option<u32>, EngineError> {
        if lexed.configs.is_accepting(config) {
            return Ok((self.eos_cost <= limit).then_some(self.eos_cost));
        }
        let known = self.configs.get(&config).copied();
        if let Some(answer) = known.and_then(|known| known.within(limit)) {
            return Ok(answer);
        }
        let spelling = self.spelling.clone();
        let mut spelling = lock(&spelling);
        let mut parts = Parts { machine, lexed, futures: &mut spelling.futures };
        let floor = self.floor(&mut parts, config)?;
        let mut tried = match known {
            Some(Least::MoreThan(known)) => known.saturating_sub(self.eos_cost),
            _ => 0,
        };
        tried = tried.max(floor.saturating_sub(1));
        let mut least = None;
        while least.is_none() && tried + self.eos_cost < limit {
            tried = (tried + if tried < 64 { 1 } else { tried }).min(limit - self.eos_cost);
            least = self.config_within(&mut parts, config, tried)?.map(|least| least + self.eos_cost);
        }
        if parts.machine.shared.options.use_memo {
            let known = least.map_or(Least::MoreThan(limit), Least::Exactly);
            self.configs.insert(config, known);
        }
        Ok(least)
    }

    /// A lower bound on the number of tokens, EOS not included, of a text that is not complete.
    fn floor(&mut self, parts: &mut Parts<'_>, config: ConfigId) -> Result<u32, EngineError> {
        if !std::mem::replace(&mut self.has_floors, true) {
            if let Some(explored) = Explored::new(parts.lexed)? {
                self.summaries.floors = Floors::new(parts.lexed, parts.futures, &explored)?;
                self.summaries.runs.ends = Some(Ends::new(parts.lexed, &explored));
            }
        }
        let floors = &mut self.summaries.floors;
        let mut least = u32::MAX;

        for reading in parts.lexed.readings(parts.machine, config)? {
            if reading.can_end {
                return Ok(1);
            }
            for Thread { terminal, next, node, .. } in parts.machine.configs.threads(reading.parser).to_vec()
            {
                let context = floors.behind(terminal);
                least = least.min(floors.of_place(parts.machine, (next, node), context));
            }
        }
        Ok(least.saturating_add(1))
    }

    /// The least number of tokens, EOS not included, if it is at most `bound`.
    fn config_within(
        &mut self,
        parts: &mut Parts<'_>,
        config: ConfigId,
        bound: u32,
    ) -> Result<Option<u32>, EngineError> {
        let mut found: Option<u32> = None;
        for reading in parts.lexed.readings(parts.machine, config)? {
            let start =
                RunStart { point: reading.point, future: parts.futures.root(), is_nested: reading.depth > 0 };
            let run = self.summaries.runs.run(parts.lexed, parts.futures, start)?;
            let blocks = self.summaries.blocks.of(&reading.widths, reading.depth);
            let threads = parts.machine.configs.threads(reading.parser).to_vec();
            let mut ways = Vec::with_capacity(threads.len());
            for Thread { terminal, next, node, .. } in threads {
                let floors = &mut self.summaries.floors;
                let context = floors.behind(terminal);
                let floor = floors.of_place(parts.machine, (next, node), context);
                ways.push((terminal, (next, node), floor));
            }
            let mut can_end = reading.can_end;
            for cost in 0..=bound {
                let room = found.map_or(bound, |found| found - 1);
                ways.retain(|&(_, _, floor)| floor.saturating_add(cost) <= room);
                if cost > room || (ways.is_empty() && !can_end) {
                    break;
                }
                if can_end {
                    match self.summaries.runs.level(parts.lexed, parts.futures, run, None, cost)? {
                        Some(level) if !level.is_empty() => {
                            found = Some(cost);
                            break;
                        }
                        level => can_end = level.is_some(),
                    }
                }
                let mut goes_on = Vec::with_capacity(ways.len());
                for &(terminal, (next, node), _) in &ways {
                    let level =
                        self.summaries.runs.level(parts.lexed, parts.futures, run, Some(terminal), cost)?;
                    goes_on.push(level.is_some());
                    for exit in level.iter().flat_map(|level| level.iter()) {
                        if self.is_upper() && exit.future != parts.futures.root() {
                            continue;
                        }
                        for control in self.summaries.behind(parts, blocks, exit) {
                            let Some(room) = found.map_or(bound, |found| found - 1).checked_sub(cost) else {
                                break;
                            };
                            let least = self.place_within(parts, (next, node, control), room)?;
                            found = least.map(|least| least + cost).or(found);
                        }
                    }
                }
                let mut goes_on = goes_on.into_iter();
                ways.retain(|_| goes_on.next().unwrap_or(true));
            }
        }
        Ok(found)
    }

    /// The same from a place.
    fn place_within(
        &mut self,
        parts: &mut Parts<'_>,
        place: Place,
        bound: u32,
    ) -> Result<Option<u32>, EngineError> {
        let mut stack = vec![(place, bound)];
        while let Some(&(top, bound)) = stack.last() {
            if self.places.get(&top).is_some_and(|known| known.within(bound).is_some()) {
                stack.pop();
                continue;
            }
            let (state, node, control) = top;
            let context = self.summaries.context(parts, control)?;
            let floor = self.summaries.floors.of_place(parts.machine, (state, node), context);
            if floor > bound {
                self.places.insert(top, Least::MoreThan(bound));
                stack.pop();
                continue;
            }
            let exits = if state == ExprPool::EPSILON {
                vec![(control, 0)]
            } else {
                let below = self.summaries.floors.below(parts.machine, (state, node), context);
                self.summaries.exits(parts, state, control, bound.saturating_sub(below), MAX_ITEMS)?
            };
            let n_open = stack.len();
            let mut least: Option<u32> = None;
            for (left, cost) in exits {
                for frame in parts.machine.stacks.frames(node).to_vec() {
                    let room = least.map_or(bound, |least| least.min(bound));
                    if cost > room {
                        break;
                    }
                    if frame == Frame::BOTTOM {
                        let end = self.end_within(parts, left, room - cost)?;
                        least = end.map(|end| cost + end).or(least);
                        continue;
                    }
                    let below = (frame.ret, frame.parent, left);
                    match self.places.get(&below).and_then(|known| known.within(bound - cost)) {
                        Some(Some(rest)) if least.is_none_or(|least| cost + rest < least) => {
                            least = Some(cost + rest);
                        }
                        Some(_) => {}
                        None => stack.push((below, bound - cost)),
                    }
                }
            }
            if stack.len() == n_open {
                let known = least.map_or(Least::MoreThan(bound), Least::Exactly);
                self.places.insert(top, known);
                stack.pop();
            }
        }
        let known = self.places.get(&place).copied().unwrap_or(Least::MoreThan(bound));
        Ok(known.within(bound).flatten())
    }

    /// The least cost, if it is at most `bound`, at which the text can end in a control when the stack is empty.
    fn end_within(
        &mut self,
        parts: &mut Parts<'_>,
        control: ControlId,
        bound: u32,
    ) -> Result<Option<u32>, EngineError> {
        match self.summaries.controls.get(control) {
            Control::Text(text) if self.summaries.blocks.n_open(text.blocks) == 0 => {
                self.summaries.end(parts, text, bound)
            }
            Control::End(0) => Ok(Some(0)),
            _ => Ok(None),
        }
    }

    /// The profile of `config` for at most `n_left` tokens left: the mask's tokens by what completing the text after them takes,
    /// [`NEVER`] standing for all that is not fewer. One walk over the token trie; texts that come to the same
    /// configuration are one.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn profile(
        &mut self,
        lexed: &mut Lexed,
        machine: &mut Machine,
        config: ConfigId,
        n_left: u32,
    ) -> Result<Arc<Profile>, EngineError> {
        if let Some((_, known)) = self.profiles.get(&config).filter(|(made_for, _)| *made_for >= n_left) {
            return Ok(known.clone());
        }
        let limit = n_left.saturating_sub(1).min(MAX_BOUND);
        let vocabulary = machine.shared.vocabulary.clone();
        let n_words = mask_words(vocabulary.n_vocab());
        let mut groups: BTreeMap<u32, MaskBuilder> = BTreeMap::new();
        if lexed.configs.is_accepting(config) {
            let eos: Vec<TokenId> = vocabulary.eos_token_ids().iter().map(|&id| TokenId(id)).collect();
            groups.entry(0).or_insert_with(|| MaskBuilder::new(n_words)).insert_all(&eos);
        }
        let trie = vocabulary.trie();
        let mut stack = vec![(Trie::ROOT, config)];
        while let Some((node, config)) = stack.pop() {
            for (byte, child) in trie.children(node) {
                let Some(next) = lexed.step(machine, config, byte)? else { continue };
                if !trie.tokens(child).is_empty() {
                    let least = self.least_within(lexed, machine, next, limit)?.unwrap_or(NEVER);
                    let group = groups.entry(least).or_insert_with(|| MaskBuilder::new(n_words));
                    group.insert_all(trie.tokens(child));
                }
                if trie.n_children(child) > 0 {
                    stack.push((child, next));
                }
            }
        }
        let is_complete = !groups.contains_key(&NEVER);
        let profile =
            Arc::new(Profile::new(groups.into_iter().map(|(cost, mask)| (cost, mask.finish())).collect()));
        if machine.shared.options.use_memo {
            self.profile_bytes += profile.memory_usage();
            let made_for = if is_complete { u32::MAX } else { n_left };
            self.profiles.insert(config, (made_for, profile.clone()));
        }
        Ok(profile)
    }
}
