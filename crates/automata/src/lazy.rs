//! The lazily determinised automaton behind [`Automaton`](crate::Automaton).
//!
//! A state is a living residue. Its row in an append-only table has a cell per byte class, filled on first
//! use: a warm step reads the class of the byte and one cell, without a lock. A miss takes the one lock,
//! derives, decides liveness and stores. Cells only ever go from unknown to their one right value, so
//! threads that race see the same language, whatever the order in which states get their numbers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::arena::{Arena, NodeId};
use crate::classes::Classes;
use crate::liveness::Residues;
use crate::table::Rows;
use crate::{AutomatonError, AutomatonLimits, ByteSet, Fuel, Regex};

/// Cells of every kind: not computed yet.
const UNKNOWN: u32 = 0;
/// Transition cells: no word goes on this way. Others hold a state + 2.
const DEAD: u32 = 1;

/// Column: 0 before the state is made, else bit 0 is set, bit 1 is acceptance, the rest the greatest count.
const FACTS: usize = 0;
/// The greatest count that fits the facts.
const MAX_COUNT: u32 = u32::MAX >> 2;
/// Column: the number of the set of living bytes, + 1.
const NEXT_BYTES: usize = 1;
/// Column: the row key for the first `max_bytes` that anyone asked for, as a state + 2.
const ROW_KEY: usize = 2;
/// The column of class 0.
const FIRST_CLASS: usize = 3;

/// Bytes of memory that each state may take on average.
const MEMORY_PER_STATE: usize = 512;
/// Bytes of memory that the expression itself may take beside.
const BASE_MEMORY: usize = 1 << 24;

pub(crate) struct Lazy {
    /// The class of each byte.
    class_of: [u8; 256],
    rows: Rows<AtomicU32>,
    live_sets: Rows<OnceLock<ByteSet>>,
    /// The `max_bytes` that the `ROW_KEY` column is for; `u32::MAX` before the first.
    key_bytes: AtomicU32,
    start: Option<u32>,
    max_states: u32,
    shared: Mutex<Shared>,
}

struct Shared {
    residues: Residues,
    /// The residue of each state.
    nodes: Vec<NodeId>,
    states: FxHashMap<NodeId, u32>,
    live_set_ids: FxHashMap<ByteSet, u32>,
    saturated: FxHashMap<(NodeId, u32), NodeId>,
}

impl Lazy {
    pub(crate) fn new(regex: &Regex, limits: &AutomatonLimits, fuel: &Fuel) -> Result<Lazy, AutomatonError> {
        let max_memory =
            (limits.max_states as usize).saturating_mul(MEMORY_PER_STATE).saturating_add(BASE_MEMORY);
        let mut arena = Arena::new(limits.max_residue_size, max_memory);
        let root = arena.lower(regex, fuel)?;
        let mut singles = ByteSet::EMPTY;
        for list in arena.lists() {
            fuel.spend(list.len() as u64)?;
            singles = singles.union(&list.bytes());
        }
        let classes = Classes::new(arena.sets(), &singles);
        let class_of = *classes.of_bytes();
        let rows = Rows::new(FIRST_CLASS + classes.len());
        let mut residues = Residues::new(arena, classes, limits.liveness_fuel);
        let is_alive = residues.is_alive(root, Some(fuel))?;
        let shared = Shared {
            residues,
            nodes: Vec::new(),
            states: FxHashMap::default(),
            live_set_ids: FxHashMap::default(),
            saturated: FxHashMap::default(),
        };
        let mut lazy = Lazy {
            class_of,
            rows,
            live_sets: Rows::new(1),
            key_bytes: AtomicU32::new(u32::MAX),
            start: None,
            max_states: limits.max_states,
            shared: Mutex::new(shared),
        };
        if is_alive {
            let start = lazy.state_of(&mut lazy.lock(), root)?;
            lazy.start = Some(start);
        }
        Ok(lazy)
    }

    pub(crate) fn start(&self) -> Option<u32> {
        self.start
    }

    #[inline]
    pub(crate) fn step(&self, state: u32, byte: u8) -> Result<Option<u32>, AutomatonError> {
        let column = FIRST_CLASS + usize::from(self.class_of[usize::from(byte)]);
        match self.read(state, column) {
            UNKNOWN => self.step_cold(state, column),
            DEAD => Ok(None),
            next => Ok(Some(next - 2)),
        }
    }

    #[cold]
    fn step_cold(&self, state: u32, column: usize) -> Result<Option<u32>, AutomatonError> {
        self.fill(&mut self.lock(), state, column)
    }

    #[inline]
    pub(crate) fn is_accepting(&self, state: u32) -> bool {
        self.read(state, FACTS) & 2 != 0
    }

