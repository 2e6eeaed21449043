//! One way to the end of the text from each thread, token by token.
//!
//! An example: after `f(` in C, the way is `)`, then `;`. From the thread after `)` it is the rest of that.
//!
//! From a thread, those next tokens are tried after which the rules need the fewest terminals
//! ([`distance`](super::distance)). With each token that number falls, except where a token in progress must
//! first be ended that does not lead on; so a way ends. A token is one that the lexer can read there, with
//! its actual steps. So the text of a way is read as these tokens, and completes the text. Where no token
//! leads on, there is no way, though there may be a completion.
//!
//! **One answer.** A way is the first step and then the way from there. Which step is first does not depend
//! on what was asked before: of tokens that are as near to the end, the one with the shortest text is taken,
//! and of those the first in order. So ways can be kept by thread, and threads share them.
//!
//! **Indentation.** The line end before a line of some width is followed by as many blanks. Each byte is
//! stepped through, to see that the lexer reads it so.

use std::collections::VecDeque;
use std::sync::Arc;

use maskwright_automata::{ByteSet, meter};
use maskwright_grammar::TerminalId;
use maskwright_scan::HypothesisId;
use rustc_hash::FxHashMap;

use super::super::next_tokens::{Steps, Texts, text_to, texts_to_ends};
use super::super::outlook::Outlook;
use super::super::places::{LexedThread, Place};
use super::distance::{After, Distances, NEVER};
use crate::EngineError;
use crate::parser::Parser;

/// How many next tokens of a thread are tried.
const MAX_OPTIONS: usize = 8;
/// How many one question may try, and how many after so many questions in vain: where rules go ever deeper,
/// each would.
const MAX_TRIED: usize = 2_000;
const FEW_TRIED: usize = 20;
const MAX_IN_VAIN: usize = 16;
/// How many threads of the parser those that one question tries may have: they grow with the depth.
const MAX_THREADS: usize = 20_000;
/// No line of a way begins with more blanks.
const MAX_BLANKS: u32 = 4_096;
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
    /// The texts to the ends of the next token, by hypothesis and whether a bracket is open.
    texts: FxHashMap<(HypothesisId, bool), Arc<Texts>>,
    /// The steps of hypotheses before these ends.
    steps: Steps,
    bytes: Option<ByteSet>,
    /// How many questions have tried as many as they may.
    n_in_vain: usize,
    n_bytes: usize,
}

/// Texts, each with the thread after it; the best first.
type Options = VecDeque<(Arc<[u8]>, LexedThread)>;

