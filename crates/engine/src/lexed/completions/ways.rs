//! One way to the end of the text from each thread, token by token.
//!
//! An example: after `f(` in C, the way is `)`, then `;`. From the thread after `)` it is the rest of that.
//!
//! From a thread, those next tokens are tried after which the rules need the fewest terminals ([`distance`](super::distance)), as long as that is fewer
//! than before: so a way ends. A token is one that the lexer can read there, with its actual steps. So the text of a way is read as these tokens, and
//! completes the text. Where no token leads on, there is no way, though there may be a completion.
//!
//! **One answer.** A way is the first step and then the way from there. Which step is first does not depend on what was asked before: ties go to
//! the terminal that was written first, and then to the shorter text. So ways can be kept by thread, and threads share them.
//!
//! **Indentation.** The line end before a line of some width is followed by as many blanks. That the lexer reads it so is looked at byte by byte.

use std::collections::VecDeque;
use std::sync::Arc;

use maskwright_automata::meter;
use maskwright_grammar::TerminalId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::next_tokens::text_to;
use super::super::outlook::Outlook;
use super::super::places::LexedThread;
use super::distance::{Distances, NEVER};
use crate::EngineError;
use crate::parser::Parser;

/// How many next tokens of a thread are tried.
const MAX_OPTIONS: usize = 8;
/// How many one question may try.
const MAX_TRIED: usize = 20_000;
/// Units of work that an end of a token takes.
const UNITS_PER_END: u64 = 32;

/// The first step of a way.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What is written.
    pub(crate) text: Arc<[u8]>,
    /// Where the way goes on; `None` at the end of the text.
    pub(crate) next: Option<LexedThread>,
}

/// The ways that are known, by thread.
#[derive(Default)]
pub(super) struct Ways {
    known: FxHashMap<LexedThread, Option<Step>>,
    n_bytes: usize,
}

/// A thread whose way is looked for, and the next tokens that are still to be tried: their ends and the threads there.
struct Open {
    thread: LexedThread,
    options: VecDeque<(TerminalId, LexedThread)>,
}

