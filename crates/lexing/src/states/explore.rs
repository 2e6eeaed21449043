//! What a state can still come to, by looking at all states that follow it.
//!
//! Without assertions every state with a thread can come to a match. With them a thread may be lost though it
//! lives (`ab(?=c)d` after "a"), so steps first lead to states that may be dead (`raw_rows`), and the lexer
//! keeps a step only if its target can come to something. The search is exact and done once per state; it
//! makes all states that follow, at worst the whole automaton.

use std::sync::Arc;

use maskwright_automata::meter;
use rustc_hash::{FxHashMap, FxHashSet};

use super::obligation::NONE;
use super::{Content, Kind, Slots, State, States};
use crate::nfa::Program;
use crate::{LexError, TerminalSet};

/// Work units of a step to another state, and of each of the items of both.
const STEP: u64 = 8;
const BY_ITEM: u64 = 2;

/// What a state can come to by further bytes.
#[derive(Debug)]
pub(crate) struct Reach {
    /// The terminals that can be accepted after one byte or more.
    pub(crate) terminals: TerminalSet,
    /// Of a guard: whether the match can still be refuted, by bytes or by the end of the text.
    pub(crate) refutable: bool,
}

impl States {
    /// The target of every class, dead ones included; `None` where nothing at all is left.
    ///
    /// Classes that all components of the state treat alike are advanced once.
    pub(crate) fn raw_row(
        &mut self,
        program: &Program,
        slots: &Slots<State>,
        id: u32,
    ) -> Result<Arc<[Option<u32>]>, LexError> {
        if let Some(row) = self.raw_rows.get(&id) {
            return Ok(Arc::clone(row));
        }
        let content = content(slots, id);
        let mut pcs: Vec<u32> = [&content.behinds[..], &content.keywords].concat();
        for item in &content.items {
            if item.kind == Kind::Thread {
                pcs.push(item.value);
            }
            if item.obligation != NONE {
                pcs.extend(self.obligations.get(item.obligation).pcs());
            }
        }
        // Where each class leads each of them, a line per class; 0 leads nowhere.
        let n_pcs = pcs.len();
        let lines: Vec<u32> = (program.representatives.iter())
            .flat_map(|&byte| pcs.iter().map(move |&pc| program.after(pc, byte).unwrap_or(0)))
            .collect();
        let mut known: FxHashMap<&[u32], Option<u32>> = FxHashMap::default();
        let mut row: Vec<Option<u32>> = Vec::with_capacity(program.representatives.len());
        for (class, &byte) in program.representatives.iter().enumerate() {
            let line = &lines[class * n_pcs..(class + 1) * n_pcs];
            let target = match known.get(line) {
                Some(&target) => target,
                None => {
                    let target = self.raw_step(program, slots, content, byte)?;
                    known.insert(line, target);
                    target
                }
            };
            row.push(target);
        }
        let row: Arc<[Option<u32>]> = row.into();
        self.raw_rows.insert(id, Arc::clone(&row));
        Ok(row)
    }

    /// The target of one byte, likewise.
    pub(crate) fn raw_step(
        &mut self,
        program: &Program,
        slots: &Slots<State>,
        content: &Content,
        byte: u8,
    ) -> Result<Option<u32>, LexError> {
        let next = self.advance(program, content, byte)?;
        meter::spend(STEP + BY_ITEM * (content.items.len() + next.items.len()) as u64)?;
        if next.items.is_empty() && !next.is_refuted {
            return Ok(None);
        }
        self.intern(program, slots, next).map(Some)
    }

    /// Whether the state can come to something, or is there.
    pub(crate) fn is_live(
        &mut self,
        program: &Program,
        slots: &Slots<State>,
        id: u32,
    ) -> Result<bool, LexError> {
        let state = slot(slots, id);
        if state.content.is_guard {
            return Ok(state.refutes || self.reach(program, slots, id)?.refutable);
        }
        // A thread that meets no assertion gets to a match, unless an earlier match cuts it.
        let mut waiting = FxHashSet::default();
        for item in &state.content.items {
            match item.kind {
                Kind::Thread => {
                    let is_free = item.obligation == NONE && program.asks[item.value as usize] == 0;
                    if is_free && !waiting.contains(&item.group) {
                        return Ok(true);
                    }
                }
                _ => {
                    waiting.insert(item.group);
                }
            }
        }
        Ok(!state.accepts.is_empty() || !self.reach(program, slots, id)?.terminals.is_empty())
    }

