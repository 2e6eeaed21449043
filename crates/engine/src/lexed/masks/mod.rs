//! The mask of a lexed configuration: the tokens that may come next.
//!
//! mask(c) contains t iff for some thread of c some reading of t by its hypothesis ends in a thread that has
//! a completion. [`Masks`] answers that with three caches, one on top of the other:
//!
//! 1. the [`row`] of a hypothesis lists the readings of all tokens by their sequence of terminals, so the
//!    parser is asked once per sequence, and viability once per sequence and kind of end;
//! 2. a [judgement](judgements) says what a row allows one thread of the parser, its stack cut off at a
//!    [horizon]. It is the same wherever the parser is at the same place of a rule;
//! 3. the masks themselves, by configuration, equal ones once.
//!
//! An example: in the middle of the name in `x = fo`, the row is that of "in a name". The token `o` stays
//! inside: it is allowed because the parser can read a name. The token `o)` is read as `NAME`, `")"`: the
//! judgement says that this depends on the stack, and the stack of this text has no open bracket.
//!
//! Under the contextual discipline a class that only free readings allow is left open (see the crate `scan`):
//! its tokens are read byte by byte. If the search for a completion after a token was given up, the token is
//! left out, and the mask says that it is a bound.
//!
//! The naive twin (`Options::use_rows` off) walks the whole token trie with the whole configuration.

mod horizon;
mod judgements;
mod parts;
mod readings;
mod row;
mod rows;

use std::sync::Arc;

use maskwright_automata::meter;
use maskwright_grammar::{Layout, TerminalId};
use maskwright_scan::bits::{Bits, contains, insert, intersects, n_words, subtract};
use maskwright_scan::{HypothesisId, LayoutId, LexerTables};
use maskwright_vocabulary::Trie;
use rustc_hash::{FxHashMap, FxHashSet};

use super::outlook::Outlook;
use super::places::LexedThread;
use super::states::{Settled, States};
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm, hooks};
use crate::parser::{ConfigId, Parser};
pub(super) use horizon::Horizon;
use judgements::{Found, Judge, Judgements, verdict};
use row::LexedRow;
use rows::Rows;

/// The tokens that are allowed.
#[derive(Clone)]
pub(crate) struct LexedMask {
    pub(crate) form: Arc<MaskForm>,
    /// Whether no other token is allowed.
    pub(crate) is_exact: bool,
}

/// The masks made so far, and what they are made from.
pub(crate) struct Masks {
    known: FxHashMap<ConfigId, LexedMask>,
    /// The masks of `known`, each once.
    forms: FxHashSet<Arc<MaskForm>>,
    /// By hypothesis, regime and terminal, the tokens after which the terminal is still to end.
    insides: FxHashMap<(HypothesisId, usize, TerminalId), Arc<MaskForm>>,
    judgements: Judgements,
    rows: Rows,
    memo_bytes: usize,
}

impl Masks {
    /// No mask yet.
    pub(super) fn new(tables: &LexerTables) -> Masks {
        Masks {
            known: FxHashMap::default(),
            forms: FxHashSet::default(),
            insides: FxHashMap::default(),
            judgements: Judgements::default(),
            rows: Rows::new(tables),
            memo_bytes: 0,
        }
    }