impl Ways {
    /// The first step from `thread`; `None` if no way is found.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn first(
        &mut self,
        outlook: &mut Outlook,
        distances: &mut Distances,
        parser: &mut Parser,
        thread: LexedThread,
        prefers: &dyn Fn(u8) -> bool,
    ) -> Result<Option<Step>, EngineError> {
        let mut open = Vec::new();
        let mut n_tried = 0;
        let mut wanted = Some(thread);
        loop {
            if let Some(thread) = wanted.take()
                && !self.known.contains_key(&thread)
            {
                match self.end(outlook, parser, thread, prefers)? {
                    Some(text) => self.keep(thread, Some(Step { text: text.into(), next: None })),
                    None => open.push(Open { thread, options: options(outlook, distances, parser, thread, prefers)? }),
                }
            }
            let Some(last) = open.last_mut() else { break };
            let thread = last.thread;
            let Some((terminal, next)) = last.options.front().copied() else {
                self.keep(thread, None);
                open.pop();
                continue;
            };
            match self.known.get(&next) {
                None => {
                    n_tried += 1;
                    if n_tried > MAX_TRIED {
                        break;
                    }
                    wanted = Some(next);
                }
                Some(None) => _ = last.options.pop_front(),
                Some(Some(_)) => match text_of(outlook, parser, thread, (terminal, next), prefers)? {
                    Some(text) => {
                        self.keep(thread, Some(Step { text: text.into(), next: Some(next) }));
                        open.pop();
                    }
                    None => _ = last.options.pop_front(),
                },
            }
        }
        Ok(self.known.entry(thread).or_insert(None).clone())
    }

    /// The text with which `thread` ends, if the parser needs no more tokens.
    fn end(
        &self,
        outlook: &mut Outlook,
        parser: &mut Parser,
        thread: LexedThread,
        prefers: &dyn Fn(u8) -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let is_nested = outlook.places.is_nested(thread.layout);
        let may_end = outlook.may_end(thread.hypothesis, is_nested)?
            && outlook.places.can_end(parser, (thread.parser, thread.layout))?.value;
        if !may_end {
            return Ok(None);
        }
        text_to(&mut outlook.places.points, thread.hypothesis, None, is_nested, prefers)
    }

    fn keep(&mut self, thread: LexedThread, step: Option<Step>) {
        self.n_bytes += 48 + step.as_ref().map_or(0, |step| step.text.len());
        self.known.insert(thread, step);
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

/// The next tokens of a thread after which the rules need fewer terminals, the fewest first.
fn options(
    outlook: &mut Outlook,
    distances: &mut Distances,
    parser: &mut Parser,
    thread: LexedThread,
    prefers: &dyn Fn(u8) -> bool,
) -> Result<VecDeque<(TerminalId, LexedThread)>, EngineError> {
    let before = distances.of_config(parser, thread.parser);
    let is_nested = outlook.places.is_nested(thread.layout);
    let mut found: Vec<((u32, bool, TerminalId), LexedThread)> = Vec::new();
    let mut seen = FxHashSet::default();
    let readable: FxHashSet<TerminalId> =
        parser.configs.threads(thread.parser).iter().map(|own| own.terminal).collect();
    for &end in outlook.next_tokens(thread.hypothesis, is_nested)?.iter() {
        meter::spend(UNITS_PER_END)?;
        if !readable.contains(&end.terminal) {
            continue;
        }
        for place in outlook.after_any_token(parser, thread, end.terminal)? {
            let distance = distances.of_config(parser, place.0);
            if distance >= before || distance == NEVER {
                continue;
            }
            let next = outlook.thread_at(parser, end.next, place)?;
            if outlook.is_viable_at_once(parser, next)? != Some(false) && seen.insert((end.terminal, next)) {
                found.push(((distance, !end.is_good, end.terminal), next));
            }
        }
    }
    found.sort_unstable_by_key(|&(key, _)| key);
    // Those that are alike go by what would be written, since threads are numbered as they are met.
    let mut options = VecDeque::new();
    for alike in found.chunk_by(|a, b| a.0 == b.0) {
        if options.len() >= MAX_OPTIONS {
            break;
        }
        let terminal = alike[0].0.2;
        match alike {
            [(_, next)] => options.push_back((terminal, *next)),
            _ => {
                let mut texts = Vec::new();
                for &(_, next) in alike {
                    if let Some(text) = text_of(outlook, parser, thread, (terminal, next), prefers)? {
                        texts.push(((text.len(), text), next));
                    }
                }
                texts.sort_unstable_by(|a, b| a.0.cmp(&b.0));
                options.extend(texts.into_iter().map(|(_, next)| (terminal, next)));
            }
        }
    }
    options.truncate(MAX_OPTIONS);
    Ok(options)
}

/// A text that leads `thread` over its next token to `next`.
fn text_of(
    outlook: &mut Outlook,
    parser: &mut Parser,
    thread: LexedThread,
    (terminal, next): (TerminalId, LexedThread),
    prefers: &dyn Fn(u8) -> bool,
) -> Result<Option<Vec<u8>>, EngineError> {
    let is_nested = outlook.places.is_nested(thread.layout);
    let is_newline = outlook.places.tables().is_newline(terminal);
    if !is_newline || is_nested {
        let mut ends = Vec::new();
        for &end in outlook.next_tokens(thread.hypothesis, is_nested)?.iter() {
            if end.terminal != terminal {
                continue;
            }
            let at = outlook.thread_at(parser, end.next, (next.parser, next.layout))?;
            if at == next {
                ends.push(end.next);
            }
        }
        let mut best: Option<Vec<u8>> = None;
        for end in ends {
            let points = &mut outlook.places.points;
            let text = text_to(points, thread.hypothesis, Some((terminal, end)), is_nested, prefers)?;
            if let Some(text) = text
                && best.as_ref().is_none_or(|best| (text.len(), &text) < (best.len(), best))
            {
                best = Some(text);
            }
        }
        return Ok(best);
    }
    let layouts = &outlook.places.layouts;
    let width = layouts.width(layouts.get(next.layout).blocks) as usize;
    let begun = layouts.get(thread.layout).line.map(|line| line as usize);
    let more = begun.filter(|&begun| begun < width).map(|begun| vec![b' '; width - begun]);
    let line = |end: &[u8]| [end, &vec![b' '; width][..]].concat();
    for text in more.into_iter().chain([line(b"\n"), line(b"\r\n")]) {
        if leads_to(outlook, parser, thread, &text, next)? {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Whether one of the readings of `text` after `thread` is `next`.
fn leads_to(
    outlook: &mut Outlook,
    parser: &mut Parser,
    thread: LexedThread,
    text: &[u8],
    next: LexedThread,
) -> Result<bool, EngineError> {
    let mut threads = vec![thread];
    for &byte in text {
        let mut after = Vec::new();
        for thread in threads {
            let is_nested = outlook.places.is_nested(thread.layout);
            for outcome in outlook.places.points.hypotheses.step(thread.hypothesis, byte)? {
                let hypotheses = &outlook.places.points.hypotheses;
                let outcome = hypotheses.outcome(outcome);
                if hypotheses.is_for(&outcome, is_nested) {
                    after.extend(outlook.after(parser, thread, outcome, byte)?);
                }
            }
        }
        after.sort_unstable();
        after.dedup();
        threads = after;
    }
    Ok(threads.contains(&next))
}