/// A thread whose way is looked for, and the next tokens that are still to be tried: their texts and the
/// threads there.
struct Open {
    thread: LexedThread,
    options: Options,
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
    ) -> Result<Option<Step>, EngineError> {
        let mut open: Vec<Open> = Vec::new();
        let max_tried = if self.n_in_vain < MAX_IN_VAIN { MAX_TRIED } else { FEW_TRIED };
        let (mut n_tried, mut n_threads) = (0, 0);
        let mut wanted = Some(thread);
        loop {
            if let Some(thread) = wanted.take()
                && !self.known.contains_key(&thread)
            {
                match self.end(outlook, parser, thread)? {
                    Some(text) => self.keep(thread, Some(Step { text: text.into(), next: None })),
                    None => {
                        let options = self.options(outlook, distances, parser, thread)?;
                        open.push(Open { thread, options });
                    }
                }
            }
            let Some(last) = open.last_mut() else { break };
            let Some((text, next)) = last.options.front() else {
                let thread = last.thread;
                self.keep(thread, None);
                open.pop();
                continue;
            };
            match self.known.get(next) {
                Some(Some(_)) => {
                    let (thread, step) = (last.thread, Step { text: text.clone(), next: Some(*next) });
                    self.keep(thread, Some(step));
                    open.pop();
                }
                Some(None) => _ = last.options.pop_front(),
                None => {
                    let next = *next;
                    n_tried += 1;
                    n_threads += parser.configs.threads(next.parser).len();
                    if n_tried > max_tried || n_threads > MAX_THREADS {
                        self.n_in_vain += 1;
                        open.iter().for_each(|open| self.keep(open.thread, None));
                        break;
                    }
                    if open.iter().any(|open| open.thread == next) {
                        open.last_mut().map(|last| last.options.pop_front());
                    } else {
                        wanted = Some(next);
                    }
                }
            }
        }
        Ok(self.known.entry(thread).or_insert(None).clone())
    }

    /// The next tokens of a thread after which the rules need the fewest terminals: fewer than before, if
    /// there are such.
    fn options(
        &mut self,
        outlook: &mut Outlook,
        distances: &mut Distances,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Options, EngineError> {
        let After { least: before, terminals } = distances.after(parser, thread.parser);
        let is_nested = outlook.places.is_nested(thread.layout);
        let texts = self.texts(outlook, parser, thread.hypothesis, is_nested)?;
        // The place after a line end depends on the next line.
        let mut found: Vec<(u32, TerminalId, Option<Place>)> = Vec::new();
        for &(distance, terminal) in terminals.iter().filter(|(_, terminal)| texts.contains_key(terminal)) {
            if outlook.places.tables().is_newline(terminal) {
                for place in outlook.after_any_token(parser, thread, terminal)? {
                    found.push((distances.of_config(parser, place.0), terminal, Some(place)));
                }
            } else {
                found.push((distance, terminal, None));
            }
        }
        found.sort_unstable_by_key(|&(distance, terminal, _)| (distance, terminal));
        // Those that are as near go by what would be written, since threads are numbered as they are met.
        let (mut options, mut are_nearer) = (VecDeque::new(), false);
        for near in found.chunk_by(|a, b| a.0 == b.0) {
            let distance = near[0].0;
            if distance == NEVER || are_nearer && distance >= before {
                break;
            }
            let mut alike = Vec::new();
            for &(_, terminal, place) in near {
                meter::spend(UNITS_PER_END)?;
                let place = match place {
                    None => outlook.after_any_token(parser, thread, terminal)?.first().copied(),
                    known => known,
                };
                let Some(place) = place else { continue };
                are_nearer |= distance < before;
                let is_newline = outlook.places.tables().is_newline(terminal) && !is_nested;
                for (end, text) in &texts[&terminal] {
                    let text = match is_newline {
                        true => {
                            let next = outlook.thread_at(parser, *end, place)?;
                            line_to(outlook, parser, thread, next)?.map(Arc::from)
                        }
                        false => Some(text.clone()),
                    };
                    alike.extend(text.map(|text| (text, *end, place)));
                }
            }
            alike.sort_by(|a, b| (a.0.len(), &a.0).cmp(&(b.0.len(), &b.0)));
            for (text, end, place) in alike {
                if options.len() == MAX_OPTIONS {
                    return Ok(options);
                }
                let next = outlook.thread_at(parser, end, place)?;
                if outlook.is_viable_at_once(parser, next)? != Some(false) {
                    options.push_back((text, next));
                }
            }
        }
        Ok(options)
    }

    /// The shortest texts to the ends of the next token.
    fn texts(
        &mut self,
        outlook: &mut Outlook,
        parser: &Parser,
        hypothesis: HypothesisId,
        is_nested: bool,
    ) -> Result<Arc<Texts>, EngineError> {
        if let Some(known) = self.texts.get(&(hypothesis, is_nested)) {
            return Ok(known.clone());
        }
        let bytes = self.bytes(parser);
        let prefers = |byte| bytes.contains(byte);
        let texts =
            texts_to_ends(&mut outlook.places.points, hypothesis, is_nested, &prefers, &mut self.steps)?;
        let texts = Arc::new(texts);
        self.n_bytes += 64 + texts.values().flatten().map(|(_, text)| text.len() + 40).sum::<usize>();
        self.texts.insert((hypothesis, is_nested), texts.clone());
        Ok(texts)
    }

    /// The text with which `thread` ends, if the parser needs no more tokens.
    fn end(
        &mut self,
        outlook: &mut Outlook,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let is_nested = outlook.places.is_nested(thread.layout);
        let may_end = outlook.may_end(thread.hypothesis, is_nested)?
            && outlook.places.can_end(parser, (thread.parser, thread.layout))?.value;
        if !may_end {
            return Ok(None);
        }
        let bytes = self.bytes(parser);
        let points = &mut outlook.places.points;
        text_to(points, thread.hypothesis, None, is_nested, &|byte| bytes.contains(byte))
    }

    /// The bytes that are tokens.
    fn bytes(&mut self, parser: &Parser) -> ByteSet {
        *self.bytes.get_or_insert_with(|| parser.shared.vocabulary.single_bytes())
    }

    fn keep(&mut self, thread: LexedThread, step: Option<Step>) {
        self.n_bytes += 48;
        self.known.insert(thread, step);
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes + self.steps.n_bytes()
    }
}

/// A text that leads `thread` over a line end to `next`.
fn line_to(
    outlook: &mut Outlook,
    parser: &mut Parser,
    thread: LexedThread,
    next: LexedThread,
) -> Result<Option<Vec<u8>>, EngineError> {
    let layouts = &outlook.places.layouts;
    let Some(rules) = &outlook.places.tables().layout else { return Ok(None) };
    let width = layouts.width(layouts.get(next.layout).blocks);
    let begun = layouts.get(thread.layout).line.filter(|&begun| begun < width);
    let more = begun.and_then(|begun| rules.tabs.blanks(width - begun, MAX_BLANKS));
    let Some(blanks) = rules.tabs.blanks(width, MAX_BLANKS) else { return Ok(None) };
    let lines = [b"\n" as &[u8], b"\r\n"].map(|end| [end, &blanks].concat());
    for text in more.into_iter().chain(lines) {
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
