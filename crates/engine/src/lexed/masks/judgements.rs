//! What a row says to one thread of the parser, wherever it stands.
//!
//! The parser reads a sequence of terminals iff one of its threads begins with the first terminal and reads
//! it. So a row is judged for each thread alone, with its stack cut off at a [horizon](super::horizon), and
//! that [`Judgement`] is kept: the tokens that are allowed whatever lies beyond, and the sequences for which
//! the whole stack must be looked at. A mask asks [`Judgements::add`] for each thread of the parser.
//!
//! An example: inside a JSON array that a lexer reads, the tokens `,` and `, "` are always allowed after a
//! number. The token `]]` returns from the array that is seen, so it depends on what is around: its sequence
//! is judged again on the whole stack.

use std::ops::Range;
use std::sync::Arc;

use maskwright_grammar::TerminalId;
use maskwright_scan::{HypothesisId, LayoutId};
use rustc_hash::FxHashMap;

use super::super::outlook::Outlook;
use super::super::places::LexedThread;
use super::horizon::Horizon;
use super::row::{End, LexedRow, SequenceTree};
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm};
use crate::parser::{ConfigId, NodeId, Parser, Thread};

/// What a row says to one thread of the parser, seen down to the horizon.
struct Judgement {
    /// The tokens that are allowed whatever lies beyond.
    always: MaskForm,
    /// The sequences that depend on what lies beyond; where they end allows further tokens.
    depends: SequenceTree,
}

/// Hypothesis, layout, parser with its stacks cut off, and the first terminal of the sequences judged.
type JudgementKey = (HypothesisId, LayoutId, ConfigId, TerminalId);

/// The classes found to be allowed, and ends that could not be judged at the horizon with the index of their
/// node.
pub(super) struct Found<'a> {
    row: &'a LexedRow,
    is_allowed: Vec<bool>,
    allowed: Vec<u32>,
    open: Vec<(u32, End)>,
}

impl<'a> Found<'a> {
    /// Nothing of `row` yet.
    pub(super) fn nothing(row: &'a LexedRow) -> Found<'a> {
        Found { row, is_allowed: vec![false; row.classes.len()], allowed: Vec::new(), open: Vec::new() }
    }

    pub(super) fn is_allowed(&self, class: u32) -> bool {
        self.is_allowed[class as usize]
    }

    pub(super) fn allow(&mut self, class: u32) {
        if !std::mem::replace(&mut self.is_allowed[class as usize], true) {
            self.allowed.push(class);
        }
    }

    /// An end of no sequence that could not be judged.
    pub(super) fn leave_open(&mut self, end: End) {
        self.open.push((0, end));
    }

    pub(super) fn add_allowed(&self, mask: &mut MaskBuilder) {
        for &class in &self.allowed {
            mask.union(&self.row.classes[class as usize]);
        }
    }

    /// The classes with an end that could not be judged, unless they are known to be allowed; ascending.
    pub(super) fn open_classes(&self) -> Vec<u32> {
        let mut open: Vec<u32> = self.open.iter().map(|(_, end)| end.class).chain(self.row.unread).collect();
        open.retain(|&class| !self.is_allowed(class));
        open.sort_unstable();
        open.dedup();
        open
    }
}

/// Judges the ends of sequences after a place.
pub(super) struct Judge<'a> {
    pub(super) outlook: &'a mut Outlook,
    pub(super) parser: &'a mut Parser,
}

