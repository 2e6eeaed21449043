//! States of the deterministic automaton, and how one follows another.
//!
//! A state is an ordered list of [`Item`]s, best first, and what is needed to decide assertions and keywords.
//! Items are threads of the program, matches that end here, and matches that ended before and wait for what
//! follows to settle them. Each carries an *obligation* on what follows ([`obligation`]): the lookaheads met
//! on its way. A match without obligation cuts the items below it (leftmost-first construction as in RE2 and
//! `regex-automata`: later matches come from better threads, so the last match seen wins).
//!
//! Three kinds of states share one table. *Main* states read a token. A *guard* follows the text after a
//! match at its place and says whether that match is refuted: by the match of a better thread, or by its own
//! lookahead. Where no lookahead can be met, a main state is its own guard, and both are one state.
//! [`Settled`](Kind::Settled) items at the end of a list matter only to a guard.
//!
//! Under [`LongestMatch`](crate::Discipline::LongestMatch) each terminal has its own list (`group`), and a
//! match cuts its own terminal's list only. A state restricted to some terminals is one without the lists of
//! the others, so what restricted states have in common they share.

mod advance;
mod closure;
mod explore;
mod obligation;
mod store;

use std::sync::{Arc, OnceLock};

use maskwright_automata::ByteSet;
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) use explore::{Reach, slot};
pub(crate) use obligation::{Cnf, Obligations};
pub(crate) use store::{Cells, Slots};

use self::obligation::NONE;
use crate::nfa::{Pc, Program};
use crate::{Accept, LexError, LexState};

/// What an item of a list is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A thread that waits for a byte at instruction `value`.
    Thread,
    /// A match of terminal `value` (its id) that ends here.
    Match,
    /// A match that ended before; `value` is 1 if it refutes the match that the state guards.
    Settled,
    /// The match that the state guards.
    Mark,
}

/// One element of a state's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    /// The list it belongs to: 0, or the index of its terminal.
    pub(crate) group: u32,
    pub(crate) value: u32,
    /// What must follow.
    pub(crate) obligation: u32,
}

/// The content of a state, by which it is interned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Content {
    pub(crate) items: Vec<Item>,
    /// Threads of lookbehinds, sorted.
    pub(crate) behinds: Vec<Pc>,
    /// Threads of keywords, sorted.
    pub(crate) keywords: Vec<Pc>,
    /// Whether the state only guards a match.
    pub(crate) is_guard: bool,
    /// Whether the guarded match is refuted.
    pub(crate) is_refuted: bool,
    /// Whether no terminal's match refutes another's ([`Choice::Each`](crate::Choice)).
    pub(crate) is_each: bool,
}

impl Content {
    /// Whether the guarded match is refuted by what was read: there is a match without obligation, or a
    /// refuting one that is settled, and no earlier match of its terminal may yet take its place.
    fn refutes(&self) -> bool {
        if self.is_refuted {
            return true;
        }
        let mut waiting = FxHashSet::default();
        self.items.iter().any(|item| match item.kind {
            Kind::Settled if item.value == 0 => {
                waiting.insert(item.group);
                false
            }
            Kind::Match | Kind::Settled => item.obligation == NONE && !waiting.contains(&item.group),
            _ => false,
        })
    }
}

impl Content {
    fn key(&self) -> Box<[u32]> {
        let mut key = Vec::with_capacity(3 + self.items.len() * 4 + self.behinds.len() + self.keywords.len());
        let flags = [self.is_guard, self.is_refuted, self.is_each];
        key.push(flags.iter().enumerate().map(|(bit, &flag)| u32::from(flag) << bit).sum());
        key.push(self.items.len() as u32);
        for item in &self.items {
            key.extend([item.kind as u32, item.group, item.value, item.obligation]);
        }
        key.push(self.behinds.len() as u32);
        key.extend_from_slice(&self.behinds);
        key.extend_from_slice(&self.keywords);
        key.into()
    }
}

/// What is known about a state.
pub(crate) struct State {
    pub(crate) content: Content,
    pub(crate) accepts: Box<[Accept]>,
    pub(crate) refutes: bool,
    pub(crate) refutes_at_end: bool,
    pub(crate) next_bytes: OnceLock<ByteSet>,
    pub(crate) reach: OnceLock<Reach>,
    pub(crate) restart: OnceLock<LexState>,
}

/// The limits on states.
#[derive(Clone, Copy)]
pub(crate) struct StateLimits {
    pub(crate) max_states: u32,
    pub(crate) max_items: u64,
}

/// All states, and where new ones are made. Behind the lexer's lock.
pub(crate) struct States {
    ids: FxHashMap<Box<[u32]>, u32>,
    pub(crate) obligations: Obligations,
    /// Of explored states, per class the target, dead ones included; see [`explore`].
    raw_rows: FxHashMap<u32, Arc<[Option<u32>]>>,
    n_items: u64,
    limits: StateLimits,
}

impl States {
    pub(crate) fn new(limits: StateLimits) -> States {
        States {
            ids: FxHashMap::default(),
            obligations: Obligations::new(),
            raw_rows: FxHashMap::default(),
            n_items: 0,
            limits,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// An estimate of the bytes taken beyond the tables of steps.
    pub(crate) fn memory(&self) -> usize {
        // Items are kept twice, as content and as key.
        self.n_items as usize * 2 * size_of::<Item>() + self.ids.len() * (size_of::<State>() + 48)
    }

    /// The state of `content`, made if it is new. Content must have been through
    /// [`canonical`](States::canonical).
    pub(crate) fn intern(
        &mut self,
        program: &Program,
        slots: &Slots<State>,
        content: Content,
    ) -> Result<u32, LexError> {
        let key = content.key();
        if let Some(&id) = self.ids.get(&key) {
            return Ok(id);
        }
        // The guards of its matches come first: without them it must not be found.
        let accepts = if content.is_guard { Vec::new() } else { self.accepts(program, slots, &content)? };
        let id = self.ids.len() as u32;
        if id >= self.limits.max_states {
            return Err(LexError::limit("states", u64::from(self.limits.max_states)));
        }
        let n_items = content.items.len() + content.behinds.len() + content.keywords.len();
        self.n_items += n_items as u64;
        if self.n_items > self.limits.max_items {
            return Err(LexError::limit("threads in all states", self.limits.max_items));
        }
        let state = State {
            refutes: content.refutes(),
            refutes_at_end: content.is_guard && self.refutes_at_end(&content),
            accepts: accepts.into(),
            content,
            next_bytes: OnceLock::new(),
            reach: OnceLock::new(),
            restart: OnceLock::new(),
        };
        // The slot is empty: ids are given once, under the lexer's lock.
        let _ = slots.slot(id as usize).set(state);
        self.ids.insert(key, id);
        Ok(id)
    }
}