    /// The mask of `config`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn mask_of_config(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<LexedMask, EngineError> {
        if let Some(known) = self.known.get(&config) {
            return Ok(known.clone());
        }
        parser.begin_work()?;
        let (form, is_exact) = self.compute_mask(states, parser, config)?;
        let mut form = Arc::new(form);
        if parser.shared.options.use_memo {
            if let Some(known) = self.forms.get(&form) {
                form = known.clone();
            } else {
                self.memo_bytes += form.memory_usage() + 64;
                self.forms.insert(form.clone());
            }
            self.memo_bytes += 32;
            self.known.insert(config, LexedMask { form: form.clone(), is_exact });
        }
        Ok(LexedMask { form, is_exact })
    }

    /// The mask, and whether it is exact.
    fn compute_mask(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<(MaskForm, bool), EngineError> {
        hooks::reach("lexed mask");
        let vocabulary = parser.shared.vocabulary.clone();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        if states.configs.is_accepting(config) {
            mask.insert_all(vocabulary.eos_token_ids());
        }
        if !parser.shared.options.use_rows {
            let is_exact = walk(states, parser, config, &mut mask)?;
            return Ok((mask.finish(), is_exact));
        }
        let mut is_exact = true;
        for index in 0..states.configs.threads(config).len() {
            let thread = states.configs.threads(config)[index];
            is_exact &= self.add_thread(states, parser, config, thread, &mut mask)?;
        }
        Ok((mask.finish(), is_exact))
    }

    /// Adds the tokens that `thread`, one of `config`, continues with. Returns whether those are all.
    fn add_thread(
        &mut self,
        states: &mut States,
        parser: &mut Parser,
        config: ConfigId,
        thread: LexedThread,
        mask: &mut MaskBuilder,
    ) -> Result<bool, EngineError> {
        let outlook = &mut states.completions.outlook;
        let row = self.rows.row(outlook, parser, thread.hypothesis)?;
        let mut found = Found::nothing(&row);
        let unfinished = unfinished(outlook, parser, thread.parser);
        // What ends within a token may end the text or the line too, which no thread of the parser says.
        for end in &row.inside {
            if found.is_allowed(end.class)
                || !depends_on_more(outlook, thread.layout, end.hypothesis, &unfinished)?
            {
                continue;
            }
            match verdict(outlook, parser, LexedThread { hypothesis: end.hypothesis, ..thread })? {
                Some(true) => found.allow(end.class),
                Some(false) => {}
                None => found.leave_open(*end),
            }
        }
        let tables = outlook.places.tables().clone();
        let rules = tables.layout.as_ref();
        let is_nested = outlook.places.is_nested(thread.layout);
        let mut judge = Judge { outlook, parser };
        if let Some(rules) = rules.filter(|_| is_nested) {
            // The parser does not get this newline, so it is not the first terminal of any of its threads.
            self.judgements.add_ignored(&mut judge, thread, rules.newline, &mut found, mask)?;
        }
        let mut last = None;
        for index in 0..judge.parser.configs.threads(thread.parser).len() {
            let own = judge.parser.configs.threads(thread.parser)[index];
            let terminal = own.terminal;
            let is_made = |rules: &Layout| {
                [rules.indent, rules.dedent].contains(&terminal) || (is_nested && terminal == rules.newline)
            };
            if rules.is_some_and(is_made) {
                continue;
            }
            if last.replace(terminal) != Some(terminal)
                && !contains(&tables.hidden, terminal.index())
                && !contains(&unfinished, terminal.index())
            {
                self.add_inside(&mut judge, thread, terminal, &row, mask)?;
            }
            self.judgements.add(&mut judge, thread, own, &mut found, mask)?;
        }
        found.add_allowed(mask);
        let mut is_exact = true;
        for class in found.open_classes() {
            is_exact &= add_one_by_one(states, parser, config, &row.classes[class as usize], mask)?;
        }
        Ok(is_exact)
    }

    /// Adds the tokens after which `terminal` is the next that may end.
    fn add_inside(
        &mut self,
        judge: &mut Judge<'_>,
        thread: LexedThread,
        terminal: TerminalId,
        row: &LexedRow,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        let Judge { outlook, parser } = judge;
        let regime = usize::from(outlook.places.is_nested(thread.layout));
        let key = (thread.hypothesis, regime, terminal);
        if let Some(known) = self.insides.get(&key) {
            mask.union(known);
            return Ok(());
        }
        let mut found = Found::nothing(row);
        for end in &row.inside {
            let hypotheses = &mut outlook.places.points.hypotheses;
            let reads = outlook.scopes.viability().reads(hypotheses, end.hypothesis, regime)?;
            if contains(reads, terminal.index()) {
                found.allow(end.class);
            }
        }
        let mut inside = MaskBuilder::new(parser.shared.vocabulary.n_words());
        found.add_allowed(&mut inside);
        let inside = Arc::new(inside.finish());
        mask.union(&inside);
        if parser.shared.options.use_memo {
            self.memo_bytes += inside.memory_usage() + 64;
            self.insides.insert(key, inside);
        }
        Ok(())
    }

    /// Drops what is memoised. Rows have a limit of their own.
    pub(super) fn clear_memo(&mut self) {
        self.known = FxHashMap::default();
        self.forms = FxHashSet::default();
        self.insides = FxHashMap::default();
        self.judgements.clear();
        self.memo_bytes = 0;
    }

    /// Makes what a panic left in the middle of a call usable again; called after
    /// [`clear_memo`](Masks::clear_memo).
    pub(super) fn recover(&mut self, tables: &LexerTables) {
        self.rows.recover(tables);
    }

    pub(super) fn memo_bytes(&self) -> usize {
        self.memo_bytes + self.judgements.memo_bytes()
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.memo_bytes + self.judgements.memory_usage() + self.rows.memory_usage()
    }
}

