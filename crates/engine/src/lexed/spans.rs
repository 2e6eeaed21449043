//! Paper 2's token spanner table (section 3.1, figure 1d) at one place of a text, and what the parser says of its
//! sequences (section 3.3). Not on the way of any mask: [`row`](super::row) is the same, made for speed.
//!
//! A token spans a sequence of terminals: those that end within it and one that it may be in the middle of. The
//! terminal in progress before the token counts too. Terminals that the parser never gets are left out. Whether the rules have
//! a sequence is not asked when it is listed; then the parser says whether it reads it wherever it comes to
//! this place of a rule, nowhere, or depending on the stack beyond the [`horizon`](super::horizon). Ahead, all
//! terminals compete that may follow, under the contextual discipline too.

use std::collections::BTreeMap;

use maskwright_grammar::TerminalId;
use maskwright_scan::HypothesisId;
use maskwright_vocabulary::{Mask, Trie};

use super::{Lexed, LexedThread};
use crate::EngineError;
use crate::parser::{ConfigId, Parser};

/// The most readings of one token.
const MAX_READINGS: usize = 10_000;

/// Of a lexed grammar, a sequence of terminals that tokens span at some place (paper 2's inverse token spanner table).
///
/// ```
/// # use maskwright_engine as maskwright;
/// use maskwright::inspect::StackVerdict;
/// assert!(StackVerdict::Never < StackVerdict::Always);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanView {
    /// The terminals, by number, that end with or after the last byte so far, within the token, and that one which the token may
    /// be in the middle of. Those that the parser does not get are left out.
    pub terminals: Vec<usize>,
    /// The tokens that can be read so.
    pub tokens: Mask,
    /// What the parser says of it.
    pub verdict: StackVerdict,
}

/// What the parser says of a sequence of terminals at one place of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StackVerdict {
    /// It is read nowhere that the parser comes to this place.
    Never,
    /// That depends on the stack, or on the blocks around.
    Depends {
        /// Whether it is read at this place of this text.
        is_read_here: bool,
    },
    /// It is read wherever the parser comes to this place.
    Always,
}

/// A way that a text was read: the terminal that its last byte ended, if one, and what it led to.
pub(crate) struct Origin {
    ended: Option<TerminalId>,
    thread: LexedThread,
}

/// The terminals since a place, and where the lexer is behind them.
type Span = (Vec<TerminalId>, HypothesisId);

