//! The states of many automata in one place.
//!
//! A state is a living residue. Residues are hash-consed in one arena per store, so equal residues of
//! different expressions are one state, whatever is known about it is known once, and what the engine learns
//! about the vocabulary for one grammar serves the next.
//!
//! A state's row has a cell per class of the bytes that its residue can tell apart, filled on first use: a
//! warm step finds the row, reads the class of the byte and one cell, without a lock. A miss takes the one
//! lock, derives, decides liveness and stores. Cells only ever go from unknown to their one right value, so
//! threads that race see the same languages, whatever the order in which states get their numbers.
//!
//! Isolation: what an automaton makes is charged to its own [`Account`]; where that is full, its steps to
//! new states fail and those of the others do not. What hostile automata leave behind goes with the store.
//!
//! Long work (a search for a word, a large expression) holds the lock for a slice at a time (`access`), and
//! only those who need the same word wait for the search. Nothing foreign is called while the lock is held:
//! fuel only reads the flag of its token then, and looks in the pauses.
//!
//! Rejected: rows of one width for the whole store (byte classes that suit every expression come close to
//! 256); a lock per automaton (two threads could make one residue twice); counting what each automaton uses
//! rather than what it made (whether an automaton works would depend on what others did, and warm steps
//! would have to count).

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::arena::{Arena, NodeId, lower};
use crate::classes::Classes;
use crate::error::STATES;
use crate::liveness::is_alive;
use crate::locked::{Account, Locked, Shared};
use crate::residues::{Access, Residues};
use crate::saturate::saturate;
use crate::shortest::shortest_word;
use crate::state::next_id;
use crate::table::Rows;
use crate::{AutomatonError, AutomatonLimits, ByteSet, Fuel, Regex, meter};

/// Cells of every kind: not computed yet.
const UNKNOWN: u32 = 0;
/// Transition cells: no word goes on this way. Others hold a [`Step`].
const DEAD: u32 = 1;
/// Cells for the base of a state: there is none. Others hold a state + 2.
const NO_BASE: u32 = 1;
/// Transition cells have a bit for acceptance.
const MAX_STATES: u32 = (u32::MAX >> 1) - 1;

/// Bytes of memory that each state may take on average.
const MEMORY_PER_STATE: usize = 512;
/// Bytes of memory that an expression itself may take beside.
const BASE_MEMORY: usize = 1 << 24;

/// Node visits of a search that a caller makes who cannot wait ([`Effort::AtOnce`]): some tenths of a
/// millisecond.
const AT_ONCE: u64 = 4_096;

/// Units of work that a transition takes besides the derivative: its state, and the lock.
const NEW_STATE: u64 = 16;

/// How much a call may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// What the limits allow.
    Full,
    /// No long search: the call fails with [`AutomatonError::is_unsearched`] where one is needed.
    AtOnce,
}

pub(crate) struct Store {
    id: u64,
    max_states: u32,
    rows: Rows<OnceLock<Row>>,
    byte_sets: Rows<OnceLock<ByteSet>>,
    /// The `max_bytes` that the rows' keys are for; `u32::MAX` before the first.
    key_bytes: AtomicU32,
    pub(crate) shared: Mutex<Shared>,
    /// A search has ended.
    searched: Condvar,
}

/// What is known about one state.
pub(crate) struct Row {
    node: NodeId,
    is_accepting: bool,
    /// A string of so many bytes sees all of the residue.
    span: u64,
    classes: Arc<Classes>,
    /// The transition by each class.
    cells: Box<[AtomicU32]>,
    /// The number of the set of living bytes, + 1.
    next_bytes: AtomicU32,
    /// The number of the set of bytes that lead back to the state, + 1.
    loop_bytes: AtomicU32,
    /// The row key for the first `max_bytes` that anyone asked for, as a state + 2.
    key: AtomicU32,
    base: AtomicU32,
}

