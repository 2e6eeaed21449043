//! The rows of a compiler's grammars, each made once, outside of any lock.

use std::sync::{Arc, OnceLock};

use maskwright_automata::{Automaton, AutomatonError, ByteSet, Fuel, StateId};
use maskwright_vocabulary::{Trie, Vocabulary};

use super::once::{OncePerKey, Weigh};
use super::plain::ExitLists;
use super::{BeyondRow, CountedKey, CountedRow, LongTokens, MinusRow, PlainRow, Row};
use crate::Options;
use crate::ground::hooks;

/// How often the key of a key is taken.
const MAX_KEYS: usize = 2;

/// A residue, in any store.
type ResidueKey = (u64, StateId);

/// What makes rows, and those that were made.
pub(crate) struct Rows {
    vocabulary: Arc<Vocabulary>,
    options: Options,
    residues: OncePerKey<ResidueKey, Row>,
    counted: OncePerKey<CountedKey, Arc<CountedRow>>,
    /// By the address of the trie of exits, which the row keeps from being another's, and residue.
    beyond: OncePerKey<(usize, ResidueKey), Arc<BeyondRow>>,
    long_tokens: OnceLock<LongTokens>,
    exit_lists: ExitLists,
}

/// What [`Rows::look_up`] finds.
pub(crate) enum Lookup {
    /// Few tokens can match, so there is no row.
    Light,
    Known(Row),
    Missing,
}

/// A row made elsewhere, by what it is found.
pub(crate) enum KnownRow {
    Plain(ResidueKey, Arc<PlainRow>),
    Counted(CountedKey, Arc<CountedRow>),
}

impl Weigh for Row {
    fn weight(&self) -> usize {
        self.memory_usage()
    }
}

impl Weigh for Arc<CountedRow> {
    fn weight(&self) -> usize {
        self.memory_usage()
    }
}

impl Weigh for Arc<BeyondRow> {
    fn weight(&self) -> usize {
        self.memory_usage()
    }
}

impl Rows {
    /// No rows; at most about `max_bytes` of them are kept: three quarters for residues, the rest for what
    /// they share.
    pub(crate) fn new(vocabulary: Arc<Vocabulary>, options: Options, max_bytes: usize) -> Rows {
        Rows {
            vocabulary,
            options,
            residues: OncePerKey::new(max_bytes / 4 * 3),
            counted: OncePerKey::new(max_bytes / 8),
            beyond: OncePerKey::new(max_bytes / 8),
            long_tokens: OnceLock::new(),
            exit_lists: ExitLists::default(),
        }
    }

    /// The row of a residue, made if it is not there; `None` if few tokens can match it, so that walking the
    /// token trie is cheaper. `fuel` looks while another thread makes the row.
    ///
    /// # Errors
    /// If a limit is reached, or the work is cancelled.
    pub(crate) fn get_if_heavy(
        &self,
        automaton: &Automaton,
        residue: StateId,
        fuel: Option<&Fuel>,
    ) -> Result<Option<Row>, AutomatonError> {
        if automaton.is_literal_like() {
            return Ok(None);
        }
        if let Some(row) = self.residues.get(&automaton.residue_key(residue)) {
            return Ok(Some(row));
        }
        match self.is_heavy_after(automaton.next_bytes(residue)?) {
            true => self.get_with(automaton, residue, fuel).map(Some),
            false => Ok(None),
        }
    }

