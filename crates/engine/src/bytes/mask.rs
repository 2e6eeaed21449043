//! The mask of a configuration.
//!
//! mask(c) contains t iff some thread of c reads all bytes of t. Threads with the same residue share a row:
//! its inside is allowed whatever follows, and its exits are walked once, as a trie, with the configuration
//! that stands after the terminal. Residues that few tokens can match (a key of an object) have no row; the
//! token trie is walked with them directly, which visits about as many nodes as the literal has bytes; a
//! single word is followed without making configurations on the way.
//!
//! An example: after `"name": "Jo` in a string, the row of the string's residue has inside every token of
//! plain text; a token `n",` exits with the remainder `,`, which is allowed if the grammar reads a comma
//! after the string.
//!
//! The naive twin (`Options::use_rows` off) walks the whole token trie with the whole configuration.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use maskwright_automata::{Automaton, ByteSet, StateId, meter};
use maskwright_grammar::TerminalId;
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId};
use rustc_hash::FxHashMap;

use super::{BytesReader, FoundAfter, bytes_of};
use crate::EngineError;
use crate::ground::{ExitRows, MaskBuilder, MaskForm, hooks};
use crate::parser::{ConfigId, Parser, Thread, follow};
use crate::rows::{BeyondExits, Exits, Lookup, Row};
use crate::shared::Shared;

/// The most rows over exits that one row's exits ask for.
const MAX_EXIT_ROWS: usize = 64;

/// Units of work that a byte takes where it is looked up what comes after it.
const UNITS_PER_LOOK: u64 = 4;

/// What comes after tokens.
pub(crate) enum After<'a> {
    /// Any residue of the terminal that these threads read.
    Inside(&'a [Thread]),
    At(ConfigId),
}

/// The rows that a mask lacks.
#[derive(Default)]
pub(crate) struct WantedRows(Vec<WantedRow>);

/// A row, and the bytes that may come after its terminal, if any may.
struct WantedRow {
    automaton: Arc<Automaton>,
    residue: StateId,
    follow: Option<ByteSet>,
}

impl WantedRows {
    /// Makes the rows, and those of their exits that the mask asks for; waits if another thread is doing so.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn make(&self, shared: &Shared) -> Result<(), EngineError> {
        for WantedRow { automaton, residue, follow } in &self.0 {
            let located = EngineError::in_terminal(automaton);
            let row = shared.rows.get_if_heavy(automaton, *residue, None).map_err(located)?;
            if let (Some(row), Some(follow)) = (row, *follow) {
                let max_exits = shared.options.max_exits;
                row.exits_on(follow, &shared.vocabulary, automaton, *residue, max_exits).map_err(located)?;
            }
        }
        Ok(())
    }
}

