//! Where threads are before the next byte: splits taken, assertions asked.

use rustc_hash::FxHashSet;

use super::obligation::NONE;
use super::{Cnf, Item, Kind, States};
use crate::LexError;
use crate::nfa::{Inst, Pc, Program};

/// A place in the text, as assertions and keywords see it.
pub(super) struct Place<'a> {
    pub(super) program: &'a Program,
    /// Threads of lookbehinds and their ends, sorted.
    pub(super) behinds: &'a [Pc],
    /// Threads of keywords and their ends, sorted.
    pub(super) keywords: &'a [Pc],
}

impl Place<'_> {
    fn ends_here(&self, behind: u32) -> bool {
        let end = self.program.behinds[behind as usize].end;
        self.behinds.binary_search(&end).is_ok()
    }

    /// The id that the match of a terminal has here: its own, or that of the keyword that was read.
    fn matched(&self, terminal: u32) -> u32 {
        let code = &self.program.terminals[terminal as usize];
        let is_read = |(end, _): &&(Pc, u32)| self.keywords.binary_search(end).is_ok();
        code.keywords.iter().find(is_read).map_or(code.id, |&(_, keyword)| keyword)
    }

    /// What must follow if a thread at `start` is to get to the end of its lookahead.
    pub(super) fn reaches_end(&self, start: Pc) -> Result<Cnf, LexError> {
        let mut result = Cnf::never();
        // Threads without a condition of their own are one clause.
        let mut clause = Vec::new();
        let mut visited = FxHashSet::default();
        let mut stack = vec![(start, Cnf::always())];
        while let Some((pc, condition)) = stack.pop() {
            if !self.program.productive[pc as usize] || !visited.insert((pc, condition.clone())) {
                continue;
            }
            let is_free = condition == Cnf::always();
            match self.program.inst(pc) {
                Inst::Bytes(..) | Inst::Sparse(_) if is_free => clause.push(pc),
                Inst::Bytes(..) | Inst::Sparse(_) => {
                    result = result.or(&condition.and(&Cnf::reaches(pc))?)?;
                }
                Inst::Split(first, second) => {
                    stack.push((*second, condition.clone()));
                    stack.push((*first, condition));
                }
                &Inst::Look { sub, negated, next } => {
                    let looked = self.looked(sub, negated)?;
                    stack.push((next, condition.and(&looked)?));
                }
                &Inst::Behind { index, negated, next } => {
                    if self.ends_here(index) != negated {
                        stack.push((next, condition));
                    }
                }
                Inst::Match(_) if is_free => return Ok(Cnf::always()),
                Inst::Match(_) => result = result.or(&condition)?,
                Inst::Fail => {}
            }
        }
        for pc in clause {
            result = result.or(&Cnf::reaches(pc))?;
        }
        Ok(result)
    }

    fn looked(&self, sub: Pc, negated: bool) -> Result<Cnf, LexError> {
        let reached = self.reaches_end(sub)?;
        if negated { reached.not() } else { Ok(reached) }
    }

    /// The threads at `start`, of an automaton whose order does not matter, into `found`.
    pub(super) fn unordered(&self, start: Pc, found: &mut FxHashSet<Pc>) {
        let mut stack = vec![start];
        let mut visited = FxHashSet::default();
        while let Some(pc) = stack.pop() {
            if !self.program.productive[pc as usize] || !visited.insert(pc) {
                continue;
            }
            match self.program.inst(pc) {
                Inst::Bytes(..) | Inst::Sparse(_) | Inst::Match(_) => {
                    found.insert(pc);
                }
                Inst::Split(first, second) => stack.extend([*first, *second]),
                &Inst::Behind { index, negated, next } => {
                    if self.ends_here(index) != negated {
                        stack.push(next);
                    }
                }
                // Neither lookbehinds nor keywords look ahead: compiling refuses it.
                Inst::Look { .. } | Inst::Fail => {}
            }
        }
    }
}

impl States {
    /// Adds the items that a thread at `start` leads to, best first; true if one of them is a match without
    /// obligation, which cuts all that is worse.
    pub(super) fn close(
        &mut self,
        place: &Place<'_>,
        start: Item,
        items: &mut Vec<Item>,
        visited: &mut FxHashSet<(Pc, u32)>,
    ) -> Result<bool, LexError> {
        let mut stack = vec![(start.value, start.obligation)];
        while let Some((pc, obligation)) = stack.pop() {
            let is_productive = place.program.productive[pc as usize];
            // A better thread at the same instruction does all that this one could.
            if !is_productive || visited.contains(&(pc, NONE)) || !visited.insert((pc, obligation)) {
                continue;
            }
            match place.program.inst(pc) {
                Inst::Bytes(..) | Inst::Sparse(_) => {
                    items.push(Item { kind: Kind::Thread, group: start.group, value: pc, obligation });
                }
                &Inst::Split(first, second) => {
                    stack.push((second, obligation));
                    stack.push((first, obligation));
                }
                &Inst::Look { sub, negated, next } => {
                    let looked = place.looked(sub, negated)?;
                    let both = self.obligations.get(obligation).and(&looked)?;
                    if let Some(both) = self.obligations.intern(both) {
                        stack.push((next, both));
                    }
                }
                &Inst::Behind { index, negated, next } => {
                    if place.ends_here(index) != negated {
                        stack.push((next, obligation));
                    }
                }
                &Inst::Match(terminal) => {
                    let matched = Item {
                        kind: Kind::Match,
                        group: start.group,
                        value: place.matched(terminal),
                        obligation,
                    };
                    if self.push_match(matched, items)? == NONE {
                        return Ok(true);
                    }
                }
                Inst::Fail => {}
            }
        }
        Ok(false)
    }

    /// Adds a match; with the same match right above it, it is one that either
    /// obligation lets stand. Its obligation is the answer.
    fn push_match(&mut self, matched: Item, items: &mut Vec<Item>) -> Result<u32, LexError> {
        if let Some(above) = items.last_mut()
            && *above == (Item { obligation: above.obligation, ..matched })
        {
            let either =
                self.obligations.get(above.obligation).or(self.obligations.get(matched.obligation))?;
            above.obligation = self.obligations.intern(either).unwrap_or(above.obligation);
            return Ok(above.obligation);
        }
        items.push(matched);
        Ok(matched.obligation)
    }

    /// What must follow `byte` so that the obligation is met; `None` if nothing meets it any more.
    pub(super) fn after_byte(
        &mut self,
        place: &Place<'_>,
        obligation: u32,
        byte: u8,
    ) -> Result<Option<u32>, LexError> {
        if obligation == NONE {
            return Ok(Some(NONE));
        }
        let formula = self.obligations.get(obligation).replace(|pc| match place.program.after(pc, byte) {
            Some(next) => place.reaches_end(next),
            None => Ok(Cnf::never()),
        })?;
        Ok(self.obligations.intern(formula))
    }
}