/// Adds the tokens that some reading of `config` continues with, byte by byte. Returns whether those are all.
fn walk(
    states: &mut States,
    parser: &mut Parser,
    config: ConfigId,
    mask: &mut MaskBuilder,
) -> Result<bool, EngineError> {
    let vocabulary = parser.shared.vocabulary.clone();
    let mut is_exact = true;
    let trie = vocabulary.trie();
    let mut stack = vec![(Trie::ROOT, config)];
    while let Some((node, config)) = stack.pop() {
        meter::spend(trie.n_children(node) as u64)?;
        for (byte, child) in trie.children(node) {
            if let Some(next) = states.step_loosely(parser, config, byte)? {
                let tokens = trie.tokens(child);
                if !tokens.is_empty() {
                    match states.settle(parser, next)? {
                        Settled::Viable(_) => mask.insert_all(tokens),
                        Settled::Dead => {}
                        Settled::Undecided => is_exact = false,
                    }
                }
                if trie.n_children(child) > 0 {
                    stack.push((child, next));
                }
            }
        }
    }
    Ok(is_exact)
}

/// Adds the `tokens` that `config` continues with. Returns whether those are all. This takes searches.
fn add_one_by_one(
    states: &mut States,
    parser: &mut Parser,
    config: ConfigId,
    tokens: &MaskForm,
    mask: &mut MaskBuilder,
) -> Result<bool, EngineError> {
    let vocabulary = parser.shared.vocabulary.clone();
    let mut is_exact = true;
    for token in tokens.tokens() {
        let bytes = vocabulary.text(token).unwrap_or_default();
        match states.settle_all(parser, config, bytes)? {
            Settled::Viable(_) => mask.insert_all(&[token]),
            Settled::Dead => {}
            Settled::Undecided => is_exact = false,
        }
    }
    Ok(is_exact)
}

/// The terminals that the parser can read in `config` but not finish, or not without doubtful terminals.
fn unfinished(outlook: &mut Outlook, parser: &mut Parser, config: ConfigId) -> Bits {
    let mut unfinished: Bits = vec![0; n_words(outlook.places.tables().n_terminals)].into();
    for own in parser.configs.threads(config) {
        insert(&mut unfinished, own.terminal.index());
    }
    subtract(&mut unfinished, outlook.scopes.main_scope().readable(parser, config));
    unfinished
}

/// Whether a hypothesis may lead to more than the terminals that it reads and that can be finished: to the
/// end of the text, to the end of a line, or to ends of tokens that are not good.
fn depends_on_more(
    outlook: &mut Outlook,
    layout: LayoutId,
    hypothesis: HypothesisId,
    unfinished: &Bits,
) -> Result<bool, EngineError> {
    let regime = usize::from(outlook.places.is_nested(layout));
    let newline = outlook.places.tables().layout.as_ref().map(|layout| layout.newline.index());
    let viability = outlook.scopes.viability();
    let (end, bad) = (viability.adjacency.end(), viability.adjacency.bad());
    let reads = viability.reads(&mut outlook.places.points.hypotheses, hypothesis, regime)?;
    Ok(intersects(reads, unfinished)
        || contains(reads, end)
        || contains(reads, bad)
        || newline.is_some_and(|newline| contains(reads, newline)))
}