impl BytesReader {
    /// The mask of `config`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn mask_of_config(&mut self, config: ConfigId) -> Result<Arc<MaskForm>, EngineError> {
        if !self.parser.shared.options.use_memo {
            self.parser.begin_work()?;
            return Ok(Arc::new(self.compute_mask(config)?));
        }
        let key = mask_key(&mut self.parser, config)?;
        if let Some(known) = self.memo.masks.get(&key) {
            return Ok(known.clone());
        }
        self.parser.begin_work()?;
        let form = Arc::new(self.compute_mask(key)?);
        self.memo.n_bytes += form.memory_usage() + 64;
        self.memo.masks.insert(key, form.clone());
        Ok(form)
    }

    /// What the mask of `config` lacks. It is to be [made](WantedRows::make) beforehand, without the lock of
    /// the machine, so that other sessions need not wait; a mask that misses something makes it itself.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn wanted(&mut self, config: ConfigId) -> Result<WantedRows, EngineError> {
        let options = self.parser.shared.options;
        let mut wanted = WantedRows::default();
        if !options.use_rows {
            return Ok(wanted);
        }
        let key = if options.use_memo { mask_key(&mut self.parser, config)? } else { config };
        if self.memo.masks.contains_key(&key) {
            return Ok(wanted);
        }
        let threads = self.parser.configs.threads(key).to_vec();
        for group in threads.chunk_by(Thread::reads_alike) {
            let Thread { terminal, residue, .. } = group[0];
            let automaton = self.parser.automaton(terminal).clone();
            let known = match self.parser.shared.rows.look_up(&automaton, residue) {
                Ok(Lookup::Light) => continue,
                Ok(Lookup::Known(row)) if row.lists_all_exits() && row.knows_exits_on(ByteSet::FULL) => {
                    continue;
                }
                Ok(Lookup::Known(row)) => Some(row),
                Ok(Lookup::Missing) => None,
                Err(error) => return Err(EngineError::in_terminal(&automaton)(error)),
            };
            let after = self.parser.threads_after(group)?;
            let follow = if after.is_empty() { None } else { Some(bytes_of(&self.parser, &after)?) };
            let knows_exits = |row: Row| follow.is_none_or(|follow| row.knows_exits_on(follow));
            if !known.is_some_and(knows_exits) {
                wanted.0.push(WantedRow { automaton, residue, follow });
            }
        }
        Ok(wanted)
    }

    /// Visits what comes after each of the tokens that the mask of `config` has, perhaps after others too,
    /// until `visit` returns `false`. Returns whether it never did, and all were visited.
    ///
    /// # Errors
    /// Those of `visit`, or if a limit is reached.
    pub(crate) fn visit_after(
        &mut self,
        config: ConfigId,
        mut visit: impl FnMut(&mut BytesReader, After<'_>) -> Result<bool, EngineError>,
    ) -> Result<bool, EngineError> {
        if !self.parser.shared.options.use_rows {
            return Ok(false);
        }
        self.parser.begin_work()?;
        let shared = self.parser.shared.clone();
        let threads = self.parser.configs.threads(config).to_vec();
        let mut light: Vec<Thread> = Vec::new();
        for group in threads.chunk_by(Thread::reads_alike) {
            let Thread { terminal, residue, .. } = group[0];
            let Some(row) = row(&self.parser, terminal, residue)? else {
                light.extend(group);
                continue;
            };
            if !visit(self, After::Inside(group))? {
                return Ok(false);
            }
            let mut after = self.parser.threads_after(group)?;
            let Some(exits) = self.exits(&row, group[0], &after)? else {
                light.extend(group);
                continue;
            };
            let Some(after) = self.parser.intern(&mut after, false)? else { continue };
            if !self.visit_ends(&exits.trie, after, |reader, _, next| visit(reader, After::At(next)))? {
                return Ok(false);
            }
        }
        match self.parser.intern(&mut light, false)? {
            Some(light) => self.visit_ends(shared.vocabulary.trie(), light, |reader, _, next| {
                visit(reader, After::At(next))
            }),
            None => Ok(true),
        }
    }

    /// Visits the tokens of `trie` that `config` can read, each with the configuration after it, until
    /// `visit` returns `false`. Returns whether it never did.
    ///
    /// # Errors
    /// Those of `visit`, or if a limit is reached.
    pub(crate) fn visit_ends(
        &mut self,
        trie: &Trie,
        config: ConfigId,
        mut visit: impl FnMut(&mut BytesReader, &[TokenId], ConfigId) -> Result<bool, EngineError>,
    ) -> Result<bool, EngineError> {
        let mut stack = vec![(Trie::ROOT, config)];
        while let Some((node, config)) = stack.pop() {
            let bytes = self.next_bytes(config)?;
            meter::spend(UNITS_PER_LOOK * trie.n_children(node) as u64)?;
            for (byte, child) in trie.children(node) {
                if !bytes.contains(byte) {
                    continue;
                }
                let Some(next) = self.step(config, byte)? else { continue };
                if !trie.tokens(child).is_empty() && !visit(self, trie.tokens(child), next)? {
                    return Ok(false);
                }
                if trie.n_children(child) > 0 {
                    stack.push((child, next));
                }
            }
        }
        Ok(true)
    }

    fn compute_mask(&mut self, config: ConfigId) -> Result<MaskForm, EngineError> {
        hooks::reach("mask");
        let vocabulary = self.parser.shared.vocabulary.clone();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        if self.parser.configs.is_accepting(config) {
            mask.insert_all(vocabulary.eos_token_ids());
        }
        if !self.parser.shared.options.use_rows {
            self.walk(vocabulary.trie(), Trie::ROOT, config, |tokens| mask.insert_all(tokens))?;
            return Ok(mask.finish());
        }
        let threads = self.parser.configs.threads(config).to_vec();
        let mut light: Vec<Thread> = Vec::new();
        for group in threads.chunk_by(Thread::reads_alike) {
            let Thread { terminal, residue, .. } = group[0];
            let Some(row) = row(&self.parser, terminal, residue)? else {
                light.extend(group);
                continue;
            };
            row.add_inside(&mut mask);
            if !self.walk_exits(&row, group, &mut mask)? {
                light.extend(group);
            }
        }
        self.find_words(&mut light, &mut mask)?;
        self.find(vocabulary.trie(), &light, |tokens| mask.insert_all(tokens))?;
        Ok(mask.finish())
    }

    /// Adds the tokens that begin with words which no byte has been read of, and takes those out of `light`.
    /// Keys that may come stay the same from one place in an object to the next, so what lies along them is
    /// kept.
    fn find_words(&mut self, light: &mut Vec<Thread>, mask: &mut MaskBuilder) -> Result<(), EngineError> {
        let vocabulary = self.parser.shared.vocabulary.clone();
        let mut others: Vec<Thread> = Vec::new();
        for group in light.chunk_by(Thread::reads_alike) {
            let Some(word) = self.parser.word_at_start(group[0]) else {
                others.extend(group);
                continue;
            };
            mask.insert_all(&word.tokens);
            if let Some(end) = word.end {
                self.walk_behind(vocabulary.trie(), end, group, |tokens| mask.insert_all(tokens))?;
            }
        }
        *light = others;
        Ok(())
    }

    /// The exits of the row of `thread`'s residue that threads `after` the terminal may read, perhaps others
    /// too; `None` if there are too many to list.
    fn exits(
        &mut self,
        row: &Row,
        Thread { terminal, residue, .. }: Thread,
        after: &[Thread],
    ) -> Result<Option<Exits>, EngineError> {
        let follow = if row.lists_all_exits() { ByteSet::FULL } else { bytes_of(&self.parser, after)? };
        let shared = &self.parser.shared;
        let automaton = self.parser.automaton(terminal);
        row.exits_on(follow, &shared.vocabulary, automaton, residue, shared.options.max_exits)
            .map_err(EngineError::in_terminal(automaton))
    }

    /// Adds the exits of `row` that the grammar can read after the threads of `group`; `false` if there are
    /// too many exits to list.
    fn walk_exits(
        &mut self,
        row: &Row,
        group: &[Thread],
        mask: &mut MaskBuilder,
    ) -> Result<bool, EngineError> {
        let after = self.parser.threads_after(group)?;
        if after.is_empty() {
            return Ok(true);
        }
        let Some(exits) = self.exits(row, group[0], &after)? else { return Ok(false) };
        let mut n_rows = match self.parser.shared.options.exit_rows {
            ExitRows::Never => 0,
            ExitRows::IfKnown if !exits.are_known => 0,
            _ => MAX_EXIT_ROWS,
        };
        let mut found = Vec::new();
        self.find_beyond(&exits.trie, after, &mut n_rows, &mut found)?;
        exits.keep(&mut found);
        mask.insert_all(&found);
        Ok(true)
    }

    /// Finds the tokens of `exits` whose remainder `threads` (sorted) can read, some more than once. Of at
    /// most `n_rows` terminals the rows over those exits are asked for, and then what is after them; the
    /// others are walked: ambiguous grammars have any number of sequences of terminals for a token.
    fn find_beyond(
        &mut self,
        exits: &Arc<Trie>,
        threads: Vec<Thread>,
        n_rows: &mut usize,
        found: &mut Vec<TokenId>,
    ) -> Result<(), EngineError> {
        let mut others: Vec<Thread> = Vec::new();
        for group in threads.chunk_by(Thread::reads_alike) {
            let automaton = self.parser.automaton(group[0].terminal).clone();
            if *n_rows == 0 || automaton.is_literal_like() {
                others.extend(group);
                continue;
            }
            *n_rows -= 1;
            let row = self
                .parser
                .shared
                .rows
                .beyond(exits, &automaton, group[0].residue)
                .map_err(EngineError::in_terminal(&automaton))?;
            match &row.exits {
                BeyondExits::Nothing => found.extend_from_slice(&row.tokens),
                BeyondExits::Listed(beyond) => {
                    found.extend_from_slice(&row.tokens);
                    self.find_behind(beyond, group, n_rows, found)?;
                }
                BeyondExits::TooMany => others.extend(group),
            }
        }
        self.find(exits, &others, |tokens| found.extend_from_slice(tokens))
    }

    /// Finds the tokens of `exits` whose remainder can be read after the threads of `group`. What stands
    /// around an object is the same for all its properties, so what was found there is kept.
    fn find_behind(
        &mut self,
        exits: &Arc<Trie>,
        group: &[Thread],
        n_rows: &mut usize,
        found: &mut Vec<TokenId>,
    ) -> Result<(), EngineError> {
        let key = match group {
            &[thread] if self.parser.shared.options.use_memo => {
                Some((Arc::as_ptr(exits).addr(), (thread.next, thread.node)))
            }
            _ => None,
        };
        if let Some(known) = key.and_then(|key| self.memo.found_after.get(&key)) {
            found.extend_from_slice(&known.tokens);
            return Ok(());
        }
        let after = self.parser.threads_after(group)?;
        let n_before = found.len();
        self.find_beyond(exits, after, n_rows, found)?;
        if let Some(key) = key {
            let mut tokens = found.split_off(n_before);
            tokens.sort_unstable();
            tokens.dedup();
            found.extend_from_slice(&tokens);
            self.memo.n_bytes += 64 + tokens.len() * 4;
            self.memo
                .found_after
                .insert(key, FoundAfter { tokens: tokens.into(), _exits: Arc::downgrade(exits) });
        }
        Ok(())
    }

    /// Finds the tokens of `trie` that `threads` (sorted) can read, some more than once. As
    /// [`walk`](BytesReader::walk), but threads that read a single word (the keys of an object) follow it
    /// byte by byte, each by itself, and make no configuration before its end.
    ///
    /// Right because a configuration reads what its threads read. Only the first word is followed so: where
    /// readings are ambiguous, following each by itself would take time exponential in the token.
    fn find(
        &mut self,
        trie: &Trie,
        threads: &[Thread],
        mut found: impl FnMut(&[TokenId]),
    ) -> Result<(), EngineError> {
        let mut others: Vec<Thread> = Vec::new();
        for group in threads.chunk_by(Thread::reads_alike) {
            let automaton = self.parser.automaton(group[0].terminal);
            let Some(rest) = automaton.rest_of_word(group[0].residue) else {
                others.extend(group);
                continue;
            };
            if let Some(end) = follow(trie, rest, &mut found) {
                self.walk_behind(trie, end, group, &mut found)?;
            }
        }
        match self.parser.intern(&mut others, false)? {
            Some(others) => self.walk(trie, Trie::ROOT, others, found),
            None => Ok(()),
        }
    }

    /// Finds the tokens of `trie` below `start` that can be read after the threads of `group`.
    fn walk_behind(
        &mut self,
        trie: &Trie,
        start: TrieNodeId,
        group: &[Thread],
        found: impl FnMut(&[TokenId]),
    ) -> Result<(), EngineError> {
        let mut after = self.parser.threads_after(group)?;
        match self.parser.intern(&mut after, false)? {
            Some(after) => self.walk(trie, start, after, found),
            None => Ok(()),
        }
    }

    /// Finds the tokens of `trie` below `start` whose bytes from there on `config` can read, each once.
    fn walk(
        &mut self,
        trie: &Trie,
        start: TrieNodeId,
        config: ConfigId,
        mut found: impl FnMut(&[TokenId]),
    ) -> Result<(), EngineError> {
        let mut stack = vec![(start, config)];
        // By configuration and byte, the bytes after.
        let mut after: FxHashMap<(ConfigId, u8), ByteSet> = FxHashMap::default();
        while let Some((node, config)) = stack.pop() {
            meter::spend(trie.n_children(node) as u64)?;
            let bytes = self.next_bytes(config)?;
            for (byte, child) in trie.children(node) {
                if !bytes.contains(byte) {
                    continue;
                }
                found(trie.tokens(child));
                // `next_bytes` is exact, so a leaf needs no step, and where all children are leaves the bytes
                // are enough.
                match trie.height(child) {
                    Some(0) => {}
                    Some(1) => {
                        let bytes = match after.entry((config, byte)) {
                            Entry::Occupied(known) => *known.get(),
                            Entry::Vacant(unknown) => *unknown.insert(self.bytes_after(config, byte)?),
                        };
                        let leaves = trie.children(child).filter(|(byte, _)| bytes.contains(*byte));
                        leaves.for_each(|(_, leaf)| found(trie.tokens(leaf)));
                    }
                    _ => stack.extend(self.step(config, byte)?.map(|next| (child, next))),
                }
            }
        }
        Ok(())
    }
}

