//! The first state, the state after a byte, and the guards of a state's matches.

use rustc_hash::FxHashSet;

use super::closure::Place;
use super::obligation::NONE;
use super::{Content, Item, Kind, Slots, State, States};
use crate::nfa::{LOOKS, Pc, Program};
use crate::{Accept, Choice, Discipline, LexError, LexState, TerminalSet};

impl States {
    /// The content at the beginning of a text.
    pub(crate) fn text_start(&mut self, program: &Program) -> Result<Content, LexError> {
        let behinds = behinds_after(program, &[], program.crossing, None);
        self.token_start(program, &behinds, None)
    }

    /// The content at the beginning of a token, where the lookbehinds that may see what lies before it have
    /// the threads `behinds`; restricted to some of the terminals if told.
    pub(crate) fn token_start(
        &mut self,
        program: &Program,
        behinds: &[Pc],
        among: Option<(&TerminalSet, Choice)>,
    ) -> Result<Content, LexError> {
        let asked = program.terminals.iter().fold(0, |asked, code| asked | program.asks[code.start as usize]);
        let mut behinds = behinds.to_vec();
        behinds.retain(|pc| program.crossing >> behind_of(program, *pc) & 1 == 1);
        behinds.extend(behinds_after(program, &behinds, asked & !program.crossing, None));
        behinds.sort_unstable();
        let mut keywords = FxHashSet::default();
        let place = Place { program, behinds: &behinds, keywords: &[] };
        for &start in &program.keyword_starts {
            place.unordered(start, &mut keywords);
        }
        let mut keywords: Vec<Pc> = keywords.into_iter().collect();
        keywords.sort_unstable();
        let mut items = Vec::new();
        let mut visited = FxHashSet::default();
        for (index, code) in program.terminals.iter().enumerate() {
            if among.is_some_and(|(terminals, _)| !terminals.contains(code.id)) {
                continue;
            }
            let group = group_of(program, index);
            let start = Item { kind: Kind::Thread, group, value: code.start, obligation: NONE };
            // No match begins and ends here: every terminal reads a byte.
            self.close(&place, start, &mut items, &mut visited)?;
        }
        let is_each = among.is_some_and(|(_, choice)| choice == Choice::Each);
        if items.is_empty() {
            // No terminal of these can begin here, but one of others may, which sees what lies before.
            behinds.retain(|pc| program.crossing >> behind_of(program, *pc) & 1 == 1);
            return Ok(Content { behinds, ..Content::default() });
        }
        let content = Content { items, behinds, keywords, is_each, ..Content::default() };
        Ok(self.canonical(program, content))
    }

    /// The content after `byte`; without items if nothing is left.
    pub(crate) fn advance(
        &mut self,
        program: &Program,
        content: &Content,
        byte: u8,
    ) -> Result<Content, LexError> {
        if content.is_refuted {
            return Ok(Content::default());
        }
        let asked = program.crossing | self.asked(program, &content.items);
        let behinds = behinds_after(program, &content.behinds, asked, Some(byte));
        let keywords = keywords_after(program, &content.keywords, byte);
        let place = Place { program, behinds: &behinds, keywords: &keywords };
        let mut lists = Lists::default();
        let mut items = Vec::with_capacity(content.items.len());
        let mut visited = FxHashSet::default();
        let mut is_refuted = false;
        for item in &content.items {
            if lists.cut.contains(&item.group) {
                continue;
            }
            let target = match item.kind {
                Kind::Thread => match program.after(item.value, byte) {
                    Some(target) => target,
                    None => continue,
                },
                _ => 0,
            };
            let Some(obligation) = self.after_byte(&place, item.obligation, byte)? else {
                // What the guarded match needs does not follow.
                is_refuted |= item.kind == Kind::Mark;
                continue;
            };
            let item = Item { obligation, ..*item };
            match item.kind {
                Kind::Thread => {
                    let start = Item { value: target, ..item };
                    if self.close(&place, start, &mut items, &mut visited)? {
                        lists.cut.insert(item.group);
                    }
                }
                Kind::Match | Kind::Settled => {
                    let refuting = content.is_guard && (item.kind == Kind::Match || item.value == 1);
                    let settled = Item { kind: Kind::Settled, value: u32::from(refuting), ..item };
                    if obligation == NONE {
                        lists.cut.insert(item.group);
                        if refuting && !lists.waiting.contains(&item.group) {
                            is_refuted = true;
                        } else if refuting {
                            items.push(settled);
                        }
                    } else if !items.contains(&settled) {
                        items.push(settled);
                        if !refuting {
                            lists.waiting.insert(item.group);
                        }
                    }
                }
                Kind::Mark if obligation == NONE => {}
                Kind::Mark => items.push(item),
            }
        }
        let &Content { is_guard, is_each, .. } = content;
        let content = Content { items, behinds, keywords, is_guard, is_refuted, is_each };
        Ok(self.canonical(program, content))
    }