    /// The row of a residue, made if it is not there.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn get(&self, automaton: &Automaton, residue: StateId) -> Result<Row, AutomatonError> {
        self.get_with(automaton, residue, None)
    }

    /// What is known of a residue's row. A long search for a word is left to the thread that makes the row.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn look_up(&self, automaton: &Automaton, residue: StateId) -> Result<Lookup, AutomatonError> {
        if automaton.is_literal_like() {
            return Ok(Lookup::Light);
        }
        if let Some(row) = self.residues.get(&automaton.residue_key(residue)) {
            return Ok(Lookup::Known(row));
        }
        if let Some((family, window)) = automaton.window(residue).filter(|_| self.options.use_counts) {
            let (unit, suffix) = family.key();
            let known = self.counted.get(&(unit.clone(), suffix.into(), window.unit_state));
            return Ok(known.map_or(Lookup::Missing, |row| Lookup::Known(Row::Counted(row, window.into()))));
        }
        match automaton.try_next_bytes(residue) {
            Ok(bytes) if !self.is_heavy_after(bytes) => Ok(Lookup::Light),
            Err(error) if !error.is_unsearched() => Err(error),
            _ => Ok(Lookup::Missing),
        }
    }

    /// Whether tokens that begin with `bytes` are so many that a residue with these next bytes has a row.
    fn is_heavy_after(&self, bytes: ByteSet) -> bool {
        let trie = self.vocabulary.trie();
        let children = bytes.iter().filter_map(|byte| trie.child(Trie::ROOT, byte));
        children.map(|child| trie.subtree_nodes(child)).sum::<usize>() > self.options.light_nodes
    }

    fn get_with(
        &self,
        automaton: &Automaton,
        residue: StateId,
        fuel: Option<&Fuel>,
    ) -> Result<Row, AutomatonError> {
        if let Some((family, window)) = automaton.window(residue).filter(|_| self.options.use_counts) {
            let (unit, suffix) = family.key();
            let key = (unit.clone(), suffix.into(), window.unit_state);
            let make = || Ok(Arc::new(CountedRow::new(&self.vocabulary, &family, window.unit_state)));
            let row = self.counted.get_or_make::<AutomatonError>(&key, fuel, make)?;
            return Ok(Row::Counted(row, window.into()));
        }
        let make = || {
            hooks::reach("row");
            if let Some(row) = self.minus_base(automaton, residue)? {
                return Ok(row);
            }
            let mut row = match self.near_row(automaton, residue)? {
                Some(row) => row,
                None => PlainRow::new(&self.vocabulary, automaton, residue, self.options.max_exits)?,
            };
            row.share_exits(&self.exit_lists);
            Ok(Row::Plain(Arc::new(row)))
        };
        self.residues.get_or_make::<AutomatonError>(&automaton.residue_key(residue), fuel, make)
    }

    /// The row of a residue as a difference from its base's row. A base has fewer exceptions, so no row needs
    /// itself.
    fn minus_base(&self, automaton: &Automaton, residue: StateId) -> Result<Option<Row>, AutomatonError> {
        let base_state = if self.options.use_differences { automaton.base(residue)? } else { None };
        let Some(base_state) = base_state else { return Ok(None) };
        let Row::Plain(base) = self.get(automaton, base_state)? else { return Ok(None) };
        let row = MinusRow::new(self.vocabulary.trie(), automaton, residue, base_state, &base)?;
        Ok(row.map(|row| Row::Minus(Arc::new(row))))
    }

    /// The row of a residue from that of its key for short tokens, which is its own key.
    fn near_row(&self, automaton: &Automaton, residue: StateId) -> Result<Option<PlainRow>, AutomatonError> {
        let short_bytes = self.options.short_bytes;
        let mut near_state = automaton.row_key(residue, short_bytes)?;
        // A key is mostly its own key; what a cut leaves may be counted together and cut again.
        for _ in 0..MAX_KEYS {
            near_state = automaton.row_key(near_state, short_bytes)?;
        }
        if near_state == residue || automaton.row_key(near_state, short_bytes)? != near_state {
            return Ok(None);
        }
        let Row::Plain(near) = self.get(automaton, near_state)? else { return Ok(None) };
        let long = self.long_tokens.get_or_init(|| LongTokens::new(&self.vocabulary, short_bytes));
        long.row_from(&self.vocabulary, automaton, residue, &near, self.options.max_exits)
    }

    /// What a residue says about the exits of a row, made if it is not there.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn beyond(
        &self,
        exits: &Arc<Trie>,
        automaton: &Automaton,
        residue: StateId,
    ) -> Result<Arc<BeyondRow>, AutomatonError> {
        let key = (Arc::as_ptr(exits).addr(), automaton.residue_key(residue));
        self.beyond.get_or_make(&key, None, || {
            let max_exits = self.options.max_exits;
            BeyondRow::new(&self.vocabulary, exits, automaton, residue, max_exits).map(Arc::new)
        })
    }

    /// The rows that can be written down: plain ones of residues in the store of the given number, and
    /// counted ones.
    #[allow(clippy::type_complexity, reason = "two lists, each with its keys")]
    pub(crate) fn plain_and_counted(
        &self,
        store: u64,
    ) -> (Vec<(StateId, Arc<PlainRow>)>, Vec<(CountedKey, Arc<CountedRow>)>) {
        let plain = self.residues.all().into_iter().filter_map(|((store_id, state), row)| match row {
            Row::Plain(row) if store_id == store => Some((state, row)),
            _ => None,
        });
        (plain.collect(), self.counted.all())
    }

    /// Adds a row; whether there was none. `None` if there is no room for it.
    pub(crate) fn add(&self, row: KnownRow) -> Option<bool> {
        match row {
            KnownRow::Plain(key, row) => self.residues.add(key, Row::Plain(row)),
            KnownRow::Counted(key, row) => self.counted.add(key, row),
        }
    }

    pub(crate) fn clear(&self) {
        self.residues.clear();
        self.counted.clear();
        self.beyond.clear();
    }

    /// Approximate memory of the rows, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.residues.memory_usage() + self.counted.memory_usage() + self.beyond.memory_usage()
    }
}