/// The configuration with every residue cut to its row key. Over the bytes of any one token both read
/// alike (`Automaton::row_key`), so their masks are equal, and a counted repetition far from its bounds
/// has one mask at all counts.
fn mask_key(parser: &mut Parser, config: ConfigId) -> Result<ConfigId, EngineError> {
    if let Some(key) = parser.configs.mask_key(config) {
        return Ok(key);
    }
    parser.begin_work()?;
    let max_bytes = parser.shared.vocabulary.max_token_bytes() as u32;
    let mut threads = parser.configs.threads(config).to_vec();
    let mut is_same = true;
    for thread in &mut threads {
        // What may be read does not depend on it.
        is_same &= thread.n_left == 0;
        thread.n_left = 0;
        let automaton = parser.automaton(thread.terminal);
        if automaton.is_literal_like() {
            continue;
        }
        let key =
            automaton.row_key(thread.residue, max_bytes).map_err(EngineError::in_terminal(automaton))?;
        is_same &= key == thread.residue;
        thread.residue = key;
    }
    let key = if is_same {
        config
    } else {
        let is_accepting = parser.configs.is_accepting(config);
        parser.intern(&mut threads, is_accepting)?.unwrap_or(config)
    };
    parser.configs.set_mask_key(config, key);
    Ok(key)
}

/// The row of a residue, from the compiler's cache; `None` if few tokens can match it.
fn row(parser: &Parser, terminal: TerminalId, residue: StateId) -> Result<Option<Row>, EngineError> {
    let automaton = parser.automaton(terminal);
    let located = EngineError::in_terminal(automaton);
    parser.shared.rows.get_if_heavy(automaton, residue, None).map_err(located)
}
