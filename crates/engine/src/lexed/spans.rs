//! Which sequences of terminals tokens span at a place of a text, to be shown to people.
//!
//! This is paper 2's token spanner table (section 3.1, figure 1d), and what the parser says of its sequences
//! (section 3.3). No mask needs it; the [masks](super::masks) have the same, made for speed.
//!
//! A token spans the terminals that end within it and one that it may be in the middle of. The terminal in
//! progress before the token counts too. An example: after `x` in Python, the token ` =` spans `NAME` and
//! `"="`, or `NAME` and `"=="`.
//!
//! Terminals that the parser never gets are left out. All sequences are listed, whether or not the rules have
//! them; then the parser says whether it reads a sequence wherever it is at this place of a rule, nowhere, or
//! depending on the stack beyond the [horizon](Horizon). Ahead, all terminals compete that may follow, under
//! the contextual discipline too.

use std::collections::BTreeMap;

use maskwright_grammar::TerminalId;
use maskwright_scan::{HypothesisId, Points};
use maskwright_vocabulary::{Mask, Trie};

use super::masks::Horizon;
use super::places::{LexedThread, Places, Visible};
use super::states::States;
use crate::EngineError;
use crate::parser::{ConfigId, Parser};

/// The most readings of one token.
const MAX_READINGS: usize = 10_000;

/// Of a lexed grammar, a sequence of terminals that tokens span at some place (paper 2's inverse token
/// spanner table).
///
/// ```
/// # use maskwright_engine as maskwright;
/// use maskwright::inspect::StackVerdict;
/// assert!(StackVerdict::Never < StackVerdict::Always);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanView {
    /// The terminals, by number, that end with or after the last byte so far, within the token, and that one
    /// which the token may be in the middle of. Those that the parser does not get are left out.
    pub terminals: Vec<usize>,
    /// The tokens that can be read so.
    pub tokens: Mask,
    /// What the parser says of it.
    pub verdict: StackVerdict,
}

/// What the parser says of a sequence of terminals at one place of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StackVerdict {
    /// It is never read where the parser is at this place.
    Never,
    /// That depends on the stack, or on the blocks around.
    Depends {
        /// Whether it is read at this place of this text.
        is_read_here: bool,
    },
    /// It is always read where the parser is at this place.
    Always,
}

/// A way that a text was read: the terminal that its last byte ended, if one, and what it led to.
pub(crate) struct Origin {
    ended: Option<TerminalId>,
    thread: LexedThread,
}

/// The terminals since a place, and where the lexer is after them.
type Span = (Vec<TerminalId>, HypothesisId);

/// The ways to read `text`; empty if no text of the language begins with it.
///
/// # Errors
/// If a limit is reached.
pub(super) fn origins(
    states: &mut States,
    parser: &mut Parser,
    text: &[u8],
) -> Result<Vec<Origin>, EngineError> {
    let Some((&last, before)) = text.split_last() else {
        let threads = states.configs.threads(states.start()).iter();
        return Ok(threads.map(|&thread| Origin { ended: None, thread }).collect());
    };
    let Some(config) = states.step_all(parser, states.start(), before)? else { return Ok(Vec::new()) };
    let mut origins = Vec::new();
    for thread in states.configs.threads(config).to_vec() {
        for (outcome, next) in states.completions.outlook.after_byte(parser, thread, last)? {
            if states.completions.is_viable(parser, next)? != Some(false) {
                origins.push(Origin { ended: outcome.terminal, thread: next });
            }
        }
    }
    Ok(origins)
}