impl Row {
    #[inline]
    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The transition by `byte`, if it is known.
    #[inline]
    pub(crate) fn known(&self, byte: u8) -> Option<Step> {
        let class = usize::from(self.classes.of(byte));
        // Acquire pairs with the release of whoever stored it: the next state's row is there.
        let cell = self.cells.get(class)?.load(Ordering::Acquire);
        (cell != UNKNOWN).then_some(Step(cell))
    }
}

/// A known transition: [`DEAD`], or twice the next state + 1, plus 1 if that accepts.
#[derive(Clone, Copy)]
pub(crate) struct Step(u32);

impl Step {
    /// The next state and whether it accepts.
    #[inline]
    pub(crate) fn next(self) -> Option<(u32, bool)> {
        (self.0 != DEAD).then(|| ((self.0 >> 1) - 1, self.0 & 1 != 0))
    }
}

impl Store {
    pub(crate) fn new(limits: &AutomatonLimits) -> Store {
        let max_memory =
            (limits.max_states as usize).saturating_mul(MEMORY_PER_STATE).saturating_add(BASE_MEMORY);
        let arena = Arena::new(limits.max_residue_size, max_memory);
        Store {
            id: next_id(),
            max_states: limits.max_states,
            rows: Rows::new(),
            byte_sets: Rows::new(),
            key_bytes: AtomicU32::new(u32::MAX),
            shared: Mutex::new(Shared::new(Residues::new(arena, limits.liveness_fuel))),
            searched: Condvar::new(),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// See [`AutomatonStore::residue`](crate::AutomatonStore::residue).
    pub(crate) fn residue(&self, state: u32, max_size: usize) -> Option<Regex> {
        let node = self.row(state)?.node;
        self.lock_shared().residues.arena.regex(node, max_size)
    }

    pub(crate) fn n_states(&self) -> usize {
        self.lock_shared().n_states as usize
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let shared = self.lock_shared();
        size_of::<Store>()
            + shared.residues.arena.memory()
            + shared.byte_set_ids.len() * 3 * size_of::<(ByteSet, u32)>()
    }

    /// The start state of `regex`; `None` if its language is empty.
    pub(crate) fn enter(
        &self,
        regex: &Regex,
        account: &Account,
        fuel: &Fuel,
    ) -> Result<Option<u32>, AutomatonError> {
        let start = {
            let mut locked = self.lock(account);
            let root = lower(&mut locked, regex, fuel)?;
            let limit = locked.residues().liveness_fuel();
            match is_alive(&mut locked, root, limit, Some(fuel))? {
                true => Some(self.state_of(&mut locked, root)?),
                false => None,
            }
        };
        fuel.look()?;
        Ok(start)
    }

    #[inline]
    pub(crate) fn row(&self, state: u32) -> Option<&Row> {
        self.rows.get(state as usize)?.get()
    }

    #[inline]
    pub(crate) fn is_accepting(&self, state: u32) -> bool {
        self.row(state).is_some_and(|row| row.is_accepting)
    }

    /// The transition of `row` by `byte`, made if it is not known.
    #[cold]
    pub(crate) fn fill(
        &self,
        row: &Row,
        byte: u8,
        account: &Account,
        effort: Effort,
    ) -> Result<Step, AutomatonError> {
        self.fill_class(&mut self.lock(account), row, row.classes.of(byte), effort)
    }

    fn fill_class(
        &self,
        locked: &mut Locked<'_>,
        row: &Row,
        class: u8,
        effort: Effort,
    ) -> Result<Step, AutomatonError> {
        let cell = &row.cells[usize::from(class)];
        let known = cell.load(Ordering::Acquire);
        if known != UNKNOWN {
            return Ok(Step(known));
        }
        let residues = &mut locked.residues();
        meter::spend(u64::from(residues.arena.entry(row.node).cost) + NEW_STATE)?;
        let next = residues.arena.derivative(row.node, row.classes.representative(class))?;
        let limit = residues.liveness_fuel();
        let is_alive = match effort {
            Effort::AtOnce if limit > AT_ONCE => match is_alive(locked.residues(), next, AT_ONCE, None) {
                Err(error) if error.is_search() => return Err(AutomatonError::unsearched()),
                decided => decided?,
            },
            _ => is_alive(locked, next, limit, None)?,
        };
        let residues = locked.residues();
        let step = match is_alive {
            true => {
                let is_accepting = residues.arena.is_nullable(next);
                (self.state_of(locked, next)? + 1) << 1 | u32::from(is_accepting)
            }
            false => DEAD,
        };
        cell.store(step, Ordering::Release);
        Ok(Step(step))
    }

    pub(crate) fn next_bytes(
        &self,
        state: u32,
        account: &Account,
        effort: Effort,
    ) -> Result<ByteSet, AutomatonError> {
        let Some(row) = self.row(state) else { return Ok(ByteSet::EMPTY) };
        self.bytes_where(row, &row.next_bytes, account, effort, |_| true)
    }

    /// The bytes that lead from a state to itself.
    pub(crate) fn loop_bytes(&self, state: u32, account: &Account) -> Result<ByteSet, AutomatonError> {
        let Some(row) = self.row(state) else { return Ok(ByteSet::EMPTY) };
        self.bytes_where(row, &row.loop_bytes, account, Effort::Full, |next| next == state)
    }

    /// The bytes that lead to a state of which `holds` holds, remembered in `memo`.
    fn bytes_where(
        &self,
        row: &Row,
        memo: &AtomicU32,
        account: &Account,
        effort: Effort,
        holds: impl Fn(u32) -> bool,
    ) -> Result<ByteSet, AutomatonError> {
        let known = memo.load(Ordering::Acquire);
        if known != UNKNOWN {
            let set = self.byte_sets.get(known as usize - 1).and_then(OnceLock::get);
            return Ok(*set.expect("a set is stored before its number is"));
        }
        let mut locked = self.lock(account);
        self.adopt_transitions(&mut locked, row, effort)?;
        let mut bytes = ByteSet::EMPTY;
        for class in row.classes.iter() {
            let next = self.fill_class(&mut locked, row, class, effort)?.next();
            if next.is_some_and(|(next, _)| holds(next)) {
                bytes = bytes.union(row.classes.set(class));
            }
        }
        let ids = &mut locked.shared.byte_set_ids;
        let fresh = ids.len() as u32;
        let number = *ids.entry(bytes).or_insert(fresh);
        self.byte_sets.get_or_grow(number as usize).get_or_init(|| bytes);
        memo.store(number + 1, Ordering::Release);
        Ok(bytes)
    }

    pub(crate) fn row_key(
        &self,
        state: u32,
        max_bytes: u32,
        account: &Account,
    ) -> Result<u32, AutomatonError> {
        let Some(row) = self.row(state) else { return Ok(state) };
        if row.span <= u64::from(max_bytes) {
            return Ok(state);
        }
        let first =
            self.key_bytes.compare_exchange(u32::MAX, max_bytes, Ordering::Relaxed, Ordering::Relaxed);
        let is_first = first.is_ok() || first == Err(max_bytes);
        if is_first {
            let known = row.key.load(Ordering::Acquire);
            if known != UNKNOWN {
                return Ok(known - 2);
            }
        }
        let mut locked = self.lock(account);
        meter::spend(u64::from(locked.residues().arena.entry(row.node).cost) + NEW_STATE)?;
        let key = saturate(&mut locked, row.node, max_bytes)?;
        let key = self.state_of(&mut locked, key)?;
        if is_first {
            row.key.store(key + 2, Ordering::Release);
        }
        Ok(key)
    }

    pub(crate) fn base(&self, state: u32, account: &Account) -> Result<Option<u32>, AutomatonError> {
        let Some(row) = self.row(state) else { return Ok(None) };
        match row.base.load(Ordering::Acquire) {
            UNKNOWN => {}
            NO_BASE => return Ok(None),
            known => return Ok(Some(known - 2)),
        }
        let mut locked = self.lock(account);
        let arena = &mut locked.residues().arena;
        let base = match arena.base(row.node)? {
            Some(base) => {
                // It contains the residue of a state, which has a word.
                arena.set_alive(base, true);
                Some(self.state_of(&mut locked, base)?)
            }
            None => None,
        };
        row.base.store(base.map_or(NO_BASE, |base| base + 2), Ordering::Release);
        Ok(base)
    }

    /// The core of a state and the bytes that its words end with.
    pub(crate) fn core(
        &self,
        state: u32,
        account: &Account,
    ) -> Result<Option<(u32, ByteSet)>, AutomatonError> {
        let Some(row) = self.row(state) else { return Ok(None) };
        let mut locked = self.lock(account);
        let arena = &mut locked.residues().arena;
        let Some((core, ends)) = arena.core(row.node)? else { return Ok(None) };
        arena.set_alive(core, true);
        Ok(Some((self.state_of(&mut locked, core)?, ends)))
    }

    /// Fills those transitions of a residue with exceptions that no exception can read: they are its base's.
    /// Whoever needs all transitions is spared most derivatives, where the base is a state already; none is
    /// made for it.
    fn adopt_transitions(
        &self,
        locked: &mut Locked<'_>,
        row: &Row,
        effort: Effort,
    ) -> Result<(), AutomatonError> {
        let arena = &mut locked.residues().arena;
        let Some(exceptions) = arena.exception_bytes(row.node) else { return Ok(()) };
        let Some(base) = arena.base(row.node)?.and_then(|base| arena.state(base)) else { return Ok(()) };
        let Some(base) = self.row(base) else { return Ok(()) };
        for class in row.classes.iter() {
            let byte = row.classes.representative(class);
            if !exceptions.contains(byte) {
                let Step(step) = self.fill_class(locked, base, base.classes.of(byte), effort)?;
                row.cells[usize::from(class)].store(step, Ordering::Release);
            }
        }
        Ok(())
    }

    pub(crate) fn shortest_word(&self, from: u32, account: &Account) -> Result<Vec<u8>, AutomatonError> {
        let Some(row) = self.row(from) else { return Ok(Vec::new()) };
        let word = shortest_word(&mut self.lock(account), row.node)?;
        Ok(word.expect("a state's residue has a word"))
    }

    pub(crate) fn describe(&self, state: u32, max_length: usize) -> String {
        let Some(row) = self.row(state) else { return String::new() };
        self.lock_shared().residues.arena.show(row.node, max_length)
    }

    fn lock<'a>(&'a self, account: &'a Account) -> Locked<'a> {
        Locked::new(self.lock_shared(), &self.searched, account)
    }

    /// A panic of another thread leaves nothing half-done that matters: nodes and states are appended whole.
    fn lock_shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }

    /// The state of a living residue.
    fn state_of(&self, locked: &mut Locked<'_>, node: NodeId) -> Result<u32, AutomatonError> {
        if let Some(state) = locked.residues().arena.state(node) {
            return Ok(state);
        }
        let state = locked.shared.n_states;
        if locked.account.n_states() >= self.max_states as usize {
            return Err(AutomatonError::limit(STATES, u64::from(self.max_states)));
        }
        if state >= MAX_STATES {
            return Err(AutomatonError::limit("states in its store", u64::from(MAX_STATES)));
        }
        let arena = &mut locked.residues().arena;
        let classes = arena.classes(node)?;
        arena.charge(size_of::<OnceLock<Row>>() + classes.len() * size_of::<AtomicU32>() + 16)?;
        arena.set_state(node, state);
        let entry = arena.entry(node);
        let row = Row {
            node,
            is_accepting: entry.nullable,
            span: entry.span,
            cells: (0..classes.len()).map(|_| AtomicU32::new(UNKNOWN)).collect(),
            classes,
            next_bytes: AtomicU32::new(UNKNOWN),
            loop_bytes: AtomicU32::new(UNKNOWN),
            key: AtomicU32::new(UNKNOWN),
            base: AtomicU32::new(UNKNOWN),
        };
        self.rows.get_or_grow(state as usize).get_or_init(|| row);
        locked.shared.n_states += 1;
        locked.account.n_states.fetch_add(1, Ordering::Relaxed);
        Ok(state)
    }
}