    pub(crate) fn next_bytes(&self, state: u32) -> Result<ByteSet, AutomatonError> {
        let known = self.read(state, NEXT_BYTES);
        if known != UNKNOWN {
            let set = self.live_sets.get(known as usize - 1, 0).and_then(OnceLock::get);
            return Ok(*set.expect("a set is stored before its number is"));
        }
        let mut shared = self.lock();
        let mut live = ByteSet::EMPTY;
        for class in shared.residues.classes.iter() {
            if self.fill(&mut shared, state, FIRST_CLASS + usize::from(class))?.is_some() {
                live = live.union(shared.residues.classes.set(class));
            }
        }
        let fresh = shared.live_set_ids.len() as u32;
        let number = *shared.live_set_ids.entry(live).or_insert(fresh);
        self.live_sets.get_or_grow(number as usize, 0).get_or_init(|| live);
        self.write(state, NEXT_BYTES, number + 1);
        Ok(live)
    }

    pub(crate) fn row_key(&self, state: u32, max_bytes: u32) -> Result<u32, AutomatonError> {
        // The count in the facts is cut to `MAX_COUNT`; there a state is its own key.
        let cap = max_bytes.saturating_add(1);
        if cap >= MAX_COUNT || self.read(state, FACTS) >> 2 <= cap {
            return Ok(state);
        }
        let is_first = match self.key_bytes.compare_exchange(
            u32::MAX,
            max_bytes,
            Ordering::Relaxed,
            Ordering::Relaxed,
        ) {
            Ok(_) => true,
            Err(first) => first == max_bytes,
        };
        if is_first {
            let known = self.read(state, ROW_KEY);
            if known != UNKNOWN {
                return Ok(known - 2);
            }
        }
        let mut shared = self.lock();
        let Some(&node) = shared.nodes.get(state as usize) else { return Ok(state) };
        let Shared { residues, saturated, .. } = &mut *shared;
        let key = residues.arena.saturate(node, cap, saturated)?;
        let key = self.state_of(&mut shared, key)?;
        if is_first {
            self.write(state, ROW_KEY, key + 2);
        }
        Ok(key)
    }

    pub(crate) fn shortest_word(&self, from: u32) -> Result<Vec<u8>, AutomatonError> {
        let mut shared = self.lock();
        let Some(&node) = shared.nodes.get(from as usize) else { return Ok(Vec::new()) };
        let word = shared.residues.shortest_word(node)?;
        Ok(word.expect("a state's residue has a word"))
    }

    pub(crate) fn n_states(&self) -> usize {
        self.lock().nodes.len()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let shared = self.lock();
        size_of::<Lazy>()
            + shared.residues.arena.memory()
            + self.live_sets.memory_of(shared.live_set_ids.len())
    }

    pub(crate) fn describe(&self, state: u32, max_length: usize) -> String {
        let shared = self.lock();
        let node = shared.nodes.get(state as usize);
        node.map_or_else(String::new, |&node| shared.residues.arena.show(node, max_length))
    }

    /// A panic of another thread leaves nothing half-done that matters: nodes and states are appended whole.
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquire and release pair up, so that whoever reads a state from a cell sees the state's own row.
    #[inline]
    fn read(&self, state: u32, column: usize) -> u32 {
        self.rows.get(state as usize, column).map_or(UNKNOWN, |cell| cell.load(Ordering::Acquire))
    }

    fn write(&self, state: u32, column: usize, value: u32) {
        self.rows.get_or_grow(state as usize, column).store(value, Ordering::Release);
    }

    /// The transition of a cell, computed if it is not known.
    fn fill(&self, shared: &mut Shared, state: u32, column: usize) -> Result<Option<u32>, AutomatonError> {
        match self.read(state, column) {
            UNKNOWN => {}
            DEAD => return Ok(None),
            next => return Ok(Some(next - 2)),
        }
        // A state of another automaton goes nowhere.
        let Some(&node) = shared.nodes.get(state as usize) else { return Ok(None) };
        let next = shared.residues.derivative(node, (column - FIRST_CLASS) as u8)?;
        let next = match shared.residues.is_alive(next, None)? {
            true => Some(self.state_of(shared, next)?),
            false => None,
        };
        self.write(state, column, next.map_or(DEAD, |next| next + 2));
        Ok(next)
    }

    /// The state of a living residue.
    fn state_of(&self, shared: &mut Shared, node: NodeId) -> Result<u32, AutomatonError> {
        if let Some(&state) = shared.states.get(&node) {
            return Ok(state);
        }
        let state = shared.nodes.len() as u32;
        if state >= self.max_states {
            return Err(AutomatonError::limit("states", u64::from(self.max_states)));
        }
        // A row, and an entry in each of the two maps between states and residues.
        shared.residues.arena.charge(self.rows.memory_of(1) + 4 * size_of::<(NodeId, u32)>())?;
        let entry = shared.residues.arena.entry(node);
        let facts = 1 | u32::from(entry.nullable) << 1 | entry.max_count.min(MAX_COUNT) << 2;
        self.write(state, FACTS, facts);
        shared.nodes.push(node);
        shared.states.insert(node, state);
        Ok(state)
    }
}