    /// The matches that end at a main state, best first, each with its guard. One that cannot be is left out.
    pub(super) fn accepts(
        &mut self,
        program: &Program,
        slots: &Slots<State>,
        content: &Content,
    ) -> Result<Vec<Accept>, LexError> {
        let rank = |item: &Item| match program.discipline {
            Discipline::LeftmostFirst => 0,
            Discipline::LongestMatch => program.terminals[item.group as usize].rank,
        };
        let mut matches: Vec<usize> = (0..content.items.len()).collect();
        matches.retain(|&index| content.items[index].kind == Kind::Match);
        matches.sort_by_key(|&index| (rank(&content.items[index]), index));
        let mut accepts = Vec::new();
        for index in matches {
            let ours = content.items[index];
            let is_operator = |item: &Item| program.terminals[item.group as usize].is_operator;
            let mut items = Vec::new();
            for (other_index, &other) in content.items.iter().enumerate() {
                let is_ours = other.group == ours.group;
                match other.kind {
                    _ if is_ours && other_index > index => {}
                    _ if !is_ours && content.is_each => {}
                    Kind::Thread if !is_ours && is_operator(&ours) && is_operator(&other) => {}
                    _ if other_index == index => {
                        if ours.obligation != NONE {
                            items.push(Item { kind: Kind::Mark, ..ours });
                        }
                    }
                    Kind::Thread => items.push(other),
                    Kind::Match | Kind::Settled => {
                        // A better match of this list, or one as long of a better terminal.
                        let refuting = is_ours || (other.kind == Kind::Match && rank(&other) < rank(&ours));
                        items.push(Item { kind: Kind::Settled, value: u32::from(refuting), ..other });
                    }
                    Kind::Mark => {}
                }
            }
            let guard = Content {
                items,
                behinds: content.behinds.clone(),
                keywords: content.keywords.clone(),
                is_guard: true,
                ..Content::default()
            };
            let guard = self.canonical(program, guard);
            if guard.is_refuted {
                continue;
            }
            let guard = self.intern(program, slots, guard)?;
            if self.can_stand(program, slots, guard)? {
                accepts.push(Accept { terminal: ours.value, guard: LexState(guard) });
            }
        }
        Ok(accepts)
    }