/// The sequences of terminals that tokens span after `origins`, each with its tokens; by sequence.
///
/// # Errors
/// If a limit is reached.
pub(super) fn spans(
    places: &mut Places,
    parser: &mut Parser,
    origins: &[Origin],
) -> Result<Vec<SpanView>, EngineError> {
    let vocabulary = parser.shared.vocabulary.clone();
    let trie = vocabulary.trie();
    let mut horizon = Horizon::default();
    let mut found: BTreeMap<Vec<TerminalId>, (Mask, StackVerdict)> = BTreeMap::new();
    for origin in origins {
        let is_nested = places.is_nested(origin.thread.layout);
        let ended = origin.ended.filter(|&terminal| !places.tables().is_ignored(terminal, is_nested));
        let mut verdicts: BTreeMap<Vec<TerminalId>, StackVerdict> = BTreeMap::new();
        let mut stack = vec![(Trie::ROOT, vec![(Vec::new(), origin.thread.hypothesis)])];
        while let Some((node, spans)) = stack.pop() {
            for (byte, child) in trie.children(node) {
                let next = longer_spans(&mut places.points, &spans, byte, is_nested)?;
                if next.is_empty() {
                    continue;
                }
                for sequence in sequences(&places.points, &next, is_nested)? {
                    let tokens = trie.tokens(child);
                    if tokens.is_empty() {
                        break;
                    }
                    let verdict = match verdicts.get(&sequence) {
                        Some(&known) => known,
                        None => {
                            let config = origin.thread.parser;
                            let verdict = stack_verdict(places, &mut horizon, parser, config, &sequence)?;
                            verdicts.insert(sequence.clone(), verdict);
                            verdict
                        }
                    };
                    let whole = ended.iter().chain(&sequence).copied().collect::<Vec<_>>();
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
fn longer_spans(
    Points { tables, hypotheses }: &mut Points,
    spans: &[Span],
    byte: u8,
    is_nested: bool,
) -> Result<Vec<Span>, EngineError> {
    let mut longer = Vec::new();
    for (sequence, hypothesis) in spans {
        for outcome in hypotheses.step(*hypothesis, byte)? {
            let outcome = hypotheses.outcome(outcome);
            if !hypotheses.is_for(&outcome, is_nested) {
                continue;
            }
            let mut sequence = sequence.clone();
            sequence.extend(outcome.terminal.filter(|&terminal| !tables.is_ignored(terminal, is_nested)));
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
fn sequences(
    Points { tables, hypotheses }: &Points,
    spans: &[Span],
    is_nested: bool,
) -> Result<Vec<Vec<TerminalId>>, EngineError> {
    let mut sequences = Vec::new();
    for (sequence, hypothesis) in spans {
        let hypothesis = hypotheses.get(*hypothesis);
        if hypothesis.is_boundary {
            sequences.push(sequence.clone());
            continue;
        }
        for terminal in tables.lexer.reachable(hypothesis.state)?.iter() {
            let terminal = TerminalId::from_index(terminal as usize);
            let mut sequence = sequence.clone();
            sequence.extend((!tables.is_ignored(terminal, is_nested)).then_some(terminal));
            sequences.push(sequence);
        }
    }
    sequences.sort_unstable();
    sequences.dedup();
    Ok(sequences)
}

/// What the parser says of a sequence after `config`.
fn stack_verdict(
    places: &mut Places,
    horizon: &mut Horizon,
    parser: &mut Parser,
    config: ConfigId,
    sequence: &[TerminalId],
) -> Result<StackVerdict, EngineError> {
    let is_read_here = reads(places, parser, config, sequence)?.value;
    let depends = StackVerdict::Depends { is_read_here };
    if sequence.iter().any(|&terminal| places.tables().is_newline(terminal)) {
        // On the blocks around, and on widths of lines.
        return Ok(depends);
    }
    let cut = horizon.cut_all(parser, config)?;
    let seen = reads(places, parser, cut, sequence)?;
    Ok(match (seen.value, seen.meets_hole) {
        (true, _) => StackVerdict::Always,
        (false, false) => StackVerdict::Never,
        (false, true) => depends,
    })
}

/// Whether the parser reads a sequence.
fn reads(
    places: &mut Places,
    parser: &mut Parser,
    mut config: ConfigId,
    sequence: &[TerminalId],
) -> Result<Visible<bool>, EngineError> {
    let mut meets_hole = false;
    for &terminal in sequence {
        let shift = places.shift(parser, config, terminal)?;
        meets_hole |= shift.meets_hole;
        match shift.next {
            Some(next) => config = next,
            None => return Ok(Visible { value: false, meets_hole }),
        }
    }
    Ok(Visible { value: true, meets_hole })
}
