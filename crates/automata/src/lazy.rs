//! The lazily determinised automaton behind [`Automaton`](crate::Automaton): a start state in a store, and
//! an account of what was added to it.

use std::sync::Arc;

use crate::locked::Account;
use crate::store::{Effort, Row, Step, Store};
use crate::{AutomatonError, ByteSet, Fuel, Regex};

pub(crate) struct Lazy {
    store: Arc<Store>,
    account: Account,
    start: Option<u32>,
}

impl Lazy {
    pub(crate) fn new(store: Arc<Store>, regex: &Regex, fuel: &Fuel) -> Result<Lazy, AutomatonError> {
        let account = Account::default();
        let start = store.enter(regex, &account, fuel)?;
        Ok(Lazy { store, account, start })
    }

    pub(crate) fn store_id(&self) -> u64 {
        self.store.id()
    }

    pub(crate) fn start(&self) -> Option<u32> {
        self.start
    }

    /// A state of another store may have none.
    #[inline]
    pub(crate) fn row(&self, state: u32) -> Option<&Row> {
        self.store.row(state)
    }

    /// The next state and whether it accepts.
    #[inline]
    pub(crate) fn step(&self, row: &Row, byte: u8) -> Result<Option<(u32, bool)>, AutomatonError> {
        self.step_with(row, byte, Effort::Full)
    }

    #[inline]
    pub(crate) fn step_with(
        &self,
        row: &Row,
        byte: u8,
        effort: Effort,
    ) -> Result<Option<(u32, bool)>, AutomatonError> {
        match row.known(byte) {
            Some(step) => Ok(step.next()),
            None => self.store.fill(row, byte, &self.account, effort).map(Step::next),
        }
    }

    #[inline]
    pub(crate) fn is_accepting(&self, state: u32) -> bool {
        self.store.is_accepting(state)
    }

    pub(crate) fn next_bytes(&self, state: u32, effort: Effort) -> Result<ByteSet, AutomatonError> {
        self.store.next_bytes(state, &self.account, effort)
    }

    pub(crate) fn loop_bytes(&self, state: u32) -> Result<ByteSet, AutomatonError> {
        self.store.loop_bytes(state, &self.account)
    }

    pub(crate) fn row_key(&self, state: u32, max_bytes: u32) -> Result<u32, AutomatonError> {
        self.store.row_key(state, max_bytes, &self.account)
    }

    pub(crate) fn base(&self, state: u32) -> Result<Option<u32>, AutomatonError> {
        self.store.base(state, &self.account)
    }

    pub(crate) fn core(&self, state: u32) -> Result<Option<(u32, ByteSet)>, AutomatonError> {
        self.store.core(state, &self.account)
    }

    pub(crate) fn shortest_word(&self, from: u32) -> Result<Vec<u8>, AutomatonError> {
        self.store.shortest_word(from, &self.account)
    }

    pub(crate) fn n_states(&self) -> usize {
        self.account.n_states()
    }

    pub(crate) fn memory_usage(&self) -> usize {
        size_of::<Lazy>() + self.account.memory()
    }

    pub(crate) fn describe(&self, state: u32, max_length: usize) -> String {
        self.store.describe(state, max_length)
    }
}
