//! The mask of a lexed configuration.
//!
//! mask(c) contains t iff for some thread of c some reading of t by its hypothesis ends in a thread that has a
//! completion. The row of the hypothesis ([`row`](super::row)) lists the readings of all tokens by their sequence
//! of terminals, so the parser is asked once per sequence, and viability once per sequence and kind of end.
//!
//! Most of those answers are the same wherever the parser comes to the same place of a rule. The parser reads a
//! sequence iff one of its threads begins with the first terminal and reads it, so the row is judged for each
//! thread alone, with its stack cut off at a [`horizon`](super::horizon), and that [`Judgement`] is kept: the
//! tokens that are allowed whatever lies beyond, and the sequences for which that must be looked at. A mask
//! is the union of a few judgements and of what is left of them on the whole stack.
//!
//! Under the contextual discipline a class that only free readings allow is left open likewise
//! (see the crate `scan`): its tokens are read byte by byte.
//!
//! If the search for a completion after a token was given up, the token is left out, and the mask says that it is a bound.
//!
//! The naive twin (`Options::use_rows` off) walks the whole token trie with the whole configuration.

use std::ops::Range;
use std::sync::Arc;

use maskwright_grammar::TerminalId;
use maskwright_scan::bits::{Bits, contains, insert, intersects, n_words, subtract};
use maskwright_scan::{HypothesisId, LayoutId};
use maskwright_vocabulary::Trie;
use rustc_hash::FxHashMap;

use super::readings::{Context, Readings};
use super::row::{End, LexedRow, SequenceTree};
use super::stepping::Settled;
use super::{Lexed, LexedThread};
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm, hooks};
use crate::parser::{ConfigId, NodeId, Parser, Thread};

/// Bytes that sets of readings may take before they are dropped; rows do not need them once they are made.
const MAX_READINGS_BYTES: usize = 32 << 20;

/// The tokens that are allowed.
#[derive(Clone)]
pub(crate) struct LexedMask {
    pub(crate) form: Arc<MaskForm>,
    /// Whether no other token is allowed.
    pub(crate) is_exact: bool,
}

/// What a row says to one thread of the parser, seen down to the horizon.
pub(super) struct Judgement {
    /// The tokens that are allowed whatever lies beyond.
    always: MaskForm,
    /// The sequences that depend on what lies beyond; where they end allows further tokens.
    depends: SequenceTree,
}

/// Hypothesis, layout, parser with its stacks cut off, and the first terminal of the sequences judged.
pub(super) type JudgementKey = (HypothesisId, LayoutId, ConfigId, TerminalId);

/// The classes found to be allowed, and ends that could not be judged at the horizon with the index of their
/// node.
struct Found {
    is_allowed: Vec<bool>,
    allowed: Vec<u32>,
    open: Vec<(u32, End)>,
}

impl Found {
    fn nothing(row: &LexedRow) -> Found {
        Found { is_allowed: vec![false; row.classes.len()], allowed: Vec::new(), open: Vec::new() }
    }

    fn allow(&mut self, class: u32) {
        if !std::mem::replace(&mut self.is_allowed[class as usize], true) {
            self.allowed.push(class);
        }
    }

    fn add_allowed(&self, row: &LexedRow, mask: &mut MaskBuilder) {
        for &class in &self.allowed {
            mask.union(&row.classes[class as usize]);
        }
    }
}