impl Lexed {
    /// The ways to read `text`; empty if no text of the language begins with it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn origins(&mut self, parser: &mut Parser, text: &[u8]) -> Result<Vec<Origin>, EngineError> {
        let Some((&last, before)) = text.split_last() else {
            let threads = self.configs.threads(self.start).to_vec();
            return Ok(threads.into_iter().map(|thread| Origin { ended: None, thread }).collect());
        };
        let Some(config) = self.step_all(parser, self.start, before)? else { return Ok(Vec::new()) };
        let mut origins = Vec::new();
        for thread in self.configs.threads(config).to_vec() {
            let is_nested = self.layouts.get(thread.layout).depth > 0;
            for outcome in self.points.hypotheses.step(thread.hypothesis, last)? {
                let outcome = self.points.hypotheses.outcome(outcome);
                if self.points.hypotheses.is_for(&outcome, is_nested)
                    && let Some(next) = self.after(parser, thread, outcome, last)?
                    && self.is_viable(parser, next)? != Some(false)
                {
                    origins.push(Origin { ended: outcome.terminal, thread: next });
                }
            }
        }
        Ok(origins)
    }

    /// The sequences of terminals that tokens span behind `origins`, each with its tokens; by sequence.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn spans(
        &mut self,
        parser: &mut Parser,
        origins: &[Origin],
    ) -> Result<Vec<SpanView>, EngineError> {
        let vocabulary = parser.shared.vocabulary.clone();
        let trie = vocabulary.trie();
        let mut found: BTreeMap<Vec<TerminalId>, (Mask, StackVerdict)> = BTreeMap::new();
        for origin in origins {
            let is_nested = self.layouts.get(origin.thread.layout).depth > 0;
            let ended: Vec<TerminalId> = origin
                .ended
                .into_iter()
                .filter(|&terminal| !self.points.tables.is_ignored(terminal, is_nested))
                .collect();
            let mut verdicts: BTreeMap<Vec<TerminalId>, StackVerdict> = BTreeMap::new();
            let mut stack = vec![(Trie::ROOT, vec![(Vec::new(), origin.thread.hypothesis)])];
            while let Some((node, spans)) = stack.pop() {
                for (byte, child) in trie.children(node) {
                    let next = self.longer_spans(&spans, byte, is_nested)?;
                    if next.is_empty() {
                        continue;
                    }
                    for sequence in self.sequences(&next, is_nested)? {
                        let tokens = trie.tokens(child);
                        if tokens.is_empty() {
                            break;
                        }
                        let verdict = match verdicts.get(&sequence) {
                            Some(&known) => known,
                            None => {
                                let verdict = self.stack_verdict(parser, origin.thread, &sequence)?;
                                verdicts.insert(sequence.clone(), verdict);
                                verdict
                            }
                        };
                        let whole = [ended.as_slice(), &sequence].concat();
                        let (mask, best) = found
                            .entry(whole)
                            .or_insert_with(|| (Mask::new(vocabulary.n_ids()), StackVerdict::Never));
                        tokens.iter().for_each(|&token| mask.insert(token));
                        *best = (*best).max(verdict);
                    }
                    if trie.n_children(child) > 0 {
                        stack.push((child, next));
                    }
                }
            }
        }
        let view = |(sequence, (tokens, verdict)): (Vec<TerminalId>, (Mask, StackVerdict))| SpanView {
            terminals: sequence.into_iter().map(TerminalId::index).collect(),
            tokens,
            verdict,
        };
        Ok(found.into_iter().map(view).collect())
    }

    /// The spans after one more byte.
    fn longer_spans(&mut self, spans: &[Span], byte: u8, is_nested: bool) -> Result<Vec<Span>, EngineError> {
        let mut longer = Vec::new();
        for (sequence, hypothesis) in spans {
            for outcome in self.points.hypotheses.step(*hypothesis, byte)? {
                let outcome = self.points.hypotheses.outcome(outcome);
                if !self.points.hypotheses.is_for(&outcome, is_nested) {
                    continue;
                }
                let mut sequence = sequence.clone();
                sequence.extend(
                    outcome.terminal.filter(|&terminal| !self.points.tables.is_ignored(terminal, is_nested)),
                );
                longer.push((sequence, outcome.next));
            }
        }
        longer.sort_unstable();
        longer.dedup();
        if longer.len() > MAX_READINGS {
            return Err(EngineError::lexed_limit("readings of one token", MAX_READINGS));
        }
        Ok(longer)
    }

    /// The sequences of some spans, each with the terminals that may be in progress.
    fn sequences(&mut self, spans: &[Span], is_nested: bool) -> Result<Vec<Vec<TerminalId>>, EngineError> {
        let lexer = self.points.tables.lexer.clone();
        let mut sequences = Vec::new();
        for (sequence, hypothesis) in spans {
            let hypothesis = self.points.hypotheses.get(*hypothesis);
            if hypothesis.is_boundary {
                sequences.push(sequence.clone());
                continue;
            }
            for terminal in lexer.reachable(hypothesis.state)?.iter() {
                let terminal = TerminalId::from_index(terminal as usize);
                let mut sequence = sequence.clone();
                sequence.extend((!self.points.tables.is_ignored(terminal, is_nested)).then_some(terminal));
                sequences.push(sequence);
            }
        }
        sequences.sort_unstable();
        sequences.dedup();
        Ok(sequences)
    }

    /// What the parser says of a sequence behind `thread`.
    fn stack_verdict(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        sequence: &[TerminalId],
    ) -> Result<StackVerdict, EngineError> {
        let newline = self.points.tables.layout.as_ref().map(|layout| layout.newline);
        let is_read_here = self.reads(parser, thread.parser, sequence)?.0;
        let depends = StackVerdict::Depends { is_read_here };
        if sequence.iter().any(|&terminal| Some(terminal) == newline) {
            // On the blocks around, and on widths of lines.
            return Ok(depends);
        }
        let cut = self.horizon.cut_all(parser, thread.parser)?;
        let (is_read, meets_hole) = self.reads(parser, cut, sequence)?;
        Ok(match (is_read, meets_hole) {
            (true, _) => StackVerdict::Always,
            (false, false) => StackVerdict::Never,
            (false, true) => depends,
        })
    }

    /// Whether the parser reads a sequence, and whether some reading returned into a hole.
    fn reads(
        &mut self,
        parser: &mut Parser,
        mut config: ConfigId,
        sequence: &[TerminalId],
    ) -> Result<(bool, bool), EngineError> {
        let mut meets_hole = false;
        for &terminal in sequence {
            self.has_met_hole = false;
            let next = self.shift(parser, config, terminal)?;
            meets_hole |= self.has_met_hole;
            match next {
                Some(next) => config = next,
                None => return Ok((false, meets_hole)),
            }
        }
        Ok((true, meets_hole))
    }
}