    /// Whether some text after the guarded match leaves it standing.
    pub(super) fn can_stand(
        &mut self,
        program: &Program,
        slots: &Slots<State>,
        guard: u32,
    ) -> Result<bool, LexError> {
        let mut seen = FxHashSet::from_iter([guard]);
        let mut stack = vec![guard];
        while let Some(id) = stack.pop() {
            let state = slot(slots, id);
            if state.refutes {
                continue;
            }
            if !state.refutes_at_end {
                return Ok(true);
            }
            for target in self.raw_row(program, slots, id)?.iter() {
                match target {
                    None => return Ok(true),
                    Some(target) if seen.insert(*target) => stack.push(*target),
                    Some(_) => {}
                }
            }
        }
        Ok(false)
    }

    /// What the state can come to. O(states and steps that follow it), once.
    pub(crate) fn reach<'s>(
        &mut self,
        program: &Program,
        slots: &'s Slots<State>,
        root: u32,
    ) -> Result<&'s Reach, LexError> {
        if let Some(reach) = slot(slots, root).reach.get() {
            return Ok(reach);
        }
        // The states that follow and are not known yet, and of each its predecessors among them.
        let mut order: Vec<u32> = vec![root];
        let mut indices: FxHashMap<u32, usize> = FxHashMap::from_iter([(root, 0)]);
        let mut predecessors: Vec<Vec<usize>> = vec![Vec::new()];
        let mut reaches: Vec<Reach> = Vec::new();
        while reaches.len() < order.len() {
            let index = reaches.len();
            let id = order[index];
            let mut reach =
                Reach { terminals: TerminalSet::new(), refutable: slot(slots, id).refutes_at_end };
            let mut targets: Vec<u32> = self.raw_row(program, slots, id)?.iter().flatten().copied().collect();
            targets.sort_unstable();
            targets.dedup();
            for target in targets {
                let state = slot(slots, target);
                for accept in &state.accepts {
                    reach.terminals.insert(accept.terminal);
                }
                reach.refutable |= state.refutes;
                if let Some(known) = state.reach.get() {
                    reach.terminals.union_with(&known.terminals);
                    reach.refutable |= known.refutable;
                    continue;
                }
                let target_index = *indices.entry(target).or_insert_with(|| {
                    order.push(target);
                    predecessors.push(Vec::new());
                    order.len() - 1
                });
                predecessors[target_index].push(index);
            }
            reaches.push(reach);
        }
        // Later states first: most steps lead on.
        let mut worklist: Vec<usize> = (0..order.len()).collect();
        while let Some(index) = worklist.pop() {
            for &predecessor in &predecessors[index] {
                if predecessor == index {
                    continue;
                }
                let [from, to] =
                    reaches.get_disjoint_mut([index, predecessor]).expect("the two are different");
                meter::spend(1)?;
                let grew = to.terminals.union_with(&from.terminals);
                if grew || (from.refutable && !to.refutable) {
                    to.refutable |= from.refutable;
                    worklist.push(predecessor);
                }
            }
        }
        for (id, reach) in order.into_iter().zip(reaches) {
            // Set once, under the lexer's lock.
            let _ = slot(slots, id).reach.set(reach);
        }
        Ok(slot(slots, root).reach.get().expect("it was just set"))
    }
}

/// The state of an id that was given out.
pub(crate) fn slot(slots: &Slots<State>, id: u32) -> &State {
    slots.get(id as usize).expect("a state has its slot before its id is known")
}

fn content(slots: &Slots<State>, id: u32) -> &Content {
    &slot(slots, id).content
}