impl Lexed {
    /// The mask of `config`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn mask(&mut self, parser: &mut Parser, config: ConfigId) -> Result<LexedMask, EngineError> {
        if let Some(known) = self.masks.get(&config) {
            return Ok(known.clone());
        }
        parser.begin_work()?;
        let (form, is_exact) = self.compute_mask(parser, config)?;
        let mut form = Arc::new(form);
        if parser.shared.options.use_memo {
            if let Some(known) = self.forms.get(&form) {
                form = known.clone();
            } else {
                self.memo_bytes += form.memory_usage() + 64;
                self.forms.insert(form.clone());
            }
            self.memo_bytes += 32;
            self.masks.insert(config, LexedMask { form: form.clone(), is_exact });
        }
        Ok(LexedMask { form, is_exact })
    }

    /// The mask, and whether it is exact.
    fn compute_mask(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<(MaskForm, bool), EngineError> {
        hooks::reach("lexed mask");
        let vocabulary = parser.shared.vocabulary.clone();
        let mut mask = MaskBuilder::new(vocabulary.n_words());
        if self.configs.is_accepting(config) {
            mask.insert_all(vocabulary.eos_token_ids());
        }
        if !parser.shared.options.use_rows {
            let is_exact = self.walk(parser, config, &mut mask)?;
            return Ok((mask.finish(), is_exact));
        }
        let mut is_exact = true;
        for index in 0..self.configs.threads(config).len() {
            let thread = self.configs.threads(config)[index];
            is_exact &= self.add_thread(parser, config, thread, &mut mask)?;
        }
        Ok((mask.finish(), is_exact))
    }

    /// Adds the tokens that some reading of `config` continues with, byte by byte. Returns whether those are all.
    fn walk(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        mask: &mut MaskBuilder,
    ) -> Result<bool, EngineError> {
        let vocabulary = parser.shared.vocabulary.clone();
        let mut is_exact = true;
        let trie = vocabulary.trie();
        let mut stack = vec![(Trie::ROOT, config)];
        while let Some((node, config)) = stack.pop() {
            for (byte, child) in trie.children(node) {
                if let Some(next) = self.step_loosely(parser, config, byte)? {
                    let tokens = trie.tokens(child);
                    if !tokens.is_empty() {
                        match self.settle(parser, next)? {
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

    /// Adds the tokens that `thread`, one of `config`, continues with. Returns whether those are all.
    fn add_thread(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        thread: LexedThread,
        mask: &mut MaskBuilder,
    ) -> Result<bool, EngineError> {
        let row = self.row(parser, thread.hypothesis)?;
        let mut found = Found::nothing(&row);
        // What the parser can read but not finish, or not without doubtful terminals.
        let mut unfinished: Bits = vec![0; n_words(self.points.tables.n_terminals)].into();
        for own in parser.configs.threads(thread.parser) {
            insert(&mut unfinished, own.terminal.index());
        }
        subtract(&mut unfinished, self.scopes[self.main].readable(parser, thread.parser));
        // What ends within a token may end the text or the line too, which no thread of the parser says.
        for end in &row.inside {
            if found.is_allowed[end.class as usize]
                || !self.depends_on_more(thread.layout, end.hypothesis, &unfinished)?
            {
                continue;
            }
            match self.verdict(parser, LexedThread { hypothesis: end.hypothesis, ..thread })? {
                Some(true) => found.allow(end.class),
                Some(false) => {}
                None => found.open.push((0, *end)),
            }
        }
        let made =
            self.points.tables.layout.as_ref().map(|layout| (layout.newline, [layout.indent, layout.dedent]));
        let is_nested = self.layouts.get(thread.layout).depth > 0;
        if let Some((newline, _)) = made.filter(|_| is_nested) {
            // The parser does not get this newline, so it is not the first terminal of any of its threads.
            if self.can_cut_all(parser, thread.parser) {
                let cut = self.horizon.cut_all(parser, thread.parser)?;
                self.add_judged(parser, thread, cut, newline, &row, &mut found, mask)?;
            } else {
                let nodes = row.tree.beginning_with(newline);
                self.judge(parser, &row.tree, nodes, thread, false, &mut found)?;
            }
        }
        let mut last = None;
        for index in 0..parser.configs.threads(thread.parser).len() {
            let own = parser.configs.threads(thread.parser)[index];
            let terminal = own.terminal;
            if made
                .is_some_and(|(newline, made)| made.contains(&terminal) || (is_nested && terminal == newline))
            {
                continue;
            }
            if last.replace(terminal) != Some(terminal)
                && !contains(&self.points.tables.hidden, terminal.index())
                && !contains(&unfinished, terminal.index())
            {
                self.add_inside(parser, thread, terminal, &row, mask)?;
            }
            let nodes = row.tree.beginning_with(terminal);
            if !nodes.is_empty() && !self.can_cut(parser, own.node) {
                if let Some(alone) = parser.intern(&mut vec![own], false)? {
                    let place = LexedThread { parser: alone, ..thread };
                    self.judge(parser, &row.tree, nodes, place, false, &mut found)?;
                }
            } else if !nodes.is_empty() {
                let node = self.horizon.cut(parser, own.node);
                if let Some(cut) = parser.intern(&mut vec![Thread { node, ..own }], false)? {
                    self.add_judged(parser, thread, cut, terminal, &row, &mut found, mask)?;
                }
            }
        }
        found.add_allowed(&row, mask);
        let mut open: Vec<u32> = found.open.iter().map(|(_, end)| end.class).chain(row.unread).collect();
        open.retain(|&class| !found.is_allowed[class as usize]);
        open.sort_unstable();
        open.dedup();
        let mut is_exact = true;
        for class in open {
            is_exact &= self.add_one_by_one(parser, config, &row.classes[class as usize], mask)?;
        }
        Ok(is_exact)
    }

    /// Whether what is found with the stacks of `node` cut off holds for them as they are.
    fn can_cut(&mut self, parser: &mut Parser, node: NodeId) -> bool {
        self.scopes[self.main].always_finishes(parser, node)
    }

    /// The same of all threads of a configuration.
    fn can_cut_all(&mut self, parser: &mut Parser, config: ConfigId) -> bool {
        self.scopes[self.main].all_always_finish(parser, config)
    }

    /// Adds the tokens after which `terminal` is the next that may end.
    fn add_inside(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        terminal: TerminalId,
        row: &LexedRow,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        let regime = usize::from(self.layouts.get(thread.layout).depth > 0);
        let key = (thread.hypothesis, regime, terminal);
        if let Some(known) = self.insides.get(&key) {
            mask.union(known);
            return Ok(());
        }
        let mut found = Found::nothing(row);
        for end in &row.inside {
            let viability = &mut self.scopes[self.main].viability;
            if contains(
                viability.reads(&mut self.points.hypotheses, end.hypothesis, regime)?,
                terminal.index(),
            ) {
                found.allow(end.class);
            }
        }
        let mut inside = MaskBuilder::new(parser.shared.vocabulary.n_words());
        found.add_allowed(row, &mut inside);
        let inside = Arc::new(inside.finish());
        mask.union(&inside);
        if parser.shared.options.use_memo {
            self.memo_bytes += inside.memory_usage() + 64;
            self.insides.insert(key, inside);
        }
        Ok(())
    }

    /// Adds the tokens whose sequence begins with `terminal`, by the judgement of `cut` and what it leaves open.
    #[allow(clippy::too_many_arguments, reason = "what is judged, and where the result goes")]
    fn add_judged(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        cut: ConfigId,
        terminal: TerminalId,
        row: &LexedRow,
        found: &mut Found,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        let judgement = self.judgement(parser, thread, cut, terminal, row)?;
        mask.union(&judgement.always);
        let depends = &judgement.depends;
        self.judge(parser, depends, 0..depends.nodes.len(), thread, false, found)
    }

    /// Adds the `tokens` that `config` continues with. Returns whether those are all. This takes searches.
    fn add_one_by_one(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        tokens: &MaskForm,
        mask: &mut MaskBuilder,
    ) -> Result<bool, EngineError> {
        let vocabulary = parser.shared.vocabulary.clone();
        let mut is_exact = true;
        for token in tokens.tokens() {
            let bytes = vocabulary.text(token).unwrap_or_default();
            match self.settle_all(parser, config, bytes)? {
                Settled::Viable(_) => mask.insert_all(&[token]),
                Settled::Dead => {}
                Settled::Undecided => is_exact = false,
            }
        }
        Ok(is_exact)
    }

    /// Whether a thread at the end of a token has a completion, where that is said at once of all hypotheses that read
    /// the same.
    fn verdict(&mut self, parser: &mut Parser, thread: LexedThread) -> Result<Option<bool>, EngineError> {
        if self.scopes[self.main].is_complete {
            self.is_viable_at_once(parser, thread)
        } else {
            self.is_viable_within(parser, thread, self.main)
        }
    }

    /// Whether a hypothesis may come to more than to the terminals that it reads and that can be finished: to the end
    /// of the text, to that of a line, or to ends of tokens that are not good.
    fn depends_on_more(
        &mut self,
        layout: LayoutId,
        hypothesis: HypothesisId,
        unfinished: &Bits,
    ) -> Result<bool, EngineError> {
        let regime = usize::from(self.layouts.get(layout).depth > 0);
        let viability = &mut self.scopes[self.main].viability;
        let (end, bad) = (viability.adjacency.end(), viability.adjacency.bad());
        let reads = viability.reads(&mut self.points.hypotheses, hypothesis, regime)?;
        let newline = self.points.tables.layout.as_ref().map(|layout| layout.newline.index());
        Ok(intersects(reads, unfinished)
            || contains(reads, end)
            || contains(reads, bad)
            || newline.is_some_and(|newline| contains(reads, newline)))
    }

    /// The row of a hypothesis, made if it is not there.
    fn row(&mut self, parser: &mut Parser, hypothesis: HypothesisId) -> Result<Arc<LexedRow>, EngineError> {
        if let Some(row) = self.rows.get(&hypothesis) {
            return Ok(row.clone());
        }
        if self.row_bytes > parser.shared.limits.machine_bytes {
            self.rows = FxHashMap::default();
            self.row_bytes = 0;
        }
        if self.readings.memory_usage() > MAX_READINGS_BYTES {
            self.readings = Readings::new(&self.points.tables);
        }
        let mut context = Context {
            points: &mut self.points,
            viability: &mut self.scopes[self.main].viability,
            follow: &self.follow,
        };
        let may_be_newline = context.points.may_be_newline(hypothesis)?;
        let start = self.readings.start(hypothesis, may_be_newline);
        let alike = &mut self.alike;
        let row = LexedRow::new(
            &parser.shared.vocabulary,
            &mut self.readings,
            &mut context,
            start,
            |context, hypothesis| {
                let mut key: Vec<u64> = Vec::new();
                for regime in 0..context.viability.adjacency.ignored.len() {
                    let bad = context.viability.adjacency.bad();
                    let reads =
                        context.viability.reads(&mut context.points.hypotheses, hypothesis, regime)?;
                    if contains(reads, bad) {
                        return Ok(hypothesis);
                    }
                    key.extend_from_slice(reads);
                }
                Ok(*alike.entry(Bits::from(key)).or_insert(hypothesis))
            },
        )?;
        let row = Arc::new(row);
        hooks::reach("lexed row");
        if parser.shared.options.use_memo {
            self.row_bytes += row.memory_usage();
            self.rows.insert(hypothesis, row.clone());
        }
        Ok(row)
    }

    /// What `row`, that of the hypothesis of `thread`, says to the parser in `cut`, stacks cut off, of tokens whose
    /// sequence begins with `terminal`.
    fn judgement(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        cut: ConfigId,
        terminal: TerminalId,
        row: &LexedRow,
    ) -> Result<Arc<Judgement>, EngineError> {
        let key = (thread.hypothesis, thread.layout, cut, terminal);
        if let Some(known) = self.judgements.get(&key) {
            return Ok(known.clone());
        }
        let mut found = Found::nothing(row);
        let place = LexedThread { parser: cut, ..thread };
        self.judge(parser, &row.tree, row.tree.beginning_with(terminal), place, true, &mut found)?;
        let mut always = MaskBuilder::new(parser.shared.vocabulary.n_words());
        found.add_allowed(row, &mut always);
        found.open.retain(|(_, end)| !found.is_allowed[end.class as usize]);
        let judgement = Judgement { always: always.finish(), depends: row.tree.part(&found.open) };
        let judgement = Arc::new(judgement);
        if parser.shared.options.use_memo {
            self.memo_bytes += judgement.always.memory_usage()
                + judgement.depends.memory_usage()
                + size_of::<JudgementKey>()
                + 64;
            self.judgements.insert(key, judgement.clone());
        }
        Ok(judgement)
    }

    /// Judges the ends of some sequences behind `place`, whose hypothesis does not matter any more. With stacks
    /// cut off (`is_cut`), those that cannot be judged are left open.
    fn judge(
        &mut self,
        parser: &mut Parser,
        tree: &SequenceTree,
        nodes: Range<usize>,
        place: LexedThread,
        is_cut: bool,
        found: &mut Found,
    ) -> Result<(), EngineError> {
        let line = self.layouts.get(place.layout).line;
        let layout = self.layouts.with_line(place.layout, None);
        // Where the parser is after each symbol of a sequence, and whether more of its stack might add to that.
        let mut path: Vec<(ConfigId, LayoutId, bool)> = vec![(place.parser, layout, false)];
        let mut index = nodes.start;
        while index < nodes.end {
            let node = &tree.nodes[index];
            path.truncate(node.length as usize);
            let (config, layout, was_partial) = path[node.length as usize - 1];
            self.has_met_hole = false;
            let line = node.symbol.blanks.line(line);
            let after = self.after_token(parser, config, layout, node.symbol.terminal, line)?;
            let is_partial = was_partial || self.has_met_hole;
            let Some((mut config, layout)) = after else {
                if is_cut && is_partial {
                    for (offset, node) in tree.nodes[index..node.subtree_end as usize].iter().enumerate() {
                        let open = tree.ends(node).iter().map(|&end| ((index + offset) as u32, end));
                        found.open.extend(open);
                    }
                }
                index = node.subtree_end as usize;
                continue;
            };
            // What the sequence has begun may have no end.
            if is_cut && self.can_cut_all(parser, config) {
                config = self.horizon.cut_all(parser, config)?;
            }
            let is_alike = |a: &End, b: &End| (a.hypothesis, a.is_free) == (b.hypothesis, b.is_free);
            for ends in tree.ends(node).chunk_by(is_alike) {
                if ends.iter().all(|end| found.is_allowed[end.class as usize]) {
                    continue;
                }
                let thread = LexedThread { hypothesis: ends[0].hypothesis, parser: config, layout };
                let verdict = if is_cut {
                    self.has_met_hole = is_partial;
                    let verdict = self.is_viable_within(parser, thread, self.main)?;
                    verdict.filter(|&is_viable| is_viable || !self.has_met_hole)
                } else {
                    self.verdict(parser, thread)?
                };
                match verdict {
                    Some(true) if !ends[0].is_free => {
                        ends.iter().for_each(|end| found.allow(end.class));
                    }
                    Some(false) => {}
                    _ => found.open.extend(ends.iter().map(|&end| (index as u32, end))),
                }
            }
            path.push((config, layout, is_partial));
            index += 1;
        }
        Ok(())
    }
}