    /// Whether the match that `content` guards is refuted where the text ends.
    pub(super) fn refutes_at_end(&self, content: &Content) -> bool {
        if content.is_refuted {
            return true;
        }
        let mut decided = FxHashSet::default();
        for item in &content.items {
            let holds = self.obligations.get(item.obligation).holds_at_end();
            match item.kind {
                Kind::Thread => {}
                Kind::Mark if !holds => return true,
                Kind::Mark => {}
                Kind::Match | Kind::Settled => {
                    if holds && decided.insert(item.group) && (item.kind == Kind::Match || item.value == 1) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The lookbehinds that `items` may ask for, and whether they may look ahead, as bits.
    fn asked(&self, program: &Program, items: &[Item]) -> u64 {
        let mut asked = 0;
        for item in items {
            if item.kind == Kind::Thread {
                asked |= program.asks[item.value as usize];
            }
            if item.obligation != NONE {
                let pcs = self.obligations.get(item.obligation).pcs();
                asked = pcs.fold(asked | LOOKS, |asked, pc| asked | program.asks[pc as usize]);
            }
        }
        asked
    }

    /// The content without what cannot matter, so that equal states are found to be equal.
    fn canonical(&self, program: &Program, mut content: Content) -> Content {
        // Earlier matches matter to what they may cut, and to the match they may refute.
        let mut has_below: Vec<u32> = Vec::new();
        let mut kept = Vec::with_capacity(content.items.len());
        for item in content.items.iter().rev() {
            let matters = match item.kind {
                Kind::Settled => has_below.contains(&item.group) || (content.is_guard && item.value == 1),
                _ => true,
            };
            if matters {
                kept.push(*item);
                // Items of a list are neighbours.
                if has_below.last() != Some(&item.group) {
                    has_below.push(item.group);
                }
            }
        }
        kept.reverse();
        content.items = kept;
        if content.is_guard && content.refutes() {
            return Content { is_guard: true, is_refuted: true, ..Content::default() };
        }
        if content.items.is_empty() {
            return Content::default();
        }
        let asked = self.asked(program, &content.items);
        let is_settled =
            |item: &Item| matches!(item.kind, Kind::Thread | Kind::Match) && item.obligation == NONE;
        if asked & LOOKS == 0 && content.items.iter().all(is_settled) {
            content.is_guard = false;
        }
        let asked = asked | program.crossing;
        content.behinds.retain(|&pc| asked >> behind_of(program, pc) & 1 == 1);
        content
    }
}

/// Lists that were cut, and lists with a match that waits and would not refute if it held.
#[derive(Default)]
struct Lists {
    cut: FxHashSet<u32>,
    waiting: FxHashSet<u32>,
}

fn group_of(program: &Program, terminal: usize) -> u32 {
    match program.discipline {
        Discipline::LeftmostFirst => 0,
        Discipline::LongestMatch => terminal as u32,
    }
}

/// The lookbehind that a thread belongs to.
fn behind_of(program: &Program, pc: Pc) -> u32 {
    program.behinds.partition_point(|behind| behind.range.end <= pc) as u32
}

/// The threads of the lookbehinds `asked` after `byte`, or with no byte those at the place where they begin;
/// each begins anew at every place. `before` are the threads before the byte, or those of other lookbehinds.
fn behinds_after(program: &Program, before: &[Pc], asked: u64, byte: Option<u8>) -> Vec<Pc> {
    if asked & !LOOKS == 0 {
        return Vec::new();
    }
    let mut after: Vec<Pc> = if byte.is_none() { before.to_vec() } else { Vec::new() };
    let n_given = after.len();
    for (index, behind) in program.behinds.iter().enumerate() {
        if asked >> index & 1 == 0 {
            continue;
        }
        let mut found = FxHashSet::default();
        // Inner lookbehinds have lower indices, so those that this one asks are there.
        let sorted = {
            let mut sorted = after.clone();
            sorted.sort_unstable();
            sorted
        };
        let place = Place { program, behinds: &sorted, keywords: &[] };
        place.unordered(behind.start, &mut found);
        if let Some(byte) = byte {
            for &pc in before.iter().filter(|pc| behind.range.contains(pc)) {
                if let Some(next) = program.after(pc, byte) {
                    place.unordered(next, &mut found);
                }
            }
        }
        after.extend(found);
    }
    after.drain(..n_given);
    after.sort_unstable();
    after
}

fn keywords_after(program: &Program, keywords: &[Pc], byte: u8) -> Vec<Pc> {
    if keywords.is_empty() {
        return Vec::new();
    }
    let place = Place { program, behinds: &[], keywords: &[] };
    let mut found = FxHashSet::default();
    for &pc in keywords {
        if let Some(next) = program.after(pc, byte) {
            place.unordered(next, &mut found);
        }
    }
    let mut found: Vec<Pc> = found.into_iter().collect();
    found.sort_unstable();
    found
}