impl Judge<'_> {
    /// Judges the ends of some sequences after `place`, whose hypothesis does not matter any more. If its
    /// stacks are cut off at a `horizon`, ends that depend on what lies beyond are left open.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn judge(
        &mut self,
        tree: &SequenceTree,
        nodes: Range<usize>,
        place: LexedThread,
        mut horizon: Option<&mut Horizon>,
        found: &mut Found<'_>,
    ) -> Result<(), EngineError> {
        let Judge { outlook, parser } = self;
        let is_cut = horizon.is_some();
        let line = outlook.places.layouts.get(place.layout).line;
        let layout = outlook.places.layouts.with_line(place.layout, None);
        // Where the parser is after each symbol of a sequence, and whether more of its stack might add to
        // that.
        let mut path: Vec<(ConfigId, LayoutId, bool)> = vec![(place.parser, layout, false)];
        let mut index = nodes.start;
        while index < nodes.end {
            let node = &tree.nodes[index];
            path.truncate(node.length as usize);
            let (config, layout, was_partial) = path[node.length as usize - 1];
            let line = node.symbol.blanks.line(line);
            let terminal = node.symbol.terminal;
            let after = outlook.places.after_token(parser, (config, layout), terminal, line)?;
            let is_partial = was_partial || after.meets_hole;
            let Some((mut config, layout)) = after.value else {
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
            if let Some(horizon) = &mut horizon
                && outlook.scopes.main_scope().all_always_finish(parser, config)
            {
                config = horizon.cut_all(parser, config)?;
            }
            let is_alike = |a: &End, b: &End| (a.hypothesis, a.is_free) == (b.hypothesis, b.is_free);
            for ends in tree.ends(node).chunk_by(is_alike) {
                if ends.iter().all(|end| found.is_allowed(end.class)) {
                    continue;
                }
                let thread = LexedThread { hypothesis: ends[0].hypothesis, parser: config, layout };
                let verdict = if is_cut {
                    let seen = outlook.is_viable_within(parser, thread, outlook.scopes.main())?;
                    seen.value.filter(|&is_viable| is_viable || !(is_partial || seen.meets_hole))
                } else {
                    verdict(outlook, parser, thread)?
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

    /// Whether what is found with the stacks of `node` cut off holds for them as they are.
    fn can_cut(&mut self, node: NodeId) -> bool {
        self.outlook.scopes.main_scope().always_finishes(self.parser, node)
    }

    /// Judges the ends of the sequences that begin with `terminal`, on the whole stacks of `place`.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    fn judge_whole(
        &mut self,
        terminal: TerminalId,
        place: LexedThread,
        found: &mut Found<'_>,
    ) -> Result<(), EngineError> {
        let tree = &found.row.tree;
        self.judge(tree, tree.beginning_with(terminal), place, None, found)
    }
}

/// Whether a thread at the end of a token has a completion, as far as that is the same for all hypotheses
/// that read the same.
///
/// # Errors
/// If a limit of the lexer or the parser is reached.
pub(super) fn verdict(
    outlook: &mut Outlook,
    parser: &mut Parser,
    thread: LexedThread,
) -> Result<Option<bool>, EngineError> {
    if outlook.scopes.is_main_complete() {
        outlook.is_viable_at_once(parser, thread)
    } else {
        Ok(outlook.is_viable_within(parser, thread, outlook.scopes.main())?.value)
    }
}

/// The judgements made, and the horizon of their stacks.
#[derive(Default)]
pub(super) struct Judgements {
    known: FxHashMap<JudgementKey, Arc<Judgement>>,
    horizon: Horizon,
    memo_bytes: usize,
}

impl Judgements {
    /// Adds the tokens whose sequence begins with the terminal of `own`, one of the parser's threads at
    /// `thread`.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn add(
        &mut self,
        judge: &mut Judge<'_>,
        thread: LexedThread,
        own: Thread,
        found: &mut Found<'_>,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        if found.row.tree.beginning_with(own.terminal).is_empty() {
            return Ok(());
        }
        if !judge.can_cut(own.node) {
            let Some(alone) = judge.parser.intern(&mut vec![own], false)? else { return Ok(()) };
            return judge.judge_whole(own.terminal, LexedThread { parser: alone, ..thread }, found);
        }
        let node = self.horizon.cut(judge.parser, own.node);
        let Some(cut) = judge.parser.intern(&mut vec![Thread { node, ..own }], false)? else { return Ok(()) };
        self.add_cut(judge, thread, cut, own.terminal, found, mask)
    }

    /// Adds the tokens whose sequence begins with `terminal`, which the parser does not get at `thread`: a
    /// newline inside of brackets.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn add_ignored(
        &mut self,
        judge: &mut Judge<'_>,
        thread: LexedThread,
        terminal: TerminalId,
        found: &mut Found<'_>,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        if !judge.outlook.scopes.main_scope().all_always_finish(judge.parser, thread.parser) {
            return judge.judge_whole(terminal, thread, found);
        }
        let cut = self.horizon.cut_all(judge.parser, thread.parser)?;
        self.add_cut(judge, thread, cut, terminal, found, mask)
    }

    /// Adds the tokens whose sequence begins with `terminal`, by the judgement of `cut` and what it leaves
    /// open.
    fn add_cut(
        &mut self,
        judge: &mut Judge<'_>,
        thread: LexedThread,
        cut: ConfigId,
        terminal: TerminalId,
        found: &mut Found<'_>,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        let judgement = self.judgement(judge, thread, cut, terminal, found.row)?;
        mask.union(&judgement.always);
        let depends = &judgement.depends;
        judge.judge(depends, 0..depends.nodes.len(), thread, None, found)
    }

    /// What `row`, which belongs to the hypothesis of `thread`, says to the parser in `cut`, whose stacks are
    /// cut off, of tokens whose sequence begins with `terminal`.
    fn judgement(
        &mut self,
        judge: &mut Judge<'_>,
        thread: LexedThread,
        cut: ConfigId,
        terminal: TerminalId,
        row: &LexedRow,
    ) -> Result<Arc<Judgement>, EngineError> {
        let key = (thread.hypothesis, thread.layout, cut, terminal);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let mut found = Found::nothing(row);
        let place = LexedThread { parser: cut, ..thread };
        let nodes = row.tree.beginning_with(terminal);
        judge.judge(&row.tree, nodes, place, Some(&mut self.horizon), &mut found)?;
        let mut always = MaskBuilder::new(judge.parser.shared.vocabulary.n_words());
        found.add_allowed(&mut always);
        found.open.retain(|(_, end)| !found.is_allowed[end.class as usize]);
        let judgement = Judgement { always: always.finish(), depends: row.tree.part(&found.open) };
        let judgement = Arc::new(judgement);
        if judge.parser.shared.options.use_memo {
            self.memo_bytes += judgement.always.memory_usage()
                + judgement.depends.memory_usage()
                + size_of::<JudgementKey>()
                + 64;
            self.known.insert(key, judgement.clone());
        }
        Ok(judgement)
    }

    /// Drops all of them.
    pub(super) fn clear(&mut self) {
        *self = Judgements::default();
    }

    pub(super) fn memo_bytes(&self) -> usize {
        self.memo_bytes
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.memo_bytes + self.horizon.memory_usage()
    }
}
